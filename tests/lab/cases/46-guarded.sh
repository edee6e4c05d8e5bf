#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A guest whose kernel has page tables of its own (page-table isolation: the user's half of a CR3 is another number);
# which is paused, stops its devices as before a suspend, and starts another kernel by kexec, all in one session; and
# which then loads signed modules only, so that the agent's is refused.
. /src/tests/lab/cases/common.sh
plan 39

lab_guest_destroy web03 2> /dev/null
# what keeps processors from speculating stays off: it costs time, and says on the console what it cannot do
isolated="spectre_v2=off spec_store_bypass_disable=off retbleed=off spec_rstack_overflow=off pti=on"
LAB_GUEST_CMDLINE="${LAB_GUEST_CMDLINE/mitigations=off/$isolated}" case_guest web03 || bail "web03 is up with its agent"
case_idle
in_guest() { lab_ssh web03 "$@"; }
agent() { vmprof status --json | jq -r ".domains[0].agent.$1"; }
heard() { [ "$(agent state)" = running ]; }
# of PROCESS CONDITION - samples of it
of() { case_json "[.domains[0].rows[] | select(.process == \"$1\" and ($2)) | .samples] | add // 0"; }
# worked PROCESS - ... in its own function
worked() { of "$1" ".function == \"${1/-/_}_work\""; }
# run_as NAME PROGRAM - under a name by which it is told from others
run_as() { in_guest "cp /opt/burn/$2 /tmp/$1 && /tmp/$1 300"; }
isolates() { in_guest 'grep -q "^flags.* pti" /proc/cpuinfo'; }
unnamed() { case_json '.domains[0].unresolved.no_process * 100 / .totals.guest_samples'; }

# --- page-table isolation
f=/out/isolated.vmprof
rm -f $f
ok "its kernel isolates page tables" isolates
in_guest 'grep -q "^flags.* pcid" /proc/cpuinfo' && echo "# its processor has PCIDs" || echo "# its processor has no PCIDs"
ok "start" vmprof start --domain web03 --period 500us --output $f
case_guest_run web03 'while :; do ls -l /usr/bin; done'
sleep 10
in_guest 'pkill -f "[w]hile :"'
in_guest '/opt/burn/burn-a 300'
in_guest '/opt/burn/burn-b 300'
ok "stop" vmprof stop
case_report $f || bail "report"
at_least "burn-a in its function" "$(worked burn-a)" 50
at_least "burn-b in its function" "$(worked burn-b)" 50
never "none in the other one's" "$(($(of burn-a '.function == "burn_b_work"') + $(of burn-b '.function == "burn_a_work"')))"
at_least "short processes have their user code, on the one half" "$(of ls '.side == "guest_user"')" 50
at_least "... and what the kernel did for them, on the other" "$(of ls '.side == "guest_kernel"')" 50
at_most "1 % of the samples are of unknown processes" "$(unnamed)" 1
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"
at_least "95 % of them have a thread; of short processes each exec has a moment between two" \
	"$(case_json '(.domains[0].tasks | .same + .kernel_thread + .task_only) * 100 / .totals.guest_samples')" 95
never "no event was lost" "$(case_events_lost)"
at_most "processes whose list of mappings was in use, and left out" "$(case_json '.domains[0].agent.lost.maps_busy')" 2

# --- paused, suspended, another kernel
f=/out/isolated-life.vmprof
rm -f $f
ok "start" vmprof start --domain web03 --period 500us --output $f
virsh -q suspend web03
sleep 3
ok "it is paused for a while" virsh -q resume web03
run_as paused burn-a
# the kernel's own test: all tasks freeze and all devices stop, five seconds later all go on
boot=$(in_guest cat /proc/sys/kernel/random/boot_id) || bail "web03 has a boot's id"
ok "its tasks and devices stop for a while" in_guest 'echo devices > /sys/power/pm_test && echo freeze > /sys/power/state; echo none > /sys/power/pm_test;
	dmesg | grep -q "suspend debug: Waiting for 5 second"'
is "... and it lives" "$(in_guest cat /proc/sys/kernel/random/boot_id)" "$boot"
ok "... its agent, too" lab_wait 60 heard
run_as suspended burn-b
before=$(agent hellos)
lab_guest_put web03 /run/lab/guest/vmlinuz /run/lab/guest/initrd /run
# kexec_file_load(kernel, initrd, command line); the old kernel's command line is the new one's
ok "another kernel is loaded" in_guest 'perl -e '\''open K, "<", "/run/vmlinuz" or die; open I, "<", "/run/initrd" or die;
	open C, "<", "/proc/cmdline" or die; chomp($c = <C>); $c .= "\0";
	syscall(320, fileno K, fileno I, length $c, $c, 0) == 0 or die "kexec_file_load: $!"'\'
in_guest 'systemctl kexec --no-block' 2> /dev/null
lab_guest_hang_up web03
changed()
{
	local now
	lab_guest_wait web03 5 && now=$(in_guest cat /proc/sys/kernel/random/boot_id) && [ -n "$now" ] && [ "$now" != "$boot" ]
}
qemu=$(cat /run/libvirt/qemu/web03.pid)
ok "it runs" lab_wait 240 changed
is "... in the same QEMU" "$(cat /run/libvirt/qemu/web03.pid)" "$qemu"
ok "... with page-table isolation" isolates
again() { heard && [ "$(agent hellos)" -gt "$before" ]; }
ok "... and its agent is heard" lab_wait 120 again
run_as kexeced burn-a
in_guest 'for i in $(seq 30); do ls -l /usr/bin > /dev/null; done'
ok "stop" vmprof stop
case_report $f || bail "report"
is "both boots are known" "$(case_json '.domains[0].agent.boots')" 2
at_least "after the pause: a program in its function" "$(of paused '.function == "burn_a_work"')" 50
at_least "after the suspend" "$(of suspended '.function == "burn_b_work"')" 50
at_least "under the other kernel" "$(of kexeced '.function == "burn_a_work"')" 50
at_least "functions of its kernel have names" \
	"$(case_json '[.domains[0].rows[] | select(.process == "ls" and .side == "guest_kernel" and (.function | test("^[a-z_]")))] | length')" 10
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"

# --- signed modules only
f=/out/refused.vmprof
rm -f $f
in_guest 'sysctl -q kernel.perf_event_paranoid=2; systemctl stop vmprof-agent; rmmod vmprof_guest; echo 1 > /sys/module/module/parameters/sig_enforce' || bail "web03 takes signed modules only"
fails "the kernel refuses the module" in_guest modprobe vmprof_guest
like "... since it is not signed" "$output" "[Kk]ey was rejected|[Kk]ey not available"
ok "the agent runs without it" in_guest "systemctl start vmprof-agent && systemctl -q is-active vmprof-agent
	for i in \$(seq 60); do ls -l /proc/[0-9]*/fd 2> /dev/null | grep -q /dev/vport && exit; sleep 0.5; done; exit 1"
output=$(vmprof start --domain web03 --period 500us --output $f 2>&1) || bail "start" "$output"
like "start says why" "$output" "runs without its module, it is not loaded, the guest's kernel loads signed modules only"
in_guest '/opt/burn/burn-a 3000'
ok "stop" vmprof stop
like "doctor says why" "$(vmprof doctor --domain web03)" "the agent has no module, it is not loaded, the guest's kernel loads signed modules only"
case_report $f || bail "report"
like "the report says why" "$(case_json '.domains[0].agent.without_module_why')" "loads signed modules only"
at_least "burn-a is inferred, isolation or not" "$(worked burn-a)" 50
is "nothing inferred contradicts itself" "$(case_json '.domains[0].agent.contradicted_address_spaces')" 0

lab_guest_destroy web03
finish

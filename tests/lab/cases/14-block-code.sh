#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab-only: yes
# long: yes
# 14-block-code.sh - the code of blocks: the vdso's, a program's that was replaced, both kernels' and QEMU's; what is
# known of blocks where others hold the counters.
. /src/tests/lab/cases/common.sh
. /src/tests/lab/cases/tiny.sh	# ringdump
plan 35

case_idle
host_lbr=$(case_host_lbr)
case_guest web01 || bail "web01 is up with its agent"

# ------------------------- the vdso, and a program that is replaced before its session ends
# Files are copied when a session stops: what lies there by then is another program, which must not be taken for it.
r=/out/replaced.vmprof
rm -rf $r /run/lab/new-objects
export VMPROF_OBJCACHE=/run/lab/new-objects
lab_ssh web01 'cp /opt/burn/burn-a /dev/shm/replaced'
case_guest_run web01 '/opt/burn/now'
case_guest_run web01 'while :; do /dev/shm/replaced 1000; done'
ok "start beside a program that asks for the time, and one that will be replaced" \
	vmprof start --domain web01 --lbr any --period 200us --buffer 4M --output $r
case_samples 3000
lab_ssh web01 'pkill -f "[w]hile :; do /dev/shm/replaced"; pkill -x replaced; cp --remove-destination /opt/burn/burn-b /dev/shm/replaced'
ok "stop" vmprof stop
case_quiet web01
unset VMPROF_OBJCACHE
VMPROF_OBJCACHE=/run/lab/new-objects vmprof blocks --limit 0 --json $r > /run/lab/replaced.json
read -r vdso libraries no_object other clock < <(jq -r '.left_out.no_object as $no_object | .blocks |
	map(select(.side == "guest_user" and .instructions != null)) as $user |
	[
		($user | map(select(.module == "[vdso]" and .cycles != null and .samples >= 4)) | length),
		($user | map(select(.module | test("^libc[.]so|^libcrypto"))) | length),
		$no_object,
		(map(select(.module == "replaced" and .instructions != null)) | length),
		(map(select(.module == "[vdso]")) | max_by(.samples).function)
	] | map(tostring) | join(" ")' /run/lab/replaced.json)
at_least "blocks of the vdso with instructions and cycles" "$vdso" 2
like "... in a function that is the vdso's" "$clock" 'clock_gettime'
at_least "blocks of a shared library" "$libraries" 1
at_least "steps in the program that was replaced are left out" "$no_object" 1000
is "... and none of its blocks has the other one's instructions" "$other" 0
like "... the notes say so" "$(VMPROF_OBJCACHE=/run/lab/new-objects vmprof blocks --limit 1 $r)" '[0-9]+ .*file is not in the object cache'
case_report $r || bail "report --json"
at_least "its samples are the process's all the same" "$(case_json '[.domains[0].rows[] | select(.process | test("^replaced")).samples] | add // 0')" 500

# ------------------------------------------------------ code of kernels
# No file of a kernel is given: blocks have the code that was in memory.
k=/out/kernel.vmprof
rm -f $k
touch /run/lab/before
lab_guest_workload web01 300
lab_ssh web01 "nohup timeout 300 sh -c 'while sleep 0.2; do ls -l /usr/bin | head -n 20 >/dev/ttyS0; done' >/dev/null 2>&1 </dev/null &"	# work for QEMU
output=$(vmprof start --domain web01 --lbr any --no-cpi --period 200us --buffer 4M --output $k 2>&1) || bail "start --no-cpi beside a shell" "$output"
unlike "start --no-cpi beside a shell: no word of instructions" "$output" instructions
is "... and none is sampled" "$(vmprof status --json | jq .instruction_period)" 0
case_samples 3000
output=$(vmprof stop 2>&1)
like "stop copies the guest's kernel's code" "$output" "web01: copied its kernel's code, [1-9][0-9.]* MiB in [0-9.]* s"
like "... and the host's" "$output" "host: copied its kernel's code, [1-9][0-9.]* MiB in [0-9.]* s"
vmprof blocks --json $k > /run/lab/blocks.json
read -r runs_from fits guest host qemu steps < <(jq -r '. as $all | .blocks | map(select(.instructions != null)) |
	[
		$all.estimator.runs_from,
		($all | 1000 - (.left_out | del(.orphan_records, .malformed_records, .beyond_vm_exit) | add) * 1000 / .totals.steps | floor),
		(map(select(.side == "guest_kernel" and .module == "vmlinux")) | length),
		(map(select(.side == "vmm_kernel" and (.module | test("host kernel|kvm")))) | length),
		(map(select(.side == "vmm_user" and (.module | test("^qemu-system")))) | length),
		$all.totals.steps, $all.left_out
	] | map(tostring) | join(" ")' /run/lab/blocks.json)
is "how often blocks ran is known from branches" "$runs_from" branches
like "the notes of the blocks tell" "$(vmprof blocks --limit 1 $k)" 'kernel code of web01 is a copy of its memory'
at_least "steps whose code is there, and fits (per mille)" "$fits" 970
at_least "blocks of the guest's kernel with instructions" "$guest" 50
at_least "blocks of the host's kernel and its modules, too" "$host" 50
at_least "blocks of QEMU itself" "$qemu" 5
lab_note "blocks of the guest's kernel $guest, the host's $host, QEMU's $qemu; steps: $steps"

# the same bytes as QEMU's monitor shows in the running guest
copy=$(find "/var/cache/vmprof/objects/$(virsh -q domuuid web01 | head -n 1)"/x[0-9a-f] -type f -size +4M -newer /run/lab/before | head -n 1)
like "the copy is a core file" "$(od -An -tx1 -N 18 "$copy" | tr -d ' \n')" '^7f454c4602010100.*0400$'
case_same_code web01 "$copy" /run/lab/blocks.json
at_least "blocks that the monitor shows" "$shown" 5
is "... are the same in the copy" "$differ" 0
case_quiet web01

# ------------------------------------- counters that others hold, and refusals
# three of a pCPU's six: two are left that sample, and not four
c=/out/counters.vmprof
rm -f $c
case_guest_run web01 "/opt/burn/shor 33 600"
ringdump hold 3 > /run/lab/held 2>&1 &
holder=$!
lab_wait 60 grep -q held /run/lab/held || bail "three counters are held" "$(cat /run/lab/held)"
fails "start --cpi beside who holds counters" vmprof start --domain web01 --lbr any --cpi --output $c
output=$(vmprof start --domain web01 --lbr any --output $c 2>&1) || bail "start --lbr any beside who holds counters" "$output"
is "start --lbr any there says in a line what it goes without" "$(grep -c 'no samples of instructions, .* two counters more than are free .*no times, or, .* by branches alone, which can be far off' <<< "$output")" 1
is "... and does" "$(vmprof status --json | jq .instruction_period)" 0
case_samples 100
ok "stop" vmprof stop
case_quiet web01
kill $holder
wait $holder
# the third counter counts cycles: without instructions windows have no scale
is "how often blocks ran nothing tells" "$(vmprof blocks --json --limit 1 $c | jq -r .estimator.runs_from)" none
output=$(vmprof start --domain web01 --lbr any --event instructions --output $c 2>&1) || bail "start --lbr any --event instructions" "$output"
is "start with another event says in a line what it goes without" "$(grep -c 'no samples of instructions, which go with the event cycles, not with instructions: .* the same for all blocks' <<< "$output")" 1
vmprof stop > /dev/null 2>&1
fails "start --lbr with the timer" vmprof start --domain web01 --lbr any --event cpu-clock
like "... says what it needs" "$output" 'needs a performance counter'
fails "cycles that are not counted" vmprof start --domain web01 --lbr any --lbr-format from-to-cycles
like "... says so" "$output" 'does not count cycles'
like "doctor tells of branches" "$(vmprof doctor)" '^ok .*last branch records, 16 branches$'
case_host_lbr_is "the host's registers of branch records are as they were before the first session"
# counters that were held are no complaint
unlike "the kernel has nothing to complain about" "$(dmesg | grep -v -E 'WARNING: missing R[0-9A-Z]+ value at |perf gives no counter for the sampling event .error -16.')" \
	'WARNING:|BUG:|Oops|vmprof: (pCPU|kvm|this|[0-9]+ vCPUs)'
cd / && rm -rf "$work"
finish

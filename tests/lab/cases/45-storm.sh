#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A storm of 2,000 short processes of 50 programs, begun in six ways, which open a library while they run: all have
# names, while a large program that is in no file of the guest's root comes over the same channel. Another one while the host takes nothing from the channel, with a small ring: what is lost is counted, the rest
# is right. The first again without the module: most have names, and it is said why not all have;
# a container has its places there, too, and what is gone its build-id.
. /src/tests/lab/cases/common.sh
plan 61

case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01
lab_guest_put web01 "$LAB_SHARE"/storm/* /opt/storm

# user FILTER - samples of the storm's user code that pass a filter of jq
user() { case_json "[.domains[0].rows[] | select(.side == \"guest_user\" and ($1)) | .samples] | add // 0"; }
# storm COUNT ROUNDS - how many failed
storm() { lab_ssh web01 "/opt/storm/storm /opt/storm $1 50 $2"; }
# percent PART WHOLE - rounded down
percent() { awk -v p="$1" -v w="$2" 'BEGIN { printf "%.2f\n", w ? int(10000 * p / w) / 100 : 0 }'; }
# storm_work_N is in the program child-N alone, whose name a process has by the exec that maps it: whoever is not known aside,
# no other process can run it, the storm's own copies (fork, vfork, CLONE_VM) before their exec neither
wrong='(.function | test("^storm_work_")) and .process != "[unknown]" and .process != "child-" + (.function | ltrimstr("storm_work_"))'
own='(.function | test("^storm_work_")) and .process == "child-" + (.function | ltrimstr("storm_work_"))'
nameless='.process == "[unknown]" or .module == "[unknown]" or (.function | startswith("[") or startswith("sub_"))'

# module_again - nothing is refused any more
module_again()
{
	lab_ssh web01 'rm /etc/modprobe.d/refused.conf && sysctl -q kernel.perf_event_paranoid=$(cat /run/paranoid)
		rm -rf /etc/systemd/system/vmprof-agent.service.d; systemctl daemon-reload; systemctl restart vmprof-agent'
}
# left_as_found - also where the case ends before its end
left_as_found()
{
	[ ! "$held_back" ] || kill -CONT "$held_back"
	[ ! "$refused" ] || module_again
}
held_back='' refused=''
trap 'left_as_found > /dev/null 2>&1' EXIT

# 24 MiB that nobody has but a process with a file system of its own, and which are fetched while it lives
id=vmprof-fleeting-file big=/run/lab/nowhere-else
key=$(printf $id | od -An -v -tx1 | tr -d ' \n')
came() { find /var/cache/vmprof/objects -type f -size 24M -path "*/${key:0:2}/${key:2}" | grep -q .; }
lab_ssh web01 'cat /usr/bin/sleep' > $big
at=$(LC_ALL=C grep -obUaP '\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0' $big | head -n 1 | cut -d: -f1)
printf $id | dd of=$big bs=1 seek=$((at + 16)) conv=notrunc status=none
truncate -s 24M $big
chmod +x $big
lab_guest_put web01 $big /opt/storm
case_guest_run web01 'exec unshare --mount sh -c "mount -t tmpfs none /mnt && mv /opt/storm/nowhere-else /mnt && exec /mnt/nowhere-else 3600"'
lab_wait 60 lab_ssh web01 'pidof nowhere-else > /dev/null' || bail "the large program runs"

f=/out/storm.vmprof
rm -f $f
ok "start" vmprof start --domain web01 --period 200us --output $f
is "2,000 processes begin and end" "$(storm 2000 200000)" "0 of 2000 failed"
ok "... beside 24 MiB of a program that is nowhere else" lab_wait 60 came
lab_ssh web01 'pkill nowhere-else'
ok "stop" vmprof stop
case_report $f || bail "report"
all=$(user true) bad=$(user "$nameless")
echo "# $all samples of guest user code, $bad of them without process, module or function"
at_least "thousands of samples of user code" "$all" 3000
case_json '[.domains[0].rows[] | select(.side == "guest_user" and (.function | startswith("sub_")))] | group_by(.module)[] | "\([.[].samples] | add) in \(.[0].module): \([.[].function] | unique | .[:8] | join(" "))"' | sed 's/^/# /'
echo "# with the module: $(percent $((all - bad)) "$all") %"
# a function that has no more of a name than its address (sub_ADDRESS) is none
at_least "99.9 % of them have process, module and function" "$(percent $((all - bad)) "$all")" 99.9
is "... and in the storm's own programs every function has a name" "$(user '(.function | startswith("sub_")) and (.module | test("^(child-[0-9]+|plugin.so)$"))')" 0
[ "$bad" = 0 ] || case_json ".domains[0].rows[] | select(.side == \"guest_user\" and ($nameless)) | [.samples, .function, .module, .process] | tostring" | sed 's/^/# /'
never "no event was lost" "$(case_events_lost)"
is "... and no list of mappings was in use, and left out" "$(case_json '.domains[0].agent.lost.maps_busy')" 0
is "no sample was lost" "$(case_json .losses.driver.total)" 0
is "all 50 programs are there by name" \
	"$(case_json '[.domains[0].rows[] | select(.process | test("^child-[0-9]+$")) | .process] | unique | length')" 50
is "each works in its own function" \
	"$(case_json '[.domains[0].rows[] | select(.function | test("^storm_work_")) | (.function | ltrimstr("storm_work_")) == (.process | ltrimstr("child-"))] | unique | tostring')" "[true]"
at_least "the library that they open has its name" "$(user '.function == "storm_plugin_work" and .module == "plugin.so"')" 500

# --- a channel that takes nothing while the storm lasts (but some 4 MiB, writes of 32 KiB in QEMU's queue), and the smallest ring
f=/out/storm-held.vmprof
rm -f $f
ring=/sys/module/vmprof_guest/parameters/ring_kb
usual=$(lab_ssh web01 "cat $ring; echo 256 > $ring")
agent=$(lab_ssh web01 systemctl show -P MainPID vmprof-agent)
# memory - the most that the daemon ever had, in kB
memory() { lab_ssh web01 "sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$agent/status"; }
ok "a ring of 256 KiB: start" vmprof start --domain web01 --period 1ms --output $f
collector=$(cat /run/vmprof/lock)
# that it ever had from now on
lab_ssh web01 "echo 5 > /proc/$agent/clear_refs"
before=$(memory)
held_back=$collector
kill -STOP "$collector"
held=$(storm 20000 1000)
grown=$(($(memory) - before))
kill -CONT "$collector"
held_back=''
sleep 5
is "20,000 processes begin and end while the collector is held" "$held" "0 of 20000 failed"
lab_ssh web01 '/opt/burn/burn-a 300'
# page tables are used again whose former owners' ends were lost
is "200 more begin and end when it goes on" "$(storm 200 200000)" "0 of 200 failed"
ok "... and the session ends" vmprof stop
lab_ssh web01 "echo $usual > $ring"
is "the agent is the same" "$(lab_ssh web01 systemctl show -P MainPID vmprof-agent)" "$agent"
case_report $f || bail "report"
lost=$(case_json '.domains[0].agent.lost.ring_full // 0')
echo "# $lost events lost, $(case_json .domains[0].agent.events) told; the daemon grew by $grown kB"
at_least "what the ring had no room for is counted" "$lost" 100
like "... and the report says so" "$(vmprof report $f)" "agent lost $lost task events: the agent's ring was full"
at_most "... since the daemon keeps no more than its buffer has room for: kB" "$grown" 2048
is "no message is damaged" "$(case_json .domains[0].agent.bad_frames)" 0
is "... none is missing or out of order" "$(case_json '[.losses.collector[] | select(.name == "agent_seq_gaps").count] | add // 0')" 0
at_least "events came all the same" "$(case_json .domains[0].agent.events)" 500
never "no process has another one's function" "$(user "$wrong")"
at_least "... each has its own" "$(user "$own")" 20
at_least "what began after it has its name" "$(user '.process == "burn-a" and .function == "burn_a_work"')" 50

# --- the module is refused
# has_port - wait until the agent has opened it
has_port() { lab_ssh web01 'for i in $(seq 60); do ls -l /proc/[0-9]*/fd 2> /dev/null | grep -q /dev/vport && exit; sleep 0.5; done; exit 1'; }
# Debian's kernel with perf_event_paranoid=3 lets only CAP_SYS_ADMIN listen to perf, which the agent has not.
refused=yes
lab_ssh web01 'echo install vmprof_guest /bin/false > /etc/modprobe.d/refused.conf
	sysctl -n kernel.perf_event_paranoid > /run/paranoid; sysctl -q kernel.perf_event_paranoid=3
	systemctl stop vmprof-agent; rmmod vmprof_guest; systemctl start vmprof-agent' && has_port || bail "the module is refused"
f=/out/storm-alone.vmprof
rm -f $f
output=$(vmprof start --domain web01 --period 200us --output $f 2>&1) || bail "start without the module" "$output"
like "without the module and perf start says what to do" "$output" "or sysctl kernel.perf_event_paranoid=2, then"
like "... and status" "$(vmprof status)" "nor may it listen to perf"
storm 200 200000 > /dev/null
like "... and stop" "$(vmprof stop 2>&1)" "ran without its module, .* refuses it perf events"
like "... and the report" "$(vmprof report $f)" "refused it perf events, too"
like "... and doctor" "$(vmprof doctor --domain web01)" "refuses it perf events"
case_report $f || bail "report"
at_least "there is user code" "$(user true)" 300
is "... of which nobody knows whose it is" "$(user "($nameless) | not")" 0
like "the agent's log says what it needs" "$(lab_ssh web01 'journalctl -b -u vmprof-agent -o cat')" "set sysctl kernel.perf_event_paranoid to 2"

# a drop-in that gives it that capability, as docs/packages.md has it
dropin=$(sed -n '/^    mkdir -p .*vmprof-agent.service.d$/,/^    systemctl daemon-reload/p' /src/docs/packages.md | sed 's/^    //')
lab_ssh web01 "$dropin" && has_port || bail "the drop-in of docs/packages.md" "$dropin"
ok "... systemd-analyze security: below 3 with it" lab_ssh web01 'systemd-analyze security --no-pager --threshold=29 vmprof-agent'
f=/out/storm-capable.vmprof
rm -f $f
output=$(vmprof start --domain web01 --period 200us --output $f 2>&1) || bail "start with the drop-in" "$output"
unlike "with CAP_SYS_ADMIN it listens to perf" "$output" "perf events"
storm 200 200000 > /dev/null
vmprof stop > /dev/null 2>&1
case_report $f || bail "report"
all=$(user true) bad=$(user "$nameless")
at_least "there is user code" "$all" 300
at_least "... 99 % of it has process, module and function" "$(percent $((all - bad)) "$all")" 99
lab_ssh web01 'rm -r /etc/systemd/system/vmprof-agent.service.d; systemctl daemon-reload; systemctl restart vmprof-agent' && has_port ||
	bail "the drop-in goes"

lab_ssh web01 'sysctl -q kernel.perf_event_paranoid=2'
f=/out/storm-degraded.vmprof
rm -f $f
output=$(vmprof start --domain web01 --period 200us --output $f 2>&1) || bail "start without the module" "$output"
like "without the module start says so" "$output" "runs without its module"
fails "... and nothing of perf" grep -q "perf events" <<< "$output"
is "which task runs is not looked for, since nobody tells where it is" "$(vmprof status --json | jq -r '.domains[0].tasks')" no-module
is "the storm again" "$(storm 2000 200000)" "0 of 2000 failed"
like "stop says so too" "$(vmprof stop 2>&1)" "ran without its module"
case_report $f || bail "report"
all=$(user true) bad=$(user "$nameless")
case_json '.domains[0].agent | del(.clock)' | tr -d '\n' | sed 's/^/# /'; echo
echo "# without the module: $((all - bad)) of $all samples of guest user code have process, module and function: $(percent $((all - bad)) "$all") %"
at_least "the user code is there" "$all" 3000
at_least "99 % of it has process, module and function all the same" "$(percent $((all - bad)) "$all")" 99
never "none of it is given to a wrong process" "$(user "$wrong")"
at_least "... each has its own" "$(user "$own")" 500
is "all 50 programs are inferred" \
	"$(case_json '[.domains[0].rows[] | select(.process | test("^child-[0-9]+$")) | .process] | unique | length')" 50
is "the report says that they are inferred" "$(case_json '.domains[0].agent.without_module')" true
is "nothing inferred contradicts itself" "$(case_json '.domains[0].agent.contradicted_address_spaces')" 0
is "no sample has a thread, and the report says why" "$(case_json '.domains[0].tasks | [.state, .same + .kernel_thread + .task_only] | join(" ")')" "no-module 0"
# a program that makes code, in a container: the second process there, in a cgroup of its own
f=/out/storm-contained.vmprof
rm -f $f
vmprof start --domain web01 --period 500us --output $f > /dev/null 2>&1 || bail "start without the module, once more"
case_guest_run web01 'mkdir -p /sys/fs/cgroup/lab-contained && echo $$ > /sys/fs/cgroup/lab-contained/cgroup.procs &&
	exec unshare --mount --pid --fork sh -c "mount -t tmpfs none /tmp; /opt/burn/jit contained 8; :"'
sleep 12
vmprof stop > /dev/null 2>&1
case_report $f || bail "report"
vmprof report --json --group-by process,module,function,nspid,cgroup $f > /run/lab/contained.json || bail "report by cgroup"
# contained VALUE - of the rows of its made code
contained() { jq -r "[.domains[0].rows[] | select(.module == \"[jit]\" and .process == \"jit\" and (.function | test(\"^contained_(heavy|light)$\"))) | $1] | unique | map(tostring) | join(\" \")" /run/lab/contained.json; }
at_least "without the module code that a program made in a container has names" \
	"$(case_json '[.domains[0].rows[] | select(.module == "[jit]" and .process == "jit" and .function == "contained_heavy") | .samples] | add // 0')" 100
at_least "... each function" "$(case_json '[.domains[0].rows[] | select(.module == "[jit]" and .process == "jit" and .function == "contained_light") | .samples] | add // 0')" 30
like "... its process's number there, where it is not the first" "$(contained .nspid)" "^[2-9]$"
is "... its cgroup" "$(contained .cgroup)" /lab-contained

# a program that is over, and its file removed, before the agent hears of either: the kernel's own record has the build-id
f=/out/storm-gone.vmprof
rm -f $f
vmprof start --domain web01 --period 500us --output $f > /dev/null 2>&1 || bail "start without the module, for the last time"
lab_ssh web01 '/opt/burn/burn-a 150; cp /opt/burn/burn-a /opt/burn/unseen; systemctl kill -s STOP vmprof-agent
	/opt/burn/unseen 150; rm /opt/burn/unseen; systemctl kill -s CONT vmprof-agent'
vmprof stop > /dev/null 2>&1
case_report $f --group-by process,module,build-id,function || bail "report by build-id"
# id_of PROGRAM - the build-ids of its own code
id_of() { case_json "[.domains[0].rows[] | select(.process == \"$1\" and .module == \"$1\").build_id] | unique | join(\" \")"; }
at_least "a program that nobody can look at any more is known" "$(case_json '[.domains[0].rows[] | select(.process == "unseen" and .module == "unseen") | .samples] | add // 0')" 50
like "... the kernel told its build-id" "$(id_of unseen)" '^[0-9a-f]{40}$'
is "... which is that of its copy" "$(id_of unseen)" "$(id_of burn-a)"
is "... so that its functions have names" "$(case_json '[.domains[0].rows[] | select(.process == "unseen" and .function == "burn_a_work").samples] | length')" 1

module_again
refused=''
ok "with the module again" lab_wait 30 lab_ssh web01 'grep -q "^vmprof_guest " /proc/modules'
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Who runs: two threads of one process at 3 : 1, each in a function of its own, and kernel
# threads with the address space of whoever ran before: ksmd, which works on memory of theirs, a
# kworker, which writes pages back, and ksoftirqd, which takes what the network brings.
. /src/tests/lab/cases/common.sh
plan 29

case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01

# run_of PID - nanoseconds that a task of the guest has run, by the guest's own account
run_of() { lab_ssh web01 "cut -d ' ' -f 1 /proc/$1/schedstat"; }

# ksmd, without a pause
lab_ssh web01 'cd /sys/kernel/mm/ksm && echo 0 > sleep_millisecs && echo 4000 > pages_to_scan &&
	{ [ ! -e smart_scan ] || echo 0 > smart_scan; } && echo 1 > run' || bail "ksmd works"
case_guest_run web01 'exec /opt/burn/threads 900 64 > /run/threads.tids'
lab_wait 60 lab_ssh web01 test -s /run/threads.tids || bail "the threads work"
read -r a b < <(lab_ssh web01 cat /run/threads.tids)
ksmd=$(lab_ssh web01 pgrep -x ksmd)

f=/out/threads.vmprof
rm -f $f
ok "start" vmprof start --domain web01 --period 200us --output $f
is "the driver looks which task runs" "$(vmprof status --json | jq -r '.domains[0].tasks')" on
before=$(run_of "$ksmd")
threads_before=$(($(run_of "$a") + $(run_of "$b")))
sleep 12
# each exec has a moment that counts against the shares below: there are as many on a slow machine
case_samples 12000
ok "a CPU of the guest goes ..." lab_ssh web01 'echo 0 > /sys/devices/system/cpu/cpu1/online'
ok "... and comes" lab_ssh web01 'echo 1 > /sys/devices/system/cpu/cpu1/online'
# sync has them written by the kernel's thread for the disk; the kworkers that there are after it, by name and number
kworkers=$(lab_ssh web01 'timeout 8 sh -c "while :; do dd if=/dev/zero of=/var/tmp/pages bs=64k count=64; sync; done" 2> /dev/null
	rm /var/tmp/pages
	for p in /proc/[0-9]*; do
		read -r c < $p/comm && case $c in kworker/*) echo "[${c%%[+-]*}] ${p#/proc/}" ;; esac
	done 2> /dev/null' | sort)
# packets come faster than a softirq may take them at once: the CPU's thread goes on with them
timeout 10 cat /dev/zero | lab_ssh web01 'cat > /dev/null'
softirqds=$(lab_ssh web01 'for p in $(pgrep ^ksoftirqd/); do echo "[$(cat /proc/$p/comm)] $p"; done' | sort)
ran=$(($(run_of "$ksmd") - before))
threads_ran=$(($(run_of "$a") + $(run_of "$b") - threads_before))
ok "stop" vmprof stop
lab_ssh web01 'pkill -x threads; echo 0 > /sys/kernel/mm/ksm/run'
vmprof report --group-by process,thread --limit 12 $f 2>&1 | sed 's/^/# /'

case_report $f --group-by function,process,thread || bail "report"
# samples CONDITION - of rows, by jq
samples() { case_json "[.domains[0].rows[] | select($1) | .samples] | add // 0"; }
# share PART WHOLE - in percent
share() { awk -v p="$1" -v w="$2" 'BEGIN { printf "%.2f\n", w ? 100 * p / w : 0 }'; }

guest=$(case_json .totals.guest_samples)
at_least "thousands of guest samples" "$guest" 4000
at_least "99.5 % of them have a thread" \
	"$(share "$(case_json '.domains[0].tasks | .same + .kernel_thread + .task_only')" "$guest")" 99.5
at_most "of 0.5 % address space and task contradict each other" \
	"$(share "$(case_json .domains[0].tasks.other)" "$guest")" 0.5
for w in a b; do
	tid=$a; [ $w = a ] || tid=$b
	work=$(samples ".function == \"thread_${w}_work\"")
	at_least "worker-$w was seen at work" "$work" 300
	at_least "... in its own function, by its name and number" \
		"$(share "$(samples ".function == \"thread_${w}_work\" and .thread == \"worker-$w $tid\"")" "$work")" 99.5
	is "... as a thread of its process" \
		"$(case_json "[.domains[0].rows[] | select(.thread == \"worker-$w $tid\").process] | unique | join(\" \")")" threads
done
work=$(samples '.function == "thread_a_work" or .function == "thread_b_work"')
# five standard deviations of a share of so many samples, in percent
chance=$(awk -v n="$work" 'BEGIN { printf "%.2f\n", n ? 500 * sqrt(0.75 * 0.25 / n) : 0 }')
part=$(share "$(samples ".thread == \"worker-a $a\" and .function == \"thread_a_work\"")" "$work")
at_least "they work 3 : 1" "$(awk "BEGIN { print $part + $chance }")" 75
at_most "... or nearly so" "$(awk "BEGIN { print $part - $chance }")" 75

# What only this thread runs
own='(.function | test("^(ksm_scan_thread|ksm_do_scan|scan_get_next_rmap_item|get_next_rmap_item|cmp_and_merge_page|calc_checksum|memcmp_pages|unstable_tree_|stable_tree_)"))'
at_least "ksmd's functions were seen" "$(samples "$own")" 100
at_least "... in its own row" "$(share "$(samples "$own and .process == \"[ksmd]\"")" "$(samples "$own")")" 99
is "... by its number" "$(case_json '[.domains[0].rows[] | select(.process == "[ksmd]").thread] | unique | join(" ")')" "[ksmd] $ksmd"
kernel=$(samples '.process == "[ksmd]"')
ratio=$(awk -v s="$(share "$kernel" "$(samples ".thread == \"worker-a $a\" or .thread == \"worker-b $b\"")")" \
	-v t="$(share "$ran" "$threads_ran")" 'BEGIN { printf "%.1f\n", t ? 100 * s / t : 0 }')
echo "# ksmd: $kernel samples; beside the threads', $ratio % of what the guest's own account says"
# samples are by cycles, the account is by time: in the emulator a cycle takes as long as its code takes there
at_least "it has about the time that the guest's own account gives it" "$ratio" 33
at_most "... and no more" "$ratio" 200
writes='(.process | test("^\\[kworker/")) and (.function | test("ext4|writeback|folio|xas_|blk_|bio_|virtblk"))'
at_least "a kworker that writes pages back has a row of its own" "$(samples "$writes")" 20
at_least "... by its name and number" "$(comm -12 <(echo "$kworkers") <(case_json ".domains[0].rows[] | select($writes).thread" | sort -u) | wc -l)" 1
softirqs='(.process | test("^\\[ksoftirqd/"))'
at_least "ksoftirqd has a row of its own" "$(samples "$softirqs")" 5
at_least "... by its name and number" "$(comm -12 <(echo "$softirqds") <(case_json ".domains[0].rows[] | select($softirqs).thread" | sort -u) | wc -l)" 1
is "idle tasks have no process's row, either" \
	"$(samples '(.thread | test("^swapper")) and .process != "swapper"')" 0

case_report $f --pid "$ksmd" || bail "report --pid"
is "--pid takes a kernel thread" "$(case_json '[.domains[0].rows[].process] | unique | join(" ")')" "[ksmd]"
vmprof export --format perf-script $f > /run/lab/threads.script
at_least "perf-script has the threads" "$(grep -c "^web01:threads  *[0-9]*/$a " /run/lab/threads.script)" 300
like "the report's notes tell how many" "$(vmprof report $f)" "of kernel threads"
finish

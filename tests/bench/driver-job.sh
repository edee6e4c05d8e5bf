#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# driver-job.sh ROUNDS PROCESSES GAPS - what sampling and the agent cost, in the emulator's exact counts; runs on L1.
#
# Each NAME.exact in /out is of the same work in web01, with what NAME says running beside it. The facts that
# the tables need besides are lines "FACT NAME VALUE..." on standard output.
. /src/tests/truth/lib.sh
rounds=$1 processes=$2 gaps=$3

fact() { echo "FACT $*"; }

# work NAME - the same work of both vCPUs, counted
work()
{
	truth_start && lab_ssh web01 "/opt/burn/burn-a $rounds & /opt/burn/burn-b $rounds; wait" &&
		truth_stop "$1.exact"
}

# spawn NAME - fork, exec, exit
spawn()
{
	local begin
	truth_start
	begin=$(date +%s%N)
	lab_ssh web01 "for i in \$(seq $processes); do /bin/true; done"
	fact "spawn-seconds $1 $((($(date +%s%N) - begin) / 1000000))"
	truth_stop "$1.exact"
}

# ends NAME - twice as many processes, then threads, that begin and wait, in one window, and end at once in another
ends()
{
	local kind what pid
	for kind in process thread; do
		coproc GUEST { lab_ssh web01 "/opt/burn/ends $kind $((2 * processes))"; }
		pid=$GUEST_PID
		read -r -t 300 <&"${GUEST[0]}"
		for what in begin end; do
			truth_start
			echo >&"${GUEST[1]}"
			read -r -t 300 <&"${GUEST[0]}"
			truth_stop "$kind-$what-$1.exact"
		done
		echo >&"${GUEST[1]}"
		wait "$pid"
	done
}

collector() { vmprof status --json | jq "$1"; }

# counted NAME PID CMD... - what the process itself does while CMD runs
counted()
{
	local name=$1 pid=$2 stat=/dev/shm/stat begin
	shift 2
	perf stat -x, -e instructions -p "$pid" -o $stat > /dev/null 2>&1 &
	pid=$!
	sleep 1
	begin=$(date +%s%N)
	"$@"
	fact "process $name $(($(date +%s%N) - begin))"
	kill -INT $pid
	wait $pid || true	# by that signal
	fact "process-instructions $name $(awk -F, '/instructions/ { print $1 }' $stat)"
	rm -f $stat
}

work_of() { counted "$1" "$2" work "$1"; }

# still_of NAME PID - the guest works, and begins and ends nothing
still_of()
{
	lab_ssh web01 'nohup sh -c "timeout 60 /opt/burn/burn-a 100000000 & timeout 60 /opt/burn/burn-b 100000000" > /dev/null 2>&1 < /dev/null &'
	sleep 3
	counted "$1" "$2" sleep 10
	lab_ssh web01 'pkill burn' || true
}

# ticks PID - CPU time of a process, user and system, in ticks of 10 ms
ticks() { awk '{ print $14, $15 }' "/proc/$1/stat"; }

# with_vmprof NAME OPTION... - DO: what is done meanwhile, with NAME and the collector's PID
with_vmprof()
{
	local name=$1 pid
	shift
	vmprof start --domain web01 --output /dev/shm/bench.vmprof "$@" > /dev/null 2>&1
	# what the agent tells once is not what sampling costs
	lab_wait 120 truth_domains '.agent.state == "running" and .agent.kernel_symbols'
	sleep 3
	pid=$(collector .pid)
	"${DO:-work}" "$name" "$pid"
	cp "/proc/$pid/maps" "/out/$name.maps"
	fact "collector $name $(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status") $(ticks "$pid")"
	vmprof stop > /dev/null 2>&1
	rm -f /dev/shm/bench.vmprof
}

with_perf()
{
	local name=$1 data=/dev/shm/perf.data pid
	shift
	perf "$@" -o $data > /dev/null 2>&1 &
	pid=$!
	sleep 3
	"${DO:-work}" "$name" "$pid"
	kill -INT $pid
	wait $pid || true	# by that signal
	[ -s $data ]
	rm -f $data
}

case_guest web01 || { echo "web01 does not run"; exit 1; }
case_idle
virsh -q vcpupin web01 0 0 && virsh -q vcpupin web01 1 1
sysctl -q kernel.perf_cpu_time_max_percent=0 kernel.kptr_restrict=0
modprobe vmprof
cp /proc/kallsyms /out/
lab_ssh web01 cat /proc/kallsyms > /out/guest-kallsyms

set -eE
trap 'echo "driver-job.sh: line $LINENO failed: $BASH_COMMAND" >&2' ERR
work warm
work none

# rates at 2.6 GHz of cycles, and one that is fast enough to tell what a sample costs
for period in 100000 260000 650000 2600000 26000000; do
	with_vmprof "vmprof-$period" --period $period
	with_perf "perf-kvm-$period" kvm --host --guest record -a -e cycles -c $period
done
# the recorders' own part, with samples and with hardly any
DO=work_of with_vmprof vmprof-process --period 100000
DO=work_of with_perf perf-kvm-process kvm --host --guest record -a -e cycles -c 100000
DO=still_of with_vmprof vmprof-idle --period 26000000
DO=still_of with_perf perf-kvm-idle kvm --host --guest record -a -e cycles -c 26000000
with_vmprof vmprof-random-100000 --period 100000 --random
with_vmprof vmprof-cpi-100000 --period 100000 --cpi
with_vmprof vmprof-lbr-100000 --period 100000 --lbr any --no-cpi
for preset in calls flow-from flow-to flow; do
	with_vmprof "vmprof-lbr-$preset-100000" --period 100000 --lbr "$preset" --no-cpi
done
with_vmprof vmprof-lbr-26000000 --period 26000000 --lbr any --no-cpi
with_perf perf-100000 record -a -e cycles -c 100000
with_perf perf-gh-100000 record -a -e cycles:GH -c 100000
with_perf perf-g-100000 record -a -g -e cycles -c 100000
work none-again
rm -f /out/warm.exact

# --------------------------------------------------------------- processes
lab_ssh web01 'systemctl stop vmprof-agent; rmmod vmprof_guest'
spawn spawn-warm
spawn spawn-none
lab_ssh web01 'modprobe vmprof_guest; systemctl start vmprof-agent'
sleep 2
spawn spawn-idle
vmprof start --domain web01 --output /dev/shm/bench.vmprof > /dev/null 2>&1
lab_wait 120 truth_domains '.agent.state == "running" and .agent.kernel_symbols'
sleep 3
before=$(collector '.domains[0].agent.bytes') begin=$(date +%s%N)
spawn spawn-session
fact "agent-bytes $(($(collector '.domains[0].agent.bytes') - before)) $processes $((($(date +%s%N) - begin) / 1000000))"
before=$(collector '.domains[0].agent.bytes')
sleep 10
fact "agent-bytes-idle $(($(collector '.domains[0].agent.bytes') - before)) 10"
vmprof stop > /dev/null 2>&1
# the module alone: what it writes waits in its ring for the daemon; without it before and after, the host does
# the same all the time
lab_ssh web01 'systemctl stop vmprof-agent; rmmod vmprof_guest'
vmprof start --domain web01 --period 26000000 --output /dev/shm/bench.vmprof > /dev/null 2>&1
ends warm
ends none
lab_ssh web01 'modprobe vmprof_guest; systemctl start vmprof-agent'
lab_wait 120 truth_domains '.agent.state == "running" and .agent.kernel_symbols'
sleep 3
lab_ssh web01 'systemctl kill -s STOP vmprof-agent'
ends module
before=$(collector '.domains[0].agent.bytes')
lab_ssh web01 'systemctl kill -s CONT vmprof-agent'
lab_wait 60 truth_domains ".agent.bytes > $before"
sleep 3
fact "ends-lost $(collector '[.domains[0].agent.lost[]] | add')"
lab_ssh web01 'systemctl stop vmprof-agent; rmmod vmprof_guest'
ends none-again
vmprof stop > /dev/null 2>&1
lab_ssh web01 'modprobe vmprof_guest; systemctl start vmprof-agent'

# -------------------------------------------------------------------- gaps
lab_ssh web01 'nohup sh -c "timeout 900 /opt/burn/burn-a 100000000 & timeout 900 /opt/burn/burn-b 100000000" > /dev/null 2>&1 < /dev/null &'
for seconds in $gaps; do
	vmprof start --domain web01 --period 260000 --output /dev/shm/bench.vmprof > /dev/null 2>&1
	truth_start
	sleep "$seconds"
	truth_stop "gap-$seconds.exact"
	vmprof stop > /dev/null 2>&1
	vmprof report --json /dev/shm/bench.vmprof > /out/gap.json
	fact "gap $seconds $(jq -r '"\(.losses.interrupts) \(.losses.filtered) \(.losses.driver.total) \(.totals.samples)"' /out/gap.json)"
done
rm -f /dev/shm/bench.vmprof
lab_ssh web01 'pkill burn' || true

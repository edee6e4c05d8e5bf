#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# driver-job.sh ROUNDS PROCESSES TURNS SECONDS PROCESS_TURNS - what sampling and the agent cost, in the emulator's exact counts; runs on L1.
#
# Each NAME.exact in /out is of the same work in web01, with what NAME says running beside it. The facts that
# the tables need besides are lines "FACT NAME VALUE..." on standard output.
. /src/tests/truth/lib.sh
rounds=$1 processes=$2 turns=$3 seconds=$4 process_turns=$5

# seconds from when the agent has told what it tells once: for ten it looks at the guest's modules again and again (SETTLE_MS of its symbols.c)
settled=12
# vmprof's captures and perf's data: on the host's disk
stored=/var/tmp

fact() { echo "FACT $*"; }

# in_guest COMMAND, say WORDS, hear [NAME], end_guest - a command in the guest that is asked again and again: of a connection that is
# made anew the agent would have processes to tell
in_guest()
{
	coproc GUEST { lab_ssh web01 "bash -c $(printf %q "$1")"; }
	GUEST_JOB=$GUEST_PID
}

say() { echo "$*" >&"${GUEST[1]}"; }
hear() { read -r -t 900 "${1:-heard}" <&"${GUEST[0]}"; }

end_guest()
{
	eval "exec ${GUEST[1]}>&-"
	wait "$GUEST_JOB"
}

# work NAME - the same work of both vCPUs, counted; no process begins or ends; TIMES as much
work()
{
	truth_start && say "$((rounds * ${TIMES:-1}))" && hear && hear && truth_stop "$1.exact"
}

agent_pid() { lab_ssh web01 systemctl show -p MainPID --value vmprof-agent; }

# agent_wakes - how often it has slept
agent_wakes() { lab_ssh web01 "awk '/^voluntary/ { print \$2 }' /proc/$(agent_pid)/status" 2> /dev/null || echo 0; }

agent_bytes() { vmprof status --json | jq '.domains[0].agent.bytes // 0'; }

# processes NAME GAP - programs begin each GAP ms
processes()
{
	local begin made ms wakes bytes
	wakes=$(agent_wakes)
	sleep 1			# what began for that is told
	bytes=$(agent_bytes)
	truth_start
	begin=$(date +%s%N)
	say "$seconds $2"
	hear made
	ms=$((($(date +%s%N) - begin) / 1000000))
	truth_stop "processes-$1.exact"
	sleep 1
	bytes=$(($(agent_bytes) - bytes))
	fact "processes $1 $made $ms $(($(agent_wakes) - wakes)) $bytes"
}

# agent_off, agent_on - and its module
# what the guest does because of that is not counted
agent_off() { lab_ssh web01 'systemctl stop vmprof-agent; rmmod vmprof_guest'; sleep 5; }
agent_on() { lab_ssh web01 'modprobe vmprof_guest; systemctl start vmprof-agent'; sleep 5; }

# begin_session - few samples; what the agent tells once is over
begin_session()
{
	vmprof start --domain web01 --period 26000000 --output "$stored/bench.vmprof" > /dev/null 2>&1
	lab_wait 120 truth_domains '.agent.state == "running" and .agent.kernel_symbols'
	sleep $settled
}

# ends NAME - twice as many processes, then threads, that begin and wait, in one window, and end at once in another
ends()
{
	local kind what
	for kind in process thread; do
		in_guest "exec /opt/burn/ends $kind $((2 * processes))"
		hear
		for what in begin end; do
			truth_start
			say
			hear
			truth_stop "$kind-$what-$1.exact"
		done
		say
		wait "$GUEST_JOB"
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
	counted "$1" "$2" sleep 4
	# not those of in_guest, which run all the time
	lab_ssh web01 'pkill -x timeout' || true
}

# io NAME - so many blocks are read past the guest's page cache: many #VMEXITs
io()
{
	truth_start && say 1500 && hear && truth_stop "$1.exact"
}

# ticks PID - CPU time of a process, user and system, in ticks of 10 ms
ticks() { awk '{ print $14, $15 }' "/proc/$1/stat"; }

# with_vmprof NAME OPTION... - DO: what is done meanwhile, with NAME and the collector's PID
with_vmprof()
{
	local name=$1 pid
	shift
	vmprof start --domain web01 --output "$stored/bench.vmprof" "$@" > /dev/null 2>&1
	# what the agent tells once is not what sampling costs
	lab_wait 120 truth_domains '.agent.state == "running" and .agent.kernel_symbols'
	sleep $settled
	pid=$(collector .pid)
	"${DO:-work}" "$name" "$pid"
	cp "/proc/$pid/maps" "/out/$name.maps"
	fact "collector $name $(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status") $(ticks "$pid")"
	vmprof stop > /dev/null 2>&1
	rm -f "$stored/bench.vmprof"
}

with_perf()
{
	local name=$1 data=$stored/perf.data pid
	shift
	perf "$@" -o "$data" > /dev/null 2>&1 &
	pid=$!
	lab_wait 60 test -s "$data"	# it has begun
	sleep 3
	"${DO:-work}" "$name" "$pid"
	kill -INT $pid
	wait $pid || true	# by that signal
	[ -s "$data" ]
	rm -f "$data"
}

# a ring is drained where half of it is full: of perf's usual 512 KiB a CPU that would be never while the work runs
small_ring=(-m 16)

case_guest web01 || { echo "web01 does not run"; exit 1; }
case_idle
virsh -q vcpupin web01 0 0 && virsh -q vcpupin web01 1 1
# What others have written goes to the disk now. In the guest nothing does while something is counted, in the host what
# the recorders store does, each second
sync && sysctl -q vm.dirty_writeback_centisecs=100 vm.dirty_expire_centisecs=100 &&
	lab_ssh web01 'sync; sysctl -q vm.dirty_writeback_centisecs=0' || { echo "when files are written back cannot be said"; exit 1; }
sysctl -q kernel.perf_cpu_time_max_percent=0 kernel.kptr_restrict=0
fact "parameters ROUNDS=$rounds TURNS=$turns PROCESSES=$processes SECONDS_EACH=$seconds PROCESS_TURNS=$process_turns"
fact "store $(df --output=fstype $stored | tail -n 1)"
fact "machine $(. /etc/os-release; echo "$PRETTY_NAME"), Linux $(uname -r)"
modprobe vmprof
cp /proc/kallsyms /out/

set -eE
trap 'echo "driver-job.sh: line $LINENO failed: $BASH_COMMAND" >&2' ERR
# shellcheck disable=SC2016
in_guest 'exec 3> >(exec /opt/burn/burn-a -) 4> >(exec /opt/burn/burn-b -); while read -r rounds; do echo $rounds >&3; echo $rounds >&4; done'
work warm
# what all that runs is judged by, in turns: what host and guest do besides changes with time. 10000 and 4000 samples a second of 2.6 GHz
# have fewer samples, and are known the less; at 1000, where something is to be held, the work is longer instead
jobs=(none none-long)
for period in 100000 260000 650000 2600000; do
	jobs+=("vmprof $period" "perf-kvm $period")
done
# beside which the one at 1000 a second is looked at: what a session does at any rate is in both
jobs+=("vmprof 26000000")
# each turn begins three further: what changes while a turn lasts meets each of them, before and behind the run without a profiler
for turn in $(seq "$turns"); do
	for i in "${!jobs[@]}"; do
		read -r recorder period <<< "${jobs[$(((i + 3 * turn) % ${#jobs[@]}))]}"
		TIMES=1
		case $recorder-$period in
		none-long- | *-2600000*) TIMES=16 ;;
		esac
		case $recorder in
		none*) work "$recorder-$turn" ;;
		vmprof) with_vmprof "vmprof-$period-$turn" --period "$period" ;;
		perf-kvm) with_perf "perf-kvm-$period-$turn" kvm --host --guest record -a "${small_ring[@]}" -e cycles -c "$period" ;;
		esac
	done
done
# the recorders' own part, with samples and with hardly any; as long as it takes to store some times
TIMES=8
for turn in 1 2 3 4; do
	DO=work_of with_vmprof "vmprof-process-$turn" --period 100000
	DO=work_of with_perf "perf-kvm-process-$turn" kvm --host --guest record -a "${small_ring[@]}" -e cycles -c 100000
done
TIMES=1
DO=still_of with_vmprof vmprof-idle --period 26000000
DO=still_of with_perf perf-kvm-idle kvm --host --guest record -a "${small_ring[@]}" -e cycles -c 26000000
with_vmprof vmprof-random-100000 --period 100000 --random
with_vmprof vmprof-cpi-100000 --period 100000 --cpi
for turn in 1 2 3 4; do
	with_vmprof "vmprof-lbr-100000-$turn" --period 100000 --lbr any --no-cpi
	with_vmprof "vmprof-lbr-default-100000-$turn" --period 100000 --lbr any
	for preset in calls flow-from flow-to flow; do
		with_vmprof "vmprof-lbr-$preset-100000-$turn" --period 100000 --lbr "$preset" --no-cpi
	done
done
with_perf perf-gh-100000 record -a "${small_ring[@]}" -e cycles:GH -c 100000
with_perf perf-g-100000 record -a -g "${small_ring[@]}" -e cycles -c 100000
rm -f /out/warm.exact
end_guest

# --------------------------------------------------------------- processes
in_guest "$(cat /src/tests/bench/processes.sh)"
for turn in $(seq "$process_turns"); do
	agent_off
	processes "none-still-$turn" -1
	processes "none-slow-$turn" 100
	processes "none-quick-$turn" 10
	processes "none-fast-$turn" 0
	agent_on
	if [ "$turn" = 1 ]; then
		processes idle-still-1 -1
		processes idle-fast-1 0
	fi
	begin_session
	processes "session-still-$turn" -1
	processes "session-slow-$turn" 100
	processes "session-quick-$turn" 10
	processes "session-fast-$turn" 0
	fact "processes-lost $(collector '[.domains[0].agent.lost[]] | add')"
	vmprof stop > /dev/null 2>&1
done

# what a session does at any rate, in a guest that works; of its samples there are hardly any
lab_ssh web01 'nohup sh -c "timeout 3600 /opt/burn/burn-a 100000000 & timeout 3600 /opt/burn/burn-b 100000000" > /dev/null 2>&1 < /dev/null &'
for turn in $(seq "$process_turns"); do
	agent_off
	processes "busy-none-$turn" -1
	agent_on
	processes "busy-agent-$turn" -1
	begin_session
	processes "busy-session-$turn" -1
	vmprof stop > /dev/null 2>&1
done
lab_ssh web01 'pkill -x timeout' || true
end_guest

# shellcheck disable=SC2016
in_guest 'while read -r n; do dd if=/dev/vda of=/dev/null bs=4k count="$n" iflag=direct 2> /dev/null; echo; done'
io io-warm
io io-none
DO=io with_vmprof io-session --period 26000000
DO=io with_vmprof io-branches --period 26000000 --lbr any --no-cpi
rm -f /out/io-warm.exact
end_guest
fact "ends-processes $processes"
# the module alone: what it writes waits in its ring for the daemon; without it before and after, the host does
# the same all the time
agent_off
vmprof start --domain web01 --period 26000000 --output "$stored/bench.vmprof" > /dev/null 2>&1
ends warm
ends none
agent_on
lab_wait 120 truth_domains '.agent.state == "running" and .agent.kernel_symbols'
sleep 3
lab_ssh web01 'systemctl kill -s STOP vmprof-agent'
ends module
before=$(agent_bytes)
lab_ssh web01 'systemctl kill -s CONT vmprof-agent'
lab_wait 60 truth_domains ".agent.bytes > $before"
sleep 3
fact "ends-lost $(collector '[.domains[0].agent.lost[]] | add')"
agent_off
ends none-again
vmprof stop > /dev/null 2>&1
agent_on

# ----------------------------------------------- the host alone, its guest stands still
# where no guest runs, perf can record branches
host_work()
{
	local pids pid
	truth_start
	taskset -c 0 "$LAB_SHARE/burn-a" "$((rounds / 2))" & pids=$!
	taskset -c 1 "$LAB_SHARE/burn-b" "$((rounds / 2))" & pids="$pids $!"
	for pid in $pids; do
		wait "$pid"
	done
	truth_stop "$1.exact"
}

# host_vmprof NAME OPTION... - the guest stands still when it has begun: what runs on a vCPU's pCPU is kept
host_vmprof()
{
	local name=$1
	shift
	virsh -q resume web01
	sleep 3
	vmprof start --domain web01 --period 100000 --output "$stored/bench.vmprof" "$@" > /dev/null 2>&1
	sleep 3
	virsh -q suspend web01
	sleep 1
	host_work "$name"
	vmprof stop > /dev/null 2>&1
	vmprof report --json "$stored/bench.vmprof" > /out/host.json
	fact "host-stored $name $(jq .totals.samples /out/host.json)"
	rm -f "$stored/bench.vmprof"
}

virsh -q suspend web01
host_work host-warm
for turn in 1 2 3; do
	host_work "host-none-$turn"
	DO=host_work with_perf "host-perf-$turn" record -a "${small_ring[@]}" -e cycles -c 100000
	DO=host_work with_perf "host-perf-branches-$turn" record -a -b -e cycles -c 100000
	host_vmprof "host-vmprof-$turn"
	host_vmprof "host-vmprof-branches-$turn" --lbr any --no-cpi
done
fact "tsc-khz $(jq .capture.tsc_khz /out/host.json)"
virsh -q resume web01
rm -f /out/host-warm.exact

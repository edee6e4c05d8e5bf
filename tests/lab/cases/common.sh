# SPDX-License-Identifier: GPL-2.0-only
#
# common.sh - what the cases share; source it first. Cases run one after the
# other on the same L1: web01 is booted by the first that needs it and stays.

. /src/tests/lab/lib.sh

# case_guest NAME [OPTION]... - it runs, answers ssh, has the agent and the
# workloads. Options as of lab_guest_start, for a guest that does not run yet.
case_guest()
{
	if [ "$(virsh domstate "$1" 2> /dev/null)" != running ]; then
		virsh -q undefine "$1" > /dev/null 2>&1
		lab_guest_start "$@" || return
	fi
	lab_ssh "$1" true > /dev/null 2>&1 || lab_guest_wait "$1" || return
	lab_ssh "$1" rpm -q vmprof-guest-agent > /dev/null 2>&1 || lab_guest_install_agent "$1" || return
	lab_ssh "$1" test -x /opt/burn/shor || lab_guest_workload_put "$1" || return
	# a case that ended early may have left something
	case_quiet "$1"
	return 0
}

# case_idle - no session runs, whatever the case before left.
case_idle()
{
	vmprof stop > /dev/null 2>&1
	[ "$(vmprof status --json 2> /dev/null | jq .running)" = false ] || bail "the session of the case before has ended"
}

# case_guest_run NAME CMD - in the background of the guest, output thrown away.
# What it names of /opt/burn must be there.
case_guest_run()
{
	local program
	for program in $(grep -o '/opt/burn/[a-z-]*' <<< "$2" | sort -u); do
		lab_ssh "$1" "test -x $program" || bail "$program is in $1"
	done
	lab_ssh "$1" "nohup sh -c '$2' > /dev/null 2>&1 < /dev/null &"
}

# case_quiet NAME - end the guest's workloads.
case_quiet()
{
	lab_ssh "$1" 'pkill -x "shor|burn-[ab]|threads|turn|turned|inner|now|jit|node"; pkill -f "[w]hile .*seq 1 300|[w]hile sleep 0.2"' > /dev/null 2>&1
}

# case_samples N [DOMAIN] - wait until the session has so many samples of a guest: a case takes
# what it needs, however fast the machine is. Too few are left to what looks at them.
case_samples()
{
	local end=$((SECONDS + 240))
	until [ "$(vmprof status --json | jq ".domains[] | select(.name == \"${2:-web01}\").samples")" -ge "$1" ] 2> /dev/null; do
		[ $SECONDS -lt $end ] || return 1
		sleep 2
	done
}

# case_report FILE [OPTION]... - the report as JSON, in /run/lab/report.json
case_report()
{
	vmprof report "$@" --json > /run/lab/report.json
}

# case_json FILTER - of that report, by jq
case_json()
{
	jq -r "$1" /run/lab/report.json
}

# case_share NAME PART WHOLE PERCENT - PART is so much of WHOLE, or more, but for three standard
# deviations: of a row of some dozens of samples one more or less is a few percent
case_share()
{
	at_least "$1 ($2 of $3)" \
		"$(awk -v k="$2" -v n="$3" -v p="$4" 'BEGIN { p /= 100; print n ? (k + 3 * sqrt(n * p * (1 - p))) * 100 / n : 0 }')" "$4"
}

# case_same_code DOMAIN COPY BLOCKS - compare the copy of its kernel's code with what QEMU's monitor shows in the
# running guest, at ten blocks of `vmprof blocks --json`; sets shown and differ
case_same_code()
{
	local text at kept now
	text=0x$(lab_ssh "$1" cat /proc/kallsyms | awk '$3 == "_stext" { print $1 }')
	differ=0 shown=0
	for at in $(jq -r '[.blocks[] | select(.side == "guest_kernel" and .module == "vmlinux" and .instructions != null) | .start] | unique | .[:10][]' "$3"); do
		kept=$(od -An -v -tx1 -j $((0x4000 + at - (text & ~4095))) -N 16 "$2" | tr -d ' \n')
		now=$(virsh -q qemu-monitor-command "$1" --hmp "x /16xb $at" | grep -o '0x[0-9a-f][0-9a-f]' | cut -c3- | tr -d '\n')
		[ ${#now} = 32 ] && shown=$((shown + 1))
		[ "$kept" = "$now" ] || { differ=$((differ + 1)); lab_note "$at: $kept in the copy, $now in the guest"; }
	done
}

# case_host_lbr - each pCPU's DEBUGCTL, LBR_SELECT and DBG_EXTN_CFG; nothing where there is no driver to read them by.
case_host_lbr()
{
	local cpu msr
	modprobe msr 2> /dev/null
	for cpu in /dev/cpu/[0-9]*/msr; do
		[ -c "$cpu" ] || return
		for msr in 0x1d9 0xc000010e 0xc000010f; do
			dd if="$cpu" bs=8 count=1 skip=$((msr)) iflag=skip_bytes status=none | od -An -tx8
		done
	done | tr -d '\n'
}

# case_host_lbr_is NAME - they are what $host_lbr has of before the first session.
case_host_lbr_is()
{
	if [ "$host_lbr" ]; then
		is "$1" "$(case_host_lbr)" "$host_lbr"
	else
		skip "$1" "no /dev/cpu/0/msr here"
	fi
}

# case_agent_lost [DOMAIN] - what its agent lost
case_agent_lost()
{
	case_json ".domains[] | select(.name == \"${1:-web01}\").agent.lost.total"
}

# case_events_lost - what a guest's agent did not tell, but for lists of mappings that were in use
case_events_lost()
{
	case_json '.domains[0].agent.lost | .total - .maps_busy'
}

# case_wrong_process - guest samples in code that the process has not mapped: what a
# sample looks like that was given to another process than its own.
case_wrong_process()
{
	case_json '[.domains[].unresolved.no_mapping] | add'
}

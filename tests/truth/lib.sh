# SPDX-License-Identifier: GPL-2.0-only
#
# lib.sh - exact counts from the emulator, for scripts on L1; source it with bash.
#
# L1 reaches the QMP of its own emulator through the virtio-serial port
# LAB_EMULATOR_PORT. Files are written by the emulator, into the folder that
# is /out here and LAB_EMULATOR_OUT there.

. /src/tests/lab/cases/common.sh

# truth_qmp JSON - one command; its error, if any, on standard error.
truth_qmp()
{
	local line
	exec 7<>"$LAB_EMULATOR_PORT" || return
	printf '{"execute": "qmp_capabilities"}\n%s\n' "${1%\}}, \"id\": \"truth\"}" >&7
	while IFS= read -r -t 120 line <&7; do
		case $line in
		*'"id": "truth"'*'"error"'* | *'"error"'*'"id": "truth"'*)
			echo "# the emulator: $line" >&2
			exec 7>&-
			return 1
			;;
		*'"id": "truth"'*)
			exec 7>&-
			return 0
			;;
		esac
	done
	exec 7>&-
	echo "# the emulator does not answer" >&2
	return 1
}

# truth_start, truth_stop NAME - the window; the counts are in /out/NAME then.
truth_start()
{
	truth_qmp '{"execute": "vmprof-exact-start"}'
}

truth_stop()
{
	truth_qmp "{\"execute\": \"vmprof-exact-stop\", \"arguments\": {\"file\": \"$LAB_EMULATOR_OUT/$1\"}}"
}

# truth_guest - web01 is up and no session runs. Its two vCPUs are pinned to the two
# CPUs: then the last #VMEXIT of a CPU is that of the vCPU that is loaded there.
# On a host that nobody emulates (LAB_OWN_HOST), every test of the case is skipped.
truth_guest()
{
	[ -n "${LAB_EMULATOR_PORT:-}${LAB_OWN_HOST:-}" ] || bail "there is a port to the emulator"
	if [ -z "${LAB_EMULATOR_PORT:-}" ]; then
		while [ "$lab_tap_nr" -lt "$lab_tap_plan" ]; do
			skip "exact counts" "only the emulator has them"
		done
		finish
	fi
	case_guest web01 || bail "web01 is up"
	# what a case that ended early left to run
	lab_ssh web01 'pkill -x timeout' > /dev/null 2>&1
	case_idle
	virsh -q vcpupin web01 0 0 && virsh -q vcpupin web01 1 1
}

# truth_session NAME SAMPLES [OPTION]... - of vmprof start: /out/NAME.exact and
# /out/NAME.vmprof. The domain is web01, if no option names one. The window opens when the agents
# have told what they tell once, for what runs in it takes more than twice its time; it lasts
# until a guest has SAMPLES more, however fast this machine is. With TRUTH_WHOLE it is all of
# the session: losses are counted for that alone. A case may do something in truth_meanwhile.
# Rings are large: what is lost is lost in bursts, and shares are not exact any more.
truth_session()
{
	local name=$1 samples=$2
	shift 2
	[[ " $* " = *" --buffer "* ]] || set -- --buffer 16M "$@"
	[[ " $* " = *" --domain "* ]] || set -- --domain web01 "$@"
	rm -f "/out/$name.vmprof"
	truth_whole truth_start &&
	vmprof start --output "/out/$name.vmprof" "$@" &&
	lab_wait 300 truth_domains '.agent.state == "running" and .agent.kernel_symbols' &&
	truth_part truth_start &&
	truth_turns web01 &&
	truth_meanwhile &&
	samples=$((samples + $(vmprof status --json | jq '[.domains[].samples] | max'))) &&
	lab_wait 1800 truth_domains ".samples >= $samples" &&
	truth_part truth_stop "$name.exact" &&
	vmprof stop &&
	truth_whole truth_stop "$name.exact" && return
	# the next one begins anew
	vmprof stop > /dev/null
	truth_stop "$name.failed" 2> /dev/null
	return 1
}

# Of sessions that are counted as a whole, of the others
truth_whole() { [ -z "${TRUTH_WHOLE:-}" ] || "$@"; }
truth_part() { [ -n "${TRUTH_WHOLE:-}" ] || "$@"; }

# truth_turns DOMAIN - TRUTH_TURNS (40) processes that take over each other's CR3: without
# any the judge has nothing to hold the time axis against. In real time: each runs as soon as it is forked, for the later
# it does, the more may the axis be off. And each is a subshell's child: that has page tables of its own, whatever shell it is
truth_turns()
{
	lab_ssh "$1" 'chrt -f 1 sh -c "for i in \$(seq '"${TRUTH_TURNS:-40}"'); do (ls -l /usr/bin; :) > /dev/null; done"'
}

truth_meanwhile() { :; }

# truth_domains FILTER - it is true of all domains of the session, by jq
truth_domains()
{
	vmprof status --json | jq -e "all(.domains[]; $1)"
}

TRUTH_QUESTIONS=25	# with --cpi: one more; with --steal, --behind, --neighbours or --not-steal: one more

# truth_ask FAULT|"" NAME [OPTION]... - what the judge says, or one whose analyzer is broken in that way: beside the
# emulator where there is somebody to run it (tests/truth/judging), else here
truth_ask()
{
	local judge=judge${1:+-$1} ask=/out/judging/$BASHPID-$RANDOM
	if [ ! -d /out/judging ]; then
		"$LAB_SHARE/../$judge" "${@:3}" "/out/$2.exact" "/out/$2.vmprof" 2>&1
		return
	fi
	mkdir -p /out/judging/objects
	[ ! -d /var/cache/vmprof/objects ] || cp -ru /var/cache/vmprof/objects/. /out/judging/objects
	printf '%s\n' "$judge" "${@:3}" "$2.exact" "$2.vmprof" > "$ask.new"
	mv "$ask.new" "$ask.ask"
	until [ -e "$ask.status" ]; do sleep 1; done
	cat "$ask.said"
	return "$(cat "$ask.status")"
}

# truth_judge NAME [OPTION]... - one test for each question
truth_judge()
{
	local line
	while IFS= read -r line; do
		case $line in
		'yes '*) pass "$1: ${line#yes }" ;;
		'NO '*) fail "$1: ${line#NO }" ;;
		'' | 'status 0' | 'status 1') ;;
		'status '*) fail "$1: the judge ends ($line)" ;;
		*) printf '# %s\n' "$line" ;;
		esac
	done < <(truth_ask "" "$@"; printf '\nstatus %d\n' $?)
}

# truth_plan N [EXTRA] - N tests of the case and all questions, and EXTRA more of them
truth_plan()
{
	plan $(($1 + TRUTH_QUESTIONS + ${2:-0}))
}

# truth_says NAME yes|NO FAULT [OPTION VALUE]... QUESTION... - what the judge answers, or (FAULT) one whose
# analyzer is broken in that way; one test for each question. Of a sound one a NO that is final is a failure whatever was asked
truth_says()
{
	local name=$1 answer=$2 fault=$3 output status question final line options=()
	shift 3
	while [[ $1 = --* ]]; do
		options+=("$1" "$2")
		shift 2
	done
	output=$(truth_ask "$fault" "$name" "${options[@]}")
	status=$?
	[ $status -le 1 ] || fail "$name: the judge ends (status $status)"
	for question in "$@"; do
		final=
		[ "$answer" = NO ] || ! grep -q "^NO $question.*(final)" <<< "$output" || final=' (final)'
		like "$name${fault:+, the analyzer $fault}: the judge says $answer: $question$final" \
			"$output" "^$answer $question"
		grep -E -m 1 "^$answer $question" <<< "$output" | sed 's/^/# /'
	done
	[ "$answer$fault" != yes ] || while IFS= read -r line; do
		for question in "$@"; do
			[[ $line != "NO $question"* ]] || continue 2
		done
		# the window of a whole session begins before it, and ends behind it
		[ -n "${TRUTH_WHOLE:-}" ] && [[ $line = "NO counters run whenever"* ]] || fail "$name: the judge says $line"
	done < <(grep '^NO .*(final)$' <<< "$output")
}

# truth_waits DOMAIN... - to be told when the window begins, and when it ends: how long their QEMU's tasks ran, and how long their vCPUs wanted
# to run and did not. truth_waited - the latter beside the former; 9 where that is not known: no such part can be
truth_waits()
{
	local task
	for task in $(pgrep -f "guest=($(IFS='|'; echo "$*"))," | sed 's,.*,/proc/&/task/*,'); do
		echo "$(cat "$task/schedstat") $(cat "$task/comm")"
	done | awk '{ ran += $1; if ($4 == "CPU") waited += $2 } END { print ran, waited }' >> /run/lab/seen
}

truth_waited() { awk 'NR == 1 { ran = $1; waited = $2 } END { print (NR == 2 && $1 > ran ? ($2 - waited) / ($1 - ran) : 9) }' /run/lab/seen; }

# truth_clocked NAME DOMAINS LOOK CMD... - a session of these by the clock, as long as CMD takes; LOOK is run when it has begun, and before it ends;
# its report is that of case_json then. A sample by the clock stands for as long as any other, one of cycles does not: this machine emulates
# one kind of code faster than another, and slowest what comes first after a switch. Its period is no multiple of the scheduler's.
truth_clocked()
{
	local name=$1 look=$3 d options=()
	for d in $2; do options+=(--domain "$d"); done
	shift 3
	rm -f /run/lab/seen
	vmprof start "${options[@]}" --event cpu-clock --period 3170us --output "/out/$name.vmprof" && "$look" && "$@" && "$look" &&
	vmprof stop && case_report "/out/$name.vmprof"
}

# truth_steal WHAT STOLEN WAITED [OFTEN [BESIDE]] - two parts of one whole, by samples and by the scheduler: they are the same, to 0.05 of it. Where
# there is little, half of what the scheduler says is there at least. And where it is told how often a vCPU came to run in a second of the whole,
# at most 1 ms for each time more, and 0.005: what a timer wakes is seen to wait from when that was due on, if it runs in the same interrupt as a
# sample's, and here an interrupt takes that long (0.37 ms more each were seen).
# BESIDE is how long others ran, as such a part: two vCPUs may wait there, and one is told.
truth_steal()
{
	local least most
	read -r least most < <(awk -v w="$3" -v n="${4:-45}" -v b="${5:-0}" 'BEGIN { print (w < 0.1 ? w / 2 : w - 0.05) - b, w + (n < 45 ? n * 1e-3 + 0.005 : 0.05) }')
	lab_note "by samples $2, by the scheduler $3${4:+; it let it run $4 times a second}${5:+; others ran for $5}"
	at_least "steal is what the scheduler says, as a part of $1, and no less" "$2" "$least"
	at_most "... and no more" "$2" "$most"
}

# truth_module FAULT|"" - the host module, or one that is broken in that way
truth_module()
{
	rmmod vmprof
	if [ "$1" ]; then
		insmod "$LAB_SHARE/../broken/$1.ko"
	else
		modprobe vmprof
	fi
}

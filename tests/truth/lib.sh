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
# On a host that nobody emulates, every test of the case is skipped.
truth_guest()
{
	if [ -z "${LAB_EMULATOR_PORT:-}" ]; then
		while [ "$lab_tap_nr" -lt "$lab_tap_plan" ]; do
			skip "exact counts" "only the emulator has them"
		done
		finish
	fi
	case_guest web01 || bail "web01 is up"
	case_idle
	virsh -q vcpupin web01 0 0 && virsh -q vcpupin web01 1 1
}

# truth_session NAME SECONDS [OPTION]... - of vmprof start --domain web01, all of it
# counted: /out/NAME.exact and /out/NAME.vmprof
truth_session()
{
	local name=$1 seconds=$2
	shift 2
	rm -f "/out/$name.vmprof"
	truth_start &&
	vmprof start --domain web01 --output "/out/$name.vmprof" "$@" &&
	sleep "$seconds" &&
	vmprof stop &&
	truth_stop "$name.exact"
}

TRUTH_JUDGE=${TRUTH_JUDGE:-$LAB_SHARE/../judge}
TRUTH_QUESTIONS=10

# truth_judge NAME [OPTION]... - one test for each of the TRUTH_QUESTIONS
truth_judge()
{
	local line
	while IFS= read -r line; do
		case $line in
		'yes '*) pass "$1: ${line#yes }" ;;
		'NO '*) fail "$1: ${line#NO }" ;;
		*) printf '# %s\n' "$line" ;;
		esac
	done < <("$TRUTH_JUDGE" "${@:2}" "/out/$1.exact" "/out/$1.vmprof" 2>&1)
}

# truth_says NAME yes|NO FAULT QUESTION... - what the judge answers, with a fault
# (or "") put into the sampled side; one test for each question
truth_says()
{
	local name=$1 answer=$2 fault=$3 output question
	shift 3
	output=$("$TRUTH_JUDGE" ${fault:+--fault "$fault"} "/out/$name.exact" "/out/$name.vmprof" 2>&1)
	for question in "$@"; do
		like "$name${fault:+, the fault '$fault'}: the judge says $answer: $question" \
			"$output" "^$answer $question"
	done
}

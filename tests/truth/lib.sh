# SPDX-License-Identifier: GPL-2.0-only
#
# lib.sh - exact counts from the emulator, for scripts on L1; source it with bash.
#
# L1 reaches the QMP of its own emulator through the virtio-serial port
# LAB_EMULATOR_PORT. Files are written by the emulator, into the folder that
# is /out here and LAB_EMULATOR_OUT there.

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

# truth_pin NAME - its two vCPUs to the two CPUs: then the last #VMEXIT of a CPU
# is that of the vCPU that is loaded there.
truth_pin()
{
	virsh -q vcpupin "$1" 0 0 && virsh -q vcpupin "$1" 1 1
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

# truth_yes NAME QUESTION - the judge answers yes to this one; one test
truth_yes()
{
	like "$1: $2" "$("$TRUTH_JUDGE" "/out/$1.exact" "/out/$1.vmprof" 2>&1)" "^yes $2"
}

# truth_no NAME FAULT QUESTION - with that fault the judge answers NO to it; one test
truth_no()
{
	local output
	output=$("$TRUTH_JUDGE" --fault "$2" "/out/$1.exact" "/out/$1.vmprof" 2>&1)
	like "$1: with the fault '$2' the judge says no: $3" "$output" "^NO $3"
}

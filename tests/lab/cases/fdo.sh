# SPDX-License-Identifier: GPL-2.0-only
#
# fdo.sh - what the cases share in which a guest's program is made anew from what was sampled of it; source it
# after common.sh.

# fdo_tree NAME - unpack what tests/lab/tree put there; sets tree
fdo_tree()
{
	tree=/var/tmp/$1
	rm -rf "$tree" && mkdir -p "$tree" && tar -xf "$LAB_SHARE/$1/root.tar" -C "$tree"
}

# fdo_measure PROGRAM - the same work under a session of its own; sets result, cycles, instructions and taken
fdo_measure()
{
	local f=/out/fdo-$1.vmprof samples runs
	rm -f "$f"
	vmprof start --domain web01 --lbr any --cpi --period 100000 --output "$f" > /dev/null 2>&1 || return
	result=$(lab_ssh web01 "/opt/burn/$1 40")
	vmprof stop > /dev/null 2>&1 || return
	case_report "$f" --by process || return
	samples=$(case_json "[.domains[0].rows[] | select(.process == \"$1\")] | \"\([.[].cycle_samples] | add) \([.[].instruction_samples] | add)\"")
	cycles=$((${samples% *} * 100000)) instructions=$((${samples#* } * 100000))
	# a run of a block ends with a taken branch
	runs=$(vmprof blocks --comm "$1" --json "$f" | jq '[.blocks[].runs // 0] | add | floor')
	taken=${runs:-0}
	lab_note "$1: $cycles cycles, $instructions instructions, $taken taken branches; $samples samples"
}

# fdo_before - what was measured is what the rest is held against
fdo_before()
{
	before=$result cycles_before=$cycles instructions_before=$instructions taken_before=$taken
}

# fdo_better - four tests: the result is that of before, and what it took is less
fdo_better()
{
	is "it prints the same sum" "$result" "$before"
	at_most "its taken branches, in thousandths of those before" "$(fdo_ratio "$taken" "$taken_before")" 700
	at_most "its cycles, in thousandths" "$(fdo_ratio "$cycles" "$cycles_before")" 950
	at_most "its instructions, in thousandths: none is added" "$(fdo_ratio "$instructions" "$instructions_before")" 1020
}

# fdo_ratio NEW OLD - in thousandths
fdo_ratio() { echo $((1000 * $1 / ($2 > 0 ? $2 : 1))); }

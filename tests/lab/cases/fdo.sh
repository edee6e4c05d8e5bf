# SPDX-License-Identifier: GPL-2.0-only
#
# fdo.sh - what the cases share in which a guest's program is made anew from what was sampled of it; source it
# after tests/truth/lib.sh, for what a program takes is counted by the emulator.

# fdo_tree NAME - unpack what tests/lab/tree put there; sets tree
fdo_tree()
{
	tree=/var/tmp/$1
	rm -rf "$tree" && mkdir -p "$tree" && tar -xf "$LAB_SHARE/$1/root.tar" -C "$tree"
}

# fdo_measure PROGRAM - the same work under a session of its own, then counted; sets sampled, result, cycles, instructions, taken
fdo_measure()
{
	local f=/out/fdo-$1.vmprof samples
	rm -f "$f"
	vmprof start --domain web01 --lbr any --cpi --period 100000 --output "$f" > /dev/null 2>&1 || return
	lab_ssh web01 "/opt/burn/$1 40" > /dev/null
	vmprof stop > /dev/null 2>&1 || return
	case_report "$f" --by process || return
	samples=$(case_json "[.domains[0].rows[] | select(.process == \"$1\")] | \"\([.[].cycle_samples] | add) \([.[].instruction_samples] | add)\"")
	sampled=${samples% *}
	fdo_count "$1" || return
	lab_note "$1: $cycles cycles, $instructions instructions, $taken taken branches, exactly; samples of cycles and instructions, each for 100000: $samples"
}

# fdo_count PROGRAM - without a session, by the emulator's exact counts. In a guest that does not randomise its addresses it
# lies in the 48 MiB from 0x555555000000 on, with all that llvm-bolt adds, and of those that are randomised none does
fdo_count()
{
	truth_start || return
	result=$(lab_ssh web01 "setarch -R /opt/burn/$1 40")
	truth_stop "fdo-$1.exact" || return
	read -r cycles instructions taken < <(awk '$1 == "cpu" { split("", user) }
		$1 == "space" { user[$2] = $3 == "guest" && $4 == "user" }
		$1 == "block" && user[$2] && length($3) == 14 && $3 ~ /^0x55555[567]/ { insns += $5; cycles += $6; taken += $11 }
		$1 == "end" { whole = 1 }
		END { if (whole) printf "%.0f %.0f %.0f\n", cycles, insns, taken; else print 0, 0, 0 }' "/out/fdo-$1.exact")
	rm -f "/out/fdo-$1.exact"
	[ "${instructions:-0}" -gt 0 ]
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

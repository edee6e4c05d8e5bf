#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# lab-only: yes
# A guest's program is laid out anew by llvm-bolt (tests/lab/tree) from what was sampled on its host, and runs
# better: fewer taken branches, fewer cycles, the same result.
. /src/tests/lab/cases/common.sh
plan 12

if [ ! -f "$LAB_SHARE/bolt/root.tar" ]; then
	for t in {1..12}; do
		skip "llvm-bolt: $t" "tests/lab/tree was not run"
	done
	finish
fi
case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01

# measure PROGRAM - the same work under a session of its own; sets result, cycles, instructions and taken
measure()
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

measure layout; is "the program is sampled" $? 0
before=$result cycles_before=$cycles instructions_before=$instructions taken_before=$taken
like "... and prints its sum" "$before" '^[0-9a-f]+$'
at_least "... in samples" $((cycles / 100000)) 5000

rm -rf /out/bolt
ok "its branches are exported" vmprof export --format bolt --comm layout -o /out/bolt /out/fdo-layout.vmprof
preagg=$(compgen -G "/out/bolt/layout-*.preagg")
# the note's sizes and type, its owner, 20 bytes
id=$(od -An -tx1 -v "$LAB_SHARE/layout" | tr -d ' \n' | grep -o '040000001400000003000000474e5500[0-9a-f]\{40\}' | tail -c 41)
is "... by the program's build-id" "${preagg##*/}" "layout-$id.preagg"

tree=/var/tmp/bolt
rm -rf $tree && mkdir -p $tree && tar -xf "$LAB_SHARE/bolt/root.tar" -C $tree
cp "$LAB_SHARE/layout" "$preagg" $tree/tmp/
bolt=$(compgen -G "$tree/usr/bin/llvm-bolt-[0-9]*")
ok "llvm-bolt takes them" chroot $tree "/usr/bin/${bolt##*/}" /tmp/layout -pa -p "/tmp/${preagg##*/}" -o /tmp/layout.bolt \
	-reorder-blocks=ext-tsp -reorder-functions=hfsort -dyno-stats
chroot $tree "/usr/bin/${bolt##*/}" /tmp/layout -pa -p "/tmp/${preagg##*/}" -o /dev/null -reorder-blocks=ext-tsp \
	-dyno-stats 2>&1 | grep -E 'taken (forward|backward|cond)|total taken|profile' | sed 's/^/# /'
ok "the program that it made is put into the guest" lab_guest_put web01 $tree/tmp/layout.bolt /opt/burn
rm -rf $tree

measure layout.bolt; is "that is sampled" $? 0
is "it prints the same sum" "$result" "$before"
# ratio NEW OLD - in thousandths
ratio() { echo $((1000 * $1 / ($2 > 0 ? $2 : 1))); }
at_most "its taken branches, in thousandths of those before" "$(ratio "$taken" "$taken_before")" 700
at_most "its cycles, in thousandths" "$(ratio "$cycles" "$cycles_before")" 950
at_most "its instructions, in thousandths: none is added" "$(ratio "$instructions" "$instructions_before")" 1020
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# lab-only: yes
# A guest's program is laid out anew by llvm-bolt (tests/lab/tree) from what was sampled on its host, and runs
# better: fewer taken branches, fewer cycles, the same result.
. /src/tests/truth/lib.sh
. /src/tests/lab/cases/fdo.sh
plan 12

[ -f "$LAB_SHARE/bolt/root.tar" ] || skip_rest llvm-bolt "tests/lab/tree was not run"
case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01

fdo_measure layout; is "the program is sampled" $? 0
fdo_before
like "... and prints its sum" "$before" '^[0-9a-f]+$'
at_least "... in samples" "$sampled" 5000

rm -rf /out/bolt
ok "its branches are exported" vmprof export --format bolt --comm layout -o /out/bolt /out/fdo-layout.vmprof
preagg=$(compgen -G "/out/bolt/layout-*.preagg")
# the note's sizes and type, its owner, 20 bytes
id=$(od -An -tx1 -v "$LAB_SHARE/layout" | tr -d ' \n' | grep -o '040000001400000003000000474e5500[0-9a-f]\{40\}' | tail -c 41)
is "... by the program's build-id" "${preagg##*/}" "layout-$id.preagg"

fdo_tree bolt
cp "$LAB_SHARE/layout" "$preagg" $tree/tmp/
bolt=$(compgen -G "$tree/usr/bin/llvm-bolt-[0-9]*")
ok "llvm-bolt takes them" chroot $tree "/usr/bin/${bolt##*/}" /tmp/layout -pa -p "/tmp/${preagg##*/}" -o /tmp/layout.bolt \
	-reorder-blocks=ext-tsp -reorder-functions=hfsort -dyno-stats
chroot $tree "/usr/bin/${bolt##*/}" /tmp/layout -pa -p "/tmp/${preagg##*/}" -o /dev/null -reorder-blocks=ext-tsp \
	-dyno-stats 2>&1 | grep -E 'taken (forward|backward|cond)|total taken|profile' | sed 's/^/# /'
ok "the program that it made is put into the guest" lab_guest_put web01 $tree/tmp/layout.bolt /opt/burn
rm -rf $tree

fdo_measure layout.bolt; is "that is sampled" $? 0
fdo_better
finish

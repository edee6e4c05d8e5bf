#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# lab-only: yes
# A guest's program is compiled anew by gcc -fauto-profile, with a profile that AutoFDO's create_gcov made of what was
# sampled on its host, and runs better. Debian 12's tools (tests/lab/tree): later compilers do not read what
# that create_gcov writes, and Debian 13's create_llvm_prof was built without LLVM.
. /src/tests/truth/lib.sh
. /src/tests/lab/cases/fdo.sh
plan 17

[ -f "$LAB_SHARE/autofdo/root.tar" ] || skip_rest AutoFDO "tests/lab/tree was not run for this suite's guests"
case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01

fdo_tree autofdo
cp /src/tests/lab/workload/layout.c "$tree/tmp/"
# compile PROGRAM [OPTION]... - AutoFDO reads DWARF 4 and no later
compile() { chroot "$tree" /usr/bin/gcc-11 -O2 -gdwarf-4 "${@:2}" -o "/tmp/$1" /tmp/layout.c; }
ok "the program is compiled" compile plain
ok "... and put into the guest" lab_guest_put web01 "$tree/tmp/plain" /opt/burn
fdo_measure plain; is "it is sampled" $? 0
fdo_before
like "... and prints its sum" "$before" '^[0-9a-f]+$'
at_least "... in samples" "$sampled" 5000

rm -rf /out/autofdo
ok "its branches are exported" vmprof export --format autofdo --comm plain -o /out/autofdo /out/fdo-plain.vmprof
cp /out/autofdo/plain-*.afdo.txt "$tree/tmp/branches"
ok "create_gcov takes them" chroot "$tree" /usr/bin/create_gcov --binary=/tmp/plain --profiler=text --profile=/tmp/branches \
	--gcov=/tmp/afdo -gcov_version=1
# steps TEXT - how many of the eight functions that do the work have a line with a number of four digits
steps() { grep -oE '^step_[0-7][ :](total:)?[0-9]{4}' <<< "$1" | grep -oE '^step_[0-7]' | sort -u | wc -l; }
is "... and names the functions that ran" "$(steps "$(chroot "$tree" /usr/bin/dump_gcov -gcov_version=1 /tmp/afdo)")" 8
ok "create_llvm_prof takes them, too" chroot "$tree" /usr/bin/create_llvm_prof --binary=/tmp/plain --profiler=text \
	--profile=/tmp/branches --format=text --out=/tmp/llvm
is "... and names these functions" "$(steps "$(cat "$tree/tmp/llvm")")" 8
ok "gcc takes the profile" compile auto -fauto-profile=/tmp/afdo
ok "the program that it made is put into the guest" lab_guest_put web01 "$tree/tmp/auto" /opt/burn
rm -rf "$tree"

fdo_measure auto; is "that is sampled" $? 0
fdo_better
finish

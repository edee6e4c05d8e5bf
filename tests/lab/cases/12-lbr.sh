#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab-only: yes
# 12-lbr.sh - last branch records of a tiny guest whose branches are known, by the bare reader.
. /src/tests/lab/cases/common.sh
. /src/tests/lab/cases/tiny.sh
plan 46

case_idle
host_lbr=$(case_host_lbr)
modprobe vmprof
like "QUERY tells of branches, none with cycles" "$(ringdump query)" 'features=0x[0-9a-f]*[4-7cdef] .*lbr_lack=0 lbr_entries=16$'
tiny_init knownbranches
ok "a tiny guest runs" tiny g1 nokaslr
vm=$(cat g1.pid)

# branches NAME BRANCHES FORMAT [SECONDS [PERIOD]] - sample it; branchcheck's sums into $NAME_...
branches()
{
	local pair sums
	ringdump dump -p "$vm" -n "${5:-200000}" -s "${4:-1}" -l "$2" -f "$3" >"$1" 2>&1
	sums=$(branchcheck g1.console "$2" 0xffffffff83000000 <"$1")
	lab_note "$1: $sums"
	for pair in $sums; do
		printf -v "${1}_${pair%%=*}" %s "${pair#*=}"
	done
}

# the guest's kernel lies at 16 MiB; is the host's, wherever it lies, apart from it?
host_text=$(awk '$3 == "_text" { print $1 }' /proc/kallsyms)
apart=$((0x${host_text:8} >= 0x83000000))

branches any 0x1ff 1 2
at_least "guest samples" "$any_guest" 200
is "each has its record, and every host's sample too" "$((any_guest - any_guest_with)) $((any_host - any_host_with))" "0 0"
at_least "most have all 16 entries (of 1000 entries that could be)" "$(per_mille "$any_guest_entries" $((any_guest * 16)))" 900
is "records are as they should be" "$any_odd" 0
at_least "neighbours chain (per mille)" "$(per_mille "$any_chained" "$any_pairs")" 999
at_least "the youngest leads to the sample's address (per mille)" "$(per_mille "$any_near" "$any_first")" 995
if [ $apart = 1 ]; then
	is "no address of the host's in a guest's record" "$any_guest_foreign" 0
	is "no address of the guest's in a record of its QEMU" "$any_vmm_foreign" 0
else
	skip "no address of the host's in a guest's record" "host and guest kernel lie at the same addresses"
	skip "no address of the guest's in a record of its QEMU" "host and guest kernel lie at the same addresses"
fi
is "user branches are those that the program takes" "$any_guest_unknown" 0
at_least "kernel branches are among them" "$any_guest_kernel" 100
at_least "host samples have branches" "$any_host_entries" 100
at_least "entries beyond a VM entry or exit are cut, and counted" "$any_cut" 1
is "nothing was lost" "$(total any full) $(total any nested) $(total any state)" "0 0 0"
is "every interrupt is a sample or was filtered" "$(($(total any interrupts) - $(total any filtered)))" "$(grep -c ^S any)"
is "a record is a sample or its branches" "$(total any records)" "$(grep -c '^[SBCL]' any)"

at_least "a switch to another process is told" "$any_switched1" 10
at_most "only where there is one" "$any_switched0" 0

# Each kind alone, user code only: exactly that kind. A return to QEMU's user code starts in the host's
# kernel, so where both kernels lie at the same addresses the host's own are not told apart.
for kind in cond:0x6 call:0x1a ret:0x22 ind:0x52 jump:0xc2 far:0x102; do
	name=${kind%:*}
	branches "$name" "${kind#*:}" 1
	entries=${name}_guest_entries unknown=${name}_guest_unknown foreign=${name}_guest_foreign vmm=${name}_vmm_foreign odd=${name}_odd
	at_least "$name,user: entries" "${!entries}" 300
	is "$name,user: of that kind alone" "${!unknown} ${!foreign} $((apart * ${!vmm})) ${!odd}" "0 0 0 0"
done
# The program on vCPU 0 has none of its own: a timer's return is rarer than samples are, and seen all the same.
# Were each exit the end of a record, each return would be in one record at most, since a sample is an exit.
branches back 0x102 1 1 50000
at_least "far,user: records go back across exits (entries of 1000 samples)" "$(per_mille "$back_entries0" "$back_samples0")" 500
is "user only: no branch ends in the kernel" "$cond_guest_kernel $far_guest_kernel" "0 0"
branches calls 0x19 1
at_least "call,kernel: entries" "$calls_guest_kernel" 300
is "call,kernel: no user code" "$((calls_guest_entries - calls_guest_kernel)) $calls_odd" "0 0"
[ $apart = 0 ] || is "call,kernel: no address of the host's" "$calls_guest_foreign" 0
[ $apart = 1 ] || skip "call,kernel: no address of the host's" "host and guest kernel lie at the same addresses"

# the other formats
branches from 0x1fe 2
is "from only: known, one word each" "$from_guest_unknown $from_odd $((from_guest_entries > 500))" "0 0 1"
branches to 0x1fe 3
is "to only: known, one word each" "$to_guest_unknown $to_odd $((to_guest_entries > 500))" "0 0 1"

# a full ring takes neither a sample nor its branches
ringdump dump -p "$vm" -n 50000 -s 4 -z -r 65536 -l 0x1ff -f 1 >full 2>&1
at_least "a ring that is not read is full" "$(total full full)" 100
is "every loss is a sample's" "$(($(total full interrupts) - $(total full filtered)))" "$(($(grep -c ^S full) + $(total full full)))"
is "no sample without branches, no branches without a sample" "$(branchcheck g1.console 0x1ff 0xffffffff83000000 <full |
	sed 's/^guest=\([0-9]*\) guest_with=\([0-9]*\) .* host=\([0-9]*\) host_with=\([0-9]*\) .* odd=/\1 \3 \2 \4 /' |
	awk '{ print $1 - $3, $2 - $4, $5 }')" "0 0 0"

# instructions beside them
ringdump dump -p "$vm" -n 200000 -i 200000 -s 1 -l 0x1ff -f 1 >both 2>&1
at_least "samples of instructions" "$(grep -c '^I' both)" 100
is "... have branches, each its own" "$(awk '/^I/ { i = 1; n++; next } { n -= i && /^B/; i = 0 } END { print n + 0 }' both)" 0
for i in 1 2 3; do ringdump cycle 10 -q -p "$vm" -n 200000 -l 0x1ff -f 1; done >cycle 2>&1
is "start and stop again and again" "$(grep -c '^Y cycles=10 records=[1-9]' cycle)" 3
ok "the guest lives" tiny_end g1
case_host_lbr_is "the host's registers of branch records are as they were before"
cp any full /out/ 2>/dev/null
cd / && rm -rf "$work"
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# short: yes
# The host module on VMX: what it samples by the timer of a tiny guest whose profile is known beforehand.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 18

# L1 has one pCPU, the guests two vCPUs, and QEMU says so
tiny_quiet() { tiny "$@" 2>>qemu.log; }

modprobe vmprof
tiny_init twoloops
ok "a guest with two loops runs" tiny_quiet g1
vm=$(cat g1.pid)
ringdump dump -p "$vm" -t -n 2000000 -s 6 >timer 2>&1
monitor g1 stop >/dev/null		# it would take two thirds of the only pCPU
guest='v["mode"] == 0'
user='v["mode"] == 0 && v["cpl"] == 3'
at_least "guest samples" "$(count timer "$guest")" 1000
is "all by the timer's interrupt, none by NMI" "$(count timer 'v["flags"] !~ /T/ || v["flags"] ~ /I/')" 0
is "exit reason 1, external interrupt, and its vector is valid" \
	"$(values timer "$guest" exit)$(values timer "$guest" info | grep -c '^0x800000[0-9a-f]* $')" "0x1 1"
is "the vendor, the VM and its threads" \
	"$(values timer "$guest" vendor)$(values timer "$guest" vm)$(count timer "$guest"' && (v["tid"] != v["vcpu_tid"] || v["pid"] != v["vm"])')" "2 $vm 0"
long=$(count timer "$user"' && v["gip"] ~ A && v["vcpu"] == 0' "$(at loop_long)")
short=$(count timer "$user"' && v["gip"] ~ A && v["vcpu"] == 0' "$(at loop_short)")
other=$(count timer "$user"' && v["gip"] ~ A && v["vcpu"] == 1' "$(at loop_other)")
at_least "guest user addresses are in the loops (per mille)" \
	"$(per_mille $((long + short + other)) "$(count timer "$user")")" 990
at_least "samples of the two loops" $((long + short)) 400
share "a loop three times as long has three of four samples" "$long" $((long + short)) 750
is "guest kernel addresses have CPL 0, user addresses CPL 3" \
	"$(count timer "$guest"' && (v["gip"] ~ /^0xffffffff/) != (v["cpl"] == 0)')" 0
is "both in 64-bit mode" "$(count timer "$guest"' && v["flags"] !~ /VL/')" 0
want=$(monitor g1 'info registers -a' | grep -o 'CR3=[0-9a-f]*' | sed 's/CR3=0*/0x/' | sort -u | tr '\n' ' ')
is "the CR3s are those that QEMU shows" "$(values timer "$user" cr3)" "$want"
is "one for each process" "$(values timer "$user"' && v["vcpu"] == 0' cr3 | wc -w) $(wc -w <<<"$want")" "1 2"
is "nothing was lost" "$(total timer full) $(total timer nested) $(total timer state)" "0 0 0"
is "every interrupt is a sample or was filtered" "$(($(total timer interrupts) - $(total timer filtered)))" "$(grep -c ^S timer)"
is "the clock is KVM's" "$(sed -n 's/^C.*vcpu=0 .*offset=\(-*[0-9]*\) .*/\1/p' timer | head -n 1)" \
	"$(cat /sys/kernel/debug/kvm/"$vm"-*/vcpu0/tsc-offset)"
is "with VMX's fraction bits" "$(sed -n 's/^C.*vcpu=0 .*frac=\([0-9]*\) .*ratio=\([0-9]*\).*/\1 \2/p' timer | head -n 1)" "48 $((1 << 48))"
monitor g1 cont >/dev/null
sh -c 'while :; do :; done' &
hog=$!
ringdump dump -p "$vm" -t -n 2000000 -s 2 >steal 2>&1
kill $hog
monitor g1 stop >/dev/null
at_least "another task in a vCPU's place is steal" \
	"$(count steal 'v["mode"] == 4 && v["flags"] ~ /S/ && v["vm"] == A && v["vcpu_tid"] > 0' "$vm")" 200
# a vCPU that waits is sampled many times at one place, and a few places are outside the loops
at_least "... that says where its guest was (per mille)" "$(per_mille \
	"$(count steal 'v["flags"] ~ /S/ && v["cr3"] != "0" && (v["gip"] ~ A || v["cpl"] == 0)' "$(at loop_long)|$(at loop_short)|$(at loop_other)")" \
	"$(count steal 'v["flags"] ~ /S/')")" 900
monitor g1 cont >/dev/null
tiny_end g1
rmmod vmprof
cd /
cp "$work"/{timer,steal,qemu.log} /out/
rm -rf "$work"
finish

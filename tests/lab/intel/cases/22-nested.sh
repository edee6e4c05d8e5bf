#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest that has a guest of its own (intel/nested): samples of the inner one say so, those of the
# outer one do not, and both are the VM's that the host knows.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 16

modprobe vmprof
is "KVM lets guests have guests" "$(cat /sys/module/kvm_intel/parameters/nested)" Y
qemu-system-x86_64 -accel kvm -cpu host,-pmu -m 32 -nodefaults -display none -kernel "$tools/nested" \
	-serial "file:$work/g1.console" -pidfile "$work/g1.pid" -daemonize 2>qemu.log
lab_wait 120 grep -q ready g1.console || bail "a guest with a guest runs" "$(cat qemu.log g1.console)"
pass "a guest with a guest runs"
vm=$(cat g1.pid)
ringdump dump -p "$vm" -t -n 2000000 -s 6 >timer 2>&1
guest='v["mode"] == 0'
inner=$(at loop_inner) outer=$(at loop_outer)
word() { sed -n "s/.*$1=\(0x[0-9a-f]*\).*/\1/p" g1.console; }

at_least "samples of both" "$(count timer "$guest")" 1000
at_least "samples of the inner guest's loop" "$(count timer "$guest"' && v["gip"] ~ A' "$inner")" 300
is "... all say nested" "$(count timer "$guest"' && v["gip"] ~ A && v["flags"] !~ /N/' "$inner")" 0
is "... and have the inner guest's address space" "$(values timer "$guest"' && v["flags"] ~ /N/' cr3)" "$(word inner_cr3) "
at_least "samples of the outer guest's loop" "$(count timer "$guest"' && v["gip"] ~ A' "$outer")" 100
is "... none says nested" "$(count timer "$guest"' && v["gip"] ~ A && v["flags"] ~ /N/' "$outer")" 0
is "... and have the outer guest's address space" "$(values timer "$guest"' && v["flags"] !~ /N/' cr3)" "$(word outer_cr3) "
loops=$(count timer "$guest"' && v["gip"] ~ A' "$inner|$outer")
at_least "guest samples are in the loops (per mille)" "$(per_mille "$loops" "$(count timer "$guest")")" 980
share "the inner one's loop, three times as long, has three of four" \
	"$(count timer "$guest"' && v["gip"] ~ A' "$inner")" "$loops" 750
is "exit reason 1, external interrupt, for both" "$(values timer "$guest" exit)" "0x1 "
is "they are the VM's and its only vCPU's" \
	"$(values timer "$guest" vm)$(values timer "$guest" vcpu)$(count timer "$guest"' && (v["tid"] != v["vcpu_tid"] || v["pid"] != v["vm"])')" "$vm 0 0"
at_least "KVM's samples say for which instruction of the outer one it works" \
	"$(count timer 'v["mode"] == 1 && v["flags"] ~ /V/ && v["flags"] !~ /N/ && v["exit"] ~ /^0x1[2-9]$/ && v["cr3"] == A' "$(word outer_cr3)")" 1
is "nothing was lost" "$(total timer full) $(total timer nested) $(total timer state)" "0 0 0"
is "every interrupt is a sample or was filtered" "$(($(total timer interrupts) - $(total timer filtered)))" "$(grep -c ^S timer)"
tiny_end g1
cd /
cp "$work"/{timer,g1.console,qemu.log} /out/
rm -rf "$work"
finish

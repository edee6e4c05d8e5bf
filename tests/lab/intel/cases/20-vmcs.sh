#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The VMCS: where there is none, or another one than was verified, nothing is read of it; and its
# DEBUGCTL is lent our bits for branch records at each entry and has the guest's own again after
# each exit. Bochs keeps no branches, so vmxtest calls what a session with them would. Bochs has the
# field, but not the register that a processor loads from it: what that does is not shown here.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 18

# The module's counters
seen() { cat "/sys/module/vmxtest/parameters/$1"; }

modprobe -r vmprof 2>/dev/null
# from Linux 6.12 on KVM turns VMX on when it is loaded, if it is not told otherwise
modprobe -r kvm_intel && modprobe -r kvm && modprobe kvm enable_virt_at_load=0 && modprobe kvm_intel
ok "the module loads where VMX is off" modprobe vmxtest
is "... and nothing is read or written, in 6 ways" "$(seen unread)" 6
modprobe -r vmxtest kvm_intel && modprobe -r kvm && modprobe kvm_intel
ok "the module loads" modprobe vmxtest
is "without a VMCS nothing is read or written, in 6 ways" "$(seen unread)" 6
is "... and no guest has run" "$(seen entries)" 0
tiny_init twoloops
ok "a guest boots with its DEBUGCTL lent at each entry" tiny g1 2>qemu.log
like "... and runs" "$(monitor g1 'info status')" 'VM status: running'
monitor g1 stop >/dev/null
sleep 0.5
entries=$(seen entries) lent=$(seen lent)
lab_note "entries $entries, lent $lent"
at_least "entries" "$entries" 1000
is "each has its exit" "$(seen exits)" "$entries"
is "DEBUGCTL was lent at each, and once" "$lent" "$entries"
is "... and keeps it until the exit" "$(seen kept)" "$lent"
is "the guest's own value is back after each" "$(seen restored)" "$lent"
is "a field that there is not is neither read nor written" "$(seen missing)" "$entries"
at_least "a vCPU's own is not read while the other one's is current" "$(seen switched)" 1000
is "another VMCS than the verified one is not read" "$(seen refused)" "$entries"
is "that one is, and is no sample of the guest before KVM handles an interrupt" "$(seen believed)" "$entries"
is "nothing else was seen" "$(seen bad)" 0
monitor g1 cont >/dev/null
tiny_end g1
ok "the module unloads" rmmod vmxtest
cd /
rm -rf "$work"
finish

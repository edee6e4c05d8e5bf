#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Without EPT the VMCS has KVM's own page tables for the guest: samples have the guest's CR3 all the same.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 6

modprobe -r vmprof kvm_intel
modprobe kvm_intel ept=0
is "KVM shadows the guest's page tables" "$(cat /sys/module/kvm_intel/parameters/ept)" N
modprobe vmprof
tiny_init twoloops
ok "a guest with two loops runs" tiny g1 2>qemu.log
ringdump dump -p "$(cat g1.pid)" -t -n 2000000 -s 6 >timer 2>&1
monitor g1 stop >/dev/null
user='v["mode"] == 0 && v["cpl"] == 3'
at_least "samples of the guest's user code" "$(count timer "$user")" 200
is "the CR3s are those that QEMU shows" "$(values timer "$user" cr3)" \
	"$(monitor g1 'info registers -a' | grep -o 'CR3=[0-9a-f]*' | sed 's/CR3=0*/0x/' | sort -u | tr '\n' ' ')"
is "one for each process" "$(values timer "$user"' && v["vcpu"] == 0' cr3 | wc -w)" 1
monitor g1 cont >/dev/null
tiny_end g1
modprobe -r vmprof kvm_intel
ok "KVM is as before" modprobe kvm_intel
cd /
cp "$work"/{timer,qemu.log} /out/
rm -rf "$work"
finish

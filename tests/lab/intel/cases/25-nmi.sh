#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# NMIs from another pCPU (run --cpus 2) read the guest's state as a counter's would: those that end
# the guest's run find its loops, those that hit KVM never say that the guest ran.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 9

# The module's counters
seen() { cat "/sys/module/vmxtest/parameters/$1"; }

modprobe -r vmprof 2>/dev/null
is "two pCPUs" "$(nproc)" 2
tiny_init twoloops
taskset -pc 0 $$ >/dev/null
ok "a guest runs on the first" tiny g1 2>qemu.log
ok "the other one sends NMIs" modprobe vmxtest nmi=1 lo="$(sed -n 's/.*loop_long=\(0x[0-9a-f]*\).*/\1/p' g1.console)" \
	hi=$(($(sed -n 's/.*loop_other=\(0x[0-9a-f]*\).*/\1/p' g1.console) + 5))
lab_wait 60 sh -c '[ $(cat /sys/module/vmxtest/parameters/nmi_guest) -ge 1000 ]'
monitor g1 stop >/dev/null
lab_note "$(cd /sys/module/vmxtest/parameters && grep . nmi*)"
at_least "NMIs that found the guest" "$(seen nmi_guest)" 1000
at_least "... in user space" "$(seen nmi_user)" 300
at_least "... and there in its loops (per mille)" "$(per_mille "$(seen nmi_loop)" "$(seen nmi_user)")" 990
at_least "NMIs that found KVM or QEMU" "$(($(seen nmi_vmm) + $(seen nmi_host)))" 10
is "each with the exit reason and information of an NMI, and nothing else was seen" "$(seen bad)" 0
monitor g1 cont >/dev/null
tiny_end g1
ok "the module unloads" rmmod vmxtest
cd /
rm -rf "$work"
finish

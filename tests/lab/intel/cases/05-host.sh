#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# short: yes
# An Intel KVM host without a PMU: KVM is kvm_intel, the module samples by the timer, and all who
# are asked say so.
. /src/tests/lab/lib.sh
PATH=/usr/share/vmprof-lab/driver:$PATH
plan 13

like "the processor is an Intel with VMX" "$(tr '\n' ' ' </proc/cpuinfo)" 'GenuineIntel.* vmx .*vmx flags.* ept vpid unrestricted_guest '
ok "kvm_intel is loaded" test -d /sys/module/kvm_intel -a -c /dev/kvm
fails "kvm_amd is not" test -d /sys/module/kvm_amd
ok "the module loads" modprobe vmprof
query=$(ringdump query)
like "query: VMX, timer and steal, no PMU" "$query" ' features=0xa vendor=2 '
like "... and no branch records, for nothing freezes them" "$query" ' lbr_lack=2 lbr_entries=0$'
doctor=$(vmprof doctor 2>&1)
like "doctor says kvm_intel" "$doctor" '^ok  KVM by kvm_intel$'
like "... has the module" "$doctor" '^ok  module vmprof, interface '
like "... samples by the timer" "$doctor" '^--  no usable performance counter: samples come by timer \(cpu-clock\)'
like "... and has no branch records" "$doctor" '^--  no last branch records: the processor does not keep its branches'
fails "a session with them is refused" ringdump dump -a -t -s 1 -l 0x1ff -f 1
ringdump dump -a -t -n 2000000 -s 2 >/out/idle 2>&1
interrupts=$(sed -n 's/^T .* interrupts=\([0-9]*\) .*/\1/p' /out/idle)
like "a timer of 2 ms comes 1000 times in 2 s" "$interrupts" '^(9[5-9][0-9]|10[0-5][0-9])$'
ok "the module unloads" rmmod vmprof
finish

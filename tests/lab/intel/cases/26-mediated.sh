#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# KVM's mediated vPMU, of which a made-up kvm_intel says that it is on: counters are refused, the
# timer is not. The counters are nmipmu's (run --cpus 2).
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 13
parameter=/sys/module/kvm_intel/parameters/enable_mediated_pmu

modprobe vmprof
ok "a PMU is made of NMIs" modprobe nmipmu
khz=$(ringdump query | sed -n 's/.* tsc_khz=\([0-9]*\) .*/\1/p')
by_counter() { ringdump dump -a -q -n $((2 * khz)) -s 1; }
by_timer() { ringdump dump -a -q -t -n 2000000 -s 1; }

modprobe -r kvm_intel
ok "a kvm_intel is loaded that has a mediated vPMU" insmod /usr/share/vmprof-lab/mediated/kvm_intel.ko
is "... which is on" "$(cat $parameter)" Y
like "query says so" "$(ringdump query)" ' features=0x1b vendor=2 '
like "a session by a counter is refused" "$(by_counter 2>&1)" 'start: Operation not supported$'
by_timer >timer 2>&1
at_least "one by the timer is not: its interrupts" "$(total timer interrupts)" 100
doctor=$(vmprof doctor 2>&1)
like "doctor says what to do" "$doctor" "^!!  KVM's mediated vPMU is on, it keeps the counters: load KVM's module with enable_mediated_pmu=0"
unlike "... and nothing else of it" "$doctor" '^ok  no mediated vPMU'
echo N >$parameter
like "where it is off, query says so" "$(ringdump query)" ' features=0xb vendor=2 '
like "... and doctor" "$(vmprof doctor 2>&1)" '^ok  no mediated vPMU$'
ok "... and a session by a counter starts" by_counter
ok "the modules unload" rmmod vmprof nmipmu kvm_intel
ok "KVM is as before" modprobe kvm_intel
cd /
rm -rf "$work"
finish

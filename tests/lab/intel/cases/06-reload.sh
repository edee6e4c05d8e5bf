#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# short: yes
# The module comes and goes beside the smallest VM, and the host is sound; 15-exits does it more often.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 6

ok "the module loads" modprobe vmprof
vm >vm.said 2>&1 &
pid=$!
ok "a VM runs" lab_wait 30 grep -q ready vm.said
is "sessions, each by a module that was loaded anew" "$(reload $pid 10)" 10
ok "the VM has not noticed" kill -0 $pid
kill $pid
ok "the module unloads" rmmod vmprof
# Bochs's CPUID has no number of cores, which Linux 6.12 finds strange before it knows panic_on_warn
unlike "the kernel has nothing to complain about" "$(dmesg | grep -v 'WARNING: .*parse_legacy')" \
	'WARNING:|BUG:|Oops|vmprof: (pCPU|kvm|this)'
cd /
rm -rf "$work"
finish

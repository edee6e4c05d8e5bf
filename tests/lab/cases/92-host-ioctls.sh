#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# lab-only: yes
# A million calls of nonsense and half sense on the host module's device, beside a VM that it may sample.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 9

vmprof stop >/dev/null 2>&1
lab_guests_destroy
# rate N - of samples a second that perf allows; it can be set only while their share of time is limited
rate()
{
	echo 25 >/proc/sys/kernel/perf_cpu_time_max_percent
	echo "$1" >/proc/sys/kernel/perf_event_max_sample_rate
	echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
}

ok "the module loads" modprobe vmprof
vm >vm.said 2>&1 &
pid=$!
ok "a VM runs" lab_wait 30 grep -q ready vm.said
rate 20000
said=$(ioctls -t 3 -p $pid host 1000000 0 2>&1)
sed 's/^/# /' <<<"$said"
# has FIELD - its number
has() { grep -o " $1=[0-9]*" <<<"$said" | cut -d= -f2; }
like "a million calls" "$said" '^1000002 calls, [1-9][0-9]{5,} of them succeeded'
at_least "sessions were started" "$(has start)" 100
at_least "... and sampled" "$(has records)" 1000
at_least "VMs were added" "$(has add_vm)" 100
ok "the VM has not noticed" kill -0 $pid
kill $pid
ok "the module can be unloaded" modprobe -r vmprof
modprobe vmprof
like "... and works" "$(ringdump query)" 'version=8 '
rate 1000000
finish

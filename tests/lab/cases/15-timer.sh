#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The timer trigger: the same records without a counter, and a report that says so.
# tests/lab/no-pmu runs it on a host that has no other, without asking for it.
. /src/tests/lab/cases/common.sh
plan 9
asked=${timer_asked---event cpu-clock}

case_guest web01 || bail "web01 is up"
case_idle
# what it still does after its boot is not looked at here
lab_ssh web01 'timeout 240 systemctl is-system-running --wait' > /dev/null 2>&1
f=/out/timer.vmprof
rm -f $f
case_guest_run web01 "timeout 600 /opt/burn/burn-a 100000000"
output=$(vmprof start --domain web01 $asked --period 2ms --output $f 2>&1) || bail "start $asked" "$output"
pass "start $asked"
like "... says what samples" "$output" "${timer_notice:-cpu-clock}"
sleep 10
case_samples 1000
ok "stop" vmprof stop
case_quiet web01
case_report $f
is "the trigger is the timer" "$(case_json .capture.trigger)" timer
is "no sample came by an NMI exit" "$(case_json .totals.nmi_exits)" 0
at_least "guest samples" "$(case_json .totals.guest_samples)" 500
is "burn_a_work leads them" "$(case_json '.domains[0].rows[0].function')" burn_a_work
at_least "... by far: the guest's other work is what it does after its boot" \
	"$(case_json '(.domains[0].rows[] | select(.function == "burn_a_work").samples) * 100 / .totals.guest_samples')" 35
like "the report says timer" "$(vmprof report $f)" '[Tt]imer'
finish

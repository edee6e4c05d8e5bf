#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# short: yes
# The timer trigger: the same records without a counter, and a report that says so.
. /src/tests/lab/cases/common.sh
plan 7

case_guest web01 || bail "web01 is up"
case_idle
f=/out/timer.vmprof
rm -f $f
case_guest_run web01 "timeout 60 /opt/burn/burn-a 100000000"
ok "start --event cpu-clock" vmprof start --domain web01 --event cpu-clock --period 2ms --output $f
sleep 10
ok "stop" vmprof stop
case_quiet web01
case_report $f
is "the trigger is the timer" "$(case_json .capture.trigger)" timer
is "no sample came by an NMI exit" "$(case_json .totals.nmi_exits)" 0
at_least "guest samples" "$(case_json .totals.guest_samples)" 500
at_least "burn_a_work leads them" \
	"$(case_json '(.domains[0].rows[] | select(.function == "burn_a_work").samples) * 100 / .totals.guest_samples')" 60
like "the report says timer" "$(vmprof report $f)" '[Tt]imer'
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A task of the host takes turns with a vCPU that always wants to run: all its time is steal.
. /src/tests/truth/lib.sh
truth_plan 2 2

truth_guest
case_guest_run web01 'timeout 900 /opt/burn/burn-a 100000000'
case_guest_run web01 'timeout 900 /opt/burn/burn-b 100000000'
sleep 2
taskset -c 1 sh -c 'while :; do :; done' &
hog=$!
# when the window begins, and when it ends
truth_part() { "$@" && truth_waits web01; }
rm -f /run/lab/seen
ok "a session" truth_session steal 6000 --period 150000 --random
kill $hog
lab_ssh web01 'pkill -x timeout' > /dev/null 2>&1
case_report /out/steal.vmprof
at_least "a fifth of the time is steal (per cent)" "$(case_json '.domains[0] | .steal * 100 / .total | floor')" 20
truth_judge steal --min 4000 --steal $hog --waited "$(truth_waited)"
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A task of the host takes turns with a vCPU that always wants to run: all its time is steal.
. /src/tests/truth/lib.sh
truth_plan 5 1

truth_guest
case_guest_run web01 'timeout 3600 /opt/burn/burn-a 100000000'
case_guest_run web01 'timeout 3600 /opt/burn/burn-b 100000000'
sleep 2
taskset -c 1 sh -c 'while :; do :; done' &
hog=$!
ok "a session" truth_session steal 6000 --period 150000 --random
case_report /out/steal.vmprof
at_least "a fifth of the time is steal (per cent)" "$(case_json '.domains[0] | .steal * 100 / .total | floor')" 20
truth_judge steal --min 4000 --steal $hog

by_waits() { truth_waits web01; }
ok "a session by the clock" truth_clocked clocked web01 by_waits case_samples 12000
kill $hog
lab_ssh web01 'pkill -x timeout' > /dev/null 2>&1
truth_steal "the time that the VM ran" "$(case_json '.domains[0] | .steal / (.guest_samples + .vmm)')" "$(truth_waited)"
finish

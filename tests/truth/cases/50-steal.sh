#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A task of the host takes turns with a vCPU that always wants to run: all its time is steal.
. /src/tests/truth/lib.sh
truth_plan 5 1

truth_guest
case_guest_run web01 'timeout 900 /opt/burn/burn-a 100000000'
case_guest_run web01 'timeout 900 /opt/burn/burn-b 100000000'
sleep 2
taskset -c 1 sh -c 'while :; do :; done' &
hog=$!
ok "a session" truth_session steal 6000 --period 150000 --random
case_report /out/steal.vmprof
at_least "a fifth of the time is steal (per cent)" "$(case_json '.domains[0] | .steal * 100 / .total | floor')" 20
truth_judge steal --min 4000 --steal $hog

# By the clock a sample stands for as long as any other; a period is no multiple of the scheduler's
rm -f /run/lab/seen
vmprof start --domain web01 --event cpu-clock --period 3170us --output /out/clocked.vmprof || bail "start by the clock"
truth_waits web01
case_samples 12000
truth_waits web01
ok "a session by the clock" vmprof stop
kill $hog
lab_ssh web01 'pkill -x timeout' > /dev/null 2>&1
case_report /out/clocked.vmprof
stolen=$(case_json '.domains[0] | .steal / (.guest_samples + .vmm)')
waited=$(truth_waited)
lab_note "steal is $stolen of the time that the VM ran; by the scheduler it were $waited"
at_least "its steal, as a part of the time that the VM ran, is what the scheduler says but for 0.05" "$stolen" "$(awk -v w="$waited" 'BEGIN { print w - 0.05 }')"
at_most "... and no more" "$stolen" "$(awk -v w="$waited" 'BEGIN { print w + 0.05 }')"
finish

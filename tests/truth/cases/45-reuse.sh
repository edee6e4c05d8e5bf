#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Few PIDs and few CR3s for many processes: what exited and what took its numbers over
# are not mixed up. And the judge can say no.
. /src/tests/truth/lib.sh
truth_plan 4 4

truth_guest
ok "few PIDs" lab_ssh web01 'echo 420 > /proc/sys/kernel/pid_max'
# by lot: in turns, each would have the odd PIDs, or the even ones, and take over only its own
case_guest_run web01 'timeout 3600 bash -c "while :; do if ((RANDOM & 1)); then /opt/burn/burn-a 5; else /opt/burn/burn-b 15; fi; done"'
ok "a session" truth_session reuse 25000 --period 60000 --random
lab_ssh web01 'pkill -x timeout; echo 32768 > /proc/sys/kernel/pid_max' > /dev/null 2>&1
case_report /out/reuse.vmprof --by process
runs='[.domains[0].rows[] | select(.process == "burn-a" or .process == "burn-b")]'
at_least "PIDs were recycled: one was of both programs" \
	"$(case_json "$runs | group_by(.pid) | map(select((map(.process) | unique | length) == 2)) | length")" 10
case_report /out/reuse.vmprof
is "no sample of either is in the other one's function" \
	"$(case_json "$runs"' | map(select(.function == "burn_a_work" and .process != "burn-a" or .function == "burn_b_work" and .process != "burn-b") | .samples) | add // 0')" 0
truth_judge reuse --min 10000
truth_says reuse NO timeless "functions have their exact share" "no sample is in a function that did not run"
truth_says reuse NO stale "no sample is in a function that did not run"
truth_says reuse NO last-owner "user code's task is of the process whose CR3 it was"
finish

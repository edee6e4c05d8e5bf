#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Two programs take turns, many times a second, and recycle each other's CR3 within the guest.
. /src/tests/lab/cases/common.sh
plan 11

case_guest web01 || bail "web01 is up"
case_idle
f=/out/cr3.vmprof
rm -f $f
ok "start" vmprof start --domain web01 --period 200us --output $f
lab_ssh web01 'for i in $(seq 80); do /opt/burn/burn-a 8; /opt/burn/burn-b 8; done'
ok "stop" vmprof stop

case_report $f
at_least "CR3s did go from one process to another" "$(case_json '.domains[0].agent.cr3_reused')" 20
is "the agent lost nothing" "$(case_agent_lost)" 0
rows='[.domains[0].rows[] | select(.side == "guest_user")]'
at_least "burn_a_work has samples" "$(case_json "$rows"' | map(select(.function == "burn_a_work").samples) | add // 0')" 100
at_least "burn_b_work has samples" "$(case_json "$rows"' | map(select(.function == "burn_b_work").samples) | add // 0')" 100
is "burn_a_work ran in burn-a only" \
	"$(case_json "$rows"' | map(select(.function == "burn_a_work").process) | unique | join(" ")')" burn-a
is "burn_b_work ran in burn-b only" \
	"$(case_json "$rows"' | map(select(.function == "burn_b_work").process) | unique | join(" ")')" burn-b
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"
at_least "99 % have process and function" \
	"$(case_json '.totals.resolved * 100 / .totals.guest_samples')" 99
case_report $f --by process
at_least "each run is a process of its own" \
	"$(case_json '[.domains[0].rows[] | select(.process == "burn-a" or .process == "burn-b").pid] | unique | length')" 20
finish

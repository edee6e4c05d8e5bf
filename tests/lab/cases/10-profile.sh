#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# short: yes
# The main job: libquantum and short-lived processes in web01, profiled from the host.
. /src/tests/lab/cases/common.sh
plan 23

case_guest web01 || bail "web01 is up with its agent"
pass "web01 is up with its agent"
case_idle
f=/out/profile.vmprof
rm -f $f
lab_guest_workload web01 120
ok "start --domain web01" vmprof start --domain web01 --period 200us --output $f
sleep 20
# these have exited when stop comes
lab_ssh web01 '/opt/burn/burn-a 2000'
ok "stop" vmprof stop
case_quiet web01
ok "report" vmprof report $f
vmprof report --limit 15 $f 2>&1 | sed 's/^/# /'
case_report $f || bail "report --json"

at_least "thousands of guest samples" "$(case_json .totals.guest_samples)" 2000
is "the trigger is the PMC" "$(case_json .capture.trigger)" pmc
# one whose NMI found the guest in an interrupt shadow comes with the exit after it
at_least "guest samples came by NMI exits" \
	"$(case_json '.totals.nmi_exits * 100 / .totals.guest_samples')" 99
is "none by a timer" "$(case_json .totals.timer_samples)" 0
at_least "99 % of guest samples have a process" \
	"$(case_json '.totals.resolved_process * 100 / .totals.guest_samples')" 99
at_least "99 % of guest samples have a function" \
	"$(case_json '.totals.resolved_function * 100 / .totals.guest_samples')" 99
# the rest is Debian's own programs, whose names are stripped
at_least "97 % have the function's own name" \
	"$(case_json '.totals | (.resolved_function - .unnamed_function) * 100 / .guest_samples')" 97
is "the first row is quantum_toffoli of libquantum, process shor" \
	"$(case_json '.domains[0].rows[0] | .function + " " + (.module | sub("[.].*"; "")) + " " + .process')" \
	"quantum_toffoli libquantum shor"
for name in quantum_sigma_x quantum_cnot; do
	is "$name is among the first rows" \
		"$(case_json "[.domains[0].rows[:8][].function] | index(\"$name\") != null")" true
done
at_least "guest kernel functions have names" \
	"$(case_json '[.domains[0].rows[] | select(.side == "guest_kernel" and (.function | test("^[a-z_]")))] | length')" 20
is "nothing was lost" "$(case_json '.losses.driver.total')" 0
is "the collector lost nothing" "$(case_json '[.losses.collector[] | .count] | add // 0')" 0
is "the agent lost nothing" "$(case_agent_lost)" 0
is "KVM's functions have names" "$(case_json '
	[.domains[0].rows[] | select(.side == "vmm" and (.module | test("^.kvm(_amd|_intel)?.$")) and (.function | test("^[a-z_]")))] | length > 0')" true
is "QEMU's functions have names" "$(case_json '
	[.domains[0].rows[] | select(.module == "qemu-system-x86_64" and (.function | test("^(sub_|[[])") | not))] | length > 0')" true

case_report $f --by process
is "a process that had exited is named" \
	"$(case_json '[.domains[0].rows[] | select(.process == "burn-a")] | length >= 1')" true
at_least "short-lived processes are named" \
	"$(case_json '[.domains[0].rows[].process] | unique | map(select(. == "seq" or . == "ls" or . == "wc")) | length')" 3
is "the file is closed with its index" "$(case_json .capture.closed)" true
finish

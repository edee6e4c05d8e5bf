#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# short: yes
# The main job: libquantum and short-lived processes in web01, profiled from the host.
. /src/tests/lab/cases/common.sh
plan 36

case_guest web01 || bail "web01 is up with its agent"
pass "web01 is up with its agent"
case_idle
f=/out/profile.vmprof
rm -f $f
lab_guest_workload web01 600
ok "start --domain web01" vmprof start --domain web01 --period 500us --output $f
is "its clock comes from query-vmprof" "$(vmprof status --json | jq -r '.domains[0].clock_source')" qmp
sleep 15
top=$(vmprof top --domain web01 --batch --number 2 --last 5s)
is "top shows the running session, twice" "$(grep -c '^Domain web01' <<< "$top")" 2
at_least "its last seconds, not all of it" "$(awk '/^Total samples/ { print $3; exit }' <<< "$top")" 50
at_most "as it was asked" "$(awk '/^Total samples/ { print $3; exit }' <<< "$top")" \
	$(($(vmprof status --json | jq .samples) * 3 / 4))
is "and the session goes on" "$(vmprof status --json | jq -r .phase)" sampling
sleep 5
case_samples 3000
# these have exited when stop comes
lab_ssh web01 '/opt/burn/burn-a 300'
ok "stop" vmprof stop
case_quiet web01
output=$(vmprof report --limit 15 $f 2>&1) || bail "report" "$output"
pass "report"
sed 's/^/# /' <<< "$output"
case_report $f || bail "report --json"

at_least "thousands of guest samples" "$(case_json .totals.guest_samples)" 2000
is "the trigger is the PMC" "$(case_json .capture.trigger)" pmc
# one whose NMI found the guest in an interrupt shadow comes with the exit after it
at_least "guest samples came by NMI exits" \
	"$(case_json '.totals.nmi_exits * 100 / .totals.guest_samples')" 99
is "none by a timer" "$(case_json .totals.timer_samples)" 0
at_least "99 % of guest samples have a process" \
	"$(case_json '.totals.resolved_process * 100 / .totals.guest_samples')" 99
at_least "99 % of guest samples have process and function" \
	"$(case_json '.totals.resolved * 100 / .totals.guest_samples')" 99
# the rest is Debian's own programs, whose names are stripped: the slower the machine the more
at_least "97 % have a process and the function's own name" \
	"$(case_json '.totals | (.resolved - .unnamed_function) * 100 / .guest_samples')" 97
# a stub or a return path may have none there, either
read -r named all < <(case_json '[.domains[0].rows[] | select(.side == "guest_user" and .module == "libc.so.6")] |
	"\([.[] | select(.function | test("^(sub_|[[])") | not).samples] | add // 0) \([.[].samples] | add // 0)"')
case_share "the C library's names are those of its debug file in the guest" "$named" "$all" 90
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

case_report $f --exits
at_least "most of an exit's time is known by what the guest had been doing" \
	"$(case_json '.domains[0] | [.rows[] | select(.exit != "-")] | ([.[] | select(.process != "[VMM]").samples] | add) * 100 / ([.[].samples] | add)')" 90
is "exits have their cost" "$(case_json '[.domains[0].rows[] | select(.exit != "-" and .cycles > 0)] | length > 3')" true

case_report $f --by process
is "a process that had exited is named" \
	"$(case_json '[.domains[0].rows[] | select(.process == "burn-a")] | length >= 1')" true
at_least "short-lived processes are named" \
	"$(case_json '[.domains[0].rows[].process] | unique | map(select(. == "seq" or . == "ls" or . == "wc")) | length')" 3
is "the file is closed with its index" "$(case_json .capture.closed)" true

# another event: retired branches, by their number on AMD
f=/out/branches.vmprof
rm -f $f
case_guest_run web01 'timeout 600 /opt/burn/burn-a 100000000'
ok "start --event r00c2" vmprof start --domain web01 --event r00c2 --period 100000 --output $f
case_samples 500
ok "stop" vmprof stop
case_quiet web01
case_report $f
is "the report names the event and its period" "$(case_json '.capture | .event + " " + (.period | tostring)')" "r00c2 100000"
is "burn_a_work leads it" "$(case_json '.domains[0].rows[0].function')" burn_a_work

top=$(VMPROF_DIR=/out/top vmprof top --domain web01 -b -n 2 --group-by process 2>&1)
is "without a session top begins one and ends it" \
	"$(grep -c '^Domain web01' <<< "$top") $(vmprof status --json 2> /dev/null | jq -r .running)" "2 false"
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A domain of the distribution's own QEMU, which has no query-vmprof.
. /src/tests/lab/cases/common.sh
plan 11

f=/out/plain.vmprof
rm -f $f
LAB_EMULATOR=/usr/bin/qemu-system-x86_64 case_guest web03 || bail "web03 is up with its agent"
case_idle
case_guest_run web03 "timeout 900 /opt/burn/burn-a 100000000"
output=$(vmprof start --domain web03 --period 500us --output $f 2>&1) || bail "start --domain web03" "$output"
pass "start --domain web03"
like "... says that its QEMU lacks query-vmprof" "$output" "web03: its QEMU has no query-vmprof; reading KVM's debugfs"
is "its clock comes from KVM's debugfs" "$(vmprof status --json | jq -r '.domains[0].clock_source')" debugfs
is "which of its tasks runs is not looked for" "$(vmprof status --json | jq -r '.domains[0].tasks')" no-query-vmprof
lab_ssh web03 'for i in $(seq 40); do /opt/burn/burn-b 20; done'
ok "stop" vmprof stop
case_report $f
is "burn_a_work ran in burn-a, burn_b_work in burn-b" "$(case_json '[.domains[0].rows[] |
	select(.function == "burn_a_work" or .function == "burn_b_work") | .function + ":" + .process] | unique | join(" ")')" \
	"burn_a_work:burn-a burn_b_work:burn-b"
at_least "99 % of the samples have process and function" \
	"$(case_json '.totals.resolved * 100 / .totals.guest_samples')" 99
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"
like "the report says so" "$(vmprof report $f)" "the guest's threads are not told apart, its kernel's are shown with other processes: its QEMU does not tell"
ok "doctor knows it too" sh -c "vmprof doctor --domain web03 | grep -q \"without query-vmprof: the clock comes from KVM's debugfs, the guest's threads are not told apart\""
lab_guest_destroy web03
is "nothing was lost" "$(case_json .losses.driver.total)" 0
finish

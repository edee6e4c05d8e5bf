#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Host and guest with page tables of five levels (LAB_CPU=...,+la57): processes, code above 47 bits, branches, and the kernel's
# code out of memory, whose page tables are walked.
. /src/tests/lab/cases/common.sh
plan 18

ok "the host has five levels" grep -q '^flags.* la57' /proc/cpuinfo
case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01
ok "and so has the guest" lab_ssh web01 'grep -q "^flags.* la57" /proc/cpuinfo'
f=/out/five.vmprof
rm -f $f
touch /run/lab/before
ok "start" vmprof start --domain web01 --period 200us --buffer 4M --lbr any --output $f
case_guest_run web01 'exec /opt/burn/jit high 300 0x80000000000000'
case_guest_run web01 'while :; do ls -l /usr/bin; done'
lab_ssh web01 '/opt/burn/burn-a 300'
lab_ssh web01 '/opt/burn/burn-b 300'
case_samples 4000
ok "code lies above 47 bits" lab_ssh web01 'grep -q "^80000000000000-.*xp " /proc/$(pgrep -x jit)/maps'
output=$(vmprof stop 2>&1)
lab_ssh web01 'pkill -x jit; pkill -f "[w]hile :"; rm -f /tmp/perf-*.map'
like "the guest's kernel's code is copied" "$output" "web01: copied its kernel's code, [1-9][0-9.]* MiB"
like "... and the host's" "$output" "host: copied its kernel's code, [1-9][0-9.]* MiB"
case_report $f || bail "report"
vmprof report --limit 16 $f 2>&1 | sed 's/^/# /'

# of PROCESS FUNCTION - samples of it
of() { case_json "[.domains[0].rows[] | select(.process == \"$1\" and .function == \"$2\") | .samples] | add // 0"; }
at_least "99 % of guest samples have a process" "$(case_json '.totals.resolved_process * 100 / .totals.guest_samples')" 99
at_least "... and a function" "$(case_json '.totals.resolved * 100 / .totals.guest_samples')" 99
at_least "95 % of them have a thread" "$(case_json '(.domains[0].tasks | .same + .kernel_thread + .task_only) * 100 / .totals.guest_samples')" 95
at_least "code above 47 bits has its names" "$(of jit high_heavy)" 300
at_least "burn-a in its function" "$(of burn-a burn_a_work)" 50
at_least "burn-b in its function" "$(of burn-b burn_b_work)" 50
never "none in the other one's" "$(($(of burn-a burn_b_work) + $(of burn-b burn_a_work)))"
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"
is "nothing was lost" "$(case_json .losses.driver.total)$(case_agent_lost)" 00

vmprof blocks --json $f > /run/lab/blocks.json
blocks_json() { jq -r "$1" /run/lab/blocks.json; }
at_least "blocks of the guest's kernel with instructions" \
	"$(blocks_json '[.blocks[] | select(.side == "guest_kernel" and .module == "vmlinux" and .instructions != null)] | length')" 50
# the same bytes as QEMU's monitor shows in the running guest
copy=$(find "/var/cache/vmprof/objects/$(virsh -q domuuid web01 | head -n 1)"/x[0-9a-f] -type f -size +4M -newer /run/lab/before | head -n 1)
case_same_code web01 "$copy" /run/lab/blocks.json
at_least "blocks that the monitor shows" "$shown" 5
is "... are the same in the copy" "$differ" 0
finish

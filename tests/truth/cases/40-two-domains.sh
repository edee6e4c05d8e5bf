#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Two domains on the same pCPUs in one session: no sample of one is the other's. Each runs a program that the other does not;
# one has two threads of one process besides. Then both by the clock: what one VM takes from the other is what the scheduler says.
. /src/tests/truth/lib.sh
truth_plan 11
TRUTH_TURNS=8

truth_guest
ok "web02 is up" case_guest web02
virsh -q vcpupin web02 0 0
virsh -q vcpupin web02 1 1
case_guest_run web01 'timeout 3600 sh -c "while :; do /opt/burn/burn-a 20; ls -l /usr/bin; done"'
case_guest_run web01 'exec /opt/burn/threads 3600 64 > /dev/null'
case_guest_run web02 'timeout 3600 sh -c "while :; do /opt/burn/burn-b 20; ls -l /usr/bin; done"'
ok "a session" truth_session two 10000 --period 150000 --random --domain web01 --domain web02
truth_judge two --min 10000 --vcpus shared --neighbours 1000
case_report /out/two.vmprof --group-by function,process,thread || bail "report"
# of DOMAIN PROGRAM - its samples in its own function
of() { case_json "[.domains[] | select(.name == \"$1\").rows[] | select(.process == \"$2\" and .function == \"${2/-/_}_work\") | .samples] | add // 0"; }
at_least "web01's program is web01's" "$(of web01 burn-a)" 100
at_least "web02's is web02's" "$(of web02 burn-b)" 100
at_least "both threads of a process ran" \
	"$(case_json '[.domains[] | select(.name == "web01").rows[] | select(.process == "threads").thread] | unique | length')" 2
is "web01 has none of web02's" "$(of web01 burn-b)" 0
is "web02 has none of web01's" "$(of web02 burn-a)" 0

by_waits() { truth_waits web01 web02; cat /proc/uptime >> /run/lab/seen.uptime; }
# how long both CPUs ran others, as a part of how long they ran the VMs
others() { paste -d ' ' /run/lab/seen /run/lab/seen.uptime | awk 'NR == 1 { ran = $1; up = $3; idle = $4 } END { ran = ($1 - ran) / 1e9; print (NR == 2 && ran > 0 ? (2 * ($3 - up) - ($4 - idle)) / ran - 1 : 9) }'; }
rm -f /run/lab/seen.uptime
ok "a session by the clock" truth_clocked two-clocked "web01 web02" by_waits case_samples 12000
for d in web01 web02; do lab_ssh $d 'pkill -x timeout; pkill -x threads' > /dev/null 2>&1; done
truth_steal "the time that the VMs ran" "$(case_json '(.domains | map(.steal) | add) / (.domains | map(.guest_samples + .vmm) | add)')" "$(truth_waited)" "" "$(others)"
at_most "others run for a fifth of the time of the VMs at most" "$(others)" 0.2
lab_guest_destroy web02
finish

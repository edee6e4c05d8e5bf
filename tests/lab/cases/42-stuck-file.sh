#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A program on a file system that never answers the agent, as a dead network file system would: who reads the program sleeps in
# the kernel, and nothing ends that. All other programs are told of as ever, and the agent can be restarted and erased.
. /src/tests/lab/cases/common.sh
plan 24

case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01
lab_guest_put web01 "$LAB_SHARE"/storm/{stuck,odd} /opt/storm
# its kernel would say on its console that a task hangs
lab_ssh web01 'echo 0 > /proc/sys/kernel/hung_task_timeout_secs; mkdir -p /mnt/stuck; ln -sf odd /opt/storm/odd-short; ln -sf odd /opt/storm/odd-after; modprobe fuse' || bail "web01 has FUSE"
agent() { vmprof status --json | jq -r ".domains[0].agent.$1"; }
heard() { [ "$(agent state)" = running ]; }
# asleep - processes of the agent's that sleep in the kernel, whatever signal comes
asleep() { lab_ssh web01 'n=0; for p in $(pgrep -x vmprof-agent); do grep -q "^State:.D" /proc/$p/status 2> /dev/null && n=$((n + 1)); done; echo $n'; }
sleeps() { [ "$(asleep)" -ge 1 ] 2> /dev/null; }
wakes() { [ "$(asleep)" = 0 ]; }

f=/out/stuck.vmprof
rm -f $f
ok "start" vmprof start --domain web01 --period 500us --output $f
ok "the agent is heard" lab_wait 60 heard
case_guest_run web01 'exec /opt/storm/stuck /mnt/stuck /opt/storm/odd vmprof-agent'
ok "a file system is mounted that answers all but the agent" lab_wait 30 lab_ssh web01 'grep -q "^stuck /mnt/stuck fuse" /proc/mounts'
case_guest_run web01 'exec /mnt/stuck/file plain 120'
ok "the agent's child sleeps in the kernel" lab_wait 60 sleeps
ok "other programs begin and end" lab_ssh web01 'for i in 1 2 3 4 5 6 7 8; do /opt/storm/odd-short plain 0.5; done'
is "the agent is heard all the time" "$(agent state)" running
is "... by one greeting" "$(agent hellos)" 1
before=$SECONDS
ok "it is restarted" lab_ssh web01 'systemctl restart vmprof-agent'
at_most "... in some seconds" $((SECONDS - before)) 30
is "... as its unit has it" "$(lab_ssh web01 systemctl show -P TimeoutStopUSec vmprof-agent)" 5s
again() { heard && [ "$(agent hellos)" = 2 ]; }
ok "... and is heard" lab_wait 60 again
ok "another program begins and ends" lab_ssh web01 '/opt/storm/odd-after plain 4'
ok "stop" vmprof stop
# the packages go, whatever is held; the next case has them again
ok "the packages are erased" lab_ssh web01 'rpm -e $(rpm -qa "*vmprof-guest*")'
fails "... their module is unloaded" lab_ssh web01 'grep -q "^vmprof_guest " /proc/modules'
fails "... and their user is gone" lab_ssh web01 'getent passwd vmprof-agent'
ok "while its child sleeps still" sleeps
lab_ssh web01 'pkill -x file; pkill -x stuck; sleep 1; umount -l /mnt/stuck; rmdir /mnt/stuck; echo 120 > /proc/sys/kernel/hung_task_timeout_secs' > /dev/null 2>&1
ok "its child goes when the file system does" lab_wait 30 wakes
case_report $f || bail "report"
case_json '.domains[0].agent | del(.sources)' | sed 's/^/# /'

# of PROCESS CONDITION - samples of it
of() { case_json "[.domains[0].rows[] | select(.process == \"$1\" and ($2)) | .samples] | add // 0"; }
at_least "short programs have their function meanwhile" "$(of odd-short '.function == "odd_plain_work"')" 50
at_least "the one behind the restart has it" "$(of odd-after '.function == "odd_plain_work"')" 50
at_least "the program that cannot be read has its process and its module" "$(of file '.side == "guest_user" and .module == "file"')" 100
never "no event was lost" "$(case_json '.domains[0].agent.lost | .total - .maps_busy - .files_stuck')"
at_least "what could not be read is counted" "$(case_json .domains[0].agent.lost.files_stuck)" 1
is "no sample was lost" "$(case_json .losses.driver.total)" 0
finish

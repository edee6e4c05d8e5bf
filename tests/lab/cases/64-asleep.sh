#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest that is suspended to RAM within a session and wakes: its vCPUs begin anew in the kernel's waking code, its
# clock has jumped, its agent goes on.
# long: yes
. /src/tests/lab/cases/common.sh
plan 20

lab_guest_destroy web03 2> /dev/null
case_guest web03 || bail "web03 is up with its agent"
case_idle
in_guest() { lab_ssh web03 "$@"; }
state_is() { [ "$(virsh domstate web03)" = "$1" ]; }
agent() { vmprof status --json | jq -r ".domains[0].agent.$1"; }
heard() { [ "$(agent state)" = running ]; }
# worked PROCESS PROGRAM - samples of a process in the function of the program that it runs
worked() { case_json "[.domains[0].rows[] | select(.process == \"$1\" and .function == \"${2/-/_}_work\") | .samples] | add // 0"; }
# run_as NAME PROGRAM - under a name by which it is told from others
run_as() { in_guest "cp /opt/burn/$2 /tmp/$1 && /tmp/$1 300"; }

f=/out/asleep.vmprof
rm -f $f
like "its kernel can sleep with nothing but memory held" "$(in_guest cat /sys/power/mem_sleep)" "deep"
boot=$(in_guest cat /proc/sys/kernel/random/boot_id) || bail "web03 has a boot's id"
ok "start" vmprof start --domain web03 --period 500us --output $f
run_as awake burn-a
# begun before, and goes on behind it
case_guest_run web03 'cp /opt/burn/burn-a /tmp/through; exec /tmp/through 100000'
in_guest 'echo deep > /sys/power/mem_sleep; systemd-run -q sh -c "sleep 2; echo mem > /sys/power/state"'
lab_guest_hang_up web03
ok "it sleeps" lab_wait 120 state_is pmsuspended
ok "the session goes on" vmprof status
before=$(vmprof status --json | jq '.domains[0].samples')
sleep 5
is "a guest that sleeps has no samples" "$(vmprof status --json | jq '.domains[0].samples')" "$before"
ok "it is woken" virsh -q dompmwakeup web03
ok "it runs" lab_wait 120 state_is running
ok "it answers" lab_guest_wait web03 120
is "... as the same boot" "$(in_guest cat /proc/sys/kernel/random/boot_id)" "$boot"
like "it had slept" "$(in_guest dmesg)" "ACPI: PM: Waking up from system sleep state S3"
ok "its agent is heard" lab_wait 60 heard
run_as woken burn-b
in_guest 'for i in $(seq 30); do ls -l /usr/bin > /dev/null; done'
ok "stop" vmprof stop
in_guest 'pkill -x through'
case_report $f || bail "report"
at_least "before: a program in its function" "$(worked awake burn-a)" 50
at_least "one that went through the sleep" "$(worked through burn-a)" 50
at_least "one that began behind it" "$(worked woken burn-b)" 50
never "none in another one's" "$(($(worked awake burn-b) + $(worked through burn-b) + $(worked woken burn-a)))"
at_least "short processes behind it have names" "$(case_json '[.domains[0].rows[] | select(.process == "ls") | .samples] | add // 0')" 50
is "one boot" "$(case_json '.domains[0].agent.boots')" 1
never "no event was lost" "$(case_events_lost)"
at_most "processes whose list of mappings was in use, and left out" "$(case_json '.domains[0].agent.lost.maps_busy')" 2

lab_guest_destroy web03
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Losses are counted and printed, and what was written stays readable: a ring that
# is too small, a disk that is full, a collector that is killed.
. /src/tests/lab/cases/common.sh
plan 33

case_guest web01 || bail "web01 is up with its agent"
case_idle
case_guest_run web01 'timeout 1500 /opt/burn/burn-a 100000000'

# All NMIs so far, of all CPUs
nmis() { awk '/NMI:/ { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+$/) n += $i } END { print n }' /proc/interrupts; }

# --- ring too small
f=/out/small-ring.vmprof
ok "start with a ring of 4K" vmprof start --domain web01 --output $f --buffer 4K --period 20000
sleep 5
lost=$(vmprof status --json | jq .lost.ring_full)
at_least "status counts the loss" "$lost" 1
output=$(vmprof stop 2>&1) || bail "stop" "$output"
like "stop prints the loss and what helps" "$output" "^lost: [0-9]+ samples: a ring was full.*--buffer"
case_report $f || bail "report"
at_least "the report counts it too" "$(case_json .losses.driver.total)" "$lost"
like "... and prints it" "$(vmprof report $f 2>&1)" "LOST [0-9]+ samples in the driver: a ring was full"
at_least "samples were taken all the same" "$(case_json .totals.guest_samples)" 100

# --- disk full
small=/run/lab/small
mkdir -p $small && mount -t tmpfs -o size=24m none $small
f=$small/full.vmprof
ok "start on a small disk" vmprof start --domain web01 --output $f --period 200000
sleep 3
case_samples 1000
dd if=/dev/zero of=$small/filler bs=4k > /dev/null 2>&1
failed() { [ "$(vmprof status --json | jq -r .phase)" = failed ]; }
ok "a full disk stops the sampling" lab_wait 120 failed
like "status keeps the reason" "$(vmprof status)" "^error +cannot write .*No space left"
interrupts=$(nmis)
sleep 2
at_most "the counters stand still" \
	"$(($(nmis) - interrupts))" 0
fails "stop says that it had failed" vmprof stop
like "... and why" "$output" "No space left"
case_report $f || bail "report of a full disk's capture"
at_least "what was written is readable" "$(case_json .totals.guest_samples)" 500
rm -f $small/filler
umount $small
ok "a new session can begin" vmprof start --domain web01 --output /out/after-full.vmprof
ok "... and end" vmprof stop

# --- the collector killed
f=/out/killed.vmprof
ok "start" vmprof start --domain web01 --output $f --period 200000
sleep 5
case_samples 2000
kill -9 "$(cat /run/vmprof/lock)"
gone() { [ "$(cat /sys/module/vmprof/refcnt)" = 0 ]; }
ok "kill -9 lets the module go" lab_wait 120 gone
alone() { ! pgrep -x vmprof; }
ok "no helper of it lives on" lab_wait 120 alone
interrupts=$(nmis)
sleep 2
at_most "sampling has stopped" \
	"$(($(nmis) - interrupts))" 0
is "status --json: none runs" "$(vmprof status --json)" '{"running": false}'
case_report $f || bail "report of a killed collector's capture"
at_least "what was written is readable" "$(case_json .totals.guest_samples)" 1000
is "the file is not closed" "$(case_json .capture.closed)" false
like "the report says so" "$(vmprof report $f 2>&1)" "bytes at the end of the capture were not read|no index|not closed"
fails "stop finds no session" vmprof stop
like "... and tells of the killed one" "$output" "was killed; sampling has stopped"
fails "the second time it is history" vmprof stop
like "... that it ended so" "$output" "no session runs; the last one ended at .*: its collector was killed"
ok "a new session can begin after it" vmprof start --domain web01 --output /out/after-kill.vmprof --duration 2s
ended() { ! vmprof status > /dev/null 2>&1; }
ok "--duration ends it" lab_wait 120 ended
fails "stop then tells of its end" vmprof stop
like "... why" "$output" "the time given by --duration is over"
like "... and its file" "$output" "/out/after-kill.vmprof"
case_report /out/after-kill.vmprof || bail "report of the session after it"
at_least "the agent is heard again: samples have processes (per cent)" \
	"$(case_json '.totals | .resolved_process * 100 / .guest_samples')" 95
lab_ssh web01 'pkill burn-a'
finish

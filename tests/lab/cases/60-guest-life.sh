#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A guest that reboots, is destroyed and started again, and destroyed for good, during sessions.
. /src/tests/lab/cases/common.sh
plan 29

case_guest web01 || bail "web01 is up with its agent"
case_idle

# --- reboot
f=/out/reboot.vmprof
ok "start" vmprof start --domain web01 --output $f --period 200000
lab_ssh web01 '/opt/burn/burn-a 300'
agent() { vmprof status --json | jq -r ".domains[0].agent.$1"; }
before=$(agent hellos)
ok "the guest reboots" lab_guest_reboot web01
runs_again() { [ "$(agent state)" = running ] && [ "$(agent hellos)" -gt "$before" ]; }
ok "the agent of the new boot is heard" lab_wait 120 runs_again
lab_ssh web01 '/opt/burn/burn-b 300; timeout 3 dd if=/dev/zero of=/dev/null bs=64' 2> /dev/null
output=$(vmprof stop 2>&1) || bail "stop" "$output"
pass "stop"
case_report $f --by process || bail "report"
is "a process before the reboot is named" \
	"$(case_json '[.domains[0].rows[] | select(.process == "burn-a" and .samples > 100)] | length')" 1
is "a process after it is named" \
	"$(case_json '[.domains[0].rows[] | select(.process == "burn-b" and .samples > 100)] | length')" 1
is "two boots are told apart" "$(case_json '.domains[0].agent.boots')" 2
case_report $f || bail "report"
at_least "functions of the second boot's kernel are named, for a process that ran only then" \
	"$(case_json '[.domains[0].rows[] | select(.side == "guest_kernel" and .process == "dd" and (.function | test("^[a-z_]")))] | length')" 5

# --- a domain that starts while all are profiled, after libvirtd was restarted
f=/out/all.vmprof
ok "start --all" vmprof start --all --output $f --period 200000
# the collector's connection is gone by that
systemctl restart libvirtd.service
ok "libvirtd restarts in the session" lab_wait 120 virsh -q domstate web01
ok "another domain starts" lab_guest_start web02 --mem 256
joined() { vmprof status --json | jq -e '[.domains[] | select(.name == "web02" and .samples > 0)] | length == 1'; }
ok "it joins the session" lab_wait 120 joined
lab_ssh web01 '/opt/burn/burn-b 300'
output=$(vmprof stop 2>&1) || bail "stop" "$output"
like "stop counts its samples" "$output" "^  web02: [1-9][0-9]* in the guest"
case_report $f --by process || bail "report"
is "the report has both by name" "$(case_json '[.domains[].name | select(startswith("web0"))] | sort | join(" ")')" "web01 web02"
is "the agent of the one that was there before is still heard: a process after the restart is named" \
	"$(case_json '[.domains[] | select(.name == "web01") | .rows[] | select(.process == "burn-b" and .samples > 100)] | length')" 1
lab_guest_destroy web02

# --- destroyed, and started again
f=/out/again.vmprof
ok "start" vmprof start --domain web01 --output $f --period 200000
lab_ssh web01 sync
lab_guest_hang_up web01
virsh -q destroy web01
ok "it is started again" virsh -q start web01
hears() { vmprof status --json | jq -e '[.domains[] | select(.ended | not)] | length == 1 and .[0].agent.state == "running"'; }
ok "it answers" lab_guest_wait web01
ok "its new QEMU joins the session, and its agent answers" lab_wait 120 hears
lab_ssh web01 '/opt/burn/burn-b 300'
vmprof stop > /dev/null 2>&1
case_report $f --by process || bail "report"
is "a process that began there is named" \
	"$(case_json "[.domains[] | select(.vm == $(cat /run/libvirt/qemu/web01.pid)).rows[] | select(.process == \"burn-b\" and .samples > 100)] | length")" 1

# --- destroyed
f=/out/destroyed.vmprof
case_guest_run web01 'timeout 900 /opt/burn/burn-a 100000000'
ok "start" vmprof start --domain web01 --output $f
sleep 5
case_samples 1500
virsh -q destroy web01
ended() { ! vmprof status > /dev/null 2>&1; }
ok "the session ends by itself with its last domain" lab_wait 120 ended
fails "stop says how it ended" vmprof stop
like "... that the domain is gone" "$output" "all domains of the session ended"
case_report $f --by process || bail "report"
is "its processes are named" \
	"$(case_json '[.domains[0].rows[] | select(.process == "burn-a" and .samples > 500)] | length')" 1
is "the file is closed with its index" "$(case_json .capture.closed)" true
is "nothing was lost" "$(case_json ".losses.driver | to_entries | map(select(.value > 0)) | from_entries | tojson")" "{}"
virsh -q undefine web01
ok_in_lab "the module can be unloaded" lab_wait 120 rmmod vmprof
ok_in_lab "... and loaded again" modprobe vmprof
finish

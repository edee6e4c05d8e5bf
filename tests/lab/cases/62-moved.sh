#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest that moves to another QEMU: saved and restored, put back to a snapshot, migrated alive.
# long: yes
# lab-only: yes
. /src/tests/lab/cases/common.sh
plan 50

# domains CONDITION - the session has such, as the collector sees them
domains() { vmprof status --json | jq -e "[.domains[] | select($1)] | length > 0"; }
# hears NAME - the agent of a domain whose QEMU runs
hears() { domains ".name == \"$1\" and (.ended | not) and .agent.state == \"running\""; }
# qemu NAME - its process, by which a report tells its domains apart
qemu() { cat /run/libvirt/qemu/$1.pid; }
# named PID PROGRAM - samples of the domain of this QEMU in burn-a or burn-b, in its own function
named() {
	case_json "[.domains[] | select(.vm == $1).rows[] | select(.process == \"$2\" and .function == \"${2/-/_}_work\") | .samples] | add // 0"
}
run_named() { lab_ssh "$1" "timeout 900 /opt/burn/$2 300"; }

case_guest web01 || bail "web01 is up with its agent"
case_idle
vmprof attach --domain web01 > /dev/null
lab_guest_agent_wait web01

# --- kernel symbols come once
f=/out/moved-symbols.vmprof
ok "start" vmprof start --domain web01 --period 500us --output $f
ok "all kernel symbols come" lab_wait 60 domains '.agent.kernel_symbols'
# from here on the host has both programs: a guest that is gone sends none
run_named web01 burn-a
run_named web01 burn-b
first=$(vmprof status --json | jq '.domains[0].agent.bytes')
vmprof stop > /dev/null 2>&1
output=$(vmprof start --domain web01 --period 500us --output $f 2>&1) || bail "start again" "$output"
lab_wait 60 domains '.agent.kernel_symbols'
kept=$(vmprof status --json | jq '.domains[0].agent.kernel_symbols_kept')
lab_note "kernel symbols: $kept bytes kept of the first session's $first"
at_least "the second session takes them from the first" "$kept" 1000000
run_named web01 burn-b
vmprof stop > /dev/null 2>&1
case_report $f || bail "report"
at_least "the guest's kernel has its functions" \
	"$(case_json '[.domains[0].rows[] | select(.side == "guest_kernel" and (.function | test("^[a-z_]")))] | length')" 5

# --- saved and restored, within a session of all
f=/out/moved-saved.vmprof
state=/var/lib/libvirt/web01.state
ok "start --all" vmprof start --all --period 500us --output $f
source=$(qemu web01)
lab_wait 60 hears web01
run_named web01 burn-a
lab_guest_hang_up web01
ok "web01 is saved" virsh -q save web01 $state
ok "the session knows that it ended" lab_wait 30 domains '.name == "web01" and .ended'
ok "it is restored" virsh -q restore $state
rm -f $state
ok "it answers" lab_guest_wait web01
ok "its new QEMU joins the session, and its agent answers" lab_wait 60 hears web01
run_named web01 burn-b
ok "stop" vmprof stop
case_report $f || bail "report"
at_least "before: burn-a in its function" "$(named $source burn-a)" 50
never "... and nothing of what came after" "$(named $source burn-b)"
at_least "after: burn-b in its function" "$(named $(qemu web01) burn-b)" 50
never "... and nothing of what was before" "$(named $(qemu web01) burn-a)"
is "which of its tasks runs is looked for there, too" "$(case_json ".domains[] | select(.vm == $(qemu web01)).tasks.state")" on
at_most "its clock is the one that was restored, not what its vCPUs had before they ran" \
	"$(case_json ".domains[] | select(.vm == $(qemu web01)).clock.error_us")" 100
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"

# --- a snapshot, and back to it in the same QEMU while it is profiled
f=/out/moved-loaded.vmprof
ok "start" vmprof start --domain web01 --period 500us --output $f
case_guest_run web01 'timeout 900 /opt/burn/turn'
ok "a snapshot is made" virsh -q snapshot-create-as web01 before
lab_wait 60 hears web01
hellos=$(vmprof status --json | jq '.domains[0].agent.hellos')
run_named web01 burn-a
lab_guest_hang_up web01
ok "it is loaded" test -z "$(virsh -q qemu-monitor-command web01 --hmp 'loadvm before')"
ok "the agent is heard anew" lab_wait 60 domains ".agent.hellos > $hellos and .agent.state == \"running\""
ok "web01 answers" lab_guest_wait web01
run_named web01 burn-b
ok "stop" vmprof stop
case_report $f || bail "report"
is "the report knows that it went back" "$(case_json '.domains[0].agent.went_back')" 1
at_most "1 % of the samples are in address spaces of which nobody told" \
	"$(case_json '.domains[0].unresolved.no_process * 100 / .totals.guest_samples')" 1
at_least "before: burn-a in its function" "$(named $(qemu web01) burn-a)" 50
at_least "after: burn-b in its function" "$(named $(qemu web01) burn-b)" 50
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"

# --- libvirt's way back, another QEMU, within a session of this domain
f=/out/moved-reverted.vmprof
ok "start" vmprof start --domain web01 --period 500us --output $f
source=$(qemu web01)
lab_wait 60 hears web01
run_named web01 burn-b
lab_guest_hang_up web01
ok "back to the snapshot" virsh -q snapshot-revert web01 before
virsh -q snapshot-delete web01 before
ok "it has another QEMU" test "$(qemu web01)" != "$source"
lab_guest_wait web01
ok "which joins the session, and its agent answers" lab_wait 60 hears web01
run_named web01 burn-a
vmprof stop > /dev/null 2>&1
case_report $f || bail "report"
at_least "before: burn-b in its function" "$(named $source burn-b)" 50
never "... and nothing of what came after" "$(named $source burn-a)"
at_least "after: burn-a in its function" "$(named $(qemu web01) burn-a)" 50
never "... and nothing of what was before" "$(named $(qemu web01) burn-b)"
is "which of its tasks runs is looked for there, too" "$(case_json ".domains[] | select(.vm == $(qemu web01)).tasks.state")" on
at_most "its clock is the one that was restored" "$(case_json ".domains[] | select(.vm == $(qemu web01)).clock.error_us")" 100
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"

# --- alive to another QEMU of this host, by QEMU's own migration: libvirt migrates to other hosts only
f=/out/moved-migrated.vmprof
socket=/run/lab/migration
virsh -q dumpxml web01 --migratable | sed "s/web01/web02/g; /<uuid>/d; s,<domain type='kvm'.*>,<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>,
	s,$LAB_DISKS/web02.qcow2,$LAB_DISKS/web01.qcow2,; s/lab.name=web02/lab.name=web01/
	s,</domain>,<qemu:commandline><qemu:arg value='-incoming'/><qemu:arg value='unix:$socket'/></qemu:commandline></domain>," > /run/lab/web02.moved.xml
ok "another QEMU waits for it" virsh -q create /run/lab/web02.moved.xml
ok "start --all" vmprof start --all --period 500us --output $f
lab_wait 60 hears web01
run_named web01 burn-a
lab_guest_hang_up web01
virsh -q qemu-monitor-command web01 "{\"execute\":\"migrate\",\"arguments\":{\"uri\":\"unix:$socket\"}}" > /dev/null
arrived() { virsh -q qemu-monitor-command web01 '{"execute":"query-migrate"}' | jq -e '.return.status == "completed"'; }
ok "it migrates" lab_wait 240 arrived
source=$(qemu web01)
virsh -q destroy web01
ok "it answers there" lab_guest_wait web01
ok "its agent is heard there" lab_wait 60 hears web02
run_named web01 burn-b
ok "stop" vmprof stop
case_report $f || bail "report"
at_least "at the source: burn-a in its function" "$(named $source burn-a)" 50
at_least "at the destination: burn-b in its function" "$(named $(qemu web02) burn-b)" 50
at_most "its clock is that of the source, which it did not have before" "$(case_json ".domains[] | select(.vm == $(qemu web02)).clock.error_us")" 100
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"
virsh -q destroy web02
virsh -q undefine web01
finish

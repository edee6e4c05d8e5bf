#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A domain and its clone, from one saved state: the same processes at the same CR3s in
# both. Then those of the one turn into something else, in the address spaces that they have.
# lab-only: yes
. /src/tests/lab/cases/common.sh
plan 13

# clone NAME - another domain from web01's saved state. What names a domain lies in the
# description before the memory: names of one length can be put into their places.
clone()
{
	local uuid=$(virsh domuuid web01) nr=${1#web0}
	cp --sparse=always "$LAB_DISKS/web01.qcow2" "$LAB_DISKS/$1.qcow2" &&
	head -c 65536 "$state" | sed "s/$uuid/${uuid%?????}$nr$nr$nr$nr$nr/g; s/web01/$1/g
		s/52:54:00:4c:41:01/52:54:00:4c:41:0$nr/g" > "$state.head" &&
	[ "$(stat -c %s "$state.head")" = 65536 ] &&
	dd if="$state.head" of="$state" conv=notrunc status=none &&
	virsh -q restore "$state"
}

case_guest web01 || bail "web01 is up with its agent"
case_idle
for command in destroy undefine; do virsh -q $command web02 > /dev/null 2>&1; done
for i in 1 2 3; do case_guest_run web01 "timeout 900 /opt/burn/turn"; done
state=/var/lib/libvirt/web01.state
# the agent's channel goes with the state
vmprof attach --domain web01 > /dev/null
lab_guest_hang_up web01
ok "web01 is saved" virsh -q save web01 $state
cp $state $state.own
ok "a clone starts from its state, called web02" clone web02
# both have the same addresses: the clone leaves the network
virsh -q domif-setlink web02 52:54:00:4c:41:02 down
ok "web01 goes on from it" virsh -q restore $state.own
rm -f $state*
ok "web01 answers" lab_guest_wait web01
lab_ssh web01 'pkill -USR1 -x turn'

f=/out/cloned.vmprof
rm -f $f
ok "start" vmprof start --domain web01 --domain web02 --period 500us --output $f
sleep 12
for d in web01 web02; do case_samples 1000 $d; done
ok "stop" vmprof stop
case_report $f
# of those that the guest began with; short-lived ones of ssh and of systemd are each guest's own
at_least "their CR3s are the same" \
	"$(case_json '.domains[] | select(.name == "web02").agent.cr3_in_other_vms')" 10
work='[.domains[] | select(.name == "%s").rows[] | select(.function == "before_work" or .function == "after_work")] | map(.process + ":" + .function) | unique | join(" ")'
is "in web01 they have turned" "$(case_json "${work/\%s/web01}")" "turned:after_work"
is "in web02 they have not" "$(case_json "${work/\%s/web02}")" "turn:before_work"
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"
case_report $f --by process
pids='[.domains[] | select(.name == "%s").rows[] | select(.process == "turn" or .process == "turned").pid] | sort | unique | map(tostring) | join(" ")'
is "they are the same processes" "$(case_json "${pids/\%s/web02}")" "$(case_json "${pids/\%s/web01}")"
is "three of them" "$(case_json "${pids/\%s/web01} | split(\" \") | length")" 3
lab_ssh web01 'pkill -x "turned"'
virsh -q destroy web02
rm -f "$LAB_DISKS/web02.qcow2"
is "nothing was lost" "$(case_json .losses.driver.total)" 0
finish

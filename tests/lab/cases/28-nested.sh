#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# lab-only: yes
# A guest inside the guest: web01 runs a virtual machine of its own, by KVM. That one's code lies where
# web01's kernel has a function that never runs: a sample of it that is taken for web01's has its name.
. /src/tests/lab/cases/common.sh
plan 19

case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01
lab_ssh web01 'grep -qw svm /proc/cpuinfo' || bail "web01's processor has SVM"
[ "$(lab_ssh web01 uname -r)" = "$(uname -r)" ] || bail "web01 has the host's kernel, and so its KVM"

# KVM's modules are not in a guest's image
mapfile -t modules < <(modprobe --show-depends kvm_amd | awk '$1 == "insmod" { print $2 }')
lab_guest_put web01 "${modules[@]}" /run/kvm
ok "web01 has KVM" lab_ssh web01 "cd /run/kvm && for ko in ${modules[*]##*/}; do
		name=\$(echo \${ko%.ko} | tr - _); [ -e /sys/module/\$name ] || insmod ./\$ko || exit 1
	done; [ -c /dev/kvm ]"

# never_run - "FUNCTION ADDRESS" of one that does not run, and in whose page the code fits
never_run()
{
	lab_ssh web01 'for f in panic emergency_restart kernel_halt kernel_power_off; do
		at=$(awk -v f=$f "\$3 == f { print \$1; exit }" /proc/kallsyms)
		! timeout 60 /opt/burn/inner $at 0 || { echo $f $at; break; }
	done'
}
read -r never at < <(never_run)
like "a virtual machine of its own runs in it, at an address of its kernel's" "$never ${at:-}" '^[a-z_]+ ffffffff[0-9a-f]{8}$'

case_guest_run web01 "/opt/burn/inner ${at:-0} 1800"
case_guest_run web01 "/opt/burn/burn-a 100000000"
f=/out/nested.vmprof
rm -f $f
ok "start" vmprof start --domain web01 --period 500us --output $f
sleep 10
case_samples 3000
ok "it still runs" lab_ssh web01 pgrep -x inner
ok "stop" vmprof stop
vmprof report --limit 15 $f 2>&1 | sed 's/^/# /'

case_report $f || bail "report"
# samples CONDITION - of web01's rows, by jq
samples() { case_json "[.domains[0].rows[] | select($1) | .samples] | add // 0"; }
nested=$(samples '.function == "[nested guest]"')
guest=$(case_json .totals.guest_samples)
at_least "samples of the inner guest (of $guest)" "$nested" 300
at_least "... a good part of the guest's, of which it has half" "$((nested * 100 / (guest > 0 ? guest : 1)))" 20
is "... have no process: nobody told whose it is" \
	"$(case_json '[.domains[0].rows[] | select(.function == "[nested guest]").process] | unique | join(" ")')" "[unknown]"
is "... nor a thread" "$(case_report $f --group-by function,thread
	case_json '[.domains[0].rows[] | select(.function == "[nested guest]").thread | select(test("^vCPU [01]$") | not)] | join(" ")')" ""
case_report $f
is "... and are counted as such" "$(case_json .domains[0].unresolved.nested_guest)" "$nested"
is "none has the name of web01's function at its address ($never)" "$(samples ".function == \"$never\"")" 0
at_least "web01's other work has its own" "$(samples '.function == "burn_a_work"')" 300
is "... and its process" "$(case_json '[.domains[0].rows[] | select(.function == "burn_a_work").process] | unique | join(" ")')" burn-a
at_least "what web01's KVM does is its process's, inner" "$(samples '.process == "inner"')" 10
is "no guest state was unreadable" "$(case_json .losses.driver.guest_state)" 0

# branches: the inner guest's are not looked up in web01's code
f=/out/nested-lbr.vmprof
rm -f $f
ok "start --lbr any" vmprof start --domain web01 --lbr any --period 500us --buffer 4M --output $f
sleep 5
case_samples 1000
ok "stop" vmprof stop
blocks=$(vmprof blocks --limit 0 --json $f)
at_least "blocks of burn_a_work" "$(jq '[.blocks[] | select(.function == "burn_a_work")] | length' <<< "$blocks")" 1
is "none of $never" "$(jq --arg f "$never" '[.blocks[] | select(.function == $f)] | length' <<< "$blocks")" 0
lab_ssh web01 'pkill -x "inner|burn-a"; sleep 1; rmmod kvm_amd kvm' > /dev/null 2>&1
finish

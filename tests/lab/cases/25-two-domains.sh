#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Two domains in one session: each has its own processes, whatever their CR3 values are.
. /src/tests/lab/cases/common.sh
plan 18

case_guest web01 || bail "web01 is up"
case_guest web02 || bail "web02 is up"
case_idle
f=/out/two.vmprof
rm -f $f
case_guest_run web01 "timeout 600 /opt/burn/burn-a 100000000"
case_guest_run web02 "timeout 600 /opt/burn/burn-b 100000000"
sleep 1
ok "start --domain web01 --domain web02" vmprof start --domain web01 --domain web02 --period 200us --output $f
# both guests begin many processes, whose page tables come from where they were freed
for d in web01 web02; do case_guest_run $d 'for i in $(seq 200); do true | wc -c; done'; done
sleep 12
for d in web01 web02; do case_samples 2000 $d; done
ok "stop" vmprof stop
case_quiet web01
case_quiet web02
case_report $f
is "both domains are in the report" "$(case_json '[.domains[].name] | sort | join(" ")')" "web01 web02"
user='[.domains[] | select(.name == "%s").rows[] | select(.side == "guest_user" and (.function | test("burn_")))] | map(.process + ":" + .function) | unique | join(" ")'
is "web01 ran burn-a and nothing of web02" "$(case_json "${user/\%s/web01}")" "burn-a:burn_a_work"
is "web02 ran burn-b and nothing of web01" "$(case_json "${user/\%s/web02}")" "burn-b:burn_b_work"
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"
for d in web01 web02; do
	# how many coincide is chance here; 26-cloned-domain makes all of them
	lab_note "CR3s of $d in the other domain too: $(case_json ".domains[] | select(.name == \"$d\").agent.cr3_in_other_vms")"
	is "$d's agent lost nothing" "$(case_agent_lost "$d")" 0
	at_least "99 % of $d's samples have process and function" \
		"$(case_json ".domains[] | select(.name == \"$d\") | .resolved * 100 / .guest_samples")" 99
done
case_report $f --domain web02
is "--domain leaves only that one" "$(case_json '[.domains[].name] | join(" ")')" web02

# web02 is now a neighbour that nobody profiles; it is busy on both pCPUs, so that web01 cannot
# have one for itself: with groups of equal weight it has two thirds of one
virsh -q vcpupin web02 0 0
virsh -q vcpupin web02 1 1
f=/out/neighbour.vmprof
rm -f $f
case_guest_run web01 "timeout 600 /opt/burn/burn-a 100000000"
case_guest_run web02 "timeout 600 /opt/burn/burn-b 100000000"
case_guest_run web02 "timeout 600 /opt/burn/burn-b 100000000"
ok "start --domain web01 beside a busy web02" vmprof start --domain web01 --period 200us --output $f
sleep 10
case_samples 1000
ok "stop" vmprof stop
case_report $f
at_least "what web02 took from web01's vCPUs is steal" \
	"$(case_json '.domains[0] | .steal * 100 / .total')" 15
case_report $f --steal
# vmprof works there, too
at_least "most of it is QEMU's, in KVM or on the way to it" \
	"$(case_json '.domains[0] | ([.rows[] | select(.process | test("qemu|KVM")).samples] | add) * 100 / .steal')" 50
# nothing is known of one that waited in QEMU
at_least "and of most it is known what of the guest waited" \
	"$(case_json '.domains[0] | ([.waiting[] | select(.function != "[unknown]").samples] | add) * 100 / .steal')" 50
# a tick in the guest leaves it in the kernel, where it may have to wait as well
is "in its own code burn-a waits in its loop" \
	"$(case_json '[.domains[0].waiting[] | select(.module == "burn-a")] | max_by(.samples) | .process + ":" + .function')" \
	"burn-a:burn_a_work"
at_least "... in nothing else" \
	"$(case_json '[.domains[0].waiting[] | select(.module == "burn-a")] |
		([.[] | select(.function == "burn_a_work").samples] | add) * 100 / ([.[].samples] | add)')" 98
vmprof report --steal --domain web01 --limit 8 $f 2>&1 | sed 's/^/# /'
case_quiet web01
lab_guest_destroy web02
finish

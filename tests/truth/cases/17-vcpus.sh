#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Libquantum's blocks again, in a guest with one vCPU, and in one with four on two pCPUs.
. /src/tests/truth/lib.sh
# Host processes are not asked about with one vCPU: nothing else is sampled on the pCPU that is not its home
truth_plan 4 $((TRUTH_QUESTIONS + 12))

# On two vCPUs it is in 15-blocks
truth_guest
for vcpus in 1 4; do
	lab_guest_destroy web01
	ok "web01 is up with $vcpus vCPUs" case_guest web01 --vcpus $vcpus
	pcpus=()
	for ((i = 0; i < vcpus; i++)); do
		virsh -q vcpupin web01 $i $((i % 2))
		case_guest_run web01 'while :; do /opt/burn/shor 33 100; done'
	done
	[ $vcpus != 1 ] || pcpus=(--pcpus some)
	[ $vcpus -le 2 ] || pcpus=(--vcpus shared)
	# four vCPUs have many more by the time that one has these
	ok "a session" truth_session "quantum-$vcpus" $((vcpus == 1 ? 160000 : 20000)) --period 100000 --random --lbr any --cpi
	truth_judge "quantum-$vcpus" "${pcpus[@]}" --blocks 20 --function quantum_toffoli
done
lab_guest_destroy web01
finish

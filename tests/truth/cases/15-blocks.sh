#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Cycles of the hottest blocks of instructions, by the branch records: libquantum. Its functions take turns within a period, so
# instructions are sampled as well. By branches alone blocks are known less well, and have to say so; without the kernel's branches
# user code's are known as well as with them. And the judge can say no.
. /src/tests/truth/lib.sh
truth_plan 3 $((2 * TRUTH_QUESTIONS + 26))

truth_guest
for vcpu in 0 1; do
	case_guest_run web01 'while :; do /opt/burn/shor 33 100; done'
done
ok "a session with branches" truth_session blocks 160000 --period 100000 --random --lbr any --cpi
ok "a session with branches of user code" truth_session user 120000 --period 100000 --random --lbr any,user --cpi
ok "a session with branches alone" truth_session alone 120000 --period 100000 --random --lbr any --no-cpi
lab_ssh web01 'pkill -f "[w]hile :; do /opt/burn/shor"; pkill -x shor' > /dev/null 2>&1
truth_judge blocks --blocks 20 --function quantum_toffoli
truth_judge user --blocks 20 --function quantum_toffoli
truth_judge alone --blocks 20 --function quantum_toffoli
truth_says blocks NO stretched --blocks 20 "blocks have their exact cycles"
truth_says blocks NO overrun --blocks 20 --function quantum_toffoli "blocks have their exact cycles" "the blocks of a function ran as often"
truth_says blocks NO overwound --blocks 20 "loops have their exact trips and cycles"
truth_says blocks NO dragging --blocks 20 "loops have their exact trips and cycles"
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest that does nothing. Then a task of the host runs on the pCPU of a vCPU that sleeps: that is no steal.
. /src/tests/truth/lib.sh
truth_plan 9 $((TRUTH_QUESTIONS + 1))
TRUTH_TURNS=12

truth_guest
ok "a session" truth_session idle 8000 --period 25000 --random
truth_judge idle --min 6000 --kthreads 1500
# with half as many: of two events more come while a sample of the other is taken, on the way into the guest
ok "a session with CPI" truth_session idle-cpi 4000 --cpi --period 50000 --random
truth_judge idle-cpi --min 3000 --kthreads 500

# nanoseconds TASK FIELD - 1: it ran, 2: it wanted to run and something else did, as the scheduler counts them
nanoseconds() { cut -d ' ' -f "$2" "$1/schedstat"; }

vcpu=$(dirname "$(grep -lx 'CPU 1/KVM' /proc/"$(pgrep -f 'guest=web01')"/task/*/comm)")
# it makes way at once for a vCPU that is woken by its clock: how long that takes is the emulator's speed
taskset -c 1 chrt --idle 0 sh -c 'while :; do :; done' &
hog=$!
# how long either has, and how often the vCPU came to run, when the window begins and when it ends; without options a window is a part of the session
both() { echo "$(nanoseconds /proc/$hog 1) $(nanoseconds "$vcpu" 2) $(nanoseconds "$vcpu" 3)" >> /run/lab/seen; }
# of the hog's time, the part in which the vCPU wanted to run
wanted() { awk 'NR == 1 { ran = $1; waited = $2 } END { print (NR == 2 && $1 > ran ? ($2 - waited) / ($1 - ran) : 1) }' /run/lab/seen; }
# how often in a second of the hog's
often() { awk 'NR == 1 { ran = $1; times = $3 } END { print (NR == 2 && $1 > ran ? ($3 - times) / ($1 - ran) * 1e9 : 0) }' /run/lab/seen; }
truth_part() { "$@" && both; }
truth_meanwhile() { sleep 20; }
rm -f /run/lab/seen
ok "a session beside a task of the host" truth_session beside 20 --period 300000 --random
waited=$(wanted)
at_most "the vCPU sleeps (the part of the other's time in which it wants to run)" "$waited" 0.2
truth_says beside yes "" --not-steal $hog --waited "$waited" \
	"what runs while a vCPU sleeps is no steal" "host processes have their exact share"
# nearly all that is sampled but the VM itself is the hog
ok "a session by the clock" truth_clocked idle-clocked web01 both sleep 60
kill $hog
truth_steal "the time of the task beside it" "$(case_json '.domains[0].steal / (.totals | .samples - .guest_samples - .vmm)')" "$(wanted)" "$(often)"
finish

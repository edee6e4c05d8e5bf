#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Blocks of a disk, one by one and past the page cache: many exits, much VMM time. Then with branches, for the blocks of instructions of the host.
. /src/tests/truth/lib.sh
truth_plan 4 $((TRUTH_QUESTIONS + 3))
TRUTH_TURNS=8

truth_guest
case_guest_run web01 'while :; do dd if=/dev/vda of=/dev/null bs=4k count=2000 iflag=direct; done'
ok "a session" truth_session io 3200 --period 100000 --random
ok "a session with branches" truth_session io-blocks 8000 --period 100000 --random --lbr any --cpi
lab_ssh web01 'pkill -f "[w]hile :; do dd"; pkill -x dd' > /dev/null 2>&1
case_report /out/io.vmprof --group-by process
at_least "samples of what reads the disk" "$(case_json '[.domains[0].rows[] | select(.process == "dd").samples] | add')" 200
case_json '.domains[0].rows[] | select(.process | test("kworker|ksoftirqd|migration|rcu")) | "\(.samples) of \(.process)"' | sed 's/^/# /'
at_least "... and of the kernel's threads by name" "$(case_json '[.domains[0].rows[] | select(.process | test("^.?(kworker|ksoftirqd|rcu_)")).samples] | add // 0')" 5
truth_judge io --min 3000 --kthreads 100 --qemu 1000
truth_judge io-blocks --min 7000 --qemu 1000 --host-blocks 20
finish

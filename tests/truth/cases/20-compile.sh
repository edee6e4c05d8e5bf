#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make -j2 compiles C: short-lived processes of a large program. Then at 1 kHz, by fixed periods: the
# kernel's share is right there, too; of few samples, since each takes millions of cycles, and each process has counts of its own.
. /src/tests/truth/lib.sh
truth_plan 4 $((TRUTH_QUESTIONS + 2))
TRUTH_TURNS=5

truth_guest
ok "the compiler is in the guest" lab_guest_put web01 "$LAB_SHARE"/compile/* /opt/compile
lab_ssh web01 'cat > /opt/compile/Makefile' <<'END'
export LD_LIBRARY_PATH := /opt/compile
all: $(patsubst %.i,%.s,$(wildcard *.i))
%.s: %.i
	./cc1 -fpreprocessed -O2 -quiet $< -o $@
END
case_guest_run web01 'cd /opt/compile; while :; do ./make -s -j2 all; rm -f ./*.s; done'
ok "a session" truth_session compile 5000 --period 150000 --random --cpi
ok "a session without options" truth_session plain-compile 1500
lab_ssh web01 'pkill -f "[w]hile :; do ./make"; pkill -x make' > /dev/null 2>&1
case_report /out/compile.vmprof --group-by process
at_least "the compiler's samples" "$(case_json '[.domains[0].rows[] | select(.process == "cc1").samples] | add')" 1000
truth_judge compile --min 4000
truth_judge plain-compile --behind 5 --min 1000
finish

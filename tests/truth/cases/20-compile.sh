#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make -j2 compiles C and links it: short-lived processes of large programs. Then at 1 kHz, by fixed periods: the
# kernel's share is right there, too; of few samples, since each takes millions of cycles, and each process has counts of its own.
. /src/tests/truth/lib.sh
truth_plan 5 $((TRUTH_QUESTIONS + 2))
TRUTH_TURNS=5

truth_guest
ok "the compiler is in the guest" lab_guest_put web01 "$LAB_SHARE"/compile/* /opt/compile
lab_ssh web01 'cat > /opt/compile/Makefile' <<'END'
export LD_LIBRARY_PATH := /opt/compile
all: all.o
all.o: $(patsubst %.i,%.o,$(wildcard *.i))
	./ld -r -o $@ $^
%.o: %.i
	./cc1 -fpreprocessed -O2 -quiet $< -o $*.s
	./as -o $@ $*.s
END
case_guest_run web01 'cd /opt/compile; while :; do ./make -s -j2 all; rm -f ./*.[so]; done'
ok "a session" truth_session compile 5000 --period 150000 --random --cpi
ok "a session without options" truth_session plain-compile 1500
lab_ssh web01 'pkill -f "[w]hile :; do ./make"; pkill -x make' > /dev/null 2>&1
# of NAME... - the samples of these programs
of() { case_json "[.domains[0].rows[] | select(.process | IN($(printf '"%s", ' "$@" | sed 's/, $//'))).samples] | add // 0"; }
case_report /out/compile.vmprof --group-by process
at_least "the compiler's samples" "$(of cc1)" 1000
# in the first session's time not one file may be through
case_report /out/plain-compile.vmprof --group-by process
at_least "... the assembler's and the linker's" "$(of as ld)" 20
truth_judge compile --min 4000
truth_judge plain-compile --behind 5 --min 1000
finish

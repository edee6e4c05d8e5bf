#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A processor without branch records, and without counters for random periods: all who are asked say so.
. /src/tests/lab/cases/common.sh
PATH=/usr/share/vmprof-lab/driver:$PATH
plan 8

case_idle
modprobe vmprof
like "QUERY says why" "$(ringdump query)" ' lbr_lack=1 lbr_entries=0$'
fails "the module takes no configuration with branches" ringdump dump -a -s 1 -l 0x1ff -f 1
like "... for it cannot" "$output" 'Operation not supported'
case_guest web01 || bail "web01 is up"
fails "start --lbr" vmprof start --domain web01 --lbr any
like "... says why" "$output" 'no last branch records: the processor keeps no branches'
fails "start --random" vmprof start --domain web01 --random
like "... says why" "$output" "random needs a performance counter, which this host has not; start without it"
like "doctor tells of branches" "$(vmprof doctor)" '^-- .*no last branch records'
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# gzip and sha256sum, one on each vCPU; CPI, too. And the judge can say no.
. /src/tests/truth/lib.sh
truth_plan 1 2

truth_guest
lab_ssh web01 'cat /usr/bin/* 2> /dev/null | head -c 8000000 > /dev/shm/data'
case_guest_run web01 'while :; do gzip -9 < /dev/shm/data; done > /dev/null'
case_guest_run web01 'while :; do sha256sum /dev/shm/data; done > /dev/null'
ok "a session" truth_session compress 20000 --period 100000 --random --cpi
lab_ssh web01 'pkill -f "[w]hile :; do (gzip|sha256)"; pkill -x gzip; pkill -x sha256sum' > /dev/null 2>&1
truth_judge compress --min 20000
truth_says compress NO upside-down "CPI is exact within sampling error"
finish

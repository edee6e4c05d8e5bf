#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# libquantum factors a number; CPI, too. Then as most sessions are: 1 kHz, fixed periods.
. /src/tests/truth/lib.sh
truth_plan 2 $((TRUTH_QUESTIONS + 2))

truth_guest
case_guest_run web01 'while :; do /opt/burn/shor 33 100; done'
ok "a session" truth_session quantum 20000 --period 100000 --random --cpi
truth_judge quantum --min 20000
ok "a session without options" truth_session plain 3000
lab_ssh web01 'pkill -f "[w]hile :; do /opt/burn/shor"; pkill -x shor' > /dev/null 2>&1
truth_judge plain --behind 5 --min 3000
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# libquantum factors a number; CPI, too.
. /src/tests/truth/lib.sh
truth_plan 1 1

truth_guest
case_guest_run web01 '/opt/burn/shor 33 100'
ok "a session" truth_session quantum 4000 --period 100000 --random --cpi
case_quiet web01
truth_judge quantum
finish

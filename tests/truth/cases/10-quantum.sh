#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# libquantum factors a number.
. /src/tests/truth/lib.sh
plan $((1 + TRUTH_QUESTIONS))

truth_guest
case_guest_run web01 '/root/work/shor 33 100'
ok "a session" truth_session quantum 10 --period 500000
case_quiet web01
truth_judge quantum
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest that does nothing.
. /src/tests/truth/lib.sh
truth_plan 1
TRUTH_TURNS=3

truth_guest
ok "a session" truth_session idle 1000 --period 25000 --random
truth_judge idle --min 1000
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest that does nothing.
. /src/tests/truth/lib.sh
truth_plan 1

truth_guest
ok "a session" truth_session idle 200 --period 20000
truth_judge idle --min 100
finish

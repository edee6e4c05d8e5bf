# SPDX-License-Identifier: GPL-2.0-only
# a case of the suite's own test: a guest's kernel breaks in its first run
echo 1..1
echo "ok 1 - fine"
! mkdir "$SUITE_STATE/broke" 2>/dev/null || exit 3

# SPDX-License-Identifier: GPL-2.0-only
# a case of the suite's own test: what never must fail does, and what may, in its first run
echo 1..2
if mkdir "$SUITE_STATE/never" 2>/dev/null; then
	echo "not ok 1 - never: 1 did (final)"
	echo "not ok 2 - by chance"
	exit 1
fi
echo "ok 1 - never: 0 did"
echo "ok 2 - by chance"

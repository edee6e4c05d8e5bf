# SPDX-License-Identifier: GPL-2.0-only
# a case of the suite's own test: it fails in its first run
echo 1..2
echo "ok 1 - fine"
if mkdir "$SUITE_STATE/ran" 2>/dev/null; then
	echo "not ok 2 - by chance"
	exit 1
fi
echo "ok 2 - by chance"

# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# tap.sh - results in TAP, for the scripts here; source it, and end with: echo "1..$nr"

nr=0

# result STATUS NAME, before what is to be said of a failure
result()
{
	nr=$((nr + 1))
	[ "$1" = 0 ] || printf 'not '
	echo "ok $nr - $2"
	return "$1"
}

# ok STATUS NAME - of what ran before, with its output in $tmp/err and $tmp/out
ok()
{
	result "$1" "$2" || cat "${tmp:-/nonexistent}"/{err,out} 2> /dev/null | head -n 40 | sed 's/^/# /'
}

# runs NAME COMMAND...
runs()
{
	local name=$1 output status
	shift
	output=$("$@" 2>&1)
	status=$?
	result $status "$name" || sed 's/^/# /' <<< "$output"
}

# skip NAME WHY
skip() { result 0 "$1 # SKIP $2"; }

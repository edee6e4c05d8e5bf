#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# inline.t - vmprof report --inline and --srcline on a library with inlined functions; addr2line is the judge.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
O=${O:-$src/build}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export VMPROF_OBJCACHE=$tmp VMPROF_DEBUG_PATH=/nowhere
. "$src/tests/unit/tap.sh"
# functions OPTION...: of the rows of report, those with most samples first, in $got
functions()
{
	"$O/vmprof" report --columns samples,function "$@" "$tmp/a.vmprof" > "$tmp/out" 2> "$tmp/err"
	got=$(sed -n 's/^ *[0-9][0-9]*  \([a-z].*\)$/\1/p' "$tmp/out" | tr '\n' ';')
}

if ! command -v addr2line > /dev/null; then
	echo "1..0 # SKIP binutils is not installed"
	exit
fi
at=$("$O/tests/test_debuginfo" --capture "$tmp" 2> "$tmp/err"); ok $? "made a library and a capture"
# The frames of both places by the judge: function and line of each, the innermost first
read -r -a plain <<< "$(addr2line -f -i -e "$tmp/lib.so" "0x${at% *}" | sed 's/.*\/\(x\.c:[0-9]*\).*/\1/' | tr '\n' ' ')"
read -r -a deep <<< "$(addr2line -f -i -e "$tmp/lib.so" "0x${at#* }" | sed 's/.*\/\(x\.c:[0-9]*\).*/\1/' | tr '\n' ' ')"
[ "${#plain[@]}" = 2 ] && [ "${#deep[@]}" = 6 ] && [ "${deep[4]}" = visible ]; ok $? "addr2line: ${deep[*]}"

functions; [ "$got" = "${plain[0]};${deep[4]};" ]; ok $? "functions as the symbols name them"
functions --inline; [ "$got" = "${plain[0]};${deep[0]} (inlined);" ]; ok $? "--inline: the innermost inlined function"
functions --srcline; [ "$got" = "${plain[0]} ${plain[1]};${deep[4]} ${deep[1]};" ]; ok $? "--srcline: with the line of the address"
functions --inline --srcline; [ "$got" = "${plain[0]} ${plain[1]};${deep[0]} (inlined) ${deep[1]};" ]; ok $? "both"
"$O/vmprof" report --json --inline --srcline "$tmp/a.vmprof" > "$tmp/out" 2> "$tmp/err" &&
	grep -q "\"function\":\"${deep[0]} (inlined) ${deep[1]}\"" "$tmp/out"; ok $? "JSON has the same"
"$O/vmprof" report --tree --inline "$tmp/a.vmprof" > "$tmp/out" 2> "$tmp/err" &&
	grep -q " ${deep[0]} (inlined)$" "$tmp/out"; ok $? "so has a tree"
strip -g "$tmp/u-1000/ab/cdef010203040506"
functions --inline --srcline; [ "$got" = "${plain[0]};${deep[4]};" ]; ok $? "without debugging information both say what the symbols do"
echo "1..$nr"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# suite.sh [--again] [--limit SECONDS] [--cases FOLDER] [--short|--long] [NAME...] - run the lab's test cases on
# L1, as one TAP stream; with names (10-profile) only these.
#
# Each NN-name.sh of tests/lab/cases, or of another FOLDER of the checkout, prints TAP of its own (lib.sh); here the tests
# are numbered through, and a case that dies, breaks its plan or takes longer than the limit (2700 s) is a failure.
# With --short only cases that say "# short: yes" in their head, with --long only those
# that say "# long: yes", which are left out else. With --again a case that fails is run once
# more, for samples are drawn by chance and machines stall: what failed at first is shown as
# TODO, which tests/check counts apart, and the second run decides. But a test whose name ends
# with "(final)" when it fails (what must never be, tests/truth/verdict.h) has failed, whatever the
# second run says, and so has a case that ends with 3: a guest's kernel broke (lib.sh). On a machine of somebody's own (LAB_OWN_HOST, see on-this-host) a case that says "# lab-only: yes"
# is skipped: it unloads modules, stops libvirtd or needs the emulated host.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
cases=tests/lab/cases again= length= limit=2700
while :; do
	case ${1:-} in
	--again) again=yes ;;
	--limit) limit=$2; shift ;;
	--cases) cases=$2; shift ;;
	--short | --long) length=${1#--} ;;
	*) break ;;
	esac
	shift
done
only=" $* "
nr=0 failed=0

# verdict LINE [TODO] - a line of TAP, numbered anew
verdict()
{
	nr=$((nr + 1))
	local verdict=${1%%ok *}ok rest todo=
	rest=${1#"$verdict "}
	if [ "$verdict" != ok ]; then
		bad=$((bad + 1))
		todo=${2:-}
		[[ $rest != *'(final)' ]] || final=1 todo=
	fi
	printf '%s %d - %s: %s%s\n' "$verdict" $nr "$name" "${rest#* - }" "$todo"
}

# run_case FILE [TODO] - 0 if all its tests passed; else TODO is at the end of each that did not, but of those
# that are final: then $final is 1
run_case()
{
	local planned=0 seen=0 bad=0 begun=$SECONDS line code
	final=0
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			seen=$((seen + 1))
			verdict "$line" "${2:-}"
			;;
		1..*) planned=${line#1..} ;;
		'@exit '*) code=${line#@exit } ;;
		*) printf '%s\n' "$line" ;;
		esac
	done < <(timeout "$limit" bash "$1" 2>&1 < /dev/null; echo "@exit $?")
	[ "$code" != 3 ] || verdict "not ok 0 - a guest's kernel broke (final)"
	if [ "$planned" != "$seen" ] || [ "$seen" = 0 ] || { [ "$code" != 0 ] && [ $bad = 0 ]; }; then
		verdict "not ok 0 - exit status $code, $seen of $planned planned tests" "${2:-}"
	fi
	printf '# %s took %d s\n' "$name.sh" $((SECONDS - begun))
	[ $bad = 0 ]
}

for case in "$root/$cases"/[0-9]*.sh; do
	name=${case##*/}
	name=${name%.sh}
	if [ "$only" != "  " ]; then
		[[ $only = *" $name "* ]] || continue
	elif [ -n "$length" ]; then
		head -n 12 "$case" | grep -q "^# $length: yes" || continue
	elif head -n 12 "$case" | grep -q '^# long: yes'; then
		continue
	fi
	printf '# --- %s\n' "$name.sh"
	if [ -n "${LAB_OWN_HOST:-}" ] && head -n 12 "$case" | grep -q '^# lab-only: yes'; then
		nr=$((nr + 1))
		printf 'ok %d - %s # SKIP only on an emulated host\n' $nr "$name"
		continue
	fi
	if [ -n "$again" ]; then
		run_case "$case" ' # TODO the case is run once more' && continue
		failed=$((failed + final))
		printf '# --- %s, once more\n' "$name.sh"
	fi
	run_case "$case" || failed=$((failed + 1))
done
echo "1..$nr"
[ $nr != 0 ] || echo "# suite.sh: no case of $cases was asked for: $only"
[ $failed = 0 ] && [ $nr != 0 ]

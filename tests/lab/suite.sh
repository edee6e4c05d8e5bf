#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# suite.sh [--cases FOLDER] [--short|--long] [NAME...] - run the lab's test cases on L1,
# as one TAP stream; with names (10-profile) only these.
#
# Each NN-name.sh of tests/lab/cases, or of another FOLDER of the checkout, prints TAP of its own (lib.sh); here the tests
# are numbered through, and a case that dies or breaks its plan is a failure.
# With --short only cases that say "# short: yes" in their head, with --long only those
# that say "# long: yes", which are left out else. On a machine of
# somebody's own (LAB_OWN_HOST, see on-this-host) a case that says "# lab-only: yes"
# is skipped: it unloads modules, stops libvirtd or needs the emulated host.
set -u
cases=tests/lab/cases
[ "${1:-}" != --cases ] || { cases=$2; shift 2; }
length=
case ${1:-} in --short | --long) length=${1#--}; shift ;; esac
only=" $* "
nr=0 failed=0
for case in /src/"$cases"/[0-9]*.sh; do
	name=${case##*/}
	if [ "$only" != "  " ]; then
		[[ $only = *" ${name%.sh} "* ]] || continue
	elif [ -n "$length" ]; then
		head -n 12 "$case" | grep -q "^# $length: yes" || continue
	elif head -n 12 "$case" | grep -q '^# long: yes'; then
		continue
	fi
	printf '# --- %s\n' "$name"
	if [ -n "${LAB_OWN_HOST:-}" ] && head -n 12 "$case" | grep -q '^# lab-only: yes'; then
		nr=$((nr + 1))
		printf 'ok %d - %s # SKIP only on an emulated host\n' $nr "${name%.sh}"
		continue
	fi
	planned=0 seen=0 begun=$SECONDS
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			nr=$((nr + 1)) seen=$((seen + 1))
			verdict=${line%%ok *}ok
			rest=${line#"$verdict "}
			printf '%s %d - %s: %s\n' "$verdict" $nr "${name%.sh}" "${rest#* - }"
			[ "$verdict" = ok ] || failed=$((failed + 1))
			;;
		1..*) planned=${line#1..} ;;
		'@exit '*) code=${line#@exit } ;;
		*) printf '%s\n' "$line" ;;
		esac
	done < <(timeout "${CASE_TIMEOUT:-900}" bash "$case" 2>&1 < /dev/null; echo "@exit $?")
	if [ "$code" != 0 ] || [ "$planned" != "$seen" ] || [ "$seen" = 0 ]; then
		nr=$((nr + 1)) failed=$((failed + 1))
		printf 'not ok %d - %s: exit status %s, %s of %s planned tests\n' $nr "${name%.sh}" "$code" $seen "$planned"
	fi
	printf '# %s took %d s\n' "$name" $((SECONDS - begun))
done
echo "1..$nr"
[ $nr != 0 ] || echo "# suite.sh: no case of $cases was asked for: $only"
[ $failed = 0 ] && [ $nr != 0 ]

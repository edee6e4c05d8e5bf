#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# report.t - reports and exports of committed captures, byte for byte.  After a wanted change: tests/golden/add
set -u
cd "$(dirname "$0")" || exit 1
. ./outputs.sh
got=$(mktemp -d) || exit 1
trap 'rm -rf "$got"' EXIT
# another place than where they were made
export TZ=XYZ-5:45 LC_ALL=C.UTF-8
nr=0
for capture in *.vmprof; do
	name=${capture%.vmprof}
	golden_outputs "$name" "$got" || echo "# vmprof report $capture failed"
	for suffix in $golden_suffixes; do
		nr=$((nr + 1))
		lacks=$(golden_lacks "$name" "$suffix")
		if [ -n "$lacks" ]; then
			echo "ok $nr - $name.$suffix # SKIP $lacks"
		elif diff -u "$name.$suffix" "$got/$name.$suffix" > "$got/diff" 2>&1; then
			echo "ok $nr - $name.$suffix"
		else
			echo "not ok $nr - $name.$suffix"
			sed 's/^/# /' "$got/diff"
		fi
	done
done
# A capture that was trimmed already stays what it is.
for capture in *.vmprof; do
	name=${capture%.vmprof}
	nr=$((nr + 1))
	golden_objects "$name"
	if "$out/tests/trim" "$capture" "$got/$capture" "$got/$name.objects" 1000000 > "$got/diff" 2>&1 &&
	   (cd "$got" && VMPROF_OBJCACHE=$name.objects "$out/vmprof" report "$capture") | diff -u "$name.txt" - > "$got/diff"; then
		echo "ok $nr - $name, trimmed"
	else
		echo "not ok $nr - $name, trimmed"
		sed 's/^/# /' "$got/diff"
	fi
done
echo "1..$nr"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# report.t - vmprof report as a user types it, well and badly.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
O=${O:-$src/build}
vmprof=$O/vmprof
made=$src/tests/golden/made.vmprof
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export VMPROF_OBJCACHE=$src/tests/golden/objects VMPROF_DIR=$tmp/captures VMPROF_RUN_DIR=$tmp/run
. "$src/tests/unit/tap.sh"
run() { "$vmprof" report "$@" > "$tmp/out" 2> "$tmp/err"; status=$?; }
# tells STATUS TEXT WHAT: it ended so, and said that on standard error
tells() { [ "$status" = "$1" ] && grep -qF -- "$2" "$tmp/err" && { [ "$1" = 0 ] || [ ! -s "$tmp/out" ]; }; ok $? "$3"; }

# What is read
run; tells 1 "no capture under $tmp/captures: make one with vmprof start, or name a file" "no capture: told, with what to do, exit 1"
mkdir -p "$tmp/captures/web01"; cp "$made" "$tmp/captures/web01/a.vmprof"
run; [ $status = 0 ] && grep -q "^Capture $tmp/captures/web01/a.vmprof" "$tmp/out"; ok $? "without a file the latest is read"
run "$tmp/none"; tells 1 "cannot read $tmp/none: No such file" "a file that is not there: exit 1"
head -c 40 "$made" > "$tmp/cut"; run "$tmp/cut"; tells 1 "is empty or ends within its first bytes" "half a header: exit 1"
echo hello > "$tmp/text"; run "$tmp/text"; tells 1 "is not a vmprof capture" "any other file: exit 1"
run "$tmp"; tells 1 "is not a file" "a folder: exit 1"
VMPROF_OBJCACHE=$tmp/nothing run "$made"
[ $status = 0 ] && grep -q '\[libsmall.so+0x[0-9a-f]* build-id abababababababab\]' "$tmp/out" &&
	grep -q "the program's file is not in the object cache" "$tmp/out"; ok $? "objects missing: module, offset and build-id, and a note"

# Where else files are found
small=$(find "$src/tests/golden/objects/u-1000" -type f)
lib=$tmp/root/usr/lib/libsmall.so
mkdir -p "${lib%/*}" && cp "$small" "$lib"
run --sysroot "$tmp/nothing" "$made"; tells 1 "cannot open the folder $tmp/nothing of --sysroot" "no such --sysroot: exit 1"
VMPROF_OBJCACHE=$tmp/nothing run --sysroot "$tmp/root" "$made"
[ $status = 0 ] && grep -q -- '--sysroot: 1 file there, but of another build, 3 without a build-id to compare' "$tmp/out"; ok $? "--sysroot: a file without the build-id is refused, and counted"
{ printf '\4\0\0\0\24\0\0\0\3\0\0\0GNU\0'; printf '\253%.0s' $(seq 20); } > "$tmp/note"
objcopy --add-section .note.gnu.build-id="$tmp/note" "$small" "$lib"
VMPROF_OBJCACHE=$tmp/nothing run --sysroot "$tmp/root" --no-pager "$made"
cp "$tmp/out" "$tmp/below"; run --no-pager "$made"
[ $status = 0 ] && ! grep -q 'libsmall.so+0x[0-9a-f]* build-id' "$tmp/below" &&
	diff <(sed '/^Notes/,$d' "$tmp/out") <(sed '/^Notes/,$d' "$tmp/below") > /dev/null &&
	grep -q -- '--sysroot: 1 file found' "$tmp/below"; ok $? "with it the report is the one with the cache"
VMPROF_OBJCACHE=$tmp/nothing "$vmprof" export -f folded --sysroot "$tmp/root" "$made" > "$tmp/out" 2> "$tmp/err"
[ $? = 0 ] && grep -q -- '--sysroot: 1 file found' "$tmp/err" && ! grep -q 'libsmall.so+0x' "$tmp/out"; ok $? "other commands say it when they end"
DEBUGINFOD_URLS=http://127.0.0.1:1 VMPROF_OBJCACHE=$tmp/nothing run "$made"
[ $status = 0 ] && grep -q '^  debuginfod: ' "$tmp/out" && grep -q 'debuginfod' "$tmp/err"; ok $? "servers that do not answer are no failure, and told"
"$O/tests/test_export" --capture "$tmp/hostile" > /dev/null
for options in "" --tree "--by process" --exits --steal; do
	# shellcheck disable=SC2086
	run $options "$tmp/hostile"
	[ $status = 0 ] && python3 - "$tmp/out" << 'END'
import sys, unicodedata
text = open(sys.argv[1], "rb").read().decode()
bad = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn")]
sys.exit(1 if bad else 0)
END
	ok $? "hostile names${options:+ with $options}: valid UTF-8, no control characters"
done

# What makes no share of time, for only its instructions were sampled, is in the sums above it
quantum=$src/tests/golden/quantum.vmprof
for options in "" --exits; do
	# shellcheck disable=SC2086
	"$vmprof" report --json $options --group-by process --columns process,samples,cpi "$quantum" > "$tmp/flat${options#--}" 2> "$tmp/err" &&
		run --json $options --tree --group-by process,module,function --columns samples,cpi "$quantum" &&
		python3 - "$tmp/flat${options#--}" "$tmp/out" << 'END' 2>> "$tmp/err"
import json, sys
flat, tree = (json.load(open(f))["domains"][0] for f in sys.argv[1:3])
want, got = ({r["process"]: (r["samples"], r["cycle_samples"], r["instruction_samples"]) for r in rows}
             for rows in (flat["rows"], tree["children"]))
assert want == got, (want, got)
assert 0 < sum(r["instruction_samples"] for r in tree["rows"]) < sum(n[2] for n in want.values()), "nothing is put to the test"
assert all(f["samples"] for p in tree["children"] for m in p["children"] for f in m["children"])
END
	ok $? "CPI of a process is the same in table and tree${options:+ with $options}"
done
run --html "$tmp/page.html" "$quantum"
if grep -q 'built without the page' "$tmp/err"; then
	skip "and in the page" "vmprof was built without it"
else
	python3 - "$tmp/flat" "$tmp/page.html" << 'END' 2>> "$tmp/err"
import collections, json, re, sys
flat = {r["process"]: (r["samples"], r.get("instructions", 0)) for r in json.load(open(sys.argv[1]))["domains"][0]["rows"]}
page = json.loads(re.search(r' id="data">(.*?)</script>', open(sys.argv[2]).read(), re.S)[1])
samples, instructions = collections.Counter(), collections.Counter()
for proc, a, b in zip(*(page["rows"][k] for k in ("proc", "samples", "instructions"))):
    name = page["strings"][page["procs"]["name"][proc]] or "[steal]"
    samples[name] += a
    instructions[name] += b
assert flat == {name: (samples[name], instructions[name]) for name in samples if samples[name]}, (flat, samples, instructions)
END
	ok $? "and in the page"
fi
# What limits a profile does not depend on how it is shown
for capture in "$src"/tests/golden/*.vmprof "$tmp/hostile"; do
	what="the notes of ${capture##*/} are the same in the page"
	run --html "$tmp/page.html" "$capture"
	if grep -q 'built without the page' "$tmp/err"; then
		skip "$what" "vmprof was built without it"
		continue
	fi
	run "$capture"
	python3 - "$tmp/out" "$tmp/page.html" << 'END' 2>> "$tmp/err"
import json, re, sys
text, page = (open(f, encoding="utf-8").read() for f in sys.argv[1:3])
text = [l[2:] for l in text.partition("\nNotes\n")[2].splitlines()]
page = json.loads(re.search(r' id="data">(.*?)</script>', page, re.S)[1])["notes"]
assert text and text == page, "\n".join(map(str, sorted(set(text) ^ set(page))))
END
	ok $? "$what"
done

# What is asked for
run --group-by process,function --columns percent,function "$made"; [ $status = 0 ]; ok $? "columns may be fewer than the keys"
run --columns frob "$made"; tells 2 "--columns: no column is called 'frob'; there are domain, process" "an unknown column: exit 2, with those that there are"
run --columns "$made"; [ $status = 2 ]; ok $? "a file is not a list of columns"
run --group-by percent "$made"; tells 2 "percent is a number of a row: put it into --columns" "a measure to group by: exit 2"
run --group-by process --columns module "$made"; tells 2 "--columns: rows have no module here; add module to --group-by" "a column that rows do not have: exit 2"
run --sort samples:sideways "$made"; tells 2 "cannot sort by 'samples:sideways'" "an unknown order: exit 2"
run --percent-limit 101 "$made"; tells 2 "takes percent, from 0 to 100, such as 0.5, not '101'" "more than all: exit 2"
run --filter 'process == "shor" &&' "$made"; tells 2 "--filter, character 21: a condition begins with a column" "half a filter: exit 2, with the place"
grep -q '^                        ^$' "$tmp/err" || grep -q '^ *^$' "$tmp/err"; ok $? "and a mark under it"
run --filter 'module == "x" || percent > 1' --by process "$made"; tells 2 "numbers are compared with finished rows, which have no module here: add module to --group-by" "a filter that cannot be: exit 2"
run --tree --by process "$made"; tells 2 "with --group-by or --tree leave it out" "--by with --tree: exit 2"
run --exits --steal "$made"; tells 2 "reports of their own; give one of them" "--exits with --steal: exit 2"
run --steal --tree "$made"; tells 2 "--steal has two tables of its own" "--steal with --tree: exit 2"
run --exits --by process "$made"; tells 2 "leave out --by" "--exits with --by: exit 2"
# CPI of each function as load grows (figure 10 of the paper): a capture at each load, side by side
"$O/tests/test_cpi" --capture "$tmp" > "$tmp/err" 2>&1; ok $? "made captures of one program at growing load"
for way in sampled counted; do
	for load in 1 2 4; do
		"$vmprof" report --columns cpi,ipc,function --sort function:asc "$tmp/$way-$load.vmprof" | sed -n 's/^ *\([0-9.]*\) *\([0-9.]*\)  \(fast\|slow\)$/\3 \1 \2/p' | paste -sd' '
	done > "$tmp/out" 2> "$tmp/err"
	[ "$(cat "$tmp/out")" = "fast 0.50 2.00 slow 1.00 1.00
fast 0.50 2.00 slow 2.00 0.50
fast 0.50 2.00 slow 4.00 0.25" ]; ok $? "CPI of each function as load grows, $way"
	run --columns cpi,ipc,function "$tmp/$way-2.vmprof"
	grep -o '^  CPI by [a-z ]*' "$tmp/out" > "$tmp/how"
	run --json --columns cpi,function "$tmp/$way-2.vmprof"
	grep -o '"cpi_estimator":"[^"]*"' "$tmp/out" >> "$tmp/how"
	case $way in
	sampled) want='  CPI by two events
"cpi_estimator":"two-events"' ;;
	*) want='  CPI by counts since the sample before
"cpi_estimator":"counts"' ;;
	esac
	[ "$(cat "$tmp/how")" = "$want" ]; ok $? "and which estimate it is, $way: in text and JSON"
done
# The guest as a whole, of a session of the lab: as its rows add up
run --json --group-by side --columns cycles,instructions "$src/tests/golden/blocks.vmprof"
python3 - "$tmp/out" << 'END' 2> "$tmp/err"
import json, sys
d = json.load(open(sys.argv[1]))["domains"][0]
cycles, instructions = (sum(r[k] for r in d["rows"] if r["side"].startswith("guest")) for k in ("cycles", "instructions"))
assert abs(d["guest_cpi"] - cycles / instructions) < 1e-5 and any(r["side"] == "vmm" and r["cpi"] != d["guest_cpi"] for r in d["rows"]), d
END
ok $? "CPI of the guest as a whole, by counts"
run --diff "$made"; tells 2 "vmprof report --diff EARLIER LATER" "--diff with one file: exit 2"
run "$made" "$made"; tells 2 "one capture at a time; --diff compares two" "two files without --diff: exit 2"
run --diff "$made" "$tmp/none"; tells 1 "cannot read $tmp/none" "--diff with a file that is not there: exit 1"
run --diff "$tmp/text" "$made"; tells 1 "$tmp/text is not a vmprof capture" "whichever it is"
run --diff --sort delta "$made" "$made"; [ $status = 0 ] && grep -q ' Before   After    Delta  Function' "$tmp/out" && ! grep -qE '^ *[0-9.]+ +[0-9.]+ +[+-][0-9.]*[1-9]' "$tmp/out"; ok $? "a capture differs from itself in nothing"
run --diff --tree --columns delta "$made" "$made"; [ $status = 0 ] && grep -q '^ *Delta  Process > Module > Function$' "$tmp/out" && grep -q '^ *+0.00  shor$' "$tmp/out" && ! grep -qE '^ *[+-][0-9.]*[1-9]' "$tmp/out"; ok $? "nor has it as a tree"
run --sort delta "$made"; tells 2 "columns of --diff" "delta without --diff: exit 2"
run --html "$tmp/x.html" --tree "$made"; tells 2 "--domain and --sysroot only" "--html with --tree: exit 2"
run --domain nosuch "$made"; [ $status = 1 ] && [ ! -s "$tmp/out" ] && grep -q "holds no domain 'nosuch'; it holds: web01, web02$" "$tmp/err"; ok $? "a domain that is not there is told, with those that are"

# All that is data is in JSON, too
for options in --tree --exits --steal "--group-by pid,thread,build-id" "--columns cpi,process --sort ipc" "--diff $made" "--diff --tree $made"; do
	# shellcheck disable=SC2086
	run --json $options "$made"
	[ $status = 0 ] && python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["layout"] == 1 and d["domains"][0]["rows"]' "$tmp/out" 2> "$tmp/err"; ok $? "JSON with $options"
done
"$vmprof" report --tree "$made" > /dev/full 2> "$tmp/err"; [ $? = 1 ] && grep -q 'No space left' "$tmp/err"; ok $? "a full disk is told, exit 1"
echo "1..$nr"

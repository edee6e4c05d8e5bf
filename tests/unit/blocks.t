#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# blocks.t - the commands that show branches, on a capture of a simulated program.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
O=${O:-$src/build}
vmprof=$O/vmprof
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export VMPROF_OBJCACHE=$tmp HOME=$tmp
. "$src/tests/unit/tap.sh"
run() { "$vmprof" "$@" > "$tmp/out" 2> "$tmp/err"; }
# json EXPRESSION [ARG]: what was printed last, as d
json() { python3 -c "import json, sys; d = json.load(open('$tmp/out')); sys.exit(0 if ($1) else 1)" "${@:2}" 2>> "$tmp/err"; }

if ! grep -q HAVE_CAPSTONE "$O/config.h"; then
	echo "1..0 # SKIP vmprof was built without capstone"
	exit
fi
"$O/tests/test_blocks" --capture "$tmp" && "$O/tests/test_missed" --capture "$tmp" && "$O/tests/test_steps" --capture "$tmp" &&
	"$O/tests/test_timeline" --capture "$tmp"; ok $? "made a capture of a simulated program"
capture=$tmp/mixed.vmprof

topped=$tmp/topped.vmprof

run blocks "$capture"; ok $? "vmprof blocks"
grep -q 'cycles: share of time by number of runs; equation 1' "$tmp/out"; ok $? "it says which estimate it shows"
grep -q '^  60000 of 60000 steps between branches are good (100.00%)' "$tmp/out"; ok $? "and how much it used"
grep -qE '^    [1-9] blocks with [0-9.]+% of the time are more than twice or less than half of equation 1$' "$tmp/out" &&
	grep -q '+- holds what equation 1 says otherwise.*: by branches alone nobody knows;$' "$tmp/out"; ok $? "and that by branches alone nothing decides between two that differ"
run blocks --json "$capture"; ok $? "vmprof blocks --json"
json 'd["estimator"]["far_from_equation_1"] == sum(b["by"] == "time" and not 0.5 <= b["cycles"] / b["cycles_cpi"] <= 2 for b in d["blocks"]) > 0'
ok $? "JSON, too"
json 'd["estimator"]["used"] == "time" and d["estimator"]["runs_from"] == "branches" and d["totals"]["steps"] == 60000 and d["estimator"]["guessed_part"] == 0'
ok $? "JSON has the estimator and totals"
json 'd["totals"]["instruction_not_known"] == 0' && ! grep -q 'though nothing tells' "$tmp/out"; ok $? "of code in functions it is known where instructions begin"
json 'd["estimator"]["cycles_not_counted"] == d["estimator"]["blocks_not_counted"] == 0' && run blocks "$capture" && ! grep -q 'not counted' "$tmp/out"; ok $? "no cycles are missing where records have none"
run blocks --json "$topped" && json 'd["estimator"]["used"] == "lbr" and d["estimator"]["cycles_not_counted"] == sum(b["seen"] for b in d["blocks"] if b["cycles_lbr"] is None) > 0 and d["estimator"]["blocks_not_counted"] == sum(b["by"] != "lbr" for b in d["blocks"]) > 0'
ok $? "where the processor counts cycles, but not all, it is told how many runs and blocks have none"
for command in blocks loops "timeline --limit 5"; do
	# shellcheck disable=SC2086
	run $command --no-pager "$topped" && grep -qE '^  cycles of [1-9][0-9]* of 60000 runs are not counted, or over the counter.s top; [1-9] blocks have no others$' "$tmp/out"; ok $? "${command%% *}: so do the notes"
done
run blocks --json "$capture"
json 'len(d["blocks"]) == d["totals"]["blocks"] == 9 and abs(sum(b["percent"] for b in d["blocks"]) - 100) < 0.1'
ok $? "the blocks' shares make 100 %"
json 'all(b["samples"] < 200 or abs(b["cycles"] - {8: (96, 13), 5: (2,), 11: (36,), 9: (38,)}[b["instructions"]][b["start"] != "0x1000" and b["instructions"] == 8]) < 4 * max(0, b["cycles_error"] ** 2 - (b["cycles"] - b["cycles_cpi"]) ** 2) ** 0.5 + 0.03 * b["cycles"] for b in d["blocks"])'
ok $? "cycles are those of the program"
json 'all(b["cycles_error"] > abs(b["cycles"] - b["cycles_cpi"]) - 0.011 and b["runs_error"] > 0.99 * abs(b["runs"] - b["samples"] * d["estimator"]["period"] / b["cycles_cpi"]) for b in d["blocks"] if b["samples"] > 200)'
ok $? "errors hold the difference of the two estimates"
json 'all(b["by"] == "time" or b["samples"] < 4 for b in d["blocks"])'; ok $? "each block says by what"
json 'all(b["cycles_error"] is not None or b["seen"] < 16 for b in d["blocks"])'; ok $? "each block that was seen often enough has an error, by whatever"
json 'd["estimator"]["percentiles"] == "cpi" and all(b["percentiles_by"] == "cpi" and (b["seen"] < 16) == (b["cycles_cpi_error"] is None) for b in d["blocks"]) and any(b["by"] == "time" and b["cycles_cpi_error"] > 0 and b["cycles_cpi_error"] != b["cycles_error"] for b in d["blocks"])'
ok $? "so has equation 1, where cycles are by time, too; and it says that percentiles are by it"
run blocks "$capture" && grep -qE ' Eq\.1 +p50\(Eq\.1\) +p95\(Eq\.1\) ' "$tmp/out" && grep -q 'p50, p95: .*, by equation 1$' "$tmp/out"; ok $? "... in their titles"
run blocks "$capture" && grep -qE '^ *%Time +Samples +Runs +\+- +Cycles +\+- ' "$tmp/out"; ok $? "the text has the error of runs beside them, too"
run blocks --json "$capture"
run blocks --csv --function helper --sort cycles "$capture"; ok $? "vmprof blocks --csv --function --sort"
python3 - "$tmp/out" << 'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline='')))
cycles = [float(r['cycles']) for r in rows]
sys.exit(0 if len(rows) == 3 and cycles == sorted(cycles, reverse=True) and {r['function'] for r in rows} == {'helper'} else 1)
END
ok $? "CSV has that function's blocks, the slowest first"
run blocks --json --filter 'function == "main" && cpi > 5' "$capture" &&
	json 'd["blocks"] and all(b["function"] == "main" and b["cpi"] > 5 for b in d["blocks"])'
ok $? "vmprof blocks --filter"
# a filter by each measure, set between the rows, leaves those whose cells say so
for name in mixed pair; do
	run blocks --json "$tmp/$name.vmprof" && cp "$tmp/out" "$tmp/all" && json 'sum(b["cpi"] is not None for b in d["blocks"]) > 6'; ok $? "$name: blocks have a CPI"
	for measure in samples percent cycles instructions cpi; do
		limits=$(python3 -c 'import json, sys; v = sorted({b[sys.argv[2]] for b in json.load(open(sys.argv[1]))["blocks"]} - {None}); print(*((a + b) / 2 for a, b in zip(v, v[1:]) if b - a > 0.011))' "$tmp/all" $measure)
		wrong=
		for limit in $limits; do
			run blocks --json --filter "$measure > $limit" "$tmp/$name.vmprof" &&
				json '[b["start"] for b in d["blocks"]] == [b["start"] for b in json.load(open(sys.argv[1]))["blocks"] if b[sys.argv[2]] is not None and b[sys.argv[2]] > float(sys.argv[3])]' "$tmp/all" $measure "$limit" || wrong="$wrong $limit"
		done
		[ -n "$limits" ] && [ -z "$wrong" ]; ok $? "$name: --filter by $measure is by what the rows show${wrong:+, but for$wrong}"
	done
done
run blocks --json --filter 'cpi > 4 && ipc < 0.25' "$tmp/pair.vmprof" && json 'd["blocks"] == [b for b in json.load(open(sys.argv[1]))["blocks"] if (b["cpi"] or 0) > 4] != []' "$tmp/all"; ok $? "ipc is 1 by cpi"
run blocks --filter 'delta > 1' "$capture"; [ $? = 2 ] && grep -q 'of blocks there are .* cpi and ipc' "$tmp/err"; ok $? "a measure that blocks do not have is refused"
run blocks --json --filter 'function == "main" && cpi > 5' "$capture"
grep -q '%After\|Cycles(m)' "$tmp/out"; [ $? = 1 ]; ok $? "nothing was mispredicted: no columns of it"
VMPROF_OBJCACHE=$tmp/missed run blocks "$tmp/missed/missed.vmprof" && grep -q '%After *Samples(m) *Cycles(m) *+- *Samples(p) *Cycles(p) *+-' "$tmp/out"
ok $? "what ran behind mispredicted branches is shown apart"
VMPROF_OBJCACHE=$tmp/missed run blocks --json "$tmp/missed/missed.vmprof"
# errors by branches alone hold the part of a figure by which equation 1 says otherwise
json '[(b["start"], round(b["after_mispredicted"]), 77 < b["cycles_mispredicted"] < 95, 23 < b["cycles_predicted"] < 29, b["samples_mispredicted"] > 400, abs(b["samples_mispredicted"] + b["samples_predicted"] - b["samples"]) < 2, *(low < max(0, b[kind + "_error"] ** 2 - (b[kind] * (1 - b["cycles_cpi"] / b["cycles"])) ** 2) ** 0.5 < high for kind, low, high in (("cycles_mispredicted", 0.5, 9), ("cycles_predicted", 0.1, 3)))) for b in d["blocks"] if b["after_mispredicted"]] == [("0x101b", 25, True, True, True, True, True, True)]'
ok $? "JSON has their share, cycles and samples, and the errors"
VMPROF_OBJCACHE=$tmp/missed run branches --csv "$tmp/missed/missed.vmprof"
python3 - "$tmp/out" << 'END'
import csv, sys
rows = [r for r in csv.DictReader(open(sys.argv[1], newline='')) if r['type'] == 'conditional']
sys.exit(0 if len(rows) == 1 and 0.2 < int(rows[0]['seen_mispredicted']) / int(rows[0]['seen']) < 0.3 else 1)
END
ok $? "branches counts those that were mispredicted"
run blocks --filter 'process == "x"' "$capture"; [ $? = 2 ] && grep -q 'processes are chosen by --pid and --comm' "$tmp/err"
ok $? "a filter on what blocks do not have is refused"
run blocks --sort frobs "$capture"; [ $? = 2 ] && grep -q "no column is called 'frobs'" "$tmp/err"; ok $? "so is an unknown column"
for command in blocks branches loops; do
	run $command --sort frobs "$capture"
	wrong=$(comm -3 <(sed -n "s/.*'frobs'; there are //p" "$tmp/err" | sed 's/, /\n/g' | sort) <(
		COMP_WORDS=(vmprof $command --sort "") COMP_CWORD=3
		. "$src/analyzer/completion.bash"; _vmprof; printf '%s\n' "${COMPREPLY[@]}" | sort))
	[ -z "$wrong" ] && grep -q 'percent, ' "$tmp/err"; ok $? "completion of $command --sort has its columns${wrong:+ (one only: $(echo $wrong))}"
done
run blocks --comm other "$capture"; [ $? = 1 ] && grep -q 'no such samples' "$tmp/err"; ok $? "no such process: it says so"
for command in blocks branches loops timeline "branches --sample 1" "annotate main"; do
	run $command --domain nope "$capture"
	[ $? = 1 ] && [ ! -s "$tmp/out" ] && grep -q "the capture holds no domain 'nope'; it holds: web01$" "$tmp/err"; ok $? "$command: no such domain: it says so, and which there are"
done
run blocks "$src/tests/golden/made.vmprof"; [ $? = 1 ] && grep -q 'vmprof start --lbr records them' "$tmp/err"
ok $? "a capture without branches: it says what to do"

run branches --json "$capture"; ok $? "vmprof branches --json"
json 'sum(b["seen"] for b in d["branches"]) == d["totals"]["branches"] == 64000'; ok $? "all branches are there"
json '{b["type"] for b in d["branches"]} == {"conditional", "call", "return", "jump"}'; ok $? "with their types"
run branches --json --sort type,seen,from "$capture"; cp "$tmp/out" "$tmp/all"
run branches --json --limit 3 --sort type,seen,from "$capture" &&
	json 'd["branches"] == json.load(open(sys.argv[1]))["branches"][:3] and len(d["branches"]) == 3' "$tmp/all"
ok $? "the first of them are the same alone"
run branches --json "$tmp/sources.vmprof" && json '{b["type"] for b in d["branches"]} == {"conditional", "call", "return", "jump"} and {b["to_function"] for b in d["branches"]} == {"-"}'
ok $? "where only sources were recorded, too"
run branches --calls --json "$capture" && json '[(c["from_function"], c["to_function"]) for c in d["calls"]] == [("main", "helper")]'
ok $? "vmprof branches --calls: who calls whom"
run branches --sample 7 "$capture"; ok $? "vmprof branches --sample"
[ "$(grep -c '^LBR' "$tmp/out")" = 16 ] && sed -n 6p "$tmp/out" | grep -q '^LBR15 ' && grep -q '^(current) ' "$tmp/out"
ok $? "it has 16 branches, the oldest first, and the sample's place"
[ ! -s "$tmp/err" ]; ok $? "... and nothing to complain about: the capture was closed, though reading ended early"
head -c -64 "$capture" > "$tmp/open.vmprof"; run branches --sample 7 "$tmp/open.vmprof"; grep -q 'bytes at the end of the capture were not read\|was not closed' "$tmp/err"
ok $? "... of one that was cut it says so"
run branches --sample 4001 "$capture"; [ $? = 1 ] && grep -q 'only 4000' "$tmp/err"; ok $? "a sample that is not there"

run annotate helper "$capture"; ok $? "vmprof annotate"
grep -q '^helper in prog, web01: [0-9]* samples, ' "$tmp/out" && [ "$(grep -cE '^ +[0-9]+ +[0-9.]+ ' "$tmp/out")" = 11 ]
ok $? "all instructions of that function and no others"
# the samples of its instructions make the function's; those of the slow ones lie at the next one, their cycles do not; equation 1 says otherwise by more than half, which the errors hold
awk '/^helper in/ { n = $5 } /^ +[0-9]+ +[0-9.]+ +[0-9]+/ { sum += $1; cycles[$7] = $5; error[$7] = $6; runs[$7] = $4 / $3 }
	function is(at, want) { return error[at] > want / 2 && error[at] < want && (cycles[at] - want) ^ 2 < (want / 10) ^ 2 }
	END { exit !(n && sum == n && is("104e", 12) && is("105d", 20) && runs["104e"] > 1 && runs["104e"] < 4) }' "$tmp/out"
ok $? "with samples that add up, and the cycles of the program, and errors that hold what is in doubt"
grep -q 'block 104e..106f: 11 instructions' "$tmp/out" && grep -q 'jne 0x106f' "$tmp/out"; ok $? "with blocks and text"
run blocks --json "$capture"; cp "$tmp/out" "$tmp/all"
run annotate '*' "$capture"
python3 - "$tmp/out" "$tmp/all" << 'END'
import json, re, sys
got = sorted(re.findall(r'^ *block (\w+)\.\.(\w+): (\d+) instructions, (\d+) samples, (\d+) \+- (\d+) runs, ([\d.]+) \+- ([\d.]+) cycles \((\w+)\), CPI ([\d.]+), ([\d.]+)% of', open(sys.argv[1]).read(), re.M))
want = sorted((b["start"][2:], b["end"][2:], *(f"{b[k]:.0f}" for k in ("instructions", "samples", "runs", "runs_error")),
    *(f"{b[k]:.2f}" for k in ("cycles", "cycles_error")), b["by"], f"{b['cpi']:.2f}", f"{b['percent']:.2f}") for b in json.load(open(sys.argv[2]))["blocks"])
sys.exit(0 if got == want and len(got) == 9 else f"{got}\n{want}")
END
ok $? "which have the figures of vmprof blocks"
[ "$(tr -dc '\033' < "$tmp/out" | wc -c)" = 0 ]; ok $? "without colour in a file"
run annotate --color always main "$capture" && grep -q "$(printf '\033')\[31m" "$tmp/out"; ok $? "with colour when it is wanted"
# on_terminal NAME=VALUE... - what annotate prints on a pseudo-terminal
on_terminal() { env -u NO_COLOR TERM=xterm "$@" script -qec "'$O/vmprof' annotate --no-pager main '$capture'" /dev/null < /dev/null > "$tmp/out"; }
on_terminal && grep -q "$(printf '\033')\[31m" "$tmp/out"; ok $? "with colour on a terminal"
on_terminal NO_COLOR=1 && grep -q 'block ' "$tmp/out" && ! grep -q "$(printf '\033')" "$tmp/out"; ok $? "without where NO_COLOR forbids it"
on_terminal TERM=dumb && grep -q 'block ' "$tmp/out" && ! grep -q "$(printf '\033')" "$tmp/out"; ok $? "... or the terminal has none"
run annotate frobnicate "$capture"; [ $? = 1 ] && grep -q "of a function 'frobnicate'" "$tmp/err"; ok $? "an unknown function: it says so"
# in_columns N COMMAND... - what a terminal so wide gets
in_columns()
{
	local columns=$1
	shift
	env NO_COLOR=1 TERM=xterm script -qec "stty cols $columns; '$O/vmprof' $* --no-pager '$capture'" /dev/null < /dev/null | tr -d '\r' > "$tmp/out"
}
# widest FIRST LAST - of the lines from one that has FIRST until before one that has LAST, in places
widest() { sed -n "/$1/,/$2/{/$2/!p}" "$tmp/out" | python3 -c 'import sys; print(max(len(l.rstrip("\n")) for l in sys.stdin))'; }
in_columns 90 blocks --limit 5
[ "$(widest %Time '^$')" -le 90 ] && grep -qE '^ *%Time .* Cycles .* Function +Module$' "$tmp/out" && grep -qE '^\.\.\. [0-9]+ more columns in a wider terminal, or with --csv$' "$tmp/out"
ok $? "on a terminal of 90 places blocks have the columns for which there is room, and say how many there are besides"
in_columns 400 blocks --limit 5
grep -qE '^ *%Time .* Eq\.1 +p50\(Eq\.1\) .* Module$' "$tmp/out" && ! grep -q 'more columns' "$tmp/out"; ok $? "on one of 400 all"
in_columns 100 timeline --limit 20
[ "$(widest Microseconds '^Notes$')" -le 100 ] && [ "$(grep -cE '^ +[0-9.]+ +vCPU .* \| \* ' "$tmp/out")" -ge 1 ]; ok $? "a time line is as wide as the terminal, the oldest blocks of a line stay away"
run blocks --csv --limit 3 "$capture" && [ "$(wc -l < "$tmp/out")" = 4 ]; ok $? "--csv has as many rows as --limit says"
run branches --calls --csv "$capture" && [ "$(head -n 1 "$tmp/out" | tr -d '\r')" = percent,seen,mispredicted,seen_mispredicted,from_function,to_function,from_module,to_module,domain ]; ok $? "calls have no columns of single branches"
run branches --calls --sort from "$capture"; [ $? = 2 ] && grep -q "no column is called 'from'" "$tmp/err"; ok $? "... nor are they put in order by them"
run annotate "$capture"; [ $? = 2 ] && grep -q 'is a capture: the function comes before it' "$tmp/err"; ok $? "annotate without a function: it says where that comes"
touch "$tmp/main"
(cd "$tmp" && VMPROF_DIR=/nonexistent "$O/vmprof" annotate main > out 2> err); [ $? = 1 ]; ok $? "... but not of a function that is called as a file is"
run blocks --vmlinux /nonexistent "$capture"; [ $? = 1 ] && grep -q '^vmprof: cannot read /nonexistent of --vmlinux: No such file' "$tmp/err"; ok $? "a vmlinux that is not there is named"
run blocks --vmlinux /etc/passwd "$capture"; [ $? = 1 ] && grep -q '^vmprof: --vmlinux names no ELF file' "$tmp/err"; ok $? "... and so is one that is none"
run blocks --function nothing_is_called_so "$capture" && grep -q '^None: try without --module, --function and --filter\.$' "$tmp/out"; ok $? "where nothing is left it says of what there was too much"
VMPROF_OBJCACHE=/nonexistent run blocks --json "$capture" &&
	json 'all(b["cycles"] is None and b["runs"] is None for b in d["blocks"]) and d["left_out"]["no_object"] == 60000'
ok $? "without the program's file no cycles are made up"

run export --format bolt -o "$tmp/bolt" "$capture"; ok $? "vmprof export --format bolt"
preagg=$tmp/bolt/prog-abcdef0102030405060708090a0b0c0d0e0f1011.preagg
[ "$(ls "$tmp/bolt")" = "${preagg##*/}" ]; ok $? "a file for the binary, by its name and build-id"
[ "$("$src/tests/unit/export/readers.py" bolt "$preagg" 2> "$tmp/err")" = 64000 ]; ok $? "it is read, with all branches"
[ "$(awk '/^F/ { n += $4 } END { print n }' "$preagg")" = 60000 ]; ok $? "and what ran between them"
run export --format bolt "$capture"; [ $? = 2 ] && grep -q 'name a folder with --output' "$tmp/err"; ok $? "it wants a folder"
run export --format bolt -o "$tmp/none" "$src/tests/golden/made.vmprof"; [ $? = 1 ] && [ ! -e "$tmp/none" ]; ok $? "without branches it makes none"
for format in autofdo llvm-profgen; do
	run export --format $format -o "$tmp/$format" "$capture"; ok $? "vmprof export --format $format"
	file=$(echo "$tmp/$format"/prog-abcdef0102030405060708090a0b0c0d0e0f1011.*.txt)
	[ "$("$src/tests/unit/export/readers.py" $format "$file" 2> "$tmp/err")" = 64000 ]; ok $? "it is read, with all branches"
	[ "$(awk -F: '/[0-9a-f]-[0-9a-f]/ { n += $2 } END { print n }' "$file")" = 60000 ]; ok $? "and what ran between them"
done
[ "$(awk -F: '/^[0-9a-f]+:/ { n += $2 } END { print n }' "$tmp"/autofdo/prog-*)" = 4000 ]; ok $? "autofdo has the samples, too"
run export --format perf-script -o "$tmp/script" "$capture" && [ "$("$src/tests/unit/export/readers.py" perf-script "$tmp/script" 2> "$tmp/err")" = 4000 ]
ok $? "perf-script is read, in order of time"
run export --format perf-script --brstack "$capture"
python3 - "$tmp/out" 2> "$tmp/err" << 'END'
import re, sys
lines = open(sys.argv[1]).read().splitlines()
maps = [m for m in (re.fullmatch(r"PERF_RECORD_MMAP2 -1/0: \[(0x[a-f0-9]+)\((0x[a-f0-9]+)\) @ (0x[a-f0-9]+|0) .*\]: ([-a-z]+) (.*)", l) for l in lines) if m]
samples = [l.split() for l in lines[len(maps):]]
start, size = int(maps[0][1], 16), int(maps[0][2], 16)
inside = lambda a: start <= int(a, 16) < start + size
sys.exit(0 if [m[5] for m in maps] == ["/usr/bin/prog"] and maps[0][3] == "0x1000" and len(samples) == 4000 and
         all(inside(s[0]) and len(s) == 17 and all(re.fullmatch(r"0x[0-9a-f]+/0x[0-9a-f]+/[MP]/-/-/[0-9]+", b) and
             inside(b.split("/")[0]) and inside(b.split("/")[1]) for b in s[1:]) for s in samples) else 1)
END
ok $? "with --brstack it is where the file is mapped, then a line for each sample"
run export --format perf-script --brstack --comm nobody "$capture"; [ $? = 1 ] && grep -q 'no branches of these samples; vmprof start --lbr records them' "$tmp/err"; ok $? "... of samples without branches: exit 1"
run export --format csv --brstack "$capture"; [ $? = 2 ] && grep -q 'for --format perf-script' "$tmp/err"; ok $? "which no other format has"
[ "$(grep -o ' 0x4010[0-9a-f]*/0x4010[0-9a-f]*/P/-/-/0' "$tmp/script" | wc -l)" = 64000 ]; ok $? "with all branches"

run loops --json "$capture"; ok $? "vmprof loops"
json '[(l["level"], l["start"], l["end"]) for l in d["loops"]] == [(0, "0x1009", "0x1015"), (1, "0x1000", "0x1049")]'
ok $? "the inner loop comes first"
json 'abs(d["loops"][0]["trips"] - 40) < 3 * d["loops"][0]["trips_error"] + 1 and abs(d["loops"][0]["cycles"] - 2) < 0.1'
ok $? "it goes round 40 times, in 2 cycles"
json 'all(0.1 * d["loops"][0][k] < d["loops"][0][k + "_error"] < d["loops"][0][k] for k in ("iterations", "entries")) and 0 < d["loops"][0]["trips_error"] < 0.1 * d["loops"][0]["trips"]'
ok $? "with the errors of its iterations and entries, which hold what is in doubt by branches alone, and of its trips"
json 'd["loops"][1]["trips"] is None'; ok $? "nobody saw the outer one entered"
run loops "$capture" && grep -qE '^ *%Time .* Trips +\+- +Cycles +\+- +Iterations +\+- +Entries +\+- ' "$tmp/out"; ok $? "the text has each error beside its figure"
! grep -q p50 "$tmp/out"; ok $? "... and says nothing of percentiles, which it does not show"
run timeline --from 100us --limit 12 "$capture"; ok $? "vmprof timeline"
[ "$(grep -c ' vCPU 0 ' "$tmp/out")" = 12 ] && grep -q 'main 1009..1015 x15 (' "$tmp/out" && grep -q '3971 more samples' "$tmp/err"
ok $? "a line for each sample, and how many more there are"
run timeline --output "$tmp/trace.json" "$capture" && [ "$("$src/tests/unit/export/readers.py" trace "$tmp/trace.json" 2> "$tmp/err")" = 4000 ]
ok $? "a trace is read, with all samples"
python3 - "$tmp/trace.json" << 'END'
import json, sys
e = [x for x in json.load(open(sys.argv[1]))["traceEvents"] if x["ph"] == "X"]
sys.exit(0 if len(e) == 60000 and {x["name"] for x in e} == {"main", "helper"} else 1)
END
ok $? "with all blocks"
run blocks --json --limit 0 "$capture"
python3 - "$tmp/trace.json" "$tmp/out" << 'END' 2> "$tmp/err"
import json, sys
blocks = {(b["start"], b["end"]): (b["cycles"], b["cycles_error"], b["samples"]) for b in json.load(open(sys.argv[2]))["blocks"]}
told = {(x["args"]["start"], x["args"]["end"]): tuple(x["args"][k] for k in ("cycles", "cycles_error", "samples"))
        for x in json.load(open(sys.argv[1]))["traceEvents"] if x["ph"] == "X"}
off = {k: (v, blocks.get(k)) for k, v in told.items() if v != blocks.get(k)}
sys.exit(f"{off}" if off or not any(v[1] for v in told.values()) else 0)
END
ok $? "... each with the error of its cycles and the samples in it, as vmprof blocks has them"
run timeline --no-pager --domain web01 "$capture" && grep -q ' ([1-9][0-9]*+-[0-9]*) | ' "$tmp/out"; ok $? "... so do those of the text"
moments=$tmp/moments/moments.vmprof
export VMPROF_OBJCACHE=$tmp/moments
# lines [OPTION]...: what the time line has of it: time, vCPU, process, and the first words of what was seen
lines() { run timeline --no-pager --domain web01 "$@" "$moments" && awk '/ vCPU [0-9]/ { print $1, $3, $4, $NF == "ran" ? $(NF - 2) " " $(NF - 1) : $NF == "svm_vcpu_run" ? $(NF - 2) " " $(NF - 1) : $5 " " $6 " " $7 " " $8 }' "$tmp/out"; }
lines > "$tmp/lines"; grep -q '2 blocks reach back behind the sample before and are cut short there; 2 more lie behind it' "$tmp/out"; ok $? "it says what was cut"
[ "$(cat "$tmp/lines")" = "19.000 0 prog small 1000..100c x2 (200)
19.100 0 prog small 1000..100c x3 (135)
19.110 0 prog small 1000..100c (10) |
19.200 0 - [exit IOIO]
19.300 0 - [steal] thief
19.400 0 other small 1000..100c (50) |
19.105 1 prog small 1000..100c (5000) |
19.200 1 prog [exit, entry] | small
19.210 1 prog small 1000..100c (30) |" ]; ok $? "exits, entries and steal stand between blocks, and cycles are the block's"
[ "$(lines --from 19100ns --to 19200ns | cut -d' ' -f1 | xargs)" = "19.100 19.110 19.105" ]; ok $? "--from is the first time, --to the first that is not shown"
[ "$(lines --vcpu 1 | cut -d' ' -f1,2 | xargs)" = "19.105 1 19.200 1 19.210 1" ]; ok $? "--vcpu"
[ "$(lines --pid 51 | cut -d' ' -f3- | xargs)" = "- [exit IOIO] - [steal] thief other small 1000..100c (50) |" ]; ok $? "--pid: of guests that process only, exits and steal in any case"
[ "$(lines --comm 'p*' | grep -c ' other ')" = 0 ] && [ "$(lines --comm 'p*' | wc -l)" = 8 ]; ok $? "--comm"
run timeline --no-pager --limit 2 "$moments" && grep -q '8 more samples are in this time' "$tmp/err" && run timeline --no-pager --limit 0 "$moments" &&
	! grep -q 'more samples\|not shown' "$tmp/err" "$tmp/out"; ok $? "vmprof timeline --limit; 0: all"
rings=$tmp/rings/rings.vmprof
export VMPROF_OBJCACHE=$tmp/rings
run timeline --no-pager --limit 5 "$rings" && [ "$(awk '/ vCPU [0-9]/ { print $1, $3 }' "$tmp/out" | xargs)" = "19.000 0 19.100 0 19.200 0 19.000 1 19.150 1" ]
ok $? "... the earliest of all vCPUs, though the file has one after the other"
grep -q '^  these are the earliest 5 samples of the time asked for, up to 19.200us; 35 more are not shown' "$tmp/out" &&
	grep -q '35 more samples are in this time, after 19.200us; go on with --from 19.200us, ' "$tmp/err"; ok $? "... it says up to which time they are"
run timeline --no-pager --from 19.200us --limit 2 "$rings" && [ "$(awk '/ vCPU [0-9]/ { print $1, $3 }' "$tmp/out" | xargs)" = "19.200 0 19.200 1" ]; ok $? "... from where it goes on"
run timeline --limit 5 -o "$tmp/rings.json" "$rings" && grep -q '35 more samples are in this time, after 19.200us' "$tmp/err" &&
	[ "$(python3 -c 'import json, sys; print(*[(e["ts"], e["tid"]) for e in json.load(open(sys.argv[1]))["traceEvents"] if e["name"] == "sample"])' "$tmp/rings.json")" = "(19.0, 1) (19.1, 1) (19.2, 1) (19.0, 2) (19.15, 2)" ]
ok $? "... and a trace has the same"
export VMPROF_OBJCACHE=$tmp/moments
run timeline -o "$tmp/moments.json" "$moments" && [ "$(grep -c . "$tmp/out")" = 1 ] && grep -q 'moments.json: 10 samples; open it' "$tmp/out" &&
	grep -q '^  2 blocks reach back behind the sample before and are cut short there; 2 more lie behind it' "$tmp/err"; ok $? "with --output its notes go to standard error"
[ "$("$src/tests/unit/export/readers.py" trace "$tmp/moments.json" 2> "$tmp/err")" = 8 ]; ok $? "a trace of them is read"
python3 - "$tmp/moments.json" << 'END'
import json, sys
e = json.load(open(sys.argv[1]))["traceEvents"]
moments = {(x["name"], x["args"].get("reason", x["args"].get("task"))) for x in e if x["ph"] == "i" and x["name"] != "sample"}
counted = all(x["args"]["cycles_error"] is None and x["args"]["samples"] >= 0 for x in e if x["ph"] == "X")
cut = [x for x in e if x["ph"] == "X" and abs(x["dur"] - x["args"]["cycles"] / 1000) > 1e-6]
sys.exit(0 if counted and moments == {("exit", "IOIO"), ("steal", "thief"), ("entry", None)} and [(round(x["dur"] * 1000), x["args"]["cycles"]) for x in cut] == [(10, 45), (10, 30)] else f"{moments} {cut}")
END
ok $? "with exits, entries and steal; a block that is cut has its length and its cycles, and those that the processor counted have no error"
run blocks "$moments" && grep -qE ' Eq\.1 +p50\(LBR\) +p95\(LBR\) ' "$tmp/out"; ok $? "percentiles are by the processor's cycles where it has them"
run blocks --json "$moments" && json 'd["estimator"]["percentiles"] == "lbr" and d["blocks"] and all(b["percentiles_by"] == "lbr" and b["cycles_cpi_error"] is None for b in d["blocks"])'
ok $? "... and then nothing tells the error of equation 1"
run branches "$moments" && [ "$(awk '$4 == "conditional" || $3 == "conditional" { print $2, $NF }' "$tmp/out" | xargs)" = "13 web01 1 web02" ]; ok $? "branches of two domains are told apart"
run branches --json --domain web02 "$moments" && json '[(b["seen"], b["domain"]) for b in d["branches"]] == [(1, "web02"), (1, "web02")]'; ok $? "... and one of them is had alone"
run annotate --domain web01 small "$moments" && grep -q '^small in prog, web01: 7 samples, ' "$tmp/out" &&
	run annotate --domain web01 --vcpu 0 small "$moments" && grep -q '^small in prog, web01: 4 samples, ' "$tmp/out" &&
	run annotate --domain web01 --vcpu 1 small "$moments" && grep -q '^small in prog, web01: 3 samples, 100.00% of all$' "$tmp/out"
ok $? "annotate --vcpu has the samples of that vCPU alone"
# of two guests with the same program: one file, with the branches of both
bolt_branches() { run export --format bolt "$@" -o "$tmp/both" "$moments" && cat "$tmp"/both/*.preagg | awk '/^B/ { n += $4 } END { print n + 0 }'; rm -rf "$tmp/both"; }
one=$(bolt_branches --domain web01) two=$(bolt_branches --domain web02) both=$(bolt_branches)
[ "$one" -gt 0 ] && [ "$two" -gt 0 ] && [ "$both" = $((one + two)) ] && [ "$(cat "$tmp/out" "$tmp/err" | grep -c preagg)" = 1 ]
ok $? "an export for a binary has the branches of all guests that have it ($one and $two, $both)"
VMPROF_OBJCACHE=/nonexistent run export --format bolt -o "$tmp/both" "$moments"
[ $? = 1 ] && grep -q 'prog of web01 is not in the object cache: no file is written of it; [1-9][0-9]* branches begin or end there' "$tmp/err" && grep -q 'not used: the program.s file is not in the object cache' "$tmp/err"
ok $? "what is not here is told"
binaries=$tmp/binaries/binaries.vmprof
export VMPROF_OBJCACHE=$tmp/binaries
run export --format bolt -o "$tmp/files" "$binaries"; ok $? "a binary that is not here does not keep others from being exported"
[ "$(cd "$tmp/files" && echo *)" = "here.so-no-build-id-2.preagg here.so-no-build-id.preagg prog-abcdef0102030405060708090a0b0c0d0e0f1011.preagg" ]
ok $? "those without a build-id have a file for each guest"
# of these branches only what fits both mappings and code; X:0 is where the file is not here, or another one
[ "$(cat "$tmp"/files/prog-*)" = "B 100c 1000 2 0
B 101b 1000 3 0
B 101b X:0 1 0
B 1042 X:0 3 0
F 1000 100c 2" ]; ok $? "one that guests share has the branches of all, but none that cannot be"
[ "$(cat "$tmp/files/here.so-no-build-id.preagg")" = "B 100c 1000 1 0
B X:0 1000 1 0
F 1000 100c 1" ] && [ "$(cat "$tmp/files/here.so-no-build-id-2.preagg")" = "B 100c 1000 2 0
B X:0 1000 1 0
F 1000 100c 2" ]; ok $? "... those of each guest have its own"
[ "$(cat "$tmp/err")" = "vmprof: warning: gone.so of web01 is not in the object cache: no file is written of it; 3 branches begin or end there
  5 of 10 steps between branches are good (50.00%)
           2 not used: outside of any mapping
           2 not used: the program's file is not in the object cache
           1 not used: begin in user code and end in the kernel, or in another file" ]; ok $? "what is not here is told, by name, and what was left out, by cause"
run export --format autofdo -o "$tmp/files" "$binaries" && [ "$(grep -e '->' "$tmp"/files/prog-*.afdo.txt | xargs)" = "c->0:2 1b->0:3" ]
ok $? "autofdo leaves out the same, and what leads out of the file"
run export --format llvm-profgen -o "$tmp/files" "$binaries" && [ "$(grep -e '->' "$tmp"/files/prog-*.profgen.txt | xargs)" = "100c->1000:2 101b->1000:3" ]
ok $? "so does llvm-profgen"
export VMPROF_OBJCACHE=$tmp/owners
owned='0x40100c/0x401000/P/-/-/0 0xffffffff81001040/0x401000/P/-/-/0 0xffffffff81002020/0xffffffff81001010/P/-/-/0 0xffffffff81001030/0xffffffff81002000/P/-/-/0 0x0/0xffffffff81001000/P/-/-/0
0xffffffff81001040/0x0/P/-/-/0
0x40100c/0x401000/P/-/-/0 0x0/0x401000/P/-/-/0 0x40101b/0x0/P/-/-/0 0x0/0x401012/P/-/-/0
0x40101b/0xffffffff81001000/P/-/-/0 0xffffffff81001040/0x401012/P/-/-/0'
run export --format perf-script --brstack "$tmp/owners/owners.vmprof" && [ "$(sed -n 's/^ *[0-9a-f]* \(0x.*\)/\1/p' "$tmp/out")" = "$owned" ]
ok $? "perf-script --brstack: branches have addresses in files of the sample's own process, and no others"
[ "$(cat "$tmp/err")" = "vmprof: warning: 4 branches lack an end (0x0), or are left out: user code from before a switch of address spaces
vmprof: warning: 4 branches lack an end (0x0), or are left out: user code of an unknown process
vmprof: warning: 3 branches lack an end (0x0), or are left out: code in no file that is mapped
vmprof: warning: 1 branches lack an end (0x0), or are left out: code in a file in which no sample was taken" ]; ok $? "the others are counted by cause"
cp "$tmp/err" "$tmp/brstack.err"
run export --format perf-script "$tmp/owners/owners.vmprof" && [ "$(sed -n 's/^ \(0x.*\)/\1/p' "$tmp/out")" = "$owned" ] && cmp -s "$tmp/err" "$tmp/brstack.err"
ok $? "... without --brstack, too"
run export --format perf-script --comm moved "$tmp/owners/owners.vmprof" && [ "$(grep -c 0x "$tmp/out")" = 1 ]; ok $? "those of chosen samples only"
run branches --sample 1 "$tmp/owners/owners.vmprof" && [ "$(awk '/^LBR/ { print $1, $2, $3, $4 }' "$tmp/out" | head -3)" = "LBR5 - - -
LBR4 - - ffffffff81001000
LBR3 - ffffffff81001030 do_work" ] && grep -q '^2 of the branches are user code .* not known (-)$' "$tmp/out"; ok $? "branches --sample names nothing that lies behind a switch of address spaces"
run branches --sample 2 "$tmp/owners/owners.vmprof" && [ "$(grep -c '^LBR. *- *- *- *$' "$tmp/out")" = 2 ]; ok $? "... where the driver tells of it, too"
VMPROF_OBJCACHE=$tmp/impossible run branches --json "$tmp/impossible/impossible.vmprof" &&
	json '{(b["from"], b["to"]): b["seen"] for b in d["branches"]} == {("0x100c", "0x1000"): 2, ("0x101b", "0x1000"): 3, ("0x1042", "0x1000"): 3} and d["left_out"]["impossible_branches"] == 7 == d["totals"]["branches"] - 8'
ok $? "branches that cannot be are not shown, but counted"
VMPROF_OBJCACHE=$tmp/impossible run branches --json --calls "$tmp/impossible/impossible.vmprof" && json '[c["seen"] for c in d["calls"]] == [3]'; ok $? "... nor is who calls whom by them, but by calls at the end of any step"
VMPROF_OBJCACHE=$tmp/impossible run branches "$tmp/impossible/impossible.vmprof" && grep -q '^  7 branches are not shown, as they cannot be: ' "$tmp/out" && grep -q '^ *[1-9] not used for blocks: ' "$tmp/out" && ! grep -q 'not used: ' "$tmp/out"
ok $? "... which the notes tell, without saying of what is shown that it is not used"
VMPROF_OBJCACHE=$tmp/impossible run blocks "$tmp/impossible/impossible.vmprof" && grep -q '^ *[1-9] not used: ' "$tmp/out" && ! grep -q 'not shown' "$tmp/out"; ok $? "blocks are not made of them"
fitting='0x40100c/0x401000/P/-/-/0 0x40101b/0x401000/P/-/-/0
0x40101b/0x0/P/-/-/0
0x0/0x401000/P/-/-/0 0x401042/0x0/P/-/-/0
0x40101b/0x0/P/-/-/0
0x0/0x401000/P/-/-/0'
for how in --brstack ""; do
	VMPROF_OBJCACHE=$tmp/impossible run export --format perf-script $how "$tmp/impossible/impossible.vmprof" && [ "$(sed -nE 's/^ *([0-9a-f]{6})? (0x.*)/\2/p' "$tmp/out")" = "$fitting" ]
	ok $? "perf-script${how:+ $how} has none of them, and no code between its branches that did not run straight on"
	[ "$(sed 's/^vmprof: warning: \([0-9]*\) branches lack an end (0x0), or are left out/\1/' "$tmp/err")" = "7: they cannot be: the code goes elsewhere there, or one of their ends is in the middle of an instruction
1, as what led there is not used: an address in the middle of an instruction
2, as what led there is not used: go on behind a jump or return
3: beside what is left out, from where code did not run straight on" ]; ok $? "... but counts them, by cause"
done
export VMPROF_OBJCACHE=$tmp/binaries
run timeline --output "$tmp/binaries.json" "$binaries" && [ "$(grep -c . "$tmp/out")" = 1 ] && grep -q '^ *2 not used: outside of any mapping$' "$tmp/err"
ok $? "vmprof timeline --output tells on standard error what was left out"
export VMPROF_OBJCACHE=$tmp/moments
run branches --calls --json "$moments" && json '[(c["seen"], c["to_function"], c["domain"]) for c in d["calls"]] == [(7, "small", "web01"), (1, "small", "web02")]'; ok $? "... who calls whom, too"
run branches --sample 1 --domain web02 "$moments" && grep -q ' vCPU 0 of web02, process prog' "$tmp/out"; ok $? "... and so is a sample"
export VMPROF_OBJCACHE=$tmp
run branches "$capture"; ! grep -q web01 "$tmp/out"; ok $? "where there is one, no column is spent on it"
run timeline --from soon "$capture"; [ $? = 2 ] && grep -q 'such as 1.5s or 200ms' "$tmp/err"; ok $? "a wrong time is refused"
run timeline --from 5s --to 1s "$capture"; [ $? = 2 ] && [ ! -s "$tmp/out" ] && grep -q -e '--from 5s is not before --to 1s' "$tmp/err"; ok $? "so is a time that ends before it begins"
run timeline --from 1s --to 1s "$capture"; [ $? = 2 ]; ok $? "... or then"
run timeline --to 0 "$capture"; [ $? = 2 ]; ok $? "... or as the session does"
for output in "" "-o $tmp/never.json"; do
	# shellcheck disable=SC2086
	run timeline --from 5000s --to 5001s $output "$capture"
	[ $? = 1 ] && [ ! -s "$tmp/out" ] && [ ! -e "$tmp/never.json" ] && grep -q 'no such samples were taken in this time' "$tmp/err"; ok $? "a time in which nothing was sampled: exit 1${output:+, and no trace}"
done

perf2bolt=$(command -v perf2bolt || command -v perf2bolt-19)
if [ -z "$perf2bolt" ]; then
	skip "perf2bolt reads what was exported of real code" "llvm-bolt is not installed"
else
	"$O/tests/test_stepped" --capture "$tmp"; ok $? "made a capture of real code, a position-independent program"
	run export --format bolt -o "$tmp/real" "$tmp/stepped.vmprof"; ok $? "its branches are exported"
	"$perf2bolt" -pa -p "$tmp"/real/test_stepped-*.preagg -o "$tmp/fdata" "$O/tests/test_stepped" > "$tmp/out" 2> "$tmp/err"; ok $? "perf2bolt reads them"
	# stubs of the PLT are no functions to BOLT
	grep -qE 'traces mismatching disassembled function contents: [0-9]+ \([0-9]\.[0-9]%\)' "$tmp/out" && grep -q by_value "$tmp/fdata"
	ok $? "and finds hardly a trace that does not fit the code"
fi

# fdo_blocks PROGRAM - it is run an instruction at a time; $tmp/out: its blocks
fdo_blocks()
{
	mkdir -p "$tmp/$1.dir"
	"$O/tests/test_stepped" --capture "$tmp/$1.dir" "$tmp/$1" 1 2> "$tmp/err" &&
		VMPROF_OBJCACHE=$tmp/$1.dir run blocks --json "$tmp/$1.dir/stepped.vmprof"
}

if ! command -v addr2line > /dev/null; then
	skip "annotate has source lines" "binutils are not installed"
else
	gcc -O2 -g -o "$tmp/lines" "$src/tests/lab/workload/layout.c" 2> "$tmp/err" && fdo_blocks lines; ok $? "made a capture of a program with debugging information"
	VMPROF_OBJCACHE=$tmp/lines.dir run annotate 'step_[0-7]' "$tmp/lines.dir/stepped.vmprof"; ok $? "vmprof annotate of its functions"
	python3 - "$tmp/out" "$tmp/lines" 2> "$tmp/err" << 'END'
import re, subprocess, sys
rows, line = [], ""
for text in open(sys.argv[1]):
    m = re.match(r" +\d+ +[\d.]+ +[\d-]+ +[\d-]+ +[\d.-]+ +[\d.-]+ +([0-9a-f]+)  .*?(?:  (\S+:\d+))?$", text)
    line = m[2] or line if m else "" if text.startswith("step_") else line    # where it changes
    rows += [(m[1], line)] if m else []
said = subprocess.run(["addr2line", "-e", sys.argv[2]] + [a for a, _ in rows], capture_output=True, text=True, check=True).stdout
want = [(a, re.sub(r".*/| \(.*", "", s)) for (a, _), s in zip(rows, said.splitlines(), strict=True)]
wrong = [(r, w) for r, w in zip(rows, want) if r != w and w[1][-1] not in "0?"]
sys.exit(0 if len(rows) > 100 and len({l for _, l in rows}) > 10 and not wrong else f"{len(rows)} {wrong}")
END
	ok $? "each instruction has the line that addr2line says"
fi

profgen=$(command -v llvm-profgen || command -v llvm-profgen-19)
# functions PROFILE: how many of those that ran have counts
functions() { grep -cE '^(main|step_[0-7]):[0-9]{5}:' "$1"; }
if [ -z "$profgen" ] || [ ! -d "$tmp/lines.dir" ]; then
	skip "llvm-profgen reads what was exported of real code" "llvm is not installed"
else
	export VMPROF_OBJCACHE=$tmp/lines.dir
	run export --format llvm-profgen -o "$tmp/profgen" "$tmp/lines.dir/stepped.vmprof" &&
		"$profgen" --binary="$tmp/lines" --unsymbolized-profile="$(echo "$tmp"/profgen/lines-*)" --use-offset=0 --format=text --output="$tmp/profgen.text" > "$tmp/out" 2> "$tmp/err"
	[ $? = 0 ] && [ "$(functions "$tmp/profgen.text")" = 9 ]; ok $? "llvm-profgen reads what was exported of real code"
	# its other reader takes perf script's text
	run export --format perf-script --brstack -o "$tmp/brstack" "$tmp/lines.dir/stepped.vmprof" &&
		"$profgen" --binary="$tmp/lines" --perfscript="$tmp/brstack" --format=text --output="$tmp/brstack.text" > "$tmp/out" 2> "$tmp/err"
	[ $? = 0 ] && ! grep -qE 'Invalid|Cannot|No relevant|No samples|(^|[^0-9.])([1-9]|0\.[1-9])[0-9.]*%' "$tmp/err" && [ "$(functions "$tmp/brstack.text")" = 9 ]; ok $? "and perf-script's with --brstack, as it is"
	# the first of the two leaves out what fits neither mappings nor code
	python3 - "$tmp/profgen.text" "$tmp/brstack.text" << 'END'
import re, sys
a, b = ({m[1]: int(m[2]) for m in re.finditer(r"^(main|step_[0-7]):(\d+):", open(f).read(), re.M)} for f in sys.argv[1:])
sys.exit(0 if len(a) == 9 and a.keys() == b.keys() and all(abs(a[f] / b[f] - 1) < 0.02 for f in a) else f"{a} {b}")
END
	ok $? "which says the same"
	export VMPROF_OBJCACHE=$tmp
fi

# own_blocks PROGRAM TYPE - it is an ELF file of that type, and $tmp/out has blocks of each of its functions, with instructions, which
# windows show, and at the file's addresses: those that are called begin with one
own_blocks()
{
	python3 - "$tmp/out" "$tmp/$1" "$2" 2> "$tmp/err" << 'END'
import json, os, struct, subprocess, sys
out, program, kind = sys.argv[1:]
blocks = [b for b in json.load(open(out))["blocks"] if b["module"] == os.path.basename(program) and b["instructions"]]
said = [l.split() for l in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines()]
wrong = []
for name in ["main", *(f"step_{n}" for n in range(8))]:
    [(at, size)] = [(int(l[0], 16), int(l[1], 16)) for l in said if l[-1] == name]
    own = [(int(b["start"], 16), int(b["end"], 16)) for b in blocks if b["function"] == name]
    if not own or not all(at <= start <= end < at + size for start, end in own) or (name != "main" and min(own)[0] != at) \
            or sum(b["seen"] for b in blocks if b["function"] == name) < 100:
        wrong += [(name, hex(at), own)]
sys.exit(0 if struct.unpack_from("H", open(program, "rb").read(), 16)[0] == int(kind) and not wrong else f"{wrong}")
END
}

# ELF's ET_DYN and ET_EXEC
for pie in -pie:3 -no-pie:2; do
	type=${pie#*:} pie=${pie%:*}
	# create_gcov reads DWARF 4 and no later
	gcc -O2 -gdwarf-4 $pie -o "$tmp/layout" "$src/tests/lab/workload/layout.c" 2> "$tmp/err" && fdo_blocks layout; ok $? "made a capture of a program ($pie)"
	own_blocks layout "$type"; ok $? "all of its functions have blocks"
	# the program's rounds and the samples' distance are such that no window tells how often one block runs beside another
	python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); n = sum(b["samples"] for b in j["blocks"]); sys.exit(0 if n > 0.95 * j["totals"]["landed"] > 1000 else f"{n} {j["totals"]}")' "$tmp/out" 2> "$tmp/err"
	ok $? "which have its samples, though nothing tells how often each ran"
	if ! command -v create_gcov > /dev/null; then
		skip "AutoFDO reads what was exported of real code ($pie)" "autofdo is not installed"
		continue
	fi
	VMPROF_OBJCACHE=$tmp/layout.dir run export --format autofdo -o "$tmp/fdo$pie" "$tmp/layout.dir/stepped.vmprof"; ok $? "its branches are exported"
	create_gcov --binary="$tmp/layout" --profiler=text --profile="$(echo "$tmp/fdo$pie"/layout-*)" --gcov="$tmp/afdo" -gcov_version=1 > "$tmp/out" 2> "$tmp/err"; ok $? "create_gcov reads them"
	dump_gcov -gcov_version=1 "$tmp/afdo" > "$tmp/out" 2> "$tmp/err"
	[ "$(grep -cE '^(main|step_[0-7]) total:[0-9]{4} head:' "$tmp/out")" = 9 ]; ok $? "its profile has the functions that ran, with counts"
	# of the way that is said to be likely, hardly any; of the other one as many as of calls
	awk '/^step_2 / { calls = substr($3, 6); on = 1; next } /^[a-z]/ { on = 0 } on && $1 == "3:" { likely = $2 } on && $1 == "10:" { other = $2 }
		END { exit !(calls > 300 && likely < calls / 20 && other > 0.9 * calls && other < 1.1 * calls) }' "$tmp/out"; ok $? "... and of lines"
done
echo "1..$nr"

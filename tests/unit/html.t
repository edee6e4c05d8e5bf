#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# html.t - vmprof report --html as a user types it.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
O=${O:-$src/build}
vmprof=$O/vmprof
capture=$src/tests/golden/made.vmprof
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$src/tests/unit/tap.sh"
run() { "$vmprof" report "$@" > "$tmp/out" 2> "$tmp/err"; }

run --html "$tmp/a.html" --json "$capture"
[ $? = 2 ] && grep -q -- '--domain and --sysroot only' "$tmp/err" && [ ! -e "$tmp/a.html" ]; ok $? "--html and --json together are refused, exit 2"
run --html "$tmp/a.html" --comm x "$capture"
[ $? = 2 ]; ok $? "so are filters that the page has itself"
for option in --inline --srcline --no-pager --color=never --tree --steal; do
	run --html "$tmp/a.html" $option "$capture"
	[ $? = 2 ] && grep -q -- '--domain and --sysroot only' "$tmp/err" && [ ! -e "$tmp/a.html" ]; ok $? "and $option, which would change nothing"
done
run --html "$tmp/a.html" "$capture"
status=$?
if grep -q 'built without the page' "$tmp/err"; then
	[ $status = 1 ] && grep -q 'apt install nodejs npm' "$tmp/err"; ok $? "built without the page: exit 1, with the next step"
	echo "1..$nr"
	exit 0
fi
[ $status = 0 ] && grep -q 'open it in a browser' "$tmp/out"; ok $? "the page is written, and it says what to do with it"
[ "$(head -c 15 "$tmp/a.html")" = '<!doctype html>' ]; ok $? "it is HTML"
! grep -qE '(src|href)="?https?:|@import|url\(' "$tmp/a.html"; ok $? "and names nothing that would have to be fetched"
run --html - "$capture" && cmp -s "$tmp/a.html" "$tmp/out"; ok $? "- writes the same to standard output"
run --html "$tmp/b.html" --domain web02 "$capture" && ! grep -qE '"name":"web01"|"(shor|seq|systemd)"' "$tmp/b.html"; ok $? "--domain leaves out the others, and what ran in them"
run --html "$tmp/c.html" --domain nosuch "$capture"
[ $? = 1 ] && grep -q "no domain 'nosuch'" "$tmp/err" && [ ! -e "$tmp/c.html" ]; ok $? "a domain that is not there is told, exit 1"
run --html "$tmp/none/c.html" "$capture"
[ $? = 1 ] && grep -q 'cannot write .*/none/c.html: No such file' "$tmp/err"; ok $? "so is a folder that is not there"
"$vmprof" report --html - "$capture" > /dev/full 2> "$tmp/err"
[ $? = 1 ] && grep -q 'No space left' "$tmp/err"; ok $? "so is a full disk"
run --html "$tmp/c.html" "$tmp/a.html"
[ $? = 1 ] && grep -q 'is not a vmprof capture' "$tmp/err"; ok $? "so is a file that is no capture"
cp "$capture" "$tmp/same.vmprof"
run --html "$tmp/same.vmprof" "$tmp/same.vmprof"
[ $? = 2 ] && cmp -s "$capture" "$tmp/same.vmprof"; ok $? "the capture is not written over, exit 2"
[ "$(stat -c %a "$tmp/a.html")" = 600 ]; ok $? "a page is for its owner, as captures are"
chmod 640 "$tmp/a.html" && run --html "$tmp/a.html" "$capture" && [ "$(stat -c %a "$tmp/a.html")" = 640 ]; ok $? "one that takes another's place keeps its mode"
mkfifo "$tmp/fifo" && { timeout 120 cat "$tmp/fifo" > "$tmp/through" & } && run --html "$tmp/fifo" "$capture" && wait && [ -p "$tmp/fifo" ] && cmp -s "$tmp/through" "$tmp/a.html"; ok $? "what is no file is written to, not replaced"
echo precious > "$tmp/other" && ln -s other "$tmp/p.html.new" && run --html "$tmp/p.html" "$capture" && cmp -s "$tmp/p.html" "$tmp/a.html" && [ "$(cat "$tmp/other")" = precious ]; ok $? "a link that somebody planted beside it is not followed"
(ulimit -f 8; trap '' XFSZ; run --html "$tmp/a.html" "$capture")
[ $? = 1 ] && cmp -s "$tmp/through" "$tmp/a.html" && [ -z "$(find "$tmp" -name 'a.html.*')" ]; ok $? "a file that does not fit leaves the old one, and nothing beside it"
# Which estimate CPI is: in the data, and in words where the page shows it
"$O/tests/test_cpi" --capture "$tmp" > "$tmp/err" 2>&1
# words FILE: what its lists and its cycle accounting say below their heads, made by the page's own modules of elements that keep only their text
words()
{
	node --input-type=module - "$src/analyzer/html/page/src" "$1" << 'END' 2>> "$tmp/err"
import { readFileSync } from 'node:fs';
const [from, file] = process.argv.slice(2), said = [];
const made = (tag) => ({ tag, value: '', style: {}, children: [], attributes: {}, addEventListener() {}, append(...all) { this.children.push(...all); },
	replaceChildren(...all) { this.children = all; }, querySelectorAll: () => [], setAttribute(name, value) { this.attributes[name] = value; } });
globalThis.document = { createElement: made };
const { load } = await import(`file://${from}/data.js`), d = load(readFileSync(file, 'utf8').match(/ id="data">([^<]*)<\/script>/)[1]);
const look = (where, x) => {
	if (x.attributes?.class?.split(' ').includes('how'))
		said.push(`${where}: ${x.children.join('').split(/[:.]/)[0]}`);
	x.children?.forEach((c) => look(where, c));
};
for (const part of ['tables', 'cycles'])
	look(part, (await import(`file://${from}/${part}.js`))[part](d, d.domains[0]));
console.log(said.join('\n'));
END
}
counts='CPI is by counts since the sample before, whatever ran in between'
for way in counted sampled made; do
	file=$tmp/$way-2.vmprof
	[ $way != made ] || file=$capture
	run --html "$tmp/$way.html" "$file"
	said=$(grep -o '"cpi_estimator":"[^"]*"' "$tmp/$way.html")
	case $way in
	counted) want='"cpi_estimator":"counts"' in="tables: $counts
cycles: $counts" ;;
	sampled) want='"cpi_estimator":"two-events"' in='cycles: CPI is by two events, cycles and instructions, that were sampled side by side' ;;
	made) want='' in='' ;;
	esac
	[ "$said" = "$want" ]; ok $? "the page's data say where CPI comes from: ${want:-nowhere}"
	what="so does what it shows: $(paste -sd"|" <<< "${in:-nothing}")"
	if command -v node > /dev/null; then
		words "$tmp/$way.html" > "$tmp/said" && [ "$(cat "$tmp/said")" = "$in" ]; ok $? "$what"
	else
		skip "$what" "there is no node"
	fi
done
# for the browser tests
mkdir -p "$O/pages" && VMPROF_OBJCACHE=$src/tests/golden/quantum.objects run --html "$O/pages/quantum.html" "$src/tests/golden/quantum.vmprof"; ok $? "the page of a session with --cpi is written"
mkdir -p "$O/pages" && "$O/gen-capture" --samples 1000000 "$tmp/bench" 2> "$tmp/err" &&
	VMPROF_OBJCACHE=$tmp/bench/objects run --html "$O/pages/million.html" "$tmp/bench/bench.vmprof" &&
	[ "$(stat -c %s "$O/pages/million.html")" -lt 5000000 ]; ok $? "the page of a million samples is smaller than 5 MB"
echo "1..$nr"

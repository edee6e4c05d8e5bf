#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# import.t - Cube profiles of known numbers, XML of others, and files that are wrong.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
vmprof=${O:-$src/build}/vmprof
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. "$src/tests/unit/tap.sh"
import() { "$vmprof" import "$@" 2> "$tmp/err"; }
# refuses TEXT FILE WHAT: exit 1, the message says TEXT, and no file is left
refuses()
{
	import -o "$tmp/left" "$2"
	[ $? = 1 ] && grep -q -- "$1" "$tmp/err" && [ ! -e "$tmp/left" ]; ok $? "$3"
}
valid()
{
	if command -v xmllint > /dev/null; then
		xmllint --nonet --noout --schema "$src/docs/performance.xsd" "$1" 2> "$tmp/err"; ok $? "$2 is valid by the schema"
	else
		skip "$2 is valid by the schema" "libxml2-utils is not installed"
	fi
}
# value PROCESS THREAD ITEM
value() { xmllint --xpath "string(//process[@id=$1]/thread[@id=$2]//item[@name='$3']/data)" "$tmp/plain.xml" 2> /dev/null; }

# Cube
python3 "$src/tests/unit/export/cubex.py" "$tmp/plain.cubex" && import "$tmp/plain.cubex" > "$tmp/plain.xml"; ok $? "a .cubex is read"
valid "$tmp/plain.xml" "what it becomes"
if command -v xmllint > /dev/null; then
	[ "$(value 0 0 visits)" = 10 ]; ok $? "exclusive metrics are summed over the call paths"
	[ "$(value 1 1 execution_time)" = 13 ]; ok $? "inclusive ones are those of the root, each thread its own"
	[ "$(value 0 0 max_time)" = 3 ]; ok $? "of maxima the greatest counts"
	[ "$(value 1 0 instructions)" = 8006 ] && [ "$(value 0 1 instructions)" = 12006 ]; ok $? "threads are found by their ids, not by their order"
	[ "$(value 1 1 drift)" = -12 ]; ok $? "32-bit numbers keep their sign"
	[ -z "$(value 0 0 atoms)" ] && ! grep -q atoms "$tmp/plain.xml"; ok $? "what is no single number is left out"
	[ "$(xmllint --xpath 'count(//thread)' "$tmp/plain.xml")" = 4 ]; ok $? "all threads are there"
	[ "$(xmllint --xpath 'string(/performance/@generator)' "$tmp/plain.xml")" = cubex.py ]; ok $? "and who made it"
else
	skip "its numbers" "libxml2-utils is not installed"
fi
for how in packed=1 big=1 gz=1 "packed=1 big=1 gz=1" dense=1 "packed=1 backward=1" "packed=1 holes=1" \
	"packed=1 backward=1 holes=1 dense=1 big=1"; do
	# shellcheck disable=SC2086
	python3 "$src/tests/unit/export/cubex.py" "$tmp/other.cubex" $how &&
		import "$tmp/other.cubex" | cmp -s - "$tmp/plain.xml"; ok $? "the same with $how"
done
if command -v xmllint > /dev/null; then
	python3 "$src/tests/unit/export/cubex.py" "$tmp/other.cubex" roots=2 packed=1 && import "$tmp/other.cubex" > "$tmp/plain.xml"
	[ "$(value 1 1 visits)" = 15 ]; ok $? "with two roots, exclusive metrics are summed over both trees"
	[ "$(value 1 1 execution_time)" = 113 ]; ok $? "and inclusive ones are those of both roots"
fi
python3 "$src/tests/unit/export/cubex.py" "$tmp/other.cubex" reals=1 processes=6 threads=1 && import "$tmp/other.cubex" > "$tmp/reals.xml"
[ "$(grep -o '"rate"><data unit="counts">[^<]*' "$tmp/reals.xml" | cut -d'>' -f3 | xargs)" = '0.125 999999999 1e+09 1.23456789e+10 -3 0' ]
ok $? "real numbers have nine digits"
# more values than are held at once: the same numbers, by several runs
python3 "$src/tests/unit/export/cubex.py" "$tmp/wide.cubex" processes=6000 threads=1 counters=200 &&
	import "$tmp/wide.cubex" -o "$tmp/wide.xml"; ok $? "6000 processes and 203 metrics are read"
[ "$(grep -o '<process ' "$tmp/wide.xml" | wc -l)" = 6000 ]; ok $? "and written, each"
rm -f "$tmp/wide.cubex" "$tmp/wide.xml"

# 82,944 processes, the number of the paper's: memory is for their names and numbers, not for what is written of them.
# peak FILE [STATUS]: kB that its conversion took at most, which ends so; what a sanitizer holds back does not count
peak()
{
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=1 python3 - "$vmprof" "$1" "${2:-0}" << 'END'
import resource, subprocess, sys
p = subprocess.run([sys.argv[1], "import", "--indent", sys.argv[2]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if p.returncode == int(sys.argv[3]) else 0)
END
}
for n in 8294 82944; do
	awk -v n=$n 'BEGIN {
		print "<performance version=\"1\">"
		for (i = 0; i < n; i++)
			printf "<process id=\"%d\" name=\"process %d\"><thread id=\"0\"><category name=\"performance\"><item name=\"samples\"><data unit=\"counts\">%d</data></item></category></thread></process>\n", i, i, i
		print "</performance>"
	}' > "$tmp/many.xml"
	few=${many:-0} many=$(peak "$tmp/many.xml")
done
[ "${few:-0}" -gt 0 ] && [ "${many:-0}" -gt 0 ] && [ "$many" -lt $((few + 4096)) ]; ok $? "XML of 82944 processes takes no more memory than of 8294: $many kB, $few kB"
for n in 41472 82944; do
	python3 "$src/tests/unit/export/cubex.py" "$tmp/many.cubex" processes=$n threads=1 counters=1
	few=$many many=$(peak "$tmp/many.cubex")
done
import --indent "$tmp/many.cubex" -o "$tmp/many.xml"
written=$(($(stat -c %s "$tmp/many.xml") / 2048))
[ "${few:-0}" -gt 0 ] && [ "${many:-0}" -gt 0 ] && [ $((many - few)) -lt $((written / 2)) ]; ok $? "of a Cube profile $((many - few)) kB for 41472 processes more, whose XML has $written kB"
# beyond what is held of names, 1 kB each here, it is refused
awk 'BEGIN {
	print "<cube><system>"
	for (i = 0; i < 300000; i++)
		printf "<process Id=\"%d\"><name>%01000d</name><thread Id=\"%d\"/></process>\n", i, i, i
	print "</system></cube>"
}' | gzip -1 > "$tmp/anchor.xml" && tar -C "$tmp" --format=ustar -cf "$tmp/many.cubex" anchor.xml
many=$(peak "$tmp/many.cubex" 1)
refuses 'anchor.xml, line [0-9]*: more than 256 MiB of names and numbers in 0 metrics, 2[0-9]* processes, 2[0-9]* threads; import a profile of fewer' "$tmp/many.cubex" "names of more than 256 MiB are refused"
[ "${many:-0}" -gt 256000 ] && [ "$many" -lt 400000 ]; ok $? "with that much memory and not much more: $many kB"
rm -f "$tmp"/many.* "$tmp/anchor.xml"

# XML of others
cat > "$tmp/paper.xml" << 'END'
<process id="1">
  <thread id="0">
    <item name="elapsed_time">
      <data unit="sec">600</data>
    </item>
    <category name="instruction1">
      <item name="instruction_counts">
        <data unit="counts"/>
        <item name="SIMD"><data unit="counts">
          44905883908
        </data></item>
      </item>
    </category>
  </thread>
</process>
END
import "$tmp/paper.xml" > "$tmp/full.xml"; ok $? "a document of one process is read"
valid "$tmp/full.xml" "and completed,"
printf '%s\n' '<?xml version="1.0" encoding="UTF-8"?>' '<performance version="1"><process id="1"><thread id="0"><category name="uncategorized"><item name="elapsed_time"><data unit="sec">600</data></item></category><category name="instruction1"><item name="instruction_counts"><data unit="counts"/><item name="SIMD"><data unit="counts">44905883908</data></item></item></category></thread></process></performance>' | cmp -s - "$tmp/full.xml"; ok $? "with a root and a category"
import --indent "$tmp/full.xml" > "$tmp/indented.xml" && [ "$(wc -l < "$tmp/indented.xml")" = 20 ]; ok $? "--indent gives a line for each element"
gzip -c "$tmp/full.xml" > "$tmp/full.xml.gz" && import "$tmp/full.xml.gz" | cmp -s - "$tmp/full.xml"; ok $? "gzip is unpacked"
import -o "$tmp/full.xml.zst" "$tmp/full.xml" && import "$tmp/full.xml.zst" | cmp -s - "$tmp/full.xml"; ok $? "zstd is packed and unpacked"
sed 's/<performance version="1">/<performance version="1" period="5000" random="true">/' "$tmp/full.xml" > "$tmp/random.xml"
import "$tmp/random.xml" > "$tmp/again.xml"; cmp -s "$tmp/random.xml" "$tmp/again.xml"; ok $? "that periods are random is kept"
sed 's/<performance version="1">/<performance version="1" period="5000" cpi_estimator="counts">/' "$tmp/full.xml" > "$tmp/counts.xml"
import "$tmp/counts.xml" > "$tmp/again.xml"; cmp -s "$tmp/counts.xml" "$tmp/again.xml"; ok $? "so is where CPI comes from"
valid "$tmp/again.xml" "... as the schema has it"

# Wrong files
head -c 300 "$tmp/full.xml" > "$tmp/cut.xml"; refuses 'line [0-9]*:' "$tmp/cut.xml" "XML that ends too early is refused, with its line"
head -c 150 "$tmp/full.xml.gz" > "$tmp/cut.xml.gz"; refuses 'damaged or ends too early\|line' "$tmp/cut.xml.gz" "packed XML that is cut, too"
echo '<process id="1"><frob/></process>' > "$tmp/bad.xml"; refuses 'line 1: no element <frob>' "$tmp/bad.xml" "an unknown element is refused by name"
echo '<process id="1"><category name="x"/></process>' > "$tmp/bad.xml"; refuses '<category> does not belong there' "$tmp/bad.xml" "so is one in the wrong place"
echo '<process/>' > "$tmp/bad.xml"; refuses '<process> needs the attribute id' "$tmp/bad.xml" "and one without its attribute"
echo '<process id="1"><thread id="0"><item name="x"><data unit="s">1e</data></item></thread></process>' > "$tmp/bad.xml"; refuses 'holds no number' "$tmp/bad.xml" "and a value that is no number"
echo '<process id="1"><thread id="0"><item name="x"/></thread></process>' > "$tmp/bad.xml"; refuses 'an item has no <data>' "$tmp/bad.xml" "and an item without data"
echo '<!DOCTYPE p><process id="1"/>' > "$tmp/bad.xml"; refuses 'a document type is not allowed' "$tmp/bad.xml" "a document type is refused"
{
	printf '<!DOCTYPE p [<!ENTITY a0 "aaaaaaaaaa">'
	for i in 1 2 3 4 5 6 7 8 9; do
		printf '<!ENTITY a%d "&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;&a%d;">' $i $((i - 1)) $((i - 1)) $((i - 1)) $((i - 1)) $((i - 1)) $((i - 1)) $((i - 1)) $((i - 1))
	done
	printf ']><process id="&a9;"/>\n'
} > "$tmp/bad.xml"
refuses 'line 1' "$tmp/bad.xml" "so are entities that grow without end"
echo '<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><process id="&x;"/>' > "$tmp/bad.xml"; refuses 'line 1' "$tmp/bad.xml" "and those that name files"
: > "$tmp/empty"; refuses 'empty is empty' "$tmp/empty" "an empty file is refused"
gzip < "$tmp/empty" > "$tmp/empty.gz"; refuses 'gz is empty' "$tmp/empty.gz" "a packed one, too"
made=$src/tests/golden/made
refuses "is a capture; vmprof export --format xml writes it as XML" "$made.vmprof" "a capture is refused, with what to do"
refuses 'is JSON' "$made.profile.json" "so is JSON"
refuses "is neither XML nor .cubex; it may be pprof's" "$made.pb" "so is pprof's format"
gzip < "$made.pb" > "$tmp/made.pb.gz"; refuses "pprof's" "$tmp/made.pb.gz" "packed, too"
refuses 'is neither XML nor .cubex$' "$made.csv" "and any other"
head -c 3000 "$tmp/plain.cubex" > "$tmp/cut.cubex"; refuses 'the archive is damaged' "$tmp/cut.cubex" "a .cubex that is cut is refused"
python3 "$src/tests/unit/export/cubex.py" "$tmp/packed.cubex" packed=1
python3 - "$tmp" << 'END'
import sys, tarfile, io
d = sys.argv[1]
def change(name, out, f, file="plain"):
    with tarfile.open(f"{d}/{file}.cubex") as a, tarfile.open(f"{d}/{out}", "w", format=tarfile.USTAR_FORMAT) as b:
        for m in a.getmembers():
            data = a.extractfile(m).read()
            data = f(data) if m.name == name else data
            if data is not None:
                m.size = len(data)
                b.addfile(m, io.BytesIO(data))
change("0.data", "short.cubex", lambda x: x[:-8])
change("0.index", "many.cubex", lambda x: x[:18] + b"\xff\xff\xff\x7f" + x[22:])
change("0.data", "mark.cubex", lambda x: b"X" + x[1:])
change("0.data", "twice.cubex", lambda x: x[:43] + bytes(8) + x[51:], "packed")
change("0.data", "behind.cubex", lambda x: x[:51] + b"\xff" + x[52:], "packed")
change("0.index", "type.cubex", lambda x: x[:17] + b"\x02" + x[18:])
change("anchor.xml", "anchor.cubex", lambda x: None)
change("anchor.xml", "ids.cubex", lambda x: x.replace(b'location Id="3"', b'location Id="9"'))
END
refuses 'metric 0: its file is too short' "$tmp/short.cubex" "data that are too short for their index are refused"
refuses 'metric 0: its index is too short' "$tmp/many.cubex" "an index that claims too much is refused"
refuses 'metric 0: its data do not fit its index' "$tmp/twice.cubex" "a row that is there twice is refused"
refuses 'metric 0: its data are too short' "$tmp/behind.cubex" "a packed row that lies behind the data is refused"
refuses 'metric 0: its index is of a type' "$tmp/type.cubex" "an index of an unknown type is refused"
refuses 'metric 0: its data have no mark' "$tmp/mark.cubex" "data without their mark are refused"
refuses 'holds no anchor.xml' "$tmp/anchor.cubex" "an archive without anchor.xml is refused"
refuses 'not numbered from 0 on' "$tmp/ids.cubex" "locations with wrong ids are refused"
refuses 'is not a file' "$tmp" "a folder is refused"
refuses 'cannot read .*none' "$tmp/none" "a file that is not there is told"
import -o "$tmp/full.xml" "$tmp/full.xml"; [ $? = 2 ] && [ -s "$tmp/full.xml" ]; ok $? "the file is not written over, exit 2"
import > /dev/null; [ $? = 2 ] && grep -q 'which file' "$tmp/err"; ok $? "without a file: wrong use, exit 2"
import "$tmp/full.xml" > /dev/full; [ $? = 1 ] && grep -q 'No space' "$tmp/err"; ok $? "a full disk is told"
import "$src/Makefile" > "$tmp/out"; [ $? = 1 ] && [ ! -s "$tmp/out" ]; ok $? "what is neither is refused without a byte on standard output"
grep -q 'what is read: .cubex' "$tmp/err"; ok $? "and told what is read"
import "$tmp/cut.cubex" > "$tmp/out"; [ $? = 1 ] && [ ! -s "$tmp/out" ]; ok $? "so is a .cubex that is cut"
echo "1..$nr"

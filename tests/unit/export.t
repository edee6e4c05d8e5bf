#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# export.t - exports as foreign tools and published schemas see them; the captures of the
# golden tests, one whose guest has hostile names, and one with times as captures have them.
# Exports stay in $O/exports, where tests/browser opens them.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
O=${O:-$src/build}
vmprof=$O/vmprof
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export VMPROF_OBJCACHE=$src/tests/golden/objects HOME=$tmp
. "$src/tests/unit/tap.sh"
have() { command -v "$1" > /dev/null; }
# reads FORMAT FILE SAMPLES [SCHEMA]: readers.py agrees, and finds so many samples
reads()
{
	local n
	n=$("$src/tests/unit/export/readers.py" "$1" "$2" ${4:+"$4"} 2> "$tmp/err"); [ "$n" = "$3" ]
}

"$O/tests/test_export" --capture "$tmp/hostile.vmprof"; ok $? "made a capture with hostile names"
cp "$src/tests/golden/"*.vmprof "$tmp/"
mkdir "$tmp/gen" && "$O/gen-capture" --samples 900 --processes 8 --images 6 "$tmp/gen" 2> "$tmp/err" && mv "$tmp/gen/bench.vmprof" "$tmp/timed.vmprof"; ok $? "made a capture with times"
rm -rf "$O/exports" && mkdir "$O/exports" || exit 1
flamegraph=$(find /usr/share/perl5/Devel/NYTProf/flamegraph.pl 2> /dev/null || command -v flamegraph.pl)
pprof=
! have go || pprof="$(go env GOTOOLDIR 2> /dev/null)/pprof"

for name in made hostile timed quantum blocks; do
	capture=$tmp/$name.vmprof
	VMPROF_OBJCACHE=$src/tests/golden/$name.objects
	[ -d "$VMPROF_OBJCACHE" ] || VMPROF_OBJCACHE=$src/tests/golden/objects
	total=$("$vmprof" report --json "$capture" | python3 -c 'import json, sys; print(json.load(sys.stdin)["totals"]["domain_samples"])')
	guest=$("$vmprof" report --json "$capture" | python3 -c 'import json, sys; print(json.load(sys.stdin)["totals"]["guest_samples"])')
	[ "$total" -ge 60 ]; ok $? "$name: the report counts $total samples"
	for format in folded csv gecko chrome perf-script json speedscope; do
		"$vmprof" export --format $format -o "$tmp/$name.$format" "$capture" 2> "$tmp/err"; ok $? "$name: $format is written"
		case $format in
		json) schema=$src/docs/profile.schema.json ;;
		speedscope) schema=$src/tests/unit/export/speedscope.schema.json ;;
		*) schema= ;;
		esac
		if [ -n "$schema" ] && ! python3 -c 'import jsonschema' 2> /dev/null; then
			skip "$name: $format is valid" "python3-jsonschema is not installed"
		else
			reads $format "$tmp/$name.$format" "$total" $schema; ok $? "$name: $format is read, with all samples"
		fi
	done

	if [ -n "$flamegraph" ]; then
		perl "$flamegraph" --hash "$tmp/$name.folded" > "$tmp/$name.svg" 2> "$tmp/err" &&
			! grep -q ERROR "$tmp/$name.svg"; ok $? "$name: flamegraph.pl draws the folded stacks"
		grep -q "all ($total samples, 100%)" "$tmp/$name.svg"; ok $? "$name: and counts the same samples"
	else
		skip "$name: flamegraph.pl draws the folded stacks" "libdevel-nytprof-perl is not installed"
	fi

	"$vmprof" export --format pprof -o "$tmp/$name.pb.gz" "$capture" 2> "$tmp/err"; ok $? "$name: pprof is written"
	if [ -x "${pprof:-/nonexistent}" ]; then
		"$pprof" -raw "$tmp/$name.pb.gz" > "$tmp/$name.raw" 2> "$tmp/err"; ok $? "$name: go tool pprof reads it"
		"$pprof" -top -sample_index=samples -nodecount=5000 "$tmp/$name.pb.gz" > "$tmp/$name.top" 2> "$tmp/err"
		grep -q "of $total total$" "$tmp/$name.top" || grep -q "^Showing nodes accounting for $total, 100%" "$tmp/$name.top"; ok $? "$name: and counts the same samples"
		"$pprof" -tags "$tmp/$name.pb.gz" > "$tmp/$name.tags" 2> "$tmp/err"
		for tag in vm vcpu pid comm mode; do
			grep -q "^ *$tag: Total" "$tmp/$name.tags"; ok $? "$name: its samples have the label $tag"
		done
		"$pprof" -proto -output="$tmp/$name.again.pb.gz" "$tmp/$name.pb.gz" > /dev/null 2> "$tmp/err"; ok $? "$name: and go tool pprof writes it again"
	else
		skip "$name: go tool pprof reads it" "golang-go is not installed"
	fi

	"$vmprof" export --format xml -o "$tmp/$name.xml" "$capture" 2> "$tmp/err"; ok $? "$name: xml is written"
	"$vmprof" export --format xml --indent -o "$tmp/$name.indented.xml" "$capture" 2> "$tmp/err"; ok $? "$name: and indented"
	"$vmprof" export --format xml --indent -o "$tmp/$name.xml.zst" "$capture" 2> "$tmp/err"; ok $? "$name: and packed"
	if have xmllint; then
		for f in "$name.xml" "$name.indented.xml"; do
			xmllint --nonet --noout --schema "$src/docs/performance.xsd" "$tmp/$f" 2> "$tmp/err"; ok $? "$f is valid by its schema"
		done
		samples=$(xmllint --xpath 'sum(/performance/process[@kind="domain"]/thread/category[@name="performance"]/item[@name="samples"]/data)' "$tmp/$name.xml")
		[ "$samples" = "$total" ]; ok $? "$name: xml has all samples"
		samples=$(xmllint --xpath 'sum(/performance/process[@kind="guest-process"]/thread/category[@name="performance"]/item[@name="samples"]/data)' "$tmp/$name.xml")
		[ "$samples" = "$guest" ]; ok $? "$name: threads of the guest's processes have all that were in the guest ($guest)"
		xmllint --noblanks "$tmp/$name.indented.xml" | cmp -s - <(xmllint --noblanks "$tmp/$name.xml"); ok $? "$name: compact and indented say the same"
	else
		skip "$name.xml is valid by its schema" "libxml2-utils is not installed"
	fi
	if have zstd; then
		zstd -dcq "$tmp/$name.xml.zst" | cmp -s - "$tmp/$name.indented.xml"; ok $? "$name: zstd unpacks the packed one"
	else
		skip "$name: zstd unpacks the packed one" "zstd is not installed"
	fi
	for f in "$name.xml" "$name.indented.xml" "$name.xml.zst"; do
		"$vmprof" import "$tmp/$f" 2> "$tmp/err" | cmp -s - "$tmp/$name.xml"; ok $? "vmprof import of $f gives the compact one"
	done
	cp "$tmp/$name".{json,speedscope,pb.gz,folded,chrome,perf-script,gecko} "$O/exports/"
done

# The time line of blocks is a trace, too
if grep -q HAVE_CAPSTONE "$O/config.h"; then
	"$O/tests/test_timeline" --capture "$tmp/gen" 2> "$tmp/err" && VMPROF_OBJCACHE=$tmp/gen/moments "$vmprof" timeline -o "$O/exports/moments.timeline" "$tmp/gen/moments/moments.vmprof" 2> "$tmp/err" &&
		reads trace "$O/exports/moments.timeline" 8; ok $? "a time line is written and read, with all samples in guests"
else
	skip "a time line is written and read" "vmprof was built without capstone"
fi

if [ -f "$tmp/made.raw" ]; then
	grep -q '^PeriodType: cycles count' "$tmp/made.raw" && grep -q '^Period: 1000000' "$tmp/made.raw"; ok $? "pprof has event and period"
	grep -q '^samples/count\[dflt\] cycles/count instructions/count' "$tmp/made.raw"; ok $? "pprof has samples, cycles and instructions"
	grep -Eq '7f0000000000/.*/usr/lib/libsmall.so abababababababababababababababababababab' "$tmp/made.raw"; ok $? "pprof's mappings have build-ids"
	grep -Eq '^ +40 +33.33% .* f1$' "$tmp/made.top"; ok $? "pprof -top has f1 with 40 samples, as the report"
	"$pprof" -top -sample_index=samples -tagfocus=exit_reason=NPF "$tmp/made.pb.gz" 2> "$tmp/err" | grep -q svm_vcpu_run; ok $? "pprof chooses by exit reason"
fi

# XML of 256 processes, packed: of a capture, and of a Cube profile whose processes did about the same
packs() { "$vmprof" "${@:2}" --indent -o "$tmp/wide.xml" && "$vmprof" "${@:2}" --indent -o "$tmp/wide.xml.zst" && [ $(($(stat -c %s "$tmp/wide.xml") / $(stat -c %s "$tmp/wide.xml.zst"))) -ge "$1" ]; }
mkdir "$tmp/wide" && "$O/gen-capture" --samples 200000 --processes 256 --images 60 --lbr 1 "$tmp/wide" &&
	VMPROF_OBJCACHE=$tmp/wide/objects packs 30 export --format xml "$tmp/wide/bench.vmprof" 2> "$tmp/err"; ok $? "a capture's XML: packed it is 30 times smaller at least"
[ "$(grep -c '<process ' "$tmp/wide.xml")" -ge 257 ]; ok $? "and has the domain and its 256 processes"
python3 "$src/tests/unit/export/cubex.py" "$tmp/wide.cubex" processes=256 threads=1 counters=200 spread=2 &&
	packs 30 import "$tmp/wide.cubex" 2> "$tmp/err"; ok $? "a Cube profile's XML, too"
rm -rf "$tmp/wide"*

# Wrong use
"$vmprof" export "$tmp/made.vmprof" > /dev/null 2> "$tmp/err"; [ $? = 2 ] && grep -q 'which format.*pprof, folded' "$tmp/err"; ok $? "without --format: names the formats, exit 2"
"$vmprof" export --format frob "$tmp/made.vmprof" > /dev/null 2> "$tmp/err"; [ $? = 2 ] && grep -q "no format is called 'frob'" "$tmp/err"; ok $? "an unknown format is refused by name, exit 2"
"$vmprof" export --format csv --indent "$tmp/made.vmprof" > /dev/null 2> "$tmp/err"; [ $? = 2 ]; ok $? "--indent is for xml, exit 2"
"$vmprof" export --format folded --addresses "$tmp/made.vmprof" > /dev/null 2> "$tmp/err"; [ $? = 2 ]; ok $? "--addresses is for pprof, csv and json, exit 2"
"$vmprof" export --format csv --vcpu x "$tmp/made.vmprof" > /dev/null 2> "$tmp/err"; [ $? = 2 ] && grep -q -- '--vcpu takes a number' "$tmp/err"; ok $? "--vcpu takes a number, exit 2"
"$vmprof" export --format csv "$tmp/none.vmprof" > /dev/null 2> "$tmp/err"; [ $? = 1 ] && grep -q 'cannot read .*none.vmprof' "$tmp/err"; ok $? "no such capture: exit 1"
"$vmprof" export --format csv "$tmp/made.csv" > /dev/null 2> "$tmp/err"; [ $? = 1 ] && grep -q 'is not a vmprof capture' "$tmp/err"; ok $? "not a capture: exit 1"
"$vmprof" export --format json "$tmp/made.vmprof" > /dev/full 2> "$tmp/err"; [ $? = 1 ] && grep -q 'cannot write standard output: No space' "$tmp/err"; ok $? "a full disk is told, exit 1"
for format in csv json pprof xml; do
	"$vmprof" export --format $format --domain nobody -o "$tmp/nobody" "$tmp/made.vmprof" 2> "$tmp/err"
	[ $? = 1 ] && [ ! -e "$tmp/nobody" ] && grep -q "no domain 'nobody'" "$tmp/err"; ok $? "a domain that is not there: exit 1, and no $format"
done
head -c -200 "$tmp/made.vmprof" > "$tmp/cut.vmprof"
for command in "export --format csv" blocks branches loops; do
	"$vmprof" $command "$tmp/cut.vmprof" > /dev/null 2> "$tmp/err"; grep -q 'bytes at the end of the capture were not read' "$tmp/err"; ok $? "${command%% *} warns of a capture that was cut off"
	"$vmprof" $command "$tmp/made.vmprof" > /dev/null 2> "$tmp/err"; ! grep -q 'of the capture were not\|was not closed' "$tmp/err"; ok $? "... and not of a whole one"
done
cp "$tmp/made.vmprof" "$tmp/keep.vmprof"
"$vmprof" export --format csv -o "$tmp/../${tmp##*/}/keep.vmprof" "$tmp/keep.vmprof" 2> "$tmp/err"; [ $? = 2 ] && cmp -s "$tmp/made.vmprof" "$tmp/keep.vmprof"; ok $? "the capture is not written over, exit 2"
VMPROF_DIR=$tmp/empty "$vmprof" export --format csv > /dev/null 2> "$tmp/err"; [ $? = 1 ] && grep -q 'no capture under' "$tmp/err"; ok $? "no capture at all: exit 1"
help=$("$vmprof" export --help)
for format in $(sed -n 's/^.*--format | -f) words=.\(.*\). ;;$/\1/p' "$src/analyzer/completion.bash"); do
	echo "$help" | grep -q "^  $format "; ok $? "--help knows $format of the completion"
	sed 's/\\-/-/g' "$src/docs/man/vmprof-export.1" | grep -q "^\\.B $format\$"; ok $? "and vmprof-export(1), too"
done
echo "1..$nr"

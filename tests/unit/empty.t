#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# empty.t - captures that hold nothing, and one of a newer version, before every command that reads captures:
# an output that is valid and empty, or what is wrong and what to do; never a file that is left behind.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
O=${O:-$src/build}
vmprof=$O/vmprof
made=$src/tests/golden/made.vmprof
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export VMPROF_OBJCACHE=$tmp/objects VMPROF_DEBUG_PATH=$tmp/none VMPROF_DIR=$tmp/captures VMPROF_RUN_DIR=$tmp/run
. "$src/tests/unit/tap.sh"
cd "$tmp" || exit 1

: > nothing
python3 "$src/tests/unit/newer.py" "$made" newer && head -c 64 "$made" > unclosed &&
	"$O/tests/trim" "$src/tests/golden/quantum.vmprof" idle objects 0 2> err; ok $? "made: an empty file, a newer capture, a header alone, and a whole session in which nothing was sampled"

# command, | what it does with a session without samples: 0 and who reads its output, or 1 and what it says
commands="report CAPTURE | 0 text
report --tree CAPTURE | 0 text
report --by process --all-host CAPTURE | 0 text
report --inline --srcline CAPTURE | 0 text
report --exits CAPTURE | 0 text
report --exits --tree CAPTURE | 0 text
report --steal CAPTURE | 0 text
report --diff CAPTURE CAPTURE | 0 text
report --diff $made CAPTURE | 0 some
report --diff CAPTURE $made | 0 some
report --json CAPTURE | 0 report
report --json --tree CAPTURE | 0 report
report --json --exits CAPTURE | 0 report
report --json --steal CAPTURE | 0 report
report --json --diff CAPTURE CAPTURE | 0 report
report --html CAPTURE.html CAPTURE | 0 page
tui CAPTURE | 1 needs a terminal; vmprof report --tree prints the same
blocks CAPTURE | 1 no such samples; vmprof report tells
blocks --csv CAPTURE | 1 no such samples; vmprof report tells
branches CAPTURE | 1 no such samples; vmprof report tells
branches --calls CAPTURE | 1 no such samples; vmprof report tells
annotate main CAPTURE | 1 no such samples; vmprof report tells
loops CAPTURE | 1 no such samples; vmprof report tells
timeline CAPTURE -o CAPTURE.out | 1 no such samples; vmprof report tells
export -f pprof CAPTURE | 0 pprof
export -f folded CAPTURE | 0 folded
export -f speedscope CAPTURE | 0 speedscope
export -f gecko CAPTURE | 0 gecko
export -f chrome CAPTURE | 0 chrome
export -f perf-script CAPTURE | 0 perf-script
export -f perf-script --brstack CAPTURE | 1 no branches; vmprof start --lbr records them
export -f csv CAPTURE | 0 csv
export -f csv --addresses --all-host CAPTURE | 0 csv
export -f json CAPTURE | 0 json
export -f xml CAPTURE | 0 xml
export -f xml --indent CAPTURE | 0 xml
export -f bolt CAPTURE -o CAPTURE.out | 1 no branches; vmprof start --lbr records them
export -f autofdo CAPTURE -o CAPTURE.out | 1 no branches; vmprof start --lbr records them
export -f llvm-profgen CAPTURE -o CAPTURE.out | 1 no branches; vmprof start --lbr records them
import CAPTURE | 1 is a capture; vmprof export --format xml writes it"

known=$({ cut -d' ' -f1 <<< "$commands"; printf '%s\n' top start stop status attach doctor; } | sort -u)
diff <(echo "$known") <("$vmprof" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{3,\}\) .*/\1/p' | sort) > err; ok $? "every command is here, but those that read none, and top, which reads its session's"
diff <(sed -n 's/^export -f \([^ ]*\) .*/\1/p' <<< "$commands" | sort -u) <("$vmprof" export --help | sed -n '/^Formats:/,/^$/s/^  \([a-z][^ ]*\) .*/\1/p' | sort) > err; ok $? "and every format"

# run CAPTURE COMMAND: status, out, err
run()
{
	rm -rf out "$1".html "$1".out
	# shellcheck disable=SC2046
	"$vmprof" $(sed "s|CAPTURE|$1|g" <<< "$2") > out 2> err < /dev/null
	status=$?
}
# all that is said is vmprof's own
calm() { ! grep -qv -e '^vmprof: ' -e '^  ' err; }
left() { [ -s out ] || [ -e "$1.html" ] || [ -e "$1.out" ]; }

while IFS='|' read -r command wanted; do
	for capture in nothing newer; do
		says="vmprof: $capture is empty or ends within its first bytes: nothing was recorded in it; make a capture with vmprof start"
		[ $capture = nothing ] || says="vmprof: newer was written by a newer vmprof; read it with that one"
		case $command in
		tui*) says="vmprof: vmprof tui${wanted# 1}" ;;
		import*) [ $capture = newer ] && says="vmprof: newer${wanted# 1}" || says='vmprof: nothing is empty' ;;
		*--html*) grep -q VMP_HTML_FILE "$O/config.h" || says='built without the page' ;;
		blocks* | branches* | annotate* | loops* | timeline*) grep -q HAVE_CAPSTONE "$O/config.h" || [ "${command%% *}" = branches ] || says='built without capstone' ;;
		esac
		run $capture "$command"
		[ $status = 1 ] && grep -qF -- "$says" err && calm && ! left $capture; ok $? "$capture: $command: exit 1, with what to do"
	done
done <<< "$commands"

# reads READER: out is valid, and without a sample
reads()
{
	case $1 in
	text) grep -q '^No samples; vmprof doctor tells' out ;;
	unclosed) grep -q '^  WARNING: the capture was not closed' out ;;	# there is no domain to speak of
	some) grep -q '^Before: \|^Before  ' out ;;	# the other one's samples
	report) python3 -c 'import json; d = json.load(open("out")); assert d["totals"]["domain_samples"] == 0 and not any(x["rows"] for x in d["domains"])' 2> err ;;
	pprof) if [ -x "$pprof" ]; then "$pprof" -raw out > raw 2> err && ! sed -n '/^Samples:/,/^Locations/p' raw | grep -q '^ *[0-9]'; else gzip -t < out; fi ;;
	xml) if command -v xmllint > /dev/null; then xmllint --nonet --noout --schema "$src/docs/performance.xsd" out 2> err; fi && ! grep -q '<item' out ;;
	page) [ "$(head -c 15 "$2.html")" = '<!doctype html>' ] ;;
	*)
		local schema=
		case $1 in
		json) schema=$src/docs/profile.schema.json ;;
		speedscope) schema=$src/tests/unit/export/speedscope.schema.json ;;
		esac
		python3 -c 'import jsonschema' 2> /dev/null || schema=
		[ "$("$src/tests/unit/export/readers.py" "$1" out ${schema:+"$schema"} 2>> err)" = 0 ] ;;
	esac
}

pprof="$(go env GOTOOLDIR 2> /dev/null)/pprof"
while IFS='|' read -r command wanted; do
	for capture in idle unclosed; do
		run $capture "$command"
		if [[ $command = *--html* ]] && ! grep -q VMP_HTML_FILE "$O/config.h"; then
			skip "$capture: $command" "vmprof was built without the page"
		elif [[ $command =~ ^(blocks|annotate|loops|timeline) ]] && ! grep -q HAVE_CAPSTONE "$O/config.h"; then
			skip "$capture: $command" "vmprof was built without capstone"
		elif [ "${wanted:1:1}" = 1 ]; then
			[ $status = 1 ] && grep -qF -- "${wanted# 1 }" err && calm && ! left $capture; ok $? "$capture: $command: exit 1, with what to do"
		else
			reader=${wanted# 0 }
			[ $capture.$reader != unclosed.text ] || reader=unclosed
			[ $status = 0 ] && calm && { [[ $command != export* ]] || grep -q 'no such samples: .*; vmprof report tells' err; } && reads "$reader" $capture
			ok $? "$capture: $command: exit 0; read as $reader it is empty"
		fi
		# for the browser tests
		[ ! -e $capture.html ] || { mkdir -p "$O/pages" && cp $capture.html "$O/pages/"; }
	done
done <<< "$commands"

# A capture that has samples, but none of what is asked for
cp "$made" made
for format in pprof folded speedscope gecko chrome perf-script csv json xml; do
	for choice in "--comm nobody" "--pid 99999999" "--vcpu 999"; do
		run made "export -f $format $choice CAPTURE"
		[ $status = 1 ] && grep -q 'no such samples; vmprof report tells' err && calm && ! left made; ok $? "export -f $format $choice: nothing was chosen: exit 1"
	done
done
run made "export -f csv --comm nobody -o CAPTURE.out CAPTURE"
[ $status = 1 ] && ! left made; ok $? "... and no file"
run made "export -f perf-script --brstack CAPTURE -o CAPTURE.out"
[ $status = 1 ] && grep -q 'the capture has no branches; vmprof start --lbr records them' err && ! left made; ok $? "export -f perf-script --brstack of samples without branches: exit 1"
echo "1..$nr"

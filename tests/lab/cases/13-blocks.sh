#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab-only: yes
# 13-blocks.sh - web01 with last branch records: blocks, loops, annotate, branches and the time line read them; presets.
. /src/tests/lab/cases/common.sh
plan 47

case_idle
host_lbr=$(case_host_lbr)
case_guest web01 || bail "web01 is up with its agent"
f=/out/lbr.vmprof
rm -f $f
# what the guest reads of its DEBUGCTL, on each vCPU
debugctl()
{
	lab_ssh web01 'modprobe msr; for c in 0 1; do
		dd if=/dev/cpu/$c/msr bs=8 count=1 skip=473 iflag=skip_bytes status=none | od -An -tx8; done' | tr -d '\n'
}
none=' 0000000000000000 0000000000000000'
is "DEBUGCTL of the guest" "$(debugctl)" "$none"
case_guest_run web01 "/opt/burn/shor 33 600"
output=$(vmprof start --domain web01 --lbr any --period 200us --buffer 4M --output $f 2>&1) || bail "start --lbr any" "$output"
pass "start --lbr any"
like "... says what comes" "$output" 'up to 16 branches .*from-to.*, 288 bytes'
like "... that instructions are sampled, too" "$output" 'of cycles, and every so many instructions$'
like "... and how to leave them out" "$output" 'as many interrupts again: --no-cpi leaves them out'
is "the guest's DEBUGCTL is its own meanwhile" "$(debugctl)" "$none"
if [ "$host_lbr" ]; then
	unlike "the host's are the session's" "$(case_host_lbr)" "^$host_lbr\$"
else
	skip "the host's are the session's" "no /dev/cpu/0/msr here"
fi
sleep 5
case_samples 1500
vmprof status --json >/run/lab/status.json
is "status says what is recorded" "$(jq -r '.lbr.format + " " + (.lbr.branches | length | tostring)' /run/lab/status.json)" "from-to 9"
at_least "samples with branches" "$(jq .branches.samples /run/lab/status.json)" 1000
at_least "of all samples (per cent)" "$(jq '.branches.samples * 100 / .samples' /run/lab/status.json)" 80
like "status tells it" "$(vmprof status)" '^branches   [0-9]+, with [0-9]+ samples; [0-9]+ cut'
is "... and of instructions" "$(jq '.instruction_period > 100000 and .instruction_period == .period' /run/lab/status.json) $(vmprof status | grep -c '^event      cycles and instructions, ')" "true 1"
# the window is found by time, in blocks that hold more than samples
at_least "top shows the last seconds" \
	"$(vmprof top --domain web01 --batch --number 1 --last 3s | awk '/^Total samples/ { print $3; exit }')" 50
output=$(vmprof stop 2>&1)
like "stop tells it" "$output" '[0-9]+ with branches, 1[0-6]\.[0-9] each; [0-9]+ branches were cut off'
is "the guest's DEBUGCTL afterwards" "$(debugctl)" "$none"
case_quiet web01
case_report $f || bail "report --json"
at_least "the report reads the capture" "$(case_json .totals.guest_samples)" 1000
is "nothing was lost" "$(case_json '.losses.driver.total')$(case_json '[.losses.collector[] | .count] | add // 0')" 00
is "how often blocks ran is known from samples of instructions" "$(vmprof blocks --json --limit 1 $f | jq -r .estimator.runs_from)" instructions
ok "so does the export" vmprof export --format perf-script --output /dev/null $f

# what reads branches beside blocks and exports; libquantum's hottest function calls nothing and has a loop
hot='.function == "quantum_toffoli"'
vmprof loops --json --limit 0 $f > /run/lab/loops.json
# The one that goes round most: 12 cycles a round, and some of its rounds another way. Two sessions of tests/truth with 80,000 of its
# samples say 13.4; here it has some hundred, so that one says it to a tenth or better.
round=$(jq "[.loops[] | select($hot and .level == 0)] | max_by(.trips // 0).cycles // 0" /run/lab/loops.json)
at_least "loops: a round of quantum_toffoli's takes about 13 cycles: no less than 10" "$round" 10
at_most "... no more than 17" "$round" 17
samples=$(case_json "[.domains[0].rows[] | select($hot).samples] | add")
annotated=$(vmprof annotate quantum_toffoli $f)
is "annotate has the samples that the report has, instruction by instruction" \
	"$(awk '/^ *[0-9]+ +[0-9.]+ / { n += $1 } END { print n + 0 }' <<< "$annotated")" "$samples"
at_least "... with runs, cycles and their errors of a dozen" "$(grep -cE '^ *[0-9]+ +[0-9.]+ +[1-9][0-9]* +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9a-f]+ ' <<< "$annotated")" 12
vmprof branches --calls --json --limit 0 $f > /run/lab/calls.json
at_least "branches --calls: who calls it" "$(jq '[.calls[] | select(.to_function | test("^quantum_toffoli(@plt)?$")).seen] | add // 0' /run/lab/calls.json)" 1
# two seconds of it are thousands of events; one jq reads them, for it takes longer than all that is asked of them
first=$(vmprof timeline --limit 1 $f 2> /dev/null | awk '$2 == "vCPU" && $1 + 0 > 0 { print int($1); exit }')
ok "timeline" vmprof timeline --from "${first:-0}us" --to $((first + 2000000))us --output /run/lab/trace.json $f
read -r hottest exits nameless odd early < <(jq -r '[.traceEvents[] | select(.ph == "M") | "\(.pid) \(.tid)"] as $named |
	[.traceEvents[] | select(.ph != "M")] |
	[
		(map(select(.ph == "X" and .name == "quantum_toffoli")) | length),
		(map(select(.ph == "i" and .name == "exit")) | length),
		((map("\(.pid) \(.tid)") | unique) - $named | length),
		(map(select(((.name | type) == "string" and (.cat | type) == "string" and .ts >= 0 and (.ph == "X" and .dur >= 0 or .ph == "i" and .s == "t")) | not)) | length),
		([group_by([.pid, .tid])[] | . as $t | range(1; length) | select($t[.].ts < $t[. - 1].ts + ($t[. - 1].dur // 0) - 0.0002)] | length)
	] | map(tostring) | join(" ")' /run/lab/trace.json)
at_least "... has blocks of quantum_toffoli" "$hottest" 1000
at_least "... and exits" "$exits" 10
is "... each event has what the format wants of its kind, on a thread with a name" "$nameless$odd" 00
is "... and none begins before the one before it has ended" "$early" 0

# a preset: where calls and returns come from
p=/out/flow.vmprof
rm -f $p
case_guest_run web01 "/opt/burn/shor 33 600"
output=$(vmprof start --domain web01 --lbr flow-from,user --period 200us --buffer 4M --output $p 2>&1) || bail "start --lbr flow-from" "$output"
like "start --lbr flow-from,user says what comes" "$output" 'up to 16 branches .*from.*, 160 bytes'
is "... status, too; and no block can be told, so that no instructions are sampled" "$(vmprof status --json | jq -r '"\(.lbr.format) \(.instruction_period)"')" "from 0"
case_samples 1500
vmprof stop > /dev/null 2>&1
vmprof branches --json --limit 0 $p > /run/lab/flow.json
read -r known untyped functions < <(jq -r '[.branches[] | select(.from_module | test("libquantum"))] |
	"\(length) \(map(select(.type == "-" or .type == null)) | length) \(map(.to_function) | unique | join(" "))"' /run/lab/flow.json)
at_least "branches of libquantum's are known by where they come from" "$known" 10
is "... the code there tells of which type" "$untyped" 0
is "... and by that alone" "$functions" -

# the others, each with what it is to tell of the same program
# preset NAME FORMAT BYTES - the branches of libquantum's, by the end that the format has
preset()
{
	local output
	rm -f $p
	output=$(vmprof start --domain web01 --lbr "$1,user" --period 200us --buffer 4M --output $p 2>&1) || bail "start --lbr $1" "$output"
	like "start --lbr $1,user says what comes" "$output" "up to 16 branches .*$2.*, $3 bytes"
	case_samples 1500
	vmprof stop > /dev/null 2>&1
	vmprof branches --json --limit 0 $p |
		jq "[.branches[] | select(.$([ "$2" = to ] && echo to || echo from)_module | test(\"libquantum\"))]" > /run/lab/preset.json
	at_least "... branches of libquantum's are known" "$(jq length /run/lab/preset.json)" "$4"
}
# all WHAT - of them, each once
all() { jq -r "map($1) | unique | join(\" \")" /run/lab/preset.json; }
preset calls from-to 288 5
like "... all of them calls" "$(all .type)" '^(call|indirect call|call indirect call)$'
unlike "... with where they lead" "$(all .to_function)" '^-'
preset flow from-to 288 10
like "... calls and returns" "$(all .type)" '^call (indirect call )?return$'
unlike "... with where they lead" "$(all .to_function)" '^-$'
preset flow-to to 160 10
is "... by where they lead alone" "$(all .from_function)" -
case_quiet web01
case_host_lbr_is "the host's registers of branch records are as they were before the first session"
unlike "the kernel has nothing to complain about" "$(dmesg | grep -v 'WARNING: missing R[0-9A-Z]\+ value at ')" \
	'WARNING:|BUG:|Oops|vmprof: (pCPU|kvm|this|[0-9]+ vCPUs)'
finish

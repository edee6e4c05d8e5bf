#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab-only: yes
# 12-lbr.sh - last branch records: of a tiny guest whose branches are known, by the bare reader;
# then of web01, by vmprof, and the code of its kernel.
. /src/tests/lab/cases/common.sh
. /src/tests/lab/cases/tiny.sh
plan 115

# ------------------------------------------------- branches that are known
case_idle
# each pCPU's DEBUGCTL, LBR_SELECT and DBG_EXTN_CFG; nothing where there is no driver to read them by
modprobe msr 2> /dev/null
host_lbr()
{
	local cpu msr
	for cpu in /dev/cpu/[0-9]*/msr; do
		[ -c "$cpu" ] || return
		for msr in 0x1d9 0xc000010e 0xc000010f; do
			dd if="$cpu" bs=8 count=1 skip=$((msr)) iflag=skip_bytes status=none | od -An -tx8
		done
	done | tr -d '\n'
}
# host_lbr_is NAME - they are what they were before the first session
host_lbr_is()
{
	if [ "$host_lbr" ]; then
		is "$1" "$(host_lbr)" "$host_lbr"
	else
		skip "$1" "no /dev/cpu/0/msr here"
	fi
}
host_lbr=$(host_lbr)
modprobe vmprof
like "QUERY tells of branches, none with cycles" "$(ringdump query)" 'features=0x[0-9a-f]*[4-7cdef] .*lbr_lack=0 lbr_entries=16$'
tiny_init knownbranches
ok "a tiny guest runs" tiny g1 nokaslr
vm=$(cat g1.pid)

# branches NAME BRANCHES FORMAT [SECONDS [PERIOD]] - sample it; branchcheck's sums into $NAME_...
branches()
{
	local pair sums
	ringdump dump -p "$vm" -n "${5:-200000}" -s "${4:-1}" -l "$2" -f "$3" >"$1" 2>&1
	sums=$(branchcheck g1.console "$2" 0xffffffff83000000 <"$1")
	lab_note "$1: $sums"
	for pair in $sums; do
		printf -v "${1}_${pair%%=*}" %s "${pair#*=}"
	done
}

# the guest's kernel lies at 16 MiB; is the host's, wherever it lies, apart from it?
host_text=$(awk '$3 == "_text" { print $1 }' /proc/kallsyms)
apart=$((0x${host_text:8} >= 0x83000000))

branches any 0x1ff 1 2
at_least "guest samples" "$any_guest" 200
is "each has its record, and every host's sample too" "$((any_guest - any_guest_with)) $((any_host - any_host_with))" "0 0"
at_least "most have all 16 entries (of 1000 entries that could be)" "$(per_mille "$any_guest_entries" $((any_guest * 16)))" 900
is "records are as they should be" "$any_odd" 0
at_least "neighbours chain (per mille)" "$(per_mille "$any_chained" "$any_pairs")" 999
at_least "the youngest leads to the sample's address (per mille)" "$(per_mille "$any_near" "$any_first")" 995
if [ $apart = 1 ]; then
	is "no address of the host's in a guest's record" "$any_guest_foreign" 0
	is "no address of the guest's in a record of its QEMU" "$any_vmm_foreign" 0
else
	skip "no address of the host's in a guest's record" "host and guest kernel lie at the same addresses"
	skip "no address of the guest's in a record of its QEMU" "host and guest kernel lie at the same addresses"
fi
is "user branches are those that the program takes" "$any_guest_unknown" 0
at_least "kernel branches are among them" "$any_guest_kernel" 100
at_least "host samples have branches" "$any_host_entries" 100
at_least "entries beyond a VM entry or exit are cut, and counted" "$any_cut" 1
is "nothing was lost" "$(total any full) $(total any nested) $(total any state)" "0 0 0"
is "every interrupt is a sample or was filtered" "$(($(total any interrupts) - $(total any filtered)))" "$(grep -c ^S any)"
is "a record is a sample or its branches" "$(total any records)" "$(grep -c '^[SBCL]' any)"

at_least "a switch to another process is told" "$any_switched1" 10
at_most "only where there is one" "$any_switched0" 0

# Each kind alone, user code only: exactly that kind. A return to QEMU's user code starts in the host's
# kernel, so where both kernels lie at the same addresses the host's own are not told apart.
for kind in cond:0x6 call:0x1a ret:0x22 ind:0x52 jump:0xc2 far:0x102; do
	name=${kind%:*}
	branches "$name" "${kind#*:}" 1
	entries=${name}_guest_entries unknown=${name}_guest_unknown foreign=${name}_guest_foreign vmm=${name}_vmm_foreign odd=${name}_odd
	at_least "$name,user: entries" "${!entries}" 300
	is "$name,user: of that kind alone" "${!unknown} ${!foreign} $((apart * ${!vmm})) ${!odd}" "0 0 0 0"
done
# The program on vCPU 0 has none of its own: a timer's return is rarer than samples are, and seen all the same.
# Were each exit the end of a record, each return would be in one record at most, since a sample is an exit.
branches back 0x102 1 1 50000
at_least "far,user: records go back across exits (entries of 1000 samples)" "$(per_mille "$back_entries0" "$back_samples0")" 500
is "user only: no branch ends in the kernel" "$cond_guest_kernel $far_guest_kernel" "0 0"
branches calls 0x19 1
at_least "call,kernel: entries" "$calls_guest_kernel" 300
is "call,kernel: no user code" "$((calls_guest_entries - calls_guest_kernel)) $calls_odd" "0 0"
[ $apart = 0 ] || is "call,kernel: no address of the host's" "$calls_guest_foreign" 0
[ $apart = 1 ] || skip "call,kernel: no address of the host's" "host and guest kernel lie at the same addresses"

# the other formats
branches from 0x1fe 2
is "from only: known, one word each" "$from_guest_unknown $from_odd $((from_guest_entries > 500))" "0 0 1"
branches to 0x1fe 3
is "to only: known, one word each" "$to_guest_unknown $to_odd $((to_guest_entries > 500))" "0 0 1"

# a full ring takes neither a sample nor its branches
ringdump dump -p "$vm" -n 50000 -s 4 -z -r 65536 -l 0x1ff -f 1 >full 2>&1
at_least "a ring that is not read is full" "$(total full full)" 100
is "every loss is a sample's" "$(($(total full interrupts) - $(total full filtered)))" "$(($(grep -c ^S full) + $(total full full)))"
is "no sample without branches, no branches without a sample" "$(branchcheck g1.console 0x1ff 0xffffffff83000000 <full |
	sed 's/^guest=\([0-9]*\) guest_with=\([0-9]*\) .* host=\([0-9]*\) host_with=\([0-9]*\) .* odd=/\1 \3 \2 \4 /' |
	awk '{ print $1 - $3, $2 - $4, $5 }')" "0 0 0"

# instructions beside them
ringdump dump -p "$vm" -n 200000 -i 200000 -s 1 -l 0x1ff -f 1 >both 2>&1
at_least "samples of instructions" "$(grep -c '^I' both)" 100
is "... have branches, each its own" "$(awk '/^I/ { i = 1; n++; next } { n -= i && /^B/; i = 0 } END { print n + 0 }' both)" 0
for i in 1 2 3; do ringdump cycle 10 -q -p "$vm" -n 200000 -l 0x1ff -f 1; done >cycle 2>&1
is "start and stop again and again" "$(grep -c '^Y cycles=10 records=[1-9]' cycle)" 3
ok "the guest lives" tiny_end g1
host_lbr_is "the host's registers of branch records are as they were before"
cp any full /out/ 2>/dev/null
cd / && rm -rf "$work"

# ------------------------------------------------------------ by vmprof
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
sampling=$SECONDS
output=$(vmprof start --domain web01 --lbr any --period 200us --buffer 4M --output $f 2>&1) || bail "start --lbr any" "$output"
pass "start --lbr any"
# so many seconds after the session's start it samples: that was no earlier than the command
sampling=$((SECONDS - sampling + 1))
like "... says what comes" "$output" 'up to 16 branches .*from-to.*, 288 bytes'
like "... that instructions are sampled, too" "$output" 'of cycles, and every so many instructions$'
like "... and how to leave them out" "$output" 'as many interrupts again: --no-cpi leaves them out'
is "the guest's DEBUGCTL is its own meanwhile" "$(debugctl)" "$none"
if [ "$host_lbr" ]; then
	unlike "the host's are the session's" "$(host_lbr)" "^$host_lbr\$"
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
ok "timeline" vmprof timeline --from ${sampling}s --to $((sampling + 2))s --output /run/lab/trace.json $f
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
case_quiet web01
vmprof branches --json --limit 0 $p > /run/lab/flow.json
read -r known untyped functions < <(jq -r '[.branches[] | select(.from_module | test("libquantum"))] |
	"\(length) \(map(select(.type == "-" or .type == null)) | length) \(map(.to_function) | unique | join(" "))"' /run/lab/flow.json)
at_least "branches of libquantum's are known by where they come from" "$known" 10
is "... the code there tells of which type" "$untyped" 0
is "... and by that alone" "$functions" -

# ------------------------- the vdso, and a program that is replaced before its session ends
# Files are copied when a session stops: what lies there by then is another program, which must not be taken for it.
r=/out/replaced.vmprof
rm -rf $r /run/lab/new-objects
export VMPROF_OBJCACHE=/run/lab/new-objects
lab_ssh web01 'cp /opt/burn/burn-a /dev/shm/replaced'
case_guest_run web01 '/opt/burn/now'
case_guest_run web01 'while :; do /dev/shm/replaced 1000; done'
ok "start beside a program that asks for the time, and one that will be replaced" \
	vmprof start --domain web01 --lbr any --period 200us --buffer 4M --output $r
case_samples 3000
lab_ssh web01 'pkill -f "[w]hile :; do /dev/shm/replaced"; pkill -x replaced; cp --remove-destination /opt/burn/burn-b /dev/shm/replaced'
ok "stop" vmprof stop
case_quiet web01
unset VMPROF_OBJCACHE
VMPROF_OBJCACHE=/run/lab/new-objects vmprof blocks --limit 0 --json $r > /run/lab/replaced.json
read -r vdso libraries no_object other clock < <(jq -r '.left_out.no_object as $no_object | .blocks |
	map(select(.side == "guest_user" and .instructions != null)) as $user |
	[
		($user | map(select(.module == "[vdso]" and .cycles != null and .samples >= 4)) | length),
		($user | map(select(.module | test("^libc[.]so|^libcrypto"))) | length),
		$no_object,
		(map(select(.module == "replaced" and .instructions != null)) | length),
		(map(select(.module == "[vdso]")) | max_by(.samples).function)
	] | map(tostring) | join(" ")' /run/lab/replaced.json)
at_least "blocks of the vdso with instructions and cycles" "$vdso" 2
like "... in a function that is the vdso's" "$clock" 'clock_gettime'
at_least "blocks of a shared library" "$libraries" 1
at_least "steps in the program that was replaced are left out" "$no_object" 1000
is "... and none of its blocks has the other one's instructions" "$other" 0
like "... the notes say so" "$(VMPROF_OBJCACHE=/run/lab/new-objects vmprof blocks --limit 1 $r)" '[0-9]+ .*file is not in the object cache'
case_report $r || bail "report --json"
at_least "its samples are the process's all the same" "$(case_json '[.domains[0].rows[] | select(.process | test("^replaced")).samples] | add // 0')" 500

# ------------------------------------------------------ code of kernels
# No file of a kernel is given: blocks have the code that was in memory.
k=/out/kernel.vmprof
rm -f $k
touch /run/lab/before
lab_guest_workload web01 300
lab_ssh web01 "nohup timeout 300 sh -c 'while sleep 0.2; do ls -l /usr/bin | head -n 20 >/dev/ttyS0; done' >/dev/null 2>&1 </dev/null &"	# work for QEMU
output=$(vmprof start --domain web01 --lbr any --no-cpi --period 200us --buffer 4M --output $k 2>&1) || bail "start --no-cpi beside a shell" "$output"
unlike "start --no-cpi beside a shell: no word of instructions" "$output" instructions
is "... and none is sampled" "$(vmprof status --json | jq .instruction_period)" 0
case_samples 3000
output=$(vmprof stop 2>&1)
like "stop copies the guest's kernel's code" "$output" "web01: copied its kernel's code, [1-9][0-9.]* MiB in [0-9.]* s"
like "... and the host's" "$output" "host: copied its kernel's code, [1-9][0-9.]* MiB in [0-9.]* s"
vmprof blocks --json $k > /run/lab/blocks.json
read -r runs_from fits guest host qemu steps < <(jq -r '. as $all | .blocks | map(select(.instructions != null)) |
	[
		$all.estimator.runs_from,
		($all | 1000 - (.left_out | del(.orphan_records, .malformed_records, .beyond_vm_exit) | add) * 1000 / .totals.steps | floor),
		(map(select(.side == "guest_kernel" and .module == "vmlinux")) | length),
		(map(select(.side == "vmm_kernel" and (.module | test("host kernel|kvm")))) | length),
		(map(select(.side == "vmm_user" and (.module | test("^qemu-system")))) | length),
		$all.totals.steps, $all.left_out
	] | map(tostring) | join(" ")' /run/lab/blocks.json)
is "how often blocks ran is known from branches" "$runs_from" branches
like "the notes of the blocks tell" "$(vmprof blocks --limit 1 $k)" 'kernel code of web01 is a copy of its memory'
at_least "steps whose code is there, and fits (per mille)" "$fits" 970
at_least "blocks of the guest's kernel with instructions" "$guest" 50
at_least "blocks of the host's kernel and its modules, too" "$host" 50
at_least "blocks of QEMU itself" "$qemu" 5
lab_note "blocks of the guest's kernel $guest, the host's $host, QEMU's $qemu; steps: $steps"

# the same bytes as QEMU's monitor shows in the running guest
copy=$(find "/var/cache/vmprof/objects/$(virsh -q domuuid web01 | head -n 1)"/x[0-9a-f] -type f -size +4M -newer /run/lab/before | head -n 1)
like "the copy is a core file" "$(od -An -tx1 -N 18 "$copy" | tr -d ' \n')" '^7f454c4602010100.*0400$'
case_same_code web01 "$copy" /run/lab/blocks.json
at_least "blocks that the monitor shows" "$shown" 5
is "... are the same in the copy" "$differ" 0
case_quiet web01

# ------------------------------------- counters that others hold, and refusals
# three of a pCPU's six: two are left that sample, and not four
c=/out/counters.vmprof
rm -f $c
case_guest_run web01 "/opt/burn/shor 33 600"
ringdump hold 3 > /run/lab/held 2>&1 &
holder=$!
lab_wait 60 grep -q held /run/lab/held
fails "start --cpi beside who holds counters" vmprof start --domain web01 --lbr any --cpi --output $c
output=$(vmprof start --domain web01 --lbr any --output $c 2>&1) || bail "start --lbr any beside who holds counters" "$output"
is "start --lbr any there says in a line what it goes without" "$(grep -c 'no samples of instructions, .* two counters more than are free .*no times, or, .* by branches alone, which can be far off' <<< "$output")" 1
is "... and does" "$(vmprof status --json | jq .instruction_period)" 0
case_samples 100
ok "stop" vmprof stop
case_quiet web01
kill $holder
wait $holder
# the third counter counts cycles: without instructions windows have no scale
is "how often blocks ran nothing tells" "$(vmprof blocks --json --limit 1 $c | jq -r .estimator.runs_from)" none
output=$(vmprof start --domain web01 --lbr any --event instructions --output $c 2>&1) || bail "start --lbr any --event instructions" "$output"
is "start with another event says in a line what it goes without" "$(grep -c 'no samples of instructions, which go with the event cycles, not with instructions: .* the same for all blocks' <<< "$output")" 1
vmprof stop > /dev/null 2>&1
fails "start --lbr with the timer" vmprof start --domain web01 --lbr any --event cpu-clock
like "... says what it needs" "$output" 'needs a performance counter'
fails "cycles that are not counted" vmprof start --domain web01 --lbr any --lbr-format from-to-cycles
like "... says so" "$output" 'does not count cycles'
like "doctor tells of branches" "$(vmprof doctor)" '^ok .*last branch records, 16 branches$'
host_lbr_is "the host's registers of branch records are as they were before the first session"
# counters that were held are no complaint
unlike "the kernel has nothing to complain about" "$(dmesg | grep -v -E 'WARNING: missing R[0-9A-Z]+ value at |perf gives no counter for the sampling event .error -16.')" \
	'WARNING:|BUG:|Oops|vmprof: (pCPU|kvm|this|[0-9]+ vCPUs)'
finish

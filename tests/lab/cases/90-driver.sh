#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# short: yes
# lab-only: yes
# 90-driver.sh - the host module by itself, with a bare reader (ringdump) and tiny
# guests whose profile is known beforehand (twoloops: one process on each vCPU).
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 62

# It counts the VMs that it sees, and unloads KVM: no guest of other cases may run.
vmprof stop >/dev/null 2>&1
lab_guests_destroy

# mean FILE FIELD - of all samples with counts.  Guest and host have an event each, so that single
# samples follow one another at any distance.
mean()
{
	awk -v f="$2" '/^S/ { for (i = 2; i <= NF; i++) { split($i, a, "="); v[a[1]] = a[2] }
		if (v["flags"] ~ /C/) { n++; sum += v[f] } }
		END { printf "%.0f\n", n ? sum / n : 0 }' "$1"
}

# ------------------------------------------------------------ the device
modprobe -r vmprof 2>/dev/null
ok "the module loads" modprobe vmprof
is "the device is root's alone" "$(stat -c '%a %u' /dev/vmprof)" "600 0"
query=$(ringdump query)
like "query: version, SVM, two pCPUs" "$query" 'version=8 compat=1 .* vendor=1 nr_cpus=2 '
like "query: PMU, timer, steal, LBR; no mediated vPMU" "$query" 'features=0xf .* guest_lack=0 lbr_lack=0 lbr_entries=16$'
like "nobody else opens it" "$(setpriv --reuid 65534 --clear-groups ringdump query 2>&1)" 'Permission denied'
chmod 666 /dev/vmprof
like "nor without the capability" "$(setpriv --reuid 65534 --clear-groups ringdump query 2>&1)" 'Operation not permitted'
chmod 600 /dev/vmprof
ringdump refuse >refuse
is "what must be refused is refused, what not is not" "$(grep -c '^not ok' refuse) $(tail -n 1 refuse)" "0 1..85"
grep '^not ok' refuse | sed 's/^/# /'

tiny_init twoloops
ok "a tiny guest runs" tiny g1
vm=$(cat g1.pid)

# --------------------------------------------------- samples by PMC overflow
ringdump dump -p "$vm" -n 200000 -s 3 >pmc 2>&1
guest=$(count pmc 'v["mode"] == 0')
user=$(count pmc 'v["mode"] == 0 && v["cpl"] == 3')
at_least "guest samples" "$guest" 500
is "all of them by NMI" "$(count pmc 'v["mode"] == 0 && v["flags"] !~ /I/')" 0
# an NMI that finds the guest in an interrupt shadow comes with the exit after it
at_least "exit reason 0x61 (per mille)" "$(per_mille "$(count pmc 'v["mode"] == 0 && v["exit"] == "0x61"')" "$guest")" 990
is "all of them have cycles, instructions, a vCPU" "$(count pmc 'v["mode"] == 0 && v["flags"] !~ /^VC/')" 0
is "the vendor, the VM and its threads" \
	"$(values pmc 'v["mode"] == 0' vendor)$(values pmc 'v["mode"] == 0' vm)$(count pmc 'v["mode"] == 0 && (v["tid"] != v["vcpu_tid"] || v["pid"] != v["vm"])')" "1 $vm 0"
long=$(count pmc 'v["cpl"] == 3 && v["mode"] == 0 && v["gip"] ~ A && v["vcpu"] == 0' "$(at loop_long)")
short=$(count pmc 'v["cpl"] == 3 && v["mode"] == 0 && v["gip"] ~ A && v["vcpu"] == 0' "$(at loop_short)")
other=$(count pmc 'v["cpl"] == 3 && v["mode"] == 0 && v["gip"] ~ A && v["vcpu"] == 1' "$(at loop_other)")
at_least "guest user addresses are in the loops (per mille)" "$(per_mille $((long + short + other)) "$user")" 990
lab_note "user $user: long $long, short $short, other $other"
at_least "a loop three times as long has at least 2.6 times the samples" "$long" $((short * 26 / 10))
at_most "and at most 3.4 times" "$long" $((short * 34 / 10))
is "guest kernel addresses have CPL 0, user addresses CPL 3" \
	"$(count pmc 'v["mode"] == 0 && (v["gip"] ~ /^0xffffffff/) != (v["cpl"] == 0)')" 0
is "both in 64-bit mode" "$(count pmc 'v["mode"] == 0 && v["flags"] !~ /L/')" 0
want=$(monitor g1 'info registers -a' | grep -o 'CR3=[0-9a-f]*' | sed 's/CR3=0*/0x/' | sort -u | tr '\n' ' ')
is "the CR3s are those that QEMU shows" "$(values pmc 'v["mode"] == 0 && v["cpl"] == 3' cr3)" "$want"
is "one for each process" "$(values pmc 'v["mode"] == 0 && v["cpl"] == 3 && v["vcpu"] == 0' cr3 | wc -w) $(wc -w <<<"$want")" "1 2"
at_least "cycles between samples are the period in the mean" "$(mean pmc cycles)" 190000
at_most "... and no more" "$(mean pmc cycles)" 210000
is "no sample of a guest has host callers, some of its VMM have" \
	"$(count pmc 'v["mode"] == 0 && v["ret1"] != "0"') $(($(count pmc 'v["mode"] == 1 && v["ret2"] ~ /^0xffffffff/') > 0))" "0 1"
is "nothing was lost" "$(total pmc full) $(total pmc nested) $(total pmc state)" "0 0 0"
is "every interrupt is a sample or was filtered" "$(($(total pmc interrupts) - $(total pmc filtered)))" "$(grep -c ^S pmc)"
# guest's and host's counters of two pCPUs: each is left with a part of a period
at_most "the count divided by the period is the interrupts" \
	$(($(total pmc events) / 200000 - $(total pmc interrupts) - $(total pmc throttled))) 4
if dmesg | grep -q 'kvm: .* unstable TSC'; then
	skip "the clock is KVM's" "this host's TSC is unstable: KVM changes the offset all the time"
else
	is "the clock is KVM's" "$(sed -n 's/^C.*vcpu=0 .*offset=\(-*[0-9]*\) .*/\1/p' pmc | head -n 1)" \
		"$(cat /sys/kernel/debug/kvm/"$vm"-*/vcpu0/tsc-offset)"
fi
# the emulated CPU has no TSC scaling: 1:1 in KVM's own fraction bits
is "with KVM's ratio" "$(sed -n 's/^C.*vcpu=0 .*frac=\([0-9]*\) .*ratio=\([0-9]*\).*/\1 \2/p' pmc | head -n 1)" \
	"32 $((1 << 32))"

# ----------------------------------------------------------- other triggers
ringdump dump -p "$vm" -t -n 2000000 -s 3 >timer 2>&1
at_least "the timer samples the guest" "$(count timer 'v["mode"] == 0')" 100
is "by interrupt, exit reason 0x60" "$(values timer 'v["mode"] == 0' exit)$(count timer 'v["flags"] !~ /T/ || v["flags"] ~ /I/')" "0x60 0"
user=$(count timer 'v["mode"] == 0 && v["cpl"] == 3')
at_least "in its loops (per mille)" \
	"$(per_mille "$(count timer 'v["mode"] == 0 && v["cpl"] == 3 && v["gip"] ~ A' "$(at loop_long)|$(at loop_short)|$(at loop_other)")" "$user")" 990
ringdump dump -p "$vm" -e 0:1 -n 200000 -s 2 >instructions 2>&1
at_least "instructions as the event" "$(count instructions 'v["mode"] == 0')" 100
at_least "its period, in the mean" "$(mean instructions instructions)" 190000
at_most "... and no more" "$(mean instructions instructions)" 210000
ringdump dump -p "$vm" -n 200000 -i 150000 -s 3 >both 2>&1
is "with instructions beside it, every interrupt is a record or was filtered" \
	"$(($(total both interrupts) - $(total both filtered)))" "$(grep -c '^[SI]' both)"
at_least "instruction samples" "$(grep -c '^I.* mode=0 ' both)" 100
at_most "they are the count divided by their period" \
	$(($(total both insn_events) / 150000 - $(total both insn_interrupts) - $(total both throttled))) 4
is "they are the VM's own, without steal and counts" \
	"$(grep '^I' both | grep -vc " vm=$vm .* flags=[VLI]* ")" 0
at_least "cycles between the other samples are still the period in the mean" "$(mean both cycles)" 190000
# all six counters of a pCPU are in use by it
ringdump dump -q -p "$vm" -n 200000 -i 150000 -s 240 >held 2>&1 &
reader=$!
lab_wait 120 grep -q started held
like "doctor sees that counters are taken" "$(vmprof doctor 2>&1)" '^!!  CPU 0 has not two counters free, others hold them'
kill $reader
wait
like "... and free again" "$(vmprof doctor 2>&1)" '^ok  two counters are free on each CPU'
ringdump dump -p "$vm" -e 4:0xc2 -n 50000 -s 2 >branches 2>&1
at_least "a raw event (retired branches)" "$(count branches 'v["mode"] == 0')" 100

# ---------------------------------------------------------------- steal
for cpu in 0 1; do taskset -c $cpu sh -c 'while :; do :; done' & hogs+=($!); done
ringdump dump -p "$vm" -n 200000 -s 3 >steal 2>&1
kill "${hogs[@]}"; wait 2>/dev/null
at_least "another task in a vCPU's place is steal" "$(count steal 'v["mode"] == 4 && v["flags"] ~ /S/ && v["vm"] == A && v["vcpu_tid"] > 0' "$vm")" 100
is "QEMU's own threads are not" "$(count steal 'v["pid"] == A && v["flags"] ~ /S/' "$vm")" 0

# ---------------------------------------------------------- stop, start, die
ringdump cycle 100 -q -p "$vm" -n 200000 >cycle 2>&1
like "100 times start and stop in one session" "$(cat cycle)" '^Y cycles=100 records=[1-9]'
at_most "few of them without a sample" "$(sed -n 's/.*empty=//p' cycle)" 20
good=0
for i in 1 2 3 4 5; do ringdump cycle 1 -q -p "$vm" -n 200000 >/dev/null && good=$((good + 1)); done
is "5 sessions one after another" "$good" 5
ringdump dump -p "$vm" -n 50000 -s 2 -z -r 65536 >full 2>&1
at_least "a ring that is not read is full" "$(total full full)" 100
is "and every loss is counted" "$(($(total full interrupts) - $(total full filtered)))" "$(($(grep -c ^S full) + $(total full full)))"
# what it reads is not written out: that takes longer than to fill the other half
ringdump dump -q -p "$vm" -n 50000 -s 240 -w -r 8388608 >wake 2>&1
at_least "poll() wakes a reader that waits for half a ring" "$(sed -n 's/^W wakeups=//p' wake)" 2
is "early enough to lose nothing" "$(total wake full)" 0
ringdump dump -q -p "$vm" -n 200000 -s 60 >killed 2>&1 &
reader=$!
lab_wait 120 grep -q started killed
fails "the module cannot be unloaded while it samples" rmmod vmprof
fails "nor a second session be started" ringdump dump -p "$vm" -s 1
kill -9 $reader
wait $reader 2>/dev/null
is "kill -9 of the reader stops sampling" "$(lsmod | awk '$1 == "vmprof" { print $3 }') $(grep -c vmprof /sys/devices/system/cpu/hotplug/states)" "0 0"

# ------------------------------------------------------------- CPU hotplug
ringdump dump -p "$vm" -n 200000 -s 120 >hotplug 2>&1 &
reader=$!
lab_wait 120 grep -q started hotplug
sleep 1
echo 0 >/sys/devices/system/cpu/cpu1/online
sleep 1
echo 1 >/sys/devices/system/cpu/cpu1/online
sleep 2
kill $reader
wait $reader
is "a session survives CPU hotplug" "$?" 0
# samples of pCPU 1 before and after the longest time without one, and is that over 0.8 s
back=$(awk -v least=$(($(sed 's/.*tsc_khz=\([0-9]*\).*/\1/' <<<"$query") * 800)) '/^S cpu=1 / { split($3, a, "="); n++
		if (n > 1 && a[2] - last > gap) { gap = a[2] - last; at = n - 1 }
		last = a[2] }
	END { print at + 0, n - at, (gap > least) }' hotplug)
like "and samples the pCPU before and after" "$back" '^[1-9][0-9]* [1-9][0-9]* 1$'

# ------------------------------------------------------------- two guests
monitor g1 stop >/dev/null		# it would take both pCPUs from a guest that boots
ok "a second guest runs" tiny g2
monitor g1 cont >/dev/null
vm2=$(cat g2.pid)
ringdump dump -p "$vm" -n 200000 -s 2 >one 2>&1
is "the filter shows no state of the other guest" "$(count one 'v["flags"] ~ /V/ && v["vm"] != A' "$vm")$(count one 'v["mode"] < 3 && v["vm"] != A' "$vm")" 00
ringdump dump -a -n 200000 -s 2 >all 2>&1
is "without a filter both are seen" "$(values all 'v["mode"] == 0' vm)" "$(printf '%s\n' "$vm" "$vm2" | sort | tr '\n' ' ')"
tiny_end g2
tiny_end g1
ok "the module unloads" rmmod vmprof
lab_wait 120 modprobe -r kvm_amd
modprobe vmprof
like "without KVM's vendor module START says so" "$(ringdump dump -a -s 1 2>&1)" 'start: No such device'
modprobe kvm_amd
# once a boot the kernel's own unwinder may say, to whoever walks a stack there, that it lacks a register
unlike "the kernel has nothing to complain about" "$(dmesg | grep -v -E 'WARNING: missing R[0-9A-Z]+ value at |perf gives no counter for the sampling event .error -16.')" \
	'WARNING:|BUG:|Oops|vmprof: (pCPU|kvm|this)'
cd /
cp "$work"/{pmc,timer,steal,hotplug,all,refuse} /out/ 2>/dev/null
rm -rf "$work"
finish

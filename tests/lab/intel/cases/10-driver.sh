#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The host module on VMX: what it samples of tiny guests whose profile is known beforehand, by the
# timer; why they left; and that it comes and goes. The words lab.cycles=N for L1's kernel (run
# --append) say how often.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 37
cycles=$(sed -n 's/.*lab\.cycles=\([0-9]*\).*/\1/p' /proc/cmdline)
cycles=${cycles:-100}

# L1 has one pCPU, the guests two vCPUs, and QEMU says so
tiny_quiet() { tiny "$@" 2>>qemu.log; }

modprobe vmprof
tiny_init twoloops
ok "a guest with two loops runs" tiny_quiet g1
vm=$(cat g1.pid)
ringdump dump -p "$vm" -t -n 2000000 -s 6 >timer 2>&1
monitor g1 stop >/dev/null		# it would take two thirds of the only pCPU
guest='v["mode"] == 0'
user='v["mode"] == 0 && v["cpl"] == 3'
at_least "guest samples" "$(count timer "$guest")" 1000
is "all by the timer's interrupt, none by NMI" "$(count timer 'v["flags"] !~ /T/ || v["flags"] ~ /I/')" 0
is "exit reason 1, external interrupt, and its vector is valid" \
	"$(values timer "$guest" exit)$(values timer "$guest" info | grep -c '^0x800000[0-9a-f]* $')" "0x1 1"
is "the vendor, the VM and its threads" \
	"$(values timer "$guest" vendor)$(values timer "$guest" vm)$(count timer "$guest"' && (v["tid"] != v["vcpu_tid"] || v["pid"] != v["vm"])')" "2 $vm 0"
long=$(count timer "$user"' && v["gip"] ~ A && v["vcpu"] == 0' "$(at loop_long)")
short=$(count timer "$user"' && v["gip"] ~ A && v["vcpu"] == 0' "$(at loop_short)")
other=$(count timer "$user"' && v["gip"] ~ A && v["vcpu"] == 1' "$(at loop_other)")
at_least "guest user addresses are in the loops (per mille)" \
	"$(per_mille $((long + short + other)) "$(count timer "$user")")" 990
at_least "samples of the two loops" $((long + short)) 400
share "a loop three times as long has three of four samples" "$long" $((long + short)) 750
is "guest kernel addresses have CPL 0, user addresses CPL 3" \
	"$(count timer "$guest"' && (v["gip"] ~ /^0xffffffff/) != (v["cpl"] == 0)')" 0
is "both in 64-bit mode" "$(count timer "$guest"' && v["flags"] !~ /VL/')" 0
want=$(monitor g1 'info registers -a' | grep -o 'CR3=[0-9a-f]*' | sed 's/CR3=0*/0x/' | sort -u | tr '\n' ' ')
is "the CR3s are those that QEMU shows" "$(values timer "$user" cr3)" "$want"
is "one for each process" "$(values timer "$user"' && v["vcpu"] == 0' cr3 | wc -w) $(wc -w <<<"$want")" "1 2"
is "nothing was lost" "$(total timer full) $(total timer nested) $(total timer state)" "0 0 0"
is "every interrupt is a sample or was filtered" "$(($(total timer interrupts) - $(total timer filtered)))" "$(grep -c ^S timer)"
is "the clock is KVM's" "$(sed -n 's/^C.*vcpu=0 .*offset=\(-*[0-9]*\) .*/\1/p' timer | head -n 1)" \
	"$(cat /sys/kernel/debug/kvm/"$vm"-*/vcpu0/tsc-offset)"
is "with VMX's fraction bits" "$(sed -n 's/^C.*vcpu=0 .*frac=\([0-9]*\) .*ratio=\([0-9]*\).*/\1 \2/p' timer | head -n 1)" "48 $((1 << 48))"
monitor g1 cont >/dev/null
sh -c 'while :; do :; done' &
hog=$!
ringdump dump -p "$vm" -t -n 2000000 -s 2 >steal 2>&1
kill $hog
monitor g1 stop >/dev/null
at_least "another task in a vCPU's place is steal" \
	"$(count steal 'v["mode"] == 4 && v["flags"] ~ /S/ && v["vm"] == A && v["vcpu_tid"] > 0' "$vm")" 200
at_least "... that says where its guest was (per mille)" "$(per_mille \
	"$(count steal 'v["flags"] ~ /S/ && v["cr3"] != "0" && (v["gip"] ~ A || v["cpl"] == 0)' "$(at loop_long)|$(at loop_short)|$(at loop_other)")" \
	"$(count steal 'v["flags"] ~ /S/')")" 990
monitor g1 cont >/dev/null
tiny_end g1

# ------------------------------------------------------------ why it left
# one page at a time, and a timer that is set by an MSR which KVM does not handle on its fast path
echo never >/sys/kernel/mm/transparent_hugepage/enabled
tiny_init exits
ok "a guest runs that leaves in many ways" tiny_quiet g2 lapic=notscdeadline
vm=$(cat g2.pid)
ringdump dump -p "$vm" -t -n 2000000 -s 8 >exits 2>&1
monitor g2 stop >/dev/null
# KVM's own samples, which say what it handles
grep '^S.* mode=1 .* flags=V' exits >left
# left REASON [CONDITION] - such samples after a certain exit
left() { count left 'v["exit"] == "'"$1"'"'" ${2:-}"; }
places() { values left 'v["exit"] == "'"$1"'"' gip; }
place() { sed -n "s/.*$1=\(0x[0-9a-f]*\).*/\1/p" g2.console; }
at_least "CPUID (10)" "$(left 0xa)" 50
is "... all at its place" "$(places 0xa)" "$(place at_cpuid) "
at_least "I/O (30)" "$(left 0x1e)" 20
is "... all at its place" "$(places 0x1e)" "$(place at_io) "
at_least "memory that is nobody's (49)" "$(left 0x31)" 20
is "... all at its place" "$(places 0x31)" "$(place at_mmio) "
at_least "EPT violations (48)" "$(left 0x30)" 10
# a fresh page is first touched by the kernel that clears it
often=$(grep ' exit=0x30 ' left | grep -o 'gip=[^ ]*' | sort | uniq -c | sort -rn | sed -n '1s/^ *\([0-9]*\) gip=/\1 /p')
often=${often:-0 0}
like "... most often where the guest's kernel clears it" "$(instructions g2 "${often#* }")" '^rep stos[bq] $'
at_least "... (per mille)" "$(per_mille "${often% *}" "$(left 0x30)")" 800
at_least "HLT (12)" "$(left 0xc)" 3
is "... all at one" "$(instructions g2 "$(places 0xc)")" "hlt "
at_least "WRMSR (32)" "$(left 0x20)" 5
is "... all at one" "$(instructions g2 "$(places 0x20)")" "wrmsr "
is "... the last two in the guest's kernel" "$(left 0xc '&& v["cpl"] != 0')$(left 0x20 '&& v["cpl"] != 0')" 00

# ------------------------------------------------------------ it comes and goes
monitor g2 cont >/dev/null
is "sessions, each by a module that was loaded anew" "$(reload "$vm" "$cycles")" "$cycles"
tiny_end g2
ok "the module unloads" rmmod vmprof
lab_wait 30 modprobe -r kvm_intel
modprobe vmprof
like "without KVM's vendor module START says so" "$(ringdump dump -a -t -s 1 2>&1)" 'start: No such device'
rmmod vmprof
modprobe kvm_intel
# Bochs's CPUID has no number of cores, which Linux 6.12 finds strange before it knows panic_on_warn
unlike "the kernel has nothing to complain about" "$(dmesg | grep -v 'WARNING: .*parse_legacy')" \
	'WARNING:|BUG:|Oops|vmprof: (pCPU|kvm|this)'
cd /
cp "$work"/{timer,steal,exits,qemu.log} /out/
rm -rf "$work"
finish

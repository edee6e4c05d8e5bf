#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The host module on VMX: why a guest left, at which of its instructions; and that the module comes and goes
# beside it. The words lab.cycles=N for L1's kernel (run --append) say how often.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 19
cycles=$(sed -n 's/.*lab\.cycles=\([0-9]*\).*/\1/p' /proc/cmdline)
cycles=${cycles:-100}

# L1 has one pCPU, the guests two vCPUs, and QEMU says so
tiny_quiet() { tiny "$@" 2>>qemu.log; }

modprobe vmprof
# one page at a time, and a timer that is set by an MSR which KVM does not handle on its fast path
echo never >/sys/kernel/mm/transparent_hugepage/enabled
tiny_init exits
ok "a guest runs that leaves in many ways" tiny_quiet g2 lapic=notscdeadline
vm=$(cat g2.pid)
ringdump dump -p "$vm" -t -n 2000000 -s 20 >exits 2>&1
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
cp "$work"/{exits,qemu.log,g2.console} /out/
rm -rf "$work"
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# Samples by NMIs that another pCPU sends (run --cpus 2): they are an event of perf's (nmipmu), and
# go the way of a counter's overflow, through KVM, vmprof's handler and its rings. Nothing but the
# VMCS says whose such an overflow is; who is right is seen by where KVM calls the NMI's handler itself.
. /src/tests/lab/lib.sh
. /src/tests/lab/cases/tiny.sh
plan 24

is "two pCPUs" "$(nproc)" 2
modprobe vmprof
like "without a PMU the module has only the timer" "$(ringdump query)" ' features=0xa vendor=2 '
ok "a PMU is made of NMIs" modprobe nmipmu
query=$(ringdump query)
like "... which the module takes for one" "$query" ' features=0xb vendor=2 '
khz=$(sed -n 's/.* tsc_khz=\([0-9]*\) .*/\1/p' <<<"$query")
tiny_init twoloops
taskset -pc 0 $$ >/dev/null
ok "a guest runs on the first pCPU" tiny g1 2>qemu.log
vm=$(cat g1.pid)
taskset -c 1 ringdump dump -p "$vm" -n $((2 * khz)) -s 6 >nmi 2>&1
monitor g1 stop >/dev/null
# a pass over the samples takes its time here
grep '^S.* mode=0 ' nmi >guest
grep '^S.* mode=[1-9] ' nmi >host
grep ' cpl=3 ' guest >user

at_least "guest samples" "$(wc -l <guest)" 1000
is "each sample came by NMI, none by the timer" "$(grep -c '^S.* flags=[VCSNL]*I ' nmi)" "$(grep -c ^S nmi)"
is "all on the first pCPU" "$(grep -c '^S cpu=0 ' nmi)" "$(grep -c ^S nmi)"
is "exit reason 0, exception or NMI, and its information is a valid NMI's" "$(values guest 1 exit)$(values guest 1 info)" "0 0x80000202 "
is "the VM and its threads" \
	"$(values guest 1 vm)$(count guest 'v["tid"] != v["vcpu_tid"] || v["pid"] != v["vm"]')" "$vm 0"
long=$(count user 'v["gip"] ~ A && v["vcpu"] == 0' "$(at loop_long)")
short=$(count user 'v["gip"] ~ A && v["vcpu"] == 0' "$(at loop_short)")
other=$(count user 'v["gip"] ~ A && v["vcpu"] == 1' "$(at loop_other)")
at_least "guest user addresses are in the loops (per mille)" \
	"$(per_mille $((long + short + other)) "$(wc -l <user)")" 990
at_least "samples of the two loops" $((long + short)) 300
share "a loop three times as long has three of four samples" "$long" $((long + short)) 750
is "guest kernel addresses have CPL 0, user addresses CPL 3" \
	"$(count guest '(v["gip"] ~ /^0xffffffff/) != (v["cpl"] == 0)')" 0
is "the CR3s are those that QEMU shows" "$(values user 1 cr3)" \
	"$(monitor g1 'info registers -a' | grep -o 'CR3=[0-9a-f]*' | sed 's/CR3=0*/0x/' | sort -u | tr '\n' ' ')"
at_least "samples of KVM and QEMU" "$(grep -c ' mode=[12] ' host)" 20
at_least "... with the vCPU that KVM works for" "$(grep -c ' mode=1 .* flags=V' host)" 5

at_least "... among them NMIs between a guest's exit by an interrupt and what KVM does with it" \
	"$(count host 'v["mode"] == 1 && v["flags"] ~ /V/ && v["exit"] == "0x1"')" 20

# KVM calls the handler of an NMI that ended a guest's run; any other NMI the processor delivers
place=$(values guest 1 hip)
like "KVM handed all of the guest's NMIs on from one place" "$place" '^0x[0-9a-f]+ $'
like "... for that" "$(awk -v at="$(printf %s "${place#0x}" | tr -d ' ')" \
	'$1 <= at && $1 > best { best = $1; name = $3 } END { print name }' /proc/kallsyms)" '^vmx_do_.*nmi_irqoff$'
is "... and none of the others" "$(grep -c " hip=$place" host)" 0
is "nothing was lost" "$(total nmi full) $(total nmi nested) $(total nmi state) $(total nmi throttled)" "0 0 0 0"
is "every NMI is a sample or was filtered" \
	"$(total nmi interrupts) $(($(total nmi interrupts) - $(total nmi filtered)))" \
	"$(cat /sys/module/nmipmu/parameters/overflows) $(grep -c ^S nmi)"
monitor g1 cont >/dev/null
tiny_end g1
ok "the modules unload" rmmod vmprof nmipmu
cd /
cp "$work"/{nmi,g1.console,qemu.log} /out/
rm -rf "$work"
finish

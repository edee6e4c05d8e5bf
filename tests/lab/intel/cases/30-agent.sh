#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The whole profiler on an Intel host: a small guest under libvirt with the real agent and module
# (intel/guest), profiled by vmprof start, stop and report; and again with page-table isolation.
. /src/tests/lab/lib.sh
plan 39
f=/out/small.vmprof
small=/usr/share/vmprof-lab/small/initrd

mkdir -p /run/lab
cat >/run/lab/small.xml <<END
<domain type='kvm'>
  <name>small</name>
  <memory unit='MiB'>192</memory>
  <vcpu>1</vcpu>
  <os>
    <type arch='x86_64' machine='pc'>hvm</type>
    <kernel>/run/lab/guest/vmlinuz</kernel>
    <initrd>$small</initrd>
    <cmdline>console=ttyS0 $LAB_GUEST_CMDLINE</cmdline>
  </os>
  <features><acpi/><apic/><pmu state='off'/></features>
  <cpu mode='host-passthrough'/>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <controller type='usb' model='none'/>
    <controller type='virtio-serial' index='0' ports='2'/>
    <serial type='file'><source path='/out/small.console'/><target port='0'/></serial>
    <memballoon model='none'/>
    <channel type='unix'>
      <source mode='bind' path='/run/libvirt/qemu/small.vmprof.sock'/>
      <target type='virtio' name='$LAB_AGENT_PORT'/>
    </channel>
  </devices>
</domain>
END
# of a first try that failed
if pgrep libvirtd >/dev/null; then
	vmprof stop >/dev/null 2>&1
	virsh -q destroy small
	virsh -q undefine small
	pkill libvirtd
	lab_wait 30 sh -c '! pgrep libvirtd'
fi
ok "libvirtd starts" libvirtd -d
lab_wait 60 virsh -q list
ok "a small guest is defined" virsh -q define /run/lab/small.xml
ok "... and started" virsh -q start small
ok "... and up, with its agent" lab_wait 240 grep -q ready /out/small.console
ok "... and with PCIDs in its CR3s: all below is told by such numbers" grep -q "CR3s have PCIDs" /out/small.console
output=$(vmprof start --domain small --period 2ms --output $f 2>&1) || bail "start" "$output" "$(cat /out/small.console)"
pass "start"
like "... says that the timer samples" "$output" 'no usable performance counter: sampling by timer'
like "... and that the agent answers" "$output" 'small: the agent answers, guest kernel '
sleep 40
output=$(vmprof stop 2>&1) || bail "stop" "$output"
pass "stop"
sed 's/^/# /' <<<"$output"
virsh -q destroy small
vmprof report --limit 15 $f 2>&1 | sed 's/^/# /'
vmprof report --json --limit 0 $f >/run/lab/report.json
json() { jq -r "$1" /run/lab/report.json; }
at_least "guest samples" "$(json .totals.guest_samples)" 1000
is "the trigger is the timer" "$(json .capture.trigger)" timer
at_least "95 % of guest samples have a process" \
	"$(json '.totals.resolved_process * 100 / .totals.guest_samples')" 95
# burn-a and the burn-bs take turns on the vCPU
is "the guest's programs lead, under their own names, however short they ran" \
	"$(json '[.domains[0].rows[] | select(.side == "guest_user")][:2] | map(.function + " " + .process) | sort | join(", ")')" \
	"burn_a_work burn-a, burn_b_work burn-b"
at_least "guest kernel functions have names" \
	"$(json '[.domains[0].rows[] | select(.side == "guest_kernel" and (.function | test("^[a-z_]")))] | length')" 10

# what exits cost: of the three ways in which the guest's program leaves, each from a function or label of its own
vmprof report --exits --limit 15 $f 2>&1 | sed 's/^/# /'
vmprof report --exits --json --limit 0 $f >/run/lab/exits.json
# cost REASON [FUNCTION] - samples of the host's work for such exits
cost()
{
	jq "[.domains[0].rows[] | select(.exit == \"$1\" and (\"${2:-}\" == \"\" or .function == \"${2:-}\" and .process == \"exits\")).samples] | add // 0" /run/lab/exits.json
}
while read -r reason function; do
	at_least "$reason has a cost" "$(cost "$reason")" 30
	all=$(cost "$reason")
	at_least "... which is $function's (per cent)" "$(($(cost "$reason" "$function") * 100 / (all > 0 ? all : 1)))" 90
done <<-END
	CPUID at_cpuid
	IO_INSTRUCTION at_io
	EPT_MISCONFIG leave_by_mmio
END
# few: the host is rarely sampled while it handles the timer before; which of its two timers KVM takes is its own matter
at_least "timers have theirs in the guest's programs" "$(jq '[.domains[0].rows[] |
	select((.exit == "EXTERNAL_INTERRUPT" or .exit == "PREEMPTION_TIMER") and (.process | test("^(burn-[ab]|exits)$"))).samples] | add // 0' /run/lab/exits.json)" 3
is "all of the VMM's time is in a row" "$(jq '[.domains[0].rows[].samples] | add' /run/lab/exits.json)" "$(json .totals.vmm)"
is "nothing was lost" "$(json .losses.driver.total)" 0

# the same guest with page-table isolation: its CR3s have a PCID, and bit 12 tells the halves, whose PCIDs differ, too.
# what keeps processors from speculating stays off: it costs time
virsh -q undefine small
isolated="spectre_v2=off spec_store_bypass_disable=off retbleed=off mds=off tsx_async_abort=off l1tf=off srbds=off mmio_stale_data=off indirect_target_selection=off pti=on"
sed -e "s/mitigations=off/$isolated/" -e s,/out/small.console,/out/isolated.console, /run/lab/small.xml >/run/lab/isolated.xml
f=/out/isolated.vmprof
ok "the guest is defined anew, with page-table isolation" virsh -q define /run/lab/isolated.xml
ok "... and started" virsh -q start small
ok "... and up, with its agent" lab_wait 300 grep -q ready /out/isolated.console
ok "... with PCIDs in its CR3s" grep -q "CR3s have PCIDs" /out/isolated.console
ok "... and two halves of its page tables" grep -q "page tables are isolated" /out/isolated.console
# the CR3s themselves: user code has bit 12 and a PCID with bit 11 below it, the kernel neither, but a PCID, too
/usr/share/vmprof-lab/driver/ringdump dump -p "$(cat /run/libvirt/qemu/small.pid)" -t -n 2000000 -s 20 >/run/lab/cr3s 2>&1
# halves CPL - samples of it whose CR3 has a PCID, and is of the user's half, and of the kernel's
halves()
{
	local cr3 user=0 kernel=0
	while read -r cr3; do
		if [ $((cr3 & 0x1800)) = $((0x1800)) ] && [ $((cr3 & 0x7ff)) != 0 ]; then
			user=$((user + 1))
		elif [ $((cr3 & 0x1800)) = 0 ] && [ $((cr3 & 0x7ff)) != 0 ]; then
			kernel=$((kernel + 1))
		fi
	done < <(sed -n "s/.* mode=0 .* cpl=$1 .* cr3=\([^ ]*\) .*/\1/p" /run/lab/cr3s)
	echo "$user $kernel"
}
read -r user kernel <<<"$(halves 3)"
read -r user0 kernel0 <<<"$(halves 0)"
echo "# CR3s with PCIDs: of user code $user in the user's half, $kernel in the kernel's; of the kernel $user0, $kernel0"
at_least "user code is sampled with bit 12 and a PCID in CR3" "$user" 100
at_least "the kernel with a PCID, and without bit 12" "$kernel0" 20
output=$(vmprof start --domain small --period 2ms --output $f 2>&1) || bail "start" "$output" "$(cat /out/isolated.console)"
pass "start"
sleep 40
output=$(vmprof stop 2>&1) || bail "stop" "$output"
pass "stop"
virsh -q destroy small
vmprof report --limit 15 $f 2>&1 | sed 's/^/# /'
vmprof report --json --limit 0 $f >/run/lab/report.json
at_least "guest samples" "$(json .totals.guest_samples)" 1000
at_least "95 % of guest samples have a process" \
	"$(json '.totals.resolved_process * 100 / .totals.guest_samples')" 95
is "the guest's programs lead, under their own names" \
	"$(json '[.domains[0].rows[] | select(.side == "guest_user")][:2] | map(.function + " " + .process) | sort | join(", ")')" \
	"burn_a_work burn-a, burn_b_work burn-b"
# of PROCESS SIDE - samples of it
of() { json "[.domains[0].rows[] | select(.process == \"$1\" and .side == \"$2\") | .samples] | add // 0"; }
at_least "a short program has its user code, on the one half" "$(of burn-b guest_user)" 50
at_least "... and what the kernel did for it, on the other" "$(of burn-b guest_kernel)" 10
is "no sample is in code that its process has not mapped" "$(json '.domains[0].unresolved.no_mapping')" 0
is "nothing was lost" "$(json .losses.driver.total)" 0
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# What the guest module's device refuses; a million calls of nonsense on it, in a guest that panics at a warning.
. /src/tests/lab/cases/common.sh
plan 12

case_guest web01 || bail "web01 is up with its agent"
case_idle
vmprof attach --domain web01 > /dev/null || bail "attach"	# the agent runs where its channel is
lab_guest_put web01 "$LAB_SHARE"/ioctls/{ioctls,refuse} /opt/ioctls
lab_ssh web01 'systemctl stop vmprof-agent; modprobe vmprof_guest'
boot=$(lab_ssh web01 cat /proc/sys/kernel/random/boot_id)
# bytes_at ADDRESS: of the kernel's symbol there, by VMPG_IOC_SYMBOL
bytes_at()
{
	lab_ssh web01 "perl -e 'open F, q(+<), q(/dev/vmprof_guest) or die; \$b = pack q(QQ), hex shift, 0;
		ioctl F, 0xc0105645, \$b or die; print unpack q(x8Q), \$b' $1"
}
read -r program next <<< "$(lab_ssh web01 "grep -F '[bpf]' /proc/kallsyms | sort | head -2 | cut -d' ' -f1 | tr '\n' ' '")"
bytes=$(bytes_at "$program")
ok "it knows how long a BPF program is: ${bytes:-?} bytes" [ "${bytes:-0}" -gt 0 -a "${bytes:-0}" -le $((0x${next:-0} - 0x${program:-0})) ]
fails "the device is root's and the agent's" lab_ssh web01 'setpriv --reuid 65534 --clear-groups /opt/ioctls/ioctls guest 1 1'
refused=$(lab_ssh web01 /opt/ioctls/refuse 2>&1)
is "what it refuses is refused, by the right error" "$(grep -v '^ok ' <<< "$refused")" 1..32
at_least "... all of that was asked" "$(grep -c '^ok ' <<< "$refused")" 32
said=$(lab_ssh web01 '/opt/ioctls/ioctls -t 2 guest 1000000 0' 2>&1)
sed 's/^/# /' <<<"$said"
# has FIELD - its number
has() { grep -o " $1=[0-9]*" <<<"$said" | cut -d= -f2; }
like "a million calls" "$said" "^1000000 calls, [1-9][0-9]{4,} of them succeeded"
at_least "... among them starts" "$(has start)" 50
at_least "... and snapshots" "$(has snapshot)" 50
at_least "... and reads" "$(has read)" 100
is "the guest is the same" "$(lab_ssh web01 cat /proc/sys/kernel/random/boot_id)" "$boot"
ok "the module can be unloaded" lab_ssh web01 'rmmod vmprof_guest'
ok "... and serves the agent again" lab_ssh web01 'systemctl start vmprof-agent && grep -q "^vmprof_guest " /proc/modules'
ok "... whose host hears it" lab_wait 20 sh -c 'vmprof doctor --domain web01 | grep -q "^ok  web01: the agent answers"'
finish

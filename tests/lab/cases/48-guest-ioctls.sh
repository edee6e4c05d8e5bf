#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A million calls of nonsense on the guest module's device, in a guest that panics at a warning.
. /src/tests/lab/cases/common.sh
plan 6

case_guest web01 || bail "web01 is up with its agent"
case_idle
lab_guest_put web01 "$LAB_SHARE/storm/ioctls" /opt/storm
lab_ssh web01 'systemctl stop vmprof-agent; modprobe vmprof_guest'
boot=$(lab_ssh web01 cat /proc/sys/kernel/random/boot_id)
fails "the device is root's and the agent's" lab_ssh web01 'setpriv --reuid 65534 --clear-groups /opt/storm/ioctls 1 1'
like "a million calls" "$(lab_ssh web01 '/opt/storm/ioctls 1000000 1' 2>&1)" "^1000000 calls, [1-9][0-9]{4,} of them succeeded"
is "the guest is the same" "$(lab_ssh web01 cat /proc/sys/kernel/random/boot_id)" "$boot"
ok "the module can be unloaded" lab_ssh web01 'rmmod vmprof_guest'
ok "... and serves the agent again" lab_ssh web01 'systemctl start vmprof-agent && grep -q "^vmprof_guest " /proc/modules'
ok "... whose host hears it" lab_wait 20 sh -c 'vmprof doctor --domain web01 | grep -q "^ok  web01: the agent answers"'
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The agent's RPM in a guest: install, the channel comes and goes, upgrade, erase, install again.
. /src/tests/lab/cases/common.sh
plan 20

lab_guest_destroy web04 2> /dev/null
if ! lab_guest_start web04 --mem 384 || ! lab_guest_wait web04; then bail "web04 is up"; fi
in_guest() { lab_ssh web04 "$@"; }
active() { [ "$(in_guest systemctl is-active vmprof-agent)" = active ]; }
inactive() { ! active; }
loaded() { in_guest grep -q '^vmprof_guest ' /proc/modules; }
rpm=$(compgen -G "$LAB_SHARE/vmprof-guest-agent-*-1.x86_64.rpm")
newer=$(compgen -G "$LAB_SHARE/upgrade/vmprof-guest-agent-*-2.x86_64.rpm")
lab_guest_put web04 "$rpm" "$newer" /root/rpm
release() { in_guest rpm -q --qf '%{RELEASE}' vmprof-guest-agent; }

# --- install, without a channel
ok "install" in_guest rpm -i "/root/rpm/${rpm##*/}"
ok "... without the channel it does not run" inactive
is "... and the package is whole" "$(in_guest rpm -V vmprof-guest-agent 2>&1)" ""

# --- the channel
ok "the channel is plugged in" vmprof attach --domain web04
ok "... that starts the agent" lab_wait 30 active
ok "... with its module" loaded
virsh -q dumpxml web04 | sed -n "/<channel type='unix'>/,/<.channel>/p" > /run/lab/channel.xml
ok "the channel is unplugged" virsh -q detach-device web04 /run/lab/channel.xml --live
ok "... that stops the agent" lab_wait 30 inactive
ok "the channel is plugged in again" vmprof attach --domain web04
ok "... the agent runs" lab_wait 30 active
before=$(in_guest systemctl show -P MainPID vmprof-agent)

# --- upgrade
ok "upgrade to a higher release" in_guest rpm -U "/root/rpm/${newer##*/}"
is "... it is installed, alone" "$(release)" 2
ok "... the agent runs" lab_wait 30 active
ok "... another process than before" test "$(in_guest systemctl show -P MainPID vmprof-agent)" != "$before"

# --- erase
files=$(in_guest rpm -ql vmprof-guest-agent | tr '\n' ' ')
ok "erase" in_guest rpm -e vmprof-guest-agent
is "... no file is left" "$(in_guest "for f in $files; do [ ! -e \$f ] || echo \$f; done")" ""
fails "... no module is loaded" loaded
is "... no unit is left" "$(in_guest 'systemctl list-units --all --no-legend "vmprof*"; systemctl list-unit-files --no-legend "vmprof*"')" ""

# --- again
ok "install again" in_guest rpm -i "/root/rpm/${rpm##*/}"
ok "... the agent runs, as the channel is there" lab_wait 30 active
lab_guest_destroy web04
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# The agent's packages in a guest: upgrade, erase, install again, and nothing is left; the Debian packages.
. /src/tests/lab/cases/packages.sh
plan 50

lab_guest_put web04 "$LAB_SHARE/upgrade/$agent-$version-2.x86_64.rpm" \
	"$LAB_SHARE/upgrade/$kmod-$version-2.x86_64.rpm" /root/rpm2
prebuilt=vmprof-guest-module-$kernel
lab_guest_put web04 "$LAB_SHARE/deb/${agent}_$version-1_amd64.deb" "$LAB_SHARE/deb/${prebuilt}_$version-1_amd64.deb" /root/deb
# all files but those that others write meanwhile, the package managers' own, and what the case brought; the modules' index
state()
{
	in_guest 'find / /run /var -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /var/tmp -o -path /root -o -path /opt -o -path /run/systemd -o -path /run/udev \
		-o -path /run/log -o -path /run/user -o -path /var/lib/rpm -o -path /var/lib/dpkg -o -path /var/lib/systemd -o -path /var/log -o -path /var/cache \) -prune -o -print 2> /dev/null | sort -u
		grep -l vmprof /lib/modules/*/modules.*; sort /etc/passwd /etc/group'
}
# distributions of RPMs have them; they are not in the lab's images, nor are they the packages'
in_guest mkdir -p /usr/share/man/man8 /usr/share/licenses
state > /run/lab/before.txt

in_guest rpm -i "/root/rpm/*.rpm" || bail "install"
vmprof attach --domain web04 || bail "attach"
ok "the agent runs" lab_wait 30 active

# --- upgrade, while a session runs
case_idle
f=/out/upgrade.vmprof
rm -f $f
agent_is() { vmprof status --json | jq -r ".domains[0].agent.$1"; }
# heard GREETINGS - more than so many were heard, the last one of an agent that runs
heard() { [ "$(agent_is hellos)" -gt "$1" ] && [ "$(agent_is state)" = running ]; }
# owner - of the agent's port
owner() { in_guest 'stat -L -c %U /dev/virtio-ports/org.vmprof.agent.0'; }
# run_as NAME - a program that works, under a name of its own
run_as() { in_guest "cp /usr/bin/sha256sum /tmp/$1; timeout 4 /tmp/$1 /dev/zero; rm /tmp/$1"; }
# stays_stopped - the agent, whatever systemd and udev still have to do
stays_stopped()
{
	in_guest 'udevadm settle; sleep 5'
	ok "... it stays stopped" inactive
	ok "... and can be begun" in_guest systemctl start vmprof-agent
}
ok "a session begins" vmprof start --domain web04 --period 500us --output $f
ok "... and hears the agent" lab_wait 60 heard 0
run_as before
before=$(pid) greetings=$(agent_is hellos)
ok "upgrade to a higher release" in_guest rpm -U "/root/rpm2/*.rpm"
is "... it is installed, alone" "$(installed)" "$kmod-2 $agent-2 "
ok "... the agent runs" lab_wait 30 active
ok "... another process than before" test "$(pid)" != "$before"
ok "... with its module" loaded
undisturbed "... nothing else was begun, ended or restarted"
ok "... the session hears the new one" lab_wait 60 heard "$greetings"
run_as after

# --- erase
greetings=$(agent_is hellos)
ok "erase the module" in_guest rpm -e "$kmod"
fails "... it is not loaded" loaded
ok "... the agent runs without it" lab_wait 30 active
ok "... and says so to the session" lab_wait 60 heard "$greetings"
ok "which ends" vmprof stop
case_report $f || bail "report"
case_json '.domains[0].agent | del(.clock)' | tr -d '\n' | sed 's/^/# /'; echo
# of PROCESS - samples of its user code
of() { case_json "[.domains[0].rows[] | select(.process == \"$1\" and .side == \"guest_user\") | .samples] | add // 0"; }
at_least "before the upgrade a program has its name" "$(of before)" 100
at_least "... and behind it" "$(of after)" 100
never "no sample is in code that its process has not mapped" "$(case_wrong_process)"
is "the report says that the agent went on without its module" "$(case_json .domains[0].agent.went_on_without_module)" true
is "no sample was lost" "$(case_json .losses.driver.total)" 0
is "the port is the agent's" "$(owner)" vmprof-agent
ok "erase the agent" in_guest rpm -e $agent
is "... the port is root's again" "$(owner)" root
state > /run/lab/after.txt
is "... nothing is left: no file, no user" "$(diff /run/lab/before.txt /run/lab/after.txt | grep '^[<>]' | grep -v '/etc/[a-z]*-$')" ""
undisturbed "... nothing else was ended"
is "... no unit" "$(in_guest 'systemctl list-units --all --no-legend "vmprof*"; systemctl list-unit-files --no-legend "vmprof*"')" ""

# --- again
ok "install again" in_guest rpm -i "/root/rpm/*.rpm"
ok "... the agent runs, as the channel is there" lab_wait 30 active
ok "... with its module" loaded
undisturbed "... nothing else was begun, ended or restarted"
ok "stop it, and upgrade" in_guest "systemctl stop vmprof-agent && rpm -U /root/rpm2/*.rpm"
stays_stopped
ok "erase both" in_guest rpm -e "$kmod" $agent
fails "... no module of theirs is loaded" loaded

# --- Debian's packages, the module built for this kernel, which dpkg does not know: it is unpacked without its package
fails "dpkg wants the kernel's package" in_guest "dpkg -i /root/deb/*.deb"
ok "dpkg -i without it" in_guest "dpkg --force-depends -i /root/deb/*.deb"
ok "... the agent runs" lab_wait 30 active
is "... as no root" "$(in_guest "stat -c %U /proc/$(pid)")" vmprof-agent
is "... the port is its user's" "$(owner)" vmprof-agent
ok "... with its module" loaded
undisturbed "... nothing else was begun, ended or restarted"
ok "stop it, and install again, which is an upgrade to dpkg" in_guest "systemctl stop vmprof-agent && dpkg --force-depends -i /root/deb/*.deb"
stays_stopped
ok "dpkg --purge" in_guest dpkg --purge "$prebuilt" $agent
is "... the port is root's again" "$(owner)" root
fails "... no module of theirs is loaded" loaded
undisturbed "... nothing else was ended"
state > /run/lab/after.txt
is "... nothing is left" "$(diff /run/lab/before.txt /run/lab/after.txt | grep '^[<>]' | grep -v '/etc/[a-z]*-$')" ""
lab_guest_destroy web04
finish

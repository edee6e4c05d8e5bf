# SPDX-License-Identifier: GPL-2.0-only
#
# packages.sh - web04, a fresh guest to install the agent's packages in; source it.

. /src/tests/lab/cases/common.sh

lab_guest_destroy web04 2> /dev/null
if ! lab_guest_start web04 --mem 384 || ! lab_guest_wait web04; then bail "web04 is up"; fi
in_guest() { lab_ssh web04 "$@"; }
active() { [ "$(in_guest systemctl is-active vmprof-agent)" = active ]; }
inactive() { [ "$(in_guest systemctl is-active vmprof-agent)" = inactive ]; }
loaded() { in_guest grep -q '^vmprof_guest ' /proc/modules; }
pid() { in_guest systemctl show -P MainPID vmprof-agent; }
installed() { in_guest rpm -qa --qf '"%{NAME}-%{RELEASE} "' | tr ' ' '\n' | grep vmprof | sort | tr '\n' ' '; }
# What is active, vmprof's own aside, each service with its process: a restart is a change, too.
# Left out are units of logins, and services that D-Bus starts and that end by themselves.
others()
{
	in_guest 'systemctl list-units --plain --no-legend --state=active --type=service,socket,timer,path,mount,target | cut -d" " -f1 |
			xargs -d "\n" systemctl show -p Id,MainPID --' |
		awk -v RS= '{ gsub("\n", " "); print }' | sort |
		grep -vE 'vmprof|user(-runtime-dir)?@|run-user-|sshd?@|systemd-(hostnamed|localed|timedated)'
}
# undisturbed NAME - nothing began, ended or was restarted since the case's begin
undisturbed() { is "$1" "$(diff <(echo "$others_before") <(others) | grep '^[<>]')" ""; }
in_guest 'timeout 120 systemctl is-system-running --wait' > /dev/null || true	# "degraded" is no matter
others_before=$(others)
[[ $others_before = *MainPID=[1-9]* ]] || bail "the units of web04 are known" "$others_before"
kernel=$(in_guest uname -r)
agent=vmprof-guest-agent
kmod=kmod-vmprof-guest-$kernel
version=$(cat /src/VERSION)
lab_guest_put web04 "$LAB_SHARE/$agent-$version-1.x86_64.rpm" "$LAB_SHARE/$kmod-$version-1.x86_64.rpm" /root/rpm

# SPDX-License-Identifier: GPL-2.0-only
#
# packages.sh - web04, a fresh guest to install the agent's packages in; source it.

. /src/tests/lab/cases/common.sh

lab_guest_destroy web04 2> /dev/null
if ! lab_guest_start web04 --mem 384 || ! lab_guest_wait web04; then bail "web04 is up"; fi
in_guest() { lab_ssh web04 "$@"; }
active() { [ "$(in_guest systemctl is-active vmprof-agent)" = active ]; }
inactive() { ! active; }
loaded() { in_guest grep -q '^vmprof_guest ' /proc/modules; }
pid() { in_guest systemctl show -P MainPID vmprof-agent; }
installed() { in_guest rpm -qa --qf '"%{NAME}-%{RELEASE} "' | tr ' ' '\n' | grep vmprof | sort | tr '\n' ' '; }
kernel=$(in_guest uname -r)
agent=vmprof-guest-agent
kmod=kmod-vmprof-guest-$kernel
version=$(cat /src/VERSION)
lab_guest_put web04 "$LAB_SHARE/$agent-$version-1.x86_64.rpm" "$LAB_SHARE/$kmod-$version-1.x86_64.rpm" /root/rpm

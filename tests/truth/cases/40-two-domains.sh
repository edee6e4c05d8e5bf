#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Two domains on the same pCPUs in one session: no sample of one is the other's.
. /src/tests/truth/lib.sh
truth_plan 2 -1

truth_guest
ok "web02 is up" case_guest web02
virsh -q vcpupin web02 0 0
virsh -q vcpupin web02 1 1
for d in web01 web02; do
	case_guest_run $d 'timeout 900 sh -c "while :; do /opt/burn/burn-a 20; /opt/burn/burn-b 20; ls -l /usr/bin; done"'
done
ok "a session" truth_session two 1500 --period 150000 --domain web01 --domain web02
for d in web01 web02; do lab_ssh $d 'pkill -x timeout' > /dev/null 2>&1; done
truth_judge two --vcpus shared
lab_guest_destroy web02
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# gaps-job.sh LENGTH... - sessions of so many seconds, which are stored on a disk, in the emulator's exact counts; runs on L1.
#
# Facts and counts as driver-job.sh has them.
. /src/tests/truth/lib.sh

fact() { echo "FACT $*"; }

case_guest web01 || { echo "web01 does not run"; exit 1; }
case_idle
virsh -q vcpupin web01 0 0 && virsh -q vcpupin web01 1 1
fact "gap-parameters GAPS='$*'"
modprobe vmprof

set -eE
trap 'echo "gaps-job.sh: line $LINENO failed: $BASH_COMMAND" >&2' ERR
lab_ssh web01 'nohup sh -c "timeout 3600 /opt/burn/burn-a 100000000 & timeout 3600 /opt/burn/burn-b 100000000" > /dev/null 2>&1 < /dev/null &'
# on the disk: a store that is slow has to show
gap_file=/var/tmp/bench.vmprof
fact "gap-store $(df --output=fstype /var/tmp | tail -n 1)"
for length; do
	# the emulator counts from before the session to after it
	truth_start
	vmprof start --domain web01 --period 260000 --output "$gap_file" > /dev/null 2>&1
	sleep "$length"
	vmprof stop > /dev/null 2>&1
	truth_stop "gap-$length.exact"
	vmprof report --json "$gap_file" > /out/gap.json
	fact "gap $length $(jq -r '"\(.losses.filtered) \(.losses.driver.total) \(.totals.samples)"' /out/gap.json)"
	# within a session: whatever the emulating machine does, the guest runs no cycle without a counter
	vmprof start --domain web01 --period 260000 --output "$gap_file" > /dev/null 2>&1
	sleep 3
	truth_start
	sleep "$length"
	truth_stop "within-$length.exact"
	vmprof stop > /dev/null 2>&1
	fact "within $length"
done
fact "gap-tsc-khz $(jq .capture.tsc_khz /out/gap.json)"
rm -f "$gap_file"
lab_ssh web01 'pkill -x timeout' || true

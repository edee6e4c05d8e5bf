#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# demo.sh - runs on the emulated KVM host (L1): boot web01, install the agent, profile, report.
set -euo pipefail
. /src/tests/lab/lib.sh
seconds=30

say() { printf '\n=== %s\n' "$*"; }
show() { printf '\033[1m# %s\033[0m\n' "$*"; "$@"; }

say "This is the KVM host: $(. /etc/os-release; echo "$PRETTY_NAME"), kernel $(uname -r), $(virsh --version | sed 's/^/libvirt /')"
dmesg | grep -E 'Performance Events|kvm_amd: |SVM:' | sed 's/^\[[^]]*\] *//' | head -n 4 || true

say "Starting the domain web01 (a Debian guest with systemd, two vCPUs)"
lab_guest_start web01
lab_guest_wait web01
lab_ssh web01 '. /etc/os-release; echo "web01 is up: $PRETTY_NAME, kernel $(uname -r), $(nproc) vCPUs"'

say "Installing the agent in web01 from its RPM"
lab_guest_install_agent web01

say "The guest works: libquantum factors 33, a shell loop spawns short-lived processes"
lab_guest_workload web01 $((seconds + 120))

say "Profiling it from the host"
show vmprof start --domain web01
echo "profiling for $seconds s"
sleep "$seconds"
show vmprof stop
# they stay when this host goes
mkdir -p /out/captures /out/objects
cp -r /var/lib/vmprof/web01 /out/captures/
cp -r /var/cache/vmprof/objects/. /out/objects/
show vmprof report --limit 25

# the program has no page where npm could not be had
say "The same as a page for the browser"
show vmprof report --html /out/web01.html || true

vmprof report --json | jq -e '.totals | .guest_samples > 0 and .resolved >= 0.99 * .guest_samples' > /dev/null || {
	echo "demo: less than 99 % of the guest's samples have process and function" >&2
	exit 1
}

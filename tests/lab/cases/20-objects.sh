#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# How binaries come from the guest: not at all, by the host's will or by the guest's, and then from a folder with its files; by ssh; by
# an ssh that fails.
. /src/tests/lab/cases/common.sh
plan 30

case_guest web01 || bail "web01 is up with its agent"
case_idle
export VMPROF_OBJCACHE=/run/lab/objects
rm -rf $VMPROF_OBJCACHE
if [ -n "${LAB_SSH_CONFIG:-}" ]; then
	mkdir -p /run/lab/bin
	printf '#!/bin/sh\nexec /usr/bin/ssh -F %s "$@"\n' "$LAB_SSH_CONFIG" > /run/lab/bin/ssh
	chmod +x /run/lab/bin/ssh
	export PATH=/run/lab/bin:$PATH
fi

# session NAME HOW - some seconds of libquantum, what stop says, and how long it takes
session()
{
	rm -f "/out/$1.vmprof"
	ok "$1: start" vmprof start --domain web01 --period 500us --objects "$2" --output "/out/$1.vmprof"
	sleep 8
	case_samples 2000
	took=$SECONDS
	said=$(vmprof stop 2>&1)
	took=$((SECONDS - took))
	echo "$said" | sed 's/^/# /'
}
# quantum - samples of libquantum whose function has a name
quantum() { case_json '[.domains[0].rows[] | select((.module | test("^libquantum")) and (.function | test("^quantum_"))) | .samples] | add // 0'; }
in_cache() { find $VMPROF_OBJCACHE -type f 2> /dev/null | wc -l; }

lab_guest_workload web01 900
session none none
like "it says that they stay there" "$said" 'binaries were left in the guest [(]--objects none[)]'
is "nothing was copied" "$(in_cache)" 0
case_report /out/none.vmprof
is "so functions have no names" "$(quantum)" 0
at_least "but build-id and offset" "$(case_json '[.domains[0].rows[] | select(.function | test("^.libquantum.*[+]0x[0-9a-f]+ build-id [0-9a-f]{16}.$")) | .samples] | add // 0')" 500
is "the report knows why" "$(case_json '.domains[0].objects')" none
like "and says so" "$(vmprof report --limit 3 /out/none.vmprof)" 'left in the guest [(]vmprof start --objects none[)]'

# the guest's operator forbids it, by the drop-in of vmprof-agent(8)
dropin=/etc/systemd/system/vmprof-agent.service.d/no-objects.conf
sed -n '/^\[Service\]$/,/^ExecStart=.*--no-objects$/p' /src/guest-agent/daemon/vmprof-agent.8 | awk '/^\[Service\]$/ { b = "" } { b = b $0 "\n" } END { printf "%s", b }' |
	lab_ssh web01 "mkdir -p ${dropin%/*} && cat > $dropin && systemctl daemon-reload && systemctl restart vmprof-agent" &&
	lab_guest_agent_wait web01 || bail "the drop-in of vmprof-agent(8)"
session forbidden agent
like "the guest hands none over" "$said" 'binaries could not be fetched: [0-9]+ not there or not to be read'
is "nothing was copied but its kernel's symbols" "$(find $VMPROF_OBJCACHE -type f ! -path '*/xx/0' | wc -l)" 0
case_report /out/forbidden.vmprof
is "functions have no names" "$(quantum)" 0
at_least "but build-id and offset" "$(case_json '[.domains[0].rows[] | select(.function | test("^.libquantum.*[+]0x[0-9a-f]+ build-id [0-9a-f]{16}.$")) | .samples] | add // 0')" 500
ok "the guest's operator allows it again" lab_ssh web01 "rm -r ${dropin%/*} && systemctl daemon-reload && systemctl restart vmprof-agent"
lab_guest_agent_wait web01

sysroot=/run/lab/sysroot
rm -rf $sysroot && mkdir $sysroot
lab_ssh web01 'tar -C / -chf - opt/burn' | tar -C $sysroot -xf -
case_report /out/none.vmprof --sysroot $sysroot
at_least "with the guest's files in a folder they have names" "$(quantum)" 500
at_least "libquantum was found there" "$(case_json .files.sysroot.found)" 1
at_least "others were not" "$(case_json .files.sysroot.absent)" 1

session ssh ssh://web01
like "it says that they come by ssh" "$said" 'by ssh from web01'
is "none of them failed" "$(grep -c 'could not be fetched' <<< "$said")" 0
at_least "they are in the cache" "$(in_cache)" 3
like "just as they are in the guest" "$(find $VMPROF_OBJCACHE -type f -exec sha256sum {} + | cut -d' ' -f1)" \
	"^$(lab_ssh web01 'sha256sum < $(find /opt/burn -type f -name "libquantum.so*" | head -n 1)' | cut -d' ' -f1)\$"
case_report /out/ssh.vmprof
at_least "functions have names" "$(quantum)" 500
inodes() { find $VMPROF_OBJCACHE -type f -printf '%i %P\n' | sort; }
before=$(inodes)
session again ssh://web01
is "what is in the cache stays, and is not fetched again" "$(comm -23 <(echo "$before") <(inodes))" ""
case_report /out/again.vmprof
at_least "and has its names" "$(quantum)" 500
is "the collector lost nothing" "$(case_json '[.losses.collector[] | .count] | add // 0')" 0

rm -rf $VMPROF_OBJCACHE
# by address: the lab's configuration has an open connection for the name
session refused ssh://10.77.0.11:9
like "a port where nobody listens: ssh's own words" "$said" 'web01: ssh to 10[.]77[.]0[.]11: .*refused'
like "and how many binaries it costs" "$said" 'binaries could not be fetched: .* when the guest or the way to it was gone'
at_most "without a long wait" "$took" 60
case_quiet web01
finish

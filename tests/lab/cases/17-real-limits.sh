#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A host as distributions set it up: perf's limits on, the NMI watchdog's counter in use, and a
# guest with a virtual PMU. Samples come; what perf throttles is counted, and the report says why.
. /src/tests/lab/cases/common.sh
plan 11

sysctl=/proc/sys/kernel
declare -A lab
for name in perf_cpu_time_max_percent perf_event_max_sample_rate nmi_watchdog; do lab[$name]=$(< $sysctl/$name); done
# perf lets the rate be set only while the share of time is limited
as_in_lab()
{
	echo "${lab[nmi_watchdog]}" > $sysctl/nmi_watchdog
	echo 25 > $sysctl/perf_cpu_time_max_percent
	echo "${lab[perf_event_max_sample_rate]}" > $sysctl/perf_event_max_sample_rate
	echo "${lab[perf_cpu_time_max_percent]}" > $sysctl/perf_cpu_time_max_percent
}
trap as_in_lab EXIT

case_guest web03 --pmu || bail "web03 is up with a virtual PMU"
pass "web03 is up with a virtual PMU"
like "the guest has a PMU of its own" "$(lab_ssh web03 dmesg)" "Performance Events: .*AMD PMU driver"
case_idle
# what it still does after its boot is not looked at here
lab_ssh web03 'timeout 240 systemctl is-system-running --wait' > /dev/null 2>&1
echo 25 > $sysctl/perf_cpu_time_max_percent
echo 100000 > $sysctl/perf_event_max_sample_rate
echo 1 > $sysctl/nmi_watchdog
is "the NMI watchdog runs" "$(< $sysctl/nmi_watchdog)" 1

f=/out/real.vmprof
rm -f $f
case_guest_run web03 'timeout 900 /opt/burn/burn-a 100000000'
ok "start" vmprof start --domain web03 --period 200us --output $f
sleep 10
case_samples 1000 web03
ok "stop" vmprof stop
case_report $f || bail "report"
at_least "samples of the guest" "$(case_json .totals.guest_samples)" 500
at_least "burn_a_work leads them" \
	"$(case_json '[.domains[0].rows[] | select(.function == "burn_a_work").samples][0] * 100 / .totals.guest_samples')" 50

# Faster than the rate that perf permits, on the slowest machine, too
echo 1000 > $sysctl/perf_event_max_sample_rate
f=/out/throttled.vmprof
rm -f $f
ok "start with a period that perf throttles" vmprof start --domain web03 --period 20000 --output $f
sleep 10
ok "stop" vmprof stop
case_report $f || bail "report"
at_least "what was throttled is counted" "$(case_json .losses.driver.throttled)" 1
like "the report says why, and what to look at" "$(vmprof report $f 2>&1)" "LOST [0-9]+ samples .*throttled.*perf_event_max_sample_rate"
case_quiet web03
lab_guest_destroy web03
finish

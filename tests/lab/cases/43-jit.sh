#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# Programs that make code while they run: one that lives at the end of the session, one that has
# ended by then, short ones, two that write a jitdump file, of which one has ended, and one in a container. Then
# Debian's Node.js, in a root of its own (tests/lab/tree), with a map and with a jitdump file.
. /src/tests/lab/cases/common.sh
plan 38

case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01

f=/out/jit.vmprof
rm -f $f
ok "start" vmprof start --domain web01 --period 500us --output $f
case_guest_run web01 'exec /opt/burn/jit steady 600'
case_guest_run web01 'exec /opt/burn/jit ended 5'
case_guest_run web01 'exec /opt/burn/jit dumped 600 dump'
case_guest_run web01 'exec /opt/burn/jit past 5 dump'
# a /tmp and process numbers of its own: the map is /tmp/perf-1.map there
case_guest_run web01 'exec unshare --mount --pid --fork sh -c "mount -t tmpfs none /tmp && exec /opt/burn/jit contained 600"'
# gone NAME - no process of this name is left in the guest
gone() { [ "$(lab_ssh web01 "pgrep -f '$1' || echo none")" = none ]; }
case_samples 4000
lab_wait 120 gone '[j]it (ended|past)'
is "short ones begin and end" "$(lab_ssh web01 'for i in 1 2 3 4 5; do /opt/burn/jit brief 0.5 || echo failed; done')" ""
case_samples 6000
ok "one lives still" lab_ssh web01 'pgrep -f "[j]it steady"'
fails "the other has ended" lab_ssh web01 'pgrep -f "[j]it ended"'
fails "... and one of those with a jitdump file" lab_ssh web01 'pgrep -f "[j]it past"'
ok "stop" vmprof stop
lab_ssh web01 'pkill -9 -x jit; rm -f /tmp/perf-*.map /tmp/jit-*.dump'
case_report $f || bail "report"
echo "# $(case_json '.domains[0].unresolved.anonymous') samples of code that nobody named"
vmprof report --limit 16 $f 2>&1 | sed 's/^/# /'

# samples NAME - of made code, in a process of this program
samples() { case_json "[.domains[0].rows[] | select(.module == \"[jit]\" and .process == \"jit\" and .function == \"$1\") | .samples] | add // 0"; }
# heavy NAME - its share in percent of what both functions of a program have
heavy() { awk -v h="$(samples "$1_heavy")" -v l="$(samples "$1_light")" 'BEGIN { print h + l ? 100 * h / (h + l) : 0 }'; }
for name in steady ended dumped past contained; do
	at_least "$name: its functions have names" "$(samples ${name}_heavy)" 300
	at_least "... and work 3 : 1" "$(heavy $name)" 70
	at_most "... or nearly so" "$(heavy $name)" 80
done
at_least "short ones have names" "$(samples brief_heavy)" 100
at_least "... and work 3 : 1" "$(heavy brief)" 65
at_most "... or nearly so" "$(heavy brief)" 85
is "nothing was lost" "$(case_agent_lost)" 0
is "no sample was lost" "$(case_json .losses.driver.total)" 0

# --- Node.js; without inlining, so that its functions stay functions
[ -f "$LAB_SHARE/node/root.tar" ] || skip_rest Node.js "tests/lab/tree was not run"
lab_ssh web01 'mkdir -p /opt/node && tar -xf - -C /opt/node' < "$LAB_SHARE/node/root.tar" &&
	lab_guest_put web01 /src/tests/lab/workload/hot.js /opt/node || bail "Node.js is in web01"
# node FUNCTION - samples of all that V8 made of it, optimised or not
node() { case_json "[.domains[0].rows[] | select(.module == \"[jit]\" and (.function | test(\"[*~^+]$1 .*hot.js\"))) | .samples] | add // 0"; }
# a map in /tmp, then a jitdump file: that is written when its buffer of 2 MiB is full, and when the program ends
for option in --perf-basic-prof --perf-prof; do
	[ $option = --perf-prof ] && seconds=20 || seconds=600
	f=/out/node.vmprof
	rm -f $f
	ok "Node.js $option: start" vmprof start --domain web01 --period 500us --output $f
	case_guest_run web01 "exec chroot /opt/node node $option --no-turbo-inlining /hot.js $seconds"
	case_samples 4000
	[ $option = --perf-basic-prof ] || lab_wait 240 gone '[h]ot.js'
	ok "Node.js $option: stop" vmprof stop
	lab_ssh web01 'pkill -f "[h]ot.js"; cd /opt/node; head -qn 3 tmp/perf-*.map; ls -l tmp/perf-*.map jit-*.dump; rm -f tmp/perf-*.map jit-*.dump' 2>&1 | sed 's/^/# /'
	case_report $f || bail "report"
	echo "# $(case_json '.domains[0].unresolved.anonymous') samples of code that nobody named"
	vmprof report --limit 16 $f 2>&1 | sed 's/^/# /'
	hot=$(node hot) warm=$(node warm)
	at_least "Node.js $option: a function of JavaScript has its name" "$hot" 500
	at_least "Node.js $option: another has its own" "$warm" 150
	at_least "Node.js $option: they work 3 : 1" "$((100 * hot / (hot + warm + 1)))" 70
	at_most "Node.js $option: ... or nearly so" "$((100 * hot / (hot + warm + 1)))" 80
done
lab_ssh web01 'rm -rf /opt/node'
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A storm of 2,000 short processes of 50 programs, which open a library while they run: all have
# names. The same without the module: the figure is printed, and said why.
. /src/tests/lab/cases/common.sh
plan 20

case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01
lab_guest_put web01 "$LAB_SHARE"/storm/* /opt/storm

# user FILTER - samples of the storm's user code that pass a filter of jq
user() { case_json "[.domains[0].rows[] | select(.side == \"guest_user\" and ($1)) | .samples] | add // 0"; }
storm() { lab_ssh web01 '/opt/storm/storm /opt/storm 2000 50 200000'; }
nameless='.process == "[unknown]" or .module == "[unknown]" or (.function | startswith("["))'

f=/out/storm.vmprof
rm -f $f
ok "start" vmprof start --domain web01 --period 200us --output $f
is "2,000 processes begin and end" "$(storm)" "0 of 2000 failed"
ok "stop" vmprof stop
case_report $f || bail "report"
all=$(user true) bad=$(user "$nameless")
echo "# $all samples of guest user code, $bad of them without process, module or function"
at_least "thousands of samples of user code" "$all" 3000
at_least "99.9 % of them have process, module and function" "$(awk "BEGIN { print 100 - 100 * $bad / $all }")" 99.9
[ "$bad" = 0 ] || case_json ".domains[0].rows[] | select(.side == \"guest_user\" and ($nameless)) | [.samples, .function, .module, .process]" | tr -d '\n' | sed 's/^/# /'
is "no event was lost" "$(case_json '.domains[0].agent.lost | del(.maps_busy, .total) | add // 0')" 0
at_most "exits whose maps were in use, and left out" "$(case_json '.domains[0].agent.lost.maps_busy // 0')" 2
is "no sample was lost" "$(case_json .losses.driver.total)" 0
is "all 50 programs are there by name" \
	"$(case_json '[.domains[0].rows[] | select(.process | test("^child-[0-9]+$")) | .process] | unique | length')" 50
is "each works in its own function" \
	"$(case_json '[.domains[0].rows[] | select(.function | test("^storm_work_")) | (.function | ltrimstr("storm_work_")) == (.process | ltrimstr("child-"))] | unique | tostring')" "[true]"
at_least "the library that they open has its name" "$(user '.function == "storm_plugin_work" and .module == "plugin.so"')" 500

# --- the module is refused
lab_ssh web01 'echo install vmprof_guest /bin/false > /etc/modprobe.d/refused.conf
	systemctl stop vmprof-agent; rmmod vmprof_guest; systemctl start vmprof-agent' || bail "the module is refused"
f=/out/storm-degraded.vmprof
rm -f $f
output=$(vmprof start --domain web01 --period 200us --output $f 2>&1) || bail "start without the module" "$output"
like "without the module start says so" "$output" "runs without its module"
is "the storm again" "$(storm)" "0 of 2000 failed"
like "stop says so too" "$(vmprof stop 2>&1)" "ran without its module"
case_report $f || bail "report"
all=$(user true) bad=$(user "$nameless")
case_json '.domains[0].agent | del(.clock)' | tr -d '\n' | sed 's/^/# /'; echo
echo "# without the module: $((all - bad)) of $all samples of guest user code have process, module and function"
at_least "the user code is there" "$all" 3000
is "none of it is given to a wrong process" \
	"$(user '(.function | test("^storm_work_")) and (.process | test("^child-")) and (.function | ltrimstr("storm_work_")) != (.process | ltrimstr("child-"))')" 0
at_least "processes of the storm are inferred" "$(user '.process | test("^child-")')" 1
is "the report says that they are inferred" "$(case_json '.domains[0].agent.without_module')" true
is "nothing inferred contradicts itself" "$(case_json '.domains[0].agent.contradicted_address_spaces')" 0
lab_ssh web01 'rm /etc/modprobe.d/refused.conf; systemctl restart vmprof-agent'
ok "with the module again" lab_wait 30 lab_ssh web01 'grep -q "^vmprof_guest " /proc/modules'
finish

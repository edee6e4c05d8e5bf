#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A guest without an agent; an agent that is killed and comes back within a session; how seldom processes wake it.
. /src/tests/lab/cases/common.sh
plan 34

case_guest web01 || bail "web01 is up with its agent"
case_idle

# The state of web01's agent as the collector sees it
agent() { vmprof status --json | jq -r ".domains[0].agent.$1"; }
agent_runs_again() { [ "$(agent state)" = running ] && [ "$(agent hellos)" -gt "$1" ]; }

# --- no agent
f=/out/no-agent.vmprof
# the channel's coming would start it
lab_ssh web01 'systemctl mask --now --runtime vmprof-agent' 2> /dev/null
output=$(vmprof start --domain web01 --output $f --period 200000 2>&1) || bail "start without an agent" "$output"
pass "start without an agent"
like "... says so" "$output" "no agent in the guest"
like "... and what to do" "$output" "start it: systemctl start vmprof-agent"
case_guest_run web01 '/opt/burn/burn-a 100000'
sleep 5
case_samples 1000
output=$(vmprof stop 2>&1) || bail "stop without an agent" "$output"
lab_ssh web01 'pkill burn-a'
pass "stop without an agent"
like "... says so again" "$output" "no agent answered"
case_report $f || bail "report without an agent"
at_least "the guest's samples are there" "$(case_json .totals.guest_samples)" 500
is "none of its user samples has a process" "$(case_json '[.domains[0].rows[] | select(.side == "guest_user" and .process == "burn-a")] | length')" 0
is "user code is told apart from the kernel, by side alone" \
	"$(case_json '[.domains[0].rows[] | select(.side | test("^guest")) | .side + ":" + .function] | sort | join(" ")')" \
	"guest_kernel:[guest kernel] guest_user:[unknown user code]"
like "the report says what is missing" "$(vmprof report $f 2>&1)" "no agent"
command=$(vmprof report $f | sed -n 's/.*on the host: \(vmprof attach.*\)/\1/p')
ok "... and the command that it prints works: $command" eval "${command:-false}"
like "doctor says so" "$(vmprof doctor --domain web01)" "^--  web01: no agent answers"

# --- the agent comes while the session runs, is killed, comes back
f=/out/agent-killed.vmprof
vmprof start --domain web01 --output $f --period 200000 > /dev/null 2>&1 || bail "start"
lab_ssh web01 'systemctl unmask --runtime vmprof-agent; systemctl start vmprof-agent' 2> /dev/null
ok "an agent that comes late is heard" lab_wait 120 agent_runs_again 0
before=$(agent hellos)
# "gone" ends while the agent hears it; what runs while nobody hears gets page tables of the dead
lab_ssh web01 'cp /opt/burn/burn-a /tmp/gone; cp /opt/burn/burn-b /tmp/unheard
	for i in 1 2 3 4 5 6 7 8; do /tmp/gone 40; done'
lab_ssh web01 'sleep 0.5; systemctl mask --runtime vmprof-agent; systemctl kill -s KILL vmprof-agent; sleep 1
	for i in 1 2 3 4 5 6 7 8; do /tmp/unheard 100; done
	systemctl unmask --runtime vmprof-agent; systemctl restart vmprof-agent' 2> /dev/null
ok "after kill -9 it is heard again" lab_wait 120 agent_runs_again "$before"
lab_ssh web01 '/opt/burn/burn-a 300'
lab_ssh web01 '/opt/burn/burn-b 300'
output=$(vmprof stop 2>&1) || bail "stop" "$output"
pass "stop"
case_report $f --by process || bail "report"
is "processes after the restart are named" \
	"$(case_json '[.domains[0].rows[] | select(.process == "burn-a" or .process == "burn-b")] | length')" 2
case_report $f || bail "report"
# samples CONDITION - user samples of such rows
samples() { case_json "[.domains[0].rows[] | select(.side == \"guest_user\" and ($1)) | .samples] | add // 0"; }
at_least "a program that ended before the kill has its function" \
	"$(samples '.process == "gone" and .function == "burn_a_work"')" 1
# addresses are random in each process: what is not its own has no mapping in it
is "no sample of what nobody heard carries a dead process's name" \
	"$(samples '.process == "gone" and .function == "[unmapped user code]"')" 0
at_least "... they are of an unknown process" "$(samples '.function == "[unknown user code]"')" 100
at_least "the report knows of several conversations" "$(case_json '.domains[0].agent.conversations')" 2
is "the agents lost nothing" "$(case_agent_lost)" 0
is "no sample was lost" "$(case_json .losses.driver.total)" 0

# --- processes of known files wake it seldom; a program that is written over in place is another one at once
f=/out/agent-quiet.vmprof
vmprof start --domain web01 --output $f --period 200000 > /dev/null 2>&1 || bail "start"
ok "the agent is heard" lab_wait 120 agent_runs_again 0
# woken - how often it has been, until now
woken() { lab_ssh web01 'cat /proc/$(systemctl show -P MainPID vmprof-agent)/status' | awk '/^voluntary_ctxt_switches/ { print $2 }'; }
lab_ssh web01 'for i in 1 2 3; do /usr/bin/true; done; sleep 2'
before=$(woken)
lab_ssh web01 'for i in $(seq 20); do /usr/bin/true; sleep 0.5; done'
after=$(woken)
echo "# some 40 processes in 10 s woke the agent $((after - before)) times"
at_least "40 processes in 10 s wake it" $((after - before)) 1
at_most "... but seldom" $((after - before)) 120
lab_ssh web01 'cp /opt/burn/burn-a /tmp/over; for i in 1 2 3 4 5; do
	/tmp/over 60; cat /opt/burn/burn-b > /tmp/over; /tmp/over 60; cat /opt/burn/burn-a > /tmp/over; done; rm /tmp/over'
vmprof stop > /dev/null 2>&1
over() { case_json "[.domains[0].rows[] | select(.process == \"over\" and .function == \"$1\") | .samples] | add // 0"; }
case_report $f || bail "report"
echo "# of the program that was written over: $(over burn_a_work) samples of the one, $(over burn_b_work) of the other"
at_least "a program that is written over in place is what it was" "$(over burn_a_work)" 20
at_least "... and what it became" "$(over burn_b_work)" 20
at_most "... and hardly anything else" "$(case_json '[.domains[0].rows[] | select(.process == "over" and .side == "guest_user" and (.module | test("over$")) and (.function | test("^burn_[ab]_work$") | not)) | .samples] | add // 0')" 5

# --- an agent that hangs when the session ends
f=/out/agent-hangs.vmprof
vmprof start --domain web01 --output $f --period 200000 > /dev/null 2>&1 || bail "start"
ok "the agent is heard" lab_wait 120 agent_runs_again 0
lab_ssh web01 '/opt/burn/burn-a 300; systemctl kill -s STOP vmprof-agent'
begun=$SECONDS
output=$(vmprof stop 2>&1)
like "stop says that the agent hangs" "$output" "did not finish its last snapshot in 10 s"
at_most "... and waits no longer" $((SECONDS - begun)) 60
lab_ssh web01 'systemctl kill -s CONT vmprof-agent'
case_report $f --by process || bail "report"
is "what it told before is in the report" \
	"$(case_json '[.domains[0].rows[] | select(.process == "burn-a" and .samples > 50)] | length')" 1

# --- doctor with all in place
# the agent has what it was sent meanwhile before it
ok "doctor finds nothing in the way" lab_wait 30 vmprof doctor --domain web01
output=$(vmprof doctor --domain web01)
like "... hears the agent" "$output" "^ok  web01: the agent answers"
like "... and its clock agrees" "$output" "^ok  web01: the agent's clock agrees"
finish

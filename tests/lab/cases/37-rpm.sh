#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The agent's RPMs in a guest: install, the channel comes and goes, also while a session runs; what the service may do; what is
# killed comes again.
. /src/tests/lab/cases/packages.sh
plan 48

status() { in_guest "sed -n 's/^$1:[[:space:]]*//p' /proc/$(pid)/status"; }

# --- install, without a channel
ok "install" in_guest rpm -i "/root/rpm/*.rpm"
is "... agent and module" "$(installed)" "$kmod-1 $agent-1 "
ok "... without the channel it does not run" inactive
undisturbed "... nothing else was begun, ended or restarted"
is "... and the packages are whole" "$(in_guest rpm -V $agent "$kmod" 2>&1)" ""
like "... they require what they use" "$(in_guest rpm -q --requires $agent)" "^[(]systemd >= 249 if rpm[)]$"
wanted="(kernel-uname-r = $kernel if rpm)"
[[ $kernel != *-*-* ]] || wanted=	# Debian 12's: no version to RPM
is "... the module its kernel" "$(in_guest rpm -q --requires "$kmod" | grep uname)" "$wanted"
like "... and have a changelog" "$(in_guest rpm -q --changelog $agent)" "First package"

# --- the channel
ok "the channel is plugged in" vmprof attach --domain web04
ok "... that starts the agent" lab_wait 120 active
ok "... with its module" loaded
undisturbed "... and nothing else"
virsh -q dumpxml web04 | sed -n "/<channel type='unix'>/,/<.channel>/p" > /run/lab/channel.xml
plug_out() { virsh -q detach-device web04 /run/lab/channel.xml --live; }
ok "the channel is unplugged" plug_out
ok "... that stops the agent" lab_wait 120 inactive
undisturbed "... and nothing else"
ok "the channel is plugged in again" vmprof attach --domain web04
ok "... the agent runs" lab_wait 120 active

# --- what the service may do
# systemd says that it runs as soon as there is a process, which is root's until it is the daemon
is_program() { in_guest "[ /proc/$(pid)/exe -ef /usr/sbin/vmprof-agent ]"; }
lab_wait 60 is_program
is "it is no root" "$(in_guest "stat -c %U /proc/$(pid)")" vmprof-agent
# CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYSLOG, CAP_PERFMON, CAP_CHECKPOINT_RESTORE
is "... has the capabilities that it needs and no other" "$(status CapEff) $(status CapBnd)" \
	"0000014400080004 0000014400080004"
is "... its system calls are filtered" "$(status Seccomp) $(status NoNewPrivs)" "2 1"
is "... it has no network" "$(in_guest "nsenter -t $(pid) -n ls /sys/class/net /proc/$(pid)/net/dev > /dev/null; sed 1,2d /proc/$(pid)/net/dev | cut -d: -f1 | tr -d ' '")" lo
is "... its devices are its own" "$(in_guest 'stat -c "%U %a" /dev/vmprof_guest $(readlink -f /dev/virtio-ports/org.vmprof.agent.0)' | tr '\n' ' ')" \
	"vmprof-agent 600 vmprof-agent 600 "
ok "systemd-analyze security: below 3" in_guest 'systemd-analyze security --no-pager --threshold=29 vmprof-agent'
in_guest systemd-analyze security --no-pager vmprof-agent | tail -n 1 | sed 's/^/# /'

# --- what its rules forbid, tried by another program in its place; without them all of that is done
in_guest 'cat > /opt/try' << 'END'
#!/usr/bin/perl
# system calls of x86-64 that anybody may use, as they are used here
my %calls = (ptrace => [101, 0, 0, 0, 0], unshare => [272, 0x10000000], setuid => [105, $>], shmget => [29, 0, 4096, 0600],
	socket => [41, 2, 1, 0], 'mmap-wx' => [9, 0, 4096, 7, 0x22, -1, 0], personality => [135, 0x0040000],
	'add_key' => [248, "user", "vmprof", "x", 1, -3]);
for (sort keys %calls) {
	my ($number, @args) = @{$calls{$_}};
	print "$_ " if syscall($number, @args) != -1;
}
print "end\n";
END
in_guest 'chmod 755 /opt/try; systemctl stop vmprof-agent; mkdir -p /run/systemd/system/vmprof-agent.service.d
	printf "[Service]\nExecStart=\nExecStart=/opt/try\nRestart=no\nStandardOutput=file:/run/tried\n" > /run/systemd/system/vmprof-agent.service.d/try.conf
	systemctl daemon-reload; systemctl start vmprof-agent'
tried() { in_guest grep -q end /run/tried; }
lab_wait 60 tried
is "its system calls are refused but for those that it needs" "$(in_guest cat /run/tried)" "end"
is "... which anybody else's are not" "$(in_guest setpriv --reuid vmprof-agent --clear-groups /opt/try)" \
	"add_key mmap-wx personality ptrace setuid shmget socket unshare end"
in_guest 'rm -r /run/systemd/system/vmprof-agent.service.d; systemctl daemon-reload; systemctl restart vmprof-agent'
lab_wait 60 active

# --- a session: nothing that it does is refused
f=/out/rpm.vmprof
rm -f $f
case_guest_run web04 'while :; do ls -l /usr/bin; done'
ok "a session begins" vmprof start --domain web04 --period 500us --output $f
sleep 6
case_samples 1500 web04
ok "... and ends" vmprof stop
in_guest 'pkill -f "[w]hile :"'
case_report $f || bail "report"
doctor=$(vmprof doctor --domain web04)
like "... its agent answers" "$doctor" "web04.*: the agent answers"
unlike "... and has the module" "$doctor" "the agent has no module"
at_least "... processes have names" "$(case_json '.totals | .resolved_process * 100 / .guest_samples')" 99
at_least "... and functions of kernel and programs" "$(case_json '.totals | .resolved * 100 / .guest_samples')" 99
journal=$(in_guest journalctl -q -u vmprof-agent --no-pager -o cat)
like "... the agent's journal is there" "$journal" "vmprof"
unlike "... and complains of nothing" "$journal" \
	'not permitted|denied|cannot|failed|shows no addresses'


# --- the channel goes while a session runs, and comes again
f=/out/unplugged.vmprof
rm -f $f
lab_guest_put web04 "$LAB_SHARE/burn-a" "$LAB_SHARE/burn-b" /opt/burn
in_guest 'cd /opt/burn && cp burn-a before && cp burn-b unheard && cp burn-a after'
agent_is() { vmprof status --json | jq -e ".domains[0].agent | $1"; }
ok "a session begins" vmprof start --domain web04 --period 500us --output $f
lab_wait 60 agent_is '.state == "running"'
in_guest '/opt/burn/before 300'
hellos=$(vmprof status --json | jq '.domains[0].agent.hellos')
ok "the channel is unplugged meanwhile" plug_out
ok "... that stops the agent" lab_wait 120 inactive
ok "... and the session knows" lab_wait 60 agent_is '.state != "running"'
in_guest 'for i in 1 2 3 4; do /opt/burn/unheard 100; done'
ok "it is plugged in again" vmprof attach --domain web04
ok "... the session hears the agent" lab_wait 120 agent_is ".state == \"running\" and .hellos > $hellos"
in_guest '/opt/burn/after 300'
ok "the session ends" vmprof stop
case_report $f || bail "report"
# user CONDITION - user samples of such rows
user() { case_json "[.domains[0].rows[] | select(.side == \"guest_user\" and ($1)) | .samples] | add // 0"; }
at_least "what ran before has its name" "$(user '.process == "before" and .function == "burn_a_work"')" 50
at_least "... what ran after, too" "$(user '.process == "after" and .function == "burn_a_work"')" 50
at_least "what nobody heard of is of an unknown process, and counted" "$(case_json '.domains[0].unresolved.no_process')" 50
is "... and has nobody else's name" "$(user '.function == "burn_b_work" and .process != "unheard"') $(case_wrong_process)" "0 0"
is "the report knows of two conversations" "$(case_json '.domains[0].agent.conversations')" 2
is "no sample was lost" "$(case_json .losses.driver.total)" 0

# --- killed more often than systemd lets a service begin in its limit, of an hour, for guests are slow
in_guest 'mkdir -p /run/systemd/system.conf.d && printf "[Manager]\nDefaultStartLimitIntervalSec=1h\n" > /run/systemd/system.conf.d/limit.conf && systemctl daemon-reload'
another() { active && [ "$(pid)" != "$1" ]; }
killed=0
while [ $killed -lt 8 ]; do
	before=$(pid)
	in_guest systemctl kill -s KILL vmprof-agent
	lab_wait 30 another "$before" || break
	killed=$((killed + 1))
done
is "killed eight times, it runs again each time" $killed 8
ok "... with its module" loaded

lab_guest_destroy web04
finish

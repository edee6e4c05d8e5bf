#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# A guest whose agent lies, beside an honest one: web02 may spoil its own profile, and nothing else.
. /src/tests/lab/cases/common.sh
plan 159

case_guest web01 || bail "web01 is up"
case_guest web02 || bail "web02 is up"
case_idle
# the first session of a guest gives it its port, which the liar needs
if ! vmprof start --domain web02 --output /run/lab/first.vmprof || ! lab_guest_agent_wait web02 || ! vmprof stop; then
	bail "web02 has its port"
fi
lab_guest_put web02 "$LAB_SHARE"/storm/{liar,bomb} /opt/storm
runs() { [ "$(vmprof status --json | jq -r ".domains[] | select(.name == \"$1\").agent.state")" = running ]; }
# clean FILE - nothing in it steers a terminal; lines may end as those of CSV do
clean() { iconv -f UTF-8 -t UTF-8 "$1" > /dev/null && ! sed 's/\r$//' "$1" | LC_ALL=C grep -qP '[\x01-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]'; }
rows='[.domains[] | select(.name == "%s").rows[] | select(.process == "%s" and .function == "%s") | .samples] | add // 0'
# worked DOMAIN PROCESS FUNCTION - its samples
worked() { case_json "$(printf "$rows" "$@")"; }

# shown ARG... - of vmprof: it says something of the capture, and nothing that steers a terminal
shown() { vmprof "$@" $f > /run/lab/hostile.txt 2>&1 && [ -s /run/lab/hostile.txt ] && clean /run/lab/hostile.txt; }

# saying CMD... - what it says is kept
saying() { "$@" >> $said 2>&1; }

# highest PID - the most memory that a process ever had, MiB, and its time on a CPU, ticks, until it has ended
highest()
{
	local kib
	while kib=$(awk '/^VmHWM/ { print $2 }' "/proc/$1/status" 2> /dev/null) && [ -n "$kib" ]; do
		echo $((kib / 1024)) > /run/lab/highest
		awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat" 2> /dev/null > /run/lab/ticks
		sleep 0.1
	done
}

# inline - all debugging information is read
inline() { timeout 60 vmprof report --json --inline $f > /run/lab/inline.json; }

# told COUNTER - of the collector
told() { case_json '[.losses.collector[] | select(.name == "'"$1"'").count] | add // 0'; }
all="--limit 100000"
named=("report $all" "report --tree $all" "report --group-by process,cgroup $all" "export -f csv" "export -f folded" "export -f perf-script")

# with branches the kernel's code is read as the liar's page tables have it, and its programs' as they are said to be mapped
branched=("report $all" "blocks $all" "branches $all" "branches --calls $all" "loops $all" "annotate burn_a_work" "export -f perf-script")

# kept BUILD-ID ARG... - find(1) of what begins with it in the object cache
kept() { find /var/cache/vmprof/objects -type f -path "*/${1:0:2}/${1:2}*" "${@:2}"; }
bomb=766d70726f6620626f6d62

f=/out/hostile.vmprof said=/run/lab/hostile.said
kept $bomb -delete
for kind in all files own bombs slow floods branches; do
	lies=$kind options=() forms=("${named[@]}")
	[ $kind != slow ] || forms=()
	[ $kind != branches ] || lies=all options=(--lbr any --buffer 4M) forms=("${branched[@]}")
	rm -f $f $said /run/lab/highest
	lab_ssh web02 'systemctl stop vmprof-agent && ! pidof vmprof-agent > /dev/null' || bail "web02's own agent is away"
	lab_ssh web02 "nohup /opt/storm/liar /dev/virtio-ports/org.vmprof.agent.0 $lies 600 > /tmp/liar.log 2>&1 < /dev/null &"
	lab_wait 30 lab_ssh web02 'pidof liar > /dev/null' || bail "the liar is there"
	case_guest_run web01 'timeout 300 /opt/burn/burn-a 100000000'
	case_guest_run web02 'timeout 300 /opt/burn/burn-b 100000000'
	begun=$SECONDS
	ok "start, to lies ($kind)" saying vmprof start --domain web01 --domain web02 --period 500us --output $f "${options[@]}"
	highest "$(vmprof status --json | jq .pid)" &
	ok "web01's agent is heard" lab_wait 120 runs web01
	sleep 15
	for d in web01 web02; do case_samples 1000 $d; done
	ok "the session goes on, and answers" saying timeout 20 vmprof status
	saying vmprof doctor
	stopping=$SECONDS
	ok "stop" saying vmprof stop
	stopping=$((SECONDS - stopping))
	wait $!
	at_most "the collector's memory to its end, MiB" "$(cat /run/lab/highest)" 400
	# VMP_AGENT_BURST_BYTES and VMP_AGENT_RATE_BYTES of the liar; as much again of all else
	at_most "the capture's size after $((SECONDS - begun)) s, MiB" "$(($(stat -c %s $f) >> 20))" $((2 * (64 + 4 * (SECONDS - begun))))
	echo "# $(stat -c %s $f) bytes; the collector took $(cat /run/lab/ticks) ticks of $((100 * (SECONDS - begun)))"
	case_quiet web01
	case_quiet web02
	ok "... in which the liar was heard to its end" lab_ssh web02 'pkill -x liar'
	ok "the report" case_report $f
	at_least "web01: burn-a has its function" "$(worked web01 burn-a burn_a_work)" 300
	is "... and its agent lost nothing" "$(case_agent_lost web01)" 0
	is "... and none of its samples was lost" "$(case_json .losses.driver.total)" 0
	never "... and it has nothing of web02's" \
		"$(case_json '[.domains[] | select(.name == "web01").rows[] | select((.process + .function + .module) | test("evil|script|burn.b"))] | length')"
	at_least "web02 has its samples, whatever their names" "$(case_json '.domains[] | select(.name == "web02").guest_samples')" 300
	case $kind in
	all | branches)
		at_least "... and what it said in vain is counted" \
			"$(case_json '[(.domains[] | select(.name == "web02").agent.bad_frames), (.losses.collector[] | select(.name | test("^agent_bad")).count)] | add')" 10
		;;
	files | own)
		at_least "... it was believed, and asked for its program" "$(lab_ssh web02 'grep -c "^asked for 1$" /tmp/liar.log')" 1
		at_least "... which is not taken for what it was said to be" "$(told objects_failed_other_build)" 1
		if [ $kind = files ]; then
			at_least "... what it sent besides is counted" "$(case_json '[.losses.collector[] | select(.name | test("^agent_")).count] | add // 0')" 1
			# what is inferred of who runs hangs on all that an agent says
			is "... and costs it its own names" "$(case_json '[.domains[] | select(.name == "web02").rows[] | select(.process == "burn-b").samples] | add // 0')" 0
		fi
		;;
	bombs)
		at_least "... it was believed, and asked for its program" "$(lab_ssh web02 'grep -c "^asked for 1$" /tmp/liar.log')" 1
		at_least "... which is taken" "$(kept $bomb | wc -l)" 1
		at_least "... and for one whose sections lie on one another" "$(lab_ssh web02 'grep -c "^asked for 2$" /tmp/liar.log')" 1
		ok "the report with all debugging information, within a minute" inline
		at_least "... which is not unpacked, and told of" "$(jq '.files.unread.too_large // 0' /run/lab/inline.json)" 1
		;;
	slow)
		at_least "... it was believed, and asked for its program" "$(lab_ssh web02 'grep -c "^asked for 1$" /tmp/liar.log')" 1
		at_least "... which is waited for, s" $stopping 60
		at_most "... but not for long" $stopping 240
		at_least "... and is counted" "$(told objects_failed_slow)" 1
		;;
	floods)
		at_least "... and what was not stored of what it said is counted" "$(case_json '[.losses.collector[] | select(.name | test("^agent_")).count] | add // 0')" 1
		;;
	esac
	if [ $kind = branches ]; then
		vmprof blocks --json --limit 0 --domain web01 $f > /run/lab/blocks.json
		at_least "web01's blocks are known" "$(jq '[.blocks[] | select(.function == "burn_a_work")] | length' /run/lab/blocks.json)" 1
		never "... and none is of web02's" "$(jq '[.blocks[] | select((.function + .module) | test("evil|script|burn.b"))] | length' /run/lab/blocks.json)"
	fi
	ok "nothing that vmprof start, status, doctor and stop say steers a terminal" clean $said
	for form in "${forms[@]}"; do
		# shellcheck disable=SC2086
		ok "nothing of vmprof $form steers a terminal" shown $form
	done
done
# evil - paths that the liar's name is part of; those of file systems of their own, too
evil() { find / /run /tmp /var /dev/shm /out -xdev -name '*vmprof-evil*' 2> /dev/null | sort -u; }
mkdir /out/vmprof-evil /tmp/vmprof-evil
is "files of web02's naming would be found" "$(evil | paste -sd' ')" "/out/vmprof-evil /tmp/vmprof-evil"
rmdir /out/vmprof-evil /tmp/vmprof-evil
never "... and there is none" "$(evil | wc -l)"

# its own agent is as welcome as before
rm -f $f
lab_ssh web02 'systemctl start vmprof-agent'
case_guest_run web02 'timeout 300 /opt/burn/burn-b 100000000'
vmprof start --domain web02 --period 500us --output $f
case_samples 500 web02
ok "a session with the honest agent" vmprof stop
case_quiet web02
case_report $f
at_least "burn-b has its function" "$(worked web02 burn-b burn_b_work)" 200
finish

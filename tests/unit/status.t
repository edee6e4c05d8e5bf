#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# status.t - vmprof status tells of a guest's agent what is missing, and why: what a collector that
# is made up here answers, as people see it.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
vmprof=${O:-$src/build}/vmprof
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP vmprof status needs root rights"
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0
is() { n=$((n + 1)); if eval "$1"; then echo "ok $n - $2"; else echo "not ok $n - $2"; echo "$out" | sed 's/^/# /'; fi; }

# ask TASKS AGENT [PERIOD]: the status of a domain whose threads and agent are as told, with a period of instructions
ask() {
	python3 - "$tmp/control" "$1" "$2" "${3:-0}" <<- 'END' &
		import os, socket, sys
		path, tasks, agent, instructions = sys.argv[1:]
		s = socket.socket(socket.AF_UNIX)
		s.bind(path + ".new")
		s.listen(1)
		os.rename(path + ".new", path)
		s.settimeout(60)
		c = s.accept()[0]
		c.recv(64)
		c.sendall(('J{"running":true,"phase":"sampling","pid":7,"file":"/f","lost":{},"event":"cycles","period":100000,"instruction_period":%d,"random":true,"trigger":"pmc","lbr":null,"domains":'
		           '[{"name":"web01","pid":9,"tasks":"%s","agent":{"state":"running"%s}}]}\0X0\0' % (int(instructions), tasks, agent)).encode())
	END
	for _ in $(seq 400); do [ ! -S "$tmp/control" ] || break; sleep 0.05; done
	out=$(VMPROF_RUN_DIR=$tmp "$vmprof" status 2>&1)
	wait
	rm -f "$tmp/control"
}
says() { grep -qF -- "$1" <<< "$out"; }

echo 1..9
ask on ''
is "says 'agent: running' && ! says threads && ! says module" "an agent that has all: nothing more"
is "says 'cycles, random, mean period 100000, by counter'" "periods that are random"
ask on '' 100000
is "says 'cycles and instructions, random, mean period 100000, by counter'" "instructions that are sampled as well"
ask not-kept ''
is "says 'threads are not told apart: where its kernel keeps them was told, but not kept'" "the word of where tasks are was not kept"
ask lost-in-guest ''
is "says 'threads are not told apart: its agent'\''s module had no room'" "... or was lost in the guest"
ask no-module ',"without_module":"it did not start: No such device"'
is "says 'agent: running, without its module (it did not start: No such device)'" "a module that does not start"
is "says 'threads are not told apart: its agent has no module'" "... and what that means"
is "! says perf" "... beside which perf tells, or an agent that does not say"
ask no-module ',"without_module":"it is not loaded","without_perf":true'
is "says 'without its module (it is not loaded), nor may it listen to perf (in the guest: sysctl kernel.perf_event_paranoid=2)'" "nor perf"

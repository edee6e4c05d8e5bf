#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# rundir.t - with VMPROF_RUN_DIR the messages name the files that are there, not /run/vmprof.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
vmprof=${O:-$src/build}/vmprof
if [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP vmprof stop needs root rights"
	exit 0
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# a collector that dies while it finishes: its socket is closed without an answer
python3 - "$tmp/control" << 'END' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1] + ".new")
s.listen(1)
os.rename(sys.argv[1] + ".new", sys.argv[1])
s.settimeout(60)
s.accept()[0].close()
END
for _ in $(seq 400); do [ ! -S "$tmp/control" ] || break; sleep 0.05; done
err=$(VMPROF_RUN_DIR=$tmp "$vmprof" stop 2>&1)
status=$?
wait
echo 1..2
if [ $status = 1 ]; then echo "ok 1 - stop fails when the collector dies"; else echo "not ok 1 - stop: exit $status"; fi
if echo "$err" | grep -qF "see its log: $tmp/log"; then echo "ok 2 - and names the log there"; else echo "not ok 2 - the log there"; echo "$err" | sed 's/^/# /'; fi

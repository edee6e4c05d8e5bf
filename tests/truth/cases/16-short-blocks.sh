#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The same of gzip and sha256sum, with their short blocks: four sessions, which are known better together (pooled). A loop of gzip's has
# less than a hundredth of the samples, so that it runs twice, sha256sum makes way, and samples are denser here.
. /src/tests/truth/lib.sh
truth_plan 4 $((3 * TRUTH_QUESTIONS + 32))

truth_guest
lab_ssh web01 'cat /usr/bin/* 2> /dev/null | head -c 8000000 > /dev/shm/data'
case_guest_run web01 'while :; do gzip -9 < /dev/shm/data; done > /dev/null'
case_guest_run web01 'while :; do gzip -9 < /dev/shm/data; done > /dev/null'
case_guest_run web01 'while :; do nice -n 10 sha256sum /dev/shm/data; done > /dev/null'
for session in short short-2 short-3 short-4; do
	ok "a session with short blocks: $session" truth_session $session 320000 --period 60000 --random --lbr any --cpi
done
lab_ssh web01 'pkill -f "[w]hile :; do (gzip|nice)"; pkill -x gzip; pkill -x sha256sum' > /dev/null 2>&1
# no name: the function that took the most cycles, of gzip or of sha256sum's library
for session in short short-2 short-3 short-4; do
	truth_judge $session --blocks 20
done
finish

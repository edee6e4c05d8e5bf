#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The guest's TSC is moved during a session, as after a migration: by 0.1 s, on both vCPUs at
# once. Processes take turns on the same CR3s all the while.
. /src/tests/truth/lib.sh
truth_plan 4

move=260000000
truth_meanwhile()
{
	lab_wait 60 truth_domains ".samples >= 1000" || return
	lab_ssh web01 "printf '$(printf '\\x%02x' $((move & 255)) $((move >> 8 & 255)) $((move >> 16 & 255)) $((move >> 24)))\\0\\0\\0\\0' > /dev/shm/move
		for cpu in 0 1; do
			dd if=/dev/shm/move of=/dev/cpu/\$cpu/msr bs=8 count=1 seek=59 oflag=seek_bytes conv=notrunc &
		done
		wait"
}

truth_guest
ok "the guest can write its TSC" lab_ssh web01 modprobe msr
case_guest_run web01 'timeout 900 sh -c "while :; do /opt/burn/burn-a 20; /opt/burn/burn-b 20; ls -l /usr/bin; done"'
ok "a session with a clock that is moved" truth_session clock 3000 --period 150000
lab_ssh web01 'pkill -x timeout' > /dev/null 2>&1
case_report /out/clock.vmprof
at_least "the clock was moved" "$(case_json '.domains[0].clock.pieces')" 2
like "the report says so" "$(vmprof report /out/clock.vmprof)" "the guest's clock was moved during the session"
truth_judge clock --within 1 --moved 20
finish

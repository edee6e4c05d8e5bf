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
	# one right behind the other, with nothing in between: what happens there is told by two clocks
	lab_ssh web01 "chrt -f 1 perl -e 'for (0, 1) { open(\$msr[\$_], \"+<\", \"/dev/cpu/\$_/msr\") && sysseek(\$msr[\$_], 59, 0) or die \$! }
		for (0, 1) { syswrite(\$msr[\$_], pack(\"Q\", $move)) == 8 or die \$! }'"
}

truth_guest
ok "the guest can write its TSC" lab_ssh web01 modprobe msr
case_guest_run web01 'timeout 3600 sh -c "while :; do /opt/burn/burn-a 20; /opt/burn/burn-b 20; ls -l /usr/bin; done"'
ok "a session with a clock that is moved" truth_session clock 3000 --period 150000 --random
lab_ssh web01 'pkill -x timeout' > /dev/null 2>&1
case_report /out/clock.vmprof
at_least "the clock was moved" "$(case_json '.domains[0].clock.pieces')" 2
like "the report says so" "$(vmprof report /out/clock.vmprof)" "the guest's clock was moved during the session"
truth_judge clock --within 1 --moved 20
finish

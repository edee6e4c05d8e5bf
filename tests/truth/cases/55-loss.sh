#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Rings that are too small: what is lost is counted, and the judge would miss it. And a whole session with
# branches and two events, from its first period to its last. And a module that takes the host for the guest.
. /src/tests/truth/lib.sh
plan 29

truth_guest
case_guest_run web01 'timeout 3600 /opt/burn/burn-a 100000000'
TRUTH_WHOLE=yes TRUTH_TURNS=3
ok "a session with small rings" truth_session loss 1000 --period 50000 --buffer 4K
case_report /out/loss.vmprof
at_least "samples were lost" "$(case_json .losses.driver.ring_full)" 100
truth_says loss yes "" --report whole "every period is accounted for" "no sample is on the wrong side" "the report's rows are those of the overflows"
ok "a module that does not count what it loses" truth_module uncounted
ok "... has as small ones" truth_session uncounted 1000 --period 50000 --buffer 4K
# nothing else is wrong with it: it tells of no loss, and hundreds of overflows have no sample
truth_says uncounted yes "" "no sample is on the wrong side"
truth_says uncounted NO "" "every period is accounted for"
like "... by hundreds, of which the session tells none" "$(truth_ask "" uncounted)" "^NO every period is accounted for: .* 0 lost .*; [0-9]{3,} overflows without a sample"
ok "a module that takes the host for the guest" truth_module inverted
ok "... samples them" truth_session inverted 300 --period 1000000
truth_says inverted NO "" "guest and host have their exact share" "no sample is on the wrong side"
truth_module ""
TRUTH_TURNS=20
ok "a session with branches" truth_session whole 1000 --period 100000 --lbr any --cpi
lab_ssh web01 'pkill -x timeout' > /dev/null 2>&1
# from the first sample on, whatever the agent has told by then
truth_says whole yes "" --report whole "the report's rows are those of the overflows" "every period is accounted for" "each sample has an overflow of its own" "no sample is on the wrong side" \
	"host samples are where the counter overflowed" "VM, CR3 and CPL are those of the overflow" "the exit reason is that of the last #VMEXIT" \
	"there is no skid in guest code" "functions have their exact share" "no sample is in a function that did not run" "guest code is known" \
	"user code's task is of the process whose CR3 it was" "guest events lie within the printed bound"
truth_says whole NO sixteenth --report whole "the report's rows are those of the overflows"
finish

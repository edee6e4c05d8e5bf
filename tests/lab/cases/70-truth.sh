#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# In short (make check-truth has more of it): what the profile says beside what truly ran: programs that take turns and recycle
# each other's CR3. And the judge says no where the module or the analyzer is broken (tests/truth/broken). Of 500 samples shares say little;
# what is asked of each sample needs no more.
. /src/tests/truth/lib.sh
truth_plan 5 9
TRUTH_TURNS=10

truth_guest
case_guest_run web01 'timeout 3600 sh -c "while :; do /opt/burn/burn-a 20; /opt/burn/burn-b 20; ls -l /usr/bin; done"'
ok "a session with programs that take turns" truth_session turns 500 --period 1000000 --random
ok "a module that takes the host for the guest" truth_module inverted
ok "... samples them" truth_session inverted 500 --period 1000000
ok "a module that does not count what it loses" truth_module uncounted
# of rings that are too small
TRUTH_WHOLE=yes
ok "... loses samples" truth_session uncounted 500 --period 50000 --buffer 4K
TRUTH_WHOLE=
truth_module ""
lab_ssh web01 'pkill -x timeout' > /dev/null 2>&1
truth_judge turns --min 300
truth_says inverted NO "" "guest and host have their exact share" "no sample is on the wrong side"
# by so many of which it tells none: rings that are too small are no fault by themselves
truth_says uncounted NO "" "every period is accounted for: .* 0 lost .*; [0-9]{2,} overflows without a sample"
truth_says turns NO timeless "functions have their exact share" "no sample is in a function that did not run"
truth_says turns NO shifted "guest events lie within the printed bound" "the guests' clocks are exact within the printed bound"
truth_says turns NO hastened "guest events lie within the printed bound" "the guests' clocks are exact within the printed bound"
finish

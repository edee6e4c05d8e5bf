#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A host without a PMU: the timer takes its place, and start says so.
timer_asked='' timer_notice='no usable performance counter: sampling by timer'
. /src/tests/lab/cases/15-timer.sh

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# processes.sh - programs are begun and end, in the guest; for driver-job.sh, which sends it over ssh.
#
# Each line "SECONDS GAP" on standard input is so long a time in which a program begins each GAP ms; 0: when
# the one before has ended, -1: none. It answers with how many programs there were. Waiting begins none.
exec 9<> <(:)
while read -r seconds gap; do
	n=0 now=${EPOCHREALTIME/[.,]/}
	end=$((now + seconds * 1000000)) next=$((gap < 0 ? now + seconds * 1000000 : now))
	while ((now < end)); do
		if ((next > now)); then
			printf -v wait "%d.%06d" $(((next - now) / 1000000)) $(((next - now) % 1000000))
			read -rt "$wait" -u 9
		else
			/bin/true
			((n += 1, next += gap * 1000))
		fi
		now=${EPOCHREALTIME/[.,]/}
	done
	echo $n
done

# SPDX-License-Identifier: GPL-2.0-only
#
# tiny.sh - guests of KVM alone, without libvirt, whose only program is known beforehand, and the
# bare reader ringdump; source it after lib.sh. It works in a folder of its own, $work.

tools=/usr/share/vmprof-lab/driver
PATH=$tools:$PATH
work=$(mktemp -d)
cd "$work" || exit 1

# tiny_init PROGRAM - what the guests run as their init
tiny_init()
{
	mkdir -p rd && cp "$tools/$1" rd/init
	(cd rd && find . | busybox cpio -o -H newc 2>/dev/null | gzip) >init.gz
}

# tiny NAME [WORDS] - start one and wait for its "ready"; WORDS go to its kernel. Its QEMU's tgid
# is then in NAME.pid, what it says in NAME.console.
tiny()
{
	mkfifo "$1.in" "$1.out"
	qemu-system-x86_64 -accel kvm -cpu host,-pmu -smp 2 -m 128 -nodefaults -display none \
		-kernel /run/lab/guest/vmlinuz -initrd init.gz \
		-append "console=ttyS0 quiet mitigations=off nopti panic=-1 ${2:-}" \
		-serial "file:$work/$1.console" -chardev "pipe,id=monitor,path=$work/$1" -mon monitor \
		-pidfile "$work/$1.pid" -daemonize &&
	lab_wait 120 grep -q ready "$1.console"
}

# tiny_end NAME
tiny_end()
{
	local pid
	pid=$(cat "$1.pid") && kill "$pid" && lab_wait 120 sh -c "! kill -0 $pid"
}

# The monitor's answer to a command
monitor()
{
	exec 7<>"$1.out"
	echo "$2" >"$1.in"
	timeout 5 cat <&7
	exec 7<&-
}

# instructions NAME ADDRESSES - the names of the instructions at these places, sorted; it is stopped
instructions()
{
	# shellcheck disable=SC2086
	monitor "$1" "$(printf 'x /1i %s\n' $2)" |
		sed -n -E 's/^0x[0-9a-f]+: *(([0-9a-f]{2} )+ +)?((rep )?[a-z]+).*/\3/p' | sort -u | tr '\n' ' '
}

# reload VM N - how many of N sessions have records, each by a module that was loaded anew
reload()
{
	local good=0 i
	for ((i = 0; i < $2; i++)); do
		rmmod vmprof && modprobe vmprof && ringdump cycle 1 -q -p "$1" -t -n 1000000 >cycle 2>&1 &&
			grep -q '^Y cycles=1 records=[1-9]' cycle && good=$((good + 1))
	done
	echo $good
}

# The two instructions of a loop of g1's program, as a regular expression
at()
{
	local start
	start=$(sed -n "s/.*$1=\(0x[0-9a-f]*\).*/\1/p" g1.console)
	printf '^(0x%x|0x%x)$' "$start" $((start + 3))
}

# count FILE CONDITION - samples; a field of ringdump's lines is v["name"]
count()
{
	awk -v A="${3:-}" "/^S/ { for (i = 2; i <= NF; i++) { split(\$i, a, \"=\"); v[a[1]] = a[2] }
		if ($2) n++ } END { print n + 0 }" "$1"
}

# values FILE CONDITION FIELD - the different values of a field, sorted
values()
{
	awk "/^S/ { for (i = 2; i <= NF; i++) { split(\$i, a, \"=\"); v[a[1]] = a[2] }
		if ($2) print v[\"$3\"] }" "$1" | sort -u | tr '\n' ' '
}

# total FILE FIELD - a field of ringdump's totals, summed over pCPUs
total()
{
	awk -v f="$2" '/^T/ { for (i = 2; i <= NF; i++) { split($i, a, "="); if (a[1] == f) n += a[2] } }
		END { printf "%.0f\n", n }' "$1"	# mawk's %d ends at 2^31
}

per_mille() { echo $(($1 * 1000 / ($2 > 0 ? $2 : 1))); }

# share NAME PART WHOLE PER_MILLE - PART is that share of WHOLE, but for four standard deviations
share()
{
	at_most "$1 ($2 of $3)" \
		"$(awk -v k="$2" -v n="$3" -v p="$4" 'BEGIN { p /= 1000; d = k - n * p; print n ? d * d / (n * p * (1 - p)) : 99 }')" 16
}

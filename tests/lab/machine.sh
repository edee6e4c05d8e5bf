# SPDX-License-Identifier: GPL-2.0-only
#
# machine.sh - start L1 under the patched QEMU and watch it; sourced by run and shell.
#
# A run has a folder of its own, build/lab/runs/PID: console.log, qemu.log,
# status (what L1 says over its virtio-serial port: "booting", "started",
# "exit N"), share/ with the job, and out/ for the files that come back.
# build/lab/last leads to the newest.

src=$(cd "$here/../.." && pwd)

machine_usage()
{
	cat <<-END
	  --suite S        suite of the host, trixie or bookworm (now $host_suite)
	  --guest-suite S  suite of its guests (as the host's; GUEST_SUITE)
	  --timeout SEC    time limit for all of it (now $time_limit)
	  --cpus N         its processors (now $cpus)
	  --mem MB         its memory (now $mem_mb)
	  --out DIR        where /out comes back to (build/lab/last/out)
	  --append WORDS   more words for its kernel's command line
	  --own-time       a nanosecond is an instruction of its, however fast this machine is
	  --qemu-arg ARG   one more argument for its QEMU (repeatable)

	Its console is in build/lab/last/console.log.
	END
}

host_suite=${LAB_SUITE:-trixie}
guest_suite=
time_limit=${time_limit:-600}
boot_limit=240
cpus=2
mem_mb=3072
out_dir=
append=
qemu_args=()
threads=multi
options_used=0
again=0
emulator=QEMU

# Parse leading options; options_used says how many arguments they were.
machine_options()
{
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h)
			usage
			exit 0
			;;
		--suite | --guest-suite | --timeout | --cpus | --mem | --out | --append | --qemu-arg)
			if [ $# -lt 2 ]; then
				lab_say "$1 needs a value."
				return 2
			fi
			case $1 in
			--suite) host_suite=$2 ;;
			--guest-suite) guest_suite=$2 ;;
			--timeout) time_limit=$2 ;;
			--cpus) cpus=$2 ;;
			--mem) mem_mb=$2 ;;
			--out) out_dir=$2 ;;
			--append) append=$2 ;;
			--qemu-arg) qemu_args+=("$2") ;;
			esac
			shift 2
			options_used=$((options_used + 2))
			;;
		--own-time)
			if [ "${LAB_CPU:-}" = intel ]; then
				lab_say "--own-time is of the AMD host's emulator."
				return 2
			fi
			# its processors take turns; where all of them sleep, so does nobody here
			threads=single
			qemu_args+=(-icount shift=0,sleep=off)
			shift
			options_used=$((options_used + 1))
			;;
		-*)
			lab_say "unknown option $1."
			usage >&2
			return 2
			;;
		*) break ;;
		esac
	done
	# GUEST_SUITE goes with LAB_SUITE: another host brings its own guests.
	if [ -z "$guest_suite" ]; then
		guest_suite=$host_suite
		[ "$host_suite" != "${LAB_SUITE:-trixie}" ] || guest_suite=${GUEST_SUITE:-$host_suite}
	fi
	lab_suite "$host_suite" && lab_suite "$guest_suite"
}

# Find or make everything, and lay out the run's folder.
machine_prepare()
{
	host_image=$("$here/image" "$host_suite" host) || exit 125
	guest_image=$("$here/image" "$guest_suite" guest) || exit 125
	qemu=$("$here/qemu") || exit 125
	qemu_tree=$("$here/qemu" --tree) || exit 125

	machine_folder
	# a short path that is nobody else's: who reaches a QEMU's monitor commands it
	socket_dir=$(mktemp -d)
	trap 'rm -rf "$socket_dir"' EXIT
	printf 'host_suite=%s guest_suite=%s emulator_out=%q\n' \
		"$host_suite" "$guest_suite" "$out_dir" >"$run_dir/share/job"
	machine_share src "$src" readonly=on
	machine_share run "$run_dir/share"
	machine_share out "$out_dir"
	machine_share guest "$guest_image" readonly=on
	machine_share qemu "$qemu_tree" readonly=on
}

# The run's folder; the last ten are kept.
machine_folder()
{
	local old

	mkdir -p "$src/build/lab/runs"
	for old in $(ls -t "$src/build/lab/runs" | tail -n +11); do
		kill -0 "$old" 2>/dev/null || rm -rf "$src/build/lab/runs/$old"
	done
	run_dir=$src/build/lab/runs/$$
	rm -rf "$run_dir"
	mkdir -p "$run_dir/share"
	ln -sfn "runs/$$" "$src/build/lab/last"
	if [ -n "$out_dir" ]; then
		mkdir -p "$out_dir"
		out_dir=$(realpath "$out_dir")
	else
		out_dir=$run_dir/out
		mkdir -p "$out_dir"
	fi
	: >"$run_dir/status"
	: >"$run_dir/console.log"
}

# A folder of this machine that L1 can mount by its tag.
machine_share()
{
	qemu_args+=(-fsdev "local,id=$1,path=$2,security_model=none${3:+,$3}"
		    -device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}

# Start QEMU in the background; $1 is the chardev for the job's output, $2 the
# device for it: a port, or for a shell a terminal (virtconsole). Its QMP is
# connected to a port of L1's, so that a job can ask its own emulator.
machine_start()
{
	local cpu=${LAB_CPU:-EPYC,+svm,+npt,-sse4a,+perfctr-core,+perfmon-v2,+lbr-v2,+lbr-pmc-freeze,xlevel=0x80000022}

	trap 'machine_kill; exit 130' INT
	trap 'machine_kill; exit 143' TERM HUP
	started=$SECONDS
	TMPDIR=$run_dir "$qemu" -name "vmprof-lab-$$" -nodefaults -no-user-config -no-reboot -display none \
		-machine q35 -accel "tcg,thread=$threads,tb-size=512" -cpu "$cpu" -smp "$cpus" -m "$mem_mb" \
		-kernel "$host_image/vmlinuz" -initrd "$host_image/initrd" \
		-append "console=ttyS0 quiet loglevel=5 panic=-1 oops=panic panic_on_warn=1 nmi_watchdog=0 mitigations=off net.ifnames=0 audit=0 lsm=yama tsc=reliable 8250.nr_uarts=1 cryptomgr.notests $append" \
		-drive "file=$host_image/disk.img,format=raw,if=virtio,snapshot=on,cache=unsafe" \
		-drive "file=$guest_image/disk.img,format=raw,if=virtio,readonly=on" \
		-chardev "file,id=console,path=$run_dir/console.log" -serial chardev:console \
		-device virtio-serial-pci \
		-chardev "$1" -device "${2:-virtserialport},chardev=output,name=org.vmprof.lab.output" \
		-chardev "file,id=status,path=$run_dir/status" \
		-device virtserialport,chardev=status,name=org.vmprof.lab.status \
		-chardev "socket,id=qmp,path=$socket_dir/qmp,server=on,wait=off" -mon chardev=qmp,mode=control \
		-chardev "socket,id=emulator,path=$socket_dir/qmp" \
		-device virtserialport,chardev=emulator,name=org.vmprof.lab.emulator \
		"${qemu_args[@]}" <&0 2>"$run_dir/qemu.log" &
	qemu_pid=$!
	echo $qemu_pid >"$run_dir/qemu.pid"
}

machine_kill()
{
	kill -KILL "$qemu_pid" 2>/dev/null || true
	wait "$qemu_pid" 2>/dev/null || true
}

# Wait until QEMU ends. Return its status, 124 past the time limit, 123 when L1
# does not reach the job in the time that booting may take.
machine_wait()
{
	local status=0
	while kill -0 "$qemu_pid" 2>/dev/null; do
		if [ $((SECONDS - started)) -ge "$time_limit" ]; then
			machine_kill
			return 124
		fi
		if [ $((SECONDS - started)) -ge $boot_limit ] && ! grep -q '^started' "$run_dir/status"; then
			machine_kill
			return 123
		fi
		sleep 0.2
	done
	wait "$qemu_pid" || status=$?
	trap - INT TERM HUP
	return $status
}

# Did QEMU abort so early that L1 is to be started once more? Says so.
# In about one of 30 boots QEMU 10.0 aborts while L1's firmware or kernel places PCI
# devices (msix_table_mmio_write: Assertion `addr + size <= ...' failed).
machine_again()
{
	[ "$1" = 134 ] && [ ! -s "$run_dir/status" ] && [ $((again++)) -lt 3 ] || return 1
	lab_say "L1's QEMU aborted before its init started; once more: $(tail -n 1 "$run_dir/qemu.log")"
}

# The last lines of L1's console, without terminal codes.
machine_console()
{
	[ -s "$run_dir/console.log" ] || return 0
	lab_say "the last lines of its console (all: ${run_dir#"$src"/}/console.log):"
	tail -n "${1:-15}" "$run_dir/console.log" | tr -d '\r' | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g; s/^/  | /' >&2
}

# Say what went wrong, if anything, and exit with the job's status, 124 or 125.
machine_verdict()
{
	local code reached

	code=$(sed -n 's/^exit \([0-9]*\)$/\1/p' "$run_dir/status")
	[ -z "$code" ] || exit "$code"

	reached="before its init started"
	! grep -q '^booting' "$run_dir/status" || reached="while it was getting ready"
	! grep -q '^started' "$run_dir/status" || reached="while the script ran"
	case $1 in
	124) lab_say "the time limit of $time_limit s was reached $reached; L1 was killed." ;;
	123) lab_say "L1 did not come up within $boot_limit s ($reached); it was killed." ;;
	0)
		if grep -q 'Kernel panic' "$run_dir/console.log"; then
			lab_say "L1's kernel panicked $reached:"
			grep -m 3 -E 'WARNING: |BUG: |Kernel panic|RIP: ' "$run_dir/console.log" | sed 's/^/  | /' >&2
		elif grep -q 'terminating on signal' "$run_dir/qemu.log"; then
			lab_say "L1's $emulator was ended by somebody's signal $reached: $(grep -m 1 -o 'signal .*' "$run_dir/qemu.log")"
		else
			lab_say "L1 powered off or reset by itself $reached."
		fi
		;;
	*)
		if [ "$1" -gt 128 ]; then
			lab_say "L1's $emulator was killed by signal $(($1 - 128)) $reached."
		else
			lab_say "L1's $emulator ended with status $1 $reached:"
		fi
		tail -n 5 "$run_dir/qemu.log" | sed 's/^/  | /' >&2
		;;
	esac
	machine_console
	[ "$1" != 124 ] || exit 124
	exit 125
}

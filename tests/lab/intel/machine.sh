# SPDX-License-Identifier: GPL-2.0-only
#
# intel/machine.sh - L1 on an Intel processor, which Bochs emulates: instead of what machine.sh
# has for QEMU. Sourced after it by run where LAB_CPU is intel.
#
# Bochs has no virtio. The checkout, its products and the job are a disk made for the run; what L1
# puts in /out comes back as a tar on another; the job's output is a serial port's; what L1 says of
# its state goes to port 0xe9, which Bochs prints.

emulator=Bochs
cpus=1
mem_mb=1536
lab_disk_mb=512
time_limit=1800
boot_limit=600

# Find or make everything, and lay out the run's folder.
machine_prepare()
{
	host_image=$("$here/image" "$host_suite" host) || exit 125
	boot_image=$("$here/intel/image" "$host_suite") || exit 125
	bochs_root=$("$here/root" bookworm bochs) || exit 125
	machine_folder
	mkdir -p "$run_dir/disk/guest"
	printf 'host_suite=%s guest_suite=%s\n' "$host_suite" "$guest_suite" >"$run_dir/share/job"
}

# Numbers as the loader wants them
le32()
{
	local n
	for n; do
		n=$(printf %08x "$n")
		printf "\\x${n:6:2}\\x${n:4:2}\\x${n:2:2}\\x${n:0:2}"
	done
}

# The disk of this run: /lab on L1. Its first sector starts the kernel.
machine_disk()
{
	local disk=$run_dir/disk stage=$src/build/lab/$host_suite/stage
	mkdir -p "$disk/src" "$disk/stage"
	tar -C "$src" --exclude=./build --exclude=./.git -cf - . | tar -C "$disk/src" -xf -
	# but for the roots that tests/lab/tree makes: they are large, and no case here has use for them
	[ ! -d "$stage" ] || tar -C "$stage" --exclude=root.tar -cf - . | tar -C "$disk/stage" -xf -
	cp "$run_dir/share/job" "$disk/job"
	cp "$("$here/intel/image" "$guest_suite")/vmlinux" "$disk/guest/vmlinuz"
	truncate -s "${lab_disk_mb}M" "$run_dir/lab.img"
	PATH=$PATH:/usr/sbin:/sbin mke2fs -q -F -t ext4 -m 0 -O ^has_journal,^metadata_csum,^resize_inode \
		-E root_owner=0:0 -d "$disk" "$run_dir/lab.img"
	dd if="$boot_image/sector" of="$run_dir/lab.img" conv=notrunc status=none
	# behind it what the loader reads
	truncate -s $((lab_disk_mb + 128))M "$run_dir/lab.img"
	dd if="$boot_image/vmlinux" of="$run_dir/lab.img" bs=1M seek=$lab_disk_mb conv=notrunc status=none
	dd if="$boot_image/initrd" of="$run_dir/lab.img" bs=1M seek=$((lab_disk_mb + 96)) conv=notrunc status=none
	{
		le32 $((lab_disk_mb * 2048)) $(((lab_disk_mb + 96) * 2048)) "$(stat -c %s "$boot_image/initrd")"
		printf '%s\0' "console=ttyS0 quiet loglevel=5 panic=-1 reboot=t oops=panic panic_on_warn=1 nmi_watchdog=0 mitigations=off net.ifnames=0 audit=0 lsm=yama tsc=reliable 8250.nr_uarts=2 cryptomgr.notests $append"
	} >"$run_dir/words"
	truncate -s 64M "$run_dir/out.img"
	rm -rf "$disk"
}

machine_start()
{
	machine_disk
	cat >"$run_dir/bochsrc" <<-END
	config_interface: textconfig
	display_library: rfb, options="timeout=0"
	romimage: file=$bochs_root/usr/share/bochs/BIOS-bochs-latest
	vgaromimage: file=$bochs_root/usr/share/bochs/VGABIOS-lgpl-latest
	optramimage1: file=$boot_image/loader, address=0x8000000
	optramimage2: file=$run_dir/words, address=0x8100000
	cpu: model=corei7_haswell_4770, count=$cpus, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=1
	memory: guest=$mem_mb, host=$mem_mb
	ata0-master: type=disk, mode=flat, path=$run_dir/lab.img
	ata0-slave: type=disk, mode=volatile, path=$host_image/disk.img, journal=$run_dir/redolog
	ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15
	ata1-master: type=disk, mode=flat, path=$run_dir/out.img
	boot: disk
	com1: enabled=1, mode=file, dev=$run_dir/console.log
	com2: enabled=1, mode=file, dev=$run_dir/output
	port_e9_hack: enabled=1
	clock: sync=none, time0=local
	sound: driver=default, waveoutdrv=dummy, waveindrv=dummy, midioutdrv=dummy
	log: $run_dir/bochs.log
	panic: action=fatal
	error: action=ignore
	info: action=ignore
	debug: action=ignore
	END
	trap 'machine_kill; exit 130' INT
	trap 'machine_kill; exit 143' TERM HUP
	started=$SECONDS
	bochs_run &
	qemu_pid=$!
}

# Bochs, then what L1 has left in /out
bochs_run()
{
	local lib=$bochs_root/usr/lib/x86_64-linux-gnu status=0 alone
	# Its screen is a VNC server for everybody: give it a network of its own, where that is permitted
	for alone in "unshare -n" "unshare -rn" ""; do
		$alone true 2>/dev/null && break
	done
	LTDL_LIBRARY_PATH=$lib/bochs/plugins BXSHARE=$bochs_root/usr/share/bochs \
		$alone "$lib/ld-linux-x86-64.so.2" --library-path "$lib:$bochs_root/lib/x86_64-linux-gnu" \
		"$bochs_root/usr/bin/bochs-bin" -q -f "$run_dir/bochsrc" <<<c >"$run_dir/status" 2>"$run_dir/qemu.log" &
	echo $! >"$run_dir/qemu.pid"
	wait $! || status=$?
	# Bochs calls a power-off an error, and the triple fault by which a panic restarts (reboot=t)
	! grep -q -s -E 'ACPI control: soft power off|Kernel panic' "$run_dir"/{qemu,console}.log || status=0
	tar -C "$out_dir" -xf "$run_dir/out.img" 2>/dev/null || true
	rm -f "$run_dir"/{lab,out}.img* "$run_dir"/redolog*
	return $status
}

machine_kill()
{
	kill -KILL "$(cat "$run_dir/qemu.pid")" 2>/dev/null || true
	wait "$qemu_pid" 2>/dev/null || true
}

# SPDX-License-Identifier: GPL-2.0-only
#
# system.sh - what the hooks of the host and the guest root share.
#
# Sourced by a hook that mmdebstrap runs with the root's folder as $1 and
# KERNEL, KERNEL_DEB in the environment. Makes a root bootable by kernel and
# initramfs alone: /boot/vmlinuz and /boot/initrd, no boot loader.

root=$1
lab=$(cd "$(dirname "$0")/.." && pwd)
kind=${0##*/}

# Modules that no emulated machine can use: nine tenths of a kernel package.
unused_modules="drivers/accel drivers/accessibility drivers/ata drivers/atm drivers/bcma
drivers/bluetooth drivers/comedi drivers/cpufreq drivers/edac drivers/extcon drivers/firewire
drivers/gnss drivers/gpu drivers/hid drivers/hwmon drivers/i2c drivers/iio drivers/infiniband
drivers/input drivers/isdn drivers/leds drivers/md drivers/media drivers/memstick drivers/message
drivers/mfd arch/x86/crypto drivers/misc drivers/mmc drivers/mtd drivers/mux drivers/net/can drivers/net/dsa
drivers/net/ethernet drivers/net/fddi drivers/net/hamradio drivers/net/phy drivers/net/usb
drivers/net/wan drivers/net/wireless drivers/nfc drivers/ntb drivers/nvdimm drivers/nvme
drivers/parport drivers/pcmcia drivers/pinctrl drivers/platform drivers/power drivers/scsi
drivers/soundwire drivers/spi drivers/ssb drivers/staging drivers/target drivers/thunderbolt
drivers/ufs drivers/usb drivers/vfio drivers/video drivers/w1 drivers/watchdog drivers/xen
fs/afs fs/bcachefs fs/btrfs fs/ceph fs/cifs fs/coda fs/dlm fs/ecryptfs fs/erofs fs/f2fs fs/gfs2
fs/hfs fs/hfsplus fs/jffs2 fs/jfs fs/lockd fs/minix fs/nfs fs/nfsd fs/nilfs2 fs/ntfs fs/ntfs3
fs/ocfs2 fs/omfs fs/orangefs fs/reiserfs fs/romfs fs/smb fs/squashfs fs/ubifs fs/udf fs/ufs
fs/xfs fs/zonefs net/bluetooth net/ceph net/dccp net/mac80211 net/rxrpc net/sctp net/smc
net/sunrpc net/tipc net/wireless sound"

# Unpack the kernel without its maintainer scripts: they would pull in and run
# a builder of initramfs images.
install_kernel()
{
	local dir exclude=()

	for dir in $unused_modules; do
		exclude+=(--exclude="./lib/modules/*/kernel/$dir"
			  --exclude="./usr/lib/modules/*/kernel/$dir")
	done
	dpkg-deb --fsys-tarfile "$KERNEL_DEB" |
		tar -C "$root" -x --keep-directory-symlink --no-same-owner \
		    --exclude=./usr/share/doc "${exclude[@]}"
	# Unpacking modules takes long in emulation.
	find "$root/lib/modules/" -name '*.ko.xz' -exec chroot "$root" \
		sh -c 'cd / && for f; do busybox unxz "${f#'"$root"'}"; done' sh {} +
	ln -s "vmlinuz-$KERNEL" "$root/boot/vmlinuz"
	chroot "$root" depmod "$KERNEL"
}

# /boot/initrd: busybox, a script, and the modules named as arguments with what
# they need. It mounts /dev/vda and starts the real init.
install_initramfs()
{
	local dir=$root/tmp/initramfs
	rm -rf "$dir"
	mkdir -p "$dir"/{bin,dev,proc,sys,root,modules}
	cp "$root/bin/busybox" "$dir/bin/busybox"
	cp "$lab/hooks/initramfs-init" "$dir/init"
	chmod 755 "$dir/init"
	chroot "$root" sh -e -c '
		kernel=$1
		shift
		for module; do modprobe --set-version "$kernel" --show-depends "$module"; done |
		while read -r kind path args; do
			[ "$kind" = insmod ] || continue
			name=${path##*/}
			[ ! -e "/tmp/initramfs/modules/$name" ] || continue
			cp "$path" "/tmp/initramfs/modules/$name"
			echo "$name" >>/tmp/initramfs/modules/order
		done
		cd /tmp/initramfs
		find . | busybox cpio -o -H newc >/boot/initrd' sh "$KERNEL" "$@"
	rm -rf "$dir"
}

# Files of this repository, and an empty /etc/fstab.
install_overlay()
{
	cp -r --no-preserve=ownership "$lab/overlay/$kind/." "$root/"
	: >"$root/etc/fstab"
	echo vmprof-"$kind" >"$root/etc/hostname"
	: >"$root/etc/machine-id"
	chroot "$root" passwd -q -d root
}

# Start nothing that an emulated machine of a few minutes' life does not need:
# of what the targets want, only the units named here and as arguments stay.
trim_units()
{
	local link unit

	for link in "$root"/etc/systemd/system/*.wants/* "$root"/usr/lib/systemd/system/*.wants/* \
		    "$root"/lib/systemd/system/*.wants/*; do
		[ -L "$link" ] || continue
		unit=${link##*/}
		case " systemd-journald.service systemd-journald.socket systemd-journald-dev-log.socket
			systemd-udevd.service systemd-udevd-control.socket systemd-udevd-kernel.socket
			systemd-udev-trigger.service sys-kernel-debug.mount $* " in
		*[[:space:]]"$unit"[[:space:]]*) ;;
		*) rm "$link" ;;
		esac
	done
	# Nothing is left to generate units from.
	mkdir -p "$root/etc/systemd/system-generators"
	for link in "$root"/usr/lib/systemd/system-generators/*; do
		ln -sf /dev/null "$root/etc/systemd/system-generators/${link##*/}"
	done
	ln -sf /usr/lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
	mkdir -p "$root/etc/systemd/journald.conf.d" "$root/etc/systemd/system.conf.d"
	printf '[Journal]\nStorage=volatile\n' >"$root/etc/systemd/journald.conf.d/lab.conf"
	printf '[Manager]\nDefaultTimeoutStopSec=10s\nDefaultDeviceTimeoutSec=30s\n' \
		>"$root/etc/systemd/system.conf.d/lab.conf"
	# What PID 1 loads by itself.
	printf 'blacklist %s\n' autofs4 ip_tables nf_tables nfnetlink qemu_fw_cfg vsock \
		vmw_vsock_virtio_transport vmw_vsock_vmci_transport vsock_loopback \
		>"$root/etc/modprobe.d/lab.conf"
}

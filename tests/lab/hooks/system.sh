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

# The modules that these machines use, of the thousands of a kernel package: depmod reads all
# that there are whenever one is installed. Below kernel/, as alternatives of a regular expression.
kept_modules="arch/x86/kernel|block|crypto|lib|drivers/block/(loop|virtio_blk)|drivers/char/(hw_random|virtio_console)
drivers/net/(net_failover|virtio_net)|drivers/virtio|fs/(ext4|fuse|jbd2|mbcache|overlayfs)|net/core|net/sched/sch_fq_codel"

# Unpack the kernel without its maintainer scripts: they would pull in and run
# a builder of initramfs images. Arguments: more modules to keep.
install_kernel()
{
	local kept

	kept=$(printf '%s|' $kept_modules "$@")
	dpkg-deb --fsys-tarfile "$KERNEL_DEB" |
		tar -C "$root" -x --keep-directory-symlink --no-same-owner --exclude=./usr/share/doc
	find "$root/lib/modules/$KERNEL/kernel" -name '*.ko*' -regextype posix-extended \
		! -regex ".*/kernel/(${kept%|})[/.].*" -delete
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

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# install.t - the host's packages under rpm and dpkg themselves, in a copy of this root that is thrown away:
# installed, upgraded, removed, installed again; nothing is left behind but captures. DKMS is made up, for its
# own builds are those of packages.t: it takes and gives up sources as the real one does. Then the guest's packages in the
# same way, with DKMS itself, and a second kernel that comes in between, and with the module for one kernel, where systemd and udev fail. Needs rpmbuild and root rights, and a mount
# namespace with an overlay; for the guest's DKMS and kernel headers (KVER, or LAB_KERNEL in a build root).
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${O:-build}
unset MAKEFLAGS MFLAGS MAKELEVEL O
work=$(mktemp -d)
root=$work/root
trap 'umount -R -l "$root" 2> /dev/null; rm -rf --one-file-system "$work"' EXIT
if [ -z "${VMPROF_TEST_INSTALL:-}" ]; then
	mkdir "$root" "$work/a" "$work/b"
	# the root of a chroot is no mount whose propagation could be changed: who made it has seen to that
	apart="unshare -m"
	$apart true 2> /dev/null || apart="unshare -m --propagation unchanged"
	if ! { command -v rpmbuild && command -v dpkg && [ "$(id -u)" = 0 ] &&
	       $apart mount -t overlay -o "lowerdir=/,upperdir=$work/a,workdir=$work/b" overlay "$root"; } > /dev/null 2>&1; then
		echo "1..0 # SKIP rpmbuild, dpkg, root rights or overlays in a mount namespace are missing"
		exit 0
	fi
	rm -rf "$work"
	VMPROF_TEST_INSTALL=1 O=$build exec $apart "$0"
fi
. tests/unit/tap.sh
is() { runs "$1" diff <(printf '%s\n' "$3") <(printf '%s\n' "$2"); }
in_root() { chroot "$root" "$@"; }
kernel=$(uname -r)
now=$(cat VERSION) next=99.0

# --- the packages, of this version and of a later one
mkdir "$work/later"
tar --exclude=./build --exclude=./.git -cf - . | tar -C "$work/later" -xf -
echo $next > "$work/later/VERSION"
sed -i '2a '$next' 2030-01-01\n- Another version.' "$work/later/packaging/changelog"
touch -r configure "$work/later/VERSION"	# no reason to build the command anew
for kind in rpm deb; do
	runs "packaging/$kind/build host" packaging/$kind/build host --build "$build" --out "$work/now/$kind"
	runs "... and of a later version" "$work/later/packaging/$kind/build" host --build "$build" --out "$work/next/$kind"
done

# --- a copy of this root
new_root()
{
	mkdir "$work/$1" "$work/$1/"{upper,work} && mkdir -p "$root" &&
	mount -t overlay -o "lowerdir=/,upperdir=$work/$1/upper,workdir=$work/$1/work" overlay "$root" &&
	mount -t proc proc "$root/proc" && mkdir -p "$root/packages" &&
	cp -r "$work/now" "$work/next" "$root/packages"
}

# made_up_dkms SEPARATOR: between name and version, which DKMS 2 prints in another way than DKMS 3
made_up_dkms()
{
	mkdir -p "$root/lib/modules/$kernel/build" "$root/usr/share/man/man1" "$root/usr/share/licenses" &&
	sed "s|SEPARATOR|$1|" > "$root/usr/sbin/dkms" <<-'END' && chmod 755 "$root/usr/sbin/dkms"
	#!/bin/sh
	command=$1
	while [ $# -gt 0 ]; do
		case $1 in -m) name=$2 ;; -v) version=$2 ;; -k) kernel=$2 ;; esac
		shift
	done
	tree=/var/lib/dkms/$name
	wrong() { echo "$command $name/$version: $*" >> /packages/dkms-complains; exit 1; }
	case $command in
	status)
		for v in "$tree"/*; do
			v=${v##*/} built=
			[ -e "$tree/$v" ] || continue
			for ko in /lib/modules/*/updates/dkms/$name.ko; do
				[ ! -e "$ko" ] || ! grep -qx "$v" "$ko" || built=$(echo "$ko" | cut -d/ -f4)
			done
			echo "${name}SEPARATOR$v${built:+, $built, x86_64: installed}" | sed '/: /!s/$/: added/'
		done ;;
	add)
		[ -e "/usr/src/$name-$version/dkms.conf" ] || wrong no sources
		[ ! -e "$tree/$version" ] || wrong it is there
		mkdir -p "$tree/$version" ;;
	install)
		[ -e "$tree/$version" ] || wrong not added
		mkdir -p "/lib/modules/$kernel/updates/dkms"
		echo "$version" > "/lib/modules/$kernel/updates/dkms/$name.ko" ;;
	remove)
		[ -e "$tree/$version" ] || wrong not added
		rm -r "$tree/$version"
		rmdir --ignore-fail-on-non-empty "$tree"
		for ko in /lib/modules/*/updates/dkms/$name.ko; do
			! grep -qx "$version" "$ko" || rm -r "${ko%/dkms/*}"
		done ;;
	esac
	END
}

# All that there is, but the databases, logs and caches of rpm and dpkg
# but what package managers write, and where other work in the root under this copy may write meanwhile
everything()
{
	in_root find / -xdev \( -path /proc -o -path /sys/module -o -path /packages -o -path /tmp -o -path /var/tmp -o -path /src -o -path /out -o -path /run/sshd -o -path /var/lib/rpm -o -path /root/.rpmdb -o -path /root/.cache \
		-o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache/debconf -o -path /var/cache/man -o -path /var/cache/ldconfig -o -path /etc/ld.so.cache \) -prune \
		-o -printf '%M %U %G %p %l\n' | sort
}
module() { cat "$root/lib/modules/$kernel/updates/dkms/vmprof.ko" 2> /dev/null || echo none; }
sources() { (cd "$root/usr/src" && ls -d vmprof-[0-9]* 2> /dev/null); }
command_version() { in_root vmprof --version | head -n 1; }

# A rmmod for loaded modules that are made up: one that is in use stays, and one that the kernel keeps for another reason
made_up_rmmod()
{
	rm -f "$root/usr/sbin/rmmod" && cat > "$root/usr/sbin/rmmod" <<-'END' && chmod 755 "$root/usr/sbin/rmmod"
	#!/bin/sh
	if [ "$(cat "/sys/module/$1/refcnt")" != 0 ]; then
		echo "rmmod: ERROR: Module $1 is in use" >&2
		exit 1
	elif [ -e "/sys/module/$1/kept" ]; then
		echo "rmmod: ERROR: could not remove '$1': Operation not permitted" >&2
		exit 1
	fi
	rm -r "/sys/module/$1"
	END
}
# is_loaded USERS
is_loaded() { mkdir -p "$root/sys/module/"{kvm,vmprof} && echo "$1" > "$root/sys/module/vmprof/refcnt"; }
loaded() { (cd "$root/sys/module" && echo *); }

stays_in_use()
{
	is "... a session's module stays loaded" "$(loaded)" "kvm vmprof"
	runs "... which is said, and what to do" grep -q "the loaded module vmprof is in use and stays; end the session and unload it: vmprof stop; rmmod vmprof" "$root/packages/said"
}

# life KIND SEPARATOR INSTALL REMOVE LIST
life()
{
	local kind=$1 install=$3 remove=$4 list=$5 before
	runs "$kind: a copy of this root" new_root "$kind"
	runs "... with a DKMS that is made up" made_up_dkms "$2"
	runs "... and modules that are, too" made_up_rmmod
	before=$(everything)
	runs "... installed" in_root sh -c "$install /packages/now/$kind/vmprof*"
	is "... the module is DKMS's" "$(module) $(sources)" "$now vmprof-$now"
	is "... the command runs" "$(command_version)" "vmprof $now"
	runs "... captures and what was fetched from guests" in_root sh -c 'umask 077; mkdir -p /var/lib/vmprof/web01 /var/cache/vmprof/objects/u &&
		touch /var/lib/vmprof/web01/x.vmprof /var/cache/vmprof/objects/u/x'
	is_loaded 0
	runs "... upgraded" in_root sh -c "$install /packages/next/$kind/vmprof*"
	is "... the old module is not loaded any more, others are" "$(loaded)" kvm
	is "... the module and its sources are the later ones" "$(module) $(sources)" "$next vmprof-$next"
	is "... and DKMS has no other" "$(ls "$root/var/lib/dkms/vmprof")" $next
	runs "... both are still there" in_root ls /var/lib/vmprof/web01/x.vmprof /var/cache/vmprof/objects/u/x
	is_loaded 1
	runs "... removed" in_root sh -c "$remove > /packages/said 2>&1"
	stays_in_use
	is "... the captures are there, and nothing else" "$(diff <(echo "$before") <(everything) | sed -n 's/^[<>] //p' | sort)" \
		"-rw------- 0 0 /var/lib/vmprof/web01/x.vmprof 
drwx------ 0 0 /var/lib/vmprof 
drwx------ 0 0 /var/lib/vmprof/web01 "
	runs "... installed again" in_root sh -c "$install /packages/now/$kind/vmprof*"
	is "... the module is DKMS's" "$(module) $(sources)" "$now vmprof-$now"
	runs "... the captures are still there" in_root rm -r /var/lib/vmprof/web01
	is_loaded 1
	runs "... upgraded while a session runs" in_root sh -c "$install /packages/next/$kind/vmprof* > /packages/said 2>&1"
	stays_in_use
	is "... the module and its sources are the later ones" "$(module) $(sources)" "$next vmprof-$next"
	is_loaded 0
	touch "$root/sys/module/vmprof/kept"
	runs "... removed again" in_root sh -c "$remove > /packages/said 2>&1"
	is "... a module that the kernel keeps for another reason stays loaded" "$(loaded)" "kvm vmprof"
	runs "... for which rmmod's own words are said" grep -q "is not in use, but stays: rmmod: ERROR: could not remove 'vmprof': Operation not permitted; " "$root/packages/said"
	runs "... and no session is blamed" sh -c "! grep -E 'is in use|vmprof stop' '$root/packages/said'"
	is "... nothing is left" "$(diff <(echo "$before") <(everything))" ""
	is "... $kind knows of no such package" "$(in_root sh -c "$list" 2>&1)" ""
	is "... DKMS was asked for nothing that it could not do" "$(cat "$root/packages/dkms-complains" 2> /dev/null)" ""
	umount "$root/proc" "$root"
}
# its database has none of Debian's packages, which vmprof requires
life rpm ", " "rpm -U --nodeps" "rpm -e vmprof vmprof-dkms" "rpm -qa 'vmprof*'"
life deb / "dpkg -i" "dpkg -P vmprof vmprof-dkms" "dpkg-query -W -f '\${Package}\n' 'vmprof*' 2> /dev/null"

# --- the guest's packages, whose scripts have the real DKMS build for a kernel that is there, but does not run
KVER=${KVER:-${LAB_KERNEL:-$kernel}}
# of its own: nothing of the machine's lies below $root
devices()
{
	local name major minor
	while read -r name major minor; do
		[ -e "$root/dev/$name" ] || mknod -m 666 "$root/dev/$name" c "$major" "$minor" || return
	done <<-END
		null 1 3
		zero 1 5
		random 1 8
		urandom 1 9
		tty 5 0
	END
	ln -sfn /proc/self/fd "$root/dev/fd"
}
has_kernel()
{
	mkdir -p "$root/usr/share/man/man8" "$root/usr/share/licenses" && devices && mv "$root/usr/bin/uname" "$root/usr/bin/uname.real" &&
	printf '#!/bin/sh\n[ "$*" != -r ] || exec echo %s\nexec uname.real "$@"\n' "$KVER" > "$root/usr/bin/uname" &&
	chmod 755 "$root/usr/bin/uname" && [ "$(in_root uname -r)" = "$KVER" ]
}
# what tools keep of /etc/passwd and its kin is theirs, and the key that DKMS signs with is DKMS's
left() { diff <(echo "$1") <(everything) | grep -v -e ' /etc/[a-z]*- $' -e ' /var/lib/dkms/mok[.][a-z]* $' | grep '^[<>]'; }
guest_module() { in_root modinfo -k "$KVER" -F version vmprof_guest 2> /dev/null || echo none; }
# module_of KERNEL FIELD - the file itself: depmod makes no index for a kernel without modules of its own
module_of() { find "$root/lib/modules/$1" -name 'vmprof_guest.ko*' -exec modinfo -F "$2" {} + | grep . || echo none; }
guest_sources() { (cd "$root/usr/src" && ls -d vmprof-guest-[0-9]* 2> /dev/null); }
# another_kernel NAME - the headers of a kernel that differs from $KVER by its name alone
another_kernel()
{
	local headers=$root/usr/src/linux-headers-$1
	cp -a "$(realpath "/lib/modules/$KVER/build")" "$headers" && grep -rlZF -- "$KVER" "$headers" | xargs -0 sed -i "s/$KVER/$1/g" &&
	mkdir "$root/lib/modules/$1" && ln -s "/usr/src/linux-headers-$1" "$root/lib/modules/$1/build"
}
no_other_kernel() { rm -r "$root/lib/modules/$1" "$root/usr/src/linux-headers-$1"; }

# guest_life KIND INSTALL REMOVE LIST HOOK - HOOK: what a kernel's headers run when they have come
guest_life()
{
	local kind=$1 install="$2 /packages/now/guest-$1/vmprof-guest-agent[-_]*" upgrade="$2 /packages/next/guest-$1/vmprof-guest-agent[-_]*" remove=$3 before
	local other=$KVER-later
	runs "guest, $kind: packaging/$kind/build guest" "packaging/$kind/build" guest --kver "$KVER" --out "$work/now/guest-$kind"
	runs "... and of a later version" "$work/later/packaging/$kind/build" guest --kver "$KVER" --out "$work/next/guest-$kind"
	runs "... a copy of this root" new_root "guest-$kind"
	runs "... with a kernel" has_kernel
	before=$(everything)
	runs "... installed" in_root sh -c "$install"
	is "... DKMS has built the module" "$(guest_module) $(guest_sources)" "$now vmprof-guest-$now"
	runs "... it has a user" in_root getent passwd vmprof-agent
	runs "... the headers of another kernel come" another_kernel "$other"
	is "... for which there is no module" "$(module_of "$other" version)" none
	runs "... until DKMS hears of it ($5)" in_root $5 "$other"
	is "... each kernel has the module" "$(guest_module) $(module_of "$other" version)" "$now $now"
	is "... its own" "$(module_of "$other" vermagic | cut -d' ' -f1)" "$other"
	runs "... upgraded" in_root sh -c "$upgrade"
	is "... DKMS has built the later one, for each kernel" "$(guest_module) $(module_of "$other" version) $(guest_sources)" "$next $next vmprof-guest-$next"
	is "... and has no other" "$(in_root dkms status vmprof-guest | sed 's/,.*: /: /' | sort -u)" "vmprof-guest/$next: installed"
	runs "... removed" in_root $remove
	is "... from each kernel" "$(guest_module) $(module_of "$other" version)" "none none"
	runs "... one of which goes" no_other_kernel "$other"
	is "... nothing is left" "$(left "$before")" ""
	runs "... no user" in_root sh -c '! getent passwd vmprof-agent'
	runs "... installed again" in_root sh -c "$install"
	is "... DKMS has built the module" "$(guest_module) $(guest_sources)" "$now vmprof-guest-$now"
	runs "... removed again" in_root $remove
	is "... nothing is left" "$(left "$before")" ""
	is "... $kind knows of no such package" "$(in_root sh -c "$4" 2>&1)" ""
	umount -R "$root"
}
# A systemd and a udev that do nothing of what they are told, while a service runs, or is in the state that a file tells
made_up_systemd()
{
	mkdir -p "$root/run/systemd/system" && rm -f "$root/usr/bin/systemctl" "$root/usr/bin/udevadm" &&
	cat > "$root/usr/bin/systemctl" <<-'END' &&
	#!/bin/sh
	echo "${0##*/} $*" >> /packages/asked
	quiet=
	[ "$1" != -q ] || { quiet=yes; shift; }
	[ "$*" = "is-active vmprof-agent" ] || exit 1
	state=$(cat /packages/state 2> /dev/null || echo active)
	[ "$quiet" ] || echo "$state"
	[ "$state" = active ]
	END
	cp "$root/usr/bin/systemctl" "$root/usr/bin/udevadm" && chmod 755 "$root/usr/bin/systemctl" "$root/usr/bin/udevadm"
}
# The agent's module is loaded, and whoever unloads it is heard
module_loaded()
{
	mkdir -p "$root/sys/module/vmprof_guest" &&
	rm -f "$root/usr/sbin/rmmod" && cp "$root/usr/bin/systemctl" "$root/usr/sbin/rmmod"
}
# begins - the agent, after udev saw its port
begins()
{
	asked "udevadm trigger --settle --subsystem-match=virtio-ports --attr-match=name=org[.]vmprof[.]agent[.]0" &&
	asked "systemctl start vmprof-agent"
}
# asked WORDS - one of the two was told this
asked() { grep -q -x -- "$1" "$root/packages/asked"; }

# deaf_life KIND INSTALL REMOVE LIST WANTED - the agent with its module built for one kernel, where systemd and udev fail, and with
# that for another one; WANTED: what LIST says when it is installed
deaf_life()
{
	local kind=$1 install="$2 /packages/now/guest-$1/vmprof-guest-agent[-_][0-9]* /packages/now/guest-$1/*vmprof-guest*$KVER*" remove=$3 before
	local upgrade=${install//now/next} other=$KVER-later port=/dev/virtio-ports/org.vmprof.agent.0 again
	again=${upgrade/-U /-U --replacepkgs }
	runs "guest, $kind, with the module for one kernel: a copy of this root" new_root "deaf-$kind"
	runs "... with a kernel" has_kernel
	runs "... and a systemd and a udev that fail" made_up_systemd
	runs "... and a loaded module" module_loaded
	before=$(everything)
	runs "... installed" in_root sh -c "$install"
	runs "... udev was told" asked "udevadm control --reload"
	runs "... and to look at the agent's port, at no other" asked "udevadm trigger --settle --subsystem-match=virtio-ports --attr-match=name=org[.]vmprof[.]agent[.]0"
	runs "... and systemd to begin with the module" asked "systemctl start --no-block vmprof-agent"
	is "... modprobe finds the module" "$(guest_module)" "$now"
	is "... $kind has no doubt about them" "$(in_root sh -c "$4" 2>&1 | sort)" "$5"
	runs "... and the loaded module went" asked "rmmod vmprof_guest"
	runs "... the module for another kernel is built" "packaging/$kind/build" guest --kver "$other" --kdir "/lib/modules/$KVER/build" --out "$work/now/other-$kind"
	cp -r "$work/now/other-$kind" "$root/packages/now"
	: > "$root/packages/asked"
	runs "... it comes" in_root sh -c "$2 /packages/now/other-$kind/*vmprof-guest*$other*"
	is "... beside the one of this kernel" "$(guest_module) $(module_of "$other" version)" "$now $now"
	is "... the agent runs on, its module stays loaded" "$(cat "$root/packages/asked")" ""
	runs "... it goes" in_root sh -c "${remove/"$KVER vmprof-guest-agent"/"$other"}"
	is "... and leaves the one of this kernel" "$(guest_module) $(module_of "$other" version)" "$now none"
	is "... the agent runs on, its module stays loaded" "$(cat "$root/packages/asked")" ""
	rm -rf "$root/lib/modules/$other"	# the kernel, whose index depmod has made
	runs "... the port comes, the agent's user's" in_root sh -c "mkdir /dev/virtio-ports && touch $port && chown vmprof-agent $port"
	runs "... upgraded" in_root sh -c "$upgrade"
	is "... modprobe finds the later module" "$(guest_module)" "$next"
	runs "... and the loaded one went" asked "rmmod vmprof_guest"
	runs "... the agent begins anew" begins
	echo inactive > "$root/packages/state"
	: > "$root/packages/asked"
	runs "... upgraded again, while the agent is stopped" in_root sh -c "$again"
	runs "... of which systemd and udev hear" asked "systemctl daemon-reload"
	runs "... but nobody begins it, nor shows its port to udev" sh -c "! grep -E ' start | trigger ' $root/packages/asked"
	echo failed > "$root/packages/state"
	runs "... and again, while it fails" in_root sh -c "$again"
	runs "... it begins" begins
	echo inactive > "$root/packages/state"
	: > "$root/packages/asked"
	runs "... the port is another user's" chown 0 "$root$port"
	runs "... installed for the first time, for all that is known" in_root sh -c "$again"
	runs "... it begins" begins
	rm -r "$root/packages/state" "$root/dev/virtio-ports"
	: > "$root/packages/asked"
	runs "... removed" in_root sh -c "$remove"
	runs "... udev was told, for that port" asked "udevadm trigger --subsystem-match=virtio-ports --attr-match=name=org[.]vmprof[.]agent[.]0"
	is "... the module too" "$(guest_module)" none
	runs "... also the loaded one" asked "rmmod vmprof_guest"
	is "... nothing is left" "$(left "$before")" ""
	is "... $kind knows of no such package" "$(in_root sh -c "$4" 2>&1)" ""
	runs "... no user" in_root sh -c '! getent passwd vmprof-agent'
	umount -R "$root"
}
if command -v dkms > /dev/null && [ -e "/lib/modules/$KVER/build" ]; then
	guest_life rpm "rpm -U --nodeps" "rpm -e vmprof-guest-agent-dkms vmprof-guest-agent" "rpm -qa 'vmprof*'" "dkms autoinstall -k"
	guest_life deb "dpkg --force-depends -i" "dpkg -P vmprof-guest-agent-dkms vmprof-guest-agent" \
		"dpkg-query -W -f '\${Package}\n' 'vmprof*' 2> /dev/null" /etc/kernel/header_postinst.d/dkms
	deaf_life rpm "rpm -U --nodeps" "rpm -e kmod-vmprof-guest-$KVER vmprof-guest-agent" "rpm -qa '*vmprof*'" \
		"kmod-vmprof-guest-$KVER-$now-1.x86_64
vmprof-guest-agent-$now-1.x86_64"
	deaf_life deb "dpkg --force-depends -i" "dpkg -P vmprof-guest-module-$KVER vmprof-guest-agent" \
		"dpkg-query -W -f '\${Package} \${Status}\n' 'vmprof*' 2> /dev/null | grep -v ' not-installed'" \
		"vmprof-guest-agent install ok installed
vmprof-guest-module-$KVER install ok installed"
else
	skip "the guest's packages" "dkms or the headers of $KVER are missing"
fi
echo "1..$nr"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# dkms.t - what is installed for DKMS, on host and guest, ends in a module where modprobe looks, built
# without a warning, with DKMS itself in folders of its own. Needs dkms and kernel headers (KVER, or LAB_KERNEL in a build root).
set -u
cd "$(dirname "$0")/../.." || exit 1
unset MAKEFLAGS MFLAGS MAKELEVEL O	# a make that called us built something else
KVER=${KVER:-${LAB_KERNEL:-$(uname -r)}}
KDIR=/lib/modules/$KVER/build
if ! command -v dkms > /dev/null || [ ! -e "$KDIR" ] || [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP dkms, root rights or the headers of $KVER are missing"
	exit 0
fi
echo 1..17
nr=0
check()
{
	nr=$((nr + 1))
	if "${@:2}" > /dev/null 2>&1; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		sed 's/^/# /' "$work/log"
		find "$work/tree" -name make.log -exec sed 's/^/# /' {} +
	fi
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{src,tree} "$work/modules/$KVER"
ln -s "$(realpath "$KDIR")" "$work/modules/$KVER/build"
version=$(cat VERSION)
dkms="dkms --dkmstree $work/tree --sourcetree $work/src --installtree $work/modules --no-depmod"
install() { make -C host-driver dkms-install KVER="$KVER" DKMS="$dkms" DKMS_SRC="$work/src/vmprof-$version" > "$work/log" 2>&1; }

check "make dkms-install" install
check "it says what is next" grep -q 'now run: modprobe vmprof$' "$work/log"
# is_good PACKAGE MODULE: what holds for each module
is_good()
{
	local module
	module=$(find "$work/modules/$KVER" -name "$2.ko*" 2> /dev/null)
	check "the module $2 is where modprobe looks" test -s "$module"
	check "it is for that kernel" test "$(modinfo -F vermagic "$module" | cut -d' ' -f1)" = "$KVER"
	check "it has the version" test "$(modinfo -F version "$module")" = "$version"
	check "DKMS knows it" sh -c "$dkms status | grep -q '^$1/$version, $KVER.*: installed'"
	check "compiler, modpost and objtool had no warning" no_warning "$1"
}
no_warning()
{
	local log
	log=$(find "$work/tree/$1" -name make.log -type f)
	[ -s "$log" ] && ! grep -E 'WARNING|warning:' "$log" >> "$work/log"
}
is_good vmprof vmprof
check "a second time, over the first" install

make -C host-driver dkms-install DESTDIR="$work/dest" > "$work/log" 2>&1
check "with DESTDIR only the source is put there" test -e "$work/dest/usr/src/vmprof-$version/dkms.conf"
check "... and the next step is said" grep -q "dkms install vmprof/$version\$" "$work/log"

# The guest's half: its package brings the sources, and whoever changes the kernel installs them
guest() { make -C guest-agent dkms-install KVER="$KVER" DESTDIR="$work/guest" > "$work/log" 2>&1; }
check "the guest's sources for DKMS" guest
mv "$work/guest/usr/src/"* "$work/src/"
check "dkms install vmprof-guest" sh -c "$dkms install vmprof-guest/$version -k $KVER >> $work/log 2>&1"
is_good vmprof-guest vmprof_guest

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
echo 1..34
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
old=5.10.0-30-amd64
mkdir "$work/modules/$old"
ln -s "$(realpath "$KDIR")" "$work/modules/$old/build"
version=$(cat VERSION)
dkms="dkms --dkmstree $work/tree --sourcetree $work/src --installtree $work/modules --no-depmod"
install() { make -C host-driver dkms-install KVER="$KVER" DKMS="$dkms" DKMS_SRC="$work/src/vmprof-$version" > "$work/log" 2>&1; }

check "make dkms-install" install
check "it says what is next" grep -q 'now run: modprobe vmprof$' "$work/log"
check "nothing that DKMS does on the way fails" sh -c "! grep -q 'bad exit status' $work/log"
# takes CONF KERNEL...: DKMS would build for each of these; takes_no: for none. As DKMS reads it, by name
takes() { local conf=$1 k; shift; for k; do of_conf "$conf" "$k" || { echo "$k is refused" >> "$work/log"; return 1; }; done; }
takes_no() { local conf=$1 k; shift; for k; do ! of_conf "$conf" "$k" || { echo "$k is taken" >> "$work/log"; return 1; }; done; }
of_conf() { (set +u; . "$1"; [[ $2 =~ $BUILD_EXCLUSIVE_KERNEL && x86_64 =~ $BUILD_EXCLUSIVE_ARCH && ! aarch64 =~ $BUILD_EXCLUSIVE_ARCH ]]); }
# leaves_out PACKAGE: DKMS itself, for a kernel that is too old, whose headers are there
leaves_out()
{
	local conf=$work/src/$1-$version/dkms.conf
	check "$1: Linux 6.1 and later are taken" takes "$conf" 6.1.0-56-amd64 6.1.0 6.1-rc1 6.10.11-amd64 6.12.118+deb13-amd64 \
		6.12.0-200.fc41.x86_64 6.8.0-31-generic 7.0.0-1-amd64 10.1.2
	check "... older ones are not" takes_no "$conf" 4.18.0-553.el8_10.x86_64 5.4.0-26-generic $old 5.15.0-25-generic \
		5.14.0-70.13.1.el9_0.x86_64 5.14.21-150500.55.7-default 5.19.17 6.0.0-6-amd64 6.0.19 2.6.1
	# Debian 12's DKMS goes on, but says at its end that not all was installed
	check "... DKMS does not fail for such a one when it builds all there is" \
		sh -c "$dkms autoinstall -k $old > $work/log 2>&1 || dkms --version | grep -q -F -- -3.0.10"
	check "... but says why not" grep -q BUILD_EXCLUSIVE "$work/log"
	check "... not even where it is told to" sh -c "! $dkms install $1/$version -k $old > $work/log 2>&1"
	check "... nothing is tried" sh -c "! find $work/modules/$old $work/tree/$1 -path '*$old*' \( -name '*.ko*' -o -name make.log \) | grep ."
}
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
leaves_out vmprof

make -C host-driver dkms-install DESTDIR="$work/dest" > "$work/log" 2>&1
check "with DESTDIR only the source is put there" test -e "$work/dest/usr/src/vmprof-$version/dkms.conf"
check "... and the next step is said" grep -q "dkms install vmprof/$version\$" "$work/log"

# The guest's half: its package brings the sources, and whoever changes the kernel installs them
guest() { make -C guest-agent dkms-install KVER="$KVER" DESTDIR="$work/guest" > "$work/log" 2>&1; }
check "the guest's sources for DKMS" guest
mv "$work/guest/usr/src/"* "$work/src/"
check "dkms install vmprof-guest" sh -c "$dkms install vmprof-guest/$version -k $KVER >> $work/log 2>&1"
check "... nothing fails on the way" sh -c "! grep -q 'bad exit status' $work/log"
is_good vmprof-guest vmprof_guest
leaves_out vmprof-guest
# ... nor for a kernel where it would not build; of this one there is its configuration, where each DKMS looks
rt=6.12.0-rt-amd64
mkdir -p "$work/modules/$rt/build/include/config"
(cat "$KDIR/.config"; echo CONFIG_PREEMPT_RT=y) | tee "$work/modules/$rt/build/.config" > "$work/modules/$rt/build/include/config/auto.conf"
check "vmprof-guest: a real-time kernel is left out" \
	sh -c "! $dkms install vmprof-guest/$version -k $rt --kernelsourcedir $work/modules/$rt/build > $work/log 2>&1"
check "... by its configuration" grep -q BUILD_EXCLUSIVE "$work/log"
check "... but for those of RHEL that have what it needs" takes "$work/src/vmprof-guest-$version/dkms.conf" 5.14.0-427.13.1.el9_4.x86_64 5.14.0-570.12.1.el9_6.x86_64

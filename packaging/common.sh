# SPDX-License-Identifier: GPL-2.0-only
# common.sh - what the package builders share: options, scripts with their words put in. Source it.

unset MAKEFLAGS MFLAGS MAKELEVEL O	# O=DIR of a make that called us is not the kernel's
packaging=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$packaging")
version=$(cat "$top/VERSION")
kver='' kdir='' out='' release=1 build='' dkms_name='' sign_key='' sign_cert=''

usage()
{
	cat >&2 <<-END
	usage: $1 guest|host --out DIR [OPTION]...
	  guest           vmprof-guest-agent, its module as sources for DKMS and built for one kernel
	  host            vmprof, and its module as sources for DKMS
	  --out DIR       where the packages go
	  --kver VERSION  guest: the guest's kernel, as \`uname -r\` prints it there [this machine's: its module is
	                  left out where the headers are missing, unless it is to be signed]
	  --kdir DIR      guest: its headers [/lib/modules/VERSION/build]
	  --sign-key FILE, --sign-cert FILE
	                  guest: sign the module with this key; a certificate of it
	  --build DIR     host: where \`make O=DIR\` has built the command [build]
	  --release N     1 without: higher ones upgrade lower ones, and are rebuilds to their changelog
	END
	exit 2
}

die()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

# The key to sign the module with is checked here, and has its whole path: rpmbuild works in another folder
signing()
{
	[ -n "$sign_key$sign_cert" ] || return 0
	[ -r "$sign_key" ] && [ -r "$sign_cert" ] || die "--sign-key and --sign-cert each take a file that can be read"
	[ -x "$kdir/scripts/sign-file" ] || die "no $kdir/scripts/sign-file: these kernel headers have nothing to sign a module with"
	sign_key=$(realpath "$sign_key") sign_cert=$(realpath "$sign_cert")
}

# The kernel that the guest's module is built for: this machine's where none is named. Then, without its headers, there is
# no kver, and all is built but this module
kernel()
{
	[ -n "$kver$kdir$sign_key$sign_cert" ] || [ -e "/lib/modules/$(uname -r)/build/Makefile" ] || return 0
	kver=${kver:-$(uname -r)}
	kdir=${kdir:-/lib/modules/$kver/build}
	[ -e "$kdir/Makefile" ] ||
		die "no kernel headers in $kdir: install those of the guest's kernel (Debian: linux-headers-$kver; Fedora: kernel-devel-$kver), or name another folder with KDIR= (--kdir); KVER= (--kver) says which kernel the guest has"
	signing
}

# options ARG... - set what, dkms_name, kver, kdir, out, packages (a folder), release, build, and for guest-agent/Makefile KDIR, SIGN_KEY, SIGN_CERT
options()
{
	local self=packaging/${packaging_kind:?}/build
	what=${1:-}
	case $what in guest | host) shift ;; *) usage "$self" ;; esac
	while [ $# -gt 1 ]; do
		case $1 in
		--out) out=$2 ;;
		--kver) kver=$2 ;;
		--kdir) kdir=$2 ;;
		--build) build=$2 ;;
		--sign-key) sign_key=$2 ;;
		--sign-cert) sign_cert=$2 ;;
		--release) release=$2 ;;
		*) usage "$self" ;;
		esac
		shift 2
	done
	[ $# = 0 ] && [ -n "$out" ] || usage "$self"
	[[ $release =~ ^[1-9][0-9]*$ ]] || die "--release $release: it is to be a number from 1 on"
	read -r newest newest_day < <(sed '/^#/d' "$packaging/changelog") || :
	[ "$newest" = "$version" ] || die "packaging/changelog does not say what is new in $version: it begins with '$newest'"
	[[ $newest_day =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || die "packaging/changelog: the day of $newest is to be as 2026-01-31, not '$newest_day'"
	if [ "$what" = guest ]; then
		dkms_name=vmprof-guest
		kernel
		export KDIR=$kdir SIGN_KEY=$sign_key SIGN_CERT=$sign_cert
	else
		dkms_name=vmprof
		build=$(cd "${build:-$top/build}" && pwd) || exit 1
		[ -x "$build/vmprof" ] || die "no $build/vmprof: run make first, or name another folder with --build"
	fi
	mkdir -p "$out"
	out=$(cd "$out" && pwd)
	work=$out/.work
	rm -rf "$work"
	packages=$work/packages
	mkdir -p "$packages"
	export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -ud "$newest_day" +%s)} LC_ALL=C
}

# changes - packaging/changelog with whole versions, and before it what is built if that is a later release
changes()
{
	[ "$release" = 1 ] || printf '%s\n' "$version-$release $newest_day" "- Rebuild of $version as release $release."
	sed -e '/^#/d' -e 's/^[0-9][^ ]*/&-1/' "$packaging/changelog"
}

# script NAME - a script of packaging/scripts
script()
{
	sed -e "s|@VERSION@|$version|g" -e "s|@NAME@|$dkms_name|g" -e "s|@KVER@|$kver|g" "$packaging/scripts/$1"
}

# summary NAME, description NAME - the first line of packaging/descriptions/NAME, and the others
summary() { sed -e "s|@KVER@|$kver|g" -e 1q "$packaging/descriptions/$1"; }
description() { sed -e "s|@KVER@|$kver|g" -e 1d "$packaging/descriptions/$1"; }

# The daemon and the module of the guest, in $work/build
build_guest()
{
	make -C "$top/guest-agent" --no-print-directory BUILD="$work/build" KDIR="$kdir" KVER="$kver" daemon ${kver:+module}
}

# finish - what lies in $packages goes to $out, and is listed
finish()
{
	local names
	names=$(cd "$packages" && ls)
	mv "$packages"/* "$out"
	rm -rf "$work"
	sed "s|^|$out/|" <<< "$names"
	[ "$what" = host ] || [ -n "$kver" ] ||
		echo "${0##*/}: the prebuilt module is left out: there are no headers of this machine's kernel $(uname -r). KVER= (--kver) names the guest's kernel, and KDIR= (--kdir) its headers if they are not in /lib/modules/KVER/build" >&2
}

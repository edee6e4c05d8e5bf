#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# packages.t - make rpm and make deb build the packages of both halves; they are complete, and say what they need; their
# DKMS scripts work on DKMS itself. Needs rpmbuild, dkms and kernel headers (KVER, or LAB_KERNEL
# in a build root). rpmlint and lintian judge where they are installed, as in the lab's build root of Debian 13.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(realpath "${O:-build}")
unset MAKEFLAGS MFLAGS MAKELEVEL O
KVER=${KVER:-${LAB_KERNEL:-$(uname -r)}}
KDIR=/lib/modules/$KVER/build
if ! { command -v rpmbuild && command -v dkms && command -v dpkg-deb; } > /dev/null || [ ! -e "$KDIR" ] || [ "$(id -u)" != 0 ]; then
	echo "1..0 # SKIP rpmbuild, dkms, root rights or the headers of $KVER are missing"
	exit 0
fi
. tests/unit/tap.sh
# judged TOOL CMD... - where somebody else's tool is installed, it has nothing to say
judged()
{
	if command -v "$1" > /dev/null; then
		runs "$1 has nothing to say" "${@:2}"
	else
		skip "$1 has nothing to say" "$1 is not installed"
	fi
}
is() { runs "$1" diff <(printf '%s\n' "$3") <(printf '%s\n' "$2"); }
has() { runs "$1" grep -q -E -- "$3" <<< "$2"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(cat VERSION)
rpms=$build/rpm debs=$build/deb
rm -rf "$rpms" "$debs"
# sources FOLDER HEADER NAME - what DKMS gets: all of FOLDER but its README, and the header that it shares with others
sources()
{
	{
		(cd "$1" && find . ! -name README.md -printf '%y %P\n')
		printf '%s\n' "d include" "d include/vmprof" "f include/vmprof/$2"
	} | sed -e 's/^d/drwxr-xr-x/' -e 's/^f/-rw-r--r--/' -e "s| | root /usr/src/$3-$version/|" -e 's|/$||' | sort -k3
}
vmprof_files="-rwxr-xr-x root /usr/bin/vmprof
-rw-r--r-- root /usr/share/bash-completion/completions/vmprof
-rw-r--r-- root /usr/share/doc/vmprof/block-timing.md
-rw-r--r-- root /usr/share/doc/vmprof/packages.md
-rw-r--r-- root /usr/share/doc/vmprof/performance-xml.md
-rw-r--r-- root /usr/share/doc/vmprof/report-json.md
$(cd docs/man && printf -- '-rw-r--r-- root /usr/share/man/man1/%s\n' * | sort -k3)
-rw-r--r-- root /usr/share/vmprof/performance.xsd
-rw-r--r-- root /usr/share/vmprof/profile.schema.json"
# no_labels NAME SCRIPTS - files keep the labels that the distribution's policy gives them
no_labels() { runs "$1: no script speaks of SELinux" sh -c '! grep -n -E "semanage|semodule|restorecon|chcon|fixfiles|setsebool"' <<< "$2"; }

# a key that is thrown away, to sign the prebuilt module with
sign=()
if command -v openssl > /dev/null && [ -x "$KDIR/scripts/sign-file" ]; then
	runs "a key and its certificate" openssl req -new -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=vmprof packages.t/" \
		-keyout "$work/key.pem" -outform DER -out "$work/key.der"
	sign=(SIGN_KEY="$work/key.pem" SIGN_CERT="$work/key.der")
fi
# signed_module FILE
signed_module()
{
	if [ ${#sign[@]} = 0 ]; then
		skip "... it is signed" "there is no openssl, or no sign-file in $KDIR"
		return
	fi
	is "... it is signed" "$(modinfo -F signer "$1")" "vmprof packages.t"
	runs "... and that is its end, nothing came behind" sh -c "tail -c 28 $1 | grep -q '^~Module signature appended~$'"
}

# made KIND [VARIABLE=VALUE...] - make rpm or make deb where uname -r says $running and nothing else names a kernel; $said is what it says
mkdir "$work/kernel"
printf '#!/bin/sh\n[ "$*" != -r ] || exec echo "$running"\nexec /bin/uname "$@"\n' > "$work/kernel/uname"
chmod +x "$work/kernel/uname"
made()
{
	said=$(env -u KVER -u KDIR PATH="$work/kernel:$PATH" running="$running" make -s "$1" O="$build" "${@:2}" 2>&1)
}
# packaged NAME KIND PACKAGE... - KIND's folder has these packages, and make has listed each once
packaged()
{
	is "$1" "$(cd "$build/$2" && LC_ALL=C ls -A)" "$(printf '%s\n' "${@:3}" | LC_ALL=C sort)"
	is "... each is listed once" "$(grep -x "$build/$2/.*" <<< "$said" | sort)" "$(printf "$build/$2/%s\n" "${@:3}" | sort)"
}
rpm_packages=("vmprof-$version-1.x86_64.rpm" "vmprof-dkms-$version-1.noarch.rpm"
	"vmprof-guest-agent-$version-1.x86_64.rpm" "vmprof-guest-agent-dkms-$version-1.noarch.rpm")
deb_packages=("vmprof-dkms_$version-1_all.deb" "vmprof-guest-agent-dkms_$version-1_all.deb"
	"vmprof-guest-agent_$version-1_amd64.deb" "vmprof_$version-1_amd64.deb")

# --- where the running kernel has no headers
running=1.0-none
for kind in rpm deb; do
	for named in "SIGN_KEY=$0 SIGN_CERT=$0" KVER=$running "KDIR=$work"; do
		# shellcheck disable=SC2086
		! made $kind $named
		result $? "make $kind with ${named%%=*}=, but no headers: no"
		has "... it says how to have them" "$said" '^build: no kernel headers in .*KDIR=.*KVER='
		runs "... and makes no package" test ! -e "$build/$kind"
	done
	declare -n packages=${kind}_packages
	made $kind
	result $? "make $kind alone" || sed 's/^/# /' <<< "$said"
	packaged "... makes all packages but the prebuilt module's" $kind "${packages[@]}"
	is "... which one line says, and how to have it" "$(grep -c 'prebuilt module.*KVER=.*KDIR=' <<< "$said")" 1
done

# --- RPM
rm -rf "$rpms"
kmod=kmod-vmprof-guest-$KVER
made rpm KVER="$KVER" KDIR="$KDIR" "${sign[@]}"
result $? "make rpm" || sed 's/^/# /' <<< "$said"
packaged "the RPMs" rpm "${rpm_packages[@]}" "$kmod-$version-1.x86_64.rpm"
q() { rpm -qp "${@:2}" "$rpms/$1-$version-1".*.rpm; }
all_modes() { q "$1" --qf '[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]'; }
# modes PACKAGE - without the licence, which each has
modes() { all_modes "$1" | grep -v ' /usr/share/licenses/'; }
is "files of vmprof-guest-agent" "$(modes vmprof-guest-agent)" "-rw-r--r-- root /usr/lib/systemd/system/vmprof-agent.service
-rw-r--r-- root /usr/lib/sysusers.d/vmprof-agent.conf
-rw-r--r-- root /usr/lib/udev/rules.d/99-vmprof-agent.rules
-rwxr-xr-x root /usr/sbin/vmprof-agent
-rw-r--r-- root /usr/share/man/man8/vmprof-agent.8"
# man pages are compressed as rpmbuild's distribution does it
is "files of vmprof" "$(modes vmprof | sed -n '/^-/s/\([.]gz\)\?$//p' | sort -k3)" "$vmprof_files"
is "folders of vmprof" "$(modes vmprof | grep '^d')" "drwxr-xr-x root /usr/share/doc/vmprof
drwxr-xr-x root /usr/share/vmprof
drwx------ root /var/cache/vmprof
drwx------ root /var/lib/vmprof"
is "files of vmprof-dkms" "$(modes vmprof-dkms | sort -k3)" "$(sources host-driver uapi.h vmprof)"
is "files of vmprof-guest-agent-dkms" "$(modes vmprof-guest-agent-dkms | sort -k3)" "$(sources guest-agent/module agent_proto.h vmprof-guest)"
is "files of kmod-vmprof-guest" "$(modes "$kmod")" "drwxr-xr-x root /lib/modules/$KVER/extra
-rw-r--r-- root /lib/modules/$KVER/extra/vmprof_guest.ko"
for p in "$kmod" vmprof-guest-agent-dkms; do
	has "$p provides the module" "$(q "$p" --provides)" "^vmprof-guest-module = $version"
done
# as packaging/changelog has them, with their release
rpm_changes=$(sed '/^#/d' packaging/changelog | while read -r first rest; do
	case $first in -) echo "- $rest" ;; *) echo "* $(LC_ALL=C date -d "$rest" '+%a %b %d %Y') The vmprof authors - $first-1" ;; esac
done)
for p in "$kmod" vmprof vmprof-dkms vmprof-guest-agent vmprof-guest-agent-dkms; do
	is "$p has the licence" "$(all_modes "$p" | grep ' /usr/share/licenses/') $(q "$p" --licensefiles)" "drwxr-xr-x root /usr/share/licenses/$p
-rw-r--r-- root /usr/share/licenses/$p/COPYING /usr/share/licenses/$p/COPYING"
	is "$p has the changelog" "$(q "$p" --changelog | sed '/^$/d')" "$rpm_changes"
	no_labels "$p" "$(q "$p" --scripts --triggers --filetriggers)"
	for s in PREIN POSTIN PREUN POSTUN; do
		# what Lua has around it is Lua's
		q "$p" --qf "%{$s}" | grep -v -E '^([(]none[)]|os[.]execute[(][[][[]|[]][]][)]|if tonumber.*|end)$' > "$work/script"
		[ ! -s "$work/script" ] || runs "... its $s is a script, with all words put in" sh -c "sh -n $work/script && ! grep '@[a-z]*@' $work/script"
	done
done
# what they require, by rpm's own answer in an empty database: packages that are made up provide it, each one thing
mapfile -t linked < <(q vmprof --requires | grep -v -e '^rpmlib(' -e '^libvirt' -e '^/bin/sh$' | sort -u)
libvirt=("libvirt.so.0()(64bit)" "libvirt-qemu.so.0()(64bit)")
agent="vmprof-guest-agent = $version-1" cmd="vmprof = $version-1" kernel="kernel-uname-r = $KVER"
things=(rpm dkms kmod /bin/sh systemd-udev udev shadow-utils shadow "systemd = 249" "systemd = 248" "$agent" "vmprof-guest-agent = $version-2" "vmprof-guest-agent = 0.0-1"
	vmprof-guest-agent-dkms "$cmd" "vmprof = $version-2" "$kernel" "kernel-uname-r = 1.0-other" "${libvirt[@]}" "${linked[@]}")
{
	printf '%s\n' "Name: thing" "Version: 1" "Release: 1" "Summary: x" "License: x" "BuildArch: noarch" %description
	for i in "${!things[@]}"; do
		printf '%s\n' "%package $i" "Summary: x" "Provides: ${things[i]}" "%description $i" "%files $i"
	done
} > "$work/things.spec"
runs "packages that provide what ours require" rpmbuild -bb --quiet --define "_topdir $work/things" --define "_rpmdir $work/things" \
	--define "_build_name_fmt %%{NAME}.rpm" "$work/things.spec"
# installs PACKAGE THING... - it would be installed where these are, and $always
installs()
{
	local package=$1 thing i with=()
	shift
	for thing in ${always:-} "$@"; do
		for i in "${!things[@]}"; do
			[ "${things[i]}" != "$thing" ] || with+=("$work/things/thing-$i.rpm")
		done
	done
	LC_ALL=C rpm --root "$work/db" -i --test "$rpms/$package-$version-1".*.rpm "${with[@]}" 2>&1
}
# refused PACKAGE WANTED THING... - it is not where these are, for want of WANTED
refused() { installs "$1" "${@:3}" | grep -F "$2" | grep -q -F "is needed by $1-$version-1"; }
# each_needed PACKAGE THING... - where any one of these is missing it is not installed
each_needed()
{
	local package=$1 missing thing others status=0
	shift
	for missing; do
		others=()
		for thing; do
			[ "$thing" = "$missing" ] || others+=("$thing")
		done
		refused "$package" "${missing%% *}" "${others[@]}" || { echo "installed without $missing"; status=1; }
	done
	return $status
}
# requires PACKAGE THING...
requires()
{
	runs "$1 would be installed${always:+ beside $always} where there is all that it requires" installs "$@"
	runs "... not where one of it is missing" each_needed "$@"
}
unset always
requires vmprof "${libvirt[@]}" "${linked[@]}" /bin/sh
requires vmprof-dkms dkms /bin/sh "$cmd"
requires vmprof-guest-agent-dkms dkms /bin/sh "$agent"
# where rpm is no package itself, as in a Debian guest, its database knows of nothing that is there
requires vmprof-guest-agent
requires "$kmod" "$agent"
always=rpm requires vmprof-guest-agent "systemd = 249" systemd-udev shadow-utils
# as openSUSE calls them
always=rpm requires vmprof-guest-agent "systemd = 249" udev shadow
always=rpm requires "$kmod" "$agent" "$kernel" kmod
runs "the agent is not installed beside a systemd that is too old" refused vmprof-guest-agent systemd rpm "systemd = 248"
runs "kmod-vmprof-guest not for another kernel" refused "$kmod" kernel-uname-r rpm "$agent" kmod "kernel-uname-r = 1.0-other"
conflict() { installs "$@" | grep -q -F "vmprof-guest-agent-dkms conflicts with $1-$version-1"; }
runs "kmod-vmprof-guest not beside vmprof-guest-agent-dkms" conflict "$kmod" "$agent" vmprof-guest-agent-dkms
for other in "vmprof-guest-agent = $version-2" "vmprof-guest-agent = 0.0-1"; do
	runs "kmod-vmprof-guest not beside $other" refused "$kmod" vmprof-guest-agent "$other"
	runs "vmprof-guest-agent-dkms neither" refused vmprof-guest-agent-dkms vmprof-guest-agent dkms /bin/sh "$other"
done
runs "vmprof-dkms not beside vmprof = $version-2" refused vmprof-dkms vmprof dkms /bin/sh "vmprof = $version-2"

# the module and the program have no path of the build machine in them
(cd "$work" && rpm2cpio "$rpms"/kmod-*.rpm | cpio -idm --quiet && rpm2cpio "$rpms"/vmprof-guest-agent-[0-9]*.rpm | cpio -idm --quiet) 2> /dev/null ||
	(cd "$work" && rpm2archive -n "$rpms"/kmod-*.rpm | tar -x; rpm2archive -n "$rpms"/vmprof-guest-agent-[0-9]*.rpm | tar -x) 2> /dev/null
signed_module "$work/lib/modules/$KVER/extra/vmprof_guest.ko"
runs "... the module is for its kernel" test "$(modinfo -F vermagic "$work/lib/modules/$KVER/extra/vmprof_guest.ko" | cut -d' ' -f1)" = "$KVER"
runs "... the program runs" test "$("$work/usr/sbin/vmprof-agent" --version)" = "vmprof-agent $version"
runs "... and tells nothing of where it was built" sh -c "! grep -l -F '$PWD' $work/lib/modules/$KVER/extra/vmprof_guest.ko $work/usr/sbin/vmprof-agent"

# --- Debian
prebuilt=vmprof-guest-module-$KVER
rm -rf "$debs"
running=$KVER
made deb "${sign[@]}"
result $? "make deb" || sed 's/^/# /' <<< "$said"
packaged "the Debian packages" deb "${deb_packages[@]}" "${prebuilt}_$version-1_amd64.deb"
field() { dpkg-deb -f "$debs/$1_$version-1_"*.deb "$2"; }
files() { dpkg-deb -c "$debs/$1_$version-1_"*.deb | awk '$1 ~ /^-/ { print $1, $2, substr($NF, 2) }'; }
is "files of vmprof-guest-agent" "$(files vmprof-guest-agent | grep -v /share/doc/)" "-rw-r--r-- root/root /usr/lib/systemd/system/vmprof-agent.service
-rw-r--r-- root/root /usr/lib/sysusers.d/vmprof-agent.conf
-rw-r--r-- root/root /usr/lib/udev/rules.d/99-vmprof-agent.rules
-rwxr-xr-x root/root /usr/sbin/vmprof-agent
-rw-r--r-- root/root /usr/share/man/man8/vmprof-agent.8.gz"
# our_files PACKAGE - without what each package of Debian's has
our_files() { files "$1" | sed -e 's|root/root|root|' -e '/\/share\/doc\/.*\/\(copyright\|changelog.Debian.gz\)$/d' -e 's/[.]gz$//' | sort -k3; }
is "files of vmprof" "$(our_files vmprof)" "$vmprof_files"
is "files of vmprof-dkms" "$(our_files vmprof-dkms)" "$(sources host-driver uapi.h vmprof | grep '^-')"
is "files of vmprof-guest-agent-dkms" "$(our_files vmprof-guest-agent-dkms)" "$(sources guest-agent/module agent_proto.h vmprof-guest | grep '^-')"
has "vmprof depends on the libraries that it loads and is linked with" "$(field vmprof Depends)" 'libvirt0.*zlib1g'
is "vmprof-dkms depends on dkms and the command" "$(field vmprof-dkms Depends)" "dkms, vmprof (= $version-1)"
is "vmprof-guest-agent-dkms on dkms and the agent" "$(field vmprof-guest-agent-dkms Depends)" "dkms, vmprof-guest-agent (= $version-1)"
is "vmprof recommends its module" "$(field vmprof Recommends)" "vmprof-dkms (= $version-1)"
is "... and the agent its own, of either kind" "$(field vmprof-guest-agent Recommends)" "vmprof-guest-agent-dkms | vmprof-guest-module"
for p in "$prebuilt" vmprof-guest-agent-dkms; do
	is "$p provides the module" "$(field "$p" Provides)" "vmprof-guest-module (= $version-1)"
done
is "files of $prebuilt" "$(our_files "$prebuilt")" "-rw-r--r-- root /usr/lib/modules/$KVER/extra/vmprof_guest.ko"
has "... it depends on its kernel, Debian's or Ubuntu's, signed or not" "$(field "$prebuilt" Depends)" \
	"linux-image-${KVER//+/[+]} [|] linux-image-${KVER//+/[+]}-unsigned [|] linux-image-unsigned-${KVER//+/[+]}"
# apt_would PACKAGE=VERSION... -- NAME... - apt's own answer whether our packages NAME can be installed where these are, made up
apt_would()
{
	local db=$work/apt status=$work/apt/status
	rm -rf "$db" && mkdir -p "$db/lists/partial" "$db/cache/archives/partial" "$db/etc/apt.conf.d" "$db/etc/preferences.d"
	while [ "$1" != -- ]; do
		printf '%s\n' "Package: ${1%%=*}" "Status: install ok installed" "Maintainer: x" "Architecture: amd64" \
			"Version: ${1#*=}" "Description: x" ""
		shift
	done > "$status"
	shift
	LC_ALL=C apt-get -o "Dir::State=$db" -o "Dir::State::status=$status" -o "Dir::Cache=$db/cache" -o "Dir::Etc=$db/etc" -o APT::Architecture=amd64 \
		-o APT::Architectures=amd64 -o APT::Install-Recommends=true -o APT::Sandbox::User=root -s install \
		"${@/#/$debs/}" 2>&1
}
apt_would_not() { ! apt_would "$@"; }
ours=${prebuilt}_$version-1_amd64.deb agent_deb=vmprof-guest-agent_$version-1_amd64.deb agent_of=vmprof-guest-agent=$version base="systemd=249 udev=1"
if command -v apt-get > /dev/null; then
	for image in "linux-image-$KVER" "linux-image-$KVER-unsigned" "linux-image-unsigned-$KVER"; do
		runs "... apt would install it beside $image" apt_would kmod=1 "$image=1" "$agent_of-1" -- "$ours"
	done
	for other in "linux-image-1.0-other=1 $agent_of-1 kmod=1" "linux-image-$KVER=1 $agent_of-2 kmod=1" "linux-image-$KVER=1 kmod=1" \
			"linux-image-$KVER=1 $agent_of-1"; do
		# shellcheck disable=SC2086
		runs "... not beside $other" apt_would_not $other -- "$ours"
	done
	runs "... not together with vmprof-guest-agent-dkms" apt_would_not kmod=1 dkms=1 "linux-image-$KVER=1" "$agent_of-1" -- \
		"$ours" "vmprof-guest-agent-dkms_$version-1_all.deb"
	runs "... which it would alone" apt_would kmod=1 dkms=1 "$agent_of-1" -- "vmprof-guest-agent-dkms_$version-1_all.deb"
	# shellcheck disable=SC2086
	runs "... apt would install the agent beside the oldest systemd that it takes" apt_would $base -- "$agent_deb"
	runs "... not beside an older one" apt_would_not systemd=248 udev=1 -- "$agent_deb"
	# shellcheck disable=SC2086
	runs "... with it the agent has all that it recommends" sh -c "! grep '^Recommended packages'" <<< "$(apt_would $base kmod=1 "linux-image-$KVER=1" -- "$agent_deb" "$ours")"
	# shellcheck disable=SC2086
	has "... without it the other is named" "$(apt_would $base -- "$agent_deb")" "vmprof-guest-agent-dkms"
else
	skip "... apt would install it" "there is no apt-get"
fi
dpkg-deb -x "$debs/$prebuilt"_*.deb "$work/prebuilt"
signed_module "$work/prebuilt/usr/lib/modules/$KVER/extra/vmprof_guest.ko"
runs "... the module is for its kernel" test "$(modinfo -F vermagic "$work/prebuilt/usr/lib/modules/$KVER/extra/vmprof_guest.ko" | cut -d' ' -f1)" = "$KVER"
runs "... and tells nothing of where it was built" sh -c "! grep -l -F '$PWD' $work/prebuilt/usr/lib/modules/$KVER/extra/vmprof_guest.ko"
# deb_changes FILE - versions and changes, as dpkg reads them
deb_changes()
{
	dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards '*/changelog.Debian.gz' | zcat > "$work/changelog" &&
	dpkg-parsechangelog -l "$work/changelog" --all -S Changes | sed -n -e 's/^ *vmprof (\(.*\)) unstable.*/\1/p' -e 's/^ *[*] /* /p'
}
for p in vmprof vmprof-dkms vmprof-guest-agent vmprof-guest-agent-dkms "$prebuilt"; do
	dpkg-deb -e "$debs/$p"_*.deb "$work/$p"
	is "$p is described as the RPM is" "$(field "$p" Description | sed -e '1s/^./\U&/' -e '2,$s/^ //' -e 's/^[.]$//')" \
		"$(q "${p/#$prebuilt/$kmod}" --qf '%{SUMMARY}\n%{DESCRIPTION}\n')"
	is "$p has the changelog" "$(deb_changes "$debs/$p"_*.deb)" "$(sed -n 's/^\([0-9][^ ]*\) .*/\1-1/p;s/^-/*/p' packaging/changelog)"
	no_labels "$p" "$(cat "$work/$p"/{pre,post}{inst,rm} 2> /dev/null)"
	for s in "$work/$p"/*inst "$work/$p"/*rm; do
		[ ! -e "$s" ] || runs "$p: ${s##*/} is a script, with all words put in" sh -c "sh -n $s && ! grep '@[a-z]*@' $s"
	done
done

# --- what the DKMS packages do, with DKMS in folders of its own, for this kernel
mkdir -p "$work"/{bin,tree,src,modules/$KVER}
ln -s "$(realpath "$KDIR")" "$work/modules/$KVER/build"
dkms=$(command -v dkms)
printf '#!/bin/sh\nexec %s --dkmstree %s --sourcetree %s --installtree %s --no-depmod "$@"\n' \
	"$dkms" "$work/tree" "$work/src" "$work/modules" > "$work/bin/dkms"
printf '#!/bin/sh\n[ "$*" != -r ] || exec echo %s\nexec /bin/uname "$@"\n' "$KVER" > "$work/bin/uname"
chmod +x "$work"/bin/*
for p in vmprof:vmprof vmprof-guest:vmprof-guest-agent; do
	name=${p%:*} package=${p#*:}-dkms
	dpkg-deb -x "$debs/$package"_*.deb "$work/x"
	cp -a "$work/x/usr/src/." "$work/src/"
	ko=$(tr - _ <<< "$name").ko
	there() { find "$work/modules/$KVER/updates" -name "$ko*" 2> /dev/null | grep .; }
	run() { PATH=$work/bin:$PATH sh "$work/$package/$1" "$2"; }
	runs "$package: installed, DKMS has built $ko" sh -c "PATH=$work/bin:\$PATH sh $work/$package/postinst configure > $work/log 2>&1; find $work/modules/$KVER/updates -name '$ko*' | grep . || { cat $work/log; false; }"
	run postinst configure > "$work/log" 2>&1
	runs "... a second time, as in an upgrade" there
	run prerm remove > "$work/log" 2>&1
	runs "... removed, it is gone" sh -c "! find $work/modules $work/tree -name '$ko*' | grep ."
done

# --- another release is a rebuild, and another version says what is new in it
mkdir "$work/other"
cp -r packaging VERSION "$work/other"
for kind in rpm deb; do
	runs "packaging/$kind/build --release 2" packaging/$kind/build host --build "$build" --out "$work/other/$kind" --release 2
	echo 99.0 > "$work/other/VERSION"
	has "... of a version without a word of what is new in it: no" \
		"$("$work/other/packaging/$kind/build" host --build "$build" --out "$work/other/none" 2>&1)" "changelog does not say what is new in 99.0"
done
is "... which its changelog says" "$(rpm -qp --changelog "$work/other/rpm/vmprof-$version-2"*.rpm | sed -n '1s/.* - //p;2p')" "$version-2
- Rebuild of $version as release 2."
is "... to what there was before" "$(rpm -qp --changelog "$work/other/rpm/vmprof-$version-2"*.rpm | sed -e '/^$/d' | tail -n +3)" "$rpm_changes"
is "... and Debian's" "$(deb_changes "$work/other/deb/vmprof_$version-2"*.deb)" "$version-2
* Rebuild of $version as release 2.
$(deb_changes "$debs/vmprof_"*.deb)"

# --- what cannot be signed is not built
refuses() { ! packaging/rpm/build guest --kver "$KVER" --kdir "$KDIR" --out "$work/unsigned" "$@" && [ -z "$(ls "$work/unsigned" 2> /dev/null)" ]; }
runs "a key without a certificate is refused" refuses --sign-key "$0"
runs "... and one that is not there" refuses --sign-key "$work/none.pem" --sign-cert "$0"

# --- other people's judgement
judged rpmlint sh -c "HOME=$work rpmlint --config packaging/rpm/rpmlint.toml $rpms/*.rpm | tee $work/log; grep -q ' 0 errors, 0 warnings' $work/log"
tags=$(grep -v '^#' packaging/deb/lintian-tags | paste -sd,)
judged lintian lintian --allow-root --fail-on error,warning --suppress-tags "$tags" "$debs"/*.deb
echo "1..$nr"

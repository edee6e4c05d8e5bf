# SPDX-License-Identifier: GPL-2.0-only
#
# apt.sh - a private apt for Debian suites, sourced by bash scripts.
#
# The machine's own package sources, lists and keys are read, never written.
# Everything is kept under $LAB_CACHE/apt/SUITE: sources, lists, and every .deb
# once. The lists stay as they were first fetched, so that all roots of a suite
# hold the same versions; "lab_apt_refresh SUITE" fetches new ones.
# No host name is written down here: the mirror is the machine's own where it
# runs Debian, LAB_MIRROR where that is set, and mmdebstrap's default otherwise.

LAB_CACHE=${VMPROF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vmprof}/lab

# lab_suite NAME - one that there is
lab_suite()
{
	case $1 in
	trixie | bookworm) ;;
	*) lab_say "there is no suite '$1' here: trixie or bookworm."; return 2 ;;
	esac
}

lab_say()
{
	printf 'lab: %s\n' "$*" >&2
}

# lab_ticking WHAT CMD... - run a command that takes long, and say each minute that it goes on.
lab_ticking()
{
	local what=$1 start=$SECONDS ticker status=0
	shift
	while sleep "${LAB_TICK:-60}" 2>/dev/null && [ -e /proc/$$ ]; do
		lab_say "$what: $(((SECONDS - start) / 60)) min so far" || break
	done </dev/null >/dev/null &
	ticker=$!
	"$@" || status=$?
	kill "$ticker" 2>/dev/null || true
	wait "$ticker" 2>/dev/null || true
	return $status
}

# Run as root: with sudo where we are somebody else.
lab_as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -- "$@"
	else
		lab_say "'$1' needs root: run this as root, or install sudo."
		return 1
	fi
}

# What root made in the cache for somebody else belongs to them: lab_give_back FOLDER...
lab_give_back()
{
	local dir
	[ "$(id -u)" != 0 ] || return 0
	for dir; do
		[ ! -e "$dir" ] || [ -z "$(find "$dir" ! -user "$(id -u)" -print -quit 2>&1)" ] ||
			lab_as_root chown -R "$(id -u):$(id -g)" "$dir" || return
	done
}

# Remove the folders FOLDER/NAME-* that nobody used for a day: what older lists
# and scripts made. lab_prune FOLDER NAME
lab_prune()
{
	# A mount that was left in one of them is somebody's folder.
	! grep -q -F " $1/$2-" /proc/self/mountinfo || return 0
	lab_as_root find "$1" -mindepth 1 -maxdepth 1 -type d -name "$2-*" -mtime +0 \
		-exec rm -rf --one-file-system {} +
}

# bash's own /dev/fd needs /proc, which a fresh chroot may lack.
if [ ! -e /proc/self/fd ]; then
	lab_say "/proc is not mounted here; mounting it."
	if ! lab_as_root mount -t proc proc /proc; then
		lab_say "cannot mount it: please do that first (mount -t proc proc /proc)."
		exit 1
	fi
fi

# The machine's Debian mirrors, as "KIND URI" with KIND main or security.
# Known by the archive's folder, which every mirror keeps.
lab_apt_own_mirrors()
{
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
	sed -n -e 's,^\(.*/debian\)/*$,main \1,p' \
	       -e 's,^\(.*[/-]debian-security\)/*$,security \1,p' \
	       -e 's,^\(.*/debian/security\)/*$,security \1,p' |
	sort -u | sort -s -k1,1 -u
}

# The mirrors that mmdebstrap would take by itself, as "MAIN SECURITY". It writes
# them into a new root before its setup hooks run; the hook ends it there.
lab_apt_default_mirrors()
{
	local dir
	dir=$(mktemp -d) || return
	lab_as_root mmdebstrap --mode=root --quiet --variant=custom \
		--setup-hook="cp \"\$1\"/etc/apt/sources.list $dir/sources; exit 1" \
		"$1" "$dir/root" >/dev/null 2>&1
	sed 's/\[[^]]*\]//' "$dir/sources" 2>/dev/null |
	awk '$3 == suite { main = $2 } $3 == suite "-security" { security = $2 }
	     END { print main, security }' suite="$1"
	lab_as_root rm -rf "$dir"
}

# Write one sources line: TYPE KEYRING URI RELEASE
lab_apt_line()
{
	local key=
	[ -z "$2" ] || key="[signed-by=$2] "
	printf '%s %s%s %s main\n' "$1" "$key" "$3" "$4"
}

# Print the sources of a suite: lab_apt_sources SUITE [deb|deb-src]
lab_apt_sources()
{
	local suite=$1 type=${2:-deb} key= main= security= kind uri f
	for f in /usr/share/keyrings/debian-archive-keyring.gpg \
		 /usr/share/keyrings/debian-archive-keyring.pgp; do
		[ ! -s "$f" ] || { key=$f; break; }
	done
	if [ -n "${LAB_MIRROR:-}" ]; then
		main=${LAB_MIRROR%/}
		security=${LAB_MIRROR_SECURITY:-}
	else
		while read -r kind uri; do
			case $kind in
			main) main=$uri ;;
			security) security=$uri ;;
			esac
		done < <(lab_apt_own_mirrors)
	fi
	if [ -z "$main" ]; then
		read -r main security < <(lab_apt_default_mirrors "$suite")
	fi
	if [ -z "$main" ]; then
		lab_say "no Debian mirror known: set LAB_MIRROR to the URI of one."
		return 1
	fi
	lab_apt_line "$type" "$key" "$main" "$suite"
	case $suite in
	sid | unstable | experimental) return 0 ;;
	esac
	lab_apt_line "$type" "$key" "$main" "$suite-updates"
	[ -z "$security" ] ||
		lab_apt_line "$type" "$key" "$security" "$suite-security"
}

# The folder of a suite's private state.
lab_apt_dir()
{
	printf '%s/apt/%s\n' "$LAB_CACHE" "$1"
}

# Lay out a private state: lab_apt_layout NAME SUITE TYPE
lab_apt_layout()
{
	local dir
	dir=$(lab_apt_dir "$1")
	mkdir -p "$dir"/{etc/preferences.d,lists/partial,archives/partial,state} || return
	: >"$dir/state/status"
	lab_apt_sources "$2" "$3" >"$dir/etc/sources.list.new" || return
	mv "$dir/etc/sources.list.new" "$dir/etc/sources.list"
	{
		# How this machine reaches its mirrors: proxies, time-outs, date checks.
		apt-config dump 2>/dev/null |
			grep -E '^Acquire::(http|https|ftp|Retries|Check-|Max-|Queue|ForceIPv)' |
			grep -v ' "";$'
		cat <<-END
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; };
		APT::Default-Release "";
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::Retries "3";
		Dir::Etc "$dir/etc";
		Dir::Etc::sourcelist "$dir/etc/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferencesparts "$dir/etc/preferences.d";
		Dir::Etc::main "/dev/null";
		Dir::Etc::parts "/dev/null";
		Dir::State "$dir/state";
		Dir::State::lists "$dir/lists";
		Dir::State::status "$dir/state/status";
		Dir::Cache "$dir";
		Dir::Cache::archives "$dir/archives";
		END
	} >"$dir/etc/apt.conf"
}

# Run an apt tool on a private state: lab_apt NAME apt-get|apt-cache ARGS...
lab_apt()
{
	local dir
	dir=$(lab_apt_dir "$1")
	shift
	APT_CONFIG=$dir/etc/apt.conf "$@"
}

# Fetch a suite's lists anew, and with them perhaps a newer kernel.
lab_apt_refresh()
{
	local dir log
	dir=$(lab_apt_dir "$1")
	lab_say "$1: fetching package lists (once)"
	lab_apt_layout "$1" "$1" deb || return
	log=$dir/update.log
	if ! lab_apt "$1" apt-get -qq update >"$log" 2>&1; then
		tail -n 5 "$log" >&2
		lab_say "$1: no package lists: is the mirror in reach? (LAB_MIRROR names another)"
		return 1
	fi
	lab_apt "$1" apt-cache depends linux-image-amd64 |
		sed -n 's/.*Depends: linux-image-\([0-9][^ ]*\)$/\1/p' | head -n 1 >"$dir/kernel.new"
	if [ ! -s "$dir/kernel.new" ]; then
		lab_say "$1: its package lists have no kernel (linux-image-amd64)."
		return 1
	fi
	mv "$dir/kernel.new" "$dir/kernel"
}

# Fetch a suite's lists if they are not there yet.
lab_apt_ready()
{
	local dir
	dir=$(lab_apt_dir "$1")
	mkdir -p "$dir" || return
	(
		flock 9
		[ -s "$dir/kernel" ] || lab_apt_refresh "$1"
	) 9>"$dir/lock"
}

# The kernel version that every root and image of a suite has.
lab_apt_kernel()
{
	lab_apt_ready "$1" && cat "$(lab_apt_dir "$1")/kernel"
}

# Fetch one package, once, and print the path of its .deb. For packages whose
# name holds their version.
lab_apt_deb()
{
	local dir
	dir=$(lab_apt_dir "$1")/debs
	mkdir -p "$dir" || return
	if ! compgen -G "$dir/$2_*.deb" >/dev/null &&
	   ! (cd "$dir" && lab_apt "$1" apt-get -qq download "$2") >&2; then
		lab_say "$1: cannot fetch $2; 'tests/lab/build --refresh' fetches newer lists."
		return 1
	fi
	compgen -G "$dir/$2_*.deb"
}

# Fetch (not unpack) a source package: lab_apt_source SUITE PACKAGE FOLDER
lab_apt_source()
{
	local dir
	dir=$(lab_apt_dir "$1-src")
	mkdir -p "$dir" "$3" || return
	(
		flock 9
		lab_apt_layout "$1-src" "$1" deb-src &&
		lab_apt "$1-src" apt-get -qq update &&
		cd "$3" && lab_apt "$1-src" apt-get -qq --download-only source "$2"
	) 9>"$dir/lock" >&2
}

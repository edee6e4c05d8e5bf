# SPDX-License-Identifier: GPL-2.0-only
# outputs.sh - every output that golden tests compare; sourced in tests/golden.

out=${O:-../../build}
case $out in
/* | ../*) ;;
*) out=../../$out ;;
esac
out=$(cd "$out" && pwd)

golden_suffixes="txt process.txt exit.txt tree.txt tree.json exits.txt steal.txt columns.json diff.txt json page.json pb folded speedscope.json gecko.json chrome.json perf-script csv
	addresses.csv profile.json xml indented.xml branches.txt bolt.txt autofdo.txt llvm-profgen.txt inline.txt"

# golden_objects NAME - the objects of NAME.vmprof are looked for in the golden tests alone.
golden_objects()
{
	export VMPROF_OBJCACHE=objects VMPROF_DEBUG_PATH=/nowhere
	[ ! -d "$1.objects" ] || VMPROF_OBJCACHE=$1.objects
}

# golden_lacks NAME SUFFIX - say why this vmprof cannot make that output; nothing if it can
golden_lacks()
{
	case $2 in
	page.json) grep -q VMP_HTML_FILE "$out/config.h" || echo "vmprof was built without the page" ;;
	*xml) grep -q HAVE_CAPSTONE "$out/config.h" || { [ -e "$1.$2" ] && ! grep -q instruction_mix "$1.$2"; } ||
		echo "vmprof was built without capstone, which the instruction mix takes" ;;
	esac
}

# golden_outputs NAME DIR - write the outputs of NAME.vmprof as DIR/NAME.*
golden_outputs()
{
	local suffix option other=blocks
	# of a file beside itself there is nothing to be seen
	[ "$1" != blocks ] || other=quantum
	golden_objects "$1"
	"$out/vmprof" report "$1.vmprof" > "$2/$1.txt" &&
	"$out/vmprof" report --by process "$1.vmprof" > "$2/$1.process.txt" &&
	"$out/vmprof" report --by exit --all-host "$1.vmprof" > "$2/$1.exit.txt" &&
	"$out/vmprof" report --tree --all-host "$1.vmprof" > "$2/$1.tree.txt" &&
	"$out/vmprof" report --tree --group-by module,function --percent-limit 4 --json "$1.vmprof" > "$2/$1.tree.json" &&
	"$out/vmprof" report --exits "$1.vmprof" > "$2/$1.exits.txt" &&
	"$out/vmprof" report --steal "$1.vmprof" > "$2/$1.steal.txt" &&
	"$out/vmprof" report --json --filter 'side ~ guest* && percent > 2' --columns cycles,pid,thread,build-id \
		--sort pid,percent "$1.vmprof" > "$2/$1.columns.json" &&
	"$out/vmprof" report --diff --group-by module "$other.vmprof" "$1.vmprof" > "$2/$1.diff.txt" &&
	"$out/vmprof" report --inline --srcline "$1.vmprof" > "$2/$1.inline.txt" &&
	"$out/vmprof" report --json "$1.vmprof" > "$2/$1.json" || return
	# gzip's bytes are zlib's business
	"$out/vmprof" export --format pprof "$1.vmprof" | gunzip > "$2/$1.pb" || return
	while read -r suffix option; do
		[ -z "$(golden_lacks "$1" "$suffix")" ] || continue
		# shellcheck disable=SC2086
		"$out/vmprof" export --format $option "$1.vmprof" |
			sed "s/vmprof $(cat ../../VERSION)/vmprof VERSION/" > "$2/$1.$suffix" || return
	done <<- END
		folded folded
		speedscope.json speedscope
		gecko.json gecko
		chrome.json chrome --all-host
		perf-script perf-script
		csv csv --all-host
		addresses.csv csv --addresses
		profile.json json
		xml xml
		indented.xml xml --indent --all-host
	END
	"$out/vmprof" branches "$1.vmprof" > "$2/$1.branches.txt" 2>&1
	golden_folder "$1" "$2" bolt
	golden_folder "$1" "$2" autofdo
	golden_folder "$1" "$2" llvm-profgen
	golden_page "$1" "$2"
}

# The files of its folder, one after the other; of a capture without branches what is said
golden_folder()
{
	local folder=$2/$1.$3 file

	if "$out/vmprof" export --format "$3" -o "$folder" "$1.vmprof" > /dev/null 2> "$2/$1.$3.txt"; then
		for file in "$folder"/*; do
			echo "${file##*/}"
			cat "$file"
		done > "$2/$1.$3.txt"
		rm -r "$folder"
	fi
}

# The data within the page
golden_page()
{
	local html=$2/$1.page.html
	[ -z "$(golden_lacks "$1" page.json)" ] || return 0
	"$out/vmprof" report --html "$html" "$1.vmprof" > /dev/null || return
	sed -n '/ id="data">/,/<\/script>/p' "$html" | sed -e '1s/.* id="data">//' -e '$s/<\/script>.*//' > "$2/$1.page.json"
	rm "$html"
}

# SPDX-License-Identifier: GPL-2.0-only
# outputs.sh - every output that golden tests compare; sourced in tests/golden.

golden_suffixes="txt process.txt exit.txt json page.json"

# golden_outputs NAME DIR - write the outputs of NAME.vmprof as DIR/NAME.*
golden_outputs()
{
	local vmprof=${O:-../../build}/vmprof
	export VMPROF_OBJCACHE=objects
	case $vmprof in
	/* | ../*) ;;
	*) vmprof=../../$vmprof ;;
	esac
	"$vmprof" report "$1.vmprof" > "$2/$1.txt" &&
	"$vmprof" report --by process "$1.vmprof" > "$2/$1.process.txt" &&
	"$vmprof" report --by exit --all-host "$1.vmprof" > "$2/$1.exit.txt" &&
	"$vmprof" report --json "$1.vmprof" > "$2/$1.json" &&
	golden_page "$1" "$2"
}

# The data within the page; nothing where vmprof was built without it
golden_page()
{
	local html=$2/$1.page.html
	"$vmprof" report --html "$html" "$1.vmprof" > "$2/$1.page.err" 2>&1 ||
		{ grep -q 'built without the page' "$2/$1.page.err" && rm "$2/$1.page.err"; return; }
	sed -n '/ id="data">/,/<\/script>/p' "$html" | sed -e '1s/.* id="data">//' -e '$s/<\/script>.*//' > "$2/$1.page.json"
	rm "$html" "$2/$1.page.err"
}

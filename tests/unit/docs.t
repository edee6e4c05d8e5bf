#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# docs.t - what the command says of itself, its man pages and its completion agree.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
O=${O:-$src/build}
vmprof=$O/vmprof
. "$src/tests/unit/tap.sh"
# options, one a line, of a text on standard input
options() { grep -oE -- '--[a-z][a-z-]+' | sort -u; }

commands=$("$vmprof" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{3,\}\) .*/\1/p')
[ "$(echo "$commands" | wc -w)" -ge 6 ]; ok $? "vmprof --help lists the commands: $(echo $commands)"
for c in $commands; do
	page=$src/docs/man/vmprof-$c.1
	help=$("$vmprof" "$c" --help) && [ -n "$help" ]; ok $? "vmprof $c --help answers"
	[ "$help" = "$("$vmprof" help "$c")" ]; ok $? "vmprof help $c says the same"
	[ -f "$page" ]; ok $? "vmprof-$c has a man page"
	missing=$(comm -23 <(echo "$help" | options) <(sed 's/\\-/-/g' "$page" | options))
	[ -z "$missing" ]; ok $? "man vmprof-$c has each option of --help${missing:+ (missing: $(echo $missing))}"
	extra=$(comm -13 <({ echo "$help"; echo --version --help; } | options) \
		<(sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$page" | sed 's/\\-/-/g' | grep -A1 '^\.TP' | options))
	[ -z "$extra" ]; ok $? "and no other${extra:+ (extra: $(echo $extra))}"
	missing=$(comm -23 <(echo "$help" | options | grep -v -- '^--version$') <(
		COMP_WORDS=(vmprof "$c" --) COMP_CWORD=2
		. "$src/analyzer/completion.bash"; _vmprof; printf '%s\n' "${COMPREPLY[@]}" | sort -u))
	[ -z "$missing" ]; ok $? "completion of vmprof $c knows each option${missing:+ (missing: $(echo $missing))}"
	grep -q "^\.BR $c (1)" "$src/docs/man/vmprof.1" &&
		sed -n '/^\.SH SEE ALSO/,$p' "$src/docs/man/vmprof.1" | grep -q "^\.BR vmprof-$c (1)"
	ok $? "vmprof(1) names $c, and its page"
done
[ "$("$vmprof" --version)" = "vmprof $(cat "$src/VERSION")" ]; ok $? "--version says the version"
"$vmprof" frobnicate > /dev/null 2>&1; [ $? = 2 ]; ok $? "an unknown command is refused, exit 2"
for c in $commands; do
	err=$("$vmprof" "$c" --frobnicate 2>&1 > /dev/null); [ $? = 2 ] && [ -n "$err" ]; ok $? "vmprof $c refuses an unknown option, exit 2"
done

# Values of options: those that the program takes, as it lists them when it is given another, are those of completion,
# and are in --help and in the man page (each between two lines)
while read -r c option begin end page_begin page_end; do
	said=$("$vmprof" "$c" "$option" frob "$src/tests/golden/made.vmprof" 2>&1)
	values=$(sed -e 's/.*\(there are\|takes\) //' -e 's/, with commas.*//' -e 's/, --group-by.*//' -e "s/, not 'frob'//" -e 's/ or /, /' <<< "$said" | tr -d , | tr ' ' '\n' | sort -u)
	[ "$(wc -l <<< "$values")" -ge 3 ] && grep -q "'frob'" <<< "$said"; ok $? "vmprof $c $option lists its values: $(echo $values)"
	offered=$(COMP_WORDS=(vmprof "$c" "$option" "") COMP_CWORD=3
		. "$src/analyzer/completion.bash"; _vmprof; printf '%s\n' "${COMPREPLY[@]}" | sort -u)
	[ "$offered" = "$values" ]; ok $? "completion offers the same$(diff <(echo "$values") <(echo "$offered") | sed -n 's/^[<>]/ &/p' | tr -d '\n')"
	missing=$(comm -23 <(echo "$values") <("$vmprof" "$c" --help | sed -n "/$begin/,/$end/p" | grep -oE '[a-z][a-z-]*' | sort -u))
	[ -z "$missing" ]; ok $? "vmprof $c --help has each of them${missing:+ (missing: $(echo $missing))}"
	missing=$(comm -23 <(echo "$values") <(sed 's/\\-/-/g' "$src/docs/man/vmprof-$c.1" | sed -n "/$page_begin/,/$page_end/p" | grep -v '^\.SH' | grep -oE '[a-z][a-z-]*' | sort -u))
	[ -z "$missing" ]; ok $? "so has vmprof-$c(1)${missing:+ (missing: $(echo $missing))}"
done << 'END'
report --columns --group-by --sort ^.SH.COLUMNS ^.SH.FILTERS
report --sort --group-by --sort ^.SH.COLUMNS ^.SH.FILTERS
report --by --by --group-by --by --group-by
report --color --color --no-pager --color --no-pager
export --format ^Formats: ^$ ^.SH.FORMATS ^.SH.[^F]
END

# Columns of the commands that show branches: those of --csv, which --sort knows, are in the man page in the same order; so are the members
# of JSON, those that all have in common in vmprof-blocks(1)
section() { sed 's/\\-/-/g' "$src/docs/man/vmprof-$1.1" | sed -n "/^\.SH $2/,/^\.SH [^${2:0:1}]/p"; }
for c in blocks branches loops; do
	if [ $c != branches ] && ! grep -q HAVE_CAPSTONE "$O/config.h"; then
		skip "columns of vmprof $c" "vmprof was built without capstone"
		continue
	fi
	columns=$("$vmprof" $c --csv "$src/tests/golden/blocks.vmprof" | sed -n '1 { s/\r$//; s/,/\n/g; p }')
	said=$("$vmprof" $c --sort frob "$src/tests/golden/blocks.vmprof" 2>&1 | sed -n "s/.*'frob'; there are //p" | sed 's/, /\n/g')
	[ "$(wc -l <<< "$columns")" -ge 10 ] && [ "$said" = "$columns" ]; ok $? "vmprof $c --sort takes the columns of --csv: $(echo $columns)"
	described=$(section $c COLUMNS | grep -A1 '^\.TP' | sed -n -e 's/" (.*//' -e 's/^\.BR\{0,1\} //p' | grep -oE '[a-z][a-z0-9_]*')
	[ "$described" = "$columns" ]; ok $? "vmprof-$c(1) has each of them and no other$(diff <(echo "$columns") <(echo "$described") | sed -n 's/^[<>]/ &/p' | tr -d '\n')"
	members=$("$vmprof" $c --json "$src/tests/golden/blocks.vmprof" | python3 -c 'import json, sys
for name, value in json.load(sys.stdin).items():
	print(name, *(value if isinstance(value, dict) else []), sep="\n")' | sort -u)
	missing=$(comm -23 <(echo "$members") <({ section $c JSON; section blocks JSON; } | grep -E '^\.(B|BR|RB) ' | grep -oE '[a-z][a-z0-9_]*' | sort -u))
	[ "$(wc -l <<< "$members")" -ge 30 ] && [ -z "$missing" ]; ok $? "... and each member of JSON${missing:+ (missing: $(echo $missing))}"
done

# Completion of words as readline parts them (at = and : as well): what is offered for the last one
offered()
{
	(
		virsh() { printf '%s\n' web01 'my vm' '$(echo no)'; }
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		cd "$src/tests/golden" && . "$src/analyzer/completion.bash" && _vmprof
		printf '%s\n' "${COMPREPLY[@]}" | sort | xargs -d '\n'
	)
}
while IFS='|' read -r words wanted; do
	mapfile -t words < <(xargs -n 1 printf '%s\n' <<< "$words")
	[ "${words[-1]}" != . ] || words[-1]=
	said=$(offered "${words[@]}")
	# shellcheck disable=SC2053
	[[ $said = $wanted ]]; ok $? "completion of ${words[*]}: ${said:-nothing}"
done << 'END'
vmprof rep|report
vmprof help anno|annotate
vmprof start --domain .|\\$\\(echo\\ no\\) my\\ vm web01
vmprof start --domain we|web01
vmprof start -d x|
vmprof start --domain = we|web01
vmprof start --domain =|\\$\\(echo\\ no\\) my\\ vm web01
vmprof start --lbr any,us|any,user
vmprof start --lbr = any,us|any,user
vmprof start -b 4|4M
vmprof start --objects ss|ssh://
vmprof start --connect qemu :|///system
vmprof start --connect qemu : ///s|///system
vmprof top -b --n|--number
vmprof top -b 4|
vmprof report --sort percent : d|desc
vmprof report --sort samples,percent :|asc desc
vmprof report --comm .|
vmprof report --comm = x|
vmprof report made|made.vmprof
vmprof report --domain web01 made|made.vmprof
vmprof annotate made|
vmprof annotate main made|made.vmprof
vmprof annotate --comm main made|
vmprof annotate --comm = x main made|made.vmprof
vmprof export --format = p|perf-script pprof
vmprof export --output made.v|made.vmprof
vmprof import made|made.indented.xml made.xml
vmprof report --sysroot = obj|objects
END
[ "$(COMP_WORDBREAKS=' ' offered vmprof report --sort samples:d)" = samples:desc ]; ok $? "... where readline does not part words at :"
for c in $commands; do
	wrong=$("$vmprof" "$c" --help | sed -n 's/^ *\(-[a-z], \)\? *\(--[a-z-]*\)[ =][A-Z].*/\2/p' | while read -r option; do
		[[ $(offered vmprof "$c" "$option" "") != *--help* ]] || echo "$option"
	done)
	[ -z "$wrong" ]; ok $? "completion of vmprof $c offers no option for the value of another${wrong:+ (but for: $(echo $wrong))}"
done

# What man pages and --help name below share/ is installed
prefix=$(sed -n 's/^PREFIX *:*= *//p' "$O/config.mk")
installed=$(mktemp -d)
env -u MAKEFLAGS -u MAKELEVEL make -s -C "$src" O="$O" SRC="$src" DESTDIR="$installed" install > /dev/null 2>&1
named=$({ sed 's/\\-/-/g' "$src"/docs/man/*.1; "$vmprof" export --help; } | grep -oE '(^|[ (])share/[a-z/.-]+[a-z]' | tr -d ' (' | sort -u)
[ "$(wc -w <<< "$named")" -ge 4 ]; ok $? "man pages and --help name what is below share: $(echo $named)"
for f in $named; do
	cmp -s "$installed$prefix/$f" "$src/docs/${f##*/}"; ok $? "make install puts it there: $prefix/$f"
done
# ... and no document elsewhere: the guest's package has none
for page in "$src"/docs/man/*.1 "$src"/guest-agent/daemon/*.8; do
	missing=$(sed 's/\\-/-/g' "$page" | grep -oE '[A-Za-z/._-]+\.md' | sort -u | while read -r f; do
		[ "${page##*.}" = 1 ] && [ -f "$installed$prefix/$f" ] || echo "$f"
	done)
	[ -z "$missing" ]; ok $? "documents that ${page##*/} names are installed${missing:+ (missing: $(echo $missing))}"
done
rm -rf "$installed"

# Bytes of a preset's record: a head, then a word for each end of a branch
help=$("$vmprof" start --help)
type=0
for preset in calls:16 flow-from:8 flow-to:8 flow:16; do
	small=$((32 + 16 * ${preset#*:})) large=$((32 + 32 * ${preset#*:})) preset=${preset%:*} type=$((type + 1))
	grep -qE "^ +$preset +type $type .* $small +$large$" <<< "$help"; ok $? "vmprof start --help has type and size of $preset"
	sed 's/\\-/-/g' "$src/docs/man/vmprof-start.1" | grep -q "^$preset;$type;.*;$small bytes;$large bytes$"; ok $? "and vmprof-start(1), too"
done

# Packages: what configure asks for, and what the README says to install
for p in $(sed -n -e 's/^require [^ ]* [^ ]* \([^ ]*\) .*/\1/p' -e 's/.*(Debian: \([a-z0-9 -]*\)).*/\1/p' "$src/configure") rpm; do
	case $p in apt | install | pkg-config) continue ;; esac	# "apt install PACKAGE"
	sed -n '/apt install gcc make/,/^$/p' "$src/README.md" | grep -qw -- "$p"; ok $? "the README installs $p"
done

# Commands of the man pages and the README that read captures, as they stand there
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/bin" "$tmp/dir/web01" "$tmp/branches/web01" "$tmp/cwd/scorep-run"
ln -s "$(realpath "$vmprof")" "$tmp/bin/vmprof"
cp "$src/tests/golden/made.vmprof" "$tmp/dir/web01/"
cp "$src/tests/golden/blocks.vmprof" "$tmp/branches/web01/"
python3 "$src/tests/unit/export/cubex.py" "$tmp/cwd/scorep-run/profile.cubex"
cp "$src/tests/golden/made.vmprof" "$tmp/cwd/before.vmprof"
cp "$src/tests/golden/made.vmprof" "$tmp/cwd/after.vmprof"
# others' tools read it in export.t; here one that serves a browser would not end
for tool in flamegraph.pl go llvm-profgen; do
	printf '#!/bin/sh\ncat > /dev/null\n' > "$tmp/bin/$tool"
	chmod +x "$tmp/bin/$tool"
done
while IFS= read -r line; do
	dir=$tmp/dir
	[[ $line != *--brstack* ]] || dir=$tmp/branches
	(cd "$tmp/cwd" && PATH=$tmp/bin:$PATH VMPROF_DIR=$dir bash -e -o pipefail -c "$line") > "$tmp/out" 2> "$tmp/err" < /dev/null ||
		{ [[ $line = *--html* ]] && grep -q 'built without the page' "$tmp/err"; }
	ok $? "it works: $line"
done < <({ for page in "$src"/docs/man/*.1; do sed -n '/^\.SH EXAMPLES/,/^\.EE/p' "$page" | sed 's/\\-/-/g'; done
	sed -n 's/^    \(vmprof .*\)/\1/p' "$src/README.md"; } | grep -E '^vmprof (report|export|import)')

# Of all commands there: each has the options that it is given
while read -r line; do
	missing=$(comm -23 <(options <<< "$line") <("$vmprof" "$(awk '{ print $2 }' <<< "$line")" --help | options))
	[ -z "$missing" ]; ok $? "it has such options: $line${missing:+ (not: $(echo $missing))}"
done < <({ for page in "$src"/docs/man/*.1; do sed -n '/^\.SH EXAMPLES/,/^\.EE/p' "$page" | sed 's/\\-/-/g'; done
	sed -n 's/^    //p' "$src/README.md"; } | grep -E '^vmprof [a-z]+ .*--[a-z]' | sed 's/ [|&#].*//')

targets=$(grep -oE '^ {4}make [a-z][a-z-]+' "$src/README.md" | awk '{ print $2 }' | sort -u)
targets_known=$(make -s -C "$src" help)
for t in $targets; do
	echo "$targets_known" | grep -q "make $t\\b"; ok $? "make help names '$t' of the README"
done
# The table of what was tested where: three words and no other
cells=$(sed -n '/^## Support/,/^## Limits/s/^| [A-Z][^|]* | \(.*\) |$/\1/p' "$src/README.md" | sed 's/ | /\n/g')
wrong=$(grep -vxE 'tested in the lab|unit-tested|not tried|not supported: .+' <<< "$cells")
[ -z "$wrong" ]; ok $? "each cell of the support table is tested in the lab, unit-tested, not tried, or not supported and why${wrong:+ (not: $wrong)}"
[ "$(wc -l <<< "$cells")" -ge 50 ]; ok $? "there are at least 50"
columns=$(sed -n '/^## Support/,/^## Limits/{/^|/p}' "$src/README.md" | tr -cd '|\n' | sort -u)
[ "$columns" = '|||||||' ]; ok $? "as many in each row"
sed -n '/^## Support/,/^## Limits/p' "$src/README.md" | tr '\n' ' ' | grep -q 'not yet run on hardware'; ok $? "it says what has not run on hardware"
echo "1..$nr"

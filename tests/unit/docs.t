#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# docs.t - what the command says of itself, its man pages and its completion agree.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
vmprof=${O:-$src/build}/vmprof
nr=0
ok() { nr=$((nr + 1)); if [ "$1" = 0 ]; then echo "ok $nr - $2"; else echo "not ok $nr - $2"; fi; }
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
	grep -q "\\\\-$c\\|BR $c \\|vmprof-$c" "$src/docs/man/vmprof.1"; ok $? "vmprof(1) names $c"
done
[ "$("$vmprof" --version)" = "vmprof $(cat "$src/VERSION")" ]; ok $? "--version says the version"
"$vmprof" frobnicate > /dev/null 2>&1; [ $? = 2 ]; ok $? "an unknown command is refused, exit 2"
for c in $commands; do
	err=$("$vmprof" "$c" --frobnicate 2>&1 > /dev/null); [ $? = 2 ] && [ -n "$err" ]; ok $? "vmprof $c refuses an unknown option, exit 2"
done
targets=$(grep -oE '^ {4}make [a-z][a-z-]+' "$src/README.md" | awk '{ print $2 }' | sort -u)
targets_known=$(make -s -C "$src" help)
for t in $targets; do
	echo "$targets_known" | grep -q "make $t\\b"; ok $? "make help names '$t' of the README"
done
echo "1..$nr"

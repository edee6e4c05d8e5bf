#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# configure.t - configure itself: options, probes, what it writes.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
. "$src/tests/unit/tap.sh"
conf() { (cd "$tmp" && "$src/configure" --build-dir="$tmp/b" "$@") > "$tmp/out" 2>&1; }

conf --frobnicate
[ $? = 2 ] && grep -q "unknown option '--frobnicate'" "$tmp/out"; ok $? "an unknown option is refused by name, exit 2"
[ ! -e "$tmp/b" ]; ok $? "and nothing is written"
conf --prefix=relative
[ $? = 2 ]; ok $? "a relative prefix is refused"
conf --help && grep -q -- --without-FEATURE "$tmp/out"; ok $? "--help lists the options"

conf --prefix=/opt/x
[ $? = 0 ]; ok $? "configures"
grep -q '^PREFIX := /opt/x$' "$tmp/b/config.mk"; ok $? "the prefix is kept"
grep -q "VMPROF_VERSION \"$(cat "$src/VERSION")\"" "$tmp/b/config.h"; ok $? "config.h has the version"
stamp=$(stat -c %Y.%i "$tmp/b/config.h")
conf --prefix=/opt/x
[ "$stamp" = "$(stat -c %Y.%i "$tmp/b/config.h")" ]; ok $? "config.h keeps its time when nothing changed"
conf --without-pfm4 --without-demangle
! grep -q 'HAVE_LIBPFM\|HAVE_DEMANGLE' "$tmp/b/config.h"; ok $? "--without-FEATURE leaves the feature out"
grep -q 'pfm4 *off: --event takes' "$tmp/out"; ok $? "and says what it costs"

conf --without-html
! grep -q VMP_HTML_FILE "$tmp/b/config.h" && grep -q 'html *off: vmprof report --html' "$tmp/out"; ok $? "--without-html leaves the page out"
mkdir "$tmp/bin"
printf '#!/bin/sh\nexit 1\n' > "$tmp/bin/node"
chmod +x "$tmp/bin/node"
PATH=$tmp/bin:$PATH conf
[ $? = 0 ] && ! grep -q VMP_HTML_FILE "$tmp/b/config.h" && grep -q 'html *no: .*Debian: nodejs npm' "$tmp/out"; ok $? "without Node.js it says what is left out and how to get it"
touch "$tmp/page.html"
PATH=$tmp/bin:$PATH conf --page="$tmp/page.html"
grep -q "VMP_HTML_FILE \"$tmp/page.html\"" "$tmp/b/config.h"; ok $? "--page takes a page that was bundled elsewhere"
conf --page="$tmp/nowhere.html"
[ $? = 1 ] && grep -q 'analyzer/html/page/build FILE' "$tmp/out"; ok $? "and says how to make one that is missing"
rm -r "$tmp/bin" "$tmp/page.html"

PKG_CONFIG_LIBDIR=$tmp PKG_CONFIG_PATH='' conf
[ $? = 1 ] && grep -q 'apt install libvirt-dev' "$tmp/out"; ok $? "missing libraries are named with their packages"
[ -z "$(sed -n 's/.*apt install \(.*\))$/\1/p' "$tmp/out" | tr ' ' '\n' | sort | uniq -d)" ]; ok $? "each of them once"
PKG_CONFIG_LIBDIR=$tmp PKG_CONFIG_PATH='' env -u MAKEFLAGS -u MAKELEVEL make -C "$src" O="$tmp/m" > "$tmp/out" 2>&1
[ $? = 2 ] && grep -q 'apt install libvirt-dev' "$tmp/out" && grep -q '^vmprof is not configured: .* ./configure' "$tmp/out" && ! grep -q 'No rule' "$tmp/out"
ok $? "make without a configuration makes one, or says what is missing and what to run"
conf --cc=/nonexistent/cc
[ $? = 1 ] && grep -q 'cannot build a program' "$tmp/out"; ok $? "a broken compiler is told"
conf --sanitize=address && grep -q -- '-fsanitize=address' "$tmp/b/config.mk"; ok $? "--sanitize reaches the flags"
echo "1..$nr"

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# configure.t - configure itself: options, probes, what it writes.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
nr=0
ok() { nr=$((nr + 1)); if [ "$1" = 0 ]; then echo "ok $nr - $2"; else echo "not ok $nr - $2"; sed 's/^/# /' "$tmp/out"; fi; }
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

PKG_CONFIG_LIBDIR=$tmp PKG_CONFIG_PATH='' conf
[ $? = 1 ] && grep -q 'apt install libvirt-dev' "$tmp/out"; ok $? "missing libraries are named with their packages"
conf --cc=/nonexistent/cc
[ $? = 1 ] && grep -q 'cannot build a program' "$tmp/out"; ok $? "a broken compiler is told"
conf --sanitize=address && grep -q -- '-fsanitize=address' "$tmp/b/config.mk"; ok $? "--sanitize reaches the flags"
echo "1..$nr"

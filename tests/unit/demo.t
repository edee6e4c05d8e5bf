#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# demo.t - make demo builds what it runs and nothing that is there for tests, says what goes on, and keeps its capture: what
# is built and the emulated host are made up.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. "$src/tests/unit/tap.sh"
cd "$tmp" || exit 1

env -u MAKEFLAGS -u MAKELEVEL make -n -C "$src" demo > err 2>&1
[ "$(grep -o 'tests/lab/[a-z].*' err | xargs)" = "tests/lab/host-setup tests/lab/build tests/lab/products --demo tests/lab/demo" ]; ok $? "make demo builds by tests/lab/products --demo"

# built PART: what products-in-root does, in a folder of its own
mkdir -p bin out/libquantum && touch out/libquantum/done
for tool in make gcc objcopy xz install dpkg-source ldd cp; do
	printf '#!/bin/sh\necho %s "$@"\n' $tool > bin/$tool && chmod 755 bin/$tool
done
echo '/bin/cp "$@" 2> /dev/null || true' >> bin/cp
sed -e "s|/out|$tmp/out|g" -e 's#packaging/\(rpm\|deb\)/build#echo build-\1#' "$src/tests/lab/products-in-root" > products-in-root
built() { (cd "$src" && LAB_KERNEL=1 PATH=$tmp/bin:$PATH sh "$tmp/products-in-root" "$1") > "$1" 2> err; }
for part in host guest; do
	built demo-$part && built $part; ok $? "products-in-root demo-$part, and $part"
	[ -z "$(comm -23 <(sort -u demo-$part) <(sort -u $part))" ]; ok $? "the demo's $part has nothing that tests have not"
	! grep -qE 'judge|broken|storm|ioctls|upgrade|build-deb|lab/driver|compile' demo-$part; ok $? "... nor what is for them alone"
done
grep -q vmprof.ko demo-host && grep -q 'DESTDIR=.*install' demo-host && grep -q build-rpm demo-guest && grep -q workload/shor.c demo-guest; ok $? "it has the command, both modules and libquantum's program"
grep -q judge host && grep -q broken host && grep -q storm guest && grep -q build-deb guest; ok $? "tests have theirs"

# the emulated host is made up
mkdir -p lab/tests/lab && cp "$src"/tests/lab/{apt.sh,demo,demo.sh} lab/tests/lab &&
	cat > lab/tests/lab/run <<- 'END' && printf '#!/bin/sh\necho "$@"\n' > lab/tests/lab/in-root && chmod 755 lab/tests/lab/{run,in-root}
	#!/bin/sh
	while [ "$1" != --out ]; do shift; done
	mkdir -p "$2/captures/web01" "$2/objects" && touch "$2/captures/web01/x.vmprof" "$2/web01.html"
	exit ${STATUS:-0}
	END
lab/tests/lab/demo > out.txt 2> err && grep -q 'booting the emulated KVM host' err; ok $? "the demo says that it boots the host"
[ -e lab/build/demo/captures/web01/x.vmprof ] && grep -q 'The capture stays in build/demo/captures/web01/x.vmprof; look at it: build/demo/vmprof report' out.txt; ok $? "... where its capture stays, and how to look at it"
[ "$(lab/build/demo/vmprof report --limit "1 2" 2>&1)" = "trixie env VMPROF_DIR=/src/build/demo/captures VMPROF_OBJCACHE=/src/build/demo/objects /out/vmprof report --limit 1 2" ]; ok $? "... with the command that it leaves"
STATUS=3 lab/tests/lab/demo > out.txt 2> err; [ $? = 3 ] && grep -q 'The capture stays' out.txt; ok $? "one that fails does so, too, and keeps what there is"
grep -q 'cp .*/var/lib/vmprof/web01 /out/captures' lab/tests/lab/demo.sh && grep -q 'cp .*/var/cache/vmprof/objects.* /out/objects' lab/tests/lab/demo.sh; ok $? "the host hands out the capture and binaries"

# what takes long
said=$(LAB_TICK=0.2 bash -c '. "$0/tests/lab/apt.sh"; work() { sleep 0.7; return 5; }; lab_ticking "the modules" work; echo $?' "$src" 2> err)
[ "$said" = 5 ] && [ "$(grep -c '^lab: the modules: 0 min so far$' err)" -ge 2 ]; ok $? "what takes long says that it goes on, and ends as it ends"
echo "1..$nr"

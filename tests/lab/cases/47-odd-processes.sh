#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# Processes that are hard to name: in memory only, of a deleted file, in a container, in one of a user without rights, with a shared address space, with threads of milliseconds, on
# an overlay, set-user-ID, in a chain of programs, with libraries that follow each other at one place, with one that is prelinked, not position-independent; the
# vdso; a BPF program; what a kprobe runs; and kernel modules that come and go while the session runs.
. /src/tests/lab/cases/common.sh
plan 65

case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01
lab_guest_put web01 "$LAB_SHARE"/storm/{odd,odd-{fixed,memory,gone,only-here,rootless,overlay,private,ended},plugin.so,second.so,prelinked.so} /opt/storm
lab_ssh web01 'cd /opt/storm && for n in first second third threads swap prelinked bpf short rmd160 wp512; do ln -sf odd odd-$n; done
	cp odd-private odd-setuid && chown 65534:65534 odd-setuid && chmod 4711 odd-setuid' || bail "the programs have their names"
# a program that only a container sees, in namespaces of its own, as another user
lab_ssh web01 'cat > /opt/storm/container; chmod 755 /opt/storm/container' <<'END'
#!/bin/sh
# in new mount and process namespaces
mount --make-rprivate /
mount -t tmpfs none /mnt
mkdir -p /mnt/app /mnt/proc /mnt/lib64 /mnt/lib /mnt/usr
for d in usr lib lib64; do mount --bind /$d /mnt/$d; done
cp /opt/storm/odd-only-here /mnt/app/only-here
chmod 711 /mnt/app/only-here
exec chroot --userspec=65534:65534 /mnt /app/only-here plain 600
END
# a container that somebody without rights made: they are root there alone; its root is an overlay
lab_ssh web01 'cat > /opt/storm/rootless; chmod 755 /opt/storm/rootless' <<'END'
#!/bin/sh
# in new user, mount and process namespaces; the kernel takes no lower folder that others have mounted something below
mount -t tmpfs none /mnt && mkdir /mnt/up /mnt/up/app /mnt/work /mnt/root || exit
mount -t overlay overlay -o userxattr,lowerdir=/usr,upperdir=/mnt/up,workdir=/mnt/work /mnt/root || exit
cp /opt/storm/odd-rootless /mnt/root/app/rootless
chroot /mnt/root /app/rootless plain 600 &
echo $! > /tmp/lab-rootless.nspid
wait
END
# below the root's file system, above it memory
lab_ssh web01 'cat > /opt/storm/overlay; chmod 755 /opt/storm/overlay' <<'END'
#!/bin/sh
# in a new mount namespace
mount --make-rprivate /
mount -t tmpfs none /mnt
mkdir /mnt/up /mnt/work /mnt/merged
mount -t overlay overlay -o lowerdir=/opt/storm,upperdir=/mnt/up,workdir=/mnt/work /mnt/merged
exec /mnt/merged/odd-overlay plain 600
END
# in_cgroup NAME CMD - in the background of web01, in a cgroup of its own
in_cgroup() { case_guest_run web01 "mkdir -p /sys/fs/cgroup/$1 && echo \$\$ > /sys/fs/cgroup/$1/cgroup.procs && $2"; }
symbols_are_whole() { [ "$(symbols_whole)" = true ]; }
symbols_whole() { vmprof status --json | jq '.domains[] | select(.name == "web01").agent.kernel_symbols'; }
# symbols_come [SECONDS] - modules changed: wait until the host has heard of it, and has all symbols again
symbols_come()
{
	local end=$((SECONDS + ${1:-15}))
	until [ "$(symbols_whole)" = false ] || [ $SECONDS -ge $end ]; do sleep 0.1; done
	end=$((SECONDS + 120))
	until [ "$(symbols_whole)" = true ] || [ $SECONDS -ge $end ]; do sleep 0.5; done
}

f=/out/odd.vmprof
rm -f $f
# alone - of the programs that no other file can stand for, those that came
alone() { find /var/cache/vmprof/objects -type f -path '*/76/6d70726f66206f646420*' ! -name '*.debug' "$@" | sed 's/.*\(.\)$/\1/' | sort -u | tr -d '\n'; }
alone -delete
# behind the function's first instructions, where a probe gets code of its own in place of what it covers; that
# takes until all tasks were somewhere else
ok "a kprobe is set" lab_ssh web01 'cd /sys/kernel/tracing || exit
	[ -e kprobe_events ] || { mount -t tracefs none /sys/kernel/tracing && cd /sys/kernel/tracing; } || exit
	[ -e /sys/kernel/debug/kprobes ] || mount -t debugfs none /sys/kernel/debug || exit
	for at in $(seq 5 40); do
		echo "p:lab_probe __x64_sys_getppid+$at" > kprobe_events 2> /dev/null || continue
		echo 1 > events/kprobes/lab_probe/enable
		for i in $(seq 60); do
			grep -q kprobe_optinsn_page /proc/kallsyms || break
			grep -q OPTIMIZED /sys/kernel/debug/kprobes/list && exit
			sleep 1
		done
		echo 0 > events/kprobes/lab_probe/enable
		echo > kprobe_events
	done
	exit 1'
ok "start" vmprof start --domain web01 --period 500us --output $f
ok "all kernel symbols are there" lab_wait 120 symbols_are_whole
case_guest_run web01 'exec /opt/storm/odd-bpf bpf 200'
ok "a BPF program is loaded" lab_wait 60 lab_ssh web01 "grep -q bpf_prog_.*_odd /proc/kallsyms"
symbols_come 60
case_guest_run web01 'cp /opt/storm/odd-memory /tmp; (sleep 5; rm /tmp/odd-memory) & exec /tmp/odd-memory memfd 600'
case_guest_run web01 'cp /opt/storm/odd-gone /tmp/odd-deleted; exec /tmp/odd-deleted deleted 600'
case_guest_run web01 'exec /opt/storm/odd shared 600'
in_cgroup lab-odd 'exec unshare --mount --pid --fork /opt/storm/container'
in_cgroup lab-rootless 'exec setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user --map-root-user --mount --pid --fork /opt/storm/rootless'
in_cgroup lab-short 'for i in 1 2 3 4 5 6 7 8; do /opt/storm/odd-short plain 0.5; done'
case_guest_run web01 'exec /opt/storm/odd-setuid plain 14'
# what it is mapped from goes with it, before the session ends
case_guest_run web01 'exec unshare --mount sh -c "mount --make-rprivate /; mount -t tmpfs none /mnt; cp /opt/storm/odd-ended /mnt/ended; exec /mnt/ended plain 600"'
case_guest_run web01 'exec /opt/storm/odd-first chain 4'
case_guest_run web01 'exec unshare --mount /opt/storm/overlay'
case_guest_run web01 'exec perl -e "getppid while time < $^T + 14"'
is_fetched() { [[ $(alone) = *7* ]]; }
ok "what goes with its process is fetched while that lives" lab_wait 120 is_fetched
lab_ssh web01 'pkill -x ended'
ok "a library lies where another one was" lab_ssh web01 '/opt/storm/odd-swap swap 14'
ok "a library lies at the address that it was linked for" lab_ssh web01 '/opt/storm/odd-prelinked prelinked 8'
lab_ssh web01 'pkill odd-bpf'
threads=$(lab_ssh web01 '/opt/storm/odd-threads threads 8')
at_least "many threads begin and end" "$threads" 200
case_guest_run web01 'exec timeout 10 /opt/burn/now'
ok "a program works at a fixed address" lab_ssh web01 '/opt/storm/odd-fixed plain 10'
# a large module, then small ones, which may lie where it was; each lives until its names have been read
ok "a kernel module is loaded" lab_ssh web01 'modprobe raid6_pq'
symbols_come
ok "... and unloaded" lab_ssh web01 'modprobe -r raid6_pq'
symbols_come
for module in rmd160 wp512; do
	ok "$module is loaded" lab_ssh web01 "modprobe $module"
	symbols_come
	ok "... works" lab_ssh web01 "/opt/storm/odd-$module hash 6"
	ok "... and is unloaded" lab_ssh web01 "modprobe -r $module"
	symbols_come
done
ok "stop" vmprof stop
lab_ssh web01 'pkill -x "odd.*|only-here|rootless|memfd.*|[0-9]*" ; pkill odd; pkill only-here
	cd /sys/kernel/tracing && echo 0 > events/kprobes/lab_probe/enable; echo > kprobe_events
	sleep 1; rmdir /sys/fs/cgroup/lab-odd /sys/fs/cgroup/lab-rootless /sys/fs/cgroup/lab-short' > /dev/null 2>&1
nspid=$(lab_ssh web01 'cat /tmp/lab-rootless.nspid; rm /tmp/lab-rootless.nspid')
case_report $f || bail "report"
vmprof export -f json $f > /run/lab/export.json || bail "export"
vmprof report --json --group-by process,function,nspid,cgroup $f > /run/lab/places.json || bail "report by cgroup"
vmprof report --json --group-by process,function,thread $f > /run/lab/threads.json || bail "report by thread"
vmprof report --limit 12 $f 2>&1 | sed 's/^/# /'

# samples FUNCTION - of user code
samples() { case_json "[.domains[0].rows[] | select(.side == \"guest_user\" and .function == \"$1\") | .samples] | add // 0"; }
process() { case_json "[.domains[0].rows[] | select(.function == \"$1\") | .process] | unique | join(\" \")"; }
# of PROCESS FUNCTION - samples of a process's function
of() { case_json "[.domains[0].rows[] | select(.process == \"$1\" and .function == \"$2\") | .samples] | add // 0"; }
# path PROCESS - of the file that its function is in
path() { jq -r "[.rows[] | select(.process == \"$1\" and .function == \"odd_plain_work\") | .path] | unique | join(\" \")" /run/lab/export.json; }
# places PROCESS VALUE - what is known of where it was
places() { jq -r "[.domains[0].rows[] | select(.process == \"$1\" and .function == \"odd_plain_work\") | $2] | unique | map(tostring) | join(\" \")" /run/lab/places.json; }
at_least "a program in memory only has its function" "$(samples odd_memfd_work)" 100
at_least "one whose file was deleted" "$(samples odd_deleted_work)" 100
is "... and its process" "$(process odd_deleted_work)" odd-deleted
at_least "a child in its parent's address space" "$(samples odd_shared_work)" 100
is "... under the name that both have" "$(process odd_shared_work)" odd
at_least "a program that only a container sees" "$(of only-here odd_plain_work)" 100
is "... with the path that the container sees" "$(path only-here)" /app/only-here
is "... the number that it has there" "$(places only-here .nspid)" 1
is "... and its cgroup" "$(places only-here .cgroup)" /lab-odd
at_least "one in a container without rights, on its overlay" "$(of rootless odd_plain_work)" 100
is "... with the path that this one sees" "$(path rootless)" /app/rootless
is "... its number there, where it is not the first" "$(places rootless .nspid)" "$nspid"
at_least "... of several" "$nspid" 2
is "... and its cgroup" "$(places rootless .cgroup)" /lab-rootless
at_least "programs that live for a moment" "$(of odd-short odd_plain_work)" 50
is "... have theirs" "$(places odd-short .cgroup)" /lab-short
at_least "a program on an overlay" "$(of odd-overlay odd_plain_work)" 100
is "... with its path there" "$(path odd-overlay)" /mnt/merged/odd-overlay
at_least "a program that is set-user-ID, and that nobody may read" "$(of odd-setuid odd_plain_work)" 100
at_least "a program whose file system went with it" "$(of ended odd_plain_work)" 100
is "each of these was had from where it ran, whose file no other can stand for" "$(alone)" 1234567
is "a program that is not position-independent (ET_EXEC)" "$(od -An -tu2 -j 16 -N 2 "$LAB_SHARE/storm/odd-fixed" | tr -d ' ')" 2
at_least "... has its function" "$(of odd-fixed odd_plain_work)" 100
at_least "the vdso has its function's name" \
	"$(case_json '[.domains[0].rows[] | select(.process == "now" and .module == "[vdso]" and (.function | test("clock_gettime"))) | .samples] | add // 0')" 50
for nth in first second third; do
	at_least "the $nth of a chain of programs" "$(of odd-$nth odd_${nth}_work)" 50
	is "... in no other one's name" "$(process odd_${nth}_work)" odd-$nth
done
# in_thread FUNCTION NAME - samples of it in threads of that name
in_thread() { jq -r "[.domains[0].rows[] | select(.process == \"odd-threads\" and .function == \"odd_$1_work\" and (.thread | startswith(\"$2 \"))) | .samples] | add // 0" /run/lab/threads.json; }
# a thread has its process's name until it gives itself another
for name in tick tock; do
	all=$(of odd-threads odd_${name}_work)
	at_least "threads of milliseconds, in the function of those named $name" "$all" 200
	echo "# $(in_thread $name $name) of $all samples are in threads of that name, $(in_thread $name odd-threads) in unnamed ones"
done
never "none is in a thread of the other name" "$(($(in_thread tick tock) + $(in_thread tock tick)))"
at_least "many of them were seen, each by its number" "$(jq '[.domains[0].rows[] | select(.process == "odd-threads").thread] | unique | length' /run/lab/threads.json)" 100
for lib in plugin second; do
	at_least "code of $lib.so" "$(of odd-swap storm_${lib}_work)" 100
done
at_least "code of a prelinked library" "$(of odd-prelinked storm_prelinked_work)" 100
at_least "each of them half of the time" \
	"$(awk -v a="$(of odd-swap storm_plugin_work)" -v b="$(of odd-swap storm_second_work)" 'BEGIN { print a + b ? 100 * (a < b ? a : b) / (a + b) : 0 }')" 30
at_least "a BPF program that came while the session ran has its name" \
	"$(case_json '[.domains[0].rows[] | select(.process == "odd-bpf" and .module == "[bpf]" and (.function | test("^bpf_prog_[0-9a-f]+_odd$"))) | .samples] | add // 0')" 100
at_least "so has the code of a kprobe" \
	"$(case_json '[.domains[0].rows[] | select(.process == "perl" and .function == "kprobe_optinsn_page" and .module == "[__builtin__kprobes]") | .samples] | add // 0')" 20
at_least "code of the module that came later, and went, has names" \
	"$(case_json '[.domains[0].rows[] | select(.module == "[raid6_pq]" and (.function | test("^raid6_"))) | .samples] | add // 0')" 5
# hashed PROCESS MODULE - samples of the module's functions in the process
hashed() { case_json "[.domains[0].rows[] | select(.process == \"odd-$1\" and .module == \"[$2]\" and (.function | test(\"^$2_\"))) | .samples] | add // 0"; }
at_least "so has that of the next one" "$(hashed rmd160 rmd160)" 100
at_least "... and of the one after it" "$(hashed wp512 wp512)" 100
never "none has another one's" "$(($(hashed rmd160 wp512) + $(hashed wp512 rmd160)))"
never "no event was lost" "$(case_events_lost)"
is "... and no list of mappings was in use, and left out" "$(case_json ".domains[0].agent.lost.maps_busy")" 0
is "no sample was lost" "$(case_json .losses.driver.total)" 0
finish

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# long: yes
# Processes that are hard to name: in memory only, of a deleted file, in a container, with a shared
# address space; and kernel modules that come and go while the session runs.
. /src/tests/lab/cases/common.sh
plan 22

case_guest web01 || bail "web01 is up with its agent"
case_idle
case_quiet web01
lab_guest_put web01 "$LAB_SHARE/storm/odd" /opt/storm
# a program that only a container sees, in namespaces of its own, as another user
lab_ssh web01 'cat > /opt/storm/container; chmod 755 /opt/storm/container' <<'END'
#!/bin/sh
# in new mount and process namespaces
mount --make-rprivate /
mount -t tmpfs none /mnt
mkdir -p /mnt/app /mnt/proc /mnt/lib64 /mnt/lib /mnt/usr
for d in usr lib lib64; do mount --bind /$d /mnt/$d; done
cp /opt/storm/odd /mnt/app/only-here
chmod 711 /mnt/app/only-here
exec chroot --userspec=65534:65534 /mnt /app/only-here plain 60
END

f=/out/odd.vmprof
rm -f $f
ok "start" vmprof start --domain web01 --period 500us --output $f
case_guest_run web01 'exec /opt/storm/odd memfd 60'
case_guest_run web01 'cp /opt/storm/odd /tmp/odd-deleted; exec /tmp/odd-deleted deleted 60'
case_guest_run web01 'exec /opt/storm/odd shared 60'
case_guest_run web01 'exec unshare --mount --pid --fork /opt/storm/container'
sleep 4
# a large module, then small ones, which may lie where it was; the agent looks each two seconds
ok "a kernel module is loaded" lab_ssh web01 'modprobe raid6_pq'
sleep 10
ok "... and unloaded" lab_ssh web01 'modprobe -r raid6_pq'
sleep 4
for module in rmd160 wp512; do
	ok "$module is loaded, works" lab_ssh web01 "ln -sf odd /opt/storm/odd-$module && modprobe $module && /opt/storm/odd-$module hash 10"
	ok "... and is unloaded" lab_ssh web01 "modprobe -r $module"
	sleep 4
done
ok "stop" vmprof stop
lab_ssh web01 'pkill -x "odd.*|only-here|memfd.*|[0-9]*" ; pkill odd; pkill only-here' > /dev/null 2>&1
case_report $f || bail "report"
vmprof report --limit 12 $f 2>&1 | sed 's/^/# /'

# samples FUNCTION - of user code
samples() { case_json "[.domains[0].rows[] | select(.side == \"guest_user\" and .function == \"$1\") | .samples] | add // 0"; }
process() { case_json "[.domains[0].rows[] | select(.function == \"$1\") | .process] | unique | join(\" \")"; }
at_least "a program in memory only has its function" "$(samples odd_memfd_work)" 100
at_least "one whose file was deleted" "$(samples odd_deleted_work)" 100
is "... and its process" "$(process odd_deleted_work)" odd-deleted
at_least "a child in its parent's address space" "$(samples odd_shared_work)" 100
is "... under the name that both have" "$(process odd_shared_work)" odd
at_least "a program that only a container sees" "$(samples odd_plain_work)" 100
is "... and its process" "$(process odd_plain_work)" only-here
is "... with the path that the container sees" \
	"$(case_json '[.domains[0].rows[] | select(.function == "odd_plain_work") | .module] | unique | join(" ")')" only-here
at_least "code of the module that came later, and went, has names" \
	"$(case_json '[.domains[0].rows[] | select(.module == "[raid6_pq]" and (.function | test("^raid6_"))) | .samples] | add // 0')" 5
# hashed PROCESS MODULE - samples of the module's functions in the process
hashed() { case_json "[.domains[0].rows[] | select(.process == \"odd-$1\" and .module == \"[$2]\" and (.function | test(\"^$2_\"))) | .samples] | add // 0"; }
at_least "so has that of the next one" "$(hashed rmd160 rmd160)" 100
at_least "... and of the one after it" "$(hashed wp512 wp512)" 100
is "none has another one's" "$(($(hashed rmd160 wp512) + $(hashed wp512 rmd160)))" 0
is "nothing was lost" "$(case_agent_lost)" 0
is "no sample was lost" "$(case_json .losses.driver.total)" 0
finish

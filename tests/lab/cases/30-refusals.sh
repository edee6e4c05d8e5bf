#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab-only: yes
# What start, stop and doctor refuse, that they say why and what to do, and that
# a refused start leaves nothing behind.
. /src/tests/lab/cases/common.sh
plan 55

case_guest web01 || bail "web01 is up with its agent"
case_idle
export VMPROF_DIR=/run/lab/refusals
rm -rf $VMPROF_DIR
ko=$(modinfo -n vmprof) || bail "the module vmprof is installed"

usage_error()
{
	"$@" > /dev/null 2>&1
	[ $? = 2 ]
}

# --- wrong usage
ok "start without a domain: exit 2" usage_error vmprof start
ok "start of a domain and all: exit 2" usage_error vmprof start --domain web01 --all
ok "an unknown option: exit 2" usage_error vmprof start --domain web01 --doman web02
rmmod vmprof 2> /dev/null
lab_guest_define web09
for word in "--period 5" "--period abc" "--event no-such-event" "--event instructions --period 1ms" "--event instructions --cpi" "--cpi --no-cpi" "--event cpu-clock --random" \
	"--random --period 100000000000000000"; do
	# shellcheck disable=SC2086
	ok "start $word: exit 2" usage_error vmprof start --domain web01 --domain web09 $word
done
fails "a time for an event that has none" vmprof start --domain web01 --event instructions --period 1ms
like "... says what to give" "$output" "give a number of events"
fails "an unknown event" vmprof start --domain web01 --event no-such-event
like "... says where names are" "$output" "there is no event 'no-such-event'"
is "nothing was done for a command that is wrong: the module is not loaded" "$(lsmod | grep -c '^vmprof ')" 0

# --- unknown or stopped domain
fails "an unknown domain" vmprof start --domain nobody
like "... says how to find one" "$output" "there is no domain 'nobody'; virsh list --all"
fails "a domain that is not running" vmprof start --domain web09
like "... says how to start it" "$output" "'web09' is not running; start it: virsh start web09"
fails "attach to it" vmprof attach --domain web09
fails "doctor for it" vmprof doctor --domain web09
like "... marks it" "$output" "^!!  domain 'web09' is not running"
virsh -q undefine web09
fails "one good and one unknown domain" vmprof start --domain web01 --domain nobody

# --- no permission
as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
for command in "start --domain web01" stop status "attach --domain web01"; do
	# shellcheck disable=SC2086
	fails "$command without permission" as_nobody vmprof $command
	like "... says that it needs root" "$output" "${command%% *} needs root"
done

mkdir -p $VMPROF_DIR && chmod 700 $VMPROF_DIR
fails "report without permission" as_nobody vmprof report
like "... says so, and what to do" "$output" "cannot read $VMPROF_DIR: Permission denied; run this command with sudo"

# --- no module
rmmod vmprof 2> /dev/null
mv "$ko" /run/lab/vmprof.ko && depmod
fails "start without the module" vmprof start --domain web01
like "... says how to install it" "$output" "not found: install the package vmprof-dkms, or in the source tree: make -C host-driver dkms-install"
fails "doctor without the module" vmprof doctor --domain web01
like "... marks it" "$output" "^!!  the module vmprof is not installed"
mv /run/lab/vmprof.ko "$ko" && depmod
is "the module is not loaded" "$(lsmod | grep -c '^vmprof ')" 0

# --- no libvirtd; guests live on without it
systemctl stop libvirtd.socket libvirtd-ro.socket libvirtd-admin.socket libvirtd.service 2> /dev/null
fails "start without libvirtd" vmprof start --domain web01
like "... says that it cannot be reached" "$output" "cannot connect to libvirt"
like "... and how to start it" "$output" "systemctl start libvirtd"
fails "doctor without libvirtd" vmprof doctor
like "... marks it" "$output" "^!!  cannot connect to libvirt"
systemctl start libvirtd.service
lab_wait 120 virsh domstate web01 || fail "libvirtd is back"

fails "stop without a session" vmprof stop
is "refused starts left no capture" "$(find $VMPROF_DIR -name '*.vmprof' 2> /dev/null | wc -l)" 0

# --- twice, and the module in use
output=$(vmprof start --domain web01 2>&1) || bail "start" "$output"
like "start loads the module by itself" "$output" "loading the module vmprof"
fails "start twice" vmprof start --domain web01
like "... names the session that runs" "$output" "a session runs already: web01"
fails "unloading the module in use" rmmod vmprof
ok "the session went on, stop ends it" vmprof stop

# --- --output onto an earlier capture: it stays until there is a new one, and then that is the latest
f=/run/lab/kept.vmprof
vmprof start --domain web01 --output $f > /dev/null 2>&1 && vmprof stop > /dev/null 2>&1
before=$(md5sum < $f)
lab_ssh web01 'systemctl kill -s STOP vmprof-agent'	# it is waited for
vmprof start --domain web01 --output $f > /dev/null 2>&1 &
lab_wait 120 test -e $f.new
kill -TERM $!
wait $!
is "a start that ends before it samples fails" $? 1
lab_ssh web01 'systemctl kill -s CONT vmprof-agent'
is "... leaves the capture that was there" "$(md5sum < $f)" "$before"
is "... and nothing else" "$(ls $f.new 2> /dev/null)" ""
like "report without a file reads it" "$(vmprof report)" "Capture $f"
finish

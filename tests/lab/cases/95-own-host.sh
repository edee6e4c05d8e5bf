#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# lab-only: yes
# make check-hw on somebody's own machine (here: this L1): it starts nothing where
# that could touch domains, disks or sessions that are not its own.
. /src/tests/lab/lib.sh
plan 16

lab_guests_destroy
vmprof stop > /dev/null 2>&1
disks=/var/lib/libvirt/images

# What the domain MINE, a machine without a disk, is made of
mine()
{
	cat <<-END
	<domain type='kvm'><name>$1</name><memory unit='MiB'>32</memory>
	  <os><type arch='x86_64' machine='q35'>hvm</type></os>
	  <devices><emulator>/usr/local/bin/qemu-system-x86_64</emulator>
	  <controller type='usb' model='none'/><memballoon model='none'/></devices></domain>
	END
}

# /out is in the way here; it is looked at after domains and disks
check_hw() { bash /src/tests/lab/on-this-host /src/tests/lab/selftest/job.sh end ran 0 2>&1; }

mine customer > /run/lab/mine.xml
virsh -q define /run/lab/mine.xml
virsh -q start --paused customer
output=$(check_hw)
like "a domain that runs: not run, and why" "$output" '^1\.\.0 # SKIP domains run here.*: customer'
unlike "... nothing was run" "$output" '^argument: ran'
is "... the domain lives" "$(virsh domstate customer)" paused

# Named as a guest of the lab
mine web03 > /run/lab/mine.xml
touch $disks/web03.qcow2
virsh -q define /run/lab/mine.xml
virsh -q start --paused web03
fails "a domain web03 that is not the lab's is not destroyed" lab_guest_destroy web03
fails "... nor replaced" lab_guest_define web03
lab_guests_destroy
is "... nor among those that all go" "$(virsh domstate web03)" paused
virsh -q destroy web03
virsh -q destroy customer
like "a domain web03 that does not run" "$(check_hw)" '^1\.\.0 # SKIP domains have the names of the lab.s guests: web03'
is "... is still defined" "$(virsh domstate web03)" "shut off"
virsh -q undefine web03
virsh -q undefine customer
like "a disk called web03.qcow2" "$(check_hw)" '^1\.\.0 # SKIP .*web03.qcow2 exists'
ok "... is still there" test -e $disks/web03.qcow2
rm $disks/web03.qcow2

output=$(LAB_OWN_HOST=yes bash /src/tests/lab/suite.sh 30-refusals 90-driver 2>&1)
is "cases for the lab only are skipped there, each as a test" \
	"$(grep -c -E '^ok [12] - (30-refusals|90-driver) # SKIP only on an emulated host$' <<< "$output")" 2
like "... and counted" "$output" '^1\.\.2$'
ok "the module is still there" modinfo vmprof
ok "libvirtd still runs" virsh -q list

# What tests/check says of a tier that was not run
cp -r /src/tests/check /run/lab/check
is "a tier that is not run is counted so" "$(bash -c '
	cd /run/lab; logs=. passed=0 failed=0 skipped=0
	. <(sed -n "/^tier()/,/^}/p" check)
	tier hw printf "suite.sh .. \nskipped: because\nFiles=1, Tests=0,  0 wallclock secs\n" > /dev/null
	echo $passed $failed $skipped')" "0 0 1"
is "a skipped test is not a passed one" "$(bash -c '
	cd /run/lab; logs=. passed=0 failed=0 skipped=0
	. <(sed -n "/^tier()/,/^}/p" check)
	tier hw printf "ok 1 - a\nok 2 - b # SKIP not here\nFiles=1, Tests=2, 1\n" > /dev/null
	echo $passed $failed $skipped')" "1 0 1"
finish

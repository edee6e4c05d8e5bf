# SPDX-License-Identifier: GPL-2.0-only
#
# lib.sh - guests and TAP for scripts that run on L1; source it with bash.
#
# Guests are called web01 to web09 and have the address 10.77.0.1N. A guest's
# disk is a throw-away overlay in LAB_DISKS, its serial console is /out/NAME.console.
# Only guests that were defined here (/run/lab/NAME.xml) are ever destroyed.
# Functions return a status and say on standard error what went wrong.

LAB_SHARE=${LAB_SHARE:-/usr/share/vmprof-lab/${GUEST_SUITE:-trixie}}
LAB_AGENT_PORT=org.vmprof.agent.0
LAB_DISKS=${LAB_DISKS:-/var/lib/libvirt/images}
# Seconds of nested emulation go into each thing that is left out here.
LAB_GUEST_CMDLINE="quiet loglevel=5 panic=-1 oops=panic panic_on_warn=1 mitigations=off net.ifnames=0 audit=0 lsm=yama 8250.nr_uarts=1 cryptomgr.notests nowatchdog pci=lastbus=0"

lab_note() { printf '# %s\n' "$*" >&2; }

# lab_wait SECONDS CMD... - until CMD succeeds.
lab_wait()
{
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

# --------------------------------------------------------------- guests

# Print the domain of a guest: NAME VCPUS MEM_MB CHANNEL(yes|) PMU(on|off) EXTRA
lab_guest_xml()
{
	local name=$1 nr=${1#web0} channel=

	[ -z "$4" ] || channel="<channel type='unix'>
	      <source mode='bind' path='/run/libvirt/qemu/$name.vmprof.sock'/>
	      <target type='virtio' name='$LAB_AGENT_PORT'/></channel>"
	cat <<-END
	<domain type='kvm'>
	  <name>$name</name>
	  <memory unit='MiB'>$3</memory>
	  <vcpu>$2</vcpu>
	  <os>
	    <type arch='x86_64' machine='q35'>hvm</type>
	    <kernel>/run/lab/guest/vmlinuz</kernel>
	    <initrd>/run/lab/guest/initrd</initrd>
	    <cmdline>console=ttyS0 $LAB_GUEST_CMDLINE lab.name=$name lab.ip=10.77.0.1$nr</cmdline>
	  </os>
	  <features><acpi/><apic/><pmu state='$5'/></features>
	  <cpu mode='host-passthrough'/>
	  <clock offset='utc'><timer name='hpet' present='no'/></clock>
	  <on_poweroff>destroy</on_poweroff>
	  <on_reboot>restart</on_reboot>
	  <on_crash>destroy</on_crash>
	  <devices>
	    <emulator>${LAB_EMULATOR:-/usr/local/bin/qemu-system-x86_64}</emulator>
	    <disk type='file' device='disk'>
	      <driver name='qemu' type='qcow2' cache='unsafe'/>
	      <source file='$LAB_DISKS/$name.qcow2'/>
	      <target dev='vda' bus='virtio'/>
	      <address type='pci' bus='0' slot='3'/>
	    </disk>
	    <controller type='usb' model='none'/>
	    <controller type='virtio-serial' index='0'><address type='pci' bus='0' slot='4'/></controller>
	    <interface type='bridge'>
	      <mac address='52:54:00:4c:41:0$nr'/>
	      <source bridge='br-lab'/>
	      <model type='virtio'/>
	      <rom enabled='no'/>
	      <address type='pci' bus='0' slot='5'/>
	    </interface>
	    <serial type='file'>
	      <source path='/out/$name.console' append='on'/>
	      <target port='0'/>
	    </serial>
	    <memballoon model='none'/>
	    $channel
	    $6
	  </devices>
	</domain>
	END
}

# lab_guest_define NAME [--vcpus N] [--mem MB] [--channel|--no-channel] [--pmu]
#                  [--xml-extra XML] - a domain that is not running, with a new disk.
# --xml-extra goes into <devices>; LAB_EMULATOR names another QEMU.
lab_guest_define()
{
	local name=$1 vcpus=2 mem_mb=512 channel= pmu=off extra=
	shift
	case $name in
	web0[1-9]) ;;
	*)
		lab_note "guests are called web01 to web09, not $name"
		return 2
		;;
	esac
	while [ $# -gt 0 ]; do
		case $1 in
		--vcpus) vcpus=$2; shift ;;
		--mem) mem_mb=$2; shift ;;
		--channel) channel=yes ;;
		--no-channel) channel= ;;
		--pmu) pmu=on ;;
		--xml-extra) extra=$2; shift ;;
		*)
			lab_note "unknown option $1 of a guest"
			return 2
			;;
		esac
		shift
	done
	if [ ! -e "/run/lab/$name.xml" ] && virsh -q domid "$name" >/dev/null 2>&1; then
		lab_note "there is a domain $name that is not the lab's; it stays as it is"
		return 1
	fi
	mkdir -p "$LAB_DISKS"
	qemu-img create -q -f qcow2 -F raw -b "${LAB_GUEST_DISK:-/dev/vdb}" "$LAB_DISKS/$name.qcow2" &&
	lab_guest_xml "$name" "$vcpus" "$mem_mb" "$channel" "$pmu" "$extra" >"/run/lab/$name.xml" &&
	virsh -q define "/run/lab/$name.xml" >&2
}

# lab_guest_start NAME [OPTION]... - define it as above and start it.
lab_guest_start()
{
	lab_guest_define "$@" && virsh -q start "$1" >&2
}

lab_guest_port_open()
{
	timeout 2 bash -c "exec 9<>/dev/tcp/10.77.0.1${1#web0}/22"
}

# lab_guest_wait NAME [SECONDS] - until it answers ssh; opens the connection that
# lab_ssh then uses.
lab_guest_wait()
{
	local name=$1 limit=${2:-400} start=$SECONDS
	lab_guest_hang_up "$name"
	while :; do
		if lab_guest_port_open "$name" 2>/dev/null &&
		   lab_ssh -fNM "$name" </dev/null >/dev/null 2>&1; then
			return 0
		fi
		if [ $((SECONDS - start)) -ge "$limit" ]; then
			lab_note "$name did not answer ssh within $limit s; its state: $(virsh domstate "$name" 2>&1)"
			tail -n 15 "/out/$name.console" 2>/dev/null | tr -d '\r' | sed 's/^/#   | /' >&2
			return 1
		fi
		sleep 1
	done
}

# Close the connection of lab_guest_wait, if there is one.
lab_guest_hang_up()
{
	[ ! -S "/run/lab/ssh-$1" ] || lab_ssh -O exit "$1" >/dev/null 2>&1
	rm -f "/run/lab/ssh-$1"
}

# lab_ssh NAME CMD... - run a command in the guest.
# On L1 the machine's own configuration knows the guests.
lab_ssh() { ssh ${LAB_SSH_CONFIG:+-F "$LAB_SSH_CONFIG"} "$@"; }

# lab_guest_put NAME FILE... FOLDER - copy files into the guest.
lab_guest_put()
{
	local name=$1 to=${*: -1} file
	local files=("${@:2:$#-2}")
	tar -cf - "${files[@]/#/--add-file=}" --transform 's,.*/,,' 2>/dev/null |
		lab_ssh "$name" "mkdir -p '$to' && tar -xf - -C '$to'"
}

# lab_guest_install_agent NAME - from its RPM; waits for the service where the
# domain has the agent's channel (it starts with the channel).
lab_guest_install_agent()
{
	local rpms
	rpms=$(compgen -G "$LAB_SHARE/*.x86_64.rpm")
	if [ -z "$rpms" ]; then
		lab_note "no RPM of the agent in $LAB_SHARE: was tests/lab/products run?"
		return 1
	fi
	# shellcheck disable=SC2086
	lab_guest_put "$1" $rpms /root/rpm &&
	lab_ssh "$1" "rpm -i /root/rpm/*.rpm && rpm -q vmprof-guest-agent" >&2 || {
		lab_note "rpm -i failed in $1"
		return 1
	}
	if lab_ssh "$1" test -e /dev/virtio-ports/$LAB_AGENT_PORT; then
		lab_guest_agent_wait "$1"
	fi
}

# lab_guest_agent_wait NAME [SECONDS] - until the agent's service runs.
lab_guest_agent_wait()
{
	lab_ssh "$1" "for i in \$(seq $((${2:-60} * 2))); do
		! systemctl -q is-active vmprof-agent || exit 0; sleep 0.5; done
		systemctl status --no-pager vmprof-agent; exit 1" >&2 || {
		lab_note "the agent's service does not run in $1"
		return 1
	}
}

# lab_guest_workload NAME SECONDS - libquantum's factorisation, and a shell loop
# of short-lived processes beside it, in the background of the guest.
lab_guest_workload()
{
	lab_guest_workload_put "$1" &&
	lab_ssh "$1" "nohup /opt/burn/shor 33 $2 >/opt/burn/shor.log 2>&1 </dev/null &
		nohup sh -c 'end=\$((\$(date +%s) + $2))
			while [ \$(date +%s) -lt \$end ]; do
				seq 1 300 >/dev/null; true | wc -c >/dev/null; ls -l /usr/bin >/dev/null; sleep 0.1
			done' >/dev/null 2>&1 </dev/null &"
}

# Copy the programs of tests/lab/workload and their library to /opt/burn.
lab_guest_workload_put()
{
	local files
	mapfile -t files < <(find "$LAB_SHARE" -maxdepth 1 \( -type f -o -type l \) ! -name '*.rpm')
	if [ ${#files[@]} = 0 ]; then
		lab_note "no workloads in $LAB_SHARE: was tests/lab/products run?"
		return 1
	fi
	(cd "$LAB_SHARE" && tar -cf - -- "${files[@]##*/}") |
		lab_ssh "$1" 'mkdir -p /opt/burn && tar -xf - -C /opt/burn'
}

# lab_guest_reboot NAME [SECONDS] - from inside, as an administrator would.
lab_guest_reboot()
{
	local before after
	before=$(lab_ssh "$1" cat /proc/sys/kernel/random/boot_id) || return
	lab_ssh "$1" 'systemctl reboot --no-block' 2>/dev/null || true
	lab_guest_hang_up "$1"
	sleep 2
	while :; do
		lab_guest_wait "$1" "${2:-400}" || return
		after=$(lab_ssh "$1" cat /proc/sys/kernel/random/boot_id 2>/dev/null)
		[ -z "$after" ] || [ "$after" = "$before" ] || return 0
		sleep 1
	done
}

# lab_guest_destroy NAME - pull the plug and forget the domain.
lab_guest_destroy()
{
	if [ ! -e "/run/lab/$1.xml" ]; then
		lab_note "$1 is no guest of the lab's; it is left alone"
		return 1
	fi
	lab_guest_hang_up "$1"
	virsh -q destroy "$1" >&2
	virsh -q undefine "$1" >&2
	rm -f "$LAB_DISKS/$1.qcow2" "/run/lab/$1.xml"
}

# lab_guests_destroy - all guests of the lab, whatever state they are in.
lab_guests_destroy()
{
	local xml name
	for xml in /run/lab/web0[1-9].xml; do
		[ -e "$xml" ] || continue
		name=${xml##*/}
		lab_guest_destroy "${name%.xml}" 2>/dev/null
	done
}

# Did a guest's kernel warn, oops or panic since this file was sourced? Says which.
# Returns 0: no; 1: it stood still for long, which a busy machine can do to it; 3: it broke.
lab_guests_sane()
{
	local console complaints
	complaints=$(for console in /out/*.console; do
		[ -e "$console" ] || continue
		tail -c "+$((${lab_console_seen[$console]:-0} + 1))" "$console" |
			grep -a -E 'WARNING: |BUG: |Oops|general protection fault|Kernel panic|rcu: INFO|blocked for more than' |
			grep -a -v 'WARNING: See https:' |	# advice on the processor
			tr -d '\r' | head -n 5 | sed "s,^,# $console: ,"
	done)
	[ "$complaints" ] || return 0
	printf '%s\n' "$complaints" >&2
	# what follows a stall is a panic, for warnings are one
	! grep -q -a -E 'rcu: INFO|blocked for more than|BUG: (soft|workqueue) lockup|clocksource' <<< "$complaints" || return 1
	return 3
}

declare -A lab_console_seen
for lab_console in /out/*.console; do
	[ ! -e "$lab_console" ] || lab_console_seen[$lab_console]=$(stat -c %s "$lab_console")
done

# ------------------------------------------------------------------ TAP
# A case calls "plan N", then N of the tests below, then "finish".

lab_tap_nr=0 lab_tap_failed=0 lab_tap_plan=0

plan()
{
	lab_tap_plan=$1
	echo "1..$1"
}

pass()
{
	lab_tap_nr=$((lab_tap_nr + 1))
	echo "ok $lab_tap_nr - $*"
}

# fail NAME [DIAGNOSTICS]
fail()
{
	lab_tap_nr=$((lab_tap_nr + 1))
	lab_tap_failed=$((lab_tap_failed + 1))
	echo "not ok $lab_tap_nr - $1"
	[ $# -lt 2 ] || printf '%s\n' "${@:2}" | tail -n 40 | sed 's/^/#   /'
	return 1
}

# skip NAME REASON
skip()
{
	lab_tap_nr=$((lab_tap_nr + 1))
	echo "ok $lab_tap_nr - $1 # SKIP $2"
}

# skip_rest NAME REASON - the planned tests that have not run; the case ends.
skip_rest()
{
	while [ $lab_tap_nr -lt "$lab_tap_plan" ]; do
		skip "$1: $((lab_tap_nr + 1))" "$2"
	done
	finish
}

# ok NAME CMD... - CMD succeeds.
ok()
{
	local name=$1 output status=0
	shift
	output=$("$@" 2>&1) || status=$?
	if [ $status = 0 ]; then
		pass "$name"
	else
		fail "$name" "exit status $status of: $*" "$output"
	fi
}

# ok_in_lab NAME CMD... - as ok, but not where this is somebody's own machine.
ok_in_lab()
{
	if [ -n "${LAB_OWN_HOST:-}" ]; then
		skip "$1" "only on an emulated host"
	else
		ok "$@"
	fi
}

# fails NAME CMD... - CMD ends with a status other than 0, and by itself (not by
# a signal, not for want of the program). Its output is left in $output.
fails()
{
	local name=$1 status=0
	shift
	output=$("$@" 2>&1) || status=$?
	if [ $status != 0 ] && [ $status -lt 126 ]; then
		pass "$name"
	else
		fail "$name" "exit status $status of: $*" "$output"
	fi
}

# is NAME GOT WANTED
is()
{
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "got:    $2" "wanted: $3"
	fi
}

# never NAME COUNT - it is 0; another run does not take back that it was not (suite.sh)
never()
{
	if [ "$2" = 0 ]; then
		pass "$1"
	else
		fail "$1: $2 (final)"
	fi
}

# like NAME TEXT REGEX - an extended regular expression matches a line of TEXT.
like()
{
	if grep -q -E -- "$3" <<<"$2"; then
		pass "$1"
	else
		fail "$1" "no line matches: $3" "text:" "$2"
	fi
}

# unlike NAME TEXT REGEX
unlike()
{
	local line
	if line=$(grep -m 1 -E -- "$3" <<<"$2"); then
		fail "$1" "matches $3: $line"
	else
		pass "$1"
	fi
}

# at_least NAME NUMBER LIMIT, at_most NAME NUMBER LIMIT - decimal fractions too.
at_least()
{
	if awk -v a="$2" -v b="$3" 'BEGIN { exit !(a ~ /^[0-9.]+$/ && a + 0 >= b + 0) }'; then
		pass "$1"
	else
		fail "$1" "got $2, wanted at least $3"
	fi
}

at_most()
{
	if awk -v a="$2" -v b="$3" 'BEGIN { exit !(a ~ /^[0-9.]+$/ && a + 0 <= b + 0) }'; then
		pass "$1"
	else
		fail "$1" "got $2, wanted at most $3"
	fi
}

# End a case that cannot go on.
bail()
{
	fail "$1" "${@:2}"
	finish
}

# End a case: 0 only if every planned test ran and passed and no guest's kernel
# complained; 3 where one broke.
finish()
{
	local status=0 sane=0
	[ $lab_tap_failed = 0 ] || status=1
	if [ $lab_tap_nr != "$lab_tap_plan" ]; then
		lab_note "$lab_tap_nr of $lab_tap_plan planned tests ran"
		status=1
	fi
	lab_guests_sane || sane=$?
	if [ $sane != 0 ]; then
		lab_note "a guest's kernel complained"
		status=$sane
	fi
	exit $status
}

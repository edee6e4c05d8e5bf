# SPDX-License-Identifier: GPL-2.0-only
# job.sh end WORD STATUS | panic | hang - what selftest/run runs on L1.
case $1 in
end)
	echo "argument: $2"
	echo "from L1" >/out/file
	echo "last line"
	exit "$3"
	;;
panic)
	echo c >/proc/sysrq-trigger
	;;
hang)
	echo hanging
	exec sleep 1000
	;;
esac

# SPDX-License-Identifier: GPL-2.0-only
# completion.bash - completion of vmprof's commands, options and values for bash.

_vmprof_domains()
{
	virsh -q list --name 2> /dev/null
}

_vmprof()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words= file=
	COMPREPLY=()
	case $prev in
	--domain | -d) words=$(_vmprof_domains) ;;
	--event | -e)
		words='cycles ref-cycles instructions branches branch-misses cache-references
			cache-misses stalled-cycles-frontend stalled-cycles-backend cpu-clock'
		;;
	--period | -p) words='500us 1ms 10ms' ;;
	--duration | -t) words='10s 30s 60s 5min' ;;
	--buffer | -b) words='256K 1M 4M 16M' ;;
	--connect | -c) words='qemu:///system' ;;
	--by) words='function process module vcpu exit' ;;
	--sort) words='samples function module process pid vcpu exit' ;;
	--output | -o | --html)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--format | -f) words='pprof folded speedscope gecko chrome perf-script csv json xml' ;;
	--vcpu | --pid | --comm | --module | --exit-reason | --limit) return ;;
	esac
	if [ -z "$words" ]; then
		case $COMP_CWORD:${COMP_WORDS[1]} in
		1:*) words='start stop status report export import attach doctor help --help --version' ;;
		*:start)
			words='--domain --all --event --period --duration --output --buffer --connect --help'
			;;
		*:stop) words='--help' ;;
		*:status) words='--json --help' ;;
		*:report)
			words='--domain --vcpu --pid --comm --module --exit-reason --by --sort --limit
				--inline --srcline --all-host --json --html --help'
			file='*.vmprof'
			;;
		*:export)
			words='--format --output --indent --addresses --domain --vcpu --pid --comm --all-host
				--help'
			file='*.vmprof'
			;;
		*:import) words='--output --indent --help' file='*.@(cubex|xml|xml.zst|xml.gz)' ;;
		*:attach | *:doctor) words='--domain --connect --help' ;;
		2:help) words='start stop status report export import attach doctor' ;;
		esac
	fi
	if [ -n "$file" ] && [[ $cur != -* ]]; then
		mapfile -t COMPREPLY < <(shopt -s extglob; compgen -f -X "!$file" -- "$cur"; compgen -d -- "$cur")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o filenames -F _vmprof vmprof

# SPDX-License-Identifier: GPL-2.0-only
# completion.bash - completion of vmprof's commands, options and values for bash.

_vmprof_domains()
{
	virsh -q list --name 2> /dev/null
}

_vmprof()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words= file= list=
	COMPREPLY=()
	case $prev in
	--domain | -d) words=$(_vmprof_domains) ;;
	--event | -e)
		words='cycles ref-cycles instructions branches branch-misses cache-references
			cache-misses stalled-cycles-frontend stalled-cycles-backend cpu-clock'
		;;
	--period | -p) words='500us 1ms 10ms' ;;
	--duration | -t) words='10s 30s 60s 5min' ;;
	--lbr | -l) list='any call ret cond ind jump far user kernel calls flow flow-from flow-to' ;;
	--lbr-format) words='from-to from to from-to-cycles' ;;
	--buffer | -b) words='256K 1M 4M 16M' ;;
	--objects) words='agent none ssh://' ;;
	--connect | -c) words='qemu:///system' ;;
	--group-by) list='process pid nspid cgroup thread vcpu module build-id function exit side domain' ;;
	--columns)
		list='samples percent cycles instructions cpi ipc process pid nspid cgroup thread vcpu module build-id
			function exit side domain instruction-samples before after delta'
		;;
	--color) words='auto always never' ;;
	--last) words='10s 30s 60s 0' ;;
	--from | --to) words='100ms 1s 10s' ;;
	--by) words='function process module vcpu exit' ;;
	--sort)
		case ${COMP_WORDS[1]} in
		blocks)
			list='percent samples runs runs_error cycles cycles_error by instructions cpi cycles_time cycles_lbr
				cycles_cpi cycles_cpi_error p50 p95 percentiles_by seen mispredicted after_mispredicted
				samples_mispredicted cycles_mispredicted cycles_mispredicted_error
				samples_predicted cycles_predicted cycles_predicted_error start end function module side domain'
			;;
		branches)
			list='percent seen type mispredicted seen_mispredicted from to from_function to_function from_module
				to_module domain'
			;;
		loops)
			list='percent samples level trips trips_error cycles cycles_error iterations
				iterations_error entries entries_error seen start end function module domain'
			;;
		*)
			list='samples percent cycles instructions cpi ipc function module process pid nspid cgroup thread vcpu
				exit side build-id domain instruction-samples before after delta'
			;;
		esac
		;;
	--output | -o | --html | --vmlinux | --host-vmlinux)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
		;;
	--format | -f) words='pprof folded speedscope gecko chrome perf-script bolt autofdo llvm-profgen csv json xml' ;;
	--vcpu | --pid | --comm | --module | --function | --sample | --exit-reason | --limit | --percent-limit | --filter | --number | -n) return ;;
	esac
	if [ -n "$list" ]; then
		# what stands before the last comma stays
		local head=
		[[ $cur != *,* ]] || head=${cur%,*},
		mapfile -t COMPREPLY < <(compgen -P "$head" -W "$list" -- "${cur##*,}")
		compopt -o nospace 2> /dev/null
		return
	fi
	if [ -z "$words" ]; then
		case $COMP_CWORD:${COMP_WORDS[1]} in
		1:*) words='start stop status report tui top blocks branches annotate loops timeline export import attach
			doctor help --help --version' ;;
		*:start)
			words='--domain --all --event --period --random --cpi --no-cpi --lbr --lbr-format --no-kernel-text --duration
				--output --buffer --objects --connect --help'
			;;
		*:stop) words='--help' ;;
		*:status) words='--json --help' ;;
		*:report)
			words='--domain --vcpu --pid --comm --module --exit-reason --filter --by --group-by
				--tree --columns --sort --percent-limit --limit --exits --steal --diff
				--inline --srcline --all-host --sysroot --color --no-pager --json --html --help'
			file='*.vmprof'
			;;
		*:tui)
			words='--domain --filter --group-by --columns --sort --exits --steal --diff --all-host --sysroot
				--color --help'
			file='*.vmprof'
			;;
		*:top)
			words='--domain --last --filter --group-by --columns --sort --batch --number --event
				--period --connect --sysroot --color --help'
			;;
		*:blocks)
			words='--domain --vcpu --pid --comm --vmlinux --host-vmlinux --sysroot --module --function --limit --filter --sort
				--json --csv --color --no-pager --help'
			file='*.vmprof'
			;;
		*:branches)
			words='--domain --vcpu --pid --comm --vmlinux --host-vmlinux --sysroot --module --function --limit --sample --calls
				--sort --json --csv --color --no-pager --help'
			file='*.vmprof'
			;;
		*:annotate)
			words='--domain --vcpu --pid --comm --vmlinux --host-vmlinux --sysroot --module --color --no-pager --help'
			file='*.vmprof'
			;;
		*:loops)
			words='--domain --vcpu --pid --comm --vmlinux --host-vmlinux --sysroot --module --function --limit --sort --json --csv
				--color --no-pager --help'
			file='*.vmprof'
			;;
		*:timeline)
			words='--domain --vcpu --pid --comm --vmlinux --host-vmlinux --sysroot --from --to --limit --output --color --no-pager
				--help'
			file='*.vmprof'
			;;
		*:export)
			words='--format --output --indent --brstack --addresses --domain --vcpu --pid --comm --all-host
				--sysroot --help'
			file='*.vmprof'
			;;
		*:import) words='--output --indent --help' file='*.@(cubex|xml|xml.zst|xml.gz)' ;;
		*:attach | *:doctor) words='--domain --connect --help' ;;
		2:help) words='start stop status report tui top blocks branches annotate loops timeline export import attach doctor' ;;
		esac
	fi
	if [ -n "$file" ] && [[ $cur != -* ]]; then
		mapfile -t COMPREPLY < <(shopt -s extglob; compgen -f -X "!$file" -- "$cur"; compgen -d -- "$cur")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o filenames -F _vmprof vmprof

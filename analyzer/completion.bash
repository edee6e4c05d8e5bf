# SPDX-License-Identifier: GPL-2.0-only
# completion.bash - completion of vmprof's commands, options and values for bash.

# _vmprof_domains PREFIX - names are libvirt's, and nothing of them is for the shell
_vmprof_domains()
{
	local name
	virsh -q list --name 2> /dev/null | while IFS= read -r name; do
		[ -z "$name" ] || [[ $name != "$1"* ]] || printf '%q\n' "$name"
	done
}

_vmprof()
{
	local cur prev command words= file= list= value=1 w=() i cut
	COMPREPLY=()
	# readline parts words at = and :, too: they are one again here, and what it has already is cut off at the end
	for ((i = 0; i <= COMP_CWORD; i++)); do
		if [[ $i -gt 1 && (${COMP_WORDS[i]} = [=:]* || ${COMP_WORDS[i - 1]} = [=:]) ]]; then
			w[${#w[@]} - 1]+=${COMP_WORDS[i]}
		else
			w+=("${COMP_WORDS[i]}")
		fi
	done
	cur=${w[${#w[@]} - 1]} prev=${w[${#w[@]} - 2]} command=${w[1]}
	[[ $cur != --*=* ]] || { prev=${cur%%=*} cur=${cur#*=}; }
	[ "$command $prev" != "top -b" ] || prev=--batch	# not start's --buffer
	case $prev in
	--domain | -d) mapfile -t COMPREPLY < <(_vmprof_domains "$cur") ;;
	--event | -e)
		words='cycles ref-cycles instructions branches branch-misses cache-references
			cache-misses stalled-cycles-frontend stalled-cycles-backend cpu-clock'
		;;
	--period | -p) words='500us 1ms 10ms' ;;
	--duration | -t) words='10s 30s 60s 5min' ;;
	--lbr | -l) list='any call ret cond ind jump far user kernel calls flow flow-from flow-to' ;;
	--lbr-format) words='from-to from to from-to-cycles' ;;
	--buffer | -b) words='256K 1M 4M 16M' ;;
	--objects)
		words='agent none ssh://'
		[[ ssh:// != "$cur"* || -z $cur ]] || compopt -o nospace 2> /dev/null
		;;
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
		case $command in
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
		[[ ! ${cur##*,} =~ ^([a-z0-9_-]+): ]] || list="${BASH_REMATCH[1]}:asc ${BASH_REMATCH[1]}:desc"
		;;
	--output | -o | --html | --vmlinux | --host-vmlinux)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		compopt -o filenames 2> /dev/null
		;;
	--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		compopt -o filenames 2> /dev/null
		;;
	--format | -f) words='pprof folded speedscope gecko chrome perf-script bolt autofdo llvm-profgen csv json xml' ;;
	--vcpu | --pid | --comm | --module | --function | --sample | --exit-reason | --limit | --percent-limit | --filter | --number | -n) ;;
	*) value= ;;
	esac
	if [ -n "$list" ]; then
		# what stands before the last comma stays
		local head=
		[[ $cur != *,* ]] || head=${cur%,*},
		mapfile -t COMPREPLY < <(compgen -P "$head" -W "$list" -- "${cur##*,}")
		compopt -o nospace 2> /dev/null
	fi
	if [ -z "$value" ]; then
		case $((${#w[@]} - 1)):$command in
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
			# the function stands first
			for ((i = 2; i < ${#w[@]} - 1; i++)); do
				case ${w[i]} in
				--no-pager | --help | -h | --*=*) ;;
				-*) i=$((i + 1)) ;;
				*) file='*.vmprof' ;;
				esac
			done
			[ -n "$file" ] || [[ $cur = -* ]] || return
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
		compopt -o filenames 2> /dev/null
	elif [ -n "$words" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	fi
	[[ $COMP_WORDBREAKS = *:* ]] || return 0
	cut=${cur%"${cur##*[:=]}"}
	COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}

complete -F _vmprof vmprof

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# bench.t - the tables of tests/bench/run, of programs that take what they are told to take: ratios, what is held,
# and that a document gets the tables between its marks, and nothing else is changed.
set -u
src=${SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
. "$src/tests/unit/tap.sh"
has() { grep -qxF -- "$1" "$tmp/out"; ok $? "$1"; }

# measure OUTPUT COMMAND...: wall, CPU, kB of a command, by $tmp/times; of as many bytes as are in its line there
cat > "$tmp/measure" << 'END'
#!/bin/bash
dir=${0%/*} out=$1
shift
while IFS='|' read -r pattern times bytes; do
	# shellcheck disable=SC2254
	case "$*" in
	*"$pattern"*)
		[ -z "$bytes" ] || head -c "$bytes" /dev/zero > "$out"
		echo "$times"
		exit ;;
	esac
done < "$dir/times"
echo "measure: $*" >&2
exit 1
END
printf '#!/bin/sh\n[ "$1" != version ] || echo "perf version 9"\n' > "$tmp/perf"
printf '#!/bin/sh\n:\n' > "$tmp/true"
chmod +x "$tmp/measure" "$tmp/perf" "$tmp/true"
cat > "$tmp/doc.md" << 'END'
# Before
<!-- analyzer reading: made by make bench-analyzer -->
old reading
<!-- analyzer reading: end -->
between
<!-- analyzer exports: made by make bench-analyzer -->
old exports
<!-- analyzer exports: end -->
<!-- analyzer branches: made by make bench-analyzer -->
old branches
<!-- analyzer branches: end -->
# After
END
run()
{
	printf '%s\n' "$@" > "$tmp/times"
	SAMPLES=${samples-10000000} EXPORTS=${exports-10000000} XML='' MANY='' BRANCHES=0 RUNS=2 BENCH_DIR=$tmp DOC=$tmp/doc.md \
		VMPROF=$tmp/true PERF=$tmp/perf GEN=$tmp/true MEASURE=$tmp/measure "$src/tests/bench/run" > "$tmp/out" 2> "$tmp/err"
}

run 'perf report|20 40 1024000|100' 'perf script|3 3 1024|100' 'perf-script|2 4 307200|100' '--html|2 4 1024|5000000' 'pprof|2 4 1024|1000000' \
	'report|2 4 204800|2000000'
ok $? "it runs"
has '| 10000000 | vmprof report | 2.00 | 4.00 | 5.00 | 200 | 1.0 | 1.0 | 300 MB: yes |'
has '| 10000000 | perf report --stdio | 20.00 | 40.00 | 0.50 | 1000 | 10.0 | 10.0 | 10 times: yes, by CPU: yes |'
has '| 10000000 | vmprof export -f perf-script | 2.00 | 4.00 | 5.00 | 300 | 1.0 | 1.0 | 300 MB: yes |'
has '| 10000000 | perf script | 3.00 | 3.00 | 3.33 | 1 | 1.5 | 0.8 |  |'
has '| pprof | 2.00 | 4.00 | 1.0 | 1 | 1.0 | 2 times report: yes |'
has '| HTML page | 2.00 | 4.00 | 1.0 | 1 | 5.0 | 2 times report: yes, 5 MB: yes |'
rows=$(grep -c '^| [0-9a-zA-Z]' "$tmp/out")
diff <(sed -e 's/^x86_64.*//' "$tmp/out" | grep '^|') <(grep '^|' "$tmp/doc.md") > "$tmp/err" && [ "$rows" = 9 ]; ok $? "the document has the same $rows rows"
[ "$(grep -v -e '^|' -e '^$' -e ' CPUs:' -e ' samples, ' "$tmp/doc.md" | paste -sd'~')" = '# Before~<!-- analyzer reading: made by make bench-analyzer -->~<!-- analyzer reading: end -->~between~<!-- analyzer exports: made by make bench-analyzer -->~<!-- analyzer exports: end -->~<!-- analyzer branches: made by make bench-analyzer -->~old branches~<!-- analyzer branches: end -->~# After' ]
ok $? "in place of the old ones; what was not measured stays, and all around"

exports=10000000
run 'perf report|19.9 39 1024000|100' 'perf script|3 3 1024|100' 'perf-script|2 4 307300|100' '--html|2 8.1 1024|5000001' 'pprof|2 8 1024|1000000' \
	'report|2 4 308000|2000000'
has '| 10000000 | vmprof report | 2.00 | 4.00 | 5.00 | 300 | 1.0 | 1.0 | 300 MB: no |'
has '| 10000000 | perf report --stdio | 19.90 | 39.00 | 0.50 | 1000 | 9.9 | 9.8 | 10 times: no, by CPU: no |'
has '| pprof | 2.00 | 8.00 | 2.0 | 1 | 1.0 | 2 times report: yes |'
has '| HTML page | 2.00 | 8.10 | 2.0 | 1 | 5.0 | 2 times report: no, 5 MB: no |'
samples=1000000 exports=0
run 'perf report|20 40 1024000|100' 'perf script|3 3 1024|100' 'perf-script|2 4 307200|100' 'report|2 4 204800|2000000'
has '| 1000000 | perf report --stdio | 20.00 | 40.00 | 0.05 | 1000 | 10.0 | 10.0 |  |'
cp "$tmp/doc.md" "$tmp/before.md"
run 'nothing|1 1 1|1'; [ $? != 0 ] && cmp -s "$tmp/before.md" "$tmp/doc.md"; ok $? "a program that fails is no row, and leaves the document alone"
# the document of the tree has all marks
for name in reading exports xml many branches; do
	[ "$(grep -cxF -e "<!-- analyzer $name: made by make bench-analyzer -->" -e "<!-- analyzer $name: end -->" "$src/docs/benchmarks.md")" = 2 ]
	ok $? "docs/benchmarks.md has the marks of $name"
done
echo "1..$nr"

#!/bin/sh
# Some thousand random inputs to each program of tests/fuzz, the same ones each
# time: `make fuzz` runs them for longer. They need clang with libFuzzer.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

MAKE=${MAKE:-make}
export MAKE WORK
# Many where one takes little time
runs='load 1500 set 10000 pool 3000 snapshot 10000 plan 3000 outputs 3000
	runner 5000 journal 10000'

# shellcheck disable=SC2086 # two words for each program
pairs()
{
	printf '%s %s\n' $runs
}

are_all()
{
	pairs | sed 's/ .*//' | sort >"$WORK/run"
	find tests/fuzz -name '*.c' | sed 's|.*/||; s|\.c$||' | sort |
		diff "$WORK/run" -
}

has_libfuzzer()
{
	cat >"$WORK/main.c" <<'END'
#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	return size && data[0] ? 0 : 0;
}
END
	clang -fsanitize=fuzzer,address,undefined -o "$WORK/main" \
		"$WORK/main.c" >"$WORK/said" 2>&1 &&
		"$WORK/main" -runs=1 >"$WORK/said" 2>&1
}

compile()
{
	$MAKE -j "$(nproc)" fuzzers QUICK=1
}

# As many at a time as there are processors
run_all()
{
	# shellcheck disable=SC2016
	pairs | xargs -P "$(nproc)" -n 2 sh -c '
		$MAKE -s "fuzz-$1" QUICK=1 RUNS="$2" >"$WORK/$1.log" 2>&1
		echo $? >"$WORK/$1.status"' sh
}

# has_run NAME RUNS: its program has ended well, after so many inputs
has_run()
{
	tail -n 30 "$WORK/$1.log"
	[ "$(cat "$WORK/$1.status")" = 0 ] &&
		grep -q "^Done $2 runs" "$WORK/$1.log"
}

check "each program of tests/fuzz is run" are_all
libfuzzer=
if has_libfuzzer; then
	libfuzzer=yes
	check "they are compiled" compile
	run_all
fi
pairs >"$WORK/pairs"
while read -r name count; do
	promise="$count random inputs to tests/fuzz/$name.c break nothing"
	if [ -n "$libfuzzer" ]; then
		check "$promise" has_run "$name" "$count"
	else
		skip "$promise" "no clang with libFuzzer"
	fi
done <"$WORK/pairs"
finish

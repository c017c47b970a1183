#!/bin/sh
# The golden values that need no network, made again from a CUDA toolkit, are
# those of the tables. Normal and exponential numbers are left out: they depend
# on the C library, too.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

# exact FILE: its cases without a tolerance
exact()
{
	awk '/^#/ { next } /^case/ { exact = !/ near=/ } exact' "$1"
}

is_made_again()
{
	exact "tests/golden/$1.txt" >"$WORK/old" &&
		exact "$WORK/$1.txt" >"$WORK/new" &&
		[ -s "$WORK/old" ] && diff "$WORK/old" "$WORK/new"
}

makes()
{
	OUT=$WORK tests/golden/make.sh "$1"
}

tells_its_origin()
{
	head -n 1 "$1" | grep -E '^# .* by tests/golden/from_' &&
		grep -c '^case' "$1"
}

# The smaller rows of the law of filters, which is nobody else's
filters_are_made_again()
{
	python3 tests/sample/filters.py --small >"$WORK/small" &&
		awk '/^#/ || $4 <= 3000' tests/sample/filters.txt \
			>"$WORK/part" &&
		[ -s "$WORK/small" ] && diff "$WORK/part" "$WORK/small"
}

# A line of logprobs.txt is that of the same line of filters.txt
logprobs_are_made_again()
{
	PYTHONDONTWRITEBYTECODE=1 \
		python3 tests/sample/logprobs.py --small >"$WORK/small" &&
		grep -v '^#' tests/sample/filters.txt |
		awk 'NR == FNR { small[++n] = $4 <= 3000; next }
			/^#/ || small[++m]' - tests/sample/logprobs.txt \
			>"$WORK/part" &&
		[ -s "$WORK/small" ] && diff "$WORK/part" "$WORK/small"
}

# Those of long rows, and all of the model's own checks, too
drafts_are_made_again()
{
	PYTHONDONTWRITEBYTECODE=1 python3 tests/accept/accept.py >"$WORK/all" &&
		diff tests/accept/accept.txt "$WORK/all"
}

check "the law of filters gives its table" filters_are_made_again
check "the law of logprobs gives its table" logprobs_are_made_again
check "the law of drafts gives its table" drafts_are_made_again
for table in tests/golden/*.txt; do
	check "$table says how it was made" tells_its_origin "$table"
done
if [ "$CUDA" = 0 ] || ! [ -e "$CUDA_HOME/lib64/libcurand.so" ]; then
	skip "golden values are those of cuRAND" "no CUDA toolkit with libcurand"
	finish
fi
for table in curand_device curand_host nvfuser pytorch program; do
	check "the table $table can be made" makes $table
	check "it is that of tests/golden" is_made_again $table
done
finish

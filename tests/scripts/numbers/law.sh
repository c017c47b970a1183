#!/bin/sh
# The numbers are those of doc/law.md: of a program that was written from that
# page alone (tests/law). A sample, in some seconds; more is done by hand:
#
#   python3 tests/law/check.py --values 100000000
#   python3 tests/law/check.py --all-words radius
#
#   PHILOX_PYTHON   a python with numpy
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

python=${PHILOX_PYTHON:-python3}

# What is made from the page; tests/law/compare asks the library
is_short()
{
	lines=$(cat tests/law/page.py tests/law/arith.py tests/law/law.py \
		tests/law/tokens.py tests/law/truncated.py tests/law/orders.py \
		tests/law/formats.py tests/law/weights.py | wc -l)
	echo "$lines lines"
	[ "$lines" -gt 0 ] && [ "$lines" -le 1500 ]
}

# One that is quick
tries_all_words()
{
	"$BUILD/philox" selftest --device host --only 'bernoulli of words' \
		--all-words >"$WORK/told" 2>&1
	status=$?
	cat "$WORK/told"
	[ $status -eq 0 ] && grep -qx \
		'ok   host  makes the known bernoulli of words: 4294967296 of them' \
		"$WORK/told"
}

check "the program has at most 1500 lines" is_short
if ! "$python" -c "import numpy" >"$WORK/why" 2>&1; then
	skip "the numbers are those of the law" \
		"$python has no numpy: set PHILOX_PYTHON"
	finish
fi

# One process, and one thread of it
OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export OMP_NUM_THREADS OPENBLAS_NUM_THREADS
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

# agrees TREE OPTION...
agrees()
{
	from=$1
	shift
	"$python" "$from/tests/law/check.py" --library "$BUILD/libphilox.so" \
		--build "$WORK" "$@"
}

check "values of all kinds, dtypes and shapes" agrees . --values 1000000
check "some of them by fractions" agrees . --fractions 2000
check "tokens, drafts, shards, regions, rows, data, roundings, subsets" \
	agrees . --entries 100
check "functions of one word, and their known sums" agrees . --words 4
check "a selftest tries all words" tries_all_words

# --- a law with a mistake does not agree --------------------------------------

other=$WORK/other
mkdir -p "$other/tests/readme" "$other/doc" &&
	ln -s "$PWD/include" "$PWD/tools" "$other" &&
	cp tests/readme/law.py "$other/tests/readme" &&
	cp doc/law.md "$other/doc" || exit 1

# differs FILE EDIT OPTION...
differs()
{
	file=tests/law/$1
	edit=$2
	shift 2
	rm -rf "$other/tests/law"
	cp -R tests/law "$other/tests" && sed -i "$edit" "$other/$file" || return 1
	! cmp "$file" "$other/$file" || return 1
	agrees "$other" "$@" && return 1
	! grep -q Traceback "$WORK/said"
}

check "a last digit of a logarithm is noticed" \
	differs law.py 's/0x1.5554eep-2/0x1.5554ecp-2/' --values 36000
check "an fma that rounds twice is noticed" \
	differs arith.py 's/if doubt.any():/if False:/' --fractions 1
check "other retries of integers are noticed" \
	differs law.py 's/t += 1/t += 2/' --values 36000
check "words that are not refined are noticed" \
	differs law.py 's/np.nonzero(w < 256)/np.nonzero(w < 255)/' --words 1
check "a tie between tokens is noticed" \
	differs tokens.py 's/(U64(2\*\*32 - 1) - v)/v/' --entries 20
check "a last digit of a normal tail is noticed" \
	differs truncated.py 's/0x1.1fc4f0b06333cp+0/0x1.1fc4f0b06333dp+0/' \
	--values 36000
check "a truncated normal number outside of its interval is noticed" \
	differs truncated.py 's/ - (x > high)$//' --values 36000
check "an order whose first two items are not swapped is noticed" \
	differs orders.py 's/e ^ w\[..., 3\] & U64(1)/e/' --values 36000
check "signs the other way round are noticed" \
	differs formats.py 's/F32(-1), F32(1)/F32(1), F32(-1)/' --values 36000
check "a position of the last source of equal remainders is noticed" \
	differs orders.py 's/size % total), s))/size % total), -s))/' \
	--entries 20
check "an order of an epoch that is that of all is noticed" \
	differs orders.py 's/, DATA, epoch)/, DATA, u64(0))/' --entries 20
check "a rounding that goes away from 0 too often is noticed" \
	differs formats.py 's/c + (drawn < goal)/c + (drawn <= goal)/' --entries 1
check "a tie of the first 40 bits is noticed" \
	differs formats.py 's/goal\[left\], t = more, t + 1/goal[left] = more/' \
	--entries 1
check "a category that has the integer at its end is noticed" \
	differs weights.py 's/side="right"/side="left"/' --values 36000
check "a weight that is rounded down is noticed" \
	differs weights.py 's/ + Fraction(1, 2)/ + 0/' --entries 20
check "a denormal weight of another power is noticed" \
	differs weights.py 's/-149, 0/-148, 0/' --entries 60
check "a subset of one item less is noticed" \
	differs weights.py 's/keys >= cut/keys > cut/' --entries 5
finish

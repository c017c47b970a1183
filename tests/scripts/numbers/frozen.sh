#!/bin/sh
# The numbers of every kind are those of the table: they never change.
#
#   frozen.sh --update    writes the table, when a kind is new
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

table=tests/numbers/known/frozen.txt

# digest ARGUMENTS: of 1000 elements, from one that is not a block's first
digest()
{
	"$BUILD/philox" draw --device host:sync --seed 0x123456789abcdef \
		--offset 8 --first 5 --count 1000 --format raw "$@" \
		>"$WORK/raw" 2>"$WORK/why" || return 1
	sha256sum <"$WORK/raw" | cut -c -32
}

# Of each distribution, dtype and layout that there is
kinds()
{
	for layout in default curand_device curand_host pytorch nvfuser triton \
		jax; do
		for dist in bits uniform normal bernoulli log-normal exponential \
			gumbel integers signs permutation \
			truncated-normal categorical; do
			for dtype in u32 u64 i32 i64 f32 f64 bf16 f16; do
				made=$(digest --layout $layout --dist $dist \
					--dtype $dtype) || continue
				echo "$layout $dist $dtype $made"
			done
		done
	done
	for axis in op call seed; do
		echo "axis $axis u32 $(digest --axis $axis)"
	done
}

kinds >"$WORK/kinds"
if [ "${1-}" = --update ]; then
	{
		echo "# Digests of 1000 numbers of each kind, from element 5 of a" \
			"state on:"
		echo "# layout, distribution, dtype, SHA-256. Written by" \
			"tests/scripts/numbers/frozen.sh."
		cat "$WORK/kinds"
	} >$table
	exit
fi

# Every name that the tool knows is tried above
tries_all()
{
	"$BUILD/philox" draw --help | tr -d '\n' | tr -s ' ' |
		sed 's/.*--dist X \(.*\) (default bits).*/\1/; s/, /\n/g' |
		sort >"$WORK/known"
	cut -d' ' -f 2 "$WORK/kinds" | sort -u |
		grep -vx 'op\|call\|seed' | diff "$WORK/known" -
}

are_as_ever()
{
	grep -v '^#' $table | diff - "$WORK/kinds" && return
	echo "numbers have changed, and never may (doc/compatibility.md, Numbers)"
	return 1
}

check "all distributions are in the table" tries_all
check "numbers of every kind are as ever" are_as_ever
finish

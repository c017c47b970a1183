#!/bin/sh
# Sizes, members and values of the public headers are those of the table, and a
# change says which promise of doc/compatibility.md it breaks.
#
#   abi.sh --update    writes the table, of a version that may break programs
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

abi=tests/interface/abi.py
table=tests/interface/abi.txt

(cd include && printf '#include <%s>\n' philox.h philox/*.h) |
	$CC -E -P -x c -Iinclude - >"$WORK/headers"
python3 $abi program <"$WORK/headers" >"$WORK/abi.c" &&
	$CC -std=c11 -Iinclude -o "$WORK/abi" "$WORK/abi.c" &&
	"$WORK/abi" >"$WORK/table" || exit 1

if [ "${1-}" = --update ]; then
	cp "$WORK/table" $table
	exit
fi

# breaks WORDS SED: a change of the table that is refused with these words
breaks()
{
	sed "$2" "$WORK/table" >"$WORK/changed"
	! cmp -s "$WORK/table" "$WORK/changed" &&
		! python3 $abi compare "$WORK/table" "$WORK/changed" &&
		python3 $abi compare "$WORK/table" "$WORK/changed" | grep "$1"
}

# may CHANGE: one after which old programs run, but which the table lacks
may()
{
	sed "$1" "$WORK/table" >"$WORK/changed"
	! python3 $abi compare "$WORK/table" "$WORK/changed" >"$WORK/told" &&
		cat "$WORK/told" && grep 'new, and not in the table' "$WORK/told"
}

# Each struct that has a definition is in the table
has_all()
{
	grep -ohE '^struct philox_[a-z0-9_]+ \{' include/philox/*.h |
		sed 's/ {//' | sort >"$WORK/defined"
	cut -d' ' -f 1,2 $table | grep '^struct' | sort | diff - "$WORK/defined"
}

check "the table has all structs" has_all
check "the headers are as in the table" \
	python3 $abi compare $table "$WORK/table"
check "a member that is gone is found" \
	breaks 'is gone: .*(Programs)' '/philox_fill_desc\.span/d'
check "a member that moves is found" breaks 'is at 72 4, not 48 4' \
	's/^\(member philox_quantize_desc.in_dtype\) .*/\1 72 4/'
check "a value that changes is found" \
	breaks 'is at 12, not 11' 's/^\(value PHILOX_DIST_PERMUTATION\) .*/\1 12/'
check "a member in the middle is found" \
	breaks 'is before the end: .*(Structs)' \
	'/^struct philox_fill_desc/a member philox_fill_desc.new 20 4'
check "a struct without a size that grows is found" \
	breaks 'struct philox_state has 24 bytes' \
	's/^struct philox_state .*/struct philox_state 24/'
check "a member at the end is only not in the table yet" \
	may 's/^struct philox_fill_desc .*/struct philox_fill_desc 256/
		$a member philox_fill_desc.new 248 8'
finish

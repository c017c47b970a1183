#!/bin/sh
# Deliberate bugs of the ledger, one at a time: philox matrix finds each. They
# stand in lib/state/bugs.h; this build alone has them.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

MAKE=${MAKE:-make}
bugs=$WORK/bugs
philox=$bugs/philox

builds()
{
	$MAKE BUILD="$bugs" CFLAGS="-DPHILOX_BUGS" CUDA=0 SANITIZE= DEBUG= \
		"$philox"
}

# matrix BUG ARGUMENT...: a bug may make it crash or hang; both are failures
matrix()
{
	bug=$1
	shift
	PHILOX_BUG=$bug timeout 300 "$philox" matrix "$@"
}

finds()
{
	matrix "$1" --length 3 >"$WORK/found"
	status=$?
	cat "$WORK/found"
	[ $status -ne 0 ] && [ $status -ne 2 ] &&
		grep -q '^shortest mismatch: ' "$WORK/found"
}

# The run that finds() found is wrong by itself, and right without the bug
is_replayed()
{
	again="s/^again: philox matrix --pending \([0-9]*\) --replay '\(.*\)'"
	pending=$(sed -n "$again/\1/p" "$WORK/found")
	run=$(sed -n "$again/\2/p" "$WORK/found")
	echo "run: $run"
	matrix "$1" --pending "$pending" --replay "$run"
	[ $? -ne 0 ] && matrix 0 --pending "$pending" --replay "$run"
}

# What was searched with more options is told with them, and is replayed so
is_told_with_options()
{
	matrix "$1" --length 3 --ops 3 --regions 1 >"$WORK/found"
	again=$(sed -n "s/^again: philox matrix //p" "$WORK/found")
	echo "$again"
	case $again in
	*" --ops 3 --regions 1") ;;
	*) return 1 ;;
	esac
	eval "matrix $1 $again"
	[ $? -eq 1 ] && eval "matrix 0 $again"
}

numbers=$(sed -n 's/^ \* bug \([0-9]*\): .*/\1/p' lib/state/bugs.h)
check "a build with bugs can be made" builds
check "there are at least ten" test "$(echo "$numbers" | wc -w)" -ge 10
check "without one of them nothing is wrong" matrix 0 --length 3
for number in $numbers; do
	what=$(sed -n "s/^ \* bug $number: //p" lib/state/bugs.h)
	check "bug $number is in the source" \
		grep -rqF "PHILOX_BUG($number)" lib graph
	check "found: $what" finds "$number"
	check "a replay shows it, too" is_replayed "$number"
done
# shellcheck disable=SC2086
set -- $numbers
check "the options of a search are among its replay's" is_told_with_options "$1"
finish

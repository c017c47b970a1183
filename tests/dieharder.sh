#!/bin/sh
# tests/dieharder.sh - dieharder over four axes of the numbers
#
#   tests/dieharder.sh [quick|full] [AXIS]...
#
# The axes are those of `philox draw --axis`: consecutive elements of one
# operator, one element of successive operators, of successive forwards and of
# successive generator seeds. quick (the default) is a subset of a minute or
# two for each axis; full is `dieharder -a`, 114 results, half an hour or more
# each. The words are the same in every run, and so are the results.
#
# dieharder calls a p-value outside 0.005 .. 0.995 WEAK, which happens to one in
# a hundred of good numbers, and one outside 10^-6 .. 1 - 10^-6 FAILED. A weak
# result is tested again on another stretch of the stream, twice at most:
# numbers that are weak on three stretches in a row (one in 10^6) have also
# failed. The last line of an axis counts the results that passed at once, were
# weak at first, and failed.
cd "$(dirname "$0")/.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}
stretch_words=1099511627776 # 2^40, more than all tests together read

# NUMBER or NUMBER:NTUPLE; `dieharder -l` has their names
quick='0 2 3 4 8 15 16 100 101 102 200:8 202:5 203:1 203:3 205 206 209'

# hear ARGUMENT...: prints dieharder's results for the next stretch, without the
# header, whose measurement of speed would read a varying number of words
hear()
{
	first=$((stretch * stretch_words))
	stretch=$((stretch + 1))
	"$philox" draw --axis "$axis" --first $first --count 0 --format raw |
		stdbuf -oL dieharder -g 200 "$@" -D show_num -D test_name \
			-D ntuple -D pvalues -D assessment |
		tee "$WORK/heard"
	grep -q '|' "$WORK/heard"
}

# options NUMBER NTUPLE: of one test; tests 200 to 203 have one for each ntuple
options()
{
	case $1 in
	20[0-3]) echo "-d $1 -n $2" ;;
	*) echo "-d $1" ;;
	esac
}

# retry NUMBER NTUPLE
retry()
{
	for attempt in 1 2; do
		echo "again: test $1, ntuple $2, stretch $stretch"
		# shellcheck disable=SC2046
		hear $(options "$1" "$2") || return 1
		awk -F '|' -v n="$2" '$3 == n' "$WORK/heard" >"$WORK/again"
		grep -q FAILED "$WORK/again" && return 1
		grep -q WEAK "$WORK/again" || return 0
	done
	return 1
}

# judge: counts what was heard
judge()
{
	cp "$WORK/heard" "$WORK/judged"
	while IFS='|' read -r name number ntuple p assessment; do
		case $assessment in
		*PASSED*) passed=$((passed + 1)) ;;
		*WEAK*)
			if retry "${number##* }" "${ntuple##* }"; then
				weak=$((weak + 1))
			else
				failed=$((failed + 1))
				echo "FAILED  ${name##* } ($p at first)"
			fi
			;;
		*) failed=$((failed + 1)) ;;
		esac
	done <"$WORK/judged"
}

test_axis()
{
	axis=$1
	stretch=0
	passed=0
	weak=0
	failed=0
	echo "== $axis"
	if [ "$mode" = full ]; then
		hear -a || failed=1
		judge
	else
		for test in $quick; do
			# shellcheck disable=SC2046
			hear $(options "${test%:*}" "${test#*:}") || failed=1
			judge
		done
	fi
	echo "$axis: $passed passed, $weak weak, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

mode=quick
case ${1-} in
quick | full)
	mode=$1
	shift
	;;
esac
if ! command -v dieharder >"$WORK/which"; then
	echo "dieharder is not here (Debian has a package of this name)"
	exit 1
fi
echo "dieharder $(dieharder -l | sed -n 's/.*version \([0-9.]*\).*/\1/p'), $mode"
bad=0
for axis in ${*:-element op offset seed}; do
	test_axis "$axis" || bad=1
done
exit $bad

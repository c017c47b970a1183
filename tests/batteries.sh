#!/bin/sh
# tests/batteries.sh - PractRand and TestU01 over eight axes of the numbers
#
#   tests/batteries.sh practrand [AXIS]...
#   tests/batteries.sh small|crush|big [AXIS]...
#
# The axes are those of `philox draw --axis`. practrand reads 64 GiB of each, or
# what LENGTH says, with RNG_TEST, PractRand's program of this name. small, crush
# and big are TestU01's batteries; TESTU01 is a folder that has its include/ and
# lib/. Neither is in Debian. An axis takes minutes (practrand) or half an hour
# and more (crush); the words are the same in every run, and so are the results.
#
# What a battery prints is in build/batteries/. An axis fails if PractRand says
# FAIL or TestU01 has a p-value outside 10^-10 .. 1 - 10^-10. What is only
# unusual is printed: PractRand's words for it, and p-values outside 0.001 ..
# 0.999. Some are expected: these batteries look at thousands of p-values.
cd "$(dirname "$0")/.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}
logs=$BUILD/batteries
axes='element offset op call seed row order mask'

usage()
{
	sed -n 's/^# \{0,1\}//; 3,5p' "$0"
	exit 2
}

words()
{
	"$philox" draw --axis "$1" --count 0 --format raw
}

practrand()
{
	words "$1" | "${RNG_TEST:-RNG_test}" stdin32 -multithreaded \
		-tlmax "${LENGTH:-64GB}" >"$logs/practrand.$1" 2>&1
	awk '/^length=/ { at = $0 }
		/unusual|suspicious|SUSPICIOUS|FAIL/ { print at; print }
		/test result/ { of = $0 }
		END { print at; print of }' "$logs/practrand.$1"
	grep -q 'test result' "$logs/practrand.$1" &&
		! grep -q FAIL "$logs/practrand.$1"
}

build_crush()
{
	${CC:-cc} -O2 -I"${TESTU01:-/usr/local}/include" tests/crush.c \
		-L"${TESTU01:-/usr/local}/lib" -ltestu01 -lprobdist -lmylib -lm \
		-o "$logs/crush" ||
		usage
}

testu01()
{
	words "$2" | "$logs/crush" "$1" >"$logs/$1.$2" 2>&1
	status=$?
	sed -n '/^=* Summary/,$p' "$logs/$1.$2" | sed '/^ *$/d'
	return $status
}

battery=${1-}
case $battery in
practrand) run=practrand ;;
small | crush | big) run="testu01 $battery" ;;
*) usage ;;
esac
shift
mkdir -p "$logs"
[ "$battery" = practrand ] || build_crush
bad=0
for axis in ${*:-$axes}; do
	echo "== $axis"
	$run "$axis" || bad=1
done
exit $bad

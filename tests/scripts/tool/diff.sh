#!/bin/sh
# Two runs of one program write the same journal, and philox diff names the
# first difference of two that are not.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}

# gives STATUS TEXT COMMAND...: the exit status, and text in the output
gives()
{
	status=$1
	text=$2
	shift 2
	"$@" >"$WORK/out" 2>&1 </dev/null
	got=$?
	echo "exit status $got:"
	head -n 40 "$WORK/out"
	[ $got -eq "$status" ] && grep -qF -e "$text" "$WORK/out" &&
		! grep -qE 'Sanitizer|runtime error:' "$WORK/out"
}

# journal FILE OPTION...: of a short training run
journal()
{
	file=$1
	shift
	PHILOX_JOURNAL=$file "$philox" train --steps 2 "$@"
}

is_json()
{
	python3 -c 'import json, sys; assert type(json.load(sys.stdin)) is dict' \
		<"$WORK/out"
}

check "a run writes a journal" journal "$WORK/a"
check "another run writes one" journal "$WORK/b"
check "it has events" gives 0 'forward-begin' cat "$WORK/a"
check "both have the same bytes" cmp "$WORK/a" "$WORK/b"
check "diff finds no difference" \
	gives 0 'no difference: events' "$philox" diff "$WORK/a" "$WORK/b"

line=$(grep -n ' forward-begin ' "$WORK/a" | sed -n '3s/:.*//p')
event=$(sed -n "${line}p" "$WORK/a" |
	sed 's/^\([0-9]*\) \([0-9]*\) .*/context \1, event \2: /')
sed "${line}s/ offset [0-9]*/ offset 987654/" "$WORK/a" >"$WORK/c"
check "diff names the event that differs" \
	gives 1 "$event" "$philox" diff "$WORK/a" "$WORK/c"
check "diff names the field that differs" \
	gives 1 ' in A, 987654 in B' "$philox" diff "$WORK/a" "$WORK/c"
sed '$d' "$WORK/a" >"$WORK/c"
check "diff names a missing event" \
	gives 1 'B has ended, A continues' "$philox" diff "$WORK/a" "$WORK/c"
check "diff names a file that is not there" \
	gives 2 "$WORK/none" "$philox" diff "$WORK/a" "$WORK/none"
echo "something else" >"$WORK/d"
check "diff names a file that is not a journal" \
	gives 2 "$WORK/d" "$philox" diff "$WORK/a" "$WORK/d"
check "diff wants two files" gives 2 'two files' "$philox" diff "$WORK/a"

# An eager run and a captured one, which have few lines in common
check "an eager run alone writes a journal" journal "$WORK/eager" --only eager
check "a captured run alone writes a journal" \
	journal "$WORK/captured" --only captured
check "they have the same passes" \
	gives 0 'by passes (only B has graphs): no difference: passes 49' \
	"$philox" diff "$WORK/eager" "$WORK/captured"
check "in whatever order they are named" \
	gives 0 'by passes (only A has graphs): no difference: passes 49' \
	"$philox" diff "$WORK/captured" "$WORK/eager"
check "two captured journals are compared by passes if asked" \
	gives 0 'by passes: no difference: passes 49' \
	"$philox" diff --passes "$WORK/captured" "$WORK/captured"

check "a run with a pool writes a journal" \
	journal "$WORK/pooled" --only captured --pool plain
check "what happens in pools is no pass" \
	gives 0 'by passes (only B has graphs): no difference: passes 49' \
	"$philox" diff "$WORK/eager" "$WORK/pooled"

# differs SAYS [OPTION]...: a captured run with other options
differs()
{
	says=$1
	shift
	journal "$WORK/e" --only captured "$@"
	gives 1 "$says" "$philox" diff "$WORK/eager" "$WORK/e" &&
		grep -q '^by passes (only B has graphs): ' "$WORK/out"
}

check "another seed is named" \
	differs 'seed 0000000000000001 in A, 0000000000000002 in B' --seed 2
check "and the first pass that it changes" differs \
	'the first pass that it changes: inference forward of region "parameters": seed' \
	--seed 2
check "other operators are named" differs \
	'region-create of region "extra" is in B only' --ops 3

# edited SAYS SED: a change to the eager journal, of whole passes; its events are
# numbered again
edited()
{
	sed "$2" "$WORK/eager" | awk 'NR > 1 { $2 = ++n[$1] } 1' >"$WORK/e"
	! cmp -s "$WORK/e" "$WORK/eager" &&
		gives 1 "$1" "$philox" diff "$WORK/e" "$WORK/captured"
}

check "a missing backward is named" edited \
	'backward of region "hidden 1", ticket 2 is in B only; A continues with' \
	'/ backward-.*"hidden 1" ticket 2 /d'
check "a backward of another ticket is named" edited \
	'backward of region "hidden 1", ticket 3: offset 4 in A, 8 in B' \
	'/ backward-.*"hidden 1" ticket 3 /s/offset 8/offset 4/'
check "an end that is missing is named" edited \
	'A has no more of this context' '$d'

# Each ticket a launch of its own, and backwards in another order
journal "$WORK/reordered" --only out-of-order >"$WORK/said" 2>&1
check "tickets in another order are named" gives 1 \
	'another order: backward of region "hidden 2", ticket 1 in A, forward of region "input", ticket 2 in B' \
	"$philox" diff "$WORK/eager" "$WORK/reordered"

check "inspect sums up a journal" \
	gives 0 'forward-begin' "$philox" inspect "$WORK/a"
check "inspect --json does" \
	gives 0 '"kind":"journal"' "$philox" inspect --json "$WORK/a"
if command -v python3 >"$WORK/which"; then
	"$philox" inspect --json "$WORK/a" >"$WORK/out"
	check "inspect --json is a JSON object" is_json
else
	skip "inspect --json is a JSON object" "no python3"
fi
check "inspect names a file that is not there" \
	gives 2 "$WORK/none" "$philox" inspect "$WORK/none"
check "a journal that cannot be begun ends the command by name" \
	gives 1 "PHILOX_JOURNAL: the journal '/dev/full' cannot be written" \
	journal /dev/full
# The limit is a few kilobytes
check "a journal that can no longer be written does no harm" \
	sh -c 'trap "" XFSZ; ulimit -f 8; PHILOX_JOURNAL=$1 "$2" train --steps 2' \
	- "$WORK/e" "$philox"
finish

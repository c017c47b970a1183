#!/bin/sh
# What the commands write to a terminal fits it, whatever its width; what they
# write to a file does not depend on it. The terminal is pyte's
# (tests/scripts/tool/screen.py).
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=$BUILD/philox
. tests/support/training.sh
few='selftest --device host:sync --only stream' # quick ones

# shellcheck disable=SC2086 # words
has_no_escapes()
{
	"$philox" $few >"$WORK/file" &&
		! LC_ALL=C grep -q "$(printf '[\033\r]')" "$WORK/file"
}

# The first python3 in PATH may not be the one that Debian's packages are for
python=
for one in python3 /usr/bin/python3; do
	[ -n "$python" ] || ! $one -c 'import pyte' 2>"$WORK/why" || python=$one
done
if [ -z "$python" ]; then
	skip "output fits a terminal of 40, 80 and 200 columns" \
		"no python3 with pyte (python3-pyte)"
	check "output to a file has no escapes" has_no_escapes
	finish
fi

# on COLUMNS [NAME=VALUE]... ARGUMENT...: runs philox there; the screen is in
# $WORK/screen, lines written over in $WORK/over, colours in $WORK/colours
on()
{
	"$python" tests/scripts/tool/screen.py "$@" >"$WORK/all" 2>"$WORK/err"
	got=$?
	echo "on $*: exit status $got, screen and standard error:"
	cat "$WORK/all" "$WORK/err"
	grep -v -e '^over: ' -e '^wider than ' -e '^colours:' "$WORK/all" \
		>"$WORK/screen"
	sed -n 's/^over: //p' "$WORK/all" >"$WORK/over"
	sed -n 's/^colours: *//p' "$WORK/all" >"$WORK/colours"
	return $got
}

words()
{
	tr -s ' \n' '\n\n' | sed '/^$/d'
}

# no progress is left on the screen
is_clean()
{
	! grep -qE '\[[#.]+\]|about [0-9]+ [a-z]+ left' "$WORK/screen"
}

# fits COLUMNS ARGUMENT...: the exit status, word by word what a file gets
fits()
{
	columns=$1
	shift
	"$philox" "$@" >"$WORK/out" 2>"$WORK/said_err" </dev/null
	expected=$?
	on "$columns" "$philox" "$@"
	[ $? -eq $expected ] || return 1
	cat "$WORK/out" "$WORK/said_err" | words >"$WORK/a"
	words <"$WORK/screen" >"$WORK/b"
	diff "$WORK/a" "$WORK/b" && is_clean
}

# fits_in_pieces: the same, when a word is wider than the screen
fits_in_pieces()
{
	fits "$@" && return 1
	tr -d '\n' <"$WORK/a" >"$WORK/a.letters"
	tr -d '\n' <"$WORK/b" >"$WORK/b.letters"
	[ $got -eq $expected ] && cmp "$WORK/a.letters" "$WORK/b.letters"
}

# tabulates COLUMNS ARGUMENT...: the same with tables of another form there: the
# figures and names of what a file gets are on the screen, each in one piece
tabulates()
{
	columns=$1
	shift
	"$philox" "$@" >"$WORK/out" 2>"$WORK/said_err" </dev/null
	expected=$?
	on "$columns" "$philox" "$@"
	[ $? -eq $expected ] || return 1
	# times are other ones; names of columns and dashes have no meaning there
	words <"$WORK/out" | tr -d ',;:' | grep -vxE -e '[0-9]+\.[0-9]|schedule|run|-' |
		LC_ALL=C sort -u >"$WORK/a"
	words <"$WORK/screen" | tr -d ',;:' | LC_ALL=C sort -u >"$WORK/b"
	echo "not on the screen:"
	! LC_ALL=C comm -23 "$WORK/a" "$WORK/b" | grep . && is_clean
}

# progresses COLUMNS: its line is on one line, and gone at the end
progresses()
{
	on "$1" "$philox" train "$text" --steps 2000 --only eager || return 1
	grep -qE '^eager( \[[#.]+\])? [0-9]+/2000, loss [0-9.]+|^eager \[' \
		"$WORK/over" && ! grep -vE '^eager( |$)' "$WORK/over" &&
		is_clean
}

# The time left is on the line if a run takes long enough for an estimate
tells_time_left()
{
	on 40 "$philox" matrix --length 3 || return 1
	seconds=$(tr -s '\n ' '  ' <"$WORK/screen" |
		sed -n 's/.* in \([0-9]*\)\.[0-9] s *$/\1/p')
	[ "$seconds" -ge 5 ] || return 0
	grep -qE ' about [0-9]+ (s|min) left$' "$WORK/over"
}

# plain_in_a_file STREAM COLUMNS [NAME=VALUE]... ARGUMENT...: no escapes, no \r
plain_in_a_file()
{
	stream=$1
	width=$2
	shift 2
	on "$width" "$stream=$WORK/file" "$@" || return 1
	[ ! -e "$WORK/file" ] || ! LC_ALL=C grep -q "$(printf '[\033\r]')" \
		"$WORK/file"
}

# Nothing is written over; a line for each quarter tells how far it is
is_dumb()
{
	on 40 TERM=dumb "$philox" train "$text" --steps 2000 --only eager &&
		[ ! -s "$WORK/over" ] &&
		[ "$(grep -c '^eager  *step [0-9]* of 2000' "$WORK/screen")" \
			-eq 4 ]
}

is_the_same_in_a_file()
{
	"$philox" "$@" >"$WORK/a" 2>&1
	COLUMNS=40 TERM=dumb NO_COLOR=1 "$philox" "$@" >"$WORK/b" 2>&1
	on 40 OUT="$WORK/c" "$philox" "$@"
	diff "$WORK/a" "$WORK/b" && diff "$WORK/a" "$WORK/c"
}

# colours_are TEXT COLUMNS [NAME=VALUE]... COMMAND...
colours_are()
{
	expected=$1
	shift
	on "$@" || return 1
	grep -qxE "$expected" "$WORK/colours"
}

# widest_is LEAST MOST COLUMNS...: of the lines on the screen
widest_is()
{
	least=$1
	most=$2
	shift 2
	on "$@" || return 1
	widest=$(awk 'length > n { n = length } END { print n }' \
		"$WORK/screen")
	echo "widest: $widest"
	[ "$widest" -ge "$least" ] && [ "$widest" -le "$most" ]
}

PHILOX_JOURNAL=$WORK/eager "$philox" train "$text" --steps 1 --only eager \
	>"$WORK/said" 2>&1
PHILOX_JOURNAL=$WORK/other "$philox" train "$text" --steps 1 --seed 2 \
	--only captured >"$WORK/said" 2>&1

commands=$("$philox" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
for columns in 40 80 200; do
	check "the commands fit $columns columns" fits $columns --help
	for command in $commands; do
		check "$command --help fits $columns columns" \
			fits $columns "$command" --help
	done
	check "a complaint fits $columns columns" \
		fits $columns matrix --schedule something
	check "a long file name fits $columns columns" \
		fits_in_pieces $columns train "$(printf '%0250d' 7)"
	check "info fits $columns columns" fits $columns info
	check "an event by event replay fits $columns columns" \
		fits $columns matrix --replay 'F0 F1 B1r B0'
	check "a journal summed up fits $columns columns" \
		fits $columns inspect "$WORK/eager"
	check "a difference fits $columns columns" \
		fits $columns diff "$WORK/eager" "$WORK/other"
	check "selftest fits $columns columns" fits $columns $few
	check "schedules fit $columns columns" \
		tabulates $columns matrix --schedule all
	check "a search fits $columns columns" \
		tabulates $columns matrix --length 2 --regions 1
	check "the tables of train fit $columns columns" \
		tabulates $columns train "$text" --steps 12
	check "and so do the calls of functions, $columns columns" \
		tabulates $columns train "$text" --steps 12 --only runner
	check "the table of bench fits $columns columns" \
		tabulates $columns bench --only schedules
	check "progress fits $columns columns" progresses $columns
done
check "all checks of a selftest fit 40 columns" \
	fits 40 selftest --device host:sync
check "a terminal of 20 columns is one, too" fits 20 train --help
check "a long run tells the time left" tells_time_left

for command in 'matrix --length 2 --regions 1' "$few"; do
	check "no escapes of ${command%% *} in a file" \
		plain_in_a_file OUT 40 "$philox" $command
done
check "no progress in a file" plain_in_a_file ERR 40 "$philox" train \
	"$text" --steps 2000 --only eager
check "a dumb terminal has lines instead" is_dumb
for command in --help 'train --help' 'matrix --schedule all' \
	"$few"; do
	check "$command is the same in every file" \
		is_the_same_in_a_file $command
done

green='(.* )?green( .*)?'
check "selftest has colours" colours_are "$green" 80 "$philox" $few
check "NO_COLOR has none" colours_are '' 80 NO_COLOR=1 "$philox" $few
check "an empty NO_COLOR changes nothing" colours_are "$green" 80 NO_COLOR= \
	"$philox" $few
check "a dumb terminal has none" colours_are '' 80 TERM=dumb "$philox" $few

check "a terminal without a size has 80 columns" \
	widest_is 70 80 200 SIZE=0 "$philox" bench --help
check "or those of COLUMNS" \
	widest_is 45 50 200 SIZE=0 COLUMNS=50 "$philox" bench --help
check "a COLUMNS that is no number is not used" \
	widest_is 70 80 200 SIZE=0 COLUMNS=5x "$philox" bench --help
check "a terminal's own size comes first" \
	widest_is 70 80 80 COLUMNS=40 "$philox" bench --help
finish

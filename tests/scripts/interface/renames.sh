#!/bin/bash
# doc/renames.txt tells programs of before how to follow: the script for sed in
# its first lines makes the examples of then compile, but for calls that its
# second table has, and members that its third table has.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

sed -n '/^#   awk/,/renames.sed$/s/^#   *//p' doc/renames.txt >"$WORK/make"
(. "$WORK/make" && mv renames.sed "$WORK")
awk '/^#/ || NF != 2 {next} /^[-+]/ {exit} {print}' doc/renames.txt \
	>"$WORK/pairs"
grep -E '^[-+] philox_' doc/renames.txt | grep -oE 'philox_[a-z0-9_]+' |
	sort -u >"$WORK/calls"
sed -n 's/^- struct [a-z_]*: //p' doc/renames.txt | tr -s ', ' '\n' |
	sort -u | sed 's/.*/(\\.|->)&\\b/' >"$WORK/members"

# makes_a_script: a line for each pair
makes_a_script()
{
	[ -s "$WORK/pairs" ] && [ -s "$WORK/calls" ] &&
		[ -s "$WORK/members" ] &&
		[ "$(wc -l <"$WORK/renames.sed")" = "$(wc -l <"$WORK/pairs")" ]
}

# no_old_name: what a pair replaces is in no header, what it gives is in one
no_old_name()
{
	status=0
	while read -r old new; do
		case $old in
		philox/*)
			[ ! -e "include/$old" ] && [ -e "include/$new" ]
			;;
		*)
			! grep -rqw "$old" include && grep -rqw "$new" include
			;;
		esac || { echo "$old $new"; status=1; }
	done <"$WORK/pairs"
	return $status
}

# explained FILE ERRORS: each error is within four lines of a call of the second
# table, or of a member of the third after a point or an arrow
explained()
{
	status=0
	while IFS=: read -r _ line _ rest; do
		sed -n "$((line > 3 ? line - 3 : 1)),${line}p" "$1" \
			>"$WORK/lines"
		grep -qwFf "$WORK/calls" "$WORK/lines" ||
			grep -qEf "$WORK/members" "$WORK/lines" ||
			{ echo "$1:$line: $rest"; status=1; }
	done <"$2"
	return $status
}

# follows FILE: what is left to do by hand is in the second table
follows()
{
	case $1 in
	*.cpp) compiler="$CXX -std=c++17" ;;
	*) compiler="$CC -std=c11" ;;
	esac
	# shellcheck disable=SC2086 # a command
	$compiler -D_GNU_SOURCE -Iinclude -fsyntax-only -Wall -Werror \
		"$1" 2>&1 | grep -E "^$1:[0-9]+:[0-9]+: .*error:" >"$WORK/errors"
	explained "$1" "$WORK/errors"
}

# changes FILE: or it would show nothing
changes()
{
	! cmp -s "tests/interface/examples/$1" "$WORK/examples/$1"
}

changed_and_follows()
{
	changes "$1" && follows "$WORK/examples/$1"
}

cp -R tests/interface/examples "$WORK"
find "$WORK/examples" -type f -exec sed -i -f "$WORK/renames.sed" {} +
check "doc/renames.txt makes a script for sed" makes_a_script
check "old names are gone, and new ones are there" no_old_name
for file in $(cd tests/interface/examples && find . -name '*.c' -o -name '*.cpp' |
	sed 's|^\./||' | LC_ALL=C sort); do
	check "$file is as it should be but for calls that changed" \
		changed_and_follows "$file"
done
finish

#!/bin/sh
# All events that the library writes are in the lists of lib/trace/events.h, from
# which journals are read, and on the page about them.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

find lib graph alloc \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) \
	! -path lib/trace/events.h ! -path lib/state/state.h \
	! -path graph/pool/pool.h >"$WORK/files"
# One call a line, with one space for all that separates its words
xargs cat <"$WORK/files" | tr -s ' \t\n' ' ' |
	grep -oE '(journal_write|journal_trace|journal_event|pool_journal)\([^;]*;' \
		>"$WORK/calls"
sed -n 's/^.*\<EVENT("\([^"]*\)", *\([A-Z_]*\)).*$/\1 \2/p' \
	lib/trace/events.h | sort -u >"$WORK/listed"
grep -oE '\<EVENT\("[^"]*", [A-Z_]*\)' "$WORK/calls" |
	sed 's/^EVENT("\(.*\)", \(.*\))$/\1 \2/' | sort -u >"$WORK/written"

has_events()
{
	[ "$(wc -l <"$WORK/listed")" -ge 50 ] && [ "$(wc -l <"$WORK/calls")" -ge 40 ]
}

# A format that is not made by EVENT() could be of anything
made_by_event()
{
	! grep -vE '^[a-z_]+\( ?([^,"]|\([^)]*\))*, EVENT\("' "$WORK/calls" |
		grep -vE '^journal_(event|trace)\(struct philox_context '
}

# "pool-%s POOL" is every event of these fields
is_listed()
{
	while read -r name fields; do
		pattern=$(echo "$name" | sed 's/%s/[a-z]*/g')
		grep -qx "$pattern $fields" "$WORK/listed" ||
			{ echo "$name has no fields $fields" && return 1; }
	done <"$WORK/written"
}

is_written()
{
	while read -r name fields; do
		while read -r written of; do
			pattern=$(echo "$written" | sed 's/%s/[a-z]*/g')
			[ "$of" = "$fields" ] && expr "$name" : "$pattern\$" \
				>"$WORK/length" && continue 2
		done <"$WORK/written"
		# A pass ends without the field that its begin may have
		[ "$fields" = PASS ] && continue
		echo "nothing writes $name with fields $fields" && return 1
	done <"$WORK/listed"
}

# Each event as a line of the grammar, by the kinds of its fields
is_on_the_page()
{
	cat >"$WORK/lines.c" <<'END'
#include <stdio.h>
#include "lib/trace/events.h"
#define FIELD(word, kind)      " " OF_##kind(word)
#define OF_U32(word)           word " N"
#define OF_U64(word)           word " N"
#define OF_SIZE(word)          word " N"
#define OF_FOUND(word)         word " N"
#define OF_HEX(word)           word " HEX"
#define OF_NAME(word)          word " NAME"
#define OF_BYTES(word)         word " BYTES"
#define OF_STATUS(word)        word " STATUS"
#define OF_PASS_FLAGS(word)    word " FLAGS"
#define OF_REGION_FLAGS(word)  word " none|shared"
#define OF_FORWARD(word)       word " N|launch"
#define OF_NODE(word)          word " if|while|switch"
#define OF_PASS(word)          word " forward|backward"
#define OF_REPEAT(word)        word " repeat"
#define OF_SEGMENTS(word)      word " plain|expandable"
#define OF_SESSION(word)       word " capture|warm-up"
#define OF_MAYBE_U32(word)     "[" word " N]"
#define OF_ITERATIONS(word)    "[" word " N]"
#define OF_MAYBE_NAME(word)    "[" word " NAME]"
#define LINE(name, fields)     name EVENT_FIELDS_##fields(FIELD) "\n"
int main(void)
{
	return fputs(EVENTS_OF_JOURNALS(LINE), stdout) < 0;
}
END
	$CC -std=c11 -I. -o "$WORK/lines" "$WORK/lines.c" &&
		"$WORK/lines" >"$WORK/made" &&
		awk '/^```/ { on = $0 == "```events"; next } on' \
			doc/formats/journal.md | diff "$WORK/made" -
}

check "there are events and calls that write them" has_events
check "each format of an event is made from its list of fields" made_by_event
check "each event that is written is in the list" is_listed
check "each event of the list is written" is_written
check "doc/formats/journal.md has all events with their fields" is_on_the_page
finish

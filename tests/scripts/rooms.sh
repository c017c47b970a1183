#!/bin/sh
# Each folder of the source is a room, which includes and calls only the rooms
# above it; within a room neither headers nor calls go round in a circle, and a
# room has few files. Violations are shown as arrows, from -> to.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

# The rooms in their order: each may use those above it. <philox/...> is free to
# all of them. A room is a folder; lib/ is left out.
cat >"$WORK/rooms" <<'END'
base
containers
names
text
device
device/host
device/cuda
dist
fill/simd
fill/layout
fill
quantize
subset
mesh
trace
state
pass
rows
data
change
sample
accept
split
save
ranks
kernels/head
kernels/host
kernels/cuda
kernels
alloc/pool
alloc
graph/capture
graph/pool
graph/launch
graph/verify
graph/runner/state
graph/runner/function
graph/runner/call
graph/runner/plan
graph/runner/snapshot
graph/runner/outputs
graph/runner/explain
graph/runner
graph
END
# These use nothing but the rooms named here
cat >"$WORK/only" <<'END'
containers base
names      base containers
alloc/pool base containers names device
alloc      base containers names device alloc/pool
END
most_files=16
# Files that a build makes, and who may include them
generated='lib/base/source.c kernel_source.h'

# Shared by all the programs below
functions='
function room(path)
{
	sub(/^lib\//, "", path)
	sub(/\/[^\/]*$/, "", path)
	return path
}

function module(path)
{
	sub(/\.[a-z]+$/, "", path)
	return path
}

function arrow(from, to)
{
	if (!told[from, to]++) {
		print from " -> " to
		arrows++
	}
}

function read_rooms(folder,  line, part, n, i)
{
	while ((getline line < (folder "/rooms")) > 0)
		place[line] = ++rooms
	while ((getline line < (folder "/only")) > 0) {
		n = split(line, part, " ")
		only[part[1]]
		for (i = 1; i <= n; i++)
			named[part[1], part[i]]
	}
}

function may(from, to)
{
	return from == to || (from in place && to in place &&
		place[to] < place[from] &&
		(!(from in only) || (from, to) in named))
}

function count()
{
	print arrows + 0 " arrows"
	exit arrows > 0
}
'

# includes FOLDER: each line below it that includes a file, with the name
# between its quotes or brackets
includes()
{
	(
		cd "$1" && find lib graph alloc include -name '*.[ch]' -o \
			-name '*.cu' -o -name '*.cuh' | LC_ALL=C sort |
			xargs awk '/^[ \t]*#[ \t]*include/ {
				sub(/^[ \t]*#[ \t]*include(_next)?[ \t]*/, "")
				sub(/[ \t]*(\/[*\/].*)?$/, "")
				print FILENAME, $0
			}'
	)
}

# A name that is not <...> is a path from the top, and the file exists
by_path()
{
	includes "$1" | awk -v tree="$1" -v generated="$generated" "$functions"'
	{
		name = substr($2, 2, length($2) - 2)
		if ($2 ~ /^<[^"]*>$/ && name !~ /^(lib|graph|alloc|tools|tests)\//)
			next
		if ($2 !~ /^".*"$/ || name !~ /^[a-z]+\/[a-z0-9_\/]+\.[a-z]+$/ ||
		    (getline line < (tree "/" name)) < 0) {
			if ($1 " " name != generated)
				arrow($1, $2)
		}
		close(tree "/" name)
	}
	END { count() }'
}

# A file of a room includes the rooms above it
upwards()
{
	includes "$1" | awk -v rooms_in="$WORK" "$functions"'
	BEGIN { read_rooms(rooms_in) }
	$1 !~ /^include\// {
		name = substr($2, 2, length($2) - 2)
		if (name !~ /\// || name ~ /^philox\// ||
		    ($2 ~ /^</ && name !~ /^(lib|graph|alloc|tools|tests)\//))
			next
		if (!may(room($1), room(name)))
			arrow($1, name)
	}
	END { count() }'
}

# A public header includes public ones and those of standard C
public()
{
	includes "$1" | awk "$functions"'
	$1 ~ /^include\// &&
		$2 !~ /^<(philox\/[a-z0-9_]+|std(arg|def|int|bool)|string|math|float|limits|inttypes)\.h>$/ {
		arrow($1, $2)
	}
	END { count() }'
}

# circles: of the arrows read, those within a room that lead back
circles()
{
	awk "$functions"'
	room($1) == room($2) && $1 != $2 {
		from[++n] = $1
		to[n] = $2
		leads[$1, $2] = 1
		all[$1]
		all[$2]
	}
	END {
		if (!NR) {
			print "nothing uses anything"
			exit 1
		}
		for (b in all)
			for (a in all)
				if ((a, b) in leads)
					for (c in all)
						if ((b, c) in leads)
							leads[a, c] = 1
		for (i = 1; i <= n; i++)
			if ((to[i], from[i]) in leads)
				arrow(from[i], to[i])
		count()
	}'
}

# Of headers: a source file may see more of its room than it calls
no_headers_go_round()
{
	includes "$1" | tr -d '<>"' | awk '
		$1 ~ /h$/ && $2 ~ /\// { print $1, $2 }' | circles
}

# calls FOLDER OBJECTS: each symbol that a source file below FOLDER uses of
# another, by its object: their modules, and the symbol
calls()
{
	(cd "$1" && find lib graph alloc -name '*.c' -o -name '*.cu') |
		LC_ALL=C sort | while read -r source; do
		[ -f "$2/$source.o" ] || continue
		nm -P "$2/$source.o" | sed "s|^|$source |"
	done | awk "$functions"'
	$3 == "U" { user[++n] = module($1); symbol[n] = $2 }
	$3 ~ /^[A-TV-Z]$/ { home[$2] = module($1) }
	END {
		for (i = 1; i <= n; i++)
			if (symbol[i] in home && home[symbol[i]] != user[i])
				print user[i], home[symbol[i]], symbol[i]
	}'
}

calls_upwards()
{
	calls "$1" "$2" >"$WORK/calls"
	awk -v rooms_in="$WORK" "$functions"'
	BEGIN { read_rooms(rooms_in) }
	!may(room($1), room($2)) {
		arrow($1, $2 ": " $3)
	}
	END {
		if (!NR) {
			print "no objects"
			exit 1
		}
		count()
	}' "$WORK/calls"
}

no_calls_go_round()
{
	calls "$1" "$2" | circles
}

# one_name FOLDER: static functions of one folder that share a name, which a
# backtrace would not tell apart. Two in one file are two forms of a function.
one_name()
{
	(
		cd "$1" && find lib graph alloc tools -name '*.c' | LC_ALL=C sort |
			xargs awk "$functions"'
			/^static [^=;]*[a-z0-9_]+\(/ {
				line = $0
				sub(/\(.*/, "", line)
				sub(/.*[ *]/, "", line)
				folder = FILENAME
				sub(/\/[^\/]*$/, "", folder)
				if (!((folder, line) in home))
					home[folder, line] = FILENAME
				else if (home[folder, line] != FILENAME)
					arrow(home[folder, line], FILENAME ": " line)
			}
			END {
				if (!NR) {
					print "no sources"
					exit 1
				}
				count()
			}'
	)
}

# few_files FOLDER: a room can be looked over. Texts for fuzzers and deliberate
# bugs are many, and are no rooms.
few_files()
{
	(cd "$1" && find lib graph alloc tools tests -name '*.*' -type f) |
		grep -vE '^tests/(bugs|fuzz/.*)/|\.pyc$' |
		sed 's|/[^/]*$||' | sort | uniq -c | awk -v most="$most_files" '
			$1 > most { print $2 " -> " $1 " files"; arrows++ }
			END { print arrows + 0 " arrows"; exit arrows > 0 }'
}

# --- what is against the rule is found: a small tree that is ------------------

bad=$WORK/bad
mkdir -p "$bad/include/philox" "$bad/graph" "$bad/alloc" "$bad/tools" \
	"$bad/lib/base" "$bad/lib/state"

# file PATH LINE...
file()
{
	path=$bad/$1
	shift
	printf '%s\n' "$@" >"$path"
}

file lib/base/low.h '#include <stddef.h>' '#include <philox/status.h>'
file lib/base/low.c '# include "lib/state/high.h" /* what for */' \
	'#include "low.h"' 'int high(void); int low(void) { return high(); }'
file lib/state/high.h '#include "lib/base/low.h"' \
	'#include "lib/state/third.h"'
file lib/state/high.c '#include "lib/state/high.h"' \
	'#include "lib/state/other.h"' '#include "lib/state/gone.h"' \
	'int other(void); int high(void) { return other(); }'
file lib/state/other.h '#include "lib/base/low.h"'
file lib/state/other.c '#include "lib/state/third.h"' \
	'int third(void); int other(void) { return third(); }'
file lib/state/third.h '#include "lib/state/high.h"'
file lib/state/third.c 'int high(void); int third(void) { return high(); }'
file lib/state/one.c 'static int *twice(void)' '{' 'static int once(int twice)'
file lib/state/two.c 'static void twice(int a)' 'static int table[] = {f(twice)};'
file graph/top.c '#include <tools/tool.h>' '#include "lib/state/high.h"'
file alloc/pool.c '#include "lib/state/high.h"'
file tools/tool.h ''
file include/philox/status.h '#include <stddef.h>' '#include <unistd.h>' \
	'#include "lib/base/low.h"'

# finds LINE... -- CHECK ARGUMENT...: it fails, and prints these lines only
finds()
{
	: >"$WORK/expected"
	while [ "$1" != -- ]; do
		echo "$1" >>"$WORK/expected"
		shift
	done
	shift
	"$@" >"$WORK/found" && return 1
	sed '$d' "$WORK/found" | LC_ALL=C sort >"$WORK/sorted"
	tail -n 1 "$WORK/found" | grep -qx "$(wc -l <"$WORK/expected") arrows" &&
		LC_ALL=C sort "$WORK/expected" | diff - "$WORK/sorted"
}

mkdir -p "$bad/tests/many"
for number in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do
	: >"$bad/tests/many/$number.c"
done

compile_bad()
{
	for source in low high other third; do
		room=lib/state
		[ $source != low ] || room=lib/base
		mkdir -p "$bad/build/$room" &&
			grep '^int' "$bad/$room/$source.c" | $CC -x c -c \
				-o "$bad/build/$room/$source.c.o" - || return 1
	done
}

check "an include against the rule is found" finds \
	'lib/base/low.c -> lib/state/high.h' 'graph/top.c -> tools/tool.h' \
	'alloc/pool.c -> lib/state/high.h' -- upwards "$bad"
check "an include that is not a path from the top is found" finds \
	'lib/base/low.c -> "low.h"' 'lib/state/high.c -> "lib/state/gone.h"' \
	'graph/top.c -> <tools/tool.h>' -- by_path "$bad"
check "an include that a public header may not have is found" finds \
	'include/philox/status.h -> <unistd.h>' \
	'include/philox/status.h -> "lib/base/low.h"' -- public "$bad"
check "headers that go round are found" finds \
	'lib/state/high.h -> lib/state/third.h' \
	'lib/state/third.h -> lib/state/high.h' -- no_headers_go_round "$bad"
check "two functions of a name are found" finds \
	'lib/state/one.c -> lib/state/two.c: twice' -- one_name "$bad"
check "a room of too many files is found" finds \
	'tests/many -> 17 files' -- few_files "$bad"
check "files against the rule compile" compile_bad
check "a call against the rule is found" finds \
	'lib/base/low -> lib/state/high: high' -- \
	calls_upwards "$bad" "$bad/build"
check "calls that go round are found" finds \
	'lib/state/high -> lib/state/other' 'lib/state/other -> lib/state/third' \
	'lib/state/third -> lib/state/high' -- \
	no_calls_go_round "$bad" "$bad/build"

# --- the tree -----------------------------------------------------------------

check "includes are paths from the top" by_path .
check "rooms include rooms above them" upwards .
check "public headers include public headers" public .
check "rooms have few files" few_files .
check "no headers within a room go round" no_headers_go_round .
check "static functions of a folder have names of their own" one_name .
check "rooms call rooms above them" calls_upwards . "$BUILD"
check "no calls within a room go round" no_calls_go_round . "$BUILD"
finish

#!/bin/bash
# What README.md and the pages of doc/ show works as it stands there. The word
# after the fence of a block says what is done with it:
#
#   ```c         a program: it compiles and runs
#   ```sh        commands: they are typed in the tree, after the blocks before
#   ```output    what the block before it has printed
#   ```          C in the middle of a program: it compiles, with the names of
#                tests/readme/names.h
#   ```cuda      lines of an example: examples.sh compares them
#   ```cmake     installed.sh uses it
#   ```python    bindings/python.sh runs the blocks of a page as one program
#                (those of doc/law.md: tests/readme/law.py)
#   ```text      is only read
#   ```events    events.sh compares them
#
# Commands that install something are for other scripts: .ci/run and fresh.sh
# have README's own, installed.sh those of doc/install.md, and ranks.sh those of
# doc/ranks.md.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

pages=(README.md doc/*.md doc/formats/*.md)
library=$(cd "$BUILD" && pwd) || exit 1

# The folder in which commands are typed; `build` in it is this build
tree=$WORK/tree
mkdir "$tree" "$WORK/home" && ln -s "$PWD"/* "$tree" && rm -f "$tree/build" &&
	ln -s "$library" "$tree/build" || exit 1

# --- blocks -------------------------------------------------------------------

# blocks PAGE: each block goes to a file of its own, $WORK/PAGE.NUMBER.KIND,
# where KIND is the word after the fence, or "part"
blocks()
{
	awk -v to="$WORK/${1##*/}" '
		/^```/ && within { within = 0; close(file); next }
		/^```/ {
			kind = substr($0, 4)
			file = sprintf("%s.%02d.%s", to, ++n, kind ? kind : "part")
			printf "" >file
			within = 1
			next
		}
		within { print >file }' "$1"
}

compiles()
{
	cp "$1" "$tree/program.c" && $CC -std=c11 -Wall -Wextra -Werror -Iinclude \
		-o "$tree/program" "$tree/program.c" \
		-L"$library" -lphilox -Wl,-rpath,"$library"
}

# runs COMMAND...: in the tree; what it prints is kept for a block of output
runs()
{
	(cd "$tree" && HOME=$WORK/home "$@" >"$WORK/printed" 2>"$WORK/errors")
	status=$?
	cat "$WORK/printed" "$WORK/errors"
	return $status
}

# A function stands alone; statements are put into one. The page's name chooses
# names
part_compiles()
{
	from=${1##*/}
	{
		echo '#include "tests/readme/names.h"'
		grep -qx '{' "$1" || echo 'static void part(void) {'
		cat "$1"
		grep -qx '{' "$1" || echo '}'
	} >"$1.c"
	$CC -std=c11 -fsyntax-only -Wall -Wextra -Werror -Wno-unused -Iinclude \
		-I. -D"PAGE_${from%%.*}" "$1.c"
}

# try_block FILE: with $name in front of what is checked
try_block()
{
	case $1 in
	*.c)
		check "$name compiles" compiles "$1"
		check "$name runs" runs ./program
		;;
	*.sh)
		grep -qE '\<(apt-get|make|cmake|pkg-config|pip)\>' "$1" ||
			check "$name runs" runs sh -eux "$1"
		;;
	*.output) check "$name is what is printed" diff "$WORK/printed" "$1" ;;
	*.part) check "$name compiles" part_compiles "$1" ;;
	*.cuda | *.cmake | *.events | *.python | *.text) ;;
	*) check "$name is of a known kind" false ;;
	esac
}

# --- pages --------------------------------------------------------------------

# These are read, not done; each other page begins with what can be done
has_no_example()
{
	case $1 in
	doc/limits.md | doc/compatibility.md | doc/formats.md | doc/formats/* | \
		doc/glossary.md | doc/source.md) ;;
	*) return 1 ;;
	esac
}

begins_with_an_example()
{
	set -- "$WORK/${1##*/}".01.*
	case $1 in
	*.c | *.sh) ;;
	*) return 1 ;;
	esac
}

# headings FILE: the anchors that its headings have
headings()
{
	awk '/^```/ { within = !within }
		!within && sub(/^#+ /, "") { print tolower($0) }' "$1" |
		sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# Each link of a page leads to a file, and to a heading of it
links_lead_somewhere()
{
	broken=0
	folder=.
	case $1 in */*) folder=${1%/*} ;; esac
	while IFS= read -r link; do
		file=${link%%#*}
		anchor=
		[ "$file" = "$link" ] || anchor=${link#*#}
		at=$folder/$file
		[ -n "$file" ] || at=$1
		if [ ! -e "$at" ] || { [ -n "$anchor" ] &&
			! headings "$at" | grep -qx -- "$anchor"; }; then
			echo "$1: there is no $link"
			broken=1
		fi
	done < <(grep -oE '\]\([^)]+\)' "$1" | sed 's/^](//; s/)$//' |
		grep -v '^https\?:')
	return $broken
}

# names_of FILE...: functions, structs, macros and variables of philox
names_of()
{
	grep -ohE '\<philox_[a-z0-9_]+\(\)|struct philox_[a-z0-9_]+|\<PHILOX_[A-Z0-9_]+' \
		"$@" | sed 's/^struct //; s/()$//' | LC_ALL=C sort -u
}

# What the page names is in a header, or is read from the environment by a source
names_exist()
{
	[ -s "$WORK/known" ] ||
		find include lib graph tools tests/scripts -type f -exec \
			grep -ohE '\<(philox|PHILOX)_[A-Za-z0-9_]+' {} + |
		LC_ALL=C sort -u >"$WORK/known"
	names_of "$1" | LC_ALL=C comm -23 - "$WORK/known" >"$WORK/strange"
	cat "$WORK/strange"
	test ! -s "$WORK/strange"
}

# README lists the pages, and doc/formats.md those of texts
lists_pages()
{
	for page in doc/formats/*.md; do
		grep -qF "](${page#doc/})" doc/formats.md || {
			echo "doc/formats.md does not link $page"
			return 1
		}
	done
	for page in doc/*.md; do
		grep -qF "]($page)" README.md || {
			echo "README.md does not link $page"
			return 1
		}
	done
}

# README lists the commands of the tool
lists_commands()
{
	"$library/philox" help >"$WORK/help" || return 1
	sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p' "$WORK/help" >"$WORK/commands"
	test -s "$WORK/commands" || return 1
	while read -r command; do
		grep -q "^| \`philox ${command}[ \`]" README.md || {
			echo "README.md does not list philox $command"
			return 1
		}
	done <"$WORK/commands"
}

# Each line of a text in doc/formats/ is in the code's description of it: alone, or
# with what is said of it in the column beside
shows_formats()
{
	for page in doc/formats/*.md; do
		cat "$WORK/${page##*/}".*.text || return 1
	done | sed 's/^ *//' >"$WORK/shown"
	find lib graph include -name '*.h' -exec cat {} + | sed 's/^ \*  *//' \
		>"$WORK/described"
	awk 'NR == FNR { lines[$0]; next }
		$0 in lines { delete lines[$0] }
		{ line = $0; sub(/  .*/, "", line); delete lines[line] }
		{ delete lines[substr($0, 1, 18)] }
		END { for (line in lines) print line }' \
		"$WORK/shown" "$WORK/described" >"$WORK/strange"
	cat "$WORK/strange"
	test -s "$WORK/shown" && test ! -s "$WORK/strange"
}

# --- a step, by hand and by a runner ------------------------------------------

# runner_part N FIRST [BEYOND]: of the N-th part of a program below "A step"
# what follows the line that begins with FIRST, up to the one that begins with
# BEYOND
runner_part()
{
	awk -v n="$1" -v first="$2" -v beyond="${3-none}" '
		/^## / { section = /^## A step/ }
		section && /^```/ { within = /^```$/ && !within; blocks += within
			on = 0; next }
		!within || blocks != n { next }
		index($0, beyond) == 1 { exit }
		on
		index($0, first) == 1 { on = 1; if (first !~ /^\/\*/) print }' \
		doc/runners.md
}

# steps_with PROGRAM FLAG...: trains, which prints losses and weights
steps_with()
{
	program=$1
	shift
	$CC -std=c11 -Wall -Wextra -Werror -Wno-unused-parameter -Iinclude \
		-I"$WORK" "$@" \
		-o "$WORK/$program" tests/readme/step.c \
		-L"$library" -lphilox -Wl,-rpath,"$library" &&
		"$WORK/$program" >"$WORK/$program.out" &&
		[ "$(grep -c '^loss 0x' "$WORK/$program.out")" -eq 10 ] &&
		[ "$(grep '^loss' "$WORK/$program.out" | sort -u | wc -l)" -eq 10 ]
}

steps_agree()
{
	runner_part 1 '/* once' '/* each step' >"$WORK/capture.inc"
	runner_part 1 '/* each step' >"$WORK/launch.inc"
	runner_part 2 'enum philox_status step(' >"$WORK/body.inc"
	runner_part 3 '/* once' '/* each step' >"$WORK/once.inc"
	runner_part 3 '/* each step' >"$WORK/call.inc"
	wc -l "$WORK"/*.inc
	steps_with before && steps_with after -DWITH_RUNNER &&
		diff "$WORK/before.out" "$WORK/after.out"
}

# ------------------------------------------------------------------------------

has_line()
{
	grep -E "$1" README.md
}

shows_a_launch()
{
	grep -q '^philox_capture_begin(' "$WORK/README.md.01.part" &&
		grep -q 'philox_graph_launch(backward' "$WORK/README.md.01.part"
}

install='^(sudo )?apt-get update && (sudo )?apt-get install -y [a-z0-9+ -]+ && '
check "one command installs and runs the main job" \
	has_line "${install}make( .*)? && build/philox train"
check "one command installs and passes the tests" \
	has_line "${install}make( .*)? check\$"
check "README.md lists the pages of doc/" lists_pages
for page in CONTRIBUTING.md BENCHMARKS.md CHANGELOG.md; do
	check "$page: its links lead somewhere" links_lead_somewhere "$page"
	check "$page: its names exist" names_exist "$page"
done
programs=0
for page in "${pages[@]}"; do
	blocks "$page"
	check "$page: its links lead somewhere" links_lead_somewhere "$page"
	check "$page: its names exist" names_exist "$page"
	[ "$page" = README.md ] || has_no_example "$page" ||
		check "$page begins with an example" begins_with_an_example "$page"
	for block in "$WORK/${page##*/}".[0-9][0-9].*; do
		[ -f "$block" ] || continue
		number=${block#"$WORK/${page##*/}."}
		name="$page, block $((10#${number%%.*}))"
		try_block "$block"
		case $block in *.c) programs=$((programs + 1)) ;; esac
	done
done
check "the picture in README.md is that of doc/design.md's commands" \
	cmp "$tree/step.svg" doc/step.svg
check "README.md lists the commands" lists_commands
check "the Python of doc/law.md has the answers that it shows" \
	python3 tests/readme/law.py doc/law.md
check "doc/formats/ shows texts as the code describes them" shows_formats
check "the example at the top captures and launches" shows_a_launch
check "a step by hand and by a runner has the same bits" steps_agree
check "there are programs" test $programs -gt 0
finish

#!/bin/sh
# The programs in README.md compile and run; its two commands are there.
. "$(dirname "$0")/report.sh"

has_line()
{
	grep -E "$1" README.md
}

compiles()
{
	$CC -std=c11 -Wall -Wextra -Werror -Iinclude -o "${1%.c}" "$1" \
		-L"$BUILD" -lphilox -Wl,-rpath,"$(cd "$BUILD" && pwd)"
}

# Each block of C goes to a file of its own
[ -f README.md ] && awk -v work="$WORK" '
	/^```c$/ { file = work "/block" ++n ".c"; next }
	/^```/ { file = "" }
	file { print > file }' README.md

install='^(sudo )?apt-get update && (sudo )?apt-get install -y [a-z0-9+ -]+ && '
check "one command installs and runs the main job" \
	has_line "${install}make( .*)? && build/philox train"
check "one command installs and passes the tests" \
	has_line "${install}make check\$"
programs=0
for block in "$WORK"/block*.c; do
	[ -f "$block" ] && grep -q '^int main' "$block" || continue
	programs=$((programs + 1))
	check "program $programs compiles" compiles "$block"
	check "program $programs runs" "${block%.c}"
done
check "there is a program" test $programs -gt 0
finish

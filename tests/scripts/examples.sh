#!/bin/sh
# The examples compile with the public headers only, and README.md quotes them
# correctly.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

compiles()
{
	"$@" -Iinclude -c -o "$WORK/example.o"
}

# Each line of README.md's CUDA blocks is in an example
shows_examples()
{
	awk '/^```cuda$/ { inside = 1; next } /^```/ { inside = 0 }
		inside && NF' README.md >"$WORK/shown"
	test -s "$WORK/shown" || return 1
	cat examples/* >"$WORK/examples"
	grep -vxFf "$WORK/examples" "$WORK/shown" >"$WORK/strange"
	cat "$WORK/strange"
	test ! -s "$WORK/strange"
}

for compiler in gcc clang; do
	for example in examples/*.c; do
		if command -v $compiler >"$WORK/which"; then
			check "$example compiles with $compiler" compiles \
				$compiler -std=c11 -Wall -Wextra -Wpedantic \
				-Werror "$example"
		else
			skip "$example compiles" "no $compiler"
		fi
	done
done
for example in examples/*.cu; do
	if [ "$CUDA" = 0 ]; then
		skip "$example compiles" "no nvcc"
	else
		check "$example compiles" compiles "$CUDA_HOME/bin/nvcc" \
			-std=c++17 -Werror all-warnings "$example"
	fi
done
check "README.md shows the examples as they are" shows_examples
finish

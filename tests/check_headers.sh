#!/bin/sh
# Each public header stands alone, as C11 and as C++17, without a warning;
# philox/kernel.h also as CUDA.
. "$(dirname "$0")/report.sh"

compiles()
{
	language=$1
	header=$2
	shift 2
	echo "#include <$header>" | "$@" -x "$language" -Iinclude \
		-Wall -Wextra -Wpedantic -Werror -fsyntax-only -
}

compiles_as_cuda()
{
	echo "#include <philox/kernel.h>" >"$WORK/kernel.cu"
	"$CUDA_HOME/bin/nvcc" -std=c++17 -Werror all-warnings -Iinclude \
		-c -o "$WORK/kernel.o" "$WORK/kernel.cu"
}

headers=$(cd include && echo philox.h philox/*.h)

for compiler in gcc clang; do
	for header in $headers; do
		if command -v $compiler >"$WORK/which"; then
			check "$header is C11 for $compiler" \
				compiles c "$header" $compiler -std=c11
		else
			skip "$header is C11" "no $compiler"
		fi
	done
done
for compiler in g++ clang++; do
	for header in $headers; do
		if command -v $compiler >"$WORK/which"; then
			check "$header is C++17 for $compiler" \
				compiles c++ "$header" $compiler -std=c++17
		else
			skip "$header is C++17" "no $compiler"
		fi
	done
done
if [ "$CUDA" = 0 ]; then
	skip "philox/kernel.h is CUDA" "no nvcc"
else
	check "philox/kernel.h is CUDA" compiles_as_cuda
fi
finish

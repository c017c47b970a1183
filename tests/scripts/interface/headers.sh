#!/bin/sh
# Each public header compiles by itself, as C11 and as C++17, without a warning,
# also with the warnings that careful projects add: about casts in the style of
# C, and conversions that may lose something. So do the examples in comments.
# philox/kernel.h also compiles as CUDA, nvcc's and clang's.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

compiles()
{
	language=$1
	header=$2
	shift 2
	echo "#include <$header>" | "$@" -x "$language" -Iinclude \
		-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion \
		-Werror -fsyntax-only -
}

compiles_as_cuda()
{
	echo "#include <philox/kernel.h>" >"$WORK/kernel.cu"
	"$CUDA_HOME/bin/nvcc" -std=c++17 -Werror all-warnings -Iinclude \
		-c -o "$WORK/kernel.o" "$WORK/kernel.cu"
}

# clang seldom knows the installed toolkit, so the few words needed from CUDA's
# headers are here; clang itself declares the functions of a GPU.
compiles_as_clang_cuda()
{
	cat >"$WORK/clang.cu" <<-'END'
		#define __host__ __attribute__((host))
		#define __device__ __attribute__((device))
		#define __forceinline__ __inline__ __attribute__((always_inline))
		#define CUDA_VERSION 11000
		#include <stddef.h>
		#include <__clang_cuda_libdevice_declares.h>
		#include <__clang_cuda_device_functions.h>
		#include <philox/kernel.h>
		__host__ __device__ static inline float both(struct philox_rng rng)
		{
			struct philox_state state = philox_resolve(rng);
			struct philox_words words = philox_draw4(state, 1);
			float x, y;

			philox_normal_pair(words.w[0], words.w[1], &x, &y);
			return philox_dropout_f32(x, words.w[2], 99, y);
		}
		__device__ float on_device(struct philox_rng rng)
		{
			return both(rng);
		}
		__host__ float on_host(struct philox_rng rng)
		{
			return both(rng);
		}
	END
	for side in host device; do
		clang++ -x cuda -std=c++17 --cuda-$side-only -nocudainc \
			-nocudalib -Wall -Wextra -Werror -Wno-unknown-cuda-version \
			-Iinclude -S -o "$WORK/clang.s" "$WORK/clang.cu" || return 1
	done
}

headers=$(cd include && echo philox.h philox/*.h)

# A program that makes each public struct that begins with its size
cat >"$WORK/init.c" <<-'END'
	#include <philox.h>
	#include <string.h>
	#define CHECK(type, beside)                                        \
		do {                                                       \
			const size_t after = sizeof(size_t);               \
			struct type made, beside;                          \
			memset(&made, 0xff, sizeof(made));                 \
			made = PHILOX_INIT(struct type);                   \
			beside = PHILOX_INIT(struct type);                 \
			if (made.size != sizeof(made) ||                   \
			    beside.size != sizeof(made) ||                 \
			    memchr(bytes_of(&made) + after, 0xff,          \
				   sizeof(made) - after))                  \
				return 1;                                  \
		} while (0)
	static const char *bytes_of(const void *bytes)
	{
		return PHILOX_CAST(const char *, bytes);
	}
	int main(void)
	{
END
awk '/^struct philox_[a-z_]* \{/ { tag = $2; next }
	tag && /^\tsize_t size;/ { print "\t\tCHECK(" tag ", next);" }
	{ tag = "" }' include/philox/*.h >"$WORK/sized"
cat "$WORK/sized" >>"$WORK/init.c"
echo "	return 0; }" >>"$WORK/init.c"

# And one that uses them, with a region made from names
cat >"$WORK/helpers.c" <<-'END'
	#include <philox.h>
	#include <stdio.h>
	#define TRY(call)                                              \
		do {                                                   \
			if ((call) != PHILOX_OK)                       \
				return puts(philox_error_message()), 1; \
		} while (0)
	int main(void)
	{
		static const char *const ops[] = {"noise", "dropout"};
		struct philox_context_report report = PHILOX_INIT(struct philox_context_report);
		struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);
		struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);
		uint64_t n, extent, index;
		struct philox_device *device;
		struct philox_context *context;
		struct philox_region *region;
		struct philox_pass pass;
		static uint32_t words[8];

		TRY(philox_device_open("host:sync", &device));
		TRY(philox_context_create(device, &context));
		TRY(philox_region_create_named(context, "layer", ops, 2,
					       &region));
		TRY(philox_forward_begin(region, NULL, PHILOX_PASS_INFERENCE, &pass));
		shard.n_dims = 2;
		shard.dims[0].extent = 4;
		shard.dims[0].cut = PHILOX_CUT_ZIGZAG;
		shard.dims[0].parts = 2;
		shard.dims[1].extent = 4;
		TRY(philox_shard_spans(&shard, 0, 1, &fill.span, &n));
		TRY(philox_shard_extent(&shard, 0, &extent));
		TRY(philox_shard_index(&shard, 0, 1, &index));
		if (n != 1 || extent != 2 || index != 3 ||
		    fill.span.rows * fill.span.count != 8)
			return puts("a shard has other elements"), 1;
		fill.out = words;
		TRY(philox_pass_fill(&pass, 1, 0, &fill));
		TRY(philox_pass_commit(&pass, 0, NULL));
		TRY(philox_context_check(context, &report));
		philox_context_destroy(context);
		philox_device_close(device);
		return words[0] == words[1] || report.launches != 0;
	}
END

uses_helpers()
{
	"$@" -Iinclude -Wall -Wextra -Wpedantic -Wconversion \
		-Wmissing-field-initializers -Werror -o "$WORK/helpers" \
		"$WORK/helpers.c" -L"$BUILD" -lphilox \
		-Wl,-rpath,"$(cd "$BUILD" && pwd)" && "$WORK/helpers"
}

# Languages are named, as in "gcc -x c -std=c11"
makes_sized()
{
	"$@" -Iinclude -O1 -Wall -Wextra -Wpedantic -Wconversion \
		-Wmissing-field-initializers -Werror -o "$WORK/init" \
		"$WORK/init.c" -lm && "$WORK/init"
}

check "public structs begin with their size" \
	grep -q 'CHECK(philox_context_report, ' "$WORK/sized"
check "helpers are used in C" uses_helpers $CC -std=c11
check "helpers are used in C++" \
	uses_helpers $CXX -x c++ -std=c++17 -Wold-style-cast
for compiler in gcc clang; do
	if command -v $compiler >"$WORK/which"; then
		check "PHILOX_INIT() makes structs in C for $compiler" \
			makes_sized $compiler -x c -std=c11
		check "PHILOX_INIT() makes structs in C++ for $compiler" \
			makes_sized $compiler -x c++ -std=c++17 -Wold-style-cast
	else
		skip "PHILOX_INIT() makes structs" "no $compiler"
	fi
done

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
	careful=-Wold-style-cast
	[ $compiler = clang++ ] || careful="$careful -Wuseless-cast"
	for header in $headers; do
		if command -v $compiler >"$WORK/which"; then
			check "$header is C++17 for $compiler" \
				compiles c++ "$header" $compiler -std=c++17 \
				$careful
		else
			skip "$header is C++17" "no $compiler"
		fi
	done
done
if command -v clang++ >"$WORK/which"; then
	check "philox/kernel.h is CUDA for clang" compiles_as_clang_cuda
else
	skip "philox/kernel.h is CUDA for clang" "no clang++"
fi
if [ "$CUDA" = 0 ]; then
	skip "philox/kernel.h is CUDA" "no nvcc"
else
	check "philox/kernel.h is CUDA" compiles_as_cuda
fi
# --- examples in comments -----------------------------------------------------

# Blocks of comments in which a line is a statement, as $WORK/HEADER.LINE.c: what
# follows three dots, or a statement and blanks, is said and not done. A function
# stands alone; statements are put into one.
awk -v out="$WORK" '
	function end(  file)
	{
		if (n && code) {
			file = out "/" name "." line ".c"
			print "#include \"tests/interface/names.h\"" >file
			printf "%sstatic void part(void)\n{\n%s}\n", \
				functions, text >file
			close(file)
		}
		n = code = 0
		text = functions = ""
	}
	FNR == 1 {
		end()
		name = FILENAME
		sub(/.*\//, "", name)
	}
	/^ \*   / {
		s = $0
		sub(/^ \*   /, "", s)
		if (!n++)
			line = FNR
		if (s ~ /^ *(struct|float|philox_|return)[^ ]* ?[^ ].*;( |$)/)
			code = 1
		if (s ~ /^ *\.\.\./ || s ~ /^\[/)
			next
		sub(/;  +.*/, ";", s)
		text = text s "\n"
		if (s == "}") {
			functions = functions text
			text = ""
		}
		next
	}
	/^ \*$/ && n { next }
	{ end() }
	END { end() }' include/philox/*.h
# Dots within a line, and loops in words, are for readers
grep -lE '\.\.\.|<<<|for each' "$WORK"/*.h.*.c | xargs -r rm

examples_are_found()
{
	(cd "$WORK" && ls -- *.h.*.c) | tee "$WORK/examples"
	[ "$(wc -l <"$WORK/examples")" -ge 14 ]
}

example_compiles()
{
	cat "$1"
	example=${1##*/}
	$CC -std=c11 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -Wno-unused \
		-Iinclude -I. -D"HEADER_${example%%.*}" "$1"
}

check "the headers have examples" examples_are_found
for example in "$WORK"/*.h.*.c; do
	name=${example##*/}
	check "the example in ${name%.*.c}, line $(echo "$name" |
		cut -d . -f 3), compiles" example_compiles "$example"
done

# --- machines -----------------------------------------------------------------

# The compiler's own <stdint.h> is enough, as for a machine without a C library
refuses_32_bits()
{
	for header in philox/state.h philox/kernel.h; do
		! echo "#include <$header>" | "$1" -m32 -ffreestanding -x c \
			-Iinclude -fsyntax-only - 2>"$WORK/narrow" || return 1
		cat "$WORK/narrow"
		grep 'error:' "$WORK/narrow" | head -n 1 |
			grep -F 'philox is for 64-bit machines' || return 1
	done
}

for compiler in gcc clang; do
	if echo '#include <stdint.h>' | "$compiler" -m32 -ffreestanding -x c \
		-fsyntax-only - 2>"$WORK/which"; then
		check "$compiler -m32 says that philox is for 64 bits" \
			refuses_32_bits $compiler
	else
		skip "$compiler -m32 says that philox is for 64 bits" \
			"it has no -m32"
	fi
done

# The headers are the manual, and are read in terminals
is_narrow()
{
	! grep -nE '.{81}' include/*.h include/*.hpp include/philox/*.h
}
check "no line of a header is longer than 80" is_narrow
finish

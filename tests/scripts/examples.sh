#!/bin/bash
# The examples build as a user would build them, from an installed philox, and
# do what they say on the host device; README.md lists all of them, and doc/
# quotes them correctly.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

prefix=$WORK/prefix
unset LIBDIR BINDIR INCLUDEDIR MANDIR DESTDIR PKG_CONFIG_PATH
export LD_LIBRARY_PATH=$prefix/lib
strict="-Wall -Wextra -Wpedantic -Werror"

# flags of an installed philox
flags()
{
	PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config "$@" philox
}

# builds PROGRAM COMPILER ARGUMENT...: $WORK/PROGRAM
# shellcheck disable=SC2046 # flags are words
builds()
{
	program=$1
	shift
	"$@" $strict $(flags --cflags) -o "$WORK/$program" $(flags --libs)
}

# says PROGRAM TEXT: it runs and its output has a line with that text
says()
{
	(cd "$WORK" && "./$1") >"$WORK/$1.out" 2>&1
	status=$?
	cat "$WORK/$1.out"
	[ $status -eq 0 ] && grep -qF "$2" "$WORK/$1.out"
}

builds_and_says()
{
	program=$1 text=$2
	shift 2
	builds "$program" "$@" && says "$program" "$text"
}

# --- C ------------------------------------------------------------------------

# Forward and backward are two lines; the numbers in them are the same
masks_agree()
{
	builds smallest "$1" -std=c11 examples/smallest.c && says smallest forward
	[ "$(cut -c 9- "$WORK/smallest.out" | sort -u | wc -l)" -eq 1 ] &&
		[ "$(wc -l <"$WORK/smallest.out")" -eq 2 ]
}

# In two processes: the first line is the forward's, the second the backward's
resumes()
{
	builds resume "$1" -std=c11 examples/resume.c && says resume forward || return 1
	"$WORK/resume" save "$WORK/saved" >"$WORK/first" &&
		"$WORK/resume" load "$WORK/saved" >"$WORK/second" || return 1
	mask=$(cut -c 10- "$WORK/first")
	[ ${#mask} -eq 64 ] && [ "$mask" = "$(cut -c 10- "$WORK/second")" ]
}

# In two processes, with activations and a sum that a runner has
resumes_outputs()
{
	builds_and_says resume_runner "both are the same" "$1" -std=c11 \
		examples/resume_runner.c || return 1
	mkdir -p "$WORK/step" && "$WORK/resume_runner" save "$WORK/step" &&
		"$WORK/resume_runner" load "$WORK/step" >"$WORK/second" &&
		"$WORK/resume_runner" straight | diff - "$WORK/second" || return 1
	"$WORK/resume_runner" load "$WORK" 2>&1 | grep -F step.philox
}

# Most calls are replays, none is if the environment says so
replays()
{
	builds_and_says runner "the same weights and tokens" "$1" -std=c11 \
		examples/runner.c && grep '^forward .* 21 replayed$' \
		"$WORK/runner.out" && grep '^decode .* 44 replayed$' \
		"$WORK/runner.out" || return 1
	(PHILOX_RUNNER=eager && export PHILOX_RUNNER && says runner bit) &&
		! grep ' [1-9][0-9]* replayed$' "$WORK/runner.out"
}

c_examples()
{
	check "smallest.c: a mask twice ($1)" masks_agree "$1"
	check "forward_backward.c ($1)" builds_and_says forward_backward \
		"the mask of its own forward" \
		"$1" -std=c11 examples/forward_backward.c
	check "accumulate.c ($1)" builds_and_says accumulate \
		"each backward has its forward's" \
		"$1" -std=c11 examples/accumulate.c
	check "recompute.c ($1)" builds_and_says recompute "bit for bit" \
		"$1" -std=c11 examples/recompute.c
	check "decode.c ($1)" builds_and_says decode "as if decoded alone" \
		"$1" -std=c11 examples/decode.c
	check "generate.c ($1)" builds_and_says generate \
		"as decoded step by step" "$1" -std=c11 examples/generate.c
	check "resume.c, in two processes ($1)" resumes "$1"
	check "resume_runner.c, in two processes ($1)" resumes_outputs "$1"
	check "own_capture.c ($1)" builds_and_says own_capture "fresh numbers" \
		"$1" -std=c11 examples/own_capture.c
	check "sizes.c ($1)" builds_and_says sizes "4 graphs in 16 MiB" \
		"$1" -std=c11 examples/sizes.c
	check "runner.c ($1)" replays "$1"
	check "adamw.c ($1)" builds_and_says adamw "the bits of eager steps" \
		"$1" -std=c11 examples/adamw.c -lm
	check "fused.c ($1)" builds_and_says fused dx "$1" -std=c11 \
		examples/fused.c examples/fused_dropout_host.c
	check "quantize: its kernel and the library ($1)" builds_and_says \
		quantize "the same bits" "$1" -std=c11 \
		examples/quantize/main.c examples/quantize/kernel_host.c -lm
}

# --- C++ ----------------------------------------------------------------------

cxx_examples()
{
	check "raii.cpp ($1)" builds_and_says raii "0 tickets are owed" \
		"$1" -std=c++17 -Wold-style-cast -fno-exceptions -fno-rtti \
		examples/raii.cpp
	check "philox.hpp: handles end what they own, once ($1)" \
		builds_and_says handles "all ended" "$1" -std=c++17 \
		-Wold-style-cast -fno-exceptions -fno-rtti "$WORK/handles.cpp"
	check "philox.hpp throws if it is asked to ($1)" builds_and_says throws \
		"PHILOX_ERROR_INVALID: " "$1" -std=c++17 "$WORK/throws.cpp"
}

cat >"$WORK/throws.cpp" <<'END'
#define PHILOX_EXCEPTIONS
#include <philox.hpp>
#include <cstdio>

int main()
{
	try {
		philox::device device;
		philox::context context, moved;

		philox::check(philox_device_open("host", device.put()));
		philox::check(philox_context_create(device, context.put()));
		moved = std::move(context);
		if (context || !moved || moved.get() == nullptr)
			return 1;
		philox::check(philox_context_create(device, nullptr));
	} catch (const philox::error &e) {
		std::printf("%s: %s\n", philox_status_name(e.status()), e.what());
		return 0;
	}
	return 1;
}
END

# Names that are free again, handles that are stale and counts tell
cat >"$WORK/handles.cpp" <<'END'
#include <philox.hpp>
#include <cstdio>

#define NEED(that)                                                    \
	do {                                                          \
		if (!(that)) {                                        \
			std::printf("line %d: %s: %s\n", __LINE__,    \
				    #that, philox_error_message());   \
			return 1;                                     \
		}                                                     \
	} while (0)

static philox_status body(void *, philox_run *run)
{
	void *y;
	philox_status status = philox_run_alloc(run, 64, 0, "y", &y);

	return status ? status : philox_run_output(run, 0, y, 64);
}

static philox_status make(philox_runner *runner, philox::function &function)
{
	philox_output_desc output = {};
	philox_function_desc desc = PHILOX_INIT(philox_function_desc);

	desc.name = "f";
	desc.body = body;
	output.name = "y";
	desc.outputs = &output;
	desc.n_outputs = 1;
	return philox_function_create(runner, &desc, function.put());
}

static philox_status call(philox_function *function, philox_stream stream,
			  philox_output *output)
{
	philox_call one = PHILOX_INIT(philox_call);

	one.stream = stream;
	one.outputs = output;
	one.n_outputs = 1;
	return philox_function_call(function, &one);
}

static philox_status stale(philox_runner *runner, const philox_output &output)
{
	return philox_output_check(runner, &output);
}

static int functions(philox_runner *runner, philox_stream stream)
{
	philox::function f, again;

	NEED(make(runner, f) == PHILOX_OK);
	NEED(make(runner, again) == PHILOX_ERROR_EXISTS && !again);
	again = std::move(f);
	NEED(again && !f);
	again.reset();
	NEED(make(runner, f) == PHILOX_OK);

	philox_output first, second;
	{
		philox::output y(runner, stream), moved(runner, stream);

		NEED(!y && call(f, stream, y.put()) == PHILOX_OK && y);
		first = *static_cast<const philox_output *>(y);
		NEED(y->bytes == 64 && y.as<float>() == first.address);
		moved = std::move(y);
		NEED(moved && !y && stale(runner, first) == PHILOX_OK);
		NEED(call(f, stream, y.put()) == PHILOX_OK);
		second = y.release();
		NEED(!y);
		philox::output third(std::move(moved));
		NEED(!moved && third);
	}
	NEED(stale(runner, first) == PHILOX_ERROR_STALE);
	NEED(stale(runner, second) == PHILOX_OK);
	{
		philox::output y(runner, stream);

		y.reset(second);
	}
	NEED(stale(runner, second) == PHILOX_ERROR_STALE);
	return 0;
}

static int sessions(philox_context *context, philox_stream stream)
{
	philox_pool_desc desc = PHILOX_INIT(philox_pool_desc);
	philox_pool_stats stats = PHILOX_INIT(philox_pool_stats);
	philox_pool_block block;
	philox::pool pool;

	desc.name = "pool";
	NEED(philox_pool_create(context, &desc, pool.put()) == PHILOX_OK);
	{
		philox::pool_session open, moved;

		NEED(philox_pool_session_begin(pool, stream, open.put()) ==
		     PHILOX_OK);
		NEED(philox_pool_alloc(pool, stream, 64, 0, nullptr, &block) ==
		     PHILOX_OK);
		moved = std::move(open);
		NEED(moved && !open);
	}
	NEED(philox_pool_get_stats(pool, &stats) == PHILOX_OK);
	NEED(stats.rollbacks == 1 && stats.blocks == 0);
	{
		philox::pool_session open;
		philox_pool_session_stats report = {};

		NEED(philox_pool_session_begin(pool, stream, open.put()) ==
		     PHILOX_OK);
		NEED(philox_pool_alloc(pool, stream, 64, 0, nullptr, &block) ==
		     PHILOX_OK);
		NEED(open.end(PHILOX_OK, &report) == PHILOX_ERROR_INVALID &&
		     open);
		report.size = sizeof(report);
		NEED(open.end(PHILOX_OK, &report) == PHILOX_OK && !open);
		NEED(report.allocations == 1);
	}
	NEED(philox_pool_get_stats(pool, &stats) == PHILOX_OK);
	NEED(stats.rollbacks == 1 && stats.blocks == 1);
	return 0;
}

int main()
{
	philox::device device;
	NEED(philox_device_open("host", device.put()) == PHILOX_OK);
	philox::context context;
	philox::stream stream(device);
	NEED(philox_context_create(device, context.put()) == PHILOX_OK);
	NEED(philox_stream_create(device, 0, stream.put()) == PHILOX_OK);

	philox_runner_desc desc = PHILOX_INIT(philox_runner_desc);
	philox::runner runner, moved;
	desc.name = "runner";
	NEED(philox_runner_create(context, &desc, runner.put()) == PHILOX_OK);
	moved = std::move(runner);
	NEED(moved && !runner);
	if (functions(moved, stream) || sessions(context, stream))
		return 1;
	moved.reset();
	NEED(!moved);
	NEED(philox_runner_create(context, &desc, runner.put()) == PHILOX_OK);
	std::puts("all ended");
	return 0;
}
END

# --- CUDA ---------------------------------------------------------------------

# The kernels for one GPU: a fused one is linked, and runs where one is
cuda_fused()
{
	"$CUDA_HOME/bin/nvcc" -std=c++17 -arch=sm_80 -Werror all-warnings -ccbin g++ \
		-I"$prefix/include" -c -o "$WORK/fused_dropout.o" \
		examples/fused_dropout.cu &&
		builds_and_says fused_cuda dx "$CC" -std=c11 -DWITH_CUDA \
			examples/fused.c examples/fused_dropout_host.c \
			"$WORK/fused_dropout.o" -L"$CUDA_HOME/lib64" \
			-lcudart_static -lstdc++ -lpthread -ldl -lrt
}

cuda_quantize()
{
	"$CUDA_HOME/bin/nvcc" -std=c++17 -arch=sm_80 -Werror all-warnings -ccbin g++ \
		-I"$prefix/include" -c -o "$WORK/quantize.o" \
		examples/quantize/kernel.cu &&
		builds_and_says quantize_cuda "the same bits" "$CC" -std=c11 \
			-DWITH_CUDA examples/quantize/main.c \
			examples/quantize/kernel_host.c "$WORK/quantize.o" -lm \
			-L"$CUDA_HOME/lib64" -lcudart_static -lstdc++ \
			-lpthread -ldl -lrt
}

# Its kernel is compiled by NVRTC; without a driver the loader needs a stub
compiles_at_run_time()
{
	mkdir -p "$WORK/stub" &&
		ln -sf "$CUDA_HOME/lib64/stubs/libcuda.so" \
			"$WORK/stub/libcuda.so.1" || return 1
	builds nvrtc "$CC" -std=c11 -isystem "$CUDA_HOME/include" \
		examples/nvrtc.c -L"$CUDA_HOME/lib64" -lnvrtc \
		-L"$CUDA_HOME/lib64/stubs" -lcuda || return 1
	ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' && stub= ||
		stub=:$WORK/stub
	LD_LIBRARY_PATH=$prefix/lib:$CUDA_HOME/lib64$stub \
		says nvrtc "bytes of PTX"
}

# Status 77: there is no GPU
own_capture_cuda()
{
	builds own_capture_cuda "$CC" -std=c11 -isystem "$CUDA_HOME/include" \
		examples/own_capture_cuda.c -L"$CUDA_HOME/lib64" \
		-lcudart_static -lpthread -ldl -lrt || return 1
	says own_capture_cuda "fresh numbers" || [ $status -eq 77 ]
}

# CUDA 12's headers, as PyPI has them: $CUDA12_INCLUDE, or fetched; nothing is
# installed
cuda12_headers()
{
	[ -n "${CUDA12_INCLUDE-}" ] && return 0
	CUDA12_INCLUDE=$WORK/cuda12/nvidia/cuda_runtime/include
	timeout 120 python3 -m pip download -q --no-deps --retries 0 \
		--only-binary=:all: -d "$WORK/wheels" \
		nvidia-cuda-runtime-cu12==12.4.127 >"$WORK/fetched" 2>&1 &&
		python3 -m zipfile -e "$WORK"/wheels/*.whl "$WORK/cuda12"
}

compiles_with_cuda12()
{
	"$CC" -std=c11 $strict -I"$prefix/include" -isystem "$CUDA12_INCLUDE" \
		-fsyntax-only examples/own_capture_cuda.c &&
		grep -q 'CUDART_VERSION  *12' "$CUDA12_INCLUDE/cuda_runtime_api.h"
}

cuda_examples()
{
	check "fused.c with fused_dropout.cu" cuda_fused
	check "quantize with kernel.cu" cuda_quantize
	check "own_capture_cuda.c" own_capture_cuda
	if [ -e "$CUDA_HOME/include/nvrtc.h" ] &&
		[ -e "$CUDA_HOME/lib64/stubs/libcuda.so" ]; then
		check "nvrtc.c compiles its kernel" compiles_at_run_time
	else
		skip "nvrtc.c" "no NVRTC in $CUDA_HOME"
	fi
	if cuda12_headers; then
		check "own_capture_cuda.c with CUDA 12" compiles_with_cuda12
	else
		skip "own_capture_cuda.c with CUDA 12" \
			"CUDA12_INCLUDE is not set and $(tail -n 1 "$WORK/fetched")"
	fi
}

# --- README.md and doc/ -------------------------------------------------------

# Each line of a page's CUDA blocks is in an example
shows_examples()
{
	awk '/^```cuda$/ { inside = 1; next } /^```/ { inside = 0 }
		inside && NF' README.md doc/*.md >"$WORK/shown"
	test -s "$WORK/shown" || return 1
	cat examples/*.* >"$WORK/all"
	grep -vxFf "$WORK/all" "$WORK/shown" >"$WORK/strange"
	cat "$WORK/strange"
	test ! -s "$WORK/strange"
}

lists_examples()
{
	for file in examples/*; do
		grep -qF "]($file)" README.md || {
			echo "README.md does not link $file"
			return 1
		}
	done
}

# ------------------------------------------------------------------------------

check "philox is installed" make install PREFIX="$prefix" DESTDIR=
for compiler in gcc clang; do
	if command -v $compiler >"$WORK/which"; then
		c_examples $compiler
		cxx_examples ${compiler/gcc/g}++
	else
		skip "the examples with $compiler" "there is none"
	fi
done
if [ "$CUDA" = 0 ]; then
	skip "the examples with CUDA" "no nvcc"
else
	cuda_examples
fi
check "the pages show the examples as they are" shows_examples
check "README.md lists the examples" lists_examples
finish

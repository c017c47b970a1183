#!/bin/sh
# make install: programs outside the tree build through pkg-config and run. Where
# files go, and that they can be removed, is in folders.sh.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

stage=$WORK/stage
prefix=$stage/usr/local
unset LIBDIR BINDIR INCLUDEDIR MANDIR RPATH
export PREFIX=/usr/local DESTDIR="$stage"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"

# Valid as C11 and as C++17
cat >"$WORK/user.c" <<'END'
#include <philox.h>
#include <stdio.h>
#include <string.h>

#define TRY(call)                                                              \
	do {                                                                   \
		if (call) {                                                    \
			fprintf(stderr, "%s: %s\n", #call,                     \
				philox_error_message());                       \
			return 1;                                              \
		}                                                              \
	} while (0)

enum { N = 1000 };

static struct philox_device *device;
static philox_stream stream;
static float ones[N], first[N], second[N], gradient[N];

static int replay(struct philox_graph *graph, struct philox_launch_pass *use,
		  const void *from, float *to)
{
	TRY(philox_graph_launch(graph, stream, use, 1));
	TRY(philox_memory_copy(device, stream, to, from, sizeof(ones)));
	TRY(philox_stream_synchronize(device, stream));
	return 0;
}

int main(void)
{
	struct philox_span span = philox_span_elements(0, N);
	struct philox_ticket at_launch = {0, 0}, ticket;
	struct philox_op_desc op = {"dropout", 1, 4};
	struct philox_region_desc options;
	struct philox_context *context;
	struct philox_region *region;
	struct philox_graph *forward, *backward;
	struct philox_launch_pass one, two;
	struct philox_pass pass;
	void *x, *y;
	int i, dropped = 0;

	memset(&options, 0, sizeof(options));
	memset(&one, 0, sizeof(one));
	memset(&two, 0, sizeof(two));
	options.size = sizeof(options);
	options.name = "layer";
	options.ops = &op;
	options.n_ops = 1;
	for (i = 0; i < N; i++)
		ones[i] = 1;

	TRY(philox_device_open("host", &device));
	TRY(philox_context_create(device, &context));
	TRY(philox_region_create(context, &options, &region));
	TRY(philox_stream_create(device, 0, &stream));
	TRY(philox_memory_alloc(device, sizeof(ones), &x));
	TRY(philox_memory_alloc(device, sizeof(ones), &y));
	TRY(philox_memory_copy(device, stream, x, ones, sizeof(ones)));

	TRY(philox_capture_begin(context, stream));
	TRY(philox_forward_begin(region, stream, 0, &pass));
	TRY(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, 0.5, x, y));
	TRY(philox_pass_commit(&pass, 0, &ticket));
	TRY(philox_capture_end(context, stream, &forward));

	TRY(philox_capture_begin(context, stream));
	TRY(philox_backward_begin(region, stream, at_launch, 0, &pass));
	TRY(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, 0.5, x, y));
	TRY(philox_pass_commit(&pass, 0, NULL));
	TRY(philox_capture_end(context, stream, &backward));

	/* Two forwards, then their backwards in the order of a pipeline */
	if (replay(forward, &one, y, first) || replay(forward, &two, y, second))
		return 1;
	for (i = 0; i < N; i++)
		dropped += first[i] == 0;
	if (dropped < N / 3 || dropped > 2 * N / 3 ||
	    !memcmp(first, second, sizeof(first)))
		return fprintf(stderr, "the masks are no masks\n"), 1;
	if (replay(backward, &one, y, gradient))
		return 1;
	if (memcmp(gradient, first, sizeof(first)))
		return fprintf(stderr, "the first backward differs\n"), 1;
	if (replay(backward, &two, y, gradient))
		return 1;
	if (memcmp(gradient, second, sizeof(second)))
		return fprintf(stderr, "the second backward differs\n"), 1;
	if (philox_graph_launch(backward, stream, &one, 1) !=
	    PHILOX_ERROR_RELEASED)
		return fprintf(stderr, "a used ticket is accepted\n"), 1;

	TRY(philox_context_check(context, NULL));
	philox_context_destroy(context);
	TRY(philox_memory_free(device, x));
	TRY(philox_memory_free(device, y));
	TRY(philox_stream_destroy(device, stream));
	philox_device_close(device);
	printf("philox %s\n", philox_version());
	return 0;
}
END

# Functions in headers, which a machine without FMA leaves to libm
cat >"$WORK/kernel.c" <<'END'
#include <philox/kernel.h>
#include <stdio.h>

int main(void)
{
	struct philox_state state = {42, 0};
	float sum = 0;

	for (uint64_t i = 0; i < 1000; i++)
		sum += philox_normal_at(state, i);
	return sum > 200 || sum < -200;
}
END

pc()
{
	pkg-config --define-prefix "$@" philox
}

# Flags of pkg-config are meant to be split
# shellcheck disable=SC2046
builds()
{
	program=$1
	kind=$2
	shift 2
	"$@" -Wall -Wextra -Werror -o "$WORK/$program" "$WORK/$source.c" \
		-x none $(pc $kind --cflags --libs)
}

runs()
{
	LD_LIBRARY_PATH="$prefix/lib" "$WORK/$1"
}

versions_agree()
{
	"$prefix/bin/philox" --version
	[ "$("$prefix/bin/philox" --version)" = "philox $(pc --modversion)" ]
}

# Its peers are not installed
bench_misses()
{
	"$prefix/bin/philox" bench --only fill/bits/u32 --quick >"$WORK/bench" &&
		cat "$WORK/bench" && grep 'random123_gcc missing: ' "$WORK/bench"
}

# libphilox.a must be enough where only it is found
builds_statically()
{
	mkdir "$WORK/hidden" && mv "$prefix"/lib/*.so* "$WORK/hidden" &&
		builds static --static $CC -std=c11 &&
		! readelf -d "$WORK/static" | grep 'NEEDED.*philox'
	result=$?
	mv "$WORK/hidden"/* "$prefix/lib"
	return $result
}

# Both are found, and libphilox.a is meant
# shellcheck disable=SC2046
builds_with_static_libs()
{
	$CC -std=c11 -o "$WORK/static-libs" "$WORK/user.c" $(pc --cflags) \
		$(pc --variable=static_libs) &&
		! readelf -d "$WORK/static-libs" | grep 'NEEDED.*philox'
}

# What philox.pc says, and what philox_build() does
tells_of_cuda()
{
	inside=no
	! "$prefix/bin/philox" info | grep -q '^build .*devices host.*cuda' || inside=yes
	[ "$(pc --variable=cuda)" = $inside ]
}

# nvcc takes only some of the linker's options
# shellcheck disable=SC2046
builds_with_nvcc()
{
	cp "$WORK/kernel.c" "$WORK/kernel.cu"
	for libs in --libs --variable=static_libs; do
		"$CUDA_HOME/bin/nvcc" -o "$WORK/nvcc" "$WORK/kernel.cu" \
			$(pc --cflags) $(pc $libs) && runs nvcc || return 1
	done
}

# A program whose own device code is linked, as that of conditions is, which
# philox has linked for itself
# shellcheck disable=SC2046
links_device_code()
{
	cat >"$WORK/linked.cu" <<'END'
#include <philox.h>
#include <stdio.h>

__global__ void set(cudaGraphConditionalHandle handle)
{
	cudaGraphSetConditional(handle, 1);
}

int main()
{
	philox_device *device;

	printf("%p %d\n", (void *)set, philox_device_open("cuda", &device));
}
END
	for libs in --libs --variable=static_libs; do
		"$CUDA_HOME/bin/nvcc" -rdc=true -arch=sm_90 -o "$WORK/linked" \
			"$WORK/linked.cu" $(pc --cflags) $(pc $libs) \
			-lcudadevrt && runs linked || return 1
	done
}

check "make install works" make install
check "all headers are installed" \
	diff -r include "$prefix/include"
check "the installed tool and philox.pc have one version" versions_agree
check "the installed tool measures without its peers" bench_misses
source=user
check "a C program builds" builds user-c "" $CC -std=c11 -x c
check "it pairs forwards and backwards of replayed graphs" runs user-c
check "a C++ program builds" builds user-c++ "" $CXX -std=c++17 -x c++
check "it does the same" runs user-c++
check "a C program builds with --static" builds_statically
check "it does the same" runs static
check "a C program builds with static_libs" builds_with_static_libs
check "it does the same" runs static-libs
check "philox.pc tells whether CUDA is inside" tells_of_cuda
source=kernel
check "a program with its own draws builds" builds draws "" $CC -std=c11 -x c
check "it runs" runs draws
if [ "$CUDA" = 0 ]; then
	skip "a CUDA program builds with the same flags" "no nvcc"
	skip "so does one that links device code" "no nvcc"
else
	check "a CUDA program builds with the same flags" builds_with_nvcc
	check "so does one that links device code" links_device_code
fi
finish

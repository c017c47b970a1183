/*
 * tests/probe/shared.c - a GPU that others use too, and one that is lost
 *
 * See "A GPU that others use too" in doc/limits.md.
 */
#include "tests/probe/probe.h"

#include <cudaTypedefs.h>
#include <philox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/device/cuda/compat.h"

enum { WORDS = 1 << 16 };

/* --- a context and what is made with it ----------------------------------- */

struct scene {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *region;
	struct philox_graph *graph;
	philox_stream stream;
	void *out;
};

static void draw(const struct scene *scene, struct philox_ticket *ticket)
{
	const struct philox_span span = {.count = WORDS};
	struct philox_pass pass;

	TRY(philox_forward_begin(scene->region, scene->stream, 0, &pass));
	TRY(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, span, scene->out));
	TRY(philox_pass_commit(&pass, 0, ticket));
}

static struct scene make_scene(void)
{
	const char *op = "op";
	struct philox_ticket ticket;
	struct scene s;

	TRY(philox_device_open("cuda", &s.device));
	TRY(philox_context_create(s.device, &s.context));
	TRY(philox_region_create_named(s.context, "region", &op, 1, &s.region));
	TRY(philox_stream_create(s.device, 0, &s.stream));
	TRY(philox_memory_alloc(s.device, WORDS * 4, &s.out));
	TRY(philox_capture_begin(s.context, s.stream));
	draw(&s, &ticket);
	TRY(philox_capture_end(s.context, s.stream, &s.graph));
	draw(&s, &ticket);
	TRY(philox_stream_synchronize(s.device, s.stream));
	return s;
}

static enum philox_status fill(struct philox_device *device,
			       philox_stream stream, void *out)
{
	const struct philox_rng rng = {.state = {7, 4}};
	const struct philox_fill_desc desc = {.size = sizeof(desc),
					      .dist = PHILOX_DIST_BITS,
					      .dtype = PHILOX_DTYPE_U32,
					      .span = {.count = WORDS},
					      .out = out};

	return philox_rng_fill(device, stream, rng, &desc);
}

/* Whether memory of the GPU has those numbers. */
static int has_numbers(const void *memory)
{
	static uint32_t seen[WORDS];
	const struct philox_state state = {7, 4};

	MUST(cudaMemcpy(seen, memory, sizeof(seen), cudaMemcpyDefault));
	for (uint32_t i = 0; i < WORDS; i++)
		if (seen[i] != philox_draw4(state, i / 4).w[i % 4])
			return 0;
	return 1;
}

/* --- another context of CUDA ---------------------------------------------- */

static void ask_other_context(int which)
{
	PFN_cuCtxCreate_v11040 create;
	PFN_cuCtxPopCurrent_v4000 pop;
	PFN_cuDeviceGet_v2000 get;
	struct scene s = make_scene();
	CUdevice gpu;
	CUcontext other;
	cudaStream_t stream;
	enum philox_status status;

	(void)which;
	MUST(compat_driver_function("cuCtxCreate", (void **)&create));
	MUST(compat_driver_function("cuCtxPopCurrent", (void **)&pop));
	MUST(compat_driver_function("cuDeviceGet", (void **)&get));
	if (get(&gpu, 0) || create(&other, NULL, 0, 0, gpu))
		answer(INFO, "no second context could be made");
	MUST(cudaStreamCreate(&stream));
	pop(&other);
	status = fill(s.device, stream, s.out);
	if (fill(s.device, s.stream, s.out) != PHILOX_OK ||
	    philox_stream_synchronize(s.device, s.stream) != PHILOX_OK ||
	    !has_numbers(s.out))
		answer(DIFFERS,
		       "after a stream of another context (%s) the "
		       "device's own does not work: %s",
		       philox_status_name(status), philox_error_message());
	answer(status == PHILOX_OK ? DIFFERS : PASS, "%s",
	       status == PHILOX_OK ? "it is taken"
				   : philox_status_name(status));
}

/* --- default streams of threads ------------------------------------------- */

struct thread_fill {
	struct philox_device *device;
	void *out;
	enum philox_status status;
};

static void fill_on_own_default(void *pointer)
{
	struct thread_fill *of = pointer;

	of->status = fill(of->device, cudaStreamPerThread, of->out);
	if (of->status == PHILOX_OK)
		of->status = philox_stream_synchronize(of->device,
						       cudaStreamPerThread);
}

static void ask_per_thread(int which)
{
	struct scene s = make_scene();
	struct thread_fill here = {s.device, probe_memory(WORDS * 4), 0};
	struct thread_fill there = {s.device, probe_memory(WORDS * 4), 0};
	int right;

	(void)which;
	fill_on_own_default(&here);
	probe_beside(fill_on_own_default, &there);
	right = here.status == PHILOX_OK && there.status == PHILOX_OK &&
		has_numbers(here.out) && has_numbers(there.out);
	answer(right ? PASS : DIFFERS, "%s, %s: the numbers are %s",
	       philox_status_name(here.status),
	       philox_status_name(there.status), right ? "right" : "wrong");
}

/* --- a GPU that is lost --------------------------------------------------- */

/*
 * Writes what each call gave, first those that draw; 1 if the first `n_failing`
 * failed, and the ticket is as it was.
 */
static int call_all(struct scene *s, int n_failing, char *seen, size_t size)
{
	struct philox_launch_pass use = {0};
	size_t pending = 0, bytes, length = 0;
	char *text;
	enum philox_status status[8];
	int failed = 1, n = 0;

	status[n++] = fill(s->device, s->stream, s->out);
	status[n++] = philox_graph_launch(s->graph, s->stream, &use, 1);
	status[n++] = philox_stream_synchronize(s->device, s->stream);
	status[n++] = philox_context_save_text(s->context, &text, &bytes);
	for (int i = 0; i < n; i++) {
		failed &= status[i] != PHILOX_OK || i >= n_failing;
		length += (size_t)snprintf(seen + length, size - length, "%s ",
					   philox_status_name(status[i]));
	}
	philox_region_pending_count(s->region, &pending);
	return failed && pending == 1;
}

static enum philox_status destroy_all(struct scene *s)
{
	enum philox_status status = philox_graph_destroy(s->graph);

	if (status == PHILOX_OK)
		status = philox_context_destroy(s->context);
	if (status == PHILOX_OK)
		status = philox_device_close(s->device);
	return status;
}

static void answer_lost(struct scene *s, int n_failing, cudaError_t error)
{
	char seen[1024];
	double begun = probe_us(), took;
	int right = call_all(s, n_failing, seen, sizeof(seen));
	enum philox_status destroyed = destroy_all(s);

	took = probe_us() - begun;
	answer(right && destroyed == PHILOX_OK ? PASS : DIFFERS,
	       "%s; then fill, launch, synchronize, save: %sand destroyed: %s; "
	       "all in %.0f us",
	       cudaGetErrorName(error), seen, philox_status_name(destroyed),
	       took);
}

static void ask_fault(int which)
{
	struct scene s = make_scene();
	unsigned long long *nowhere = NULL;
	struct probe_launch launch;

	(void)which;
	probe_kernel(&launch, probe_count, 1, 1, &nowhere);
	MUST(probe_run(&launch, probe_stream()));
	answer_lost(&s, 4, cudaDeviceSynchronize());
}

static void ask_reset(int which)
{
	struct scene s = make_scene();

	(void)which;
	answer_lost(&s, 3, cudaDeviceReset());
}

/* --- parts of a GPU ------------------------------------------------------- */

static void ask_parts(int which)
{
	struct cudaDeviceProp prop;
	int mps = 0;

	(void)which;
#if CUDART_VERSION >= 12040
	MUST(cudaDeviceGetAttribute(&mps, cudaDevAttrMpsEnabled, 0));
#endif
	MUST(cudaGetDeviceProperties(&prop, 0));
	answer(INFO, "%s, %d multiprocessors; MPS is %s%s", prop.name,
	       prop.multiProcessorCount, mps ? "on" : "off",
	       strstr(prop.name, "MIG") ? "; it is a part of a GPU" : "");
}

const struct question shared_questions[] = {
	{"shared-other-context",
	 "a stream of another CUDA context is refused, and the device's own work",
	 ask_other_context, 0},
	{"shared-per-thread",
	 "each thread's default stream takes fills, with the right numbers",
	 ask_per_thread, 0},
	{"shared-parts", "whether this GPU is shared by MPS, or a part of one",
	 ask_parts, 0},
	{"lost-fault",
	 "after a fault of somebody's kernel every call fails, none waits, "
	 "tickets are as they were, and all can be destroyed",
	 ask_fault, 0},
	{"lost-reset",
	 "after cudaDeviceReset() calls on streams fail, none waits, tickets are "
	 "as they were, and all can be destroyed",
	 ask_reset, 0},
	{0}};

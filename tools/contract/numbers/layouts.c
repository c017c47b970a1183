/*
 * tools/contract/numbers/layouts.c - checks that a device draws other
 * libraries' numbers
 *
 * as the host does: the reference is the loops of lib/fill/layout/host.c,
 * called into plain memory; the tests show that those are right. Every dist and
 * dtype of every layout is drawn with each set of parameters.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/fill.h>
#include "tools/contract/contract.h"
#include "lib/dist/dist.h"
#include "lib/fill/fill.h"
#include "lib/fill/layout/layout.h"
#include "lib/kernels/host/host.h"

#define ELEMENTS  20000
#define SIZE_MOST 8 /* bytes of an element, at most */

/* Memory of the host, then of the device. */
struct arrays {
	size_t size;
	unsigned char *input, *expected, *got;
	void *in, *out;
	philox_stream stream;
};

static void open_arrays(struct contract *c, struct arrays *a)
{
	struct fill_args bits = {.rng = {.state = {.seed = 0x5eed}},
				 .count = ELEMENTS * SIZE_MOST / 4,
				 .rows = 1,
				 .threads = 1};

	a->size = ELEMENTS * SIZE_MOST;
	a->input = malloc(a->size);
	a->expected = malloc(a->size);
	a->got = malloc(a->size);
	EXPECT(a->input && a->expected && a->got);
	/* as floats these are NaN, infinities and denormals, too */
	bits.out = a->input;
	kernels_host[KERNEL_bits_u32](&bits);
	EXPECT_OK(contract_stream(c, 0, &a->stream));
	EXPECT_OK(contract_memory(c, a->size, &a->in));
	EXPECT_OK(contract_memory(c, a->size, &a->out));
	EXPECT_OK(contract_copy(c, a->in, a->input, a->size, a->stream));
}

static void close_arrays(struct contract *c, struct arrays *a)
{
	philox_stream_synchronize(c->device, a->stream);
	free(a->input);
	free(a->expected);
	free(a->got);
}

/* --- one fill ------------------------------------------------------------- */

/* Draws on the host, into `expected`. */
static void expect(const struct philox_fill_desc *fill,
		   struct philox_state state, struct arrays *a)
{
	struct philox_rng rng = {.state = state};
	struct philox_fill_desc host = *fill;
	struct layout_args args;

	host.in = a->input;
	host.out = a->expected;
	memset(a->expected, 0xa5, a->size);
	fill_args(&host, rng, &args.fill);
	layout_args(&host, &args);
	kernels_host[layout_kernel(host.dtype)](&args);
}

static void compare_layouts(struct contract *c,
			    const struct philox_fill_desc *fill,
			    const struct arrays *a)
{
	size_t i = 0;

	while (i < a->size && a->got[i] == a->expected[i])
		i++;
	EXPECT_TEXT(i == a->size,
		    "layout %s, %s, %s, first %" PRIu64 ", rows %" PRIu64
		    ": byte %zu is %02x, not %02x",
		    philox_layout_name(fill->layout->kind),
		    fill_dist_name(fill->dist), fill_dtype_name(fill->dtype),
		    fill->span.first, fill->span.rows, i, a->got[i],
		    a->expected[i]);
}

static void try_layout(struct contract *c, const struct philox_fill_desc *fill,
		       struct philox_rng rng, struct philox_state state,
		       struct arrays *a)
{
	struct philox_fill_desc device = *fill;

	expect(fill, state, a);
	device.in = a->in;
	device.out = a->out;
	EXPECT_OK(
		philox_memory_set(c->device, a->stream, a->out, 0xa5, a->size));
	EXPECT_OK(philox_rng_fill(c->device, a->stream, rng, &device));
	EXPECT_OK(contract_read(c, a->stream, a->out, a->got, a->size));
	compare_layouts(c, fill, a);
}

/* --- all of them ---------------------------------------------------------- */

/* Calls a function for every fill of every layout. */
typedef void each_fill(struct contract *c, const struct philox_fill_desc *fill,
		       struct arrays *a);

static void with_dtypes(struct contract *c, struct philox_fill_desc *fill,
			struct arrays *a, each_fill *run)
{
	for (unsigned dist = 0; dist < 10; dist++)
		for (unsigned dtype = 0; dtype < 8; dtype++) {
			fill->dist = (enum philox_dist)dist;
			fill->dtype = (enum philox_dtype)dtype;
			if (layout_has(fill->layout->kind, fill->dist,
				       fill->dtype))
				EXPECT_PART(run(c, fill, a));
		}
}

static void with_layouts(struct contract *c,
			 const struct philox_fill_desc *fill, struct arrays *a,
			 each_fill *run)
{
	for (unsigned kind = 1; kind <= PHILOX_LAYOUT_JAX; kind++)
		for (uint32_t threads = 0; threads < 2000; threads += 1000) {
			struct philox_layout_desc layout = {
				.size = sizeof(layout),
				.kind = (enum philox_layout_kind)kind,
				.threads = threads,
				.sms = 3,
				.threads_per_sm = 512,
				.elements = ELEMENTS};
			struct philox_fill_desc copy = *fill;

			copy.layout = &layout;
			EXPECT_PART(with_dtypes(c, &copy, a, run));
		}
}

static void with_all(struct contract *c, each_fill *run)
{
	struct philox_fill_desc fill = {
		.size = sizeof(fill),
		.span = philox_span_elements(0, ELEMENTS),
		.p = 0.3,
		.high = 1,
		.std = 1,
		.rate = 1,
		.to = 999};
	struct arrays a = {0};

	open_arrays(c, &a);
	if (!c->failure[0])
		with_layouts(c, &fill, &a, run);
	close_arrays(c, &a);
}

/* --- checks --------------------------------------------------------------- */

static const struct philox_state plain_state = {0x0123456789abcdef, 4096};

static void run_plain(struct contract *c, const struct philox_fill_desc *fill,
		      struct arrays *a)
{
	struct philox_rng rng = {.state = plain_state};

	try_layout(c, fill, rng, plain_state, a);
}

static void every_layout(struct contract *c)
{
	with_all(c, run_plain);
}

/* PyTorch and nvFuser have parameters of their own, and vectors. */
static void run_parameters(struct contract *c,
			   const struct philox_fill_desc *fill,
			   struct arrays *a)
{
	struct philox_layout_desc layout = *fill->layout;
	struct philox_fill_desc other = *fill;

	if (layout.kind != PHILOX_LAYOUT_PYTORCH &&
	    layout.kind != PHILOX_LAYOUT_NVFUSER)
		return;
	other.layout = &layout;
	other.low = -0.1;
	other.high = 0.7;
	other.mean = 3;
	other.std = 0.5;
	other.rate = 0.01;
	other.to = (uint64_t)1 << 30;
	for (other.p = 0; other.p <= 1; other.p += 0.5) {
		layout.vector = layout.vector ? layout.vector / 2 : 4;
		EXPECT_PART(run_plain(c, &other, a));
	}
}

static void every_layout_parameter(struct contract *c)
{
	with_all(c, run_parameters);
}

static void run_parts(struct contract *c, const struct philox_fill_desc *fill,
		      struct arrays *a)
{
	struct philox_fill_desc part = *fill;

	part.span = philox_span_elements(1021, 3001);
	EXPECT_PART(run_plain(c, &part, a));
	part.span = philox_span_rows(517, 30, 65, 600);
	EXPECT_PART(run_plain(c, &part, a));
}

static void every_part(struct contract *c)
{
	with_all(c, run_parts);
}

static void run_cell(struct contract *c, const struct philox_fill_desc *fill,
		     struct arrays *a)
{
	static const struct philox_state states[] = {{99, 44},
						     {7, PHILOX_POISON_OFFSET}};
	struct philox_rng rng = {{0, 0}, NULL};
	void *cell;

	EXPECT_OK(contract_memory(c, sizeof(states[0]), &cell));
	rng.cell = cell;
	for (int i = 0; i < 2; i++) {
		EXPECT_OK(contract_copy(c, cell, &states[i], sizeof(states[i]),
					a->stream));
		EXPECT_PART(try_layout(c, fill, rng, states[i], a));
	}
}

static void layouts_from_a_cell(struct contract *c)
{
	with_all(c, run_cell);
}

const struct contract_check contract_layouts[] = {
	{"every layout gives the host's bits", .run = every_layout},
	{"layouts take every parameter", .run = every_layout_parameter},
	{"a part in a layout is the host's", .run = every_part},
	{"a layout reads its state from a cell, and poison",
	 .run = layouts_from_a_cell},
	{0},
};

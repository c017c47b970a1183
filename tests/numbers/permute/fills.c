/*
 * tests/numbers/permute/fills.c - orders as fills, and what is refused
 *
 * tests/numbers/permute/known.txt has items of orders; known.py makes it and
 * shares nothing with the library.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/support.h"

#define PATH "tests/numbers/permute/known.txt"

static const struct {
	enum philox_dtype dtype;
	size_t size;
	uint64_t most;
	const char *name;
} types[] = {{PHILOX_DTYPE_U32, 4, (uint64_t)1 << 32, "u32"},
	     {PHILOX_DTYPE_I32, 4, (uint64_t)1 << 31, "i32"},
	     {PHILOX_DTYPE_U64, 8, (uint64_t)1 << 63, "u64"},
	     {PHILOX_DTYPE_I64, 8, (uint64_t)1 << 63, "i64"}};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

static struct philox_fill_desc order_fill(int type, uint64_t n,
					  struct philox_span span, void *out)
{
	return (struct philox_fill_desc){
		.size = sizeof(struct philox_fill_desc),
		.dist = PHILOX_DIST_PERMUTATION,
		.dtype = types[type].dtype,
		.span = span,
		.out = out,
		.n = n};
}

static uint64_t read_item(int type, const void *out, size_t i)
{
	return types[type].size == 4 ? ((const uint32_t *)out)[i]
				     : ((const uint64_t *)out)[i];
}

/* --- known answers -------------------------------------------------------- */

struct bed {
	struct fixture *f;
	void *out;
	unsigned drawn;
};

/* An item, drawn by itself in each dtype that has n items. */
static void check_item(struct bed *bed, struct philox_state state, uint64_t n,
		       uint64_t place, uint64_t item)
{
	for (int type = 0; type < TYPES; type++) {
		struct philox_fill_desc fill = order_fill(
			type, n, philox_span_elements(place, 1), bed->out);

		if (n > types[type].most)
			continue;
		OK(philox_rng_fill(bed->f->device, bed->f->stream,
				   (struct philox_rng){.state = state}, &fill));
		OK(philox_stream_synchronize(bed->f->device, bed->f->stream));
		cr_assert_eq(read_item(type, bed->out, 0), item,
			     "%s, n %" PRIu64 ", place %" PRIu64,
			     types[type].name, n, place);
		bed->drawn++;
	}
}

PROMISE(permute_fills, elements_are_the_items_of_the_order)
{
	struct bed bed = {f, make_memory(f, 8), 0};
	FILE *file = fopen(PATH, "r");
	struct philox_state state;
	uint64_t n, place, item;
	char line[2048];
	int at, used;

	cr_assert_not_null(file, "%s: run the tests from the top of the tree",
			   PATH);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%" SCNx64 " %" SCNu64 " %" SCNu64 ":%n",
			   &state.seed, &state.offset, &n, &at) != 3)
			continue;
		for (; sscanf(line + at, " %" SCNu64 " %" SCNu64 "%n", &place,
			      &item, &used) == 2;
		     at += used + (line[at + used] == ','))
			check_item(&bed, state, n, place, item);
	}
	fclose(file);
	cr_assert_geq(bed.drawn, 10000);
}

/* --- spans ---------------------------------------------------------------- */

static void refuse(struct fixture *f, const struct philox_fill_desc *fill,
		   const char *named)
{
	struct philox_rng rng = {.state = {1, 0}};
	uint64_t words;

	FAILS(philox_rng_fill(f->device, f->stream, rng, fill),
	      PHILOX_ERROR_INVALID);
	NAMES(named);
	FAILS(philox_state_fill(rng.state, fill, 1), PHILOX_ERROR_INVALID);
	NAMES(named);
	FAILS(philox_layout_advance(fill, &words), PHILOX_ERROR_INVALID);
	NAMES(named);
}

PROMISE(permute_fills, a_span_ends_below_n_or_its_last_element_is_named)
{
	void *out = make_memory(f, 64 * 8);
	struct philox_rng rng = {.state = {1, 0}};

	for (int type = 0; type < TYPES; type++) {
		struct philox_fill_desc fill =
			order_fill(type, 40, philox_span_elements(7, 33), out);

		OK(philox_rng_fill(f->device, f->stream, rng, &fill));
		fill.span = philox_span_elements(7, 34);
		refuse(f, &fill, "last element is 40, not below n 40");
		fill.span = philox_span_rows(1, 4, 9, 10);
		OK(philox_rng_fill(f->device, f->stream, rng, &fill));
		fill.span = philox_span_rows(1, 4, 10, 10);
		refuse(f, &fill, "last element is 40, not below n 40");
		fill.span = philox_span_elements(UINT64_MAX, 1);
		refuse(f, &fill, "last element is 18446744073709551615");
		fill.span = philox_span_elements(50, 0);
		OK(philox_rng_fill(f->device, f->stream, rng, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
	}
}

PROMISE(permute_fills, n_fits_the_dtype)
{
	void *out = make_memory(f, 64);

	for (int type = 0; type < TYPES; type++) {
		struct philox_fill_desc fill =
			order_fill(type, types[type].most,
				   philox_span_elements(0, 4), out);

		OK(philox_rng_fill(f->device, f->stream,
				   (struct philox_rng){.state = {1, 0}},
				   &fill));
		fill.n++;
		refuse(f, &fill, "n of dist permutation is");
		fill.n = 0;
		refuse(f, &fill, "n of dist permutation is 0, not from 1 to");
		NAMES(types[type].name);
	}
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* --- passes --------------------------------------------------------------- */

enum { ITEMS = 1000, RANKS = 4, PART = ITEMS / RANKS };

/* An epoch's order, drawn in the parts that ranks have, in a graph. */
static struct philox_graph *record_epoch(struct fixture *f,
					 struct philox_region *region,
					 int64_t *out)
{
	struct philox_graph *graph;
	struct philox_pass pass;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	for (uint64_t rank = 0; rank < RANKS; rank++)
		OK(philox_pass_permutation(
			&pass, 1, PHILOX_DTYPE_I64,
			philox_span_elements(rank * PART, PART), ITEMS,
			out + rank * PART));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_capture_end(f->context, f->stream, &graph));
	return graph;
}

PROMISE(permute_fills, each_launch_of_a_graph_has_the_order_of_its_own_state)
{
	struct philox_region *region = make_region(f, "epoch");
	int64_t *out = make_memory(f, ITEMS * sizeof(*out));
	struct philox_graph *graph = record_epoch(f, region, out);
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	for (uint64_t step = 0; step < 3; step++) {
		struct philox_state state =
			predict_cell(0, "epoch", 1, 0, 4 * step);

		OK(philox_graph_launch(graph, f->stream, &use, 1));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint64_t i = 0; i < ITEMS; i++)
			cr_assert_eq((uint64_t)out[i],
				     philox_permute(state, ITEMS, i));
	}
	OK(philox_graph_destroy(graph));
}

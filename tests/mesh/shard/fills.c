/*
 * tests/mesh/shard/fills.c - each rank draws its part of the whole's numbers
 */
#include <inttypes.h>
#include "tests/support/fills.h"
#include "tests/support/ranks/shard.h"

enum { ELEMENTS = 900 };

static const struct philox_state state = {0x0123456789abcdef, 4096};
static struct model model;
static struct shard_bounds bounds;

struct arrays {
	char *in, *out, *part_in, *part_out;
};

static struct arrays make_arrays(struct fixture *f)
{
	struct arrays arrays = {
		make_memory(f, ELEMENTS * 8), make_memory(f, ELEMENTS * 8),
		make_memory(f, ELEMENTS * 8), make_memory(f, ELEMENTS * 8)};

	scatter(arrays.in, ELEMENTS * 8);
	return arrays;
}

static void draw_whole(struct fixture *f, const struct fill_name *name,
		       const struct arrays *arrays, uint64_t count)
{
	struct philox_fill_desc fill = plain_fill(name);

	fill.span = philox_span_elements(0, count);
	fill.in = arrays->in;
	give_sums(f, &fill);
	fill.out = arrays->out;
	OK(philox_rng_fill(f->device, f->stream,
			   (struct philox_rng){.state = state}, &fill));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* As philox/mesh.h says: span after span, one at a time */
static void draw_part(struct fixture *f, const struct fill_name *name,
		      const struct philox_shard_desc *shard,
		      const struct arrays *arrays)
{
	struct philox_fill_desc fill = plain_fill(name);
	uint64_t n = 1, offset = 0;

	for (size_t i = 0; i < model.n; i++)
		memcpy(arrays->part_in + i * name->in_size,
		       arrays->in + model.element[i] * name->in_size,
		       name->in_size);
	memset(arrays->part_out, 0xa5, ELEMENTS * 8);
	for (uint64_t k = 0; k < n; k++) {
		OK(philox_shard_spans(shard, k, 1, &fill.span, &n));
		if (k >= n)
			break;
		fill.in = arrays->part_in + offset * name->in_size;
		give_sums(f, &fill);
		fill.out = arrays->part_out + offset * name->size;
		OK(philox_rng_fill(f->device, f->stream,
				   (struct philox_rng){.state = state}, &fill));
		offset += fill.span.rows * fill.span.count;
	}
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert_eq(offset, model.n, "%s", shard_say(shard));
}

static void check_part(const struct fill_name *name,
		       const struct philox_shard_desc *shard,
		       const struct arrays *arrays)
{
	for (size_t i = 0; i < model.n; i++)
		cr_assert(!memcmp(arrays->part_out + i * name->size,
				  arrays->out + model.element[i] * name->size,
				  name->size),
			  "%s of %s: element %zu", name->name, shard_say(shard),
			  i);
	for (size_t i = model.n * name->size; i < ELEMENTS * 8; i++)
		cr_assert_eq((unsigned char)arrays->part_out[i], 0xa5,
			     "%s of %s: written beyond", name->name,
			     shard_say(shard));
}

PROMISE(shard_fills, of_every_kind_have_the_numbers_of_the_whole)
{
	struct arrays arrays = make_arrays(f);

	for (unsigned i = 0; i < 160; i++) {
		struct philox_shard_desc shard = shard_tensor(
			1 + i % PHILOX_SHARD_DIMS, ELEMENTS, &bounds);
		const struct fill_name *name = &fill_names[i % n_fill_names];

		draw_whole(f, name, &arrays, model_whole(&shard));
		do {
			model_part(&shard, &model);
			draw_part(f, name, &shard, &arrays);
			check_part(name, &shard, &arrays);
		} while (shard_next_part(&shard));
	}
}

/* --- ranks of a layer ----------------------------------------------------- */

enum {
	BATCH = 5,
	SEQUENCE = 15,
	HIDDEN = 7,
	DATA = 2,
	RING = 3,
	TENSOR = 2,
	WHOLE = BATCH * SEQUENCE * HIDDEN
};

static struct philox_region *make_layer(struct philox_context *context)
{
	static const char *const names[] = {"dropout"};
	struct philox_region *layer;

	OK(philox_region_create_named(context, "layer", names, 1, &layer));
	return layer;
}

/* Dropout of a rank's part, captured with all that finds its spans */
static struct philox_graph *record_dropout(
	struct fixture *f, struct philox_region *layer,
	const struct philox_shard_desc *shard, const float *in, float *out)
{
	struct philox_pass pass;
	uint64_t n = 1, offset = 0;

	record_begin(f);
	OK(philox_forward_begin(layer, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	for (uint64_t k = 0; k < n; k++) {
		struct philox_span span = {0};
		uint64_t extent;

		OK(philox_shard_extent(shard, 0, &extent));
		OK(philox_shard_index(shard, 0, extent - 1, &extent));
		OK(philox_shard_spans(shard, k, 1, &span, &n));
		OK(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, 0.25,
				       in + offset, out + offset));
		offset += span.rows * span.count;
	}
	OK(philox_pass_commit(&pass, 0, NULL));
	return record_end(f);
}

/* A process with a context of its own, in place of the fixture's */
static void run_rank(struct fixture *f, const struct philox_shard_desc *shard,
		     const float *in, float *out)
{
	struct philox_context *others = f->context;
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_graph *graph;

	OK(philox_context_create(f->device, &f->context));
	graph = record_dropout(f, make_layer(f->context), shard, in, out);
	OK(philox_graph_launch(graph, f->stream, &use, 1));
	OK(philox_device_synchronize(f->device));
	philox_graph_destroy(graph);
	philox_context_destroy(f->context);
	f->context = others;
}

static struct philox_shard_desc make_whole(void)
{
	struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);

	shard.n_dims = 3;
	shard.dims[0].extent = BATCH;
	shard.dims[1].extent = SEQUENCE;
	shard.dims[2].extent = HIDDEN;
	return shard;
}

static void cut_dim_of(struct philox_shard_dim *dim, enum philox_shard_cut cut,
		       uint32_t parts, uint32_t part)
{
	dim->cut = cut;
	dim->parts = parts;
	dim->part = part;
}

/* Samples over data ranks, a ring of sequence ranks, columns: all uneven */
GRAPH_PROMISE(shard_fills, of_ranks_are_the_dropout_of_one_process)
{
	float *in = make_memory(f, WHOLE * 4),
	      *whole = make_memory(f, WHOLE * 4);
	float *part_in = make_memory(f, WHOLE * 4);
	float *part = make_memory(f, WHOLE * 4);
	struct philox_shard_desc shard = make_whole();
	size_t seen = 0;

	for (size_t i = 0; i < WHOLE; i++)
		in[i] = (float)(i + 1);
	run_rank(f, &shard, in, whole);
	for (uint32_t rank = 0; rank < DATA * RING * TENSOR; rank++) {
		cut_dim_of(&shard.dims[0], PHILOX_CUT_BLOCK, DATA,
			   rank / TENSOR / RING);
		cut_dim_of(&shard.dims[1], PHILOX_CUT_ZIGZAG, RING,
			   rank / TENSOR % RING);
		cut_dim_of(&shard.dims[2], PHILOX_CUT_BLOCK, TENSOR,
			   rank % TENSOR);
		model_part(&shard, &model);
		for (size_t i = 0; i < model.n; i++)
			part_in[i] = in[model.element[i]];
		run_rank(f, &shard, part_in, part);
		for (size_t i = 0; i < model.n; i++, seen++)
			cr_assert_eq(part[i], whole[model.element[i]],
				     "rank %" PRIu32 ", element %zu", rank, i);
	}
	cr_assert_eq(seen, WHOLE);
}

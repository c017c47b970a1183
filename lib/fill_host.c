/*
 * lib/fill_host.c - see lib/fill_host.h
 */
#include <pthread.h>
#include <string.h>
#include "fill_elements.h"
#include "fill_host.h"
#include "float_mode.h"
#include "simd.h"

/* What differs between fills. Sizes are of an element. */
struct fill_kind {
	unsigned n; /* elements of a block */
	unsigned in_size, out_size;
	void (*row)(const struct fill_args *args, const struct fill_row *row,
		    struct philox_state state);
	void (*poison)(const struct fill_row *row);
};

/* --- the plain loops ------------------------------------------------------ */

#define FILL_ROW_LOOPS(name, out, in, n)                                   \
	static void row_##name(const struct fill_args *args,               \
			       const struct fill_row *row,                 \
			       struct philox_state state)                  \
	{                                                                  \
		uint64_t unit = row->first / fill_n_##name;                \
		uint64_t units =                                           \
			fill_units(fill_n_##name, row->first, row->count); \
                                                                           \
		for (uint64_t i = 0; i < units; i++)                       \
			fill_edge_##name(args, row, state, unit + i);      \
	}                                                                  \
                                                                           \
	static void poison_##name(const struct fill_row *row)              \
	{                                                                  \
		uint64_t unit = row->first / fill_n_##name;                \
		uint64_t units =                                           \
			fill_units(fill_n_##name, row->first, row->count); \
                                                                           \
		for (uint64_t i = 0; i < units; i++)                       \
			fill_poison_##name(row, unit + i);                 \
	}

FILL_LIST(FILL_ROW_LOOPS)

#define FILL_KIND(name, out, in, n)                                  \
	[KERNEL_##name] = {n, sizeof(fill_##in), sizeof(fill_##out), \
			   row_##name, poison_##name},
static const struct fill_kind kinds[KERNEL_COUNT] = {FILL_LIST(FILL_KIND)};

/* --- the vector loops ----------------------------------------------------- */

/* A row that vector loops write, and how far they have come. */
struct fill_walk {
	const struct fill_kind *kind;
	const struct fill_args *args;
	struct philox_state state;
	simd_fill *loop;
	unsigned chunk; /* blocks */
	uint64_t block; /* the next one */
	uint64_t skip;  /* its elements before the row */
	uint64_t left;  /* elements to write */
	const char *in; /* those of the next element; `out`, unread, if none */
	char *out;
};

static void walk_on(struct fill_walk *walk, uint64_t chunks, uint64_t elements)
{
	walk->block += chunks * walk->chunk;
	walk->skip = 0;
	walk->left -= elements;
	walk->out += elements * walk->kind->out_size;
	walk->in += elements * walk->kind->in_size;
}

static void walk_whole(struct fill_walk *walk, uint64_t chunks)
{
	walk->loop(walk->args, walk->state, walk->block, chunks, walk->in,
		   walk->out);
	walk_on(walk, chunks, chunks * walk->chunk * walk->kind->n);
}

/* One chunk that begins before the row, or ends after it. */
static void walk_part(struct fill_walk *walk)
{
	_Alignas(64) char in[SIMD_CHUNK_MAX * 4 * 8] = {0};
	_Alignas(64) char out[SIMD_CHUNK_MAX * 4 * 8];
	const struct fill_kind *kind = walk->kind;
	uint64_t room = walk->chunk * kind->n - walk->skip;
	uint64_t elements = walk->left < room ? walk->left : room;

	if (walk->args->in)
		memcpy(in + walk->skip * kind->in_size, walk->in,
		       elements * kind->in_size);
	walk->loop(walk->args, walk->state, walk->block, 1, in, out);
	memcpy(walk->out, out + walk->skip * kind->out_size,
	       elements * kind->out_size);
	walk_on(walk, 1, elements);
}

/* A chunk in which word 3 of the counter changes, or what is written of it. */
static void walk_turn(struct fill_walk *walk)
{
	const struct fill_kind *kind = walk->kind;
	uint64_t room = walk->chunk * kind->n - walk->skip;
	struct fill_row row = {.first = walk->block * kind->n + walk->skip,
			       .count = walk->left < room ? walk->left : room,
			       .in = walk->args->in ? walk->in : NULL,
			       .out = walk->out};

	kind->row(walk->args, &row, walk->state);
	walk_on(walk, 1, row.count);
}

static void run_vector(const struct simd_loops *loops, enum kernel kernel,
		       const struct fill_args *args, const struct fill_row *row,
		       struct philox_state state)
{
	const struct fill_kind *kind = &kinds[kernel];
	struct fill_walk walk = {.kind = kind,
				 .args = args,
				 .state = state,
				 .loop = loops->fill[kernel],
				 .chunk = loops->chunk,
				 .block = row->first / kind->n,
				 .skip = row->first % kind->n,
				 .left = row->count,
				 .in = row->in ? row->in : row->out,
				 .out = row->out};

	while (walk.left) {
		uint64_t chunks = walk.left / (walk.chunk * kind->n);
		uint64_t most =
			((1ull << 32) - (uint32_t)walk.block) / walk.chunk;

		if (!most)
			walk_turn(&walk);
		else if (walk.skip || !chunks)
			walk_part(&walk);
		else
			walk_whole(&walk, chunks < most ? chunks : most);
	}
}

/* --- rows ----------------------------------------------------------------- */

/* Of a whole chunk that is made aside, so little would be used. */
static int is_narrow(const struct simd_loops *loops, enum kernel kernel,
		     const struct fill_row *row)
{
	return row->count < loops->chunk * kinds[kernel].n / 8;
}

static void run_row(const struct simd_loops *loops, enum kernel kernel,
		    const struct fill_args *args, const struct fill_row *row,
		    struct philox_state state)
{
	if (philox_is_poison(state))
		kinds[kernel].poison(row);
	else if (loops && !is_narrow(loops, kernel, row))
		run_vector(loops, kernel, args, row, state);
	else
		kinds[kernel].row(args, row, state);
}

static void run_rows(const struct simd_loops *loops, enum kernel kernel,
		     const struct fill_args *args)
{
	const struct philox_state state = philox_resolve(args->rng);
	const struct fill_kind *kind = &kinds[kernel];

	for (uint64_t r = 0; r < args->rows; r++) {
		struct fill_row row =
			fill_row_of(args, r, kind->in_size, kind->out_size);

		run_row(loops, kernel, args, &row, state);
	}
}

void fill_host_plain(enum kernel kernel, const struct fill_args *args)
{
	run_rows(NULL, kernel, args);
}

/* --- threads -------------------------------------------------------------- */

/* What a thread is worth starting for, in bytes. */
#define PART_BYTES (1u << 20)
/* A part begins at a multiple of this many elements after the row's first. */
#define PART_ALIGN 4096
#define PARTS_MAX  256

struct fill_part {
	enum kernel kernel;
	struct fill_args args;
	pthread_t thread;
	int started;
};

/* Part i of n: rows of a shard, or elements of a plain span. */
static void cut(struct fill_part *part, uint64_t i, uint64_t n)
{
	const struct fill_kind *kind = &kinds[part->kernel];
	struct fill_args *args = &part->args;
	int plain = args->rows == 1;
	uint64_t total = plain ? args->count : args->rows;
	uint64_t align = plain ? PART_ALIGN : 1;
	uint64_t share = (total / n + align) / align * align;
	uint64_t begin = share * i < total ? share * i : total;
	uint64_t length = share < total - begin ? share : total - begin;
	uint64_t start = plain ? begin : begin * args->count;

	args->first += plain ? begin : begin * args->row_stride;
	*(plain ? &args->count : &args->rows) = length;
	args->out = (char *)args->out + start * kind->out_size;
	if (args->in)
		args->in = (const char *)args->in + start * kind->in_size;
}

static void *run_part(void *pointer)
{
	const struct fill_part *part = pointer;

	struct float_mode mode = float_mode_set();

	if (part->args.count)
		run_rows(simd_used(), part->kernel, &part->args);
	float_mode_restore(mode);
	return NULL;
}

static uint64_t count_parts(enum kernel kernel, const struct fill_args *args)
{
	uint64_t bytes = args->rows * args->count * kinds[kernel].out_size;
	uint64_t parts = bytes / PART_BYTES;

	if (parts > args->threads)
		parts = args->threads;
	if (args->rows > 1 && parts > args->rows)
		parts = args->rows;
	return parts > PARTS_MAX ? PARTS_MAX : parts;
}

/* A thread that cannot be started has its part done by the caller. */
void fill_host_run(enum kernel kernel, const struct fill_args *args)
{
	uint64_t n = count_parts(kernel, args);
	struct fill_part parts[PARTS_MAX];

	if (n <= 1) {
		run_rows(simd_used(), kernel, args);
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		parts[i].kernel = kernel;
		parts[i].args = *args;
		cut(&parts[i], i, n);
		parts[i].started =
			i && pthread_create(&parts[i].thread, NULL, run_part,
					    &parts[i]) == 0;
	}
	for (uint64_t i = 0; i < n; i++)
		if (!parts[i].started)
			run_part(&parts[i]);
	for (uint64_t i = 0; i < n; i++)
		if (parts[i].started)
			pthread_join(parts[i].thread, NULL);
}

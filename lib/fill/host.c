/*
 * lib/fill/host.c - a fill on the host device
 */
#include <pthread.h>
#include <string.h>
#include "lib/base/float_mode.h"
#include "lib/dist/elements.h"
#include "lib/fill/fill.h"
#include "lib/fill/simd/tables.h"

/* The differences between fills. Sizes are of an element. */
struct fill_kind {
	unsigned n; /* elements of a block */
	unsigned in_size, out_size;
	void (*row)(const struct fill_args *args, const struct fill_row *row,
		    struct philox_state state);
	void (*poison)(const struct fill_row *row);
};

/* --- the plain loops ------------------------------------------------------ */

#define FILL_ROW_LOOPS(name, out, in, n, traits)                           \
	static void row_##name(const struct fill_args *args,               \
			       const struct fill_row *row,                 \
			       struct philox_state state)                  \
	{                                                                  \
		const fill_source_##name source =                          \
			fill_begin_##name(args, state);                    \
		uint64_t unit = row->first / fill_n_##name;                \
		uint64_t units =                                           \
			fill_units(fill_n_##name, row->first, row->count); \
                                                                           \
		for (uint64_t i = 0; i < units; i++)                       \
			fill_edge_##name(args, row, source, unit + i);     \
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

#define FILL_KIND(name, out, in, n, traits)                          \
	[KERNEL_##name] = {n, sizeof(fill_##in), sizeof(fill_##out), \
			   row_##name, poison_##name},
static const struct fill_kind kinds[KERNEL_COUNT] = {FILL_LIST(FILL_KIND)};

/* --- the vector loops ----------------------------------------------------- */

/* A row that vector loops write, and their progress. */
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

/* A chunk in which word 3 of the counter changes, or the written part of it. */
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

/* Not of a kernel without a loop, or if little of a chunk would be used. */
static int vectors_pay(const struct simd_loops *loops, enum kernel kernel,
		       const struct fill_row *row)
{
	return loops && loops->fill[kernel] &&
	       row->count >= loops->chunk * kinds[kernel].n / 8;
}

static void run_row(const struct simd_loops *loops, enum kernel kernel,
		    const struct fill_args *args, const struct fill_row *row,
		    struct philox_state state)
{
	if (philox_is_poison(state))
		kinds[kernel].poison(row);
	else if (vectors_pay(loops, kernel, row))
		run_vector(loops, kernel, args, row, state);
	else
		kinds[kernel].row(args, row, state);
}

/* The first `left` elements of row r from its element `skip` on, or all. */
static struct fill_row rest_of_row(const struct fill_kind *kind,
				   const struct fill_args *args, uint64_t r,
				   uint64_t skip, uint64_t left)
{
	struct fill_row row =
		fill_row_of(args, r, kind->in_size, kind->out_size);

	row.first += skip;
	row.count -= skip;
	if (row.count > left)
		row.count = left;
	row.out = (char *)row.out + skip * kind->out_size;
	if (row.in)
		row.in = (const char *)row.in + skip * kind->in_size;
	return row;
}

/* Elements of the array, numbered from 0 over all rows. */
static void run_rows(const struct simd_loops *loops, enum kernel kernel,
		     const struct fill_args *args, struct fill_part part)
{
	const struct philox_state state = philox_resolve(args->rng);
	uint64_t left = part.end - part.begin;
	uint64_t r = left ? part.begin / args->count : 0;
	uint64_t skip = left ? part.begin % args->count : 0;

	for (; left; r++, skip = 0) {
		struct fill_row row =
			rest_of_row(&kinds[kernel], args, r, skip, left);

		run_row(loops, kernel, args, &row, state);
		left -= row.count;
	}
}

static struct fill_part all_of(const struct fill_args *args)
{
	return (struct fill_part){0, args->rows * args->count};
}

void fill_host_plain(enum kernel kernel, const struct fill_args *args)
{
	run_rows(NULL, kernel, args, all_of(args));
}

/* --- threads -------------------------------------------------------------- */

/* The least output that is worth a thread, in bytes: many units. */
#define PART_BYTES (1u << 20)
#define PARTS_MAX  256

unsigned fill_host_parts(enum kernel kernel, const struct fill_args *args)
{
	uint64_t bytes = args->rows * args->count * kinds[kernel].out_size;
	uint64_t most = args->threads < PARTS_MAX ? args->threads : PARTS_MAX;

	return (unsigned)(bytes / PART_BYTES < most ? bytes / PART_BYTES
						    : most);
}

struct fill_part fill_host_part(uint64_t elements, unsigned i, unsigned n)
{
	uint64_t units = (elements - 1) / FILL_PART_UNIT + 1;
	struct fill_part part = {units * i / n * FILL_PART_UNIT,
				 units * (i + 1) / n * FILL_PART_UNIT};

	if (part.end > elements)
		part.end = elements;
	return part;
}

/* A thread's part of the work. */
struct fill_job {
	enum kernel kernel;
	const struct fill_args *args;
	struct fill_part part;
	pthread_t thread;
	int started;
};

static void *run_job(void *pointer)
{
	const struct fill_job *job = pointer;
	struct float_mode mode = float_mode_set();

	run_rows(simd_loops_used(), job->kernel, job->args, job->part);
	float_mode_restore(mode);
	return NULL;
}

static void start_job(struct fill_job *job)
{
	job->started = pthread_create(&job->thread, NULL, run_job, job) == 0;
}

/*
 * The caller does the first part, and those whose threads cannot be started.
 * Not inlined: fills without threads need no stack for the jobs.
 */
static __attribute__((noinline)) void run_parts(enum kernel kernel,
						const struct fill_args *args,
						unsigned n)
{
	struct fill_job jobs[PARTS_MAX];

	for (unsigned i = 0; i < n; i++) {
		jobs[i] = (struct fill_job){.kernel = kernel, .args = args};
		jobs[i].part = fill_host_part(all_of(args).end, i, n);
		if (i)
			start_job(&jobs[i]);
	}
	for (unsigned i = 0; i < n; i++)
		if (!jobs[i].started)
			run_job(&jobs[i]);
	for (unsigned i = 0; i < n; i++)
		if (jobs[i].started)
			pthread_join(jobs[i].thread, NULL);
}

void fill_host_run(enum kernel kernel, const struct fill_args *args)
{
	unsigned n = fill_host_parts(kernel, args);

	if (n > 1)
		run_parts(kernel, args, n);
	else
		run_rows(simd_loops_used(), kernel, args, all_of(args));
}

/* --- keys: many keys at once, on the host --------------------------------- */

void keys_fold(const struct simd_keyed *blocks, unsigned n,
	       uint64_t out[SIMD_KEYED_MAX])
{
	const struct simd_loops *loops = simd_loops_used();

	if (loops) {
		loops->fold(blocks, n, out);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		out[i] = philox_fold(blocks->seed[i], blocks->high[i],
				     blocks->low[i]);
}

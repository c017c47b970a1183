/*
 * tools/bench/pools/memory.c - how much memory a pool takes from the device
 *
 * The trace is that of training a transformer: a forward makes the activations
 * of layer after layer and frees temporaries of other sizes at once, a backward
 * makes a gradient for each activation and frees both in reverse. Batches have
 * several shapes.
 */
#include <math.h>
#include <stdio.h>
#include "tools/bench/pools/pools.h"

#define LAYERS 12
#define WIDTH  256  /* elements of a token, of 2 bytes each */
#define VOCAB  1000 /* of the last layer */
#define MIB    ((double)(1 << 20))

/* Bytes for each token: what a layer keeps, and temporaries on the way. */
static const size_t kept[] = {2 * WIDTH, 8,         6 * WIDTH, 2 * WIDTH,
			      WIDTH / 8, 8 * WIDTH, 2 * WIDTH};
static const size_t temporaries[] = {4 * WIDTH, 4, 1000,     16 * WIDTH,
				     24,        6, 2 * WIDTH};

#define N_KEPT (sizeof(kept) / sizeof(kept[0]))

/* Tokens of a batch: in the order of a training, and of captures. */
static const size_t batches[] = {1024, 1500, 512, 2048, 1777, 900, 2048, 1280};
static const size_t captured[] = {2048, 1536, 1024, 768, 512, 256};

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct use {
	struct bench *bench;
	struct philox_pool *pool;
	uint64_t live, peak; /* bytes, as asked for */
	enum philox_status status;
};

/* --- a training ----------------------------------------------------------- */

static struct philox_pool_block take_bytes(struct use *of, size_t bytes)
{
	struct philox_pool_block block = {0};

	if (of->status != PHILOX_OK)
		return block;
	of->status = philox_pool_alloc(of->pool, of->bench->stream, bytes, 0,
				       "bench", &block);
	of->live += block.bytes;
	if (of->live > of->peak)
		of->peak = of->live;
	return block;
}

static void give_bytes(struct use *of, struct philox_pool_block block)
{
	if (of->status != PHILOX_OK)
		return;
	of->status =
		philox_pool_free(of->pool, of->bench->stream, block.address);
	of->live -= block.bytes;
}

static void forward_layer(struct use *of, size_t tokens,
			  struct philox_pool_block blocks[N_KEPT])
{
	for (size_t i = 0; i < N_KEPT; i++) {
		struct philox_pool_block temporary =
			take_bytes(of, tokens * temporaries[i]);

		blocks[i] = take_bytes(of, tokens * kept[i]);
		give_bytes(of, temporary);
	}
}

/* Takes the gradient from above, and leaves that of what is below. */
static void backward_layer(struct use *of,
			   struct philox_pool_block blocks[N_KEPT],
			   struct philox_pool_block *gradient)
{
	for (size_t i = N_KEPT; i-- > 0;) {
		struct philox_pool_block below = take_bytes(of, blocks[i].bytes);

		give_bytes(of, *gradient);
		give_bytes(of, blocks[i]);
		*gradient = below;
	}
}

static void train_batch(struct use *of, size_t tokens)
{
	struct philox_pool_block blocks[LAYERS][N_KEPT], logits, gradient;

	for (int i = 0; i < LAYERS; i++)
		forward_layer(of, tokens, blocks[i]);
	logits = take_bytes(of, tokens * 2 * VOCAB);
	gradient = take_bytes(of, tokens * 2 * WIDTH);
	give_bytes(of, logits);
	for (int i = LAYERS; i-- > 0;)
		backward_layer(of, blocks[i], &gradient);
	give_bytes(of, gradient);
}

/* --- rows ----------------------------------------------------------------- */

static const char *const kinds[] = {"expandable", "plain"};

static unsigned flags_of(size_t kind)
{
	return kind ? 0 : PHILOX_POOL_EXPANDABLE;
}

static const char *memory_name(const char *what, size_t kind)
{
	return bench_name("pool/%s/%s", what, kinds[kind]);
}

/* Bytes; a figure that is missing is NAN. */
static void print_memory(struct bench *bench, const char *what, size_t kind,
			 double value, const char *peer, double peer_value,
			 const char *note)
{
	bench_print(bench,
		    &(struct bench_row){memory_name(what, kind), value / MIB,
					"MiB", peer, peer_value / MIB, note});
}

/* A device may have no address spaces: its rows say so. */
static int print_unsupported(struct bench *bench, const char *what, size_t kind,
			     const char *peer, enum philox_status status)
{
	if (status != PHILOX_ERROR_UNSUPPORTED)
		return bench_try("pool", status);
	print_memory(bench, what, kind, NAN, peer, NAN, philox_error_message());
	return 0;
}

static enum philox_status mapped_most(struct philox_pool *pool, uint64_t *most)
{
	struct philox_pool_stats found = PHILOX_INIT(struct philox_pool_stats);
	enum philox_status status = philox_pool_get_stats(pool, &found);

	*most = found.mapped_peak;
	return status;
}

static int measure_training(void *user, size_t kind)
{
	struct bench *bench = user;
	struct use of = {.bench = bench};
	uint64_t mapped = 0;

	bench_step(bench);
	of.status = bench_pool_make(bench, flags_of(kind), &of.pool);
	if (of.status != PHILOX_OK)
		return print_unsupported(bench, "training", kind, "live",
					 of.status);
	for (size_t i = 0; i < N(batches); i++)
		train_batch(&of, batches[i]);
	if (of.status == PHILOX_OK)
		of.status = mapped_most(of.pool, &mapped);
	if (bench_try("training", of.status) ||
	    bench_try("pool", philox_pool_destroy(of.pool)))
		return -1;
	print_memory(bench, "training", kind, (double)mapped, "live",
		     (double)of.peak, NULL);
	return 0;
}

/* --- captures ------------------------------------------------------------- */

struct captures {
	struct bench *bench;
	size_t kind;
	uint64_t one, largest, sum; /* bytes mapped */
	size_t n;
	struct philox_graph *graphs[N(captured)];
};

static enum philox_status capture_batch(struct captures *of,
					struct philox_pool *pool, size_t tokens)
{
	struct bench *bench = of->bench;
	struct use use = {.bench = bench, .pool = pool};
	struct philox_pool_session *session;
	enum philox_status ended;

	use.status = philox_capture_begin(bench->context, bench->stream);
	if (use.status != PHILOX_OK)
		return use.status;
	use.status = philox_pool_session_begin(pool, bench->stream, &session);
	if (use.status == PHILOX_OK) {
		train_batch(&use, tokens);
		ended = philox_pool_session_end(session, use.status, NULL);
		use.status = use.status == PHILOX_OK ? ended : use.status;
	}
	ended = philox_capture_end(bench->context, bench->stream,
				   &of->graphs[of->n]);
	of->n += ended == PHILOX_OK;
	return use.status == PHILOX_OK ? ended : use.status;
}

static enum philox_status destroy_graphs(struct captures *of)
{
	enum philox_status status = PHILOX_OK;

	for (; of->n && status == PHILOX_OK; of->n--)
		status = philox_graph_destroy(of->graphs[of->n - 1]);
	return status;
}

/* Captures some of the batches in one pool: what it has mapped then. */
static enum philox_status capture_in_one(struct captures *of,
					 const size_t *tokens, size_t n,
					 uint64_t *mapped)
{
	struct philox_pool_checkpoint *empty = NULL;
	struct philox_pool *pool;
	enum philox_status status =
		bench_pool_make(of->bench, flags_of(of->kind), &pool);

	if (status != PHILOX_OK)
		return status;
	status = philox_pool_checkpoint_create(pool, &empty);
	for (size_t i = 0; i < n && status == PHILOX_OK; i++) {
		status = philox_pool_restore(pool, empty, NULL, 0, NULL, 0);
		if (status == PHILOX_OK)
			status = capture_batch(of, pool, tokens[i]);
	}
	if (status == PHILOX_OK)
		status = mapped_most(pool, mapped);
	philox_pool_checkpoint_destroy(empty);
	if (status == PHILOX_OK)
		status = destroy_graphs(of);
	return status == PHILOX_OK ? philox_pool_destroy(pool) : status;
}

static enum philox_status capture_apart(struct captures *of)
{
	enum philox_status status = PHILOX_OK;
	uint64_t mapped = 0;

	for (size_t i = 0; i < N(captured) && status == PHILOX_OK; i++) {
		status = capture_in_one(of, &captured[i], 1, &mapped);
		of->sum += mapped;
		if (mapped > of->largest)
			of->largest = mapped;
	}
	return status;
}

static int measure_captures(void *user, size_t kind)
{
	struct bench *bench = user;
	struct captures of = {.bench = bench, .kind = kind};
	enum philox_status status;

	bench_step(bench);
	status = capture_in_one(&of, captured, N(captured), &of.one);
	if (status == PHILOX_OK)
		status = capture_apart(&of);
	if (status != PHILOX_OK)
		return print_unsupported(bench, "captures", kind, "largest",
					 status);
	print_memory(bench, "captures", kind, (double)of.one, "largest",
		     (double)of.largest, NULL);
	print_memory(bench, "captures", kind, (double)of.one, "pools apart",
		     (double)of.sum, NULL);
	return 0;
}

/* --- the group ------------------------------------------------------------ */

static int training_is_wanted(const struct bench *bench, size_t kind)
{
	return bench_wants(bench, memory_name("training", kind));
}

static int captures_are_wanted(const struct bench *bench, size_t kind)
{
	return bench_wants(bench, memory_name("captures", kind));
}

static const struct bench_series training_series = {N(kinds),
						    training_is_wanted,
						    measure_training},
				 captures_series = {N(kinds),
						    captures_are_wanted,
						    measure_captures};

static size_t memory_steps(const struct bench *bench)
{
	return bench_series_steps(bench, &training_series) +
	       bench_series_steps(bench, &captures_series);
}

static int run_memory(struct bench *bench)
{
	return bench_series_run(bench, &training_series, bench) ||
			       bench_series_run(bench, &captures_series, bench)
		       ? -1
		       : 0;
}

const struct bench_group bench_pool_memory = {.run = run_memory,
					      .steps = memory_steps};

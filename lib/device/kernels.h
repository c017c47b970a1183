/*
 * lib/device/kernels.h - the kernels of a device and their arguments
 */
#ifndef LIB_DEVICE_KERNELS_H
#define LIB_DEVICE_KERNELS_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <philox/kernel.h>
#include <philox/state.h>

/* --- fill_kernels: the distributions, their kernels, and arguments -------- */

/*
 * Part of lib/device/kernels.h. The table below is the only list of
 * distributions: kernels, loops, names, checks and tools are made from it.
 * doc/source.md says how one is added.
 */

/*
 * Every distribution: D(dist, name, function, parameters, kernels).
 *
 *   dist        PHILOX_<dist> of philox/fill.h
 *   name        in messages, and for tools
 *   function    philox_<function>() of philox/fill.h draws it for a pass
 *   parameters  which it has: <parameters>_parameters of lib/dist/dists.c
 *               checks them and puts them into struct fill_args,
 *               FILL_<parameters>() names them
 *   kernels     X() of each, as below
 */
#define FILL_DISTS(D, X)                                                       \
	D(BITS, "bits", bits, no, KERNELS_WORDS(X, bits, 0))                   \
	D(INTEGERS, "integers", integers, integers,                            \
	  KERNELS_WORDS(X, integers, FILL_SIGNED | FILL_MENDED))               \
	D(UNIFORM, "uniform", uniform, range, KERNELS_UNIFORM(X, uniform))     \
	D(NORMAL, "normal", normal, mean_std, KERNELS_NORMAL(X, normal))       \
	D(LOG_NORMAL, "log-normal", log_normal, mean_std,                      \
	  KERNELS_REAL(X, log_normal, 2, 0))                                   \
	D(EXPONENTIAL, "exponential", exponential, rate,                       \
	  KERNELS_REFINED(X, exponential, 0))                                  \
	D(GUMBEL, "gumbel", gumbel, no, KERNELS_REFINED(X, gumbel, FILL_LONG)) \
	D(BERNOULLI, "bernoulli", bernoulli, p,                                \
	  KERNELS_REAL(X, bernoulli, 4, 0))                                    \
	D(DROPOUT, "dropout", dropout, p_in,                                   \
	  KERNELS_REAL(X, dropout, 4, FILL_READS))                             \
	D(STOCHASTIC_ROUND, "rounding", stochastic_round, in,                  \
	  KERNELS_NARROW(X, round))                                            \
	D(SIGNS, "signs", signs, no, KERNELS_SIGNS(X, signs))                  \
	D(PERMUTATION, "permutation", permutation, n,                          \
	  KERNELS_WORDS(X, permutation, FILL_SIGNED))                          \
	D(TRUNCATED_NORMAL, "truncated-normal", truncated_normal, truncated,   \
	  KERNELS_SHORT(X, truncated_normal))                                  \
	D(CATEGORICAL, "categorical", categorical, sums,                       \
	  KERNELS_WORDS(X, categorical, FILL_SIGNED | FILL_SUMS))

/* Parameters: P(type, member of struct philox_fill_desc), in their order. */
#define FILL_no(P)
#define FILL_in(P)       P(const void *, in)
#define FILL_p(P)        P(double, p)
#define FILL_p_in(P)     P(double, p) P(const void *, in)
#define FILL_rate(P)     P(double, rate)
#define FILL_mean_std(P) P(double, mean) P(double, std)
#define FILL_range(P)    P(double, low) P(double, high)
#define FILL_integers(P) P(uint64_t, from) P(uint64_t, to)
#define FILL_n(P)        P(uint64_t, n)
#define FILL_truncated(P) FILL_mean_std(P) FILL_range(P)
#define FILL_sums(P)      FILL_in(P) FILL_n(P)

/*
 * The kernels of a distribution, one for each dtype: X(name, type of the
 * output, type of the input or of the output again if there is none, elements
 * that one block makes, traits).
 */
#define KERNELS_WORDS(X, name, traits)     \
	X(name##_u32, u32, u32, 4, traits) \
	X(name##_u64, u64, u64, 2, traits)

#define KERNELS_REAL(X, name, n_f64, traits)   \
	X(name##_f32, f32, f32, 4, traits)     \
	X(name##_f64, f64, f64, n_f64, traits) \
	X(name##_bf16, bf16, bf16, 4, traits)  \
	X(name##_f16, f16, f16, 4, traits)

#define KERNELS_REFINED(X, name, traits)           \
	X(name##_f32, f32, f32, 4, FILL_MENDED)    \
	X(name##_f64, f64, f64, 2, traits)         \
	X(name##_bf16, bf16, bf16, 4, FILL_MENDED) \
	X(name##_f16, f16, f16, 4, FILL_MENDED)

#define KERNELS_UNIFORM(X, name)                   \
	X(name##_f32, f32, f32, 4, FILL_RANGED)    \
	X(name##_f64, f64, f64, 2, 0)              \
	X(name##_bf16, bf16, bf16, 4, FILL_RANGED) \
	X(name##_f16, f16, f16, 4, FILL_RANGED)

#define KERNELS_NORMAL(X, name)                \
	X(name##_f32, f32, f32, 4, FILL_PLAIN) \
	X(name##_f64, f64, f64, 2, 0)          \
	X(name##_bf16, bf16, bf16, 4, 0)       \
	X(name##_f16, f16, f16, 4, 0)

#define KERNELS_NARROW(X, name)                  \
	X(name##_bf16, bf16, f32, 4, FILL_READS) \
	X(name##_f16, f16, f32, 4, FILL_READS)

#define KERNELS_SIGNS(X, name)           \
	X(name##_f32, f32, f32, 4, 0)    \
	X(name##_bf16, bf16, bf16, 4, 0) \
	X(name##_f16, f16, f16, 4, 0)    \
	X(name##_u32, u32, u32, 4, 0)

#define KERNELS_SHORT(X, name)                     \
	X(name##_f32, f32, f32, 4, FILL_SOLVES)    \
	X(name##_bf16, bf16, bf16, 8, FILL_SOLVES) \
	X(name##_f16, f16, f16, 8, FILL_SOLVES)

/* Their traits, or 0. */
enum {
	FILL_READS = 1,   /* there is an input */
	FILL_PLAIN = 2,   /* it looks at `plain` of its arguments */
	FILL_SIGNED = 4,  /* integers, of i32 or i64, too */
	FILL_LONG = 8,    /* in f64 it takes a GPU many registers */
	FILL_MENDED = 16, /* few elements need more than their own words */
	FILL_SOLVES = 32, /* it takes a GPU many registers in every dtype */
	FILL_SUMS = 64,   /* `in` has n sums of u64, which all elements read */
	FILL_ENDS = 128,  /* numbers are kept within the ends of a range */
	FILL_RANGED = FILL_PLAIN | FILL_ENDS
};

/* Every kernel of a fill. */
#define FILL_KERNELS_OF(dist, name, function, parameters, kernels) kernels
#define FILL_LIST(X)                                               FILL_DISTS(FILL_KERNELS_OF, X)

/* Fills in other libraries' layouts, by the size and kind of an element. */
#define LAYOUT_LIST(X) X(u32) X(u64) X(f32) X(f64) X(bf16) X(f16)

/* --- arguments ------------------------------------------------------------ */

/*
 * Parameters of real numbers. A value is scale * x + shift, and a uniform
 * number is then kept within [bottom, top]. Exponential numbers and dropout
 * have only a scale.
 */
struct fill_f32_args {
	float scale, shift, bottom, top;
};

/*
 * A range in the form that takes a GPU fewer instructions, if it has one:
 * lib/dist/ranges.h.
 */
struct fill_range_args {
	uint32_t is_short;    /* 0 or 1: it has one */
	float step;           /* scale times a power of two */
	uint32_t bottom, top; /* as numbers of a 16-bit type, each twice */
};

struct fill_f64_args {
	double scale, shift, bottom, top;
};

struct fill_args {
	struct philox_rng rng;
	uint64_t first; /* element of out[0] */
	uint64_t count; /* elements of a row; no element is past 2^64 - 1 */
	uint64_t rows;  /* at least 1 */
	uint64_t row_stride;
	uint64_t threshold; /* Bernoulli, dropout: T, 0 .. 2^32 */
	uint64_t range;     /* integers: n, or 0 for 2^64; others: n */
	uint64_t reject;    /* integers: 2^32 or 2^64 mod n */
	union {
		uint64_t from;        /* integers: the least */
		const uint64_t *sums; /* categorical: n of them */
	};
	struct fill_f32_args f32;
	union { /* the second: truncated normal numbers, in every dtype */
		struct fill_f64_args f64;
		struct philox_truncated truncated;
	};
	struct fill_range_args ends;
	uint32_t plain;   /* scale 1, shift 0, [0, 1): a shorter way is exact */
	uint32_t threads; /* host: threads to use at most; at least 1 */
	const void *in;
	void *out;
};

/* How other libraries map elements to counters: lib/fill/layout/places.h. */
enum layout_map {
	LAYOUT_BLOCKS,
	LAYOUT_GRID,
	LAYOUT_VECTORS,
	LAYOUT_HOST,
	LAYOUT_HOST_F64,
	LAYOUT_COUNTER,
	LAYOUT_SWAPPED
};

/*
 * Of the fill's arguments, f32 and f64 have scale and shift as always; top is
 * `high` (uniform), p (Bernoulli) or the probability to keep (dropout); bottom
 * is p (TRITON dropout).
 */
struct layout_args {
	struct fill_args fill;
	uint64_t threads;  /* T; at least 1 */
	uint32_t kind;     /* enum philox_layout_kind */
	uint32_t map;      /* enum layout_map */
	uint32_t dist;     /* enum philox_dist */
	uint32_t dtype;    /* enum philox_dtype */
	uint32_t unroll;   /* U: elements of a block; at least 1 */
	uint32_t vector;   /* V; at least 1 */
	uint32_t no_one;   /* u = 1 becomes 0 */
	uint32_t no_top;   /* a value equal to `top` becomes `shift` */
	uint32_t one_word; /* f64 uniform numbers use one word */
	uint32_t nothing;  /* dropout keeps nothing: zeros */
};

/* --- rows_kernels: kernels on tables of rows, and arguments --------------- */

/*
 * Part of lib/device/kernels.h. Those of draws are defined in
 * lib/rows/elements.h, with loops in lib/rows/host.c and CUDA kernels in
 * lib/rows/cuda.cu; those of samples are in lib/sample, and those that accept
 * drafts in lib/accept, those of split vocabularies in lib/split.
 */

/*
 * Every draw a table has: dist_dtype, dtype, elements a block. Its vector loop
 * is in lib/fill/simd/keyed.h.
 */
#define ROWS_DRAW_LIST(X)      \
	X(bits_u32, u32, 4)    \
	X(bits_u64, u64, 2)    \
	X(uniform_f32, f32, 4) \
	X(uniform_f64, f64, 2) \
	X(normal_f32, f32, 4)

/* Every dtype of logits, and its type in memory. */
#define SAMPLE_LIST(X)    \
	X(f32, float)     \
	X(bf16, uint16_t) \
	X(f16, uint16_t)

/* All of these kernels: name, arguments, threads of a CUDA block. */
#define ROWS_KERNEL_LIST(X)                         \
	X(rows_seed, rows_seed_args, 256)           \
	X(rows_set, rows_set_args, 64)              \
	X(rows_advance, rows_draw_args, 256)        \
	X(rows_bits_u32, rows_draw_args, 256)       \
	X(rows_bits_u64, rows_draw_args, 256)       \
	X(rows_uniform_f32, rows_draw_args, 256)    \
	X(rows_uniform_f64, rows_draw_args, 256)    \
	X(rows_normal_f32, rows_draw_args, 256)     \
	X(sample_f32, sample_args, SAMPLE_THREADS)  \
	X(sample_bf16, sample_args, SAMPLE_THREADS) \
	X(sample_f16, sample_args, SAMPLE_THREADS)  \
	X(filter_f32, sample_args, SAMPLE_THREADS)  \
	X(filter_bf16, sample_args, SAMPLE_THREADS) \
	X(filter_f16, sample_args, SAMPLE_THREADS)  \
	X(sample_note, sample_note_args, 256)       \
	X(accept_f32, accept_args, SAMPLE_THREADS)  \
	X(accept_bf16, accept_args, SAMPLE_THREADS) \
	X(accept_f16, accept_args, SAMPLE_THREADS)  \
	X(split_f32, split_args, SAMPLE_THREADS)    \
	X(split_bf16, split_args, SAMPLE_THREADS)   \
	X(split_f16, split_args, SAMPLE_THREADS)    \
	X(quantize, quantize_args, 128)             \
	X(quantize_large, quantize_large_args, 128) \
	X(amax, amax_args, 256)                     \
	X(subset_begin, subset_args, 256)           \
	X(subset_count, subset_args, 256)           \
	X(subset_place, subset_args, 256)           \
	X(subset_write, subset_args, 256)

/* Threads of a block that samples one entry, or a part of it. */
#define SAMPLE_THREADS 512

/*
 * A launch that samples few entries divides each between blocks, up to this
 * many in all: about two for each multiprocessor of a large GPU. More entries
 * than SAMPLE_SHARED_MAX have one block each.
 */
#define SAMPLE_BLOCKS     256
#define SAMPLE_SHARED_MAX (SAMPLE_BLOCKS / 2)

/* --- a table -------------------------------------------------------------- */

/*
 * Note [Rows that advance once]
 * ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
 * One kernel draws from rows and advances them. Many threads draw for one row,
 * and a list may name it several times, but all must see the state from before
 * the launch, and it must advance once. There is no barrier between the blocks
 * of a kernel, so the old state is kept where late readers find it:
 *
 *  - The table counts its launches. Each thread reads the count when it begins;
 *    each block reports when it is done, and the last one to do so counts the
 *    launch: the report releases the block's writes and acquires those of the
 *    blocks that reported before. So a launch has a number of its own, although
 *    a replayed graph passes the same arguments each time.
 *  - A thread that advances a row writes, in this order: the old offset into
 *    the row's turn; the launch's number into the turn; the new offset into the
 *    state. The last two are releases (lib/rows/elements.h). Several threads may
 *    do so at once: all write the same values.
 *  - A thread that reads a row reads, in this order: the offset of the state;
 *    the number in the turn; and, if that is this launch's, the offset in the
 *    turn, which it uses instead. The first is an acquire, and so is the second
 *    where the number is this launch's. So a reader that saw the new offset also
 *    sees the number, and one that sees the number also sees the old offset.
 *  - Where entries advance by counts of their own, a row that is in the list
 *    several times goes to the furthest of the offsets, which all are counted
 *    from the old one: the new offset is written by an atomic maximum, a
 *    release like the store, and since the old offset is the least of all, the
 *    result does not depend on who comes first.
 *  - Entries that draw at a step of their own read the row as below and add to
 *    what they found. Such a launch advances nothing.
 *
 * An acquire makes a multiprocessor forget all that it has cached, so none is
 * done without need. A thread reads a row once for all units of an entry that
 * it draws, never in the loop over them. And it only reads and writes the
 * state, nothing else, where no other block can have advanced the row: in
 * launches that advance nothing, and in those without indices, whose entries
 * are rows of their own, unless several warps share an entry. Lanes of one warp
 * that share an entry have all read its row before one of them advances it.
 *
 * A state that other code wrote between two launches needs nothing special: its
 * turn has the number of an earlier launch.
 *
 * If several blocks share an entry that is sampled, none can write its token or
 * advance its row before all are done. Each adds its greatest key to `best`, by
 * an atomic maximum, in a place that belongs to the entry and not to the row,
 * which may be in the list twice; the last block to finish takes the keys from
 * there, does the rest for all entries, and leaves zeros, the least key, for
 * the next launch. So a launch begins with zeros: the table was made with them,
 * a launch that was refused has not written, one that crashed has made the
 * device unusable, and no two launches on a table overlap (philox/rows.h).
 * Whether an entry takes part is read by each of its blocks and again at the
 * end; the answer is the same, since nothing has advanced yet.
 */
struct rows_turn {
	uint64_t offset; /* before launch `launch` advanced the row */
	uint64_t launch;
};

/*
 * The reports of launches, written only by the device in mapped host memory:
 * totals[count % 2] are those of the first `count` launches. The next launch
 * writes the other totals and then counts itself. So a reader that gets a
 * count, its totals, and the same count again has read values that belong
 * together.
 */
struct rows_totals {
	uint64_t outside;
	uint64_t used_up;
};

struct rows_notice {
	uint64_t count; /* of launches with something to report */
	struct rows_totals totals[2];
};

/* In device memory, in front of the states. */
struct rows_control {
	uint64_t launch;  /* number of the launch in progress, from 1 */
	uint64_t outside; /* entries of this launch, see the report */
	uint64_t used_up;
	struct rows_notice *notice; /* device address */
	uint32_t done;              /* blocks of this launch */
	uint32_t reserved[7];
	uint64_t best[SAMPLE_SHARED_MAX]; /* of each entry that is shared */
};

/* Where a table is: device addresses. */
struct rows_table {
	struct philox_state *states;
	struct rows_turn *turns;
	struct rows_control *control;
	uint64_t count;
};

/* --- arguments ------------------------------------------------------------ */

/* Derives all rows. */
struct rows_seed_args {
	struct philox_state *states;
	uint64_t count;
	uint64_t seed; /* of the table */
};

/* Under the 4096 bytes of parameters that every driver takes. */
#define ROWS_SET_MAX 192

/*
 * Sets `n` states of an array, by their places in it: rows of a table, or
 * memory of the caller. A struct of arrays, so that there are no gaps.
 */
struct rows_set_args {
	struct philox_state *states; /* device address */
	uint64_t n;
	uint64_t seed[ROWS_SET_MAX];
	uint64_t offset[ROWS_SET_MAX];
	uint32_t row[ROWS_SET_MAX];
};

/* Which rows take part: struct philox_row_list with its n resolved. */
struct rows_list {
	const uint32_t *indices;
	const uint8_t *mask;
	const uint32_t *steps; /* only where nothing advances */
	uint64_t n;
};

/*
 * Draws, and advances by `words`, which may be 0. A launch that only advances
 * does so by words x counts[entry], if there are counts.
 */
struct rows_draw_args {
	struct rows_table table;
	struct rows_list list;
	uint64_t first;
	uint64_t count;
	uint64_t pitch;
	const uint32_t *counts;
	void *out;
	uint64_t words;
};

/* What keeps tokens out: for all entries, or where an array is, for each. */
struct sample_filters {
	const uint32_t *top_ks;
	const float *top_ps;
	const float *min_ps;
	uint32_t top_k; /* 0: not used */
	float top_p;    /* 1: not used */
	float min_p;    /* 0: not used */
	uint32_t order; /* enum philox_filter_order */
	uint64_t *cuts; /* written, or NULL */
	uint32_t *kept_counts;
	int32_t *kept;
	uint64_t kept_pitch;
};

/* Logprobs that are written: struct philox_logprob_desc. */
struct sample_logprobs {
	float *drawn;
	const int32_t *ids;
	float *of_ids;
	int32_t *top;
	float *of_top;
	uint32_t n_ids; /* 0: none */
	uint32_t n_top; /* 0: none */
};

/* Which tokens rows have had: struct philox_history. */
struct sample_history {
	uint32_t *counts;
	uint64_t counts_pitch;
	uint32_t *seen; /* NULL: nobody asks */
	uint64_t seen_pitch;
	uint32_t vocab;
};

/* What changes logits: struct philox_bias_desc and philox_penalty_desc. */
struct sample_change {
	struct sample_history history;
	const float *repetitions; /* or NULL */
	const float *frequencies;
	const float *presences;
	float repetition; /* 0: none */
	float frequency;
	float presence;
	uint32_t n_drafts; /* of an entry */
	const int32_t *drafts;
	const int32_t *ids;
	const float *biases;
	uint32_t n_biases; /* of an entry; 0: none */
	uint32_t notes;    /* whether tokens are noted when all are drawn */
};

/*
 * Samples; with table.control NULL from table.states or, where that is NULL
 * too, from seeds and positions, advancing nothing.
 */
struct sample_args {
	struct rows_table table;
	const uint64_t *seeds;
	const uint32_t *positions;
	struct rows_list list;
	const void *logits;
	uint64_t pitch;
	uint32_t vocab;
	uint32_t first;
	const float *temperatures; /* or NULL */
	const uint32_t *allowed;   /* or NULL */
	uint64_t allowed_pitch;    /* words from entry to entry */
	float temperature;
	uint32_t words; /* to advance by: 4 or 0 */
	uint32_t parts; /* CUDA blocks for an entry, at least 1 */
	int32_t *tokens;
	uint64_t *keys;
	/* of the kernels that filter: */
	struct sample_filters filters;
	struct sample_logprobs logprobs; /* processed */
	struct sample_logprobs raw;
	struct sample_change change;
};

/*
 * Accepts drafts: struct philox_accept_desc. The target has the table and the
 * list, of entries, each of n_drafts + 1 positions; the draft's logits may be
 * NULL.
 */
struct accept_args {
	struct sample_args target;
	struct sample_args draft;
	const int32_t *drafts;
	int32_t *tokens;
	uint32_t *counts;
	uint32_t n_drafts;
};

/* A round of a sample that is split; see Note [Rounds] in lib/split/split.h. */
struct split_round {
	uint32_t kind;     /* enum split_kind */
	uint32_t searches; /* of a level: a bit for each of enum split_by */
	uint32_t level;
	uint64_t *sums; /* what it writes, entry after entry */
	uint64_t *maxima;
};

struct split_args {
	struct sample_args sample;
	void *work; /* a struct split_entry for each entry */
	uint32_t part;
	uint32_t n_parts;
	uint32_t index_bits; /* of an index of the whole vocabulary */
	struct split_round now;
	struct split_round before; /* it; the kind is SPLIT_BEGIN for the first */
};

/* Notes tokens of entries: philox_history_add(). */
struct sample_note_args {
	struct sample_history history;
	struct rows_list list;
	uint64_t rows; /* of the history */
	const int32_t *tokens;
	uint64_t pitch;
	const uint32_t *counts; /* of each entry, or NULL */
	uint32_t n;             /* of an entry, at most */
	uint32_t drawn;         /* 0: of prompts */
};

/* --- tensors that are rounded --------------------------------------------- */

/*
 * One tensor of struct philox_quantize_desc; lib/quantize/elements.h says what a
 * unit of it is.
 */
struct quantize_item {
	struct philox_rng rng;
	const void *in;
	void *out;
	uint8_t *scales;
	const float *tensor_scale;
	uint64_t *saturated;
	uint64_t first;
	uint64_t rows, cols; /* of the arrays; both above 0 */
	uint64_t stride;
	uint64_t end;     /* units of this tensor and of those before it */
	uint8_t in_dtype; /* enum philox_dtype */
	uint8_t format, rule, bits, saturate;
	uint8_t scaling; /* enum philox_scaling */
	uint8_t transposed, swizzled;
};

/* The second is more than drivers before 530 take: see HEAD_LARGE_LIST. */
#define QUANTIZE_MAX       32
#define QUANTIZE_LARGE_MAX 256

struct quantize_args {
	uint64_t n;
	struct quantize_item items[QUANTIZE_MAX];
};

struct quantize_large_args {
	uint64_t n;
	struct quantize_item items[QUANTIZE_LARGE_MAX];
};

/* Finds the scale of a tensor, which is 0 before. */
struct amax_args {
	const void *in;
	uint64_t count;
	float *scale;
	uint32_t dtype; /* enum philox_dtype */
	uint32_t reserved;
};

/* --- subsets by weight ---------------------------------------------------- */

/* See Note [The cut of a subset] in lib/subset/elements.h. */
#define SUBSET_BUCKETS 2048
#define SUBSET_GROUPS  64
#define SUBSET_CHUNK   4096 /* items whose places are counted together */

/* The levels of a search are 0 .. 5; after them it has one of these. */
#define SUBSET_FOUND   6
#define SUBSET_INVALID 7 /* there is no subset */

struct subset_work {
	uint64_t cut;        /* its digits so far */
	uint32_t level;      /* that is looked at next */
	uint32_t left;       /* wanted of those that begin as the cut does */
	uint32_t is_invalid; /* a weight is, or the state is poisoned */
	uint32_t done;       /* blocks of this kernel */
	uint32_t buckets[SUBSET_BUCKETS];
	uint32_t places[]; /* of each chunk's first item, and the total */
};

struct subset_args {
	struct philox_rng rng;
	const void *weights;
	int32_t *chosen;
	uint64_t *keys;  /* or NULL */
	uint32_t *count; /* or NULL */
	struct subset_work *work;
	uint32_t dtype; /* enum philox_dtype */
	uint32_t is_log;
	uint32_t items, wanted;
};

/* --- kernels: the library's own kernels: their names and arguments -------- */

/*
 * A kernel exists twice, as a loop (lib/kernels/host/host.c) and as a CUDA
 * kernel (lib/kernels/cuda/cuda.cu); both call the inline definitions of
 * philox/kernel.h and lib/dist/elements.h, so they cannot differ.
 */

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every kernel. KERNEL_NONE is not a kernel; it is 0, so that a table has it in
 * its empty places.
 */
enum kernel {
	KERNEL_NONE,
	KERNEL_HEAD, /* struct head_args, cut after the last state */
#define KERNEL_ENUM(name, out, in, n, traits) KERNEL_##name, /* fill_args */
	FILL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
#define KERNEL_ENUM(type) KERNEL_layout_##type, /* struct layout_args */
		LAYOUT_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
#define KERNEL_ENUM(name, args, threads) KERNEL_##name,
			ROWS_KERNEL_LIST(KERNEL_ENUM)
#undef KERNEL_ENUM
				KERNEL_STORE, /* struct store_args */
	KERNEL_CONDITION,                     /* struct condition_args */
	KERNEL_BODY,                          /* struct body_args */
	KERNEL_AT,                            /* struct at_args */
	KERNEL_COPIES,                        /* struct copies_args */
	KERNEL_COMPARE,                       /* struct compare_args */
	KERNEL_COUNT
};

/* Whether the blocks of a cluster share work: lib/sample/cluster.cuh. */
static inline int kernel_has_clusters(enum kernel kernel)
{
	return kernel == KERNEL_filter_f32 || kernel == KERNEL_filter_bf16 ||
	       kernel == KERNEL_filter_f16;
}

/* --- arrays --------------------------------------------------------------- */

/*
 * An array of the caller that a kernel reads or writes. `name` is what messages
 * call it: a literal, as "fill: out".
 */
struct kernel_array {
	const char *name;
	const void *at;
	size_t size; /* bytes */
	int written;
};

#define KERNEL_ARRAYS_MAX 34

/* Those of one launch; begins as kernel_no_arrays() makes it, or with zeros. */
struct kernel_arrays {
	uint32_t count;
	const struct kernel_arrays *next; /* more of them, or NULL */
	struct kernel_array items[KERNEL_ARRAYS_MAX];
};

static inline void kernel_no_arrays(struct kernel_arrays *arrays)
{
	arrays->count = 0;
	arrays->next = NULL;
}

/* These add an array, unless it is NULL or empty. */
static inline void kernel_adds(struct kernel_arrays *arrays, const char *name,
			       const void *at, size_t size, int written)
{
	struct kernel_array *item = &arrays->items[arrays->count];

	if (!at || !size)
		return;
	assert(arrays->count < KERNEL_ARRAYS_MAX);
	item->name = name;
	item->at = at;
	item->size = size;
	item->written = written;
	arrays->count++;
}

static inline void kernel_reads(struct kernel_arrays *arrays, const char *name,
				const void *at, size_t size)
{
	kernel_adds(arrays, name, at, size, 0);
}

static inline void kernel_writes(struct kernel_arrays *arrays, const char *name,
				 const void *at, size_t size)
{
	kernel_adds(arrays, name, at, size, 1);
}

/* --- calls ---------------------------------------------------------------- */

/*
 * struct kernel_call is one launch. `args` and `arrays` are copied by the call
 * that takes it; `work` is how many units the kernel spreads over its threads
 * (rows x units of a row for a fill, cells for the head); results must not
 * depend on it. `arrays` are those of the caller that `args` points to, for
 * devices that know which memory is theirs. Where kernel_has_clusters(), up to
 * `cluster` blocks may share a block's work, if there is room; 0 is 1.
 */
struct kernel_call {
	enum kernel kernel;
	const void *args;
	size_t size; /* of *args */
	uint64_t work;
	const struct kernel_arrays *arrays; /* NULL: none */
	uint32_t cluster;
};

/* --- one state ------------------------------------------------------------ */

/* Writes a state to device memory. */
struct store_args {
	struct philox_state state;
	struct philox_state *to; /* device address */
};

/* --- many copies ---------------------------------------------------------- */

/*
 * Arrays of two sides that are copied or compared, many at once, are cut into
 * pieces of PIECE_BYTES, which are numbered across all arrays: a warp does one
 * at a time. PIECE_THREADS is what a piece is in struct kernel_call's work.
 */
#define PIECE_BYTES   2048
#define PIECE_THREADS 32

static inline uint64_t pieces_of(uint64_t bytes)
{
	return bytes / PIECE_BYTES + (bytes % PIECE_BYTES != 0);
}

/*
 * Copies arrays that do not overlap, all at once. A host device looks at both
 * sides of each by itself: they are more than a call lists.
 */
#define COPIES_MAX 128

struct copy_item {
	void *to; /* device addresses */
	const void *from;
	uint64_t bytes;
};

struct copies_args {
	uint64_t count;
	struct copy_item items[COPIES_MAX];
	uint32_t ends[COPIES_MAX]; /* pieces of an array and those before: up to
				      8 TiB */
};

/* Returns the work of those that have been added. */
static inline uint64_t copies_work(const struct copies_args *args)
{
	return args->count ? (uint64_t)args->ends[args->count - 1] *
				     PIECE_THREADS
			   : 0;
}

/* Adds an array; there must be room. */
static inline void copies_add(struct copies_args *args, void *to,
			      const void *from, uint64_t bytes)
{
	const uint64_t before = copies_work(args) / PIECE_THREADS;
	struct copy_item *item = &args->items[args->count];

	item->to = to;
	item->from = from;
	item->bytes = bytes;
	args->ends[args->count++] = (uint32_t)(before + pieces_of(bytes));
}

/* --- many comparisons ----------------------------------------------------- */

/*
 * Lowers the word of each two arrays to the place of the first byte in which
 * they differ: the words are all ones before. A host device looks at both sides
 * by itself.
 */
#define COMPARE_MAX 64

struct compare_item {
	const void *one; /* device addresses */
	const void *other;
	uint64_t bytes;
	uint64_t *first;
};

struct compare_args {
	uint64_t count;
	struct compare_item items[COMPARE_MAX];
	uint32_t ends[COMPARE_MAX]; /* as of copies */
};

/* As copies_work(). */
static inline uint64_t compare_work(const struct compare_args *args)
{
	return args->count ? (uint64_t)args->ends[args->count - 1] *
				     PIECE_THREADS
			   : 0;
}

/* As copies_add(). */
static inline void compare_add(struct compare_args *args, const void *one,
			       const void *other, uint64_t bytes,
			       uint64_t *first)
{
	const uint64_t before = compare_work(args) / PIECE_THREADS;
	struct compare_item *item = &args->items[args->count];

	item->one = one;
	item->other = other;
	item->bytes = bytes;
	item->first = first;
	args->ends[args->count++] = (uint32_t)(before + pieces_of(bytes));
}

/* --- conditions of graphs ------------------------------------------------- */

/*
 * Where a kernel stands that sets the condition of a WHILE: before the node, in
 * its body, or as the last of its body.
 */
enum condition_place { CONDITION_BEFORE, CONDITION_WITHIN, CONDITION_LAST };

/*
 * Sets a condition to the value of a word. With the control of a WHILE's body
 * it ends the loop at the body's limit: Note [Bodies] in
 * graph/capture/capture.h. On a host device the condition is the address of its
 * value.
 */
struct condition_args {
	uint64_t condition;   /* device_condition (lib/device/contract.h) */
	const uint32_t *word; /* device address; NULL: 1 */
	struct philox_state *control; /* device address, or NULL */
	uint32_t place;               /* enum condition_place */
	uint32_t reserved;
};

/* --- the head ------------------------------------------------------------- */

/*
 * One cell of a graph: where it is and which seed it holds. The alignment lets
 * a GPU read an entry in two accesses.
 */
struct __attribute__((aligned(16))) head_cell {
	struct philox_state *cell; /* device address, a multiple of 16 */
	uint64_t shift;            /* added to the slot's offset */
	uint32_t slot;             /* which state of the message */
	uint32_t plain;            /* the slot's seed as it is, not folded */
	uint32_t op;
	uint32_t call;
};

/*
 * The report of a head that was launched without a new message: one for each
 * control block, in mapped host memory, written only by the device. The payload
 * is written first, then, after a system-wide fence, the count. While heads
 * that report run at the same time, the count may go back for a moment.
 */
struct head_report {
	uint64_t count;    /* unannounced launches so far, for the host */
	uint64_t sequence; /* of the last message that was taken */
	uint64_t repeats;  /* unannounced launches so far, for heads alone */
	uint64_t reserved[5];
};

/*
 * A graph has two of them: one in mapped memory, for messages of number 0, and
 * one in device memory for others (Note [Head]).
 */
struct __attribute__((aligned(16))) head_control {
	uint64_t sequence;           /* of the last message taken; 0: none */
	struct head_report *report;  /* device address */
	const struct head_cell *map; /* device address */
	uint64_t cells;              /* entries of map */
	uint64_t other;              /* device address of the other one, for
					heads that run ahead; else 0 */
	uint64_t reserved;
};

/*
 * The cells that a warp of a head fills at a time, a part of the map. Each part
 * takes the message for itself: after the map in device memory there is a
 * number for each, of the last message that it took; part 0 uses that of the
 * control block.
 */
#define HEAD_PART 64

/* head_parts() returns how many parts cells make; at least the first. */
PHILOX_FN uint64_t head_parts(uint64_t cells)
{
	return cells > HEAD_PART ? (cells - 1) / HEAD_PART + 1 : 1;
}

/*
 * head_map_size() returns the bytes of a map with the numbers after it: two for
 * each part, see head_number() and head_ran().
 */
static inline size_t head_map_size(uint64_t cells)
{
	return (size_t)(cells * sizeof(struct head_cell) +
			2 * head_parts(cells) * sizeof(uint64_t));
}

/*
 * What the kernel of a body finds in device memory: see Note [Bodies] in
 * graph/capture/capture.h. A map is followed by its cells.
 */
struct __attribute__((aligned(16))) body_map {
	struct head_report *report; /* device address; that of loops follows */
	uint64_t number;            /* of the body, for reports */
	uint64_t limit;             /* runs in one launch */
	uint64_t cells;
	uint64_t ends; /* its last kernel ends the loop (CONDITION_LAST) */
	uint64_t reserved;
};

/* A cell of a pass in a body: what it is in each run. */
struct __attribute__((aligned(16))) body_cell {
	struct philox_state *cell;         /* what the body's kernels read */
	const struct philox_state *first;  /* its state in iteration 0 */
	const struct philox_state *turned; /* REVERSED: the control of the
					      forward's body, else NULL */
	uint64_t advance;                  /* from one iteration to the next */
	uint64_t limit;                    /* iterations there are */
	uint64_t tells;                    /* reports if there is none left */
};

/*
 * A body's control: two states. The head sets the first to the address of the
 * body's map and a count of 0 runs, or to poison; each run adds BODY_RUN to its
 * offset, which stays even. The second has words.
 */
#define BODY_RUN 4

enum body_word {
	BODY_WORD_RUN,    /* the number of the present run */
	BODY_WORD_BEYOND, /* 1: that is beyond the limit, or not announced */
	BODY_WORD_HELD,   /* a WHILE: what its condition was last set to */
};

struct body_args {
	struct philox_state *control; /* device address */
};

/* Fills cells from others, for the iteration that a word says. */
struct at_args {
	struct philox_state *cells;       /* device addresses */
	const struct philox_state *first; /* the same in iteration 0 */
	uint64_t n;                       /* cells of each */
	uint64_t advance, limit;          /* as in struct body_cell */
	const struct philox_state *known; /* its seed: the limit; or NULL */
	const uint32_t *word;
	struct head_report *report;
	uint64_t number; /* of the pass, for reports */
};

/*
 * The message: the head's parameters, by value. Kernels take up to 32,764 bytes
 * of parameters (CUDA C++ Programming Guide, from CUDA 12.1 on sm_70), and the
 * largest capacity below needs fewer. A CUDA kernel has parameters of a fixed
 * size, so there is one for each capacity; a message is padded up to the next.
 * Drivers before 530 take 4,096 bytes, and load no module in which a kernel has
 * more: such heads, the large ones, are in a module of their own.
 */
struct head_args {
	struct head_control *control;
	uint64_t sequence; /* above control->sequence, or the launch repeats */
	struct philox_state states[]; /* as many as the graph has slots */
};

#define HEAD_SMALL_LIST(X)    X(1) X(4) X(16) X(64)
#define HEAD_LARGE_LIST(X)    X(256) X(1024) X(2040)
#define HEAD_CAPACITY_LIST(X) HEAD_SMALL_LIST(X) HEAD_LARGE_LIST(X)
#define HEAD_CAPACITY_MAX     2040
#define HEAD_SMALL_SIZE       4096 /* bytes of a small head's message, at most */

/* head_capacity() returns the capacity that holds `slots` states, 0: none. */
static inline uint32_t head_capacity(uint64_t slots)
{
#define HEAD_CAPACITY_FITS(capacity) \
	if (slots <= (capacity))     \
		return capacity;
	HEAD_CAPACITY_LIST(HEAD_CAPACITY_FITS)
#undef HEAD_CAPACITY_FITS
	return 0;
}

/* head_args_size() returns the size of a message of a given capacity. */
static inline size_t head_args_size(uint32_t capacity)
{
	return sizeof(struct head_args) +
	       capacity * sizeof(struct philox_state);
}

#ifdef __cplusplus
}
#endif

#endif

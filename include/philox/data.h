/*
 * philox/data.h - the order of training data: epochs, mixtures, resuming
 *
 * Data of a context say which sample of which source is read at each position
 * of a run, and keep how far the run has come:
 *
 *   struct philox_source_desc sources[] = {
 *           {.samples = 60000, .weight = 3},
 *           {.samples = 1000000, .weight = 7, .window = 8192}};
 *   struct philox_data_desc options = PHILOX_INIT(struct philox_data_desc);
 *
 *   options.name = "train";
 *   options.sources = sources;
 *   options.n_sources = 2;
 *   options.source_size = sizeof(*sources);
 *   philox_data_create(context, &options, &train);
 *
 *   philox_data_position(train, &position);                    each step
 *   philox_data_read(train, position + first, mine, samples);  of this rank
 *   philox_data_advance(train, batch, NULL);                   of all ranks
 *
 * What is read at a position is told in philox/mixture.h, in closed form; here
 * are the weights, and the position. The order depends on the generator's seed,
 * the name and the sources: not on batches, ranks or threads. So ranks that
 * share a generator read parts of one sequence, however many they are, and a
 * run that is resumed, on any mesh, goes on with the next position.
 *
 *   seed of the data = fold(generator seed, PHILOX_FOLD_DATA, FNV-1a(name))
 *
 * and their mixture is philox_mixture_of({that seed, 0}, ...). A new seed of
 * the generator, or a fold, begins the data again: with another order, at
 * position 0.
 *
 * Weights become quotas: of `block` positions, B, each source gets as many as
 * its weight's share of B is, rounded down, and what is left goes, one each, to
 * the sources with the largest remainders, of equal ones to the lowest indices
 * first (Hamilton's method). Each block of B positions has exactly these. With
 * the sum of all weights for B, or a multiple of it, shares are exact. Within a
 * block the order is random, so a batch that is smaller than B has a source's
 * share on average. A source alone needs no blocks: its B is 1, whatever
 * `block` is.
 *
 * The text of a context (philox/save.h) has the position of its data, their
 * seed, and the hash of all that decides the order. It loads only into a
 * context whose data have the same names, generators and orders. A text without
 * data is as it was before there were data, and does not load into a context
 * that has some. Ranks must agree on data (philox/mesh.h) as on regions that
 * are shared along all axes, and on another mesh the position is the same.
 *
 * Errors of all functions here that take data:
 *
 *   PHILOX_ERROR_INVALID   an argument is NULL
 */
#ifndef PHILOX_DATA_H
#define PHILOX_DATA_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/mixture.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_data;

/* The block where none is given: positions. */
#define PHILOX_DATA_BLOCK 65536

/* A source. Its size is the `source_size` of struct philox_data_desc. */
struct philox_source_desc {
	uint64_t samples; /* 1 .. 2^63 */
	uint64_t weight;  /* at least 1 */
	uint64_t window;  /* 0: an epoch is one order of all samples; 1: samples
			     in their own order; W: windows of W samples, one
			     after the other, each in an order of its own */
};

/* Data that are to be made. Begin with PHILOX_INIT(). */
struct philox_data_desc {
	size_t size;      /* sizeof(this struct) */
	const char *name; /* unique among the context's data; copied */
	const struct philox_source_desc *sources; /* copied */
	size_t n_sources;                         /* 1 .. 2^20 */
	size_t source_size; /* sizeof(struct philox_source_desc), or 0 */
	uint64_t block;     /* 0: PHILOX_DATA_BLOCK; at most 2^62 */
	struct philox_generator *generator; /* NULL: the context's default */
};

/*
 * Compute the quotas of sources, for a mixture without a context.
 *
 *   options    sources and block; name and generator do not matter
 *   sources    written: options->n_sources of them, as philox_mixture_of()
 *              takes them
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   the message names the source, and a block that is
 *                          large enough for a source whose quota would be 0
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_data_quotas(
	const struct philox_data_desc *options,
	struct philox_mixture_source *sources);

/*
 * Make data, at position 0.
 *
 *   context  the context
 *   options  name, sources, block and generator
 *   data     written; destroyed with philox_data_destroy()
 *
 * Data that are made again under the name of destroyed ones begin again. The
 * generator cannot be destroyed before the data, and may not be one that
 * differs between ranks (PHILOX_GENERATOR_DIFFERS).
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  the message names the field, and for a source whose
 *                         quota would be 0 a block that is large enough
 *   PHILOX_ERROR_EXISTS   the context has data of this name, or of one with
 *                         the same hash
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_data_create(
	struct philox_context *context, const struct philox_data_desc *options,
	struct philox_data **data);

/*
 * Destroy data.
 *
 *   data  the data; NULL does nothing
 *
 * Data are also destroyed with their context. Mixtures that
 * philox_data_mixture() gave must not be used any more.
 *
 * Returns PHILOX_OK, or an error; then the data are kept.
 * Errors:
 *   PHILOX_ERROR_UNSUPPORTED  in the eager form of a launch that is verified
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_data_destroy(struct philox_data *data);

/*
 * Return the name of data, which belongs to the data.
 *
 *   data  the data; NULL has ""
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API const char *philox_data_name(const struct philox_data *data);

/*
 * Write the mixture that data have, for many calls or for kernels.
 *
 *   data     the data
 *   mixture  written; its sources are memory of the host that belongs to the
 *            data
 *
 * A new seed of the generator does not reach a mixture that was written before.
 * A kernel needs the sources in memory that it can read: copy the array of
 * mixture->n_sources, and set the copy's address as mixture->sources. A child
 * of fork() may use a mixture that was written before, with
 * philox_mixture_at().
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL
 * During capture: legal; kernels get the mixture of the capture.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_data_mixture(
	struct philox_data *data, struct philox_mixture *mixture);

/*
 * Write the position of data: how many positions the run has gone through.
 *
 *   data      the data
 *   position  written: 0 .. 2^63
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_data_position(struct philox_data *data,
						   uint64_t *position);

/*
 * Set the position of data.
 *
 *   data      the data
 *   position  0 .. 2^63
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID      `data` is NULL
 *   PHILOX_ERROR_OVERFLOW     the position is above 2^63
 *   PHILOX_ERROR_UNSUPPORTED  in the eager form of a launch that is verified
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                             this thread records a capture
 * During capture: not legal on a thread that records a capture which
 * philox_capture_begin() or a runner began: its launches would not move again.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_data_seek(struct philox_data *data,
					       uint64_t position);

/*
 * Advance the position of data.
 *
 *   data    the data
 *   count   positions, of all ranks together
 *   before  written: the position before; NULL: not wanted
 *
 * Every rank advances by the same count. Threads that take parts of the
 * sequence each get a part of their own.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID      `data` is NULL
 *   PHILOX_ERROR_OVERFLOW     the position would be above 2^63
 *   PHILOX_ERROR_UNSUPPORTED  in the eager form of a launch that is verified
 *   PHILOX_ERROR_CAPTURE_UNSUPPORTED
 *                             this thread records a capture
 * During capture: not legal on a thread that records a capture which
 * philox_capture_begin() or a runner began: its launches would not move again.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_data_advance(struct philox_data *data,
						  uint64_t count,
						  uint64_t *before);

/*
 * Compute what is read at positions.
 *
 *   data      the data
 *   position  the first position
 *   count     how many positions
 *   samples   written: `count` of them, memory of the host
 *
 * The position of the data does not matter, and does not change.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL
 *   PHILOX_ERROR_OVERFLOW  position + count is above 2^63
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_data_read(
	struct philox_data *data, uint64_t position, uint64_t count,
	struct philox_mixture_sample *samples);

/*
 * Find the position at which a sample is read.
 *
 *   data      the data
 *   sample    source, epoch and sample
 *   position  written
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   an argument is NULL; or there is no such source or
 *                          sample, and the message names it
 *   PHILOX_ERROR_OVERFLOW  the epoch reads it at no position below 2^63
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_data_find(
	struct philox_data *data, const struct philox_mixture_sample *sample,
	uint64_t *position);

#ifdef __cplusplus
}
#endif
#endif

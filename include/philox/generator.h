/*
 * philox/generator.h - generators: the roots of all numbers
 *
 * A generator is a root stream (seed, offset). Regions derive their own seed
 * from it: region seed = fold(generator seed, hash of the region's name). So
 * the seed decides all numbers, and neither the order in which regions are made
 * nor the offset of the generator itself changes the numbers of regions.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */
#ifndef PHILOX_GENERATOR_H
#define PHILOX_GENERATOR_H

#include <stdint.h>
#include <philox/context.h>
#include <philox/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct philox_generator;

/*
 * philox_generator_create() makes a generator of a context with offset 0. It is
 * destroyed by philox_generator_destroy() or with the context.
 * philox_generator_destroy() refuses with PHILOX_ERROR_BUSY while regions or
 * tables of rows use the generator or a captured graph reads its state; NULL
 * and the default generator are PHILOX_ERROR_INVALID. Legal during capture.
 * CUDA says on a thread of its own, and only some time after a graph has been
 * destroyed and its last launch is over, that the graph has gone: until then it
 * counts as one that reads the state.
 */
PHILOX_API enum philox_status philox_generator_create(
	struct philox_context *context, uint64_t seed,
	struct philox_generator **generator);
PHILOX_API enum philox_status philox_generator_destroy(
	struct philox_generator *generator);

/*
 * philox_context_generator() returns the default generator of a context:
 * regions that name no generator use it. It lives as long as the context. Legal
 * during capture.
 */
PHILOX_API struct philox_generator *philox_context_generator(
	struct philox_context *context);

/*
 * philox_generator_seed() gives a generator a new seed, at offset 0, and
 * restarts its regions: they derive their seed again and begin at offset 0, so
 * the same seed gives the same run. Pending tickets keep the numbers they had.
 * Captured graphs follow at their next launch. Tables of rows, which live on
 * the device, keep their states until philox_rows_restart(). Errors:
 * PHILOX_ERROR_INVALID (generator is NULL). Legal during capture.
 */
PHILOX_API enum philox_status philox_generator_seed(
	struct philox_generator *generator, uint64_t seed);

/*
 * philox_generator_get_state() writes seed and offset, which are the whole
 * state: in memory (on a little-endian machine) the 16 bytes that
 * torch.cuda.get_rng_state() returns. philox_generator_set_state() sets both. A
 * state with another seed than the generator has re-seeds (see above) and gives
 * the generator itself the offset. One with the seed that it has only moves the
 * generator to the offset, as advancing does: its regions go on where they are,
 * so that to get a state, draw, set it for a recompute, and set it back repeats
 * no numbers in them. PHILOX_SHARED regions draw from the generator itself and
 * follow its offset, forwards and backwards; to run again from the beginning,
 * seed. An offset that is not a multiple of 4 is PHILOX_ERROR_INVALID. Legal
 * during capture.
 */
PHILOX_API enum philox_status philox_generator_get_state(
	struct philox_generator *generator, struct philox_state *state);
PHILOX_API enum philox_status philox_generator_set_state(
	struct philox_generator *generator, struct philox_state state);

/*
 * philox_generator_advance() moves a generator's own offset by `words` 32-bit
 * words, a multiple of 4, and writes the state before that to *before (`before`
 * may be NULL): the numbers in between are reserved for stateless draws. Its
 * regions are not touched. Errors: PHILOX_ERROR_INVALID (not a multiple of 4),
 * PHILOX_ERROR_OVERFLOW. Legal during capture; a state obtained then is used by
 * value and frozen in the graph.
 */
PHILOX_API enum philox_status philox_generator_advance(
	struct philox_generator *generator, uint64_t words,
	struct philox_state *before);

/*
 * philox_generator_fold() seeds a generator with fold(seed, index), at offset
 * 0: the way to give each replica or worker its own numbers from one seed, in
 * all regions of the generator; for some regions only, see philox/mesh.h. They
 * restart as with philox_generator_seed(). Folding twice is not the same as
 * folding once. Errors: PHILOX_ERROR_INVALID (generator is NULL). Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_generator_fold(
	struct philox_generator *generator, uint64_t index);

/*
 * philox_generator_copy_state() writes a generator's state to 16 bytes of
 * device memory, aligned to 8, in stream order: a snapshot from which kernels,
 * and philox_rng_fill() given its address, can draw later. During capture it is
 * recorded as one copy node: each launch of the graph writes the state that the
 * generator has at this point among the graph's passes, which matters for
 * regions that are PHILOX_SHARED. A generator that a captured graph reads
 * cannot be destroyed before that graph. Errors: PHILOX_ERROR_INVALID (a null
 * or misaligned pointer, or on a host device one to less memory,
 * philox/device.h), PHILOX_ERROR_LIMIT, PHILOX_ERROR_UNSUPPORTED (in a body
 * that may run again, philox/conditional.h), PHILOX_ERROR_CAPTURE_INVALIDATED,
 * those of the device.
 */
PHILOX_API enum philox_status philox_generator_copy_state(
	struct philox_generator *generator, philox_stream stream,
	struct philox_state *to);

#ifdef __cplusplus
}
#endif
#endif

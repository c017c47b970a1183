/*
 * philox/interop.h - states for the kernels of other libraries
 *
 * FlashAttention, Transformer Engine and cuDNN read {seed, offset} from device
 * memory. A cell of a pass is such a pair. In a captured pass it is filled
 * again at each launch, and the backward's cell holds the same state as the
 * forward's. The kernels' own callers cannot do that in a graph. Each library
 * takes the cell c of philox_pass_cell() as follows:
 *
 *   FlashAttention-2 (csrc/flash_attn/src/flash.h): in the forward
 *     params.philox_args = at::PhiloxCudaState((int64_t *)&c->seed,
 *     (int64_t *)&c->offset, 0), and params.rng_state 16 bytes of your own,
 *     which the kernel writes; in the backward params.rng_state = (uint64_t *)c
 *   Transformer Engine (nvte_fused_attn_fwd() and _bwd(), nvte_dropout_fwd()):
 *     the tensor rng_state: kNVTEInt64, shape {2}, data (void *)c
 *   cuDNN (SDPA_attributes::set_dropout()): tensors seed and offset of INT64,
 *     dim {1, 1, 1, 1}; in the variant pack (void *)&c->seed and
 *     (void *)&c->offset
 *
 * None of them may write to a cell. They do not know about poison: only
 * philox_context_check() can tell that a graph was launched without philox.
 * They read seed and offset as two numbers. So if such a launch overlaps
 * another of the same graph (philox/graph.h), they may see the seed of one
 * state and the offset of another, poison included, and draw from that.
 * philox_resolve() does not.
 *
 * The counters that they consume, {low, high} as in philox_block():
 *
 *   kernel                low                          high
 *   philox's own          offset / 4                   element / 4
 *   TE dropout            offset / 4                   element / 16
 *   FlashAttention-2      offset + (b heads + h) 32    16-row tile +
 *                             + lane                       2^32 32-column tile
 *   TE NVFP4 rounding     offset + k                   thread
 *   cuDNN SDPA            not published                not published
 *
 * Some kernels count an offset in 32-bit words; others do not divide it, and
 * count it in blocks. Kernels with the same key collide if a later one's offset
 * falls into the counters of an earlier one. So an operator must say how far
 * its calls reach: the functions below compute struct philox_op_desc.advance.
 * Every operator and call of a region has its own key. Only the calls of
 * successive forwards use one key, an advance apart, so all kernels can be
 * combined.
 *
 * All operators of PHILOX_REGION_SHARED regions on one generator have the same
 * key. There the two kinds must not be mixed: block k is offset 4 k for kernels
 * that divide and offset k for the others, and no advance keeps the two apart.
 * In those regions use only kernels that count in the same unit, and give the
 * others a region that is not shared.
 *
 * Sources: FlashAttention csrc/flash_attn/src/dropout.h and philox.cuh (7
 * rounds; its numbers differ from all others even at the same counter),
 * Transformer Engine common/dropout/dropout.cu and common/util/curanddx.hpp.
 */
#ifndef PHILOX_INTEROP_H
#define PHILOX_INTEROP_H

#include <stdint.h>
#include <philox/pass.h>
#include <philox/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Write the device address of the state of one call of one operator.
 *
 *   pass       the pass; if eager, begun with PHILOX_PASS_ON_DEVICE
 *   op         the operator
 *   call       its call
 *   cell       written: the address of 16 bytes, seed and offset, which belong
 *              to the pass like those of philox_pass_states() and are read-only
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_STATE     an eager pass without PHILOX_PASS_ON_DEVICE; the
 *                          pass is not open
 *   PHILOX_ERROR_INVALID   op or call is out of range
 *   PHILOX_ERROR_STALE     the region was destroyed
 * During capture: legal.
 * Threads: any; one thread at a time may use a pass.
 */
PHILOX_API enum philox_status philox_pass_cell(
	const struct philox_pass *pass, uint32_t op, uint32_t call,
	const struct philox_state **cell);

/* --- advances ------------------------------------------------------------- */

/*
 * The functions below return the advance of an operator that runs a kernel of
 * another library, in 32-bit words, a multiple of 4. It is the distance at
 * which none of the operator's calls consumes a counter of another. Give the
 * largest sizes with which it will run. If a size is 0 the result is 0, which
 * means the least advance. If the sizes are too large to keep apart, more than
 * 2^56 words, it is UINT64_MAX, which philox_region_create() refuses.
 */

/*
 * Return the advance of an operator that runs FlashAttention-2.
 *
 *   batch      entries of the batch; sequences, if their lengths vary
 *   heads      heads of the queries
 *
 * It is 32 for each head of each entry, whatever the lengths. Above 2^26 heads
 * in all, where FlashAttention's own int overflows, it is UINT64_MAX.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API uint64_t philox_advance_flash_attention(uint64_t batch,
						   uint64_t heads);

/*
 * Return the advance of an operator that runs cuDNN's scaled dot product
 * attention.
 *
 *   batch      entries of the batch
 *   heads      heads of the queries
 *   seq_q      length of the queries' sequences
 *   seq_kv     length of the keys' and values' sequences
 *
 * It is batch * heads * max(seq_q * seq_kv, 32). How cuDNN counts is not
 * published. This is enough for any scheme that uses at most one word for each
 * score, or one block if it does not divide, and for FlashAttention's scheme.
 * (Transformer Engine and XLA reserve 16.)
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API uint64_t philox_advance_cudnn_sdpa(uint64_t batch, uint64_t heads,
					      uint64_t seq_q, uint64_t seq_kv);

/*
 * Return the advance of an operator that runs Transformer Engine's fused
 * attention.
 *
 *   batch      entries of the batch
 *   heads      heads of the queries
 *   seq_q      length of the queries' sequences
 *   seq_kv     length of the keys' and values' sequences
 *
 * Transformer Engine runs cuDNN's kernels, so it is as
 * philox_advance_cudnn_sdpa(). It is never less than the callers in Transformer
 * Engine reserve with any backend: 16, or seq_q * max(seq_q, seq_kv) / 128. Its
 * dropout needs the least advance, and NVFP4 quantisation with stochastic
 * rounding needs 1024.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API uint64_t philox_advance_transformer_engine(uint64_t batch,
						      uint64_t heads,
						      uint64_t seq_q,
						      uint64_t seq_kv);

/* --- kernels compiled at run time ----------------------------------------- */

/*
 * Return the text of philox/kernel.h with the headers it includes inserted.
 *
 * The text needs no other file, so NVRTC can use it as a header where philox is
 * not installed:
 *
 *   const char *text = philox_kernel_source(), *name = "philox/kernel.h";
 *
 *   nvrtcCreateProgram(&program, "#include <philox/kernel.h> ...",
 *                      "kernel.cu", 1, &text, &name);
 *
 * Its include guards are those of the files: including both does no harm. A
 * host program needs to include nothing else either; link with -lm. The string
 * is static.
 *
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API const char *philox_kernel_source(void);

#ifdef __cplusplus
}
#endif
#endif

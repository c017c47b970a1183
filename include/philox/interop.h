/*
 * philox/interop.h - states for the kernels of other libraries
 *
 * FlashAttention, Transformer Engine and cuDNN read {seed, offset} from device
 * memory. A cell of a pass is such a pair; in a captured pass it is filled
 * again at each launch, and the backward's cell holds the same state as the
 * forward's. So philox gives these kernels something that their own callers
 * cannot give them in a graph. How to pass it to each of them, where c is the
 * cell of philox_pass_cell():
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
 * They read seed and offset as two numbers: if such a launch overlaps one of
 * the same graph (philox/graph.h), they may see the seed of one state and the
 * offset of another, poison included, and draw from that. philox_resolve() does
 * not.
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
 * Some kernels count an offset in 32-bit words; others, which do not divide it,
 * count it in blocks. Kernels with the same key collide when a later one's
 * offset falls into the counters that an earlier one took, so an operator must
 * say how far its calls reach: the functions below compute struct
 * philox_op_desc.advance. Every operator and call of a region has its own key,
 * and one key is only used by the calls of successive forwards, an advance
 * apart; so all kernels can be combined.
 *
 * All operators of PHILOX_REGION_SHARED regions on one generator have the same
 * key. There the two kinds must not be mixed: block k is offset 4 k for kernels
 * that divide and offset k for those that do not, and no advance keeps the two
 * apart. In those regions use only kernels that count in the same unit, and
 * give the others a region that is not shared.
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
 * philox_pass_cell() writes the device address of the state of call `call` of
 * operator `op`: 16 bytes, seed and offset, which belong to the pass like those
 * of philox_pass_states() and are read-only. Errors: PHILOX_ERROR_STATE for an
 * eager pass begun without PHILOX_PASS_ON_DEVICE, PHILOX_ERROR_INVALID if op or
 * call is out of range, PHILOX_ERROR_STALE. Thread rule of passes. Legal during
 * capture.
 */
PHILOX_API enum philox_status philox_pass_cell(
	const struct philox_pass *pass, uint32_t op, uint32_t call,
	const struct philox_state **cell);

/* --- advances ------------------------------------------------------------- */

/*
 * The functions below return the advance of an operator that runs a kernel of
 * another library, in 32-bit words, a multiple of 4: how far apart its calls
 * must be so that none consumes a counter of another. Give the largest sizes it
 * will run with. The result is 0 if a size is 0, which means the least advance,
 * and UINT64_MAX, which philox_region_create() refuses, if the sizes are too
 * large to be kept apart (more than 2^56 words). Any thread; legal during
 * capture.
 */

/*
 * philox_advance_flash_attention() is for FlashAttention-2: 32 for each head of
 * each batch entry (of each sequence, if their lengths vary), whatever the
 * lengths; heads are those of the queries. Above 2^26 heads in all, where
 * FlashAttention's own int overflows, it is UINT64_MAX.
 */
PHILOX_API uint64_t philox_advance_flash_attention(uint64_t batch,
						   uint64_t heads);

/*
 * philox_advance_cudnn_sdpa() is for cuDNN's scaled dot product attention. How
 * it counts is not published, so this is enough for any scheme that uses at
 * most one word, or one block if it does not divide, for each score, and for
 * FlashAttention's scheme: batch * heads * max(seq_q * seq_kv, 32).
 * (Transformer Engine and XLA reserve 16.)
 */
PHILOX_API uint64_t philox_advance_cudnn_sdpa(uint64_t batch, uint64_t heads,
					      uint64_t seq_q, uint64_t seq_kv);

/*
 * philox_advance_transformer_engine() is for Transformer Engine's fused
 * attention, which runs cuDNN's: as above, and never less than its callers in
 * Transformer Engine reserve with any backend (16, or seq_q * max(seq_q,
 * seq_kv) / 128). Its dropout needs the least advance, NVFP4 quantisation with
 * stochastic rounding 1024.
 */
PHILOX_API uint64_t philox_advance_transformer_engine(uint64_t batch,
						      uint64_t heads,
						      uint64_t seq_q,
						      uint64_t seq_kv);

/* --- kernels compiled at run time ----------------------------------------- */

/*
 * philox_kernel_source() returns the text of philox/kernel.h with the headers
 * it includes inserted. It needs no other file, so NVRTC can use it as a header
 * where philox is not installed:
 *
 *   const char *text = philox_kernel_source(), *name = "philox/kernel.h";
 *
 *   nvrtcCreateProgram(&program, "#include <philox/kernel.h> ...",
 *                      "kernel.cu", 1, &text, &name);
 *
 * Its include guards are those of the files: including both does no harm. A
 * host program, too, needs to include nothing else; link with -lm. The string
 * is static. Any thread; legal during capture.
 */
PHILOX_API const char *philox_kernel_source(void);

#ifdef __cplusplus
}
#endif
#endif

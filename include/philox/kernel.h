/*
 * philox/kernel.h - the numbers, for host code and kernels alike
 *
 * One definition of everything that turns a state and an element index into a
 * value. It compiles as C11, C++, CUDA and under NVRTC; nothing in it needs
 * the library, but for philox_weight_sums():
 *
 *   philox/state.h      states, resolving them, Philox blocks, derived keys
 *   philox/real.h       arithmetic that gives the same bits everywhere, with
 *                       logarithm, exponential function, sine and cosine
 *   philox/values.h     every distribution's numbers, and masks, from words
 *   philox/draw.h       every distribution's numbers, words, masks and dropout,
 *                       of an element or of a block's: f32, f64, bf16, f16, and
 *                       integers of any range
 *   philox/round.h      stochastic rounding to bf16, f16, 8 and 4 bits, scales
 *                       of blocks, random signs
 *   philox/permute.h    orders of n items, without memory
 *   philox/truncated.h  normal numbers of an interval
 *   philox/weights.h    draws by weight
 *   philox/mixture.h    the order of training data: epochs, mixtures of sources
 *
 * bf16 and f16 are computed in f32. For dropout of such a value do as fills do:
 * widen it (philox_bf16_to_f32()), apply philox_dropout_f32() or a function of
 * philox/draw.h, and round (philox_f32_to_bf16()).
 *
 * A kernel that is launched programmatically, before those it depends on have
 * ended, may resolve its state as any other: philox_read_cell() waits for them
 * where it has a cell. What it reads or writes before is its own affair: it may
 * neither touch what those kernels use, nor count on what they have written.
 *
 * A host without fused multiply-add instructions needs the C library's fma()
 * and fmaf(): on such a host link with -lm.
 */
#ifndef PHILOX_KERNEL_H
#define PHILOX_KERNEL_H

#include <philox/state.h>
#include <philox/real.h>
#include <philox/values.h>
#include <philox/draw.h>
#include <philox/round.h>
#include <philox/permute.h>
#include <philox/truncated.h>
#include <philox/weights.h>
#include <philox/mixture.h>

#endif

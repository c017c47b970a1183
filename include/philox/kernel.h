/*
 * philox/kernel.h - the numbers, for host code and kernels alike
 *
 * One definition of everything that turns a state and an element index into a
 * value. It compiles as C11, C++, CUDA and under NVRTC; nothing in it needs
 * the library:
 *
 *   philox/state.h      states, resolving them, Philox blocks, derived keys
 *   philox/real.h       arithmetic that gives the same bits everywhere
 *   philox/functions.h  logarithm, exponential function, sine and cosine
 *   philox/values.h     every distribution's numbers, and masks, from words
 *   philox/draw.h       words, uniform and normal numbers, masks and dropout of
 *                       an element or of four; the other formulas of values.h
 *                       take the words it draws
 *
 * A host without fused multiply-add instructions needs the C library's fma()
 * and fmaf(): link with -lm there.
 */
#ifndef PHILOX_KERNEL_H
#define PHILOX_KERNEL_H

#include <philox/state.h>
#include <philox/real.h>
#include <philox/functions.h>
#include <philox/values.h>
#include <philox/draw.h>

#endif

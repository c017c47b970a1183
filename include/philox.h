/*
 * philox.h - randomness for captured CUDA graphs, repeatable in the backward
 *
 * A captured graph freezes its kernel arguments: a seed passed by value repeats
 * the same numbers at every replay. A backward that draws its mask again,
 * instead of reading a stored one, must find the state of its own forward,
 * whatever ran in between. philox keeps a ledger of forwards whose backward is
 * owed. It tells each graph, in the parameters of one node, which states to
 * use. The same code runs on a CPU and gives the same numbers, bit for bit.
 *
 * The objects, and where they are:
 *
 *   philox/device.h   a device; calls that are counted and made to fail
 *   philox/context.h  a context on it, and its generators
 *   philox/region.h   regions of random operators
 *   philox/pass.h     passes over regions, and the tickets that tie a backward
 *                     to its forward
 *   philox/fill.h     fills, in the layouts of other libraries too
 *   philox/quantize.h
 *                     tensors rounded stochastically to 8 and 4 bits, with
 *                     scales of blocks
 *   philox/subset.h   subsets by weight, without replacement
 *   philox/rows.h     tables of states for samplers, and tokens from logits
 *   philox/penalties.h
 *                     biases, and penalties for tokens that rows have had
 *   philox/accept.h   drafts of another model, accepted by probabilities
 *   philox/split.h    samples of a vocabulary that is split over ranks
 *   philox/graph.h    graphs, with branches, loops and parameters that change
 *                     with each launch; launches that are checked against
 *                     their eager form
 *   philox/pool.h     device memory that graphs share
 *   philox/runner.h   functions that are captured and replayed by themselves,
 *                     and what they have learned, as a text
 *   philox/save.h     a context as a text, to resume from
 *   philox/mesh.h     ranks, the parts of tensors that they hold, whether they
 *                     agree, and their contexts as a set of texts
 *   philox/data.h     the order of training data, and how far a run has come
 *   philox/kernel.h   the numbers themselves, for your own kernels
 *   philox/permute.h  orders of n items, without memory
 *   philox/truncated.h  normal numbers of an interval
 *   philox/weights.h  draws by weight, with replacement
 *   philox/mixture.h  epochs and mixtures of data, without memory
 *   philox/interop.h  the same as a string, and states for the kernels of
 *                     other libraries
 *   philox/status.h   errors; structs that callers fill in begin with their
 *                     size
 *
 * A program is built with the flags that pkg-config has for it:
 *
 *   cc program.c $(pkg-config --cflags --libs philox) -o program
 */
#ifndef PHILOX_H
#define PHILOX_H

#include <philox/mesh.h>
#include <philox/graph.h>
#include <philox/context.h>
#include <philox/data.h>
#include <philox/device.h>
#include <philox/fill.h>
#include <philox/save.h>
#include <philox/interop.h>
#include <philox/kernel.h>
#include <philox/pass.h>
#include <philox/permute.h>
#include <philox/truncated.h>
#include <philox/weights.h>
#include <philox/runner.h>
#include <philox/penalties.h>
#include <philox/accept.h>
#include <philox/split.h>
#include <philox/pool.h>
#include <philox/quantize.h>
#include <philox/region.h>
#include <philox/rows.h>
#include <philox/status.h>
#include <philox/subset.h>

#endif

/*
 * philox.h - randomness for captured CUDA graphs, repeatable in the backward
 *
 * A captured graph freezes its kernel arguments: a seed passed by value repeats
 * the same numbers at every replay, and a backward that regenerates a mask
 * instead of storing it must find exactly the state its own forward used,
 * whatever ran in between. philox keeps a ledger of forwards whose backward is
 * owed and tells each graph, in the parameters of one node, which states to
 * use. The same code runs on a CPU and gives the same numbers, bit for bit.
 *
 * Objects: a device (philox/device.h); a context on it (philox/context.h) with
 * generators (philox/context.h), regions of random operators
 * (philox/region.h) and graphs (philox/graph.h), with branches and loops
 * (philox/graph.h) and arguments that change with each launch
 * (philox/graph.h); passes over regions, and the tickets that tie a
 * backward to its forward (philox/pass.h); fills (philox/fill.h), in the
 * layouts of other libraries too (philox/fill.h); tables of states for
 * samplers, and tokens from logits (philox/rows.h, philox/rows.h); device
 * memory that graphs share (philox/pool.h); functions that are captured and
 * replayed by themselves (philox/runner.h), and what they have learned, as a
 * text (philox/runner.h); launches that are checked against their eager form
 * (philox/graph.h); a context as a text, to resume from (philox/save.h);
 * ranks, many processes that run one program (philox/mesh.h), the parts of
 * tensors that they hold (philox/mesh.h), whether they agree (philox/mesh.h)
 * and their contexts as a set of texts (philox/mesh.h); the numbers
 * themselves, for your own kernels (philox/kernel.h, or as a string,
 * philox/interop.h); states for the kernels of other libraries
 * (philox/interop.h); and, for tests, calls that are counted and made to fail
 * (philox/device.h). Structs that callers fill in begin with their size
 * (philox/status.h).
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
#include <philox/device.h>
#include <philox/fill.h>
#include <philox/save.h>
#include <philox/interop.h>
#include <philox/kernel.h>
#include <philox/pass.h>
#include <philox/runner.h>
#include <philox/pool.h>
#include <philox/region.h>
#include <philox/rows.h>
#include <philox/status.h>

#endif

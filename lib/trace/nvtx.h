/*
 * lib/trace/nvtx.h - ranges for NVIDIA's profilers
 *
 * With NVTX of the CUDA toolkit, which is headers only. A build without has the
 * same functions; they do nothing.
 */
#ifndef LIB_TRACE_NVTX_H
#define LIB_TRACE_NVTX_H

#include "lib/trace/timeline.h"

/* nvtx_wanted() tells whether a tool that wants ranges is attached. */
int nvtx_wanted(void);

/*
 * nvtx_take() begins and ends the ranges of a timeline, in the domain "philox":
 * passes, captures and launches, each named after its region or graph. Only one
 * that nvtx_wanted().
 */
void nvtx_take(const struct timeline_item *item);

#endif

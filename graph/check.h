/*
 * graph/check.h - whether a context is quiet
 *
 * With the context's lock held.
 */
#ifndef GRAPH_CHECK_H
#define GRAPH_CHECK_H

#include "lib/base/base.h"

struct philox_context;

/* The hooks `quiet` and `still`: see lib/state/state.h. */
enum philox_status check_quiet(struct philox_context *context);
enum philox_status check_still(struct philox_context *context);

#endif

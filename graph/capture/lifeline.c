/*
 * graph/capture/lifeline.c - see graph/capture/lifeline.h
 */
#include <stdatomic.h>
#include <stdlib.h>
#include "graph/capture/lifeline.h"
#include "lib/base/status.h"

struct lifeline {
	atomic_int references;
	atomic_int gone; /* the native graph and its execs are destroyed */
};

void lifeline_put(struct lifeline *lifeline)
{
	if (atomic_fetch_sub(&lifeline->references, 1) == 1)
		free(lifeline);
}

/* Runs when the native graph is gone, on any thread: calls no device. */
static void release_lifeline(void *object)
{
	struct lifeline *lifeline = object;

	atomic_store(&lifeline->gone, 1);
	lifeline_put(lifeline);
}

int lifeline_is_gone(const struct lifeline *lifeline)
{
	return atomic_load(&lifeline->gone);
}

enum philox_status lifeline_attach(struct philox_device *device,
				   philox_native_graph native,
				   struct lifeline **out)
{
	struct lifeline *lifeline = calloc(1, sizeof(*lifeline));
	enum philox_status status;

	if (!lifeline)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a capture");
	atomic_init(&lifeline->references, 2); /* ours and the graph's */
	status =
		device_graph_retain(device, native, release_lifeline, lifeline);
	if (status != PHILOX_OK)
		free(lifeline);
	else
		*out = lifeline;
	return status;
}

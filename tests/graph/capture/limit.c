/*
 * tests/graph/capture/limit.c - a device whose driver does not load the largest
 * heads
 */
#include <stdio.h>
#include "lib/device/contract.h"
#include "tests/support/support.h"

static struct {
	unsigned n;
	enum philox_log_level level;
	char event[32], text[512];
} last;

static void keep(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	last.n++;
	last.level = entry->level;
	snprintf(last.event, sizeof(last.event), "%s", entry->event);
	snprintf(last.text, sizeof(last.text), "%s", entry->text);
}

/* As opening such a device leaves it. */
static void lower_limit(struct fixture *f)
{
	f->device->head_max = 4;
	snprintf(f->device->head_why, sizeof(f->device->head_why), "so");
}

GRAPH_PROMISE(limit, graphs_hold_as_many_passes_as_the_largest_head_that_loads)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_launch_pass uses[4] = {{{0, 0}, 0, 0}};
	struct philox_pass pass = {0};
	struct philox_graph *graph;

	lower_limit(f);
	record_begin(f);
	for (int i = 0; i < 4; i++)
		captured_forward(f, region, PHILOX_PASS_INFERENCE, array);
	FAILS(philox_forward_begin(region, f->stream, 0, &pass),
	      PHILOX_ERROR_LIMIT);
	NAMES("at most 4 passes");
	NAMES("states: so");
	graph = record_end(f);
	cr_assert_eq(philox_graph_pass_count(graph), 4);
	OK(philox_graph_launch(graph, f->stream, uses, 4));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_context_check(f->context, NULL));
}

PROMISE(limit, the_log_tells_a_lower_limit_as_soon_as_it_is_there)
{
	last.n = 0;
	OK(philox_context_set_log(f->context, keep, NULL));
	cr_assert_eq(last.n, 0);
	lower_limit(f);
	OK(philox_context_set_log(f->context, NULL, NULL));
	cr_assert_eq(last.n, 0);
	OK(philox_context_set_log(f->context, keep, NULL));
	cr_assert_eq(last.n, 1);
	cr_assert_eq(last.level, PHILOX_LOG_WARNING);
	cr_assert_str_eq(last.event, "limit");
	cr_assert(strstr(last.text, "at most 4 passes") &&
			  strstr(last.text, philox_device_name(f->device)) &&
			  strstr(last.text, ": so"),
		  "%s", last.text);
	OK(philox_context_set_log(f->context, NULL, NULL));
}

/*
 * tests/graph/launch/ahead.c - adopted graphs whose native graph is gone,
 * beside the same graphs with it
 *
 * See Note [Heads that run ahead] in graph/capture/capture.h, and
 * tools/contract/graph/templates.c.
 */
#include <stdlib.h>
#include <string.h>
#include "tests/support/support.h"

/* Cells of several parts of a head, of which some are drawn from. */
enum { CALLS = 200, EACH = 64, LAUNCHES = 5 };

static const uint32_t drawn[] = {0, 1, 62, 63, 64, 65, 127, 128, 129, 199};

#define DRAWN (sizeof(drawn) / sizeof(drawn[0]))

struct world {
	struct philox_context *context;
	struct philox_region *region;
	struct philox_graph *graph;
	philox_native_graph native;
	philox_native_exec exec;
	uint32_t (*out)[EACH]; /* DRAWN of them, then the parameter's */
	void *param;           /* on the device */
};

static void capture(struct fixture *f, struct world *w, uint64_t *id)
{
	const struct philox_span span = {.count = EACH};
	const uint64_t initial = 77;
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_RELAXED));
	OK(philox_stream_capture_info(f->device, f->stream, NULL, id));
	OK(philox_forward_begin(w->region, f->stream, 0, &pass));
	for (size_t i = 0; i < DRAWN; i++) {
		const struct philox_fill_desc fill = {.size = sizeof(fill),
						      .dist = PHILOX_DIST_BITS,
						      .dtype = PHILOX_DTYPE_U32,
						      .span = span,
						      .out = w->out[i]};

		OK(philox_pass_fill(&pass, 0, drawn[i], &fill));
	}
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_capture_param(w->context, f->stream, "value", &initial,
				sizeof(initial), &w->param));
	OK(philox_memory_copy(f->device, f->stream, w->out[DRAWN], w->param,
			      sizeof(initial)));
	OK(philox_stream_end_capture(f->device, f->stream, &w->native));
	OK(philox_native_graph_instantiate(f->device, w->native, &w->exec));
}

static struct world open_world(struct fixture *f, int with_native)
{
	const struct philox_op_desc op = {"op", CALLS, 0};
	const struct philox_region_desc options = {.size = sizeof(options),
						   .name = "layer",
						   .ops = &op,
						   .n_ops = 1};
	struct world w = {.native = NULL};
	uint64_t id;

	OK(philox_context_create(f->device, &w.context));
	OK(philox_region_create(w.context, &options, &w.region));
	w.out = make_memory(f, (DRAWN + 1) * sizeof(*w.out));
	capture(f, &w, &id);
	if (!with_native) {
		OK(philox_native_graph_destroy(f->device, w.native));
		w.native = NULL;
	}
	OK(philox_graph_adopt(w.context, id, w.native, w.exec, &w.graph));
	return w;
}

static void close_world(struct fixture *f, struct world *w)
{
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_graph_destroy(w->graph));
	OK(philox_native_exec_destroy(f->device, w->exec));
	if (w->native)
		OK(philox_native_graph_destroy(f->device, w->native));
	OK(philox_context_destroy(w->context));
}

/* Returns the number of the forward. */
static uint64_t launch(struct fixture *f, struct world *w)
{
	struct philox_launch_pass use = {0};

	OK(philox_graph_launch(w->graph, f->stream, &use, 1));
	return use.ticket.serial;
}

static void same_numbers(struct fixture *f, const struct world *a,
			 const struct world *b)
{
	uint32_t one[DRAWN + 1][EACH], other[DRAWN + 1][EACH];

	OK(philox_memory_copy(f->device, f->stream, one, a->out, sizeof(one)));
	OK(philox_memory_copy(f->device, f->stream, other, b->out,
			      sizeof(other)));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (size_t i = 0; i < DRAWN; i++)
		cr_assert(!memcmp(one[i], other[i], sizeof(one[i])), "call %u",
			  drawn[i]);
	cr_assert(!memcmp(one[DRAWN], other[DRAWN], 8), "the parameter");
}

static void is_poison(struct fixture *f, const struct world *w)
{
	uint32_t seen[DRAWN][EACH];

	OK(philox_native_exec_launch(f->device, f->stream, w->exec));
	OK(philox_memory_copy(f->device, f->stream, seen, w->out,
			      sizeof(seen)));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (size_t i = 0; i < DRAWN; i++)
		for (size_t k = 0; k < EACH; k++)
			cr_assert_eq(seen[i][k], UINT32_MAX, "call %u",
				     drawn[i]);
	FAILS(philox_context_check(w->context, NULL), PHILOX_ERROR_UNANNOUNCED);
}

PROMISE(ahead,
	graphs_of_many_cells_and_parameters_are_as_with_their_native_graph)
{
	struct world with = open_world(f, 1), without = open_world(f, 0);

	for (uint64_t i = 0; i < LAUNCHES; i++) {
		launch(f, &with);
		launch(f, &without);
		same_numbers(f, &with, &without);
		is_poison(f, &without);
		OK(philox_graph_set_param(with.graph, 0, &i, sizeof(i)));
		OK(philox_graph_set_param(without.graph, 0, &i, sizeof(i)));
	}
	close_world(f, &with);
	close_world(f, &without);
}

/* Every call of the device on the way fails once; then all is as it was. */
PROMISE(ahead, a_first_launch_that_fails_leaves_nothing)
{
	f->injected = 1;
	for (uint64_t nth = 1;; nth++) {
		struct world with = open_world(f, 1),
			     without = open_world(f, 0);
		struct philox_launch_pass use = {0};
		enum philox_status status;

		OK(philox_device_fail(f->device, NULL, nth,
				      PHILOX_ERROR_DEVICE));
		status = philox_graph_launch(without.graph, f->stream, &use, 1);
		OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
		cr_assert(status == PHILOX_OK || status == PHILOX_ERROR_DEVICE);
		if (status == PHILOX_OK) {
			cr_assert_geq(nth, 4);
		} else {
			is_poison(f, &without);
			use.ticket.serial = launch(f, &without);
		}
		while (launch(f, &with) < use.ticket.serial)
			; /* the failed one may have taken numbers */
		same_numbers(f, &with, &without);
		close_world(f, &with);
		close_world(f, &without);
		if (status == PHILOX_OK)
			break;
	}
}

static int gate; /* 1: it is open */

static void hold_back(const void *none)
{
	(void)none;
	while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
		;
}

/*
 * The kernels of a launch that failed are still queued when everything is
 * destroyed. Others must not get their memory before they have run.
 */
PROMISE(ahead, kernels_of_a_failed_launch_keep_their_memory)
{
	struct world gone, next;
	struct philox_launch_pass use = {0};

	if (!philox_device_is_host(f->device) ||
	    !strcmp(philox_device_name(f->device), "host:sync"))
		return; /* no work waits for the host there */
	gone = open_world(f, 0);
	launch(f, &gone);
	OK(philox_stream_synchronize(f->device, f->stream));
	gate = 0;
	OK(philox_stream_launch_host(f->device, f->side, hold_back, "", 1));
	OK(philox_graph_prologue(gone.graph, f->side, &use, 1));
	OK(philox_graph_epilogue(gone.graph, PHILOX_ERROR_DEVICE));
	OK(philox_graph_destroy(gone.graph));
	OK(philox_native_exec_destroy(f->device, gone.exec));
	next = gone;
	OK(philox_region_destroy(gone.region));
	{
		const struct philox_op_desc op = {"op", CALLS, 0};
		const struct philox_region_desc options = {
			.size = sizeof(options),
			.name = "next",
			.ops = &op,
			.n_ops = 1};
		uint64_t id;

		OK(philox_region_create(next.context, &options, &next.region));
		capture(f, &next, &id);
		OK(philox_graph_adopt(next.context, id, next.native, next.exec,
				      &next.graph));
	}
	launch(f, &next);
	OK(philox_stream_synchronize(f->device, f->stream));
	__atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
	OK(philox_stream_synchronize(f->device, f->side));
	launch(f, &next);
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_context_check(next.context, NULL));
	close_world(f, &next);
}

/* A number that no head has taken is never on an executable graph. */
PROMISE(ahead, another_executable_graph_begins_without_a_message)
{
	struct world w = open_world(f, 1);
	philox_native_exec first = w.exec;

	OK(philox_native_graph_instantiate(f->device, w.native, &w.exec));
	f->injected = 1;
	OK(philox_device_fail(f->device, "exec_set_kernel", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(philox_graph_launch(w.graph, f->stream,
				  &(struct philox_launch_pass){{0, 0}, 0, 0},
				  1),
	      PHILOX_ERROR_DEVICE);
	OK(philox_graph_set_exec(w.graph, w.exec));
	is_poison(f, &w);
	launch(f, &w);
	OK(philox_native_exec_destroy(f->device, first));
	close_world(f, &w);
}

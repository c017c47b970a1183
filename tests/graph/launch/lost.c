/*
 * tests/graph/launch/lost.c - devices of which no call works any more, as after
 * a fault in somebody's kernel: doc/limits.md, "A GPU that is lost"
 */
#include <stdlib.h>
#include <string.h>
#include "tests/support/scene.h"

static void lose(struct fixture *f)
{
	f->injected = 1;
	OK(philox_device_fail(f->device, NULL, PHILOX_FAIL_ALWAYS,
			      PHILOX_ERROR_DEVICE));
}

static void find_again(struct fixture *f)
{
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
}

GRAPH_PROMISE(lost, all_calls_of_a_device_fail_until_that_is_cancelled)
{
	void *memory;

	OK(philox_device_fail(f->device, "mem_alloc", PHILOX_FAIL_ALWAYS,
			      PHILOX_ERROR_MEMORY));
	for (int i = 0; i < 3; i++)
		FAILS(philox_memory_alloc(f->device, 256, &memory),
		      PHILOX_ERROR_MEMORY);
	OK(philox_stream_synchronize(f->device, f->stream));
	find_again(f);
	OK(philox_memory_alloc(f->device, 256, &memory));
	OK(philox_memory_free(f->device, memory));
	lose(f);
	for (int i = 0; i < 3; i++) {
		FAILS(philox_memory_alloc(f->device, 256, &memory),
		      PHILOX_ERROR_DEVICE);
		FAILS(philox_stream_synchronize(f->device, f->stream),
		      PHILOX_ERROR_DEVICE);
	}
	find_again(f);
}

/* Launches and passes fail, and every ticket is as it was. */
GRAPH_PROMISE(lost, a_lost_device_leaves_the_ledger_whole)
{
	struct rig rig = make_rig(f);
	struct philox_launch_pass use = {0};
	const struct philox_span span = {.count = WORDS};
	struct philox_pass pass;

	for (int round = 0; round < 3; round++) {
		lose(f);
		FAILS(philox_graph_launch(rig.forth, f->stream, &use, 1),
		      PHILOX_ERROR_DEVICE);
		use.ticket = rig.one.ticket;
		FAILS(philox_graph_launch(rig.back, f->stream, &use, 1),
		      PHILOX_ERROR_DEVICE);
		FAILS(philox_capture_begin(f->context, f->stream),
		      PHILOX_ERROR_DEVICE);
		if (philox_backward_begin(rig.region, f->stream, rig.two.ticket,
					  0, &pass) == PHILOX_OK) {
			FAILS(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, span,
					       rig.y),
			      PHILOX_ERROR_DEVICE);
			OK(philox_pass_abort(&pass));
		}
		PENDING(rig.region, 2);
		find_again(f);
		rig_is_whole(f, &rig);
	}
}

static char *saved(struct fixture *f)
{
	char *text;
	size_t size;

	OK(philox_context_save_text(f->context, &text, &size));
	return text;
}

/* Nobody knows what has run: a good text is not replaced by a wrong one. */
GRAPH_PROMISE(lost, a_context_is_not_saved_without_its_device)
{
	struct rig rig = make_rig(f);
	char *before = saved(f), *after = before;
	size_t size = 7;

	lose(f);
	FAILS(philox_context_save_text(f->context, &after, &size),
	      PHILOX_ERROR_DEVICE);
	cr_assert_eq(after, before);
	cr_assert_eq(size, 7);
	find_again(f);
	after = saved(f);
	cr_assert_str_eq(before, after);
	free(before);
	free(after);
	rig_is_whole(f, &rig);
}

/* What could not be given back to the device is still there. */
GRAPH_PROMISE(lost, objects_of_a_lost_device_can_be_destroyed)
{
	struct philox_region *region = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, region, 0, array);

	philox_native_graph native;
	philox_native_exec exec;

	launch_forward(f, graph, region, array);
	OK(philox_graph_native(graph, &native, &exec));
	lose(f);
	OK(philox_graph_destroy(graph));
	OK(philox_region_destroy(region));
	find_again(f);
	if (!f->own) { /* else the test has them, as all that is adopted */
		OK(philox_native_exec_destroy(f->device, exec));
		OK(philox_native_graph_destroy(f->device, native));
	}
}

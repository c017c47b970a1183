/*
 * tests/graph/bodies/failures.c - devices that fail while branches and loops
 * are captured or launched
 *
 * A capture that went on after a failure either becomes no graph, or one that
 * is right in everything.
 */
#include "tests/support/loops.h"
#include "tests/support/scene.h"

enum { LIMIT = 4, WORDS_DRAWN = 4 };

struct bed {
	struct scene scene;
	struct tape tape, order;
	uint32_t *forth, *back; /* of the last run: WORDS_DRAWN each */
	int again;              /* a call that fails is made again */
	unsigned failures;
	uint64_t calls; /* of the device, before the capture */
	const char *operation;
	uint64_t n; /* which call of it fails */
	int fired;  /* the failure that was ordered came */
	struct philox_conditional loop;
	struct philox_pass pass;
};

/* A call's status; if it failed, that of the same call again. */
#define TRY(bed, call)                              \
	do {                                        \
		enum philox_status tried_ = (call); \
                                                    \
		if (tried_ != PHILOX_OK) {          \
			(bed)->failures++;          \
			if (!(bed)->again)          \
				return tried_;      \
			tried_ = (call);            \
			if (tried_ != PHILOX_OK)    \
				return tried_;      \
		}                                   \
	} while (0)

static enum philox_status try_word(struct fixture *f, struct bed *bed,
				   philox_stream stream, struct tape tape)
{
	uint32_t *spare = tape.word + TAPE + 2;
	size_t size = (TAPE + 1) * sizeof(*spare);

	TRY(bed,
	    philox_memory_copy(f->device, stream, spare, tape.word + 1, size));
	TRY(bed, philox_memory_copy(f->device, stream, tape.word, spare, size));
	return PHILOX_OK;
}

static enum philox_status try_passes(struct fixture *f, struct bed *bed)
{
	struct philox_region *region = bed->scene.region;
	struct philox_span span = {.count = WORDS_DRAWN};
	struct philox_ticket ticket;
	struct philox_pass view;

	TRY(bed, philox_forward_begin(region, f->side, 0, &bed->pass));
	TRY(bed, philox_pass_bits(&bed->pass, 0, PHILOX_DTYPE_U32, span,
				  bed->forth));
	TRY(bed, philox_pass_commit(&bed->pass, 0, &ticket));
	TRY(bed, philox_backward_begin(region, f->side, ticket, 0, &bed->pass));
	TRY(bed, philox_pass_at(&bed->pass, 1, &view));
	TRY(bed, philox_pass_at_word(&bed->pass, bed->order.word, &view));
	TRY(bed, philox_pass_bits(&view, 0, PHILOX_DTYPE_U32, span, bed->back));
	TRY(bed, philox_pass_commit(&bed->pass, 0, NULL));
	return PHILOX_OK;
}

static enum philox_status try_loop(struct fixture *f, struct bed *bed)
{
	struct philox_conditional_desc options = {
		.size = sizeof(options),
		.kind = PHILOX_CONDITIONAL_WHILE,
		.limit = LIMIT,
		.word = bed->tape.word};
	const uint32_t *iteration;
	enum philox_status status;

	status = try_word(f, bed, f->stream, bed->tape);
	if (status != PHILOX_OK)
		return status;
	TRY(bed, philox_conditional_begin(f->context, f->stream, &options,
					  &bed->loop));
	TRY(bed, philox_conditional_body(&bed->loop, 0, f->side));
	TRY(bed, philox_conditional_iteration(&bed->loop, 0, &iteration));
	status = try_passes(f, bed);
	if (status == PHILOX_OK)
		status = try_word(f, bed, f->side, bed->tape);
	if (status != PHILOX_OK)
		return status;
	TRY(bed, philox_conditional_set(&bed->loop, f->side, bed->order.word));
	TRY(bed, philox_conditional_set(&bed->loop, f->side, bed->tape.word));
	status = philox_conditional_end(&bed->loop);
	cr_assert_null(bed->loop.context, "not open, whatever it returns");
	bed->failures += status != PHILOX_OK;
	return status;
}

static void take_back(struct fixture *f, struct bed *bed)
{
	uint64_t calls = philox_device_call_count(f->device, bed->operation);

	bed->fired |= calls - bed->calls >= bed->n;
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
}

/* The capture is over, one way or another, and the graph or NULL. */
static struct philox_graph *end_capture(struct fixture *f, struct bed *bed)
{
	enum philox_capture_status capture;
	struct philox_graph *graph = NULL;
	philox_native_graph native = NULL;
	enum philox_status status =
		philox_capture_end(f->context, f->stream, &graph);

	cr_assert_eq(status == PHILOX_OK, graph != NULL);
	take_back(f, bed);
	if (status == PHILOX_OK)
		return graph;
	bed->failures++;
	/* the call that failed may be the one that asks for the capture */
	OK(philox_stream_capture_info(f->device, f->stream, &capture, NULL));
	if (capture == PHILOX_CAPTURE_NONE)
		return NULL;
	if (philox_capture_end(f->context, f->stream, &graph) == PHILOX_OK)
		return graph;
	OK(philox_stream_capture_info(f->device, f->stream, &capture, NULL));
	if (capture == PHILOX_CAPTURE_NONE)
		return NULL;
	philox_stream_end_capture(f->device, f->stream, &native);
	OK(philox_native_graph_destroy(f->device, native));
	return NULL;
}

static void check_words(struct fixture *f, const uint32_t *array,
			uint64_t offset)
{
	struct numbers expected = predict(0, "layer", offset);

	OK(philox_device_synchronize(f->device));
	cr_assert_arr_eq(array, expected.word,
			 WORDS_DRAWN * sizeof(*expected.word));
}

/* Launches the graph that a capture became all the same. */
static void is_right(struct fixture *f, struct bed *bed,
		     struct philox_graph *graph)
{
	struct philox_pass probe;
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};
	const unsigned counts[] = {3, LIMIT};
	const uint32_t order = 2;
	uint64_t at;

	cr_assert_eq(philox_graph_pass_count(graph), 2);
	set_counts(f, bed->tape, counts, 2);
	for (int i = 0; i < 2; i++) {
		OK(philox_forward_begin(bed->scene.region, f->stream,
					PHILOX_PASS_WARMUP, &probe));
		at = probe.state.offset;
		OK(philox_pass_commit(&probe, 0, NULL));
		OK(philox_memory_copy(f->device, f->stream, bed->order.word,
				      &order, 4));
		OK(philox_stream_synchronize(f->device, f->stream));
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		check_words(f, bed->forth, at + 4 * (counts[i] - 1));
		check_words(f, bed->back, at + 4 * order);
	}
	nothing_wrong(f);
	bed->scene.before = look(f, bed->scene.region);
}

/* One attempt; 0 when the failure that was ordered did not come. */
static int attempt(struct fixture *f, struct bed *bed, const char *operation,
		   uint64_t n, enum philox_status failure)
{
	enum philox_status status;
	struct philox_graph *graph = NULL;

	bed->failures = 0;
	memset(&bed->loop, 0, sizeof(bed->loop));
	memset(&bed->pass, 0, sizeof(bed->pass));
	bed->operation = operation;
	bed->n = n;
	bed->fired = 0;
	bed->calls = philox_device_call_count(f->device, operation);
	OK(philox_device_fail(f->device, operation, n, failure));
	status = philox_capture_begin(f->context, f->stream);
	bed->failures += status != PHILOX_OK;
	if (status == PHILOX_OK) {
		status = try_loop(f, bed);
		if (status != PHILOX_OK) {
			philox_pass_abort(&bed->pass);
			philox_conditional_end(&bed->loop);
		}
		graph = end_capture(f, bed);
		if (status != PHILOX_OK && graph) {
			/* given up before anything had gone wrong in it */
			cr_assert_leq(philox_graph_pass_count(graph), 2);
			OK(philox_graph_destroy(graph));
			graph = NULL;
		}
	} else {
		take_back(f, bed);
	}
	runs(f, f->stream);
	runs(f, f->side);
	PENDING(bed->scene.region, bed->scene.before.pending);
	unchanged(f, bed->scene.region, &bed->scene.before);
	if (graph) {
		is_right(f, bed, graph);
		OK(philox_graph_destroy(graph));
	}
	return bed->fired;
}

static void make_bed(struct fixture *f, struct bed *bed, int again)
{
	memset(bed, 0, sizeof(*bed));
	bed->again = again;
	bed->scene = make_scene(f);
	bed->tape = make_tape(f);
	bed->order = make_tape(f);
	bed->forth = make_memory(f, WORDS_DRAWN * sizeof(uint32_t));
	bed->back = make_memory(f, WORDS_DRAWN * sizeof(uint32_t));
}

/* Every call of the device fails once. */
static void every_call(struct fixture *f, int again, enum philox_status failure)
{
	struct bed bed;
	uint64_t n = 1;

	make_bed(f, &bed, again);
	f->injected = 1;
	for (; attempt(f, &bed, NULL, n, failure); n++)
		cr_assert_lt(n, 400);
	cr_assert_gt(n, 15, "only %d calls of the device", (int)n);
	end_scene(f, &bed.scene);
}

PROMISE(bodies_failures, at_every_call_of_a_capture_that_is_given_up)
{
	every_call(f, 0, PHILOX_ERROR_DEVICE);
}

PROMISE(bodies_failures, at_every_call_of_a_capture_that_goes_on)
{
	every_call(f, 1, PHILOX_ERROR_DEVICE);
}

PROMISE(bodies_failures, for_want_of_memory_at_every_call)
{
	every_call(f, 0, PHILOX_ERROR_MEMORY);
}

static int counts_memory(const char *operation)
{
	return !strcmp(operation, "mem_alloc") ||
	       !strcmp(operation, "mem_free") ||
	       !strcmp(operation, "mapped_alloc") ||
	       !strcmp(operation, "mapped_free");
}

/* By name, with the count of what is left on the device. */
PROMISE(bodies_failures, leave_no_device_memory)
{
	struct bed bed;
	unsigned failures = 0;

	make_bed(f, &bed, 0);
	for (size_t i = 0; device_operations[i]; i++) {
		uint64_t n = 1;

		if (counts_memory(device_operations[i]))
			continue;
		for (; attempt(f, &bed, device_operations[i], n,
			       PHILOX_ERROR_DEVICE);
		     n++)
			cr_assert_lt(failures++, 400);
	}
	cr_assert_gt(failures, 15);
	end_scene(f, &bed.scene);
}

/* A driver that is too old: a refusal by name, and nothing is left. */
PROMISE(bodies_failures, where_there_are_no_conditional_nodes)
{
	static const char *const calls[] = {"condition_create",
					    "graph_add_conditional"};
	struct bed bed;

	make_bed(f, &bed, 0);
	for (int i = 0; i < 2; i++) {
		struct philox_conditional_desc options = {
			.size = sizeof(options),
			.kind = PHILOX_CONDITIONAL_WHILE,
			.limit = LIMIT};
		struct philox_conditional loop;
		struct philox_graph *graph;

		OK(philox_capture_begin(f->context, f->stream));
		captured_forward(f, bed.scene.region, 0, bed.scene.array);
		OK(philox_device_fail(f->device, calls[i], 1,
				      PHILOX_ERROR_UNSUPPORTED));
		memset(&loop, 0x5a, sizeof(loop));
		FAILS(philox_conditional_begin(f->context, f->stream, &options,
					       &loop),
		      PHILOX_ERROR_UNSUPPORTED);
		cr_assert_null(loop.context);
		/* nothing was added, or the capture says that it is broken */
		if (philox_capture_end(f->context, f->stream, &graph) ==
		    PHILOX_OK)
			OK(philox_graph_destroy(graph));
		runs(f, f->stream);
		scene_is_whole(f, &bed.scene);
	}
	end_scene(f, &bed.scene);
}

/* --- launches ------------------------------------------------------------- */

static void draws_of(struct fixture *f, struct log *log, unsigned n,
		     struct block_set *seen)
{
	read_log(f, log);
	LOGGED_IN_ALL(log, n);
	for (unsigned i = 0; i < n; i++)
		cr_assert_eq(block_set_add(seen, &log->run[i]), 0, "run %u", i);
}

GRAPH_PROMISE(bodies_failures, of_a_launch_leave_the_ledger_whole)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region);
	struct block_set *seen = block_set_new();
	struct tape tape = make_tape(f);
	struct philox_graph *graph;
	struct log log;
	unsigned failures = 0;
	const unsigned count = LIMIT;

	make_log(f, &log);
	graph = record_while(f, region, LIMIT, tape, &log);
	f->injected = 1;
	block_set_add(seen, &kept.saw);
	for (size_t i = 0; i == 0 || device_operations[i - 1]; i++) {
		for (uint64_t n = 1; n < 5; n++) {
			struct philox_launch_pass use = {{6, 6}, 0, 0};
			enum philox_status status;

			set_counts(f, tape, &count, 1);
			clear_log(f, &log);
			OK(philox_device_fail(f->device, device_operations[i],
					      n, PHILOX_ERROR_DEVICE));
			status = philox_graph_launch(graph, f->stream, &use, 1);
			OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
			if (status != PHILOX_OK) {
				failures++;
				cr_assert_eq(use.ticket.serial, 6);
				PENDING(region, 1);
				read_log(f, &log);
				LOGGED_IN_ALL(&log, 0);
				OK(philox_graph_launch(graph, f->stream, &use,
						       1));
			}
			draws_of(f, &log, LIMIT, seen);
			SAME(iteration_of(f, region, use.ticket, LIMIT - 1),
			     log.run[LIMIT - 1], "the ticket");
			OK(philox_ticket_release(region, f->stream,
						 use.ticket));
			backward(f, &kept, PHILOX_PASS_RETAIN);
		}
	}
	cr_assert_geq(failures, 3, "%u failures", failures);
	nothing_wrong(f);
	block_set_free(seen);
}

/* A launch in two halves, whose second reports a failure. */
GRAPH_PROMISE(bodies_failures, between_the_halves_of_a_launch)
{
	struct philox_region *region = make_region(f, "layer");
	struct tape tape = make_tape(f);
	struct philox_launch_pass use = {{6, 6}, 0, 0};
	struct philox_graph *graph;
	struct log log;
	const unsigned counts[] = {2, 3};

	make_log(f, &log);
	graph = record_while(f, region, LIMIT, tape, &log);
	set_counts(f, tape, counts, 2);
	OK(philox_graph_prologue(graph, f->stream, &use, 1));
	OK(philox_graph_epilogue(graph, PHILOX_ERROR_DEVICE));
	cr_assert_eq(use.ticket.serial, 6);
	PENDING(region, 0);
	for (uint64_t launch = 0; launch < 2; launch++) {
		clear_log(f, &log);
		OK(philox_graph_prologue(graph, f->stream, &use, 1));
		OK(philox_native_exec_launch(f->device, f->stream,
					     native_exec(graph)));
		OK(philox_graph_epilogue(graph, PHILOX_OK));
		read_log(f, &log);
		LOGGED_IN_ALL(&log, counts[launch]);
		for (unsigned i = 0; i < counts[launch]; i++)
			LOGGED(&log, i,
			       predict(0, "layer",
				       4 * (LIMIT * (1 + launch) + i)));
		SAME(iteration_of(f, region, use.ticket, LIMIT - 1),
		     predict(0, "layer", 4 * (LIMIT * (2 + launch) - 1)),
		     "the ticket");
	}
	nothing_wrong(f);
}

/*
 * tests/graph/capture/queries.c - how often a stream is asked for its capture
 *
 * Each question is a call of the driver, so passes ask few. On a host device
 * the operations count that ask on a GPU; the simulated GPU counts what it is
 * asked itself: cudaStreamGetCaptureInfo() and cudaStreamIsCapturing().
 */
#include "tests/simulated/simulated.h"
#include "tests/support/loops.h"

/* In programs with the simulated GPU. */
#pragma weak simulated_queries

enum { MOST = 3 }; /* of a begin with its commit, of any other call */

static uint64_t queries(const struct fixture *f)
{
	static const char *const ask[] = {"capture_info", "capture_tips",
					  "capture_depend"};
	uint64_t asked = 0;

	if (simulated_queries && !philox_device_is_host(f->device))
		return simulated_queries();
	for (size_t i = 0; i < sizeof(ask) / sizeof(ask[0]); i++)
		asked += philox_device_call_count(f->device, ask[i]);
	return asked;
}

/* --- operations ------------------------------------------------------------ */

/* Where an operation is, and what it is given. */
struct at {
	struct fixture *f;
	struct philox_region *region;
	struct philox_generator *generator;
	philox_stream stream;
	struct philox_ticket ticket; /* for a backward */
	struct philox_pass open;     /* for what is done with a pass */
	uint32_t *array;
};

static void pass_forward(const struct at *at, unsigned flags)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(at->region, at->stream, flags, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
}

static void a_forward(const struct at *at)
{
	pass_forward(at, 0);
}

static void an_inference(const struct at *at)
{
	pass_forward(at, PHILOX_PASS_INFERENCE);
}

static void a_warm_up(const struct at *at)
{
	pass_forward(at, PHILOX_PASS_WARMUP);
}

static void a_forward_with_cells(const struct at *at)
{
	pass_forward(at, PHILOX_PASS_ON_DEVICE);
}

static void a_cancelled_forward(const struct at *at)
{
	struct philox_pass pass;

	OK(philox_forward_begin(at->region, at->stream, 0, &pass));
	OK(philox_pass_abort(&pass));
}

static void pass_backward(const struct at *at, unsigned flags)
{
	struct philox_pass pass;

	OK(philox_backward_begin(at->region, at->stream, at->ticket, flags,
				 &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

static void a_backward(const struct at *at)
{
	pass_backward(at, 0);
}

static void a_recompute(const struct at *at)
{
	pass_backward(at, PHILOX_PASS_RETAIN);
}

static void a_backward_with_cells(const struct at *at)
{
	pass_backward(at, PHILOX_PASS_ON_DEVICE);
}

static void a_cancelled_backward(const struct at *at)
{
	struct philox_pass pass;

	OK(philox_backward_begin(at->region, at->stream, at->ticket, 0, &pass));
	OK(philox_pass_abort(&pass));
}

static void a_fill(const struct at *at)
{
	OK(philox_pass_bits(&at->open, 0, PHILOX_DTYPE_U32,
			    (struct philox_span){.first = 0, .count = 4},
			    at->array));
}

static void a_number(const struct at *at)
{
	struct philox_rng rng;

	OK(philox_pass_rng(&at->open, 0, 0, &rng));
}

static void a_view(const struct at *at)
{
	struct philox_pass view;

	OK(philox_pass_on(&at->open, at->stream, &view));
}

static void an_iteration(const struct at *at)
{
	struct philox_pass view;

	OK(philox_pass_at(&at->open, 0, &view));
}

static void a_copied_state(const struct at *at)
{
	OK(philox_generator_copy_state(at->generator, at->stream,
				       (struct philox_state *)at->array));
}

static void reserved_numbers(const struct at *at)
{
	OK(philox_generator_advance(at->generator, 4, NULL));
}

/* --- the table --------------------------------------------------------------- */

enum place {
	EAGER,
	FIRST,       /* of a capture */
	LATER,       /* on the same stream */
	FIRST_ASIDE, /* of a capture, on a stream that has joined it */
	ASIDE,       /* on one that joined it before the capture's first pass */
	IN_A_BODY,
	PLACES
};

static const char *const places[PLACES] = {
	"eagerly",
	"first in a capture",
	"later in a capture",
	"first in a capture, on a stream that has joined it",
	"on a stream that joined a capture before its first pass",
	"in a body"};

enum { NEVER = -1 }; /* it needs a pass, and the first one is not there */

/*
 * A pass asks once. Two streams that one capture joins need an edge, before
 * which the device looks whether it is there. A pass with cells of its own also
 * asks when it ends, since an event of a capture would say nothing.
 */
static const struct {
	const char *name;
	void (*act)(const struct at *at);
	int asks[PLACES];
} rows[] = {
	{"a forward", a_forward, {1, 1, 1, 1, 2, 1}},
	{"an inference", an_inference, {1, 1, 1, 1, 2, 1}},
	{"a warm-up", a_warm_up, {1, 1, 1, 1, 2, 1}},
	{"a forward with cells", a_forward_with_cells, {2, 1, 1, 1, 2, 1}},
	{"a forward, aborted", a_cancelled_forward, {1, 1, 1, 1, 2, 1}},
	{"a backward", a_backward, {1, 1, 1, 1, 2, 1}},
	{"a recompute", a_recompute, {1, 1, 1, 1, 2, 1}},
	{"a backward with cells", a_backward_with_cells, {2, 1, 1, 1, 2, 1}},
	{"a backward, aborted", a_cancelled_backward, {1, 1, 1, 1, 2, 1}},
	{"a fill", a_fill, {1, NEVER, 1, NEVER, 1, 1}},
	{"a number for a kernel", a_number, {0, NEVER, 0, NEVER, 0, 0}},
	{"a view", a_view, {1, NEVER, 2, NEVER, 2, 2}},
	{"an iteration", an_iteration, {1, NEVER, 2, NEVER, 2, 2}},
	{"a copied state", a_copied_state, {1, 1, 1, 1, 2, 1}},
	{"reserved numbers", reserved_numbers, {0, 0, 0, 0, 0, 0}},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void ask(const struct at *at, size_t row, enum place place)
{
	const int expected = rows[row].asks[place];
	const uint64_t before = queries(at->f);
	int asked;

	rows[row].act(at);
	asked = (int)(queries(at->f) - before);
	cr_assert_eq(asked, expected, "%s asks %d times, not %d, %s",
		     rows[row].name, asked, expected, places[place]);
	cr_assert_leq(asked, MOST);
}

static void begin_open(struct at *at)
{
	OK(philox_forward_begin(at->region, at->stream, 0, &at->open));
}

static void ask_eager(struct at *at, size_t row)
{
	at->stream = at->f->stream;
	at->ticket = forward(at->f, at->region).ticket;
	begin_open(at);
	ask(at, row, EAGER);
	OK(philox_pass_abort(&at->open));
}

/* The second stream goes on from where the first one is, and has work. */
static void join(const struct fixture *f, philox_stream from, philox_stream to)
{
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, from, event));
	OK(philox_event_wait(f->device, to, event));
	OK(philox_event_destroy(f->device, event));
	OK(philox_memory_set(f->device, to, f->scratch, 0, 4));
}

/* The capture is not to become a graph: its last pass stays open. */
static void ask_capturing(struct at *at, size_t row, enum place place)
{
	struct fixture *f = at->f;
	const int aside = place == FIRST_ASIDE || place == ASIDE;
	struct philox_conditional node;
	struct tape tape;

	at->ticket = (struct philox_ticket){0, 0};
	at->stream = f->stream;
	if (place == IN_A_BODY)
		tape = make_tape(f);
	record_begin(f);
	OK(philox_memory_set(f->device, f->stream, f->scratch, 0, 4));
	if (aside)
		join(f, f->stream, f->side);
	if (place != FIRST && place != FIRST_ASIDE)
		pass_forward(at, 0);
	if (place == IN_A_BODY)
		begin_if(f, f->stream, f->side, tape, &node);
	if (place != FIRST && place != LATER)
		at->stream = f->side;
	if (rows[row].asks[FIRST] == NEVER)
		begin_open(at);
	ask(at, row, place);
	if (rows[row].asks[FIRST] != NEVER)
		begin_open(at);
	if (place == IN_A_BODY)
		OK(philox_conditional_end(&node));
	if (aside)
		join(f, f->side, f->stream);
	record_end_failing(f);
}

GRAPH_PROMISE(queries, of_a_stream_s_capture_are_few)
{
	struct at at = {.f = f,
			.region = make_region(f, "layer"),
			.array = make_array(f)};

	OK(philox_generator_create(f->context, 1, &at.generator));
	for (size_t row = 0; row < ROWS; row++) {
		ask_eager(&at, row);
		for (int place = FIRST; place < PLACES; place++)
			if (rows[row].asks[place] != NEVER)
				ask_capturing(&at, row, (enum place)place);
	}
}

/* The most that one call asks. */
GRAPH_PROMISE(queries, of_a_view_that_needs_an_edge_are_three)
{
	struct at at = {
		.f = f, .region = make_region(f, "layer"), .stream = f->stream};
	uint64_t before;

	record_begin(f);
	OK(philox_memory_set(f->device, f->stream, f->scratch, 0, 4));
	join(f, f->stream, f->side);
	begin_open(&at);
	at.stream = f->side;
	before = queries(f);
	a_view(&at);
	cr_assert_eq(queries(f) - before, MOST);
	join(f, f->side, f->stream);
	record_end_failing(f);
}

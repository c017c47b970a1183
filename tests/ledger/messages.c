/*
 * tests/ledger/messages.c - what calls say that fail, word for word
 *
 * A message names the thing that is wrong, says what to do where that is not
 * plain, and names no function that the caller did not call. These are the
 * messages that a user of regions, passes and tickets meets first; FAILS()
 * looks at all others for the rules in well_said().
 */
#include <inttypes.h>
#include <stdio.h>
#include "tests/support/support.h"

static struct philox_region *region_with_room(struct fixture *f, uint32_t room)
{
	return make_region_of(f->context, "layer", room, NULL);
}

/* --- the table is full ---------------------------------------------------- */

PROMISE(messages, a_full_table_says_what_to_do)
{
	struct philox_region *region = region_with_room(f, 1);
	struct philox_pass pass[2];

	OK(philox_forward_begin(region, f->stream, 0, &pass[0]));
	SAYS(philox_forward_begin(region, f->stream, 0, &pass[1]),
	     PHILOX_ERROR_LIMIT,
	     "region 'layer': pending is 1, and 1 forward is owed a backward: "
	     "run or release one, raise pending, or begin with "
	     "PHILOX_PASS_INFERENCE if no backward will come");
	OK(philox_pass_abort(&pass[0]));
	OK(philox_region_destroy(region));
	region = region_with_room(f, 2);
	OK(philox_forward_begin(region, f->stream, 0, &pass[0]));
	OK(philox_forward_begin(region, f->stream, 0, &pass[1]));
	SAYS(philox_forward_begin(region, f->stream, 0, &pass[1]),
	     PHILOX_ERROR_LIMIT,
	     "region 'layer': pending is 2, and 2 forwards are owed a "
	     "backward: run or release one, raise pending, or begin with "
	     "PHILOX_PASS_INFERENCE if no backward will come");
}

PROMISE(messages, a_graph_that_meets_a_full_table_says_the_same)
{
	struct philox_region *region = region_with_room(f, 1);
	struct philox_graph *graph =
		record_forward(f, region, 0, make_array(f));
	struct philox_launch_pass use = {0};

	OK(philox_graph_launch(graph, f->stream, &use, 1));
	SAYS(philox_graph_launch(graph, f->stream, &use, 1), PHILOX_ERROR_LIMIT,
	     "'graph 1', pass 0: region 'layer': pending is 1, and 1 forward is "
	     "owed a backward: run or release one, raise pending, or begin "
	     "with PHILOX_PASS_INFERENCE if no backward will come");
}

/* --- flags ---------------------------------------------------------------- */

PROMISE(messages, a_flag_that_does_not_fit_is_named_with_the_reason)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket = forward(f, region).ticket;
	struct philox_pass pass;

	SAYS(philox_forward_begin(region, f->stream, PHILOX_PASS_RETAIN, &pass),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': PHILOX_PASS_RETAIN does not fit a forward: its ticket "
	     "is kept anyway, until a backward uses it up");
	SAYS(philox_backward_begin(region, f->stream, ticket,
				   PHILOX_PASS_INFERENCE, &pass),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': PHILOX_PASS_INFERENCE does not fit a backward: it "
	     "says of a forward that no backward will come");
	SAYS(philox_backward_begin(region, f->stream, ticket,
				   PHILOX_PASS_WARMUP | PHILOX_PASS_RETAIN,
				   &pass),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': PHILOX_PASS_WARMUP does not fit a backward: only a "
	     "forward can be tried without reserving numbers");
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	SAYS(philox_pass_commit(&pass, PHILOX_PASS_ON_DEVICE, NULL),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': PHILOX_PASS_ON_DEVICE does not fit the end of a "
	     "backward: a pass gets its cells when it begins");
	OK(philox_pass_abort(&pass));
}

PROMISE(messages, flags_that_are_none_or_exclude_each_other)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass;

	SAYS(philox_forward_begin(region, f->stream, 64 | PHILOX_PASS_RETAIN,
				  &pass),
	     PHILOX_ERROR_INVALID, "region 'layer': passes have no flag 0x40");
	SAYS(philox_forward_begin(region, f->stream,
				  PHILOX_PASS_INFERENCE | PHILOX_PASS_WARMUP,
				  &pass),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': PHILOX_PASS_INFERENCE and PHILOX_PASS_WARMUP exclude each "
	     "other: one takes numbers, the other reserves none");
	SAYS(philox_stream_create(f->device, 8, &f->side), PHILOX_ERROR_INVALID,
	     "philox_stream_create: flags is 0x8, not 0 or "
	     "PHILOX_STREAM_BLOCKING");
}

/* --- functions that the caller did not call ------------------------------- */

PROMISE(messages, a_stream_that_is_none_is_the_whole_message)
{
	philox_stream none = (philox_stream)(uintptr_t)0x1234;
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass;
	char text[128];

	snprintf(text, sizeof(text), "0x1234 is not a live stream of device %s",
		 philox_device_name(f->device));
	SAYS(philox_capture_begin(f->context, none), PHILOX_ERROR_INVALID,
	     text);
	snprintf(text, sizeof(text),
		 "region 'layer': 0x1234 is not a live stream of device %s",
		 philox_device_name(f->device));
	SAYS(philox_forward_begin(region, none, 0, &pass), PHILOX_ERROR_INVALID,
	     text);
	snprintf(text, sizeof(text),
		 "philox_stream_query: 0x1234 is not a live stream of device "
		 "%s",
		 philox_device_name(f->device));
	SAYS(philox_stream_query(f->device, none), PHILOX_ERROR_INVALID, text);
}

/* The call that found a capture invalidated is the one that was made. */
PROMISE(messages, a_recompute_that_finds_a_broken_capture)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket none = {0};
	struct philox_graph *graph;
	struct philox_pass pass;

	OK(philox_capture_begin(f->context, f->stream));
	FAILS(philox_stream_synchronize(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	FAILS(philox_backward_begin(region, f->stream, none, PHILOX_PASS_RETAIN,
				    &pass),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES("found invalidated by philox_backward_begin() of region "
	      "'layer'; capture ");
}

/* --- one and many --------------------------------------------------------- */

PROMISE(messages, one_and_many_things_that_are_in_the_way)
{
	struct philox_generator *generator;
	struct philox_region *region;
	struct philox_ticket ticket;
	struct philox_pass pass[2];

	OK(philox_generator_create(f->context, 1, &generator));
	region = make_region_of(f->context, "layer", 0, generator);
	SAYS(philox_generator_destroy(generator), PHILOX_ERROR_BUSY,
	     "the generator still has 1 region");
	make_region_of(f->context, "another", 0, generator);
	SAYS(philox_generator_destroy(generator), PHILOX_ERROR_BUSY,
	     "the generator still has 2 regions");
	ticket = forward(f, region).ticket;
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass[0]));
	SAYS(philox_ticket_release(region, f->stream, ticket),
	     PHILOX_ERROR_BUSY, "region 'layer': 1 pass of ticket 1 is open");
	OK(philox_backward_begin(region, f->stream, ticket, PHILOX_PASS_RETAIN,
				 &pass[1]));
	SAYS(philox_ticket_release(region, f->stream, ticket),
	     PHILOX_ERROR_BUSY,
	     "region 'layer': 2 passes of ticket 1 are open");
	SAYS(philox_context_save(f->context, "/nowhere/x"), PHILOX_ERROR_BUSY,
	     "a context cannot be saved now: region 'layer': passes or "
	     "launches of ticket 1 are open");
	OK(philox_pass_abort(&pass[1]));
	SAYS(philox_context_save(f->context, "/nowhere/x"), PHILOX_ERROR_BUSY,
	     "a context cannot be saved now: region 'layer': a pass or launch "
	     "of ticket 1 is open");
	OK(philox_pass_abort(&pass[0]));
}

/* --- captures and streams ------------------------------------------------- */

PROMISE(messages, a_pass_and_a_stream_of_different_captures)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass eager, view;
	struct philox_graph *graph;
	uint64_t id;
	char text[128];

	OK(philox_forward_begin(region, f->stream, 0, &eager));
	OK(philox_capture_begin(f->context, f->side));
	FAILS(philox_pass_on(&eager, f->side, &view), PHILOX_ERROR_MISMATCH);
	NAMES("region 'layer': the stream is in capture ");
	NAMES(", the pass in none");
	OK(philox_pass_abort(&eager));
	OK(philox_stream_capture_info(f->device, f->side, NULL, &id));
	snprintf(text, sizeof(text),
		 "capture %" PRIu64 ": pass 0, a forward of region 'layer', "
		 "was aborted",
		 id);
	OK(philox_forward_begin(region, f->side, 0, &eager));
	FAILS(philox_pass_on(&eager, f->stream, &view), PHILOX_ERROR_MISMATCH);
	NAMES("region 'layer': the pass is in capture ");
	NAMES(", the stream in none");
	OK(philox_pass_abort(&eager));
	SAYS(philox_capture_end(f->context, f->side, &graph),
	     PHILOX_ERROR_STATE, text);
}

PROMISE(messages, what_a_commit_is_given)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	SAYS(philox_pass_commit(&pass, 0, NULL), PHILOX_ERROR_INVALID,
	     "region 'layer': ticket is NULL");
	SAYS(philox_pass_commit(&pass, PHILOX_PASS_RETAIN, &ticket),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': PHILOX_PASS_RETAIN does not fit the end of a "
	     "forward: its ticket is kept anyway, until a backward uses it up");
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(region, f->stream, ticket, 0, &pass));
	SAYS(philox_pass_commit(&pass, PHILOX_PASS_WARMUP, NULL),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': PHILOX_PASS_WARMUP does not fit the end of a "
	     "backward: only a forward can be tried without reserving numbers");
}

/* --- arguments ------------------------------------------------------------ */

PROMISE(messages, options_of_a_region)
{
	static const struct philox_op_desc op = {"drop", 1, 6};
	struct philox_region_desc options =
		PHILOX_INIT(struct philox_region_desc);
	struct philox_region *region;

	SAYS(philox_region_create(f->context, &options, &region),
	     PHILOX_ERROR_INVALID, "region options: name is NULL");
	options.name = "";
	SAYS(philox_region_create(f->context, &options, &region),
	     PHILOX_ERROR_INVALID, "region options: name is empty");
	options.name = "layer";
	SAYS(philox_region_create(f->context, &options, &region),
	     PHILOX_ERROR_INVALID, "region 'layer': ops is NULL");
	options.ops = &op;
	SAYS(philox_region_create(f->context, &options, &region),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': n_ops is 0, not in 1 .. 1048576");
	options.n_ops = 1;
	SAYS(philox_region_create(f->context, &options, &region),
	     PHILOX_ERROR_INVALID,
	     "region 'layer', op 0: advance is 6, not a multiple of 4");
	options.flags = 6;
	SAYS(philox_region_create(f->context, &options, &region),
	     PHILOX_ERROR_INVALID,
	     "region 'layer': flags 0x6 is not 0 or PHILOX_REGION_SHARED");
	make_region(f, "layer");
	options.flags = 0;
	SAYS(philox_region_create_named(f->context, "layer", &op.name, 1,
					&region),
	     PHILOX_ERROR_EXISTS,
	     "region 'layer': a region of this name is alive");
}

PROMISE(messages, arguments_of_generators)
{
	struct philox_generator *generator =
		philox_context_generator(f->context);
	const struct philox_state odd = {1, 2};

	SAYS(philox_generator_set_state(generator, odd), PHILOX_ERROR_INVALID,
	     "generator: offset is 2, not a multiple of 4");
	SAYS(philox_generator_advance(generator, 3, NULL), PHILOX_ERROR_INVALID,
	     "words is 3, not a multiple of 4");
	SAYS(philox_generator_copy_state(generator, f->stream, NULL),
	     PHILOX_ERROR_INVALID, "generator state: to is NULL");
}

/* A fill says of which operator it is, and nothing twice. */
PROMISE(messages, arguments_of_fills)
{
	static const char *const ops[] = {"noise"};
	struct philox_span span = philox_span_elements(0, 8);
	struct philox_region *region;
	struct philox_pass pass;

	OK(philox_region_create_named(f->context, "layer", ops, 1, &region));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	SAYS(philox_pass_normal(&pass, 0, PHILOX_DTYPE_F32, span, 0, -1,
				f->scratch),
	     PHILOX_ERROR_INVALID,
	     "region 'layer', op 0 'noise': fill: std of dist normal is -1, "
	     "not finite and above 0 when rounded (dtype f32)");
	SAYS(philox_pass_normal(&pass, 1, PHILOX_DTYPE_F32, span, 0, 1,
				f->scratch),
	     PHILOX_ERROR_INVALID, "region 'layer' has no op 1, call 0");
	OK(philox_pass_abort(&pass));
	SAYS(philox_pass_normal(&pass, 0, PHILOX_DTYPE_F32, span, 0, 1,
				f->scratch),
	     PHILOX_ERROR_STATE,
	     "the pass is not open: its begin failed, or it has ended "
	     "already");
}

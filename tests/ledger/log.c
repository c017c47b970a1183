/*
 * tests/ledger/log.c - every error and every notable event reaches the log
 */
#include <stdio.h>
#include <time.h>
#include "tests/support/support.h"

/* --- what was logged ------------------------------------------------------ */

struct entry {
	enum philox_log_level level;
	enum philox_status status;
	struct philox_ticket ticket;
	uint64_t capture_id;
	char event[48], text[512], device[32], region[64], op[64], graph[64];
};

struct log {
	unsigned n;
	struct entry entries[64];
};

static void copy_name(char *to, size_t size, const char *name)
{
	snprintf(to, size, "%s", name ? name : "");
}

static void keep(void *user, const struct philox_log_entry *entry)
{
	struct log *log = user;
	struct entry *kept;

	cr_assert_not_null(entry->event);
	cr_assert_not_null(entry->text);
	if (log->n == 64)
		return;
	kept = &log->entries[log->n++];
	kept->level = entry->level;
	kept->status = entry->status;
	kept->ticket = entry->ticket;
	kept->capture_id = entry->capture_id;
	copy_name(kept->event, sizeof(kept->event), entry->event);
	copy_name(kept->text, sizeof(kept->text), entry->text);
	copy_name(kept->device, sizeof(kept->device), entry->device);
	copy_name(kept->region, sizeof(kept->region), entry->region);
	copy_name(kept->op, sizeof(kept->op), entry->op);
	copy_name(kept->graph, sizeof(kept->graph), entry->graph);
}

static struct log log_of_test;

static struct log *listen(struct fixture *f)
{
	memset(&log_of_test, 0, sizeof(log_of_test));
	OK(philox_context_set_log(f->context, keep, &log_of_test));
	return &log_of_test;
}

/* The one entry since the log was cleared whose event contains `event`. */
static struct entry *only(struct log *log, const char *event)
{
	struct entry *found = NULL;

	for (unsigned i = 0; i < log->n; i++) {
		if (!strstr(log->entries[i].event, event))
			continue;
		cr_assert_null(found, "\"%s\" was logged twice", event);
		found = &log->entries[i];
	}
	cr_assert_not_null(found, "no \"%s\" in the log", event);
	return found;
}

/*
 * LOGS(log, call, status, region): the call fails with the status, and exactly
 * one error entry says so, in the words of philox_error_message(), naming the
 * region ("": whichever).
 */
#define LOGS(log, call, expected, region_name)                                \
	do {                                                                  \
		struct entry *entry_;                                         \
		(log)->n = 0;                                                 \
		FAILS(call, expected);                                        \
		cr_assert_eq((log)->n, 1, "%s: %u entries", #call, (log)->n); \
		entry_ = &(log)->entries[0];                                  \
		cr_assert_eq(entry_->level, PHILOX_LOG_ERROR, "%s", #call);   \
		cr_assert_eq(entry_->status, (expected), "%s", #call);        \
		cr_assert_str_eq(entry_->event, "error", "%s", #call);        \
		cr_assert(!*(region_name) ||                                  \
				  !strcmp(entry_->region, (region_name)),     \
			  "%s: region \"%s\"", #call, entry_->region);        \
		cr_assert(strstr(entry_->text, philox_error_message()),       \
			  "%s: \"%s\" lacks \"%s\"", #call, entry_->text,     \
			  philox_error_message());                            \
	} while (0)

/* --- errors --------------------------------------------------------------- */

PROMISE(logs, success_says_nothing_of_errors)
{
	struct log *log = listen(f);
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph;
	struct forward made;

	graph = record_forward(f, region, 0, f->scratch);
	launch_forward(f, graph, region, f->scratch);
	made = forward(f, region);
	backward(f, &made, 0);
	OK(philox_context_check(f->context, NULL));
	for (unsigned i = 0; i < log->n; i++)
		cr_assert_neq(log->entries[i].level, PHILOX_LOG_ERROR, "%s",
			      log->entries[i].text);
}

PROMISE(logs, errors_of_regions_and_generators)
{
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_region *region = make_region(f, "layer");
	const struct philox_op_desc op = {"only", 1, 0};
	struct philox_region_desc options = {
		.size = sizeof(options), .name = "layer", .ops = &op};
	struct philox_state odd = {1, 2}, end = {1, UINT64_MAX - 3}, state;
	struct log *log = listen(f);

	(void)region;
	LOGS(log, philox_region_create(f->context, &options, &region),
	     PHILOX_ERROR_INVALID, "");
	options.n_ops = 1;
	LOGS(log, philox_region_create(f->context, &options, &region),
	     PHILOX_ERROR_EXISTS, "layer");
	options.size = 3;
	log->n = 0;
	FAILS(philox_region_create(f->context, &options, &region),
	      PHILOX_ERROR_INVALID);
	cr_assert_eq(log->n, 1);
	LOGS(log, philox_generator_set_state(root, odd), PHILOX_ERROR_INVALID,
	     "");
	LOGS(log, philox_generator_advance(root, 3, &state),
	     PHILOX_ERROR_INVALID, "");
	OK(philox_generator_set_state(root, end));
	LOGS(log, philox_generator_advance(root, 8, &state),
	     PHILOX_ERROR_OVERFLOW, "");
	LOGS(log, philox_generator_destroy(root), PHILOX_ERROR_INVALID, "");
}

PROMISE(logs, errors_of_passes)
{
	struct philox_region *region =
		make_region_of(f->context, "layer", 2, NULL);
	struct philox_region *other = make_region(f, "other");
	struct forward one = forward(f, region), two = forward(f, region);
	struct log *log = listen(f);
	const struct philox_state *states;
	struct philox_pass pass, late;
	struct philox_ticket ticket;
	struct philox_span span = {.count = 4};
	struct philox_rng rng;

	LOGS(log, philox_forward_begin(region, f->stream, 0, &pass),
	     PHILOX_ERROR_LIMIT, "layer");
	LOGS(log, philox_forward_begin(region, f->stream, 64, &pass),
	     PHILOX_ERROR_INVALID, "layer");
	LOGS(log, philox_backward_begin(other, f->stream, one.ticket, 0, &pass),
	     PHILOX_ERROR_MISMATCH, "other");
	cr_assert_eq(log->entries[0].ticket.serial, one.ticket.serial);
	cr_assert_eq(log->entries[0].ticket.region_key, one.ticket.region_key);
	backward(f, &one, 0);
	LOGS(log,
	     philox_backward_begin(region, f->stream, one.ticket, 0, &pass),
	     PHILOX_ERROR_RELEASED, "layer");
	cr_assert_eq(log->entries[0].ticket.serial, one.ticket.serial);
	LOGS(log,
	     philox_backward_begin(region, f->stream, one.ticket,
				   PHILOX_PASS_RETAIN, &pass),
	     PHILOX_ERROR_RELEASED, "layer");
	LOGS(log, philox_ticket_release(region, f->stream, one.ticket),
	     PHILOX_ERROR_RELEASED, "layer");
	OK(philox_backward_begin(region, f->stream, two.ticket, 0, &pass));
	LOGS(log,
	     philox_backward_begin(region, f->stream, two.ticket, 0, &late),
	     PHILOX_ERROR_BUSY, "layer");
	LOGS(log, philox_ticket_release(region, f->stream, two.ticket),
	     PHILOX_ERROR_BUSY, "layer");
	LOGS(log, philox_pass_commit(&pass, PHILOX_PASS_WARMUP, &ticket),
	     PHILOX_ERROR_INVALID, "layer");
	LOGS(log, philox_pass_states(&pass, &states), PHILOX_ERROR_STATE,
	     "layer");
	LOGS(log, philox_pass_rng(&pass, 0, 5, &rng), PHILOX_ERROR_INVALID,
	     "layer");
	LOGS(log,
	     philox_pass_bits(&pass, OPS, PHILOX_DTYPE_U32, span, f->scratch),
	     PHILOX_ERROR_INVALID, "layer");
	LOGS(log,
	     philox_pass_dropout(&pass, 1, PHILOX_DTYPE_F32, span, -1,
				 f->scratch, f->scratch),
	     PHILOX_ERROR_INVALID, "layer");
	cr_assert_str_eq(log->entries[0].op, "second");
	OK(philox_pass_commit(&pass, PHILOX_PASS_RETAIN, NULL));
	OK(philox_backward_begin(region, f->stream, two.ticket,
				 PHILOX_PASS_RETAIN, &pass));
	OK(philox_region_destroy(region));
	LOGS(log, philox_pass_commit(&pass, 0, NULL), PHILOX_ERROR_STALE,
	     "layer");
	OK(philox_pass_abort(&pass));
}

PROMISE(logs, errors_of_saved_contexts)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct log *log = listen(f);
	void *saved;

	LOGS(log, philox_ticket_context(region, made.ticket, &saved),
	     PHILOX_ERROR_NOT_FOUND, "layer");
	OK(philox_ticket_release(region, f->stream, made.ticket));
	LOGS(log, philox_ticket_context(region, made.ticket, &saved),
	     PHILOX_ERROR_RELEASED, "layer");
}

GRAPH_PROMISE(logs, errors_of_launches)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_region *other = make_region(f, "other");
	struct philox_graph *back = record_backward(f, region, f->scratch);
	struct forward made = forward(f, region);
	struct philox_launch_pass use = {made.ticket, 0, 0};
	struct philox_graph_pass_info info = {.size = sizeof(info)};
	struct log *log;

	OK(philox_graph_set_name(back, "the backward"));
	log = listen(f);
#define GRAPH_LOGS(call, status, region_name)                            \
	do {                                                             \
		LOGS(log, call, status, region_name);                    \
		cr_assert_str_eq(log->entries[0].graph, "the backward"); \
	} while (0)
	GRAPH_LOGS(philox_graph_launch(back, f->stream, &use, 2),
		   PHILOX_ERROR_INVALID, "");
	use.reserved = 1;
	GRAPH_LOGS(philox_graph_launch(back, f->stream, &use, 1),
		   PHILOX_ERROR_INVALID, "");
	use.reserved = 0;
	use.ticket = forward(f, other).ticket;
	GRAPH_LOGS(philox_graph_launch(back, f->stream, &use, 1),
		   PHILOX_ERROR_MISMATCH, "layer");
	use.ticket = made.ticket;
	backward(f, &made, 0);
	GRAPH_LOGS(philox_graph_launch(back, f->stream, &use, 1),
		   PHILOX_ERROR_RELEASED, "layer");
	cr_assert_eq(log->entries[0].ticket.serial, made.ticket.serial);
	GRAPH_LOGS(philox_graph_epilogue(back, PHILOX_OK), PHILOX_ERROR_STATE,
		   "");
	GRAPH_LOGS(philox_graph_get_pass_info(back, 9, &info), PHILOX_ERROR_INVALID,
		   "");
	use.ticket = forward(f, region).ticket;
	OK(philox_graph_prologue(back, f->stream, &use, 1));
	GRAPH_LOGS(philox_graph_destroy(back), PHILOX_ERROR_BUSY, "");
	OK(philox_graph_epilogue(back, PHILOX_ERROR_DEVICE));
	f->injected = 1;
	OK(philox_device_fail(f->device, "exec_launch", 1,
			      PHILOX_ERROR_DEVICE));
	GRAPH_LOGS(philox_graph_launch(back, f->stream, &use, 1),
		   PHILOX_ERROR_DEVICE, "");
	OK(philox_region_destroy(region));
	GRAPH_LOGS(philox_graph_launch(back, f->stream, &use, 1),
		   PHILOX_ERROR_STALE, "layer");
#undef GRAPH_LOGS
}

PROMISE(logs, errors_of_captures)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct log *log = listen(f);
	struct philox_graph *graph;
	struct philox_pass pass;

	LOGS(log, philox_capture_end(f->context, f->stream, &graph),
	     PHILOX_ERROR_STATE, "");
	LOGS(log, philox_capture_drop(f->context, 12345),
	     PHILOX_ERROR_NOT_FOUND, "");
	record_begin(f);
	LOGS(log,
	     philox_backward_begin(region, f->stream, made.ticket, 0, &pass),
	     PHILOX_ERROR_MISMATCH, "layer");
	FAILS(philox_stream_query(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	LOGS(log, philox_forward_begin(region, f->stream, 0, &pass),
	     PHILOX_ERROR_CAPTURE_INVALIDATED, "layer");
	LOGS(log, philox_capture_end(f->context, f->stream, &graph),
	     PHILOX_ERROR_CAPTURE_INVALIDATED, "");
	record_begin(f);
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_abort(&pass));
	log->n = 0;
	FAILS(philox_capture_end(f->context, f->stream, &graph),
	      PHILOX_ERROR_STATE);
	cr_assert_geq(log->n, 1);
}

PROMISE(logs, errors_of_the_device_by_name)
{
	struct philox_region *region = make_region(f, "layer");
	struct log *log = listen(f);
	struct philox_pass pass;

	f->injected = 1;
	OK(philox_device_fail(f->device, "capture_info", 1,
			      PHILOX_ERROR_DEVICE));
	LOGS(log, philox_forward_begin(region, f->stream, 0, &pass),
	     PHILOX_ERROR_DEVICE, "layer");
	cr_assert_str_eq(log->entries[0].device, philox_device_name(f->device));
}

PROMISE(logs, null_arguments)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_generator *root = philox_context_generator(f->context);
	struct philox_graph *graph =
		record_forward(f, region, 0, make_array(f));
	struct forward made = forward(f, region);
	struct log *log = listen(f);
	struct philox_pass pass;

#define NULL_LOGS(call, name)                              \
	do {                                               \
		LOGS(log, call, PHILOX_ERROR_INVALID, ""); \
		NAMES(name " is NULL");                    \
	} while (0)
	NULL_LOGS(philox_region_create(f->context, NULL, &region), "options");
	NULL_LOGS(philox_generator_create(f->context, 1, NULL), "generator");
	NULL_LOGS(philox_generator_get_state(root, NULL), "state");
	NULL_LOGS(philox_region_pending_count(region, NULL), "pending");
	NULL_LOGS(philox_forward_begin(region, f->stream, 0, NULL), "pass");
	NULL_LOGS(
		philox_backward_begin(region, f->stream, made.ticket, 0, NULL),
		"pass");
	NULL_LOGS(philox_ticket_context(region, made.ticket, NULL), "saved");
	NULL_LOGS(philox_ticket_attach(region, made.ticket, &made, NULL),
		  "release");
	NULL_LOGS(philox_capture_end(f->context, f->stream, NULL), "graph");
	NULL_LOGS(philox_graph_get_pass_info(graph, 0, NULL), "info");
	NULL_LOGS(philox_graph_set_name(graph, NULL), "name");
	NULL_LOGS(philox_graph_adopt(f->context, 1, NULL, NULL, NULL), "exec");
	NULL_LOGS(philox_graph_set_exec(graph, NULL), "exec");
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	NULL_LOGS(philox_pass_on(&pass, f->side, NULL), "view");
	NULL_LOGS(philox_pass_rng(&pass, 0, 0, NULL), "rng");
	NULL_LOGS(philox_pass_states(&pass, NULL), "states");
	NULL_LOGS(philox_pass_commit(&pass, 0, NULL), "ticket");
	NULL_LOGS(philox_pass_fill(&pass, 0, 0, NULL), "fill");
	OK(philox_pass_abort(&pass));
#undef NULL_LOGS
}

/* --- messages ------------------------------------------------------------- */

#define KEEPS_THE_MESSAGE(call)                                             \
	do {                                                                \
		OK(call);                                                   \
		cr_assert_str_eq(philox_error_message(), "options is NULL", \
				 "%s", #call);                              \
	} while (0)

PROMISE(logs, a_message_stays_until_the_next_failure)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_region *other = make_region(f, "other");
	struct philox_pass pass, second;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	graph = record_forward(f, region, 0, f->scratch);
	OK(philox_forward_begin(region, f->stream, PHILOX_PASS_ON_DEVICE,
				&pass));
	FAILS(philox_region_create(f->context, NULL, &region),
	      PHILOX_ERROR_INVALID);
	KEEPS_THE_MESSAGE(philox_region_destroy(region));
	KEEPS_THE_MESSAGE(philox_forward_begin(other, f->side,
					       PHILOX_PASS_ON_DEVICE, &second));
	KEEPS_THE_MESSAGE(philox_pass_abort(&pass));
	KEEPS_THE_MESSAGE(philox_pass_commit(&second, 0, &ticket));
	KEEPS_THE_MESSAGE(philox_graph_destroy(graph));
	KEEPS_THE_MESSAGE(philox_context_check(f->context, NULL));
}

static void sleep_a_little(const void *args)
{
	const struct timespec *time = args;

	nanosleep(time, NULL);
}

/* Blocks still in use are skipped, which is not a failure of the caller. */
PROMISE(logs, a_message_stays_while_cells_are_in_use)
{
	const struct timespec time = {0, 20000000};
	struct philox_region *region = make_region(f, "layer");
	struct philox_pass pass;

	for (unsigned i = 0; i < 3; i++) {
		FAILS(philox_region_create(f->context, NULL, &region),
		      PHILOX_ERROR_INVALID);
		KEEPS_THE_MESSAGE(philox_forward_begin(
			region, f->stream,
			PHILOX_PASS_INFERENCE | PHILOX_PASS_ON_DEVICE, &pass));
		OK(philox_stream_launch_host(f->device, f->stream,
					     sleep_a_little, &time,
					     sizeof(time)));
		KEEPS_THE_MESSAGE(philox_pass_commit(&pass, 0, NULL));
	}
	KEEPS_THE_MESSAGE(philox_region_destroy(region));
	region = make_region(f, "other");
	KEEPS_THE_MESSAGE(philox_forward_begin(
		region, f->stream,
		PHILOX_PASS_INFERENCE | PHILOX_PASS_ON_DEVICE, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
}

/* --- events --------------------------------------------------------------- */

PROMISE(logs, a_capture_begun_and_adopted)
{
	struct philox_region *region = make_region(f, "layer");
	struct log *log = listen(f);
	struct philox_graph *graph;
	struct entry *entry;

	f->own = 1;
	graph = record_forward(f, region, 0, f->scratch);
	entry = only(log, "capture begun");
	cr_assert_eq(entry->level, PHILOX_LOG_INFO);
	cr_assert_eq(entry->capture_id, f->capture_id);
	cr_assert_neq(entry->text[0], '\0');
	entry = only(log, "adopted");
	cr_assert_eq(entry->level, PHILOX_LOG_INFO);
	cr_assert_eq(entry->capture_id, f->capture_id);
	cr_assert_str_eq(entry->graph, philox_graph_name(graph));
}

PROMISE(logs, our_capture_begun)
{
	struct philox_region *region = make_region(f, "layer");
	struct log *log = listen(f);

	record_forward(f, region, 0, f->scratch);
	cr_assert_eq(only(log, "capture begun")->capture_id, f->capture_id);
}

PROMISE(logs, a_capture_dropped)
{
	struct philox_region *region = make_region(f, "layer");
	struct log *log = listen(f);
	philox_native_graph native;
	struct entry *entry;

	f->own = 1;
	record_begin(f);
	captured_forward(f, region, 0, f->scratch);
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_capture_drop(f->context, f->capture_id));
	entry = only(log, "dropped");
	cr_assert_eq(entry->level, PHILOX_LOG_INFO);
	cr_assert_eq(entry->capture_id, f->capture_id);
	OK(philox_native_graph_destroy(f->device, native));
}

GRAPH_PROMISE(logs, each_graph_that_was_launched_unannounced)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graphs[2];
	struct log *log;
	unsigned seen = 0;

	for (unsigned i = 0; i < 2; i++) {
		graphs[i] = record_forward(f, region, 0, f->scratch);
		OK(philox_native_exec_launch(f->device, f->stream,
					     native_exec(graphs[i])));
	}
	OK(philox_device_synchronize(f->device));
	log = listen(f);
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
	for (unsigned i = 0; i < log->n; i++) {
		for (unsigned k = 0; k < 2; k++) {
			if (strcmp(log->entries[i].graph,
				   philox_graph_name(graphs[k])))
				continue;
			cr_assert_neq(log->entries[i].level, PHILOX_LOG_INFO);
			cr_assert_not_null(
				strstr(log->entries[i].text, "layer"));
			cr_assert_not(seen & 1u << k, "told twice");
			seen |= 1u << k;
		}
	}
	cr_assert_eq(seen, 3);
	log->n = 0;
	OK(philox_context_check(f->context, NULL));
	cr_assert_eq(log->n, 0);
}

PROMISE(logs, a_region_destroyed_with_forwards_pending)
{
	struct philox_region *region = make_region(f, "layer");
	struct log *log;

	for (unsigned i = 0; i < 7; i++)
		forward(f, region);
	log = listen(f);
	OK(philox_region_destroy(region));
	cr_assert_eq(log->n, 1);
	cr_assert_eq(log->entries[0].level, PHILOX_LOG_WARNING);
	cr_assert_str_eq(log->entries[0].region, "layer");
	cr_assert_not_null(strstr(log->entries[0].text, "7"));
	cr_assert_not_null(strstr(log->entries[0].text, "layer"));
}

PROMISE(logs, a_region_destroyed_with_nothing_pending_is_no_event)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct log *log;

	backward(f, &made, 0);
	log = listen(f);
	OK(philox_region_destroy(region));
	cr_assert_eq(log->n, 0);
}

PROMISE(logs, a_context_destroyed_with_forwards_pending)
{
	struct philox_context *other;
	struct philox_region *one, *two;
	unsigned named = 0;

	OK(philox_context_create(f->device, &other));
	one = make_region_of(other, "one", 0, NULL);
	two = make_region_of(other, "two", 0, NULL);
	forward(f, one);
	forward(f, two);
	forward(f, two);
	make_region_of(other, "quiet", 0, NULL);
	memset(&log_of_test, 0, sizeof(log_of_test));
	OK(philox_context_set_log(other, keep, &log_of_test));
	philox_context_destroy(other);
	for (unsigned i = 0; i < log_of_test.n; i++) {
		struct entry *entry = &log_of_test.entries[i];

		cr_assert_eq(entry->level, PHILOX_LOG_WARNING);
		named += !strcmp(entry->region, "one") &&
			 strstr(entry->text, "1");
		named += !strcmp(entry->region, "two") &&
			 strstr(entry->text, "2");
		cr_assert_str_neq(entry->region, "quiet");
	}
	cr_assert_eq(named, 2);
}

/* --- the function --------------------------------------------------------- */

PROMISE(logs, can_be_turned_off)
{
	struct philox_region *region = make_region(f, "layer");
	struct log *log = listen(f);
	struct philox_pass pass;

	OK(philox_context_set_log(f->context, NULL, NULL));
	FAILS(philox_forward_begin(region, f->stream, 64, &pass),
	      PHILOX_ERROR_INVALID);
	cr_assert_eq(log->n, 0);
}

PROMISE(logs, of_one_context_are_not_anothers)
{
	struct philox_context *other;
	struct philox_region *region;
	struct log *log = listen(f);
	struct philox_pass pass;

	OK(philox_context_create(f->device, &other));
	region = make_region_of(other, "layer", 0, NULL);
	FAILS(philox_forward_begin(region, f->stream, 64, &pass),
	      PHILOX_ERROR_INVALID);
	philox_context_destroy(other);
	cr_assert_eq(log->n, 0);
}

static void fail_in_philox(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	(void)entry;
	philox_graph_launch(NULL, NULL, NULL, 0);
	cr_assert(strstr(philox_error_message(), "graph is NULL"));
}

/* A failure in the function is not that of the call it hears about. */
GRAPH_PROMISE(logs, leave_the_message_of_the_call_alone)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph = record_forward(f, region, 0, f->scratch);
	struct philox_pass pass;

	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_device_synchronize(f->device));
	OK(philox_graph_set_name(graph, "the step"));
	OK(philox_context_set_log(f->context, fail_in_philox, NULL));
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
	NAMES("the step");
	FAILS(philox_forward_begin(region, f->stream, 64, &pass),
	      PHILOX_ERROR_INVALID);
	NAMES("layer");
	OK(philox_context_set_log(f->context, NULL, NULL));
}

struct talker {
	struct fixture *f;
	struct philox_region *region;
	unsigned depth, calls;
};

/* Calls everything that takes a lock; an error inside is logged too, once. */
static void talk(void *user, const struct philox_log_entry *entry)
{
	struct talker *talker = user;
	struct philox_pass pass;
	struct forward made;
	size_t count;

	cr_assert_not_null(entry->text);
	talker->calls++;
	if (talker->depth > 0)
		return;
	talker->depth++;
	said_anything(); /* of the call that is reported */
	OK(philox_region_pending_count(talker->region, &count));
	made = forward(talker->f, talker->region);
	backward(talker->f, &made, 0);
	FAILS(philox_forward_begin(talker->region, talker->f->stream, 64,
				   &pass),
	      PHILOX_ERROR_INVALID);
	OK(philox_context_check(talker->f->context, NULL));
	said_anything();
	talker->depth--;
}

PROMISE(logs, may_call_philox)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_region *doomed = make_region(f, "doomed");
	struct talker talker = {f, region, 0, 0};
	struct philox_graph *back = record_backward(f, region, f->scratch);
	struct philox_launch_pass use = {{9, 9}, 0, 0};
	struct philox_pass pass;

	forward(f, doomed);
	OK(philox_context_set_log(f->context, talk, &talker));
	FAILS(philox_backward_begin(region, f->stream, use.ticket, 0, &pass),
	      PHILOX_ERROR_MISMATCH);
	cr_assert_eq(talker.calls, 2);
	FAILS(philox_graph_launch(back, f->stream, &use, 1),
	      PHILOX_ERROR_MISMATCH);
	cr_assert_eq(talker.calls, 4);
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(back)));
	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
	cr_assert_geq(talker.calls, 6);
	OK(philox_region_destroy(doomed));
	OK(philox_context_set_log(f->context, NULL, NULL));
	PENDING(region, 0);
}

/* --- while a context ends ------------------------------------------------- */

static unsigned told;

static void ask(void *user, const struct philox_log_entry *entry)
{
	struct philox_context *context = user;

	cr_assert_not_null(entry->text);
	told++;
	OK(philox_context_check(context, NULL));
	OK(philox_generator_seed(philox_context_generator(context), told));
}

PROMISE(logs, may_call_philox_while_their_context_ends)
{
	struct philox_context *context;
	struct philox_region *region;

	OK(philox_context_create(f->device, &context));
	region = make_region_of(context, "layer", 0, NULL);
	forward(f, region);
	told = 0;
	OK(philox_context_set_log(context, ask, context));
	philox_context_destroy(context);
	cr_assert_geq(told, 1);
}

PROMISE(logs, may_call_philox_when_launches_are_reported_at_the_end)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_graph *graph = record_forward(f, region, 0, f->scratch);

	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	OK(philox_device_synchronize(f->device));
	told = 0;
	OK(philox_context_set_log(f->context, ask, f->context));
	philox_context_destroy(f->context);
	cr_assert_eq(told, 1);
	OK(philox_context_create(f->device, &f->context));
}

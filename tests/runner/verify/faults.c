/*
 * tests/runner/verify/faults.c - faults of captured programs: each is found at
 * its first replay, and the message says of which kind it is
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/verify.h"

enum { BYTES = ACT_BYTES };

#define FROZEN  "frozen"
#define RANDOM  "not deterministic"
#define UNKNOWN "was not written"

static void is_of_class(const char *class)
{
	static const char *const classes[] = {FROZEN, RANDOM, UNKNOWN};

	for (int i = 0; i < 3; i++)
		cr_assert(!strstr(philox_error_message(), classes[i]) ==
				  !!strcmp(class, classes[i]),
			  "%s: %s", classes[i], philox_error_message());
}

/* The next call differs first at an element of an output. */
static void found(struct act *act, const char *class, const char *output,
		  unsigned element)
{
	char text[64];

	FAILS(call_act(act), PHILOX_ERROR_DIFFERS);
	snprintf(text, sizeof(text), "function '%s'",
		 philox_function_name(act->function));
	NAMES(text);
	NAMES(output);
	snprintf(text, sizeof(text), "%s %u",
		 act->elements ? "element" : "byte", element);
	NAMES(text);
	is_of_class(class);
	cr_assert_eq(act_counts(act).differed, 1);
	cr_assert_eq(act_counts(act).replay, 0);
}

static void names_both(uint32_t one, uint32_t other)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", one);
	NAMES(text);
	snprintf(text, sizeof(text), "%u", other);
	NAMES(text);
}

static struct act make_faulty(struct fixture *f, struct philox_runner *r,
			      enum philox_status (*script)(struct act *act,
							   struct props *props))
{
	struct act act = new_act(f, r, script);

	act.n_uses = 0;
	act.in[0].address = make_words(f, 3);
	return act;
}

/* --- a scalar ------------------------------------------------------------- */

static enum philox_status scalar_script(struct act *act, struct props *props)
{
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return philox_memory_set(act->f->device, props->stream,
				 props->out[0] + 7, (int)act->n, 8);
}

RUNNER_PROMISE(runner_verify_faults, a_scalar_that_was_baked_in)
{
	struct act act = make_faulty(f, r, scalar_script);

	act.n = 4;
	make_act(&act, "act");
	rehearse(&act);
	act.n = 5;
	found(&act, FROZEN, "output 'y'", 7);
	names_both(0x04040404, 0x05050505);
}

/* The caller has told of it, and the body does not look there. */
static enum philox_status rate_script(struct act *act, struct props *props)
{
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return philox_memory_set(act->f->device, props->stream,
				 props->out[0] + 7, (int)act->rate, 8);
}

RUNNER_PROMISE(runner_verify_faults, a_scalar_that_is_a_value)
{
	struct act act = make_faulty(f, r, rate_script);

	act.has_rate = 1;
	act.rate = 4;
	make_act(&act, "act");
	rehearse(&act);
	act.rate = 5;
	found(&act, FROZEN, "output 'y'", 7);
	names_both(0x04040404, 0x05050505);
	NAMES("'rate'");
}

RUNNER_PROMISE(runner_verify_faults, that_no_value_explains_name_none)
{
	struct act act = make_faulty(f, r, scalar_script);

	act.has_rate = 1;
	act.n = act.rate = 4;
	make_act(&act, "act");
	rehearse(&act);
	act.n = 5;
	found(&act, FROZEN, "output 'y'", 7);
	cr_assert_null(strstr(philox_error_message(), "'rate'"), "%s",
		       philox_error_message());
}

/* How an element is written is a matter of the output's elements. */
struct written {
	uint32_t elements;
	unsigned element; /* that differs */
	const uint8_t pattern[2][16];
	const char *texts[2];
};

static const struct written all_written[] = {
	{0,
	 9,
	 {{0, 0, 0, 0, 0, 0, 0, 0, 0, 200}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 201}},
	 {"200", "201"}},
	{PHILOX_ELEMENTS(PHILOX_DTYPE_U32),
	 2,
	 {{0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 1, 2}},
	 {"512", "513"}},
	{PHILOX_ELEMENTS(PHILOX_DTYPE_I32),
	 1,
	 {{0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff},
	  {0, 0, 0, 0, 0xfd, 0xff, 0xff, 0xff}},
	 {"-2", "-3"}},
	{PHILOX_ELEMENTS(PHILOX_DTYPE_U64),
	 1,
	 {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
	  {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
	 {"1099511627776", "1099511627777"}},
	{PHILOX_ELEMENTS(PHILOX_DTYPE_I64),
	 0,
	 {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
	  {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
	 {"-1", "-2"}},
	{PHILOX_ELEMENTS(PHILOX_DTYPE_F32),
	 3,
	 {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x3f},
	  {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0xc0}},
	 {"1.5", "-2.25"}},
	{PHILOX_ELEMENTS(PHILOX_DTYPE_F64),
	 0,
	 {{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, {0, 0, 0, 0, 0, 0, 0x02, 0x40}},
	 {"1.5", "2.25"}},
	{PHILOX_ELEMENTS(PHILOX_DTYPE_F16),
	 5,
	 {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x3e},
	  {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x40}},
	 {"1.5", "2.25"}},
	{PHILOX_ELEMENTS(PHILOX_DTYPE_BF16),
	 7,
	 {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x3f},
	  {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0x40}},
	 {"1.5", "2.25"}}};

static enum philox_status written_script(struct act *act, struct props *props)
{
	const struct written *written = act->prop;
	uint32_t *to = act->inputs[0].flags ? props->in[0] : props->out[0];

	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return prop_words(act, props, to, written->pattern[act->n], 4);
}

RUNNER_PROMISE(runner_verify_faults, write_elements_as_what_they_are)
{
	const size_t n = sizeof(all_written) / sizeof(all_written[0]);

	for (size_t i = 0; i < 2 * n; i++) {
		const struct written *written = &all_written[i / 2];
		struct act act = make_faulty(f, r, written_script);
		char name[16];

		snprintf(name, sizeof(name), "%zu", i);
		act.prop = (void *)(uintptr_t)written;
		act.elements = act.inputs[0].elements = written->elements;
		act.inputs[0].flags = i % 2 ? PHILOX_INPUT_MUTATED : 0;
		make_act(&act, name);
		rehearse(&act);
		act.n = 1;
		found(&act, FROZEN, i % 2 ? "input 'x'" : "output 'y'",
		      written->element);
		NAMES(written->texts[0]);
		NAMES(written->texts[1]);
	}
}

/* --- inputs --------------------------------------------------------------- */

/* A pointer of the body's own, of which the runner knows nothing. */
static enum philox_status own_script(struct act *act, struct props *props)
{
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return prop_words(act, props, props->out[0] + 9, act->prop, 2);
}

RUNNER_PROMISE(runner_verify_faults, an_input_that_moved_unseen)
{
	struct act act = make_faulty(f, r, own_script);

	act.prop = make_words(f, 4);
	make_act(&act, "act");
	rehearse(&act);
	act.prop = make_words(f, 5);
	found(&act, FROZEN, "output 'y'", 9);
	names_both(4, 5);
}

/* Its content may change: then nothing is wrong. */
RUNNER_PROMISE(runner_verify_faults, are_none_where_memory_that_is_read_changes)
{
	struct act act = make_faulty(f, r, own_script);
	struct numbers words = all_words(8);

	act.prop = make_words(f, 4);
	make_act(&act, "act");
	rehearse(&act);
	OK(philox_memory_copy(f->device, f->stream, act.prop, &words, BYTES));
	play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 1, 0, 0);
}

/* The body keeps the address of the input of its first call. */
static enum philox_status first_script(struct act *act, struct props *props)
{
	if (!act->prop || philox_run_kind(props->run) == PHILOX_CALL_EAGER)
		act->prop = props->in[0];
	return prop_copy(act, props, props->out[0], act->prop);
}

RUNNER_PROMISE(runner_verify_faults, a_copied_input_that_is_read_elsewhere)
{
	struct act act = make_faulty(f, r, first_script);

	act.inputs[0].kind = PHILOX_INPUT_COPIED;
	make_act(&act, "act");
	rehearse(&act);
	act.in[0].address = make_words(f, 5);
	found(&act, FROZEN, "output 'y'", 0);
	names_both(3, 5);
	NAMES("'x'");
}

/* --- memory --------------------------------------------------------------- */

/* Memory of the run is kept, and read in a later one. */
static enum philox_status stale_script(struct act *act, struct props *props)
{
	void *between;

	TRY_(philox_run_alloc(props->run, BYTES, 0, "between", &between));
	if (!act->prop)
		act->prop = between;
	TRY_(prop_copy(act, props, between, props->in[0]));
	TRY_(prop_copy(act, props, props->out[0], act->prop));
	return philox_run_free(props->run, between);
}

RUNNER_PROMISE(runner_verify_faults, a_stale_pointer_into_the_pool)
{
	struct act act = make_faulty(f, r, stale_script);
	struct numbers words = all_words(8);

	make_act(&act, "act");
	rehearse(&act);
	OK(philox_memory_copy(f->device, f->stream, act.in[0].address, &words,
			      BYTES));
	FAILS(call_act(&act), PHILOX_ERROR_DIFFERS);
	NAMES("output 'y'");
	NAMES("element 0");
	cr_assert_eq(act_counts(&act).differed, 1);
}

/* The upper half of y is never written. */
static enum philox_status half_script(struct act *act, struct props *props)
{
	return prop_words(act, props, props->out[0], props->in[0], WORDS / 2);
}

RUNNER_PROMISE(runner_verify_faults, memory_that_nobody_wrote)
{
	struct act act = make_faulty(f, r, half_script);

	make_act(&act, "act");
	rehearse(&act);
	found(&act, UNKNOWN, "output 'y'", WORDS / 2);
}

/* It goes through memory of the run, which is freed. */
static enum philox_status unwritten_script(struct act *act, struct props *props)
{
	void *between;

	TRY_(philox_run_alloc(props->run, BYTES, 0, "between", &between));
	TRY_(prop_words(act, props, between, props->in[0], WORDS - 1));
	TRY_(prop_copy(act, props, props->out[0], between));
	return philox_run_free(props->run, between);
}

RUNNER_PROMISE(runner_verify_faults, memory_of_the_run_that_nobody_wrote)
{
	struct act act = make_faulty(f, r, unwritten_script);

	make_act(&act, "act");
	rehearse(&act);
	found(&act, UNKNOWN, "output 'y'", WORDS - 1);
}

/* ... and in a pool that fills its blocks, too. */
RUNNER_PROMISE(runner_verify_faults, memory_that_nobody_wrote_in_a_filled_pool)
{
	struct act act = make_faulty(
		f, make_runner_of(f, "filled", PHILOX_POOL_FILL), half_script);

	make_act(&act, "act");
	rehearse(&act);
	found(&act, UNKNOWN, "output 'y'", WORDS / 2);
}

/* What is not written and not read again is no fault. */
static enum philox_status unread_script(struct act *act, struct props *props)
{
	void *between;

	TRY_(philox_run_alloc(props->run, BYTES, 0, "between", &between));
	TRY_(prop_copy(act, props, props->out[0], between));
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return philox_run_free(props->run, between);
}

RUNNER_PROMISE(runner_verify_faults, are_none_where_nothing_depends_on_them)
{
	struct act act = make_faulty(f, r, unread_script);

	make_act(&act, "act");
	rehearse(&act);
	for (int i = 0; i < 4; i++)
		play_act(&act, PHILOX_CALL_REPLAY);
	VERIFIED(&act, 4, 0, 0);
}

/* --- tickets -------------------------------------------------------------- */

/* A backward that draws from a state by value. */
static enum philox_status ticket_script(struct act *act, struct props *props)
{
	const struct philox_ticket none = {0, 0};
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);
	struct philox_rng rng = {0};
	struct philox_pass pass;

	TRY_(philox_run_backward_begin(props->run, act->region, none, 0,
				       &pass));
	TRY_(philox_pass_rng(&pass, 0, 0, &rng));
	rng = (struct philox_rng){0};
	TRY_(philox_ticket_state(act->region, act->uses[0].ticket, 0, 0,
				 &rng.state));
	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.span.count = COUNT;
	fill.out = props->out[0] + COUNT;
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	TRY_(philox_rng_fill(act->f->device, props->stream, rng, &fill));
	return philox_pass_commit(&pass, 0, NULL);
}

RUNNER_PROMISE(runner_verify_faults, a_wrong_ticket)
{
	struct act act = make_faulty(f, r, ticket_script);
	struct forward one;

	act.region = make_region(f, "layer");
	act.n_uses = 1;
	make_act(&act, "act");
	for (int i = 0; i < 2; i++) {
		one = forward(f, act.region);
		act.uses[0] = (struct philox_launch_pass){one.ticket, 0, 0};
		OK(call_act(&act));
		release_act(&act);
	}
	cr_assert_eq(act.call.kind, PHILOX_CALL_RECORD);
	one = forward(f, act.region);
	act.uses[0] = (struct philox_launch_pass){one.ticket, 0, 0};
	found(&act, FROZEN, "output 'y'", COUNT);
	PENDING(act.region, 1);
	backward(f, &one, 0);
}

/* --- the host ------------------------------------------------------------- */

struct ordered {
	uint32_t *to;
	atomic_uint *runs;
};

/* As an atomic addition whose order is another one each time. */
static void add_in_some_order(const void *args)
{
	const struct ordered *ordered = args;

	*ordered->to = atomic_fetch_add(ordered->runs, 1);
}

static atomic_uint runs;

static enum philox_status atomics_script(struct act *act, struct props *props)
{
	const struct ordered ordered = {props->out[0] + 11, &runs};

	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return philox_stream_launch_host(act->f->device, props->stream,
					 add_in_some_order, &ordered,
					 sizeof(ordered));
}

HOST_PROMISE(runner_verify_faults, an_order_of_atomics_is_no_frozen_value)
{
	struct act act = make_faulty(f, r, atomics_script);

	make_act(&act, "act");
	rehearse(&act);
	found(&act, RANDOM, "output 'y'", 11);
}

/* The replay is as good as the body. */
HOST_PROMISE(runner_verify_faults, an_order_of_atomics_does_not_end_replays)
{
	struct act act = make_faulty(f, r, atomics_script);

	act.policy.differs = PHILOX_DIFFERS_EAGER;
	make_act(&act, "act");
	rehearse(&act);
	log_texts(f);
	for (unsigned i = 1; i < 4; i++) {
		play_act(&act, PHILOX_CALL_REPLAY);
		VERIFIED(&act, i, i, 0);
	}
	LOGGED("differs|");
	LOGGED(RANDOM);
	cr_assert_eq(act_counts(&act).eager, 0);
	OK(philox_context_set_log(f->context, NULL, NULL));
}

/* Something on the host counts how often the body has run. */
static enum philox_status counting_script(struct act *act, struct props *props)
{
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	return philox_memory_set(act->f->device, props->stream, props->out[0],
				 (int)act->bodies, 4);
}

RUNNER_PROMISE(runner_verify_faults, a_body_that_counts_its_runs)
{
	struct act act = make_faulty(f, r, counting_script);

	make_act(&act, "act");
	rehearse(&act);
	found(&act, RANDOM, "output 'y'", 0);
}

/*
 * Work on a stream that the capture does not know: it is done at once, while
 * the capture goes on, and no replay does it.
 */
static enum philox_status aside_script(struct act *act, struct props *props)
{
	struct philox_device *device = act->f->device;
	philox_event event = act->prop;

	TRY_(prop_words(act, props, props->out[0], props->in[0], 20));
	if (philox_run_kind(props->run) != PHILOX_CALL_RECORD) {
		TRY_(philox_event_record(device, props->stream, event));
		TRY_(philox_event_wait(device, act->f->side, event));
	}
	TRY_(philox_memory_copy(device, act->f->side, props->out[0] + 20,
				props->in[0], 4 * (WORDS - 20)));
	if (philox_run_kind(props->run) == PHILOX_CALL_RECORD)
		return PHILOX_OK;
	TRY_(philox_event_record(device, act->f->side, event));
	return philox_event_wait(device, props->stream, event);
}

RUNNER_PROMISE(runner_verify_faults, work_that_the_capture_did_not_see)
{
	struct act act = make_faulty(f, r, aside_script);
	struct numbers words = all_words(8);
	philox_event event;

	OK(philox_event_create(f->device, &event));
	act.prop = event;
	make_act(&act, "act");
	rehearse(&act);
	OK(philox_device_synchronize(f->device));
	OK(philox_memory_copy(f->device, f->stream, act.in[0].address, &words,
			      BYTES));
	found(&act, FROZEN, "output 'y'", 20);
	names_both(3, 8);
	OK(philox_device_synchronize(f->device));
	OK(philox_event_destroy(f->device, event));
}

/* The host itself writes to an input, which a replay does not. */
static enum philox_status by_hand_script(struct act *act, struct props *props)
{
	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	if (philox_run_kind(props->run) != PHILOX_CALL_RECORD)
		OK(philox_stream_synchronize(act->f->device, props->stream));
	props->in[0][3] = act->n;
	return PHILOX_OK;
}

HOST_PROMISE(runner_verify_faults, what_the_host_writes)
{
	struct act act = make_faulty(f, r, by_hand_script);

	act.inputs[0].flags = PHILOX_INPUT_MUTATED;
	act.n = 3;
	make_act(&act, "act");
	rehearse(&act);
	act.n = 6;
	found(&act, FROZEN, "input 'x'", 3);
	names_both(3, 6);
	SAME(read_numbers(f, act.in[0].address), all_words(3), "x");
}

/* --- where it is ---------------------------------------------------------- */

/* The first output that differs is named, and in it the first element. */
static enum philox_status last_script(struct act *act, struct props *props)
{
	TRY_(echo_script(act, props));
	TRY_(philox_memory_set(act->f->device, props->stream,
			       props->out[2] + 30, (int)act->n, 8));
	return philox_memory_set(act->f->device, props->stream,
				 props->out[1] + WORDS - 1, (int)act->n, 4);
}

RUNNER_PROMISE(runner_verify_faults, name_the_first_output)
{
	struct act act = make_faulty(f, r, last_script);

	act.n_outputs = 3;
	act.n = 1;
	make_act(&act, "act");
	rehearse(&act);
	act.n = 2;
	found(&act, FROZEN, "output 'z'", WORDS - 1);
}

/* One bit of the last byte of a large output. */
enum { LARGE = (3 << 20) + 4 };

static enum philox_status last_byte_script(struct act *act, struct props *props)
{
	void *y;

	TRY_(philox_run_alloc(props->run, LARGE, 0, "y", &y));
	TRY_(philox_memory_set(act->f->device, props->stream, y, 64, LARGE));
	TRY_(philox_memory_set(act->f->device, props->stream,
			       (char *)y + LARGE - 1, (int)act->n, 1));
	props->out[0] = y;
	props->bytes[0] = LARGE;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_verify_faults, of_one_bit_are_found)
{
	struct act act = make_faulty(f, r, last_byte_script);

	act.no_alloc = 1;
	act.n = 64;
	make_act(&act, "act");
	rehearse(&act);
	act.n = 65;
	found(&act, FROZEN, "output 'y'", LARGE / 4 - 1);
	names_both(0x40404040, 0x41404040);
	play_act(&act, PHILOX_CALL_RECORD);
	play_act(&act, PHILOX_CALL_REPLAY);
}

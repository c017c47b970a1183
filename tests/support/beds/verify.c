/*
 * tests/support/beds/verify.c - see tests/support/beds/verify.h
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/verify.h"

/* --- acts ----------------------------------------------------------------- */

static enum philox_status find_props(struct act *act, struct props *props)
{
	for (size_t i = 0; i < act->n_inputs; i++) {
		void *in;

		TRY_(philox_run_input(props->run, i, &in, NULL));
		props->in[i] = in;
	}
	for (size_t i = 0; i < act->n_outputs; i++) {
		void *out = NULL;

		if (!act->no_alloc)
			TRY_(philox_run_alloc(props->run, ACT_BYTES, 0, "out",
					      &out));
		props->out[i] = out;
		props->bytes[i] = ACT_BYTES;
	}
	return PHILOX_OK;
}

static enum philox_status act_body(void *user, struct philox_run *run)
{
	struct act *act = user;
	struct props props = {.run = run, .stream = philox_run_stream(run)};

	act->bodies++;
	TRY_(find_props(act, &props));
	TRY_(act->script(act, &props));
	for (size_t i = 0; i < act->n_outputs; i++)
		TRY_(philox_run_output(run, i, props.out[i], props.bytes[i]));
	return PHILOX_OK;
}

struct act new_act(struct fixture *f, struct philox_runner *r,
		   enum philox_status (*script)(struct act *act,
						struct props *props))
{
	static const char *const names[ACT_INPUTS] = {"x", "w", "b"};
	struct act act = {.f = f,
			  .runner = r,
			  .script = script,
			  .n_inputs = 1,
			  .n_outputs = 1,
			  .n_uses = 1,
			  .elements = PHILOX_ELEMENTS(PHILOX_DTYPE_U32),
			  .stream = f->stream,
			  .policy = {.verify = 1}};

	for (int i = 0; i < ACT_INPUTS; i++) {
		act.inputs[i] = (struct philox_input_desc){
			.name = names[i],
			.origin = "act.c:1",
			.elements = PHILOX_ELEMENTS(PHILOX_DTYPE_U32)};
		act.in[i].bytes = ACT_BYTES;
	}
	return act;
}

void make_act(struct act *act, const char *name)
{
	const struct philox_output_desc outputs[ACT_OUTPUTS] = {
		{.name = "y", .elements = act->elements},
		{.name = "z", .elements = act->elements},
		{.name = "v", .elements = act->elements}};
	static const struct philox_param_desc rate = {.name = "rate",
						      .bytes = 4};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = name;
	options.body = act_body;
	options.user = act;
	options.flags = act->flags;
	options.inputs = act->inputs;
	options.n_inputs = act->n_inputs;
	options.outputs = outputs;
	options.n_outputs = act->n_outputs;
	options.params = act->has_rate ? &rate : NULL;
	options.n_params = act->has_rate ? 1 : 0;
	options.policy = act->policy;
	OK(philox_function_create(act->runner, &options, &act->function));
}

enum philox_status call_act(struct act *act)
{
	struct philox_call_param rate = {&act->rate, sizeof(act->rate)};

	act->call = PHILOX_INIT(struct philox_call);
	act->call.stream = act->stream;
	act->call.key = &act->key;
	act->call.key_bytes = sizeof(act->key);
	act->call.inputs = act->in;
	act->call.n_inputs = act->n_inputs;
	act->call.params = act->has_rate ? &rate : NULL;
	act->call.n_params = act->has_rate ? 1 : 0;
	act->call.passes = act->uses;
	act->call.n_passes = act->n_uses;
	act->call.outputs = act->out;
	act->call.n_outputs = act->n_outputs;
	return philox_function_call(act->function, &act->call);
}

void release_act(struct act *act)
{
	for (size_t i = 0; i < act->n_outputs; i++)
		OK(philox_output_release(act->runner, act->stream,
					 &act->out[i]));
}

static void drop_ticket(struct act *act, struct philox_ticket ticket)
{
	enum philox_status status =
		philox_ticket_release(act->region, act->stream, ticket);

	if (status == PHILOX_ERROR_MISMATCH && act->other)
		status = philox_ticket_release(act->other, act->stream, ticket);
	OK(status);
}

void play_act(struct act *act, enum philox_call_kind kind)
{
	struct philox_launch_pass given[ACT_USES];

	memcpy(given, act->uses, sizeof(given));
	OK(call_act(act));
	cr_assert_eq(act->call.kind, (uint32_t)kind, "kind %u, not %d: %s",
		     act->call.kind, (int)kind,
		     philox_function_reason(act->function));
	release_act(act);
	for (size_t i = 0; i < act->n_uses; i++)
		if (!given[i].ticket.serial && act->uses[i].ticket.serial)
			drop_ticket(act, act->uses[i].ticket);
	memcpy(act->uses, given, sizeof(given));
}

void rehearse(struct act *act)
{
	play_act(act, PHILOX_CALL_WARMUP);
	play_act(act, PHILOX_CALL_RECORD);
}

struct philox_function_stats act_counts(const struct act *act)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);

	OK(philox_function_get_stats(act->function, &counts));
	return counts;
}

/* --- scripts -------------------------------------------------------------- */

enum philox_status prop_words(struct act *act, struct props *props, void *to,
			      const void *from, size_t words)
{
	return philox_memory_copy(act->f->device, props->stream, to, from,
				  4 * words);
}

enum philox_status prop_copy(struct act *act, struct props *props, void *to,
			     const void *from)
{
	return prop_words(act, props, to, from, WORDS);
}

enum philox_status echo_script(struct act *act, struct props *props)
{
	for (size_t i = 0; i < act->n_outputs; i++)
		TRY_(prop_copy(act, props, props->out[i], props->in[0]));
	return PHILOX_OK;
}

enum philox_status forward_script(struct act *act, struct props *props)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	TRY_(philox_run_forward_begin(props->run, act->region, 0, &pass));
	TRY_(draw_or_fail(&pass, props->out[0]));
	TRY_(philox_pass_commit(&pass, 0, &ticket));
	for (size_t i = 1; i < act->n_outputs; i++)
		TRY_(prop_copy(act, props, props->out[i], props->in[0]));
	return PHILOX_OK;
}

enum philox_status backward_script(struct act *act, struct props *props)
{
	const struct philox_ticket none = {0, 0};
	struct philox_pass pass;

	TRY_(philox_run_backward_begin(props->run, act->region, none, 0,
				       &pass));
	TRY_(draw_or_fail(&pass, props->out[0]));
	TRY_(philox_pass_commit(&pass, 0, NULL));
	for (size_t i = 1; i < act->n_outputs; i++)
		TRY_(prop_copy(act, props, props->out[i], props->in[0]));
	return PHILOX_OK;
}

/* --- stories -------------------------------------------------------------- */

enum { LINES = 4096 };

struct line {
	char what[64];
	size_t n;
	unsigned char bytes[ACT_BYTES];
};

static struct line lines[2][LINES];
static size_t n_lines[2];

void tell(struct story *s, const char *what, const void *bytes, size_t n)
{
	const int at = s->verify != 0;
	struct line *line = &lines[at][n_lines[at]++];

	cr_assert_leq(n_lines[at], LINES);
	cr_assert_leq(n, sizeof(line->bytes));
	snprintf(line->what, sizeof(line->what), "%s", what);
	line->n = n;
	memcpy(line->bytes, bytes, n);
}

void tell_number(struct story *s, const char *what, uint64_t number)
{
	tell(s, what, &number, sizeof(number));
}

void tell_words(struct story *s, const char *what, const void *address)
{
	struct numbers numbers = read_numbers(s->f, address);

	tell(s, what, &numbers, sizeof(numbers));
}

void cast(struct story *s, struct act *act, const char *name)
{
	act->policy.verify = s->verify;
	make_act(act, name);
	cr_assert_lt(s->n_acts, 8);
	s->acts[s->n_acts++] = *act;
}

static void tell_digest(struct story *s)
{
	uint64_t digest;

	OK(philox_context_digest(s->f->context, &digest));
	tell_number(s, "the digest", digest);
}

void scene_before_release(struct story *s, struct act *act)
{
	OK(call_act(act));
	tell_number(s, "the kind", act->call.kind);
	OK(philox_stream_synchronize(s->f->device, act->stream));
	for (size_t i = 0; i < act->n_uses; i++)
		tell(s, "a ticket", &act->uses[i].ticket,
		     sizeof(act->uses[i].ticket));
	for (size_t i = 0; i < act->n_outputs; i++)
		tell(s, "an output",
		     read_numbers(s->f, act->out[i].address).word,
		     act->out[i].bytes < ACT_BYTES ? act->out[i].bytes
						   : ACT_BYTES);
	for (size_t i = 0; i < act->n_inputs; i++)
		tell_words(s, "an input", act->in[i].address);
	tell_digest(s);
}

void scene_of(struct story *s, struct act *act)
{
	scene_before_release(s, act);
	release_act(act);
}

static void tell_acts(struct story *s)
{
	for (unsigned i = 0; i < s->n_acts; i++) {
		const struct philox_function_stats now =
			act_counts(&s->acts[i]);
		const uint64_t wanted = s->verify ? now.replay : 0;

		cr_assert_gt(now.replay, 0, "act %u was never replayed", i);
		VERIFIED(&s->acts[i], wanted, 0, 0);
		cr_assert_eq(now.checking, wanted);
		tell_number(s, "eager calls", now.eager);
		tell_number(s, "replays", now.replay);
		tell_number(s, "recordings", now.recordings);
		tell_number(s, "copies", now.copies);
		tell_number(s, "bodies", now.bodies - now.checking);
	}
	tell_number(s, "live blocks", live_blocks(s->f, s->r));
	tell_digest(s);
}

static void tell_on(const char *device, uint32_t pool_flags, uint32_t verify,
		    void (*story)(struct story *s))
{
	struct fixture f;
	struct story s = {.f = &f, .verify = verify};

	n_lines[verify] = 0;
	fixture_open(&f, device);
	s.r = make_runner_of(&f, "runner", pool_flags);
	story(&s);
	tell_acts(&s);
	fixture_close(&f);
}

static void same_line(size_t at, const char *device)
{
	const struct line *a = &lines[0][at], *b = &lines[1][at];
	const int is_text = strstr(a->what, "journal") != NULL;

	cr_assert_str_eq(a->what, b->what, "line %zu", at);
	cr_assert(a->n == b->n && !memcmp(a->bytes, b->bytes, a->n),
		  "line %zu, %s, differs if replays are verified, on %s\n%.*s\n"
		  "%.*s",
		  at, a->what, device, is_text ? (int)a->n : 0,
		  (const char *)a->bytes, is_text ? (int)b->n : 0,
		  (const char *)b->bytes);
}

static void tell_twice_on(const char *device, uint32_t pool_flags,
			  void (*story)(struct story *s))
{
	for (uint32_t verify = 0; verify < 2; verify++)
		tell_on(device, pool_flags, verify, story);
	for (size_t i = 0; i < n_lines[0] && i < n_lines[1]; i++)
		same_line(i, device);
	cr_assert_eq(n_lines[0], n_lines[1]);
}

void tell_twice(void (*story)(struct story *s))
{
	if (named_device()) {
		tell_twice_on(named_device(), 0, story);
		return;
	}
	tell_twice_on("host:sync", PHILOX_POOL_FILL, story);
	tell_twice_on("host:strict", PHILOX_POOL_EXPANDABLE, story);
}

/*
 * tests/runner/plan/explain.c - recordings as programs that people read
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/runner/explain/explain.h"
#include "lib/dist/dist.h"
#include "tests/support/beds/runner_scene.h"
#include "tools/formats/formats.h"

TestSuite(explain, .timeout = 120);

enum { BYTES = WORDS * sizeof(uint32_t) };

/* Valid until the next one. */
static const char *program_of(struct philox_function *function,
			      const struct philox_explain_desc *options)
{
	static char *text;
	size_t size;

	free(text);
	text = NULL;
	OK(philox_function_explain_text(function, options, &text, &size));
	cr_assert_eq(strlen(text), size);
	return text;
}

static struct philox_explain_desc options_of(void)
{
	struct philox_explain_desc options =
		PHILOX_INIT(struct philox_explain_desc);

	return options;
}

#define IS(text, expected)                                                  \
	do {                                                                \
		const char *is_ = (text);                                   \
		cr_assert(!strcmp(is_, (expected)), "\n%s\nis not\n%s", is_, \
			  (expected));                                      \
	} while (0)
#define HAS(text, part) \
	cr_assert(strstr((text), (part)), "not there: %s\n%s", (part), (text))
#define HAS_NOT(text, part) \
	cr_assert(!strstr((text), (part)), "there: %s\n%s", (part), (text))

/* --- programs, word for word ---------------------------------------------- */

/* Passes and draws are those of layer_body() in tests/support/beds/runner.c. */
RUNNER_PROMISE(explain, a_recorded_function_is_read_as_a_program)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);

	make_function(&layer, r, "layer");
	for (int i = 0; i < 5; i++)
		kind_of_call(&layer, x, 1);
	IS(program_of(layer.function, NULL),
	   "recording 1 of function 'layer' (forward), key 1 {01000000}\n"
	   "  %1 = input 'x'  128 bytes  static\n"
	   "  %2 = alloc 128 bytes  'y'  segment 0 [0, 128)\n"
	   "  %3 = alloc 128 bytes  'echo'  segment 0 [512, 640)\n"
	   "  %4 = alloc 128 bytes  'between'  segment 0 [1024, 1152)\n"
	   "  %5 = forward region 'a'\n"
	   "  %6 = draw bits u32 [0, 8)  region 'a' op 0 'first'  cells %5\n"
	   "  %7 = draw bits u32 [0, 8)  region 'a' op 1 'second'  cells %5\n"
	   "  %8 = draw bits u32 [0, 8)  region 'a' op 1 'second' call 1  "
	   "cells %5\n"
	   "  %9 = draw bits u32 [0, 8)  region 'a' op 2 'third'  cells %5\n"
	   "  %10 = commit %5\n"
	   "  %11 = free %4\n"
	   "  %12 = output 'y'  128 bytes  %2\n"
	   "  %13 = output 'echo'  128 bytes  %3\n"
	   "  nodes: 4 x kernel 'bits_u32', kernel 'head', 2 x copy\n"
	   "  replays: 3\n"
	   "\n");
}

/* What a body does besides: all kinds of steps. */
static enum philox_status do_more(struct layer *layer, struct philox_run *run)
{
	const struct philox_state *states, *cell;
	const void *rate, *again;
	struct philox_ticket ticket;
	struct philox_pass pass, back;
	struct philox_rng rng;
	void *made;

	OK(philox_run_param(run, 0, &rate));
	OK(philox_run_forward_begin(run, layer->region, PHILOX_PASS_ON_DEVICE,
				    &pass));
	OK(philox_pass_states(&pass, &states));
	OK(philox_pass_rng(&pass, 2, 0, &rng));
	OK(philox_pass_cell(&pass, 1, 1, &cell));
	OK(philox_run_alloc(run, 256, 64, "made", &made));
	OK(philox_pass_dropout(&pass, 2, PHILOX_DTYPE_F32,
			       philox_span_rows(3, 2, 4, 100), 0.1, made,
			       made));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_run_backward_begin(run, layer->region, ticket,
				     PHILOX_PASS_RETAIN, &back));
	OK(philox_pass_normal(&back, 0, PHILOX_DTYPE_F64, philox_span_elements(0, 3),
			      -1.5, 2, made));
	OK(philox_pass_commit(&back, 0, NULL));
	OK(philox_run_backward_begin(run, layer->region, ticket, 0, &back));
	OK(philox_pass_integers(&back, 0, PHILOX_DTYPE_I32, philox_span_elements(7, 3),
				(uint64_t)-4, 9, made));
	OK(philox_pass_commit(&back, 0, NULL));
	OK(philox_run_param(run, 0, &again));
	OK(philox_run_free(run, made));
	return PHILOX_OK;
}

static const struct philox_param_desc params[] = {{.name = "rate", .bytes = 4}};

static void make_more(struct layer *layer, struct philox_runner *r)
{
	static const struct philox_input_desc input = {
		.name = "x",
		.kind = PHILOX_INPUT_COPIED,
		.flags = PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK,
		.elements = PHILOX_ELEMENTS(PHILOX_DTYPE_F16)};
	struct philox_function_desc options = layer_options("more", layer);

	options.inputs = &input;
	options.params = params;
	options.n_params = 1;
	make_function_of(layer, r, &options);
	layer->hook = do_more;
}

static void call_more(struct layer *layer, const void *x)
{
	static const float rate = 0.5f;
	struct layer_call call = new_call(layer, x, 1);
	struct philox_call_param param = {&rate, sizeof(rate)};
	struct philox_launch_pass uses[2] = {{.flags = 0}};

	call.x.id = 9;
	call.call.inputs = &call.x;
	call.call.params = &param;
	call.call.n_params = 1;
	call.call.passes = uses;
	call.call.n_passes = 2;
	call.call.outputs = NULL;
	call.call.n_outputs = 0;
	OK(philox_function_call(layer->function, &call.call));
	OK(philox_ticket_release(layer->region, layer->f->stream,
				 uses[0].ticket));
}

RUNNER_PROMISE(explain, every_kind_of_step_has_its_line_in_its_place)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	const char *text;

	make_more(&layer, r);
	for (int i = 0; i < 2; i++)
		call_more(&layer, x);
	text = program_of(layer.function, NULL);
	HAS(text,
	    "  %1 = input 'x'  128 bytes f16[64]  copied, mutated and written "
	    "back, memory 9\n"
	    "  %2 = copy of input 'x'  128 bytes  segment 0 [0, 128)\n"
	    "  %3 = alloc 128 bytes  'y'  segment 0 [512, 640)\n");
	HAS(text,
	    "  %11 = commit %6\n"
	    "  %12 = parameter 'rate'  4 bytes\n"
	    "  %13 = forward region 'a', on device\n"
	    "  %14 = states  region 'a'  cells %13\n"
	    "  %15 = state  region 'a' op 2 'third'  cells %13\n"
	    "  %16 = state  region 'a' op 1 'second' call 1  cells %13\n"
	    "  %17 = alloc 256 bytes alignment 64  'made'  segment 0 [2048, "
	    "2304)\n"
	    "  %18 = draw dropout f32 [3, 7) and so on, 2 rows every 100 p=0.1 "
	    " region 'a' op 2 'third'  cells %13\n"
	    "  %19 = commit %13\n"
	    "  %20 = backward region 'a' of %13, retain\n"
	    "  %21 = draw normal f64 [0, 3) mean=-1.5 std=2  region 'a' op 0 "
	    "'first'  cells %20\n"
	    "  %22 = commit %20\n"
	    "  %23 = backward region 'a' of %13\n"
	    "  %24 = draw integers i32 [7, 10) from=-4 to=9  region 'a' op 0 "
	    "'first'  cells %23\n"
	    "  %25 = commit %23\n"
	    "  %26 = parameter 'rate'  4 bytes\n"
	    "  %27 = free %17\n"
	    "  %28 = free %5\n"
	    "  %29 = output 'y'  128 bytes  %3\n"
	    "  %30 = output 'echo'  128 bytes  %4\n");
}

/* A function that the layer's body calls. */
static struct philox_function *within;

static enum philox_status body_within(void *user, struct philox_run *run)
{
	void *made;

	(void)user;
	OK(philox_run_alloc(run, 96, 0, "within", &made));
	return philox_run_output(run, 0, made, 96);
}

static enum philox_status call_within(struct layer *layer,
				      struct philox_run *run)
{
	struct philox_nested_call call = PHILOX_INIT(struct philox_nested_call);
	struct philox_nested_array output;

	(void)layer;
	call.outputs = &output;
	call.n_outputs = 1;
	OK(philox_run_call(run, within, &call));
	return philox_run_free(run, output.address);
}

RUNNER_PROMISE(explain, what_a_function_within_does_is_indented)
{
	static const struct philox_output_desc z = {.name = "z"};
	struct layer layer = make_layer(f, r, "a");
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	uint32_t *x = make_words(f, 1);

	options.name = "within";
	options.body = body_within;
	options.outputs = &z;
	options.n_outputs = 1;
	OK(philox_function_create(r, &options, &within));
	make_function(&layer, r, "layer");
	layer.hook = call_within;
	for (int i = 0; i < 2; i++)
		kind_of_call(&layer, x, 1);
	HAS(program_of(layer.function, NULL),
	    "  %10 = commit %5\n"
	    "  %11 = call function 'within'\n"
	    "    %12 = alloc 96 bytes  'within'  segment 0 [1536, 1632)\n"
	    "    %13 = output 'z'  96 bytes  %12\n"
	    "  %14 = return from function 'within'\n"
	    "  %15 = free %12\n"
	    "  %16 = free %4\n");
}

RUNNER_PROMISE(explain, a_backward_and_where_its_input_is_from_are_named)
{
	struct duo duo;
	struct layer_call made, back;

	make_duo(f, r, &duo);
	for (int i = 0; i < 2; i++) {
		made = made_call(&duo.forth, duo.x, 1);
		back = made_backward(&duo.back, &made, 0);
		release_outputs(&duo.back, &back);
		release_outputs(&duo.forth, &made);
	}
	HAS(program_of(duo.back.function, NULL),
	    " = backward region 'layer' of a ticket named at launch\n");
}

RUNNER_PROMISE(explain, outputs_that_are_alive_are_named_with_their_ties)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	struct layer_call call;
	char lines[200];

	make_function(&layer, r, "layer");
	kind_of_call(&layer, x, 1);
	call = made_call(&layer, x, 1);
	OK(philox_output_tie(r, &call.outputs[1], layer.region,
			     call.use.ticket));
	snprintf(lines, sizeof(lines),
		 "  replays: 0\n"
		 "  alive: 'y' of call 2\n"
		 "  alive: 'echo' of call 2, tied to ticket %" PRIu64
		 " of region 'a'\n",
		 call.use.ticket.serial);
	HAS(program_of(layer.function, NULL), lines);
	OK(philox_output_release(r, f->stream, &call.outputs[0]));
	HAS_NOT(program_of(layer.function, NULL), "alive: 'y'");
	OK(philox_ticket_release(layer.region, f->stream, call.use.ticket));
	HAS_NOT(program_of(layer.function, NULL), "alive");
}

/* --- what tickets keep ---------------------------------------------------- */

static void keep_saved(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
}

/* A saved context of two parts, with 'echo' tied: 692 bytes in all. */
static void keep_three(struct layer *layer, const struct layer_call *call)
{
	static const struct philox_saved_desc parts[] = {
		{.name = "mask",
		 .elements = PHILOX_ELEMENTS(PHILOX_DTYPE_F16),
		 .bytes = 512},
		{.name = "it's", .bytes = 52}};

	OK(philox_ticket_attach(layer->region, call->use.ticket, NULL,
				keep_saved));
	OK(philox_ticket_describe(layer->region, call->use.ticket, parts, 2));
	OK(philox_output_tie(layer->runner, &call->outputs[1], layer->region,
			     call->use.ticket));
}

/* What is printed of it. */
static const char *three_kept(const struct layer_call *call, int number)
{
	static char lines[400];

	snprintf(lines, sizeof(lines),
		 "  ticket %" PRIu64 " of region 'a', given out by call %d, "
		 "keeps 3 items, 692 bytes\n"
		 "    'mask'  512 bytes f16[256]\n"
		 "    'it\\x27s'  52 bytes\n"
		 "    'echo' of function 'layer'  128 bytes\n"
		 "\n",
		 call->use.ticket.serial, number);
	return lines;
}

static unsigned tickets_in(const char *text)
{
	unsigned n = 0;

	while ((text = strstr(text, "  ticket "))) {
		n++;
		text++;
	}
	return n;
}

RUNNER_PROMISE(explain, what_a_pending_ticket_keeps_is_below_its_recording)
{
	struct layer layer = make_layer(f, r, "a");
	struct philox_explain_desc options = options_of();
	struct layer_call first, second;

	make_function(&layer, r, "layer");
	kind_of_call(&layer, make_words(f, 1), 1);
	first = made_call(&layer, make_words(f, 1), 1);
	second = made_call(&layer, make_words(f, 2), 1);
	cr_assert_eq(second.call.kind, PHILOX_CALL_RECORD);
	HAS_NOT(program_of(layer.function, NULL), "keeps");
	keep_three(&layer, &second);
	HAS(program_of(layer.function, NULL), three_kept(&second, 3));
	cr_assert_eq(tickets_in(program_of(layer.function, NULL)), 1);
	options.recording = 2;
	HAS(program_of(layer.function, &options), three_kept(&second, 3));
	options.recording = 1;
	HAS_NOT(program_of(layer.function, &options), "keeps");
	OK(philox_ticket_release(layer.region, f->stream, second.use.ticket));
	HAS_NOT(program_of(layer.function, NULL), "keeps");
	let_go(&layer, &first);
}

RUNNER_PROMISE(explain,
	       tickets_of_calls_that_ran_the_body_are_below_the_function)
{
	struct layer layer = make_layer(f, r, "a");
	struct philox_explain_desc options = options_of();
	struct layer_call call;
	const uint32_t key = 1;
	char text[800];

	make_function(&layer, r, "layer");
	call = made_call(&layer, make_words(f, 1), 1);
	cr_assert_eq(call.call.kind, PHILOX_CALL_WARMUP);
	keep_three(&layer, &call);
	snprintf(text, sizeof(text),
		 "function 'layer' (forward), key 1 {01000000}\n"
		 "  nothing is recorded\n"
		 "\n"
		 "tickets of function 'layer', without a recording\n"
		 "%s",
		 three_kept(&call, 1));
	IS(program_of(layer.function, NULL), text);
	options.key = &key;
	options.key_bytes = sizeof(key);
	HAS_NOT(program_of(layer.function, &options), "keeps");
	OK(philox_ticket_release(layer.region, f->stream, call.use.ticket));
}

/* --- draws are what was drawn --------------------------------------------- */

enum { DRAWS = 40 };

/* The test's own list of what it asks for, in the words of a line's middle. */
static char drawn[DRAWS][160];
static unsigned n_drawn, chance;

static unsigned next_of(unsigned n)
{
	chance = chance * 1103515245u + 12345u;
	return chance / 65536u % n;
}

static enum philox_status draw_something(const struct philox_pass *pass,
					 void *array)
{
	static const char *const ops[] = {"first", "second", "third"};
	static const struct {
		uint32_t number;
		const char *name;
	} dtypes[] = {{PHILOX_DTYPE_F32, "f32"},
		      {PHILOX_DTYPE_F64, "f64"},
		      {PHILOX_DTYPE_BF16, "bf16"},
		      {PHILOX_DTYPE_F16, "f16"}};
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);
	const unsigned op = next_of(3), call = op == 1 ? next_of(2) : 0;
	const unsigned dtype = next_of(4), first = next_of(1000);
	char with[64] = "", name[24] = "";

	fill.dtype = dtypes[dtype].number;
	fill.span = philox_span_elements(first, 1 + next_of(4));
	fill.out = array;
	fill.p = next_of(8) / 8.0;
	fill.rate = 1 + next_of(3);
	fill.mean = fill.low = next_of(5);
	fill.std = 0.5;
	fill.high = 7.25;
	switch (next_of(5)) {
	case 0:
		fill.dist = PHILOX_DIST_UNIFORM;
		snprintf(name, sizeof(name), "uniform");
		snprintf(with, sizeof(with), " low=%g high=7.25", fill.low);
		break;
	case 1:
		fill.dist = PHILOX_DIST_LOG_NORMAL;
		snprintf(name, sizeof(name), "log-normal");
		snprintf(with, sizeof(with), " mean=%g std=0.5", fill.mean);
		break;
	case 2:
		fill.dist = PHILOX_DIST_BERNOULLI;
		snprintf(name, sizeof(name), "bernoulli");
		snprintf(with, sizeof(with), " p=%g", fill.p);
		break;
	case 3:
		fill.dist = PHILOX_DIST_EXPONENTIAL;
		snprintf(name, sizeof(name), "exponential");
		snprintf(with, sizeof(with), " rate=%g", fill.rate);
		break;
	default:
		fill.dist = PHILOX_DIST_GUMBEL;
		snprintf(name, sizeof(name), "gumbel");
	}
	snprintf(drawn[n_drawn++], sizeof(drawn[0]),
		 "draw %s %s [%u, %" PRIu64 ")%s  region 'a' op %u '%s'%s  "
		 "cells %%",
		 name, dtypes[dtype].name, first, first + fill.span.count, with,
		 op, ops[op], call ? " call 1" : "");
	return philox_pass_fill(pass, op, call, &fill);
}

static enum philox_status draw_many(struct layer *layer, struct philox_run *run)
{
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *made;

	n_drawn = 0;
	chance = 7;
	OK(philox_run_alloc(run, 64, 64, NULL, &made));
	OK(philox_run_forward_begin(run, layer->region, PHILOX_PASS_INFERENCE,
				    &pass));
	for (int i = 0; i < DRAWS; i++)
		OK(draw_something(&pass, made));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return PHILOX_OK;
}

static void call_many(struct layer *layer, const void *x)
{
	struct layer_call call = new_call(layer, x, 1);
	struct philox_launch_pass uses[2] = {{.flags = 0}};

	call.call.inputs = &call.x;
	call.call.passes = uses;
	call.call.n_passes = 2;
	call.call.outputs = NULL;
	call.call.n_outputs = 0;
	OK(philox_function_call(layer->function, &call.call));
	OK(philox_ticket_release(layer->region, layer->f->stream,
				 uses[0].ticket));
}

RUNNER_PROMISE(explain, the_draws_listed_are_those_that_the_body_asked_for)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	const char *at;

	make_function(&layer, r, "layer");
	layer.hook = draw_many;
	for (int i = 0; i < 2; i++)
		call_many(&layer, x);
	at = strstr(program_of(layer.function, NULL), ", inference\n");
	cr_assert(at);
	for (unsigned i = 0; i < n_drawn; i++) {
		at = strchr(at, '\n') + 1;
		at = strstr(at, " = ") + 3;
		cr_assert(!strncmp(at, drawn[i], strlen(drawn[i])),
			  "draw %u is %.120s, not %s", i, at, drawn[i]);
	}
	at = strchr(at, '\n') + 1;
	cr_assert(!strncmp(strstr(at, " = ") + 3, "commit", 6), "%.80s", at);
}

static unsigned too_many;

static enum philox_status ask_often(struct layer *layer, struct philox_run *run)
{
	struct philox_pass pass;
	struct philox_ticket ticket;
	struct philox_rng rng;

	OK(philox_run_forward_begin(run, layer->region, PHILOX_PASS_INFERENCE,
				    &pass));
	for (unsigned i = 0; i < too_many; i++)
		OK(philox_pass_rng(&pass, 0, 0, &rng));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return PHILOX_OK;
}

/* The layer's own pass has 6 steps, this one two beside its states. */
RUNNER_PROMISE(explain, steps_beyond_the_most_are_counted_and_not_kept)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);

	too_many = PROGRAM_MOST;
	make_function(&layer, r, "layer");
	layer.hook = ask_often;
	for (int i = 0; i < 2; i++)
		call_many(&layer, x);
	HAS(program_of(layer.function, NULL),
	    "\n  and 8 more steps that were not kept\n");
}

/* --- which of them -------------------------------------------------------- */

RUNNER_PROMISE(explain, a_key_or_a_recording_is_chosen)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1), *other = make_words(f, 2);
	struct philox_explain_desc options = options_of();
	const uint32_t key = 2;
	const char *text;

	make_function(&layer, r, "layer");
	for (int i = 0; i < 2; i++)
		kind_of_call(&layer, x, 1);
	kind_of_call(&layer, other, 1);
	kind_of_call(&layer, x, 2);
	text = program_of(layer.function, NULL);
	HAS(text, "recording 1 of ");
	HAS(text, "recording 2 of ");
	HAS(text, "function 'layer' (forward), key 2 {02000000}\n"
		  "  nothing is recorded\n\n");
	options.key = &key;
	options.key_bytes = sizeof(key);
	IS(program_of(layer.function, &options),
	   "function 'layer' (forward), key 2 {02000000}\n"
	   "  nothing is recorded\n\n");
	options.key = NULL;
	options.key_bytes = 0;
	options.recording = 2;
	text = program_of(layer.function, &options);
	HAS(text, "recording 2 of ");
	HAS_NOT(text, "recording 1 of ");
	HAS_NOT(text, "nothing is recorded");
}

RUNNER_PROMISE(explain, a_key_has_its_label_beside_it)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	struct layer_call call = new_call(&layer, x, 1);

	make_function(&layer, r, "layer");
	call.call.label = "batch '32'";
	OK(try_call(&layer, &call));
	release_outputs(&layer, &call);
	IS(program_of(layer.function, NULL),
	   "function 'layer' (forward), key 1 {01000000} 'batch \\x2732\\x27'\n"
	   "  nothing is recorded\n\n");
	kind_of_call(&layer, x, 1);
	kind_of_call(&layer, x, 2);
	HAS(program_of(layer.function, NULL),
	    "recording 1 of function 'layer' (forward), key 1 {01000000} "
	    "'batch \\x2732\\x27'\n");
	HAS(program_of(layer.function, NULL),
	    "function 'layer' (forward), key 2 {02000000}\n");
}

RUNNER_PROMISE(explain, what_is_not_there_is_refused_by_name)
{
	struct layer layer = make_layer(f, r, "a");
	struct philox_explain_desc options = options_of();
	char *text = NULL;

	make_function(&layer, r, "layer");
	SAYS(philox_function_explain_text(layer.function, NULL, &text, NULL),
	     PHILOX_ERROR_NOT_FOUND,
	     "function 'layer' has no key or recording like that");
	options.flags = 2;
	SAYS(philox_function_explain_text(layer.function, &options, &text, NULL),
	     PHILOX_ERROR_INVALID, "function 'layer': options: flags is 0x2");
	options.flags = 0;
	options.key_bytes = 4;
	SAYS(philox_function_explain_text(layer.function, &options, &text, NULL),
	     PHILOX_ERROR_INVALID,
	     "function 'layer': options: key is NULL, and key_bytes is 4");
	options = options_of();
	options.size = 1;
	FAILS(philox_function_explain_text(layer.function, &options, &text,
					   NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_function_explain_text(layer.function, NULL, NULL, NULL),
	      PHILOX_ERROR_INVALID);
	cr_assert(!text);
}

/* --- times, and equal texts ----------------------------------------------- */

static void call_some(struct layer *layer, struct philox_runner *r,
		      const uint32_t *x)
{
	make_function(layer, r, "layer");
	for (int i = 0; i < 4; i++)
		kind_of_call(layer, x, 1);
}

RUNNER_PROMISE(explain, times_of_all_phases_are_there_on_request_alone)
{
	struct layer layer = make_layer(f, r, "a");
	struct philox_explain_desc options = options_of();
	uint64_t body, end, instantiate, checkpoint, first, replay;
	struct philox_function_stats counts;
	const char *times;

	call_some(&layer, r, make_words(f, 1));
	HAS_NOT(program_of(layer.function, NULL), "times");
	options.flags = PHILOX_EXPLAIN_TIMES;
	times = strstr(program_of(layer.function, &options), "  times (ns): ");
	cr_assert(times);
	cr_assert_eq(sscanf(times,
			    "  times (ns): body %" SCNu64 ", capture end "
			    "%" SCNu64 ", instantiate %" SCNu64
			    ", checkpoint %" SCNu64 ", first launch %" SCNu64
			    ", replays %" SCNu64 "\n",
			    &body, &end, &instantiate, &checkpoint, &first,
			    &replay),
		     6);
	counts = counts_of(&layer);
	cr_assert_eq(body, counts.record_ns);
	cr_assert_eq(checkpoint, counts.checkpoint_ns);
	cr_assert_eq(first, counts.first_ns);
	cr_assert_eq(replay, counts.replay_ns);
	cr_assert(end && instantiate &&
		  end + instantiate <= counts.instantiate_ns);
	HAS(times, "\ntimes of function 'layer' (ns): create ");
	HAS(times, "\ntimes of the runner (ns): plan loads 0\n");
}

/* Valid until it is freed. */
static char *snapshot_of(struct philox_runner *r, unsigned flags)
{
	char *text;

	OK(philox_runner_snapshot_text_with(r, flags, &text, NULL));
	return text;
}

RUNNER_PROMISE(explain, a_snapshot_has_times_on_request_on_lines_of_their_own)
{
	struct layer layer = make_layer(f, r, "a");
	char *plain, *timed, *lines;

	call_some(&layer, r, make_words(f, 1));
	plain = snapshot_of(r, 0);
	timed = snapshot_of(r, PHILOX_SNAPSHOT_TIMES);
	HAS_NOT(plain, "\ntimes");
	lines = strstr(timed, "\ntimes of plans loads 0\n");
	cr_assert(lines);
	HAS(timed, "\ntimes of function 1 create ");
	HAS(timed, "\ntimes of recording 1 body ");
	cr_assert(!strncmp(plain, timed, (size_t)(lines - timed)));
	cr_assert(!strncmp(strstr(timed, "\nbegin pool"),
			   plain + (lines - timed), 11));
	free(plain);
	free(timed);
	SAYS(philox_runner_snapshot_text_with(r, 6, &plain, NULL),
	     PHILOX_ERROR_INVALID,
	     "runner 'runner': flags 0x6 are none of snapshots");
}

RUNNER_PROMISE(explain, equal_runs_have_equal_programs)
{
	struct layer layer = make_layer(f, r, "a");
	struct philox_runner *other =
		make_runner_of(f, "other", PHILOX_POOL_EXPANDABLE);
	struct layer again = layer;
	uint32_t *x = make_words(f, 1);
	char *one;

	call_some(&layer, r, x);
	one = strdup(program_of(layer.function, NULL));
	again.runner = other;
	call_some(&again, other, x);
	IS(program_of(again.function, NULL), one);
	free(one);
}

/* --- texts of snapshots --------------------------------------------------- */

/* The text of a snapshot is read, written again and printed. */
static void same_of_snapshot(struct layer *layer, const char *name,
			     unsigned flags)
{
	const struct explain_choice choice = {.times = 1, .function = name};
	struct philox_explain_desc options = options_of();
	char *text = NULL, *printed = NULL;
	struct runner_text read;
	struct text written;
	size_t size;
	FILE *out;

	OK(philox_runner_snapshot_text_with(layer->runner, flags, &text,
					    &size));
	OK(runner_text_read(text, size, &read));
	cr_assert_eq(read.timed, (int)flags);
	OK(runner_text_write(&read, &written));
	IS(written.bytes, text);
	out = open_memstream(&printed, &size);
	cr_assert_gt(explain_runner(out, &read, &choice), 0);
	fclose(out);
	options.flags = flags;
	IS(printed, program_of(layer->function, &options));
	free(written.bytes);
	free(printed);
	free(text);
	runner_text_finish(&read);
}

RUNNER_PROMISE(explain, a_snapshot_that_is_read_gives_the_same_text_as_the_call)
{
	struct layer layer = make_layer(f, r, "a"), kept = layer;
	struct layer_call call;

	make_more(&layer, r);
	for (int i = 0; i < 3; i++)
		call_more(&layer, make_words(f, 1));
	make_function(&kept, r, "layer");
	for (int i = 0; i < 3; i++) {
		call = made_call(&kept, make_words(f, 1), 1);
		keep_three(&kept, &call);
	}
	for (unsigned flags = 0; flags <= PHILOX_SNAPSHOT_TIMES; flags++) {
		same_of_snapshot(&layer, "more", flags);
		same_of_snapshot(&kept, "layer", flags);
	}
	cr_assert_eq(tickets_in(program_of(kept.function, NULL)), 3);
}

/* Two branches, the first of which is empty. */
static enum philox_status choose(struct layer *layer, struct philox_run *run)
{
	static const struct philox_conditional_desc options = {
		.size = sizeof(options),
		.kind = PHILOX_CONDITIONAL_IF,
		.bodies = 2};
	struct fixture *f = layer->f;
	struct philox_conditional node;
	void *made;

	OK(philox_run_alloc(run, 64, 0, NULL, &made));
	if (philox_run_kind(run) != PHILOX_CALL_RECORD)
		return PHILOX_OK;
	OK(philox_conditional_begin(f->context, philox_run_stream(run),
				    &options, &node));
	OK(philox_conditional_body(&node, 0, f->side));
	OK(philox_conditional_body(&node, 1, f->side));
	OK(philox_memory_set(f->device, f->side, made, 0, 64));
	return philox_conditional_end(&node);
}

RUNNER_PROMISE(explain, nodes_in_bodies_are_in_recordings_and_snapshots)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	char *text;

	make_function(&layer, r, "layer");
	layer.hook = choose;
	for (int i = 0; i < 2; i++)
		kind_of_call(&layer, x, 1);
	HAS(program_of(layer.function, NULL),
	    "  %12 = body 0 of if 0, at most 1 run\n"
	    "    nodes: kernel 'body'\n"
	    "  %13 = end of body 0\n"
	    "  %14 = body 1 of if 0, at most 1 run\n"
	    "    nodes: kernel 'body', set\n"
	    "  %15 = end of body 1\n");
	text = snapshot_of(r, 0);
	HAS(text, "\nnodes 1 of set named \"\" body 1\n");
	free(text);
	same_of_snapshot(&layer, "layer", 0);
}

/* --- graphs --------------------------------------------------------------- */

static char *graph_program(const struct philox_graph *graph, unsigned flags)
{
	char *text;
	size_t size;

	OK(philox_graph_explain_text(graph, flags, &text, &size));
	cr_assert_eq(strlen(text), size);
	return text;
}

PROMISE(explain, a_graph_captured_by_hand_is_read_as_a_program)
{
	struct philox_region *region = make_region(f, "a");
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_state *copy = make_memory(f, sizeof(*copy));
	uint32_t *array = make_array(f);
	const uint32_t value = 3;
	struct philox_graph *graph;
	struct philox_ticket ticket;
	struct philox_pass pass;
	void *cell;
	char *text;

	OK(philox_capture_begin(f->context, f->stream));
	OK(philox_capture_param(f->context, f->stream, "step", &value,
				sizeof(value), &cell));
	OK(philox_generator_copy_state(generator, f->stream, copy));
	OK(philox_forward_begin(region, f->stream, 0, &pass));
	OK(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U64, philox_span_elements(2, 4),
			    array));
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_capture_end(f->context, f->stream, &graph));
	OK(philox_graph_set_name(graph, "by hand"));
	text = graph_program(graph, 0);
	IS(text, "graph 'by hand'\n"
		 "  %1 = parameter 'step'  4 bytes\n"
		 "  %2 = state of generator 0\n"
		 "  %3 = forward region 'a'\n"
		 "  %4 = draw bits u64 [2, 6)  region 'a' op 0 'first'  cells "
		 "%3\n"
		 "  %5 = commit %3\n"
		 "  nodes: kernel 'bits_u64', kernel 'head', copy\n");
	free(text);
	text = graph_program(graph, PHILOX_EXPLAIN_TIMES);
	HAS(text, "\n  times (ns): capture end ");
	free(text);
	text = NULL;
	SAYS(philox_graph_explain_text(graph, 4, &text, NULL),
	     PHILOX_ERROR_INVALID, "'by hand': flags is 0x4");
	FAILS(philox_graph_explain_text(NULL, 0, &text, NULL),
	      PHILOX_ERROR_INVALID);
	cr_assert(!text);
	OK(philox_graph_destroy(graph));
}

/*
 * tools/contract/runner/inputs.c - inputs that are copied, values, and streams
 * of functions
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/contract/runner/runner.h"

/* --- copied inputs -------------------------------------------------------- */

/*
 * INPUTS of them are copied, of different sizes and wherever they lie; the body
 * puts them one after the other into its output.
 */
enum { INPUTS = 100, PLACE = 8192, LONGEST = 6000 };

struct gather {
	struct contract *c;
	struct philox_input_desc inputs[INPUTS];
	char names[INPUTS][8];
	struct philox_runner *runner;
	struct philox_function *function;
	unsigned char host[INPUTS * PLACE]; /* what the memory is made of */
	unsigned char got[INPUTS * PLACE];
	char *memory;
};

/* 1 and up: odd ones, those of whole vectors and of many. */
static size_t gather_size(unsigned i)
{
	static const size_t sizes[] = {1,  2,  3,   7,    16,
				       31, 64, 255, 4096, LONGEST};

	return sizes[i % 10] + (i / 10 == 3 ? 1 : 0);
}

static size_t gather_total(void)
{
	size_t total = 0;

	for (unsigned i = 0; i < INPUTS; i++)
		total += gather_size(i);
	return total;
}

static enum philox_status gather_body(void *user, struct philox_run *run)
{
	const struct gather *g = user;
	char *out;
	void *memory;

	TRY(philox_run_alloc(run, gather_total(), 0, "out", &memory));
	out = memory;
	for (unsigned i = 0; i < INPUTS; i++) {
		void *address;
		size_t bytes;

		TRY(philox_run_input(run, i, &address, &bytes));
		TRY(philox_memory_copy(g->c->device, philox_run_stream(run),
				       out, address, bytes));
		out += bytes;
	}
	return philox_run_output(run, 0, memory, gather_total());
}

static void make_gather(struct contract *c, struct contract_rig *rig,
			struct gather *g)
{
	static const struct philox_output_desc out = {.name = "out"};
	struct philox_runner_desc of_runner =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	for (unsigned i = 0; i < INPUTS; i++) {
		snprintf(g->names[i], sizeof(g->names[i]), "x%u", i);
		g->inputs[i].name = g->names[i];
		g->inputs[i].kind = PHILOX_INPUT_COPIED;
	}
	of_runner.name = options.name = "gather";
	options.mode = PHILOX_MODE_INFERENCE;
	options.body = gather_body;
	options.user = g;
	options.inputs = g->inputs;
	options.n_inputs = INPUTS;
	options.outputs = &out;
	options.n_outputs = 1;
	EXPECT_OK(
		philox_runner_create(rig->at.context, &of_runner, &g->runner));
	EXPECT_OK(philox_function_create(g->runner, &options, &g->function));
}

/* Where input i lies in round k: each time elsewhere, on any byte. */
static size_t gather_place(unsigned i, unsigned k)
{
	return (size_t)((i + 7 * k) % INPUTS) * PLACE + (i * 5 + k) % 37;
}

static void fill_gather(struct contract *c, struct contract_rig *rig,
			struct gather *g)
{
	const size_t size = sizeof(g->host);

	for (size_t i = 0; i < size; i++)
		g->host[i] = (unsigned char)(i * 2654435761u >> 13);
	EXPECT_OK(contract_memory(c, size, (void **)&g->memory));
	EXPECT_OK(contract_copy(c, g->memory, g->host, size, rig->at.stream));
	EXPECT_OK(philox_stream_synchronize(c->device, rig->at.stream));
}

static void is_gathered(struct contract *c, struct contract_rig *rig,
			struct gather *g, unsigned k,
			const struct philox_output *out)
{
	const unsigned char *got = g->got;

	EXPECT_OK(contract_read(c, rig->at.stream, out->address, g->got,
				gather_total()));
	for (unsigned i = 0; i < INPUTS; i++) {
		EXPECT_TEXT(memcmp(got, g->host + gather_place(i, k),
				   gather_size(i)) == 0,
			    "call %u: input %u of %zu bytes is not what it "
			    "was",
			    k, i, gather_size(i));
		got += gather_size(i);
	}
}

static struct philox_call describe_gather(struct contract_rig *rig,
					  const struct gather *g, unsigned k,
					  struct philox_call_input *inputs)
{
	struct philox_call call = PHILOX_INIT(struct philox_call);

	for (unsigned i = 0; i < INPUTS; i++)
		inputs[i] = (struct philox_call_input){
			.address = g->memory + gather_place(i, k),
			.bytes = gather_size(i)};
	call.stream = rig->at.stream;
	call.inputs = inputs;
	call.n_inputs = INPUTS;
	return call;
}

static void call_gather(struct contract *c, struct contract_rig *rig,
			struct gather *g, unsigned k)
{
	struct philox_call_input inputs[INPUTS];
	struct philox_call call = describe_gather(rig, g, k, inputs);
	struct philox_output out;

	call.outputs = &out;
	call.n_outputs = 1;
	EXPECT_OK(philox_function_call(g->function, &call));
	EXPECT(call.kind == (k == 0   ? PHILOX_CALL_WARMUP
			     : k == 1 ? PHILOX_CALL_RECORD
				      : PHILOX_CALL_REPLAY));
	EXPECT_PART(is_gathered(c, rig, g, k, &out));
	EXPECT_OK(philox_output_release(g->runner, rig->at.stream, &out));
}

/*
 * Those of a launch of a graph that has no passes and shares a pool, and one
 * for all copies.
 */
static void gather_makes_four_device_calls(struct contract *c,
					   struct contract_rig *rig,
					   struct gather *g)
{
	struct philox_call_input inputs[INPUTS];
	struct philox_call call;
	uint64_t calls = 0;

	for (unsigned k = 0; k < 2; k++) {
		call = describe_gather(rig, g, k, inputs);
		calls = philox_device_call_count(c->device, NULL);
		EXPECT_OK(philox_function_call(g->function, &call));
		calls = philox_device_call_count(c->device, NULL) - calls;
	}
	EXPECT_TEXT(calls == 4, "a replay made %" PRIu64 " device calls, not 4",
		    calls);
}

static void copied_body(struct contract *c, struct contract_rig *rig)
{
	static struct gather g;

	memset(&g, 0, sizeof(g));
	g.c = c;
	EXPECT_PART(make_gather(c, rig, &g));
	EXPECT_PART(fill_gather(c, rig, &g));
	for (unsigned k = 0; k < 6; k++)
		EXPECT_PART(call_gather(c, rig, &g, k));
	EXPECT_PART(gather_makes_four_device_calls(c, rig, &g));
}

/* --- inputs that are written to ------------------------------------------- */

/* Overwrites x, which is copied, and so has to be copied back. */
static enum philox_status overwrites(struct stage *stage,
				     struct philox_run *run)
{
	void *x;
	size_t bytes;

	TRY(philox_run_input(run, 0, &x, &bytes));
	return philox_memory_set(stage->c->device, philox_run_stream(run), x,
				 0x99, bytes - 1);
}

static void mutated_body(struct contract *c, struct contract_rig *rig)
{
	static const struct philox_input_desc input = {
		.name = "x",
		.kind = PHILOX_INPUT_COPIED,
		.flags = PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK,
		.alignment = 256};
	struct stage stage = {.c = c, .rig = rig, .besides = overwrites};
	struct philox_function_desc options = stage_options(&stage, "mutated");
	unsigned char *wide;

	options.inputs = &input;
	EXPECT_PART(stage_create(c, &stage, &options, NULL));
	EXPECT_OK(contract_memory(c, 4 * STAGE_BYTES, (void **)&wide));
	for (unsigned i = 0; i < 5; i++) {
		struct stage_call call = stage_begin(&stage, wide + 1 + 3 * i);

		EXPECT_OK(contract_set(c, wide, 0x51, 4 * STAGE_BYTES,
				       rig->at.stream));
		EXPECT_OK(stage_call(&stage, &call));
		EXPECT_BYTES(rig->at.stream, wide, 0x51, 1 + 3 * i);
		EXPECT_BYTES(rig->at.stream, wide + 1 + 3 * i, 0x99,
			     STAGE_BYTES - 1);
		EXPECT_BYTES(rig->at.stream, wide + 3 * i + STAGE_BYTES, 0x51,
			     STAGE_BYTES);
		EXPECT_BYTES(rig->at.stream, call.outputs[1].address, 0x99,
			     STAGE_BYTES - 1);
		EXPECT_PART(stage_release(c, &stage, &call, rig->at.stream));
	}
}

/* --- values --------------------------------------------------------------- */

enum { VALUE_CALLS = 8 };

struct word {
	uint32_t word[3];
};

static enum philox_status value_body(void *user, struct philox_run *run)
{
	struct philox_device *device = user;
	const void *value;
	void *out;

	TRY(philox_run_alloc(run, sizeof(struct word), 0, "out", &out));
	TRY(philox_run_param(run, 0, &value));
	TRY(philox_memory_copy(device, philox_run_stream(run), out, value,
			       sizeof(struct word)));
	return philox_run_output(run, 0, out, sizeof(struct word));
}

static void make_value_function(struct contract *c, struct contract_rig *rig,
				struct philox_runner **runner,
				struct philox_function **function)
{
	static const struct philox_output_desc out = {.name = "out"};
	static const struct philox_param_desc value = {
		.name = "rate", .bytes = sizeof(struct word)};
	struct philox_runner_desc of_runner =
		PHILOX_INIT(struct philox_runner_desc);
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	of_runner.name = options.name = "value";
	options.mode = PHILOX_MODE_INFERENCE;
	options.body = value_body;
	options.user = c->device;
	options.outputs = &out;
	options.n_outputs = 1;
	options.params = &value;
	options.n_params = 1;
	EXPECT_OK(philox_runner_create(rig->at.context, &of_runner, runner));
	EXPECT_OK(philox_function_create(*runner, &options, function));
}

/* All calls are queued behind other work, each with its own bytes. */
static void value_calls(struct contract *c, struct contract_rig *rig,
			struct philox_runner *runner,
			struct philox_function *function, struct word *seen)
{
	EXPECT_OK(contract_delay(c, rig->at.stream));
	for (uint32_t i = 0; i < VALUE_CALLS; i++) {
		struct word word = {{i, 3 * i, ~i}};
		struct philox_call_param value = {&word, sizeof(word)};
		struct philox_call call = PHILOX_INIT(struct philox_call);
		struct philox_output out;

		call.stream = rig->at.stream;
		call.params = &value;
		call.n_params = 1;
		call.outputs = &out;
		call.n_outputs = 1;
		EXPECT_OK(philox_function_call(function, &call));
		EXPECT(i < 2 || call.kind == PHILOX_CALL_REPLAY);
		EXPECT_OK(contract_copy(c, &seen[i], out.address, sizeof(word),
					rig->at.stream));
		EXPECT_OK(philox_output_release(runner, rig->at.stream, &out));
	}
}

static void values_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_runner *runner;
	struct philox_function *function;
	struct word got[VALUE_CALLS], *seen;

	EXPECT_OK(contract_memory(c, sizeof(got), (void **)&seen));
	EXPECT_PART(make_value_function(c, rig, &runner, &function));
	EXPECT_PART(value_calls(c, rig, runner, function, seen));
	EXPECT_OK(contract_read(c, rig->at.stream, seen, got, sizeof(got)));
	for (uint32_t i = 0; i < VALUE_CALLS; i++)
		EXPECT_TEXT(got[i].word[0] == i && got[i].word[1] == 3 * i &&
				    got[i].word[2] == ~i,
			    "call %" PRIu32 " read the value %08" PRIx32
			    " %08" PRIx32 " %08" PRIx32,
			    i, got[i].word[0], got[i].word[1], got[i].word[2]);
}

/* --- streams -------------------------------------------------------------- */

enum { STREAM_CALLS = 8 };

/* A stage that takes its time, with an input that is copied. */
static void make_slow(struct contract *c, struct contract_rig *rig,
		      struct stage *stage)
{
	static const struct philox_input_desc input = {
		.name = "x", .kind = PHILOX_INPUT_COPIED};
	struct philox_function_desc options;

	*stage = (struct stage){.c = c, .rig = rig};
	options = stage_options(stage, "slow");
	options.inputs = &input;
	EXPECT_PART(stage_keep_busy(c, stage));
	EXPECT_PART(stage_create(c, stage, &options, NULL));
}

/* Copies what a call gave and releases it, all in the stream's order. */
static void take_numbers(struct contract *c, struct stage *stage,
			 const struct stage_call *call,
			 struct contract_shot *shot, char *echo,
			 philox_stream stream)
{
	EXPECT_OK(contract_copy(c, shot, call->outputs[0].address,
				sizeof(*shot), stream));
	EXPECT_OK(contract_copy(c, echo, call->outputs[1].address, STAGE_BYTES,
				stream));
	EXPECT_PART(stage_release(c, stage, call, stream));
}

/* Nothing but the streams orders these calls with what is around them. */
static void streams_calls(struct contract *c, struct contract_rig *rig,
			  philox_stream a, philox_stream b)
{
	struct contract_shot *shots;
	struct stage stage;
	char *echoes;
	void *x[STREAM_CALLS];

	EXPECT_PART(make_slow(c, rig, &stage));
	EXPECT_OK(contract_memory(c, STREAM_CALLS * sizeof(*shots),
				  (void **)&shots));
	EXPECT_OK(contract_memory(c, STREAM_CALLS * STAGE_BYTES,
				  (void **)&echoes));
	for (int i = 0; i < STREAM_CALLS; i++)
		EXPECT_PART(stage_input(c, rig, STAGE_UNSET, &x[i]));
	for (int i = 0; i < STREAM_CALLS; i++) {
		philox_stream stream = i % 2 ? b : a;
		struct stage_call call = stage_begin(&stage, x[i]);

		call.call.stream = stream;
		EXPECT_OK(contract_set(c, x[i], i, STAGE_BYTES, stream));
		EXPECT_OK(stage_call(&stage, &call));
		EXPECT(i < 2 || call.call.kind == PHILOX_CALL_REPLAY);
		EXPECT_PART(take_numbers(c, &stage, &call, &shots[i],
					 echoes + i * STAGE_BYTES, stream));
	}
	EXPECT_OK(philox_device_synchronize(c->device));
	for (int i = 0; i < STREAM_CALLS; i++) {
		EXPECT_PART(contract_is_forward(c, rig, shots[i].word,
						(unsigned)i));
		EXPECT_BYTES(rig->at.stream, echoes + i * STAGE_BYTES, i,
			     STAGE_BYTES);
	}
}

static void legacy_body(struct contract *c, struct contract_rig *rig)
{
	EXPECT_PART(streams_calls(c, rig, NULL, NULL));
}

static void two_streams_body(struct contract *c, struct contract_rig *rig)
{
	EXPECT_PART(streams_calls(c, rig, rig->at.stream, rig->side));
}

/* A replay waits for a slow reader of what is released on another stream. */
static void reader_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct stage stage;
	philox_event event;
	void *x;

	EXPECT_PART(stage_plain(c, rig, &stage, STAGE_FORWARD, NULL));
	EXPECT_PART(stage_input(c, rig, 0x61, &x));
	EXPECT_OK(contract_event(c, &event));
	for (unsigned i = 0; i < 2; i++)
		EXPECT_PART(stage_forward(
			c, &stage, x, 0x61,
			i ? PHILOX_CALL_RECORD : PHILOX_CALL_WARMUP, &ticket));
	for (unsigned k = 2; k < 6; k++) {
		struct stage_call call = stage_begin(&stage, x);

		EXPECT_OK(stage_call(&stage, &call));
		EXPECT_PART(stage_was(c, &stage, &call, PHILOX_CALL_REPLAY));
		EXPECT_OK(
			philox_event_record(c->device, rig->at.stream, event));
		EXPECT_OK(philox_event_wait(c->device, rig->side, event));
		EXPECT_OK(contract_delay(c, rig->side));
		EXPECT_OK(contract_copy(c, rig->at.out, call.outputs[0].address,
					sizeof(struct contract_shot),
					rig->side));
		EXPECT_PART(stage_release(c, &stage, &call, rig->side));
		rig->next++;
		EXPECT_PART(stage_forward(c, &stage, x, 0x61,
					  PHILOX_CALL_REPLAY, &ticket));
		EXPECT_OK(philox_stream_synchronize(c->device, rig->side));
		EXPECT_PART(contract_is_forward(c, rig, rig->at.out,
						rig->next - 2));
	}
}

const struct contract_check contract_runner_inputs[] = {
	{"a hundred copied inputs, wherever they lie, take one launch",
	 .with_rig = copied_body},
	{"a copied input is written back", .with_rig = mutated_body},
	{"each call reads its own values", .with_rig = values_body},
	{"calls on the legacy stream come in its order",
	 .with_rig = legacy_body},
	{"calls on two streams wait for each other",
	 .with_rig = two_streams_body},
	{"a replay waits for readers on other streams",
	 .with_rig = reader_body},
	{0}};

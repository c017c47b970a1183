/*
 * tools/contract/runner/runner.c - functions that are recorded and replayed by
 * themselves
 *
 * However a call is executed, its k-th forward must give the bytes that forward
 * k draws eagerly on the reference, and its work must be done in stream order.
 */
#include "tools/contract/runner/runner.h"

/* The kinds of the first calls under a key. */
static enum philox_call_kind usual_kind(unsigned call)
{
	if (call == 0)
		return PHILOX_CALL_WARMUP;
	return call == 1 ? PHILOX_CALL_RECORD : PHILOX_CALL_REPLAY;
}

/* --- kinds of call, and tickets ------------------------------------------- */

static void kinds_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket[6];
	struct stage stage;
	void *x;

	EXPECT_PART(stage_plain(c, rig, &stage, STAGE_FORWARD, NULL));
	EXPECT_PART(stage_input(c, rig, 0x31, &x));
	for (unsigned i = 0; i < 6; i++)
		EXPECT_PART(stage_forward(c, &stage, x, 0x31, usual_kind(i),
					  &ticket[i]));
	for (unsigned i = 6; i-- > 0;)
		EXPECT_PART(contract_eager_backward(c, rig, ticket[i], 0, i));
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

/* One call of a backward's function, which must see forward k. */
static void call_back(struct contract *c, struct stage *stage, void *x,
		      struct philox_ticket ticket, unsigned k)
{
	struct contract_rig *rig = stage->rig;
	struct stage_call call = stage_begin(stage, x);

	call.use.ticket = ticket;
	EXPECT_OK(stage_call(stage, &call));
	EXPECT_PART(contract_is_forward(c, rig, call.outputs[0].address, k));
	EXPECT_PART(stage_release(c, stage, &call, rig->at.stream));
}

/* Two forwards, then their backwards, the last one first. */
static void pairs_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	struct stage forth, back;
	void *x;

	EXPECT_PART(stage_plain(c, rig, &forth, STAGE_FORWARD, NULL));
	EXPECT_PART(stage_plain(c, rig, &back, STAGE_BACKWARD, forth.runner));
	EXPECT_PART(stage_input(c, rig, 0x32, &x));
	for (unsigned k = 0; k < 6; k += 2) {
		struct philox_ticket ticket[2];

		for (unsigned i = 0; i < 2; i++)
			EXPECT_PART(stage_forward(c, &forth, x, 0x32,
						  usual_kind(k + i),
						  &ticket[i]));
		EXPECT_PART(call_back(c, &back, x, ticket[1], k + 1));
		EXPECT_PART(call_back(c, &back, x, ticket[0], k));
		EXPECT_PART(contract_pending_is(c, rig, 0));
	}
	EXPECT_OK(philox_function_get_stats(back.function, &counts));
	EXPECT(counts.replay == 4);
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

static void both_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct stage stage;
	void *x;

	EXPECT_PART(stage_plain(c, rig, &stage, STAGE_BOTH, NULL));
	EXPECT_PART(stage_input(c, rig, 0x33, &x));
	for (unsigned i = 0; i < 5; i++) {
		EXPECT_PART(stage_forward(c, &stage, x, 0x33, usual_kind(i),
					  &ticket));
		EXPECT_PART(contract_pending_is(c, rig, 0));
	}
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

/* --- bodies that fail ----------------------------------------------------- */

static enum philox_call_kind failing; /* kind of call in which a body fails */

static enum philox_status fails_then(struct stage *stage,
				     struct philox_run *run)
{
	(void)stage;
	return philox_run_kind(run) == failing ? PHILOX_ERROR_LIMIT : PHILOX_OK;
}

/* An eager call that fails burns its numbers; a recording has taken none. */
static void failing_body(struct contract *c, struct contract_rig *rig)
{
	struct stage stage;
	struct stage_call call;
	struct philox_ticket ticket;
	void *x;

	EXPECT_PART(stage_plain(c, rig, &stage, STAGE_FORWARD, NULL));
	EXPECT_PART(stage_input(c, rig, 0x34, &x));
	stage.besides = fails_then;
	for (unsigned i = 0; i < 2; i++) {
		failing = usual_kind(i);
		call = stage_begin(&stage, x);
		EXPECT_ERROR(LIMIT, stage_call(&stage, &call));
		EXPECT_PART(contract_pending_is(c, rig, i));
		failing = PHILOX_CALL_NONE;
		rig->next += i == 0;
		EXPECT_PART(stage_forward(c, &stage, x, 0x34, usual_kind(i),
					  &ticket));
	}
	EXPECT_PART(
		stage_forward(c, &stage, x, 0x34, PHILOX_CALL_REPLAY, &ticket));
	EXPECT_PART(contract_eager_backward(c, rig, ticket, 0, 3));
}

static int breaks; /* whether bodies cannot be recorded */

/* Waits for its stream, which no capture takes. */
static enum philox_status waits_then(struct stage *stage,
				     struct philox_run *run)
{
	philox_stream stream = philox_run_stream(run);

	if (breaks)
		TRY(philox_stream_synchronize(stage->c->device, stream));
	return PHILOX_OK;
}

static enum philox_status refuses_then(struct stage *stage,
				       struct philox_run *run)
{
	(void)stage;
	return breaks ? philox_run_refuse(run, "it is a check") : PHILOX_OK;
}

static void stream_is_whole(struct contract *c, philox_stream stream)
{
	enum philox_capture_status status;

	EXPECT_OK(philox_stream_capture_info(c->device, stream, &status, NULL));
	EXPECT(status == PHILOX_CAPTURE_NONE);
	EXPECT_OK(philox_stream_synchronize(c->device, stream));
}

/* Eager calls instead, and a recording once there is nothing against it. */
static void unrecordable(struct contract *c, struct contract_rig *rig,
			 enum philox_status (*besides)(struct stage *,
						       struct philox_run *))
{
	struct philox_function_desc options;
	struct stage stage = {.c = c, .rig = rig, .besides = besides};
	struct philox_ticket ticket;
	void *x;

	options = stage_options(&stage, "unrecordable");
	options.policy.retry = 1;
	EXPECT_PART(stage_create(c, &stage, &options, NULL));
	EXPECT_PART(stage_input(c, rig, 0x35, &x));
	breaks = 1;
	for (unsigned i = 0; i < 4; i++) {
		EXPECT_PART(stage_forward(
			c, &stage, x, 0x35,
			i ? PHILOX_CALL_EAGER : PHILOX_CALL_WARMUP, &ticket));
		EXPECT_PART(stream_is_whole(c, rig->at.stream));
	}
	breaks = 0;
	for (unsigned i = 0; i < 3; i++) {
		struct stage_call call = stage_begin(&stage, x);

		EXPECT_OK(stage_call(&stage, &call));
		EXPECT_PART(contract_is_forward(c, rig, call.outputs[0].address,
						rig->next++));
		EXPECT_PART(stage_release(c, &stage, &call, rig->at.stream));
	}
	EXPECT_PART(
		stage_forward(c, &stage, x, 0x35, PHILOX_CALL_REPLAY, &ticket));
	EXPECT_PART(contract_eager_backward(c, rig, ticket, 0, 7));
	EXPECT_PART(contract_pending_is(c, rig, 7));
}

static void waiting_body(struct contract *c, struct contract_rig *rig)
{
	EXPECT_PART(unrecordable(c, rig, waits_then));
}

static void refusing_body(struct contract *c, struct contract_rig *rig)
{
	EXPECT_PART(unrecordable(c, rig, refuses_then));
}

/* --- memory --------------------------------------------------------------- */

static void places_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	struct philox_ticket ticket;
	struct stage stage;
	void *x[2];

	EXPECT_PART(stage_plain(c, rig, &stage, STAGE_FORWARD, NULL));
	EXPECT_PART(stage_input(c, rig, 0x40, &x[0]));
	EXPECT_PART(stage_input(c, rig, 0x41, &x[1]));
	EXPECT_PART(stage_forward(c, &stage, x[0], 0x40, PHILOX_CALL_WARMUP,
				  &ticket));
	for (int i = 0; i < 2; i++)
		EXPECT_PART(stage_forward(c, &stage, x[i], 0x40 + i,
					  PHILOX_CALL_RECORD, &ticket));
	for (int i = 0; i < 6; i++)
		EXPECT_PART(stage_forward(c, &stage, x[i % 2], 0x40 + i % 2,
					  PHILOX_CALL_REPLAY, &ticket));
	EXPECT_OK(philox_function_get_stats(stage.function, &counts));
	EXPECT(counts.recordings == 2);
}

/* What is kept is not written to, and a replay waits until it is released. */
static void kept_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct stage_call kept;
	struct stage stage;
	void *x;

	EXPECT_PART(stage_plain(c, rig, &stage, STAGE_FORWARD, NULL));
	EXPECT_PART(stage_input(c, rig, 0x42, &x));
	for (unsigned i = 0; i < 2; i++)
		EXPECT_PART(stage_forward(c, &stage, x, 0x42, usual_kind(i),
					  &ticket));
	kept = stage_begin(&stage, x);
	EXPECT_OK(stage_call(&stage, &kept));
	EXPECT_PART(stage_was(c, &stage, &kept, PHILOX_CALL_REPLAY));
	rig->next++;
	for (unsigned i = 0; i < 3; i++) /* beside it */
		EXPECT_PART(stage_forward(
			c, &stage, x, 0x42,
			i ? PHILOX_CALL_REPLAY : PHILOX_CALL_RECORD, &ticket));
	EXPECT_PART(contract_is_forward(c, rig, kept.outputs[0].address, 2));
	EXPECT_BYTES(rig->at.stream, kept.outputs[1].address, 0x42,
		     STAGE_BYTES);
	EXPECT_PART(stage_release(c, &stage, &kept, rig->at.stream));
	EXPECT_ERROR(STALE,
		     philox_output_check(stage.runner, &kept.outputs[0]));
	EXPECT_PART(
		stage_forward(c, &stage, x, 0x42, PHILOX_CALL_REPLAY, &ticket));
}

/* The third call, whose outputs are live. */
static void replay_and_keep(struct contract *c, struct contract_rig *rig,
			    struct stage *stage, void *x,
			    struct stage_call *kept)
{
	struct philox_ticket ticket;

	EXPECT_PART(stage_plain(c, rig, stage, STAGE_FORWARD, NULL));
	for (unsigned i = 0; i < 2; i++)
		EXPECT_PART(stage_forward(c, stage, x, 0x44, usual_kind(i),
					  &ticket));
	*kept = stage_begin(stage, x);
	EXPECT_OK(stage_call(stage, kept));
	EXPECT_PART(stage_was(c, stage, kept, PHILOX_CALL_REPLAY));
	rig->next++;
}

static void tied_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct stage_call kept;
	struct stage stage;
	void *x;

	EXPECT_PART(stage_input(c, rig, 0x44, &x));
	EXPECT_PART(replay_and_keep(c, rig, &stage, x, &kept));
	for (int i = 0; i < 2; i++)
		EXPECT_OK(philox_output_tie(stage.runner, &kept.outputs[i],
					    rig->at.region, kept.use.ticket));
	EXPECT_PART(contract_eager_backward(c, rig, kept.use.ticket,
					    PHILOX_PASS_RETAIN, 2));
	EXPECT_PART(
		stage_forward(c, &stage, x, 0x44, PHILOX_CALL_RECORD, &ticket));
	EXPECT_PART(contract_is_forward(c, rig, kept.outputs[0].address, 2));
	EXPECT_PART(contract_eager_backward(c, rig, kept.use.ticket, 0, 2));
	EXPECT_ERROR(STALE,
		     philox_output_check(stage.runner, &kept.outputs[0]));
	EXPECT_PART(
		stage_forward(c, &stage, x, 0x44, PHILOX_CALL_REPLAY, &ticket));
}

static void begin_step(struct contract *c, struct stage *stage, size_t expected)
{
	size_t kept;

	EXPECT_OK(philox_runner_step_begin(stage->runner, stage->rig->at.stream,
					   0, &kept));
	EXPECT_TEXT(kept == expected, "%zu outputs stay, not %zu", kept,
		    expected);
}

static void step_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct stage_call kept;
	struct stage stage;
	void *x;

	EXPECT_PART(stage_input(c, rig, 0x44, &x));
	EXPECT_PART(replay_and_keep(c, rig, &stage, x, &kept));
	EXPECT_PART(begin_step(c, &stage, 2));
	EXPECT_PART(contract_is_forward(c, rig, kept.outputs[0].address, 2));
	EXPECT_PART(contract_eager_backward(c, rig, kept.use.ticket, 0, 2));
	EXPECT_PART(begin_step(c, &stage, 0));
	EXPECT_ERROR(STALE,
		     philox_output_check(stage.runner, &kept.outputs[1]));
	EXPECT_PART(
		stage_forward(c, &stage, x, 0x44, PHILOX_CALL_REPLAY, &ticket));
}

/* Nothing is drawn before the first call, which is a replay. */
static void prepared_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct stage_call ahead;
	struct stage stage;
	size_t prepared;
	void *x;

	EXPECT_PART(stage_plain(c, rig, &stage, STAGE_FORWARD, NULL));
	EXPECT_PART(stage_input(c, rig, 0x45, &x));
	ahead = stage_begin(&stage, x);
	ahead.call.inputs = &ahead.x;
	ahead.call.n_outputs = 0;
	EXPECT_OK(philox_function_prepare(stage.function, &ahead.call, 1,
					  &prepared));
	EXPECT(prepared == 1 && ahead.call.kind == PHILOX_CALL_RECORD);
	EXPECT_PART(contract_pending_is(c, rig, 0));
	for (unsigned i = 0; i < 3; i++)
		EXPECT_PART(stage_forward(c, &stage, x, 0x45,
					  PHILOX_CALL_REPLAY, &ticket));
	EXPECT_PART(contract_eager_backward(c, rig, ticket, 0, 2));
}

/* The second function reads what the first one gave. */
static void chain_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	struct stage forth, back;
	void *x;

	EXPECT_PART(stage_plain(c, rig, &forth, STAGE_FORWARD, NULL));
	EXPECT_PART(stage_plain(c, rig, &back, STAGE_BACKWARD, forth.runner));
	EXPECT_PART(stage_input(c, rig, 0x43, &x));
	for (unsigned k = 0; k < 6; k++) {
		struct stage_call first = stage_begin(&forth, x), second;

		EXPECT_OK(stage_call(&forth, &first));
		second = stage_begin(&back, first.outputs[1].address);
		second.x.output = &first.outputs[1];
		second.use.ticket = first.use.ticket;
		EXPECT_OK(stage_call(&back, &second));
		EXPECT_PART(stage_release(c, &forth, &first, rig->at.stream));
		EXPECT_PART(contract_is_forward(c, rig,
						second.outputs[0].address, k));
		EXPECT_BYTES(rig->at.stream, second.outputs[1].address, 0x43,
			     STAGE_BYTES);
		EXPECT_PART(stage_release(c, &back, &second, rig->at.stream));
	}
	EXPECT_OK(philox_function_get_stats(forth.function, &counts));
	EXPECT(counts.replay == 4);
	EXPECT_OK(philox_function_get_stats(back.function, &counts));
	EXPECT(counts.replay >= 3);
}

const struct contract_check contract_runner[] = {
	{"a function is warmed up, recorded and replayed with eager numbers",
	 .with_rig = kinds_body},
	{"backwards of functions see their forwards' numbers",
	 .with_rig = pairs_body},
	{"a body repeats its own forward", .with_rig = both_body},
	{"a body that fails has changed nothing", .with_rig = failing_body},
	{"a recording that broke leaves the stream whole",
	 .with_rig = waiting_body},
	{"a recording that was refused leaves the stream whole",
	 .with_rig = refusing_body},
	{"each place of an input has its recording", .with_rig = places_body},
	{"an output that is kept is left alone", .with_rig = kept_body},
	{"an output that is tied goes with its ticket", .with_rig = tied_body},
	{"a step releases what no backward is owed for", .with_rig = step_body},
	{"a call that was prepared is a replay", .with_rig = prepared_body},
	{"functions read each other's outputs", .with_rig = chain_body},
	{0}};

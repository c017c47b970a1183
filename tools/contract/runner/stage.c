/*
 * tools/contract/runner/stage.c - functions of runners in checks
 */
#include "tools/contract/runner/runner.h"

enum { BUSY_TIMES = 8 };

/* --- the body ------------------------------------------------------------- */

static size_t busy_size(const struct stage *stage)
{
	return (size_t)(philox_device_is_host(stage->c->device) ? 1 : 64) << 20;
}

static enum philox_status keep_busy(const struct stage *stage,
				    philox_stream stream)
{
	for (int i = 0; stage->busy && i < BUSY_TIMES; i++)
		TRY(philox_memory_set(stage->c->device, stream, stage->busy, i,
				      busy_size(stage)));
	return PHILOX_OK;
}

/* What is wrong with the numbers stands in the check then. */
static enum philox_status draw_stage(struct stage *stage,
				     const struct philox_pass *pass,
				     uint32_t *y)
{
	contract_draw(stage->c, stage->rig, pass, y);
	return stage->c->failure[0] ? PHILOX_ERROR_STATE : PHILOX_OK;
}

static enum philox_status go_forth(struct stage *stage, struct philox_run *run,
				   uint32_t *y, struct philox_ticket *ticket)
{
	struct philox_pass pass;

	TRY(philox_run_forward_begin(run, stage->rig->at.region, 0, &pass));
	TRY(draw_stage(stage, &pass, y));
	return philox_pass_commit(&pass, 0, ticket);
}

static enum philox_status go_back(struct stage *stage, struct philox_run *run,
				  uint32_t *y, struct philox_ticket ticket)
{
	struct philox_pass pass;

	TRY(philox_run_backward_begin(run, stage->rig->at.region, ticket, 0,
				      &pass));
	TRY(draw_stage(stage, &pass, y));
	return philox_pass_commit(&pass, 0, NULL);
}

static enum philox_status make_y(struct stage *stage, struct philox_run *run,
				 uint32_t *y)
{
	struct philox_ticket ticket = {0, 0};

	if (stage->draws != STAGE_BACKWARD)
		TRY(go_forth(stage, run, y, &ticket));
	if (stage->draws == STAGE_FORWARD)
		return PHILOX_OK;
	if (stage->draws == STAGE_BOTH)
		TRY(philox_memory_set(stage->c->device, philox_run_stream(run),
				      y, STAGE_UNSET,
				      sizeof(struct contract_shot)));
	return go_back(stage, run, y, ticket);
}

static enum philox_status make_echo(struct stage *stage, struct philox_run *run,
				    void *echo)
{
	struct philox_device *device = stage->c->device;
	philox_stream stream = philox_run_stream(run);
	void *x, *between;
	size_t bytes;

	TRY(philox_run_input(run, 0, &x, &bytes));
	TRY(philox_run_alloc(run, bytes, 0, "between", &between));
	TRY(philox_memory_copy(device, stream, between, x, bytes));
	TRY(philox_memory_copy(device, stream, echo, between, bytes));
	return philox_run_free(run, between);
}

static enum philox_status stage_body(void *user, struct philox_run *run)
{
	struct stage *stage = user;
	struct philox_device *device = stage->c->device;
	philox_stream stream = philox_run_stream(run);
	const size_t size = sizeof(struct contract_shot);
	void *y, *echo;

	TRY(philox_run_alloc(run, size, 0, "y", &y));
	TRY(philox_run_alloc(run, STAGE_BYTES, 0, "echo", &echo));
	TRY(philox_memory_set(device, stream, y, STAGE_UNSET, size));
	TRY(philox_memory_set(device, stream, echo, STAGE_UNSET, STAGE_BYTES));
	TRY(keep_busy(stage, stream));
	TRY(make_y(stage, run, y));
	if (stage->besides)
		TRY(stage->besides(stage, run));
	TRY(make_echo(stage, run, echo));
	TRY(philox_run_output(run, 0, y, size));
	return philox_run_output(run, 1, echo, STAGE_BYTES);
}

/* --- functions ------------------------------------------------------------ */

struct philox_function_desc stage_options(struct stage *stage, const char *name)
{
	static const struct philox_input_desc x = {.name = "x",
						   .origin = PHILOX_ORIGIN};
	static const struct philox_output_desc outputs[] = {
		{.name = "y", .origin = PHILOX_ORIGIN}, {.name = "echo"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = name;
	options.mode = stage->draws == STAGE_BACKWARD ? PHILOX_MODE_BACKWARD
						      : PHILOX_MODE_FORWARD;
	options.body = stage_body;
	options.user = stage;
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = outputs;
	options.n_outputs = 2;
	return options;
}

void stage_create(struct contract *c, struct stage *stage,
		  const struct philox_function_desc *options,
		  struct philox_runner *runner)
{
	struct philox_runner_desc of_runner =
		PHILOX_INIT(struct philox_runner_desc);

	of_runner.name = options->name;
	stage->runner = runner;
	if (!runner)
		EXPECT_OK(philox_runner_create(stage->rig->at.context,
					       &of_runner, &stage->runner));
	EXPECT_OK(philox_function_create(stage->runner, options,
					 &stage->function));
}

void stage_plain(struct contract *c, struct contract_rig *rig,
		 struct stage *stage, enum stage_draws draws,
		 struct philox_runner *runner)
{
	static const char *const names[] = {"forward", "backward", "both"};
	struct philox_function_desc options;

	*stage = (struct stage){.c = c, .rig = rig, .draws = draws};
	options = stage_options(stage, names[draws]);
	EXPECT_PART(stage_create(c, stage, &options, runner));
}

void stage_input(struct contract *c, struct contract_rig *rig, int value,
		 void **x)
{
	EXPECT_OK(contract_memory(c, STAGE_BYTES, x));
	EXPECT_OK(contract_set(c, *x, value, STAGE_BYTES, rig->at.stream));
	EXPECT_OK(philox_stream_synchronize(c->device, rig->at.stream));
}

void stage_keep_busy(struct contract *c, struct stage *stage)
{
	EXPECT_OK(contract_memory(c, busy_size(stage), &stage->busy));
}

/* --- calls ---------------------------------------------------------------- */

struct stage_call stage_begin(const struct stage *stage, void *x)
{
	struct stage_call made = {.call = PHILOX_INIT(struct philox_call),
				  .x = {.address = x, .bytes = STAGE_BYTES}};

	made.call.stream = stage->rig->at.stream;
	made.call.n_inputs = 1;
	made.call.n_passes = 1;
	made.call.n_outputs = 2;
	return made;
}

enum philox_status stage_call(struct stage *stage, struct stage_call *call)
{
	call->call.inputs = &call->x;
	call->call.passes = &call->use;
	call->call.outputs = call->outputs;
	return philox_function_call(stage->function, &call->call);
}

void stage_was(struct contract *c, const struct stage *stage,
	       const struct stage_call *call, enum philox_call_kind kind)
{
	EXPECT_TEXT(call->call.kind == kind, "a call of kind %u, not %u: %s",
		    call->call.kind, kind,
		    philox_function_reason(stage->function));
}

void stage_release(struct contract *c, struct stage *stage,
		   const struct stage_call *call, philox_stream stream)
{
	for (int i = 0; i < 2; i++)
		EXPECT_OK(philox_output_release(stage->runner, stream,
						&call->outputs[i]));
}

void stage_forward(struct contract *c, struct stage *stage, void *x, int value,
		   enum philox_call_kind kind, struct philox_ticket *ticket)
{
	struct contract_rig *rig = stage->rig;
	struct stage_call call = stage_begin(stage, x);

	EXPECT_OK(stage_call(stage, &call));
	EXPECT_PART(stage_was(c, stage, &call, kind));
	EXPECT_PART(contract_is_forward(c, rig, call.outputs[0].address,
					rig->next++));
	EXPECT_BYTES(rig->at.stream, call.outputs[1].address, value,
		     STAGE_BYTES);
	EXPECT_PART(stage_release(c, stage, &call, rig->at.stream));
	*ticket = call.use.ticket;
}

/*
 * tests/runner/outputs/left_open.c - passes that a body leaves open, and that
 * its caller ends later
 */
#include "tests/support/beds/runner_scene.h"

enum { LEFT = 3 };

struct leaver {
	struct fixture *f;
	struct philox_region *region;
	struct philox_function *function;
	struct philox_pass left[LEFT];
	struct forward owed;
	int leaves;
	enum philox_status returns; /* of a body that leaves them open */
};

static enum philox_status leaving_body(void *user, struct philox_run *run)
{
	const unsigned inference =
		PHILOX_PASS_INFERENCE | PHILOX_PASS_ON_DEVICE;
	const struct philox_ticket none = {0, 0};
	struct leaver *leaver = user;
	struct philox_region *region = leaver->region;
	struct philox_ticket ticket;

	OK(philox_run_forward_begin(run, region, inference, &leaver->left[0]));
	OK(philox_run_forward_begin(run, region, PHILOX_PASS_ON_DEVICE,
				    &leaver->left[1]));
	OK(philox_run_backward_begin(run, region, none, PHILOX_PASS_ON_DEVICE,
				     &leaver->left[2]));
	if (leaver->leaves)
		return leaver->returns;
	OK(philox_pass_commit(&leaver->left[0], 0, NULL));
	OK(philox_pass_commit(&leaver->left[1], 0, &ticket));
	return philox_pass_commit(&leaver->left[2], 0, NULL);
}

static void make_leaver(struct leaver *leaver, struct philox_runner *r,
			const struct philox_policy *policy)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = "leaver";
	options.body = leaving_body;
	options.user = leaver;
	options.policy = *policy;
	leaver->region = make_region(leaver->f, "layer");
	OK(philox_function_create(r, &options, &leaver->function));
}

static enum philox_status call_leaver(struct leaver *leaver,
				      enum philox_call_kind *kind)
{
	struct philox_launch_pass uses[LEFT] = {{.flags = 0}};
	struct philox_call call = PHILOX_INIT(struct philox_call);
	enum philox_status status;

	leaver->owed = forward(leaver->f, leaver->region);
	uses[2].ticket = leaver->owed.ticket;
	call.stream = leaver->f->stream;
	call.passes = uses;
	call.n_passes = LEFT;
	status = philox_function_call(leaver->function, &call);
	*kind = call.kind;
	if (status == PHILOX_OK)
		OK(philox_ticket_release(leaver->region, leaver->f->stream,
					 uses[1].ticket));
	else
		backward(leaver->f, &leaver->owed, 0); /* it is owed still */
	OK(philox_stream_synchronize(leaver->f->device, leaver->f->stream));
	return status;
}

static void call_well(struct leaver *leaver, enum philox_call_kind expected)
{
	enum philox_call_kind kind;

	leaver->leaves = 0;
	OK(call_leaver(leaver, &kind));
	cr_assert_eq(kind, expected, "kind %d, not %d", kind, expected);
}

static void begin_others(struct leaver *leaver, struct philox_pass *others)
{
	for (int i = 0; i < LEFT; i++)
		OK(philox_forward_begin(leaver->region, leaver->f->stream,
					PHILOX_PASS_INFERENCE |
						PHILOX_PASS_ON_DEVICE,
					&others[i]));
}

/* As a thread that is in no body does while one runs. */
struct beginning {
	struct leaver *leaver;
	struct philox_pass *others;
};

static void begin_elsewhere(void *user)
{
	struct beginning *beginning = user;

	begin_others(beginning->leaver, beginning->others);
}

static const struct philox_state *cells_of(const struct philox_pass *pass)
{
	const struct philox_state *cells;

	OK(philox_pass_states(pass, &cells));
	return cells;
}

/* Each has cells of its own. */
static void apart(const struct philox_pass *passes, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			cr_assert_neq(
				cells_of(&passes[i]), cells_of(&passes[k]),
				"passes %d and %d have the same cells", k, i);
}

static void end_left(struct philox_pass *left)
{
	struct philox_ticket ticket = {1, 2};

	FAILS(philox_pass_commit(&left[0], 0, NULL), PHILOX_ERROR_STATE);
	FAILS(philox_pass_commit(&left[1], 0, &ticket), PHILOX_ERROR_STATE);
	cr_assert_eq(ticket.serial, 2, "nothing is written");
	FAILS(philox_pass_commit(&left[2], 0, NULL), PHILOX_ERROR_STATE);
	for (int i = 0; i < LEFT; i++)
		FAILS(philox_pass_abort(&left[i]), PHILOX_ERROR_STATE);
}

/* The call fails; then what it left has ended, and nobody else's cells. */
static void leave(struct leaver *leaver, enum philox_status returns)
{
	struct philox_pass others[2 * LEFT];
	enum philox_call_kind kind;

	leaver->leaves = 1;
	leaver->returns = returns;
	FAILS(call_leaver(leaver, &kind),
	      returns == PHILOX_OK ? PHILOX_ERROR_STATE : returns);
	PENDING(leaver->region, 0);
	begin_others(leaver, others);
	end_left(leaver->left);
	PENDING(leaver->region, 0);
	begin_others(leaver, others + LEFT);
	apart(others, 2 * LEFT);
	for (int i = 0; i < 2 * LEFT; i++)
		OK(philox_pass_abort(&others[i]));
	OK(philox_stream_synchronize(leaver->f->device, leaver->f->stream));
}

RUNNER_PROMISE(runner_left_open, in_a_warm_up)
{
	struct leaver leaver = {.f = f};

	make_leaver(&leaver, r, &(struct philox_policy){.warmups = 9});
	leave(&leaver, PHILOX_OK);
	leave(&leaver, PHILOX_ERROR_NOT_FOUND);
	call_well(&leaver, PHILOX_CALL_WARMUP);
	leave(&leaver, PHILOX_OK);
}

RUNNER_PROMISE(runner_left_open, in_a_dry_warm_up)
{
	struct leaver leaver = {.f = f};

	make_leaver(&leaver, r, &(struct philox_policy){.dry = 1});
	leave(&leaver, PHILOX_OK);
	leave(&leaver, PHILOX_ERROR_NOT_FOUND);
}

RUNNER_PROMISE(runner_left_open, in_a_body_that_verifies_a_replay)
{
	struct leaver leaver = {.f = f};

	make_leaver(&leaver, r, &(struct philox_policy){.verify = 1});
	call_well(&leaver, PHILOX_CALL_WARMUP);
	call_well(&leaver, PHILOX_CALL_RECORD);
	call_well(&leaver, PHILOX_CALL_REPLAY);
	leave(&leaver, PHILOX_OK);
	leave(&leaver, PHILOX_ERROR_NOT_FOUND);
	call_well(&leaver, PHILOX_CALL_REPLAY);
}

/* What was recorded has no cells but its capture's. */
RUNNER_PROMISE(runner_left_open, in_a_recording)
{
	struct leaver leaver = {.f = f};
	struct philox_ticket ticket;
	enum philox_call_kind kind;

	make_leaver(&leaver, r,
		    &(struct philox_policy){.refused = PHILOX_REFUSED_ERROR});
	call_well(&leaver, PHILOX_CALL_WARMUP);
	leaver.leaves = 1;
	FAILS(call_leaver(&leaver, &kind), PHILOX_ERROR_STATE);
	FAILS(philox_pass_commit(&leaver.left[0], 0, NULL), PHILOX_ERROR_STATE);
	FAILS(philox_pass_commit(&leaver.left[1], 0, &ticket),
	      PHILOX_ERROR_STATE);
	FAILS(philox_pass_commit(&leaver.left[2], 0, NULL), PHILOX_ERROR_STATE);
	for (int i = 0; i < LEFT; i++)
		OK(philox_pass_abort(&leaver.left[i]));
	PENDING(leaver.region, 0);
	call_well(&leaver, PHILOX_CALL_RECORD);
}

/* --- copies of passes, within a body -------------------------------------- */

static enum philox_status copying_body(void *user, struct philox_run *run)
{
	struct leaver *leaver = user;
	struct philox_pass *left = leaver->left;
	struct philox_pass others[LEFT];

	leaver->leaves = 1;
	leaving_body(user, run);
	memcpy(others, left, sizeof(others));
	OK(philox_pass_commit(&others[0], 0, NULL));
	OK(philox_pass_commit(&others[1], 0, &others[1].ticket));
	OK(philox_pass_commit(&others[2], 0, NULL));
	if (philox_run_kind(run) == PHILOX_CALL_RECORD)
		return PHILOX_OK;
	on_thread(begin_elsewhere, &(struct beginning){leaver, others});
	end_left(left);
	apart(others, LEFT);
	for (int i = 0; i < LEFT; i++)
		OK(philox_pass_abort(&others[i]));
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_left_open, copies_of_passes_that_have_ended)
{
	struct leaver leaver = {.f = f, .region = make_region(f, "layer")};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	enum philox_call_kind kind;

	options.name = "copying";
	options.body = copying_body;
	options.user = &leaver;
	options.policy.verify = 1;
	OK(philox_function_create(r, &options, &leaver.function));
	for (int i = PHILOX_CALL_WARMUP; i <= PHILOX_CALL_REPLAY; i++) {
		OK(call_leaver(&leaver, &kind));
		cr_assert_eq((int)kind, i);
		PENDING(leaver.region, 0);
	}
}

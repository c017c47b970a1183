/*
 * tests/runner/verify/left.c - a body that is run to verify a replay leaves
 * nothing behind, and what it may not do
 */
#include <stdio.h>
#include "tests/support/beds/verify.h"

enum { BYTES = ACT_BYTES, ROWS = 6 };

/* --- tables of rows ------------------------------------------------------- */

struct table {
	struct philox_rows *rows;
	uint32_t *twice; /* rows 4, 1, 4 */
	uint32_t *counts;
	struct philox_state *got;
	unsigned what; /* that the body does: bits */
};

enum { DRAW = 1, ADVANCE = 2, SET = 4, RESTART = 8, GET = 16, BY = 32 };

static enum philox_status draw_rows(struct act *act, struct props *props)
{
	const struct table *table = act->prop;
	struct philox_row_fill_desc fill =
		PHILOX_INIT(struct philox_row_fill_desc);
	struct philox_row_list list = PHILOX_INIT(struct philox_row_list);

	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.count = fill.pitch = 4;
	fill.out = props->out[0];
	list.indices = table->twice;
	list.count = 3;
	TRY_(philox_rows_fill(table->rows, props->stream, NULL, &fill));
	fill.count = fill.pitch = 2;
	fill.out = props->out[0] + 4 * ROWS;
	return philox_rows_fill(table->rows, props->stream, &list, &fill);
}

static enum philox_status rows_script(struct act *act, struct props *props)
{
	const struct philox_state state = {77, 4 * 5};
	const uint32_t row = 2;
	const struct table *table = act->prop;

	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	TRY_(prop_copy(act, props, props->out[1], props->in[0]));
	if (table->what & SET)
		TRY_(philox_rows_set(table->rows, props->stream, &row, &state,
				     1));
	if (table->what & DRAW)
		TRY_(draw_rows(act, props));
	if (table->what & ADVANCE)
		TRY_(philox_rows_advance(table->rows, props->stream, NULL, 8));
	if (table->what & BY) {
		struct philox_row_list list =
			PHILOX_INIT(struct philox_row_list);

		list.indices = table->twice;
		list.count = 3;
		TRY_(philox_rows_advance_by(table->rows, props->stream, &list,
					    4, table->counts));
	}
	if (table->what & RESTART)
		TRY_(philox_rows_restart(table->rows, props->stream));
	if (table->what & GET)
		TRY_(philox_rows_get(table->rows, props->stream, 0, 2,
				     (struct philox_state *)props->out[1]));
	return PHILOX_OK;
}

static void make_table(struct fixture *f, struct table *table, unsigned what)
{
	static const uint32_t twice[3] = {4, 1, 4}, counts[3] = {2, 0, 7};
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);

	options.name = "requests";
	options.count = ROWS;
	OK(philox_rows_create(f->context, &options, &table->rows));
	table->twice = upload(f, twice, sizeof(twice));
	table->counts = upload(f, counts, sizeof(counts));
	table->got = make_memory(f, ROWS * sizeof(*table->got));
	table->what = what;
}

static void tell_rows(struct story *s, struct table *table)
{
	struct philox_state states[ROWS];

	OK(philox_rows_get(table->rows, s->f->stream, 0, ROWS, states));
	OK(philox_stream_synchronize(s->f->device, s->f->stream));
	tell(s, "rows", states, sizeof(states));
	OK(philox_rows_check(table->rows, NULL));
}

static void tell_table(struct story *s, unsigned what)
{
	struct act act = new_act(s->f, s->r, rows_script);
	struct table table;

	make_table(s->f, &table, what);
	act.prop = &table;
	act.n_uses = 0;
	act.n_outputs = 2;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		scene_of(s, &act);
		tell_rows(s, &table);
		if (i == 3)
			OK(philox_rows_advance(table.rows, s->f->stream, NULL,
					       400));
	}
}

STORY(runner_verify_left, tables_that_are_drawn_from)
{
	tell_table(s, DRAW);
}

STORY(runner_verify_left, tables_that_are_advanced)
{
	tell_table(s, ADVANCE | GET);
}

STORY(runner_verify_left, tables_that_are_advanced_by_counts)
{
	tell_table(s, BY | GET);
}

STORY(runner_verify_left, tables_whose_rows_are_set)
{
	tell_table(s, SET | DRAW | GET);
}

STORY(runner_verify_left, tables_that_are_restarted)
{
	tell_table(s, DRAW | RESTART);
}

STORY(runner_verify_left, tables_of_which_all_is_done)
{
	tell_table(s, DRAW | ADVANCE | SET | GET | BY);
}

/* Two tables, one of which only the second half of the body uses. */
static enum philox_status both_tables_script(struct act *act,
					     struct props *props)
{
	struct table *tables = act->prop;
	enum philox_status status;

	TRY_(rows_script(act, props));
	act->prop = &tables[1];
	status = rows_script(act, props);
	act->prop = tables;
	return status;
}

STORY(runner_verify_left, two_tables)
{
	struct act act = new_act(s->f, s->r, both_tables_script);
	struct table tables[2];
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);

	make_table(s->f, &tables[0], DRAW | ADVANCE);
	tables[1] = tables[0];
	options.name = "others";
	options.count = ROWS;
	OK(philox_rows_create(s->f->context, &options, &tables[1].rows));
	act.prop = tables;
	act.n_uses = 0;
	act.n_outputs = 2;
	act.in[0].address = make_words(s->f, 3);
	cast(s, &act, "act");
	for (int i = 0; i < 5; i++) {
		scene_of(s, &act);
		tell_rows(s, &tables[0]);
		tell_rows(s, &tables[1]);
	}
}

/* Sampling is a draw, too. */
static enum philox_status sample_script(struct act *act, struct props *props)
{
	const struct table *table = act->prop;
	struct philox_sample_desc sample =
		PHILOX_INIT(struct philox_sample_desc);

	TRY_(prop_copy(act, props, props->out[0], props->in[0]));
	sample.logits = props->in[0];
	sample.dtype = PHILOX_DTYPE_F32;
	sample.vocab = 4;
	sample.pitch = 4;
	sample.tokens = (int32_t *)props->out[0];
	sample.temperature = 1;
	return philox_sample_rows(table->rows, props->stream, NULL, &sample);
}

STORY(runner_verify_left, tables_that_are_sampled_from)
{
	struct act act = new_act(s->f, s->r, sample_script);
	struct table table;

	make_table(s->f, &table, 0);
	act.prop = &table;
	act.n_uses = 0;
	act.in[0].address = make_words(s->f, 0x3f800000);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		scene_of(s, &act);
		tell_rows(s, &table);
	}
}

/* --- generators ----------------------------------------------------------- */

static enum philox_status advancing_script(struct act *act, struct props *props)
{
	TRY_(philox_generator_advance(act->prop, 8, NULL));
	return forward_script(act, props);
}

STORY(runner_verify_left, generators_that_bodies_advance)
{
	struct act act = new_act(s->f, s->r, advancing_script);

	act.region = make_region(s->f, "layer");
	act.in[0].address = make_words(s->f, 3);
	act.prop = philox_context_generator(s->f->context);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		struct philox_state state;

		scene_of(s, &act);
		OK(philox_generator_get_state(act.prop, &state));
		tell(s, "the generator", &state, sizeof(state));
	}
}

/* A state with the seed that it has only moves a generator. */
static enum philox_status moving_script(struct act *act, struct props *props)
{
	struct philox_state state;

	TRY_(philox_generator_get_state(act->prop, &state));
	state.offset += 40;
	TRY_(philox_generator_set_state_on(act->prop, props->stream, &state));
	return forward_script(act, props);
}

STORY(runner_verify_left, generators_that_bodies_move)
{
	struct act act = new_act(s->f, s->r, moving_script);

	act.region = make_region(s->f, "layer");
	act.in[0].address = make_words(s->f, 3);
	act.prop = philox_context_generator(s->f->context);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		struct philox_state state;

		scene_of(s, &act);
		OK(philox_generator_get_state(act.prop, &state));
		tell(s, "the generator", &state, sizeof(state));
	}
}

static enum philox_status snapshot_script(struct act *act, struct props *props)
{
	TRY_(forward_script(act, props));
	return philox_generator_copy_state(
		act->prop, props->stream, (struct philox_state *)props->out[1]);
}

STORY(runner_verify_left, generators_whose_state_is_copied)
{
	struct act act = new_act(s->f, s->r, snapshot_script);

	act.region = make_region_with(s->f, "layer", 64, PHILOX_REGION_SHARED);
	act.in[0].address = make_words(s->f, 3);
	act.n_outputs = 2;
	act.prop = philox_context_generator(s->f->context);
	cast(s, &act, "act");
	for (int i = 0; i < 6; i++) {
		scene_of(s, &act);
		if (i == 2)
			OK(philox_generator_advance(act.prop, 100, NULL));
	}
}

/* --- bodies that seed ----------------------------------------------------- */

static enum philox_status seeding_script(struct act *act, struct props *props)
{
	const struct philox_state state = {50 + act->bodies, 8};

	if (act->n == 0)
		TRY_(philox_generator_seed(act->prop, 90 + act->bodies));
	if (act->n == 1)
		TRY_(philox_generator_set_state(act->prop, state));
	if (act->n == 2)
		TRY_(philox_generator_fold(act->prop, act->bodies));
	return forward_script(act, props);
}

/* What seeds is not recorded, so that there is no replay to verify. */
static void seeds(struct fixture *f, struct philox_runner *r, unsigned how)
{
	static const char *const names[] = {"seeds", "sets", "folds"};
	struct act act = new_act(f, r, seeding_script);
	struct philox_generator *generator;
	struct philox_state before, after;

	OK(philox_generator_create(f->context, 5, &generator));
	act.region = make_region(f, names[how]);
	act.in[0].address = make_words(f, 3);
	act.prop = generator;
	act.n = how;
	make_act(&act, names[how]);
	play_act(&act, PHILOX_CALL_WARMUP);
	for (unsigned i = 0; i < 5; i++) {
		OK(philox_generator_get_state(generator, &before));
		play_act(&act, PHILOX_CALL_EAGER);
		cr_assert(strstr(philox_function_reason(act.function),
				 "this thread records capture"),
			  "%s", philox_function_reason(act.function));
		OK(philox_generator_get_state(generator, &after));
		cr_assert(memcmp(&before, &after, sizeof(before)),
			  "the body has not acted on the generator");
	}
	cr_assert_eq(act_counts(&act).recordings, 0);
}

RUNNER_PROMISE(runner_verify_left, no_seed_of_a_body)
{
	for (unsigned how = 0; how < 3; how++)
		seeds(f, r, how);
}

/* --- bodies that fail ----------------------------------------------------- */

enum fault {
	RETURNS = 3, /* of the third run on: an error */
	LEAVES_OPEN,
	ALLOCATES_MORE,
	NO_OUTPUT,
	OTHER_REGION,
	FAULTS
};

static enum philox_status failing_script(struct act *act, struct props *props)
{
	const struct philox_ticket none = {0, 0};
	struct philox_ticket made;
	struct philox_pass pass;
	void *more;

	TRY_(prop_copy(act, props, props->out[1], props->in[0]));
	TRY_(philox_run_backward_begin(props->run, act->other, none, 0, &pass));
	TRY_(draw_or_fail(&pass, props->out[1]));
	TRY_(philox_pass_commit(&pass, 0, NULL));
	if (act->n == ALLOCATES_MORE)
		TRY_(philox_run_alloc(props->run, 64, 0, "more", &more));
	if (act->n == OTHER_REGION)
		TRY_(philox_run_forward_begin(props->run, act->other, 0,
					      &pass));
	else
		TRY_(philox_run_forward_begin(props->run, act->region, 0,
					      &pass));
	TRY_(draw_or_fail(&pass, props->out[0]));
	if (act->n == LEAVES_OPEN)
		return PHILOX_OK;
	TRY_(philox_pass_commit(&pass, 0, &made));
	if (act->n == NO_OUTPUT)
		props->out[0] = NULL;
	return act->n == RETURNS ? PHILOX_ERROR_NOT_FOUND : PHILOX_OK;
}

static const enum philox_status fails_with[FAULTS] = {
	[RETURNS] = PHILOX_ERROR_NOT_FOUND,
	[LEAVES_OPEN] = PHILOX_ERROR_STATE,
	[ALLOCATES_MORE] = PHILOX_ERROR_MISMATCH,
	[NO_OUTPUT] = PHILOX_ERROR_INVALID,
	[OTHER_REGION] = PHILOX_ERROR_MISMATCH};

static void fails_once(struct fixture *f, struct act *act, enum fault fault)
{
	const struct philox_launch_pass given[2] = {act->uses[0],
						    {{6, 6}, 0, 0}};
	struct philox_function_stats before = act_counts(act), now;

	act->uses[1] = given[1];
	act->n = fault;
	FAILS(call_act(act), fails_with[fault]);
	act->n = 0;
	now = act_counts(act);
	cr_assert_eq(now.failed, before.failed + 1);
	cr_assert_eq(now.checking, before.checking + 1);
	cr_assert_eq(now.verified, before.verified, "nothing was compared");
	cr_assert(!memcmp(given, act->uses, sizeof(given)), "uses are read");
	PENDING(act->other, 1);
	PENDING(act->region, 0);
	LIVE(f, act->runner, 0);
}

RUNNER_PROMISE(runner_verify_left, nothing_of_a_body_that_fails)
{
	struct act act = new_act(f, r, failing_script);
	struct block_set *seen = block_set_new();

	act.region = make_region(f, "layer");
	act.other = make_region(f, "other");
	act.n_uses = 2;
	act.n_outputs = 2;
	act.in[0].address = make_words(f, 3);
	make_act(&act, "act");
	for (unsigned i = 0; i < 4 + (FAULTS - RETURNS) * 2; i++) {
		struct forward one = forward(f, act.other);

		act.uses[0] = (struct philox_launch_pass){one.ticket, 0, 0};
		if (i > 4 && i % 2)
			fails_once(f, &act, RETURNS + (i - 5) / 2);
		act.uses[1] = (struct philox_launch_pass){{0, 0}, 0, 0};
		OK(call_act(&act));
		SAME(read_numbers(f, act.out[1].address), one.saw, "backward");
		{
			struct numbers saw =
				read_numbers(f, act.out[0].address);

			cr_assert_eq(block_set_add(seen, &saw), 0);
		}
		release_act(&act);
		OK(philox_ticket_release(act.region, f->stream,
					 act.uses[1].ticket));
		PENDING(act.other, 0);
	}
	cr_assert_eq(act_counts(&act).differed, 0);
	cr_assert_geq(act_counts(&act).verified, FAULTS - RETURNS);
	block_set_free(seen);
}

/* Who asks to be warmed up, or not to be recorded, is verified all the same. */
static enum philox_status refusing_script(struct act *act, struct props *props)
{
	if (act->n)
		TRY_(philox_run_refuse(props->run, "not today"));
	return forward_script(act, props);
}

RUNNER_PROMISE(runner_verify_left,
	       bodies_that_refuse_to_be_recorded_as_they_are)
{
	struct act act = new_act(f, r, refusing_script);

	act.region = make_region(f, "layer");
	act.in[0].address = make_words(f, 3);
	make_act(&act, "act");
	rehearse(&act);
	play_act(&act, PHILOX_CALL_REPLAY);
	act.n = 1;
	OK(call_act(&act));
	SAME(read_numbers(f, act.out[0].address), predict(0, "layer", 12),
	     "the fourth");
	release_act(&act);
	cr_assert_eq(act_counts(&act).differed, 0);
}

/* --- memory --------------------------------------------------------------- */

/* The runner's pool holds what it held, and what a trim may give back is less. */
RUNNER_PROMISE(runner_verify_left, no_block_in_the_pool)
{
	struct act act = new_act(f, r, forward_script);
	struct philox_pool_stats before, after;

	act.region = make_region(f, "layer");
	act.in[0].address = make_words(f, 3);
	act.n_outputs = 3;
	make_act(&act, "act");
	rehearse(&act);
	before = pool_look(philox_runner_pool(r));
	for (int i = 0; i < 20; i++)
		play_act(&act, PHILOX_CALL_REPLAY);
	after = pool_look(philox_runner_pool(r));
	cr_assert_eq(before.mapped, after.mapped);
	cr_assert_eq(before.blocks, after.blocks);
	LIVE(f, r, 0);
	VERIFIED(&act, 20, 0, 0);
}

/*
 * tests/graph/verify/verify.c - launches that are verified against an eager
 * form
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include "tests/support/beds/runner_scene.h"
#include "tests/support/beds/verify_job.h"

static struct job forward_job(struct fixture *f)
{
	struct job job = new_job(f, forward_work);

	job.region = make_region(f, "layer");
	return job;
}

static void no_blocks(const struct job *job)
{
	cr_assert_eq(pool_look(job->pool).blocks, 0);
}

/* --- launches that are right ---------------------------------------------- */

GRAPH_PROMISE(verify, launches_as_a_launch_does)
{
	struct job job = forward_job(f);

	make_job(&job);
	for (unsigned i = 0; i < 5; i++) {
		struct forward made = {.region = job.region};

		job.uses[0] = (struct philox_launch_pass){{5, 5}, 0, 0};
		OK(launch_job(&job));
		cr_assert_eq(job.runs, i + 1, "the callback runs once");
		made.ticket = job.uses[0].ticket;
		made.saw = read_numbers(f, job.array[0]);
		SAME(made.saw, predict(0, "layer", 4 * (uint64_t)i), "%u", i);
		PENDING(job.region, 1);
		backward(f, &made, 0);
		no_blocks(&job);
	}
}

GRAPH_PROMISE(verify, repeats_the_tickets_that_a_launch_names)
{
	struct job job = new_job(f, backward_work);
	struct forward made[4];

	job.region = make_region(f, "layer");
	make_job(&job);
	for (int i = 0; i < 4; i++)
		made[i] = forward(f, job.region);
	for (int i = 3; i >= 0; i--)
		for (int twice = 0; twice < 2; twice++) {
			job.uses[0] = (struct philox_launch_pass){
				made[i].ticket, twice ? 0 : PHILOX_PASS_RETAIN,
				0};
			OK(launch_job(&job));
			SAME(read_numbers(f, job.array[0]), made[i].saw,
			     "backward %d", i);
			PENDING(job.region, (size_t)(i + 1 - twice));
		}
}

/* A forward that a recompute and a backward repeat, and linked passes. */
static enum philox_status both_work(struct job *job, struct job_stage *stage)
{
	const struct philox_ticket none = {0, 0};
	struct philox_ticket made, named;
	struct philox_pass pass;

	JOB_TRY(job_forward(stage, job->region, 0, &pass));
	JOB_TRY(draw_or_fail(&pass, stage->array[0]));
	JOB_TRY(philox_pass_commit(&pass, 0, &made));
	JOB_TRY(job_backward(stage, job->other, none, PHILOX_PASS_RETAIN,
			     &pass));
	JOB_TRY(philox_pass_ticket(&pass, &named));
	JOB_TRY(philox_pass_commit(&pass, 0, NULL));
	JOB_TRY(job_backward(stage, job->region, made, 0, &pass));
	JOB_TRY(draw_or_fail(&pass, stage->array[1]));
	JOB_TRY(philox_pass_commit(&pass, 0, NULL));
	JOB_TRY(job_backward(stage, job->other, named, 0, &pass));
	JOB_TRY(draw_or_fail(&pass, stage->array[2]));
	return philox_pass_commit(&pass, 0, NULL);
}

GRAPH_PROMISE(verify, knows_passes_that_belong_together)
{
	struct job job = new_job(f, both_work);

	job.region = make_region(f, "own");
	job.other = make_region(f, "other");
	job.n_arrays = 3;
	job.n_uses = 4;
	make_job(&job);
	for (unsigned i = 0; i < 4; i++) {
		struct forward one = forward(f, job.other);

		memset(job.uses, 0, sizeof(job.uses));
		job.uses[1].ticket = one.ticket;
		OK(launch_job(&job));
		SAME(read_numbers(f, job.array[0]),
		     predict(0, "own", 4 * (uint64_t)i), "forward %u", i);
		SAME(read_numbers(f, job.array[1]),
		     predict(0, "own", 4 * (uint64_t)i), "backward %u", i);
		SAME(read_numbers(f, job.array[2]), one.saw, "named %u", i);
		PENDING(job.region, 0);
		PENDING(job.other, 0);
	}
}

static enum philox_status shared_work(struct job *job, struct job_stage *stage)
{
	struct philox_region *regions[2] = {job->region, job->other};

	for (int i = 0; i < 2; i++) {
		struct philox_pass pass;

		JOB_TRY(job_forward(stage, regions[i], PHILOX_PASS_INFERENCE,
				    &pass));
		JOB_TRY(draw_or_fail(&pass, stage->array[i]));
		JOB_TRY(philox_pass_commit(&pass, 0, NULL));
	}
	return PHILOX_OK;
}

GRAPH_PROMISE(verify, knows_inference_and_regions_that_share_a_generator)
{
	struct job job = new_job(f, shared_work);
	struct block_set *seen = block_set_new();

	job.region = make_region_with(f, "one", 64, PHILOX_REGION_SHARED);
	job.other = make_region_with(f, "two", 64, PHILOX_REGION_SHARED);
	job.n_arrays = job.n_uses = 2;
	make_job(&job);
	for (unsigned i = 0; i < 4; i++) {
		OK(launch_job(&job));
		for (int k = 0; k < 2; k++) {
			struct numbers saw = read_numbers(f, job.array[k]);

			cr_assert_eq(block_set_add(seen, &saw), 0);
		}
	}
	block_set_free(seen);
}

/* What a launch reads and writes is as it was for the callback. */
static enum philox_status update_work(struct job *job, struct job_stage *stage)
{
	JOB_TRY(job_copy(job, stage, stage->array[0], stage->array[0] + 1, 8));
	return job_copy(job, stage, stage->array[1], stage->array[0], WORDS);
}

PROMISE(verify, gives_the_callback_what_arrays_hold_before)
{
	struct job job = new_job(f, update_work);
	struct numbers y;

	for (uint32_t i = 0; i < WORDS; i++)
		y.word[i] = i;
	job.n_uses = 0;
	job.n_arrays = 2;
	OK(philox_memory_copy(f->device, f->stream, job.array[0], &y,
			      sizeof(y)));
	make_job(&job);
	for (int i = 0; i < 4; i++) {
		OK(launch_job(&job));
		memmove(&y.word[0], &y.word[1], 32);
		SAME(read_numbers(f, job.array[0]), y, "y");
		SAME(read_numbers(f, job.array[1]), y, "z");
	}
	cr_assert_eq(job.runs, 4);
}

PROMISE(verify, needs_neither_arrays_nor_passes)
{
	struct job job = new_job(f, update_work);

	job.n_uses = job.n_arrays = 0;
	make_job(&job);
	job.options.arrays = NULL;
	OK(launch_job(&job));
	cr_assert_eq(job.runs, 1);
}

static void waits(const char *device)
{
	struct fixture f;
	struct job job;

	fixture_open(&f, device);
	job = forward_job(&f);
	make_job(&job);
	for (int i = 0; i < 3; i++) {
		const struct numbers y = predict(0, "layer", 4 * (uint64_t)i);

		delay(&f, f.stream);
		OK(launch_job(&job));
		cr_assert(!memcmp(job.array[0], &y, sizeof(y)), "%d", i);
	}
	fixture_close(&f);
}

Test(verify, waits_for_the_stream, .timeout = 60)
{
	waits("host");
	waits("host:strict");
}

/* Other launches come in between: the ledger is one. */
GRAPH_PROMISE(verify, fits_in_with_other_passes)
{
	struct job job = forward_job(f);

	make_job(&job);
	for (unsigned i = 0; i < 9; i++) {
		struct numbers saw;

		if (i % 3 == 0) {
			OK(launch_job(&job));
			saw = read_numbers(f, job.array[0]);
		} else if (i % 3 == 1) {
			saw = launch_forward(f, job.graph, job.region,
					     job.array[0])
				      .saw;
		} else {
			saw = forward(f, job.region).saw;
		}
		SAME(saw, predict(0, "layer", 4 * (uint64_t)i), "%u", i);
	}
	PENDING(job.region, 9);
}

/* --- tables of rows ------------------------------------------------------- */

static enum philox_status rows_work(struct job *job, struct job_stage *stage)
{
	struct philox_row_fill_desc fill =
		PHILOX_INIT(struct philox_row_fill_desc);

	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.count = fill.pitch = 4;
	fill.out = stage->array[0];
	JOB_TRY(philox_memory_set(job->f->device, stage->stream,
				  stage->array[0], (int)job->n, JOB_BYTES));
	JOB_TRY(philox_rows_fill(job->prop, stage->stream, NULL, &fill));
	return philox_rows_advance(job->prop, stage->stream, NULL, 8);
}

PROMISE(verify, puts_tables_of_rows_back)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct job job = new_job(f, rows_work);
	struct philox_rows *rows;
	struct philox_state states[4];

	options.name = "requests";
	options.count = 4;
	OK(philox_rows_create(f->context, &options, &rows));
	job.prop = rows;
	job.n_uses = 0;
	make_job(&job);
	for (unsigned i = 0; i < 6; i++) {
		job.n = i < 4 ? 0 : i;
		if (i < 4)
			OK(launch_job(&job));
		else
			FAILS(launch_job(&job), PHILOX_ERROR_DIFFERS);
		OK(philox_rows_get(rows, f->stream, 0, 4, states));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (int k = 0; k < 4; k++)
			cr_assert_eq(states[k].offset, 12 * (i < 4 ? i + 1 : 4),
				     "launch %u", i);
	}
}

/* The same from states that the work has the address of. */
static enum philox_status states_work(struct job *job, struct job_stage *stage)
{
	struct philox_device *device = job->f->device;
	struct philox_state *states;

	JOB_TRY(philox_memory_set(device, stage->stream, stage->array[0], 0,
				  JOB_BYTES));
	JOB_TRY(philox_rows_states(job->prop, &states));
	JOB_TRY(philox_memory_copy(device, stage->stream, stage->array[0],
				   states, 4 * sizeof(*states)));
	return philox_memory_set(device, stage->stream, states + 1, 7,
				 sizeof(*states));
}

/* The legacy stream may not be used while a blocking stream captures. */
static void verify_beside_a_capture(struct job *job)
{
	struct fixture *f = job->f;
	philox_native_graph native;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_RELAXED));
	OK(philox_graph_launch_verified(job->graph, f->side, NULL, 0,
					&job->options));
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_destroy(f->device, native));
}

PROMISE(verify, keeps_tables_of_rows_on_the_stream_of_the_launch)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct philox_rows *rows;

	options.name = "requests";
	options.count = 4;
	OK(philox_rows_create(f->context, &options, &rows));
	for (int own = 0; own < 2; own++) {
		struct job job = new_job(f, own ? states_work : rows_work);
		struct philox_state state;

		job.prop = rows;
		job.n_uses = 0;
		make_job(&job);
		for (unsigned i = 1; i < 3; i++) {
			verify_beside_a_capture(&job);
			OK(philox_rows_get(rows, f->side, 1, 1, &state));
			OK(philox_stream_synchronize(f->device, f->side));
			cr_assert_eq(state.offset,
				     own ? UINT64_C(0x0707070707070707)
					 : 12 * i);
		}
		OK(philox_graph_destroy(job.graph));
		OK(philox_pool_destroy(job.pool));
	}
}

/* The stream of the launch goes on when the other one is done, and no sooner. */
static atomic_int other_is_done;

static void wait_for_other(const void *args)
{
	(void)args;
	while (!atomic_load(&other_is_done))
		sched_yield();
}

static void end_other(const void *args)
{
	(void)args;
	atomic_store(&other_is_done, 1);
}

static enum philox_status gate(struct job *job, struct job_stage *stage,
			       philox_stream stream,
			       void (*function)(const void *args))
{
	if (!stage->run ||
	    strcmp(philox_device_name(job->f->device), "host:strict"))
		return PHILOX_OK;
	return philox_stream_launch_host(job->f->device, stream, function,
					 &other_is_done, sizeof(int));
}

/* A table is advanced on another stream, which is forked and joined. */
static enum philox_status forked_work(struct job *job, struct job_stage *stage)
{
	struct philox_device *device = job->f->device;
	const philox_stream other = job->f->side;
	philox_event event;

	OK(philox_event_create(device, &event));
	atomic_store(&other_is_done, 0);
	JOB_TRY(philox_memory_set(device, stage->stream, stage->array[0], 0,
				  JOB_BYTES));
	JOB_TRY(philox_event_record(device, stage->stream, event));
	JOB_TRY(philox_event_wait(device, other, event));
	JOB_TRY(gate(job, stage, stage->stream, wait_for_other));
	JOB_TRY(philox_rows_advance(job->prop, other, NULL, 8));
	JOB_TRY(gate(job, stage, other, end_other));
	JOB_TRY(philox_event_record(device, other, event));
	JOB_TRY(philox_event_wait(device, stage->stream, event));
	return philox_event_destroy(device, event);
}

PROMISE(verify, keeps_a_table_on_the_stream_that_draws_from_it)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct job job = new_job(f, forked_work);
	struct philox_rows *rows;
	struct philox_state state;

	options.name = "requests";
	options.count = 4;
	OK(philox_rows_create(f->context, &options, &rows));
	job.prop = rows;
	job.n_uses = 0;
	make_job(&job);
	for (unsigned i = 1; i < 4; i++) {
		OK(launch_job(&job));
		OK(philox_rows_get(rows, f->stream, 1, 1, &state));
		OK(philox_stream_synchronize(f->device, f->stream));
		cr_assert_eq(state.offset, 8 * i, "launch %u", i);
	}
}

/* --- launches that are wrong ---------------------------------------------- */

static enum philox_status faulty_work(struct job *job, struct job_stage *stage)
{
	const struct philox_ticket none = {0, 0};
	struct philox_ticket made;
	struct philox_pass pass;

	JOB_TRY(job_forward(stage, job->region, 0, &pass));
	JOB_TRY(draw_or_fail(&pass, stage->array[0]));
	JOB_TRY(philox_pass_commit(&pass, 0, &made));
	JOB_TRY(job_backward(stage, job->other, none, 0, &pass));
	JOB_TRY(philox_pass_commit(&pass, 0, NULL));
	return philox_memory_set(job->f->device, stage->stream,
				 stage->array[1] + 6, (int)job->n, 8);
}

static struct job faulty_job(struct fixture *f)
{
	struct job job = new_job(f, faulty_work);

	job.region = make_region(f, "layer");
	job.other = make_region(f, "other");
	job.n_arrays = job.n_uses = 2;
	job.n = 1;
	return job;
}

static void names_class(const char *class)
{
	static const char *const classes[] = {"frozen", "not deterministic"};

	for (int i = 0; i < 2; i++)
		cr_assert(!strstr(philox_error_message(), classes[i]) ==
				  !!strcmp(class, classes[i]),
			  "%s: %s", classes[i], philox_error_message());
}

GRAPH_PROMISE(verify, finds_what_was_frozen)
{
	struct job job = faulty_job(f);
	struct forward one;
	struct numbers y, z, next;
	struct ledger_view before;

	make_job(&job);
	OK(philox_graph_set_name(job.graph, "step"));
	one = forward(f, job.other);
	job.uses[1].ticket = one.ticket;
	OK(launch_job(&job));
	OK(philox_ticket_release(job.region, f->stream, job.uses[0].ticket));
	y = read_numbers(f, job.array[0]);
	z = read_numbers(f, job.array[1]);
	for (unsigned i = 2; i < 5; i++) {
		one = forward(f, job.other);
		before = look(f, job.other);
		next = peek(f, job.region);
		job.uses[0] = (struct philox_launch_pass){{5, 5}, 0, 0};
		job.uses[1] = (struct philox_launch_pass){one.ticket, 0, 0};
		job.n = i;
		job.runs = 0;
		FAILS(launch_job(&job), PHILOX_ERROR_DIFFERS);
		NAMES("'z'");
		NAMES("'step'");
		NAMES("element 6");
		NAMES("16843009");
		names_class("frozen");
		cr_assert_gt(job.runs, 1, "it is called some more times");
		SAME(read_numbers(f, job.array[0]), y, "y is put back");
		SAME(read_numbers(f, job.array[1]), z, "z is put back");
		cr_assert_eq(job.uses[0].ticket.serial, 5, "not written");
		PENDING(job.region, 0);
		unchanged(f, job.other, &before);
		FRESH(peek(f, job.region), next, "its numbers are burnt");
		no_blocks(&job);
		backward(f, &one, 0);
	}
	one = forward(f, job.other);
	job.n = 1;
	job.uses[1].ticket = one.ticket;
	OK(launch_job(&job));
	PENDING(job.region, 1);
	PENDING(job.other, 0);
}

/* The callback does something else each time. */
static enum philox_status counting_work(struct job *job,
					struct job_stage *stage)
{
	return philox_memory_set(job->f->device, stage->stream,
				 stage->array[0] + 3, (int)job->runs, 4);
}

PROMISE(verify, finds_what_is_not_deterministic)
{
	struct job job = new_job(f, counting_work);
	struct numbers y = all_words(3);

	job.n_uses = 0;
	make_job(&job);
	FAILS(launch_job(&job), PHILOX_ERROR_DIFFERS);
	NAMES("'y'");
	NAMES("element 3");
	names_class("not deterministic");
	SAME(read_numbers(f, job.array[0]), y, "y is put back");
}

/* An array in bytes, and one bit of the last of them. */
static enum philox_status bytes_work(struct job *job, struct job_stage *stage)
{
	return philox_memory_set(job->f->device, stage->stream,
				 (char *)stage->array[0] + JOB_BYTES - 2,
				 (int)job->n, 1);
}

PROMISE(verify, compares_the_bytes_that_it_is_told)
{
	struct job job = new_job(f, bytes_work);

	job.n_uses = 0;
	job.n = 6;
	job.arrays[0].elements = 0;
	job.arrays[0].bytes = JOB_BYTES - 1;
	make_job(&job);
	OK(launch_job(&job));
	job.n = 7;
	FAILS(launch_job(&job), PHILOX_ERROR_DIFFERS);
	NAMES("126");
	NAMES("6");
	NAMES("7");
	job.arrays[0].bytes = JOB_BYTES - 2;
	OK(launch_job(&job));
}

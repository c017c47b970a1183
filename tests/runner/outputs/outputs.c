/*
 * tests/runner/outputs/outputs.c - outputs, their handles and their memory
 */
#include <stdio.h>
#include "tests/support/beds/pool.h"
#include "tests/support/beds/runner.h"

enum { BYTES = WORDS * sizeof(uint32_t) };

/* --- memory that is not released is nobody else's ------------------------- */

RUNNER_PROMISE(runner_outputs, stay_as_they_are_until_they_are_released)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call calls[8];
	struct numbers saw[8];

	make_function(&layer, r, "layer");
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++) {
			calls[i] = new_call(&layer, x, 0);
			OK(try_call(&layer, &calls[i]));
			saw[i] = read_numbers(f, calls[i].outputs[0].address);
		}
		for (int i = 0; i < 8; i++) {
			SAME(read_numbers(f, calls[i].outputs[0].address),
			     saw[i], "round %d, call %d", round, i);
			SAME(read_numbers(f, calls[i].outputs[1].address),
			     all_words(3), "round %d, call %d", round, i);
			OK(philox_output_check(r, &calls[i].outputs[0]));
		}
		for (int i = 8; i--;)
			release_outputs(&layer, &calls[i]);
	}
	cr_assert_gt(counts_of(&layer).missed_live, 0);
	cr_assert_eq(pool_look(philox_runner_pool(r)).graphs, 8);
	cr_assert_eq(counts_of(&layer).eager, 0);
}

RUNNER_PROMISE(runner_outputs, may_be_recorded_beside_others)
{
	struct layer layer = make_layer(f, r, "layer");
	struct philox_function_desc options = layer_options("layer", &layer);
	uint32_t *x = make_words(f, 3);
	struct layer_call one, two;

	make_function_of(&layer, r, &options);
	KIND(&layer, x, 0, PHILOX_CALL_WARMUP);
	for (int i = 0; i < 4; i++) {
		one = new_call(&layer, x, 0);
		OK(try_call(&layer, &one));
		two = new_call(&layer, x, 0);
		OK(try_call(&layer, &two));
		cr_assert_neq(one.outputs[0].address, two.outputs[0].address);
		cr_assert_eq(one.call.kind,
			     i ? PHILOX_CALL_REPLAY : PHILOX_CALL_RECORD);
		cr_assert_eq(two.call.kind,
			     i ? PHILOX_CALL_REPLAY : PHILOX_CALL_RECORD);
		FRESH(read_numbers(f, one.outputs[0].address),
		      read_numbers(f, two.outputs[0].address), "%d", i);
		release_outputs(&layer, &one);
		release_outputs(&layer, &two);
	}
	cr_assert_eq(counts_of(&layer).recordings, 2);
	cr_assert_eq(counts_of(&layer).missed_live, 1);
}

/* An eager call frees what is over, and gives nothing of what came after. */
RUNNER_PROMISE(runner_outputs, of_a_replay_are_no_other_call_s_memory)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer other = make_layer(f, r, "other");
	struct philox_function_desc options = layer_options("other", &other);
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	options.flags = PHILOX_FUNCTION_EAGER;
	make_function_of(&other, r, &options);
	for (unsigned i = 0; i < 6; i++) {
		struct layer_call kept = new_call(&layer, x, 0);

		call_forward(&other, x, 0);
		OK(try_call(&layer, &kept));
		for (int k = 0; k < 3; k++)
			call_forward(&other, x, 0);
		SAME(read_numbers(f, kept.outputs[0].address),
		     predict(0, "layer", 4 * i), "call %u", i);
		release_outputs(&layer, &kept);
	}
	cr_assert_eq(counts_of(&layer).replay, 4);
}

/* Recordings of several functions take the memory of the largest. */
RUNNER_PROMISE(runner_outputs, of_many_recordings_share_their_memory)
{
	struct layer layers[6];
	char name[8];
	uint32_t *x = make_words(f, 3);
	uint64_t mapped = 0;

	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "l%d", i);
		layers[i] = make_layer(f, r, name);
		make_function(&layers[i], r, name);
		for (int k = 0; k < 4; k++)
			call_forward(&layers[i], x, 0);
		if (!i)
			mapped = pool_look(philox_runner_pool(r)).mapped;
	}
	cr_assert_eq(pool_look(philox_runner_pool(r)).mapped, mapped);
	for (int i = 0; i < 6; i++)
		cr_assert_eq(counts_of(&layers[i]).replay, 2);
}

/* --- handles -------------------------------------------------------------- */

RUNNER_PROMISE(runner_outputs, that_are_over_are_stale_and_say_why)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call first, later;
	void *data;

	make_function(&layer, r, "layer");
	call_forward(&layer, x, 0);
	for (int i = 0; i < 3; i++) {
		first = new_call(&layer, x, 0);
		OK(try_call(&layer, &first));
		OK(philox_output_check(r, &first.outputs[0]));
		release_outputs(&layer, &first);
		SAYS(philox_output_check(r, &first.outputs[0]),
		     PHILOX_ERROR_STALE,
		     "output 'y' (layer.c:1) of function 'layer' was released");
		FAILS(philox_output_release(r, f->stream, &first.outputs[0]),
		      PHILOX_ERROR_STALE);
		later = new_call(&layer, first.outputs[1].address, 0);
		later.x.output = &first.outputs[1];
		FAILS(try_call(&layer, &later), PHILOX_ERROR_STALE);
		NAMES("input 'x'");
		later = new_call(&layer, x, 0);
		OK(try_call(&layer, &later));
		FAILS(philox_output_check(r, &first.outputs[0]),
		      PHILOX_ERROR_STALE);
		NAMES("overwritten by call");
		FAILS(philox_output_get_data(r, &first.outputs[0], &data),
		      PHILOX_ERROR_STALE);
		FAILS(philox_output_set_data(r, &first.outputs[0], f),
		      PHILOX_ERROR_STALE);
		OK(philox_output_check(r, &later.outputs[0]));
		release_outputs(&layer, &later);
	}
	later.outputs[0].index = 1000;
	FAILS(philox_output_check(r, &later.outputs[0]), PHILOX_ERROR_INVALID);
	FAILS(philox_output_check(r, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_output_check(NULL, &later.outputs[0]),
	      PHILOX_ERROR_INVALID);
	memset(&later.outputs[1], 0, sizeof(later.outputs[1]));
	FAILS(philox_output_check(r, &later.outputs[1]), PHILOX_ERROR_INVALID);
}

RUNNER_PROMISE(runner_outputs, lose_the_caller_s_data_when_handed_out_again)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	for (int i = 0; i < 5; i++) {
		struct layer_call call = new_call(&layer, x, 0);
		void *data = &layer;

		OK(try_call(&layer, &call));
		OK(philox_output_get_data(r, &call.outputs[0], &data));
		cr_assert_null(data, "call %d", i);
		OK(philox_output_set_data(r, &call.outputs[0], f));
		OK(philox_output_get_data(r, &call.outputs[0], &data));
		cr_assert_eq(data, f);
		release_outputs(&layer, &call);
	}
}

RUNNER_PROMISE(runner_outputs, that_nobody_wants_are_released_at_once)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);

	make_function(&layer, r, "layer");
	for (int i = 0; i < 5; i++) {
		struct layer_call call = new_call(&layer, x, 0);

		call.call.n_outputs = 0;
		OK(try_call(&layer, &call));
		cr_assert_eq(call.call.kind, i == 0   ? PHILOX_CALL_WARMUP
					     : i == 1 ? PHILOX_CALL_RECORD
						      : PHILOX_CALL_REPLAY);
	}
}

/* A release on another stream comes before the memory's next use. */
RUNNER_PROMISE(runner_outputs, are_released_after_the_work_of_a_stream)
{
	struct layer layer = make_layer(f, r, "layer");
	uint32_t *x = make_words(f, 3);
	struct numbers got[40];
	philox_event ready;

	make_function(&layer, r, "layer");
	OK(philox_event_create(f->device, &ready));
	for (int i = 0; i < 40; i++) {
		struct layer_call call = new_call(&layer, x, 0);

		OK(try_call(&layer, &call));
		OK(philox_event_record(f->device, f->stream, ready));
		OK(philox_event_wait(f->device, f->side, ready));
		OK(philox_memory_copy(f->device, f->side, &got[i],
				      call.outputs[0].address, BYTES));
		for (int k = 0; k < 2; k++)
			OK(philox_output_release(r, f->side, &call.outputs[k]));
	}
	OK(philox_device_synchronize(f->device));
	for (int i = 0; i < 40; i++)
		SAME(got[i], predict(0, "layer", 4 * (unsigned)i), "call %d",
		     i);
	OK(philox_event_destroy(f->device, ready));
}

/* --- outputs that live as long as a ticket -------------------------------- */

struct tied {
	struct layer *layer;
	struct philox_output outputs[2];
	unsigned released;
};

static void release_tied(void *saved, philox_stream stream)
{
	struct tied *tied = saved;

	for (int i = 0; i < 2; i++)
		OK(philox_output_release(tied->layer->runner, stream,
					 &tied->outputs[i]));
	tied->released++;
}

RUNNER_PROMISE(runner_outputs, may_live_as_long_as_a_ticket)
{
	struct layer forth = make_layer(f, r, "layer"), back = forth;
	uint32_t *x = make_words(f, 3);

	back.backward = 1;
	make_function(&forth, r, "forth");
	make_function(&back, r, "back");
	for (unsigned i = 0; i < 12; i++) {
		struct layer_call call = new_call(&forth, x, 0), after;
		struct tied tied = {.layer = &forth};
		struct numbers saw;

		OK(try_call(&forth, &call));
		memcpy(tied.outputs, call.outputs, sizeof(tied.outputs));
		OK(philox_ticket_attach(forth.region, call.use.ticket, &tied,
					release_tied));
		saw = read_numbers(f, call.outputs[0].address);
		after = new_call(&back, call.outputs[1].address, 0);
		after.x.output = &call.outputs[1];
		after.use.ticket = call.use.ticket;
		after.use.flags = PHILOX_PASS_RETAIN;
		OK(try_call(&back, &after));
		release_outputs(&back, &after);
		cr_assert_eq(tied.released, 0, "retained");
		OK(philox_output_check(r, &tied.outputs[0]));
		after.use.flags = 0;
		OK(try_call(&back, &after));
		SAME(read_numbers(f, after.outputs[0].address), saw, "%u", i);
		cr_assert_eq(tied.released, 1);
		FAILS(philox_output_check(r, &tied.outputs[0]),
		      PHILOX_ERROR_STALE);
		release_outputs(&back, &after);
	}
	cr_assert_eq(counts_of(&forth).replay, 10);
	cr_assert_geq(counts_of(&back).replay, 18);
}

/* --- aliases -------------------------------------------------------------- */

struct aliases {
	struct fixture *f;
	int wrong;
};

/* Outputs: memory, the same memory further on, and the input itself. */
static enum philox_status alias_body(void *user, struct philox_run *run)
{
	struct aliases *aliases = user;
	philox_stream stream = philox_run_stream(run);
	void *x, *y;

	OK(philox_run_input(run, 0, &x, NULL));
	OK(philox_run_alloc(run, BYTES, 0, "y", &y));
	OK(philox_memory_copy(aliases->f->device, stream, y, x, BYTES));
	OK(philox_run_output(run, 0, y, BYTES));
	OK(philox_run_output(run, 1, (char *)y + 16, BYTES - 16));
	return philox_run_output(run, 2, x, BYTES);
}

static struct philox_function *make_aliases(struct philox_runner *r,
					    struct aliases *aliases,
					    const char *name, uint32_t kind)
{
	const struct philox_input_desc x = {.name = "x", .kind = kind};
	const struct philox_output_desc outputs[] = {
		{.name = "y"}, {.name = "part"}, {.name = "x again"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_function *function;

	options.name = name;
	options.body = alias_body;
	options.user = aliases;
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = outputs;
	options.n_outputs = 3;
	OK(philox_function_create(r, &options, &function));
	return function;
}

/* An output in an input is in no memory of the recording: it may stay live. */
RUNNER_PROMISE(runner_outputs, in_an_input_keep_their_handles_over_replays)
{
	struct aliases aliases = {.f = f};
	struct philox_function *function =
		make_aliases(r, &aliases, "aliases", PHILOX_INPUT_STATIC);
	uint32_t *x = make_words(f, 6);
	struct philox_output kept[6];

	for (int i = 0; i < 6; i++) {
		struct philox_output out[3];
		struct philox_call call = PHILOX_INIT(struct philox_call);
		struct philox_call_input given = {.address = x, .bytes = BYTES};

		call.stream = f->stream;
		call.inputs = &given;
		call.n_inputs = 1;
		call.outputs = out;
		call.n_outputs = 3;
		OK(philox_function_call(function, &call));
		cr_assert(i < 2 || call.kind == PHILOX_CALL_REPLAY);
		OK(philox_output_release(r, f->stream, &out[0]));
		OK(philox_output_release(r, f->stream, &out[1]));
		kept[i] = out[2];
	}
	for (int i = 0; i < 6; i++)
		OK(philox_output_release(r, f->stream, &kept[i]));
	FAILS(philox_output_release(r, f->stream, &kept[5]),
	      PHILOX_ERROR_STALE);
}

RUNNER_PROMISE(runner_outputs, of_another_runner_are_refused)
{
	struct philox_runner *other = make_runner_of(f, "other", 0);
	struct layer here = make_layer(f, r, "here");
	struct layer there = make_layer(f, other, "there");
	uint32_t *x = make_words(f, 6);
	struct layer_call one, two;

	make_function(&here, r, "here");
	make_function(&there, other, "there");
	one = new_call(&here, x, 0);
	two = new_call(&there, x, 0);
	OK(try_call(&here, &one));
	OK(try_call(&there, &two));
	FAILS(philox_output_release(r, f->stream, &two.outputs[0]),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_output_release(other, f->stream, &one.outputs[0]),
	      PHILOX_ERROR_INVALID);
	release_outputs(&here, &one);
	release_outputs(&there, &two);
	OK(philox_runner_destroy(other));
}

RUNNER_PROMISE(runner_outputs, that_share_memory_have_one_id_and_free_it_once)
{
	struct aliases aliases = {.f = f};
	struct layer source = make_layer(f, r, "source");
	struct philox_function *function =
		make_aliases(r, &aliases, "aliases", PHILOX_INPUT_STATIC);
	uint32_t *x = make_words(f, 6);

	make_function(&source, r, "source");
	for (int i = 0; i < 6; i++) {
		struct layer_call first = new_call(&source, x, 0);
		struct philox_output out[3], *from = &first.outputs[1];
		struct philox_call call = PHILOX_INIT(struct philox_call);
		struct philox_call_input given = {.bytes = BYTES};

		OK(try_call(&source, &first));
		given.address = from->address;
		given.output = from;
		call.stream = f->stream;
		call.inputs = &given;
		call.n_inputs = 1;
		call.outputs = out;
		call.n_outputs = 3;
		OK(philox_function_call(function, &call));
		cr_assert_eq(out[0].id, out[1].id);
		cr_assert_eq(out[2].id, from->id);
		cr_assert_neq(out[0].id, from->id);
		cr_assert_eq(out[2].address, from->address);
		release_outputs(&source, &first);
		OK(philox_output_release(r, f->stream, &out[0]));
		kind_of_call(&source, x, 1); /* may take what is free */
		SAME(read_numbers(f, out[2].address), all_words(6),
		     "it lives until its last handle is released");
		OK(philox_output_release(r, f->stream, &out[1]));
		OK(philox_output_release(r, f->stream, &out[2]));
	}
	cr_assert_gt(counts_of(&source).replay, 3);
}

/* Memory of others: the id is the one that the caller gives. */
RUNNER_PROMISE(runner_outputs, in_memory_of_others_have_the_caller_s_id)
{
	struct aliases aliases = {.f = f};
	struct philox_function *function =
		make_aliases(r, &aliases, "aliases", PHILOX_INPUT_STATIC);
	uint32_t *x = make_words(f, 6);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_call_input given = {
		.address = x, .bytes = BYTES, .id = 77};
	struct philox_output out[3];

	call.stream = f->stream;
	call.inputs = &given;
	call.n_inputs = 1;
	call.outputs = out;
	call.n_outputs = 3;
	for (int i = 0; i < 4; i++) {
		OK(philox_function_call(function, &call));
		cr_assert_eq(out[2].id, 77);
		cr_assert_eq(out[2].address, x);
		for (int k = 0; k < 3; k++)
			OK(philox_output_release(r, f->stream, &out[k]));
	}
	function = make_aliases(r, &aliases, "copied", PHILOX_INPUT_COPIED);
	FAILS(philox_function_call(function, &call), PHILOX_ERROR_INVALID);
	NAMES("may be copied");
}

/* --- outputs that are not right ------------------------------------------- */

static enum philox_status wrong_body(void *user, struct philox_run *run)
{
	struct aliases *aliases = user;
	void *y, *x;

	OK(philox_run_input(run, 0, &x, NULL));
	OK(philox_run_alloc(run, BYTES, 0, "y", &y));
	switch (aliases->wrong) {
	case 0:
		FAILS(philox_run_output(run, 0, aliases, BYTES),
		      PHILOX_ERROR_INVALID);
		NAMES("'y'");
		break;
	case 1:
		OK(philox_run_output(run, 0, y, BYTES));
		FAILS(philox_run_output(run, 0, y, BYTES), PHILOX_ERROR_EXISTS);
		break;
	case 2:
		FAILS(philox_run_output(run, 0, y, BYTES + 1),
		      PHILOX_ERROR_INVALID);
		break;
	case 3:
		FAILS(philox_run_output(run, 1, y, BYTES),
		      PHILOX_ERROR_INVALID);
		NAMES("there is no output 1");
		break;
	case 4:
		FAILS(philox_run_output(run, 0, NULL, BYTES),
		      PHILOX_ERROR_INVALID);
		break;
	case 5:
		FAILS(philox_run_output(run, 0, x, BYTES + 1),
		      PHILOX_ERROR_INVALID);
		break;
	case 6:
		OK(philox_run_output(run, 0, y, BYTES));
		FAILS(philox_run_free(run, y), PHILOX_ERROR_INVALID);
		break;
	case 7:
		OK(philox_run_free(run, y));
		FAILS(philox_run_free(run, y), PHILOX_ERROR_INVALID);
		break;
	case 8:
		FAILS(philox_run_output(run, 0, (char *)y + BYTES, 1),
		      PHILOX_ERROR_INVALID);
		break;
	case 9:
		break; /* not declared at all */
	}
	return PHILOX_OK;
}

enum { WRONGS = 10 };

RUNNER_PROMISE(runner_outputs, that_are_wrong_fail_the_call)
{
	struct aliases aliases = {.f = f};
	const struct philox_input_desc x = {.name = "x"};
	const struct philox_output_desc output = {.name = "y"};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);
	struct philox_call call = PHILOX_INIT(struct philox_call);
	struct philox_call_input given = {.address = make_words(f, 6),
					  .bytes = BYTES};
	struct philox_function *function;
	struct philox_output out;

	options.name = "wrong";
	options.body = wrong_body;
	options.user = &aliases;
	options.inputs = &x;
	options.n_inputs = 1;
	options.outputs = &output;
	options.n_outputs = 1;
	call.stream = f->stream;
	call.inputs = &given;
	call.n_inputs = 1;
	call.outputs = &out;
	call.n_outputs = 1;
	for (int warm = 0; warm < 2; warm++) {
		options.policy.warmups = warm ? 0 : PHILOX_NEVER;
		OK(philox_function_create(r, &options, &function));
		for (aliases.wrong = 0; aliases.wrong < WRONGS;
		     aliases.wrong++) {
			enum philox_status status =
				philox_function_call(function, &call);

			cr_assert_neq(status, PHILOX_OK, "wrong %d",
				      aliases.wrong);
			cr_assert_eq(status == PHILOX_ERROR_STATE,
				     aliases.wrong == 9, "wrong %d: %s",
				     aliases.wrong, philox_error_message());
			cr_assert_eq(pool_look(philox_runner_pool(r)).graphs,
				     0);
		}
		OK(philox_function_destroy(function));
	}
}

/* --- functions and runners that go ---------------------------------------- */

RUNNER_PROMISE(runner_outputs, outlive_their_function)
{
	struct layer layer = make_layer(f, r, "layer");
	struct layer other = make_layer(f, r, "other");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_function(&layer, r, "layer");
	for (int i = 0; i < 3; i++)
		call_forward(&layer, x, 0);
	call = new_call(&layer, x, 0);
	OK(try_call(&layer, &call));
	OK(philox_stream_synchronize(f->device, f->stream));
	OK(philox_function_destroy(layer.function));
	make_function(&other, r, "layer");
	for (int i = 0; i < 4; i++)
		call_forward(&other, x, 0);
	SAME(read_numbers(f, call.outputs[0].address), predict(0, "layer", 12),
	     "its memory was used");
	release_outputs(&layer, &call);
	FAILS(philox_output_check(r, &call.outputs[0]), PHILOX_ERROR_STALE);
	NAMES("'layer'");
}

RUNNER_PROMISE(runner_outputs, that_are_not_released_are_reported)
{
	struct philox_runner *mine = make_runner_of(f, "mine", 0);
	struct layer layer = make_layer(f, mine, "layer");
	uint32_t *x = make_words(f, 3);
	struct layer_call call;

	make_function(&layer, mine, "layer");
	for (int i = 0; i < 3; i++)
		call_forward(&layer, x, 0);
	call = new_call(&layer, x, 0);
	OK(try_call(&layer, &call));
	OK(philox_stream_synchronize(f->device, f->stream));
	log_texts(f);
	OK(philox_runner_destroy(mine));
	LOGGED("2 live blocks of 256 bytes, the first with tag 'y'");
	OK(philox_runner_destroy(NULL));
}

/*
 * graph/runner/call/verify.c - replays that are verified
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/call/call.h"
#include "graph/runner/function/function.h"

#define REPLAY_TEXT 480

/* --- text: what is said of a replay that differs -------------------------- */

static void add_text(char text[REPLAY_TEXT], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_text(char text[REPLAY_TEXT], const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, REPLAY_TEXT - length, format, arguments);
	va_end(arguments);
}

static void add_hex(char text[REPLAY_TEXT], const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;

	add_text(text, "0x");
	for (size_t i = size; i--;)
		add_text(text, "%02x", byte[i]);
}

static int add_params(const struct recording *recording,
		      const struct philox_call *call, char text[REPLAY_TEXT])
{
	const struct philox_function *function = recording->function;
	int changed = 0;

	for (size_t i = 0; i < function->n_params; i++) {
		const struct philox_call_param *now = &call->params[i];

		if (memcmp(&recording->given[i], now->data, now->bytes) == 0)
			continue;
		add_text(text, "%s parameter '%s' from ", changed++ ? "," : "",
			 function->params[i].name);
		add_hex(text, &recording->given[i], now->bytes);
		add_text(text, " to ");
		add_hex(text, now->data, now->bytes);
	}
	return changed;
}

static int add_inputs(const struct recording *recording,
		      const struct philox_call *call, int changed,
		      char text[REPLAY_TEXT])
{
	const struct philox_function *function = recording->function;

	for (size_t i = 0; i < function->n_inputs; i++) {
		if (recording->inputs[i] == call->inputs[i].address)
			continue;
		add_text(text, "%s %s from %p to %p", changed++ ? "," : "",
			 input_words(function, i,
				     input_slot(function->runner, i))
				 .text,
			 recording->inputs[i], call->inputs[i].address);
	}
	return changed;
}

static void describe_replay(const struct replay_check *check, const char *what,
			    char text[REPLAY_TEXT])
{
	const struct recording *recording = check->recording;
	const struct philox_call *call = check->request->call;
	const struct words key = key_words(recording->key);
	char changes[REPLAY_TEXT] = "these changed:";
	int changed = add_params(recording, call, changes);

	changed = add_inputs(recording, call, changed, changes);
	*text = '\0';
	add_text(text,
		 "a replay%s%s differs from its body: %s; since it was "
		 "recorded %s",
		 *key.text ? " under " : "", key.text, what,
		 changed ? changes : "no parameter changed and no input moved");
}

/* --- inputs: what a body mutates, for a replay that is verified ----------- */

/* Copies are aligned as memory is, at least to this, whatever was asked for. */
#define PIECE_ALIGNMENT 512

/* A piece of the caller's memory, with inputs in it. */
struct piece {
	uintptr_t begin, end;
	uint32_t input;
};

static int by_begin_of_piece(const void *one, const void *other)
{
	const struct piece *a = one, *b = other;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->input > b->input) - (a->input < b->input);
}

static int is_mutated_by(const struct replay_check *check, uint32_t input)
{
	return (check->recording->function->inputs[input].flags &
		PHILOX_INPUT_MUTATED) != 0;
}

/* One that the body would be given at another place than in its own memory. */
static enum philox_status refuse_shared(struct replay_check *check,
					uint32_t input)
{
	check->verify.lacking = 1;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "input '%s' is not aligned, and shares memory with "
			  "one that is mutated",
			  check->recording->function->inputs[input].name);
}

/*
 * Inputs that overlap are one piece, which is copied as one if the body mutates
 * something in it.
 */
static enum philox_status keep_pieces(struct replay_check *check,
				      const struct piece *pieces, size_t n)
{
	const struct philox_function *function = check->recording->function;
	uintptr_t end = pieces[0].end;
	size_t alignment = PIECE_ALIGNMENT;
	int mutated = 0, lost = -1;
	enum philox_status status;

	for (size_t i = 0; i < n; i++) {
		const uint32_t input = pieces[i].input;

		mutated |= is_mutated_by(check, input);
		if (pieces[i].end > end)
			end = pieces[i].end;
		if (function->inputs[input].alignment > alignment)
			alignment = function->inputs[input].alignment;
		if (inputs_misaligned(function, check->request->call, input))
			lost = (int)input;
	}
	if (!mutated)
		return PHILOX_OK;
	if (lost >= 0 && n > 1)
		return refuse_shared(check, (uint32_t)lost);
	status = verify_keep(&check->verify, (void *)pieces[0].begin,
			     end - pieces[0].begin, alignment,
			     lost < 0 ? pieces[0].begin % alignment : 0);
	for (size_t i = 0; i < n; i++)
		check->pieces[pieces[i].input] = check->verify.n_memory;
	return status;
}

static enum philox_status keep_all_pieces(struct replay_check *check,
					  const struct piece *pieces, size_t n)
{
	enum philox_status status = PHILOX_OK;
	size_t begin = 0;

	while (status == PHILOX_OK && begin < n) {
		uintptr_t end = pieces[begin].end;
		size_t next = begin + 1;

		for (; next < n && pieces[next].begin < end; next++)
			if (pieces[next].end > end)
				end = pieces[next].end;
		status = keep_pieces(check, pieces + begin, next - begin);
		begin = next;
	}
	return status;
}

static enum philox_status keep_mutated(struct replay_check *check)
{
	const struct philox_function *function = check->recording->function;
	struct piece *pieces = calloc(function->n_inputs + 1, sizeof(*pieces));
	enum philox_status status;
	size_t n = 0;
	int mutated = 0;

	if (!pieces)
		return status_set(PHILOX_ERROR_MEMORY,
				  "there is no memory for a list of inputs");
	for (uint32_t i = 0; i < function->n_inputs; i++) {
		const struct philox_call_input *input =
			&check->request->call->inputs[i];
		const uintptr_t begin = (uintptr_t)input->address;

		mutated |= is_mutated_by(check, i);
		if (input->bytes)
			pieces[n++] =
				(struct piece){begin, begin + input->bytes, i};
	}
	if (mutated)
		qsort(pieces, n, sizeof(*pieces), by_begin_of_piece);
	status = mutated ? keep_all_pieces(check, pieces, n) : PHILOX_OK;
	free(pieces);
	return status;
}

/* Where a piece of the real memory is in this run. */
static void *copy_of(const struct replay_check *check, uint32_t input)
{
	const struct verify *verify = &check->verify;
	const struct verify_memory *memory;

	if (!check->pieces[input])
		return NULL;
	memory = &verify->memory[check->pieces[input] - 1];
	return (char *)memory->copies[verify->turn] +
	       ((char *)check->request->call->inputs[input].address -
		(char *)memory->real);
}

/* --- body: the body of a replay that is verified -------------------------- */

static enum philox_status place_input(struct replay_check *check,
				      struct run *run, uint32_t index)
{
	const struct philox_function *function = run->function;
	const struct philox_call_input *input = &run->call->inputs[index];
	void *copy = copy_of(check, index);
	enum philox_status status;

	run->copied[index] =
		(uint8_t)inputs_misaligned(function, run->call, index);
	run->inputs[index] = copy ? copy : input->address;
	if (copy || !run->copied[index] || !input->bytes)
		return PHILOX_OK;
	status = run_take_buffer(run, index, &run->inputs[index]);
	if (status != PHILOX_OK)
		return verify_paint(&check->verify, NULL, 0, status);
	return philox_memory_copy(runner_device(run->runner), run->stream,
				  run->inputs[index], input->address,
				  input->bytes);
}

static enum philox_status place_all_inputs(struct replay_check *check,
					   struct run *run)
{
	enum philox_status status = PHILOX_OK;

	/* until it is placed, none has memory of the run */
	for (uint32_t i = 0; i < run->function->n_inputs; i++)
		run->inputs[i] = run->call->inputs[i].address;
	for (uint32_t i = 0; status == PHILOX_OK && i < run->function->n_inputs;
	     i++)
		status = place_input(check, run, i);
	return status;
}

static struct verify_item output_item(const struct replay_check *check,
				      const struct run *run, size_t i)
{
	const struct philox_output_desc *info = &run->function->outputs[i];

	return (struct verify_item){
		.what = "output",
		.name = info->name,
		.origin = info->origin,
		.elements = info->elements,
		.bytes = run->outputs[i].bytes,
		.real = check->recording->outputs[i].place.address,
		.copies = {run->outputs[i].address, NULL}};
}

/* Of an input that has none, the output that it is. */
static const char *origin_of(const struct replay_check *check, uint32_t i)
{
	const struct philox_function *function = check->recording->function;
	const struct output_slot *slot = input_slot(function->runner, i);

	if (*function->inputs[i].origin || !slot)
		return function->inputs[i].origin;
	check->origins[i] = output_words(slot->function, slot->output);
	return check->origins[i].text;
}

static struct verify_item input_item(const struct replay_check *check,
				     uint32_t i)
{
	const struct philox_input_desc *info =
		&check->recording->function->inputs[i];
	const struct philox_call_input *input =
		&check->request->call->inputs[i];

	return (struct verify_item){.what = "input",
				    .name = info->name,
				    .origin = origin_of(check, i),
				    .elements = info->elements,
				    .bytes = input->bytes,
				    .real = input->address,
				    .copies = {copy_of(check, i), NULL}};
}

/*
 * Outputs first, then inputs that are mutated: the same in each run. In an
 * input that is as it was, there is nothing to compare.
 */
static enum philox_status place_items(struct replay_check *check,
				      const struct run *run)
{
	const struct philox_function *function = run->function;
	enum philox_status status = PHILOX_OK;
	struct verify_item item;
	size_t n = 0;

	for (size_t i = 0; status == PHILOX_OK && i < function->n_outputs;
	     i++) {
		item = output_item(check, run, i);
		status = verify_place(&check->verify, n++, &item);
	}
	for (uint32_t i = 0; status == PHILOX_OK && i < function->n_inputs;
	     i++) {
		item = input_item(check, i);
		if (item.bytes && is_mutated_by(check, i))
			status = verify_place(&check->verify, n++, &item);
	}
	return status;
}

static void free_one(const struct replay_check *check, void *address)
{
	struct philox_runner *runner = check->recording->function->runner;

	pool_free_block(runner->spare, check->request->stream, address);
}

/* What it allocated, cells of values, and buffers of inputs. */
static void free_run_memory(const struct replay_check *check,
			    const struct run *run)
{
	const struct philox_function *function = check->recording->function;

	for (size_t i = 0; i < run->n_blocks; i++)
		if (!run->blocks[i].freed)
			free_one(check, run->blocks[i].block.address);
	for (size_t i = 0; i < function->n_params; i++)
		if (run->params[i])
			free_one(check, run->params[i]);
	for (uint32_t i = 0; i < function->n_inputs; i++)
		if (run->inputs[i] != check->request->call->inputs[i].address &&
		    !copy_of(check, i))
			free_one(check, run->inputs[i]);
}

/* Memory of a later run is free before the next one; that of the first stays. */
static void free_later(struct replay_check *check, struct run *run)
{
	struct status_message kept;

	if (!check->verify.turn || !check->reruns++)
		return;
	kept = status_kept();
	free_run_memory(check, run);
	status_restore(&kept);
}

static enum philox_status run_body_checked(struct run *run)
{
	run->function->counts.checking++;
	return run_body(run);
}

static enum philox_status run_checked(struct replay_check *check,
				      struct run *run)
{
	enum philox_status status;

	run->pool = run->runner->spare;
	run->verify = &check->verify;
	run->dry = 1;
	status = place_all_inputs(check, run);
	if (status == PHILOX_OK)
		status = run_body_checked(run);
	return status == PHILOX_OK ? place_items(check, run) : status;
}

static enum philox_status run_for_check(struct verify *verify)
{
	struct replay_check *check = verify->user;
	struct recording *recording = check->recording;
	struct philox_function *function = recording->function;
	struct run *run = &function->runner->run;
	enum philox_status status;

	free_later(check, run);
	status = run_begin(check->request, PHILOX_CALL_EAGER);
	if (status != PHILOX_OK)
		return status;
	status = run_checked(check, run);
	run_passes_undo(run);
	run_end(run, status);
	return status;
}

/* --- the second pool ---------------------------------------------------------- */

/* Runners with long names may have the beginning of one in common. */
static enum philox_status name_spare(struct philox_runner *runner,
				     struct philox_pool_desc *options)
{
	enum philox_status status = PHILOX_ERROR_EXISTS;
	char name[64];

	options->name = name;
	for (unsigned i = 1; status == PHILOX_ERROR_EXISTS && i; i++) {
		if (i == 1)
			snprintf(name, sizeof(name), "%.50s (verifying)",
				 runner->name);
		else
			snprintf(name, sizeof(name), "%.39s (verifying %u)",
				 runner->name, i);
		status = philox_pool_create(runner->context, options,
					    &runner->spare);
	}
	return status;
}

static enum philox_status make_spare(struct philox_runner *runner)
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);

	if (runner->spare)
		return PHILOX_OK;
	options.flags = runner->pool->flags & PHILOX_POOL_EXPANDABLE;
	options.range = runner->pool->range;
	options.step = runner->pool->step;
	options.limit = runner->pool->limit;
	return name_spare(runner, &options);
}

enum philox_status replay_checks_finish(struct philox_runner *runner)
{
	enum philox_status status = session_end_stuck(&runner->spare_stuck);

	if (status == PHILOX_OK)
		status = philox_pool_destroy(runner->spare);
	if (status == PHILOX_OK)
		runner->spare = NULL;
	return status;
}

/* --- before the launch ------------------------------------------------------------------- */

int replay_is_due(struct philox_function *function)
{
	const uint32_t every =
		function->runner->verify ? 1 : function->policy.verify;

	return every && function->replays++ % every == 0;
}

static enum philox_status reserve_check(struct replay_check *check)
{
	const struct philox_function *function = check->recording->function;

	check->pieces = calloc(function->n_inputs + 1, sizeof(*check->pieces));
	check->origins =
		calloc(function->n_inputs + 1, sizeof(*check->origins));
	if (check->pieces && check->origins)
		return PHILOX_OK;
	check->verify.lacking = 1;
	return status_set(PHILOX_ERROR_MEMORY,
			  "there is no memory for a list of inputs");
}

/*
 * Bodies that speak to each other are run by all processes or by none: *asked
 * tells, and whether this process `can` its status.
 */
static enum philox_status agree_to_run(struct replay_check *check,
				       enum philox_status status, int *asked)
{
	struct philox_function *function = check->recording->function;
	const int can = status == PHILOX_OK;
	enum philox_call_kind agreed;
	struct status_message own;

	*asked = 0;
	if (!can && !check->verify.lacking)
		return agree_failed(function, status);
	own = status_kept();
	status =
		agree_on(function, can ? PHILOX_CALL_REPLAY : PHILOX_CALL_EAGER,
			 &agreed);
	if (status != PHILOX_OK) {
		check->verify.lacking = 0;
		return status;
	}
	*asked = agreed == PHILOX_CALL_REPLAY;
	if (*asked)
		return PHILOX_OK;
	check->verify.lacking = 1;
	status_restore(&own);
	return can ? status_set(PHILOX_ERROR_UNSUPPORTED,
				"another process cannot verify its own")
		   : PHILOX_ERROR_UNSUPPORTED;
}

static enum philox_status agree_to_check(struct replay_check *check,
					 enum philox_status status)
{
	if (!check->recording->function->agree)
		return status;
	return agree_to_run(check, status, &check->asked);
}

static enum philox_status agree_to_explain(struct verify *verify,
					   enum philox_status status)
{
	int asked;

	return agree_to_run(verify->user, status, &asked);
}

static enum philox_status reserve_all(struct replay_check *check)
{
	struct verify *verify = &check->verify;
	struct philox_function *function = check->recording->function;
	struct philox_runner *runner = function->runner;
	enum philox_status status = make_spare(runner);

	if (status == PHILOX_ERROR_MEMORY)
		verify->lacking = 1;
	if (status == PHILOX_OK)
		status = session_end_stuck(&runner->spare_stuck);
	if (status == PHILOX_OK)
		status = reserve_check(check);
	if (status != PHILOX_OK)
		return status;
	verify->graph = check->recording->graph;
	verify->pool = runner->spare;
	verify->stream = check->request->stream;
	verify->run = run_for_check;
	verify->user = check;
	verify->agree = function->agree ? agree_to_explain : NULL;
	status = verify_open(verify);
	return status == PHILOX_OK ? keep_mutated(check) : status;
}

static void close_check(struct replay_check *check)
{
	struct philox_runner *runner = check->recording->function->runner;
	struct philox_pool_session *stuck = verify_close(&check->verify);

	if (stuck)
		runner->spare_stuck = stuck;
	free(check->pieces);
	free(check->origins);
	check->pieces = NULL;
	check->origins = NULL;
	check->open = 0;
}

/* That it cannot be verified is told once, and is no reason not to launch. */
static void note_unverified(const struct replay_check *check)
{
	struct philox_function *function = check->recording->function;
	struct key *key = check->recording->key;

	function->counts.unverified++;
	if (key->logged & LOGGED_UNVERIFIED)
		return;
	key->logged |= LOGGED_UNVERIFIED;
	runner_post(function, PHILOX_LOG_WARNING, "not verified",
		    PHILOX_CALL_REPLAY, NULL, 0, "cannot be verified%s: %s",
		    key_label(key, " under ", "", "").text,
		    philox_error_message());
}

enum philox_status replay_check_begin(struct replay_check *check)
{
	struct philox_function *function = check->recording->function;
	const uint64_t began = runner_time();
	enum philox_status status = agree_to_check(check, reserve_all(check));

	if (status == PHILOX_OK)
		status = verify_try(&check->verify);
	check->open = status == PHILOX_OK;
	if (!check->open) {
		const int lacking = check->verify.lacking;

		close_check(check);
		if (lacking)
			note_unverified(check);
		status = lacking ? PHILOX_OK
				 : status_prefix(status,
						 "function '%s', while a "
						 "replay was verified: ",
						 function->name);
	}
	function->counts.verify_ns += runner_time() - began;
	return status;
}

/* --- after the launch --------------------------------------------------------------------- */

static void tell_difference(const struct replay_check *check,
			    enum verify_why why, const char *text)
{
	struct philox_function *function = check->recording->function;
	struct key *key = check->recording->key;
	const int random = why == VERIFY_RANDOM;

	if (random && key->logged & LOGGED_RANDOM)
		return;
	if (random)
		key->logged |= LOGGED_RANDOM;
	runner_post(function, PHILOX_LOG_WARNING, "differs", PHILOX_CALL_REPLAY,
		    NULL, 0, ": %s", text);
}

static enum philox_status act(struct replay_check *check, enum verify_why why,
			      const char *text)
{
	struct philox_function *function = check->recording->function;

	if (function->policy.differs == PHILOX_DIFFERS_ERROR) {
		check->recording->spoiled = why != VERIFY_RANDOM;
		return status_set(PHILOX_ERROR_DIFFERS, "function '%s': %s",
				  function->name, text);
	}
	tell_difference(check, why, text);
	if (why == VERIFY_RANDOM)
		return PHILOX_OK;
	check->fell_back = 1;
	return verify_give(&check->verify);
}

/* Another process's replay differs, and this one's does not. */
#define OTHERS "replays of other processes differ from their bodies"

/* The next replay is verified, too. */
static enum philox_status differ(struct replay_check *check,
				 const struct verify_item *item, uint64_t place)
{
	struct philox_function *function = check->recording->function;
	char what[VERIFY_TEXT], text[REPLAY_TEXT] = OTHERS;
	enum verify_why why;
	enum philox_status status;

	function->counts.differed += item != NULL;
	function->replays = 0;
	status = verify_explain(&check->verify, item, place, &why, what);
	if (status != PHILOX_OK)
		return status;
	if (item)
		describe_replay(check, what, text);
	return act(check, item ? why : VERIFY_FROZEN, text);
}

/* What differs in one process is acted upon in all. */
static enum philox_status agree_on_outcome(struct replay_check *check,
					   const struct verify_item *item,
					   int *differs)
{
	enum philox_call_kind agreed;
	enum philox_status status;

	*differs = item != NULL;
	if (!check->asked)
		return PHILOX_OK;
	status = agree_on(check->recording->function,
			  item ? PHILOX_CALL_EAGER : PHILOX_CALL_REPLAY,
			  &agreed);
	*differs = status == PHILOX_OK && agreed < PHILOX_CALL_REPLAY;
	return status;
}

/* What could not be verified although others are: there is nothing to undo. */
static enum philox_status follow_others(struct replay_check *check)
{
	struct philox_function *function = check->recording->function;
	enum philox_call_kind agreed;
	int differs;
	enum philox_status status = agree_on_outcome(check, NULL, &differs);

	if (status == PHILOX_OK && differs) /* none runs a body to explain it */
		status = agree_on(function, PHILOX_CALL_EAGER, &agreed);
	if (status != PHILOX_OK || !differs)
		return status;
	function->replays = 0;
	if (function->policy.differs == PHILOX_DIFFERS_EAGER)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_DIFFERS, "function '%s': " OTHERS,
			  function->name);
}

static enum philox_status compare_replay(struct replay_check *check)
{
	struct philox_function *function = check->recording->function;
	const struct verify_item *item;
	uint64_t place;
	int differs;
	enum philox_status status =
		verify_compare(&check->verify, 0, &item, &place);

	if (status != PHILOX_OK)
		return check->asked ? agree_failed(function, status) : status;
	function->counts.verified++;
	status = agree_on_outcome(check, item, &differs);
	if (status != PHILOX_OK || !differs)
		return status;
	return differ(check, item, place);
}

/* A call that fails has not changed what it launched upon. */
static enum philox_status compare_or_undo(struct replay_check *check)
{
	struct status_message kept;
	enum philox_status status = compare_replay(check);

	if (status == PHILOX_OK)
		return PHILOX_OK;
	kept = status_kept();
	return status_first(status, &kept, verify_put_back(&check->verify));
}

enum philox_status replay_check_end(struct replay_check *check,
				    enum philox_status went)
{
	struct philox_function *function = check->recording->function;
	const uint64_t began = runner_time();

	if (!check->open && !check->asked)
		return went;
	if (went != PHILOX_OK && check->asked)
		agree_failed(function, went);
	else if (went == PHILOX_OK)
		went = check->open ? compare_or_undo(check)
				   : follow_others(check);
	if (check->open)
		close_check(check);
	function->counts.verify_ns += runner_time() - began;
	return went;
}

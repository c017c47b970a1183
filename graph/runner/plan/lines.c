/*
 * graph/runner/plan/lines.c - a plan, written and read: see Note [Plan]
 *
 * A text is read once, line by line. Tables grow with the lines read, never
 * with a number that the text announces.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/runner/function/function.h"
#include "graph/runner/plan/plan.h"
#include "lib/text/text.h"

/* --- writing -------------------------------------------------------------- */

static void write_parts(FILE *out, const struct plan_function *function)
{
	for (size_t i = 0; i < PLAN_PARTS; i++) {
		const struct plan_part *part = &plan_parts[i];
		const size_t n = plan_part_count(part, function);

		for (size_t k = 0; k < n; k++)
			fields_write_line(out, part->word, part->fields,
					  plan_part_at(part, function, k));
	}
}

static void write_scripts(FILE *out, const struct plan_function *function)
{
	for (size_t i = 0; i < function->n_scripts; i++) {
		const struct plan_script *script = &function->scripts[i];

		fprintf(out, "script %zu\n", i);
		for (size_t k = 0; k < script->n; k++) {
			const struct step *step = &script->steps[k];
			const struct text_line *line = &plan_steps[step->kind];

			fputs("step ", out);
			fields_write_line(out, line->word, line->fields, step);
		}
	}
}

static void write_key(FILE *out, const struct plan_key *key)
{
	fputs("key ", out);
	if (key->size)
		text_write_bytes(out, key->bytes, key->size);
	else
		fputc('-', out);
	fields_write(out, plan_script_fields, key, 0);
	fields_write(out, plan_key_fields, key, 0);
	if (key->refused)
		fields_write(out, plan_refused_fields, key, 0);
	if (*key->label) {
		fputs(" label", out);
		fields_write(out, plan_label_fields, key, 0);
	}
	fputc('\n', out);
}

static void write_keys(FILE *out, const struct plan_function *function)
{
	const struct key_input *taken = function->takes;

	for (size_t i = 0; i < function->n_keys; i++) {
		write_key(out, &function->keys[i]);
		for (size_t k = 0; k < function->n_inputs; k++, taken++)
			fields_write_line(out, "takes", plan_input_fields,
					  taken);
	}
}

static void write_function(FILE *out, const struct plan_function *function)
{
	fields_write_line(out, "function", plan_function_fields, function);
	write_parts(out, function);
	fputs("policy", out);
	fields_write(out, policy_fields, &function->policy, FIELDS_BY_NAME);
	fputc('\n', out);
	fields_write_line(out, "waste", plan_waste_fields, function);
	write_scripts(out, function);
	write_keys(out, function);
}

static void write_lines(FILE *out, const struct plan *plan)
{
	fprintf(out, PLAN_START "%d\nlibrary ", PLAN_VERSION);
	text_write_name(out, plan->library);
	fields_write_line(out, "\nrunner", plan_peak_fields, plan);
	for (size_t i = 0; i < plan->n_functions; i++)
		write_function(out, &plan->functions[i]);
	for (size_t i = 0; i < plan->n_barred; i++)
		fields_write_line(out, "barred", plan_barred_fields,
				  &plan->barred[i]);
}

enum philox_status plan_write(const struct plan *plan, struct text *text)
{
	if (text_begin(text))
		write_lines(text->out, plan);
	if (text_end(text))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for the text of a plan");
}

/* --- reading -------------------------------------------------------------- */

/* What of a function comes next, at the earliest. */
enum section { OF_INPUTS, OF_OUTPUTS, OF_VALUES, OF_SCRIPTS, OF_KEYS };

/* What steps of a script may name by number: those of its own, above it. */
struct step_counts {
	uint64_t passes, allocations;
	uint64_t outputs, params; /* of the function */
	uint64_t depth;           /* of calls that have not returned */
};

struct plan_reader {
	struct reader in;
	struct plan *plan;
	enum section section;
	struct step_counts counts; /* of the last script */
	struct plan_index keys;    /* of the last function */
	size_t named;              /* scripts, by its keys */
	uint64_t bytes;            /* of its recordings */
};

/* The last function. */
static struct plan_function *planned_function(const struct plan_reader *reader)
{
	return &reader->plan->functions[reader->plan->n_functions - 1];
}

/* Whether a line of this section may come here. */
static int line_fits(struct plan_reader *reader, enum section section)
{
	if (!reader->plan->n_functions) {
		reader_refuse(&reader->in, "%s",
			      "there is no function for it above");
		return 0;
	}
	if (reader->section > section || reader->plan->n_barred)
		reader_refuse(&reader->in, "%s", "it comes too late");
	else if (section >= OF_SCRIPTS && reader->section < OF_SCRIPTS)
		reader_refuse(&reader->in, "%s",
			      "the policy has to come first");
	reader->section = section;
	return reader->in.status == PHILOX_OK;
}

/* --- the first lines ------------------------------------------------------- */

static void read_head(struct plan_reader *reader)
{
	struct reader *in = &reader->in;

	reader_version(in, PLAN_START, "text", PLAN_VERSION);
	reader_expect(in, "library ");
	reader->plan->library = reader_name(in);
	reader_end_line(in);
	reader_expect(in, "runner");
	fields_read(in, plan_peak_fields, reader->plan, 0);
	reader_end_line(in);
}

/* --- scripts --------------------------------------------------------------- */

/* What a step names by number has to be above it. */
static void check_which(struct reader *reader, uint64_t number, uint64_t n,
			const char *what)
{
	if (number >= n)
		reader_refuse(reader, "there is no %s %" PRIu64, what, number);
}

static void check_step(struct reader *reader, const struct step *step,
		       struct step_counts *counts)
{
	switch (step->kind) {
	case STEP_BACKWARD:
		if (step->a != UINT64_MAX)
			check_which(reader, step->a, counts->passes, "pass");
		/* fall through */
	case STEP_FORWARD:
		counts->passes++;
		break;
	case STEP_ALLOC:
		counts->allocations++;
		break;
	case STEP_FREE:
		check_which(reader, step->a, counts->allocations, "allocation");
		break;
	case STEP_OUTPUT:
		check_which(reader, step->a, counts->outputs, "output");
		break;
	case STEP_VALUE:
		check_which(reader, step->a, counts->params, "value");
		break;
	case STEP_CALL:
		counts->depth++;
		break;
	case STEP_INNER_OUTPUT:
	case STEP_INNER_VALUE:
	case STEP_RETURN:
		if (!counts->depth)
			reader_refuse(reader, "%s",
				      "there is no call for it above");
		else
			counts->depth -= step->kind == STEP_RETURN;
	}
}

/* The rest of a line of a step; its region is new memory. */
static struct step read_step(struct reader *reader, struct step_counts *counts)
{
	struct step step = {.kind = STEP_FORWARD};
	unsigned kind = 0;

	while (kind < PLAN_STEPS &&
	       !reader_accept_word(reader, plan_steps[kind].word))
		kind++;
	if (kind == PLAN_STEPS) {
		reader_expected(reader, "a known kind of step");
		return step;
	}
	step.kind = (enum step_kind)kind;
	fields_read(reader, plan_steps[kind].fields, &step, 0);
	check_step(reader, &step, counts);
	reader_end_line(reader);
	return step;
}

static void read_script(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	const struct plan_script script = {0};
	struct plan_function *function;
	uint64_t number;

	if (!line_fits(reader, OF_SCRIPTS))
		return;
	function = planned_function(reader);
	number = reader_decimal(in, 0, PLAN_MOST);
	if (number != function->n_scripts)
		reader_refuse(in, "script %zu has to come first",
			      function->n_scripts);
	reader_end_line(in);
	reader->counts = (struct step_counts){.outputs = function->n_outputs,
					      .params = function->n_params};
	reader_put(in, &function->scripts, &function->n_scripts, &script,
		   sizeof(script));
}

static void read_script_step(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_script *script;
	struct step read;

	if (!line_fits(reader, OF_SCRIPTS))
		return;
	if (!planned_function(reader)->n_scripts) {
		reader_refuse(in, "%s", "there is no script for it above");
		return;
	}
	script = &planned_function(reader)
			  ->scripts[planned_function(reader)->n_scripts - 1];
	read = read_step(in, &reader->counts);
	if (!reader_put(in, &script->steps, &script->n, &read, sizeof(read)))
		free((void *)(uintptr_t)read.region);
}

/* --- keys ------------------------------------------------------------------ */

#define KEY_BYTES_MAX 4096

static void end_key(struct plan_reader *reader)
{
	const struct plan_function *function = planned_function(reader);

	if (function->n_takes < function->n_inputs * function->n_keys)
		reader_refuse(&reader->in,
			      "the key above takes %zu input%s, but there are "
			      "lines for %zu",
			      function->n_inputs, status_s(function->n_inputs),
			      function->n_inputs + function->n_takes -
				      function->n_inputs * function->n_keys);
}

static int ends_within_a_call(const struct plan_script *script)
{
	size_t calls = 0, returns = 0;

	for (size_t i = 0; i < script->n; i++) {
		calls += script->steps[i].kind == STEP_CALL;
		returns += script->steps[i].kind == STEP_RETURN;
	}
	return calls != returns;
}

/* Before the first key: all scripts are there, and no two are the same. */
static void check_scripts(struct plan_reader *reader)
{
	struct plan_function *function = planned_function(reader);
	struct plan_index index = {.things = function,
				   .same = plan_same_scripts};
	enum philox_status status = PHILOX_OK;
	size_t found;

	for (size_t i = 0; status == PHILOX_OK && i < function->n_scripts;
	     i++) {
		status = plan_index_put(&index,
					plan_hash_script(&function->scripts[i]),
					i, &found);
		if (status == PHILOX_OK && found != i)
			reader_refuse(&reader->in,
				      "scripts %zu and %zu above are the same",
				      found, i);
		else if (ends_within_a_call(&function->scripts[i]))
			reader_refuse(&reader->in,
				      "script %zu above ends within a call", i);
	}
	map_finish(&index.numbers);
	if (status != PHILOX_OK && reader->in.status == PHILOX_OK)
		reader->in.status = status;
}

static void read_key_bytes(struct reader *reader, struct plan_key *key)
{
	const size_t digits = reader_digits(reader);
	const size_t size = digits ? (digits + 1) / 2 : 1;

	if (reader->status != PHILOX_OK || reader_accept(reader, "-"))
		return;
	key->bytes = calloc(size, 1);
	if (!key->bytes) {
		reader->status =
			status_set(PHILOX_ERROR_MEMORY, "no memory for a key");
		return;
	}
	reader_bytes(reader, key->bytes, size);
	key->size = size;
	if (size > KEY_BYTES_MAX)
		reader_refuse(reader,
			      "a key of %zu bytes, which has %d at most", size,
			      KEY_BYTES_MAX);
}

/* Scripts are numbered in the order in which keys name them first. */
static void read_key_script(struct plan_reader *reader, struct plan_key *key)
{
	struct reader *in = &reader->in;

	fields_read(in, plan_script_fields, key, 0);
	if (key->script == PLAN_NO_SCRIPT)
		return;
	if (key->script >= planned_function(reader)->n_scripts)
		reader_refuse(in, "there is no script %zu", key->script);
	if (key->script > reader->named)
		reader_refuse(in, "script %zu has to be named first",
			      reader->named);
	reader->named += key->script == reader->named;
}

/* A key of version 1 may have more recordings than one has now. */
static void lessen(struct expected *expected, uint32_t most)
{
	const uint32_t n = expected->n;
	const uint32_t unplayed = expected->unplayed;
	const uint32_t less = n > most ? n - most : 0;

	if (!less)
		return;
	expected->bytes = expected->bytes / n * most;
	expected->n = most;
	expected->unplayed -= less < unplayed ? less : unplayed;
	if (expected->prepared > most - expected->unplayed)
		expected->prepared = most - expected->unplayed;
}

static void check_recordings(struct plan_reader *reader,
			     struct expected *expected)
{
	const uint32_t most = planned_function(reader)->policy.recordings;
	struct reader *in = &reader->in;

	if (expected->unplayed > expected->n ||
	    expected->prepared > expected->n - expected->unplayed)
		reader_refuse(in, "%" PRIu32 " recording%s cannot be so many",
			      expected->n, status_s(expected->n));
	if (!expected->n && expected->bytes)
		reader_refuse(in, "%s", "bytes of no recording");
	if (in->status == PHILOX_OK && in->version == 1)
		lessen(expected, most);
	if (expected->n > most)
		reader_refuse(in,
			      "%" PRIu32 " recording%s, but a key has %" PRIu32
			      " at most",
			      expected->n, status_s(expected->n), most);
	if (expected->bytes > PLAN_MOST - reader->bytes)
		reader_refuse(in, "%s", "the bytes of all keys are too many");
	else
		reader->bytes += expected->bytes;
}

static void read_label(struct reader *in, struct plan_key *key)
{
	if (in->version == 1 || !reader_accept(in, " label"))
		return;
	fields_read(in, plan_label_fields, key, 0);
	if (!*key->label)
		reader_refuse(in, "%s", "a label is not empty");
	else if (name_check(key->label, "a label") != PHILOX_OK)
		reader_refuse(in, "%s", philox_error_message());
}

static void read_key_line(struct plan_reader *reader, struct plan_key *key)
{
	struct reader *in = &reader->in;

	read_key_bytes(in, key);
	read_key_script(reader, key);
	fields_read(in, in->version == 1 ? plan_key_1_fields : plan_key_fields,
		    key, 0);
	check_recordings(reader, &key->expected);
	if (key->wait)
		fields_read(in, plan_refused_fields, key, 0);
	read_label(in, key);
	reader_end_line(in);
}

static void put_key(struct plan_reader *reader, struct plan_key key)
{
	struct reader *in = &reader->in;
	struct plan_function *function = planned_function(reader);
	size_t found = 0;

	if (!reader_put(in, &function->keys, &function->n_keys, &key,
			sizeof(key))) {
		free(key.bytes);
		free(key.refused);
		return;
	}
	reader->keys.things = function;
	in->status = plan_index_put(
		&reader->keys, hash_text((const char *)key.bytes, key.size),
		function->n_keys - 1, &found);
	if (in->status == PHILOX_OK && found != function->n_keys - 1) {
		in->line--; /* which ended */
		reader_refuse(in, "%s", "its function has that key above");
	}
}

static void read_key(struct plan_reader *reader)
{
	const enum section before = reader->section;
	struct plan_key key = {0};

	if (!line_fits(reader, OF_KEYS))
		return;
	if (before != OF_KEYS)
		check_scripts(reader);
	end_key(reader);
	read_key_line(reader, &key);
	put_key(reader, key);
}

/* An automatic input is copied, unless what is written to it would be lost. */
static int may_be_a_copy(const struct philox_input_desc *input)
{
	return input->kind == PHILOX_INPUT_AUTOMATIC &&
	       input->flags != PHILOX_INPUT_MUTATED;
}

static int is_automatic(const struct plan_function *function)
{
	return function->inputs[function->n_takes % function->n_inputs].kind ==
	       PHILOX_INPUT_AUTOMATIC;
}

static void read_taken(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct key_input read = {0};

	if (!line_fits(reader, OF_KEYS))
		return;
	function = planned_function(reader);
	if (function->n_takes >= function->n_inputs * function->n_keys) {
		reader_refuse(in, "%s", "there is no key for it above");
		return;
	}
	fields_read(in, plan_input_fields, &read, 0);
	if (in->version == 1)
		read.moves = 0;
	if (read.pinned &&
	    (in->version == 1 || read.copied || !is_automatic(function)))
		reader_refuse(in, "%s", "this input is not pinned");
	if (read.copied &&
	    !may_be_a_copy(
		    &function->inputs[function->n_takes % function->n_inputs]))
		reader_refuse(in, "%s", "this input is not copied");
	reader_end_line(in);
	reader_put(in, &function->takes, &function->n_takes, &read,
		   sizeof(read));
}

/* --- functions ------------------------------------------------------------- */

static void end_function(struct plan_reader *reader)
{
	const struct plan_function *function;

	if (!reader->plan->n_functions || reader->in.status != PHILOX_OK)
		return;
	function = planned_function(reader);
	if (reader->section < OF_SCRIPTS)
		reader_refuse(&reader->in, "function '%s' has no policy",
			      function->name);
	if (reader->named < function->n_scripts)
		reader_refuse(&reader->in,
			      "script %zu of function '%s' is of no key",
			      reader->named, function->name);
	end_key(reader);
}

static void read_function(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan *plan = reader->plan;
	struct plan_function read = {0};

	end_function(reader);
	if (plan->n_barred)
		reader_refuse(in, "%s", "a function after barred tickets");
	fields_read(in, plan_function_fields, &read, 0);
	if (in->status == PHILOX_OK && !*read.name)
		reader_refuse(in, "%s", "a function without a name");
	if (in->status == PHILOX_OK && plan->n_functions &&
	    strcmp(planned_function(reader)->name, read.name) >= 0)
		reader_refuse(in, "function '%s' has to come before '%s'",
			      read.name, planned_function(reader)->name);
	reader_end_line(in);
	if (!reader_put(in, &plan->functions, &plan->n_functions, &read,
			sizeof(read))) {
		free(read.name);
		return;
	}
	map_finish(&reader->keys.numbers);
	reader->keys = (struct plan_index){.same = plan_same_keys};
	reader->named = 0;
	reader->bytes = 0;
	reader->section = OF_INPUTS;
}

/* The lines of parts have to come in their order. */
static void read_part(struct plan_reader *reader, size_t index)
{
	const struct plan_part *part = &plan_parts[index];
	struct reader *in = &reader->in;
	struct plan_function *function;
	union {
		struct philox_input_desc input;
		struct philox_output_desc output;
		struct philox_param_desc value;
	} read;
	size_t n;

	if (!line_fits(reader, (enum section)(OF_INPUTS + index)))
		return;
	memset(&read, 0, sizeof(read));
	function = planned_function(reader);
	fields_read(in, part->fields, &read, 0);
	reader_end_line(in);
	n = plan_part_count(part, function);
	if (reader_put(in, (char *)function + part->items, &n, &read,
		       part->size))
		field_set(&part->count, function, n);
	else
		fields_free(part->fields, &read);
}

/* What nothing is like now is refused by name. */
static void read_policy_1(struct reader *in, struct plan_function *function)
{
	struct policy_1 old = {0};
	const char *unlike;
	int fixed = 0;

	fields_read(in, policy_1_fields, &old, FIELDS_BY_NAME);
	if (in->status != PHILOX_OK)
		return;
	unlike = policy_of_1(&old, &function->policy, &fixed);
	if (unlike)
		in->status = status_set(PHILOX_ERROR_UNSUPPORTED,
					"line %" PRIu64
					": function '%s': nothing is like "
					"policy.%s of version 1",
					in->line, function->name, unlike);
	for (size_t i = 0; fixed && i < function->n_inputs; i++)
		if (function->inputs[i].kind == PHILOX_INPUT_STATIC)
			function->inputs[i].flags |= PHILOX_INPUT_FIXED;
}

static void read_policy_2(struct reader *in, struct plan_function *function)
{
	fields_read(in, policy_fields, &function->policy, FIELDS_BY_NAME);
	if (in->status == PHILOX_OK && !function->policy.recordings)
		reader_refuse(in, "%s", "a key has 1 recording at least");
	reader_end_line(in);
	reader_expect(in, "waste");
	fields_read(in, plan_waste_fields, function, 0);
}

static void read_policy(struct plan_reader *reader)
{
	struct reader *in = &reader->in;

	if (!line_fits(reader, OF_VALUES))
		return;
	if (in->version == 1)
		read_policy_1(in, planned_function(reader));
	else
		read_policy_2(in, planned_function(reader));
	reader_end_line(in);
	reader->section = OF_SCRIPTS;
}

/* --- barred tickets -------------------------------------------------------- */

static int by_name(const void *name, const void *function)
{
	return strcmp(name, ((const struct plan_function *)function)->name);
}

static void check_barred(struct plan_reader *reader,
			 const struct plan_barred *barred)
{
	const struct plan *plan = reader->plan;

	if (plan->n_barred == UNRECORDED_TICKETS)
		reader_refuse(&reader->in, "more than %d barred tickets",
			      UNRECORDED_TICKETS);
	if (reader->in.status == PHILOX_OK && barred->alive &&
	    (!plan->n_functions ||
	     !bsearch(barred->function, plan->functions, plan->n_functions,
		      sizeof(*plan->functions), by_name)))
		reader_refuse(&reader->in, "there is no function '%s' above",
			      barred->function);
}

static void read_barred(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan *plan = reader->plan;
	struct plan_barred read = {0};

	if (!plan->n_barred)
		end_function(reader);
	fields_read(in, plan_barred_fields, &read, 0);
	check_barred(reader, &read);
	reader_end_line(in);
	if (!reader_put(in, &plan->barred, &plan->n_barred, &read,
			sizeof(read)))
		fields_free(plan_barred_fields, &read);
}

/* --- all of it -------------------------------------------------------------- */

static void read_line(struct plan_reader *reader)
{
	static const struct {
		const char *word;
		void (*read)(struct plan_reader *reader);
	} lines[] = {{"takes", read_taken},       {"key", read_key},
		     {"step", read_script_step},  {"script", read_script},
		     {"function", read_function}, {"policy", read_policy},
		     {"barred", read_barred}};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (reader_accept_word(&reader->in, lines[i].word)) {
			lines[i].read(reader);
			return;
		}
	for (size_t i = 0; i < PLAN_PARTS; i++)
		if (reader_accept_word(&reader->in, plan_parts[i].word)) {
			read_part(reader, i);
			return;
		}
	reader_expected(&reader->in, "a known kind of line");
}

static void read_plan_lines(struct plan_reader *reader)
{
	struct reader *in = &reader->in;

	while (in->status == PHILOX_OK) {
		const char *line = in->at;

		if (!reader_accept(in, "checksum ")) {
			read_line(reader);
			continue;
		}
		if (!reader->plan->n_barred)
			end_function(reader);
		reader_checksum(in, line);
		return;
	}
}

enum philox_status plan_read(const char *text, size_t size, struct plan *plan)
{
	struct plan_reader reader = {.in = reader_start(text, size),
				     .plan = plan};

	memset(plan, 0, sizeof(*plan));
	read_head(&reader);
	read_plan_lines(&reader);
	map_finish(&reader.keys.numbers);
	if (reader.in.status != PHILOX_OK)
		plan_finish(plan);
	return reader.in.status;
}

/*
 * graph/runner/plan/lines.c - writing a plan: see Note [Plan]
 *
 * The text is written into a stream in memory, which remembers whether it ran
 * out of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/runner/plan/plan.h"
#include "lib/state/state.h"
#include "lib/text/text.h"

/* --- functions ---------------------------------------------------------------- */

static void write_descriptors(FILE *out, const struct plan_function *function)
{
	static const char *const kinds[] = {"static", "copied", "automatic"};

	for (size_t i = 0; i < function->n_inputs; i++) {
		const struct philox_input *input = &function->inputs[i];

		fputs("input ", out);
		text_write_name(out, input->name);
		fprintf(out,
			" %s flags %" PRIu32 " alignment %zu elements %" PRIu32
			"\n",
			kinds[input->kind], input->flags, input->alignment,
			input->elements);
	}
	for (size_t i = 0; i < function->n_outputs; i++) {
		fputs("output ", out);
		text_write_name(out, function->outputs[i].name);
		fprintf(out, " elements %" PRIu32 "\n",
			function->outputs[i].elements);
	}
	for (size_t i = 0; i < function->n_values; i++) {
		fputs("value ", out);
		text_write_name(out, function->values[i].name);
		fprintf(out, " bytes %zu\n", function->values[i].bytes);
	}
}

static void write_number(FILE *out, const char *word, uint32_t number)
{
	if (number == PHILOX_NEVER)
		fprintf(out, " %s never", word);
	else
		fprintf(out, " %s %" PRIu32, word, number);
}

static void write_plan_policy(FILE *out, const struct philox_policy *policy)
{
	static const char *const moved[] = {"limit", "record", "error"};
	static const char *const live[] = {"eager", "record"};
	static const char *const refused[] = {"eager", "error"};
	static const char *const differs[] = {"error", "eager"};

	fprintf(out, "policy moved %s live %s refused %s", moved[policy->moved],
		live[policy->live], refused[policy->refused]);
	write_number(out, "limit", policy->limit);
	write_number(out, "warmups", policy->warmups);
	write_number(out, "dry", policy->dry);
	write_number(out, "after", policy->after);
	write_number(out, "again", policy->again);
	write_number(out, "retry", policy->retry);
	write_number(out, "keys", policy->keys);
	write_number(out, "verify", policy->verify);
	fprintf(out, " differs %s bytes %" PRIu64 "\n",
		differs[policy->differs], policy->bytes);
}

/* --- scripts ------------------------------------------------------------------- */

static void write_region_step(FILE *out, const char *what,
			      const struct step *step)
{
	fprintf(out, "%s ", what);
	text_write_name(out, step->region);
	if (step->kind == STEP_BACKWARD && step->a != UINT64_MAX)
		fprintf(out, " of %" PRIu64, step->a);
	fprintf(out, " flags %u\n", step->flags);
}

static void write_step(FILE *out, const struct step *step)
{
	fputs("step ", out);
	switch (step->kind) {
	case STEP_FORWARD:
		write_region_step(out, "forward", step);
		break;
	case STEP_BACKWARD:
		write_region_step(out, "backward", step);
		break;
	case STEP_ALLOC:
		fprintf(out, "alloc %" PRIu64 " alignment %" PRIu64 "\n",
			step->a, step->b);
		break;
	case STEP_FREE:
		fprintf(out, "free %" PRIu64 "\n", step->a);
		break;
	case STEP_OUTPUT:
		fprintf(out, "output %" PRIu64 " bytes %" PRIu64 "\n", step->a,
			step->b);
		break;
	case STEP_VALUE:
		fprintf(out, "value %" PRIu64 "\n", step->a);
	}
}

static void write_scripts(FILE *out, const struct plan_function *function)
{
	for (size_t i = 0; i < function->n_scripts; i++) {
		const struct plan_script *script = &function->scripts[i];

		fprintf(out, "script %zu\n", i);
		for (size_t k = 0; k < script->n; k++)
			write_step(out, &script->steps[k]);
	}
}

/* --- keys ---------------------------------------------------------------------- */

static void write_key_bytes(FILE *out, const struct plan_key *key)
{
	static const char digits[] = "0123456789abcdef";

	fputs("key ", out);
	if (!key->size)
		fputc('-', out);
	for (size_t i = 0; i < key->size; i++) {
		fputc(digits[key->bytes[i] >> 4], out);
		fputc(digits[key->bytes[i] & 15], out);
	}
}

static void write_key(FILE *out, const struct plan_key *key)
{
	write_key_bytes(out, key);
	if (key->script == PLAN_NO_SCRIPT)
		fputs(" script none", out);
	else
		fprintf(out, " script %zu", key->script);
	fprintf(out,
		" calls %" PRIu64 " warmups %" PRIu32 " dry %" PRIu32
		" limited %" PRIu32 " recordings %" PRIu32 " unplayed %" PRIu32
		" prepared %" PRIu32 " bytes %" PRIu64,
		key->calls, key->warmups, key->dry, key->limited,
		key->expected.n, key->expected.unplayed, key->expected.prepared,
		key->expected.bytes);
	write_number(out, "wait", key->wait);
	if (key->refused) {
		fputs(" refused ", out);
		text_write_name(out, key->refused);
	}
	fputc('\n', out);
}

static void write_keys(FILE *out, const struct plan_function *function)
{
	const struct key_input *taken = function->takes;

	for (size_t i = 0; i < function->n_keys; i++) {
		write_key(out, &function->keys[i]);
		for (size_t k = 0; k < function->n_inputs; k++, taken++)
			fprintf(out, "takes %zu moves %" PRIu32 "%s\n",
				taken->bytes, taken->moves,
				taken->copied ? " copied" : "");
	}
}

/* --- all of it ------------------------------------------------------------------ */

static void write_plan_function(FILE *out, const struct plan_function *function)
{
	static const char *const modes[] = {"forward", "backward", "inference"};

	fputs("function ", out);
	text_write_name(out, function->name);
	fprintf(out, " %s flags %" PRIu32 "\n", modes[function->mode],
		function->flags);
	write_descriptors(out, function);
	write_plan_policy(out, &function->policy);
	write_scripts(out, function);
	write_keys(out, function);
}

static void write_barred(FILE *out, const struct plan_barred *barred)
{
	fprintf(out, "barred %016" PRIx64 " %" PRIu64 " by ",
		barred->ticket.region_key, barred->ticket.serial);
	text_write_name(out, barred->function);
	fprintf(out, " %s for ", barred->alive ? "alive" : "destroyed");
	text_write_name(out, barred->reason);
	fputc('\n', out);
}

static void write_lines(FILE *out, const struct plan *plan)
{
	fprintf(out, "philox plan %d\nlibrary ", PLAN_VERSION);
	text_write_name(out, plan->library);
	fprintf(out, "\nrunner live %" PRIu64 " mapped %" PRIu64 "\n",
		plan->live, plan->mapped);
	for (size_t i = 0; i < plan->n_functions; i++)
		write_plan_function(out, &plan->functions[i]);
	for (size_t i = 0; i < plan->n_barred; i++)
		write_barred(out, &plan->barred[i]);
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

/* --- read: reading a plan: see Note [Plan] -------------------------------- */

/* --- the first lines -------------------------------------------------------------- */

static void read_head(struct plan_reader *reader)
{
	struct reader *in = &reader->in;

	reader_expect(in, "philox plan ");
	in->version = reader_decimal(in, 1, UINT64_MAX);
	if (in->version > PLAN_VERSION) {
		in->status = status_set(PHILOX_ERROR_UNSUPPORTED,
					"line 1: the text has version %" PRIu64
					", the newest this library reads is %d",
					in->version, PLAN_VERSION);
		return;
	}
	reader_end_line(in);
	reader_expect(in, "library ");
	reader->plan->library = reader_name(in);
	reader_end_line(in);
	reader_expect(in, "runner");
	reader->plan->live = plan_size(in, " live ");
	reader->plan->mapped = plan_size(in, " mapped ");
	reader_end_line(in);
}

/* --- barred tickets --------------------------------------------------------------- */

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
		plan_end_function(reader);
	read.ticket.region_key = reader_hex(in);
	reader_expect(in, " ");
	read.ticket.serial = reader_decimal(in, 1, PLAN_MOST);
	reader_expect(in, " by ");
	read.function = plan_short_name(
		in, TEXT_OF(((struct unrecorded_ticket *)0)->name));
	read.alive = reader_accept(in, " alive");
	if (!read.alive)
		reader_expect(in, " destroyed");
	reader_expect(in, " for ");
	read.reason = plan_short_name(
		in, TEXT_OF(((struct unrecorded_ticket *)0)->reason));
	check_barred(reader, &read);
	reader_end_line(in);
	plan->barred =
		reader_grow(in, plan->barred, plan->n_barred, sizeof(read));
	if (in->status == PHILOX_OK) {
		plan->barred[plan->n_barred++] = read;
		return;
	}
	free(read.function);
	free(read.reason);
}

/* --- all of it --------------------------------------------------------------------- */

static void read_line(struct plan_reader *reader)
{
	static const struct {
		const char *word;
		void (*read)(struct plan_reader *reader);
	} lines[] = {{"takes ", plan_read_taken},
		     {"key ", plan_read_key},
		     {"step ", plan_read_script_step},
		     {"script ", plan_begin_script},
		     {"function ", plan_begin_function},
		     {"input ", plan_read_input},
		     {"output ", plan_read_output},
		     {"value ", plan_read_value},
		     {"policy ", plan_read_policy},
		     {"barred ", read_barred}};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (reader_accept(&reader->in, lines[i].word)) {
			lines[i].read(reader);
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
			plan_end_function(reader);
		reader_checksum(in, line);
		return;
	}
}

enum philox_status plan_read(const char *text, size_t size, struct plan *plan)
{
	struct plan_reader reader = {.in = {.text = text,
					    .at = text,
					    .end = text + size,
					    .start = text,
					    .line = 1},
				     .plan = plan};

	memset(plan, 0, sizeof(*plan));
	read_head(&reader);
	read_plan_lines(&reader);
	free(reader.keys.places);
	if (reader.in.status != PHILOX_OK)
		plan_finish(plan);
	return reader.in.status;
}

/* --- function: a function of a plan, read, and its scripts ---------------- */

void plan_end_function(struct plan_reader *reader)
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
	plan_end_key(reader);
}

/* --- functions ------------------------------------------------------------------- */

void plan_begin_function(struct plan_reader *reader)
{
	static const char *const modes[] = {" forward", " backward",
					    " inference"};
	struct reader *in = &reader->in;
	struct plan *plan = reader->plan;
	struct plan_function read = {0};

	plan_end_function(reader);
	if (plan->n_barred)
		reader_refuse(in, "%s", "a function after barred tickets");
	read.name = plan_short_name(
		in, TEXT_OF(((struct philox_function *)0)->name));
	read.mode = plan_choice(in, modes, 3, "a mode of functions");
	read.flags = plan_number(in, " flags ");
	if (in->status == PHILOX_OK && !*read.name)
		reader_refuse(in, "%s", "a function without a name");
	if (in->status == PHILOX_OK && plan->n_functions &&
	    strcmp(planned_function(reader)->name, read.name) >= 0)
		reader_refuse(in, "function '%s' has to come before '%s'",
			      read.name, planned_function(reader)->name);
	reader_end_line(in);
	plan->functions = reader_grow(in, plan->functions, plan->n_functions,
				      sizeof(*plan->functions));
	if (in->status != PHILOX_OK) {
		free(read.name);
		return;
	}
	plan->functions[plan->n_functions++] = read;
	free(reader->keys.places);
	reader->keys = (struct plan_index){.same = plan_same_keys};
	reader->named = 0;
	reader->bytes = 0;
	reader->section = OF_INPUTS;
}

void plan_read_input(struct plan_reader *reader)
{
	static const char *const kinds[] = {" static", " copied", " automatic"};
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct philox_input read = {0};
	char *name;

	if (!plan_line_fits(reader, OF_INPUTS))
		return;
	function = planned_function(reader);
	read.name = name = reader_name(in);
	read.kind = plan_choice(in, kinds, 3, "a kind of inputs");
	read.flags = plan_number(in, " flags ");
	read.alignment = (size_t)plan_size(in, " alignment ");
	read.elements = plan_number(in, " elements ");
	reader_end_line(in);
	function->inputs = reader_grow(in, function->inputs, function->n_inputs,
				       sizeof(read));
	if (in->status == PHILOX_OK)
		function->inputs[function->n_inputs++] = read;
	else
		free(name);
}

void plan_read_output(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct philox_output_info read = {0};
	char *name;

	if (!plan_line_fits(reader, OF_OUTPUTS))
		return;
	function = planned_function(reader);
	read.name = name = reader_name(in);
	read.elements = plan_number(in, " elements ");
	reader_end_line(in);
	function->outputs = reader_grow(in, function->outputs,
					function->n_outputs, sizeof(read));
	if (in->status == PHILOX_OK)
		function->outputs[function->n_outputs++] = read;
	else
		free(name);
}

void plan_read_value(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct philox_value read = {0};
	char *name;

	if (!plan_line_fits(reader, OF_VALUES))
		return;
	function = planned_function(reader);
	read.name = name = reader_name(in);
	read.bytes = (size_t)plan_size(in, " bytes ");
	reader_end_line(in);
	function->values = reader_grow(in, function->values, function->n_values,
				       sizeof(read));
	if (in->status == PHILOX_OK)
		function->values[function->n_values++] = read;
	else
		free(name);
}

void plan_read_policy(struct plan_reader *reader)
{
	static const char *const moved[] = {"limit", "record", "error"};
	static const char *const live[] = {"eager", "record"};
	static const char *const refused[] = {"eager", "error"};
	static const char *const differs[] = {"error", "eager"};
	struct reader *in = &reader->in;
	struct philox_policy *policy;

	if (!plan_line_fits(reader, OF_VALUES))
		return;
	policy = &planned_function(reader)->policy;
	reader_expect(in, "moved ");
	policy->moved = plan_choice(in, moved, 3, "what moved inputs do");
	reader_expect(in, " live ");
	policy->live = plan_choice(in, live, 2, "'eager' or 'record'");
	reader_expect(in, " refused ");
	policy->refused = plan_choice(in, refused, 2, "'eager' or 'error'");
	policy->limit = plan_or_never(in, " limit");
	policy->warmups = plan_or_never(in, " warmups");
	policy->dry = plan_or_never(in, " dry");
	policy->after = plan_or_never(in, " after");
	policy->again = plan_or_never(in, " again");
	policy->retry = plan_or_never(in, " retry");
	policy->keys = plan_or_never(in, " keys");
	policy->verify = plan_or_never(in, " verify");
	reader_expect(in, " differs ");
	policy->differs = plan_choice(in, differs, 2, "'error' or 'eager'");
	reader_expect(in, " bytes ");
	policy->bytes = reader_decimal(in, 0, UINT64_MAX);
	reader_end_line(in);
	reader->section = OF_SCRIPTS;
}

/* --- scripts --------------------------------------------------------------------- */

void plan_begin_script(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	uint64_t number;

	if (!plan_line_fits(reader, OF_SCRIPTS))
		return;
	function = planned_function(reader);
	number = reader_decimal(in, 0, PLAN_MOST);
	if (number != function->n_scripts)
		reader_refuse(in, "script %zu has to come first",
			      function->n_scripts);
	reader_end_line(in);
	function->scripts =
		reader_grow(in, function->scripts, function->n_scripts,
			    sizeof(*function->scripts));
	reader->counts = (struct step_counts){.outputs = function->n_outputs,
					      .values = function->n_values};
	if (in->status == PHILOX_OK)
		function->scripts[function->n_scripts++] =
			(struct plan_script){0};
}

void plan_read_script_step(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_script *script;
	struct step read;

	if (!plan_line_fits(reader, OF_SCRIPTS))
		return;
	if (!planned_function(reader)->n_scripts) {
		reader_refuse(in, "%s", "there is no script for it above");
		return;
	}
	script = &planned_function(reader)
			  ->scripts[planned_function(reader)->n_scripts - 1];
	read = plan_read_step(in, &reader->counts);
	script->steps = reader_grow(in, script->steps, script->n, sizeof(read));
	if (in->status == PHILOX_OK)
		script->steps[script->n++] = read;
	else
		free((void *)(uintptr_t)read.region);
}

/* --- keys: keys of a plan, read ------------------------------------------- */

#define EXPECTED_MAX  (UINT32_MAX / 2)
#define KEY_BYTES_MAX 4096

void plan_end_key(struct plan_reader *reader)
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
	}
	free(index.places);
	if (status != PHILOX_OK && reader->in.status == PHILOX_OK)
		reader->in.status = status;
}

/* --- keys ------------------------------------------------------------------------ */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_key_bytes(struct reader *reader, struct plan_key *key)
{
	size_t n = 0;

	if (reader->status != PHILOX_OK || reader_accept(reader, "-"))
		return;
	while (reader->at + n < reader->end && hex_digit(reader->at[n]) >= 0)
		n++;
	if (!n || n % 2) {
		reader->at += n;
		reader_expected(reader, "a digit of 0-9 and a-f");
		return;
	}
	if (n / 2 > KEY_BYTES_MAX) {
		reader_refuse(reader,
			      "a key of %zu bytes, which has %d at most", n / 2,
			      KEY_BYTES_MAX);
		return;
	}
	key->bytes = malloc(n / 2);
	if (!key->bytes) {
		reader->status =
			status_set(PHILOX_ERROR_MEMORY, "no memory for a key");
		return;
	}
	for (; key->size < n / 2; reader->at += 2)
		key->bytes[key->size++] =
			(unsigned char)(hex_digit(reader->at[0]) * 16 +
					hex_digit(reader->at[1]));
}

/* Scripts are numbered in the order in which keys name them first. */
static void read_key_script(struct plan_reader *reader, struct plan_key *key)
{
	struct reader *in = &reader->in;

	key->script = PLAN_NO_SCRIPT;
	reader_expect(in, " script ");
	if (reader_accept(in, "none"))
		return;
	key->script = (size_t)reader_decimal(in, 0, PLAN_MOST);
	if (key->script >= planned_function(reader)->n_scripts)
		reader_refuse(in, "there is no script %zu", key->script);
	if (key->script > reader->named)
		reader_refuse(in, "script %zu has to be named first",
			      reader->named);
	reader->named += key->script == reader->named;
}

static void read_expected(struct plan_reader *reader, struct expected *expected)
{
	struct reader *in = &reader->in;

	reader_expect(in, " recordings ");
	expected->n = (uint32_t)reader_decimal(in, 0, EXPECTED_MAX);
	expected->unplayed = plan_number(in, " unplayed ");
	expected->prepared = plan_number(in, " prepared ");
	expected->bytes = plan_size(in, " bytes ");
	if (expected->unplayed > expected->n ||
	    expected->prepared > expected->n - expected->unplayed)
		reader_refuse(in, "%" PRIu32 " recording%s cannot be so many",
			      expected->n, status_s(expected->n));
	if (!expected->n && expected->bytes)
		reader_refuse(in, "%s", "bytes of no recording");
	if (expected->bytes > PLAN_MOST - reader->bytes)
		reader_refuse(in, "%s", "the bytes of all keys are too many");
	else
		reader->bytes += expected->bytes;
}

static void read_wait(struct reader *reader, struct plan_key *key)
{
	key->wait = plan_or_never(reader, " wait");
	if (!key->wait)
		return;
	reader_expect(reader, " refused ");
	key->refused =
		plan_short_name(reader, TEXT_OF(((struct key *)0)->refused));
}

static void read_key_words(struct plan_reader *reader, struct plan_key *key)
{
	struct reader *in = &reader->in;

	read_key_bytes(in, key);
	read_key_script(reader, key);
	reader_expect(in, " calls ");
	key->calls = reader_decimal(in, 0, PLAN_MOST);
	reader_expect(in, " warmups ");
	key->warmups = (uint32_t)reader_decimal(in, 0, UINT32_MAX - 1);
	reader_expect(in, " dry ");
	key->dry = (uint32_t)reader_decimal(in, 0, DRY_MAX);
	key->limited = plan_number(in, " limited ");
	read_expected(reader, &key->expected);
	read_wait(in, key);
	reader_end_line(in);
}

static void put_key(struct plan_reader *reader, struct plan_key key)
{
	struct reader *in = &reader->in;
	struct plan_function *function = planned_function(reader);
	size_t found = 0;

	function->keys = reader_grow(in, function->keys, function->n_keys,
				     sizeof(*function->keys));
	if (in->status != PHILOX_OK) {
		free(key.bytes);
		free(key.refused);
		return;
	}
	function->keys[function->n_keys++] = key;
	reader->keys.things = function;
	in->status = plan_index_put(
		&reader->keys, hash_text((const char *)key.bytes, key.size),
		function->n_keys - 1, &found);
	if (in->status == PHILOX_OK && found != function->n_keys - 1) {
		in->line--; /* which ended */
		reader_refuse(in, "%s", "its function has that key above");
	}
}

void plan_read_key(struct plan_reader *reader)
{
	const enum section before = reader->section;
	struct plan_key key = {0};

	if (!plan_line_fits(reader, OF_KEYS))
		return;
	if (before != OF_KEYS)
		check_scripts(reader);
	plan_end_key(reader);
	read_key_words(reader, &key);
	put_key(reader, key);
}

/* An automatic input is copied, unless what is written to it would be lost. */
static int may_be_a_copy(const struct philox_input *input)
{
	return input->kind == PHILOX_INPUT_AUTOMATIC &&
	       input->flags != PHILOX_INPUT_MUTATED;
}

void plan_read_taken(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct key_input read = {0};

	if (!plan_line_fits(reader, OF_KEYS))
		return;
	function = planned_function(reader);
	if (function->n_takes >= function->n_inputs * function->n_keys) {
		reader_refuse(in, "%s", "there is no key for it above");
		return;
	}
	read.bytes = (size_t)reader_decimal(in, 0, PLAN_MOST);
	read.moves = plan_number(in, " moves ");
	read.copied = reader_accept(in, " copied");
	if (read.copied &&
	    !may_be_a_copy(
		    &function->inputs[function->n_takes % function->n_inputs]))
		reader_refuse(in, "%s", "this input is not copied");
	reader_end_line(in);
	function->takes = reader_grow(in, function->takes, function->n_takes,
				      sizeof(read));
	if (in->status == PHILOX_OK)
		function->takes[function->n_takes++] = read;
}

/* --- steps: steps of scripts, read: see Note [Plan] ----------------------- */

/* The number of something of which there are `n`. */
static uint64_t read_which(struct reader *reader, uint64_t n, const char *what)
{
	const uint64_t number = reader_decimal(reader, 0, UINT64_MAX / 2);

	if (number >= n)
		reader_refuse(reader, "there is no %s %" PRIu64, what, number);
	return number;
}

static uint64_t read_after(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	return reader_decimal(reader, 0, UINT64_MAX / 2);
}

static void read_flags(struct reader *reader, struct step *step)
{
	reader_expect(reader, " flags ");
	step->flags = (unsigned)reader_decimal(reader, 0, UINT32_MAX);
}

static void read_pass(struct reader *reader, struct step *step,
		      struct step_counts *counts)
{
	step->region = reader_name(reader);
	if (step->kind == STEP_BACKWARD && reader_accept(reader, " of "))
		step->a = read_which(reader, counts->passes, "pass");
	else if (step->kind == STEP_BACKWARD)
		step->a = UINT64_MAX;
	read_flags(reader, step);
	counts->passes++;
}

static void read_memory(struct reader *reader, struct step *step,
			struct step_counts *counts)
{
	if (step->kind == STEP_FREE) {
		step->a = read_which(reader, counts->allocations, "allocation");
		return;
	}
	step->a = reader_decimal(reader, 0, UINT64_MAX / 2);
	step->b = read_after(reader, " alignment ");
	counts->allocations++;
}

static void read_named(struct reader *reader, struct step *step,
		       const struct step_counts *counts)
{
	if (step->kind == STEP_VALUE) {
		step->a = read_which(reader, counts->values, "value");
		return;
	}
	step->a = read_which(reader, counts->outputs, "output");
	step->b = read_after(reader, " bytes ");
}

struct step plan_read_step(struct reader *reader, struct step_counts *counts)
{
	static const char *const words[] = {
		[STEP_FORWARD] = "forward ", [STEP_BACKWARD] = "backward ",
		[STEP_ALLOC] = "alloc ",     [STEP_FREE] = "free ",
		[STEP_OUTPUT] = "output ",   [STEP_VALUE] = "value "};
	struct step step = {STEP_FORWARD, 0, NULL, 0, 0};
	int kind = STEP_FORWARD;

	while (kind <= STEP_VALUE && !reader_accept(reader, words[kind]))
		kind++;
	if (kind > STEP_VALUE) {
		reader_expected(reader, "a known kind of step");
		return step;
	}
	step.kind = (enum step_kind)kind;
	if (kind <= STEP_BACKWARD)
		read_pass(reader, &step, counts);
	else if (kind <= STEP_FREE)
		read_memory(reader, &step, counts);
	else
		read_named(reader, &step, counts);
	reader_end_line(reader);
	return step;
}

/* --- words: words of a plan: see graph/runner/plan/plan.h --- */

struct plan_function *planned_function(const struct plan_reader *reader)
{
	return &reader->plan->functions[reader->plan->n_functions - 1];
}

/* Whether a line of this section may come here. */
int plan_line_fits(struct plan_reader *reader, enum section section)
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

/* One of `n` words: its number. */
uint32_t plan_choice(struct reader *reader, const char *const *words,
		     uint32_t n, const char *what)
{
	for (uint32_t i = 0; i < n; i++)
		if (reader_accept(reader, words[i]))
			return i;
	reader_expected(reader, what);
	return 0;
}

/* The words have the space before them, and after them where that is sure. */
uint32_t plan_number(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	return (uint32_t)reader_decimal(reader, 0, UINT32_MAX);
}

uint32_t plan_or_never(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	if (reader_accept(reader, " never"))
		return PHILOX_NEVER;
	reader_expect(reader, " ");
	return (uint32_t)reader_decimal(reader, 0, PHILOX_NEVER - 1);
}

uint64_t plan_size(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	return reader_decimal(reader, 0, PLAN_MOST);
}

/* A name that the library has in an array of so many bytes. */
char *plan_short_name(struct reader *reader, size_t most)
{
	char *name = reader_name(reader);

	if (name && reader->status == PHILOX_OK && strlen(name) > most)
		reader_refuse(reader, "a text of more than %zu bytes", most);
	return name;
}

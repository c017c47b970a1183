/*
 * graph/runner_plan_read.c - reading a plan: see Note [Plan]
 *
 * The text is read once, line by line. Tables grow with the lines read, never
 * with a number that the text announces.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner_plan.h"
#include "graph/runner_plan_steps.h"
#include "lib/save/words.h"
#include "lib/state/region.h"

#define MOST            (UINT64_MAX / 2)
#define DEBTS_MAX       (UINT32_MAX / 2)
#define KEY_SIZE_MAX    4096
#define TEXT_OF(member) (sizeof(member) - 1)

/* What of a function comes next, at the earliest. */
enum section { OF_INPUTS, OF_OUTPUTS, OF_VALUES, OF_SCRIPTS, OF_KEYS };

struct plan_reader {
	struct reader in;
	struct plan *plan;
	enum section section;
	struct step_counts counts; /* of the last script */
	struct plan_index keys;    /* of the last function */
	size_t named;              /* scripts, by its keys */
	uint64_t bytes;            /* of its recordings */
};

static struct plan_function *last_function(const struct plan_reader *reader)
{
	return &reader->plan->functions[reader->plan->n_functions - 1];
}

/* Whether a line of this section may come here. */
static int is_in_place(struct plan_reader *reader, enum section section)
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
static uint32_t read_choice(struct reader *reader, const char *const *words,
			    uint32_t n, const char *what)
{
	for (uint32_t i = 0; i < n; i++)
		if (reader_accept(reader, words[i]))
			return i;
	reader_expected(reader, what);
	return 0;
}

/* The words have the space before them, and after them where that is sure. */
static uint32_t read_number(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	return (uint32_t)reader_decimal(reader, 0, UINT32_MAX);
}

static uint32_t read_or_never(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	if (reader_accept(reader, " never"))
		return PHILOX_NEVER;
	reader_expect(reader, " ");
	return (uint32_t)reader_decimal(reader, 0, PHILOX_NEVER - 1);
}

static uint64_t read_size(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	return reader_decimal(reader, 0, MOST);
}

/* A name that the library has in an array of so many bytes. */
static char *read_short_name(struct reader *reader, size_t most)
{
	char *name = reader_name(reader);

	if (name && reader->status == PHILOX_OK && strlen(name) > most)
		reader_refuse(reader, "a text of more than %zu bytes", most);
	return name;
}

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
	reader->plan->live = read_size(in, " live ");
	reader->plan->mapped = read_size(in, " mapped ");
	reader_end_line(in);
}

/* --- the end of a function --------------------------------------------------------- */

static void end_key(struct plan_reader *reader)
{
	const struct plan_function *function = last_function(reader);

	if (function->n_takes < function->n_inputs * function->n_keys)
		reader_refuse(&reader->in,
			      "the key above takes %zu input%s, but there are "
			      "lines for %zu",
			      function->n_inputs, status_s(function->n_inputs),
			      function->n_inputs + function->n_takes -
				      function->n_inputs * function->n_keys);
}

static void end_function(struct plan_reader *reader)
{
	const struct plan_function *function;

	if (!reader->plan->n_functions || reader->in.status != PHILOX_OK)
		return;
	function = last_function(reader);
	if (reader->section < OF_SCRIPTS)
		reader_refuse(&reader->in, "function '%s' has no policy",
			      function->name);
	if (reader->named < function->n_scripts)
		reader_refuse(&reader->in,
			      "script %zu of function '%s' is of no key",
			      reader->named, function->name);
	end_key(reader);
}

/* --- functions ------------------------------------------------------------------- */

static void begin_function(struct plan_reader *reader)
{
	static const char *const modes[] = {" forward", " backward",
					    " inference"};
	struct reader *in = &reader->in;
	struct plan *plan = reader->plan;
	struct plan_function read = {0};

	end_function(reader);
	if (plan->n_barred)
		reader_refuse(in, "%s", "a function after barred tickets");
	read.name = read_short_name(
		in, TEXT_OF(((struct philox_function *)0)->name));
	read.mode = read_choice(in, modes, 3, "a mode of functions");
	read.flags = read_number(in, " flags ");
	if (in->status == PHILOX_OK && !*read.name)
		reader_refuse(in, "%s", "a function without a name");
	if (in->status == PHILOX_OK && plan->n_functions &&
	    strcmp(last_function(reader)->name, read.name) >= 0)
		reader_refuse(in, "function '%s' has to come before '%s'",
			      read.name, last_function(reader)->name);
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

static void read_input(struct plan_reader *reader)
{
	static const char *const kinds[] = {" static", " copied", " automatic"};
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct philox_input read = {0};
	char *name;

	if (!is_in_place(reader, OF_INPUTS))
		return;
	function = last_function(reader);
	read.name = name = reader_name(in);
	read.kind = read_choice(in, kinds, 3, "a kind of inputs");
	read.flags = read_number(in, " flags ");
	read.alignment = (size_t)read_size(in, " alignment ");
	read.elements = read_number(in, " elements ");
	reader_end_line(in);
	function->inputs = reader_grow(in, function->inputs, function->n_inputs,
				       sizeof(read));
	if (in->status == PHILOX_OK)
		function->inputs[function->n_inputs++] = read;
	else
		free(name);
}

static void read_output(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct philox_output_info read = {0};
	char *name;

	if (!is_in_place(reader, OF_OUTPUTS))
		return;
	function = last_function(reader);
	read.name = name = reader_name(in);
	read.elements = read_number(in, " elements ");
	reader_end_line(in);
	function->outputs = reader_grow(in, function->outputs,
					function->n_outputs, sizeof(read));
	if (in->status == PHILOX_OK)
		function->outputs[function->n_outputs++] = read;
	else
		free(name);
}

static void read_value(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct philox_value read = {0};
	char *name;

	if (!is_in_place(reader, OF_VALUES))
		return;
	function = last_function(reader);
	read.name = name = reader_name(in);
	read.bytes = (size_t)read_size(in, " bytes ");
	reader_end_line(in);
	function->values = reader_grow(in, function->values, function->n_values,
				       sizeof(read));
	if (in->status == PHILOX_OK)
		function->values[function->n_values++] = read;
	else
		free(name);
}

static void read_policy(struct plan_reader *reader)
{
	static const char *const moved[] = {"limit", "record", "error"};
	static const char *const live[] = {"eager", "record"};
	static const char *const refused[] = {"eager", "error"};
	static const char *const differs[] = {"error", "eager"};
	struct reader *in = &reader->in;
	struct philox_policy *policy;

	if (!is_in_place(reader, OF_VALUES))
		return;
	policy = &last_function(reader)->policy;
	reader_expect(in, "moved ");
	policy->moved = read_choice(in, moved, 3, "what moved inputs do");
	reader_expect(in, " live ");
	policy->live = read_choice(in, live, 2, "'eager' or 'record'");
	reader_expect(in, " refused ");
	policy->refused = read_choice(in, refused, 2, "'eager' or 'error'");
	policy->limit = read_or_never(in, " limit");
	policy->warmups = read_or_never(in, " warmups");
	policy->dry = read_or_never(in, " dry");
	policy->after = read_or_never(in, " after");
	policy->again = read_or_never(in, " again");
	policy->retry = read_or_never(in, " retry");
	policy->keys = read_or_never(in, " keys");
	policy->verify = read_or_never(in, " verify");
	reader_expect(in, " differs ");
	policy->differs = read_choice(in, differs, 2, "'error' or 'eager'");
	reader_expect(in, " bytes ");
	policy->bytes = reader_decimal(in, 0, UINT64_MAX);
	reader_end_line(in);
	reader->section = OF_SCRIPTS;
}

/* --- scripts --------------------------------------------------------------------- */

static void begin_script(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	uint64_t number;

	if (!is_in_place(reader, OF_SCRIPTS))
		return;
	function = last_function(reader);
	number = reader_decimal(in, 0, MOST);
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

static void read_step(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_script *script;
	struct step read;

	if (!is_in_place(reader, OF_SCRIPTS))
		return;
	if (!last_function(reader)->n_scripts) {
		reader_refuse(in, "%s", "there is no script for it above");
		return;
	}
	script = &last_function(reader)
			  ->scripts[last_function(reader)->n_scripts - 1];
	read = plan_read_step(in, &reader->counts);
	script->steps = reader_grow(in, script->steps, script->n, sizeof(read));
	if (in->status == PHILOX_OK)
		script->steps[script->n++] = read;
	else
		free((void *)(uintptr_t)read.region);
}

/* Before the first key: all scripts are there, and no two are the same. */
static void check_scripts(struct plan_reader *reader)
{
	struct plan_function *function = last_function(reader);
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
	if (n / 2 > KEY_SIZE_MAX) {
		reader_refuse(reader,
			      "a key of %zu bytes, which has %d at most", n / 2,
			      KEY_SIZE_MAX);
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
	key->script = (size_t)reader_decimal(in, 0, MOST);
	if (key->script >= last_function(reader)->n_scripts)
		reader_refuse(in, "there is no script %zu", key->script);
	if (key->script > reader->named)
		reader_refuse(in, "script %zu has to be named first",
			      reader->named);
	reader->named += key->script == reader->named;
}

static void read_debt(struct plan_reader *reader, struct key_debt *debt)
{
	struct reader *in = &reader->in;

	reader_expect(in, " recordings ");
	debt->n = (uint32_t)reader_decimal(in, 0, DEBTS_MAX);
	debt->unplayed = read_number(in, " unplayed ");
	debt->prepared = read_number(in, " prepared ");
	debt->bytes = read_size(in, " bytes ");
	if (debt->unplayed > debt->n ||
	    debt->prepared > debt->n - debt->unplayed)
		reader_refuse(in, "%" PRIu32 " recording%s cannot be so many",
			      debt->n, status_s(debt->n));
	if (!debt->n && debt->bytes)
		reader_refuse(in, "%s", "bytes of no recording");
	if (debt->bytes > MOST - reader->bytes)
		reader_refuse(in, "%s", "the bytes of all keys are too many");
	else
		reader->bytes += debt->bytes;
}

static void read_wait(struct reader *reader, struct plan_key *key)
{
	key->wait = read_or_never(reader, " wait");
	if (!key->wait)
		return;
	reader_expect(reader, " refused ");
	key->refused =
		read_short_name(reader, TEXT_OF(((struct key *)0)->refused));
}

static void read_key_words(struct plan_reader *reader, struct plan_key *key)
{
	struct reader *in = &reader->in;

	read_key_bytes(in, key);
	read_key_script(reader, key);
	reader_expect(in, " calls ");
	key->calls = reader_decimal(in, 0, MOST);
	reader_expect(in, " warmups ");
	key->warmups = (uint32_t)reader_decimal(in, 0, UINT32_MAX - 1);
	reader_expect(in, " dry ");
	key->dry = (uint32_t)reader_decimal(in, 0, DRY_MAX);
	key->limited = read_number(in, " limited ");
	read_debt(reader, &key->debt);
	read_wait(in, key);
	reader_end_line(in);
}

static void put_key(struct plan_reader *reader, struct plan_key key)
{
	struct reader *in = &reader->in;
	struct plan_function *function = last_function(reader);
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
		&reader->keys, region_hash((const char *)key.bytes, key.size),
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

	if (!is_in_place(reader, OF_KEYS))
		return;
	if (before != OF_KEYS)
		check_scripts(reader);
	end_key(reader);
	read_key_words(reader, &key);
	put_key(reader, key);
}

/* An automatic input is copied, unless what is written to it would be lost. */
static int may_be_a_copy(const struct philox_input *input)
{
	return input->kind == PHILOX_INPUT_AUTOMATIC &&
	       input->flags != PHILOX_INPUT_MUTATED;
}

static void read_taken(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan_function *function;
	struct key_input read = {0};

	if (!is_in_place(reader, OF_KEYS))
		return;
	function = last_function(reader);
	if (function->n_takes >= function->n_inputs * function->n_keys) {
		reader_refuse(in, "%s", "there is no key for it above");
		return;
	}
	read.bytes = (size_t)reader_decimal(in, 0, MOST);
	read.moves = read_number(in, " moves ");
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

/* --- barred tickets --------------------------------------------------------------- */

static int by_name(const void *name, const void *function)
{
	return strcmp(name, ((const struct plan_function *)function)->name);
}

static void check_barred(struct plan_reader *reader,
			 const struct plan_barred *barred)
{
	const struct plan *plan = reader->plan;

	if (plan->n_barred == BARRED_TICKETS)
		reader_refuse(&reader->in, "more than %d barred tickets",
			      BARRED_TICKETS);
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
	read.ticket.region_key = reader_hex(in);
	reader_expect(in, " ");
	read.ticket.serial = reader_decimal(in, 1, MOST);
	reader_expect(in, " by ");
	read.function =
		read_short_name(in, TEXT_OF(((struct barred_ticket *)0)->name));
	read.alive = reader_accept(in, " alive");
	if (!read.alive)
		reader_expect(in, " destroyed");
	reader_expect(in, " for ");
	read.reason = read_short_name(
		in, TEXT_OF(((struct barred_ticket *)0)->reason));
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
	} lines[] = {{"takes ", read_taken},        {"key ", read_key},
		     {"step ", read_step},          {"script ", begin_script},
		     {"function ", begin_function}, {"input ", read_input},
		     {"output ", read_output},      {"value ", read_value},
		     {"policy ", read_policy},      {"barred ", read_barred}};

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
			end_function(reader);
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

/*
 * graph/runner/plan/runner_plan_keys.c - keys of a plan, read
 */
#include <inttypes.h>
#include <stdlib.h>
#include "graph/runner/plan/runner_plan_reader.h"
#include "lib/state/region.h"

#define DEBTS_MAX     (UINT32_MAX / 2)
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

static void read_debt(struct plan_reader *reader, struct key_debt *debt)
{
	struct reader *in = &reader->in;

	reader_expect(in, " recordings ");
	debt->n = (uint32_t)reader_decimal(in, 0, DEBTS_MAX);
	debt->unplayed = plan_number(in, " unplayed ");
	debt->prepared = plan_number(in, " prepared ");
	debt->bytes = plan_size(in, " bytes ");
	if (debt->unplayed > debt->n ||
	    debt->prepared > debt->n - debt->unplayed)
		reader_refuse(in, "%" PRIu32 " recording%s cannot be so many",
			      debt->n, status_s(debt->n));
	if (!debt->n && debt->bytes)
		reader_refuse(in, "%s", "bytes of no recording");
	if (debt->bytes > PLAN_MOST - reader->bytes)
		reader_refuse(in, "%s", "the bytes of all keys are too many");
	else
		reader->bytes += debt->bytes;
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
	read_debt(reader, &key->debt);
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

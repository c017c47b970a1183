/*
 * tools/common/runner_lines.c - see tools/common/runner_lines.h
 */
#include "tools/common/runner_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/snapshot_segments.h"

/* --- words ---------------------------------------------------------------- */

static uint64_t lines_word(struct reader *reader, const char *word,
			   uint64_t most)
{
	reader_expect(reader, " ");
	reader_expect(reader, word);
	reader_expect(reader, " ");
	return reader_decimal(reader, 0, most);
}

uint64_t lines_count(struct reader *reader, const char *word)
{
	return lines_word(reader, word, UINT64_MAX);
}

/* A number of calls that may be PHILOX_NEVER. */
static uint32_t lines_times(struct reader *reader, const char *word)
{
	reader_expect(reader, " ");
	reader_expect(reader, word);
	reader_expect(reader, " ");
	if (reader_accept(reader, "never"))
		return PHILOX_NEVER;
	return (uint32_t)reader_decimal(reader, 0, PHILOX_NEVER - 1);
}

unsigned lines_choice(struct reader *reader, const char *const words[])
{
	char all[80] = "";
	unsigned i;

	for (i = 0; words[i]; i++)
		if (reader_accept(reader, words[i]))
			return i;
	for (i = 0; words[i]; i++) {
		strcat(all, i ? " or '" : "'");
		strcat(strcat(all, words[i]), "'");
	}
	reader_expected(reader, all);
	return 0;
}

void lines_quoted(struct reader *reader, const char *word, char *text,
		  size_t size)
{
	reader_expect(reader, word);
	reader_expect(reader, " ");
	snapshot_name(reader, "text", text, size);
}

/* In new memory; "" if there is none. */
static char *lines_text(struct reader *reader, const char *word)
{
	char *text;

	reader_expect(reader, word);
	reader_expect(reader, " ");
	text = reader_name(reader);
	if (!text && reader->status == PHILOX_OK)
		reader->status =
			status_set(PHILOX_ERROR_MEMORY, "no memory for a text");
	return text;
}

/* --- a function ------------------------------------------------------------ */

static void read_policy(struct reader *reader, struct philox_policy *policy)
{
	static const char *const moved[] = {"limit", "record", "error", NULL};
	static const char *const live[] = {"eager", "record", NULL};
	static const char *const refused[] = {"eager", "error", NULL};
	static const char *const differs[] = {"error", "eager", NULL};

	reader_expect(reader, "policy moved ");
	policy->moved = lines_choice(reader, moved);
	reader_expect(reader, " live ");
	policy->live = lines_choice(reader, live);
	reader_expect(reader, " refused ");
	policy->refused = lines_choice(reader, refused);
	policy->limit = (uint32_t)lines_word(reader, "limit", UINT32_MAX);
	policy->warmups = (uint32_t)lines_word(reader, "warm-ups", UINT32_MAX);
	policy->dry = (uint32_t)lines_word(reader, "dry", UINT32_MAX);
	policy->after = lines_times(reader, "after");
	policy->again = lines_times(reader, "again");
	policy->retry = lines_times(reader, "retry");
	policy->keys = (uint32_t)lines_word(reader, "keys", UINT32_MAX);
	policy->verify = (uint32_t)lines_word(reader, "verify", UINT32_MAX);
	reader_expect(reader, " differs ");
	policy->differs = lines_choice(reader, differs);
	policy->bytes = lines_count(reader, "bytes");
	reader_end_line(reader);
}

static void read_calls(struct reader *reader,
		       struct philox_function_counts *counts)
{
	reader_expect(reader, "calls");
	counts->eager = lines_count(reader, "eager");
	counts->warmup = lines_count(reader, "warm-up");
	counts->record = lines_count(reader, "record");
	counts->replay = lines_count(reader, "replay");
	counts->failed = lines_count(reader, "failed");
	reader_end_line(reader);
	reader_expect(reader, "bodies ");
	counts->bodies = reader_decimal(reader, 0, UINT64_MAX);
	counts->dry = lines_count(reader, "dry");
	counts->checking = lines_count(reader, "checking");
	counts->prepared = lines_count(reader, "prepared");
	reader_end_line(reader);
}

static void read_misses(struct reader *reader,
			struct philox_function_counts *counts)
{
	reader_expect(reader, "misses");
	counts->missed_new = lines_count(reader, "new");
	counts->missed_moved = lines_count(reader, "moved");
	counts->missed_live = lines_count(reader, "live");
	counts->missed_stale = lines_count(reader, "stale");
	counts->missed_early = lines_count(reader, "early");
	counts->missed_limit = lines_count(reader, "limit");
	counts->missed_refused = lines_count(reader, "refused");
	counts->missed_eager = lines_count(reader, "eager");
	counts->missed_agreed = lines_count(reader, "agreed");
	reader_end_line(reader);
}

static void read_kept(struct reader *reader,
		      struct philox_function_counts *counts)
{
	reader_expect(reader, "verified ");
	counts->verified = reader_decimal(reader, 0, UINT64_MAX);
	counts->differed = lines_count(reader, "differed");
	counts->unverified = lines_count(reader, "unverified");
	reader_end_line(reader);
	reader_expect(reader, "kept");
	counts->keys_dropped = lines_count(reader, "dropped");
	counts->unplayed = lines_count(reader, "unplayed");
	counts->bytes = lines_count(reader, "bytes");
	counts->copies = lines_count(reader, "copies");
	reader_end_line(reader);
}

/* --- parts ----------------------------------------------------------------- */

static void read_part_line(struct reader *reader, enum text_part_kind kind,
			   struct text_part *part)
{
	static const char *const words[] = {"input", "output", "value"};
	static const char *const kinds[] = {"static", "copied", "automatic",
					    NULL};

	*part = (struct text_part){.is = kind};
	part->name = lines_text(reader, words[kind]);
	if (part->name && !*part->name)
		reader_refuse(reader, "%s", "a name that is empty");
	if (kind == TEXT_VALUE) {
		part->alignment = lines_word(reader, "bytes", UINT64_MAX);
		part->origin = calloc(1, 1);
		reader_end_line(reader);
		return;
	}
	if (kind == TEXT_INPUT) {
		reader_expect(reader, " ");
		part->kind = lines_choice(reader, kinds);
		part->flags = (uint32_t)lines_word(reader, "flags", UINT32_MAX);
		part->alignment = lines_word(reader, "alignment", UINT64_MAX);
	}
	part->elements = (uint32_t)lines_word(reader, "elements", UINT32_MAX);
	reader_expect(reader, " ");
	part->origin = lines_text(reader, "origin");
	reader_end_line(reader);
}

static void read_part(struct runner_reader *at, enum text_part_kind kind)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_part part;

	read_part_line(reader, kind, &part);
	text->parts =
		reader_grow(reader, text->parts, text->n_parts, sizeof(part));
	if (reader->status != PHILOX_OK) {
		free(part.name);
		free(part.origin);
		return;
	}
	text->parts[text->n_parts++] = part;
}

static void read_parts(struct runner_reader *at, enum text_part_kind kind,
		       struct text_part_of *parts)
{
	parts->first = at->text->n_parts;
	for (size_t i = 0; at->reader->status == PHILOX_OK && i < parts->n; i++)
		read_part(at, kind);
}

/* --- keys ------------------------------------------------------------------ */

static int hex_digit(struct reader *reader)
{
	const char *at = reader->at;

	if (reader->status != PHILOX_OK || at == reader->end)
		return -1;
	return *at >= '0' && *at <= '9'   ? *at - '0'
	       : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10
					  : -1;
}

static void read_key_bytes(struct reader *reader, struct text_key *key)
{
	for (size_t i = 0; i < 2 * key->size; i++) {
		int digit = hex_digit(reader);

		if (digit < 0) {
			reader_expected(reader, "a digit of 0-9 and a-f");
			return;
		}
		key->bytes[i / 2] =
			(unsigned char)(key->bytes[i / 2] << 4 | digit);
		reader->at++;
	}
}

static void read_key_line(struct reader *reader, size_t number,
			  struct text_key *key)
{
	reader_expect(reader, "key ");
	if (reader_decimal(reader, 1, UINT64_MAX) != number)
		reader_refuse(reader, "keys count from 1: this is key %zu",
			      number);
	key->size = (size_t)lines_word(reader, "size", RUNNER_TEXT_KEY_MAX);
	key->bytes = calloc(key->size + 1, 1);
	if (!key->bytes && reader->status == PHILOX_OK)
		reader->status =
			status_set(PHILOX_ERROR_MEMORY, "no memory for a key");
	if (key->size)
		reader_expect(reader, " ");
	if (reader->status == PHILOX_OK)
		read_key_bytes(reader, key);
	key->calls = lines_count(reader, "calls");
	key->warmups = (uint32_t)lines_word(reader, "warm-ups", UINT32_MAX);
	key->dry = (uint32_t)lines_word(reader, "dry", UINT32_MAX);
	key->wait = lines_times(reader, "wait");
	reader_expect(reader, " ");
	lines_quoted(reader, "refused", key->refused, sizeof(key->refused));
	reader_end_line(reader);
}

static void read_keys(struct runner_reader *at, struct text_part_of *keys)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;

	keys->first = text->n_keys;
	for (size_t i = 0; reader->status == PHILOX_OK && i < keys->n; i++) {
		struct text_key key = {.bytes = NULL};

		read_key_line(reader, i + 1, &key);
		text->keys = reader_grow(reader, text->keys, text->n_keys,
					 sizeof(key));
		if (reader->status == PHILOX_OK)
			text->keys[text->n_keys++] = key;
		else
			free(key.bytes);
	}
}

/* --- the whole function ----------------------------------------------------- */

static void read_function_line(struct runner_reader *at,
			       struct text_function *function)
{
	static const char *const there[] = {"there", "gone", NULL};
	static const char *const modes[] = {"forward", "backward", "inference",
					    NULL};
	struct reader *reader = at->reader;

	reader_expect(reader, "function ");
	if (reader_decimal(reader, 1, UINT64_MAX) != at->text->n_functions + 1)
		reader_refuse(reader,
			      "functions count from 1: this is function %zu",
			      at->text->n_functions + 1);
	reader_expect(reader, " ");
	snapshot_name(reader, "name", function->name, sizeof(function->name));
	reader_expect(reader, " ");
	function->gone = (int)lines_choice(reader, there);
	reader_expect(reader, " ");
	function->mode = lines_choice(reader, modes);
	function->flags = (uint32_t)lines_word(reader, "flags", UINT32_MAX);
	function->inputs.n =
		(size_t)lines_word(reader, "inputs", RUNNER_TEXT_PART_MAX);
	function->outputs.n =
		(size_t)lines_word(reader, "outputs", RUNNER_TEXT_PART_MAX);
	function->values.n =
		(size_t)lines_word(reader, "values", RUNNER_TEXT_PART_MAX);
	function->keys.n = (size_t)lines_count(reader, "keys");
	function->recordings.n = (size_t)lines_count(reader, "recordings");
	if (function->gone && (function->keys.n || function->recordings.n))
		reader_refuse(reader, "%s",
			      "a function that is gone has neither keys nor "
			      "recordings");
	reader_end_line(reader);
}

static void read_function(struct runner_reader *at,
			  struct text_function *function)
{
	struct reader *reader = at->reader;

	read_function_line(at, function);
	read_policy(reader, &function->policy);
	read_calls(reader, &function->counts);
	read_misses(reader, &function->counts);
	read_kept(reader, &function->counts);
	function->counts.keys = function->keys.n;
	function->counts.recordings = function->recordings.n;
	lines_quoted(reader, "reason", function->reason,
		     sizeof(function->reason));
	reader_end_line(reader);
	read_parts(at, TEXT_INPUT, &function->inputs);
	read_parts(at, TEXT_OUTPUT, &function->outputs);
	read_parts(at, TEXT_VALUE, &function->values);
	read_keys(at, &function->keys);
}

void lines_function(struct runner_reader *at)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_function function;

	memset(&function, 0, sizeof(function));
	read_function(at, &function);
	lines_recordings(at, &function);
	text->functions = reader_grow(reader, text->functions,
				      text->n_functions, sizeof(function));
	if (reader->status == PHILOX_OK)
		text->functions[text->n_functions++] = function;
}

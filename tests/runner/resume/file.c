/*
 * tests/runner/resume/file.c - the file of saved outputs, and the line of the
 * context's text
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/runner_resume.h"

/* --- what a file says ----------------------------------------------------- */

static uint64_t hash_of(const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	while (n--)
		hash = (hash ^ *at++) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t hash_of_output(struct accum *t,
			       const struct philox_output *output)
{
	struct numbers words = read_numbers(t->f, output->address);

	return hash_of(&words, sizeof(words));
}

/* Each line is computed here, from the form that the note gives. */
RUNNER_PROMISE(runner_outputs_file, has_lines_and_bytes_of_all_outputs)
{
	char lines[2048], *outputs;
	struct numbers words;
	struct accum t;
	size_t n, bytes;

	accum_make(&t, f, r);
	accum_begin(&t);
	accum_forward(&t, 0);
	OK(philox_outputs_save_text(r, f->stream, &outputs, &bytes));
	n = (size_t)snprintf(
		lines, sizeof(lines),
		"philox outputs 1\n"
		"runner \"runner\"\n"
		"block bytes 228 alignment 65536 tag \"grad\" from 0 saved 128\n"
		"block bytes 128 alignment 512 tag \"y\" from 0 saved 128\n"
		"block bytes 128 alignment 1024 tag \"echo\" from 0 saved 128\n"
		"output \"zero\" \"sum\" label \"grad\" block 0 at 0 bytes 128 "
		"elements 3 path 1 digest %016" PRIx64 "\n"
		"output \"forth\" \"y\" label \"micro 0\" block 1 at 0 bytes "
		"128 elements 0 path 2 digest %016" PRIx64 " tie \"layer\" 1\n"
		"output \"forth\" \"echo\" label \"micro 0\" block 2 at 0 "
		"bytes 128 elements 0 path 2 digest %016" PRIx64
		" tie \"layer\" 1\n"
		"owed \"layer\" 1 path 2\n"
		"data 384\n",
		hash_of_output(&t, &t.grad), hash_of_output(&t, &t.y[0]),
		hash_of_output(&t, &t.echo[0]));
	words = read_numbers(f, t.grad.address);
	memcpy(lines + n, &words, 128);
	words = read_numbers(f, t.y[0].address);
	memcpy(lines + n + 128, &words, 128);
	words = read_numbers(f, t.echo[0].address);
	memcpy(lines + n + 256, &words, 128);
	n += 384;
	lines[n++] = '\n';
	n += (size_t)sprintf(lines + n, "checksum %016" PRIx64 " bytes %zu\n",
			     hash_of(lines, n), n);
	cr_assert_eq(bytes, n, "%zu bytes, not %zu:\n%s", bytes, n, outputs);
	cr_assert(!memcmp(outputs, lines, n), "%s\nis not\n%s", outputs, lines);
	cr_assert_eq(outputs[bytes], '\0');
	free(outputs);
}

RUNNER_PROMISE(runner_outputs_file, is_the_same_for_the_same_outputs)
{
	struct accum t;
	char *one, *two;
	size_t n, m;

	accum_make(&t, f, r);
	accum_stop(&t);
	OK(philox_outputs_save_text(r, f->stream, &one, &n));
	OK(philox_outputs_save_text(r, f->side, &two, &m));
	cr_assert_eq(n, m);
	cr_assert(!memcmp(one, two, n));
	free(one);
	free(two);
}

/* --- files that are cut or changed ---------------------------------------- */

RUNNER_PROMISE(runner_outputs_file, that_is_cut_or_changed_is_refused)
{
	struct stopped stopped;
	struct resumed resumed;
	struct accum t;
	char *changed;

	accum_make(&t, f, r);
	accum_stop(&t);
	stopped_save(&stopped, &t);
	resumed_open(&resumed, f, 0);
	OK(philox_context_load_text(resumed.f.context, stopped.context,
				    strlen(stopped.context)));
	for (size_t n = 0; n < stopped.bytes; n++)
		FAILS(philox_outputs_load_text(resumed.t.r, resumed.f.stream,
					       stopped.outputs, n),
		      PHILOX_ERROR_INVALID);
	changed = malloc(stopped.bytes + 1);
	for (size_t i = 0; i < stopped.bytes; i++) {
		enum philox_status status;

		memcpy(changed, stopped.outputs, stopped.bytes + 1);
		changed[i] = (char)(changed[i] ^ (1 << i % 7));
		status = philox_outputs_load_text(resumed.t.r, resumed.f.stream,
						  changed, stopped.bytes);
		cr_assert(status == PHILOX_ERROR_INVALID ||
				  (status == PHILOX_ERROR_UNSUPPORTED &&
				   i == strlen("philox outputs ")),
			  "byte %zu: %s", i, philox_status_name(status));
	}
	memcpy(changed, stopped.outputs, stopped.bytes + 1);
	FAILS(philox_outputs_load_text(resumed.t.r, resumed.f.stream, changed,
				       stopped.bytes + 1),
	      PHILOX_ERROR_INVALID);
	NAMES("1 byte after the checksum");
	LIVE(&resumed.f, resumed.t.r, 0);
	OK(try_outputs(&resumed.t, &stopped));
	free(changed);
	resumed_close(&resumed);
	stopped_free(&stopped);
}

/* With a right checksum, and what is said of it. */
static const struct {
	const char *from, *to, *named;
} wrong[] = {
	{"philox outputs 1", "philox outputs 0", "line 1"},
	{"runner \"", "runner ", "line 2"},
	{"alignment 512", "alignment 768", "alignment 768 is no power of two"},
	{"alignment 512", "alignment 131072", "line "},
	{"from 0 saved 128", "from 120 saved 128",
	 "more is saved than the block has"},
	{"from 0 saved 128", "from 4 saved 124",
	 "the outputs in block 0 are from 0 to 128, and not what is saved of "
	 "it"},
	{"block 0 at 0", "block 9 at 0", "there is no block 9"},
	{"block 0 at 0", "block none at 4",
	 "a place in a block that it is not in"},
	{"block 0 at 0", "block none at 0", "block 0 has to come first"},
	{"block 0 at 0", "block 1 at 0", "block 0 has to come first"},
	{"block 0 at 0", "block 0 at 101", "it ends after its block 0"},
	{"bytes 128 elements", "bytes 127 elements", "in block 0 are from 0"},
	{"path 1 ", "path 2 ", "path 1 has to come first"},
	{"path 1 ", "path 0 ", "line 8"},
	{"path 2\ndata", "path 9\ndata", "no output is of path 9"},
	{"owed \"layer\" 2 path 1", "owed \"layer\" 3 path 2",
	 "ticket 3 of region 'layer' comes twice or not in order"},
	{"tie \"layer\" 2", "tie \"layer\" 0", "line 8"},
	{"\ndata",
	 "\nblock bytes 1 alignment 512 tag \"\" from 0 saved 0\ndata",
	 "a block after an output"},
	{"\ndata",
	 "\noutput \"a\" \"b\" label \"\" block none at 0 bytes 1 elements 0 "
	 "path 1 digest cbf29ce484222325\ndata",
	 "an output after a ticket"},
	{"\ndata 640\n", "\ndata 64\n", "the blocks have another size in all"},
	{"\ndata", "\nmore", "a known kind of line expected"},
	{"digest ", "digest 0", "line 8"},
};

RUNNER_PROMISE(runner_outputs_file, names_the_line_that_is_wrong)
{
	struct resumed resumed;
	struct accum t;

	accum_make(&t, f, r);
	accum_stop(&t);
	resumed_open(&resumed, f, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct stopped stopped;

		stopped_save(&stopped, &t);
		stopped_change(&stopped, wrong[i].from, wrong[i].to);
		OK(philox_context_load_text(resumed.f.context, stopped.context,
					    strlen(stopped.context)));
		outputs_refused(&resumed.t, stopped.outputs, stopped.bytes,
				PHILOX_ERROR_INVALID);
		NAMES(wrong[i].named);
		stopped_free(&stopped);
	}
	resumed_close(&resumed);
}

/* The digest of an output is checked beside the checksum of all. */
RUNNER_PROMISE(runner_outputs_file, names_an_output_with_other_bytes)
{
	struct resumed resumed;
	struct stopped stopped;
	struct accum t;
	struct numbers words;
	char from[64], to[64];

	accum_make(&t, f, r);
	accum_stop(&t);
	words = read_numbers(f, t.y[2].address);
	stopped_save(&stopped, &t);
	snprintf(from, sizeof(from), "digest %016" PRIx64,
		 hash_of(&words, sizeof(words)));
	snprintf(to, sizeof(to), "digest %016" PRIx64,
		 hash_of(&words, sizeof(words)) ^ 1);
	stopped_change(&stopped, from, to);
	resumed_open(&resumed, f, 0);
	OK(philox_context_load_text(resumed.f.context, stopped.context,
				    strlen(stopped.context)));
	outputs_refused(&resumed.t, stopped.outputs, stopped.bytes,
			PHILOX_ERROR_INVALID);
	NAMES("the digest of output 'y' of function 'forth' is of other bytes");
	resumed_close(&resumed);
	stopped_free(&stopped);
}

RUNNER_PROMISE(runner_outputs_file, of_a_newer_version_is_refused)
{
	static const char newer[] = "philox outputs 2\nanything";
	struct accum t;

	accum_make(&t, f, r);
	FAILS(philox_outputs_load_text(r, f->stream, newer, strlen(newer)),
	      PHILOX_ERROR_UNSUPPORTED);
	NAMES("the newest this library reads is 1");
}

/* --- texts of contexts ---------------------------------------------------- */

static const char *first_line(const char *text)
{
	static char line[64];

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
	return line;
}

/* Only a text that names outputs is of version 5; the rest is as it was. */
RUNNER_PROMISE(runner_outputs_file, is_named_by_texts_of_version_5)
{
	struct stopped stopped;
	struct accum t;
	char *before, *line;
	const char *last;
	size_t n;

	accum_make(&t, f, r);
	accum_stop(&t);
	OK(philox_context_save_text(f->context, &before, NULL));
	cr_assert_str_eq(first_line(before), "philox context 1");
	stopped_save(&stopped, &t);
	cr_assert_str_eq(first_line(stopped.context), "philox context 5");
	line = strstr(stopped.context, "outputs \"runner\" digest ");
	cr_assert(line);
	n = (size_t)(line - stopped.context);
	cr_assert(!memcmp(before + 16, stopped.context + 16, n - 16),
		  "other lines changed");
	last = stopped.outputs + stopped.bytes;
	while (memcmp(last, "checksum ", 9) != 0)
		last--;
	cr_assert(!memcmp(line + 24, last + 9, 16), "the digest of the file");
	free(before);
	stopped_free(&stopped);
}

static const struct {
	const char *from, *to, *named;
} wrong_lines[] = {
	{"context 5", "context 4", "version 4 has no outputs"},
	{"outputs \"runner\" digest", "outputs \"\" digest",
	 "outputs of a runner without a name"},
	{"outputs \"runner\" digest", "outputs \"runner\" of", "line "},
	{"outputs \"runner\"",
	 "outputs \"runner\" digest 0000000000000000\noutputs \"runner\"",
	 "outputs of runner 'runner' come twice or not in order"},
	{"outputs \"runner\"",
	 "outputs \"a\" digest 0000000000000000\nrow 0000000000000000 "
	 "0000000000000000\noutputs \"runner\"",
	 "outputs of a runner expected"},
	{"outputs \"runner\" digest ", "rows \"a\" ", "line "},
};

/* The lines with one thing replaced and their checksum. */
static char *changed_text(const char *text, const char *from, const char *to)
{
	const char *found = strstr(text, from);
	char *made = malloc(strlen(text) + strlen(to) + 100), *last;
	size_t n;

	cr_assert(made && found);
	sprintf(made, "%.*s%s%s", (int)(found - text), text, to,
		found + strlen(from));
	last = strstr(made, "checksum ");
	n = (size_t)(last - made);
	sprintf(last, "checksum %016" PRIx64 " bytes %zu\n", hash_of(made, n),
		n);
	return made;
}

RUNNER_PROMISE(runner_outputs_file, lines_of_texts_that_are_wrong_are_refused)
{
	struct stopped stopped;
	struct accum t;
	char *text;

	accum_make(&t, f, r);
	accum_stop(&t);
	stopped_save(&stopped, &t);
	for (size_t i = 0; i < sizeof(wrong_lines) / sizeof(wrong_lines[0]);
	     i++) {
		text = changed_text(stopped.context, wrong_lines[i].from,
				    wrong_lines[i].to);
		FAILS(philox_context_load_text(f->context, text, strlen(text)),
		      PHILOX_ERROR_INVALID);
		NAMES(wrong_lines[i].named);
		free(text);
	}
	text = strstr(stopped.context, "outputs \"runner\"");
	*text = '\0';
	text = changed_text(strcat(stopped.context, "checksum \n"),
			    "philox context 5", "philox context 5");
	FAILS(philox_context_load_text(f->context, text, strlen(text)),
	      PHILOX_ERROR_INVALID);
	NAMES("a text without outputs is below version 5");
	free(text);
	stopped_free(&stopped);
}

/* Two runners have a line each, in order of name, whichever was saved first. */
RUNNER_PROMISE(runner_outputs_file, each_runner_has_a_line)
{
	struct accum t, other;
	char *text, *outputs;
	const char *first, *second;

	accum_make(&t, f, r);
	other = t;
	other.r = make_runner_of(f, "another", 0);
	accum_stop(&t);
	OK(philox_outputs_save_text(r, f->stream, &outputs, NULL));
	free(outputs);
	OK(philox_outputs_save_text(other.r, f->stream, &outputs, NULL));
	free(outputs);
	OK(philox_context_save_text(f->context, &text, NULL));
	first = strstr(text, "outputs \"another\"");
	second = strstr(text, "outputs \"runner\"");
	cr_assert(first && second && first < second);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	free(text);
}

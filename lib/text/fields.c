/*
 * lib/text/fields.c - lines of texts by their tables of fields
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <philox/runner.h>
#include "lib/text/text.h"

/* --- members -------------------------------------------------------------- */

static const void *member(const struct field *field, const void *object)
{
	return (const char *)object + field->offset;
}

uint64_t field_number(const struct field *field, const void *object)
{
	uint32_t narrow;
	uint64_t wide;

	if (field->size == sizeof(narrow)) {
		memcpy(&narrow, member(field, object), sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, member(field, object), sizeof(wide));
	return wide;
}

void field_set(const struct field *field, void *object, uint64_t number)
{
	const uint32_t narrow = (uint32_t)number;
	char *to = (char *)object + field->offset;

	if (field->size == sizeof(narrow))
		memcpy(to, &narrow, sizeof(narrow));
	else
		memcpy(to, &number, sizeof(number));
}

const char *field_text(const struct field *field, const void *object)
{
	const char *text = member(field, object);

	if (field->kind == FIELD_NAME)
		memcpy(&text, member(field, object), sizeof(text));
	return text;
}

struct philox_state field_state(const struct field *field, const void *object)
{
	struct philox_state state;

	memcpy(&state, member(field, object), sizeof(state));
	return state;
}

static const char *word_of(const struct field *field, unsigned how)
{
	return how & FIELDS_BY_NAME && field->name ? field->name : field->word;
}

const char *field_name(const struct field *field)
{
	return word_of(field, FIELDS_BY_NAME);
}

/* Whether PHILOX_NEVER is a word of its own. */
static int has_never(const struct field *field, unsigned how)
{
	return field->kind == FIELD_TIMES ||
	       (field->kind == FIELD_BOUND && how & FIELDS_BY_NAME);
}

static int is_text(const struct field *field)
{
	return field->kind == FIELD_NAME || field->kind == FIELD_TEXT;
}

/* All bits of the member. */
static uint64_t most_of(const struct field *field)
{
	return field->size == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
}

/* Whether there is nothing, which `none` stands for. */
static int is_none(const struct field *field, const void *object)
{
	if (!field->none)
		return 0;
	return is_text(field) ? !field_text(field, object)
			      : field_number(field, object) == most_of(field);
}

static int is_left_out(const struct field *field, const void *object)
{
	return field->may_lack &&
	       field_number(field, object) == field->otherwise;
}

int field_is_there(const struct field *field, const void *object)
{
	return is_text(field) ||
	       !(is_none(field, object) || is_left_out(field, object));
}

/* --- writing -------------------------------------------------------------- */

static void write_value(FILE *out, const struct field *field,
			const void *object, unsigned how)
{
	uint64_t number;

	if (is_none(field, object)) {
		fputs(field->none, out);
		return;
	}
	if (is_text(field)) {
		text_write_name(out, field_text(field, object));
		return;
	}
	if (field->kind == FIELD_STATE) {
		text_write_state(out, field_state(field, object));
		return;
	}
	number = field_number(field, object);
	if (field->kind == FIELD_CHOICE || field->kind == FIELD_EITHER)
		fputs(field->words[number], out);
	else if (field->kind == FIELD_HEX)
		fprintf(out, "%016" PRIx64, number);
	else if (has_never(field, how) && number == PHILOX_NEVER)
		fputs("never", out);
	else
		fprintf(out, "%" PRIu64, number);
}

void fields_write(FILE *out, const struct field *field, const void *object,
		  unsigned how)
{
	for (; field->kind != FIELD_END; field++) {
		const char *word = word_of(field, how);

		if (is_left_out(field, object))
			continue;
		if (field->kind == FIELD_MARK) {
			if (field_number(field, object))
				fprintf(out, " %s", word);
			continue;
		}
		fputc(' ', out);
		if (field->word)
			fprintf(out, "%s ", word);
		write_value(out, field, object, how);
	}
}

void fields_write_line(FILE *out, const char *word, const struct field *field,
		       const void *object)
{
	fputs(word, out);
	fields_write(out, field, object, 0);
	fputc('\n', out);
}

/* --- reading -------------------------------------------------------------- */

/* The word of the line may have taken the space before its first field. */
static int space_is_taken(const struct reader *reader)
{
	return reader->at > reader->start && reader->at[-1] == ' ';
}

/* Takes what comes before a value, if its word is taken as a whole. */
static void expect_word(struct reader *reader, const struct field *field,
			unsigned how, const char *after)
{
	char whole[32] = " ";

	if (field->word)
		snprintf(whole, sizeof(whole), " %s%s", word_of(field, how),
			 after);
	reader_expect(reader, whole + space_is_taken(reader));
}

void reader_expect_apart(struct reader *reader, const char *word)
{
	reader_expect(reader, " ");
	reader_expect(reader, word);
	reader_expect(reader, " ");
}

static void expect_before(struct reader *reader, const struct field *field,
			  unsigned how)
{
	if (field->word && how & FIELDS_APART)
		reader_expect_apart(reader, word_of(field, how));
	else
		expect_word(reader, field, how, " ");
}

static uint64_t read_times(struct reader *reader, const struct field *field,
			   unsigned how)
{
	const char *never = "never";

	if (how & FIELDS_APART) {
		expect_before(reader, field, how);
	} else {
		expect_word(reader, field, how, "");
		never = " never";
	}
	if (reader_accept(reader, never))
		return PHILOX_NEVER;
	if (*never == ' ')
		reader_expect(reader, " ");
	return reader_decimal(reader, 0, PHILOX_NEVER - 1);
}

static uint64_t read_number(struct reader *reader, const struct field *field,
			    unsigned how)
{
	uint64_t most = field->most;

	if (has_never(field, how))
		return read_times(reader, field, how);
	if (!most)
		most = most_of(field);
	expect_before(reader, field, how);
	return reader_decimal(reader, field->least, most);
}

static void expected_one_of(struct reader *reader, const char *const words[])
{
	char all[80] = "";

	for (size_t i = 0; words[i]; i++) {
		strcat(all, i ? " or '" : "'");
		strcat(strcat(all, words[i]), "'");
	}
	reader_expected(reader, all);
}

unsigned reader_choice(struct reader *reader, const char *const words[])
{
	for (unsigned i = 0; words[i]; i++)
		if (reader_accept(reader, words[i]))
			return i;
	expected_one_of(reader, words);
	return 0;
}

static unsigned read_choice(struct reader *reader, const struct field *field,
			    unsigned how)
{
	const char *first = reader->at;

	if (field->word || how & FIELDS_APART)
		expect_word(reader, field, how, " ");
	else
		reader_accept(reader, " ");
	if (!field->what || how & FIELDS_APART)
		return reader_choice(reader, field->words);
	for (unsigned i = 0; field->words[i]; i++)
		if (reader_accept(reader, field->words[i]))
			return i;
	if (!field->word && reader->status == PHILOX_OK)
		reader->at = first;
	reader_expected(reader, field->what);
	return 0;
}

static void read_text(struct reader *reader, const struct field *field,
		      void *object, unsigned how)
{
	const size_t most =
		field->kind == FIELD_TEXT ? field->size - 1u : field->most;
	char *text;

	expect_before(reader, field, how);
	text = reader_name(reader);
	if (text && most && reader->status == PHILOX_OK && strlen(text) > most)
		reader_refuse(reader, "a %s of more than %zu bytes",
			      field->what ? field->what : "text", most);
	if (field->kind == FIELD_NAME) {
		memcpy((char *)object + field->offset, &text, sizeof(text));
		return;
	}
	if (text && reader->status == PHILOX_OK)
		strcpy((char *)object + field->offset, text);
	free(text);
}

static void read_coded(struct reader *reader, const struct field *field,
		       void *object, unsigned how)
{
	expect_before(reader, field, how);
	if (field->kind == FIELD_STATE) {
		const struct philox_state state = reader_state(reader);

		memcpy((char *)object + field->offset, &state, sizeof(state));
		return;
	}
	field_set(field, object, reader_hex(reader));
}

static int read_mark(struct reader *reader, const struct field *field,
		     unsigned how)
{
	char word[32];

	snprintf(word, sizeof(word), " %s", word_of(field, how));
	return reader_accept(reader, word);
}

/* Takes what stands for nothing, if that comes next. */
static int read_none(struct reader *reader, const struct field *field,
		     void *object)
{
	const char *first = reader->at;
	char whole[32];

	snprintf(whole, sizeof(whole), field->word ? " %s " : " ", field->word);
	if (!reader_accept(reader, whole + space_is_taken(reader)) ||
	    !reader_accept(reader, field->none)) {
		reader->at = first;
		return 0;
	}
	if (!is_text(field))
		field_set(field, object, most_of(field));
	return 1;
}

/* Whether the line leaves the field out. */
static int read_left_out(struct reader *reader, const struct field *field,
			 void *object)
{
	const char *first = reader->at;
	char whole[32];

	if (!field->may_lack)
		return 0;
	snprintf(whole, sizeof(whole), " %s ", field->word);
	if (reader_accept(reader, whole)) {
		reader->at = first;
		return 0;
	}
	field_set(field, object, field->otherwise);
	return 1;
}

static void read_field(struct reader *reader, const struct field *field,
		       void *object, unsigned how)
{
	if ((field->none && read_none(reader, field, object)) ||
	    read_left_out(reader, field, object))
		return;
	switch (field->kind) {
	case FIELD_NAME:
	case FIELD_TEXT:
		read_text(reader, field, object, how);
		break;
	case FIELD_HEX:
	case FIELD_STATE:
		read_coded(reader, field, object, how);
		break;
	case FIELD_CHOICE:
	case FIELD_EITHER:
		field_set(field, object, read_choice(reader, field, how));
		break;
	case FIELD_MARK:
		field_set(field, object,
			  (uint64_t)read_mark(reader, field, how));
		break;
	default:
		field_set(field, object, read_number(reader, field, how));
	}
}

void fields_read(struct reader *reader, const struct field *field, void *object,
		 unsigned how)
{
	for (; field->kind != FIELD_END; field++)
		read_field(reader, field, object, how);
}

void fields_free(const struct field *field, const void *object)
{
	for (; field->kind != FIELD_END; field++)
		if (field->kind == FIELD_NAME)
			free((void *)(uintptr_t)field_text(field, object));
}

/* --- comparing ------------------------------------------------------------ */

static int field_differs(const struct field *field, const void *one,
			 const void *other)
{
	if (is_text(field)) {
		const char *a = field_text(field, one);
		const char *b = field_text(field, other);

		return a && b ? strcmp(a, b) != 0 : a != b;
	}
	if (field->kind == FIELD_STATE) {
		const struct philox_state a = field_state(field, one);
		const struct philox_state b = field_state(field, other);

		return a.seed != b.seed || a.offset != b.offset;
	}
	return field_number(field, one) != field_number(field, other);
}

const struct field *fields_differ(const struct field *field, const void *one,
				  const void *other)
{
	for (; field->kind != FIELD_END; field++)
		if (field_differs(field, one, other))
			return field;
	return NULL;
}

/*
 * lib/text/lines.c - the lines of a text, word by word
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/base/base.h"
#include "lib/containers/array.h"
#include "lib/text/text.h"

/* --- writing -------------------------------------------------------------- */

static int is_plain(int byte)
{
	return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
}

void text_write_name(FILE *out, const char *name)
{
	fputc('"', out);
	for (; *name; name++) {
		unsigned char byte = (unsigned char)*name;

		if (is_plain(byte))
			fputc(byte, out);
		else
			fprintf(out, "\\x%02x", byte);
	}
	fputc('"', out);
}

void text_write_state(FILE *out, struct philox_state state)
{
	fprintf(out, "%016" PRIx64 " %016" PRIx64, state.seed, state.offset);
}

void text_write_bytes(FILE *out, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%02x", bytes[i]);
}

/* --- reading -------------------------------------------------------------- */

struct reader reader_start(const char *text, size_t size)
{
	if (!text)
		text = ""; /* nothing is added to NULL */
	return (struct reader){.text = text,
			       .at = text,
			       .end = text + size,
			       .start = text,
			       .line = 1};
}

void reader_refuse(struct reader *reader, const char *format, ...)
{
	const char *where = "";
	char text[256];
	va_list arguments;

	if (reader->status != PHILOX_OK)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (!memchr(reader->at, '\n', (size_t)(reader->end - reader->at)))
		where = ", where the text ends";
	reader->status = status_set(PHILOX_ERROR_INVALID, "line %zu%s: %s",
				    reader->line, where, text);
}

void reader_expected(struct reader *reader, const char *what)
{
	reader_refuse(reader, "%s expected at column %zu", what,
		      (size_t)(reader->at - reader->start) + 1);
}

int reader_put(struct reader *reader, void *table, size_t *n, const void *row,
	       size_t size)
{
	void *put;

	if (reader->status != PHILOX_OK)
		return 0;
	put = array_grow(table, *n, 1, size);
	if (!put) {
		reader->status =
			status_set(PHILOX_ERROR_MEMORY,
				   "no memory for line %zu", reader->line);
		return 0;
	}
	memcpy(put, row, size);
	++*n;
	return 1;
}

static int comes_next(const struct reader *reader, const char *word)
{
	size_t length = strlen(word);

	return reader->status == PHILOX_OK &&
	       (size_t)(reader->end - reader->at) >= length &&
	       memcmp(reader->at, word, length) == 0;
}

int reader_accept(struct reader *reader, const char *word)
{
	if (!comes_next(reader, word))
		return 0;
	reader->at += strlen(word);
	return 1;
}

void reader_expect(struct reader *reader, const char *word)
{
	char quoted[32] = "'";

	if (reader_accept(reader, word))
		return;
	strncat(quoted, word, sizeof(quoted) - 3);
	reader_expected(reader, strcat(quoted, "'"));
}

int reader_accept_word(struct reader *reader, const char *word)
{
	const char *first = reader->at;

	if (reader_accept(reader, word) && reader_accept(reader, " "))
		return 1;
	reader->at = first;
	return 0;
}

void reader_end_line(struct reader *reader)
{
	if (!reader_accept(reader, "\n"))
		reader_expected(reader, "the end of the line");
	reader->start = reader->at;
	reader->line++;
}

void reader_version(struct reader *reader, const char *start, const char *what,
		    uint64_t newest)
{
	reader_expect(reader, start);
	reader->version = reader_decimal(reader, 1, UINT64_MAX);
	if (reader->version > newest)
		reader->status = status_set(
			PHILOX_ERROR_UNSUPPORTED,
			"line 1: the %s has version %" PRIu64
			", the newest this library reads is %" PRIu64,
			what, reader->version, newest);
	reader_end_line(reader);
}

static int next_digit(const struct reader *reader)
{
	char next = '\0';

	if (reader->status == PHILOX_OK && reader->at < reader->end)
		next = *reader->at;
	if (next >= '0' && next <= '9')
		return next - '0';
	if (next >= 'a' && next <= 'f')
		return next - 'a' + 10;
	return -1;
}

uint64_t reader_decimal(struct reader *reader, uint64_t least, uint64_t most)
{
	const char *first = reader->at;
	uint64_t value = 0;
	int next;

	while ((next = next_digit(reader)) >= 0 && next < 10) {
		if ((reader->at > first && *first == '0') ||
		    value > (most - (uint64_t)next) / 10) {
			reader_expected(reader, "no further digit");
			return 0;
		}
		value = 10 * value + (uint64_t)next;
		reader->at++;
	}
	if (reader->at == first)
		reader_expected(reader, "a number");
	else if (value < least)
		reader_refuse(reader, "%" PRIu64 " is too small", value);
	return reader->status == PHILOX_OK ? value : 0;
}

uint64_t reader_hex(struct reader *reader)
{
	uint64_t value = 0;

	for (int i = 0; i < 16; i++) {
		int next = next_digit(reader);

		if (next < 0) {
			reader_expected(reader, "a digit of 0-9 and a-f");
			return 0;
		}
		value = value << 4 | (uint64_t)next;
		reader->at++;
	}
	return value;
}

void reader_bytes(struct reader *reader, unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < 2 * n; i++) {
		const int next = next_digit(reader);

		if (next < 0) {
			reader_expected(reader, "a digit of 0-9 and a-f");
			return;
		}
		bytes[i / 2] = (unsigned char)(bytes[i / 2] << 4 | next);
		reader->at++;
	}
}

size_t reader_digits(const struct reader *reader)
{
	struct reader ahead = *reader;

	while (next_digit(&ahead) >= 0)
		ahead.at++;
	return (size_t)(ahead.at - reader->at);
}

struct philox_state reader_state(struct reader *reader)
{
	struct philox_state read;

	read.seed = reader_hex(reader);
	reader_expect(reader, " ");
	read.offset = reader_hex(reader);
	if (read.offset % 4)
		reader_refuse(reader,
			      "offset %016" PRIx64 " is not a multiple of 4",
			      read.offset);
	return read;
}

void reader_checksum(struct reader *reader, const char *line)
{
	size_t above = (size_t)(line - reader->text);
	uint64_t checksum = reader_hex(reader);
	uint64_t bytes;

	reader_expect(reader, " bytes ");
	bytes = reader_decimal(reader, 0, UINT64_MAX);
	if (bytes != above)
		reader_refuse(reader, "there %s %zu byte%s above, not %" PRIu64,
			      status_is(above), above, status_s(above), bytes);
	if (checksum != hash_text(reader->text, above))
		reader_refuse(
			reader,
			"the checksum is of another text: that of the lines "
			"above is %016" PRIx64,
			hash_text(reader->text, above));
	reader_end_line(reader);
	if (reader->at != reader->end)
		reader_refuse(reader, "%zu byte%s after the checksum",
			      (size_t)(reader->end - reader->at),
			      status_s((size_t)(reader->end - reader->at)));
}

/* --- reading names -------------------------------------------------------- */

/* The byte of an escape; 0 if there is none, or one that is not needed. */
static char escaped_byte(struct reader *reader)
{
	const char *first = reader->at;
	int byte = 0;

	if (reader_accept(reader, "\\x")) {
		for (int i = 0; i < 2; i++) {
			int next = next_digit(reader);

			byte = next < 0 ? -256 : byte * 16 + next;
			reader->at += next >= 0;
		}
	}
	if (byte > 0 && !is_plain(byte))
		return (char)byte;
	reader->at = first;
	reader_expected(reader,
			"'\"', a printable character or \\xHH of another");
	return 0;
}

static char name_byte(struct reader *reader)
{
	if (reader->at < reader->end && is_plain((unsigned char)*reader->at))
		return *reader->at++;
	return escaped_byte(reader);
}

char *reader_name(struct reader *reader)
{
	const char *end;
	char *read, *to;

	reader_expect(reader, "\"");
	if (reader->status != PHILOX_OK)
		return NULL;
	end = memchr(reader->at, '"', (size_t)(reader->end - reader->at));
	if (!end)
		end = reader->end;
	to = read = malloc((size_t)(end - reader->at) + 1);
	if (!read) {
		reader->status =
			status_set(PHILOX_ERROR_MEMORY, "no memory for a name");
		return NULL;
	}
	while (reader->status == PHILOX_OK && !comes_next(reader, "\"")) {
		char byte = name_byte(reader);

		if (byte)
			*to++ = byte;
	}
	*to = '\0';
	reader_expect(reader, "\"");
	return read;
}

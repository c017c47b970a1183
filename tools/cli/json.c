/*
 * tools/cli/json.c - writing one JSON value on one line
 *
 * Nothing is buffered here: open objects and arrays are remembered, so that
 * commas and closing brackets are right, and the stream keeps errors until the
 * end.
 */
#include "tools/cli/cli.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "lib/base/base.h"

static void write_string(FILE *out, const char *value)
{
	const unsigned char *text = (const unsigned char *)value;
	size_t length;

	putc('"', out);
	for (; *text; text += length ? length : 1) {
		length = utf8_length(text);
		if (!length)
			fputs("\\ufffd", out);
		else if (*text < 0x20 || *text == 0x7f)
			fprintf(out, "\\u%04x", *text);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, length, out);
	}
	putc('"', out);
}

/* write_key() writes the comma and key before a value. */
static void write_key(struct json *json, const char *key)
{
	unsigned inner = json->depth - 1;

	if (!json->depth)
		return;
	assert(!key == (json->closer[inner] == ']'));
	if (json->filled[inner])
		putc(',', json->out);
	json->filled[inner] = 1;
	if (!key)
		return;
	write_string(json->out, key);
	putc(':', json->out);
}

static void open_value(struct json *json, const char *key, char opener,
		       char closer)
{
	assert(json->depth < JSON_DEPTH_MAX);
	write_key(json, key);
	putc(opener, json->out);
	json->closer[json->depth] = closer;
	json->filled[json->depth] = 0;
	json->depth++;
}

void json_begin(struct json *json, FILE *out)
{
	memset(json, 0, sizeof(*json));
	json->out = out;
}

void json_object(struct json *json, const char *key)
{
	open_value(json, key, '{', '}');
}

void json_array(struct json *json, const char *key)
{
	open_value(json, key, '[', ']');
}

void json_close(struct json *json)
{
	assert(json->depth);
	putc(json->closer[--json->depth], json->out);
}

void json_string(struct json *json, const char *key, const char *value)
{
	write_key(json, key);
	if (value)
		write_string(json->out, value);
	else
		fputs("null", json->out);
}

void json_number(struct json *json, const char *key, double value)
{
	write_key(json, key);
	if (isfinite(value))
		fprintf(json->out, "%.17g", value);
	else
		fputs("null", json->out);
}

void json_hash(struct json *json, const char *key, uint64_t hash)
{
	char text[17];

	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	json_string(json, key, text);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
	write_key(json, key);
	fprintf(json->out, "%" PRId64, value);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
	write_key(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json_bool(struct json *json, const char *key, int value)
{
	write_key(json, key);
	fputs(value ? "true" : "false", json->out);
}

int json_end(struct json *json)
{
	assert(!json->depth);
	putc('\n', json->out);
	return fflush(json->out) || ferror(json->out) ? -1 : 0;
}

/*
 * graph/runner/function/label.c - what a key is called in messages
 */
#include <ctype.h>
#include <stdio.h>
#include "graph/runner/function/function.h"

/* The first bytes: words as they are, others in hex. */
static void write_bytes(const struct key *key, char *text, size_t size)
{
	const size_t shown = key->size < 16 ? key->size : 16;
	const char *more = shown < key->size ? "..." : "";
	int words = key->size > 0;
	int length;

	for (size_t i = 0; i < shown; i++)
		words &= isprint(key->bytes[i]) != 0;
	if (words) {
		snprintf(text, size, "key '%.*s'%s", (int)shown,
			 (const char *)key->bytes, more);
		return;
	}
	length = snprintf(text, size, "key of %zu bytes ", key->size);
	for (size_t i = 0; i < shown; i++, length += 2)
		snprintf(text + length, size - (size_t)length, "%02x",
			 key->bytes[i]);
	snprintf(text + length, size - (size_t)length, "%s", more);
}

struct words key_words(const struct key *key)
{
	struct words words = {""};

	if (*key->label)
		snprintf(words.text, sizeof(words.text), "key '%s'",
			 key->label);
	else if (key->size)
		write_bytes(key, words.text, sizeof(words.text));
	return words;
}

struct words key_label(const struct key *key, const char *before,
		       const char *none, const char *after)
{
	struct words words;

	if (key && *key->label)
		snprintf(words.text, sizeof(words.text), "%skey '%s'%s", before,
			 key->label, after);
	else
		snprintf(words.text, sizeof(words.text), "%s", none);
	return words;
}

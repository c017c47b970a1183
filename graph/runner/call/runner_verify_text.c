/*
 * graph/runner/call/runner_verify_text.c - what is said of a replay that differs
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "graph/runner/call/runner_verify_text.h"

static void add_text(char text[REPLAY_TEXT], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_text(char text[REPLAY_TEXT], const char *format, ...)
{
	size_t length = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + length, REPLAY_TEXT - length, format, arguments);
	va_end(arguments);
}

static void add_hex(char text[REPLAY_TEXT], const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;

	add_text(text, "0x");
	for (size_t i = size; i--;)
		add_text(text, "%02x", byte[i]);
}

/* Words as they are, other keys in hex. */
static void add_key(char text[REPLAY_TEXT], const struct key *key)
{
	const size_t shown = key->size < 16 ? key->size : 16;
	int words = key->size > 0;

	for (size_t i = 0; i < shown; i++)
		words &= isprint(key->bytes[i]) != 0;
	if (words)
		add_text(text, " under key '%.*s'", (int)shown,
			 (const char *)key->bytes);
	else if (shown)
		add_text(text, " under key of %zu bytes ", key->size);
	for (size_t i = 0; !words && i < shown; i++)
		add_text(text, "%02x", key->bytes[i]);
	if (shown < key->size)
		add_text(text, "...");
}

static int add_values(const struct recording *recording,
		      const struct philox_call *call, char text[REPLAY_TEXT])
{
	const struct philox_function *function = recording->function;
	int changed = 0;

	for (size_t i = 0; i < function->n_values; i++) {
		const struct philox_call_value *now = &call->values[i];

		if (memcmp(&recording->given[i], now->bytes, now->size) == 0)
			continue;
		add_text(text, "%s value '%s' from ", changed++ ? "," : "",
			 function->values[i].name);
		add_hex(text, &recording->given[i], now->size);
		add_text(text, " to ");
		add_hex(text, now->bytes, now->size);
	}
	return changed;
}

static int add_inputs(const struct recording *recording,
		      const struct philox_call *call, int changed,
		      char text[REPLAY_TEXT])
{
	const struct philox_function *function = recording->function;

	for (size_t i = 0; i < function->n_inputs; i++) {
		const struct philox_input *input = &function->inputs[i];

		if (recording->inputs[i] == call->inputs[i].address)
			continue;
		add_text(text, "%s input '%s'%s%s%s from %p to %p",
			 changed++ ? "," : "", input->name,
			 *input->origin ? " (" : "", input->origin,
			 *input->origin ? ")" : "", recording->inputs[i],
			 call->inputs[i].address);
	}
	return changed;
}

enum philox_status replay_describe(struct replay_check *check,
				   const struct verify_item *item,
				   uint64_t place, enum verify_why why,
				   char text[REPLAY_TEXT])
{
	const struct recording *recording = check->recording;
	char what[VERIFY_TEXT], changes[REPLAY_TEXT] = "these changed:";
	int changed;
	enum philox_status status =
		verify_describe(&check->verify, item, place, what);

	if (status != PHILOX_OK)
		return status;
	*text = '\0';
	add_text(text, "a replay");
	add_key(text, recording->key);
	add_text(text, " differs from its body: %s; %s; since it was recorded ",
		 what, verify_why_text(why));
	changed = add_values(recording, check->call, changes);
	changed = add_inputs(recording, check->call, changed, changes);
	add_text(text, "%s",
		 changed ? changes : "no value changed and no input moved");
	return PHILOX_OK;
}

/*
 * tools/plan/words.c - keys and steps of a plan in words
 */
#include <inttypes.h>
#include <stdio.h>
#include "lib/state/state.h"
#include "tools/plan/plan.h"

const char *const plan_modes[3] = {"forward", "backward", "inference"};
const char *const plan_kinds[3] = {"static", "copied", "automatic"};

/* A longer one is cut in words, as nobody reads it whole. */
#define BYTES_SHOWN 24

static int is_text(const struct plan_key *key)
{
	for (size_t i = 0; i < key->size; i++)
		if (key->bytes[i] < ' ' || key->bytes[i] > '~')
			return 0;
	return key->size > 0;
}

struct key_words plan_key_words(const struct plan_key *key)
{
	struct key_words words = {"-"};
	const size_t shown = key->size < BYTES_SHOWN ? key->size : BYTES_SHOWN;
	size_t at = 0;

	for (size_t i = 0; i < shown; i++)
		at += (size_t)snprintf(words.text + at, sizeof(words.text) - at,
				       "%02x", key->bytes[i]);
	if (shown < key->size)
		snprintf(words.text + at, sizeof(words.text) - at,
			 "... (%zu bytes)", key->size);
	else if (is_text(key))
		snprintf(words.text + at, sizeof(words.text) - at, " '%.*s'",
			 (int)key->size, (const char *)key->bytes);
	return words;
}

static void describe_pass(const struct step *step, struct step_words *words)
{
	char of[40] = "";

	if (step->kind == STEP_BACKWARD && step->a != UINT64_MAX)
		snprintf(of, sizeof(of), " of its pass %" PRIu64, step->a);
	snprintf(words->text, sizeof(words->text),
		 "%s%s of region %s, flags %u",
		 step->kind == STEP_FORWARD ? "a forward" : "a backward", of,
		 journal_name(step->region).text, step->flags);
}

struct step_words plan_step_words(const struct plan_function *function,
				  const struct step *step)
{
	struct step_words words;

	switch (step->kind) {
	case STEP_FORWARD:
	case STEP_BACKWARD:
		describe_pass(step, &words);
		break;
	case STEP_ALLOC:
		snprintf(words.text, sizeof(words.text),
			 "an allocation of %" PRIu64
			 " bytes, alignment %" PRIu64,
			 step->a, step->b);
		break;
	case STEP_FREE:
		snprintf(words.text, sizeof(words.text),
			 "a free of its allocation %" PRIu64, step->a);
		break;
	case STEP_OUTPUT:
		snprintf(words.text, sizeof(words.text),
			 "output %s of %" PRIu64 " bytes",
			 journal_name(function->outputs[step->a].name).text,
			 step->b);
		break;
	case STEP_VALUE:
		snprintf(words.text, sizeof(words.text), "value %s",
			 journal_name(function->values[step->a].name).text);
	}
	return words;
}

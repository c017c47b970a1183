/*
 * graph/runner/function/reason.c - what is said of a call: why it is no replay,
 * and what it was given
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "graph/runner/function/function.h"

/* --- reasons ---------------------------------------------------------------- */

static void append(struct reason *reason, size_t length, const char *format,
		   va_list arguments)
{
	vsnprintf(reason->text + length, sizeof(reason->text) - length, format,
		  arguments);
	reason->written = 1;
}

void reason_write(struct reason *reason, const char *format, ...)
{
	va_list arguments;

	reason->option = NULL;
	va_start(arguments, format);
	append(reason, 0, format, arguments);
	va_end(arguments);
}

void reason_add(struct reason *reason, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	append(reason, strlen(reason->text), format, arguments);
	va_end(arguments);
}

/* The option is told whole, whatever else is cut. */
void reason_tell(const struct reason *reason, struct philox_function *function,
		 const struct key *key)
{
	const char *option = reason->option ? reason->option : "";

	snprintf(function->reason, sizeof(function->reason), "%.71s%.*s%s%.120s",
		 KEY_JOINT(key).text, *option ? 310 : 440, reason->text,
		 *option ? "; " : "", option);
}

/* --- outputs that are alive ------------------------------------------------- */

/* An output in a live block: there is one. */
static const struct output_slot *holder_of(const struct philox_runner *runner,
					   const struct live_block *block)
{
	size_t i = 0;

	while (i < runner->n_slots &&
	       !(runner->slots[i]->live && runner->slots[i]->in_pool &&
		 runner->slots[i]->handle.id == block->id))
		i++;
	return i < runner->n_slots ? runner->slots[i] : NULL;
}

void reason_live(struct reason *reason, const struct philox_runner *runner,
		 const struct live_block *block)
{
	const struct output_slot *holder = holder_of(runner, block);

	reason_write(
		reason,
		"block %" PRIu64 " of its recording's memory holds %s, "
		"from call %" PRIu64 " of that, which is not released",
		block->id,
		holder ? output_words(holder->function, holder->output).text
		       : "an output",
		holder ? holder->function_call : 0);
	if (block->refs > 1)
		reason_add(reason, ", and %" PRIu32 " more output%s",
			   block->refs - 1, status_s(block->refs - 1));
}

/* --- inputs that moved ------------------------------------------------------ */

/* What a list of them may take, if each address takes ADDRESS_LENGTH. */
#define MOVED_ROOM     300
#define ADDRESS_LENGTH 18

struct words input_words(const struct philox_function *function, size_t index,
			 const struct output_slot *slot)
{
	const struct philox_input_desc *input = &function->inputs[index];
	struct words words, of = {""};

	if (*input->origin)
		snprintf(of.text, sizeof(of.text), "%s", input->origin);
	else if (slot)
		of = output_words(slot->function, slot->output);
	snprintf(words.text, sizeof(words.text), "input '%.60s'%s%.150s%s",
		 input->name, *of.text ? " (" : "", of.text,
		 *of.text ? ")" : "");
	return words;
}

/* A list of inputs that moved, from `next` on. */
struct moved {
	const struct recording *recording;
	const struct philox_call *call;
	size_t next; /* that moved and is not in the list */
	char text[512];
};

/*
 * Makes the list of those that there is room for, one at least. Their addresses
 * do not count, so that equal calls name equally many.
 */
static void list_moved(struct moved *moved)
{
	const struct philox_function *function = moved->recording->function;
	const struct philox_runner *runner = function->runner;
	size_t i = moved->next, length = 0, counted = 0;

	for (; i < function->n_inputs;
	     i = inputs_next_moved(moved->recording, moved->call, i + 1)) {
		const struct words words =
			input_words(function, i, input_slot(runner, i));

		counted += strlen(words.text) + 2 * ADDRESS_LENGTH;
		if (length && counted > MOVED_ROOM)
			break;
		length += (size_t)snprintf(
			moved->text + length, sizeof(moved->text) - length,
			"%s%s from %p to %p", length ? "; " : "", words.text,
			moved->recording->statics[i],
			moved->call->inputs[i].address);
	}
	moved->next = i;
}

static size_t count_moved(const struct moved *moved)
{
	const size_t n = moved->recording->function->n_inputs;
	size_t count = 0;

	for (size_t i = moved->next; i < n;
	     i = inputs_next_moved(moved->recording, moved->call, i + 1))
		count++;
	return count;
}

static struct moved first_moved(const struct recording *recording,
				const struct philox_call *call)
{
	return (struct moved){.recording = recording,
			      .call = call,
			      .next = inputs_next_moved(recording, call, 0)};
}

void reason_moved(struct reason *reason, const struct recording *recording,
		  const struct philox_call *call)
{
	struct moved moved = first_moved(recording, call);
	size_t more;

	list_moved(&moved);
	more = count_moved(&moved);
	reason_add(reason, "%s", moved.text);
	if (more)
		reason_add(reason, "; and %zu more", more);
}

void log_moved(const struct recording *recording,
	       const struct philox_call *call)
{
	const struct philox_function *function = recording->function;
	struct moved moved = first_moved(recording, call);

	while (moved.next < function->n_inputs) {
		const char *first = function->inputs[moved.next].name;

		list_moved(&moved);
		runner_post(function, PHILOX_LOG_INFO, "moved",
			    PHILOX_CALL_NONE, first, 0,
			    ": %sits inputs moved: %s",
			    KEY_JOINT(recording->key).text, moved.text);
	}
}

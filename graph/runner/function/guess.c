/*
 * graph/runner/function/guess.c - the recording that a call will find
 *
 * See Note [Guess], graph/runner/function/function.h.
 */
#include <stddef.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/function/function.h"

/* The address of an input that is copied, which no input of a call has. */
static const char anywhere;
#define INPUT_ANYWHERE ((const void *)&anywhere)

static struct range span_of(const struct philox_function *function)
{
	return pool_span(function->runner->pool->blocks);
}

/* --- found ------------------------------------------------------------------ */

/* Address and size at once, as calls and packed inputs begin with them. */
typedef unsigned char place
	__attribute__((vector_size(sizeof(struct packed_input))));

_Static_assert(offsetof(struct packed_input, bytes) ==
			       offsetof(struct philox_call_input, bytes) &&
		       !offsetof(struct packed_input, address) &&
		       !offsetof(struct philox_call_input, address),
	       "one load has both");

/* Only static inputs: no branch depends on one of them. */
static int all_same(const struct packed_input *packed,
		    const struct philox_call_input *inputs, size_t n)
{
	static const place none;
	place differ = none, given, kept;
	uintptr_t outputs = 0;

	for (size_t i = 0; i < n; i++) {
		memcpy(&given, &inputs[i], sizeof(given));
		memcpy(&kept, &packed[i], sizeof(kept));
		differ |= given ^ kept;
		outputs |= (uintptr_t)inputs[i].output;
	}
	return !outputs && !memcmp(&differ, &none, sizeof(none));
}

static int may_be_copied(const struct packed_input *packed,
			 const struct philox_call_input *input,
			 struct range pool)
{
	return packed->address == INPUT_ANYWHERE &&
	       (input->address || !input->bytes) && !input_meets(pool, input);
}

static int all_fit(const struct packed_input *packed,
		   const struct philox_call_input *inputs, size_t n,
		   struct range pool)
{
	for (size_t i = 0; i < n; i++)
		if (inputs[i].bytes != packed[i].bytes || inputs[i].output ||
		    (inputs[i].address != packed[i].address &&
		     !may_be_copied(&packed[i], &inputs[i], pool)))
			return 0;
	return 1;
}

struct recording *guess_find(const struct philox_function *function,
			     const struct key *key,
			     const struct philox_call *call)
{
	const struct range pool = span_of(function);
	const struct recording *last = key->by_use.newest;
	struct recording *next = last ? last->guess.next : NULL;
	const struct guess *guess;

	if (!next)
		return NULL;
	guess = &next->guess;
	if (!guess->packed || guess->twin || guess->pool.begin != pool.begin ||
	    guess->pool.end != pool.end)
		return NULL;
	if (next->copied
		    ? all_fit(guess->inputs, call->inputs, call->n_inputs, pool)
		    : all_same(guess->inputs, call->inputs, call->n_inputs))
		return next;
	return NULL;
}

/* --- packed ----------------------------------------------------------------- */

/* An input as later calls may have it; 0: they are to be looked up. */
static int pack(const struct recording *recording,
		const struct philox_call_input *input, size_t index,
		struct range pool, struct packed_input *packed)
{
	const struct philox_function *function = recording->function;

	if (input->output || input_meets(pool, input))
		return 0;
	*packed = (struct packed_input){input->address, input->bytes};
	if (recording->statics[index] == input->address)
		return 1;
	packed->address = INPUT_ANYWHERE;
	return function->inputs[index].kind == PHILOX_INPUT_COPIED ||
	       recording->key->inputs[index].copied;
}

void guess_pack(struct recording *recording, const struct philox_call *call)
{
	struct guess *guess = &recording->guess;
	const struct range pool = span_of(recording->function);
	size_t i = 0;

	if (guess->twin || (guess->packed && guess->pool.begin == pool.begin &&
			    guess->pool.end == pool.end))
		return;
	while (i < call->n_inputs &&
	       pack(recording, &call->inputs[i], i, pool, &guess->inputs[i]))
		i++;
	guess->packed = i == call->n_inputs;
	guess->pool = pool;
}

/* --- which follows which ---------------------------------------------------- */

/* Takes a recording out of both places. */
static void part(struct recording *before, struct recording *next)
{
	before->guess.next = NULL;
	next->guess.before = NULL;
}

void guess_follow(struct recording *recording)
{
	struct recording *last = recording->key->by_use.newest;

	if (!last || last->guess.next == recording)
		return;
	if (last->guess.next)
		part(last, last->guess.next);
	if (recording->guess.before)
		part(recording->guess.before, recording);
	last->guess.next = recording;
	recording->guess.before = last;
}

void guess_twins(const struct philox_function *function, const struct key *key,
		 uint64_t hash)
{
	const struct map *map = &function->recording_map;
	const struct map_entry *entry;
	struct recording *first = NULL;

	for (entry = map_find(map, hash); entry;
	     entry = map_find_next(map, entry)) {
		struct recording *recording = entry->value;

		if (recording->key != key)
			continue;
		recording->guess.twin = first != NULL;
		if (first)
			first->guess.twin = 1;
		else
			first = recording;
	}
}

void guess_end(struct recording *recording)
{
	struct guess *guess = &recording->guess;

	if (guess->next)
		part(recording, guess->next);
	if (guess->before)
		part(guess->before, recording);
	guess->packed = 0;
	guess_twins(recording->function, recording->key, recording->hash);
}

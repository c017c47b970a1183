/*
 * graph/runner/function/inputs.c - the inputs of a call: static, copied, moved
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"

static int is_mutated(const struct philox_input_desc *input)
{
	return (input->flags & PHILOX_INPUT_MUTATED) != 0;
}

/* Mutated, and the caller's memory would not see it. */
static int is_lost(const struct philox_input_desc *input)
{
	return is_mutated(input) && !(input->flags & PHILOX_INPUT_WRITE_BACK);
}

/* --- checks ------------------------------------------------------------------ */

static enum philox_status refuse_input(const struct philox_function *function,
				       size_t index, const char *why)
{
	return status_set(PHILOX_ERROR_INVALID, "function '%s': input '%s' %s",
			  function->name, function->inputs[index].name, why);
}

int inputs_misaligned(const struct philox_function *function,
		      const struct philox_call *call, size_t index)
{
	const size_t alignment = function->inputs[index].alignment;

	return alignment > 1 &&
	       (uintptr_t)call->inputs[index].address % alignment != 0;
}

static enum philox_status check_input(const struct philox_function *function,
				      const struct philox_call *call,
				      size_t index)
{
	const struct philox_call_input *input = &call->inputs[index];
	const struct philox_output *of = input->output;
	uintptr_t at = (uintptr_t)input->address;

	if (!input->address && input->bytes)
		return refuse_input(function, index, "is at NULL");
	if (of && input->id)
		return refuse_input(function, index,
				    "has a handle and an id: an id is for "
				    "other memory");
	if (of && (at < (uintptr_t)of->address ||
		   at - (uintptr_t)of->address > of->bytes ||
		   input->bytes > of->bytes - (at - (uintptr_t)of->address)))
		return refuse_input(function, index,
				    "is not in the output that it is said to "
				    "be in");
	if (is_lost(&function->inputs[index]) &&
	    inputs_misaligned(function, call, index))
		return refuse_input(function, index,
				    "is mutated and not aligned, and would "
				    "have to be written back: see "
				    "PHILOX_INPUT_WRITE_BACK");
	return PHILOX_OK;
}

enum philox_status inputs_check(const struct philox_function *function,
				const struct philox_call *call)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < call->n_inputs; i++)
		status = check_input(function, call, i);
	return status;
}

enum philox_status inputs_fit(const struct philox_function *function,
			      const struct key *key,
			      const struct philox_call *call)
{
	const int known = key->calls || key->recordings || key->expected.n;

	for (size_t i = 0; known && i < call->n_inputs; i++)
		if (call->inputs[i].bytes != key->inputs[i].bytes)
			return status_set(
				PHILOX_ERROR_INVALID,
				"function '%s': input '%s' has %zu byte%s, but "
				"%zu in earlier calls under %s",
				function->name, function->inputs[i].name,
				call->inputs[i].bytes,
				status_s(call->inputs[i].bytes),
				key->inputs[i].bytes,
				key_label(key, "", "this key", "").text);
	return PHILOX_OK;
}

/* What may become a copy, and is none. */
static int may_become_copied(const struct philox_input_desc *input,
			     const struct key_input *noted)
{
	return input->kind == PHILOX_INPUT_AUTOMATIC && !noted->copied &&
	       !noted->pinned && !is_lost(input) &&
	       !(input->flags & PHILOX_INPUT_FIXED);
}

/* Whether a recording from there on has an input at an address. */
static int is_recorded_at(const struct recording *recording, size_t index,
			  const void *address)
{
	for (; recording; recording = recording->links[USE_OF_KEY].older)
		if (recording->statics[index] == address)
			return 1;
	return 0;
}

/* Returns whether it is copied from now on. */
static int note_address(struct key_input *noted, const struct recording *before,
			size_t index, const struct philox_call_input *now)
{
	if (before->statics[index] == now->address)
		return 0;
	if (is_recorded_at(before->links[USE_OF_KEY].older, index,
			   now->address)) {
		noted->moves = 0;
		return 0;
	}
	noted->moves++;
	noted->copied = noted->moves >= PHILOX_AUTOMATIC_MOVES &&
			now->bytes <= PHILOX_AUTOMATIC_BYTES;
	return noted->copied;
}

static int note_addresses(const struct philox_function *function,
			  struct key *key, const struct philox_call *call,
			  const struct recording *before)
{
	int decided = 0;

	for (size_t i = 0; i < call->n_inputs; i++)
		if (may_become_copied(&function->inputs[i], &key->inputs[i]) &&
		    !inputs_misaligned(function, call, i))
			decided |= note_address(&key->inputs[i], before, i,
						&call->inputs[i]);
	return decided;
}

int inputs_note(struct philox_function *function, struct key *key,
		const struct philox_call *call, enum philox_call_kind kind,
		int expected)
{
	const struct recording *before = key->by_use.newest;

	for (size_t i = 0; !key->calls && i < call->n_inputs; i++)
		key->inputs[i].bytes = call->inputs[i].bytes;
	if (kind == PHILOX_CALL_RECORD && before)
		before = before->links[USE_OF_KEY].older;
	if (kind == PHILOX_CALL_REPLAY || expected || !before ||
	    !function->automatic)
		return 0;
	return note_addresses(function, key, call, before);
}

void inputs_returned(struct key *key, const struct recording *from,
		     const struct recording *to)
{
	for (size_t i = 0;
	     to->function->automatic && i < to->function->n_inputs; i++)
		if (from->statics[i] != to->statics[i])
			key->inputs[i].moves = 0;
}

int inputs_copied(const struct philox_function *function, const struct key *key,
		  const struct philox_call *call, size_t index)
{
	return function->inputs[index].kind == PHILOX_INPUT_COPIED ||
	       key->inputs[index].copied ||
	       inputs_misaligned(function, call, index);
}

const char *inputs_unrecordable(const struct philox_function *function,
				const struct key *key,
				const struct philox_call *call)
{
	for (size_t i = 0; i < function->n_inputs; i++)
		if (is_lost(&function->inputs[i]) &&
		    inputs_copied(function, key, call, i))
			return function->inputs[i].name;
	return NULL;
}

/* --- addresses ---------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 29;
}

/* Where a recording has an input read: NULL if it is copied. */
static const void *static_of(const struct philox_function *function,
			     const struct key *key,
			     const struct philox_call *call, size_t index)
{
	return inputs_copied(function, key, call, index)
		       ? NULL
		       : call->inputs[index].address;
}

uint64_t inputs_hash(const struct philox_function *function,
		     const struct key *key, const struct philox_call *call)
{
	uint64_t hash = key->hash;

	for (size_t i = 0; i < function->n_inputs; i++)
		hash = mix(hash, (uintptr_t)static_of(function, key, call, i));
	return hash;
}

/* A copied input without bytes has no buffer, and is at NULL as a static one. */
int inputs_same(const struct recording *recording,
		const struct philox_call *call)
{
	const struct philox_function *function = recording->function;

	for (size_t i = 0; i < function->n_inputs; i++)
		if (recording->statics[i] !=
		    static_of(function, recording->key, call, i))
			return 0;
	return 1;
}

size_t inputs_next_moved(const struct recording *recording,
			 const struct philox_call *call, size_t from)
{
	const struct philox_function *function = recording->function;

	while (from < function->n_inputs &&
	       recording->statics[from] ==
		       static_of(function, recording->key, call, from))
		from++;
	return from;
}

int inputs_fixed_moved(const struct recording *recording,
		       const struct philox_call *call)
{
	const struct philox_function *function = recording->function;

	for (size_t i = 0; i < function->n_inputs; i++)
		if (function->inputs[i].flags & PHILOX_INPUT_FIXED &&
		    recording->statics[i] !=
			    static_of(function, recording->key, call, i))
			return 1;
	return 0;
}

/* --- copies ------------------------------------------------------------------- */

/* What one kernel is to copy. */
struct copies {
	struct philox_function *function;
	philox_stream stream;
	struct copies_args args;
};

static enum philox_status send_copies(struct copies *copies)
{
	const struct kernel_call call = {.kernel = KERNEL_COPIES,
					 .args = &copies->args,
					 .size = sizeof(copies->args),
					 .work = copies_work(&copies->args)};
	enum philox_status status = PHILOX_OK;

	if (copies->args.count)
		status = device_launch(runner_device(copies->function->runner),
				       copies->stream, &call);
	if (status != PHILOX_OK)
		return status_prefix(status,
				     "function '%s': ", copies->function->name);
	copies->function->counts.copies += copies->args.count;
	copies->args.count = 0;
	return PHILOX_OK;
}

/* As many inputs, from one on, as one kernel copies; returns the next. */
static size_t add_copies(struct copies *copies, const struct philox_call *call,
			 void *const *buffers, size_t i)
{
	for (; copies->args.count < COPIES_MAX && i < call->n_inputs; i++) {
		const struct philox_call_input *input = &call->inputs[i];

		if (buffers[i])
			copies_add(&copies->args, buffers[i], input->address,
				   input->bytes);
	}
	return i;
}

/* The same with those that are mutated, the other way round. */
static size_t add_back(struct copies *copies, const struct philox_call *call,
		       void *const *buffers, size_t i)
{
	const struct philox_input_desc *inputs = copies->function->inputs;

	for (; copies->args.count < COPIES_MAX && i < call->n_inputs; i++) {
		const struct philox_call_input *input = &call->inputs[i];

		if (!buffers[i] || !is_mutated(&inputs[i]))
			continue;
		copies_add(&copies->args, input->address, buffers[i],
			   input->bytes);
	}
	return i;
}

static enum philox_status copy_all(
	struct philox_function *function, const struct philox_call *call,
	void *const *buffers, philox_stream stream,
	size_t (*add)(struct copies *copies, const struct philox_call *call,
		      void *const *buffers, size_t i))
{
	struct copies copies;
	enum philox_status status = PHILOX_OK;

	copies.function = function;
	copies.stream = stream;
	copies.args.count = 0;
	for (size_t i = 0; status == PHILOX_OK && i < call->n_inputs;) {
		i = add(&copies, call, buffers, i);
		status = send_copies(&copies);
	}
	return status;
}

enum philox_status inputs_copy_in(struct philox_function *function,
				  const struct philox_call *call,
				  void *const *buffers, philox_stream stream)
{
	return buffers ? copy_all(function, call, buffers, stream, add_copies)
		       : PHILOX_OK;
}

enum philox_status inputs_copy_back(struct philox_function *function,
				    const struct philox_call *call,
				    void *const *buffers, philox_stream stream)
{
	return buffers && function->mutated
		       ? copy_all(function, call, buffers, stream, add_back)
		       : PHILOX_OK;
}

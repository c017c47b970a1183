/*
 * graph/runner/call/runner_verify_inputs.c - what a body mutates, for a replay that is verified
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include <stdlib.h>
#include "graph/runner/function/inputs.h"
#include "graph/runner/call/runner_verify_parts.h"

/* Copies are aligned as memory is, at least to this, whatever was asked for. */
#define PIECE_ALIGNMENT 512

/* A piece of the caller's memory, with inputs in it. */
struct piece {
	uintptr_t begin, end;
	uint32_t input;
};

static int by_begin_of_piece(const void *one, const void *other)
{
	const struct piece *a = one, *b = other;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->input > b->input) - (a->input < b->input);
}

int replay_is_mutated(const struct replay_check *check, uint32_t input)
{
	return (check->recording->function->inputs[input].flags &
		PHILOX_INPUT_MUTATED) != 0;
}

/* One that the body would be given at another place than in its own memory. */
static enum philox_status refuse_shared(struct replay_check *check,
					uint32_t input)
{
	check->verify.lacking = 1;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "input '%s' is not aligned, and shares memory with "
			  "one that is mutated",
			  check->recording->function->inputs[input].name);
}

/*
 * Inputs that overlap are one piece, which is copied as one if the body mutates
 * something in it.
 */
static enum philox_status keep_pieces(struct replay_check *check,
				      const struct piece *pieces, size_t n)
{
	const struct philox_function *function = check->recording->function;
	uintptr_t end = pieces[0].end;
	size_t alignment = PIECE_ALIGNMENT;
	int mutated = 0, lost = -1;
	enum philox_status status;

	for (size_t i = 0; i < n; i++) {
		const uint32_t input = pieces[i].input;

		mutated |= replay_is_mutated(check, input);
		if (pieces[i].end > end)
			end = pieces[i].end;
		if (function->inputs[input].alignment > alignment)
			alignment = function->inputs[input].alignment;
		if (inputs_misaligned(function, check->call, input))
			lost = (int)input;
	}
	if (!mutated)
		return PHILOX_OK;
	if (lost >= 0 && n > 1)
		return refuse_shared(check, (uint32_t)lost);
	status = verify_keep(&check->verify, (void *)pieces[0].begin,
			     end - pieces[0].begin, alignment,
			     lost < 0 ? pieces[0].begin % alignment : 0);
	for (size_t i = 0; i < n; i++)
		check->pieces[pieces[i].input] = check->verify.n_memory;
	return status;
}

static enum philox_status keep_all_pieces(struct replay_check *check,
					  const struct piece *pieces, size_t n)
{
	enum philox_status status = PHILOX_OK;
	size_t begin = 0;

	while (status == PHILOX_OK && begin < n) {
		uintptr_t end = pieces[begin].end;
		size_t next = begin + 1;

		for (; next < n && pieces[next].begin < end; next++)
			if (pieces[next].end > end)
				end = pieces[next].end;
		status = keep_pieces(check, pieces + begin, next - begin);
		begin = next;
	}
	return status;
}

enum philox_status replay_keep_mutated(struct replay_check *check)
{
	const struct philox_function *function = check->recording->function;
	struct piece *pieces = calloc(function->n_inputs + 1, sizeof(*pieces));
	enum philox_status status;
	size_t n = 0;
	int mutated = 0;

	if (!pieces)
		return status_set(PHILOX_ERROR_MEMORY,
				  "there is no memory for a list of inputs");
	for (uint32_t i = 0; i < function->n_inputs; i++) {
		const struct philox_call_input *input = &check->call->inputs[i];
		const uintptr_t begin = (uintptr_t)input->address;

		mutated |= replay_is_mutated(check, i);
		if (input->bytes)
			pieces[n++] =
				(struct piece){begin, begin + input->bytes, i};
	}
	if (mutated)
		qsort(pieces, n, sizeof(*pieces), by_begin_of_piece);
	status = mutated ? keep_all_pieces(check, pieces, n) : PHILOX_OK;
	free(pieces);
	return status;
}

/* Where a piece of the real memory is in this run. */
void *replay_copy_of(const struct replay_check *check, uint32_t input)
{
	const struct philox_verify *verify = &check->verify;
	const struct verify_memory *memory;

	if (!check->pieces[input])
		return NULL;
	memory = &verify->memory[check->pieces[input] - 1];
	return (char *)memory->copies[verify->turn] +
	       ((char *)check->call->inputs[input].address -
		(char *)memory->real);
}

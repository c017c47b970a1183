/*
 * graph/verify_why.c - why a launch differs
 *
 * See Note [Verification] in graph/verify.h.
 */
#include "graph/verify_parts.h"

#define AGAIN 3 /* runs that tell whether it is deterministic */

static enum philox_status run_again(struct philox_verify *verify,
				    unsigned char fill, int *same)
{
	enum philox_status status = verify_rows_set(verify, 0);
	const struct verify_item *item = NULL;
	uint64_t place;

	verify->turn = 1;
	verify->fill = fill;
	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++)
		if (!verify->memory[i].rows)
			status = verify_make_copy(verify, &verify->memory[i]);
	if (status == PHILOX_OK)
		status = verify_run(verify);
	if (status != PHILOX_OK)
		return status;
	verify_rows_place(verify);
	status = verify_compare_with(verify, 1, &item, &place);
	*same = !item;
	return status;
}

static enum philox_status find_out(struct philox_verify *verify,
				   enum verify_why *why)
{
	enum philox_status status = PHILOX_OK;
	int same = 1, all = 1;

	for (int i = 0;
	     status == PHILOX_OK && i < AGAIN && (all || verify->collective);
	     i++) {
		status = run_again(verify, VERIFY_FILL, &same);
		all &= same;
	}
	if (status == PHILOX_OK && (all || verify->collective))
		status = run_again(verify, VERIFY_FILL_OTHER, &same);
	if (status != PHILOX_OK)
		return status;
	*why = VERIFY_RANDOM;
	if (all)
		*why = same ? VERIFY_FROZEN : VERIFY_UNWRITTEN;
	return PHILOX_OK;
}

enum philox_status verify_explain(struct philox_verify *verify,
				  enum verify_why *why)
{
	enum philox_status status = PHILOX_OK;
	struct status_message kept;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++) {
		struct verify_memory *memory = &verify->memory[i];
		void *played = NULL;

		if (!memory->rows)
			continue;
		status = verify_take(verify, verify->stream, memory->bytes, 0,
				     &played);
		if (status == PHILOX_OK)
			status = verify_copy(verify, verify->stream, played,
					     memory->real, memory->bytes);
		if (status == PHILOX_OK) /* else it holds nothing to put back */
			memory->played = played;
	}
	if (status == PHILOX_OK)
		status = find_out(verify, why);
	status_keep(&kept);
	if (verify_rows_set(verify, 1) != PHILOX_OK && status == PHILOX_OK)
		return PHILOX_ERROR_DEVICE;
	status_restore(&kept);
	return status;
}

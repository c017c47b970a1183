/*
 * graph/verify/explain.c - why a launch differs
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include "graph/verify/internal.h"

#define AGAIN 3           /* runs that tell whether it is deterministic */
#define RUNS  (AGAIN + 1) /* and one that begins with other memory */

static enum philox_status make_again(struct philox_verify *verify)
{
	enum philox_status status = verify_rows_set(verify, 0);

	verify->turn = 1;
	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++)
		if (!verify->memory[i].rows)
			status = verify_make_copy(verify, &verify->memory[i]);
	return status;
}

static enum philox_status ask_to_run(struct philox_verify *verify,
				     enum philox_status status)
{
	return verify->agree ? verify->agree(verify, status) : status;
}

static enum philox_status run_again(struct philox_verify *verify, int *same)
{
	const struct verify_item *item = NULL;
	uint64_t place;
	enum philox_status status = verify_run(verify);

	if (status != PHILOX_OK)
		return status;
	verify_rows_place(verify);
	status = verify_compare_with(verify, 1, &item, &place);
	*same = !item;
	return status;
}

/* Processes run it together, or not at all: one that cannot go on says so. */
static enum philox_status run_in_turn(struct philox_verify *verify, int run,
				      enum philox_status status, int *same)
{
	verify->fill = run < AGAIN ? VERIFY_FILL : VERIFY_FILL_OTHER;
	if (status == PHILOX_OK)
		status = make_again(verify);
	status = ask_to_run(verify, status);
	if (status != PHILOX_OK)
		return status;
	status = run_again(verify, same);
	if (status != PHILOX_OK && verify->agree && run + 1 < RUNS)
		verify->agree(verify, status);
	return status;
}

static enum philox_status find_out(struct philox_verify *verify,
				   enum philox_status status,
				   enum verify_why *why)
{
	int same = 1, all = 1, run = 0;

	do {
		status = run_in_turn(verify, run, status, &same);
		all &= same || run == AGAIN;
	} while (status == PHILOX_OK && ++run < RUNS && (all || verify->agree));
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
	status = find_out(verify, status, why);
	status_keep(&kept);
	if (verify_rows_set(verify, 1) != PHILOX_OK && status == PHILOX_OK)
		return PHILOX_ERROR_DEVICE;
	status_restore(&kept);
	return status;
}

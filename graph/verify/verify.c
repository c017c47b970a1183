/*
 * graph/verify/verify.c - a launch, compared with the eager form of its graph
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include <stdlib.h>
#include "graph/verify/verify.h"

/* --- beginning and end -------------------------------------------------------------------- */

static enum philox_status list_reads(struct verify *verify)
{
	const struct philox_graph *graph = verify->graph;
	const struct capture *capture = graph->capture;

	if (!capture)
		return PHILOX_OK;
	verify->reads = calloc(capture->n_reads + 1, sizeof(*verify->reads));
	if (!verify->reads)
		return status_set(PHILOX_ERROR_MEMORY,
				  "'%s': no memory to verify it", graph->name);
	for (uint32_t i = 0; i < capture->n_reads; i++)
		verify->reads[i] =
			&graph->message.args->states[capture->reads[i].slot];
	verify->trial.reads = verify->reads;
	verify->trial.n_reads = capture->n_reads;
	return PHILOX_OK;
}

enum philox_status verify_open(struct verify *verify)
{
	enum philox_status status;

	verify->fill = VERIFY_FILL;
	verify->trial.context = verify->graph->context;
	verify->trial.stream = verify->stream;
	verify->trial.touch = verify_rows_touch;
	status = list_reads(verify);
	if (status == PHILOX_OK)
		status = philox_pool_session_begin(verify->pool, verify->stream,
						   &verify->session);
	if (status == PHILOX_ERROR_MEMORY)
		verify->lacking = 1;
	return status;
}

struct philox_pool_session *verify_close(struct verify *verify)
{
	struct philox_pool_session *session = verify->session;
	const struct status_message kept = status_kept();

	for (int i = 0; session && i < 3; i++)
		if (philox_pool_session_end(session, PHILOX_ERROR_STATE,
					    NULL) == PHILOX_OK)
			session = NULL;
	status_restore(&kept);
	free(verify->memory);
	free(verify->items);
	free(verify->places);
	free(verify->reads);
	return session;
}

enum philox_status session_end_stuck(struct philox_pool_session **stuck)
{
	enum philox_status status =
		*stuck ? philox_pool_session_end(*stuck, PHILOX_ERROR_STATE,
						 NULL)
		       : PHILOX_OK;

	if (status == PHILOX_OK)
		*stuck = NULL;
	return status;
}

/* --- runs -------------------------------------------------------------------- */

enum philox_status verify_run(struct verify *verify)
{
	struct status_message kept;
	enum philox_status status;

	trial_begin(&verify->trial);
	status = verify->run(verify);
	if (verify->trial.refused) {
		verify->lacking = 1;
		status = status_set(PHILOX_ERROR_UNSUPPORTED,
				    "'%s', its eager form: %s, which cannot be "
				    "undone",
				    verify->graph->name, verify->trial.refused);
	}
	trial_end(&verify->trial);
	if (status == PHILOX_OK)
		status = verify_rows_undo(verify);
	if (status == PHILOX_OK)
		return status;
	kept = status_kept();
	return status_first(status, &kept, verify_rows_set(verify, 0));
}

enum philox_status verify_try(struct verify *verify)
{
	enum philox_status status = verify_run(verify);

	return status == PHILOX_OK ? verify_rows_add(verify) : status;
}

/* --- what is to be, then ---------------------------------------------------------------- */

enum philox_status verify_put_back(struct verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; i < verify->n_memory; i++) {
		const struct verify_memory *memory = &verify->memory[i];

		status = verify_first(status,
				      verify_copy(verify, verify->stream,
						  memory->real, memory->kept,
						  memory->bytes));
	}
	return status;
}

enum philox_status verify_give(struct verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_items; i++) {
		const struct verify_item *item = &verify->items[i];

		if (item->bytes && item->real != item->copies[0])
			status = verify_copy(verify, verify->stream, item->real,
					     item->copies[0], item->bytes);
	}
	return status;
}

/* --- passes ------------------------------------------------------------------------------------ */

enum philox_status verify_begin_pass(struct verify *verify,
				     struct philox_region *region,
				     uint32_t index, int backward,
				     unsigned flags, struct philox_pass *pass)
{
	const struct philox_graph *graph = verify->graph;
	const struct capture *capture = graph->capture;
	const struct captured_pass *captured;

	if (!capture || index >= capture->n_passes)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': '%s' has %u pass%s, and its "
				  "eager form begins more",
				  region->name, graph->name, graph->n_uses,
				  status_es(graph->n_uses));
	captured = &capture->passes[index];
	if (captured->region != region || captured->backward != backward)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': pass %u of '%s' is a %s of "
				  "region '%s'",
				  region->name, index, graph->name,
				  captured->backward ? "backward" : "forward",
				  captured->region->name);
	while (capture_is_linked(captured)) /* the slot is that one's */
		captured = &capture->passes[captured->source];
	return pass_begin_given(region, verify->stream, backward, flags,
				graph->message.args->states[captured->slot],
				pass);
}

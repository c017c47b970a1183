/*
 * graph/verify/callback.c - the passes of an eager form, and what else it asks
 * for
 */
#include <inttypes.h>
#include <stdlib.h>
#include "graph/capture/context.h"
#include "graph/verify/verify.h"

/* --- known to the context ------------------------------------------------------ */

enum philox_status verify_passes_reserve(struct philox_verify *verify)
{
	struct philox_graph *graph = verify->graph;

	verify->passes = calloc(graph->n_uses + 1, sizeof(*verify->passes));
	if (verify->passes)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY, "'%s': no memory to verify it",
			  graph->name);
}

void verify_passes_free(struct philox_verify *verify)
{
	free(verify->passes);
	verify->passes = NULL;
}

void verify_passes_begin(struct philox_verify *verify)
{
	struct philox_context *context = verify->graph->context;

	verify->n_passes = 0;
	verify->in_callback = 1;
	verify->thread = pthread_self();
	context_lock(context);
	verify->next = context->graphs->verifies;
	context->graphs->verifies = verify;
	context_unlock(context);
}

void verify_passes_end(struct philox_verify *verify)
{
	struct philox_context *context = verify->graph->context;
	struct philox_verify **link = &context->graphs->verifies;

	verify->in_callback = 0;
	context_lock(context);
	for (uint32_t i = 0; i < verify->n_passes; i++)
		if (verify->passes[i].pass.cells)
			context->hooks->give(&verify->passes[i].pass);
	while (*link != verify)
		link = &(*link)->next;
	*link = verify->next;
	context_unlock(context);
}

/* Numbers go up within an eager form. */
static struct verify_pass *find_verified(const struct philox_verify *verify,
					 uint64_t number)
{
	uint32_t low = 0, high = verify->n_passes;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (verify->passes[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < verify->n_passes && verify->passes[low].number == number
		       ? &verify->passes[low]
		       : NULL;
}

int verify_passes_ended(const struct philox_pass *pass, int committed)
{
	struct philox_verify *verify = pass->region->context->graphs->verifies;
	struct verify_pass *found = NULL;

	for (; verify && !found; verify = verify->next)
		found = find_verified(verify, pass->run);
	if (!found || found->state != VERIFY_OPEN)
		return 0;
	found->state = committed ? VERIFY_COMMITTED : VERIFY_ABORTED;
	return 1;
}

enum philox_status verify_passes_whole(const struct philox_verify *verify)
{
	const struct philox_graph *graph = verify->graph;

	for (uint32_t i = 0; i < verify->n_passes; i++) {
		const struct verify_pass *pass = &verify->passes[i];

		if (pass->state != VERIFY_COMMITTED)
			return status_set(
				PHILOX_ERROR_STATE,
				"'%s': its eager form has succeeded, but pass "
				"%" PRIu32 ", of region '%s', %s",
				graph->name, i, pass->pass.region->name,
				pass->state == VERIFY_OPEN ? "is open"
							   : "was aborted");
	}
	if (verify->n_passes == graph->n_uses)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "'%s' has %" PRIu32 " pass%s, and its eager form "
			  "%" PRIu32,
			  graph->name, graph->n_uses, status_es(graph->n_uses),
			  verify->n_passes);
}

/* --- what the callback asks for --------------------------------------------------- */

static enum philox_status check_callback(const struct philox_verify *verify)
{
	if (!verify)
		return status_set(PHILOX_ERROR_INVALID, "verify is NULL");
	if (verify->in_callback &&
	    pthread_equal(verify->thread, pthread_self()))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "'%s': no eager form of it is running on this thread",
			  verify->graph->name);
}

static enum philox_status report_verify(const struct philox_verify *verify,
					enum philox_status status)
{
	return verify ? graph_report(verify->graph, status, NULL) : status;
}

philox_stream philox_verify_stream(const struct philox_verify *verify)
{
	return verify ? verify->stream : NULL;
}

static enum philox_status find_array(const struct philox_verify *verify,
				     size_t index, void **address)
{
	enum philox_status status = check_callback(verify);

	if (status != PHILOX_OK)
		return status;
	if (!address)
		return status_set(PHILOX_ERROR_INVALID, "address is NULL");
	if (index >= verify->options->n_arrays)
		return status_set(
			PHILOX_ERROR_INVALID,
			"'%s', verified: there is no array %zu of %zu",
			verify->graph->name, index, verify->options->n_arrays);
	*address = verify->memory[index].copies[verify->turn];
	return PHILOX_OK;
}

enum philox_status philox_verify_address(struct philox_verify *verify,
					 size_t index, void **address)
{
	return report_verify(verify, find_array(verify, index, address));
}

/* --- passes ------------------------------------------------------------------------ */

static struct philox_ticket verify_placeholder(
	const struct philox_region *region, uint32_t index)
{
	return (struct philox_ticket){region->key,
				      SERIAL_PLACEHOLDER | (index + 1)};
}

static void add_verify_pass(struct philox_verify *verify,
			    struct philox_pass *pass,
			    struct philox_ticket ticket)
{
	struct philox_context *context = verify->graph->context;
	struct verify_pass *added = &verify->passes[verify->n_passes];

	*added = (struct verify_pass){.pass = *pass};
	pass->ticket = ticket;
	context_lock(context);
	added->number = ++context->graphs->run_passes;
	verify->n_passes++;
	context_unlock(context);
	pass->run = added->number;
}

/* The pass that the callback begins next is that of the graph. */
static enum philox_status begin_next(struct philox_verify *verify,
				     struct philox_region *region, int backward,
				     unsigned flags,
				     struct philox_ticket ticket,
				     struct philox_pass *pass)
{
	const uint32_t index = verify->n_passes;
	struct philox_pass made;
	enum philox_status status = verify_begin_pass(verify, region, index,
						      backward, flags, &made);

	if (status != PHILOX_OK)
		return status;
	add_verify_pass(verify, &made, ticket);
	*pass = made;
	return PHILOX_OK;
}

static enum philox_status check_begin(const struct philox_verify *verify,
				      const struct philox_region *region,
				      const struct philox_pass *pass)
{
	enum philox_status status = check_callback(verify);

	if (status != PHILOX_OK)
		return status;
	if (!region || !pass)
		return status_set(PHILOX_ERROR_INVALID, "%s is NULL",
				  region ? "pass" : "region");
	return PHILOX_OK;
}

static enum philox_status refuse_flags(const struct philox_verify *verify,
				       const struct captured_pass *captured,
				       unsigned flags)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': pass %" PRIu32 " of '%s' has flags "
			  "0x%" PRIx32 ", not 0x%x",
			  captured->region->name, verify->n_passes,
			  verify->graph->name, captured->flags, flags);
}

/* The next pass of the graph; NULL: there is none, or it is another region's. */
static const struct captured_pass *next_captured(
	const struct philox_verify *verify)
{
	const struct capture *capture = verify->graph->capture;

	return capture && verify->n_passes < capture->n_passes
		       ? &capture->passes[verify->n_passes]
		       : NULL;
}

enum philox_status philox_verify_forward_begin(struct philox_verify *verify,
					       struct philox_region *region,
					       unsigned flags,
					       struct philox_pass *pass)
{
	const unsigned kinds = PHILOX_INFERENCE | PHILOX_WARMUP;
	const struct captured_pass *captured;
	struct philox_ticket ticket = {0, 0};
	enum philox_status status = check_begin(verify, region, pass);

	if (status == PHILOX_OK) {
		captured = next_captured(verify);
		if (captured && captured->region == region &&
		    !captured->backward && ((captured->flags ^ flags) & kinds))
			status = refuse_flags(verify, captured, flags);
		if (!(flags & kinds))
			ticket = verify_placeholder(region, verify->n_passes);
	}
	if (status == PHILOX_OK)
		status = begin_next(verify, region, 0, flags, ticket, pass);
	if (status != PHILOX_OK && pass)
		*pass = (struct philox_pass){.region = NULL};
	return report_verify(verify, status);
}

/* A ticket names an earlier pass of the callback, as it did in the capture. */
static enum philox_status check_ticket_of(const struct philox_verify *verify,
					  const struct philox_region *region,
					  struct philox_ticket ticket)
{
	const struct captured_pass *captured = next_captured(verify);
	uint32_t source = CAPTURED_NO_SOURCE;

	if (ticket.serial)
		source = (uint32_t)((ticket.serial & ~SERIAL_PLACEHOLDER) - 1);
	if (!captured || captured->region != region || !captured->backward)
		return PHILOX_OK; /* which is refused in other words */
	if (captured->source == source &&
	    (!ticket.serial || ticket.region_key == region->key))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': pass %" PRIu32 " of '%s' %s, and that "
			  "of its eager form does not",
			  region->name, verify->n_passes, verify->graph->name,
			  captured->source == CAPTURED_NO_SOURCE
				  ? "is named at launch"
				  : "repeats an earlier pass");
}

enum philox_status philox_verify_backward_begin(struct philox_verify *verify,
						struct philox_region *region,
						struct philox_ticket ticket,
						unsigned flags,
						struct philox_pass *pass)
{
	enum philox_status status = check_begin(verify, region, pass);

	if (status == PHILOX_OK)
		status = check_ticket_of(verify, region, ticket);
	if (status == PHILOX_OK && !ticket.serial)
		ticket = verify_placeholder(region, verify->n_passes);
	if (status == PHILOX_OK)
		status = begin_next(verify, region, 1, flags, ticket, pass);
	if (status != PHILOX_OK && pass)
		*pass = (struct philox_pass){.region = NULL};
	return report_verify(verify, status);
}

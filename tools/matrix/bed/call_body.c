/*
 * tools/matrix/bed/call_body.c - the body of a runner's functions
 */
#include <string.h>
#include "tools/matrix/bed/bed.h"

static int is_recorded(const struct philox_run *run)
{
	return philox_run_kind(run) == PHILOX_CALL_RECORD;
}

/* Half of the functions ask for cells when their bodies are run, too. */
static unsigned flags_of(const struct caller *caller, unsigned i)
{
	const struct matrix_event *event = caller->event;
	int cells = (event->kind + event->region) & 1;

	return caller->passes[i].flags |
	       (cells ? (unsigned)PHILOX_PASS_ON_DEVICE : 0);
}

/* `ticket` is first that of the pass before, then of this one. */
static enum philox_status begin_in_run(struct caller *caller,
				       struct philox_run *run, unsigned i,
				       struct philox_ticket *ticket,
				       struct philox_pass *pass)
{
	const struct captured *captured = &caller->passes[i];
	struct philox_region *region =
		caller->bed->sites[captured->region].region;
	unsigned flags = flags_of(caller, i);
	int fails = caller->event->fate == MATRIX_BROKEN && !is_recorded(run) &&
		    i + 1 == caller->n;
	enum philox_status status;

	if (captured->named)
		*ticket = (struct philox_ticket){0};
	if (fails)
		bed_order_failure(caller->bed, "capture_info");
	status = captured->role == MATRIX_REPEAT
			 ? philox_run_backward_begin(run, region, *ticket,
						     flags, pass)
			 : philox_run_forward_begin(run, region, flags, pass);
	if (fails)
		bed_cancel_failure(caller->bed);
	if (status == PHILOX_OK && !(flags & PHILOX_PASS_INFERENCE))
		status = philox_pass_ticket(pass, ticket);
	return status;
}

static int see_in_run(struct caller *caller, const struct philox_run *run,
		      unsigned i, const struct philox_pass *pass)
{
	struct matrix_bed *bed = caller->bed;
	struct matrix_numbers *numbers = &caller->numbers[i], host;

	caller->is_read[i] = !pass->states && !is_recorded(run);
	if (!caller->is_read[i]) {
		if (bed_copy_cells(bed, pass, numbers))
			return -1;
	} else {
		if (bed_read_states(bed, pass, &host))
			return -1;
		memcpy(caller->states[i], host.cell, sizeof(host.cell));
	}
	return bed->shape.draw ? bed_draw_words(bed, pass, &numbers->word[0][0])
			       : 0;
}

static enum philox_status end_in_run(struct caller *caller,
				     const struct philox_run *run, unsigned i,
				     struct philox_pass *pass)
{
	struct philox_ticket ticket;
	enum philox_status status;

	if (caller->passes[i].role == MATRIX_REPEAT)
		return philox_pass_commit(pass, 0, NULL);
	status = philox_pass_commit(pass, 0, &ticket);
	if (status == PHILOX_OK && !is_recorded(run) &&
	    !(caller->passes[i].flags & PHILOX_PASS_INFERENCE))
		caller->made[i] = ticket;
	return status;
}

static enum philox_status run_pass(struct caller *caller,
				   struct philox_run *run, unsigned i,
				   struct philox_ticket *ticket)
{
	struct philox_pass pass;
	enum philox_status status = begin_in_run(caller, run, i, ticket, &pass);

	if (status != PHILOX_OK)
		return status;
	if (see_in_run(caller, run, i, &pass)) {
		caller->failed = 1;
		return PHILOX_ERROR_STATE;
	}
	if (caller->passes[i].holds)
		status = run_pass(caller, run, i + 1, ticket);
	return status == PHILOX_OK ? end_in_run(caller, run, i, &pass) : status;
}

static size_t output_size(const struct caller *caller)
{
	return caller->n * sizeof(*caller->numbers);
}

/* What the fate of the event makes of a body that has done its passes. */
static enum philox_status end_of_body(struct caller *caller,
				      struct philox_run *run)
{
	unsigned fate = caller->event->fate;

	if (fate == (is_recorded(run) ? MATRIX_FAILED : MATRIX_ABORTED))
		return PHILOX_ERROR_DEVICE;
	if (fate == MATRIX_DECLINED && is_recorded(run))
		return philox_run_refuse(run, "it is said to be so");
	return philox_run_output(run, 0, caller->numbers, output_size(caller));
}

enum philox_status call_body(void *user, struct philox_run *run)
{
	struct caller *caller = user;
	struct philox_ticket ticket = {0};
	enum philox_status status =
		philox_run_alloc(run, output_size(caller), 0, "numbers",
				 (void **)&caller->numbers);

	caller->bodies++;
	memset(caller->made, 0, sizeof(caller->made));
	for (unsigned i = 0; status == PHILOX_OK && i < caller->n;
	     i += 1 + caller->passes[i].holds)
		status = run_pass(caller, run, i, &ticket);
	return status == PHILOX_OK ? end_of_body(caller, run) : status;
}

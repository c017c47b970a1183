/*
 * tools/matrix/bed/pass.c - eager passes, and the numbers of passes
 *
 * Numbers are copied in stream order, each pass's to its own place in a list,
 * so that nothing has to wait before the end of the run.
 */
#include <string.h>
#include "tools/matrix/bed/bed.h"

/* --- numbers seen --------------------------------------------------------- */

struct matrix_seen *bed_next_seen(struct matrix_bed *bed, unsigned role,
				  unsigned ticket, unsigned region)
{
	struct matrix_seen *seen = &bed->seen[bed->n_seen++];

	seen->event = (uint16_t)bed->place;
	seen->role = (uint8_t)role;
	seen->ticket = (uint8_t)ticket;
	seen->region = (uint8_t)region;
	seen->forward = MATRIX_NONE;
	seen->iteration = seen->in_bodies = 0;
	return seen;
}

static size_t seen_size(const struct matrix_bed *bed)
{
	if (bed->shape.draw)
		return sizeof(struct matrix_numbers);
	return bed->shape.cells * sizeof(struct philox_state);
}

int bed_draw_words(struct matrix_bed *bed, const struct philox_pass *pass,
		   uint32_t *words)
{
	struct philox_span span = {.count = MATRIX_WORDS};

	for (uint32_t op = 0; op < bed->shape.ops; op++)
		TRY(bed, philox_pass_bits(pass, op, PHILOX_DTYPE_U32, span,
					  words + op * MATRIX_WORDS));
	return 0;
}

int bed_read_states(struct matrix_bed *bed, const struct philox_pass *pass,
		    struct matrix_numbers *numbers)
{
	unsigned cell = 0;

	for (uint32_t op = 0; op < bed->shape.ops; op++)
		for (uint32_t call = 0; call < bed->shape.op[op].calls;
		     call++) {
			struct philox_rng rng;

			TRY(bed, philox_pass_rng(pass, op, call, &rng));
			numbers->cell[cell++] = rng.state;
		}
	return 0;
}

int bed_copy_cells(struct matrix_bed *bed, const struct philox_pass *pass,
		   struct matrix_numbers *numbers)
{
	const struct philox_state *states;

	TRY(bed, philox_pass_states(pass, &states));
	TRY(bed,
	    philox_memory_copy(bed->device, pass->stream, numbers->cell, states,
			       bed->shape.cells * sizeof(*states)));
	return 0;
}

/* Notes the numbers of an eager pass or of an iteration of it. */
static int see_numbers(struct matrix_bed *bed, const struct philox_pass *pass,
		       struct matrix_seen *seen)
{
	uint32_t *words = bed->sites[seen->region].words;

	if (pass->states ? bed_copy_cells(bed, pass, &seen->numbers)
			 : bed_read_states(bed, pass, &seen->numbers))
		return -1;
	if (!bed->shape.draw)
		return 0;
	if (bed_draw_words(bed, pass, words))
		return -1;
	TRY(bed,
	    philox_memory_copy(bed->device, pass->stream, seen->numbers.word,
			       words, sizeof(seen->numbers.word)));
	return 0;
}

/* All iterations of a pass, in an order that is not theirs. */
static int see_iterations(struct matrix_bed *bed,
			  const struct philox_pass *pass,
			  const struct matrix_event *event, unsigned iterations)
{
	int draws = event->kind == MATRIX_LOOP;
	struct philox_pass view;
	enum philox_status status = philox_pass_at(pass, iterations, &view);

	if (status != PHILOX_ERROR_INVALID)
		return bed_complain(
			bed, "iteration %u of a pass that has %u: %s",
			iterations, iterations, philox_status_name(status));
	for (unsigned i = iterations; i--;) {
		struct matrix_seen *seen = bed_next_seen(
			bed, draws && i ? MATRIX_FRESH : MATRIX_REPEAT,
			event->ticket, event->region);

		seen->iteration = (uint8_t)i;
		if (draws)
			seen->forward = 0;
		TRY(bed, philox_pass_at(pass, i, &view));
		if (see_numbers(bed, &view, seen))
			return -1;
	}
	return 0;
}

/* Notes the numbers of an eager pass, and of its iterations. */
static int see_pass(struct matrix_bed *bed, const struct philox_pass *pass,
		    enum matrix_role role, const struct matrix_event *event)
{
	struct matrix_seen *seen =
		bed_next_seen(bed, role, event->ticket, event->region);
	unsigned iterations = 1;

	if (event->kind == MATRIX_LOOP) {
		seen->forward = 0;
		iterations = FORM_LOOP;
	} else if (role == MATRIX_REPEAT) {
		iterations = bed->iterations[event->ticket];
	}
	if (see_numbers(bed, pass, seen))
		return -1;
	return iterations > 1 ? see_iterations(bed, pass, event, iterations)
			      : 0;
}

int bed_see_device(struct matrix_bed *bed, const struct captured *pass,
		   const struct matrix_numbers *numbers,
		   const struct philox_state *states, philox_stream stream)
{
	struct matrix_seen *seen =
		bed_next_seen(bed, pass->role, pass->ticket, pass->region);
	size_t skipped = states ? sizeof(numbers->cell) : 0;
	size_t size = seen_size(bed);

	if (states)
		memcpy(seen->numbers.cell, states, sizeof(numbers->cell));
	if (size <= skipped)
		return 0;
	TRY(bed, philox_memory_copy(
			 bed->device, stream, (char *)&seen->numbers + skipped,
			 (const char *)numbers + skipped, size - skipped));
	return 0;
}

/* --- eager passes --------------------------------------------------------- */

static void count_release(void *saved, philox_stream stream)
{
	(void)stream;
	++*(unsigned *)saved;
}

/* A forward is pending: notes its ticket and gives it a saved context. */
int bed_keep_ticket(struct matrix_bed *bed, unsigned number, unsigned region,
		    struct philox_ticket ticket)
{
	bed->tickets[number] = ticket;
	TRY(bed, philox_ticket_attach(bed->sites[region].region, ticket,
				      &bed->released[number], count_release));
	return 0;
}

void bed_order_failure(struct matrix_bed *bed, const char *operation)
{
	philox_device_fail(bed->device, operation, 1, PHILOX_ERROR_DEVICE);
}

void bed_cancel_failure(struct matrix_bed *bed)
{
	philox_device_fail(bed->device, NULL, 0, PHILOX_OK);
}

/* Which numbers an event's (first) pass must have. */
static enum matrix_role bed_role(const struct matrix_event *event)
{
	if (event->kind == MATRIX_WARMUP)
		return MATRIX_PREVIEW;
	if (event->kind == MATRIX_BACKWARD || event->kind == MATRIX_RECOMPUTE)
		return MATRIX_REPEAT;
	return MATRIX_FRESH;
}

struct half *bed_half(struct matrix_bed *bed, const struct matrix_event *event)
{
	if (event->ticket == MATRIX_NONE)
		return NULL;
	if (event->kind == MATRIX_FORWARD)
		return &bed->forwards[event->ticket];
	if (event->kind == MATRIX_RECOMPUTE)
		return &bed->recomputes[event->ticket];
	return event->how == MATRIX_IN_GRAPH ? &bed->launched[event->ticket]
					     : &bed->backwards[event->ticket];
}

static enum philox_status begin_eager(struct matrix_bed *bed,
				      const struct matrix_event *event,
				      struct philox_pass *pass)
{
	struct site *site = &bed->sites[event->region];
	unsigned flags =
		event->how == MATRIX_ON_CELLS ? PHILOX_PASS_ON_DEVICE : 0;
	enum philox_status status;

	if (event->fate == MATRIX_BROKEN)
		bed_order_failure(bed, flags ? "launch" : "capture_info");
	switch (event->kind) {
	case MATRIX_BACKWARD:
		status = philox_backward_begin(site->region, site->stream,
					       bed->tickets[event->ticket],
					       flags, pass);
		break;
	case MATRIX_RECOMPUTE:
		status = philox_backward_begin(
			site->region, site->stream, bed->tickets[event->ticket],
			flags | PHILOX_PASS_RETAIN, pass);
		break;
	case MATRIX_LOOP:
		status = philox_forward_begin_loop(site->region, site->stream,
						   flags, FORM_LOOP, pass);
		break;
	default:
		flags |= event->kind == MATRIX_INFERENCE ? PHILOX_PASS_INFERENCE
							 : 0;
		flags |= event->kind == MATRIX_WARMUP ? PHILOX_PASS_WARMUP : 0;
		status = philox_forward_begin(site->region, site->stream, flags,
					      pass);
	}
	bed_cancel_failure(bed);
	return status;
}

static int end_eager(struct matrix_bed *bed, const struct matrix_event *event,
		     struct philox_pass *pass)
{
	struct philox_ticket ticket;

	if (event->fate == MATRIX_ABORTED) {
		TRY(bed, philox_pass_abort(pass));
		return 0;
	}
	if (bed_role(event) == MATRIX_REPEAT) {
		TRY(bed, philox_pass_commit(pass,
					    event->fate == MATRIX_KEPT
						    ? PHILOX_PASS_RETAIN
						    : 0,
					    NULL));
		return 0;
	}
	TRY(bed, philox_pass_commit(pass, 0, &ticket));
	if (event->kind == MATRIX_LOOP)
		bed->iterations[event->ticket] = FORM_LOOP;
	if (event->kind == MATRIX_FORWARD || event->kind == MATRIX_LOOP)
		return bed_keep_ticket(bed, event->ticket, event->region,
				       ticket);
	return 0;
}

/* The ticket of a forward that is or was open can be named by mistake. */
static void note_open_ticket(struct matrix_bed *bed,
			     const struct matrix_event *event,
			     const struct philox_pass *pass)
{
	if (event->kind == MATRIX_FORWARD || event->kind == MATRIX_LOOP)
		bed->tickets[event->ticket] = pass->ticket;
}

int bed_do_eager(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct half *half = bed_half(bed, event);
	struct philox_pass whole;
	struct philox_pass *pass =
		event->part != MATRIX_WHOLE ? &half->pass : &whole;
	enum philox_status status;

	if (event->part != MATRIX_END) {
		status = begin_eager(bed, event, pass);
		if (bed_check_status(bed, event, status))
			return -1;
		if (status != PHILOX_OK)
			return 0;
		note_open_ticket(bed, event, pass);
		if (see_pass(bed, pass, bed_role(event), event))
			return -1;
		if (event->part == MATRIX_BEGIN)
			return 0;
	} else if (see_pass(bed, pass, MATRIX_REPEAT, event)) {
		return -1;
	}
	return end_eager(bed, event, pass);
}

/* A ticket in a region that is not its own: every call must be refused. */
int bed_do_strange(struct matrix_bed *bed, const struct matrix_event *event)
{
	struct site *site = &bed->sites[event->region];
	struct philox_ticket ticket = bed->tickets[event->ticket];
	struct philox_pass pass;

	if (bed_check_status(bed, event,
			     philox_backward_begin(site->region, site->stream,
						   ticket, 0, &pass)) ||
	    bed_check_status(bed, event,
			     philox_backward_begin(site->region, site->stream,
						   ticket, PHILOX_PASS_RETAIN,
						   &pass)))
		return -1;
	return bed_check_status(
		bed, event,
		philox_ticket_release(site->region, site->stream, ticket));
}

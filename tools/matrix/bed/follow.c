/*
 * tools/matrix/bed/follow.c - launching graphs with branches and loops, and
 * what ran
 */
#include <string.h>
#include "tools/matrix/bed/bed.h"

/* Writes what the launch's memory says, and empties the log. */
static int write_memory(struct matrix_bed *bed, philox_stream stream,
			struct form_memory *memory,
			const struct form_play *play)
{
	uint32_t(*tapes)[FORM_TAPE] = bed->tapes[bed->place];

	memcpy(tapes, play->tape, sizeof(play->tape));
	TRY(bed, philox_memory_copy(bed->device, stream, memory->tape, tapes,
				    sizeof(play->tape)));
	TRY(bed, philox_memory_set(bed->device, stream, memory->log, 0,
				   sizeof(memory->log)));
	return 0;
}

static void fill_form_uses(const struct matrix_bed *bed,
			   const struct matrix_event *event,
			   struct philox_launch_pass *uses)
{
	const struct form *form = form_of(event->form);

	memset(uses, 0, FORM_PASSES * sizeof(*uses));
	for (unsigned i = 0; i < form->n_passes; i++) {
		if (form->pass[i].forward != FORM_NAMED ||
		    form->pass[i].source != FORM_NAMED)
			continue;
		uses[i].ticket = bed->tickets[event->other];
		uses[i].flags =
			event->fate == MATRIX_KEPT ? PHILOX_PASS_RETAIN : 0;
	}
}

/* The role of what a launch draws, and whose numbers they are. */
static void fill_seen(const struct matrix_event *event,
		      const struct form_seen *drawn, struct matrix_seen *seen)
{
	const struct form *form = form_of(event->form);
	const struct form_pass *pass = &form->pass[drawn->pass];

	seen->in_bodies = 1;
	seen->must[0] = form_tag(drawn->pass, drawn->view);
	seen->must[1] = drawn->number;
	seen->iteration = drawn->iteration;
	seen->role = drawn->fresh ? MATRIX_FRESH : MATRIX_REPEAT;
	if (drawn->poison)
		seen->role = MATRIX_POISON;
	if (pass->forward == FORM_NAMED)
		seen->ticket = event->other;
	else
		seen->forward = pass->forward;
}

static int see_entry(struct matrix_bed *bed, const struct form_entry *entry,
		     struct matrix_seen *seen, philox_stream stream)
{
	size_t size = bed->shape.draw ? sizeof(seen->numbers)
				      : sizeof(seen->numbers.cell);

	TRY(bed, philox_memory_copy(bed->device, stream, seen->ran, entry->ran,
				    sizeof(seen->ran)));
	TRY(bed, philox_memory_copy(bed->device, stream, &seen->numbers,
				    &entry->numbers, size));
	return 0;
}

/* Notes what is in the log, which has one entry more than it must have. */
static int see_log(struct matrix_bed *bed, const struct matrix_event *event,
		   const struct form_memory *memory,
		   const struct form_play *play)
{
	philox_stream stream = bed->sites[event->region].stream;
	struct matrix_seen *seen;

	for (unsigned i = 0; i < play->n; i++) {
		const struct form_pass *pass =
			&form_of(event->form)->pass[play->seen[i].pass];

		seen = bed_next_seen(bed, MATRIX_REPEAT, MATRIX_NONE,
				     form_region(bed, event, pass));
		fill_seen(event, &play->seen[i], seen);
		if (see_entry(bed, &memory->log[play->n - 1 - i], seen, stream))
			return -1;
	}
	seen = bed_next_seen(bed, MATRIX_NOTHING, MATRIX_NONE, event->region);
	seen->in_bodies = 1;
	memset(seen->must, 0, sizeof(seen->must));
	return see_entry(bed, &memory->log[play->n], seen, stream);
}

static int take_tickets(struct matrix_bed *bed,
			const struct matrix_event *event,
			const struct philox_launch_pass *uses)
{
	const struct form *form = form_of(event->form);
	struct matrix_draw draws[2];
	unsigned n = matrix_draws(&bed->limits, event, draws);

	for (unsigned i = 0; i < n; i++) {
		struct philox_ticket ticket = uses[form->first[i]].ticket;
		unsigned number = event->ticket + i;

		if (!form->makes && (ticket.region_key || ticket.serial))
			return bed_complain(bed, "a ticket for a forward that "
						 "leaves none");
		if (!form->makes)
			continue;
		bed->iterations[number] = draws[i].iterations;
		if (bed_keep_ticket(bed, number, draws[i].region, ticket))
			return -1;
	}
	return 0;
}

/* What philox_context_check() must report about the launches so far. */
static int check_report(struct matrix_bed *bed, philox_stream stream,
			enum philox_status must, uint64_t beyond, uint64_t cut)
{
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	enum philox_status status;

	TRY(bed, philox_stream_synchronize(bed->device, stream));
	status = philox_context_check(bed->context, &report);
	if (status != must)
		return bed_complain(
			bed, "philox_context_check() gave %s, not %s",
			philox_status_name(status), philox_status_name(must));
	if (report.beyond != beyond)
		return bed_complain(
			bed,
			"philox_context_check() found %u runs beyond, not %u",
			(unsigned)report.beyond, (unsigned)beyond);
	if (report.cut != cut)
		return bed_complain(
			bed,
			"philox_context_check() found %u loops cut, not %u",
			(unsigned)report.cut, (unsigned)cut);
	return 0;
}

static unsigned named_iterations(const struct matrix_bed *bed,
				 const struct matrix_event *event)
{
	unsigned iterations =
		event->other == MATRIX_NONE ? 0 : bed->iterations[event->other];

	return iterations ? iterations : 1;
}

/* Philox is not told: no pass begins, and nothing is drawn. */
static int launch_untold(struct matrix_bed *bed,
			 const struct matrix_event *event,
			 const struct bodied *bodied,
			 const struct form_play *play)
{
	philox_stream stream = bed->sites[event->region].stream;
	philox_native_exec exec;

	TRY(bed, philox_graph_native(bodied->graph.graph, NULL, &exec));
	TRY(bed, philox_stream_synchronize(bed->device, stream));
	TRY(bed, philox_native_exec_launch(bed->device, stream, exec));
	if (see_log(bed, event, bodied->memory, play))
		return -1;
	return check_report(bed, stream, PHILOX_ERROR_UNANNOUNCED, 0, 0);
}

static int launch_form(struct matrix_bed *bed, const struct matrix_event *event,
		       const struct bodied *bodied,
		       const struct form_play *play)
{
	philox_stream stream = bed->sites[event->region].stream;
	struct philox_launch_pass uses[FORM_PASSES];
	enum philox_status status;

	fill_form_uses(bed, event, uses);
	if (event->fate == MATRIX_ABORTED)
		bed_order_failure(bed, "exec_launch");
	if (event->fate == MATRIX_BROKEN)
		bed_order_failure(bed, "exec_set_kernel");
	status = philox_graph_launch(bodied->graph.graph, stream, uses,
				     form_of(event->form)->n_passes);
	bed_cancel_failure(bed);
	if (bed_check_status(bed, event, status))
		return -1;
	if (status != PHILOX_OK)
		return 0;
	if (see_log(bed, event, bodied->memory, play) ||
	    take_tickets(bed, event, uses))
		return -1;
	if (!play->beyond && !play->cut)
		return 0;
	return check_report(bed, stream, PHILOX_ERROR_LIMIT, play->beyond,
			    play->cut);
}

int bed_do_bodies(struct matrix_bed *bed, const struct matrix_event *event)
{
	const struct form *form = form_of(event->form);
	struct bodied *bodied = bodies_need(bed, event);
	int untold = event->fate == MATRIX_UNTOLD;
	char digits[FORM_DIGITS];
	struct form_play play;

	if (!bodied)
		return -1;
	form_digits(form, event->choice, digits);
	form_play(form, digits, untold, named_iterations(bed, event), &play);
	if (write_memory(bed, bed->sites[event->region].stream, bodied->memory,
			 &play))
		return -1;
	return untold ? launch_untold(bed, event, bodied, &play)
		      : launch_form(bed, event, bodied, &play);
}

/*
 * tools/matrix/bed/record.c - recording a graph with branches and loops
 */
#include <string.h>
#include "lib/device/device.h"
#include "tools/matrix/bed/bed.h"

/* Where the recorder is: a body, or none. */
struct spot {
	philox_stream stream;
	unsigned depth;
	const uint32_t *number; /* of the run */
	const struct philox_conditional *node;
};

static int note_call(struct recorder *recorder, const char *what,
		     enum philox_status status)
{
	if (status == PHILOX_OK)
		return 0;
	if (recorder->status == PHILOX_OK) {
		recorder->status = status;
		recorder->what = what;
		recorder->ended_body = recorder->ends_body;
		bed_failed(recorder->bed, what, status);
	}
	return -1;
}

#define RECORD(recorder, call)                          \
	do {                                            \
		if (note_call((recorder), #call, call)) \
			return -1;                      \
	} while (0)

static int record_copy(struct recorder *recorder, const struct spot *spot,
		       void *to, const void *from, size_t size)
{
	RECORD(recorder, philox_memory_copy(recorder->bed->device, spot->stream,
					    to, from, size));
	return 0;
}

/* The next word of a tape becomes its first. */
static int move_tape(struct recorder *recorder, const struct spot *spot,
		     unsigned tape)
{
	uint32_t *words = recorder->memory->tape[tape];
	uint32_t *shorter = recorder->memory->shorter;
	size_t size = (FORM_TAPE - 1) * sizeof(*words);

	return record_copy(recorder, spot, shorter, words + 1, size) ||
			       record_copy(recorder, spot, words, shorter, size)
		       ? -1
		       : 0;
}

static int record_numbers(struct recorder *recorder,
			  const struct philox_pass *pass,
			  const struct spot *spot,
			  struct matrix_numbers *numbers)
{
	const struct matrix_shape *shape = &recorder->bed->shape;
	struct philox_span span = {.count = MATRIX_WORDS};
	const struct philox_state *states;

	RECORD(recorder, philox_pass_states(pass, &states));
	if (record_copy(recorder, spot, numbers->cell, states,
			shape->cells * sizeof(*states)))
		return -1;
	for (uint32_t op = 0; shape->draw && op < shape->ops; op++)
		RECORD(recorder, philox_pass_bits(pass, op, PHILOX_DTYPE_U32,
						  span, numbers->word[op]));
	return 0;
}

/* A pass or a view of it draws into the log. */
static int record_draw(struct recorder *recorder,
		       const struct philox_pass *pass, const struct spot *spot,
		       uint32_t tag)
{
	struct form_memory *memory = recorder->memory;
	struct form_entry *log = memory->log;
	size_t size = recorder->entries * sizeof(*log);
	const uint32_t *number = spot->number ? spot->number : memory->tag;

	if (record_copy(recorder, spot, memory->longer, log, size) ||
	    record_copy(recorder, spot, log + 1, memory->longer, size) ||
	    record_copy(recorder, spot, &log->ran[0], &memory->tag[tag],
			sizeof(uint32_t)) ||
	    record_copy(recorder, spot, &log->ran[1], number, sizeof(uint32_t)))
		return -1;
	return record_numbers(recorder, pass, spot, &log->numbers);
}

static int record_views(struct recorder *recorder, unsigned number,
			const struct philox_pass *pass, const struct spot *spot)
{
	const struct form_pass *of = &recorder->form->pass[number];
	struct philox_pass view;

	for (unsigned i = 0; i < of->views; i++) {
		RECORD(recorder, philox_pass_at(pass, of->view[i], &view));
		if (record_draw(recorder, &view, spot, form_tag(number, i + 1)))
			return -1;
	}
	if (!of->word)
		return 0;
	RECORD(recorder,
	       philox_pass_at_word(pass, recorder->memory->tape[of->tape],
				   &view));
	if (record_draw(recorder, &view, spot,
			form_tag(number, of->views + 1u)))
		return -1;
	return move_tape(recorder, spot, of->tape);
}

static int begin_forward(struct recorder *recorder, const struct form_pass *of,
			 const struct spot *spot, struct philox_pass *pass)
{
	unsigned region = form_region(recorder->bed, recorder->event, of);
	struct philox_region *in = recorder->bed->sites[region].region;
	unsigned flags = of->what == 'I' ? PHILOX_PASS_INFERENCE : 0;

	recorder->regions |= 1u << region;
	if (of->loop)
		RECORD(recorder,
		       philox_forward_begin_loop(in, spot->stream, flags,
						 FORM_LOOP, pass));
	else
		RECORD(recorder,
		       philox_forward_begin(in, spot->stream, flags, pass));
	return 0;
}

static int begin_backward(struct recorder *recorder, const struct form_pass *of,
			  const struct spot *spot, struct philox_pass *pass)
{
	unsigned region = recorder->event->region;
	struct philox_region *in = recorder->bed->sites[region].region;
	unsigned flags = (of->consumes ? 0u : (unsigned)PHILOX_PASS_RETAIN) |
			 (of->reversed ? (unsigned)PHILOX_PASS_REVERSED : 0u);
	struct philox_ticket ticket = {0};

	recorder->regions |= 1u << region;
	if (of->what == 'L')
		ticket = recorder->named;
	else if (of->forward != FORM_NAMED)
		ticket = recorder->tickets[of->forward];
	RECORD(recorder,
	       philox_backward_begin(in, spot->stream, ticket, flags, pass));
	if (strchr("NK", of->what))
		RECORD(recorder, philox_pass_ticket(pass, &recorder->named));
	return 0;
}

static int end_of_pass(struct recorder *recorder, const struct form_pass *of,
		       struct philox_pass *pass)
{
	struct philox_ticket ticket = {0};

	if (!of->is_forward) {
		RECORD(recorder, philox_pass_commit(pass, 0, NULL));
		return 0;
	}
	RECORD(recorder, philox_pass_commit(pass, 0, &ticket));
	recorder->tickets[of->forward] = ticket;
	return 0;
}

static int record_pass(struct recorder *recorder, unsigned number,
		       const struct spot *spot)
{
	const struct form_pass *of = &recorder->form->pass[number];
	struct philox_pass pass;

	if (of->is_forward ? begin_forward(recorder, of, spot, &pass)
			   : begin_backward(recorder, of, spot, &pass))
		return -1;
	if (!record_draw(recorder, &pass, spot, form_tag(number, 0)) &&
	    !record_views(recorder, number, &pass, spot))
		return end_of_pass(recorder, of, &pass);
	philox_pass_abort(&pass);
	return -1;
}

static int record_list(struct recorder *recorder, unsigned *at,
		       const struct spot *spot);

/* Whether the body of a WHILE runs again: the next word of its tape. */
static int record_again(struct recorder *recorder,
			struct philox_conditional *node,
			const struct form_op *op, const struct spot *spot)
{
	const uint32_t *word = recorder->memory->tape[op->tape];

	if (move_tape(recorder, spot, op->tape))
		return -1;
	if (op->setter == 't')
		RECORD(recorder,
		       philox_conditional_set(node, spot->stream,
					      &recorder->memory->tag[1]));
	if (op->setter == 'o')
		RECORD(recorder, device_condition_record(
					 recorder->bed->device, spot->stream,
					 node->condition, word));
	else
		RECORD(recorder,
		       philox_conditional_set(node, spot->stream, word));
	return 0;
}

/* Captures the body that begins at an op, and goes on to the one after it. */
static int record_body(struct recorder *recorder,
		       struct philox_conditional *node, unsigned body,
		       unsigned *at, const struct form_op *op,
		       const struct spot *around)
{
	struct spot spot = {.stream = recorder->bed->inner[around->depth],
			    .depth = around->depth + 1,
			    .node = node};

	recorder->ends_body = body > 0;
	RECORD(recorder, philox_conditional_body(node, body, spot.stream));
	recorder->ends_body = 0;
	RECORD(recorder,
	       philox_conditional_iteration(node, body, &spot.number));
	++*at;
	if (record_list(recorder, at, &spot))
		return -1;
	++*at;
	return op->what == 'w' ? record_again(recorder, node, op, &spot) : 0;
}

static int begin_node(struct recorder *recorder, const struct form_op *op,
		      const struct spot *spot, struct philox_conditional *node)
{
	struct philox_conditional_desc options =
		PHILOX_INIT(struct philox_conditional_desc);

	options.kind = op->what == 'w'   ? PHILOX_CONDITIONAL_WHILE
		       : op->what == 's' ? PHILOX_CONDITIONAL_SWITCH
					 : PHILOX_CONDITIONAL_IF;
	options.bodies = op->bodies;
	options.limit = op->limit;
	options.word = recorder->memory->tape[op->tape];
	RECORD(recorder,
	       philox_conditional_begin(recorder->bed->context, spot->stream,
					&options, node));
	return 0;
}

/* After a failure, too, the node ends: no stream captures a body of it then. */
static int record_node(struct recorder *recorder, unsigned *at,
		       const struct spot *spot)
{
	const struct form_op *op = &recorder->form->op[(*at)++];
	struct philox_conditional node;
	int status = 0;

	if (begin_node(recorder, op, spot, &node))
		return -1;
	for (unsigned i = 0; i < op->bodies && !status; i++)
		status = record_body(recorder, &node, i, at, op, spot);
	++*at;
	if (status) {
		philox_conditional_end(&node);
		return -1;
	}
	recorder->ends_body = 1;
	RECORD(recorder, philox_conditional_end(&node));
	recorder->ends_body = 0;
	return move_tape(recorder, spot, op->tape);
}

static int record_list(struct recorder *recorder, unsigned *at,
		       const struct spot *spot)
{
	const struct form *form = recorder->form;

	while (*at < form->n_ops && form->op[*at].what != ')') {
		const struct form_op *op = &form->op[*at];

		if (op->what == 'P' ? record_pass(recorder, op->pass, spot)
				    : record_node(recorder, at, spot))
			return -1;
		*at += op->what == 'P';
	}
	return 0;
}

/* The most that a launch of this form draws. */
static unsigned most_entries(const struct form *form)
{
	unsigned most = 0;

	for (unsigned i = 0; i < form_choices(form); i++) {
		char digits[FORM_DIGITS];
		struct form_play play;

		form_digits(form, i, digits);
		form_play(form, digits, 0, 1, &play);
		if (play.n > most)
			most = play.n;
	}
	return most;
}

unsigned form_region(const struct matrix_bed *bed,
		     const struct matrix_event *event,
		     const struct form_pass *pass)
{
	return pass->what == 'G'
		       ? matrix_next_region(&bed->limits, event->region)
		       : event->region;
}

void record_init(struct recorder *recorder, struct matrix_bed *bed,
		 const struct matrix_event *event, struct form_memory *memory)
{
	const struct form *form = form_of(event->form);

	*recorder = (struct recorder){.bed = bed,
				      .event = event,
				      .form = form,
				      .memory = memory,
				      .entries = most_entries(form)};
}

int record_form(struct recorder *recorder)
{
	struct spot spot = {
		.stream = recorder->bed->sites[recorder->event->region].stream};
	unsigned at = 0;

	return record_list(recorder, &at, &spot);
}

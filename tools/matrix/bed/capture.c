/*
 * tools/matrix/bed/capture.c - graphs: their contents, capturing them when
 * needed
 *
 * Half of the graphs are captured by philox_capture_begin(), the others here,
 * and adopted.
 */
#include <string.h>
#include "tools/matrix/bed/bed.h"

/*
 * --- contents of a graph ---------------------------------------------------
 */

static struct captured draws(enum matrix_role role, unsigned region,
			     unsigned ticket, unsigned flags)
{
	return (struct captured){.role = (uint8_t)role,
				 .region = (uint8_t)region,
				 .ticket = (uint8_t)ticket,
				 .flags = (uint8_t)flags};
}

static struct captured names(unsigned region, unsigned ticket, unsigned flags)
{
	struct captured pass = draws(MATRIX_REPEAT, region, ticket, flags);

	pass.named = 1;
	return pass;
}

/* The region of the other ticket that an event repeats, or 0. */
static unsigned other_region(const struct matrix_bed *bed,
			     const struct matrix_event *event)
{
	struct matrix_view view;

	if (event->kind != MATRIX_EXCHANGE && event->kind != MATRIX_MIXED)
		return 0;
	matrix_look(&bed->run, &view);
	return view.of[event->other].region;
}

/* A graph with a single pass. */
static unsigned capture_one(const struct matrix_event *event,
			    struct captured *pass)
{
	unsigned region = event->region, ticket = event->ticket;

	switch (event->kind) {
	case MATRIX_INFERENCE:
		*pass = draws(MATRIX_FRESH, region, ticket,
			      PHILOX_PASS_INFERENCE);
		break;
	case MATRIX_WARMUP:
		*pass = draws(MATRIX_PREVIEW, region, ticket,
			      PHILOX_PASS_WARMUP);
		break;
	case MATRIX_RECOMPUTE:
		*pass = names(region, ticket, PHILOX_PASS_RETAIN);
		break;
	case MATRIX_BACKWARD:
	case MATRIX_STRANGE:
		*pass = names(region, ticket, 0);
		break;
	default:
		*pass = draws(MATRIX_FRESH, region, ticket, 0);
	}
	return 1;
}

unsigned bed_captured(const struct matrix_bed *bed,
		      const struct matrix_event *event,
		      struct captured passes[PASSES])
{
	unsigned region = event->region, ticket = event->ticket;
	struct captured other =
		names(other_region(bed, event), event->other, 0);

	switch (event->kind) {
	case MATRIX_PAIR:
	case MATRIX_KEEP:
		passes[0] = draws(MATRIX_FRESH, region, ticket, 0);
		passes[1] = draws(
			MATRIX_REPEAT, region, ticket,
			event->kind == MATRIX_KEEP ? PHILOX_PASS_RETAIN : 0);
		return 2;
	case MATRIX_EXCHANGE:
		passes[0] = draws(MATRIX_FRESH, region, ticket, 0);
		passes[1] = other;
		return 2;
	case MATRIX_DOUBLE:
		passes[0] = names(region, ticket, 0);
		passes[1] = names(region, event->other, 0);
		return 2;
	case MATRIX_LINKED:
		passes[0] = names(region, ticket, PHILOX_PASS_RETAIN);
		passes[1] = draws(MATRIX_REPEAT, region, ticket, 0);
		return 2;
	case MATRIX_NESTED:
		passes[0] = names(region, ticket, 0);
		passes[0].holds = 1;
		passes[1] = draws(MATRIX_REPEAT, region, ticket,
				  PHILOX_PASS_RETAIN);
		return 2;
	case MATRIX_MIXED:
		passes[0] = other;
		passes[1] = draws(MATRIX_FRESH, region, ticket, 0);
		passes[2] = draws(MATRIX_FRESH,
				  matrix_next_region(&bed->limits, region),
				  ticket + 1, 0);
		return 3;
	default:
		return capture_one(event, &passes[0]);
	}
}

/* --- capturing ------------------------------------------------------------ */

/* In a capture: keeps the numbers of the pass. */
static int keep_captured(struct matrix_bed *bed, struct graph *graph,
			 const struct philox_pass *pass)
{
	struct matrix_numbers *numbers = &graph->seen[graph->passes++];

	if (bed_copy_cells(bed, pass, numbers))
		return -1;
	if (!bed->shape.draw)
		return 0;
	return bed_draw_words(bed, pass, &numbers->word[0][0]);
}

/* `ticket` is first that of the last captured pass, then of this one. */
static int begin_pass(struct matrix_bed *bed, const struct captured *captured,
		      philox_stream stream, struct philox_ticket *ticket,
		      struct philox_pass *pass)
{
	struct philox_region *region = bed->sites[captured->region].region;
	struct philox_ticket none = {0};

	if (captured->role == MATRIX_REPEAT)
		TRY(bed, philox_backward_begin(region, stream,
					       captured->named ? none : *ticket,
					       captured->flags, pass));
	else
		TRY(bed, philox_forward_begin(region, stream, captured->flags,
					      pass));
	TRY(bed, philox_pass_ticket(pass, ticket));
	return 0;
}

static int end_pass(struct matrix_bed *bed, const struct captured *captured,
		    struct philox_pass *pass, struct philox_ticket ticket)
{
	struct philox_ticket made;

	if (captured->role == MATRIX_REPEAT) {
		TRY(bed, philox_pass_commit(pass, 0, NULL));
		return 0;
	}
	TRY(bed, philox_pass_commit(pass, 0, &made));
	return memcmp(&made, &ticket, sizeof(made))
		       ? bed_complain(bed, "a forward's ticket has changed")
		       : 0;
}

static int capture_pass(struct matrix_bed *bed, const struct captured *captured,
			philox_stream stream, struct graph *graph,
			struct philox_ticket *ticket)
{
	struct philox_pass pass;

	if (begin_pass(bed, captured, stream, ticket, &pass))
		return -1;
	graph->regions |= 1u << captured->region;
	if (keep_captured(bed, graph, &pass))
		return -1;
	if (captured->holds &&
	    capture_pass(bed, captured + 1, stream, graph, ticket))
		return -1;
	return end_pass(bed, captured, &pass, *ticket);
}

static int begin_capture(struct matrix_bed *bed, philox_stream stream,
			 int adopts, uint64_t *id)
{
	if (!adopts) {
		TRY(bed, philox_capture_begin(bed->context, stream));
		return 0;
	}
	TRY(bed, philox_stream_begin_capture(bed->device, stream,
					     PHILOX_CAPTURE_THREAD_LOCAL));
	TRY(bed, philox_stream_capture_info(bed->device, stream, NULL, id));
	return 0;
}

static int end_capture(struct matrix_bed *bed, philox_stream stream, int adopts,
		       uint64_t id, struct graph *graph)
{
	if (!adopts) {
		TRY(bed,
		    philox_capture_end(bed->context, stream, &graph->graph));
		return 0;
	}
	TRY(bed,
	    philox_stream_end_capture(bed->device, stream, &graph->native));
	TRY(bed, philox_native_graph_instantiate(bed->device, graph->native,
						 &graph->exec));
	TRY(bed, philox_graph_adopt(bed->context, id, graph->native,
				    graph->exec, &graph->graph));
	return 0;
}

static int record(struct matrix_bed *bed, const struct matrix_event *event,
		  struct graph *graph)
{
	philox_stream stream = bed->sites[event->region].stream;
	struct captured passes[PASSES];
	unsigned n = bed_captured(bed, event, passes);
	struct philox_ticket ticket = {0};
	int adopts = (event->kind + event->region) & 1;
	uint64_t id = 0;

	graph->passes = graph->regions = 0;
	graph->launched = 0;
	if (!graph->seen)
		TRY(bed, philox_memory_alloc(bed->device,
					     PASSES * sizeof(*graph->seen),
					     (void **)&graph->seen));
	if (begin_capture(bed, stream, adopts, &id))
		return -1;
	for (unsigned i = 0; i < n; i += 1 + passes[i].holds)
		if (capture_pass(bed, &passes[i], stream, graph, &ticket))
			return -1;
	return end_capture(bed, stream, adopts, id, graph);
}

struct graph *bed_need_graph(struct matrix_bed *bed,
			     const struct matrix_event *event)
{
	unsigned kind =
		event->kind == MATRIX_STRANGE ? MATRIX_BACKWARD : event->kind;
	struct graph *graph = &bed->sites[event->region]
				       .graphs[kind][other_region(bed, event)];

	if (!graph->graph && record(bed, event, graph))
		return NULL;
	return graph;
}

int bed_drop_graph(struct matrix_bed *bed, struct graph *graph)
{
	struct graph old = *graph;

	graph->graph = NULL;
	graph->native = NULL;
	graph->exec = NULL;
	if (old.graph)
		TRY(bed, philox_graph_destroy(old.graph));
	TRY(bed, philox_native_exec_destroy(bed->device, old.exec));
	TRY(bed, philox_native_graph_destroy(bed->device, old.native));
	return 0;
}

/* --- a capture that gives no graph ---------------------------------------- */

static int must_give(struct matrix_bed *bed, enum philox_status must,
		     enum philox_status status, const char *what)
{
	if (status == must)
		return 0;
	return bed_complain(bed, "%s gave %s, not %s", what,
			    philox_status_name(status),
			    philox_status_name(must));
}

/* While a SHARED forward is open, others of its generator are refused. */
static int capture_forwards(struct matrix_bed *bed, unsigned region,
			    struct philox_ticket *ticket)
{
	const struct matrix_limits *limits = &bed->limits;
	struct site *site = &bed->sites[region];
	unsigned next = matrix_next_region(limits, region);
	int refuses = matrix_is_shared(limits, region) &&
		      matrix_is_shared(limits, next) &&
		      matrix_generator(limits, region) ==
			      matrix_generator(limits, next);
	struct philox_pass pass, second;
	enum philox_status status;

	TRY(bed, philox_forward_begin(site->region, site->stream, 0, &pass));
	status = philox_forward_begin(bed->sites[next].region, site->stream,
				      PHILOX_PASS_INFERENCE, &second);
	if (must_give(bed, refuses ? PHILOX_ERROR_BUSY : PHILOX_OK, status,
		      "a second captured forward"))
		return -1;
	if (status == PHILOX_OK)
		TRY(bed, philox_pass_commit(&second, 0, NULL));
	TRY(bed, philox_pass_commit(&pass, 0, ticket));
	return 0;
}

/*
 * One consuming backward at a time; an aborted one changes nothing.
 */
static int capture_backwards(struct matrix_bed *bed, const struct site *site,
			     struct philox_ticket ticket)
{
	struct philox_pass pass, second;

	TRY(bed, philox_backward_begin(site->region, site->stream, ticket, 0,
				       &pass));
	if (must_give(bed, PHILOX_ERROR_BUSY,
		      philox_backward_begin(site->region, site->stream, ticket,
					    0, &second),
		      "a second captured backward"))
		return -1;
	TRY(bed, philox_pass_abort(&pass));
	if (must_give(bed, PHILOX_OK,
		      philox_backward_begin(site->region, site->stream, ticket,
					    0, &pass),
		      "a captured backward after one that was aborted"))
		return -1;
	TRY(bed, philox_pass_commit(&pass, 0, NULL));
	return must_give(bed, PHILOX_ERROR_RELEASED,
			 philox_backward_begin(site->region, site->stream,
					       ticket, 0, &pass),
			 "a captured backward of a forward that was used up");
}

int bed_do_capture(struct matrix_bed *bed, unsigned region)
{
	struct site *site = &bed->sites[region];
	struct philox_ticket ticket;
	struct philox_graph *graph;

	TRY(bed, philox_capture_begin(bed->context, site->stream));
	if (capture_forwards(bed, region, &ticket) ||
	    capture_backwards(bed, site, ticket))
		return -1;
	return must_give(bed, PHILOX_ERROR_STATE,
			 philox_capture_end(bed->context, site->stream, &graph),
			 "the end of a capture with an aborted pass");
}

/*
 * tools/contract/graph/templates.c - adopted graphs whose native graph is gone,
 * or that are instantiated again
 */
#include <string.h>
#include "tools/contract/graph/graph.h"

/* A capture of a forward that draws at rig->at.out, and what is made of it. */
struct adoption {
	uint64_t id;
	philox_native_graph native;
	philox_native_exec exec[2];
};

static void record(struct contract *c, struct contract_rig *rig,
		   struct adoption *made)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	EXPECT_OK(contract_begin(c, rig->at.stream));
	EXPECT_OK(philox_stream_capture_info(c->device, rig->at.stream, NULL,
					     &made->id));
	EXPECT_OK(
		philox_forward_begin(rig->at.region, rig->at.stream, 0, &pass));
	EXPECT_PART(contract_draw(c, rig, &pass, rig->at.out));
	EXPECT_OK(philox_pass_commit(&pass, 0, &ticket));
	EXPECT_OK(contract_end_capture(c, rig->at.stream, &made->native));
	for (int i = 0; i < 2; i++)
		EXPECT_OK(
			contract_instantiate(c, made->native, &made->exec[i]));
}

static void destroy_native(struct contract *c, struct adoption *made)
{
	contract_forget(c, made->native);
	EXPECT_OK(philox_native_graph_destroy(c->device, made->native));
	made->native = NULL;
}

static void destroy_exec(struct contract *c, philox_native_exec exec)
{
	contract_forget(c, exec);
	EXPECT_OK(philox_native_exec_destroy(c->device, exec));
}

/* A graph of the first executable graph, whose template is gone. */
static void adopt_without(struct contract *c, struct contract_rig *rig,
			  struct adoption *made, struct philox_graph **graph)
{
	EXPECT_PART(record(c, rig, made));
	EXPECT_PART(destroy_native(c, made));
	EXPECT_OK(philox_graph_adopt(rig->at.context, made->id, NULL,
				     made->exec[0], graph));
}

static void raw_launch(struct contract *c, struct contract_rig *rig,
		       philox_native_exec exec)
{
	EXPECT_OK(philox_native_exec_launch(c->device, rig->at.stream, exec));
	EXPECT_PART(contract_is_poison(c, rig, rig->at.out));
}

static void count_reported(struct contract *c, struct contract_rig *rig,
		     uint64_t launches)
{
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);

	EXPECT_ERROR(UNANNOUNCED,
		     philox_context_check(rig->at.context, &report));
	EXPECT_TEXT(report.launches == launches, "%d launches reported, not %d",
		    (int)report.launches, (int)launches);
	EXPECT(strcmp(report.regions, "contract") == 0);
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

static void end(struct contract *c, struct contract_rig *rig,
		struct philox_graph *graph)
{
	EXPECT_OK(philox_stream_synchronize(c->device, rig->at.stream));
	EXPECT_OK(philox_graph_destroy(graph));
}

/* --- without the template ------------------------------------------------- */

/* a: announced, o: announced on another stream, r: raw */
static const char order[] = "raaorarooaaraorrrara";

enum { LAUNCHES = sizeof(order) - 1 };

/* The other stream comes after this one, and this one after it. */
static void launch_beside(struct contract *c, struct contract_rig *rig,
			  struct philox_graph *graph)
{
	struct philox_launch_pass use = {0};
	philox_event there, back;

	EXPECT_OK(contract_event(c, &there));
	EXPECT_OK(contract_event(c, &back));
	EXPECT_OK(contract_order(c, there, rig->at.stream, rig->side));
	EXPECT_OK(philox_graph_launch(graph, rig->side, &use, 1));
	EXPECT_OK(contract_order(c, back, rig->side, rig->at.stream));
}

static void queue_launch(struct contract *c, struct contract_rig *rig,
			 struct philox_graph *graph, philox_native_exec exec,
			 char how)
{
	struct philox_launch_pass use = {0};

	if (how == 'r')
		EXPECT_OK(philox_native_exec_launch(c->device, rig->at.stream,
						    exec));
	else if (how == 'o')
		EXPECT_PART(launch_beside(c, rig, graph));
	else
		EXPECT_OK(philox_graph_launch(graph, rig->at.stream, &use, 1));
}

/* Queues all, and a copy of each one's numbers, and waits for none. */
static void queue_all(struct contract *c, struct contract_rig *rig,
		      struct philox_graph *graph, philox_native_exec exec,
		      struct contract_shot *seen)
{
	EXPECT_OK(contract_delay(c, rig->at.stream));
	for (unsigned i = 0; i < LAUNCHES; i++) {
		EXPECT_PART(queue_launch(c, rig, graph, exec, order[i]));
		EXPECT_OK(contract_copy(c, &seen[i], rig->at.out, sizeof(*seen),
					rig->at.stream));
	}
}

static void without_body(struct contract *c, struct contract_rig *rig)
{
	struct adoption made;
	struct philox_graph *graph;
	struct contract_shot *seen;
	unsigned announced = 0;

	EXPECT_OK(contract_memory(c, LAUNCHES * sizeof(*seen), (void **)&seen));
	EXPECT_PART(adopt_without(c, rig, &made, &graph));
	EXPECT_PART(queue_all(c, rig, graph, made.exec[0], seen));
	for (unsigned i = 0; i < LAUNCHES; i++) {
		if (order[i] == 'r')
			EXPECT_PART(contract_is_poison(c, rig, seen[i].word));
		else
			EXPECT_PART(contract_is_forward(c, rig, seen[i].word,
							announced++));
	}
	EXPECT_PART(count_reported(c, rig, LAUNCHES - announced));
	EXPECT_PART(contract_pending_is(c, rig, announced));
	EXPECT_PART(end(c, rig, graph));
}

/* Launches on streams that know nothing of each other take turns. */
static void apart_body(struct contract *c, struct contract_rig *rig)
{
	struct adoption made;
	struct philox_graph *graph;
	struct contract_shot *seen;

	EXPECT_OK(contract_memory(c, 6 * sizeof(*seen), (void **)&seen));
	EXPECT_PART(adopt_without(c, rig, &made, &graph));
	EXPECT_OK(contract_delay(c, rig->at.stream));
	for (unsigned i = 0; i < 6; i++) {
		struct philox_launch_pass use = {0};
		philox_stream stream = i % 2 ? rig->side : rig->at.stream;

		EXPECT_OK(philox_graph_prologue(graph, stream, &use, 1));
		EXPECT_OK(philox_native_exec_launch(c->device, stream,
						    made.exec[0]));
		EXPECT_OK(contract_copy(c, &seen[i], rig->at.out, sizeof(*seen),
					stream));
		EXPECT_OK(philox_graph_epilogue(graph, PHILOX_OK));
	}
	EXPECT_OK(philox_stream_synchronize(c->device, rig->side));
	for (unsigned i = 0; i < 6; i++)
		EXPECT_PART(contract_is_forward(c, rig, seen[i].word, i));
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
	EXPECT_PART(end(c, rig, graph));
}

/* A launch that fails takes its numbers, and leaves none for others. */
static void failed_body(struct contract *c, struct contract_rig *rig)
{
	struct adoption made;
	struct philox_graph *graph;
	struct philox_launch_pass use = {0};

	EXPECT_PART(adopt_without(c, rig, &made, &graph));
	for (unsigned k = 0; k < 3; k++) {
		EXPECT_OK(
			philox_graph_prologue(graph, rig->at.stream, &use, 1));
		EXPECT_OK(philox_graph_epilogue(graph, PHILOX_ERROR_DEVICE));
		EXPECT_PART(raw_launch(c, rig, made.exec[0]));
		EXPECT_PART(count_reported(c, rig, 1));
		EXPECT_OK(philox_graph_launch(graph, rig->at.stream, &use, 1));
		EXPECT_PART(
			contract_is_forward(c, rig, rig->at.out, 2 * k + 1));
	}
	EXPECT_PART(end(c, rig, graph));
}

/* --- another executable graph --------------------------------------------- */

/* Launches number k and on of one executable graph, then of the other. */
static void exchange(struct contract *c, struct contract_rig *rig,
		     struct philox_graph *graph, struct adoption *made)
{
	struct philox_ticket ticket[4];

	for (unsigned k = 0; k < 4; k++) {
		if (k == 2) {
			EXPECT_OK(philox_graph_set_exec(graph, made->exec[1]));
			EXPECT_PART(destroy_exec(c, made->exec[0]));
			EXPECT_PART(raw_launch(c, rig, made->exec[1]));
			EXPECT_PART(count_reported(c, rig, 1));
		}
		EXPECT_PART(contract_launch_forward(c, rig, graph, &ticket[k]));
	}
	EXPECT_PART(raw_launch(c, rig, made->exec[1]));
	EXPECT_PART(count_reported(c, rig, 1));
	for (unsigned k = 0; k < 4; k++)
		EXPECT_PART(contract_eager_backward(c, rig, ticket[k], 0, k));
	EXPECT_PART(contract_pending_is(c, rig, 0));
	EXPECT_PART(end(c, rig, graph));
}

static void exchange_without_body(struct contract *c, struct contract_rig *rig)
{
	struct adoption made;
	struct philox_graph *graph;

	EXPECT_PART(adopt_without(c, rig, &made, &graph));
	EXPECT_PART(exchange(c, rig, graph, &made));
}

static void exchange_with_body(struct contract *c, struct contract_rig *rig)
{
	struct adoption made;
	struct philox_graph *graph;

	EXPECT_PART(record(c, rig, &made));
	EXPECT_OK(philox_graph_adopt(rig->at.context, made.id, made.native,
				     made.exec[0], &graph));
	EXPECT_PART(exchange(c, rig, graph, &made));
}

/* A refused one leaves the graph as it was. */
static void refused_exec_body(struct contract *c, struct contract_rig *rig)
{
	struct adoption made, other;
	struct philox_graph *graph, *own;
	struct philox_launch_pass use = {0};

	EXPECT_PART(record(c, rig, &made));
	EXPECT_PART(record(c, rig, &other));
	EXPECT_OK(philox_graph_adopt(rig->at.context, made.id, made.native,
				     made.exec[0], &graph));
	EXPECT_ERROR(INVALID, philox_graph_set_exec(graph, NULL));
	EXPECT_ERROR(INVALID, philox_graph_set_exec(NULL, made.exec[1]));
	EXPECT(philox_graph_set_exec(graph, other.exec[0]) != PHILOX_OK);
	EXPECT_OK(philox_graph_prologue(graph, rig->at.stream, &use, 1));
	EXPECT_ERROR(BUSY, philox_graph_set_exec(graph, made.exec[1]));
	EXPECT_OK(philox_native_exec_launch(c->device, rig->at.stream,
					    made.exec[0]));
	EXPECT_OK(philox_graph_epilogue(graph, PHILOX_OK));
	EXPECT_PART(contract_is_forward(c, rig, rig->at.out, 0));
	EXPECT_PART(contract_record_forward(c, rig, &own));
	EXPECT_ERROR(STATE, philox_graph_set_exec(own, made.exec[1]));
	EXPECT_PART(end(c, rig, own));
	EXPECT_PART(end(c, rig, graph));
}

/* -------------------------------------------------------------------------- */

const struct contract_check contract_templates[] = {
	{.name = "a graph without its template draws, and detects, as others",
	 .with_rig = without_body},
	{.name = "launches without a template take turns on all streams",
	 .with_rig = apart_body},
	{.name = "a failed launch without a template leaves no numbers",
	 .with_rig = failed_body},
	{.name = "an adopted graph takes another executable graph",
	 .with_rig = exchange_with_body},
	{.name = "so does one without its template",
	 .with_rig = exchange_without_body},
	{.name = "an executable graph that is refused changes nothing",
	 .with_rig = refused_exec_body},
	{.name = NULL}};

/*
 * tools/contract/graph/detect.c - launches that philox was not told about,
 * anywhere
 *
 * They would have repeated numbers: they write poison instead,
 * philox_context_check() reports each once and names the graph, and announced
 * launches before and after them keep their numbers.
 */
#include <string.h>
#include "tools/contract/graph/graph.h"

static void raw_launches(struct contract *c, struct contract_rig *rig,
			 struct philox_graph *graph, unsigned n)
{
	philox_native_exec exec;

	EXPECT_OK(philox_graph_native(graph, NULL, &exec));
	for (unsigned i = 0; i < n; i++)
		EXPECT_OK(philox_native_exec_launch(c->device, rig->at.stream,
						    exec));
	EXPECT_PART(contract_is_poison(c, rig, rig->at.out));
}

static void reported(struct contract *c, struct contract_rig *rig,
		     uint64_t launches, const char *graph, const char *regions)
{
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);

	EXPECT_ERROR(UNANNOUNCED,
		     philox_context_check(rig->at.context, &report));
	EXPECT_TEXT(report.launches == launches, "%d launches reported, not %d",
		    (int)report.launches, (int)launches);
	EXPECT(report.graphs == 1);
	EXPECT_TEXT(strcmp(report.graph, graph) == 0,
		    "graph '%s' reported, not '%s'", report.graph, graph);
	EXPECT_TEXT(strcmp(report.regions, regions) == 0,
		    "regions '%s' reported, not '%s'", report.regions, regions);
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

static void unannounced_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct philox_graph *graph;

	EXPECT_PART(contract_record_forward(c, rig, &graph));
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
	EXPECT_PART(raw_launches(c, rig, graph, 1));
	EXPECT_PART(reported(c, rig, 1, philox_graph_name(graph), "contract"));
	for (unsigned i = 1; i < 5; i++) {
		EXPECT_PART(contract_launch_forward(c, rig, graph, &ticket));
		EXPECT_OK(philox_context_check(rig->at.context, NULL));
		EXPECT_PART(raw_launches(c, rig, graph, i));
		EXPECT_PART(reported(c, rig, i, philox_graph_name(graph),
				     "contract"));
		EXPECT_PART(contract_eager_backward(c, rig, ticket, 0, i - 1));
	}
}

/* --- among others --------------------------------------------------------- */

/* a: announced, r: raw */
static const char order[] = "raararrraaraarrrrara";

enum { LAUNCHES = sizeof(order) - 1 };

/* Queues all launches, and a copy of each one's numbers, and waits for none. */
static void queue_launches(struct contract *c, struct contract_rig *rig,
			   struct philox_graph *graph,
			   struct contract_shot *seen)
{
	philox_native_exec exec;

	EXPECT_OK(philox_graph_native(graph, NULL, &exec));
	EXPECT_OK(contract_delay(c, rig->at.stream));
	for (unsigned i = 0; i < LAUNCHES; i++) {
		struct philox_launch_pass use = {0};

		if (order[i] == 'r')
			EXPECT_OK(philox_native_exec_launch(
				c->device, rig->at.stream, exec));
		else
			EXPECT_OK(philox_graph_launch(graph, rig->at.stream,
						      &use, 1));
		EXPECT_OK(contract_copy(c, &seen[i], rig->at.out, sizeof(*seen),
					rig->at.stream));
	}
}

static void among_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_graph *graph;
	struct contract_shot *seen;
	unsigned announced = 0;

	EXPECT_OK(contract_memory(c, LAUNCHES * sizeof(*seen), (void **)&seen));
	EXPECT_PART(contract_record_forward(c, rig, &graph));
	EXPECT_PART(queue_launches(c, rig, graph, seen));
	for (unsigned i = 0; i < LAUNCHES; i++) {
		if (order[i] == 'r')
			EXPECT_PART(contract_is_poison(c, rig, seen[i].word));
		else
			EXPECT_PART(contract_is_forward(c, rig, seen[i].word,
							announced++));
	}
	EXPECT_PART(reported(c, rig, LAUNCHES - announced,
			     philox_graph_name(graph), "contract"));
	EXPECT_PART(contract_pending_is(c, rig, announced));
}

/* --- a second executable graph -------------------------------------------- */

static void second_exec_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct philox_graph *graph;
	philox_native_graph native;
	philox_native_exec second;

	EXPECT_PART(contract_record_forward(c, rig, &graph));
	EXPECT_OK(philox_graph_native(graph, &native, NULL));
	EXPECT_OK(contract_instantiate(c, native, &second));
	for (unsigned k = 0; k < 3; k++) {
		EXPECT_PART(contract_launch_forward(c, rig, graph, &ticket));
		EXPECT_OK(philox_context_check(rig->at.context, NULL));
		EXPECT_OK(philox_native_exec_launch(c->device, rig->at.stream,
						    second));
		EXPECT_PART(contract_is_poison(c, rig, rig->at.out));
		EXPECT_PART(reported(c, rig, 1, philox_graph_name(graph),
				     "contract"));
		EXPECT_PART(contract_eager_backward(c, rig, ticket, 0, k));
	}
	contract_forget(c, second);
	EXPECT_OK(philox_native_exec_destroy(c->device, second));
}

/* --- names ---------------------------------------------------------------- */

/* Captures an inference of a region with one operator. */
static void capture_inference(struct contract *c, struct contract_rig *rig,
			      struct philox_region *region)
{
	const struct philox_span span = {.count = RIG_COUNT};
	struct philox_pass pass;

	EXPECT_OK(philox_forward_begin(region, rig->at.stream,
				       PHILOX_PASS_INFERENCE, &pass));
	EXPECT_OK(philox_pass_bits(&pass, 0, PHILOX_DTYPE_U32, span,
				   rig->at.back));
	EXPECT_OK(philox_pass_commit(&pass, 0, NULL));
}

static void names_body(struct contract *c, struct contract_rig *rig)
{
	const struct philox_op_desc op = {"bits", 1, 0};
	const struct philox_region_desc options = {.size = sizeof(options),
						   .name = "another",
						   .ops = &op,
						   .n_ops = 1};
	struct philox_graph *graph, *other;
	struct philox_region *another;
	philox_native_exec exec;

	EXPECT_OK(philox_region_create(rig->at.context, &options, &another));
	EXPECT_PART(contract_record_forward(c, rig, &other));
	EXPECT_OK(philox_capture_begin(rig->at.context, rig->at.stream));
	EXPECT_PART(capture_inference(c, rig, another));
	EXPECT_PART(capture_inference(c, rig, rig->at.region));
	EXPECT_OK(philox_capture_end(rig->at.context, rig->at.stream, &graph));
	EXPECT_OK(philox_graph_set_name(graph, "the step"));
	EXPECT_OK(philox_graph_native(graph, NULL, &exec));
	EXPECT_OK(philox_native_exec_launch(c->device, rig->at.stream, exec));
	EXPECT_OK(philox_stream_synchronize(c->device, rig->at.stream));
	EXPECT_PART(reported(c, rig, 1, "the step", "another, contract"));
	EXPECT_OK(philox_graph_set_name(other, "the other"));
	EXPECT_PART(raw_launches(c, rig, other, 2));
	EXPECT_PART(reported(c, rig, 2, "the other", "contract"));
}

/* --- halves --------------------------------------------------------------- */

static void halves_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_graph *graph;
	philox_native_exec exec;

	EXPECT_PART(contract_record_forward(c, rig, &graph));
	EXPECT_OK(philox_graph_native(graph, NULL, &exec));
	for (unsigned k = 0; k < 3; k++) {
		struct philox_launch_pass use = {0}, second = {0};

		EXPECT_OK(
			philox_graph_prologue(graph, rig->at.stream, &use, 1));
		EXPECT_ERROR(BUSY, philox_graph_launch(graph, rig->at.stream,
						       &second, 1));
		EXPECT_ERROR(BUSY, philox_graph_prologue(graph, rig->at.stream,
							 &second, 1));
		EXPECT(second.ticket.serial == 0);
		EXPECT_OK(philox_native_exec_launch(c->device, rig->at.stream,
						    exec));
		EXPECT_OK(philox_graph_epilogue(graph, PHILOX_OK));
		EXPECT_PART(contract_is_forward(c, rig, rig->at.out, k));
		EXPECT_PART(contract_pending_is(c, rig, 1));
		EXPECT_PART(contract_eager_backward(c, rig, use.ticket, 0, k));
	}
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

const struct contract_check contract_detect[] = {
	{"unannounced launches write poison and are reported",
	 .with_rig = unannounced_body},
	{"unannounced launches are found among announced ones in a queue",
	 .with_rig = among_body},
	{"a second executable graph is found out",
	 .with_rig = second_exec_body},
	{"a report names the graph and its regions", .with_rig = names_body},
	{"a launch may be done in two halves, and begun only once",
	 .with_rig = halves_body},
	{0},
};

/*
 * tools/contract/graph/graph.c - the heart of philox on any device: captured
 * passes
 *
 * Each check has a rig: a context on the device under test, and the numbers
 * that the first forwards of the same region and seed draw eagerly on a
 * synchronous host device. Eager or captured, the k-th forward on the device
 * under test and each of its backwards must give those bytes.
 */
#include <stdlib.h>
#include <string.h>
#include <philox.h>
#include "tools/contract/graph/graph.h"

enum { BITS, NORMAL, DROPOUT }; /* operators: u32, f32, f32 of ones */

/* --- sites ---------------------------------------------------------------- */

static void make_region(struct contract *c, struct philox_context *context,
			struct philox_region **region)
{
	const struct philox_op_desc ops[RIG_OPERATORS] = {
		[BITS] = {"bits", 1, 0},
		[NORMAL] = {"normal", 1, 0},
		[DROPOUT] = {"dropout", 1, 0}};
	const struct philox_region_desc options = {.size = sizeof(options),
						   .name = "contract",
						   .ops = ops,
						   .n_ops = RIG_OPERATORS,
						   .pending = RIG_FORWARDS};

	EXPECT_OK(philox_region_create(context, &options, region));
}

static void draw_site(struct contract *c, const struct contract_site *site,
		      const struct philox_pass *pass, uint32_t *out)
{
	const struct philox_span span = {.count = RIG_COUNT};

	EXPECT_OK(philox_pass_bits(pass, BITS, PHILOX_DTYPE_U32, span, out));
	EXPECT_OK(philox_pass_normal(pass, NORMAL, PHILOX_DTYPE_F32, span, 0, 1,
				     out + RIG_COUNT));
	EXPECT_OK(philox_pass_dropout(pass, DROPOUT, PHILOX_DTYPE_F32, span,
				      0.3, site->ones, out + 2 * RIG_COUNT));
}

static void fill_reference(struct contract *c, const struct contract_site *site,
			   struct contract_shot *reference)
{
	for (unsigned i = 0; i < RIG_FORWARDS; i++) {
		struct philox_pass pass;

		EXPECT_OK(philox_forward_begin(site->region, site->stream,
					       PHILOX_PASS_INFERENCE, &pass));
		EXPECT_PART(draw_site(c, site, &pass, site->out));
		EXPECT_OK(philox_pass_commit(&pass, 0, NULL));
		EXPECT_OK(
			philox_stream_synchronize(site->device, site->stream));
		memcpy(&reference[i], site->out, sizeof(reference[i]));
	}
}

static void make_reference(struct contract *c, struct contract_shot *reference)
{
	float ones[RIG_COUNT];
	uint32_t *out = malloc(sizeof(struct contract_shot));
	struct contract_site site = {.ones = ones, .out = out};

	for (unsigned i = 0; i < RIG_COUNT; i++)
		ones[i] = 1;
	if (!out || philox_device_open("host:sync", &site.device) ||
	    philox_context_create(site.device, &site.context) ||
	    philox_stream_create(site.device, 0, &site.stream))
		contract_fail(c, __FILE__, __LINE__, "no reference: %s",
			      philox_error_message());
	else
		make_region(c, site.context, &site.region);
	if (!c->failure[0])
		fill_reference(c, &site, reference);
	philox_context_destroy(site.context);
	philox_device_close(site.device);
	free(out);
}

/* --- rigs ----------------------------------------------------------------- */

static void open_rig(struct contract *c, struct contract_rig *rig)
{
	float ones[RIG_COUNT];
	struct contract_site *at = &rig->at;

	for (unsigned i = 0; i < RIG_COUNT; i++)
		ones[i] = 1;
	rig->reference = calloc(RIG_FORWARDS, sizeof(*rig->reference));
	EXPECT(rig->reference);
	EXPECT_PART(make_reference(c, rig->reference));
	at->device = c->device;
	EXPECT_OK(philox_context_create(c->device, &at->context));
	EXPECT_PART(make_region(c, at->context, &at->region));
	EXPECT_OK(contract_stream(c, 0, &at->stream));
	EXPECT_OK(contract_stream(c, 0, &rig->side));
	EXPECT_OK(contract_memory(c, sizeof(ones), (void **)&at->ones));
	EXPECT_OK(contract_memory(c, sizeof(struct contract_shot),
				  (void **)&at->out));
	EXPECT_OK(contract_memory(c, sizeof(struct contract_shot),
				  (void **)&at->back));
	EXPECT_OK(contract_copy(c, at->ones, ones, sizeof(ones), at->stream));
	EXPECT_OK(philox_stream_synchronize(c->device, at->stream));
}

/* A check that failed may have left a capture open. */
static void end_rig_captures(struct contract_rig *rig)
{
	enum philox_capture_status status = PHILOX_CAPTURE_NONE;
	philox_native_graph graph = NULL;

	if (!rig->at.stream)
		return;
	philox_stream_capture_info(rig->at.device, rig->at.stream, &status,
				   NULL);
	if (status == PHILOX_CAPTURE_NONE)
		return;
	philox_stream_end_capture(rig->at.device, rig->at.stream, &graph);
	philox_native_graph_destroy(rig->at.device, graph);
}

void contract_with_rig(struct contract *c,
		       void (*check)(struct contract *c,
				     struct contract_rig *rig))
{
	struct contract_rig rig = {.next = 0};

	open_rig(c, &rig);
	if (!c->failure[0])
		check(c, &rig);
	end_rig_captures(&rig);
	philox_device_synchronize(c->device);
	philox_context_destroy(rig.at.context);
	free(rig.reference);
}

/* --- passes --------------------------------------------------------------- */

/* `out` holds the numbers that forward k drew on the reference. */
void contract_is_forward(struct contract *c, struct contract_rig *rig,
			 const uint32_t *out, unsigned k)
{
	struct contract_shot *saw = malloc(sizeof(*saw));
	unsigned i = 0;

	if (!saw || contract_read(c, rig->at.stream, out, saw, sizeof(*saw))) {
		contract_fail(c, __FILE__, __LINE__, "no numbers: %s",
			      philox_error_message());
		free(saw);
		return;
	}
	while (i < RIG_WORDS && saw->word[i] == rig->reference[k].word[i])
		i++;
	if (i < RIG_WORDS)
		contract_fail(c, __FILE__, __LINE__,
			      "operator %u, element %u: %08x, but forward %u "
			      "drew %08x on the host",
			      i / RIG_COUNT, i % RIG_COUNT, saw->word[i], k,
			      rig->reference[k].word[i]);
	free(saw);
}

void contract_is_poison(struct contract *c, struct contract_rig *rig,
			const uint32_t *out)
{
	uint32_t bits[RIG_COUNT];
	float normal[RIG_COUNT];

	EXPECT_OK(contract_read(c, rig->at.stream, out, bits, sizeof(bits)));
	EXPECT_OK(contract_read(c, rig->at.stream, out + RIG_COUNT, normal,
				sizeof(normal)));
	for (unsigned i = 0; i < RIG_COUNT; i++) {
		EXPECT_TEXT(bits[i] == 0xffffffffu, "bits %u: %08x", i,
			    bits[i]);
		EXPECT_TEXT(normal[i] != normal[i], "normal %u is no NaN", i);
	}
}

void contract_draw(struct contract *c, struct contract_rig *rig,
		   const struct philox_pass *pass, uint32_t *out)
{
	EXPECT_PART(draw_site(c, &rig->at, pass, out));
}

static void forward(struct contract *c, struct contract_rig *rig,
		    philox_stream stream, uint32_t *out,
		    struct philox_ticket *ticket)
{
	struct philox_pass pass;

	EXPECT_OK(philox_forward_begin(rig->at.region, stream, 0, &pass));
	EXPECT_PART(draw_site(c, &rig->at, &pass, out));
	EXPECT_OK(philox_pass_commit(&pass, 0, ticket));
}

static void backward(struct contract *c, struct contract_rig *rig,
		     philox_stream stream, struct philox_ticket ticket,
		     unsigned flags, uint32_t *out)
{
	struct philox_pass pass;

	EXPECT_OK(philox_backward_begin(rig->at.region, stream, ticket, flags,
					&pass));
	EXPECT_PART(draw_site(c, &rig->at, &pass, out));
	EXPECT_OK(philox_pass_commit(&pass, 0, NULL));
}

static void eager_forward(struct contract *c, struct contract_rig *rig,
			  struct philox_ticket *ticket)
{
	EXPECT_PART(forward(c, rig, rig->at.stream, rig->at.out, ticket));
	EXPECT_PART(contract_is_forward(c, rig, rig->at.out, rig->next++));
}

void contract_eager_backward(struct contract *c, struct contract_rig *rig,
			     struct philox_ticket ticket, unsigned flags,
			     unsigned k)
{
	EXPECT_PART(
		backward(c, rig, rig->at.stream, ticket, flags, rig->at.back));
	EXPECT_PART(contract_is_forward(c, rig, rig->at.back, k));
}

/* --- graphs --------------------------------------------------------------- */

void contract_record_forward(struct contract *c, struct contract_rig *rig,
			     struct philox_graph **graph)
{
	struct philox_ticket ticket;

	EXPECT_OK(philox_capture_begin(rig->at.context, rig->at.stream));
	EXPECT_PART(forward(c, rig, rig->at.stream, rig->at.out, &ticket));
	EXPECT_OK(philox_capture_end(rig->at.context, rig->at.stream, graph));
}

static void record_backward(struct contract *c, struct contract_rig *rig,
			    struct philox_graph **graph)
{
	const struct philox_ticket named_at_launch = {0, 0};

	EXPECT_OK(philox_capture_begin(rig->at.context, rig->at.stream));
	EXPECT_PART(backward(c, rig, rig->at.stream, named_at_launch, 0,
			     rig->at.back));
	EXPECT_OK(philox_capture_end(rig->at.context, rig->at.stream, graph));
}

void contract_launch_forward(struct contract *c, struct contract_rig *rig,
			     struct philox_graph *graph,
			     struct philox_ticket *ticket)
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	EXPECT_OK(philox_graph_launch(graph, rig->at.stream, &use, 1));
	EXPECT_PART(contract_is_forward(c, rig, rig->at.out, rig->next++));
	*ticket = use.ticket;
}

static void launch_backward(struct contract *c, struct contract_rig *rig,
			    struct philox_graph *graph,
			    struct philox_ticket ticket, unsigned flags,
			    unsigned k)
{
	struct philox_launch_pass use = {ticket, flags, 0};

	EXPECT_OK(philox_graph_launch(graph, rig->at.stream, &use, 1));
	EXPECT_PART(contract_is_forward(c, rig, rig->at.back, k));
}

void contract_pending_is(struct contract *c, struct contract_rig *rig,
			 size_t expected)
{
	size_t pending;

	EXPECT_OK(philox_region_pending_count(rig->at.region, &pending));
	EXPECT_TEXT(pending == expected, "%zu pending, not %zu", pending,
		    expected);
}

static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
				      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* Starts the sequence of forwards again. */
static void start_again(struct contract *c, struct contract_rig *rig)
{
	EXPECT_OK(philox_generator_seed(
		philox_context_generator(rig->at.context), 0));
	rig->next = 0;
}

/* --- pairing -------------------------------------------------------------- */

static void eager_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket[3];

	for (unsigned k = 0; k < 6; k++) {
		EXPECT_PART(start_again(c, rig));
		for (unsigned i = 0; i < 3; i++)
			EXPECT_PART(eager_forward(c, rig, &ticket[i]));
		for (unsigned i = 0; i < 3; i++)
			EXPECT_PART(contract_eager_backward(
				c, rig, ticket[orders[k][i]], 0, orders[k][i]));
		EXPECT_PART(contract_pending_is(c, rig, 0));
	}
}

static void captured_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket[3];
	struct philox_graph *forth, *back;

	EXPECT_PART(contract_record_forward(c, rig, &forth));
	EXPECT_PART(record_backward(c, rig, &back));
	for (unsigned k = 0; k < 6; k++) {
		EXPECT_PART(start_again(c, rig));
		for (unsigned i = 0; i < 3; i++)
			EXPECT_PART(contract_launch_forward(c, rig, forth,
							    &ticket[i]));
		for (unsigned i = 0; i < 3; i++) {
			unsigned at = orders[k][i];

			EXPECT_PART(launch_backward(c, rig, back, ticket[at],
						    PHILOX_PASS_RETAIN, at));
		}
		for (unsigned i = 3; i-- > 0;) {
			unsigned at = orders[k][i];

			EXPECT_PART(launch_backward(c, rig, back, ticket[at], 0,
						    at));
		}
		EXPECT_PART(contract_pending_is(c, rig, 0));
	}
}

static void mixed_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket[4];
	struct philox_graph *forth, *back;

	EXPECT_PART(contract_record_forward(c, rig, &forth));
	EXPECT_PART(record_backward(c, rig, &back));
	for (unsigned i = 0; i < 4; i++) {
		if (i & 1)
			EXPECT_PART(contract_launch_forward(c, rig, forth,
							    &ticket[i]));
		else
			EXPECT_PART(eager_forward(c, rig, &ticket[i]));
	}
	for (unsigned i = 4; i-- > 0;) {
		if (i & 2)
			EXPECT_PART(
				launch_backward(c, rig, back, ticket[i], 0, i));
		else
			EXPECT_PART(contract_eager_backward(c, rig, ticket[i],
							    0, i));
	}
	EXPECT_PART(contract_pending_is(c, rig, 0));
}

static void one_capture_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_launch_pass uses[3] = {0};
	struct philox_ticket ticket;
	struct philox_graph *step;
	uint32_t *again;

	EXPECT_OK(contract_memory(c, sizeof(struct contract_shot),
				  (void **)&again));
	EXPECT_OK(philox_capture_begin(rig->at.context, rig->at.stream));
	EXPECT_PART(forward(c, rig, rig->at.stream, rig->at.out, &ticket));
	EXPECT_PART(backward(c, rig, rig->at.stream, ticket, PHILOX_PASS_RETAIN,
			     again));
	EXPECT_PART(backward(c, rig, rig->at.stream, ticket, 0, rig->at.back));
	EXPECT_OK(philox_capture_end(rig->at.context, rig->at.stream, &step));
	for (unsigned k = 0; k < 4; k++) {
		EXPECT_OK(philox_graph_launch(step, rig->at.stream, uses, 3));
		EXPECT_PART(contract_is_forward(c, rig, rig->at.out, k));
		EXPECT_PART(contract_is_forward(c, rig, again, k));
		EXPECT_PART(contract_is_forward(c, rig, rig->at.back, k));
		EXPECT(uses[0].ticket.serial == 0);
		EXPECT_PART(contract_pending_is(c, rig, 0));
	}
}

/* A recompute named at launch and, linked to it, a backward. */
static void record_linked(struct contract *c, struct contract_rig *rig,
			  uint32_t *again, struct philox_graph **graph)
{
	struct philox_ticket ticket = {0, 0};
	struct philox_pass pass;

	EXPECT_OK(philox_capture_begin(rig->at.context, rig->at.stream));
	EXPECT_OK(philox_backward_begin(rig->at.region, rig->at.stream, ticket,
					PHILOX_PASS_RETAIN, &pass));
	EXPECT_OK(philox_pass_ticket(&pass, &ticket));
	EXPECT_PART(draw_site(c, &rig->at, &pass, again));
	EXPECT_OK(philox_pass_commit(&pass, 0, NULL));
	EXPECT_PART(backward(c, rig, rig->at.stream, ticket, 0, rig->at.back));
	EXPECT_OK(philox_capture_end(rig->at.context, rig->at.stream, graph));
}

static void linked_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket[2];
	struct philox_graph *forth, *back;
	uint32_t *again;

	EXPECT_OK(contract_memory(c, sizeof(struct contract_shot),
				  (void **)&again));
	EXPECT_PART(contract_record_forward(c, rig, &forth));
	EXPECT_PART(record_linked(c, rig, again, &back));
	for (unsigned k = 0; k < 2; k++)
		EXPECT_PART(contract_launch_forward(c, rig, forth, &ticket[k]));
	for (unsigned k = 2; k-- > 0;) {
		struct philox_launch_pass uses[2] = {{ticket[k], 0, 0},
						     {{0, 0}, 0, 0}};

		EXPECT_OK(philox_graph_launch(back, rig->at.stream, uses, 2));
		EXPECT_PART(contract_is_forward(c, rig, again, k));
		EXPECT_PART(contract_is_forward(c, rig, rig->at.back, k));
		EXPECT_PART(contract_pending_is(c, rig, k));
	}
}

/* Straight back from where a capture has come to: each node has one before. */
static void is_one_line(struct contract *c, struct contract_rig *rig,
			size_t nodes)
{
	device_node node;
	size_t n = 1, seen = 0;

	EXPECT_OK(device_capture_tips(c->device, rig->at.stream, &node, &n));
	for (; n == 1; seen++)
		EXPECT_OK(device_node_deps(c->device, node, &node, &n));
	EXPECT_TEXT(n == 0 && seen == nodes,
		    "%zu nodes in a line, then %zu; not %zu", seen, n, nodes);
}

static void line_body(struct contract *c, struct contract_rig *rig)
{
	const struct philox_ticket named_at_launch = {0, 0};
	philox_native_graph native;
	struct philox_graph *graph;
	size_t nodes;

	EXPECT_OK(philox_capture_begin(rig->at.context, rig->at.stream));
	EXPECT_OK(contract_set(c, rig->at.out, 0, 4, rig->at.stream));
	for (unsigned i = 0; i < 3; i++)
		EXPECT_PART(backward(c, rig, rig->at.stream, named_at_launch, 0,
				     rig->at.back));
	EXPECT_PART(is_one_line(c, rig, 1 + 1 + 3 * RIG_OPERATORS));
	EXPECT_OK(philox_capture_end(rig->at.context, rig->at.stream, &graph));
	EXPECT_OK(philox_graph_native(graph, &native, NULL));
	EXPECT_OK(philox_native_graph_node_count(c->device, native, &nodes));
	EXPECT(nodes == 1 + 1 + 3 * RIG_OPERATORS);
}

static void cells_body(struct contract *c, struct contract_rig *rig)
{
	const struct philox_span span = {.count = RIG_COUNT};
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = span};
	struct philox_pass pass;
	struct philox_rng rng;

	for (unsigned k = 0; k < 4; k++) {
		uint32_t bits[RIG_COUNT];

		EXPECT_OK(philox_forward_begin(
			rig->at.region, rig->at.stream,
			PHILOX_PASS_INFERENCE | PHILOX_PASS_ON_DEVICE, &pass));
		EXPECT_OK(philox_pass_rng(&pass, BITS, 0, &rng));
		EXPECT(rng.cell);
		fill.out = rig->at.out;
		EXPECT_OK(
			philox_rng_fill(c->device, rig->at.stream, rng, &fill));
		EXPECT_OK(philox_pass_commit(&pass, 0, NULL));
		EXPECT_OK(contract_read(c, rig->at.stream, rig->at.out, bits,
					sizeof(bits)));
		EXPECT(memcmp(bits, rig->reference[k].word, sizeof(bits)) == 0);
	}
}

static void adopted_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct philox_graph *graph;
	philox_native_graph native;
	philox_native_exec exec;
	uint64_t id;

	EXPECT_OK(philox_stream_begin_capture(c->device, rig->at.stream,
					      PHILOX_CAPTURE_GLOBAL));
	EXPECT_OK(philox_stream_capture_info(c->device, rig->at.stream, NULL,
					     &id));
	EXPECT_PART(forward(c, rig, rig->at.stream, rig->at.out, &ticket));
	EXPECT_OK(contract_end_capture(c, rig->at.stream, &native));
	EXPECT_OK(contract_instantiate(c, native, &exec));
	EXPECT_OK(
		philox_graph_adopt(rig->at.context, id, native, exec, &graph));
	for (unsigned k = 0; k < 3; k++) {
		EXPECT_PART(contract_launch_forward(c, rig, graph, &ticket));
		EXPECT_PART(contract_eager_backward(c, rig, ticket, 0, k));
	}
}

/* --- streams -------------------------------------------------------------- */

static void order(struct contract *c, philox_stream from, philox_stream to)
{
	philox_event event;

	EXPECT_OK(contract_event(c, &event));
	EXPECT_OK(contract_order(c, event, from, to));
}

/* The fork is older than the head, so only the library can order the two. */
static void fork_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket;
	struct philox_graph *graph;
	struct philox_pass pass, view;

	EXPECT_OK(philox_capture_begin(rig->at.context, rig->at.stream));
	EXPECT_PART(order(c, rig->at.stream, rig->side));
	EXPECT_OK(
		philox_forward_begin(rig->at.region, rig->at.stream, 0, &pass));
	EXPECT_OK(philox_pass_on(&pass, rig->side, &view));
	EXPECT_PART(draw_site(c, &rig->at, &view, rig->at.back));
	EXPECT_PART(draw_site(c, &rig->at, &pass, rig->at.out));
	EXPECT_OK(philox_pass_commit(&pass, 0, &ticket));
	EXPECT_PART(order(c, rig->side, rig->at.stream));
	EXPECT_OK(philox_capture_end(rig->at.context, rig->at.stream, &graph));
	for (unsigned k = 0; k < RIG_FORWARDS; k++) {
		EXPECT_PART(contract_launch_forward(c, rig, graph, &ticket));
		EXPECT_PART(contract_is_forward(c, rig, rig->at.back, k));
	}
}

static void queue_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_launch_pass use[RIG_FORWARDS] = {0};
	struct philox_graph *forth, *back;
	struct contract_shot *seen;

	EXPECT_OK(contract_memory(c, 2 * RIG_FORWARDS * sizeof(*seen),
				  (void **)&seen));
	EXPECT_PART(contract_record_forward(c, rig, &forth));
	EXPECT_PART(record_backward(c, rig, &back));
	EXPECT_OK(contract_delay(c, rig->at.stream));
	for (unsigned k = 0; k < RIG_FORWARDS; k++) {
		EXPECT_OK(
			philox_graph_launch(forth, rig->at.stream, &use[k], 1));
		EXPECT_OK(contract_copy(c, &seen[k], rig->at.out, sizeof(*seen),
					rig->at.stream));
	}
	for (unsigned k = RIG_FORWARDS; k-- > 0;) {
		EXPECT_OK(
			philox_graph_launch(back, rig->at.stream, &use[k], 1));
		EXPECT_OK(contract_copy(c, &seen[RIG_FORWARDS + k],
					rig->at.back, sizeof(*seen),
					rig->at.stream));
	}
	for (unsigned k = 0; k < 2 * RIG_FORWARDS; k++)
		EXPECT_PART(contract_is_forward(c, rig, seen[k].word,
						k % RIG_FORWARDS));
}

/* --- costs ---------------------------------------------------------------- */

static void cost_body(struct contract *c, struct contract_rig *rig)
{
	enum { PASSES = 20 };
	struct philox_launch_pass uses[PASSES] = {0};
	struct philox_graph *graph;
	philox_native_graph native;
	uint64_t calls, set, launch;
	size_t nodes;

	EXPECT_OK(philox_capture_begin(rig->at.context, rig->at.stream));
	for (unsigned i = 0; i < PASSES; i++) {
		struct philox_pass pass;

		EXPECT_OK(philox_forward_begin(rig->at.region, rig->at.stream,
					       PHILOX_PASS_INFERENCE, &pass));
		EXPECT_PART(draw_site(c, &rig->at, &pass, rig->at.out));
		EXPECT_OK(philox_pass_commit(&pass, 0, NULL));
	}
	EXPECT_OK(philox_capture_end(rig->at.context, rig->at.stream, &graph));
	EXPECT_OK(philox_graph_native(graph, &native, NULL));
	EXPECT_OK(philox_native_graph_node_count(c->device, native, &nodes));
	EXPECT_TEXT(nodes == PASSES * RIG_OPERATORS + 1, "%zu nodes", nodes);
	calls = philox_device_call_count(c->device, NULL);
	EXPECT_OK(philox_graph_launch(graph, rig->at.stream, uses, PASSES));
	EXPECT(philox_device_call_count(c->device, NULL) == calls + 4);
	calls = philox_device_call_count(c->device, NULL);
	set = philox_device_call_count(c->device, "exec_set_kernel");
	launch = philox_device_call_count(c->device, "exec_launch");
	for (unsigned i = 0; i < 5; i++)
		EXPECT_OK(philox_graph_launch(graph, rig->at.stream, uses,
					      PASSES));
	EXPECT(philox_device_call_count(c->device, "exec_set_kernel") ==
	       set + 5);
	EXPECT(philox_device_call_count(c->device, "exec_launch") ==
	       launch + 5);
	EXPECT(philox_device_call_count(c->device, NULL) == calls + 15);
}

/* --- failures ------------------------------------------------------------- */

static void broken_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_graph *graph = NULL;
	struct philox_ticket kept, ticket;
	struct philox_pass pass;

	EXPECT_PART(eager_forward(c, rig, &kept));
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_OK(
			philox_capture_begin(rig->at.context, rig->at.stream));
		EXPECT_PART(
			forward(c, rig, rig->at.stream, rig->at.out, &ticket));
		EXPECT(philox_stream_synchronize(c->device, rig->at.stream) !=
		       PHILOX_OK);
		EXPECT_ERROR(CAPTURE_INVALIDATED,
			     philox_forward_begin(rig->at.region,
						  rig->at.stream, 0, &pass));
		EXPECT(philox_capture_end(rig->at.context, rig->at.stream,
					  &graph) != PHILOX_OK);
		EXPECT(!graph);
		EXPECT_PART(contract_pending_is(c, rig, 1));
		EXPECT_PART(contract_eager_backward(c, rig, kept,
						    PHILOX_PASS_RETAIN, 0));
	}
	EXPECT_PART(contract_record_forward(c, rig, &graph));
	EXPECT_PART(contract_launch_forward(c, rig, graph, &ticket));
	EXPECT_PART(contract_eager_backward(c, rig, ticket, 0, 1));
}

static void aborted_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_graph *graph = NULL;
	struct philox_ticket ticket;
	struct philox_pass pass;

	EXPECT_OK(philox_capture_begin(rig->at.context, rig->at.stream));
	EXPECT_PART(forward(c, rig, rig->at.stream, rig->at.out, &ticket));
	EXPECT_OK(
		philox_forward_begin(rig->at.region, rig->at.stream, 0, &pass));
	EXPECT_OK(philox_pass_abort(&pass));
	EXPECT_ERROR(STATE, philox_capture_end(rig->at.context, rig->at.stream,
					       &graph));
	EXPECT(!graph);
	EXPECT_PART(contract_pending_is(c, rig, 0));
	EXPECT_PART(eager_forward(c, rig, &ticket));
}

static void failed_launch_body(struct contract *c, struct contract_rig *rig)
{
	static const char *const operations[] = {
		"capture_info", "exec_set_kernel", "exec_launch"};
	struct philox_graph *back;
	struct philox_ticket ticket;

	EXPECT_PART(record_backward(c, rig, &back));
	EXPECT_PART(eager_forward(c, rig, &ticket));
	for (unsigned i = 0; i < 3; i++) {
		struct philox_launch_pass use = {ticket, 0, 0};

		EXPECT_OK(philox_device_fail(c->device, operations[i], 1,
					     PHILOX_ERROR_DEVICE));
		EXPECT_ERROR(DEVICE, philox_graph_launch(back, rig->at.stream,
							 &use, 1));
		EXPECT_PART(contract_pending_is(c, rig, 1));
		EXPECT_PART(launch_backward(c, rig, back, ticket,
					    PHILOX_PASS_RETAIN, 0));
	}
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

static void refused_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket ticket[RIG_FORWARDS];
	struct philox_graph *forth, *back;
	struct philox_launch_pass use = {0};

	EXPECT_PART(contract_record_forward(c, rig, &forth));
	EXPECT_PART(record_backward(c, rig, &back));
	for (unsigned k = 0; k < RIG_FORWARDS; k++)
		EXPECT_PART(contract_launch_forward(c, rig, forth, &ticket[k]));
	EXPECT_ERROR(LIMIT,
		     philox_graph_launch(forth, rig->at.stream, &use, 1));
	EXPECT_PART(launch_backward(c, rig, back, ticket[5], 0, 5));
	use.ticket = ticket[5];
	EXPECT_ERROR(RELEASED,
		     philox_graph_launch(back, rig->at.stream, &use, 1));
	use.ticket.region_key ^= 1;
	EXPECT_ERROR(MISMATCH,
		     philox_graph_launch(back, rig->at.stream, &use, 1));
	EXPECT_ERROR(INVALID,
		     philox_graph_launch(back, rig->at.stream, &use, 0));
	EXPECT_PART(contract_pending_is(c, rig, RIG_FORWARDS - 1));
	EXPECT_PART(launch_backward(c, rig, back, ticket[RIG_FORWARDS - 1], 0,
				    RIG_FORWARDS - 1));
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

const struct contract_check contract_graph[] = {
	{"eager backwards see their forwards' numbers in every order",
	 .with_rig = eager_body},
	{"captured backwards see their forwards' numbers in every order",
	 .with_rig = captured_body},
	{"eager and captured passes mix", .with_rig = mixed_body},
	{"forward, recompute and backward share a capture",
	 .with_rig = one_capture_body},
	{"a linked recompute and backward share a ticket",
	 .with_rig = linked_body},
	{"a straight capture stays one line", .with_rig = line_body},
	{"cells on the device hold the states of an eager pass",
	 .with_rig = cells_body},
	{"a capture of your own is adopted", .with_rig = adopted_body},
	{"forks draw the numbers of their pass", .with_rig = fork_body},
	{"queued launches have a message each", .with_rig = queue_body},
	{"a graph gains one node and a replay makes three device calls",
	 .with_rig = cost_body},
	{"a broken capture leaves stream and ledger whole",
	 .with_rig = broken_body},
	{"an aborted pass gives no graph", .with_rig = aborted_body},
	{"a failed launch changes nothing", .with_rig = failed_launch_body},
	{"refused launches change nothing", .with_rig = refused_body},
	{0},
};

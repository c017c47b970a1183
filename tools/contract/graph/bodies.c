/*
 * tools/contract/graph/bodies.c - passes in the bodies of conditional nodes
 *
 * What a body draws is kept by copies in it, which move all that was kept
 * before up by one place; the words that decide are moved down in the same way
 * (see conditional.c). So the runs of a launch are in `kept`, the last one
 * first.
 */
#include <stdio.h>
#include <string.h>
#include "lib/device/device.h"
#include "tools/contract/graph/graph.h"

enum { LIMIT = 3, KEPT = 5, TABLE = 8 };

#define SHOT       sizeof(struct contract_shot)
#define TABLE_SIZE (TABLE * sizeof(uint32_t))

struct looping {
	struct contract_rig *rig;
	philox_stream stream, inner, innermost;
	uint32_t *words; /* table: the first says whether to run again */
	uint32_t *picks; /* the same, for other questions */
	uint32_t *spare_words;
	struct contract_shot *kept, *spare; /* KEPT of them */
	struct philox_conditional node;
	struct philox_graph *graph;
};

/* --- parts of captures ---------------------------------------------------- */

static void set_up(struct contract *c, struct contract_rig *rig,
		   struct looping *at)
{
	memset(at, 0, sizeof(*at));
	at->rig = rig;
	at->stream = rig->at.stream;
	EXPECT_OK(contract_stream(c, 0, &at->inner));
	EXPECT_OK(contract_stream(c, 0, &at->innermost));
	EXPECT_OK(contract_memory(c, TABLE_SIZE, (void **)&at->words));
	EXPECT_OK(contract_memory(c, TABLE_SIZE, (void **)&at->picks));
	EXPECT_OK(contract_memory(c, TABLE_SIZE, (void **)&at->spare_words));
	EXPECT_OK(contract_memory(c, KEPT * SHOT, (void **)&at->kept));
	EXPECT_OK(contract_memory(c, KEPT * SHOT, (void **)&at->spare));
	EXPECT_OK(philox_capture_begin(rig->at.context, at->stream));
}

/* A capture goes on without a node that the device does not have. */
static void end_without(struct contract *c, struct looping *at, const char *why)
{
	char reason[sizeof(c->skipped)];

	snprintf(reason, sizeof(reason), "%s", why);
	EXPECT_OK(philox_capture_end(at->rig->at.context, at->stream,
				     &at->graph));
	contract_skip(c, "%s", reason);
}

/* Skips a check of what CUDA or its driver is too old for. */
static void begin_node(struct contract *c, struct looping *at,
		       philox_stream stream, enum philox_conditional_kind kind,
		       uint32_t bodies, uint32_t limit, const uint32_t *word)
{
	struct philox_conditional_desc options =
		PHILOX_INIT(struct philox_conditional_desc);
	enum philox_status status;

	options.kind = kind;
	options.bodies = bodies;
	options.limit = limit;
	options.word = word;
	status = philox_conditional_begin(at->rig->at.context, stream, &options,
					  &at->node);
	if (status == PHILOX_ERROR_UNSUPPORTED)
		EXPECT_PART(end_without(c, at, philox_error_message()));
	EXPECT_OK(status);
}

static void shift_words(struct contract *c, struct looping *at, uint32_t *words,
			philox_stream stream)
{
	const size_t size = TABLE_SIZE - sizeof(*words);

	EXPECT_OK(contract_copy(c, at->spare_words, words + 1, size, stream));
	EXPECT_OK(contract_copy(c, words, at->spare_words, size, stream));
}

static void keep_shot(struct contract *c, struct looping *at, const void *out,
		      philox_stream stream)
{
	EXPECT_OK(contract_copy(c, at->spare, at->kept, (KEPT - 1) * SHOT,
				stream));
	EXPECT_OK(contract_copy(c, at->kept + 1, at->spare, (KEPT - 1) * SHOT,
				stream));
	EXPECT_OK(contract_copy(c, at->kept, out, SHOT, stream));
}

static void forward_in(struct contract *c, struct looping *at,
		       philox_stream stream, struct philox_ticket *ticket)
{
	struct philox_pass pass;
	uint32_t *out = at->rig->at.out;

	EXPECT_OK(philox_forward_begin(at->rig->at.region, stream, 0, &pass));
	EXPECT_PART(contract_draw(c, at->rig, &pass, out));
	EXPECT_PART(keep_shot(c, at, out, stream));
	EXPECT_OK(philox_pass_commit(&pass, 0, ticket));
}

static void run_again(struct contract *c, struct looping *at)
{
	EXPECT_PART(shift_words(c, at, at->words, at->inner));
	EXPECT_OK(philox_conditional_set(&at->node, at->inner, at->words));
}

/* A loop of one forward. */
static void forward_loop(struct contract *c, struct looping *at,
			 struct philox_ticket *ticket)
{
	EXPECT_PART(begin_node(c, at, at->stream, PHILOX_CONDITIONAL_WHILE, 1,
			       LIMIT, at->words));
	EXPECT_OK(philox_conditional_body(&at->node, 0, at->inner));
	EXPECT_PART(forward_in(c, at, at->inner, ticket));
	EXPECT_PART(run_again(c, at));
	EXPECT_OK(philox_conditional_end(&at->node));
}

static void end_looping(struct contract *c, struct looping *at)
{
	EXPECT_OK(philox_capture_end(at->rig->at.context, at->stream,
				     &at->graph));
}

/* --- parts of launches ---------------------------------------------------- */

static void write_words(struct contract *c, struct looping *at, uint32_t *to,
			uint32_t a, uint32_t b, uint32_t d, uint32_t e)
{
	const uint32_t words[TABLE] = {a, b, d, e};

	EXPECT_OK(contract_copy(c, to, words, TABLE_SIZE, at->stream));
	EXPECT_OK(philox_stream_synchronize(c->device, at->stream));
}

/* The loop's words for a number of runs; 0 and up. */
static void ask_runs(struct contract *c, struct looping *at, unsigned runs)
{
	EXPECT_PART(write_words(c, at, at->words, runs > 0, runs > 1, runs > 2,
				runs > 3));
}

static void launch(struct contract *c, struct looping *at,
		   struct philox_launch_pass *uses, size_t n)
{
	EXPECT_OK(contract_set(c, at->kept, 0x55, KEPT * SHOT, at->stream));
	EXPECT_OK(philox_graph_launch(at->graph, at->stream, uses, n));
}

/* Kept number `place`, the last one is 0, is forward k of the reference. */
static void kept_is(struct contract *c, struct looping *at, unsigned place,
		    unsigned k)
{
	EXPECT_PART(contract_is_forward(c, at->rig, at->kept[place].word, k));
}

/* That nothing was kept there. */
static void nothing_kept(struct contract *c, struct looping *at, unsigned place)
{
	EXPECT_BYTES(at->stream, at->kept + place, 0x55, SHOT);
}

/* Iteration i of a ticket, drawn eagerly, is forward k. */
static void iteration_is(struct contract *c, struct looping *at,
			 struct philox_ticket ticket, uint32_t i, unsigned k)
{
	struct contract_rig *rig = at->rig;
	struct philox_pass pass, view;

	EXPECT_OK(philox_backward_begin(rig->at.region, at->stream, ticket,
					PHILOX_PASS_RETAIN, &pass));
	EXPECT_OK(philox_pass_at(&pass, i, &view));
	EXPECT_PART(contract_draw(c, rig, &view, rig->at.back));
	EXPECT_OK(philox_pass_commit(&pass, 0, NULL));
	EXPECT_PART(contract_is_forward(c, rig, rig->at.back, k));
}

/* --- runs ----------------------------------------------------------------- */

/* Launch l of a loop of limit 3 begins with forward 3 l of the reference. */
static void runs_body(struct contract *c, struct contract_rig *rig)
{
	static const unsigned runs[4] = {2, 0, 3, 1};
	struct philox_ticket ticket;
	struct looping at;

	EXPECT_PART(set_up(c, rig, &at));
	EXPECT_PART(forward_loop(c, &at, &ticket));
	EXPECT_PART(end_looping(c, &at));
	for (unsigned l = 0; l < 4; l++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};

		EXPECT_PART(ask_runs(c, &at, runs[l]));
		EXPECT_PART(launch(c, &at, &use, 1));
		for (unsigned i = 0; i < runs[l]; i++)
			EXPECT_PART(kept_is(c, &at, runs[l] - 1 - i,
					    LIMIT * l + i));
		EXPECT_PART(nothing_kept(c, &at, runs[l]));
		for (unsigned i = 0; i < LIMIT; i++)
			EXPECT_PART(iteration_is(c, &at, use.ticket, i,
						 LIMIT * l + i));
	}
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

static void at_limit_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_ticket ticket;
	struct looping at;

	EXPECT_PART(set_up(c, rig, &at));
	EXPECT_PART(forward_loop(c, &at, &ticket));
	EXPECT_PART(end_looping(c, &at));
	EXPECT_OK(contract_set(c, at.words, 1, TABLE_SIZE, at.stream));
	EXPECT_PART(launch(c, &at, &use, 1));
	for (unsigned i = 0; i < LIMIT; i++)
		EXPECT_PART(kept_is(c, &at, LIMIT - 1 - i, i));
	EXPECT_PART(nothing_kept(c, &at, LIMIT));
	EXPECT_ERROR(LIMIT, philox_context_check(rig->at.context, &report));
	EXPECT(report.cut == 1 && !report.beyond && !report.launches);
	EXPECT_OK(philox_context_check(rig->at.context, NULL));
}

/* The contract's own kernel sets the condition. */
static void beyond_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_ticket ticket;
	const uint32_t *beyond;
	struct looping at;
	uint32_t told;

	EXPECT_PART(set_up(c, rig, &at));
	EXPECT_PART(begin_node(c, &at, at.stream, PHILOX_CONDITIONAL_WHILE, 1,
			       LIMIT, at.words));
	EXPECT_OK(philox_conditional_body(&at.node, 0, at.inner));
	EXPECT_OK(philox_conditional_beyond(&at.node, 0, &beyond));
	EXPECT_PART(forward_in(c, &at, at.inner, &ticket));
	EXPECT_OK(contract_copy(c, at.picks, beyond, sizeof(*at.picks),
				at.inner));
	EXPECT_PART(shift_words(c, &at, at.words, at.inner));
	EXPECT_OK(device_condition_record(c->device, at.inner,
					  at.node.condition, at.words));
	EXPECT_OK(philox_conditional_end(&at.node));
	EXPECT_PART(end_looping(c, &at));
	for (unsigned runs = LIMIT; runs <= LIMIT + 1; runs++) {
		EXPECT_PART(ask_runs(c, &at, runs));
		EXPECT_PART(launch(c, &at, &use, 1));
		EXPECT_PART(nothing_kept(c, &at, runs));
		EXPECT_OK(contract_read(c, at.stream, at.picks, &told,
					sizeof(told)));
		EXPECT(told == (runs > LIMIT));
	}
	EXPECT_PART(contract_is_poison(c, rig, at.kept[0].word));
	EXPECT_ERROR(LIMIT, philox_context_check(rig->at.context, &report));
	EXPECT(report.beyond == 1 && !report.cut && !report.launches);
}

static void unannounced_loop_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_ticket ticket;
	struct looping at;
	philox_native_exec exec;

	EXPECT_PART(set_up(c, rig, &at));
	EXPECT_PART(forward_loop(c, &at, &ticket));
	EXPECT_PART(end_looping(c, &at));
	EXPECT_OK(philox_graph_native(at.graph, NULL, &exec));
	for (unsigned l = 0; l < 3; l++) {
		EXPECT_OK(contract_set(c, at.words, 1, TABLE_SIZE, at.stream));
		EXPECT_OK(
			philox_native_exec_launch(c->device, at.stream, exec));
		EXPECT_PART(contract_is_poison(c, rig, at.kept[0].word));
		EXPECT_ERROR(UNANNOUNCED,
			     philox_context_check(rig->at.context, NULL));
		EXPECT_PART(ask_runs(c, &at, 2));
		EXPECT_PART(launch(c, &at, &use, 1));
		EXPECT_PART(kept_is(c, &at, 1, LIMIT * l));
		EXPECT_PART(kept_is(c, &at, 0, LIMIT * l + 1));
		EXPECT_OK(philox_context_check(rig->at.context, NULL));
	}
}

/* --- backwards ------------------------------------------------------------- */

/* A loop of one backward, which looks at `picks` for iterations if asked to. */
static void backward_loop(struct contract *c, struct looping *at,
			  struct philox_ticket ticket, unsigned flags,
			  int by_word)
{
	struct contract_rig *rig = at->rig;
	struct philox_pass pass, view;

	EXPECT_PART(begin_node(c, at, at->stream, PHILOX_CONDITIONAL_WHILE, 1,
			       LIMIT, at->words));
	EXPECT_OK(philox_conditional_body(&at->node, 0, at->inner));
	EXPECT_OK(philox_backward_begin(rig->at.region, at->inner, ticket,
					flags, &pass));
	view = pass;
	if (by_word)
		EXPECT_OK(philox_pass_at_word(&pass, at->picks, &view));
	EXPECT_PART(contract_draw(c, rig, &view, rig->at.back));
	EXPECT_PART(keep_shot(c, at, rig->at.back, at->inner));
	EXPECT_OK(philox_pass_commit(&pass, 0, NULL));
	EXPECT_PART(shift_words(c, at, at->picks, at->inner));
	EXPECT_PART(run_again(c, at));
	EXPECT_OK(philox_conditional_end(&at->node));
}

/*
 * A forward's loop, then one of backwards, in one graph. Both take their words
 * from one table: {1, 0, 1, 0} is one run each.
 */
static void paired(struct contract *c, struct contract_rig *rig, unsigned flags,
		   int by_word, struct looping *at)
{
	struct philox_ticket ticket;

	EXPECT_PART(set_up(c, rig, at));
	EXPECT_PART(forward_loop(c, at, &ticket));
	EXPECT_PART(shift_words(c, at, at->words, at->stream));
	EXPECT_PART(backward_loop(c, at, ticket, flags, by_word));
	EXPECT_PART(end_looping(c, at));
}

/* Two runs of each; what the backwards drew was kept last. */
static void launch_pair(struct contract *c, struct looping *at, unsigned last,
			unsigned before)
{
	const uint32_t words[TABLE] = {1, 1, 0, 1, 1, 0};
	struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}, {{0, 0}, 0, 0}};

	EXPECT_OK(contract_copy(c, at->words, words, TABLE_SIZE, at->stream));
	EXPECT_OK(philox_stream_synchronize(c->device, at->stream));
	EXPECT_PART(launch(c, at, uses, 2));
	EXPECT_PART(kept_is(c, at, 3, at->rig->next));
	EXPECT_PART(kept_is(c, at, 2, at->rig->next + 1));
	EXPECT_PART(kept_is(c, at, 1, at->rig->next + before));
	EXPECT_PART(kept_is(c, at, 0, at->rig->next + last));
	at->rig->next += LIMIT;
	EXPECT_OK(philox_context_check(at->rig->at.context, NULL));
}

static void in_order_body(struct contract *c, struct contract_rig *rig)
{
	struct looping at;

	EXPECT_PART(paired(c, rig, 0, 0, &at));
	for (int l = 0; l < 3; l++)
		EXPECT_PART(launch_pair(c, &at, 1, 0));
}

static void reversed_body(struct contract *c, struct contract_rig *rig)
{
	struct looping at;

	EXPECT_PART(paired(c, rig, PHILOX_PASS_REVERSED, 0, &at));
	for (int l = 0; l < 3; l++)
		EXPECT_PART(launch_pair(c, &at, 0, 1));
}

static void by_word_body(struct contract *c, struct contract_rig *rig)
{
	struct looping at;

	EXPECT_PART(paired(c, rig, 0, 1, &at));
	EXPECT_PART(write_words(c, &at, at.picks, 2, 0, 0, 0));
	EXPECT_PART(launch_pair(c, &at, 0, 2));
	EXPECT_PART(write_words(c, &at, at.picks, 1, 1, 0, 0));
	EXPECT_PART(launch_pair(c, &at, 1, 1));
}

static void named_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_ticket none = {0, 0};
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_pass pass;
	struct looping at;

	EXPECT_PART(set_up(c, rig, &at));
	EXPECT_PART(backward_loop(c, &at, none, 0, 0));
	EXPECT_PART(end_looping(c, &at));
	EXPECT_OK(philox_forward_begin_loop(rig->at.region, at.stream, 0,
					    LIMIT - 1, &pass));
	EXPECT_OK(philox_pass_commit(&pass, 0, &use.ticket));
	EXPECT_ERROR(MISMATCH,
		     philox_graph_launch(at.graph, at.stream, &use, 1));
	EXPECT_OK(philox_forward_begin_loop(rig->at.region, at.stream, 0, LIMIT,
					    &pass));
	EXPECT_OK(philox_pass_commit(&pass, 0, &use.ticket));
	EXPECT_PART(ask_runs(c, &at, 3));
	EXPECT_PART(launch(c, &at, &use, 1));
	for (unsigned i = 0; i < LIMIT; i++)
		EXPECT_PART(kept_is(c, &at, LIMIT - 1 - i, LIMIT - 1 + i));
}

/* --- branches --------------------------------------------------------------- */

/* A forward in each body, in order: forward k of a launch is in body k. */
static void branching(struct contract *c, struct contract_rig *rig,
		      enum philox_conditional_kind kind, uint32_t bodies,
		      struct looping *at)
{
	struct philox_ticket ticket;

	EXPECT_PART(set_up(c, rig, at));
	EXPECT_PART(begin_node(c, at, at->stream, kind, bodies, 0, at->words));
	for (uint32_t i = 0; i < bodies; i++) {
		EXPECT_OK(philox_conditional_body(&at->node, i, at->inner));
		EXPECT_PART(forward_in(c, at, at->inner, &ticket));
	}
	EXPECT_OK(philox_conditional_end(&at->node));
	EXPECT_PART(end_looping(c, at));
}

/* A launch in which this body runs, or none. */
static void takes(struct contract *c, struct looping *at, uint32_t word,
		  uint32_t bodies, uint32_t body)
{
	struct philox_launch_pass uses[3] = {{{0, 0}, 0, 0}};

	EXPECT_PART(write_words(c, at, at->words, word, 0, 0, 0));
	EXPECT_PART(launch(c, at, uses, bodies));
	if (body < bodies)
		EXPECT_PART(kept_is(c, at, 0, at->rig->next + body));
	EXPECT_PART(nothing_kept(c, at, body < bodies));
	for (uint32_t i = 0; i < bodies; i++)
		EXPECT_PART(iteration_is(c, at, uses[i].ticket, 0,
					 at->rig->next + i));
	at->rig->next += bodies;
}

static void if_body(struct contract *c, struct contract_rig *rig)
{
	struct looping at;

	EXPECT_PART(branching(c, rig, PHILOX_CONDITIONAL_IF, 1, &at));
	EXPECT_PART(takes(c, &at, 1, 1, 0));
	EXPECT_PART(takes(c, &at, 0, 1, 1));
	EXPECT_PART(takes(c, &at, 7, 1, 0));
}

static void else_body(struct contract *c, struct contract_rig *rig)
{
	struct looping at;

	EXPECT_PART(branching(c, rig, PHILOX_CONDITIONAL_IF, 2, &at));
	EXPECT_PART(takes(c, &at, 1, 2, 0));
	EXPECT_PART(takes(c, &at, 0, 2, 1));
}

static void switch_body(struct contract *c, struct contract_rig *rig)
{
	struct looping at;

	EXPECT_PART(branching(c, rig, PHILOX_CONDITIONAL_SWITCH, 3, &at));
	EXPECT_PART(takes(c, &at, 2, 3, 2));
	EXPECT_PART(takes(c, &at, 3, 3, 3));
	EXPECT_PART(takes(c, &at, 1, 3, 1));
}

/* An IF in a WHILE: a forward in it counts its own runs. */
static void nested_body(struct contract *c, struct contract_rig *rig)
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_conditional loop;
	struct philox_ticket ticket;
	struct looping at;

	EXPECT_PART(set_up(c, rig, &at));
	EXPECT_PART(begin_node(c, &at, at.stream, PHILOX_CONDITIONAL_WHILE, 1,
			       LIMIT, at.words));
	loop = at.node;
	EXPECT_OK(philox_conditional_body(&loop, 0, at.inner));
	EXPECT_PART(begin_node(c, &at, at.inner, PHILOX_CONDITIONAL_IF, 1, 0,
			       at.picks));
	EXPECT_OK(philox_conditional_body(&at.node, 0, at.innermost));
	EXPECT_PART(forward_in(c, &at, at.innermost, &ticket));
	EXPECT_OK(philox_conditional_end(&at.node));
	EXPECT_PART(shift_words(c, &at, at.picks, at.inner));
	at.node = loop;
	EXPECT_PART(run_again(c, &at));
	EXPECT_OK(philox_conditional_end(&loop));
	EXPECT_PART(end_looping(c, &at));
	for (unsigned l = 0; l < 2; l++) {
		EXPECT_PART(ask_runs(c, &at, 3));
		EXPECT_PART(write_words(c, &at, at.picks, !l, l, 1, 0));
		EXPECT_PART(launch(c, &at, &use, 1));
		EXPECT_PART(kept_is(c, &at, 1, LIMIT * l));
		EXPECT_PART(kept_is(c, &at, 0, LIMIT * l + 1));
		EXPECT_PART(nothing_kept(c, &at, 2));
	}
}

const struct contract_check contract_bodies[] = {
	{"each run of a body draws the next iteration", .with_rig = runs_body},
	{"a loop ends at its limit, and its condition is reported if it holds",
	 .with_rig = at_limit_body},
	{"a run beyond the limit is told, poison, and reported",
	 .with_rig = beyond_body},
	{"a loop that was not announced is poison, reported, and ends",
	 .with_rig = unannounced_loop_body},
	{"backwards in a loop take the iterations in order",
	 .with_rig = in_order_body},
	{"reversed backwards begin with the last run",
	 .with_rig = reversed_body},
	{"a word says which iteration a view draws", .with_rig = by_word_body},
	{"a loop may repeat a ticket that is named at launch",
	 .with_rig = named_body},
	{"a branch draws if it is taken", .with_rig = if_body},
	{"either of two branches draws numbers of its own",
	 .with_rig = else_body},
	{"a switch draws in one of its bodies, or in none",
	 .with_rig = switch_body},
	{"a branch in a loop counts its own runs", .with_rig = nested_body},
	{0}};

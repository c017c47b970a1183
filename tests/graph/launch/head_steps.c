/*
 * tests/graph/launch/head_steps.c - heads that run at the same time, step by
 * step
 *
 * Each access of a head to memory that others use is a step, and so is a read
 * of a cell by a kernel after it. Everything that runs at once is an actor with
 * a stack of its own; a run executes steps of actors in some order, and every
 * order has its run. See Note [Head] in graph/capture/capture.h for what must
 * hold.
 */
#undef _FORTIFY_SOURCE /* as in tests/simulated/grid.c: many stacks */
#include <stdint.h>
#include <string.h>
#include <ucontext.h>
#include <philox/state.h>

static void step(void);
static void step_store(struct philox_state *cell, struct philox_state state);

#define HEAD_RAISE(to, value)                                \
	({                                                   \
		uint64_t before_ = (step(), *(to));          \
		*(to) = before_ < (value) ? (value) : *(to); \
		before_;                                     \
	})
#define HEAD_ADD(to, value)     (step(), *(to) += (value), *(to) - (value))
#define HEAD_LOAD(from)         (step(), *(from))
#define HEAD_TELL(to, value)    (step(), *(to) = (value))
#define HEAD_STORE(cell, state) step_store(cell, state)
#define HEAD_ENTRY(from)        (*(from))

#include "graph/capture/capture.h"
#include "lib/kernels/head/head_elements.h"
#include "tests/support/support.h"

/* --- every order ---------------------------------------------------------- */

enum { ACTORS = 3, STEPS = 64, STACK = 64 << 10 };

/* What runs: a head without a message has number 0. */
struct actor {
	void (*run)(struct actor *self);
	uint64_t first, last; /* numbers of its launches, one after the other */
	ucontext_t context;
	int over;
	struct philox_state
		saw[4]; /* cells that the last launch's kernels read */
	char stack[STACK];
};

static struct actor actors[ACTORS];
static unsigned n_actors;
static struct actor *current;
static ucontext_t scheduler;

/* The order of this run: which of those that are not over goes on. */
static struct {
	unsigned chosen, of;
} order[STEPS];
static unsigned n_steps;

static void step(void)
{
	swapcontext(&current->context, &scheduler);
}

static void begin_actor(void)
{
	current->run(current);
	current->over = 1;
}

static void let_go_on(struct actor *actor)
{
	current = actor;
	swapcontext(&scheduler, &actor->context);
}

/* Up to the first step of each: what comes before is seen by no other. */
static void start_actors(void)
{
	for (unsigned i = 0; i < n_actors; i++) {
		struct actor *actor = &actors[i];

		actor->over = 0;
		getcontext(&actor->context);
		actor->context.uc_stack.ss_sp = actor->stack;
		actor->context.uc_stack.ss_size = STACK;
		actor->context.uc_link = &scheduler;
		makecontext(&actor->context, begin_actor, 0);
		let_go_on(actor);
	}
}

static unsigned count_living(void)
{
	unsigned living = 0;

	for (unsigned i = 0; i < n_actors; i++)
		living += !actors[i].over;
	return living;
}

static struct actor *choose(unsigned number)
{
	struct actor *actor = actors;

	while (actor->over || number--)
		actor++;
	return actor;
}

/* Steps that the order does not have yet go to the first actor. */
static void run_in_order(void)
{
	unsigned living, i = 0;

	start_actors();
	for (i = 0; (living = count_living()); i++) {
		cr_assert_lt(i, STEPS, "a head does not end");
		if (i == n_steps) {
			order[i].chosen = 0;
			n_steps++;
		}
		order[i].of = living;
		let_go_on(choose(order[i].chosen));
	}
	n_steps = i;
}

/* The next order, or 0 if this was the last. */
static int next_order(void)
{
	while (n_steps &&
	       order[n_steps - 1].chosen + 1 == order[n_steps - 1].of)
		n_steps--;
	if (n_steps)
		order[n_steps - 1].chosen++;
	return n_steps != 0;
}

/* --- a graph, in the memory of this program ------------------------------- */

enum { CELLS = HEAD_PART + 1 }; /* two parts */

/* A map, and a number for each part behind it. */
struct numbered_map {
	struct head_cell map[CELLS];
	uint64_t taken[2];
};

/* Messages of number 0 name the open control block, all others the other. */
static struct {
	struct head_control control, open;
	struct head_report report[2];      /* the open one's, and the other's */
	struct numbered_map map, open_map; /* the latter's numbers stay 0 */
	struct philox_state cells[CELLS] __attribute__((aligned(16)));
	unsigned filled[2],
		poisoned[2]; /* how often the first cell of a part */
} graph;

static void reset_graph(void)
{
	memset(&graph, 0, sizeof(graph));
	for (unsigned i = 0; i < CELLS; i++)
		graph.map.map[i] =
			(struct head_cell){.cell = &graph.cells[i], .op = i};
	graph.open_map = graph.map;
	graph.control = (struct head_control){.report = &graph.report[1],
					      .map = graph.map.map,
					      .cells = CELLS};
	graph.open = graph.control;
	graph.open.report = &graph.report[0];
	graph.open.map = graph.open_map.map;
	memset(graph.cells, 0xff, sizeof(graph.cells));
}

/* The state of a part's first cell in a launch. */
static struct philox_state state_of(unsigned part, uint64_t launch)
{
	return (struct philox_state){
		philox_op_seed(launch, part * HEAD_PART, 0), 4 * launch};
}

/* Only the first cell of each part takes a step. */
static void step_store(struct philox_state *cell, struct philox_state state)
{
	size_t i = (size_t)(cell - graph.cells);

	if (i % HEAD_PART == 0) {
		step();
		graph.filled[i / HEAD_PART] += !philox_is_poison(state);
		graph.poisoned[i / HEAD_PART] += philox_is_poison(state);
	}
	*cell = state;
}

static void run_head(uint64_t launch)
{
	uint64_t message[(sizeof(struct head_args) + 16) / 8];
	struct head_args *args = (void *)message;
	struct head_cells cells;

	args->control = launch ? &graph.control : &graph.open;
	args->sequence = launch;
	args->states[0] = (struct philox_state){launch, 4 * launch};
	cells = head_find_cells(args);
	for (uint64_t part = 0; part < cells.parts; part++)
		head_run_part(args, &cells, part);
}

static struct philox_state read_cell(unsigned part)
{
	struct philox_rng rng = {.cell = &graph.cells[part * HEAD_PART]};

	step();
	return philox_resolve(rng);
}

/* --- actors --------------------------------------------------------------- */

/* Whether a kernel saw poison, and whether it saw a launch's state. */
static struct {
	int announced_poison, announced_state, other_poison, other_state;
} seen;

static void launch_heads(struct actor *self)
{
	for (uint64_t launch = self->first; launch <= self->last; launch++)
		run_head(launch);
}

/* A launch whose kernels read a cell of each part: its own state, or poison. */
static void launch_announced(struct actor *self)
{
	for (uint64_t launch = self->first; launch <= self->last; launch++) {
		run_head(launch);
		for (unsigned part = 0; part < 2; part++) {
			struct philox_state saw = read_cell(part);
			struct philox_state own = state_of(part, launch);

			if (philox_is_poison(saw)) {
				seen.announced_poison = 1;
				continue;
			}
			seen.announced_state = 1;
			cr_assert_eq(memcmp(&saw, &own, sizeof(own)), 0,
				     "an announced launch drew another's");
		}
	}
}

/* One without a message: poison, or the state of a launch that was announced. */
static void launch_other(struct actor *self)
{
	run_head(0);
	for (unsigned part = 0; part < 2; part++) {
		struct philox_state saw = read_cell(part);
		uint64_t launch = saw.offset / 4;
		struct philox_state of = state_of(part, launch);

		if (philox_is_poison(saw)) {
			seen.other_poison = 1;
			continue;
		}
		seen.other_state = 1;
		cr_assert(launch >= self->first && launch <= self->last);
		cr_assert_eq(memcmp(&saw, &of, sizeof(of)), 0,
			     "half of one state, half of another");
	}
}

static void actor(unsigned i, void (*run)(struct actor *self), uint64_t first,
		  uint64_t last)
{
	actors[i].run = run;
	actors[i].first = first;
	actors[i].last = last;
	n_actors = i + 1;
	n_steps = 0;
	memset(&seen, 0, sizeof(seen));
}

/* After each run: the last message that was taken, and what was reported. */
static void check_run(uint64_t taken, uint64_t repeats)
{
	uint64_t reported = 0;

	cr_assert_eq(graph.control.sequence, taken);
	if (graph.control.cells > HEAD_PART)
		cr_assert_eq(graph.map.taken[1], taken, "parts do not agree");
	cr_assert_eq(graph.open.sequence, 0);
	cr_assert_eq(graph.open_map.taken[1], 0);
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_eq(graph.report[i].count, graph.report[i].repeats);
		cr_assert_leq(graph.report[i].sequence, taken);
		reported += graph.report[i].count;
	}
	cr_assert_eq(reported, repeats, "%d reported, not %d", (int)reported,
		     (int)repeats);
}

/* Runs all orders; returns how many. */
static unsigned every_order(void (*prepare)(void), uint64_t taken,
			    uint64_t repeats)
{
	unsigned runs = 0;

	do {
		reset_graph();
		if (prepare)
			prepare();
		run_in_order();
		check_run(taken, repeats);
		runs++;
	} while (next_order());
	return runs;
}

/* --- tests ---------------------------------------------------------------- */

Test(head_steps, heads_that_run_one_after_the_other_take_each_message_once)
{
	actor(0, launch_announced, 1, 2);
	cr_assert_eq(every_order(NULL, 2, 0), 1);
	cr_assert(seen.announced_state && !seen.announced_poison);
	actor(0, launch_heads, 0, 1);
	cr_assert_eq(every_order(NULL, 1, 1), 1);
}

Test(head_steps, an_overlapping_launch_is_always_reported, .timeout = 300)
{
	unsigned runs;

	actor(0, launch_announced, 1, 1);
	actor(1, launch_other, 1, 1);
	runs = every_order(NULL, 1, 1);
	cr_assert_gt(runs, 5000, "%u runs", runs);
	/* what philox/graph.h says may happen does */
	cr_assert(seen.announced_state && seen.announced_poison);
	cr_assert(seen.other_state && seen.other_poison);
}

/* Only one cell, so that there are fewer orders. */
static void shrink_graph(void)
{
	graph.control.cells = 1;
	graph.open.cells = 1;
}

static void launch_announced_of_one_cell(struct actor *self)
{
	for (uint64_t launch = self->first; launch <= self->last; launch++) {
		struct philox_state saw, own = state_of(0, launch);

		run_head(launch);
		saw = read_cell(0);
		cr_assert(philox_is_poison(saw) ||
				  !memcmp(&saw, &own, sizeof(own)),
			  "an announced launch drew another's");
	}
}

static void launch_other_of_one_cell(struct actor *self)
{
	struct philox_state saw;

	run_head(0);
	saw = read_cell(0);
	seen.other_state |= saw.offset == 4 * self->last;
}

Test(head_steps, an_overlapping_launch_may_see_each_message, .timeout = 300)
{
	actor(0, launch_announced_of_one_cell, 1, 2);
	actor(1, launch_other_of_one_cell, 1, 2);
	cr_assert_gt(every_order(shrink_graph, 2, 1), 1000);
	cr_assert(seen.other_state);
}

/* CUDA runs launches of one executable graph one after the other; if not: */
static void each_part_was_taken_once(struct actor *self)
{
	(void)self;
	run_head(3);
	if (graph.filled[0] + graph.poisoned[0] == 2 &&
	    graph.filled[1] + graph.poisoned[1] == 2)
		for (unsigned part = 0; part < 2; part++)
			cr_assert_eq(graph.filled[part], 1,
				     "both took the message");
}

Test(head_steps, of_two_heads_with_one_message_one_takes_it, .timeout = 300)
{
	actor(0, each_part_was_taken_once, 3, 3);
	actor(1, each_part_was_taken_once, 3, 3);
	cr_assert_gt(every_order(NULL, 3, 1), 100);
}

/* A repeated message has the sealed control block, number 0 the open one. */
static void report(struct actor *self)
{
	head_report(self->first ? &graph.control : &graph.open);
}

static void take_message(struct actor *self)
{
	HEAD_RAISE(&graph.control.sequence, self->first);
}

Test(head_steps, launches_that_report_at_once_are_all_counted, .timeout = 300)
{
	for (uint64_t sealed = 0; sealed < 2; sealed++) {
		actor(0, report, 0, 0);
		actor(1, report, sealed, sealed);
		actor(2, take_message, 1, 1);
		cr_assert_gt(every_order(shrink_graph, 1, 2), 1000);
	}
}

/* --- the host looks meanwhile --------------------------------------------- */

static struct head looked;
static uint64_t found;

static void forget(void)
{
	graph.control.cells = 0;
	looked = (struct head){.report.host = graph.report};
	found = 0;
}

static void look_meanwhile(struct actor *self)
{
	for (uint64_t i = self->first; i <= self->last; i++) {
		uint64_t sequence;

		step();
		found += head_unannounced(&looked, &sequence);
		cr_assert_leq(found, 2, "more launches than there were");
		cr_assert_leq(head_untold(&looked) + found, 2);
	}
	if (actors[0].over && actors[1].over)
		cr_assert_eq(found + head_untold(&looked), 2);
}

Test(head_steps, a_host_that_looks_meanwhile_counts_each_launch_once,
     .timeout = 300)
{
	for (uint64_t sealed = 0; sealed < 2; sealed++) {
		actor(0, report, 0, 0);
		actor(1, report, sealed, sealed);
		actor(2, look_meanwhile, 1, 2);
		cr_assert_gt(every_order(forget, 0, 2), 1000);
	}
}

/*
 * tests/ledger/random_walk.c - long random runs against a model
 *
 * The model is an array of tickets with the numbers their forwards saw, and a
 * set of all blocks issued since the last seeding. It predicts what each
 * forward draws from seed, name and a count of its own. Runs are the same every
 * time: the events come from a fixed seed.
 */
#include <stdlib.h>
#include "tests/support/support.h"

enum { REGIONS = 2, TABLE = 6 };

static const char *const names[REGIONS] = {"layer", "head"};

struct model_region {
	struct philox_region *region;
	struct philox_graph *forth, *back;
	uint64_t offset; /* of the next forward */
	struct forward owed[TABLE];
	unsigned n;
};

struct walk {
	struct fixture *f;
	struct model_region regions[REGIONS];
	struct philox_graph *pair;  /* forward and backward of region 0 */
	struct philox_graph *mixed; /* backward of 1, forward of 0, of 1 */
	uint32_t *first, *second, *third;
	struct block_set *seen;
	uint64_t seed;
	uint64_t dice;
};

static uint64_t roll(struct walk *walk, uint64_t sides)
{
	/* Knuth's MMIX generator; its high bits. */
	walk->dice =
		walk->dice * 6364136223846793005ULL + 1442695040888963407ULL;
	return (walk->dice >> 33) % sides;
}

/* A forward of region r saw these numbers: the right ones, and fresh. */
static void forward_saw(struct walk *walk, unsigned r, struct numbers saw)
{
	struct model_region *model = &walk->regions[r];

	SAME(saw, predict(walk->seed, names[r], model->offset),
	     "a forward of %s", names[r]);
	cr_assert_eq(block_set_add(walk->seen, &saw), 0, "not fresh");
	model->offset += 4;
}

static void owe(struct walk *walk, unsigned r, struct philox_ticket ticket,
		struct numbers saw)
{
	struct model_region *model = &walk->regions[r];

	cr_assert_eq(ticket.region_key, fnv1a(names[r]));
	for (unsigned i = 0; i < model->n; i++)
		cr_assert_neq(model->owed[i].ticket.serial, ticket.serial);
	model->owed[model->n++] = (struct forward){model->region, ticket, saw};
}

static void paid(struct model_region *model, unsigned i)
{
	model->owed[i] = model->owed[--model->n];
}

/* --- events --------------------------------------------------------------- */

static void full_table(struct walk *walk, struct model_region *model)
{
	struct philox_use use = {0};
	struct philox_pass pass;

	FAILS(philox_forward_begin(model->region, walk->f->stream, 0, &pass),
	      PHILOX_ERROR_LIMIT);
	FAILS(philox_graph_launch(model->forth, walk->f->stream, &use, 1),
	      PHILOX_ERROR_LIMIT);
}

static void any_forward(struct walk *walk, unsigned r)
{
	struct model_region *model = &walk->regions[r];
	struct forward made;

	if (model->n == TABLE) {
		full_table(walk, model);
		return;
	}
	made = roll(walk, 2) ? forward(walk->f, model->region)
			     : launch_forward(walk->f, model->forth,
					      model->region, walk->first);
	forward_saw(walk, r, made.saw);
	owe(walk, r, made.ticket, made.saw);
}

static void any_backward(struct walk *walk, unsigned r)
{
	struct model_region *model = &walk->regions[r];
	unsigned retain = roll(walk, 3) ? 0 : PHILOX_RETAIN;
	unsigned i;

	if (model->n == 0)
		return;
	i = (unsigned)roll(walk, model->n);
	if (roll(walk, 2))
		backward(walk->f, &model->owed[i], retain);
	else
		launch_backward(walk->f, model->back, &model->owed[i], retain,
				walk->first);
	if (!retain)
		paid(model, i);
}

static void any_release(struct walk *walk, unsigned r)
{
	struct model_region *model = &walk->regions[r];
	struct philox_ticket ticket;
	struct philox_use use = {0};
	struct philox_pass pass;
	unsigned i;

	if (model->n == 0)
		return;
	i = (unsigned)roll(walk, model->n);
	ticket = model->owed[i].ticket;
	OK(philox_ticket_release(model->region, ticket, walk->f->stream));
	paid(model, i);
	use.ticket = ticket;
	FAILS(philox_backward_begin(model->region, ticket, walk->f->stream, 0,
				    &pass),
	      PHILOX_ERROR_RELEASED);
	FAILS(philox_graph_launch(model->back, walk->f->stream, &use, 1),
	      PHILOX_ERROR_RELEASED);
}

static void aborted_forward(struct walk *walk, unsigned r)
{
	struct model_region *model = &walk->regions[r];
	struct philox_pass pass;

	if (model->n == TABLE)
		return;
	OK(philox_forward_begin(model->region, walk->f->stream, 0, &pass));
	draw(&pass, walk->first);
	OK(philox_pass_abort(&pass));
	forward_saw(walk, r, read_numbers(walk->f, walk->first));
}

static void aborted_backward(struct walk *walk, unsigned r)
{
	struct model_region *model = &walk->regions[r];
	struct philox_pass pass;
	unsigned i;

	if (model->n == 0)
		return;
	i = (unsigned)roll(walk, model->n);
	OK(philox_backward_begin(model->region, model->owed[i].ticket,
				 walk->f->stream,
				 roll(walk, 2) ? PHILOX_RETAIN : 0, &pass));
	OK(philox_pass_abort(&pass));
}

/* A recompute of one region's ticket with anything at all inside it. */
static void recompute_around(struct walk *walk, unsigned r)
{
	struct model_region *model = &walk->regions[r];
	struct philox_pass pass;
	struct numbers saw;

	if (model->n == 0)
		return;
	saw = model->owed[0].saw;
	OK(philox_recompute_begin(model->region, model->owed[0].ticket,
				  walk->f->stream, 0, &pass));
	any_forward(walk, 1 - r);
	any_backward(walk, 1 - r);
	draw(&pass, walk->second);
	OK(philox_backward_commit(&pass, 0));
	SAME(read_numbers(walk->f, walk->second), saw, "recompute");
}

static void inference_and_warm_up(struct walk *walk, unsigned r)
{
	struct model_region *model = &walk->regions[r];

	SAME(peek(walk->f, model->region),
	     predict(walk->seed, names[r], model->offset), "warm-up");
	if (roll(walk, 2))
		forward_saw(walk, r,
			    forward_numbers(walk->f, model->region,
					    PHILOX_INFERENCE));
}

static void launch_pair(struct walk *walk, unsigned r)
{
	struct philox_use uses[2] = {0};

	(void)r;
	if (walk->regions[0].n == TABLE)
		return;
	OK(philox_graph_launch(walk->pair, walk->f->stream, uses, 2));
	forward_saw(walk, 0, read_numbers(walk->f, walk->first));
	SAME(read_numbers(walk->f, walk->second),
	     read_numbers(walk->f, walk->first), "paired backward");
}

static void launch_mixed(struct walk *walk, unsigned r)
{
	struct model_region *zero = &walk->regions[0], *one = &walk->regions[1];
	unsigned retain = roll(walk, 2) ? PHILOX_RETAIN : 0;
	struct philox_use uses[3] = {0};
	unsigned i;

	(void)r;
	if (zero->n == TABLE || one->n == TABLE || one->n == 0)
		return;
	i = (unsigned)roll(walk, one->n);
	uses[0].ticket = one->owed[i].ticket;
	uses[0].flags = retain;
	OK(philox_graph_launch(walk->mixed, walk->f->stream, uses, 3));
	SAME(read_numbers(walk->f, walk->first), one->owed[i].saw, "backward");
	if (!retain)
		paid(one, i);
	forward_saw(walk, 0, read_numbers(walk->f, walk->second));
	owe(walk, 0, uses[1].ticket, read_numbers(walk->f, walk->second));
	forward_saw(walk, 1, read_numbers(walk->f, walk->third));
	owe(walk, 1, uses[2].ticket, read_numbers(walk->f, walk->third));
}

static void seed_anew(struct walk *walk, unsigned r)
{
	struct philox_generator *root =
		philox_context_generator(walk->f->context);

	(void)r;
	if (roll(walk, 8))
		return;
	walk->seed = roll(walk, 5);
	if (roll(walk, 2)) {
		struct philox_state state = {walk->seed, 4 * roll(walk, 99)};

		OK(philox_generator_set_state(root, state));
	} else {
		OK(philox_generator_seed(root, walk->seed));
	}
	walk->regions[0].offset = 0;
	walk->regions[1].offset = 0;
	block_set_clear(walk->seen);
}

static void wrong_tickets(struct walk *walk, unsigned r)
{
	struct model_region *model = &walk->regions[r];
	struct model_region *other = &walk->regions[1 - r];
	struct philox_use use = {0};
	struct philox_pass pass;

	if (other->n == 0)
		return;
	use.ticket = other->owed[0].ticket;
	FAILS(philox_backward_begin(model->region, use.ticket, walk->f->stream,
				    0, &pass),
	      PHILOX_ERROR_MISMATCH);
	FAILS(philox_graph_launch(model->back, walk->f->stream, &use, 1),
	      PHILOX_ERROR_MISMATCH);
}

/* --- the walk ------------------------------------------------------------- */

static void (*const events[])(struct walk *walk, unsigned r) = {
	any_forward,           any_forward,
	any_forward,           any_backward,
	any_backward,          any_backward,
	any_release,           aborted_forward,
	aborted_backward,      recompute_around,
	inference_and_warm_up, launch_pair,
	launch_mixed,          seed_anew,
	wrong_tickets,
};

static void prepare(struct walk *walk, struct fixture *f, uint64_t dice)
{
	const struct philox_ticket named_at_launch = {0, 0};

	*walk = (struct walk){.f = f, .dice = dice};
	walk->first = make_array(f);
	walk->second = make_array(f);
	walk->third = make_array(f);
	walk->seen = block_set_new();
	for (unsigned r = 0; r < REGIONS; r++) {
		struct model_region *model = &walk->regions[r];

		model->region =
			make_region_of(f->context, names[r], TABLE, NULL);
		model->forth = record_forward(f, model->region, 0, walk->first);
		model->back = record_backward(f, model->region, walk->first);
	}
	walk->pair = record_pair(f, walk->regions[0].region, walk->first,
				 walk->second);
	record_begin(f);
	captured_backward(f, walk->regions[1].region, named_at_launch, 0,
			  walk->first);
	captured_forward(f, walk->regions[0].region, 0, walk->second);
	captured_forward(f, walk->regions[1].region, 0, walk->third);
	walk->mixed = record_end(f);
}

static void walk_on(struct fixture *f, uint64_t dice, unsigned steps)
{
	struct walk walk;

	prepare(&walk, f, dice);
	for (unsigned i = 0; i < steps; i++) {
		unsigned r = (unsigned)roll(&walk, REGIONS);

		events[roll(&walk, sizeof(events) / sizeof(*events))](&walk, r);
		PENDING(walk.regions[0].region, walk.regions[0].n);
		PENDING(walk.regions[1].region, walk.regions[1].n);
	}
	for (unsigned r = 0; r < REGIONS; r++) {
		while (walk.regions[r].n > 0)
			backward(f, &walk.regions[r].owed[--walk.regions[r].n],
				 0);
	}
	OK(philox_check(f->context, NULL));
	block_set_free(walk.seen);
}

static void run_walk(const char *device, int own, uint64_t dice, unsigned steps)
{
	struct fixture f;

	fixture_open(&f, device);
	f.own = own;
	walk_on(&f, dice, steps);
	fixture_close(&f);
}

Test(random_walk, agrees_with_the_model_when_all_is_synchronous, .timeout = 120)
{
	run_walk("host:sync", 0, 1, 20000);
	run_walk("host:sync", 1, 2, 20000);
}

Test(random_walk, agrees_with_the_model_when_streams_have_threads,
     .timeout = 120)
{
	run_walk("host", 0, 3, 5000);
	run_walk("host", 1, 4, 5000);
}

Test(random_walk, agrees_with_the_model_in_many_short_runs, .timeout = 120)
{
	for (uint64_t dice = 100; dice < 160; dice++)
		run_walk("host:sync", dice & 1, dice, 150);
}

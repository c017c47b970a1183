/*
 * tests/runner/random.c - random programs of calls, beside the same program of
 * plain passes in another context
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/runner_bed.h"

enum {
	LAYERS = 4,
	PLACES = 3, /* of x */
	KEYS = 3,
	HELD = 24, /* tickets that are pending at most */
	KEPT = 3,  /* outputs that are not released at most */
	STEPS = 4000
};

/* A program is the numbers that this gives. */
struct chance {
	uint64_t state;
};

static unsigned below(struct chance *chance, unsigned n)
{
	chance->state =
		chance->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(chance->state >> 33) % n;
}

/* One ticket, on both sides. */
struct held {
	unsigned layer;
	struct philox_ticket ours, plain;
};

struct kept {
	unsigned layer;
	struct layer_call call;
	struct numbers saw;
	uint32_t word;
};

struct program {
	struct fixture ours, plain;
	struct philox_runner *runner;
	struct layer forth[LAYERS], back[LAYERS];
	struct philox_region *regions[LAYERS]; /* the plain ones */
	uint32_t *x[PLACES];
	uint32_t *array; /* plain */
	struct held held[HELD];
	size_t n_held;
	struct kept kept[KEPT];
	size_t n_kept;
	struct chance chance;
	uint64_t kinds[5];
};

static const char *const layer_names[LAYERS] = {"alone", "shared", "shared too",
						"last"};

static struct philox_region *make_mixed(struct fixture *f, unsigned i)
{
	const struct philox_op ops[OPS] = {
		{"first", 0, 0}, {"second", 2, 0}, {"third", 1, 4}};
	struct philox_region_options options =
		PHILOX_INIT(struct philox_region_options);
	struct philox_region *region;

	options.name = layer_names[i];
	options.ops = ops;
	options.n_ops = OPS;
	options.flags = i == 1 || i == 2 ? PHILOX_SHARED : 0;
	OK(philox_region_create(f->context, &options, &region));
	return region;
}

static struct philox_policy random_policy(struct chance *chance)
{
	return (struct philox_policy){.live = below(chance, 2),
				      .moved = below(chance, 2),
				      .limit = below(chance, 3),
				      .warmups = below(chance, 3),
				      .retry = 2};
}

/* Refuses, or breaks its capture, now and then. */
static enum philox_status now_and_then(struct layer *layer,
				       struct philox_run *run)
{
	struct program *program =
		(struct program *)(void *)layer->f; /* its first member */

	if (philox_run_kind(run) != PHILOX_CALL_RECORD)
		return PHILOX_OK;
	switch (below(&program->chance, 8)) {
	case 0:
		return philox_run_refuse(run, "by chance");
	case 1:
		return philox_stream_synchronize(layer->f->device,
						 philox_run_stream(run));
	default:
		return PHILOX_OK;
	}
}

static void make_side(struct program *p, unsigned i, int backward)
{
	struct layer *layer = backward ? &p->back[i] : &p->forth[i];
	const struct philox_input input = {.name = "x",
					   .kind = below(&p->chance, 3)};
	struct philox_function_options options;
	char name[64];

	*layer = (struct layer){.f = &p->ours,
				.region = p->forth[i].region,
				.backward = backward,
				.hook = now_and_then};
	snprintf(name, sizeof(name), "%s %s", layer_names[i],
		 backward ? "back" : "forth");
	options = layer_options(name, layer);
	options.inputs = &input;
	options.policy = random_policy(&p->chance);
	make_function_of(layer, p->runner, &options);
}

static void open_program(struct program *p, const char *device, unsigned seed)
{
	memset(p, 0, sizeof(*p));
	p->chance.state = seed;
	fixture_open(&p->ours, device);
	fixture_open(&p->plain, device);
	p->runner = make_runner_of(
		&p->ours, "runner",
		(seed % 2 ? PHILOX_POOL_EXPANDABLE : 0) |
			(seed % 4 > 1 ? PHILOX_POOL_ZONES | PHILOX_POOL_FILL
				      : 0));
	p->array = make_array(&p->plain);
	for (uint32_t i = 0; i < PLACES; i++)
		p->x[i] = make_words(&p->ours, i);
	for (unsigned i = 0; i < LAYERS; i++) {
		p->forth[i].region = make_mixed(&p->ours, i);
		p->regions[i] = make_mixed(&p->plain, i);
		make_side(p, i, 0);
		make_side(p, i, 1);
	}
}

/* --- what a program does ----------------------------------------------------------------- */

/* The call's results are those of the plain pass, and x came through. */
static void compare(struct program *p, struct layer_call *call, uint32_t word,
		    const char *what)
{
	SAME(read_numbers(&p->ours, call->outputs[0].address),
	     read_numbers(&p->plain, p->array), "%s: kind %u", what,
	     call->call.kind);
	SAME(read_numbers(&p->ours, call->outputs[1].address), all_words(word),
	     "%s: kind %u: x", what, call->call.kind);
	p->kinds[call->call.kind]++;
}

static void let_go(struct program *p, size_t i)
{
	struct kept *kept = &p->kept[i];
	struct layer *layer = &p->forth[kept->layer];

	SAME(read_numbers(&p->ours, kept->call.outputs[0].address), kept->saw,
	     "an output that was kept");
	SAME(read_numbers(&p->ours, kept->call.outputs[1].address),
	     all_words(kept->word), "an output that was kept");
	release_outputs(layer, &kept->call);
	p->kept[i] = p->kept[--p->n_kept];
}

/* The outputs are kept for a while, or released. */
static void keep_or_release(struct program *p, unsigned layer,
			    struct layer_call *call, uint32_t word)
{
	struct kept *kept = &p->kept[p->n_kept];

	if (below(&p->chance, 9)) {
		release_outputs(&p->forth[layer], call);
		return;
	}
	if (p->n_kept == KEPT) {
		let_go(p, below(&p->chance, KEPT));
		kept = &p->kept[p->n_kept];
	}
	kept->layer = layer;
	kept->call = *call;
	kept->word = word;
	kept->saw = read_numbers(&p->ours, call->outputs[0].address);
	p->n_kept++;
}

/* x is in one of some places, or an output that is kept. */
static struct layer_call random_call(struct program *p, struct layer *layer,
				     uint32_t *word)
{
	struct layer_call call =
		new_call(layer, p->x[0], below(&p->chance, KEYS));
	unsigned place = below(&p->chance, PLACES + 1);

	if (below(&p->chance, 4))
		place = 0;
	if (place < PLACES || !p->n_kept) {
		*word = place % PLACES;
		call.x.address = p->x[place % PLACES];
	} else {
		struct kept *kept =
			&p->kept[below(&p->chance, (unsigned)p->n_kept)];

		*word = kept->word;
		call.x.address = kept->call.outputs[1].address;
		call.x.output = &kept->call.outputs[1];
	}
	if (!below(&p->chance, 6))
		call.call.stream = p->ours.side;
	return call;
}

/* What reads the results is on the other stream. */
static void finish_stream(struct program *p, struct layer_call *call)
{
	if (call->call.stream != p->ours.stream)
		OK(philox_stream_synchronize(p->ours.device,
					     call->call.stream));
}

static void random_forward(struct program *p)
{
	unsigned i = below(&p->chance, LAYERS);
	struct layer_call call;
	struct philox_pass pass;
	struct held made = {.layer = i};
	uint32_t word;

	if (p->n_held == HELD)
		return;
	call = random_call(p, &p->forth[i], &word);
	OK(philox_device_synchronize(p->ours.device));
	OK(try_call(&p->forth[i], &call));
	finish_stream(p, &call);
	OK(philox_forward_begin(p->regions[i], p->plain.stream, 0, &pass));
	draw(&pass, p->array);
	OK(philox_forward_commit(&pass, &made.plain));
	made.ours = call.use.ticket;
	cr_assert_eq(made.ours.serial, made.plain.serial);
	compare(p, &call, word, layer_names[i]);
	keep_or_release(p, i, &call, word);
	p->held[p->n_held++] = made;
}

static void random_backward(struct program *p)
{
	size_t at = p->n_held ? below(&p->chance, (unsigned)p->n_held) : 0;
	unsigned retain = below(&p->chance, 3) ? 0 : PHILOX_RETAIN;
	struct held *held = &p->held[at];
	struct layer_call call;
	struct philox_pass pass;
	uint32_t word;

	if (!p->n_held)
		return;
	call = random_call(p, &p->back[held->layer], &word);
	call.use.ticket = held->ours;
	call.use.flags = retain;
	OK(philox_device_synchronize(p->ours.device));
	OK(try_call(&p->back[held->layer], &call));
	finish_stream(p, &call);
	OK(philox_backward_begin(p->regions[held->layer], held->plain,
				 p->plain.stream, retain, &pass));
	draw(&pass, p->array);
	OK(philox_backward_commit(&pass, 0));
	compare(p, &call, word, layer_names[held->layer]);
	keep_or_release(p, held->layer, &call, word);
	if (!retain)
		*held = p->held[--p->n_held];
}

static void random_release(struct program *p)
{
	size_t at = p->n_held ? below(&p->chance, (unsigned)p->n_held) : 0;
	struct held *held = &p->held[at];

	if (!p->n_held)
		return;
	OK(philox_ticket_release(p->forth[held->layer].region, held->ours,
				 p->ours.stream));
	OK(philox_ticket_release(p->regions[held->layer], held->plain,
				 p->plain.stream));
	*held = p->held[--p->n_held];
}

/* A call that is refused changes nothing. */
static void random_failure(struct program *p)
{
	unsigned i = below(&p->chance, LAYERS);
	struct layer_call call;
	uint32_t word;

	call = random_call(p, &p->back[i], &word);
	call.use.ticket =
		(struct philox_ticket){fnv1a(layer_names[i]), 1u << 30};
	FAILS(try_call(&p->back[i], &call), PHILOX_ERROR_RELEASED);
	call = random_call(p, &p->forth[i], &word);
	call.x.bytes = 12;
	call.x.output = NULL;
	if (call.call.key_size && below(&p->chance, 2)) {
		call.call.n_inputs = 0;
		FAILS(try_call(&p->forth[i], &call), PHILOX_ERROR_INVALID);
	}
}

static void reseed(struct program *p)
{
	uint64_t seed = below(&p->chance, 1u << 30);

	OK(philox_generator_seed(philox_context_generator(p->ours.context),
				 seed));
	OK(philox_generator_seed(philox_context_generator(p->plain.context),
				 seed));
}

static void random_step(struct program *p)
{
	switch (below(&p->chance, 40)) {
	case 0:
		reseed(p);
		break;
	case 1:
	case 2:
		random_release(p);
		break;
	case 3:
	case 4:
		random_failure(p);
		break;
	case 5:
	case 6:
	case 7:
		if (p->n_kept)
			let_go(p, below(&p->chance, (unsigned)p->n_kept));
		break;
	default:
		if (below(&p->chance, 2))
			random_forward(p);
		else
			random_backward(p);
	}
}

static void run_program(const char *device, unsigned seed)
{
	struct program *p = malloc(sizeof(*p));

	open_program(p, device, seed);
	for (unsigned i = 0; i < STEPS; i++)
		random_step(p);
	for (unsigned i = 0; i < LAYERS; i++)
		cr_assert_eq(pending(p->forth[i].region),
			     pending(p->regions[i]));
	cr_assert_gt(p->kinds[PHILOX_CALL_EAGER], 20);
	cr_assert_gt(p->kinds[PHILOX_CALL_WARMUP], 5);
	cr_assert_gt(p->kinds[PHILOX_CALL_RECORD], 20);
	cr_assert_gt(p->kinds[PHILOX_CALL_REPLAY], 500,
		     "%u replays of program %u",
		     (unsigned)p->kinds[PHILOX_CALL_REPLAY], seed);
	cr_assert_gt(p->kinds[PHILOX_CALL_EAGER] +
			     p->kinds[PHILOX_CALL_RECORD] +
			     p->kinds[PHILOX_CALL_REPLAY],
		     2600, "eight programs are 20,000 calls");
	OK(philox_pool_check(philox_runner_pool(p->runner), p->ours.stream));
	while (p->n_kept)
		let_go(p, 0);
	fixture_close(&p->ours);
	fixture_close(&p->plain);
	free(p);
}

Test(runner_random, programs_draw_what_plain_passes_draw_on_host_sync,
     .timeout = 300)
{
	for (unsigned seed = 1; seed <= 4; seed++)
		run_program(named_device() ? named_device() : "host:sync",
			    seed);
}

Test(runner_random, programs_draw_what_plain_passes_draw_on_host,
     .timeout = 300)
{
	for (unsigned seed = 5; seed <= 8; seed++)
		run_program(named_device() ? named_device() : "host", seed);
}

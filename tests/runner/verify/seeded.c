/*
 * tests/runner/verify/seeded.c - a fault in a random body
 *
 * The body of a function is a random recipe (tests/support/programs/recipe.h),
 * and what is captured of it has one fault. Two plain contexts follow the body
 * and what was captured: where the bytes that a verification compares differ,
 * the first verified replay must find it; where they do not, none may.
 *
 * PHILOX_RUNNER_SEEDED=n plays so many programs of each fault,
 * PHILOX_RUNNER_SEED=n that of one seed alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/beds/runner.h"
#include "tests/support/programs/recipe.h"

enum { PROGRAMS = 240, REPLAYS = 3 };

enum seeded {
	SEEDED_VALUE,     /* a value as it was when it was recorded */
	SEEDED_INPUT,     /* an input that is read elsewhere */
	SEEDED_TICKET,    /* numbers of another forward */
	SEEDED_MISSED,    /* an operation that was not captured */
	SEEDED_UNWRITTEN, /* memory is not written before it is read */
	SEEDED_RANDOM,    /* the body does something else each time */
	SEEDED_NOTHING,
	SEEDED
};

static const char *const classes[SEEDED] = {
	[SEEDED_VALUE] = "frozen",
	[SEEDED_INPUT] = "frozen",
	[SEEDED_TICKET] = "frozen",
	[SEEDED_MISSED] = "frozen",
	[SEEDED_UNWRITTEN] = "was not written",
	[SEEDED_RANDOM] = "not deterministic"};

/* A recipe, as it is followed in a context that has no runner. */
struct follower {
	struct fixture f;
	struct philox_region *regions[2];
	struct recipe recipe;
	struct numbers literal;
	struct recipe_plain plain;
};

struct program {
	uint64_t seed;
	enum seeded fault;
	uint32_t verify; /* of the policy */
	struct chance chance;
	struct recipe_shape shape;
	struct recipe body, captured;
	struct follower good, bad;
	struct fixture f;
	struct philox_runner *runner;
	struct philox_region *regions[2];
	struct philox_function *function;
	struct recipe_run run;
	uint32_t *literal;
	uint32_t *places[RECIPE_INPUTS];
	struct numbers content[RECIPE_INPUTS];
	unsigned char bytes[RECIPE_VALUES][PHILOX_PARAM_BYTES];
	struct philox_call_param values[RECIPE_VALUES];
	/* the last call */
	struct philox_call call;
	struct philox_call_input inputs[RECIPE_INPUTS];
	struct philox_launch_pass uses[RECIPE_PASSES];
	struct philox_output outputs[RECIPE_OUTPUTS];
};

static struct program program; /* large */

#define HOLDS(p, holds, ...)                                                  \
	do {                                                                  \
		char text_[1024];                                             \
                                                                              \
		snprintf(text_, sizeof(text_), __VA_ARGS__);                  \
		cr_assert(holds,                                              \
			  "PHILOX_RUNNER_SEED=%" PRIu64 ", fault %d: %s: %s", \
			  (p)->seed, (int)(p)->fault, #holds, text_);         \
	} while (0)

/* --- seeding -------------------------------------------------------------- */

static void remove_op(struct recipe *recipe, unsigned at)
{
	recipe->n_ops--;
	memmove(&recipe->ops[at], &recipe->ops[at + 1],
		(recipe->n_ops - at) * sizeof(recipe->ops[0]));
}

static void make_literal(struct recipe *recipe, unsigned at)
{
	struct recipe_op *op = &recipe->ops[at];

	op->words = op->kind == RECIPE_VALUE  ? PHILOX_PARAM_BYTES / 4
		    : op->kind == RECIPE_COPY ? op->words
					      : WORDS;
	op->from_word = op->kind == RECIPE_COPY ? op->from_word : 0;
	op->kind = RECIPE_LITERAL;
}

/* A value is asked for as it was, since that is compared, and then replaced. */
static void cover_value(struct recipe *recipe, unsigned at)
{
	cr_assert_lt(recipe->n_ops, RECIPE_OPS);
	memmove(&recipe->ops[at + 1], &recipe->ops[at],
		(recipe->n_ops++ - at) * sizeof(recipe->ops[0]));
	make_literal(recipe, at + 1);
}

/* Whether all of a register was written between its allocation and `at`. */
static int is_written(const struct recipe *recipe, unsigned to, unsigned at)
{
	int written = to < RECIPE_INPUTS;

	for (unsigned i = 0; i < at; i++) {
		const struct recipe_op *op = &recipe->ops[i];

		if (op->to != to)
			continue;
		if (op->kind == RECIPE_ALLOC)
			written = 0;
		if (op->kind == RECIPE_SET || op->kind == RECIPE_DRAW ||
		    (op->kind == RECIPE_COPY && op->words == WORDS))
			written = 1;
	}
	return written;
}

static int is_repeated(const struct recipe *recipe, unsigned pass)
{
	for (unsigned i = 0; i < recipe->n_passes; i++)
		if (recipe->passes[i].source == (int)pass)
			return 1;
	return 0;
}

static int is_candidate(const struct program *p, unsigned at)
{
	const struct recipe_op *op = &p->body.ops[at];
	const int fills = op->kind == RECIPE_SET || op->kind == RECIPE_DRAW ||
			  (op->kind == RECIPE_COPY && op->words == WORDS);

	switch (p->fault) {
	case SEEDED_VALUE:
		return op->kind == RECIPE_VALUE;
	case SEEDED_INPUT:
		return op->kind == RECIPE_COPY && op->from < RECIPE_INPUTS;
	case SEEDED_TICKET:
		/* its followers find what a backward repeats in it */
		return op->kind == RECIPE_DRAW &&
		       !is_repeated(&p->body, op->from);
	case SEEDED_MISSED:
		return op->kind == RECIPE_COPY &&
		       is_written(&p->body, op->to, at);
	case SEEDED_UNWRITTEN:
		return fills && op->to >= RECIPE_INPUTS &&
		       !is_written(&p->body, op->to, at);
	case SEEDED_RANDOM:
		return op->kind == RECIPE_SET;
	default:
		return 0;
	}
}

/* Returns 0 if the body has no place for the fault. */
static int seed_fault(struct program *p)
{
	const unsigned from = pick(&p->chance, p->body.n_ops);
	unsigned at = 0, i;

	p->good.recipe = p->bad.recipe = p->captured = p->body;
	if (p->fault == SEEDED_NOTHING)
		return 1;
	for (i = 0; i < p->body.n_ops; i++) {
		at = (from + i) % p->body.n_ops;
		if (is_candidate(p, at))
			break;
	}
	if (i == p->body.n_ops)
		return 0;
	switch (p->fault) {
	case SEEDED_VALUE:
		cover_value(&p->captured, at);
		cover_value(&p->bad.recipe, at);
		return 1;
	case SEEDED_MISSED:
		remove_op(&p->captured, at);
		remove_op(&p->bad.recipe, at);
		return 1;
	case SEEDED_UNWRITTEN:
		make_literal(&p->good.recipe, at);
		make_literal(&p->bad.recipe, at);
		remove_op(&p->body, at);
		remove_op(&p->captured, at);
		return 1;
	case SEEDED_RANDOM:
		make_literal(&p->good.recipe, at);
		make_literal(&p->bad.recipe, at);
		p->body.ops[at].kind = RECIPE_RUNS;
		p->captured.ops[at].kind = RECIPE_RUNS;
		return 1;
	default:
		make_literal(&p->captured, at);
		make_literal(&p->bad.recipe, at);
		return 1;
	}
}

static void set_literals(struct program *p)
{
	for (unsigned i = 0; i < WORDS; i++)
		p->bad.literal.word[i] = 0x5eed0000 + i;
	/* values have as many bytes as they have, and zeros */
	if (p->fault == SEEDED_VALUE)
		memset(&p->bad.literal, 0x5e, sizeof(p->bad.literal));
	memset(&p->good.literal, 0x11, sizeof(p->good.literal));
	OK(philox_memory_copy(p->f.device, p->f.stream, p->literal,
			      &p->bad.literal, RECIPE_BYTES));
	OK(philox_stream_synchronize(p->f.device, p->f.stream));
}

/* --- making --------------------------------------------------------------- */

static void make_regions(struct fixture *f, struct philox_region *regions[2])
{
	regions[0] = make_region(f, "one");
	regions[1] = make_region(f, "two");
}

static void open_follower(struct program *p, struct follower *follower)
{
	fixture_open(&follower->f, "host:sync");
	make_regions(&follower->f, follower->regions);
	follower->plain = (struct recipe_plain){
		.f = &follower->f,
		.array = make_array(&follower->f),
		.regions = {follower->regions[0], follower->regions[1]},
		.shape = &p->shape,
		.recipe = &follower->recipe,
		.values = p->values,
		.literal = &follower->literal};
}

static void make_program_function(struct program *p)
{
	static const struct philox_output_desc outputs[RECIPE_OUTPUTS] = {
		{.name = "y"}, {.name = "z"}, {.name = "w"}};
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	p->run = (struct recipe_run){.device = p->f.device,
				     .shape = &p->shape,
				     .recipe = &p->body,
				     .recorded = &p->captured,
				     .literal = p->literal,
				     .regions = {p->regions[0], p->regions[1]}};
	options.name = "function";
	options.body = recipe_body;
	options.user = &p->run;
	options.inputs = p->shape.inputs;
	options.n_inputs = p->shape.n_inputs;
	options.outputs = outputs;
	options.n_outputs = p->shape.n_outputs;
	options.params = p->shape.values;
	options.n_params = p->shape.n_values;
	options.policy.verify = p->verify;
	OK(philox_function_create(p->runner, &options, &p->function));
}

static void open_program(struct program *p, const char *device)
{
	fixture_open(&p->f, device);
	p->runner = make_runner_of(&p->f, "runner",
				   pick(&p->chance, 2) ? PHILOX_POOL_FILL : 0);
	make_regions(&p->f, p->regions);
	p->literal = make_array(&p->f);
	for (unsigned i = 0; i < p->shape.n_inputs; i++)
		p->places[i] = make_memory(&p->f, 4096);
	for (unsigned i = 0; i < p->shape.n_values; i++)
		p->values[i] = (struct philox_call_param){
			p->bytes[i], p->shape.values[i].bytes};
	open_follower(p, &p->good);
	open_follower(p, &p->bad);
	set_literals(p);
	make_program_function(p);
}

static void close_program(struct program *p)
{
	fixture_close(&p->f);
	fixture_close(&p->good.f);
	fixture_close(&p->bad.f);
}

/* --- calls ---------------------------------------------------------------- */

static void choose_content(struct program *p)
{
	for (unsigned i = 0; i < p->shape.n_values; i++)
		for (unsigned k = 0; k < p->shape.values[i].bytes; k++)
			p->bytes[i][k] = (unsigned char)pick(&p->chance, 256);
	for (unsigned i = 0; i < p->shape.n_inputs; i++) {
		for (unsigned k = 0; k < WORDS; k++)
			p->content[i].word[k] = pick(&p->chance, 1u << 30);
		OK(philox_memory_copy(p->f.device, p->f.stream, p->places[i],
				      &p->content[i], RECIPE_BYTES));
		p->inputs[i] = (struct philox_call_input){
			.address = p->places[i], .bytes = RECIPE_BYTES};
	}
	OK(philox_stream_synchronize(p->f.device, p->f.stream));
}

/* Tickets for backwards: of the same forward in all contexts. */
static void choose_uses(struct program *p)
{
	for (unsigned i = 0; i < p->body.n_entries; i++) {
		const struct recipe_pass *pass = recipe_entry(&p->body, i);
		const uint32_t flags =
			pick(&p->chance, 2) ? PHILOX_PASS_RETAIN : 0;
		const unsigned at = pass->region;

		p->uses[i] = (struct philox_launch_pass){{0, 0}, 0, 0};
		p->good.plain.uses[i] = p->bad.plain.uses[i] = p->uses[i];
		if (!pass->backward)
			continue;
		p->uses[i] = (struct philox_launch_pass){
			forward(&p->f, p->regions[at]).ticket, flags, 0};
		p->good.plain.uses[i] = (struct philox_launch_pass){
			forward(&p->good.f, p->good.regions[at]).ticket, flags,
			0};
		p->bad.plain.uses[i] = (struct philox_launch_pass){
			forward(&p->bad.f, p->bad.regions[at]).ticket, flags,
			0};
	}
}

static void follow(struct program *p, struct follower *follower, int launched)
{
	follower->plain.launched = launched;
	for (unsigned i = 0; i < p->shape.n_inputs; i++)
		follower->plain.registers[i] = p->content[i];
	OK(recipe_plainly(&follower->plain));
}

static const uint32_t *output_of(const struct program *p,
				 const struct follower *follower, unsigned i)
{
	return &follower->plain.registers[p->body.outputs[i].from]
			.word[p->body.outputs[i].word];
}

static size_t bytes_of(const struct program *p, unsigned i)
{
	return RECIPE_BYTES - 4 * p->body.outputs[i].word;
}

/* What the message must name: the first that differs; NULL: nothing does. */
static const char *that_differs(const struct program *p)
{
	static const char *const outputs[] = {"output 'y'", "output 'z'",
					      "output 'w'"};
	static const char *const inputs[] = {"input 'x'", "input 'weight'",
					     "input 'bias'"};

	for (unsigned i = 0; i < p->shape.n_outputs; i++)
		if (memcmp(output_of(p, &p->good, i), output_of(p, &p->bad, i),
			   bytes_of(p, i)))
			return outputs[i];
	for (unsigned i = 0; i < p->shape.n_inputs; i++)
		if (recipe_writes(&p->shape, i) &&
		    memcmp(&p->good.plain.registers[i],
			   &p->bad.plain.registers[i], RECIPE_BYTES))
			return inputs[i];
	return NULL;
}

static enum philox_status make_program_call(struct program *p)
{
	const uint32_t key = 1;

	p->call = PHILOX_INIT(struct philox_call);
	p->call.stream = p->f.stream;
	p->call.key = &key;
	p->call.key_bytes = sizeof(key);
	p->call.inputs = p->inputs;
	p->call.n_inputs = p->shape.n_inputs;
	p->call.params = p->values;
	p->call.n_params = p->shape.n_values;
	p->call.passes = p->uses;
	p->call.n_passes = p->body.n_entries;
	p->call.outputs = p->outputs;
	p->call.n_outputs = p->shape.n_outputs;
	return philox_function_call(p->function, &p->call);
}

/* What a call that succeeded gave is what the follower says, if it is known. */
static void is_right(struct program *p, const struct follower *follower)
{
	for (unsigned i = 0; i < p->shape.n_outputs; i++) {
		struct numbers room;

		OK(philox_memory_copy(p->f.device, p->f.stream, &room,
				      p->outputs[i].address, bytes_of(p, i)));
		OK(philox_stream_synchronize(p->f.device, p->f.stream));
		HOLDS(p,
		      !memcmp(&room, output_of(p, follower, i), bytes_of(p, i)),
		      "output %u", i);
	}
	for (unsigned i = 0; i < p->shape.n_inputs; i++)
		HOLDS(p,
		      !memcmp(read_numbers(&p->f, p->places[i]).word,
			      &follower->plain.registers[i], RECIPE_BYTES),
		      "input %u", i);
}

static void release_program(struct program *p)
{
	for (unsigned i = 0; i < p->shape.n_outputs; i++)
		OK(philox_output_release(p->runner, p->f.stream,
					 &p->outputs[i]));
}

/* A warm-up and a recording. */
static void learn(struct program *p)
{
	for (uint32_t kind = PHILOX_CALL_WARMUP; kind <= PHILOX_CALL_RECORD;
	     kind++) {
		choose_content(p);
		choose_uses(p);
		OK(make_program_call(p));
		HOLDS(p, p->call.kind == kind, "%u", p->call.kind);
		release_program(p);
		follow(p, &p->good, kind == PHILOX_CALL_RECORD);
		follow(p, &p->bad, kind == PHILOX_CALL_RECORD);
	}
}

static void is_found(struct program *p, const char *what)
{
	const char *said = philox_error_message();

	HOLDS(p, strstr(said, classes[p->fault]), "%s", said);
	HOLDS(p, strstr(said, "'function'"), "%s", said);
	HOLDS(p, strstr(said, what), "not %s: %s", what, said);
}

static void put_back(struct program *p)
{
	for (unsigned i = 0; i < p->shape.n_inputs; i++)
		HOLDS(p,
		      !memcmp(read_numbers(&p->f, p->places[i]).word,
			      &p->content[i], RECIPE_BYTES),
		      "input %u is not put back", i);
}

/* Unverified: what was captured does what its follower says. */
static void replay_blindly(struct program *p)
{
	choose_content(p);
	choose_uses(p);
	follow(p, &p->bad, 1);
	OK(make_program_call(p));
	HOLDS(p, p->call.kind == PHILOX_CALL_REPLAY, "%u", p->call.kind);
	is_right(p, &p->bad);
	release_program(p);
}

/* Returns whether the fault was found. */
static int replay(struct program *p)
{
	struct philox_function_stats counts =
		PHILOX_INIT(struct philox_function_stats);
	enum philox_status status;
	const char *what;

	choose_content(p);
	choose_uses(p);
	follow(p, &p->good, 1);
	follow(p, &p->bad, 1);
	what = that_differs(p);
	status = make_program_call(p);
	OK(philox_function_get_stats(p->function, &counts));
	HOLDS(p, counts.unverified == 0, "unverified");
	if (what) {
		HOLDS(p, status == PHILOX_ERROR_DIFFERS, "%s not found: %s",
		      what, philox_status_name(status));
		HOLDS(p, counts.differed == 1, "differed");
		is_found(p, what);
		put_back(p);
		return 1;
	}
	HOLDS(p, status == PHILOX_OK, "%s: %s", philox_status_name(status),
	      philox_error_message());
	HOLDS(p, p->call.kind == PHILOX_CALL_REPLAY, "%u", p->call.kind);
	HOLDS(p, counts.differed == 0, "differed");
	if (p->fault != SEEDED_UNWRITTEN && p->fault != SEEDED_RANDOM)
		is_right(p, &p->good);
	release_program(p);
	return 0;
}

/* Returns whether the fault had an effect; *could: whether there was one. */
static int play_program(enum seeded fault, uint64_t seed, const char *device,
			uint32_t verify, int *could)
{
	struct program *p = &program;
	int found = 0;

	memset(p, 0, sizeof(*p));
	p->seed = seed;
	p->fault = fault;
	p->verify = verify;
	p->chance = chance_of(seed, 77 + fault);
	recipe_shape_make(&p->chance, &p->shape);
	recipe_make(&p->chance, &p->shape,
		    (enum recipe_pattern)pick(&p->chance, PATTERNS), &p->body);
	*could = seed_fault(p);
	if (!*could)
		return 0;
	open_program(p, device);
	learn(p);
	for (unsigned i = 0; i < REPLAYS && !found; i++)
		if (verify)
			found = replay(p);
		else
			replay_blindly(p);
	close_program(p);
	return found;
}

static void play_fault(enum seeded fault)
{
	static const char *const devices[] = {"host:sync", "host:strict"};
	const char *alone = getenv("PHILOX_RUNNER_SEED");
	const char *many = getenv("PHILOX_RUNNER_SEEDED");
	const unsigned n = many ? (unsigned)strtoul(many, NULL, 0) : PROGRAMS;
	unsigned found = 0, seeded = 0;

	for (unsigned i = 0; i < (alone ? 1 : n); i++) {
		const char *device =
			named_device() ? named_device() : devices[i % 2];
		int could;

		found += (unsigned)play_program(
			fault, alone ? strtoull(alone, NULL, 0) : i, device, 1,
			&could);
		seeded += (unsigned)could;
	}
	fprintf(stderr, "fault %d: %u found, %u without effect\n", (int)fault,
		found, seeded - found);
	if (alone)
		return;
	if (fault == SEEDED_NOTHING)
		cr_assert_eq(found, 0);
	else
		cr_assert_geq(found, n / 8, "%u of %u", found, n);
}

Test(runner_verify_seeded, values_that_are_baked_in, .timeout = 600)
{
	play_fault(SEEDED_VALUE);
}

Test(runner_verify_seeded, inputs_that_are_read_elsewhere, .timeout = 600)
{
	play_fault(SEEDED_INPUT);
}

Test(runner_verify_seeded, numbers_of_another_forward, .timeout = 600)
{
	play_fault(SEEDED_TICKET);
}

Test(runner_verify_seeded, operations_that_are_not_captured, .timeout = 600)
{
	play_fault(SEEDED_MISSED);
}

Test(runner_verify_seeded, memory_that_nobody_wrote, .timeout = 600)
{
	play_fault(SEEDED_UNWRITTEN);
}

Test(runner_verify_seeded, bodies_that_are_not_deterministic, .timeout = 600)
{
	play_fault(SEEDED_RANDOM);
}

Test(runner_verify_seeded, no_fault_at_all, .timeout = 600)
{
	play_fault(SEEDED_NOTHING);
}

/* The followers are right: else the tests above say nothing. */
Test(runner_verify_seeded, are_what_replays_do_without, .timeout = 600)
{
	int could;

	for (int fault = 0; fault <= SEEDED_NOTHING; fault++)
		for (uint64_t seed = 0; seed < PROGRAMS / 2; seed++)
			if (fault != SEEDED_UNWRITTEN && fault != SEEDED_RANDOM)
				play_program((enum seeded)fault, seed,
					     named_device() ? named_device()
							    : "host:sync",
					     0, &could);
}

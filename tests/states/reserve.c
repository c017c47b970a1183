/*
 * tests/states/reserve.c - many regions reserve in one call what they would one
 * by one, all of them or none
 *
 * The oracles are forwards one by one in a context of their own, whose text is
 * then the same, and states that are predicted from names, seeds and offsets.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/support.h"

static const struct {
	uint32_t op, call;
} sites[SITES] = {{0, 0}, {1, 0}, {1, 1}, {2, 0}};

static enum philox_status reserve(struct fixture *f,
				  struct philox_region *const *regions,
				  size_t n, uint32_t flags,
				  struct philox_state *states,
				  struct philox_ticket *tickets)
{
	const struct philox_reserve_desc desc = {.size = sizeof(desc),
						 .regions = regions,
						 .n_regions = n,
						 .states = states,
						 .n_states =
							 states ? n * SITES : 0,
						 .tickets = tickets,
						 .flags = flags};

	return philox_context_reserve(f->context, f->stream, &desc);
}

/* The states of a forward at an offset, by its name alone. */
static void are_states_of(const struct philox_state states[SITES],
			  uint64_t seed, const char *name, uint64_t offset)
{
	for (int i = 0; i < SITES; i++) {
		struct philox_state expected = predict_cell(
			seed, name, sites[i].op, sites[i].call, offset);

		cr_assert(states[i].seed == expected.seed &&
				  states[i].offset == expected.offset,
			  "site %d of '%s' at %d", i, name, (int)offset);
	}
}

static char *text_of(struct philox_context *context)
{
	char *text;

	OK(philox_context_save_text(context, &text, NULL));
	return text;
}

/* --- the log -------------------------------------------------------------- */

static void count_warnings(void *user, const struct philox_log_entry *entry)
{
	*(unsigned *)user += !strcmp(entry->event, "offset set back");
}

/* The warning of a first draw is for one that is made. */
PROMISE(reserve, what_is_refused_warns_of_nothing)
{
	struct philox_generator *generator;
	struct philox_region *regions[2] = {NULL};
	struct philox_ticket tickets[2];
	unsigned warnings = 0;

	OK(philox_generator_create(f->context, 7, &generator));
	regions[0] = make_region_of(f->context, "layer", 0, generator);
	OK(philox_context_set_log(f->context, count_warnings, &warnings));
	OK(philox_generator_set_state(generator,
				      (struct philox_state){7, 400}));
	OK(philox_generator_set_state(generator, (struct philox_state){7, 0}));
	FAILS(reserve(f, regions, 2, 0, NULL, tickets), PHILOX_ERROR_INVALID);
	cr_assert_eq(warnings, 0);
	OK(reserve(f, regions, 1, 0, NULL, tickets));
	cr_assert_eq(warnings, 1);
	OK(philox_context_set_log(f->context, NULL, NULL));
}

/* --- what is written ------------------------------------------------------ */

PROMISE(reserve, states_of_regions_in_the_order_of_the_array)
{
	struct philox_region *a = make_region(f, "a"), *b = make_region(f, "b");
	struct philox_region *const regions[] = {b, a, a, b, a};
	static const uint64_t offsets[] = {0, 0, 4, 4, 8};
	struct philox_state states[5 * SITES];

	OK(philox_generator_seed(philox_context_generator(f->context), 9));
	OK(reserve(f, regions, 5, PHILOX_PASS_INFERENCE, states, NULL));
	for (int i = 0; i < 5; i++)
		are_states_of(states + (size_t)i * SITES, 9,
			      regions[i] == a ? "a" : "b", offsets[i]);
	SAME(forward_numbers(f, a, PHILOX_PASS_INFERENCE), predict(9, "a", 12),
	     "the next of a");
	SAME(forward_numbers(f, b, PHILOX_PASS_INFERENCE), predict(9, "b", 8),
	     "the next of b");
	PENDING(a, 0);
}

PROMISE(reserve, tickets_whose_backwards_see_the_states)
{
	struct philox_region *a = make_region(f, "a"), *b = make_region(f, "b");
	struct philox_region *const regions[] = {a, b, a};
	struct philox_state states[3 * SITES];
	struct philox_ticket tickets[3];

	OK(reserve(f, regions, 3, 0, states, tickets));
	PENDING(a, 2);
	PENDING(b, 1);
	for (int i = 2; i >= 0; i--) {
		cr_assert_eq(tickets[i].region_key, fnv1a(i == 1 ? "b" : "a"));
		cr_assert_eq(tickets[i].serial, i == 2 ? 2 : 1);
		are_states_of(states + (size_t)i * SITES, 0, i == 1 ? "b" : "a",
			      i == 2 ? 4 : 0);
		SAME(backward_numbers(f, regions[i], tickets[i], 0),
		     predict(0, i == 1 ? "b" : "a", i == 2 ? 4 : 0), "of %d",
		     i);
	}
	PENDING(a, 0);
	PENDING(b, 0);
}

PROMISE(reserve, tickets_alone_if_states_are_not_wanted)
{
	struct philox_region *a = make_region(f, "a");
	struct philox_ticket tickets[2];

	OK(reserve(f, (struct philox_region *[]){a, a}, 2, 0, NULL, tickets));
	SAME(backward_numbers(f, a, tickets[1], 0), predict(0, "a", 4), "");
	SAME(backward_numbers(f, a, tickets[0], 0), predict(0, "a", 0), "");
}

PROMISE(reserve, warm_ups_draw_what_the_next_will_draw)
{
	struct philox_region *a = make_region(f, "a");
	struct philox_state states[2 * SITES];
	struct philox_ticket tickets[2] = {{1, 1}, {1, 1}};
	char *before = text_of(f->context), *after;

	OK(reserve(f, (struct philox_region *[]){a, a}, 2, PHILOX_PASS_WARMUP,
		   states, tickets));
	after = text_of(f->context);
	cr_assert_str_eq(before, after);
	are_states_of(states, 0, "a", 0);
	are_states_of(states + SITES, 0, "a", 0);
	for (int i = 0; i < 2; i++)
		cr_assert(!tickets[i].region_key && !tickets[i].serial);
	free(before);
	free(after);
}

PROMISE(reserve, as_many_iterations_as_each_forward_has)
{
	struct philox_region *a = make_region(f, "a"), *b = make_region(f, "b");
	struct philox_region *const regions[] = {a, b, a};
	static const uint32_t limits[] = {3, 1, 2};
	struct philox_state states[3 * SITES];
	const struct philox_reserve_desc desc = {.size = sizeof(desc),
						 .regions = regions,
						 .limits = limits,
						 .n_regions = 3,
						 .states = states,
						 .n_states = 3 * SITES,
						 .flags =
							 PHILOX_PASS_INFERENCE};

	OK(philox_context_reserve(f->context, f->stream, &desc));
	are_states_of(states, 0, "a", 0);
	are_states_of(states + SITES, 0, "b", 0);
	are_states_of(states + 2 * SITES, 0, "a", 12);
	SAME(peek(f, a), predict(0, "a", 20), "a");
	SAME(peek(f, b), predict(0, "b", 4), "b");
}

PROMISE(reserve, of_no_regions_does_nothing)
{
	char *before = text_of(f->context), *after;

	OK(reserve(f, NULL, 0, PHILOX_PASS_INFERENCE, NULL, NULL));
	OK(reserve(f, NULL, 0, 0, NULL, NULL));
	after = text_of(f->context);
	cr_assert_str_eq(before, after);
	free(before);
	free(after);
}

PROMISE(reserve, asks_the_device_once)
{
	struct philox_region *regions[64];
	struct philox_state states[64 * SITES];
	uint64_t before;

	for (int i = 0; i < 64; i++)
		regions[i] = i ? regions[0] : make_region(f, "a");
	before = philox_device_call_count(f->device, NULL);
	OK(reserve(f, regions, 64, PHILOX_PASS_INFERENCE, states, NULL));
	cr_assert_eq(philox_device_call_count(f->device, NULL), before + 1);
}

/* --- the same as one by one ----------------------------------------------- */

enum {
	REGIONS = 5,
	CALLS = 8, /* regions in a call, at most */
	ROUNDS = 300
};

/* A context with some regions of each kind; two of them are the same. */
struct twin {
	struct philox_context *context;
	struct philox_region *regions[REGIONS];
};

static const uint32_t room[REGIONS] = {3, 7, 64, 5, 9}; /* pending */

static void make_twin(struct fixture *f, struct twin *twin)
{
	struct philox_op_desc ops[OPS] = {
		{.name = "first", .advance = 8},
		{.name = "twice", .calls = 2},
		{.name = "wide", .calls = 3, .advance = 40}};
	struct philox_generator *other;
	char name[16];

	OK(philox_context_create(f->device, &twin->context));
	OK(philox_generator_create(twin->context, 77, &other));
	for (uint32_t i = 0; i < REGIONS; i++) {
		const struct philox_region_desc options = {
			.size = sizeof(options),
			.name = name,
			.ops = ops,
			.n_ops = 1 + i % OPS,
			.pending = room[i],
			.generator = i % 2 ? other : NULL,
			.flags = i < 2 ? 0 : PHILOX_REGION_SHARED};

		snprintf(name, sizeof(name), "region %u", (unsigned)i);
		OK(philox_region_create(twin->context, &options,
					&twin->regions[i]));
	}
}

/* A call, in numbers of regions. */
struct batch {
	uint32_t n, flags;
	uint32_t regions[CALLS], limits[CALLS];
};

static uint32_t word(uint64_t round, uint32_t i)
{
	return philox_block(0xb47c, round, i / 4).w[i % 4];
}

static struct batch make_batch(uint64_t round)
{
	static const uint32_t flags[] = {0, PHILOX_PASS_INFERENCE, 0,
					 PHILOX_PASS_WARMUP};
	struct batch batch = {.n = word(round, 0) % (CALLS + 1),
			      .flags = flags[word(round, 1) % 4]};

	for (uint32_t i = 0; i < CALLS; i++) {
		batch.regions[i] = word(round, 4 + i) % REGIONS;
		batch.limits[i] = 1 + word(round, 40 + i) % 3;
	}
	return batch;
}

/* What was written: cells of a region are 6 at most. */
struct outcome {
	struct philox_state states[CALLS * 6];
	struct philox_ticket tickets[CALLS];
	size_t n_states;
};

static enum philox_status all_at_once(struct fixture *f,
				      const struct twin *twin,
				      const struct batch *batch,
				      struct outcome *to)
{
	struct philox_region *regions[CALLS];
	const struct philox_reserve_desc desc = {.size = sizeof(desc),
						 .regions = regions,
						 .limits = batch->limits,
						 .n_regions = batch->n,
						 .states = to->states,
						 .n_states = to->n_states,
						 .tickets = to->tickets,
						 .flags = batch->flags};

	for (uint32_t i = 0; i < batch->n; i++)
		regions[i] = twin->regions[batch->regions[i]];
	return philox_context_reserve(twin->context, f->stream, &desc);
}

static void one_by_one(struct fixture *f, const struct twin *twin,
		       const struct batch *batch, struct outcome *to)
{
	to->n_states = 0;
	for (uint32_t i = 0; i < batch->n; i++) {
		struct philox_region *region = twin->regions[batch->regions[i]];
		struct philox_pass pass;
		struct philox_rng rng;

		OK(philox_forward_begin_loop(region, f->stream, batch->flags,
					     batch->limits[i], &pass));
		for (uint32_t op = 0; op < OPS; op++)
			for (uint32_t call = 0;
			     philox_region_cell_index(region, op, call) !=
			     SIZE_MAX;
			     call++) {
				OK(philox_pass_rng(&pass, op, call, &rng));
				to->states[to->n_states++] = rng.state;
			}
		OK(philox_pass_commit(&pass, 0, &to->tickets[i]));
	}
}

/* Whether some region has not room for as many tickets as the call makes. */
static int is_too_much(const struct batch *batch, const uint32_t *pending)
{
	uint32_t more[REGIONS] = {0};
	int full = 0;

	for (uint32_t i = 0; i < batch->n && !batch->flags; i++) {
		uint32_t r = batch->regions[i];

		full |= pending[r] + ++more[r] > room[r];
	}
	return full;
}

/* Nothing has changed, and nothing was written. */
static void refuse_round(struct fixture *f, const struct twin *twin,
			 const struct batch *batch)
{
	struct outcome got, is;
	char *before = text_of(twin->context), *after;

	memset(&got, 0xee, sizeof(got));
	got.n_states = 0;
	for (uint32_t i = 0; i < batch->n; i++)
		got.n_states += philox_region_cell_count(
			twin->regions[batch->regions[i]]);
	is = got;
	FAILS(all_at_once(f, twin, batch, &got), PHILOX_ERROR_LIMIT);
	NAMES("reserve: regions[");
	after = text_of(twin->context);
	cr_assert_str_eq(before, after);
	cr_assert(!memcmp(&got, &is, sizeof(got)));
	free(before);
	free(after);
}

static void make_round(struct fixture *f, const struct twin twins[2],
		       const struct batch *batch, uint32_t *pending)
{
	struct outcome got = {0}, expected = {0};
	char *texts[2];

	one_by_one(f, &twins[1], batch, &expected);
	got.n_states = expected.n_states;
	OK(all_at_once(f, &twins[0], batch, &got));
	cr_assert(!memcmp(&got, &expected, sizeof(got)));
	for (int i = 0; i < 2; i++)
		texts[i] = text_of(twins[i].context);
	cr_assert_str_eq(texts[0], texts[1]);
	free(texts[0]);
	free(texts[1]);
	for (uint32_t i = 0; i < batch->n && !batch->flags; i++)
		pending[batch->regions[i]]++;
}

/* Makes room again in both. */
static void release_all(struct fixture *f, const struct twin twins[2],
			uint32_t region, uint32_t *pending)
{
	struct philox_ticket tickets[64];
	size_t n;

	for (int t = 0; t < 2; t++) {
		OK(philox_region_tickets(twins[t].regions[region], tickets, 64,
					 &n));
		cr_assert_eq(n, pending[region]);
		for (size_t i = 0; i < n; i++)
			OK(philox_ticket_release(twins[t].regions[region],
						 f->stream, tickets[i]));
	}
	pending[region] = 0;
}

/* The lines of a journal without the context's number; the caller frees. */
static char *journal_of(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 22), line[512];
	size_t length = 0;

	cr_assert(file && text);
	while (fgets(line, sizeof(line), file)) {
		const char *rest = strchr(line, ' ');
		size_t n = rest ? strlen(rest) : 0;

		cr_assert_lt(length + n, (size_t)1 << 22);
		memcpy(text + length, rest, n);
		length += n;
	}
	fclose(file);
	return text;
}

/* The texts have states, tickets and offsets, the journals the order. */
PROMISE(reserve, is_the_same_as_forwards_one_by_one)
{
	char paths[2][40] = {"/tmp/philox-reserve-XXXXXX",
			     "/tmp/philox-reserve-XXXXXX"};
	struct twin twins[2];
	uint32_t pending[REGIONS] = {0};
	unsigned made = 0, refused = 0;
	char *journals[2];

	for (int i = 0; i < 2; i++) {
		close(mkstemp(paths[i]));
		make_twin(f, &twins[i]);
		OK(philox_context_set_journal(twins[i].context, paths[i]));
	}
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct batch batch = make_batch(round);

		if (is_too_much(&batch, pending)) {
			refuse_round(f, &twins[0], &batch);
			release_all(f, twins, word(round, 2) % REGIONS,
				    pending);
			refused++;
		} else {
			make_round(f, twins, &batch, pending);
			made++;
		}
	}
	cr_assert(made > 100 && refused > 50, "%u, %u", made, refused);
	for (int i = 0; i < 2; i++) {
		philox_context_destroy(twins[i].context);
		journals[i] = journal_of(paths[i]);
		unlink(paths[i]);
	}
	cr_assert_str_eq(journals[0], journals[1]);
	cr_assert(strstr(journals[0], "forward-commit"));
	free(journals[0]);
	free(journals[1]);
}

/* --- what is refused ------------------------------------------------------ */

/* A call that fails changes and writes nothing. */
static void refuses(struct fixture *f, const struct philox_reserve_desc *desc,
		    enum philox_status expected, const char *says)
{
	struct philox_state states[4 * SITES];
	struct philox_ticket tickets[4];
	struct philox_reserve_desc given = *desc;
	char *before = text_of(f->context), *after;

	memset(states, 0xee, sizeof(states));
	memset(tickets, 0xee, sizeof(tickets));
	if (given.n_states)
		given.states = states;
	if (!given.flags)
		given.tickets = tickets;
	SAYS(philox_context_reserve(f->context, f->stream, &given), expected,
	     says);
	after = text_of(f->context);
	cr_assert_str_eq(before, after);
	for (size_t i = 0; i < sizeof(states); i++)
		cr_assert_eq(((unsigned char *)states)[i], 0xee);
	for (size_t i = 0; i < sizeof(tickets); i++)
		cr_assert_eq(((unsigned char *)tickets)[i], 0xee);
	free(before);
	free(after);
}

/* Of four regions, a, b, a and the one that is given. */
static void refuses_last(struct fixture *f, struct philox_region *last,
			 uint32_t flags, enum philox_status expected,
			 const char *says)
{
	struct philox_region *a = make_region(f, "a"), *b = make_region(f, "b");
	struct philox_region *const regions[] = {a, b, a, last};
	const struct philox_reserve_desc desc = {.size = sizeof(desc),
						 .regions = regions,
						 .n_regions = 4,
						 .n_states = 4 * SITES,
						 .flags = flags};

	refuses(f, &desc, expected, says);
	SAME(peek(f, a), predict(0, "a", 0), "a");
	SAME(forward(f, b).saw, predict(0, "b", 0), "b");
	OK(philox_region_destroy(a));
	OK(philox_region_destroy(b));
	OK(philox_generator_seed(philox_context_generator(f->context), 0));
}

PROMISE(reserve, names_the_region_that_is_none)
{
	struct philox_region *dead = make_region(f, "dead"), *foreign;
	struct philox_context *other;

	OK(philox_context_create(f->device, &other));
	foreign = make_region_of(other, "foreign", 0, NULL);
	OK(philox_region_destroy(dead));
	refuses_last(f, NULL, 0, PHILOX_ERROR_INVALID,
		     "reserve: regions[3] is NULL");
	refuses_last(f, dead, 0, PHILOX_ERROR_STALE,
		     "reserve: regions[3]: region "
		     "'dead' was destroyed");
	refuses_last(f, foreign, PHILOX_PASS_INFERENCE, PHILOX_ERROR_MISMATCH,
		     "reserve: regions[3]: region "
		     "'foreign' is of another context");
	philox_context_destroy(other);
}

PROMISE(reserve, counts_the_tickets_of_the_call_itself)
{
	struct philox_region *last =
		make_region_of(f->context, "last", 2, NULL);
	struct philox_region *const regions[] = {last, last, last};
	struct forward kept = forward(f, last);
	const struct philox_reserve_desc desc = {.size = sizeof(desc),
						 .regions = regions,
						 .n_regions = 3,
						 .n_states = 3 * SITES};
	struct philox_state states[3 * SITES];

	refuses(f, &desc, PHILOX_ERROR_LIMIT,
		"reserve: regions[1]: region 'last': "
		"pending is 2, and 2 forwards are owed a backward: run or "
		"release one, raise pending, or begin with "
		"PHILOX_PASS_INFERENCE if no backward will come");
	backward(f, &kept, PHILOX_PASS_RETAIN);
	OK(reserve(f, regions, 3, PHILOX_PASS_INFERENCE, states, NULL));
	are_states_of(states, 0, "last", 4);
	backward(f, &kept, 0);
}

PROMISE(reserve, counts_the_offsets_of_the_call_itself)
{
	const struct philox_op_desc op = {.name = "wide",
					  .advance = 1ULL << 56};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "wide",
					     .ops = &op,
					     .n_ops = 1};
	struct philox_region *wide, *a = make_region(f, "a");
	struct philox_region *const regions[] = {NULL, a, NULL};
	struct philox_region *given[3];
	static const uint32_t limits[] = {200, 1, 100};
	const struct philox_reserve_desc desc = {.size = sizeof(desc),
						 .regions = given,
						 .limits = limits,
						 .n_regions = 3,
						 .n_states = 2 + SITES,
						 .flags =
							 PHILOX_PASS_INFERENCE};

	OK(philox_region_create(f->context, &options, &wide));
	for (int i = 0; i < 3; i++)
		given[i] = regions[i] ? regions[i] : wide;
	refuses(f, &desc, PHILOX_ERROR_OVERFLOW,
		"reserve: regions[2]: the offset of "
		"region 'wide' would pass 2^64 within 100 iterations: give its "
		"generator a new seed");
	SAME(peek(f, a), predict(0, "a", 0), "a");
}

PROMISE(reserve, waits_for_open_forwards_of_shared_regions)
{
	const struct philox_op_desc op = {.name = "op"};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "one",
					     .ops = &op,
					     .n_ops = 1,
					     .flags = PHILOX_REGION_SHARED};
	struct philox_generator *generator =
		philox_context_generator(f->context);
	struct philox_region *regions[3];
	struct philox_state states[2 + SITES], before, after;
	const struct philox_reserve_desc desc = {.size = sizeof(desc),
						 .regions = regions,
						 .n_regions = 3,
						 .states = states,
						 .n_states = 2 + SITES,
						 .flags =
							 PHILOX_PASS_INFERENCE};
	struct philox_pass pass;

	regions[0] = make_region(f, "a");
	OK(philox_region_create(f->context, &options, &regions[1]));
	options.name = "two";
	OK(philox_region_create(f->context, &options, &regions[2]));
	OK(philox_forward_begin(regions[2], f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	OK(philox_generator_get_state(generator, &before));
	SAYS(philox_context_reserve(f->context, f->stream, &desc),
	     PHILOX_ERROR_BUSY,
	     "reserve: regions[1]: region 'one' is SHARED, and a forward of "
	     "region 'two' is open on its generator");
	OK(philox_generator_get_state(generator, &after));
	cr_assert_eq(after.offset, before.offset);
	SAME(peek(f, regions[0]), predict(0, "a", 0), "a");
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_context_reserve(f->context, f->stream, &desc));
	cr_assert_eq(states[SITES].offset, before.offset);
	cr_assert_eq(states[SITES + 1].offset, before.offset + 4);
}

PROMISE(reserve, names_the_field_that_is_wrong)
{
	struct philox_region *a = make_region(f, "a");
	struct philox_region *const regions[] = {a, a};
	static const uint32_t limits[] = {1, 0};
	struct philox_reserve_desc good = {.size = sizeof(good),
					   .regions = regions,
					   .n_regions = 2,
					   .n_states = 2 * SITES,
					   .flags = PHILOX_PASS_INFERENCE};
	struct philox_reserve_desc desc = good;

	SAYS(philox_context_reserve(f->context, f->stream, NULL),
	     PHILOX_ERROR_INVALID, "reserve is NULL");
	SAYS(philox_context_reserve(NULL, f->stream, &good),
	     PHILOX_ERROR_INVALID, "context is NULL");
	desc.regions = NULL;
	refuses(f, &desc, PHILOX_ERROR_INVALID, "reserve: regions is NULL");
	desc = good;
	desc.limits = limits;
	refuses(f, &desc, PHILOX_ERROR_INVALID,
		"reserve: regions[1]: region 'a': "
		"limit is 0: a forward has at least one iteration");
	desc = good;
	for (desc.n_states = 0; desc.n_states <= 2 * SITES + 1; desc.n_states++)
		if (desc.n_states && desc.n_states != 2 * SITES) {
			char says[160];

			snprintf(says, sizeof(says),
				 "reserve: n_states is "
				 "%zu, and 8 states are written: one for each "
				 "cell of each region",
				 desc.n_states);
			refuses(f, &desc, PHILOX_ERROR_INVALID, says);
		}
	desc = good;
	desc.n_states = 0;
	refuses(f, &desc, PHILOX_ERROR_INVALID, "reserve: states is NULL");
	desc = good;
	desc.flags |= PHILOX_PASS_WARMUP;
	refuses(f, &desc, PHILOX_ERROR_INVALID,
		"reserve: flags 0x3 is none of 0, "
		"PHILOX_PASS_INFERENCE and PHILOX_PASS_WARMUP");
	desc.flags = PHILOX_PASS_ON_DEVICE;
	FAILS(philox_context_reserve(f->context, f->stream, &desc),
	      PHILOX_ERROR_INVALID);
	desc = good;
	desc.reserved = 1;
	FAILS(philox_context_reserve(f->context, f->stream, &desc),
	      PHILOX_ERROR_INVALID);
	NAMES("reserved");
	desc = good;
	desc.size = 8;
	FAILS(philox_context_reserve(f->context, f->stream, &desc),
	      PHILOX_ERROR_INVALID);
	FAILS(reserve(f, regions, 2, 0, NULL, NULL), PHILOX_ERROR_INVALID);
	NAMES("reserve: tickets is NULL");
	SAME(peek(f, a), predict(0, "a", 0), "a");
}

/* --- captures, and devices that fail --------------------------------------- */

GRAPH_PROMISE(reserve, is_refused_in_a_capture_that_goes_on)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_state states[SITES];
	uint32_t *array = make_array(f);
	struct philox_graph *graph;

	record_begin(f);
	captured_forward(f, region, PHILOX_PASS_INFERENCE, array);
	FAILS(reserve(f, &region, 1, PHILOX_PASS_INFERENCE, states, NULL),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	NAMES("reserve: the stream is in capture");
	graph = record_end(f);
	OK(philox_graph_launch(graph, f->stream,
			       &(struct philox_launch_pass){{0, 0}, 0, 0}, 1));
	SAME(read_numbers(f, array), predict(0, "layer", 0), "the launch");
	OK(reserve(f, &region, 1, PHILOX_PASS_INFERENCE, states, NULL));
	are_states_of(states, 0, "layer", 4);
	OK(philox_graph_destroy(graph));
}

PROMISE(reserve, is_refused_where_the_device_fails)
{
	struct philox_region *a = make_region(f, "a");
	struct philox_state states[SITES];

	OK(philox_device_fail(f->device, "capture_info", 1,
			      PHILOX_ERROR_DEVICE));
	FAILS(reserve(f, &a, 1, PHILOX_PASS_INFERENCE, states, NULL),
	      PHILOX_ERROR_DEVICE);
	SAME(peek(f, a), predict(0, "a", 0), "a");
}

/* --- both calls ----------------------------------------------------------- */

/* What a program does that hands states to its kernels as data. */
PROMISE(reserve, states_that_are_written_give_the_numbers_of_the_forwards)
{
	struct philox_region *a = make_region(f, "a"), *b = make_region(f, "b");
	struct philox_region *const regions[] = {a, b, a};
	struct philox_state states[3 * SITES];
	struct philox_state *to = make_memory(f, sizeof(states));
	struct philox_fill_desc fill = {.size = sizeof(fill),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = {.count = COUNT}};
	uint32_t *arrays[3];

	OK(reserve(f, regions, 3, PHILOX_PASS_INFERENCE, states, NULL));
	OK(philox_context_write_states(f->context, f->stream, to, states,
				       3 * SITES));
	for (size_t i = 0; i < 3 * SITES; i++) {
		const struct philox_rng rng = {{0, 0}, to + i};

		if (i % SITES == 0)
			arrays[i / SITES] = make_array(f);
		fill.out = arrays[i / SITES] + i % SITES * COUNT;
		OK(philox_rng_fill(f->device, f->stream, rng, &fill));
	}
	SAME(read_numbers(f, arrays[0]), predict(0, "a", 0), "first");
	SAME(read_numbers(f, arrays[1]), predict(0, "b", 0), "second");
	SAME(read_numbers(f, arrays[2]), predict(0, "a", 4), "third");
}

/* The log has the region at fault. */
static char region_of_log[64];

static void note_region(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (entry->level == PHILOX_LOG_ERROR)
		snprintf(region_of_log, sizeof(region_of_log), "%s",
			 entry->region ? entry->region : "(none)");
}

PROMISE(reserve, the_log_has_the_region_at_fault)
{
	struct philox_region *regions[] = {make_region(f, "a"),
					   make_region(f, "dead"), NULL};
	struct philox_state states[2 * SITES];

	OK(philox_region_destroy(regions[1]));
	OK(philox_context_set_log(f->context, note_region, NULL));
	FAILS(reserve(f, regions, 2, PHILOX_PASS_INFERENCE, states, NULL),
	      PHILOX_ERROR_STALE);
	cr_assert_str_eq(region_of_log, "dead");
	FAILS(reserve(f, regions + 2, 1, PHILOX_PASS_INFERENCE, states, NULL),
	      PHILOX_ERROR_INVALID);
	cr_assert_str_eq(region_of_log, "(none)");
	OK(philox_context_set_log(f->context, NULL, NULL));
}

/*
 * tests/sample/seeds.c - tokens from a seed and a position alone
 *
 * What is expected are the tokens of a table whose rows were set to the seeds
 * and drew as many times as the positions say.
 */
#include <stdlib.h>
#include <philox/rows.h>
#include "tests/support/support.h"

enum { SLOTS = 6, VOCAB = 71, CALLS = 9 };

static const uint64_t seeds[SLOTS] = {1, 0xfedcba9876543210, 5, 5, 0, 77};

struct scene {
	struct philox_seed_list slots;
	uint32_t *positions;
	struct philox_sample_desc sample;
	int32_t *tokens;
	int32_t expected[CALLS][SLOTS]; /* of slot r with its own logits */
};

static float logit(uint32_t slot, uint32_t v)
{
	return (float)((slot * 31 + v * v * 7) % 64) / 32;
}

static float *make_logits(struct fixture *f)
{
	float *logits = make_memory(f, SLOTS * VOCAB * sizeof(*logits));

	for (uint32_t r = 0; r < SLOTS; r++)
		for (uint32_t v = 0; v < VOCAB; v++)
			logits[r * VOCAB + v] = logit(r, v);
	return logits;
}

/* By a table. */
static void find_expected(struct fixture *f, struct scene *s)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "a", .count = SLOTS};
	struct philox_state states[SLOTS];
	struct philox_rows *rows;

	for (uint32_t r = 0; r < SLOTS; r++)
		states[r] = (struct philox_state){seeds[r], 0};
	OK(philox_rows_create(f->context, &options, &rows));
	OK(philox_rows_set(rows, f->stream, NULL, states, SLOTS));
	for (int k = 0; k < CALLS; k++) {
		OK(philox_sample_rows(rows, f->stream, NULL, &s->sample));
		OK(philox_stream_synchronize(f->device, f->stream));
		memcpy(s->expected[k], s->tokens, sizeof(s->expected[k]));
	}
	OK(philox_rows_destroy(rows));
}

static void open_scene(struct fixture *f, struct scene *s)
{
	s->positions = make_memory(f, SLOTS * sizeof(*s->positions));
	s->tokens = make_memory(f, SLOTS * sizeof(*s->tokens));
	s->slots = (struct philox_seed_list){
		.size = sizeof(s->slots),
		.seeds = upload(f, seeds, sizeof(seeds)),
		.positions = s->positions,
		.count = SLOTS};
	s->sample = (struct philox_sample_desc){.size = sizeof(s->sample),
						.logits = make_logits(f),
						.dtype = PHILOX_DTYPE_F32,
						.vocab = VOCAB,
						.pitch = VOCAB,
						.temperature = 0.9,
						.tokens = s->tokens};
	find_expected(f, s);
	memset(s->positions, 0, SLOTS * sizeof(*s->positions));
	memset(s->tokens, 0x55, SLOTS * sizeof(*s->tokens));
}

static void sample(struct fixture *f, struct scene *s,
		   const struct philox_row_list *list)
{
	OK(philox_sample_seeds(f->device, f->stream, &s->slots, list,
			       &s->sample));
	OK(philox_stream_synchronize(f->device, f->stream));
}

PROMISE(seeds, give_the_tokens_of_a_row_at_each_of_its_calls)
{
	uint64_t allocated, copied;
	struct scene s;
	int differ = 0;

	open_scene(f, &s);
	allocated = philox_device_call_count(f->device, "mem_alloc");
	copied = philox_device_call_count(f->device, "copy");
	for (uint32_t k = 0; k < CALLS; k++) {
		for (uint32_t r = 0; r < SLOTS; r++)
			s.positions[r] = (k + r) % CALLS;
		sample(f, &s, NULL);
		for (uint32_t r = 0; r < SLOTS; r++) {
			cr_assert_eq(s.tokens[r],
				     s.expected[(k + r) % CALLS][r],
				     "slot %u, call %u", r, k);
			differ += s.tokens[r] != s.expected[0][r];
		}
	}
	cr_assert_gt(differ, CALLS);
	cr_assert_eq(philox_device_call_count(f->device, "mem_alloc"),
		     allocated);
	cr_assert_eq(philox_device_call_count(f->device, "copy"), copied);
}

PROMISE(seeds, are_of_states_that_may_be_given_as_well)
{
	struct philox_state states[SLOTS];
	int32_t tokens[SLOTS];
	struct scene s;

	open_scene(f, &s);
	for (uint32_t r = 0; r < SLOTS; r++) {
		s.positions[r] = UINT32_MAX - r; /* 2^34: more than 32 bits */
		states[r] = (struct philox_state){
			seeds[r], 4 * (uint64_t)(UINT32_MAX - r)};
	}
	sample(f, &s, NULL);
	memcpy(tokens, s.tokens, sizeof(tokens));
	OK(philox_sample_states(f->device, f->stream,
				upload(f, states, sizeof(states)), SLOTS,
				&s.sample));
	OK(philox_stream_synchronize(f->device, f->stream));
	cr_assert(!memcmp(tokens, s.tokens, sizeof(tokens)));
}

/* Slots in any order, some twice with other steps, one that is none. */
PROMISE(seeds, may_be_listed_masked_and_stepped)
{
	static const uint32_t indices[SLOTS] = {3, 1, 1, SLOTS, 4, 1};
	static const uint32_t steps[SLOTS] = {0, 2, 4, 0, 1, 3};
	static const uint8_t mask[SLOTS] = {1, 1, 1, 1, 0, 1};
	struct philox_row_list list = {.size = sizeof(list), .count = SLOTS};
	float *logits;
	struct scene s;

	open_scene(f, &s);
	list.indices = upload(f, indices, sizeof(indices));
	list.steps = upload(f, steps, sizeof(steps));
	list.mask = upload(f, mask, sizeof(mask));
	/* every entry with the logits of its slot */
	logits = (float *)s.sample.logits;
	for (uint32_t i = 0; i < SLOTS; i++)
		for (uint32_t v = 0; v < VOCAB; v++)
			logits[i * VOCAB + v] = logit(indices[i], v);
	s.positions[3] = 6;
	s.positions[1] = 2;
	sample(f, &s, &list);
	cr_assert_eq(s.tokens[0], s.expected[6][3]);
	cr_assert_eq(s.tokens[1], s.expected[4][1]);
	cr_assert_eq(s.tokens[2], s.expected[6][1]);
	cr_assert_eq(s.tokens[3], -1);
	cr_assert_eq(s.tokens[4], 0x55555555);
	cr_assert_eq(s.tokens[5], s.expected[5][1]);
	cr_assert_eq(s.positions[1], 2);
}

PROMISE(seeds, are_read_at_each_launch)
{
	philox_native_graph graph;
	philox_native_exec exec;
	struct scene s;
	size_t nodes;

	open_scene(f, &s);
	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	OK(philox_sample_seeds(f->device, f->stream, &s.slots, NULL,
			       &s.sample));
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_node_count(f->device, graph, &nodes));
	cr_assert_eq(nodes, 1);
	OK(philox_native_graph_instantiate(f->device, graph, &exec));
	for (uint32_t k = 0; k < CALLS; k++) {
		for (uint32_t r = 0; r < SLOTS; r++)
			s.positions[r] = (k * r) % CALLS;
		OK(philox_native_exec_launch(f->device, f->stream, exec));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t r = 0; r < SLOTS; r++)
			cr_assert_eq(s.tokens[r],
				     s.expected[(k * r) % CALLS][r]);
	}
	OK(philox_native_exec_destroy(f->device, exec));
	OK(philox_native_graph_destroy(f->device, graph));
}

/* --- refusals ------------------------------------------------------------- */

static void refuses(struct fixture *f, const struct philox_seed_list *slots,
		    const struct philox_row_list *list,
		    const struct philox_sample_desc *sample, const char *names)
{
	uint64_t launches = philox_device_call_count(f->device, "launch");

	FAILS(philox_sample_seeds(f->device, f->stream, slots, list, sample),
	      PHILOX_ERROR_INVALID);
	NAMES(names);
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
}

PROMISE(seeds, that_are_wrong_are_refused_by_name)
{
	struct philox_row_list list = {.size = sizeof(list),
				       .count = SLOTS + 1};
	struct philox_sample_desc bad_sample;
	struct philox_seed_list bad;
	struct scene s;

	open_scene(f, &s);
	refuses(f, NULL, NULL, &s.sample, "slots is NULL");
	bad = s.slots;
	for (bad.size = 0; bad.size < sizeof(bad); bad.size += 4)
		if (bad.size != offsetof(struct philox_seed_list, count) + 4)
			refuses(f, &bad, NULL, &s.sample, "slots: size is ");
	bad = s.slots;
	bad.seeds = NULL;
	refuses(f, &bad, NULL, &s.sample, "slots: seeds is NULL");
	bad.seeds = (uint64_t *)((char *)s.slots.seeds + 4);
	refuses(f, &bad, NULL, &s.sample, "slots: seeds (0x");
	bad = s.slots;
	bad.positions = NULL;
	refuses(f, &bad, NULL, &s.sample, "slots: positions is NULL");
	bad.positions = (uint32_t *)((char *)s.slots.positions + 2);
	refuses(f, &bad, NULL, &s.sample, "slots: positions (0x");
	bad = s.slots;
	bad.count = (1 << 24) + 1;
	refuses(f, &bad, NULL, &s.sample,
		"slots: count is 16777217, above 2^24");
	refuses(f, &s.slots, &list, &s.sample,
		"list: count is 7 without indices, there are 6 slots");
	list.size = 0;
	refuses(f, &s.slots, &list, &s.sample, "list: size is 0");
	refuses(f, &s.slots, NULL, NULL, "sample is NULL");
	bad_sample = s.sample;
	bad_sample.flags = PHILOX_ROWS_KEEP;
	refuses(f, &s.slots, NULL, &bad_sample,
		"sample: flags is 0x1, not 0: without a table nothing");
	bad_sample = s.sample;
	bad_sample.vocab = 0;
	refuses(f, &s.slots, NULL, &bad_sample, "sample: vocab is 0");
	FAILS(philox_sample_seeds(NULL, f->stream, &s.slots, NULL, &s.sample),
	      PHILOX_ERROR_INVALID);
	NAMES("device is NULL");
}

PROMISE(seeds, of_no_slots_are_no_tokens)
{
	const struct philox_seed_list none = {.size = sizeof(none)};
	struct philox_row_list list = {.size = sizeof(list), .count = 0};
	uint64_t launches = philox_device_call_count(f->device, "launch");
	uint32_t *indices = make_memory(f, sizeof(*indices));
	struct scene s;

	*indices = 0;
	open_scene(f, &s);
	launches = philox_device_call_count(f->device, "launch");
	sample(f, &s, &list);
	s.slots = none;
	sample(f, &s, NULL);
	cr_assert_eq(philox_device_call_count(f->device, "launch"), launches);
	cr_assert_eq(s.tokens[0], 0x55555555);
	list.count = 1;
	list.indices = indices;
	sample(f, &s, &list);
	cr_assert_eq(s.tokens[0], -1);
}

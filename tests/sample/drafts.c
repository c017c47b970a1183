/*
 * tests/sample/drafts.c - decoding with drafts gives the tokens of decoding one
 * by one
 *
 * A server in small: requests come and go in slots, some pause, and each has a
 * row of a table. In a step a slot proposes some drafts, right or wrong, all
 * its positions are sampled at once, and the drafts that the tokens confirm are
 * kept. What is expected are plain calls of philox_sample_rows(), one token of
 * one request each. The model's logits depend on the request, the position and
 * the token before, so a token that differs changes all after it.
 */
#include <stdlib.h>
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

enum {
	SLOTS = 5,
	DRAFTS = 3, /* at most */
	PLACES = DRAFTS + 1,
	ENTRIES = SLOTS * PLACES,
	TABLE = 16, /* rows: a request is not always in the same one */
	VOCAB = 37,
	REQUESTS = 14,
	LONGEST = 22,
	NONE = UINT32_MAX
};

/* How a step is put on the stream, and how rows are named when they advance. */
enum way {
	EAGER,
	CAPTURED, /* a graph that samples, and a graph that advances */
	WHOLE     /* one graph, in which a function of the host counts */
};

enum advance {
	BY_SLOT, /* an entry for each slot, with how many tokens it keeps */
	BY_DRAFT /* the list of drafts, with those that are kept as its mask */
};

/* The arrays of a step, here and on the device. */
struct arrays {
	float logits[ENTRIES][VOCAB];
	int32_t tokens[ENTRIES];
	int32_t drafts[ENTRIES]; /* proposed for the place after this one */
	uint32_t rows[ENTRIES];
	uint32_t steps[ENTRIES];
	uint32_t next[ENTRIES]; /* step + 1 */
	uint8_t mask[ENTRIES];  /* sampled */
	uint8_t confirmed[ENTRIES];
	uint32_t slot_rows[SLOTS];
	uint32_t kept[SLOTS];
	uint8_t active[SLOTS];
};

struct slot {
	uint32_t request; /* NONE: free */
	uint32_t row;
	uint32_t length;
};

struct server {
	struct fixture *f;
	struct philox_rows *rows;
	enum way way;
	enum advance advance;
	struct arrays here;
	struct arrays *there; /* on the device */
	philox_native_exec sample, move;
	struct slot slots[SLOTS];
	uint32_t begun, done;
	uint64_t random;
	unsigned kept_some; /* steps of slots that kept a draft, and not all */
	int32_t expected[REQUESTS][LONGEST];
	int32_t found[REQUESTS][LONGEST];
};

/* --- requests, and a model ------------------------------------------------ */

static uint32_t length_of(uint32_t request)
{
	return 1 + request * 7 % LONGEST;
}

static struct philox_state state_of(uint32_t request)
{
	return (struct philox_state){1000 + request, 0};
}

static void model(uint32_t request, uint32_t position, int32_t before,
		  float logits[VOCAB])
{
	uint32_t word[4];

	for (uint32_t v = 0; v < VOCAB; v++) {
		model_block(request, position * 64 + (uint32_t)(before + 1), v,
			    word);
		logits[v] = (float)(word[0] % 512) / 128;
	}
}

static uint32_t chance(struct server *s, uint32_t n)
{
	uint32_t word[4];

	model_block(7, s->random++, 0, word);
	return word[0] % n;
}

/* --- one by one ----------------------------------------------------------- */

static void decode_plainly(struct fixture *f, struct philox_rows *rows,
			   uint32_t request, int32_t *tokens)
{
	const struct philox_row_list first = {.size = sizeof(first),
					      .count = 1};
	const struct philox_state state = state_of(request);
	float logits[VOCAB];
	int32_t *token = make_memory(f, sizeof(*token));
	void *there = make_memory(f, sizeof(logits));
	struct philox_sample_desc sample = {.size = sizeof(sample),
					    .logits = there,
					    .dtype = PHILOX_DTYPE_F32,
					    .vocab = VOCAB,
					    .pitch = VOCAB,
					    .temperature = 1,
					    .tokens = token};

	OK(philox_rows_set(rows, f->stream, NULL, &state, 1));
	for (uint32_t i = 0; i < length_of(request); i++) {
		model(request, i, i ? tokens[i - 1] : -1, logits);
		OK(philox_memory_copy(f->device, f->stream, there, logits,
				      sizeof(logits)));
		OK(philox_sample_rows(rows, f->stream, &first, &sample));
		OK(philox_memory_copy(f->device, f->stream, &tokens[i], token,
				      sizeof(*token)));
		OK(philox_stream_synchronize(f->device, f->stream));
	}
}

static struct philox_rows *make_table(struct fixture *f, const char *name,
				      uint32_t count)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = name, .count = count};
	struct philox_rows *rows;

	OK(philox_rows_create(f->context, &options, &rows));
	return rows;
}

/* --- slots ---------------------------------------------------------------- */

static uint32_t free_row(struct server *s)
{
	uint32_t row;
	int taken;

	do {
		row = chance(s, TABLE);
		taken = 0;
		for (int i = 0; i < SLOTS; i++)
			taken |= s->slots[i].request != NONE &&
				 s->slots[i].row == row;
	} while (taken);
	return row;
}

static void begin_request(struct server *s, struct slot *slot)
{
	const struct philox_state state = state_of(s->begun);

	slot->row = free_row(s);
	slot->length = 0;
	slot->request = s->begun++;
	OK(philox_rows_set(s->rows, s->f->stream, &slot->row, &state, 1));
}

/* Its row has drawn once for each token, and is where they say. */
static void end_request(struct server *s, struct slot *slot)
{
	struct philox_state state;

	OK(philox_rows_get(s->rows, s->f->stream, slot->row, 1, &state));
	OK(philox_stream_synchronize(s->f->device, s->f->stream));
	cr_assert_eq(state.seed, state_of(slot->request).seed);
	cr_assert_eq(state.offset, 4 * (uint64_t)slot->length);
	slot->request = NONE;
	s->done++;
}

/* --- a step --------------------------------------------------------------- */

/* A draft is right more often than not, as a draft model's are. */
static int32_t propose(struct server *s, const struct slot *slot, uint32_t at)
{
	int32_t right = s->expected[slot->request][at];

	return chance(s, 10) < 7 ? right : (int32_t)chance(s, VOCAB);
}

/* Places that are not sampled have what was there before, and wild steps. */
static void fill_slot(struct server *s, int number)
{
	const struct slot *slot = &s->slots[number];
	int32_t before;
	uint32_t left, places;

	s->here.active[number] = slot->request != NONE && chance(s, 5) > 0;
	s->here.slot_rows[number] = slot->row;
	memset(&s->here.mask[number * PLACES], 0, PLACES);
	if (!s->here.active[number])
		return;
	left = length_of(slot->request) - slot->length;
	places = 1 + chance(s, PLACES);
	places = places < left ? places : left;
	before = slot->length ? s->found[slot->request][slot->length - 1] : -1;
	for (uint32_t j = 0; j < places; j++) {
		uint32_t i = (uint32_t)number * PLACES + j;

		model(slot->request, slot->length + j, before,
		      s->here.logits[i]);
		s->here.rows[i] = slot->row;
		s->here.steps[i] = j;
		s->here.next[i] = j + 1;
		s->here.mask[i] = 1;
		before = propose(s, slot, slot->length + j);
		s->here.drafts[i] = j + 1 < places ? before : -1;
	}
}

/* The first token is kept, and each after it whose draft was confirmed. */
static void count_kept(struct arrays *a)
{
	memset(a->confirmed, 0, sizeof(a->confirmed));
	for (int number = 0; number < SLOTS; number++) {
		uint32_t kept = 0, i = (uint32_t)number * PLACES;

		while (kept < PLACES && a->mask[i + kept] &&
		       (!kept ||
			a->tokens[i + kept - 1] == a->drafts[i + kept - 1]))
			a->confirmed[i + kept++] = 1;
		/* what lies where the mask is 0 counts for nothing */
		a->kept[number] = a->active[number] ? kept : 99;
	}
}

static void count_kept_there(const void *pointer)
{
	count_kept(*(struct arrays *const *)pointer);
}

static void put_sample(struct server *s)
{
	const struct philox_row_list drafts = {.size = sizeof(drafts),
					       .indices = s->there->rows,
					       .mask = s->there->mask,
					       .count = ENTRIES,
					       .steps = s->there->steps};
	const struct philox_sample_desc sample = {.size = sizeof(sample),
						  .logits = s->there->logits,
						  .dtype = PHILOX_DTYPE_F32,
						  .vocab = VOCAB,
						  .pitch = VOCAB,
						  .temperature = 1,
						  .tokens = s->there->tokens,
						  .flags = PHILOX_ROWS_KEEP};

	OK(philox_sample_rows(s->rows, s->f->stream, &drafts, &sample));
}

static void put_advance(struct server *s)
{
	const struct philox_row_list slots = {.size = sizeof(slots),
					      .indices = s->there->slot_rows,
					      .mask = s->there->active,
					      .count = SLOTS};
	const struct philox_row_list drafts = {.size = sizeof(drafts),
					       .indices = s->there->rows,
					       .mask = s->there->confirmed,
					       .count = ENTRIES};

	if (s->advance == BY_SLOT)
		OK(philox_rows_advance_by(s->rows, s->f->stream, &slots, 4,
					  s->there->kept));
	else
		OK(philox_rows_advance_by(s->rows, s->f->stream, &drafts, 4,
					  s->there->next));
}

static void copy(struct server *s, struct arrays *to, const struct arrays *from)
{
	OK(philox_memory_copy(s->f->device, s->f->stream, to, from,
			      sizeof(*to)));
	OK(philox_stream_synchronize(s->f->device, s->f->stream));
}

static void launch(struct server *s, philox_native_exec exec)
{
	OK(philox_native_exec_launch(s->f->device, s->f->stream, exec));
}

static void run_step(struct server *s)
{
	copy(s, s->there, &s->here);
	if (s->sample)
		launch(s, s->sample);
	else
		put_sample(s);
	if (s->way != WHOLE) {
		copy(s, &s->here, s->there);
		count_kept(&s->here);
		copy(s, s->there, &s->here);
	}
	if (s->move)
		launch(s, s->move);
	else if (s->way == EAGER)
		put_advance(s);
	copy(s, &s->here, s->there);
}

static void take_tokens(struct server *s, int number)
{
	struct slot *slot = &s->slots[number];
	uint32_t places = 0, kept = s->here.kept[number];

	if (!s->here.active[number])
		return;
	for (uint32_t j = 0; j < PLACES; j++)
		places += s->here.mask[number * PLACES + (int)j];
	for (uint32_t j = 0; j < kept; j++)
		s->found[slot->request][slot->length++] =
			s->here.tokens[number * PLACES + (int)j];
	s->kept_some += kept > 1 && kept < places;
	if (slot->length == length_of(slot->request))
		end_request(s, slot);
}

static void serve(struct server *s)
{
	while (s->done < REQUESTS) {
		for (int i = 0; i < SLOTS; i++) {
			if (s->slots[i].request == NONE &&
			    s->begun < REQUESTS && chance(s, 3))
				begin_request(s, &s->slots[i]);
			fill_slot(s, i);
		}
		run_step(s);
		for (int i = 0; i < SLOTS; i++)
			take_tokens(s, i);
	}
}

/* --- graphs --------------------------------------------------------------- */

static philox_native_exec record(struct server *s, int samples, int counts,
				 int moves)
{
	struct philox_device *device = s->f->device;
	philox_native_graph graph;
	philox_native_exec exec;
	size_t nodes;

	OK(philox_stream_begin_capture(device, s->f->stream,
				       PHILOX_CAPTURE_GLOBAL));
	if (samples)
		put_sample(s);
	if (counts)
		OK(philox_stream_launch_host(device, s->f->stream,
					     count_kept_there, &s->there,
					     sizeof(s->there)));
	if (moves)
		put_advance(s);
	OK(philox_stream_end_capture(device, s->f->stream, &graph));
	OK(philox_native_graph_node_count(device, graph, &nodes));
	cr_assert_eq(nodes, (size_t)(samples + counts + moves));
	OK(philox_native_graph_instantiate(device, graph, &exec));
	OK(philox_native_graph_destroy(device, graph));
	return exec;
}

static void record_all(struct server *s)
{
	if (s->way == CAPTURED) {
		s->sample = record(s, 1, 0, 0);
		s->move = record(s, 0, 0, 1);
	} else if (s->way == WHOLE) {
		s->sample = record(s, 1, 1, 1);
	}
}

/* --- what is promised ----------------------------------------------------- */

static void serves_the_same(struct fixture *f, enum way way,
			    enum advance advance)
{
	struct server *s = calloc(1, sizeof(*s));
	struct philox_rows_report report = {.size = sizeof(report)};
	struct philox_rows *plain;

	cr_assert(s);
	s->f = f;
	s->way = way;
	s->advance = advance;
	s->rows = make_table(f, "requests", TABLE);
	s->there = make_memory(f, sizeof(*s->there));
	plain = make_table(f, "plain", 1);
	for (uint32_t r = 0; r < REQUESTS; r++)
		decode_plainly(f, plain, r, s->expected[r]);
	for (int i = 0; i < SLOTS; i++)
		s->slots[i].request = NONE;
	record_all(s);
	serve(s);
	for (uint32_t r = 0; r < REQUESTS; r++)
		for (uint32_t i = 0; i < length_of(r); i++)
			cr_assert_eq(s->found[r][i], s->expected[r][i],
				     "request %u, token %u: %d, not %d", r, i,
				     s->found[r][i], s->expected[r][i]);
	cr_assert_gt(s->kept_some, 5, "drafts were all right or all wrong");
	OK(philox_rows_check(s->rows, &report));
	OK(philox_native_exec_destroy(f->device, s->sample));
	OK(philox_native_exec_destroy(f->device, s->move));
	OK(philox_rows_destroy(s->rows));
	OK(philox_rows_destroy(plain));
	free(s);
}

PROMISE(drafts, give_the_tokens_of_decoding_one_by_one)
{
	serves_the_same(f, EAGER, BY_SLOT);
	serves_the_same(f, EAGER, BY_DRAFT);
}

PROMISE(drafts, give_the_tokens_of_decoding_one_by_one_when_captured)
{
	serves_the_same(f, CAPTURED, BY_SLOT);
	serves_the_same(f, CAPTURED, BY_DRAFT);
}

PROMISE(drafts, may_be_sampled_counted_and_advanced_in_one_graph)
{
	serves_the_same(f, WHOLE, BY_SLOT);
	serves_the_same(f, WHOLE, BY_DRAFT);
}

Test(drafts_cuda, give_the_tokens_of_decoding_one_by_one, .timeout = 600)
{
	struct fixture f;
	unsigned count;

	if (philox_device_count("cuda", &count) != PHILOX_OK)
		cr_skip_test("needs a GPU: %s", philox_error_message());
	fixture_open(&f, "cuda");
	serves_the_same(&f, EAGER, BY_SLOT);
	serves_the_same(&f, CAPTURED, BY_SLOT);
	serves_the_same(&f, CAPTURED, BY_DRAFT);
	fixture_close(&f);
}

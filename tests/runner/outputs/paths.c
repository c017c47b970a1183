/*
 * tests/runner/outputs/paths.c - random programs of calls, ties and steps,
 * beside a model that knows which outputs are good
 */
#include "tests/support/beds/runner_scene.h"

enum { FUNCTIONS = 4, CALLS = 1500, OWED = 24, GOODS = 40, OPERATIONS = 1500 };

/* A program is the numbers that this gives. */
static uint64_t chance;

static unsigned below(unsigned n)
{
	chance = chance * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(chance >> 33) % n;
}

struct made {
	struct layer *layer;
	struct layer_call call;
	struct numbers saw[2];
	unsigned joined; /* the call whose path this one's is; itself: a root */
	int owed;        /* its ticket is pending */
	int good[2];
	unsigned tied[2]; /* to the ticket of that call; CALLS: not */
};

static struct world {
	struct fixture *f;
	struct philox_runner *runner;
	struct layer forth[FUNCTIONS], back[FUNCTIONS];
	uint32_t *x;
	struct made made[CALLS];
	unsigned n;
} w;

static unsigned root_of(unsigned i)
{
	while (w.made[i].joined != i)
		i = w.made[i].joined;
	return i;
}

static int is_owed(unsigned path)
{
	for (unsigned i = 0; i < w.n; i++)
		if (w.made[i].owed && root_of(i) == path)
			return 1;
	return 0;
}

/* One of the calls, by chance, that are as asked; CALLS: there is none. */
enum kind { THAT_OWE, WITH_GOOD };

static int is_kind(const struct made *made, enum kind kind)
{
	return kind == THAT_OWE ? made->owed : made->good[0] || made->good[1];
}

static unsigned count_kind(enum kind kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w.n; i++)
		n += (unsigned)is_kind(&w.made[i], kind);
	return n;
}

static unsigned any_kind(enum kind kind)
{
	unsigned n = count_kind(kind), at = n ? below(n) : 0;

	for (unsigned i = 0; n && i < w.n; i++)
		if (is_kind(&w.made[i], kind) && !at--)
			return i;
	return CALLS;
}

/* --- what a program does -------------------------------------------------- */

/* Reads an output of another call, by its handle or without, or plain memory. */
static void read_something(struct layer_call *call, unsigned self)
{
	unsigned from = below(4) ? any_kind(WITH_GOOD) : CALLS;
	struct made *other = &w.made[from % CALLS];
	int i = from < CALLS && other->good[0] && below(2) ? 0 : 1;

	if (from == CALLS || !other->good[i])
		return;
	if (below(2))
		call->x.output = &other->call.outputs[i];
	call->x.address = other->call.outputs[i].address;
	w.made[self].joined = root_of(from);
}

static void call_something(struct layer *layer, unsigned of)
{
	struct made *made = &w.made[w.n];

	made->layer = layer;
	made->joined = w.n;
	made->call = new_call(layer, w.x, below(3));
	read_something(&made->call, w.n);
	if (layer->backward) {
		made->call.use.ticket = w.made[of].call.use.ticket;
		made->call.use.flags = PHILOX_PASS_RETAIN;
	}
	OK(try_call(layer, &made->call));
	for (int i = 0; i < 2; i++) {
		made->good[i] = 1;
		made->tied[i] = CALLS;
		made->saw[i] = read_numbers(w.f, made->call.outputs[i].address);
	}
	made->owed = !layer->backward;
	if (layer->backward)
		SAME(made->saw[0], w.made[of].saw[0], "call %u", w.n);
	w.n++;
}

static void forget_ties_to(unsigned ticket)
{
	for (unsigned i = 0; i < w.n; i++)
		for (int k = 0; k < 2; k++)
			if (w.made[i].tied[k] == ticket) {
				w.made[i].good[k] = 0;
				w.made[i].tied[k] = CALLS;
			}
}

static void end_something(void)
{
	unsigned i = any_kind(THAT_OWE);
	struct made *made = &w.made[i % CALLS];
	philox_stream stream = below(2) ? w.f->stream : w.f->side;

	if (i == CALLS)
		return;
	if (below(2))
		plain_backward(made->layer, made->call.use.ticket, stream, 0);
	else
		OK(philox_ticket_release(made->layer->region, stream,
					 made->call.use.ticket));
	made->owed = 0;
	forget_ties_to(i);
}

static void release_something(void)
{
	unsigned i = any_kind(WITH_GOOD);
	int k = (int)below(2);

	if (i == CALLS || !w.made[i].good[k])
		return;
	OK(philox_output_release(w.runner, below(2) ? w.f->stream : w.f->side,
				 &w.made[i].call.outputs[k]));
	w.made[i].good[k] = 0;
	w.made[i].tied[k] = CALLS;
}

/* To a ticket of its own path, which keeps it anyhow. */
static void tie_something(void)
{
	unsigned i = any_kind(WITH_GOOD), to = any_kind(THAT_OWE);
	int k = (int)below(2);

	if (i == CALLS || to == CALLS || !w.made[i].good[k] ||
	    root_of(i) != root_of(to))
		return;
	if (w.made[i].tied[k] != CALLS) {
		FAILS(philox_output_tie(w.runner, &w.made[i].call.outputs[k],
					w.made[to].layer->region,
					w.made[to].call.use.ticket),
		      PHILOX_ERROR_EXISTS);
		return;
	}
	OK(philox_output_tie(w.runner, &w.made[i].call.outputs[k],
			     w.made[to].layer->region,
			     w.made[to].call.use.ticket));
	w.made[i].tied[k] = to;
}

static void begin_step(unsigned flags)
{
	size_t kept = 99, expected = 0;

	for (unsigned i = 0; i < w.n; i++) {
		int stays = !flags && is_owed(root_of(i));

		for (int k = 0; k < 2; k++) {
			w.made[i].good[k] &= stays;
			expected += (size_t)w.made[i].good[k];
			if (!stays)
				w.made[i].tied[k] = CALLS;
		}
	}
	OK(philox_runner_step_begin(
		w.runner, below(2) ? w.f->stream : w.f->side, flags, &kept));
	cr_assert_eq(kept, expected, "%zu are kept, not %zu", kept, expected);
}

/* Every output is as the model says, and good ones are as they were. */
static void compare(int contents)
{
	for (unsigned i = 0; i < w.n; i++)
		for (int k = 0; k < 2; k++) {
			struct philox_output *output =
				&w.made[i].call.outputs[k];
			enum philox_status status =
				philox_output_check(w.runner, output);

			cr_assert_eq(status,
				     w.made[i].good[k] ? PHILOX_OK
						       : PHILOX_ERROR_STALE,
				     "output %d of call %u of %u: %s", k, i,
				     w.n, philox_status_name(status));
			if (contents && w.made[i].good[k])
				SAME(read_numbers(w.f, output->address),
				     w.made[i].saw[k], "call %u", i);
		}
}

static void operate(void)
{
	unsigned what = below(20);

	if (what < 6 && count_kind(THAT_OWE) < OWED)
		call_something(&w.forth[below(FUNCTIONS)], CALLS);
	else if (what < 9 && any_kind(THAT_OWE) < CALLS) {
		unsigned of = any_kind(THAT_OWE);

		call_something(&w.back[w.made[of].layer - w.forth], of);
	} else if (what < 13)
		end_something();
	else if (what < 15)
		release_something();
	else if (what < 18)
		tie_something();
	else if (what < 19 || count_kind(WITH_GOOD) > GOODS)
		begin_step(below(8) ? 0 : PHILOX_STEP_RELEASE_ALL);
}

static void open_world(struct fixture *f, struct philox_runner *r)
{
	static const char *const names[FUNCTIONS][3] = {
		{"a", "a forth", "a back"},
		{"b", "b forth", "b back"},
		{"c", "c forth", "c back"},
		{"d", "d forth", "d back"}};

	memset(&w, 0, sizeof(w));
	w.f = f;
	w.runner = r;
	w.x = make_words(f, 3);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		const struct philox_policy policy = {.recordings =
							     i % 2 ? 0 : 1,
						     .keys = i / 2 ? 2 : 0,
						     .dry = i == 3};

		w.forth[i] = make_layer(f, r, names[i][0]);
		w.back[i] = w.forth[i];
		w.back[i].backward = 1;
		make_function_under(&w.forth[i], r, names[i][1], &policy);
		make_function_under(&w.back[i], r, names[i][2], &policy);
	}
}

RUNNER_PROMISE(runner_paths, end_as_a_model_says)
{
	uint64_t replays = 0;

	chance = 20261;
	open_world(f, r);
	for (unsigned i = 0; i < OPERATIONS && w.n < CALLS; i++) {
		operate();
		OK(philox_device_synchronize(f->device));
		compare(i % 16 == 0);
	}
	while (count_kind(THAT_OWE))
		end_something();
	begin_step(0);
	cr_assert_eq(count_kind(WITH_GOOD), 0);
	compare(0);
	LIVE(f, r, 0);
	for (int i = 0; i < FUNCTIONS; i++)
		replays += counts_of(&w.forth[i]).replay +
			   counts_of(&w.back[i]).replay;
	cr_assert_gt(replays, 30, "%d replays", (int)replays);
}

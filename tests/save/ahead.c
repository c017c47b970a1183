/*
 * tests/save/ahead.c - a text that is loaded ahead of its regions keeps them
 * aside: a region that is made later is the saved one, or is refused by name
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/allocations.h"
#include "tests/support/ranks/mesh.h"
#include "tests/support/support.h"

/* --- a context with a past ------------------------------------------------ */

enum { SEED = 42, OTHER_SEED = 7 };

/* The regions of the text, in the order of their names. */
enum kind { LAYER, NOISE, SHARED, KINDS };

static const char *const names[KINDS] = {"layer", "noise", "shared"};

enum change {
	NOTHING,
	OP_NAME,
	OP_UNNAMED,
	OP_CALLS,
	OP_ADVANCE,
	OP_LESS,
	OP_MORE,
	FLAGS,
	GENERATOR,
	AXIS,
	AXIS_NAME,
	PENDING_LESS,
	CHANGES
};

/* A context that has its two generators and nothing else. */
struct bare {
	struct philox_context *context;
	struct philox_generator *second;
};

static struct bare new_bare(struct fixture *f)
{
	struct bare bare;

	OK(philox_context_create(f->device, &bare.context));
	OK(philox_generator_create(bare.context, OTHER_SEED, &bare.second));
	OK(philox_generator_seed(philox_context_generator(bare.context), SEED));
	return bare;
}

static enum philox_status try_make(const struct bare *bare, enum kind kind,
				   enum change change,
				   struct philox_region **region)
{
	static const char *const axes[] = {"tensor", "data"};
	static const char *const others[] = {"tensor", "rows"};
	struct philox_op_desc ops[OPS + 1] = {
		{"first", 0, 0}, {"second", 2, 0}, {"third", 1, 4}};
	struct philox_region_desc options = {
		.size = sizeof(options),
		.name = names[kind],
		.ops = ops,
		.n_ops = OPS + (change == OP_MORE) - (change == OP_LESS),
		.generator = kind == SHARED ? bare->second : NULL,
		.pending = change == PENDING_LESS ? 1 : 5,
		.flags = kind == SHARED ? PHILOX_REGION_SHARED : 0};

	if (kind == NOISE) {
		options.differs = change == AXIS_NAME ? others : axes;
		options.n_differs = 2 - (change == AXIS);
	}
	if (change == OP_NAME || change == OP_UNNAMED)
		ops[1].name = change == OP_NAME ? "mask" : NULL;
	ops[1].calls += change == OP_CALLS;
	ops[1].advance = change == OP_ADVANCE ? 8 : 0;
	options.flags ^= change == FLAGS ? PHILOX_REGION_SHARED : 0;
	if (change == GENERATOR)
		options.generator = kind == SHARED ? NULL : bare->second;
	return philox_region_create(bare->context, &options, region);
}

static struct philox_region *make(const struct bare *bare, enum kind kind)
{
	struct philox_region *region;

	OK(try_make(bare, kind, NOTHING, &region));
	return region;
}

static struct philox_ticket step(struct philox_region *region)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, NULL, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

/* Three forwards each, of which the second is over. */
static void live(const struct bare *bare)
{
	for (enum kind kind = LAYER; kind < KINDS; kind++) {
		struct philox_region *region = make(bare, kind);

		step(region);
		OK(philox_ticket_release(region, NULL, step(region)));
		step(region);
	}
}

static char *text_of(struct philox_context *context)
{
	char *text;

	OK(philox_context_save_text(context, &text, NULL));
	return text;
}

static char *good_text(struct fixture *f)
{
	struct bare bare = new_bare(f);
	char *text;

	live(&bare);
	text = text_of(bare.context);
	philox_context_destroy(bare.context);
	return text;
}

static enum philox_status load_ahead(const struct bare *bare, const char *text)
{
	return philox_context_load_text_flags(bare->context, text, strlen(text),
					      PHILOX_LOAD_AHEAD);
}

/* A context into which a text was loaded ahead of its regions. */
static struct bare loaded(struct fixture *f, const char *text)
{
	struct bare bare = new_bare(f);

	OK(load_ahead(&bare, text));
	return bare;
}

static uint64_t digest_of(struct philox_context *context)
{
	uint64_t digest;

	OK(philox_context_digest(context, &digest));
	return digest;
}

static void says(struct philox_context *context, const char *text,
		 const char *when)
{
	char *now = text_of(context);

	cr_assert_str_eq(now, text, "%s:\n%s\nis not\n%s", when, now, text);
	free(now);
}

/* The names of the kinds in `mask`, and no others. */
static void unclaimed(struct philox_context *context, unsigned mask)
{
	const char *found[KINDS + 1];
	size_t n, at = 0;

	OK(philox_context_unclaimed(context, found, KINDS + 1, &n));
	for (unsigned kind = 0; kind < KINDS; kind++) {
		if (!(mask >> kind & 1))
			continue;
		cr_assert(at < n, "%s is not listed", names[kind]);
		cr_assert_str_eq(found[at++], names[kind]);
	}
	cr_assert_eq(n, at, "%zu are unclaimed, not %zu", n, at);
}

enum { ALL = (1 << KINDS) - 1 };

/* --- the text is kept ----------------------------------------------------- */

PROMISE(ahead, a_save_says_what_was_loaded_whoever_has_claimed_what)
{
	char *text = good_text(f);

	for (unsigned k = 0; k < factorial(KINDS); k++) {
		struct bare bare = loaded(f, text);
		uint64_t digest = digest_of(bare.context);
		unsigned order[KINDS], left = ALL;

		permutation(k, KINDS, order);
		unclaimed(bare.context, left);
		says(bare.context, text, "nothing is claimed");
		for (unsigned i = 0; i < KINDS; i++) {
			make(&bare, (enum kind)order[i]);
			left &= ~(1u << order[i]);
			unclaimed(bare.context, left);
			says(bare.context, text, names[order[i]]);
			cr_assert_eq(digest_of(bare.context), digest);
		}
		philox_context_destroy(bare.context);
	}
	free(text);
}

PROMISE(ahead, the_digest_is_that_of_the_saved_context)
{
	struct bare saved = new_bare(f), later;
	char *text;

	live(&saved);
	text = text_of(saved.context);
	later = loaded(f, text);
	cr_assert_eq(digest_of(later.context), digest_of(saved.context));
	philox_context_destroy(saved.context);
	philox_context_destroy(later.context);
	free(text);
}

/* Along nothing but the text: a context, and one that loaded what it saved. */
PROMISE(ahead, a_save_while_some_are_unclaimed_loses_nothing)
{
	char *text = good_text(f), *again;
	struct bare first = loaded(f, text), second;
	struct philox_ticket ticket = {.serial = 1};

	OK(philox_ticket_release(make(&first, LAYER), NULL,
				 (struct philox_ticket){fnv1a("layer"), 1}));
	again = text_of(first.context);
	second = loaded(f, again);
	unclaimed(second.context, ALL);
	ticket.region_key = fnv1a("shared");
	OK(philox_ticket_release(make(&second, SHARED), NULL, ticket));
	ticket.region_key = fnv1a("layer");
	FAILS(philox_ticket_release(make(&second, LAYER), NULL, ticket),
	      PHILOX_ERROR_RELEASED);
	philox_context_destroy(first.context);
	philox_context_destroy(second.context);
	free(again);
	free(text);
}

/* --- the region that is made is the saved one ------------------------------ */

static struct philox_ticket ticket_of(const char *name, uint64_t serial)
{
	return (struct philox_ticket){fnv1a(name), serial};
}

/* By the formulas of the headers: the text has three forwards of it. */
static void goes_on_as(struct fixture *f, struct philox_region *region,
		       const char *name)
{
	struct forward next;

	PENDING(region, 2);
	SAME(backward_numbers(f, region, ticket_of(name, 3),
			      PHILOX_PASS_RETAIN),
	     predict(SEED, name, 8), "a ticket of the text");
	SAME(backward_numbers(f, region, ticket_of(name, 3), 0),
	     predict(SEED, name, 8), "the same once more");
	next = forward(f, region);
	cr_assert_eq(next.ticket.serial, 4);
	SAME(next.saw, predict(SEED, name, 12), "its next forward");
	SAME(backward_numbers(f, region, ticket_of(name, 1), 0),
	     predict(SEED, name, 0), "the oldest ticket");
	FAILS(philox_ticket_release(region, NULL, ticket_of(name, 2)),
	      PHILOX_ERROR_RELEASED);
	PENDING(region, 1);
}

PROMISE(ahead, a_region_made_later_goes_on_as_the_saved_one)
{
	char *text = good_text(f);
	struct bare bare = loaded(f, text);
	struct philox_context *own = f->context;
	struct philox_region *other;

	f->context = bare.context;
	other = make_region(f, "other"); /* of which the text knows nothing */
	SAME(forward(f, other).saw, predict(SEED, "other", 0), "it is new");
	goes_on_as(f, make(&bare, LAYER), "layer");
	goes_on_as(f, make(&bare, NOISE), "noise"); /* no mesh: as others */
	f->context = own;
	philox_context_destroy(bare.context);
	free(text);
}

/* It draws from its generator, which goes on whether it is there or not. */
PROMISE(ahead, a_shared_region_goes_on_where_its_generator_is)
{
	char *text = good_text(f);
	struct bare bare = loaded(f, text);
	struct philox_state state, of_ticket;
	struct philox_region *region;

	OK(philox_generator_get_state(bare.second, &state));
	cr_assert_eq(state.offset, 3 * 4 * SITES);
	OK(philox_generator_advance(bare.second, 8, NULL));
	region = make(&bare, SHARED);
	cr_assert_eq(step(region).serial, 4);
	OK(philox_ticket_state(region, ticket_of("shared", 4), 0, 0,
			       &of_ticket));
	cr_assert_eq(of_ticket.seed, OTHER_SEED);
	cr_assert_eq(of_ticket.offset, 3 * 4 * SITES + 8);
	OK(philox_ticket_state(region, ticket_of("shared", 1), 0, 0,
			       &of_ticket));
	cr_assert_eq(of_ticket.offset, 0);
	philox_context_destroy(bare.context);
	free(text);
}

PROMISE(ahead, a_claimed_region_has_the_room_that_its_options_say)
{
	char *text = good_text(f);
	struct bare bare = loaded(f, text);
	struct philox_region *region = make(&bare, LAYER);
	struct philox_pass pass;

	for (uint64_t serial = 4; serial < 7; serial++)
		cr_assert_eq(step(region).serial, serial);
	FAILS(philox_forward_begin(region, NULL, 0, &pass), PHILOX_ERROR_LIMIT);
	NAMES("pending is 5");
	for (uint64_t serial = 1; serial < 7; serial++)
		if (serial != 2)
			OK(philox_ticket_release(region, NULL,
						 ticket_of("layer", serial)));
	PENDING(region, 0);
	for (int i = 0; i < 5; i++)
		step(region);
	PENDING(region, 5);
	philox_context_destroy(bare.context);
	free(text);
}

PROMISE(ahead, a_new_seed_restarts_what_is_unclaimed)
{
	char *text = good_text(f);
	struct bare bare = loaded(f, text);
	struct philox_context *own = f->context;
	struct philox_region *region;
	struct forward next;

	f->context = bare.context;
	OK(philox_generator_seed(philox_context_generator(bare.context), 9));
	region = make(&bare, LAYER);
	SAME(backward_numbers(f, region, ticket_of("layer", 1), 0),
	     predict(SEED, "layer", 0), "tickets keep their numbers");
	next = forward(f, region);
	cr_assert_eq(next.ticket.serial, 4);
	SAME(next.saw, predict(9, "layer", 0), "the new run");
	f->context = own;
	philox_context_destroy(bare.context);
	free(text);
}

PROMISE(ahead, a_generator_of_unclaimed_regions_stays)
{
	char *text = good_text(f);
	struct bare bare = loaded(f, text);

	FAILS(philox_generator_destroy(bare.second), PHILOX_ERROR_BUSY);
	NAMES("1 region");
	OK(philox_region_destroy(make(&bare, SHARED)));
	OK(philox_generator_destroy(bare.second));
	philox_context_destroy(bare.context);
	free(text);
}

GRAPH_PROMISE(ahead, a_region_is_claimed_during_a_capture)
{
	char *text = good_text(f);
	struct bare bare = loaded(f, text);
	struct philox_context *own = f->context;
	struct philox_region *region;
	struct philox_graph *graph;
	struct forward made;
	uint32_t *array = make_array(f);

	f->context = bare.context;
	record_begin(f);
	region = make(&bare, LAYER);
	captured_forward(f, region, 0, array);
	graph = record_end(f);
	made = launch_forward(f, graph, region, array);
	SAME(made.saw, predict(SEED, "layer", 12), "the first launch");
	made = launch_forward(f, graph, region, array);
	SAME(made.saw, predict(SEED, "layer", 16), "the next one");
	cr_assert_eq(made.ticket.serial, 5);
	PENDING(region, 4);
	f->context = own;
	philox_context_destroy(bare.context);
	free(text);
}

/* --- on a mesh ------------------------------------------------------------- */

/* With the checksum that its lines have. */
static char *signed_text(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from), *last = strstr(text, "checksum ");
	char *made, *whole;

	cr_assert(at && last, "'%s' is not in the text", from);
	cr_assert(asprintf(&made, "%.*s%s%.*s", (int)(at - text), text, to,
			   (int)(last - at - (long)strlen(from)),
			   at + strlen(from)) > 0);
	cr_assert(asprintf(&whole, "%schecksum %016" PRIx64 " bytes %zu\n",
			   made, fnv1a(made), strlen(made)) > 0);
	free(made);
	return whole;
}

static struct bare new_rank(struct fixture *f)
{
	const struct philox_mesh mesh = mesh_of("data=1/2 tensor=2/3");
	struct bare bare = new_bare(f);

	OK(philox_context_set_mesh(bare.context, &mesh));
	return bare;
}

PROMISE(ahead, a_rank_claims_what_differs_and_what_others_have_issued)
{
	const struct philox_mesh mesh = mesh_of("data=1/2 tensor=2/3");
	const struct along along = {{"data", "tensor"}, 2};
	struct bare saved = new_rank(f), later = new_rank(f);
	struct philox_region *noise;
	struct philox_state state;
	char *plain, *text;

	live(&saved);
	plain = text_of(saved.context);
	text = signed_text(plain, "differs \"tensor\"\n",
			   "differs \"tensor\"\nissued 40 serial 9\n");
	OK(load_ahead(&later, text));
	noise = make(&later, NOISE);
	says(later.context, text, "what others have issued is kept");
	OK(philox_ticket_state(noise, ticket_of("noise", 3), 0, 0, &state));
	cr_assert_eq(
		state.seed,
		model_op(model_region(SEED, "noise", &mesh, &along), 0, 0));
	cr_assert_eq(state.offset, 8);
	OK(philox_region_destroy(noise));
	noise = make(&later, NOISE); /* of another life, after all that is */
	cr_assert_eq(step(noise).serial, 9);
	philox_context_destroy(saved.context);
	philox_context_destroy(later.context);
	free(plain);
	free(text);
}

PROMISE(ahead, the_text_of_another_place_is_refused)
{
	struct bare saved = new_rank(f), later = new_bare(f);
	char *text;

	live(&saved);
	text = text_of(saved.context);
	FAILS(load_ahead(&later, text), PHILOX_ERROR_MISMATCH);
	NAMES("mesh");
	unclaimed(later.context, 0);
	philox_context_destroy(saved.context);
	philox_context_destroy(later.context);
	free(text);
}

/* --- names that the context knows ------------------------------------------ */

/* A region that was destroyed is one that the context does not have. */
PROMISE(ahead, a_destroyed_region_is_claimed_again_and_its_pointer_is_stale)
{
	char *text = good_text(f);
	struct bare bare = new_bare(f);
	struct philox_region *dead = make(&bare, LAYER), *region;
	size_t n;

	for (int i = 0; i < 6; i++)
		OK(philox_ticket_release(dead, NULL, step(dead)));
	OK(philox_region_destroy(dead));
	OK(load_ahead(&bare, text));
	unclaimed(bare.context, ALL);
	FAILS(philox_region_pending_count(dead, &n), PHILOX_ERROR_STALE);
	cr_assert_eq(philox_region_cell_count(dead), 0);
	cr_assert_eq(philox_region_cell_index(dead, 0, 0), SIZE_MAX);
	region = make(&bare, LAYER);
	PENDING(region, 2);
	cr_assert_eq(step(region).serial, 7, "serials never go back");
	FAILS(philox_ticket_release(region, NULL, ticket_of("layer", 6)),
	      PHILOX_ERROR_RELEASED);
	philox_context_destroy(bare.context);
	free(text);
}

PROMISE(ahead, regions_that_are_there_are_loaded_at_once)
{
	char *text = good_text(f);
	struct bare bare = new_bare(f);
	struct philox_region *layer = make(&bare, LAYER);

	step(layer);
	OK(load_ahead(&bare, text));
	unclaimed(bare.context, ALL & ~(1u << LAYER));
	PENDING(layer, 2);
	says(bare.context, text, "one is there");
	philox_context_destroy(bare.context);
	free(text);
}

PROMISE(ahead, a_region_that_is_destroyed_after_all_is_destroyed_in_the_text)
{
	char *text = good_text(f), *after;
	struct bare bare = loaded(f, text), strict = new_bare(f);

	OK(philox_region_destroy(make(&bare, LAYER)));
	make(&bare, NOISE);
	make(&bare, SHARED);
	free(text);
	text = text_of(bare.context);
	cr_assert(strstr(text, "region \"layer\" destroyed generator 0 next"));
	make(&strict, NOISE);
	make(&strict, SHARED);
	OK(philox_context_load_text(strict.context, text, strlen(text)));
	after = text_of(strict.context);
	cr_assert_str_eq(after, text);
	philox_context_destroy(bare.context);
	philox_context_destroy(strict.context);
	free(after);
	free(text);
}

/* --- loads after it --------------------------------------------------------- */

struct drops {
	unsigned times;
	char text[256];
};

static void see_drops(void *user, const struct philox_log_entry *entry)
{
	struct drops *drops = user;

	if (strcmp(entry->event, "dropped by load") != 0)
		return;
	drops->times++;
	snprintf(drops->text, sizeof(drops->text), "%s", entry->text);
}

/* A text of a context that has nothing of what is unclaimed. */
PROMISE(ahead, the_next_load_drops_what_is_unclaimed)
{
	char *text = good_text(f), *bare_text, *again;
	struct bare bare = new_bare(f);
	struct drops drops = {0};
	struct philox_region *region;

	bare_text = text_of(bare.context);
	OK(load_ahead(&bare, text));
	OK(philox_context_set_log(bare.context, see_drops, &drops));
	OK(philox_context_load_text(bare.context, bare_text,
				    strlen(bare_text)));
	unclaimed(bare.context, 0);
	cr_assert_eq(drops.times, KINDS);
	cr_assert(strstr(drops.text, "2 tickets that were pending"), "%s",
		  drops.text);
	OK(philox_generator_destroy(bare.second)); /* nothing needs it */
	region = make(&bare, LAYER);
	PENDING(region, 0);
	cr_assert_eq(step(region).serial, 4, "serials never go back");
	again = text_of(bare.context);
	cr_assert_null(strstr(again, "\nticket 1 "), "%s", again);
	philox_context_destroy(bare.context);
	free(again);
	free(bare_text);
	free(text);
}

PROMISE(ahead, the_next_load_ahead_takes_its_place)
{
	char *text = good_text(f), *other;
	struct bare bare = loaded(f, text), first = new_bare(f);
	struct philox_region *layer = make(&first, LAYER);

	step(layer);
	other = text_of(first.context);
	OK(load_ahead(&bare, other));
	unclaimed(bare.context, 1u << LAYER);
	/* The names that this text does not have are destroyed ones by now */
	layer = make(&bare, LAYER);
	PENDING(layer, 1);
	OK(load_ahead(&bare, text));
	unclaimed(bare.context, ALL & ~(1u << LAYER));
	says(bare.context, text, "the first text again");
	philox_context_destroy(first.context);
	philox_context_destroy(bare.context);
	free(other);
	free(text);
}

PROMISE(ahead, a_load_without_the_flag_is_as_strict_as_ever)
{
	char *text = good_text(f);
	struct bare bare = new_bare(f);

	SAYS(philox_context_load_text(bare.context, text, strlen(text)),
	     PHILOX_ERROR_MISMATCH,
	     "region 'layer' of the text is not in the context");
	FAILS(philox_context_load_text_flags(bare.context, text, strlen(text),
					     0),
	      PHILOX_ERROR_MISMATCH);
	unclaimed(bare.context, 0);
	OK(load_ahead(&bare, text));
	SAYS(philox_context_load_text(bare.context, text, strlen(text)),
	     PHILOX_ERROR_MISMATCH,
	     "region 'layer' of the text is not in the context");
	unclaimed(bare.context, ALL);
	says(bare.context, text, "the load that was refused");
	for (enum kind kind = LAYER; kind < KINDS; kind++)
		make(&bare, kind);
	OK(philox_context_load_text(bare.context, text, strlen(text)));
	philox_context_destroy(bare.context);
	free(text);
}

PROMISE(ahead, a_file_is_loaded_as_its_text)
{
	char path[] = "/tmp/philox-ahead-XXXXXX", *text = good_text(f);
	struct bare bare = loaded(f, text), later = new_bare(f);
	int file = mkstemp(path);

	cr_assert_geq(file, 0);
	OK(philox_context_save(bare.context, path));
	FAILS(philox_context_load_flags(later.context, path, 0),
	      PHILOX_ERROR_MISMATCH);
	NAMES(path);
	OK(philox_context_load_flags(later.context, path, PHILOX_LOAD_AHEAD));
	unclaimed(later.context, ALL);
	says(later.context, text, "the file");
	philox_context_destroy(bare.context);
	philox_context_destroy(later.context);
	remove(path);
	free(text);
}

/* --- refusals ---------------------------------------------------------------- */

static const struct {
	enum kind kind;
	enum change change;
	const char *thing, *field;
} changes[] = {
	{LAYER, OP_NAME, "op 1", "name is 'second' in the text, 'mask' in"},
	{LAYER, OP_UNNAMED, "op 1", "'(unnamed)' in the context"},
	{LAYER, OP_CALLS, "op 1", "calls is 2 in the text, 3 in"},
	{LAYER, OP_ADVANCE, "op 1", "advance is 4 in the text, 8 in"},
	{LAYER, OP_LESS, "", "number of ops is 3 in the text, 2 in"},
	{LAYER, OP_MORE, "", "number of ops is 3 in the text, 4 in"},
	{LAYER, FLAGS, "", "flags is 0 in the text, 1 in the context"},
	{SHARED, FLAGS, "", "flags is 1 in the text, 0 in the context"},
	{LAYER, GENERATOR, "", "generator is 0 in the text, 1 in the context"},
	{SHARED, GENERATOR, "", "generator is 1 in the text, 0 in"},
	{NOISE, AXIS, "", "differs along axis 'data' in the text, not in"},
	{NOISE, AXIS_NAME, "", "differs along axis 'data' in the text"},
	{LAYER, PENDING_LESS, "", "2 tickets are pending in the text"},
};

PROMISE(ahead, a_region_that_is_not_the_saved_one_is_refused_by_name)
{
	char *text = good_text(f);
	struct bare bare = loaded(f, text);

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct philox_region *region = NULL;
		char name[32];

		snprintf(name, sizeof(name), "region '%s'",
			 names[changes[i].kind]);
		FAILS(try_make(&bare, changes[i].kind, changes[i].change,
			       &region),
		      PHILOX_ERROR_MISMATCH);
		NAMES(name);
		NAMES(changes[i].thing);
		NAMES(changes[i].field);
		cr_assert_null(region);
		unclaimed(bare.context, ALL);
		says(bare.context, text, changes[i].field);
	}
	for (enum kind kind = LAYER; kind < KINDS; kind++)
		make(&bare, kind);
	unclaimed(bare.context, 0);
	says(bare.context, text, "all are claimed");
	philox_context_destroy(bare.context);
	free(text);
}

PROMISE(ahead, a_claimed_name_is_taken)
{
	char *text = good_text(f);
	struct bare bare = loaded(f, text);
	struct philox_region *region;

	make(&bare, LAYER);
	FAILS(try_make(&bare, LAYER, NOTHING, &region), PHILOX_ERROR_EXISTS);
	philox_context_destroy(bare.context);
	free(text);
}

/* A load ahead forgives what the context lacks, and regions alone. */
PROMISE(ahead, what_the_text_lacks_is_a_difference)
{
	char *text = good_text(f);
	struct bare bare = new_bare(f);
	struct philox_generator *third;
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct philox_rows *rows;

	OK(philox_generator_create(bare.context, 0, &third));
	FAILS(load_ahead(&bare, text), PHILOX_ERROR_MISMATCH);
	NAMES("2 generators, the context 3");
	OK(philox_generator_destroy(third));
	options.name = "rows";
	options.count = 2;
	OK(philox_rows_create(bare.context, &options, &rows));
	FAILS(load_ahead(&bare, text), PHILOX_ERROR_MISMATCH);
	NAMES("rows 'rows' of the context are not in the text");
	OK(philox_rows_destroy(rows));
	make_region_of(bare.context, "more", 0, NULL);
	FAILS(load_ahead(&bare, text), PHILOX_ERROR_MISMATCH);
	NAMES("region 'more' of the context is not in the text");
	unclaimed(bare.context, 0);
	philox_context_destroy(bare.context);
	free(text);
}

/* Lines that are spelled right, of regions that no program can make. */
static const struct {
	const char *from, *to, *what;
} impossible[] = {
	{"generator 0 flags 0", "generator 0 flags 2", "flags 0x2"},
	{"\"layer\"", "\"l\\x07yer\"", "control character"},
	{"op \"first\"", "op \"f\\x0arst\"", "control character"},
	{"op \"second\" calls 2 advance 4",
	 "op \"second\" calls 1048000 advance 72057594037927936",
	 "advance by more than 2^60 words"},
};

PROMISE(ahead, a_region_that_cannot_be_is_refused_with_its_line)
{
	char *text = good_text(f);
	struct bare bare = new_bare(f);

	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]);
	     i++) {
		char *bad =
			signed_text(text, impossible[i].from, impossible[i].to);

		FAILS(load_ahead(&bare, bad), PHILOX_ERROR_INVALID);
		NAMES("line 4: ");
		NAMES(impossible[i].what);
		unclaimed(bare.context, 0);
		free(bad);
	}
	OK(load_ahead(&bare, text));
	philox_context_destroy(bare.context);
	free(text);
}

PROMISE(ahead, flags_are_known_and_nothing_is_null)
{
	char *text = good_text(f);
	struct bare bare = new_bare(f);
	const char *name;
	size_t n;

	SAYS(philox_context_load_text_flags(bare.context, text, strlen(text),
					    2),
	     PHILOX_ERROR_INVALID,
	     "load: flags 0x2 is not 0 or PHILOX_LOAD_AHEAD");
	SAYS(philox_context_load_flags(bare.context, "there", 6),
	     PHILOX_ERROR_INVALID,
	     "load: flags 0x6 is not 0 or PHILOX_LOAD_AHEAD");
	FAILS(philox_context_load_text_flags(NULL, text, 0, 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_context_load_text_flags(bare.context, NULL, 0, 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_context_load_flags(NULL, "there", 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_context_load_flags(bare.context, NULL, 0),
	      PHILOX_ERROR_INVALID);
	SAYS(philox_context_unclaimed(NULL, NULL, 0, &n), PHILOX_ERROR_INVALID,
	     "context is NULL");
	SAYS(philox_context_unclaimed(bare.context, NULL, 1, &n),
	     PHILOX_ERROR_INVALID, "names is NULL");
	SAYS(philox_context_unclaimed(bare.context, &name, 1, NULL),
	     PHILOX_ERROR_INVALID, "n_names is NULL");
	OK(load_ahead(&bare, text));
	OK(philox_context_unclaimed(bare.context, &name, 1, &n));
	cr_assert_eq(n, KINDS);
	cr_assert_str_eq(name, "layer");
	philox_context_destroy(bare.context);
	free(text);
}

/* --- no memory ---------------------------------------------------------------- */

PROMISE(ahead, a_load_that_there_is_no_memory_for_changes_nothing)
{
	char *text = good_text(f);
	struct bare bare = new_bare(f);
	char *before;
	uint64_t n;

	OK(philox_region_destroy(make(&bare, LAYER)));
	before = text_of(bare.context);
	for (n = 1; allocations_fail(n); n++) {
		enum philox_status status = load_ahead(&bare, text);

		allocations_fail(0);
		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_MEMORY, "%s",
			     philox_error_message());
		says(bare.context, before, "no memory to load");
		unclaimed(bare.context, 0);
	}
	if (allocations_fail(0)) {
		cr_assert_gt(n, 40, "%d allocations", (int)n);
		unclaimed(bare.context, ALL);
		says(bare.context, text, "loaded in the end");
	}
	philox_context_destroy(bare.context);
	free(before);
	free(text);
}

PROMISE(ahead, a_region_that_there_is_no_memory_for_stays_unclaimed)
{
	char *text = good_text(f);

	for (enum kind kind = LAYER; kind < KINDS; kind++) {
		struct bare bare = loaded(f, text);
		struct philox_region *region = NULL;
		uint64_t n;

		for (n = 1; allocations_fail(n); n++) {
			enum philox_status status =
				try_make(&bare, kind, NOTHING, &region);

			allocations_fail(0);
			if (status == PHILOX_OK)
				break;
			cr_assert_eq(status, PHILOX_ERROR_MEMORY, "%s",
				     philox_error_message());
			cr_assert_null(region);
			unclaimed(bare.context, ALL);
			says(bare.context, text, "no memory to claim");
		}
		if (allocations_fail(0)) {
			cr_assert_gt(n, 10, "%d allocations", (int)n);
			unclaimed(bare.context, ALL & ~(1u << kind));
			says(bare.context, text, "claimed in the end");
		}
		philox_context_destroy(bare.context);
	}
	free(text);
}

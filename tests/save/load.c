/*
 * tests/save/load.c - a text that is not of this context is refused, with a
 * line or a difference named, and nothing changes
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/support.h"

/* --- a context with one of everything ------------------------------------- */

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
	GENERATOR_LESS,
	GENERATOR_MORE,
	REGION_LESS,
	REGION_MORE,
	REGION_NAME,
	REGION_DESTROYED,
	REGION_REMADE,
	PENDING_LESS,
	CHANGES
};

/* A change, and what the message names. */
static const struct {
	enum change change;
	const char *thing, *field;
} changes[] = {
	{OP_NAME, "region 'layer', op 1", "name is 'mask' in the text"},
	{OP_UNNAMED, "region 'layer', op 1", "'(unnamed)' in the context"},
	{OP_CALLS, "region 'layer', op 1", "calls is 2 in the text, 3 in"},
	{OP_ADVANCE, "region 'layer', op 1", "advance is 8 in the text, 4 in"},
	{OP_LESS, "region 'layer'", "number of ops is 2 in the text, 1 in"},
	{OP_MORE, "region 'layer'", "number of ops is 2 in the text, 3 in"},
	{FLAGS, "region 'layer'", "flags is 0 in the text, 1 in the context"},
	{GENERATOR, "region 'layer'", "generator is 1 in the text, 0 in"},
	{GENERATOR_LESS, "generators",
	 "the text has 3 generators, the context 2"},
	{GENERATOR_MORE, "generators",
	 "the text has 3 generators, the context 4"},
	{REGION_LESS, "region 'layer'", "of the text is not in the context"},
	{REGION_MORE, "region 'more'", "of the context is not in the text"},
	{REGION_NAME, "region 'layer'", "of the text is not in the context"},
	{REGION_DESTROYED, "region 'layer'", "alive in the text, destroyed in"},
	{REGION_REMADE, "region 'gone'", "destroyed in the text, alive in"},
	{PENDING_LESS, "region 'layer'", "3 tickets are pending in the text"},
};

_Static_assert(sizeof(changes) / sizeof(changes[0]) == CHANGES - 1,
	       "each change is tried");

static struct philox_region *make(struct philox_context *context,
				  const char *name,
				  struct philox_generator *generator,
				  enum change change)
{
	struct philox_op_desc ops[3] = {{"first", 1, 4}, {"mask", 2, 8}, {0}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = ops,
					     .n_ops = 2,
					     .generator = generator,
					     .pending = 3};
	struct philox_region *region;

	ops[1].name = change == OP_NAME      ? "other"
		      : change == OP_UNNAMED ? NULL
					     : "mask";
	ops[1].calls += change == OP_CALLS;
	ops[1].advance -= change == OP_ADVANCE ? 4 : 0;
	options.n_ops = change == OP_LESS ? 1 : change == OP_MORE ? 3 : 2;
	options.flags = change == FLAGS ? PHILOX_REGION_SHARED : 0;
	options.generator = change == GENERATOR ? NULL : generator;
	options.pending -= change == PENDING_LESS;
	OK(philox_region_create(context, &options, &region));
	return region;
}

static void pass(struct philox_region *region, int n)
{
	struct philox_ticket ticket;
	struct philox_pass open;

	while (n--) {
		OK(philox_forward_begin(region, NULL, 0, &open));
		OK(philox_pass_commit(&open, 0, &ticket));
	}
}

static void populate(struct philox_context *context, enum change change,
		     int passes)
{
	struct philox_generator *made[3] = {0};
	struct philox_region *region;

	for (int i = 0;
	     i < 2 + (change == GENERATOR_MORE) - (change == GENERATOR_LESS);
	     i++)
		OK(philox_generator_create(context, 7, &made[i]));
	region = make(context, "gone", NULL, NOTHING);
	pass(region, passes);
	if (change != REGION_REMADE)
		OK(philox_region_destroy(region));
	pass(make(context, "block", NULL, NOTHING), passes);
	if (change == REGION_MORE)
		make(context, "more", NULL, NOTHING);
	if (change == REGION_LESS)
		return;
	region = make(context, change == REGION_NAME ? "player" : "layer",
		      made[0], change);
	pass(region, passes < 3 ? passes : 3 - (change == PENDING_LESS));
	if (change == REGION_DESTROYED)
		OK(philox_region_destroy(region));
}

static char *text_of(struct philox_context *context)
{
	char *text;

	OK(philox_context_save_text(context, &text, NULL));
	return text;
}

/* A text of `populate(..., NOTHING, 3)`. */
static char *good_text(struct fixture *f)
{
	struct philox_context *context;
	char *text;

	OK(philox_context_create(f->device, &context));
	populate(context, NOTHING, 3);
	text = text_of(context);
	philox_context_destroy(context);
	return text;
}

/* The fixture's context refuses a text and does not change. */
static void refuses(struct fixture *f, const char *text, size_t size,
		    enum philox_status expected)
{
	char *before = text_of(f->context), *after;

	FAILS(philox_context_load_text(f->context, text, size), expected);
	after = text_of(f->context);
	cr_assert_str_eq(after, before, "the context changed");
	free(before);
	free(after);
}

/* --- damage --------------------------------------------------------------- */

PROMISE(load, refuses_a_text_cut_at_any_byte)
{
	char *text = good_text(f);
	size_t size = strlen(text);

	populate(f->context, NOTHING, 1);
	for (size_t cut = 0; cut < size; cut++) {
		/*
		 * Its own memory, so that a sanitizer sees a read past the end
		 */
		char *part = malloc(cut + 1);

		memcpy(part, text, cut);
		part = realloc(part, cut ? cut : 1);
		refuses(f, part, cut, PHILOX_ERROR_INVALID);
		NAMES("line ");
		NAMES("where the text ends");
		free(part);
	}
	OK(philox_context_load_text(f->context, text, size));
	free(text);
}

PROMISE(load, refuses_a_text_with_any_bit_flipped)
{
	char *text = good_text(f);
	size_t size = strlen(text);

	populate(f->context, NOTHING, 1);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		enum philox_status status;

		text[bit / 8] ^= (char)(1 << bit % 8);
		/* In the number after "philox context" it is a newer version */
		status = text[15] > '5' && text[15] <= '9'
				 ? PHILOX_ERROR_UNSUPPORTED
				 : PHILOX_ERROR_INVALID;
		refuses(f, text, size, status);
		NAMES("line ");
		text[bit / 8] ^= (char)(1 << bit % 8);
	}
	OK(philox_context_load_text(f->context, text, size));
	free(text);
}

/* The text with its last line made right for the lines above. */
static void sign(char *text, size_t room)
{
	char *last = strstr(text, "checksum ");
	size_t size = strlen(text);

	if (last) {
		*last = '\0';
		size = (size_t)(last - text);
	}
	snprintf(text + size, room - size,
		 "checksum %016" PRIx64 " bytes %zu\n", fnv1a(text), size);
}

static void replace(const char *text, const char *from, const char *to,
		    char *changed, size_t room)
{
	const char *at = strstr(text, from);

	cr_assert(at, "'%s' is not in the text", from);
	cr_assert((size_t)snprintf(changed, room, "%.*s%s%s", (int)(at - text),
				   text, to, at + strlen(from)) < room);
}

/* The first `from` becomes `to`, and the message names the line and `what`. */
static const struct {
	const char *from, *to;
	int line;
	const char *named;
} damages[] = {
	{"philox context 1", "philox context 0", 1, "too small"},
	{"philox context 1", "philox context", 1, "'philox context '"},
	{"philox context 1\n", "", 1, "'philox context '"},
	{"philox context 1\n", "philox context 1\r\n", 1, "end of the line"},
	{"philox context 1", "philox context 99999999999999999999", 1,
	 "no further digit"},
	{"generator 0", "generator 1", 2, "generator 0 has to come first"},
	{"generator 1", "generator 0", 3, "generator 1 has to come first"},
	{"generator 1", "generator 4294967296", 3, "no further digit"},
	{"generator 1", "generator 01", 3, "no further digit"},
	{"generator 1", "generator ", 3, "a number"},
	{"generator 1", "generator -1", 3, "a number"},
	{"generator 1", "generator  1", 3, "a number"},
	{"generator 1", "\ngenerator 1", 3, "a known kind of line"},
	{"generator 1", "Generator 1", 3, "a known kind of line"},
	{"state 0000000000000007 ", "state 000000000000007 ", 3, "0-9 and a-f"},
	{"state 0000000000000007 ", "state 000000000000000A ", 3,
	 "0-9 and a-f"},
	{"state 0000000000000007 0000000000000000",
	 "state 0000000000000007 0000000000000002", 3, "not a multiple of 4"},
	{"state 0000000000000007 0000000000000000",
	 "state 0000000000000007 ffffffffffffffff", 3, "not a multiple of 4"},
	{"region \"block\"", "region block", 5, "'\"'"},
	{"region \"block\"", "region \"\"", 5, "without a name"},
	{"region \"block\"", "region \"hello\"", 11, "'gone' comes twice"},
	{"region \"block\"", "region \"gone\"", 11, "'gone' comes twice"},
	{"region \"block\"", "region \"blo\tck\"", 5, "printable"},
	{"region \"block\"", "region \"blo\\x6b\"", 5, "printable"},
	{"region \"block\"", "region \"blo\\x0A\"", 5, "printable"},
	{"region \"block\"", "region \"blo\\x00\"", 5, "printable"},
	{"region \"block\"", "region \"blo\\n\"", 5, "printable"},
	{"region \"block\"", "region \"blo\xc3\xbc\"", 5, "printable"},
	{"\" alive", "\" undead", 5, "' destroyed'"},
	{"generator 0 flags", "generator 3 flags", 5, "no generator 3"},
	{"generator 0 flags", "generator 4294967295 flags", 5,
	 "no further digit"},
	{"generator 0 flags", "generator none flags", 5, "a number"},
	{"flags 0", "flags 4294967296", 5, "no further digit"},
	{"destroyed", "destroyed flags 0", 11, "' generator '"},
	{"0000000000000018 serial 4", "0000000000000019 serial 4", 5,
	 "not a multiple of 4"},
	{"serial 4", "serial 0", 5, "too small"},
	{"serial 4", "serial 9223372036854775808", 5, "no further digit"},
	{"serial 4", "serial 18446744073709551616", 5, "no further digit"},
	{"serial 4", "serial 3", 10, "ticket 3 is not below"},
	{"op \"first\"", "op", 6, "'\"'"},
	{"op \"first\"", "op first", 6, "'\"'"},
	{"calls 1", "calls 0", 6, "too small"},
	{"calls 1", "calls 1048577", 6, "no further digit"},
	{"calls 1", "calls 1048576", 7, "more than 1048576 calls"},
	{"calls 1", "calls 4294967297", 6, "no further digit"},
	{"advance 4", "advance 0", 6, "too small"},
	{"advance 4", "advance 6", 6, "not a multiple of 4"},
	{"advance 4", "advance 72057594037927940", 6, "no further digit"},
	{"ticket 1", "ticket 0", 8, "too small"},
	{"ticket 1", "ticket 2", 9, "ticket 2 comes twice"},
	{"ticket 1", "ticket 9223372036854775809", 8, "no further digit"},
	{"ticket 3", "ticket 4", 10, "ticket 4 is not below"},
	{"ticket 1", "op - calls 1 advance 4\nticket 1", 0, NULL},
	{"ticket 2", "op - calls 1 advance 4\nticket 2", 9,
	 "an op after a ticket"},
	{"region \"block\"", "op - calls 1 advance 4\nregion \"block\"", 5,
	 "no region for it"},
	{"region \"block\"",
	 "ticket 1 state 0000000000000007 0000000000000000\nregion \"block\"",
	 5, "no region for it"},
	{"region \"layer\"", "op - calls 1 advance 4\nregion \"layer\"", 12,
	 "no region for it"},
	{"region \"layer\"",
	 "region \"in\" alive generator 0 flags 0 next 0000000000000007 "
	 "0000000000000000 serial 1\nregion \"layer\"",
	 13, "'in' above has no ops"},
	{"region \"layer\"",
	 "region \"in\" alive generator 0 flags 0 next 0000000000000007 "
	 "0000000000000000 serial 2\n"
	 "ticket 1 state 0000000000000007 0000000000000000\nregion \"layer\"",
	 13, "without ops"},
};

PROMISE(load, refuses_malformed_lines_under_a_right_checksum)
{
	char *text = good_text(f), changed[4096];

	populate(f->context, NOTHING, 1);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char line[32];

		replace(text, damages[i].from, damages[i].to, changed,
			sizeof(changed));
		sign(changed, sizeof(changed));
		if (!damages[i].named) {
			/* Well-formed, but of another region */
			refuses(f, changed, strlen(changed),
				PHILOX_ERROR_MISMATCH);
			continue;
		}
		refuses(f, changed, strlen(changed), PHILOX_ERROR_INVALID);
		snprintf(line, sizeof(line), "line %d: ", damages[i].line);
		NAMES(line);
		NAMES(damages[i].named);
	}
	free(text);
}

PROMISE(load, refuses_two_names_of_one_hash)
{
	char *text = good_text(f), changed[4096];

	/* Both are 0x4eac0c95540867e4 */
	replace(text, "region \"block\"",
		"region \"8yn0iYCKYHlIj4-BwPqk\" destroyed generator none next "
		"0000000000000007 0000000000000000 serial 1\n"
		"region \"GReLUrM4wMqfg9yzV3KQ\" destroyed generator none next "
		"0000000000000007 0000000000000000 serial 1\nregion \"block\"",
		changed, sizeof(changed));
	cr_assert_eq(fnv1a("8yn0iYCKYHlIj4-BwPqk"),
		     fnv1a("GReLUrM4wMqfg9yzV3KQ"));
	sign(changed, sizeof(changed));
	populate(f->context, NOTHING, 1);
	refuses(f, changed, strlen(changed), PHILOX_ERROR_INVALID);
	NAMES("same hash");
	free(text);
}

PROMISE(load, refuses_a_text_without_generators)
{
	char text[128] = "philox context 1\n";

	sign(text, sizeof(text));
	refuses(f, text, strlen(text), PHILOX_ERROR_INVALID);
	NAMES("line 2: generator 0 has to come first");
}

PROMISE(load, refuses_bytes_that_follow_and_other_checksums)
{
	char *text = good_text(f), changed[4096];
	size_t size = strlen(text);

	populate(f->context, NOTHING, 1);
	refuses(f, text, size + 1, PHILOX_ERROR_INVALID);
	NAMES("1 byte after the checksum");
	snprintf(changed, sizeof(changed), "%s%s", text, text);
	refuses(f, changed, 2 * size, PHILOX_ERROR_INVALID);
	NAMES("bytes after the checksum");
	replace(text, "generator 0 state 0", "generator 0 state 1", changed,
		sizeof(changed));
	refuses(f, changed, size, PHILOX_ERROR_INVALID);
	NAMES("the checksum is of another text");
	replace(text, " bytes ", " bytes 1", changed, sizeof(changed));
	refuses(f, changed, size + 1, PHILOX_ERROR_INVALID);
	NAMES("bytes above, not 1");
	free(text);
}

PROMISE(load, says_that_a_version_is_newer)
{
	static const char *const newer[] = {
		"philox context 8\n", "philox context 10 and so on",
		"philox context 18446744073709551615"};

	populate(f->context, NOTHING, 1);
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		refuses(f, newer[i], strlen(newer[i]),
			PHILOX_ERROR_UNSUPPORTED);
		NAMES("the newest this library reads is 7");
	}
}

/* --- another shape -------------------------------------------------------- */

PROMISE(load, names_the_first_difference_of_shape)
{
	char *text = good_text(f);
	struct philox_context *own = f->context;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		OK(philox_context_create(f->device, &f->context));
		populate(f->context, changes[i].change, 2);
		refuses(f, text, strlen(text), PHILOX_ERROR_MISMATCH);
		NAMES(changes[i].thing);
		NAMES(changes[i].field);
		philox_context_destroy(f->context);
	}
	f->context = own;
	populate(f->context, NOTHING, 2);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	free(text);
}

PROMISE(load, refuses_a_name_with_the_hash_of_another)
{
	char *text = good_text(f), changed[4096];

	populate(f->context, NOTHING, 1);
	make(f->context, "8yn0iYCKYHlIj4-BwPqk", NULL, NOTHING);
	replace(text, "region \"block\"",
		"region \"GReLUrM4wMqfg9yzV3KQ\" destroyed generator none next "
		"0000000000000007 0000000000000000 serial 1\nregion \"block\"",
		changed, sizeof(changed));
	sign(changed, sizeof(changed));
	refuses(f, changed, strlen(changed), PHILOX_ERROR_MISMATCH);
	NAMES("has the hash of region '8yn0iYCKYHlIj4-BwPqk'");
	free(text);
}

static void count_drops(void *user, const struct philox_log_entry *entry)
{
	*(unsigned *)user += !strcmp(entry->event, "dropped by load");
}

/* The text has a destroyed name that the context does not, and more. */
PROMISE(load, takes_back_what_it_prepared)
{
	struct philox_generator *unused[2];
	char *text = good_text(f);
	unsigned drops = 0;

	for (int i = 0; i < 2; i++)
		OK(philox_generator_create(f->context, 0, &unused[i]));
	pass(make(f->context, "block", NULL, NOTHING), 2);
	OK(philox_context_set_log(f->context, count_drops, &drops));
	refuses(f, text, strlen(text), PHILOX_ERROR_MISMATCH);
	NAMES("region 'layer' of the text is not in the context");
	make(f->context, "layer", unused[0], NOTHING);
	philox_context_load_text(f->context, text, strlen(text) - 1);
	cr_assert_eq(drops, 0, "nothing was dropped");
	OK(philox_context_load_text(f->context, text, strlen(text)));
	cr_assert_eq(drops, 1, "the two tickets of 'block'");
	OK(philox_context_set_log(f->context, NULL, NULL));
	free(text);
}

PROMISE(load, takes_more_room_for_tickets_than_it_needs)
{
	char *text = good_text(f), *again;
	const struct philox_op_desc ops[] = {{"first", 1, 4}, {"mask", 2, 8}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = ops,
					     .n_ops = 2,
					     .pending = 1000};
	struct philox_generator *unused;
	struct philox_region *layer;

	OK(philox_generator_create(f->context, 0, &options.generator));
	OK(philox_region_create(f->context, &options, &layer));
	make(f->context, "block", NULL, NOTHING);
	OK(philox_generator_create(f->context, 0, &unused));
	OK(philox_context_load_text(f->context, text, strlen(text)));
	again = text_of(f->context);
	cr_assert_str_eq(again, text);
	PENDING(layer, 3);
	pass(layer, 997);
	PENDING(layer, 1000);
	free(text);
	free(again);
}

/* --- the corpus of the fuzz target ---------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

Test(load, survives_the_inputs_that_the_fuzz_target_found, .timeout = 120)
{
	const struct corpus run =
		corpus_each("tests/fuzz/corpus", LLVMFuzzerTestOneInput);

	cr_assert(run.inputs >= 10 && !run.read, "%zu inputs", run.inputs);
}

/*
 * tests/runner/plan/shared.c - keys of a plan whose bodies do the same share
 * what it says of that
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/allocations.h"
#include "tests/support/beds/runner_again.h"

/* --- a plan of one script and many keys ----------------------------------- */

static const char key_rest[] =
	"calls 1 warmups 0 dry 0 wasted 0 patience 0 recordings 0 unplayed 0 prepared 0 "
	"bytes 0 wait 0";

static const char head[] =
	"philox plan 2\n"
	"library \"%s\"\n"
	"runner live 0 mapped 0\n"
	"function \"same\" forward flags 0\n"
	"policy refused eager recordings 64 warmups 1 dry 0 retry 16 keys 0 "
	"verify 0 differs error bytes 68719476736\n"
	"waste wasted 0 patience 0\n"
	"script 0\n";

/* The body allocates so many times, 64 bytes; a key is 4 bytes of hex. */
static char *plan_of_many(unsigned steps, unsigned keys)
{
	char *text, *whole;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	fprintf(out, head, philox_version());
	for (unsigned i = 0; i < steps; i++)
		fputs("step alloc 64 alignment 0\n", out);
	for (unsigned i = 0; i < keys; i++)
		fprintf(out, "key %08x script 0 %s\n", i, key_rest);
	fclose(out);
	cr_assert(asprintf(&whole, "%schecksum %016" PRIx64 " bytes %zu\n",
			   text, fnv1a(text), size) > 0);
	free(text);
	return whole;
}

/* --- a function whose body does as it is told ----------------------------- */

struct same {
	struct philox_function *function;
	unsigned allocations;
	int again; /* one more warm-up */
};

static enum philox_status same_body(void *user, struct philox_run *run)
{
	const struct same *same = user;
	void *memory;

	for (unsigned i = 0; i < same->allocations; i++) {
		enum philox_status status =
			philox_run_alloc(run, 64, 0, "memory", &memory);

		if (status != PHILOX_OK)
			return status;
	}
	return same->again ? philox_run_again(run) : PHILOX_OK;
}

static void make_same(struct same *same, struct philox_runner *r)
{
	struct philox_function_desc options =
		PHILOX_INIT(struct philox_function_desc);

	options.name = "same";
	options.body = same_body;
	options.user = same;
	OK(philox_function_create(r, &options, &same->function));
}

static enum philox_status call_same(struct fixture *f, const struct same *same,
				    unsigned key)
{
	const unsigned char bytes[4] = {0, 0, 0, (unsigned char)key};
	struct philox_call call = PHILOX_INIT(struct philox_call);

	call.stream = f->stream;
	call.key = bytes;
	call.key_bytes = sizeof(bytes);
	return philox_function_call(same->function, &call);
}

/* --- what they take, and what they know ----------------------------------- */

RUNNER_PROMISE(runner_plan_shared, takes_memory_in_proportion_to_its_text)
{
	struct same same = {.allocations = 0};
	char *text = plan_of_many(3000, 3000), *again;
	const size_t size = strlen(text);
	size_t before, after;

	make_same(&same, r);
	before = bytes_in_use();
	OK(philox_plan_load_text(r, text, size));
	after = bytes_in_use();
	cr_assert_leq(after - before, 16 * size, "%zu bytes for a text of %zu",
		      after - before, size);
	again = plan_of(r);
	cr_assert_str_eq(again, text);
	free(again);
	/* a plan that takes its place gives that back */
	OK(philox_plan_load_text(r, text, size));
	cr_assert_leq(bytes_in_use() - before, 16 * size);
	free(text);
	text = plan_of_many(1, 1);
	OK(philox_plan_load_text(r, text, strlen(text)));
	cr_assert_lt(bytes_in_use(), before + 65536);
	free(text);
}

RUNNER_PROMISE(runner_plan_shared, each_key_knows_what_its_body_did)
{
	struct same same = {.allocations = 3};
	char *text = plan_of_many(2, 3);

	make_same(&same, r);
	OK(philox_plan_load_text(r, text, strlen(text)));
	FAILS(call_same(f, &same, 0), PHILOX_ERROR_MISMATCH);
	NAMES("step 2 of its body is an allocation of 64 bytes");
	same.allocations = 1;
	FAILS(call_same(f, &same, 1), PHILOX_ERROR_MISMATCH);
	same.allocations = 2;
	for (unsigned key = 0; key < 3; key++)
		for (int i = 0; i < 3; i++)
			OK(call_same(f, &same, key));
	free(text);
}

/* A warm-up that does not count makes one key forget, and no other. */
RUNNER_PROMISE(runner_plan_shared, a_key_that_forgets_it_leaves_it_to_others)
{
	struct same same = {.allocations = 2, .again = 1};
	char *text = plan_of_many(2, 3);

	make_same(&same, r);
	OK(philox_plan_load_text(r, text, strlen(text)));
	OK(call_same(f, &same, 1));
	same.again = 0;
	same.allocations = 5;
	OK(call_same(f, &same, 1)); /* another autotuner has won */
	FAILS(call_same(f, &same, 0), PHILOX_ERROR_MISMATCH);
	FAILS(call_same(f, &same, 2), PHILOX_ERROR_MISMATCH);
	same.allocations = 2;
	OK(call_same(f, &same, 0));
	OK(call_same(f, &same, 2));
	FAILS(call_same(f, &same, 1), PHILOX_ERROR_MISMATCH);
	free(text);
}

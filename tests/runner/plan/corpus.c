/*
 * tests/runner/plan/corpus.c - the corpus of tests/fuzz/plan.c, with each byte
 * changed and with lines moved about, and the plan that is committed
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/fuzz/plan.h"
#include "tests/support/beds/runner_again.h"
#include "tests/support/programs/recipe.h"

/* --- files ---------------------------------------------------------------- */

/* Without the checksum. */
static char *read_lines(const char *name)
{
	size_t size;
	char *text = corpus_read("tests/fuzz/plans", name, &size);
	char *last = strstr(text, "checksum ");

	if (last)
		*last = '\0';
	return text;
}

Test(runner_plan_corpus, is_read_as_it_should_be, .timeout = 120)
{
	const struct corpus run = corpus_each("tests/fuzz/plans", fuzz_plan);

	cr_assert_geq(run.inputs, 10u);
	cr_assert_geq(run.read, 3u);
}

/* --- changes -------------------------------------------------------------- */

/* Under a right checksum: whatever it says then, it is read or refused. */
Test(runner_plan_corpus, with_a_byte_changed_is_read_or_refused, .timeout = 300)
{
	char *lines = read_lines("lines");
	static const char bytes[] = {'0', '9', 'f', ' ', '\n', '"', '-', '\0'};
	unsigned loaded = 0, refused = 0;

	for (size_t i = 0; lines[i]; i++)
		for (size_t k = 0; k < sizeof(bytes); k++) {
			const char was = lines[i];
			const size_t size = strlen(lines);

			lines[i] = bytes[k];
			if (fuzz_plan((const uint8_t *)lines, size))
				loaded++;
			else
				refused++;
			lines[i] = was;
		}
	cr_assert(loaded > 100 && refused > 5000, "%u loaded, %u refused",
		  loaded, refused);
	free(lines);
}

static size_t split(char *lines, char *starts[], size_t room)
{
	size_t n = 0;

	for (char *at = lines; *at; at = strchr(at, '\n') + 1) {
		cr_assert(n < room && strchr(at, '\n'));
		starts[n++] = at;
	}
	return n;
}

static size_t length_of(const char *line)
{
	return (size_t)(strchr(line, '\n') - line) + 1;
}

/* Lines that are left out, come twice, or come elsewhere. */
Test(runner_plan_corpus, with_lines_moved_is_read_or_refused, .timeout = 300)
{
	char *lines = read_lines("lines"), *starts[64];
	const size_t n = split(lines, starts, 64);
	struct chance chance = chance_of(1, 1);
	static char made[1 << 14];
	unsigned loaded = 0;

	for (unsigned i = 0; i < 6000; i++) {
		size_t size = 0;

		for (size_t k = 0; k < n; k++) {
			const char *line = starts[k];
			unsigned times =
				one_in(&chance, 20) ? pick(&chance, 3) : 1;

			if (one_in(&chance, 40))
				line = starts[pick(&chance, (unsigned)n)];
			for (; times; times--, size += length_of(line))
				memcpy(made + size, line, length_of(line));
		}
		loaded += fuzz_plan((const uint8_t *)made, size) != 0;
	}
	cr_assert(loaded > 20 && loaded < 5000, "%u loaded", loaded);
	free(lines);
}

/* --- the plan that is committed ------------------------------------------- */

/*
 * They stay as they are but for the library, which is another one each time.
 * What philox loads of version 1 it loads for good.
 */
static void is_committed(const char *name, const char *start)
{
	char *lines = read_lines(name);
	char version[40];
	size_t size;
	char *whole = corpus_read("tests/fuzz/plans", name, &size);

	cr_assert_str_eq(plan_signed(lines), whole);
	cr_assert_eq(strncmp(lines, start, strlen(start)), 0);
	snprintf(version, sizeof(version), "%.*s",
		 (int)strcspn(lines + strlen(start), "\""),
		 lines + strlen(start));
	cr_assert(fuzz_plan(
		(const uint8_t *)plan_changed(lines, version, philox_version()),
		strlen(lines) - strlen(version) + strlen(philox_version())));
	free(lines);
	free(whole);
}

Test(runner_plan_corpus, has_the_plans_that_are_committed, .timeout = 120)
{
	is_committed("golden", "philox plan 1\nlibrary \"");
	is_committed("golden_2", "philox plan 2\nlibrary \"");
}

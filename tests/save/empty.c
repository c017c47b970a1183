/*
 * tests/save/empty.c - texts without bytes, and fields that are not there
 *
 * Both may be NULL. What C leaves undefined then, sanitizers see.
 */
#include "graph/runner/outputs/outputs.h"
#include "graph/runner/plan/plan.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"
#include "tests/support/support.h"
#include "tools/formats/formats.h"

/* --- texts ------------------------------------------------------------------ */

static enum philox_status context(const char *text)
{
	struct saved saved;

	return save_read(text, 0, &saved);
}

static enum philox_status set(const char *text)
{
	struct set set;

	return set_read(text, 0, &set);
}

static enum philox_status plan(const char *text)
{
	struct plan plan;

	return plan_read(text, 0, &plan);
}

static enum philox_status outputs(const char *text)
{
	struct outputs_file file;

	return outputs_file_read(text, 0, &file);
}

static enum philox_status pool(const char *text)
{
	struct snapshot snapshot;

	return snapshot_read(text, 0, &snapshot);
}

static enum philox_status runner(const char *text)
{
	struct runner_text read;

	return runner_text_read(text, 0, &read);
}

static enum philox_status journal(const char *text)
{
	struct written written = {.kind = WRITTEN_JOURNAL};

	return journal_read(text, 0, &written);
}

static const struct {
	enum philox_status (*read)(const char *text);
	const char *start;
} texts[] = {{context, "philox context "}, {set, "philox set "},
	     {plan, "philox plan "},       {outputs, "philox outputs "},
	     {pool, "philox pool "},       {runner, "philox runner "},
	     {journal, "philox journal "}};

Test(empty, texts_of_no_bytes_lack_their_first_line)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (int is_null = 0; is_null < 2; is_null++) {
			char says[128];

			snprintf(says, sizeof(says),
				 "line 1, where the text ends: '%s' expected "
				 "at column 1",
				 texts[i].start);
			cr_assert_eq(texts[i].read(is_null ? NULL : ""),
				     PHILOX_ERROR_INVALID);
			cr_assert_str_eq(philox_error_message(), says);
		}
}

/* --- fields ----------------------------------------------------------------- */

Test(empty, fields_that_an_event_lacks_are_nothing)
{
	static const char text[] = "capture-abort capture 1 pass 0";
	static const char other[] = "context-destroy";
	struct written_word words[WRITTEN_WORDS_MAX], others[WRITTEN_WORDS_MAX];
	size_t n = written_split(text, sizeof(text) - 1, words);
	size_t n_others = written_split(other, sizeof(other) - 1, others);
	char name[16] = "before";

	cr_assert_eq(n, 5);
	cr_assert_eq(n_others, 1);
	cr_assert(!written_field(words, n, "flags").text);
	cr_assert(!written_has_flag(words, n, "retain"));
	cr_assert(written_same(written_field(words, n, "graph"),
			       written_field(others, n_others, "graph")));
	cr_assert(!written_same(written_field(words, n, "pass"),
				written_field(others, n_others, "pass")));
	cr_assert_eq(written_name(written_field(words, n, "graph"), name,
				  sizeof(name)),
		     0);
	cr_assert_str_eq(name, "");
}

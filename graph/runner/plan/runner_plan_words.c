/*
 * graph/runner/plan/runner_plan_words.c - words of a plan: see graph/runner/plan/runner_plan_reader.h
 */
#include "graph/runner/plan/runner_plan_reader.h"

struct plan_function *planned_function(const struct plan_reader *reader)
{
	return &reader->plan->functions[reader->plan->n_functions - 1];
}

/* Whether a line of this section may come here. */
int plan_line_fits(struct plan_reader *reader, enum section section)
{
	if (!reader->plan->n_functions) {
		reader_refuse(&reader->in, "%s",
			      "there is no function for it above");
		return 0;
	}
	if (reader->section > section || reader->plan->n_barred)
		reader_refuse(&reader->in, "%s", "it comes too late");
	else if (section >= OF_SCRIPTS && reader->section < OF_SCRIPTS)
		reader_refuse(&reader->in, "%s",
			      "the policy has to come first");
	reader->section = section;
	return reader->in.status == PHILOX_OK;
}

/* One of `n` words: its number. */
uint32_t plan_choice(struct reader *reader, const char *const *words,
		     uint32_t n, const char *what)
{
	for (uint32_t i = 0; i < n; i++)
		if (reader_accept(reader, words[i]))
			return i;
	reader_expected(reader, what);
	return 0;
}

/* The words have the space before them, and after them where that is sure. */
uint32_t plan_number(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	return (uint32_t)reader_decimal(reader, 0, UINT32_MAX);
}

uint32_t plan_or_never(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	if (reader_accept(reader, " never"))
		return PHILOX_NEVER;
	reader_expect(reader, " ");
	return (uint32_t)reader_decimal(reader, 0, PHILOX_NEVER - 1);
}

uint64_t plan_size(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	return reader_decimal(reader, 0, PLAN_MOST);
}

/* A name that the library has in an array of so many bytes. */
char *plan_short_name(struct reader *reader, size_t most)
{
	char *name = reader_name(reader);

	if (name && reader->status == PHILOX_OK && strlen(name) > most)
		reader_refuse(reader, "a text of more than %zu bytes", most);
	return name;
}

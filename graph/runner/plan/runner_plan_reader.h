/*
 * graph/runner/plan/runner_plan_reader.h - reading a plan: see Note [Plan]
 *
 * The text is read once, line by line. Tables grow with the lines read, never
 * with a number that the text announces.
 */
#ifndef GRAPH_RUNNER_PLAN_RUNNER_PLAN_READER_H
#define GRAPH_RUNNER_PLAN_RUNNER_PLAN_READER_H

#include <string.h>
#include "graph/runner/plan/plan.h"
#include "graph/runner/plan/runner_plan_steps.h"
#include "lib/text/lines.h"

#define PLAN_MOST (UINT64_MAX / 2)

/* The bytes that a text in an array has at most. */
#define TEXT_OF(member) (sizeof(member) - 1)

/* What of a function comes next, at the earliest. */
enum section { OF_INPUTS, OF_OUTPUTS, OF_VALUES, OF_SCRIPTS, OF_KEYS };

struct plan_reader {
	struct reader in;
	struct plan *plan;
	enum section section;
	struct step_counts counts; /* of the last script */
	struct plan_index keys;    /* of the last function */
	size_t named;              /* scripts, by its keys */
	uint64_t bytes;            /* of its recordings */
};

/*
 * Words: planned_function() is the last function; plan_line_fits() tells whether
 * a line of a section may come here, or refuses it. plan_choice() takes one of n
 * words: its number. The others take a word, with the spaces around it, and then
 * a number, "never" for PHILOX_NEVER, a size, or a name of at most so many bytes.
 * (graph/runner/plan/runner_plan_words.c)
 */
struct plan_function *planned_function(const struct plan_reader *reader);
int plan_line_fits(struct plan_reader *reader, enum section section);
uint32_t plan_choice(struct reader *reader, const char *const *words,
		     uint32_t n, const char *what);
uint32_t plan_number(struct reader *reader, const char *word);
uint32_t plan_or_never(struct reader *reader, const char *word);
uint64_t plan_size(struct reader *reader, const char *word);
char *plan_short_name(struct reader *reader, size_t most);

/*
 * The rest of each kind of line. plan_end_key() and plan_end_function() refuse
 * the text if something of the last one is missing.
 * (graph/runner/plan/runner_plan_keys.c, graph/runner/plan/runner_plan_function.c)
 */
void plan_read_key(struct plan_reader *reader);
void plan_read_taken(struct plan_reader *reader);
void plan_end_key(struct plan_reader *reader);
void plan_begin_function(struct plan_reader *reader);
void plan_read_input(struct plan_reader *reader);
void plan_read_output(struct plan_reader *reader);
void plan_read_value(struct plan_reader *reader);
void plan_read_policy(struct plan_reader *reader);
void plan_begin_script(struct plan_reader *reader);
void plan_read_script_step(struct plan_reader *reader);
void plan_end_function(struct plan_reader *reader);

#endif

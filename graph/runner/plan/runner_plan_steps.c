/*
 * graph/runner/plan/runner_plan_steps.c - steps of scripts, read: see Note [Plan]
 */
#include <inttypes.h>
#include "graph/runner/plan/runner_plan_steps.h"

/* The number of something of which there are `n`. */
static uint64_t read_which(struct reader *reader, uint64_t n, const char *what)
{
	const uint64_t number = reader_decimal(reader, 0, UINT64_MAX / 2);

	if (number >= n)
		reader_refuse(reader, "there is no %s %" PRIu64, what, number);
	return number;
}

static uint64_t read_after(struct reader *reader, const char *word)
{
	reader_expect(reader, word);
	return reader_decimal(reader, 0, UINT64_MAX / 2);
}

static void read_flags(struct reader *reader, struct step *step)
{
	reader_expect(reader, " flags ");
	step->flags = (unsigned)reader_decimal(reader, 0, UINT32_MAX);
}

static void read_pass(struct reader *reader, struct step *step,
		      struct step_counts *counts)
{
	step->region = reader_name(reader);
	if (step->kind == STEP_BACKWARD && reader_accept(reader, " of "))
		step->a = read_which(reader, counts->passes, "pass");
	else if (step->kind == STEP_BACKWARD)
		step->a = UINT64_MAX;
	read_flags(reader, step);
	counts->passes++;
}

static void read_memory(struct reader *reader, struct step *step,
			struct step_counts *counts)
{
	if (step->kind == STEP_FREE) {
		step->a = read_which(reader, counts->allocations, "allocation");
		return;
	}
	step->a = reader_decimal(reader, 0, UINT64_MAX / 2);
	step->b = read_after(reader, " alignment ");
	counts->allocations++;
}

static void read_named(struct reader *reader, struct step *step,
		       const struct step_counts *counts)
{
	if (step->kind == STEP_VALUE) {
		step->a = read_which(reader, counts->values, "value");
		return;
	}
	step->a = read_which(reader, counts->outputs, "output");
	step->b = read_after(reader, " bytes ");
}

struct step plan_read_step(struct reader *reader, struct step_counts *counts)
{
	static const char *const words[] = {
		[STEP_FORWARD] = "forward ", [STEP_BACKWARD] = "backward ",
		[STEP_ALLOC] = "alloc ",     [STEP_FREE] = "free ",
		[STEP_OUTPUT] = "output ",   [STEP_VALUE] = "value "};
	struct step step = {STEP_FORWARD, 0, NULL, 0, 0};
	int kind = STEP_FORWARD;

	while (kind <= STEP_VALUE && !reader_accept(reader, words[kind]))
		kind++;
	if (kind > STEP_VALUE) {
		reader_expected(reader, "a known kind of step");
		return step;
	}
	step.kind = (enum step_kind)kind;
	if (kind <= STEP_BACKWARD)
		read_pass(reader, &step, counts);
	else if (kind <= STEP_FREE)
		read_memory(reader, &step, counts);
	else
		read_named(reader, &step, counts);
	reader_end_line(reader);
	return step;
}

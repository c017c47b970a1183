/*
 * graph/runner/explain/explain.c - philox_function_explain_text(),
 * philox_graph_explain_text()
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/explain/explain.h"
#include "graph/runner/state/state.h"

/* A text in memory that ends without a checksum. */
struct plain_text {
	char *bytes;
	size_t size;
	FILE *out;
};

static int plain_begin(struct plain_text *text)
{
	*text = (struct plain_text){.bytes = NULL};
	text->out = open_memstream(&text->bytes, &text->size);
	return text->out != NULL;
}

/* 0: no memory, and nothing is left. */
static int plain_end(struct plain_text *text, int whole)
{
	whole &= !ferror(text->out);
	if (!fclose(text->out) && whole && text->bytes)
		return 1;
	free(text->bytes);
	return 0;
}

static void give(const struct plain_text *made, char **text, size_t *bytes)
{
	*text = made->bytes;
	if (bytes)
		*bytes = made->size;
}

/* --- functions ------------------------------------------------------------ */

#define OPTIONS_SIZE OPTIONS_FIRST(struct philox_explain_desc, reserved)
OPTIONS_NO_PADDING(struct philox_explain_desc, reserved);

static enum philox_status check_options(const struct philox_function *function,
					const struct philox_explain_desc *given,
					struct philox_explain_desc *options)
{
	enum philox_status status =
		options_copy("options", given, given->size, OPTIONS_SIZE,
			     sizeof(*options), options);

	if (status == PHILOX_OK)
		status = options_check_reserved("options", options->reserved);
	if (status != PHILOX_OK)
		return status;
	if (options->flags & ~(uint32_t)PHILOX_EXPLAIN_TIMES)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': options: flags is 0x%x",
				  function->name, options->flags);
	if (options->key_bytes && !options->key)
		return status_set(PHILOX_ERROR_INVALID,
				  "function '%s': options: key is NULL, and "
				  "key_bytes is %zu",
				  function->name, options->key_bytes);
	return PHILOX_OK;
}

static enum philox_status no_program(const struct philox_function *function)
{
	return status_set(PHILOX_ERROR_NOT_FOUND,
			  "function '%s' has no key or recording like that",
			  function->name);
}

static enum philox_status no_memory(const struct philox_function *function)
{
	return status_set(PHILOX_ERROR_MEMORY,
			  "function '%s': no memory for its text",
			  function->name);
}

static enum philox_status write_choice(const struct philox_function *function,
				       const struct runner_text *text,
				       const struct explain_choice *choice,
				       struct plain_text *made)
{
	long n;

	if (!plain_begin(made))
		return no_memory(function);
	n = explain_runner(made->out, text, choice);
	if (!plain_end(made, n >= 0))
		return no_memory(function);
	if (n > 0)
		return PHILOX_OK;
	free(made->bytes);
	return no_program(function);
}

static enum philox_status take_and_write(
	const struct philox_function *function,
	const struct explain_choice *choice, struct plain_text *made)
{
	struct runner_text text;
	enum philox_status status =
		runner_text_take(function->runner, choice->times, &text);

	if (status == PHILOX_OK)
		status = write_choice(function, &text, choice, made);
	runner_text_finish(&text);
	return status;
}

static enum philox_status explain(const struct philox_function *function,
				  const struct philox_explain_desc *given,
				  struct plain_text *made)
{
	struct philox_explain_desc options;
	enum philox_status status = check_options(function, given, &options);

	if (status != PHILOX_OK)
		return status;
	return take_and_write(
		function,
		&(struct explain_choice){
			.function = function->name,
			.key = options.key,
			.key_bytes = options.key_bytes,
			.recording = options.recording,
			.times = (options.flags & PHILOX_EXPLAIN_TIMES) != 0},
		made);
}

enum philox_status philox_function_explain_text(
	struct philox_function *function,
	const struct philox_explain_desc *options, char **text, size_t *bytes)
{
	const struct philox_explain_desc all =
		PHILOX_INIT(struct philox_explain_desc);
	struct runner_subject subject;
	struct plain_text made;
	enum philox_status status;

	if (!function)
		return context_null(NULL, "function");
	if (!text)
		return context_null(function->runner->context, "text");
	NEED_PROCESS(function->runner->context);
	subject = runner_subject(function->runner, function);
	status = explain(function, options ? options : &all, &made);
	if (status == PHILOX_OK)
		give(&made, text, bytes);
	return subject_report(&subject, status);
}

/* --- graphs --------------------------------------------------------------- */

static void print_graph_times(FILE *out, const struct graph_times *times)
{
	if (times->adopt)
		fprintf(out, "  times (ns): adopt %" PRIu64 "\n", times->adopt);
	else
		fprintf(out,
			"  times (ns): capture end %" PRIu64
			", instantiate %" PRIu64 "\n",
			times->end, times->instantiate);
}

static struct body_step step_of(const struct pool_step *step)
{
	struct body_step made = {.kind = step->kind,
				 .after = step->after,
				 .index = step->block.id,
				 .bytes = step->block.size,
				 .alignment = step->alignment,
				 .done = step};

	memcpy(made.tag, step->block.tag, sizeof(made.tag));
	return made;
}

/* The steps of a capture with those of its pools among them. */
static int copy_with(const struct philox_graph *graph,
		     const struct pool_steps *from, struct program_text *text,
		     struct text_program *program)
{
	struct body_steps steps = {.n = from->n, .lost = from->lost};
	int copied;

	steps.items = malloc((from->n + 1) * sizeof(*steps.items));
	if (!steps.items)
		return 0;
	for (size_t i = 0; i < from->n; i++)
		steps.items[i] = step_of(&from->items[i]);
	/* handles of an adopted graph may be gone */
	copied = program_copy(text, program, graph->context, graph->capture,
			      &steps, graph->ours ? graph->native : NULL, NULL);
	free(steps.items);
	return copied;
}

static int copy_graph(const struct philox_graph *graph,
		      struct program_text *text, struct text_program *program)
{
	struct pool_steps steps = {.items = NULL};
	const int copied = pool_steps_copy(graph->pools, &steps) &&
			   copy_with(graph, &steps, text, program);

	free(steps.items);
	return copied;
}

static int write_graph(FILE *out, const struct philox_graph *graph,
		       unsigned flags, struct program_text *text)
{
	struct text_program program = {.recording = 0};
	struct explained explained = {.placed = 1};

	if (!copy_graph(graph, text, &program))
		return 0;
	explained.steps = text->steps;
	explained.n_steps = text->n_steps;
	explained.nodes = text->nodes;
	explained.n_nodes = text->n_nodes;
	explained.lost = program.lost;
	context_lock(graph->context);
	fputs("graph ", out);
	explain_name(out, graph->name);
	fputc('\n', out);
	context_unlock(graph->context);
	if (!explain_program(out, &explained))
		return 0;
	if (!graph->ours)
		fputs("  nodes are not listed: the graph is the caller's\n",
		      out);
	if (flags & PHILOX_EXPLAIN_TIMES)
		print_graph_times(out, &graph->times);
	return 1;
}

static enum philox_status explain_graph(const struct philox_graph *graph,
					unsigned flags, struct plain_text *made)
{
	struct program_text text = {.programs = NULL};
	int whole;

	if (flags & ~(unsigned)PHILOX_EXPLAIN_TIMES)
		return status_set(PHILOX_ERROR_INVALID, "'%s': flags is 0x%x",
				  graph->name, flags);
	whole = plain_begin(made);
	if (whole)
		whole = plain_end(made,
				  write_graph(made->out, graph, flags, &text));
	program_finish(&text);
	if (whole)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY, "'%s': no memory for its text",
			  graph->name);
}

enum philox_status philox_graph_explain_text(const struct philox_graph *graph,
					     unsigned flags, char **text,
					     size_t *bytes)
{
	struct plain_text made;
	enum philox_status status;

	if (!graph)
		return context_null(NULL, "graph");
	if (!text)
		return context_null(graph->context, "text");
	NEED_PROCESS(graph->context);
	status = explain_graph(graph, flags, &made);
	if (status == PHILOX_OK)
		give(&made, text, bytes);
	return graph_report(graph, status, NULL);
}

/*
 * graph/runner/explain/write.c - one program, printed: see Note [Program]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/explain/explain.h"
#include "graph/runner/function/function.h"
#include "lib/names/groups.h"
#include "lib/dist/dist.h"

/* --- numbers of lines ----------------------------------------------------- */

/* The line of an allocation or a pass, by which others name it. */
struct line_name {
	uint64_t what; /* the index of an allocation, or a pass */
	size_t line;   /* from 1 */
};

enum { DEPTH_MOST = 16 }; /* bodies that lines are moved for */

struct printing {
	FILE *out;
	const struct explained *program;
	size_t line;
	unsigned depth; /* of bodies */
	struct line_name *allocations, *passes;
	size_t n_allocations, n_passes;
	struct groups nodes; /* by body */
	struct groups ends;  /* of bodies */
};

static int by_what(const void *one, const void *other)
{
	const struct line_name *a = one, *b = other;

	if (a->what != b->what)
		return a->what < b->what ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

static int begins_pass(const struct text_step *step)
{
	return step->kind == PROGRAM_FORWARD || step->kind == PROGRAM_BACKWARD;
}

static int find_names(struct printing *p)
{
	const struct explained *program = p->program;

	p->allocations = calloc(program->n_steps + 1, sizeof(*p->allocations));
	p->passes = calloc(program->n_steps + 1, sizeof(*p->passes));
	if (!p->allocations || !p->passes)
		return 0;
	for (size_t i = 0; i < program->n_steps; i++) {
		const struct text_step *step = &program->steps[i];
		const size_t line = program->n_inputs + i + 1;

		if (step->kind == PROGRAM_ALLOC)
			p->allocations[p->n_allocations++] =
				(struct line_name){step->index, line};
		if (begins_pass(step))
			p->passes[p->n_passes++] =
				(struct line_name){step->pass, line};
	}
	qsort(p->allocations, p->n_allocations, sizeof(*p->allocations),
	      by_what);
	qsort(p->passes, p->n_passes, sizeof(*p->passes), by_what);
	return 1;
}

/* The first line that is so; 0: none is. */
static size_t find_line(const struct line_name *names, size_t n, uint64_t what)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (names[middle].what < what)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && names[low].what == what ? names[low].line : 0;
}

static void print_allocation(const struct printing *p, uint64_t index)
{
	const size_t line = find_line(p->allocations, p->n_allocations, index);

	if (line)
		fprintf(p->out, "%%%zu", line);
	else
		fprintf(p->out, "allocation %" PRIu64, index);
}

static void print_pass(const struct printing *p, uint64_t pass)
{
	const size_t line = find_line(p->passes, p->n_passes, pass);

	if (line)
		fprintf(p->out, "%%%zu", line);
	else
		fprintf(p->out, "pass %" PRIu64, pass);
}

static void print_indent(const struct printing *p)
{
	const unsigned depth = p->depth < DEPTH_MOST ? p->depth : DEPTH_MOST;

	fprintf(p->out, "  %*s", 2 * (int)depth, "");
}

static void begin_line(struct printing *p)
{
	print_indent(p);
	fprintf(p->out, "%%%zu = ", ++p->line);
}

/* What is not printable is written as in texts. */
void explain_words(FILE *out, const char *words)
{
	for (const char *c = words; *c; c++)
		if (*c >= ' ' && *c <= '~' && *c != '\'')
			fputc(*c, out);
		else
			fprintf(out, "\\x%02x", (unsigned char)*c);
}

void explain_name(FILE *out, const char *name)
{
	fputc('\'', out);
	explain_words(out, name ? name : "");
	fputc('\'', out);
}

/* --- types ---------------------------------------------------------------- */

/* "16384 bytes f32[4096]" */
void explain_size(FILE *out, uint64_t bytes, uint32_t elements)
{
	const enum philox_dtype dtype = (enum philox_dtype)(elements - 1);
	const char *name = elements ? fill_dtype_name(dtype) : NULL;
	const size_t size = name ? fill_dtype_size(dtype) : 0;

	fprintf(out, "%" PRIu64 " byte%s", bytes, status_s(bytes));
	if (size && bytes % size == 0)
		fprintf(out, " %s[%" PRIu64 "]", name, bytes / size);
	else if (name)
		fprintf(out, " of %s", name);
}

/* The shortest decimal that reads back as the same number. */
static void print_double(FILE *out, uint64_t bits)
{
	char text[40];
	double value, again;

	memcpy(&value, &bits, sizeof(value));
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		again = strtod(text, NULL);
		if (memcmp(&again, &value, sizeof(value)) == 0)
			break;
	}
	fputs(text, out);
}

static void print_integer(FILE *out, const struct text_step *step,
			  uint64_t value)
{
	if (step->dtype == PHILOX_DTYPE_I32 || step->dtype == PHILOX_DTYPE_I64)
		fprintf(out, "%" PRId64, (int64_t)value);
	else
		fprintf(out, "%" PRIu64, value);
}

static void print_parameter(FILE *out, const char *name,
			    const struct text_step *step, int i)
{
	fprintf(out, " %s=", name);
	if (step->dist == PHILOX_DIST_PERMUTATION ||
	    step->dist == PHILOX_DIST_CATEGORICAL)
		fprintf(out, "%" PRIu64, step->with[i]);
	else if (step->dist == PHILOX_DIST_INTEGERS)
		print_integer(out, step, step->with[i]);
	else
		print_double(out, step->with[i]);
}

/* By name, in the order of struct philox_fill_desc; an array is none. */
#define PRINT_double(member)   print_parameter(out, #member, step, n++);
#define PRINT_uint64_t(member) print_parameter(out, #member, step, n++);
#define PRINT(type, member)    PRINT_##type(member)

static void print_parameters(FILE *out, const struct text_step *step)
{
	int n = 0;

	switch ((enum philox_dist)step->dist) {
	case PHILOX_DIST_UNIFORM:
		FILL_range(PRINT);
		break;
	case PHILOX_DIST_NORMAL:
	case PHILOX_DIST_LOG_NORMAL:
		FILL_mean_std(PRINT);
		break;
	case PHILOX_DIST_EXPONENTIAL:
		FILL_rate(PRINT);
		break;
	case PHILOX_DIST_BERNOULLI:
	case PHILOX_DIST_DROPOUT:
		FILL_p(PRINT);
		break;
	case PHILOX_DIST_INTEGERS:
		FILL_integers(PRINT);
		break;
	case PHILOX_DIST_PERMUTATION:
	case PHILOX_DIST_CATEGORICAL:
		FILL_n(PRINT);
		break;
	case PHILOX_DIST_TRUNCATED_NORMAL:
		FILL_truncated(PRINT);
		break;
	case PHILOX_DIST_BITS:
	case PHILOX_DIST_GUMBEL:
	case PHILOX_DIST_STOCHASTIC_ROUND:
	case PHILOX_DIST_SIGNS:
		break;
	}
	(void)n;
}

static void print_span(FILE *out, const struct text_step *step)
{
	fprintf(out, " [%" PRIu64 ", %" PRIu64 ")", step->first,
		step->first + step->count);
	if (step->rows)
		fprintf(out, " and so on, %" PRIu64 " rows every %" PRIu64,
			step->rows, step->stride);
}

/* --- nodes ---------------------------------------------------------------- */

static void print_node(FILE *out, const struct text_node *node)
{
	static const char *const kinds[] = {
		"kernel", "host function", "copy",  "set",    "conditional node",
		"graph",  "event",         "memory", "empty", "other"};

	if (node->n > 1)
		fprintf(out, "%" PRIu64 " x ", node->n);
	fputs(node->kind < sizeof(kinds) / sizeof(*kinds) ? kinds[node->kind]
							  : "?",
	      out);
	if (*node->name) {
		fputc(' ', out);
		explain_name(out, node->name);
	}
}

static int find_bodies(struct printing *p)
{
	const struct explained *program = p->program;
	int whole = 1;

	for (size_t i = 0; whole && i < program->n_nodes; i++)
		whole = groups_add(&p->nodes, program->nodes[i].body, i);
	for (size_t i = 0; whole && i < program->n_steps; i++)
		if (program->steps[i].kind == PROGRAM_BODY_END)
			whole = groups_add(&p->ends, program->steps[i].pass, i);
	groups_order(&p->nodes);
	groups_order(&p->ends);
	return whole;
}

/* A line with those of the graph itself, or of a body, if there are any. */
static void print_nodes(const struct printing *p, const char *what,
			uint32_t body)
{
	size_t n;
	const struct group_member *of = groups_find(&p->nodes, body, &n);

	if (n)
		print_indent(p);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : what, p->out);
		print_node(p->out, &p->program->nodes[of[i].index]);
	}
	if (n)
		fputc('\n', p->out);
}

/* Of a body whose end is among the steps that were not kept. */
static void print_left(const struct printing *p, uint32_t body)
{
	char what[40];

	if (body == CAPTURED_NO_BODY || groups_has(&p->ends, body))
		return;
	snprintf(what, sizeof(what), "nodes of body %" PRIu32 ": ", body);
	print_nodes(p, what, body);
}

static void print_last_nodes(struct printing *p)
{
	const struct text_node *nodes = p->program->nodes;

	p->depth = 0;
	print_nodes(p, "nodes: ", CAPTURED_NO_BODY);
	for (size_t i = 0; i < p->program->n_nodes; i++)
		if (!i || nodes[i].body != nodes[i - 1].body)
			print_left(p, nodes[i].body);
}

/* --- steps ---------------------------------------------------------------- */

static void print_flags(FILE *out, uint32_t flags)
{
	static const char *const words[] = {"inference", "warm-up", "retain",
					    "on device", "reversed"};

	for (unsigned i = 0; i < 5; i++)
		if (flags & 1u << i)
			fprintf(out, ", %s", words[i]);
	if (flags >> 5)
		fprintf(out, ", flags 0x%x", flags & ~31u);
}

/* "region 'block.0' op 1 'drop' call 0 iteration 2  cells %3" */
static void print_site(const struct printing *p, const struct text_step *step)
{
	const size_t line = find_line(p->passes, p->n_passes, step->pass);
	const char *region =
		line ? p->program->steps[line - p->program->n_inputs - 1].name
		     : NULL;

	fputs("  region ", p->out);
	explain_name(p->out, region);
	if (step->kind != PROGRAM_CELLS) {
		fprintf(p->out, " op %" PRIu32, step->op);
		if (step->name && *step->name) {
			fputc(' ', p->out);
			explain_name(p->out, step->name);
		}
		if (step->call)
			fprintf(p->out, " call %" PRIu32, step->call);
	}
	if (step->iteration == UINT32_MAX)
		fputs(" iteration of a word", p->out);
	else if (step->iteration)
		fprintf(p->out, " iteration %" PRIu32, step->iteration);
	fputs("  cells ", p->out);
	print_pass(p, step->pass);
}

static void print_draw(const struct printing *p, const struct text_step *step)
{
	const char *dist = fill_dist_name((enum philox_dist)step->dist);
	const char *dtype = fill_dtype_name((enum philox_dtype)step->dtype);

	fprintf(p->out, "draw %s %s", dist ? dist : "?", dtype ? dtype : "?");
	print_span(p->out, step);
	print_parameters(p->out, step);
	if (step->layout)
		fprintf(p->out, " layout %s",
			philox_layout_name(
				(enum philox_layout_kind)step->layout));
	print_site(p, step);
}

static void print_begin(const struct printing *p, const struct text_step *step)
{
	fprintf(p->out, "%s region ",
		step->kind == PROGRAM_FORWARD ? "forward" : "backward");
	explain_name(p->out, step->name);
	if (step->kind == PROGRAM_BACKWARD && step->of == UINT32_MAX)
		fputs(" of a ticket named at launch", p->out);
	else if (step->kind == PROGRAM_BACKWARD) {
		fputs(" of ", p->out);
		print_pass(p, step->of);
	}
	if (step->iterations)
		fprintf(p->out, ", %" PRIu32 " iterations", step->iterations);
	print_flags(p->out, step->flags);
}

static void print_place(const struct printing *p, const struct text_step *step)
{
	if (!p->program->placed)
		return;
	if (step->pool) {
		fputs("  pool ", p->out);
		explain_name(p->out, step->pool);
	}
	fprintf(p->out, "  segment %" PRIu64 " [%" PRIu64 ", %" PRIu64 ")",
		step->segment, step->offset, step->offset + step->bytes);
}

static void print_block(const struct printing *p, const struct text_step *step)
{
	fprintf(p->out, "%" PRIu64 " byte%s", step->bytes,
		status_s(step->bytes));
	if (step->alignment)
		fprintf(p->out, " alignment %" PRIu64, step->alignment);
	if (step->name && *step->name) {
		fputs("  ", p->out);
		explain_name(p->out, step->name);
	}
	print_place(p, step);
}

/* What a capture freed may have been allocated before it. */
static void print_free(const struct printing *p, const struct text_step *step)
{
	fputs("free ", p->out);
	if (step->pool &&
	    !find_line(p->allocations, p->n_allocations, step->index))
		print_block(p, step);
	else
		print_allocation(p, step->index);
}

static const struct text_part *part_at(const struct explained *program,
				       size_t first, size_t n, uint64_t index)
{
	return index && index <= n ? &program->parts[first + index - 1] : NULL;
}

static void print_input_name(const struct printing *p, uint64_t index)
{
	const struct text_part *part =
		part_at(p->program, 0, p->program->n_inputs, index);

	if (part)
		explain_name(p->out, part->name);
	else
		fprintf(p->out, "%" PRIu64, index);
}

static void print_output(const struct printing *p, const struct text_step *step)
{
	const struct text_part *part =
		part_at(p->program, p->program->n_inputs,
			p->program->n_outputs, step->index);

	fputs("output ", p->out);
	if (part)
		explain_name(p->out, part->name);
	else
		fprintf(p->out, "%" PRIu64, step->index);
	fputs("  ", p->out);
	explain_size(p->out, step->bytes, part ? part->elements : 0);
	if (step->from) {
		fputs("  ", p->out);
		print_allocation(p, step->from);
	} else if (step->input) {
		fprintf(p->out, "  %%%" PRIu64, step->input);
	}
	if (step->offset)
		fprintf(p->out, " at %" PRIu64, step->offset);
}

/* Of a function that the body calls. */
static void print_inner(const struct printing *p, const struct text_step *step)
{
	fputs("output ", p->out);
	explain_name(p->out, step->name);
	fputs("  ", p->out);
	explain_size(p->out, step->bytes, 0);
	if (step->from) {
		fputs("  ", p->out);
		print_allocation(p, step->from);
	}
	if (step->offset)
		fprintf(p->out, " at %" PRIu64, step->offset);
}

static void print_value(const struct printing *p, const struct text_step *step)
{
	fputs("parameter ", p->out);
	explain_name(p->out, step->name);
	fprintf(p->out, "  %" PRIu64 " byte%s", step->bytes,
		status_s(step->bytes));
}

static void print_body(const struct printing *p, const struct text_step *step)
{
	static const char *const kinds[] = {"if", "while", "switch"};

	fprintf(p->out, "body %" PRIu32 " of %s %" PRIu32, step->pass,
		step->dist < 3 ? kinds[step->dist] : "?", step->node);
	if (step->limit)
		fprintf(p->out, ", at most %" PRIu64 " run%s", step->limit,
			status_s(step->limit));
}

static void print_step(struct printing *p, const struct text_step *step)
{
	if (step->kind == PROGRAM_BODY_END)
		print_nodes(p, "nodes: ", step->pass);
	if ((step->kind == PROGRAM_BODY_END || step->kind == PROGRAM_RETURN) &&
	    p->depth)
		p->depth--;
	begin_line(p);
	switch ((enum program_kind)step->kind) {
	case PROGRAM_FORWARD:
	case PROGRAM_BACKWARD:
		print_begin(p, step);
		break;
	case PROGRAM_COMMIT:
		fputs("commit ", p->out);
		print_pass(p, step->pass);
		print_flags(p->out, step->flags);
		break;
	case PROGRAM_DRAW:
		print_draw(p, step);
		break;
	case PROGRAM_CELL:
	case PROGRAM_CELLS:
		fputs(step->kind == PROGRAM_CELL ? "state" : "states", p->out);
		print_site(p, step);
		break;
	case PROGRAM_STATE:
		fprintf(p->out, "state of generator %" PRIu32, step->pass);
		break;
	case PROGRAM_VALUE:
		print_value(p, step);
		break;
	case PROGRAM_BODY:
		print_body(p, step);
		p->depth++;
		break;
	case PROGRAM_BODY_END:
		fprintf(p->out, "end of body %" PRIu32, step->pass);
		break;
	case PROGRAM_ALLOC:
		fputs("alloc ", p->out);
		print_block(p, step);
		break;
	case PROGRAM_FREE:
		print_free(p, step);
		break;
	case PROGRAM_BUFFER:
		fputs("copy of input ", p->out);
		print_input_name(p, step->index);
		fprintf(p->out, "  %" PRIu64 " byte%s", step->bytes,
			status_s(step->bytes));
		print_place(p, step);
		break;
	case PROGRAM_OUTPUT:
		print_output(p, step);
		break;
	case PROGRAM_CALL:
		fputs("call function ", p->out);
		explain_name(p->out, step->name);
		p->depth++;
		break;
	case PROGRAM_INNER:
		print_inner(p, step);
		break;
	case PROGRAM_RETURN:
		fputs("return from function ", p->out);
		explain_name(p->out, step->name);
		break;
	}
	fputc('\n', p->out);
}

/* --- inputs --------------------------------------------------------------- */

static void print_source(const struct printing *p,
			 const struct text_part *part,
			 const struct text_source *source)
{
	if (source->copied && part->kind != PHILOX_INPUT_COPIED)
		fputs(", copied", p->out);
	if (!source->function) {
		if (source->id)
			fprintf(p->out, ", memory %" PRIu64, source->id);
		return;
	}
	fprintf(p->out, ", output %" PRIu64 " of function ", source->output);
	explain_name(p->out, p->program->functions[source->function - 1]);
}

static void print_input(struct printing *p, size_t index)
{
	const struct explained *program = p->program;
	const struct text_part *part = &program->parts[index];
	begin_line(p);
	fputs("input ", p->out);
	explain_name(p->out, part->name);
	fputs("  ", p->out);
	if (program->takes) {
		explain_size(p->out, program->takes[index], part->elements);
		fputs("  ", p->out);
	}
	fputs(input_kinds[part->kind], p->out);
	if (part->flags & PHILOX_INPUT_MUTATED)
		fputs(part->flags & PHILOX_INPUT_WRITE_BACK
			      ? ", mutated and written back"
			      : ", mutated",
		      p->out);
	if (part->flags & PHILOX_INPUT_FIXED)
		fputs(", fixed", p->out);
	if (program->sources)
		print_source(p, part, &program->sources[index]);
	fputc('\n', p->out);
}

/* --- the whole ------------------------------------------------------------ */

int explain_program(FILE *out, const struct explained *program)
{
	struct printing p = {.out = out, .program = program};
	const int found = find_names(&p) && find_bodies(&p);

	for (size_t i = 0; found && i < program->n_inputs; i++)
		print_input(&p, i);
	for (size_t i = 0; found && i < program->n_steps; i++)
		print_step(&p, &program->steps[i]);
	if (found && program->lost)
		fprintf(out, "  and %" PRIu64 " more step%s that %s not kept\n",
			program->lost, status_s(program->lost),
			program->lost == 1 ? "was" : "were");
	if (found)
		print_last_nodes(&p);
	free(p.allocations);
	free(p.passes);
	free(p.nodes.members);
	free(p.ends.members);
	return found;
}

void explain_key(FILE *out, const unsigned char *bytes, size_t size,
		 const char *label)
{
	fputc('{', out);
	text_write_bytes(out, bytes, size);
	fputc('}', out);
	if (*label) {
		fputc(' ', out);
		explain_name(out, label);
	}
}

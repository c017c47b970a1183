/*
 * graph/runner/snapshot/program.c - what recordings do, step by step: copied
 * and written
 *
 * See Note [Runner snapshot].
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "graph/runner/snapshot/snapshot.h"
#include "lib/containers/array.h"

/* --- fields --------------------------------------------------------------- */

#define DIST(dist, name, function, parameters, kernels) \
	[PHILOX_DIST_##dist] = (name),
static const char *const dists[] = {
	FILL_DISTS(DIST, )[PHILOX_DIST_CATEGORICAL + 1] = NULL};

static const char *const dtypes[] = {"u32", "u64", "f32", "bf16", "f16",
				     "f64", "i32", "i64", NULL};
static const char *const conditionals[] = {"if", "while", "switch", NULL};
static const char *const node_kinds[] = {"kernel",      "host",  "copy",
					 "set",         "conditional",
					 "graph",       "event", "memory",
					 "empty",       "other", NULL};

#define NUMBER(text, field)  FIELD(NUMBER, struct text_step, field, text)
#define LACKING(text, field) {NUMBER(text, field), .may_lack = 1}
#define NAME(text)           {FIELD(NAME, struct text_step, name, text)}
#define ITERATION            LACKING("iteration", iteration)

static const struct field forward_fields[] = {
	{NUMBER(NULL, pass)},
	NAME("region"),
	{NUMBER("flags", flags)},
	LACKING("iterations", iterations),
	FIELDS_END};

static const struct field backward_fields[] = {
	{NUMBER(NULL, pass)},
	NAME("region"),
	{NUMBER("flags", flags)},
	{NUMBER("of", of), .may_lack = 1, .otherwise = UINT32_MAX},
	FIELDS_END};

static const struct field commit_fields[] = {
	{NUMBER(NULL, pass)}, {NUMBER("flags", flags)}, FIELDS_END};

static const struct field draw_fields[] = {
	{NUMBER(NULL, pass)},
	{NUMBER("op", op)},
	NAME("named"),
	{NUMBER("call", call)},
	ITERATION,
	{FIELD(CHOICE, struct text_step, dist, "draws"), .words = dists,
	 .what = "a distribution"},
	{FIELD(CHOICE, struct text_step, dtype, "of"), .words = dtypes,
	 .what = "a dtype"},
	{NUMBER("first", first)},
	{NUMBER("count", count)},
	LACKING("rows", rows),
	LACKING("stride", stride),
	{FIELD(HEX, struct text_step, with[0], "with")},
	{FIELD(HEX, struct text_step, with[1], "and")},
	{FIELD(HEX, struct text_step, with[2], "low"), .may_lack = 1},
	{FIELD(HEX, struct text_step, with[3], "high"), .may_lack = 1},
	LACKING("layout", layout),
	FIELDS_END};

static const struct field cell_fields[] = {
	{NUMBER(NULL, pass)}, {NUMBER("op", op)}, NAME("named"),
	{NUMBER("call", call)}, ITERATION, FIELDS_END};

static const struct field cells_fields[] = {
	{NUMBER(NULL, pass)}, ITERATION, FIELDS_END};

static const struct field state_fields[] = {{NUMBER(NULL, pass)}, FIELDS_END};

static const struct field value_fields[] = {
	NAME(NULL), {NUMBER("bytes", bytes)}, FIELDS_END};

static const struct field body_fields[] = {
	{NUMBER(NULL, pass)},
	{NUMBER("node", node)},
	{FIELD(CHOICE, struct text_step, dist, "of"), .words = conditionals,
	 .what = "a kind of conditional nodes"},
	{NUMBER("limit", limit)},
	FIELDS_END};

static const struct field body_end_fields[] = {{NUMBER(NULL, pass)},
					       FIELDS_END};

static const struct field alloc_fields[] = {
	{NUMBER(NULL, index), .least = 1},
	{NUMBER("bytes", bytes)},
	{NUMBER("alignment", alignment)},
	NAME("tag"),
	{NUMBER("segment", segment)},
	{NUMBER("offset", offset)},
	FIELDS_END};

static const struct field free_fields[] = {
	{NUMBER(NULL, index), .least = 1}, FIELDS_END};

static const struct field buffer_fields[] = {
	{NUMBER(NULL, index), .least = 1},
	{NUMBER("bytes", bytes)},
	{NUMBER("segment", segment)},
	{NUMBER("offset", offset)},
	FIELDS_END};

static const struct field output_fields[] = {
	{NUMBER(NULL, index), .least = 1},
	{NUMBER("bytes", bytes)},
	LACKING("alloc", from),
	LACKING("input", input),
	{NUMBER("offset", offset)},
	FIELDS_END};

static const struct field call_fields[] = {NAME(NULL), FIELDS_END};

static const struct field inner_fields[] = {
	NAME(NULL),
	{NUMBER("bytes", bytes)},
	LACKING("alloc", from),
	{NUMBER("offset", offset)},
	FIELDS_END};

const struct text_line text_steps[TEXT_STEPS] = {
	[PROGRAM_FORWARD] = {"forward", forward_fields},
	[PROGRAM_BACKWARD] = {"backward", backward_fields},
	[PROGRAM_COMMIT] = {"commit", commit_fields},
	[PROGRAM_DRAW] = {"draw", draw_fields},
	[PROGRAM_CELL] = {"cell", cell_fields},
	[PROGRAM_CELLS] = {"states", cells_fields},
	[PROGRAM_STATE] = {"generator", state_fields},
	[PROGRAM_VALUE] = {"value", value_fields},
	[PROGRAM_BODY] = {"body", body_fields},
	[PROGRAM_BODY_END] = {"end", body_end_fields},
	[PROGRAM_ALLOC] = {"alloc", alloc_fields},
	[PROGRAM_FREE] = {"free", free_fields},
	[PROGRAM_BUFFER] = {"buffer", buffer_fields},
	[PROGRAM_OUTPUT] = {"output", output_fields},
	[PROGRAM_CALL] = {"call", call_fields},
	[PROGRAM_INNER] = {"inner", inner_fields},
	[PROGRAM_RETURN] = {"return", call_fields}};

/* Of a recording: after its number. */
#define PART(text, field) {FIELD(NUMBER, struct text_program, field, text)}

const struct field text_program_fields[] = {
	{FIELD(NUMBER, struct text_program, recording, NULL), .least = 1},
	PART("takes", takes.n), PART("steps", steps.n), PART("lost", lost),
	PART("nodes", nodes.n), FIELDS_END};

const struct field text_node_fields[] = {
	{FIELD(NUMBER, struct text_node, n, NULL), .least = 1},
	{FIELD(CHOICE, struct text_node, kind, "of"), .words = node_kinds,
	 .what = "a kind of nodes"},
	{FIELD(NAME, struct text_node, name, "named")},
	{FIELD(NUMBER, struct text_node, body, "body"), .may_lack = 1,
	 .otherwise = CAPTURED_NO_BODY},
	FIELDS_END};

/* --- copying -------------------------------------------------------------- */

struct program_copying {
	struct program_text *text;
	const struct capture *capture;
	const struct program_places *places;
	const struct body_steps *steps;
	int failed;
};

static void *program_row(int *failed, void *table, size_t *n, size_t size)
{
	void *row = *failed ? NULL : array_grow(table, *n, 1, size);

	*failed |= !row;
	*n += row != NULL;
	return row;
}

static char *copy_name(struct program_copying *copying, const char *from)
{
	char *copy = strdup(from ? from : "");

	copying->failed |= !copy;
	return copy;
}

static struct text_step *new_step(struct program_copying *copying,
				  uint32_t kind)
{
	struct program_text *text = copying->text;
	struct text_step *step = program_row(&copying->failed, &text->steps,
					  &text->n_steps, sizeof(*step));

	if (step)
		step->kind = kind;
	return step;
}

static const char *name_of_op(const struct captured_pass *pass, uint32_t op)
{
	const struct philox_region *region = pass->region;

	if (!region_is_life(region, pass->life) || op >= region->n_ops)
		return "";
	return region->ops[op].name ? region->ops[op].name : "";
}

static void copy_pass(struct program_copying *copying,
		      const struct program_step *from, struct text_step *to)
{
	const struct captured_pass *pass =
		&copying->capture->passes[from->pass];

	to->flags = from->flags;
	to->op = from->op;
	to->call = from->call;
	to->iteration = from->iteration;
	switch ((enum program_kind)from->kind) {
	case PROGRAM_FORWARD:
	case PROGRAM_BACKWARD:
		to->of = pass->source;
		if (pass->iterations > 1)
			to->iterations = pass->iterations;
		to->name = copy_name(copying, pass->region->name);
		break;
	case PROGRAM_DRAW:
	case PROGRAM_CELL:
		to->name = copy_name(copying, name_of_op(pass, from->op));
		break;
	default:
		break;
	}
}

static void copy_draw(const struct program_step *from, struct text_step *to)
{
	to->dist = from->dist;
	to->dtype = from->dtype;
	to->layout = from->layout;
	to->first = from->span.first;
	to->count = from->span.count;
	if (from->span.rows > 1) { /* one spelling of a plain span */
		to->rows = from->span.rows;
		to->stride = from->span.row_stride;
	}
	memcpy(to->with, from->with, sizeof(to->with));
}

static void copy_body(const struct capture *capture, uint32_t number,
		      struct text_step *to)
{
	const struct captured_body *body = &capture->bodies[number];

	to->node = body->node;
	to->dist = capture->nodes[body->node].kind;
	to->limit = body->limit;
}

static void copy_captured(struct program_copying *copying,
			  const struct program_step *from)
{
	const struct capture *capture = copying->capture;
	struct text_step *to = new_step(copying, from->kind);

	if (!to)
		return;
	to->pass = from->pass;
	switch ((enum program_kind)from->kind) {
	case PROGRAM_VALUE:
		to->pass = 0;
		to->name = copy_name(copying,
				     capture->params[from->pass].name);
		to->bytes = capture->params[from->pass].size;
		break;
	case PROGRAM_BODY:
		copy_body(capture, from->pass, to);
		break;
	case PROGRAM_STATE:
	case PROGRAM_BODY_END:
		break;
	case PROGRAM_DRAW:
		copy_draw(from, to);
		copy_pass(copying, from, to);
		break;
	default:
		copy_pass(copying, from, to);
	}
}

static void copy_output(const struct body_step *from, struct text_step *to)
{
	if (from->input != UINT32_MAX)
		to->input = (uint64_t)from->input + 1;
	else
		to->from = from->of + 1;
	to->offset = from->offset;
}

static void copy_place(struct program_copying *copying,
		       const struct body_step *from, struct text_step *to)
{
	const struct program_places *places = copying->places;
	const struct pool_step *done = from->done;

	if (!done) {
		places->find(places->user, from->address, &to->segment,
			     &to->offset);
		return;
	}
	to->pool = copy_name(copying, done->pool->name);
	to->segment = done->block.segment;
	to->offset = done->block.offset;
}

static void copy_body_step(struct program_copying *copying,
			   const struct body_step *from)
{
	struct text_step *to = new_step(copying, from->kind);

	if (!to)
		return;
	to->index = from->index + 1;
	to->bytes = from->bytes;
	to->alignment = from->alignment;
	switch ((enum program_kind)from->kind) {
	case PROGRAM_VALUE:
	case PROGRAM_CALL:
	case PROGRAM_RETURN:
		to->index = 0;
		to->name = copy_name(copying, from->tag);
		break;
	case PROGRAM_ALLOC:
		to->name = copy_name(copying, from->tag);
		copy_place(copying, from, to);
		break;
	case PROGRAM_FREE:
		if (from->done) {
			to->name = copy_name(copying, from->tag);
			copy_place(copying, from, to);
		}
		break;
	case PROGRAM_BUFFER:
		to->alignment = 0;
		copy_place(copying, from, to);
		break;
	case PROGRAM_INNER:
		to->index = 0;
		to->name = copy_name(copying, from->tag);
		copy_output(from, to);
		to->input = 0;
		break;
	case PROGRAM_OUTPUT:
		copy_output(from, to);
		break;
	default:
		break;
	}
}

/* Each step of the body comes after those of the capture that were before. */
static void copy_steps(struct program_copying *copying)
{
	const struct program none = {.steps = NULL};
	const struct program *program =
		copying->capture ? &copying->capture->program : &none;
	const size_t n = copying->steps ? copying->steps->n : 0;
	size_t next = 0;

	for (uint32_t i = 0; !copying->failed && i <= program->n; i++) {
		for (; next < n && copying->steps->items[next].after == i;
		     next++)
			copy_body_step(copying, &copying->steps->items[next]);
		if (i < program->n)
			copy_captured(copying, &program->steps[i]);
	}
}

/* --- nodes ---------------------------------------------------------------- */

struct node_list {
	struct text_node *nodes;
	size_t n;
	uint32_t body;
	int failed;
};

static void list_node(void *user, enum device_node_kind kind, const char *name)
{
	struct node_list *list = user;
	struct text_node *node;

	for (size_t i = 0; i < list->n; i++)
		if (list->nodes[i].kind == kind && list->nodes[i].name &&
		    strcmp(list->nodes[i].name, name) == 0) {
			list->nodes[i].n++;
			return;
		}
	node = program_row(&list->failed, &list->nodes, &list->n, sizeof(*node));
	if (!node)
		return;
	*node = (struct text_node){.kind = kind,
				   .body = list->body,
				   .n = 1,
				   .name = strdup(name)};
	list->failed |= !node->name;
}

static int by_kind(const void *one, const void *other)
{
	const struct text_node *a = one, *b = other;

	return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind)
				  : strcmp(a->name, b->name);
}

static void free_nodes(struct text_node *nodes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(nodes[i].name);
}

/* A device that does not tell leaves none. */
static void list_nodes(struct philox_device *device, philox_native_graph native,
		       struct node_list *list)
{
	const struct status_message kept = status_kept();

	if (device_graph_list(device, native, list_node, list) != PHILOX_OK &&
	    !list->failed) {
		free_nodes(list->nodes, list->n);
		list->n = 0;
	}
	status_restore(&kept);
}

static void copy_nodes(struct program_copying *copying,
		       struct philox_device *device, philox_native_graph native,
		       uint32_t body)
{
	struct program_text *text = copying->text;
	struct node_list list = {.body = body};
	struct text_node *rows;

	list_nodes(device, native, &list);
	copying->failed |= list.failed;
	rows = list.n && !copying->failed
		       ? array_grow(&text->nodes, text->n_nodes, list.n,
				    sizeof(*rows))
		       : NULL;
	copying->failed |= list.n && !rows;
	if (rows) {
		qsort(list.nodes, list.n, sizeof(*rows), by_kind);
		memcpy(rows, list.nodes, list.n * sizeof(*rows));
		text->n_nodes += list.n;
	} else {
		free_nodes(list.nodes, list.n);
	}
	free(list.nodes);
}

/* A body's native graph lives as long as that of its node. */
static void copy_all_nodes(struct program_copying *copying,
			   struct philox_device *device,
			   philox_native_graph native)
{
	const struct capture *capture = copying->capture;
	const uint32_t n = capture ? capture->n_bodies : 0;

	copy_nodes(copying, device, native, CAPTURED_NO_BODY);
	for (uint32_t i = 0; !copying->failed && i < n; i++)
		copy_nodes(copying, device, capture->bodies[i].native, i);
}

int program_copy(struct program_text *text, struct text_program *program,
		 struct philox_context *context, const struct capture *capture,
		 const struct body_steps *steps,
		 philox_native_graph native,
		 const struct program_places *places)
{
	struct program_copying copying = {.text = text,
					  .capture = capture,
					  .places = places,
					  .steps = steps};

	program->steps.first = text->n_steps;
	program->nodes.first = text->n_nodes;
	context_lock(context);
	copy_steps(&copying);
	program->lost = (capture ? capture->program.lost : 0) +
			(steps ? steps->lost : 0);
	context_unlock(context);
	if (native && !copying.failed)
		copy_all_nodes(&copying, context->device, native);
	program->steps.n = text->n_steps - program->steps.first;
	program->nodes.n = text->n_nodes - program->nodes.first;
	return !copying.failed;
}

/* --- writing -------------------------------------------------------------- */

static void write_program(FILE *out, const struct program_text *text,
			  const struct text_program *program)
{
	fields_write_line(out, "program", text_program_fields, program);
	for (size_t i = 0; i < program->takes.n; i++)
		fprintf(out, "takes %" PRIu64 "\n",
			text->takes[program->takes.first + i]);
	for (size_t i = 0; i < program->steps.n; i++) {
		const struct text_step *step =
			&text->steps[program->steps.first + i];

		fprintf(out, "step %s", text_steps[step->kind].word);
		fields_write_line(out, "", text_steps[step->kind].fields, step);
	}
	for (size_t i = 0; i < program->nodes.n; i++)
		fields_write_line(out, "nodes", text_node_fields,
				  &text->nodes[program->nodes.first + i]);
}

void program_write(FILE *out, const struct program_text *text)
{
	for (size_t i = 0; i < text->n_programs; i++)
		write_program(out, text, &text->programs[i]);
}

void program_finish(struct program_text *text)
{
	for (size_t i = 0; i < text->n_steps; i++) {
		free(text->steps[i].name);
		free(text->steps[i].pool);
	}
	free_nodes(text->nodes, text->n_nodes);
	free(text->steps);
	free(text->nodes);
	free(text->programs);
	free(text->takes);
	memset(text, 0, sizeof(*text));
}

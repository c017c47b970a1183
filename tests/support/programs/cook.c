/*
 * tests/support/programs/cook.c - random bodies, done by a runner and by plain
 * code
 *
 * See tests/support/programs/recipe.h.
 */
#include "tests/support/programs/recipe.h"

#define TRY(call)                          \
	do {                               \
		enum philox_status tried_; \
                                           \
		tried_ = (call);           \
		if (tried_ != PHILOX_OK)   \
			return tried_;     \
	} while (0)

/* --- cooked by a runner --------------------------------------------------- */

struct cooking {
	struct recipe_run *of;
	struct philox_run *run;
	philox_stream stream;
	uint32_t *registers[RECIPE_REGISTERS];
	struct philox_pass passes[RECIPE_PASSES];
	struct philox_ticket tickets[RECIPE_PASSES];
};

static const uint32_t sites[SITES][2] = {{0, 0}, {1, 0}, {1, 1}, {2, 0}};

static enum philox_status draw_all(const struct philox_pass *pass, uint32_t *to)
{
	for (unsigned i = 0; i < SITES; i++) {
		struct philox_fill_desc fill =
			PHILOX_INIT(struct philox_fill_desc);

		fill.dist = PHILOX_DIST_BITS;
		fill.dtype = PHILOX_DTYPE_U32;
		fill.span.count = COUNT;
		fill.out = to + i * COUNT;
		TRY(philox_pass_fill(pass, sites[i][0], sites[i][1], &fill));
	}
	return PHILOX_OK;
}

static enum philox_status cook_begin(struct cooking *c, unsigned index)
{
	const struct recipe_pass *pass = &c->of->recipe->passes[index];
	struct philox_region *region = c->of->regions[pass->region];
	struct philox_pass *to = &c->passes[index];

	if (pass->backward) {
		struct philox_ticket ticket = {0, 0};

		if (pass->source >= 0)
			ticket = c->tickets[pass->source];
		TRY(philox_run_backward_begin(c->run, region, ticket,
					      pass->flags, to));
		return philox_pass_ticket(to, &c->tickets[index]);
	}
	TRY(philox_run_forward_begin(c->run, region, pass->flags, to));
	if (c->of->kind != PHILOX_CALL_RECORD)
		c->of->forwards[c->of->began++] = pass;
	return PHILOX_OK;
}

static enum philox_status cook_value(struct cooking *c,
				     const struct recipe_op *op)
{
	const void *value;

	TRY(philox_run_param(c->run, op->from, &value));
	return philox_memory_copy(c->of->device, c->stream,
				  c->registers[op->to] + op->to_word, value,
				  PHILOX_PARAM_BYTES);
}

static enum philox_status cook_declare(struct cooking *c,
				       const struct recipe_op *op)
{
	return philox_run_output(c->run, op->from,
				 c->registers[op->to] + op->to_word,
				 RECIPE_BYTES - 4 * op->to_word);
}

static enum philox_status cook(struct cooking *c, const struct recipe_op *op)
{
	uint32_t *to = c->registers[op->to];
	void *made;

	switch (op->kind) {
	case RECIPE_ALLOC:
		TRY(philox_run_alloc(c->run, op->bytes, 0, "temp", &made));
		c->registers[op->to] = made;
		return PHILOX_OK;
	case RECIPE_FREE:
		return philox_run_free(c->run, to);
	case RECIPE_COPY:
		return philox_memory_copy(
			c->of->device, c->stream, to + op->to_word,
			c->registers[op->from] + op->from_word, 4 * op->words);
	case RECIPE_SET:
		return philox_memory_set(c->of->device, c->stream, to,
					 (int)op->from, RECIPE_BYTES);
	case RECIPE_VALUE:
		return cook_value(c, op);
	case RECIPE_BEGIN:
		return cook_begin(c, op->from);
	case RECIPE_DRAW:
		return draw_all(&c->passes[op->from], to);
	case RECIPE_COMMIT:
		if (c->of->recipe->passes[op->from].backward)
			return philox_pass_commit(&c->passes[op->from], 0,
						  NULL);
		return philox_pass_commit(&c->passes[op->from], 0,
					  &c->tickets[op->from]);
	case RECIPE_LITERAL:
		return philox_memory_copy(
			c->of->device, c->stream, to + op->to_word,
			c->of->literal + op->from_word, 4 * op->words);
	case RECIPE_RUNS:
		return philox_memory_set(c->of->device, c->stream, to,
					 (int)(c->of->bodies % 251),
					 RECIPE_BYTES);
	default:
		return cook_declare(c, op);
	}
}

/* Some bodies do not look at what their calls return. */
static enum philox_status break_capture(struct cooking *c)
{
	struct philox_device *device = c->of->device;
	void *memory;

	if (c->of->fault_at % 3 == 0)
		return philox_stream_synchronize(device, c->stream);
	if (c->of->fault_at % 3 == 1)
		return philox_memory_alloc(device, 64, &memory);
	philox_stream_synchronize(device, c->stream);
	return PHILOX_OK;
}

static enum philox_status make_fault(struct cooking *c)
{
	struct recipe_run *of = c->of;
	void *memory;

	of->faulted |=
		of->fault != FAULT_BREAK || of->kind == PHILOX_CALL_RECORD;
	switch (of->fault) {
	case FAULT_RETURN:
		return FAULT_STATUS;
	case FAULT_BREAK:
		return of->kind == PHILOX_CALL_RECORD ? break_capture(c)
						      : PHILOX_OK;
	case FAULT_REFUSE:
		return philox_run_refuse(c->run, "by chance");
	case FAULT_AGAIN:
		/* once in a call: dry warm-ups go on until it is done */
		of->asked_again =
			of->kind != PHILOX_CALL_RECORD && of->bodies == 1;
		return of->asked_again ? philox_run_again(c->run) : PHILOX_OK;
	case FAULT_DIFFER:
		return philox_run_alloc(c->run, 64, 0, "more", &memory);
	default:
		return PHILOX_OK;
	}
}

enum philox_status recipe_body(void *user, struct philox_run *run)
{
	struct recipe_run *of = user;
	struct cooking c = {
		.of = of, .run = run, .stream = philox_run_stream(run)};
	const unsigned at = of->fault_at % of->recipe->n_ops;
	const struct recipe *recipe = of->recipe;

	of->kind = philox_run_kind(run);
	if (of->recorded && of->kind == PHILOX_CALL_RECORD)
		recipe = of->recorded;
	of->bodies++;
	of->began = 0;
	of->asked_again = 0;
	for (unsigned i = 0; i < of->shape->n_inputs; i++) {
		void *input;

		TRY(philox_run_input(run, i, &input, NULL));
		c.registers[i] = input;
	}
	for (unsigned i = 0; i < recipe->n_ops; i++) {
		if (of->fault && i == at)
			TRY(make_fault(&c));
		TRY(cook(&c, &recipe->ops[i]));
	}
	return PHILOX_OK;
}

/* --- and by plain code ---------------------------------------------------- */

struct plainly {
	struct recipe_plain *of;
	struct philox_pass passes[RECIPE_PASSES];
	struct philox_ticket tickets[RECIPE_PASSES];
	unsigned entries
		[RECIPE_PASSES]; /* of passes: theirs, or their source's */
	unsigned n_entries;
};

/* A backward of a forward that has no ticket: its numbers are known. */
static int is_repeated(const struct plainly *p, unsigned index)
{
	const struct recipe_pass *pass = &p->of->recipe->passes[index];

	return p->of->launched && pass->backward && pass->source >= 0 &&
	       recipe_uses_up(p->of->recipe, (unsigned)pass->source) &&
	       !p->of->recipe->passes[pass->source].backward;
}

static enum philox_status plain_begin(struct plainly *p, unsigned index)
{
	const struct recipe_pass *pass = &p->of->recipe->passes[index];
	struct philox_region *region = p->of->regions[pass->region];
	philox_stream stream = p->of->f->stream;
	unsigned flags = pass->flags;

	p->entries[index] =
		pass->source < 0 ? p->n_entries++ : p->entries[pass->source];
	if (!pass->backward)
		return philox_forward_begin(
			region, stream,
			recipe_flags(p->of->recipe, index, p->of->launched),
			&p->passes[index]);
	if (is_repeated(p, index))
		return PHILOX_OK;
	if (pass->source >= 0)
		p->tickets[index] = p->tickets[pass->source];
	else
		p->tickets[index] = p->of->uses[p->entries[index]].ticket;
	if (pass->source < 0 || p->of->recipe->passes[pass->source].backward)
		flags |= p->of->uses[p->entries[index]].flags;
	return philox_backward_begin(region, stream, p->tickets[index], flags,
				     &p->passes[index]);
}

/* A backward of a forward of the body uses that one's ticket up. */
static enum philox_status plain_commit(struct plainly *p, unsigned index)
{
	const struct recipe_pass *pass = &p->of->recipe->passes[index];
	struct philox_ticket *in_use = &p->of->uses[p->entries[index]].ticket;

	if (!pass->backward) {
		TRY(philox_pass_commit(&p->passes[index], 0,
				       &p->tickets[index]));
		*in_use = p->tickets[index];
		return PHILOX_OK;
	}
	if (is_repeated(p, index))
		return PHILOX_OK;
	TRY(philox_pass_commit(&p->passes[index], 0, NULL));
	if (pass->source >= 0 &&
	    !p->of->recipe->passes[pass->source].backward &&
	    !(pass->flags & PHILOX_PASS_RETAIN))
		*in_use = (struct philox_ticket){0, 0};
	return PHILOX_OK;
}

static enum philox_status plain_draw(struct plainly *p, unsigned index,
				     struct numbers *to)
{
	const struct recipe_pass *pass = &p->of->recipe->passes[index];

	if (is_repeated(p, index)) {
		*to = p->of->drawn[pass->source];
	} else {
		TRY(draw_all(&p->passes[index], p->of->array));
		memcpy(to, p->of->array, sizeof(*to));
	}
	p->of->drawn[index] = *to;
	return PHILOX_OK;
}

static void plain_value(const struct philox_call_param *value, uint32_t *to)
{
	memset(to, 0, PHILOX_PARAM_BYTES);
	memcpy(to, value->data, value->bytes);
}

static enum philox_status plain_op(struct plainly *p,
				   const struct recipe_op *op)
{
	struct numbers *to = &p->of->registers[op->to];

	switch (op->kind) {
	case RECIPE_COPY:
		memcpy(to->word + op->to_word,
		       p->of->registers[op->from].word + op->from_word,
		       4 * op->words);
		return PHILOX_OK;
	case RECIPE_LITERAL:
		memcpy(to->word + op->to_word,
		       p->of->literal->word + op->from_word, 4 * op->words);
		return PHILOX_OK;
	case RECIPE_SET:
		memset(to, (int)op->from, sizeof(*to));
		return PHILOX_OK;
	case RECIPE_VALUE:
		plain_value(&p->of->values[op->from], to->word + op->to_word);
		return PHILOX_OK;
	case RECIPE_BEGIN:
		return plain_begin(p, op->from);
	case RECIPE_DRAW:
		return plain_draw(p, op->from, to);
	case RECIPE_COMMIT:
		return plain_commit(p, op->from);
	default: /* memory is nobody's business here */
		return PHILOX_OK;
	}
}

enum philox_status recipe_plainly(struct recipe_plain *plain)
{
	struct plainly p = {.of = plain};

	for (unsigned i = 0; i < plain->recipe->n_ops; i++)
		TRY(plain_op(&p, &plain->recipe->ops[i]));
	return PHILOX_OK;
}

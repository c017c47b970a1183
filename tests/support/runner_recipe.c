/*
 * tests/support/runner_recipe.c - see tests/support/runner_recipe.h
 */
#include "tests/support/runner_recipe.h"

#define TRY(call)                          \
	do {                               \
		enum philox_status tried_; \
                                           \
		tried_ = (call);           \
		if (tried_ != PHILOX_OK)   \
			return tried_;     \
	} while (0)

/* --- chance ------------------------------------------------------------------- */

struct chance chance_of(uint64_t seed, uint64_t series)
{
	return (struct chance){
		philox_fold(seed + 1, PHILOX_FOLD_REGION, series + 1)};
}

unsigned pick(struct chance *chance, unsigned n)
{
	chance->state =
		chance->state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(chance->state >> 33) % n;
}

int one_in(struct chance *chance, unsigned n)
{
	return !pick(chance, n);
}

/* --- shapes -------------------------------------------------------------------- */

static void make_input(struct chance *chance, unsigned i,
		       struct philox_input *input)
{
	static const char *const names[RECIPE_INPUTS] = {"x", "weight", "bias"};

	*input = (struct philox_input){.name = names[i],
				       .origin = PHILOX_ORIGIN};
	input->kind = one_in(chance, 2) ? PHILOX_INPUT_STATIC : pick(chance, 3);
	if (one_in(chance, 3))
		input->alignment = 16u << pick(chance, 4);
	if (!one_in(chance, 4))
		return;
	input->flags = PHILOX_INPUT_MUTATED;
	if (one_in(chance, 2) || input->kind == PHILOX_INPUT_COPIED)
		input->flags |= PHILOX_INPUT_WRITE_BACK;
}

void recipe_shape_make(struct chance *chance, struct recipe_shape *shape)
{
	static const char *const names[RECIPE_VALUES] = {"rate", "length"};

	shape->n_inputs = 1 + pick(chance, RECIPE_INPUTS);
	shape->n_values = pick(chance, RECIPE_VALUES + 1);
	shape->n_outputs = 1 + pick(chance, RECIPE_OUTPUTS);
	for (unsigned i = 0; i < shape->n_inputs; i++)
		make_input(chance, i, &shape->inputs[i]);
	for (unsigned i = 0; i < shape->n_values; i++)
		shape->values[i] = (struct philox_value){
			.name = names[i], .bytes = 1 + pick(chance, 16)};
}

int recipe_writes(const struct recipe_shape *shape, unsigned input)
{
	return (shape->inputs[input].flags & PHILOX_INPUT_MUTATED) != 0;
}

int recipe_aliases(const struct recipe *recipe,
		   const struct recipe_shape *shape, unsigned input)
{
	for (unsigned i = 0; i < shape->n_outputs; i++)
		if (recipe->outputs[i].from == input)
			return 1;
	return 0;
}

/* Whether a backward of the body uses up the ticket of a forward of it. */
static int is_own(const struct recipe *recipe, unsigned pass)
{
	for (unsigned i = pass + 1; i < recipe->n_passes; i++)
		if (recipe->passes[i].source == (int)pass &&
		    !(recipe->passes[i].flags & PHILOX_RETAIN))
			return 1;
	return 0;
}

unsigned recipe_flags(const struct recipe *recipe, unsigned pass, int launched)
{
	return recipe->passes[pass].flags |
	       (launched && is_own(recipe, pass) ? PHILOX_INFERENCE : 0);
}

const struct recipe_pass *recipe_entry(const struct recipe *recipe,
				       unsigned entry)
{
	for (unsigned i = 0; i < recipe->n_passes; i++)
		if (recipe->passes[i].source < 0 && !entry--)
			return &recipe->passes[i];
	return NULL;
}

/* --- making -------------------------------------------------------------------- */

struct making {
	struct chance *chance;
	const struct recipe_shape *shape;
	struct recipe *recipe;
	unsigned taken, filled; /* bits of registers */
};

static struct recipe_op *add_op(struct making *m, enum recipe_op_kind kind,
				unsigned to, unsigned from)
{
	struct recipe_op *op = &m->recipe->ops[m->recipe->n_ops++];

	cr_assert(m->recipe->n_ops <= RECIPE_OPS, "a recipe is too long");
	*op = (struct recipe_op){.kind = kind, .to = to, .from = from};
	return op;
}

static unsigned take_temp(struct making *m)
{
	static const size_t sizes[] = {RECIPE_BYTES, RECIPE_BYTES, 200,
				       1000,         5000,         70000};
	unsigned temp = RECIPE_INPUTS;

	while (m->taken & 1u << temp)
		temp++;
	cr_assert(temp < RECIPE_REGISTERS, "a recipe has no register left");
	add_op(m, RECIPE_ALLOC, temp, 0)->bytes = sizes[pick(m->chance, 6)];
	m->taken |= 1u << temp;
	return temp;
}

/* A register that can be read, but not `other`; RECIPE_REGISTERS: none. */
static unsigned some_filled(struct making *m, unsigned other)
{
	unsigned from = pick(m->chance, RECIPE_REGISTERS);

	for (unsigned i = 0; i < RECIPE_REGISTERS; i++) {
		unsigned at = (from + i) % RECIPE_REGISTERS;

		if (at != other && m->filled & 1u << at)
			return at;
	}
	return RECIPE_REGISTERS;
}

static void add_patch(struct making *m, unsigned to)
{
	unsigned from = some_filled(m, to);
	struct recipe_op *op;

	if (from == RECIPE_REGISTERS)
		return;
	op = add_op(m, RECIPE_COPY, to, from);
	op->words = 1 + pick(m->chance, WORDS / 2);
	op->to_word = pick(m->chance, WORDS - op->words + 1);
	op->from_word = pick(m->chance, WORDS - op->words + 1);
}

static unsigned add_filled(struct making *m)
{
	unsigned temp = take_temp(m);
	unsigned from = some_filled(m, temp);

	if (from == RECIPE_REGISTERS || one_in(m->chance, 6))
		add_op(m, RECIPE_SET, temp, pick(m->chance, 256));
	else
		add_op(m, RECIPE_COPY, temp, from)->words = WORDS;
	m->filled |= 1u << temp;
	return temp;
}

/* Data goes through memory that is freed at once. */
static void add_passage(struct making *m)
{
	unsigned temp = add_filled(m);

	add_patch(m, temp);
	for (unsigned i = RECIPE_INPUTS; i < RECIPE_REGISTERS; i++)
		if (i != temp && m->filled & 1u << i) {
			add_op(m, RECIPE_COPY, i, temp)->words =
				1 + pick(m->chance, WORDS);
			break;
		}
	add_op(m, RECIPE_FREE, temp, 0);
	m->taken &= ~(1u << temp);
	m->filled &= ~(1u << temp);
}

static void add_pass(struct making *m, unsigned index)
{
	unsigned early = one_in(m->chance, 2), temp = early ? take_temp(m) : 0;

	add_op(m, RECIPE_BEGIN, 0, index);
	if (!early)
		temp = take_temp(m);
	add_op(m, RECIPE_DRAW, temp, index);
	m->filled |= 1u << temp;
	if (one_in(m->chance, 3))
		add_passage(m);
	add_op(m, RECIPE_COMMIT, 0, index);
	if (one_in(m->chance, 2))
		add_patch(m, temp);
}

static void add_values(struct making *m, unsigned temp)
{
	for (unsigned i = 0; i < m->shape->n_values; i++)
		if (!one_in(m->chance, 5))
			add_op(m, RECIPE_VALUE, temp, i)->to_word =
				4 * pick(m->chance, WORDS / 4);
}

/* Each input is read, and those that are mutated are written to. */
static void add_inputs(struct making *m, unsigned temp)
{
	for (unsigned i = 0; i < m->shape->n_inputs; i++) {
		struct recipe_op *op = add_op(m, RECIPE_COPY, temp, i);

		op->words = WORDS / 4;
		op->to_word = op->from_word = WORDS / 4 * i;
		if (recipe_writes(m->shape, i))
			add_patch(m, i);
	}
}

/* An output may lie in a static input that is never copied. */
static int may_alias(const struct making *m, unsigned input)
{
	return m->shape->inputs[input].kind == PHILOX_INPUT_STATIC &&
	       m->shape->inputs[input].alignment < 2;
}

static void add_outputs(struct making *m, unsigned last)
{
	for (unsigned i = 0; i < m->shape->n_outputs; i++) {
		unsigned from = last;

		if (i && one_in(m->chance, 2))
			from = some_filled(m, RECIPE_REGISTERS);
		if (from < RECIPE_INPUTS && !may_alias(m, from))
			from = last;
		m->recipe->outputs[i].from = from;
		m->recipe->outputs[i].word =
			i && one_in(m->chance, 4) ? WORDS / 2 : 0;
		add_op(m, RECIPE_DECLARE, from, i)->to_word =
			m->recipe->outputs[i].word;
	}
}

static const struct {
	unsigned n;
	struct recipe_pass passes[RECIPE_PASSES];
} patterns[PATTERNS] = {
	[PASSES_NONE] = {0, {{0, 0, -1, 0}}},
	[PASSES_FORWARD] = {1, {{0, 0, -1, 0}}},
	[PASSES_BACKWARD] = {1, {{1, 0, -1, 0}}},
	[PASSES_OWN] = {2, {{0, 0, -1, 0}, {1, 0, 0, 0}}},
	[PASSES_OWN_RETAINED] = {2, {{0, 0, -1, 0}, {1, 0, 0, PHILOX_RETAIN}}},
	[PASSES_TWO_FORWARDS] = {2, {{0, 0, -1, 0}, {0, 1, -1, 0}}},
	[PASSES_LINKED] = {2, {{1, 0, -1, PHILOX_RETAIN}, {1, 0, 0, 0}}},
	[PASSES_BACK_AND_FORTH] = {2, {{1, 0, -1, 0}, {0, 1, -1, 0}}},
	[PASSES_INFERENCE] = {1, {{0, 0, -1, PHILOX_INFERENCE}}},
	[PASSES_TWO_BACKWARDS] = {2, {{1, 0, -1, 0}, {1, 1, -1, 0}}},
	[PASSES_FIRST_OF_TWO] = {3,
				 {{0, 0, -1, 0}, {0, 1, -1, 0}, {1, 0, 0, 0}}}};

void recipe_make(struct chance *chance, const struct recipe_shape *shape,
		 enum recipe_pattern pattern, struct recipe *recipe)
{
	struct making m = {.chance = chance, .shape = shape, .recipe = recipe};
	unsigned last;

	*recipe = (struct recipe){.pattern = pattern,
				  .n_passes = patterns[pattern].n};
	for (unsigned i = 0; i < shape->n_inputs; i++)
		m.taken |= 1u << i;
	m.filled = m.taken;
	for (unsigned i = 0; i < recipe->n_passes; i++) {
		recipe->passes[i] = patterns[pattern].passes[i];
		recipe->n_entries += recipe->passes[i].source < 0;
		add_pass(&m, i);
	}
	last = add_filled(&m);
	if (one_in(chance, 2))
		add_passage(&m);
	for (unsigned i = 0; i < recipe->n_passes; i++)
		add_patch(&m, last);
	add_inputs(&m, last);
	add_values(&m, last);
	add_outputs(&m, last);
}

/* --- cooked by a runner -------------------------------------------------------- */

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
		struct philox_fill fill = PHILOX_INIT(struct philox_fill);

		fill.dist = PHILOX_BITS;
		fill.dtype = PHILOX_U32;
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

	TRY(philox_run_value(c->run, op->from, &value));
	return philox_memory_copy(c->of->device,
				  c->registers[op->to] + op->to_word, value,
				  PHILOX_VALUE_SIZE, c->stream);
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
		return philox_memory_copy(c->of->device, to + op->to_word,
					  c->registers[op->from] +
						  op->from_word,
					  4 * op->words, c->stream);
	case RECIPE_SET:
		return philox_memory_set(c->of->device, to, (int)op->from,
					 RECIPE_BYTES, c->stream);
	case RECIPE_VALUE:
		return cook_value(c, op);
	case RECIPE_BEGIN:
		return cook_begin(c, op->from);
	case RECIPE_DRAW:
		return draw_all(&c->passes[op->from], to);
	case RECIPE_COMMIT:
		if (c->of->recipe->passes[op->from].backward)
			return philox_backward_commit(&c->passes[op->from], 0);
		return philox_forward_commit(&c->passes[op->from],
					     &c->tickets[op->from]);
	default:
		return cook_declare(c, op);
	}
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
		return of->kind == PHILOX_CALL_RECORD
			       ? philox_stream_synchronize(of->device,
							   c->stream)
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

	of->kind = philox_run_kind(run);
	of->bodies++;
	of->began = 0;
	of->asked_again = 0;
	for (unsigned i = 0; i < of->shape->n_inputs; i++) {
		void *input;

		TRY(philox_run_input(run, i, &input, NULL));
		c.registers[i] = input;
	}
	for (unsigned i = 0; i < of->recipe->n_ops; i++) {
		if (of->fault && i == at)
			TRY(make_fault(&c));
		TRY(cook(&c, &of->recipe->ops[i]));
	}
	return PHILOX_OK;
}

/* --- and by plain code --------------------------------------------------------- */

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
	       is_own(p->of->recipe, (unsigned)pass->source) &&
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
	return philox_backward_begin(region, p->tickets[index], stream, flags,
				     &p->passes[index]);
}

/* A backward of a forward of the body uses that one's ticket up. */
static enum philox_status plain_commit(struct plainly *p, unsigned index)
{
	const struct recipe_pass *pass = &p->of->recipe->passes[index];
	struct philox_ticket *in_use = &p->of->uses[p->entries[index]].ticket;

	if (!pass->backward) {
		TRY(philox_forward_commit(&p->passes[index],
					  &p->tickets[index]));
		*in_use = p->tickets[index];
		return PHILOX_OK;
	}
	if (is_repeated(p, index))
		return PHILOX_OK;
	TRY(philox_backward_commit(&p->passes[index], 0));
	if (pass->source >= 0 &&
	    !p->of->recipe->passes[pass->source].backward &&
	    !(pass->flags & PHILOX_RETAIN))
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

static void plain_value(const struct philox_call_value *value, uint32_t *to)
{
	memset(to, 0, PHILOX_VALUE_SIZE);
	memcpy(to, value->bytes, value->size);
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

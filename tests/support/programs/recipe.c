/*
 * tests/support/programs/recipe.c - see tests/support/programs/recipe.h
 */
#include "tests/support/programs/recipe.h"

/* --- chance --------------------------------------------------------------- */

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

/* --- shapes --------------------------------------------------------------- */

static void make_input(struct chance *chance, unsigned i,
		       struct philox_input_desc *input)
{
	static const char *const names[RECIPE_INPUTS] = {"x", "weight", "bias"};

	*input = (struct philox_input_desc){.name = names[i],
					    .origin = PHILOX_ORIGIN};
	input->kind = one_in(chance, 2) ? PHILOX_INPUT_STATIC : pick(chance, 3);
	if (one_in(chance, 3))
		input->alignment = 16u << pick(chance, 4);
	if (input->kind != PHILOX_INPUT_COPIED && one_in(chance, 24))
		input->flags = PHILOX_INPUT_FIXED;
	if (!one_in(chance, 4))
		return;
	input->flags |= PHILOX_INPUT_MUTATED;
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
		shape->values[i] = (struct philox_param_desc){
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

int recipe_uses_up(const struct recipe *recipe, unsigned pass)
{
	for (unsigned i = pass + 1; i < recipe->n_passes; i++)
		if (recipe->passes[i].source == (int)pass &&
		    !(recipe->passes[i].flags & PHILOX_PASS_RETAIN))
			return 1;
	return 0;
}

unsigned recipe_flags(const struct recipe *recipe, unsigned pass, int launched)
{
	return recipe->passes[pass].flags |
	       (launched && recipe_uses_up(recipe, pass) ? PHILOX_PASS_INFERENCE
							 : 0);
}

const struct recipe_pass *recipe_entry(const struct recipe *recipe,
				       unsigned entry)
{
	for (unsigned i = 0; i < recipe->n_passes; i++)
		if (recipe->passes[i].source < 0 && !entry--)
			return &recipe->passes[i];
	return NULL;
}

/* --- making --------------------------------------------------------------- */

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
	[PASSES_OWN_RETAINED] = {2,
				 {{0, 0, -1, 0},
				  {1, 0, 0, PHILOX_PASS_RETAIN}}},
	[PASSES_TWO_FORWARDS] = {2, {{0, 0, -1, 0}, {0, 1, -1, 0}}},
	[PASSES_LINKED] = {2, {{1, 0, -1, PHILOX_PASS_RETAIN}, {1, 0, 0, 0}}},
	[PASSES_BACK_AND_FORTH] = {2, {{1, 0, -1, 0}, {0, 1, -1, 0}}},
	[PASSES_INFERENCE] = {1, {{0, 0, -1, PHILOX_PASS_INFERENCE}}},
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

/*
 * tests/numbers/layouts/layout_program.c - another library's program, op after
 * op
 *
 * The oracle is the table of a program of PyTorch's ops, each of which begins
 * where the previous one left the generator.
 */
#include <stdlib.h>
#include "tests/support/oracles/layouts.h"
#include "tests/support/support.h"

/* --- advances ------------------------------------------------------------- */

static uint64_t advance_of(const struct layout_case *c)
{
	struct layout_op op;
	uint64_t words = 0;

	layout_op_of(c, &op);
	OK(philox_layout_advance(&op.fill, &words));
	return words;
}

Test(layout, an_advance_is_the_originals)
{
	struct layout_case c = layout_case_of("triton", "uniform", "f32");
	struct philox_fill_desc plain = {.size = sizeof(plain),
					 .dist = PHILOX_DIST_BITS,
					 .span = philox_span_elements(0, 1000)};
	uint64_t words = 0;

	cr_assert_eq(advance_of(&c), 4 * 3000);
	c = layout_case_of("jax", "bits", "u64");
	cr_assert_eq(advance_of(&c), 4 * 3000);
	c = layout_case_of("curand_host", "bits", "u32");
	c.elements = 3001;
	cr_assert_eq(advance_of(&c), 3004);
	c = layout_case_of("pytorch", "dropout", "f32");
	c.p = 1;
	cr_assert_eq(advance_of(&c), 0, "nothing is drawn");
	OK(philox_layout_advance(&plain, &words));
	cr_assert_eq(words, 4);
}

Test(layout, an_advance_past_2_to_the_64_is_refused)
{
	static const char *const kinds[][3] = {{"triton", "uniform", "f32"},
					       {"jax", "bits", "u32"},
					       {"curand_host", "bits", "u32"}};

	for (int i = 0; i < 3; i++) {
		struct layout_case c =
			layout_case_of(kinds[i][0], kinds[i][1], kinds[i][2]);
		const uint64_t most = ((uint64_t)1 << 62) - 1;
		struct layout_op op;
		uint64_t words = 0;

		layout_op_of(&c, &op);
		op.layout.elements = 0;
		op.fill.span = philox_span_elements(most - 1, 1);
		OK(philox_layout_advance(&op.fill, &words));
		cr_assert_eq(words, i < 2 ? 4 * most : most + 1, "%d", i);
		for (uint64_t end = most + 1; end; end *= 2) {
			op.fill.span = philox_span_elements(end - 1, 2);
			FAILS(philox_layout_advance(&op.fill, &words),
			      PHILOX_ERROR_OVERFLOW);
			NAMES("2^62");
		}
		op.fill.span = philox_span_elements(UINT64_MAX, 1);
		FAILS(philox_layout_advance(&op.fill, &words),
		      PHILOX_ERROR_OVERFLOW);
	}
}

Test(layout, an_advance_needs_a_fill_and_a_place)
{
	struct layout_case c = layout_case_of("jax", "bits", "u32");
	struct layout_op op;
	uint64_t words = 77;

	layout_op_of(&c, &op);
	FAILS(philox_layout_advance(NULL, &words), PHILOX_ERROR_INVALID);
	NAMES("fill");
	FAILS(philox_layout_advance(&op.fill, NULL), PHILOX_ERROR_INVALID);
	NAMES("words");
	cr_assert_eq(words, 77);
}

/*
 * PyTorch's defect that philox/fill.h describes, and the remedy given there.
 */
Test(layout, twice_the_advance_of_half_dropout_repeats_nothing)
{
	struct philox_device *device = layout_device();
	struct layout_case c = layout_case_of("pytorch", "dropout", "bf16");
	struct layout_op op;
	uint16_t *one, *two;
	unsigned same = 0;

	c.elements = 2048; /* 4 T */
	c.p = 0.5;
	layout_op_of(&c, &op);
	one = layout_draw_elements(device, &op, 0, c.elements);
	for (uint64_t reserved = 1; reserved <= 2; reserved++) {
		c.offset = 4096 + reserved * advance_of(&c);
		layout_op_of(&c, &op);
		two = layout_draw_elements(device, &op, 0, c.elements);
		same = 0;
		for (uint64_t i = 0; i < c.elements; i += 8)
			for (uint64_t k = i; k < i + 4; k++)
				same += (one[k + 4] & 0x7fff ? 1 : 0) ==
					(two[k] & 0x7fff ? 1 : 0);
		free(two);
		/* inputs of 0, one in 251, tell nothing */
		if (reserved == 1)
			cr_assert(same > 1000, "the second half again: %u",
				  same);
		else
			cr_assert(same < 600, "half of it by chance: %u", same);
	}
	free(one);
	philox_device_close(device);
}

/* --- a program of PyTorch's ----------------------------------------------- */

enum { PROGRAM_OPS = 6, PROGRAM_STEPS = 2 };

struct program {
	struct layout_answers answers[PROGRAM_STEPS * PROGRAM_OPS];
	struct layout_op op[PROGRAM_OPS];
	void *in[PROGRAM_OPS], *out[PROGRAM_OPS];
	struct philox_region *region;
};

static void read_program(struct program *program)
{
	struct layout_table table;
	struct layout_answers more;

	layout_table_open(&table, "tests/golden/program.txt");
	for (int i = 0; i < PROGRAM_STEPS * PROGRAM_OPS; i++)
		cr_assert(layout_table_next(&table, &program->answers[i]));
	cr_assert_not(layout_table_next(&table, &more));
}

static void make_program(struct fixture *f, struct program *program)
{
	struct philox_op_desc ops[PROGRAM_OPS] = {{0}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "program",
					     .ops = ops,
					     .n_ops = PROGRAM_OPS,
					     .flags = PHILOX_REGION_SHARED};

	read_program(program);
	for (int i = 0; i < PROGRAM_OPS; i++) {
		struct layout_op *op = &program->op[i];
		uint64_t count;

		layout_op_of(&program->answers[i].c, op);
		count = op->layout.elements;
		OK(philox_layout_advance(&op->fill, &ops[i].advance));
		program->in[i] = make_memory(f, count * op->size);
		program->out[i] = make_memory(f, count * op->size);
		layout_write_inputs(op, program->in[i], 0, count);
	}
	OK(philox_region_create(f->context, &options, &program->region));
	OK(philox_generator_seed(philox_context_generator(f->context), 42));
}

static void draw_program(const struct philox_pass *pass,
			 struct program *program)
{
	for (uint32_t i = 0; i < PROGRAM_OPS; i++) {
		struct philox_fill_desc fill = program->op[i].fill;

		fill.in = program->in[i];
		fill.out = program->out[i];
		OK(philox_pass_fill(pass, i, 0, &fill));
	}
}

/* A forward's numbers are those of step `step` of the program. */
static void check_program(struct fixture *f, struct program *program, int step)
{
	OK(philox_device_synchronize(f->device));
	for (int i = 0; i < PROGRAM_OPS; i++) {
		const struct layout_answers *answers =
			&program->answers[step * PROGRAM_OPS + i];
		size_t size = answers->c.elements * program->op[i].size;

		cr_assert_eq(layout_digest(program->out[i], size),
			     answers->digest, "step %d, %s", step,
			     layout_text(&answers->c));
		memset(program->out[i], 0, size);
	}
}

PROMISE(layout, a_shared_region_draws_what_a_program_of_pytorch_draws)
{
	struct program program;

	make_program(f, &program);
	for (int step = 0; step < PROGRAM_STEPS; step++) {
		struct philox_pass pass;
		struct philox_ticket ticket;

		OK(philox_forward_begin(program.region, f->stream, 0, &pass));
		draw_program(&pass, &program);
		OK(philox_pass_commit(&pass, 0, &ticket));
		check_program(f, &program, step);
	}
}

GRAPH_PROMISE(layout, a_captured_shared_region_draws_the_same_program)
{
	struct program program;
	struct philox_pass pass;
	struct philox_ticket ticket;
	struct philox_graph *graph;

	make_program(f, &program);
	record_begin(f);
	OK(philox_forward_begin(program.region, f->stream, 0, &pass));
	draw_program(&pass, &program);
	OK(philox_pass_commit(&pass, 0, &ticket));
	graph = record_end(f);
	for (int step = 0; step < PROGRAM_STEPS; step++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};

		OK(philox_graph_launch(graph, f->stream, &use, 1));
		check_program(f, &program, step);
	}
	OK(philox_graph_destroy(graph));
}

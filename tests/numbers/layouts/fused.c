/*
 * tests/numbers/layouts/fused.c - the example of your own kernel (examples/)
 *
 * Its output is compared with philox_pass_dropout() of GELU, computed here in
 * f64 and by another pass of the same ticket.
 */
#include <math.h>
#include "examples/fused_dropout.h"
#include "tests/support/support.h"

enum { COLS = 37, MOST = 1001, PASSES = 3 };

static const uint64_t sizes[] = {0, 1, 3, 4, 5, 127, 1000, MOST};
static const double p = 0.3;

struct layer {
	struct philox_region *region;
	struct fused_dropout args;
	float *x, *bias, *dy; /* for args to point to */
	float *out;           /* written by the kernel */
	float *plain, *want;  /* read and written by philox_pass_dropout() */
};

/* Arrays begin one element after an aligned address. */
static float *make_floats(struct fixture *f, size_t count)
{
	return (float *)make_memory(f, (count + 1) * sizeof(float)) + 1;
}

static void make_layer(struct fixture *f, struct layer *l)
{
	struct philox_op_desc op = {.name = "dropout"};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = "layer",
					     .ops = &op,
					     .n_ops = 1};

	memset(l, 0, sizeof(*l));
	OK(philox_region_create(f->context, &options, &l->region));
	l->x = make_floats(f, MOST);
	l->bias = make_floats(f, COLS);
	l->dy = make_floats(f, MOST);
	l->out = make_floats(f, MOST);
	l->plain = make_floats(f, MOST);
	l->want = make_floats(f, MOST);
	for (int i = 0; i < MOST; i++) {
		l->x[i] = (float)(i % 23) * 0.25f - 2.6f;
		l->dy[i] = (float)(i % 7) + 0.5f;
	}
	for (int i = 0; i < COLS; i++)
		l->bias[i] = (float)i * 0.01f;
	l->args = (struct fused_dropout){.threshold = philox_threshold(p),
					 .scale = philox_dropout_scale(p),
					 .count = MOST,
					 .cols = COLS,
					 .x = l->x,
					 .bias = l->bias,
					 .out = l->out};
}

/* The example's work in a pass: forward, or backward if there is a dy. */
static void run(struct fixture *f, struct layer *l,
		const struct philox_pass *pass, const float *dy)
{
	struct fused_dropout args = l->args;

	args.dy = dy;
	OK(philox_pass_rng(pass, 0, 0, &args.rng));
	OK(fused_dropout_host(f->device, pass->stream, &args));
}

static struct philox_ticket forward_of(struct fixture *f, struct layer *l)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(l->region, f->stream, 0, &pass));
	run(f, l, &pass, NULL);
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

static void backward_of(struct fixture *f, struct layer *l,
			struct philox_ticket ticket)
{
	struct philox_pass pass;

	OK(philox_backward_begin(l->region, f->stream, ticket, 0, &pass));
	run(f, l, &pass, l->dy);
	OK(philox_pass_commit(&pass, 0, NULL));
}

/*
 * --- the expected output
 * ------------------------------------------------------
 */

static double phi(double z)
{
	return 0.5 * erfc(-z / sqrt(2.0));
}

static float plain(const struct layer *l, uint64_t i, int backward)
{
	double z = (double)(l->x[i] + l->bias[i % COLS]);
	double density = exp(-z * z / 2) / sqrt(2 * M_PI);

	return (float)(backward ? l->dy[i] * (phi(z) + z * density)
				: z * phi(z));
}

/* l->want is philox_pass_dropout() of GELU, or of its gradient, under a ticket. */
static void predict_layer(struct fixture *f, struct layer *l,
			  struct philox_ticket ticket, int backward)
{
	struct philox_span span = {.first = 0, .count = l->args.count};
	struct philox_pass pass;

	OK(philox_stream_synchronize(f->device, f->stream));
	for (uint64_t i = 0; i < l->args.count; i++)
		l->plain[i] = plain(l, i, backward);
	OK(philox_backward_begin(l->region, f->stream, ticket,
				 PHILOX_PASS_RETAIN, &pass));
	OK(philox_pass_dropout(&pass, 0, PHILOX_DTYPE_F32, span, p, l->plain,
			       l->want));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_stream_synchronize(f->device, f->stream));
}

static void compare(const struct layer *l)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < l->args.count; i++) {
		cr_assert_neq(l->plain[i], 0, "the test cannot see element %d",
			      (int)i);
		cr_assert_eq(l->out[i] == 0, l->want[i] == 0,
			     "%d of %d: not the mask", (int)i,
			     (int)l->args.count);
		cr_assert_float_eq(l->out[i], l->want[i],
				   1e-6 + 1e-5 * fabsf(l->want[i]));
		kept += l->out[i] != 0;
	}
	if (l->args.count == MOST)
		cr_assert(kept > MOST * 6 / 10 && kept < MOST * 8 / 10);
}

static void expect(struct fixture *f, struct layer *l,
		   struct philox_ticket ticket, int backward)
{
	predict_layer(f, l, ticket, backward);
	compare(l);
}

/* --- promises ------------------------------------------------------------- */

PROMISE(fused, the_forward_is_dropout_of_gelu)
{
	struct layer l;

	make_layer(f, &l);
	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct philox_ticket ticket;

		l.args.count = sizes[k];
		memset(l.out, 0x77, MOST * sizeof(float));
		ticket = forward_of(f, &l);
		expect(f, &l, ticket, 0);
		if (sizes[k] < MOST)
			cr_assert(l.out[sizes[k]] > 1e30f, "past the end");
	}
}

PROMISE(fused, a_backward_finds_the_mask_of_its_forward)
{
	struct philox_ticket tickets[PASSES];
	struct layer l;

	make_layer(f, &l);
	for (int i = 0; i < PASSES; i++)
		tickets[i] = forward_of(f, &l);
	for (int i = PASSES - 1; i >= 0; i--) {
		predict_layer(f, &l, tickets[i], 1);
		backward_of(f, &l, tickets[i]);
		OK(philox_stream_synchronize(f->device, f->stream));
		compare(&l);
	}
}

static struct philox_graph *record(struct fixture *f, struct layer *l,
				   int backward)
{
	const struct philox_ticket named_at_launch = {0, 0};

	record_begin(f);
	if (backward)
		backward_of(f, l, named_at_launch);
	else
		forward_of(f, l);
	return record_end(f);
}

GRAPH_PROMISE(fused, graphs_draw_from_cells_what_eager_passes_draw)
{
	struct philox_launch_pass use[PASSES];
	struct philox_graph *forward, *backward;
	struct layer l;

	make_layer(f, &l);
	memset(use, 0, sizeof(use));
	forward = record(f, &l, 0);
	backward = record(f, &l, 1);
	for (int i = 0; i < PASSES; i++) {
		OK(philox_graph_launch(forward, f->stream, &use[i], 1));
		expect(f, &l, use[i].ticket, 0);
	}
	for (int i = PASSES - 1; i >= 0; i--) {
		predict_layer(f, &l, use[i].ticket, 1);
		OK(philox_graph_launch(backward, f->stream, &use[i], 1));
		OK(philox_stream_synchronize(f->device, f->stream));
		compare(&l);
	}
}

GRAPH_PROMISE(fused, an_unannounced_launch_gives_nan)
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_graph *forward;
	struct layer l;

	make_layer(f, &l);
	forward = record(f, &l, 0);
	OK(philox_graph_launch(forward, f->stream, &use, 1));
	expect(f, &l, use.ticket, 0);
	OK(philox_native_exec_launch(f->device, f->stream,
				     native_exec(forward)));
	OK(philox_stream_synchronize(f->device, f->stream));
	for (int i = 0; i < MOST; i++)
		cr_assert(isnan(l.out[i]));
	FAILS(philox_context_check(f->context, NULL), PHILOX_ERROR_UNANNOUNCED);
}

/*
 * tests/mesh/ranks.c - all ranks of a mesh, each a context of this process, run
 * one program, and a model computes what each of them draws
 *
 * The model knows the whole tensor of a region that is shared: each rank draws
 * its span of it, and all of them together draw each element once. Of a region
 * that differs each rank draws a whole tensor of its own; two ranks have the
 * same one if and only if they have the same coordinates along its axes.
 */
#include <inttypes.h>
#include "tests/support/ranks/mesh.h"

enum {
	MOST_RANKS = 12,
	TENSOR = 24, /* elements */
	MADE = 6,    /* forwards owed at a time */
	STEPS = 60,
	OP = 1, /* of make_along(): the second call of the second operator */
	CALL = 1
};

enum kind { WHOLE, OWN, KINDS };

static const char *const names[KINDS] = {"dropout", "noise"};

/* A forward of all ranks. */
struct made {
	enum kind kind;
	uint64_t seed, offset;
	struct philox_ticket ticket[MOST_RANKS];
};

struct play {
	struct fixture *f;
	struct bed bed;
	uint64_t random, seed, offset[KINDS];
	struct along along[KINDS];
	struct philox_region *region[KINDS][MOST_RANKS];
	struct philox_graph *forth[KINDS][MOST_RANKS];
	struct philox_graph *back[KINDS][MOST_RANKS];
	uint64_t cut[MOST_RANKS + 1];
	struct made made[MADE];
	unsigned n_made;
	uint32_t *array;
	uint32_t saw[MOST_RANKS][TENSOR]; /* of the pass that was last */
};

static struct philox_span span_of(const struct play *p, enum kind kind,
				  unsigned rank)
{
	struct philox_span span = {.count = TENSOR};

	if (kind == WHOLE) {
		span.first = p->cut[rank];
		span.count = p->cut[rank + 1] - p->cut[rank];
	}
	return span;
}

/* --- one rank ------------------------------------------------------------- */

static void fill(struct play *p, enum kind kind, unsigned rank,
		 const struct philox_pass *pass)
{
	struct philox_fill_desc fill = PHILOX_INIT(struct philox_fill_desc);

	fill.dist = PHILOX_DIST_BITS;
	fill.dtype = PHILOX_DTYPE_U32;
	fill.span = span_of(p, kind, rank);
	fill.out = p->array;
	OK(philox_pass_fill(pass, OP, CALL, &fill));
}

static struct philox_ticket go_forth(struct play *p, enum kind kind,
				     unsigned rank)
{
	struct philox_ticket ticket = {0};
	struct philox_pass pass;

	OK(philox_forward_begin(p->region[kind][rank], p->f->stream, 0, &pass));
	fill(p, kind, rank, &pass);
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

static void go_back(struct play *p, enum kind kind, unsigned rank,
		    struct philox_ticket ticket, unsigned flags)
{
	struct philox_pass pass;

	OK(philox_backward_begin(p->region[kind][rank], p->f->stream, ticket,
				 flags, &pass));
	fill(p, kind, rank, &pass);
	OK(philox_pass_commit(&pass, 0, NULL));
}

static void capture(struct play *p, enum kind kind, unsigned rank)
{
	const struct philox_ticket named_at_launch = {0, 0};

	bed_go(&p->bed, rank);
	record_begin(p->f);
	go_forth(p, kind, rank);
	p->forth[kind][rank] = record_end(p->f);
	record_begin(p->f);
	go_back(p, kind, rank, named_at_launch, 0);
	p->back[kind][rank] = record_end(p->f);
}

static void read_rank(struct play *p, unsigned rank)
{
	struct numbers numbers = read_numbers(p->f, p->array);

	memcpy(p->saw[rank], numbers.word, sizeof(p->saw[rank]));
}

/* --- all ranks ------------------------------------------------------------ */

static void matches_the_model(const struct play *p, const struct made *made)
{
	const struct along *along = &p->along[made->kind];

	for (unsigned rank = 0; rank < p->bed.n; rank++) {
		struct philox_span span = span_of(p, made->kind, rank);
		uint64_t region = model_region(made->seed, names[made->kind],
					       &p->bed.mesh[rank], along);
		uint32_t whole[TENSOR];

		model_words(model_op(region, OP, CALL), made->offset, 0, TENSOR,
			    whole);
		cr_assert_eq(memcmp(p->saw[rank], whole + span.first,
				    span.count * sizeof(uint32_t)),
			     0, "%s at %" PRIu64 ", rank %u of %u",
			     names[made->kind], made->offset, rank, p->bed.n);
	}
}

static int have_a_block_in_common(const uint32_t *a, const uint32_t *b)
{
	for (int i = 0; i < TENSOR; i += 4)
		for (int k = 0; k < TENSOR; k += 4)
			if (!memcmp(a + i, b + k, 16))
				return 1;
	return 0;
}

static void ranks_differ_where_they_must(const struct play *p, enum kind kind)
{
	for (unsigned a = 0; kind == OWN && a < p->bed.n; a++)
		for (unsigned b = 0; b < a; b++) {
			int same = same_place(&p->bed.mesh[a], &p->bed.mesh[b],
					      &p->along[kind]);

			cr_assert_eq(!memcmp(p->saw[a], p->saw[b],
					     sizeof(p->saw[a])),
				     same, "ranks %u and %u", a, b);
			cr_assert_eq(
				have_a_block_in_common(p->saw[a], p->saw[b]),
				same, "ranks %u and %u", a, b);
		}
}

static void check(const struct play *p, const struct made *made)
{
	matches_the_model(p, made);
	ranks_differ_where_they_must(p, made->kind);
}

static void all_go_forth(struct play *p, enum kind kind)
{
	struct made *made = &p->made[p->n_made++];
	int captured = (int)bed_below(&p->random, 2);

	*made = (struct made){
		.kind = kind, .seed = p->seed, .offset = p->offset[kind]};
	p->offset[kind] += 4;
	for (unsigned rank = 0; rank < p->bed.n; rank++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};

		if (captured)
			OK(philox_graph_launch(p->forth[kind][rank],
					       p->f->stream, &use, 1));
		else
			use.ticket = go_forth(p, kind, rank);
		made->ticket[rank] = use.ticket;
		read_rank(p, rank);
	}
	check(p, made);
}

/* Of any forward that is owed one; ranks need not agree how. */
static void all_go_back(struct play *p)
{
	unsigned pick = bed_below(&p->random, p->n_made);
	struct made made = p->made[pick];
	unsigned flags = bed_below(&p->random, 3) ? 0 : PHILOX_PASS_RETAIN;

	for (unsigned rank = 0; rank < p->bed.n; rank++) {
		struct philox_launch_pass use = {made.ticket[rank], flags, 0};

		if (bed_below(&p->random, 2))
			OK(philox_graph_launch(p->back[made.kind][rank],
					       p->f->stream, &use, 1));
		else
			go_back(p, made.kind, rank, made.ticket[rank], flags);
		read_rank(p, rank);
	}
	check(p, &made);
	if (!flags)
		p->made[pick] = p->made[--p->n_made];
}

static void all_seed(struct play *p)
{
	p->seed = bed_random(&p->random);
	p->offset[WHOLE] = p->offset[OWN] = 0;
	for (unsigned rank = 0; rank < p->bed.n; rank++)
		OK(philox_generator_seed(
			philox_context_generator(p->bed.context[rank]),
			p->seed));
}

/* --- a program ------------------------------------------------------------ */

/* Uneven, and some ranks have nothing. */
static void cut(struct play *p)
{
	for (unsigned i = 1; i < p->bed.n; i++) {
		uint64_t at = bed_below(&p->random, TENSOR + 1);
		unsigned k = i;

		for (; k > 1 && p->cut[k - 1] > at; k--)
			p->cut[k] = p->cut[k - 1];
		p->cut[k] = at;
	}
	p->cut[p->bed.n] = TENSOR;
}

static void set_up(struct play *p, struct fixture *f, uint64_t random)
{
	struct philox_mesh mesh;

	memset(p, 0, sizeof(*p));
	p->f = f;
	p->random = random;
	p->seed = bed_random(&p->random);
	mesh = random_mesh(&p->random, MOST_RANKS);
	p->along[OWN] = random_along(&p->random, &mesh);
	p->array = f->scratch;
	bed_open(&p->bed, f, &mesh, p->seed);
	cut(p);
	for (unsigned rank = 0; rank < p->bed.n; rank++)
		for (enum kind kind = WHOLE; kind < KINDS; kind++) {
			p->region[kind][rank] =
				make_along(p->bed.context[rank], names[kind],
					   &p->along[kind]);
			capture(p, kind, rank);
		}
}

GRAPH_PROMISE(ranks, draw_what_a_model_of_all_of_them_says)
{
	unsigned ranks = 0;

	for (uint64_t round = 0; round < 6; round++) {
		struct play p;

		set_up(&p, f, 100 + round);
		ranks += p.bed.n;
		for (int step = 0; step < STEPS; step++) {
			uint32_t what = bed_below(&p.random, 20);

			if (what == 0)
				all_seed(&p);
			else if (p.n_made == MADE || (p.n_made && what < 10))
				all_go_back(&p);
			else
				all_go_forth(&p, what % 2 ? WHOLE : OWN);
		}
		bed_close(&p.bed);
	}
	cr_assert_gt(ranks, 24, "most meshes have ranks to compare");
}

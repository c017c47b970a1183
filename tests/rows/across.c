/*
 * tests/rows/across.c - draws by vectors across rows are those of one row
 * after the other
 *
 * Every instruction set draws the same launches, from tables with the same
 * rows, some of them poisoned or used up: outputs, rows and reports must be
 * those of the scalar loops, which other tests compare with
 * tests/support/models/rows.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include "lib/base/base.h"
#include "lib/fill/fill.h"
#include "tests/support/models/rows.h"
#include "tests/support/support.h"

enum { ROWS = 150, ENTRIES = 203, PITCH = 100, TRIES = 60 };

static uint32_t random_below(uint32_t n)
{
	static uint32_t x = 20261;

	x = x * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(x >> 8) * n >> 24);
}

/* --- launches ------------------------------------------------------------- */

static const struct {
	enum philox_dist dist;
	enum philox_dtype dtype;
	size_t size;
} kinds[] = {{PHILOX_DIST_BITS, PHILOX_DTYPE_U32, 4},
	     {PHILOX_DIST_BITS, PHILOX_DTYPE_U64, 8},
	     {PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F32, 4},
	     {PHILOX_DIST_UNIFORM, PHILOX_DTYPE_F64, 8},
	     {PHILOX_DIST_NORMAL, PHILOX_DTYPE_F32, 4}};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* What a launch reads, and what became of it. */
struct launch {
	struct philox_row_list list;
	struct philox_row_fill_desc fill;
	uint32_t indices[ENTRIES], counts[ENTRIES], steps[ENTRIES];
	uint8_t mask[ENTRIES];
	struct philox_state before[ROWS];
};

struct outcome {
	unsigned char out[ENTRIES * PITCH * 8];
	struct philox_state states[ROWS];
	struct philox_rows_report report;
};

/*
 * Rows twice, rows outside; few values, and now and then many; rows that have
 * no more numbers, many of them or few.
 */
static void fill_arrays(struct launch *launch)
{
	const uint32_t few = random_below(2) ? 8 : 200;

	for (uint32_t i = 0; i < ENTRIES; i++) {
		launch->indices[i] = random_below(40) ? random_below(ROWS)
						      : ROWS + random_below(2);
		launch->mask[i] = random_below(4) != 0;
		launch->counts[i] = random_below(random_below(9) ? 9 : PITCH);
		launch->steps[i] =
			random_below(30) ? random_below(9) : UINT32_MAX;
	}
	for (uint32_t i = 0; i < ROWS; i++) {
		const uint64_t last = UINT64_MAX - 3;
		const uint64_t offsets[] = {0,
					    4 * (uint64_t)random_below(1000),
					    0x3fffffffcu,
					    0x400000000u,
					    last,
					    last - 4,
					    PHILOX_POISON_OFFSET,
					    9, /* poison, too */
					    4 * (uint64_t)i};
		const uint32_t which = random_below(few);

		launch->before[i].seed =
			0x9e3779b97f4a7c15u * (random_below(1u << 24) + 1);
		launch->before[i].offset = offsets[which < 8 ? which : 8];
	}
}

static void make_launch(struct fixture *f, struct launch *launch, int kind)
{
	static const uint64_t firsts[] = {0, 1, 2, 3, 6, UINT64_MAX - 99};
	const int keep = random_below(3) == 0;
	const int in_order = random_below(3) == 0; /* all rows, no arrays */

	fill_arrays(launch);
	launch->list = (struct philox_row_list){
		.size = sizeof(launch->list),
		.count = random_below(2) ? 1 + random_below(ROWS) : ROWS};
	if (!in_order && random_below(2)) {
		launch->list.count = ENTRIES;
		launch->list.indices =
			upload(f, launch->indices, sizeof(launch->indices));
	}
	if (!in_order && random_below(2))
		launch->list.mask =
			upload(f, launch->mask, sizeof(launch->mask));
	if (!in_order && keep && random_below(2))
		launch->list.steps =
			upload(f, launch->steps, sizeof(launch->steps));
	launch->fill = (struct philox_row_fill_desc){
		.size = sizeof(launch->fill),
		.dist = kinds[kind].dist,
		.dtype = kinds[kind].dtype,
		.first = firsts[random_below(6)],
		.count = random_below(random_below(3) ? 3 + 3 * !in_order
						      : PITCH),
		.pitch = PITCH,
		.flags = keep ? PHILOX_ROWS_KEEP : 0};
	if (random_below(2))
		launch->fill.pitch =
			launch->fill.count ? launch->fill.count : 1;
	if (!in_order && random_below(2))
		launch->fill.counts =
			upload(f, launch->counts, sizeof(launch->counts));
}

static void run_launch(struct fixture *f, struct philox_rows *rows,
		       struct launch *launch, void *out, struct outcome *to)
{
	struct philox_state *states;

	to->report = (struct philox_rows_report){.size = sizeof(to->report)};
	OK(philox_rows_states(rows, &states));
	memcpy(states, launch->before, sizeof(launch->before));
	memset(out, 0xee, sizeof(to->out));
	launch->fill.out = out;
	OK(philox_rows_fill(rows, f->stream, &launch->list, &launch->fill));
	OK(philox_stream_synchronize(f->device, f->stream));
	memcpy(to->out, out, sizeof(to->out));
	memcpy(to->states, states, sizeof(to->states));
	philox_rows_check(rows, &to->report);
}

static void check_outcome(const struct outcome *is, const struct outcome *right,
			  size_t size, const char *name)
{
	for (size_t i = 0; i < sizeof(is->out); i++)
		cr_assert(is->out[i] == right->out[i],
			  "%s: byte %d of value %d of entry %d", name,
			  (int)(i % size), (int)(i / size % PITCH),
			  (int)(i / size / PITCH));
	for (uint32_t i = 0; i < ROWS; i++)
		cr_assert(is->states[i].seed == right->states[i].seed &&
				  is->states[i].offset ==
					  right->states[i].offset,
			  "%s: row %u", name, i);
	cr_assert_eq(is->report.outside, right->report.outside);
	cr_assert_eq(is->report.used_up, right->report.used_up);
}

Test(across, rows_are_drawn_as_one_by_one, .timeout = 120)
{
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "across", .count = ROWS};
	static struct outcome scalar, other;
	static struct launch launch;
	struct philox_rows *rows;
	struct fixture f;
	char name[64];
	void *out;

	fixture_open(&f, "host:sync");
	OK(philox_rows_create(f.context, &options, &rows));
	out = make_memory(&f, sizeof(scalar.out));
	for (int i = 0; i < TRIES * KINDS; i++) {
		make_launch(&f, &launch, i % KINDS);
		FOR_EACH_SIMD(simd)
		{
			snprintf(name, sizeof(name), "%s, launch %d",
				 simd_name(simd), i);
			run_launch(&f, rows, &launch, out,
				   simd == SIMD_SCALAR ? &scalar : &other);
			if (simd != SIMD_SCALAR)
				check_outcome(&other, &scalar,
					      kinds[i % KINDS].size, name);
		}
	}
	fixture_close(&f);
}

/* One number each, from more rows than vectors take at once. */
PROMISE(across, one_number_of_each_row_is_its_first)
{
	enum { MANY = 1000 };
	const struct philox_rows_desc options = {
		.size = sizeof(options), .name = "many", .count = MANY};
	uint32_t *out = make_memory(f, MANY * sizeof(*out));
	const struct philox_row_fill_desc fill = {.size = sizeof(fill),
						  .dist = PHILOX_DIST_BITS,
						  .dtype = PHILOX_DTYPE_U32,
						  .count = 1,
						  .pitch = 1,
						  .out = out};
	struct philox_rows *rows;
	uint64_t launch = 0;

	OK(philox_rows_create(f->context, &options, &rows));
	FOR_EACH_SIMD(simd)
	{
		OK(philox_rows_fill(rows, f->stream, NULL, &fill));
		OK(philox_stream_synchronize(f->device, f->stream));
		for (uint32_t i = 0; i < MANY; i++) {
			struct philox_state state = {
				model_row_seed(0, "many", i), 4 * launch};

			cr_assert_eq(out[i], model_word(state, 0), "%s, row %u",
				     simd_name(simd), i);
		}
		launch++;
	}
	OK(philox_rows_destroy(rows));
}

/* --- keys ----------------------------------------------------------------- */

/* A table's rows are derived with every instruction set. */
PROMISE(across, the_seeds_of_a_table_are_the_same_by_vectors)
{
	static const uint32_t counts[] = {1, 7, 63, 64, 65, 300};

	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
		FOR_EACH_SIMD(simd)
		{
			const struct philox_rows_desc options = {
				.size = sizeof(options),
				.name = "seeds",
				.count = counts[k]};
			struct philox_state states[300];
			struct philox_rows *rows;

			OK(philox_rows_create(f->context, &options, &rows));
			OK(philox_rows_get(rows, f->stream, 0, counts[k],
					   states));
			OK(philox_stream_synchronize(f->device, f->stream));
			for (uint32_t i = 0; i < counts[k]; i++) {
				cr_assert_eq(states[i].seed,
					     model_row_seed(0, "seeds", i),
					     "%s, row %u of %u",
					     simd_name(simd), i, counts[k]);
				cr_assert_eq(states[i].offset, 0);
			}
			OK(philox_rows_destroy(rows));
		}
}

static uint64_t model_key(const struct simd_keyed *blocks, unsigned i)
{
	uint32_t word[4];

	model_block(blocks->seed[i], blocks->low[i], blocks->high[i], word);
	return (uint64_t)word[1] << 32 | word[0];
}

static uint64_t random_word64(void)
{
	uint64_t word = random_below(1u << 24);

	word = word << 24 | random_below(1u << 24);
	return word << 24 | random_below(1u << 24);
}

/* All bits of seed, plane and index count. */
Test(across, keys_of_vectors_are_those_of_the_paper)
{
	static struct simd_keyed blocks;
	uint64_t out[SIMD_KEYED_MAX];

	for (unsigned n = 0; n <= SIMD_KEYED_MAX; n++) {
		for (unsigned i = 0; i < SIMD_KEYED_MAX; i++) {
			blocks.seed[i] = random_word64();
			blocks.low[i] = random_word64();
			blocks.high[i] = random_word64();
		}
		FOR_EACH_SIMD(simd)
		{
			memset(out, 0, sizeof(out));
			keys_fold(&blocks, n, out);
			for (unsigned i = 0; i < n; i++)
				cr_assert_eq(out[i], model_key(&blocks, i),
					     "%s, key %u of %u",
					     simd_name(simd), i, n);
		}
	}
}

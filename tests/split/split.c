/*
 * tests/split/split.c - samples of a vocabulary that is split give what one call
 * gives
 *
 * The parts run one after the other on one device; what they have written after
 * a round is added up here. The cases are those of filters.txt, whose answers
 * the call for the whole is tested against (filters.c, logprobs.c).
 */
#include <math.h>
#include <stdlib.h>
#include <philox/split.h>
#include "tests/sample/known.h"

enum { PARTS = 7, IDS = 6, TOP = 5 };

/* What a sample of one entry writes, in device memory. */
struct results {
	uint64_t key, cut;
	int32_t token, ids[IDS];
	uint32_t kept;
	struct {
		float drawn, of_ids[IDS], of_top[TOP];
		int32_t top[TOP];
	} logprobs[2];
};

/* A part: its sample, and the description of a round. */
struct part {
	struct philox_rows *rows;
	struct philox_sample_desc sample;
	struct philox_logprob_desc logprobs[2];
	struct philox_split_desc split;
	struct results *results;
};

/* --- rounds --------------------------------------------------------------- */

static void add_up(const struct philox_split_info *infos, uint32_t parts)
{
	for (uint64_t i = 0; i < infos->n_sums; i++) {
		uint64_t sum = 0;

		for (uint32_t k = 0; k < parts; k++)
			sum += infos[k].sums[i];
		for (uint32_t k = 0; k < parts; k++)
			infos[k].sums[i] = sum;
	}
}

static void take_most(const struct philox_split_info *infos, uint32_t parts)
{
	for (uint64_t i = 0; i < infos->n_maxima; i++) {
		uint64_t most = 0;

		for (uint32_t k = 0; k < parts; k++)
			if (infos[k].maxima[i] > most)
				most = infos[k].maxima[i];
		for (uint32_t k = 0; k < parts; k++)
			infos[k].maxima[i] = most;
	}
}

/* One round of all parts; returns how many rounds there are. */
static uint32_t do_round(struct fixture *f, struct part *part, uint32_t parts,
			 const struct philox_row_list *list, uint32_t entries,
			 uint32_t round)
{
	struct philox_split_info infos[PARTS];

	for (uint32_t k = 0; k < parts; k++) {
		part[k].split.round = round;
		infos[k] = PHILOX_INIT(struct philox_split_info);
		OK(philox_rows_sample_round(part[k].rows, f->stream, list,
					    &part[k].split));
		OK(philox_split_plan(&part[k].split, entries, &infos[k]));
		cr_assert_eq(infos[k].n_sums, infos[0].n_sums);
		cr_assert_eq(infos[k].n_maxima, infos[0].n_maxima);
		cr_assert_eq(infos[k].n_rounds, infos[0].n_rounds);
	}
	OK(philox_stream_synchronize(f->device, f->stream));
	add_up(infos, parts);
	take_most(infos, parts);
	return infos[0].n_rounds;
}

/* Parts whose samples are described; their work is made, and freed. */
static void run_parts(struct fixture *f, struct part *part, uint32_t parts,
		      uint32_t vocab, const struct philox_row_list *list,
		      uint32_t entries)
{
	struct philox_split_info info = PHILOX_INIT(struct philox_split_info);

	for (uint32_t k = 0; k < parts; k++) {
		part[k].split =
			(struct philox_split_desc){.size = sizeof(part->split),
						   .sample = &part[k].sample,
						   .vocab = vocab,
						   .part = k,
						   .n_parts = parts};
		OK(philox_split_plan(&part[k].split, entries, &info));
		OK(philox_memory_alloc(f->device, info.work_bytes,
				       &part[k].split.work));
		memset(part[k].split.work, 0xa5, info.work_bytes);
	}
	for (uint32_t round = 0; round < info.n_rounds; round++)
		cr_assert_eq(do_round(f, part, parts, list, entries, round),
			     info.n_rounds);
	for (uint32_t k = 0; k < parts; k++)
		OK(philox_memory_free(f->device, part[k].split.work));
}

/* --- one entry ------------------------------------------------------------ */

/* What is asked for, of which some cases ask for less. */
static void ask(struct part *part, uint32_t kind)
{
	struct results *results = part->results;

	for (int raw = 0; raw < 2; raw++)
		part->logprobs[raw] = (struct philox_logprob_desc){
			.size = sizeof(part->logprobs[raw]),
			.drawn =
				kind % 3 ? &results->logprobs[raw].drawn : NULL,
			.ids = results->ids,
			.of_ids = results->logprobs[raw].of_ids,
			.n_ids = IDS,
			.top = results->logprobs[raw].top,
			.of_top = results->logprobs[raw].of_top,
			.n_top = TOP};
	part->sample.tokens = &results->token;
	part->sample.keys = &results->key;
	part->sample.cuts = kind % 4 ? &results->cut : NULL;
	part->sample.kept_counts = kind % 5 ? &results->kept : NULL;
	part->sample.kept = NULL;
	part->sample.logprobs = kind % 7 ? &part->logprobs[0] : NULL;
	part->sample.raw_logprobs = kind % 6 ? &part->logprobs[1] : NULL;
	part->sample.flags = PHILOX_ROWS_KEEP;
}

/* Before a call: nothing is there; ids are columns, and some none. */
static void set_results(const struct known *of, struct results *results)
{
	memset(results, 0x77, sizeof(*results));
	results->ids[0] = (int32_t)of->first;
	results->ids[1] = (int32_t)(of->first + of->vocab / 2);
	results->ids[2] = (int32_t)(of->first + of->vocab - 1);
	results->ids[3] = of->last < 0 ? -5 : (int32_t)of->last;
	results->ids[4] = (int32_t)of->first - 1;
	results->ids[5] = (int32_t)(of->first + of->vocab);
}

static int is_same(float a, float b)
{
	return philox_f32_bits(a) == philox_f32_bits(b) ||
	       (isnan(a) && isnan(b));
}

/* Bit by bit, but all NaNs are one. */
static void are_same(const struct results *a, const struct results *b,
		     const char *what, int line)
{
	cr_assert_eq(a->token, b->token, "line %d, %s: token %d, not %d", line,
		     what, a->token, b->token);
	cr_assert_eq(a->key, b->key, "line %d, %s: key", line, what);
	cr_assert_eq(a->cut, b->cut, "line %d, %s: cut", line, what);
	cr_assert_eq(a->kept, b->kept, "line %d, %s: %u are kept, not %u", line,
		     what, a->kept, b->kept);
	for (int raw = 0; raw < 2; raw++) {
		cr_assert(
			is_same(a->logprobs[raw].drawn, b->logprobs[raw].drawn),
			"line %d, %s: drawn, %d", line, what, raw);
		for (int i = 0; i < IDS; i++)
			cr_assert(is_same(a->logprobs[raw].of_ids[i],
					  b->logprobs[raw].of_ids[i]),
				  "line %d, %s: id %d, %d: %a, not %a", line,
				  what, i, raw, a->logprobs[raw].of_ids[i],
				  b->logprobs[raw].of_ids[i]);
		for (int i = 0; i < TOP; i++) {
			cr_assert_eq(a->logprobs[raw].top[i],
				     b->logprobs[raw].top[i],
				     "line %d, %s: top %d, %d: %d, not %d",
				     line, what, i, raw,
				     a->logprobs[raw].top[i],
				     b->logprobs[raw].top[i]);
			cr_assert(is_same(a->logprobs[raw].of_top[i],
					  b->logprobs[raw].of_top[i]),
				  "line %d, %s: of top %d, %d", line, what, i,
				  raw);
		}
	}
}

/* Columns of each part, in any order: part k has those of place order[k]. */
static void cut_up(const struct philox_sample_desc *whole, uint32_t parts,
		   uint32_t *x, struct part *part)
{
	const size_t size = whole->dtype == PHILOX_DTYPE_F32 ? 4 : 2;
	uint32_t begin = 0;

	for (uint32_t i = 0; i < parts; i++) {
		const uint32_t left = whole->vocab - begin, after = parts - i;
		struct part *one = &part[i % 2 ? i : parts - 1 - i / 2 * 2];
		uint32_t count = left - after + 1;

		if (parts % 2 == 0)
			one = &part[i];
		if (after > 1)
			count = 1 + known_below(x, count < 2 * left / after
							   ? count
							   : 2 * left / after);
		one->sample = *whole;
		one->sample.logits = (const char *)whole->logits + begin * size;
		one->sample.first = whole->first + begin;
		one->sample.vocab = count;
		begin += count;
	}
	cr_assert_eq(begin, whole->vocab);
}

static void check_parts(struct fixture *f, const struct known *of,
			const struct philox_sample_desc *whole,
			const struct results *expected, struct part *part,
			uint32_t parts, uint32_t *x)
{
	cut_up(whole, parts, x, part);
	for (uint32_t k = 0; k < parts; k++) {
		set_results(of, part[k].results);
		ask(&part[k], of->seed);
	}
	run_parts(f, part, parts, of->first + of->vocab, NULL, 1);
	for (uint32_t k = 0; k < parts; k++)
		are_same(part[k].results, expected, "a part", of->line);
}

static void check_known(struct fixture *f, const struct known *of,
			struct known_memory *memory, struct part *part,
			uint32_t *x)
{
	static const uint32_t counts[] = {1, 2, 3, PARTS};
	const struct philox_sample_desc described =
		known_describe(f, of, memory);
	struct part whole = {.rows = part->rows,
			     .sample = described,
			     .results = part->results};
	const uint32_t row = 0;
	struct results expected;

	OK(philox_rows_set(part->rows, f->stream, &row, &memory->state, 1));
	set_results(of, whole.results);
	ask(&whole, of->seed);
	OK(philox_sample_rows(whole.rows, f->stream, NULL, &whole.sample));
	OK(philox_stream_synchronize(f->device, f->stream));
	expected = *whole.results;
	for (int i = 0; i < 4; i++) {
		/* long rows are cut up in one way */
		if (counts[i] > of->vocab ||
		    (of->vocab > 20000 && i != (int)(of->seed % 4)))
			continue;
		check_parts(f, of, &described, &expected, part, counts[i], x);
	}
	known_undescribe(f, &described);
}

PROMISE(split, gives_what_one_call_gives)
{
	struct known_memory *memory = make_memory(f, sizeof(*memory));
	struct results *results = make_memory(f, PARTS * sizeof(*results));
	struct philox_rows *rows = known_rows(f, 1);
	FILE *file = fopen("tests/sample/filters.txt", "r");
	struct known known = {.line = 0};
	struct part part[PARTS];
	uint32_t x = 5, cases = 0;

	cr_assert(file);
	for (uint32_t k = 0; k < PARTS; k++) {
		part[k].rows = rows;
		part[k].results = &results[k];
	}
	for (; known_next(file, &known); cases++) {
		check_known(f, &known, memory, part, &x);
		known_free(&known);
	}
	fclose(file);
	cr_assert_gt(cases, 700u);
	OK(philox_rows_destroy(rows));
}

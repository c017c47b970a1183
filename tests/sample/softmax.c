/*
 * tests/sample/softmax.c - what filters keep of few tokens has its share of the
 * real softmax
 *
 * What is kept is compared with the definition in long double, and the tokens
 * with the rule: the best score of those that are kept.
 *
 * How probable a token is by that rule is counted: nothing is sampled, and there
 * is no quadrature. Words are cut into cells of equal probability. Noise does
 * not rise with its word (tests/numbers/tail/softmax.c), so the scores of a cell
 * are between those at its two ends. Where the lowest of the winner's cell beats
 * the highest of a cell of each other token, the winner has all words of these
 * cells. The number of such choices of cells is the least share of the winner.
 * It is an integer, and so are the others'; what they leave of the whole is the
 * most that it can have. Both are within the bound: 2^-24 times the largest
 * |logit / temperature|, or 1. For that, cells are as narrow as they need to be.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <philox/rows.h>
#include "lib/rows/host.h"
#include "tests/support/support.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

__extension__ typedef unsigned __int128 u128;

enum { TOKENS = 4, ROWS = 8, TEMPERATURES = 4 };

static const double temperatures[TEMPERATURES] = {0.25, 0.7, 1, 3};

/* Ties, also of the first; gaps, before the head and after it. */
static const struct row {
	uint32_t vocab;
	float logits[TOKENS];
} rows[ROWS] = {{2, {2, 2}},
		{2, {2.5f, -0.5f}},
		{2, {0, 20}},
		{3, {16, 15.5f, 16}},
		{3, {-9, -8.25f, -24}},
		{3, {7, 7, 7}},
		{3, {34.3f, 36.9f, 35.6f}},
		{4, {37, 36.5f, 36.25f, 37}}};

/* --- what is kept --------------------------------------------------------- */

enum { KS = 4, PS = 4, MS = 4, ENTRIES = KS * PS * MS, ORDERS = 3 };

/* Each filter alone, and all of them; an entry has one of each. */
static const uint32_t ks[KS] = {0, 1, 2, 3};
static const float ps[PS] = {1, 0.5f, 0.75f, 0.93f};
static const float ms[MS] = {0, 0.05f, 0.4f, 1};

/* The tokens of a row in their order, and their weights in it. */
struct ranking {
	uint32_t n, token[TOKENS];
	long double weight[TOKENS];
};

static int is_before(const struct row *row, uint32_t a, uint32_t b)
{
	return row->logits[a] > row->logits[b] ||
	       (row->logits[a] == row->logits[b] && a < b);
}

static struct ranking rank(const struct row *row, double temperature)
{
	struct ranking of = {.n = row->vocab};

	for (uint32_t v = 0; v < row->vocab; v++) {
		uint32_t place = 0;

		for (uint32_t u = 0; u < row->vocab; u++)
			place += (uint32_t)is_before(row, u, v);
		of.token[place] = v;
	}
	for (uint32_t i = 0; i < of.n; i++)
		of.weight[i] = expl(((long double)row->logits[of.token[i]] -
				     row->logits[of.token[0]]) /
				    temperature);
	return of;
}

static long double sum_of(const struct ranking *of, uint32_t n)
{
	long double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += of->weight[i];
	return sum;
}

/* Nothing of a row is so near a boundary that it may be on either side. */
static int is_below(long double a, long double b)
{
	cr_assert(a == b || fabsl(a - b) > 1e-6L * b, "%.12Lg and %.12Lg", a,
		  b);
	return a < b;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* How many the filters of an entry keep, by their definition. */
static uint32_t kept_of(const struct ranking *of, uint32_t entry,
			uint32_t order)
{
	const uint32_t k = ks[entry % KS];
	const float p = ps[entry / KS % PS], m = ms[entry / KS / PS];
	const uint32_t by_k = k ? least(k, of->n) : of->n;
	uint32_t by_m = 1, by_p = 1, all = of->n;

	while (by_m < of->n && !is_below(of->weight[by_m], m))
		by_m++;
	if (order == PHILOX_FILTER_ORDER_KPM)
		all = by_k;
	if (order == PHILOX_FILTER_ORDER_MKP)
		all = least(by_k, by_m);
	while (by_p < all &&
	       (p == 1 || is_below(sum_of(of, by_p), p * sum_of(of, all))))
		by_p++;
	return least(by_k, least(by_m, by_p));
}

/* --- shares --------------------------------------------------------------- */

/* The tokens that are kept, by index. */
struct race {
	uint32_t n, token[TOKENS];
	float logit[TOKENS], inverse;
	long double share[TOKENS]; /* of the real softmax */
	long double bound;         /* how near it is to be */
};

static struct race race_of(const struct row *row, double temperature,
			   uint32_t kept)
{
	const struct ranking of = rank(row, temperature);
	struct race race = {.inverse = 1 / (float)temperature, .bound = 1};

	for (uint32_t v = 0; v < row->vocab; v++) {
		const float logit = row->logits[v];
		uint32_t place = 0;

		while (of.token[place] != v)
			place++;
		if (place >= kept)
			continue;
		race.token[race.n] = v;
		race.logit[race.n] = logit;
		race.share[race.n++] = of.weight[place] / sum_of(&of, kept);
		race.bound =
			fmaxl(race.bound, fabs((double)logit / temperature));
	}
	race.bound *= 0x1p-24L;
	return race;
}

/* --- cells ---------------------------------------------------------------- */

enum { CELL_BITS = 25, CELLS = 1 << CELL_BITS };

/*
 * Counts of a race. Cell i of a token is between ends[i * step] and ends[(i +
 * 1) * step], whose noise rises; a few cells are enough where the bound is wide.
 */
struct counting {
	float *ends;
	const struct race *race; /* NULL: makes `ends` */
	uint32_t winner, step;
	u128 *ways;
};

ALWAYS_INLINE void make_ends(float *ends)
{
	const uint32_t words = 1u << (32 - CELL_BITS);

	ends[0] =
		philox_gumbel_of_exponential(philox_minus_ln1m_f32(UINT32_MAX));
	for (uint32_t i = 1; i <= CELLS; i++) {
		const uint32_t w = (CELLS - i) * words;

		ends[i] = philox_gumbel_of_exponential(
			w < PHILOX_SMALL_WORD ? philox_exponential_small(w, 0)
					      : philox_minus_ln1m_f32(w));
	}
}

ALWAYS_INLINE float score_of(const struct race *race, uint32_t i, float noise)
{
	return philox_multiply_add(race->logit[i], race->inverse, noise);
}

/* Cells of one token that the winner beats so far, and the score of the next. */
struct beaten {
	uint32_t cells;
	float next;
};

ALWAYS_INLINE float next_of(const struct counting *of, uint32_t u,
			    uint32_t cells)
{
	return cells < CELLS / of->step
		       ? score_of(of->race, u,
				  of->ends[(size_t)(cells + 1) * of->step])
		       : NAN; /* beats nothing, and is not beaten */
}

ALWAYS_INLINE u128 count(const struct counting *of, uint32_t n)
{
	const uint32_t w = of->winner;
	struct beaten beaten[TOKENS];
	u128 ways = 0;

	for (uint32_t u = 0; u < n; u++)
		beaten[u] = (struct beaten){0, next_of(of, u, 0)};
	for (size_t i = 0; i < CELLS; i += of->step) {
		const float score = score_of(of->race, w, of->ends[i]);
		u128 some = 1;

		for (uint32_t u = 0; u < n; u++) {
			struct beaten *b = &beaten[u];

			if (u == w)
				continue;
			while (u < w ? b->next < score : b->next <= score)
				b->next = next_of(of, u, ++b->cells);
			some *= b->cells;
		}
		ways += some;
	}
	return ways;
}

#define DEFINE_COUNT(storage, attribute, loop, none, no_size) \
	attribute storage void loop(const void *pointer)      \
	{                                                     \
		const struct counting *of = pointer;          \
                                                              \
		if (!of->race)                                \
			make_ends(of->ends);                  \
		else if (of->race->n == 2)                    \
			*of->ways = count(of, 2);             \
		else if (of->race->n == 3)                    \
			*of->ways = count(of, 3);             \
		else                                          \
			*of->ways = count(of, of->race->n);   \
	}

static void run_count(const void *of);
DEFINE_TWICE(DEFINE_COUNT, count, , 0)

/* --- shares of races ------------------------------------------------------ */

/* Cells are half as many where the bound is twice as wide. */
static uint32_t step_of(const struct race *race)
{
	uint32_t step = 1;

	while (2 * step * (race->n - 1) * 0x1p-24L <= race->bound)
		step *= 2;
	return step;
}

static void shares_are_real(float *ends, const struct race *race,
			    const char *name)
{
	const uint32_t step = step_of(race);
	const long double one = powl((long double)CELLS / step, race->n);
	long double least_of[TOKENS], rest = 1;

	for (uint32_t i = 0; i < race->n; i++) {
		u128 ways;
		const struct counting of = {.ends = ends,
					    .race = race,
					    .winner = i,
					    .step = step,
					    .ways = &ways};

		run_count(&of);
		least_of[i] = (long double)ways / one;
		rest -= least_of[i];
	}
	for (uint32_t i = 0; i < race->n; i++) {
		const long double low = least_of[i] - race->share[i];

		cr_assert(low >= -race->bound && low + rest <= race->bound,
			  "%s, token %u: %Lg to %Lg bounds from %.9Lg", name,
			  race->token[i], low / race->bound,
			  (low + rest) / race->bound, race->share[i]);
	}
}

/* --- masses --------------------------------------------------------------- */

/* The same integers as those of a sample (philox/rows.h). */
static void masses_are_real(const struct race *race, const char *name)
{
	uint64_t mass[TOKENS], total = 0;
	float most = race->logit[0];

	for (uint32_t i = 1; i < race->n; i++)
		most = fmaxf(most, race->logit[i]);
	for (uint32_t i = 0; i < race->n; i++) {
		const float t = (race->logit[i] - most) * race->inverse;

		mass[i] = (uint64_t)((double)philox_exp_f32(t) * 0x1p56);
		total += mass[i];
	}
	for (uint32_t i = 0; i < race->n; i++) {
		const long double share = (long double)mass[i] / total;

		cr_assert(fabsl(share - race->share[i]) <= race->bound,
			  "%s, token %u: %.12Lg, not %.12Lg", name,
			  race->token[i], share, race->share[i]);
	}
}

/* --- all of them ---------------------------------------------------------- */

/* Each set of several tokens that some filters keep of a row. */
static void all_are_real(float *ends, uint32_t r, double temperature)
{
	const struct ranking of = rank(&rows[r], temperature);
	uint32_t is_done = 0;

	for (uint32_t i = 0; i < ENTRIES * ORDERS; i++) {
		const uint32_t kept = kept_of(&of, i / ORDERS, i % ORDERS);
		const struct race race = race_of(&rows[r], temperature, kept);
		char name[64];

		if (kept == 1 || is_done >> kept & 1)
			continue;
		is_done |= 1u << kept;
		snprintf(name, sizeof(name), "row %u at %g, %u kept", r,
			 temperature, kept);
		masses_are_real(&race, name);
		shares_are_real(ends, &race, name);
	}
}

Test(softmax, has_the_share_of_each_token_in_draws_and_in_masses,
     .timeout = 300)
{
	float *ends = malloc(((size_t)CELLS + 1) * sizeof(*ends));
	const struct counting of = {.ends = ends};

	cr_assert(ends);
	run_count(&of);
	for (uint32_t i = 0; i < ROWS * TEMPERATURES; i++)
		all_are_real(ends, i % ROWS, temperatures[i / ROWS]);
	free(ends);
}

/* --- samples -------------------------------------------------------------- */

/* What is sampled of a row, for all filters, in device memory. */
struct samples {
	struct philox_state *states;
	float *logits, *top_ps, *min_ps, *of_ids;
	uint32_t *top_ks, *kept_counts;
	int32_t *tokens, *kept, *ids;
	uint32_t removed; /* how often the best of all is not kept */
};

static struct samples make_samples(struct fixture *f)
{
	struct samples s = {.states = make_memory(f, ENTRIES * 16)};

	s.logits = make_memory(f, ENTRIES * TOKENS * 4);
	s.top_ps = make_memory(f, ENTRIES * 4);
	s.min_ps = make_memory(f, ENTRIES * 4);
	s.of_ids = make_memory(f, ENTRIES * TOKENS * 4);
	s.top_ks = make_memory(f, ENTRIES * 4);
	s.kept_counts = make_memory(f, ENTRIES * 4);
	s.tokens = make_memory(f, ENTRIES * 4);
	s.kept = make_memory(f, ENTRIES * TOKENS * 4);
	s.ids = make_memory(f, ENTRIES * TOKENS * 4);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		s.top_ks[i] = ks[i % KS];
		s.top_ps[i] = ps[i / KS % PS];
		s.min_ps[i] = ms[i / KS / PS];
	}
	for (uint32_t i = 0; i < ENTRIES * TOKENS; i++)
		s.ids[i] = (int32_t)(i % TOKENS);
	return s;
}

static void sample(struct fixture *f, const struct samples *s, uint32_t r,
		   double temperature, uint32_t order)
{
	const struct philox_logprob_desc logprobs = {.size = sizeof(logprobs),
						     .ids = s->ids,
						     .of_ids = s->of_ids,
						     .n_ids = TOKENS};
	const struct philox_sample_desc desc = {.size = sizeof(desc),
						.logits = s->logits,
						.dtype = PHILOX_DTYPE_F32,
						.vocab = rows[r].vocab,
						.pitch = TOKENS,
						.temperature = temperature,
						.filters = PHILOX_FILTER_TOP_K |
							   PHILOX_FILTER_TOP_P |
							   PHILOX_FILTER_MIN_P,
						.filter_order = order,
						.top_ks = s->top_ks,
						.top_ps = s->top_ps,
						.min_ps = s->min_ps,
						.tokens = s->tokens,
						.kept_counts = s->kept_counts,
						.kept = s->kept,
						.kept_pitch = TOKENS,
						.logprobs = &logprobs};

	for (uint32_t i = 0; i < ENTRIES; i++) {
		s->states[i] = (struct philox_state){
			i * 64 + r * 8 + order,
			4 * (uint64_t)(temperature * 100)};
		memcpy(s->logits + i * TOKENS, rows[r].logits,
		       sizeof(rows[r].logits));
	}
	OK(philox_sample_states(f->device, f->stream, s->states, ENTRIES,
				&desc));
	OK(philox_stream_synchronize(f->device, f->stream));
}

/* The token of the best score; the first of equal ones. */
static uint32_t best_of(const struct race *race, struct philox_state state)
{
	float best = -INFINITY;
	uint32_t token = 0;

	for (uint32_t i = 0; i < race->n; i++) {
		const float score = score_of(
			race, i, philox_gumbel_at(state, race->token[i]));

		if (score > best) {
			best = score;
			token = race->token[i];
		}
	}
	return token;
}

static int is_kept(const struct race *race, uint32_t v)
{
	uint32_t i = 0;

	while (i < race->n && race->token[i] != v)
		i++;
	return i < race->n;
}

/* Logprobs are those of the shares, of what is not kept those of 0. */
static void has_logprobs(const struct samples *s, uint32_t entry,
			 const struct row *row, const struct race *race)
{
	const float *of = s->of_ids + entry * TOKENS;

	for (uint32_t i = 0; i < race->n; i++) {
		const long double share = expl(of[race->token[i]]);

		cr_assert(fabsl(share - race->share[i]) <= race->bound,
			  "token %u: %.12Lg, not %.12Lg", race->token[i], share,
			  race->share[i]);
	}
	for (uint32_t v = 0; v < row->vocab; v++)
		cr_assert(is_kept(race, v) || of[v] == -INFINITY);
}

static void entry_is_right(struct samples *s, uint32_t entry, uint32_t r,
			   double temperature, uint32_t kept)
{
	const struct row *row = &rows[r];
	const struct race race = race_of(row, temperature, kept),
			  all = race_of(row, temperature, row->vocab);
	const struct philox_state state = s->states[entry];

	cr_assert_eq(s->kept_counts[entry], kept,
		     "row %u, entry %u: %u, not %u", r, entry,
		     s->kept_counts[entry], kept);
	for (uint32_t i = 0; i < kept; i++)
		cr_assert_eq(s->kept[entry * TOKENS + i], (int)race.token[i]);
	cr_assert_eq(s->tokens[entry], (int)best_of(&race, state),
		     "row %u, entry %u: %d", r, entry, s->tokens[entry]);
	s->removed += (uint32_t)!is_kept(&race, best_of(&all, state));
	has_logprobs(s, entry, row, &race);
}

/* In each order some entries keep 1, 2, 3 and all 4. */
PROMISE(softmax, is_of_what_the_definition_keeps_and_of_nothing_else)
{
	struct samples s = make_samples(f);
	uint32_t n[ORDERS][TOKENS + 1] = {{0}};

	for (uint32_t i = 0; i < ROWS * TEMPERATURES * ORDERS; i++) {
		const uint32_t r = i % ROWS, order = i / ROWS % ORDERS;
		const double temperature = temperatures[i / ROWS / ORDERS];
		const struct ranking of = rank(&rows[r], temperature);

		sample(f, &s, r, temperature, order);
		for (uint32_t entry = 0; entry < ENTRIES; entry++) {
			const uint32_t kept = kept_of(&of, entry, order);

			entry_is_right(&s, entry, r, temperature, kept);
			n[order][kept]++;
		}
	}
	for (uint32_t i = 0; i < ORDERS * TOKENS; i++)
		cr_assert_gt(n[i / TOKENS][i % TOKENS + 1], 10u);
	cr_assert_gt(s.removed, 1000u, "%u", s.removed);
}

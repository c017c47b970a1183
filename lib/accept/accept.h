/*
 * lib/accept/accept.h - accepting drafts, for host loop and kernel alike
 *
 * philox/accept.h says what is accepted, and what is drawn instead. A position
 * of an entry is judged by itself, in any order: its random numbers are its
 * own, and what it says does not depend on those before it. The tokens of an
 * entry are then those up to the first that is not its draft.
 *
 * Masses have 57 bits at most and sums of them 88, so products of a mass, a sum
 * and a coin have 209; weights have 145, sums of them 176, and with `rest` 240.
 */
#ifndef LIB_ACCEPT_ACCEPT_H
#define LIB_ACCEPT_ACCEPT_H

#include <philox/accept.h>
#include "lib/change/change.h"
#include "lib/sample/filter.h"

/* --- wide integers -------------------------------------------------------- */

enum { WIDE_WORDS = 4 };

/* Of 256 bits; the lowest word is the first. */
struct wide {
	uint64_t w[WIDE_WORDS];
};

#ifdef __NVCC__
#define WIDE_EACH(i) _Pragma("unroll") for (int i = 0; i < WIDE_WORDS; i++)
#else
#define WIDE_EACH(i) for (int i = 0; i < WIDE_WORDS; i++)
#endif

PHILOX_FN struct wide wide_of(struct filter_sum sum)
{
	struct wide x = {{0, 0, 0, 0}};

	x.w[0] = sum.low;
	x.w[1] = sum.high;
	return x;
}

PHILOX_FN struct wide wide_times(struct wide a, uint64_t b)
{
	uint64_t carry = 0;

	WIDE_EACH(i)
	{
		const uint64_t low = a.w[i] * b + carry;

		carry = philox_mulhi_u64(a.w[i], b) + (low < carry);
		a.w[i] = low;
	}
	return a;
}

PHILOX_FN struct wide wide_plus(struct wide a, struct wide b)
{
	uint64_t carry = 0;

	WIDE_EACH(i)
	{
		const uint64_t sum = a.w[i] + b.w[i], all = sum + carry;

		carry = (sum < a.w[i]) | (all < sum);
		a.w[i] = all;
	}
	return a;
}

PHILOX_FN struct wide wide_minus(struct wide a, struct wide b)
{
	uint64_t borrow = 0;

	WIDE_EACH(i)
	{
		const uint64_t left = a.w[i] - b.w[i], all = left - borrow;

		borrow = (left > a.w[i]) | (all > left);
		a.w[i] = all;
	}
	return a;
}

PHILOX_FN int wide_is_less(struct wide a, struct wide b)
{
	int is_less = 0;

	WIDE_EACH(i)
	{
		is_less = a.w[i] < b.w[i] || (a.w[i] == b.w[i] && is_less);
	}
	return is_less;
}

PHILOX_FN int wide_is_zero(struct wide a)
{
	return !(a.w[0] | a.w[1] | a.w[2] | a.w[3]);
}

/* wide_up() returns 2^64 a, and wide_down() the whole part of a 2^-64. */
PHILOX_FN struct wide wide_up(struct wide a)
{
	const struct wide x = {{0, a.w[0], a.w[1], a.w[2]}};

	return x;
}

PHILOX_FN struct wide wide_down(struct wide a)
{
	const struct wide x = {{a.w[1], a.w[2], a.w[3], 0}};

	return x;
}

/* --- the rule ------------------------------------------------------------- */

/* accept_is() says whether a draft is accepted: by masses p and q, and sums. */
PHILOX_FN int accept_is(uint64_t coin, uint64_t p, struct filter_sum all_p,
			uint64_t q, struct filter_sum all_q)
{
	return wide_is_less(wide_times(wide_times(wide_of(all_p), q), coin),
			    wide_up(wide_times(wide_of(all_q), p)));
}

/* accept_weight() returns the weight of a token that may be drawn instead. */
PHILOX_FN struct wide accept_weight(uint64_t p, struct filter_sum all_p,
				    uint64_t q, struct filter_sum all_q)
{
	const struct wide target = wide_times(wide_of(all_q), p);
	const struct wide draft = wide_times(wide_of(all_p), q);
	const struct wide none = {{0, 0, 0, 0}};

	return wide_is_less(draft, target) ? wide_minus(target, draft) : none;
}

/* accept_goal(): the first sum of weights above it is that of the token. */
PHILOX_FN struct wide accept_goal(struct wide all, uint64_t rest)
{
	return wide_down(wide_times(all, rest));
}

/* accept_coin() returns the 64 bits of a state's plane. */
PHILOX_FN uint64_t accept_coin(struct philox_state state, uint64_t plane)
{
	struct philox_words words;

	state.seed = philox_fold(state.seed, plane, state.offset / 4);
	state.offset = 0;
	words = philox_draw4(state, 0);
	return philox_join(words.w[1], words.w[0]);
}

/* --- distributions -------------------------------------------------------- */

/* Of one position: what is kept, and the sum of its masses. */
struct accept_side {
	struct filter_row row;
	uint64_t cut; /* SAMPLE_NO_TOKEN: nothing is kept */
	struct filter_sum all;
};

PHILOX_FN void accept_keep_nothing(struct accept_side *side)
{
	side->row.most = 0.0f;
	side->row.inverse = 1.0f;
	side->cut = SAMPLE_NO_TOKEN;
	side->all.high = side->all.low = 0;
}

/* A draft that is not drawn from logits has all of its mass, or none. */
PHILOX_FN void accept_set_point(struct accept_side *side)
{
	accept_keep_nothing(side);
	side->all.low = 1;
}

/* accept_mass() returns the mass of the token that has a key. */
PHILOX_FN uint64_t accept_mass(const struct accept_side *side, uint64_t key)
{
	if (key < side->cut || side->cut == SAMPLE_NO_TOKEN)
		return 0;
	return filter_mass_of(&side->row, key);
}

/* --- positions ------------------------------------------------------------ */

/* What the draft of a position is drawn from. */
enum accept_from {
	ACCEPT_NO_DRAFT, /* there is none */
	ACCEPT_POINT,
	ACCEPT_LOGITS
};

/* A position that is judged. */
struct accept_position {
	uint64_t index;         /* of the row */
	uint64_t target, draft; /* entries of the two */
	struct sample_row p_row, q_row;
	struct accept_side p, q;
	uint64_t coin, rest;
	enum accept_from from;
	int32_t token;   /* the draft's */
	uint32_t before; /* drafts before it */
};

PHILOX_FN uint32_t accept_positions(const struct accept_args *args)
{
	return args->n_drafts + 1;
}

/* The row of one side, of which only the temperature matters; 0: no token. */
PHILOX_FN void accept_set_row(const struct sample_args *args, uint64_t entry,
			      struct philox_state state, uint64_t index,
			      struct sample_row *row)
{
	row->index = index;
	row->state = state;
	row->valid = !philox_is_poison(state);
	row->cut = 0;
	sample_set_temperature(row, args->temperatures
					    ? args->temperatures[entry]
					    : args->temperature);
}

/* Looks up the draft of a position. */
PHILOX_FN void accept_set_draft(const struct accept_args *args,
				uint32_t position, struct accept_position *of)
{
	const struct sample_args *target = &args->target;

	of->from = ACCEPT_NO_DRAFT;
	of->token = -1;
	if (position == args->n_drafts)
		return;
	of->token = args->drafts[of->draft];
	if (of->token >= 0 &&
	    (uint32_t)of->token - target->first < target->vocab)
		of->from = args->draft.logits ? ACCEPT_LOGITS : ACCEPT_POINT;
}

/*
 * accept_begin() looks a position up; 0 if the entry does not take part. One
 * whose index is out of range has no valid row.
 */
PHILOX_FN int accept_begin(const struct accept_args *args, uint64_t entry,
			   uint32_t position, struct accept_position *of)
{
	const struct rows_table *table = &args->target.table;
	const uint64_t index = rows_of_entry(&args->target.list, entry);
	struct philox_state state = {0, PHILOX_POISON_OFFSET};

	if (index == ROWS_NONE)
		return 0;
	of->index = index < table->count ? index : ROWS_NONE;
	of->target = entry * accept_positions(args) + position;
	of->draft = entry * args->n_drafts + position;
	of->before = position;
	if (of->index != ROWS_NONE) {
		state = rows_state(table, index, 0, 0); /* nobody advances */
		if (position == 0 && philox_is_poison(state))
			ROWS_ADD(&table->control->used_up, 1);
	} else if (position == 0) {
		ROWS_ADD(&table->control->outside, 1);
	}
	if (4 * (uint64_t)position <= ~state.offset)
		state.offset += 4 * (uint64_t)position;
	else
		state.offset = PHILOX_POISON_OFFSET;
	of->coin = accept_coin(state, PHILOX_FOLD_ACCEPT);
	of->rest = accept_coin(state, PHILOX_FOLD_REST);
	accept_set_draft(args, position, of);
	accept_set_row(&args->target, of->target, state, of->index, &of->p_row);
	accept_keep_nothing(&of->p);
	accept_set_point(&of->q);
	if (of->from != ACCEPT_LOGITS)
		return 1;
	accept_set_row(&args->draft, of->draft, state, of->index, &of->q_row);
	accept_keep_nothing(&of->q);
	return 1;
}

/* The drafts before a position count as drawn. */
PHILOX_FN void accept_change_begin(const struct accept_args *args,
				   uint64_t entry,
				   const struct accept_position *of,
				   struct change *change)
{
	if (!change->seen || !of->before)
		return;
	change->drafts = args->drafts + entry * args->n_drafts;
	change->n_drafts = of->before;
}

/* accept_judge() says whether a draft is accepted, whose keys are these. */
PHILOX_FN int accept_judge(const struct accept_position *of, uint64_t p_key,
			   uint64_t q_key)
{
	const uint64_t q =
		of->from == ACCEPT_LOGITS ? accept_mass(&of->q, q_key) : 1;

	return of->from != ACCEPT_NO_DRAFT &&
	       accept_is(of->coin, accept_mass(&of->p, p_key), of->p.all, q,
			 of->q.all);
}

/* accept_weight_of() returns the weight of token v, by its keys. */
PHILOX_FN struct wide accept_weight_of(const struct accept_position *of,
				       int32_t v, uint64_t p_key,
				       uint64_t q_key)
{
	uint64_t q = 0;

	if (of->from == ACCEPT_LOGITS)
		q = accept_mass(&of->q, q_key);
	else if (of->from == ACCEPT_POINT)
		q = v == of->token;
	return accept_weight(accept_mass(&of->p, p_key), of->p.all, q,
			     of->q.all);
}

/* Where no token weighs more in the target, it is drawn from that. */
PHILOX_FN void accept_forget_draft(struct accept_position *of)
{
	of->from = ACCEPT_NO_DRAFT;
	accept_set_point(&of->q);
}

/* So it is where the draft's logits keep nothing: then Q is 0. */
PHILOX_FN void accept_check_draft(struct accept_position *of)
{
	if (of->from == ACCEPT_LOGITS && of->q.cut == SAMPLE_NO_TOKEN)
		accept_forget_draft(of);
}

/* --- entries -------------------------------------------------------------- */

/* accept_end() counts the tokens of an entry, and writes -1 after them. */
PHILOX_FN void accept_end(const struct accept_args *args, uint64_t entry)
{
	int32_t *tokens = args->tokens + entry * accept_positions(args);
	const uint64_t first = entry * args->n_drafts;
	uint32_t n = 0;

	while (n < args->n_drafts && tokens[n] >= 0 &&
	       tokens[n] == args->drafts[first + n])
		n++;
	args->counts[entry] = ++n;
	for (; n < accept_positions(args); n++)
		tokens[n] = -1;
}

#endif

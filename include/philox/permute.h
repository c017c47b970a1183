/*
 * philox/permute.h - orders of n items, without memory
 *
 *   uint64_t item = philox_permute(state, n, e);
 *
 * For e = 0 .. n - 1 these are the numbers 0 .. n - 1, each once, in an order
 * that depends on (state, n) alone. philox_permute_inverse() finds the e of an
 * item. No array is made: each call computes one of the n images by itself, on
 * a host or a GPU, with the same result. Who needs many of them prepares the
 * order once:
 *
 *   struct philox_permutation order = philox_permutation_of(state, n);
 *   uint64_t item = philox_permuted(&order, e);
 *
 * Any k places of an order have k different items, and any k items are equally
 * likely there. So the first k items are a sample of k of n without
 * replacement, in random order. philox_permute_inverse(state, n, item) < k
 * says whether an item is in the sample.
 *
 * n is from 1 to 2^63; n = 0 has no items. A place that is not below n keeps
 * its number, in both directions. A poisoned state (philox_is_poison()) gives
 * all-ones.
 *
 * The numbers come from a key of their own, which is folded from the seed in
 * the plane PHILOX_FOLD_ORDER, at index offset / 4. So no draw of the state
 * meets them; the next offset has another order, and so has another n. With
 * P(low, high) the block of that key at a counter (philox_block()):
 *
 *   n <= 16   A number r, uniform in [0, n!), is drawn as
 *             philox_integer64_at() draws element 0 of the state {key, 4 n}. A
 *             draw is rejected once in 900,000, or less often. The order
 *             begins as 0, 1, ...; for i = n - 1 down to 1 places i and r mod
 *             (i + 1) are exchanged, and r becomes floor(r / (i + 1)) (Fisher
 *             and Yates, in Durstenfeld's form). All n! orders are equally
 *             likely.
 *   n > 16    A Feistel network on a grid of rows x 2^s cells, which are
 *             numbered row by row (Black and Rogaway, "Ciphers with arbitrary
 *             finite domains", CT-RSA 2002). w0 .. w3 are the words of P(n,
 *             0). If w3 is odd, places 0 and 1 are exchanged first. Then cell
 *             = row 2^s + col goes through pairs j = 0, 1, ... of rounds:
 *
 *               row = (row + floor(F(col, w0 + j 0x9E3779B9) rows / 2^32))
 *                     mod rows
 *               col = (col + F(row, w1 + j 0xBB67AE85)) mod 2^s
 *
 *             F(x, k) = fold(0xCD9E8D57, fold(0xD2511F53, x ^ k) ^ w2), where
 *             fold(m, y) is the upper half of the product m y xor its lower
 *             half. A cell that is not below n goes through them again. If n -
 *             1 has b bits, s = floor(b / 2), or 32 for b = 63, and rows =
 *             ceil(n / 2^s).
 *
 * There are 12 pairs of rounds up to n = 1024, and 6 above: twice as many as
 * tests of millions of seeds ask for (tests/numbers/permute/statistics.c).
 * Rounds that xor would make even orders only where n is a power of 2; these
 * add, and with the exchange an order is odd with probability 1/2 for every n,
 * whatever the rounds do. The key has 64 bits: from n = 21 on, where n! is
 * above 2^64, most orders never come.
 *
 * Cost: an item takes O(1) on average, in both directions. For n > 16 a cell
 * goes through all rounds rows 2^s / n < 1.22 times on average over all
 * places, for every state: together they pass each cell once at most. In the
 * worst case one place takes 2^s turns, which is at most 2 sqrt(n): then all
 * cells that are not below n follow one another. For n <= 16 an order takes n
 * steps to prepare, and an inverse up to n.
 *
 * An order is not secret: a few of its items may tell the others.
 *
 * During capture: all functions here are legal.
 * Threads: any, at any time.
 */
#ifndef PHILOX_PERMUTE_H
#define PHILOX_PERMUTE_H

#include <philox/state.h>
#include <philox/draw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An order that is ready for many calls; its members are nobody's business. */
struct philox_permutation {
	uint64_t n;
	uint64_t items;  /* n <= 16: that of place i in bits 4 i .. 4 i + 3 */
	uint64_t poison; /* all-ones for a poisoned state, else 0 */
	uint32_t rows;   /* n > 16: of the grid */
	uint32_t shift;  /* n > 16: s */
	uint32_t pairs;  /* n > 16: of rounds */
	uint32_t key[4]; /* n > 16: w0 .. w3 */
};

/* The largest n whose orders are all equally likely. */
#define PHILOX_PERMUTATION_SMALL 16

/* What the keys of rounds grow by, from pair to pair. */
#define PHILOX_ORDER_STEP_ROW 0x9E3779B9u
#define PHILOX_ORDER_STEP_COL 0xBB67AE85u

/* --- n <= 16: one of all n! orders ---------------------------------------- */

/* Return which of the n! orders a state has. */
PHILOX_FN uint64_t philox_permutation_rank(struct philox_state key, uint64_t n)
{
	uint64_t orders = 1;

	for (uint64_t i = 2; i <= n; i++)
		orders *= i;
	return philox_integer64_at(key, 0, philox_interval_u64(0, orders - 1));
}

/* Return the items of an order of n <= 16, four bits for each place. */
PHILOX_RARE uint64_t philox_permutation_items(struct philox_state key,
					      uint64_t n)
{
	uint64_t rank = philox_permutation_rank(key, n);
	uint64_t items = 0xfedcba9876543210ULL;

	for (uint64_t i = n; i-- > 1;) {
		uint64_t from = 4 * i, to = 4 * (rank % (i + 1));
		uint64_t differ = (items >> from ^ items >> to) & 15;

		items ^= differ << from;
		if (from != to)
			items ^= differ << to;
		rank /= i + 1;
	}
	return items;
}

/* Return the place of an item in an order of n <= 16, which has it. */
PHILOX_FN uint64_t philox_permutation_find(uint64_t items, uint64_t item)
{
	uint64_t place = 0;

	while ((items >> 4 * place & 15) != item)
		place++;
	return place;
}

/* --- n > 16: a Feistel network on a grid ---------------------------------- */

/* Return how many bits x has: 0 for 0. */
PHILOX_FN uint32_t philox_permutation_bits(uint64_t x)
{
	uint32_t bits = 0;

	for (uint32_t half = 32; half; half /= 2)
		if (x >> half) {
			x >>= half;
			bits += half;
		}
	return bits + PHILOX_CAST(uint32_t, x);
}

/* Return the two halves of a product, one xor the other. */
PHILOX_FN uint32_t philox_fold_product(uint32_t a, uint32_t b)
{
	return philox_mulhi(a, b) ^ a * b;
}

/* Return F(x, key) with the word that all rounds share. */
PHILOX_FN uint32_t philox_permutation_round(uint32_t x, uint32_t key,
					    uint32_t shared)
{
	return philox_fold_product(0xCD9E8D57u,
				   philox_fold_product(0xD2511F53u, x ^ key) ^
					   shared);
}

/* Return by how many rows a column goes on in a round. */
PHILOX_FN uint32_t philox_permutation_rows(const struct philox_permutation *p,
					   uint32_t col, uint32_t key)
{
	return philox_mulhi(philox_permutation_round(col, key, p->key[2]),
			    p->rows);
}

/* Return a cell after one turn through all rounds. */
PHILOX_FN uint64_t philox_permutation_turn(const struct philox_permutation *p,
					   uint64_t cell)
{
	uint32_t row = PHILOX_CAST(uint32_t, cell >> p->shift);
	uint32_t mask = PHILOX_CAST(uint32_t, (1ULL << p->shift) - 1);
	uint32_t col = PHILOX_CAST(uint32_t, cell) & mask;
	uint32_t row_key = p->key[0], col_key = p->key[1];

	for (uint32_t j = 0; j < p->pairs; j++) {
		row += philox_permutation_rows(p, col, row_key);
		row -= row >= p->rows ? p->rows : 0;
		col += philox_permutation_round(row, col_key, p->key[2]);
		col &= mask;
		row_key += PHILOX_ORDER_STEP_ROW;
		col_key += PHILOX_ORDER_STEP_COL;
	}
	return PHILOX_CAST(uint64_t, row) << p->shift | col;
}

/* Return a cell before one turn through all rounds. */
PHILOX_FN uint64_t philox_permutation_unturn(const struct philox_permutation *p,
					     uint64_t cell)
{
	uint32_t row = PHILOX_CAST(uint32_t, cell >> p->shift);
	uint32_t mask = PHILOX_CAST(uint32_t, (1ULL << p->shift) - 1);
	uint32_t col = PHILOX_CAST(uint32_t, cell) & mask;
	uint32_t row_key = p->key[0] + p->pairs * PHILOX_ORDER_STEP_ROW;
	uint32_t col_key = p->key[1] + p->pairs * PHILOX_ORDER_STEP_COL;

	for (uint32_t j = 0; j < p->pairs; j++) {
		row_key -= PHILOX_ORDER_STEP_ROW;
		col_key -= PHILOX_ORDER_STEP_COL;
		col -= philox_permutation_round(row, col_key, p->key[2]);
		col &= mask;
		row += p->rows - philox_permutation_rows(p, col, row_key);
		row -= row >= p->rows ? p->rows : 0;
	}
	return PHILOX_CAST(uint64_t, row) << p->shift | col;
}

/* Return a place with 0 and 1 exchanged if the order's coin says so. */
PHILOX_FN uint64_t philox_permutation_swap(const struct philox_permutation *p,
					   uint64_t place)
{
	return place < 2 ? place ^ (p->key[3] & 1) : place;
}

/* Return how many pairs of rounds n items take. */
PHILOX_FN uint32_t philox_permutation_pairs(uint64_t n)
{
	return n <= 1024 ? 12 : 6;
}

/* --- orders --------------------------------------------------------------- */

/*
 * Return the order of n items that a state has.
 *
 *   state      the state
 *   n          how many items, up to 2^63
 */
PHILOX_FN struct philox_permutation philox_permutation_of(
	struct philox_state state, uint64_t n)
{
	struct philox_permutation p = {n, 0, 0, 0, 0, 0, {0, 0, 0, 0}};
	struct philox_words words;
	struct philox_state key;
	uint32_t bits;

	key.seed = philox_fold(state.seed, PHILOX_FOLD_ORDER, state.offset / 4);
	key.offset = 4 * n;
	p.poison = 0 - PHILOX_CAST(uint64_t, philox_is_poison(state));
	if (n <= PHILOX_PERMUTATION_SMALL) {
		p.items = philox_permutation_items(key, n);
		return p;
	}
	words = philox_block(key.seed, n, 0);
	for (int i = 0; i < 4; i++)
		p.key[i] = words.w[i];
	bits = philox_permutation_bits(n - 1);
	p.shift = bits == 63 ? 32 : bits / 2;
	p.rows = PHILOX_CAST(uint32_t, ((n - 1) >> p.shift) + 1);
	p.pairs = philox_permutation_pairs(n);
	return p;
}

/*
 * Return the item at a place of an order.
 *
 *   p          the order
 *   place      the place, below its n; another keeps its number
 */
PHILOX_FN uint64_t philox_permuted(const struct philox_permutation *p,
				   uint64_t place)
{
	if (place >= p->n)
		return place | p->poison;
	if (p->n <= PHILOX_PERMUTATION_SMALL)
		return (p->items >> 4 * place & 15) | p->poison;
	place = philox_permutation_swap(p, place);
	do
		place = philox_permutation_turn(p, place);
	while (place >= p->n);
	return place | p->poison;
}

/*
 * Return the place of an item in an order: the inverse of philox_permuted().
 *
 *   p          the order
 *   item       the item, below its n; another keeps its number
 */
PHILOX_FN uint64_t philox_permuted_inverse(const struct philox_permutation *p,
					   uint64_t item)
{
	if (item >= p->n)
		return item | p->poison;
	if (p->n <= PHILOX_PERMUTATION_SMALL)
		return philox_permutation_find(p->items, item) | p->poison;
	do
		item = philox_permutation_unturn(p, item);
	while (item >= p->n);
	return philox_permutation_swap(p, item) | p->poison;
}

/*
 * Return the item at a place of the order of n items that a state has.
 *
 *   state      the state
 *   n          how many items, up to 2^63
 *   place      the place, below n; another keeps its number
 */
PHILOX_FN uint64_t philox_permute(struct philox_state state, uint64_t n,
				  uint64_t place)
{
	struct philox_permutation p = philox_permutation_of(state, n);

	return philox_permuted(&p, place);
}

/*
 * Return the place of an item in that order.
 *
 *   state      the state
 *   n          how many items, up to 2^63
 *   item       the item, below n; another keeps its number
 */
PHILOX_FN uint64_t philox_permute_inverse(struct philox_state state, uint64_t n,
					  uint64_t item)
{
	struct philox_permutation p = philox_permutation_of(state, n);

	return philox_permuted_inverse(&p, item);
}

#ifdef __cplusplus
}
#endif
#endif

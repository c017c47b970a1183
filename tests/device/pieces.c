/*
 * tests/device/pieces.c - arrays in words of 16 bytes: lib/kernels/head/piece_span.h
 */
#include <criterion/criterion.h>
#include "lib/kernels/head/piece_span.h"

/* Every alignment of both sides, and sizes up to some words. */
#define SIZES 120

static void check_span(uint64_t side, uint64_t other, uint64_t bytes)
{
	const struct piece_span span = piece_span_of(side, other, bytes);
	const uint64_t low = other + span.head - span.shift;
	const uint64_t high = low + PIECE_WORD * (span.words + !!span.shift);

	cr_assert_eq(span.head + PIECE_WORD * span.words + span.tail, bytes);
	cr_assert_leq(span.head, 31);
	cr_assert_leq(span.tail, 31);
	if (!span.words)
		return;
	cr_assert_eq((side + span.head) % PIECE_WORD, 0);
	cr_assert_eq(low % PIECE_WORD, 0);
	cr_assert_lt(span.shift, PIECE_WORD);
	cr_assert_geq(low, other, "a word is read before the array");
	cr_assert_leq(high, other + bytes, "a word is read after the array");
}

Test(device, words_of_a_piece_are_aligned_and_in_its_array)
{
	for (uint64_t side = 4096; side < 4096 + PIECE_WORD; side++)
		for (uint64_t other = 8192; other < 8192 + PIECE_WORD; other++)
			for (uint64_t bytes = 0; bytes < SIZES; bytes++)
				check_span(side, other, bytes);
}

Test(device, few_bytes_of_a_piece_are_left_over)
{
	const struct piece_span same = piece_span_of(4096, 8192, 1000);
	const struct piece_span apart = piece_span_of(4096, 8193, 1000);

	cr_assert_eq(same.words, 62);
	cr_assert_eq(same.tail, 8);
	cr_assert_eq(apart.words, 60);
	cr_assert_eq(apart.head, 16);
	cr_assert_eq(apart.tail, 24);
}

/*
 * lib/kernels/head/piece_span.h - how an array of two sides is gone over in
 * words of 16 bytes
 *
 * Words are at aligned addresses of one side. The other side may be at any
 * distance from such addresses: there a word is made of the two aligned words
 * that it is in. Both are within the array, so bytes at its ends that this
 * leaves over are done one by one: at most 31 at each.
 */
#ifndef LIB_KERNELS_HEAD_PIECE_SPAN_H
#define LIB_KERNELS_HEAD_PIECE_SPAN_H

#include <philox/state.h>

#define PIECE_WORD 16 /* bytes */

struct piece_span {
	uint64_t head;  /* bytes before the first word */
	uint64_t words; /* which tail bytes follow */
	uint64_t tail;
	uint32_t shift; /* how far a word of the other side is past an aligned
			   address: 0 .. 15 */
};

/*
 * Words are aligned at `side`, `other` is the other side, both addresses of
 * arrays of a number of bytes.
 */
PHILOX_FN struct piece_span piece_span_of(uint64_t side, uint64_t other,
					  uint64_t bytes)
{
	struct piece_span span;
	uint64_t head = (0 - side) % PIECE_WORD, left;

	span.shift = PHILOX_CAST(uint32_t, (other + head) % PIECE_WORD);
	if (span.shift > head)
		head += PIECE_WORD; /* the first word would begin before */
	span.head = head < bytes ? head : bytes;
	left = bytes - span.head;
	span.words = left / PIECE_WORD;
	if (span.shift && span.words &&
	    left % PIECE_WORD < PIECE_WORD - span.shift)
		span.words--; /* the last word would end after it */
	span.tail = left - span.words * PIECE_WORD;
	return span;
}

#endif

/*
 * lib/containers/numbers.c - see lib/containers/numbers.h
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/numbers.h"

#define WORD_BITS  6
#define ROOM_LEAST 64

/* Words of a level, if there is room for so many numbers. */
static size_t words_of(uint32_t room, unsigned level)
{
	const unsigned bits = WORD_BITS * (level + 1);

	return (room + (UINT64_C(1) << bits) - 1) >> bits;
}

void numbers_finish(struct number_set *numbers)
{
	for (unsigned level = 0; level < NUMBERS_LEVELS; level++)
		free(numbers->levels[level]);
	*numbers = (struct number_set){.room = 0};
}

int numbers_enlarge(struct number_set *numbers, uint32_t end)
{
	uint32_t room = numbers->room ? numbers->room : ROOM_LEAST;
	struct number_set larger = {.room = 0};

	if (end > NUMBERS_END)
		return 0;
	while (room < end)
		room *= 2;
	larger.room = room;
	for (unsigned level = 0; level < NUMBERS_LEVELS; level++) {
		larger.levels[level] =
			calloc(words_of(room, level), sizeof(uint64_t));
		if (!larger.levels[level]) {
			numbers_finish(&larger);
			return 0;
		}
		if (numbers->room)
			memcpy(larger.levels[level], numbers->levels[level],
			       words_of(numbers->room, level) *
				       sizeof(uint64_t));
	}
	numbers_finish(numbers);
	*numbers = larger;
	return 1;
}

void numbers_put(struct number_set *numbers, uint32_t number)
{
	uint64_t *word;

	for (unsigned level = 0; level < NUMBERS_LEVELS; level++) {
		word = &numbers->levels[level][number >> WORD_BITS];
		*word |= UINT64_C(1) << (number & 63);
		if (*word != UINT64_MAX)
			return;
		number >>= WORD_BITS;
	}
}

void numbers_remove(struct number_set *numbers, uint32_t number)
{
	uint64_t *word, before;

	for (unsigned level = 0; level < NUMBERS_LEVELS; level++) {
		word = &numbers->levels[level][number >> WORD_BITS];
		before = *word;
		*word &= ~(UINT64_C(1) << (number & 63));
		if (before != UINT64_MAX)
			return;
		number >>= WORD_BITS;
	}
}

int numbers_has(const struct number_set *numbers, uint32_t number)
{
	return number < numbers->room &&
	       numbers->levels[0][number >> WORD_BITS] >> (number & 63) & 1;
}

/* Down from the top; what there is no room for is missing. */
uint32_t numbers_missing(const struct number_set *numbers)
{
	size_t word = 0;

	for (unsigned level = NUMBERS_LEVELS; level-- > 0;) {
		if (word >= words_of(numbers->room, level))
			return (uint32_t)(word << (WORD_BITS * (level + 1)));
		if (numbers->levels[level][word] == UINT64_MAX)
			return NUMBERS_END;
		word = word << WORD_BITS |
		       (size_t)__builtin_ctzll(~numbers->levels[level][word]);
	}
	return (uint32_t)word;
}

/*
 * lib/names/keyed.h - what belongs to numbers and words: a hash map whose
 * keys are compared whole
 *
 * So nobody walks along a list to find what has a name, or a number in a
 * context. One thread at a time.
 */
#ifndef LIB_NAMES_KEYED_H
#define LIB_NAMES_KEYED_H

#include <stddef.h>
#include <stdint.h>
#include "lib/containers/map.h"

#define KEYED_NUMBERS 4
#define KEYED_WORDS   3

/* A key: its words are borrowed. All keys of one map have as many parts. */
struct keyed_by {
	uint64_t numbers[KEYED_NUMBERS];
	const char *words[KEYED_WORDS];
	size_t lengths[KEYED_WORDS];
	unsigned n_numbers, n_words;
};

/* All zero: empty. */
struct keyed {
	struct map entries; /* by the hashes of their keys */
};

/* A key of one number, to which more is added. */
struct keyed_by keyed_by(uint64_t number);
void keyed_by_number(struct keyed_by *key, uint64_t number);
void keyed_by_word(struct keyed_by *key, const char *word, size_t length);

/* The value of a key; NULL: there is none. */
void *keyed_value(const struct keyed *keyed, const struct keyed_by *key);

/*
 * keyed_put() gives a key a value, which is not NULL, in place of the one that
 * it had; the words are copied. 0: no memory, and nothing has changed.
 */
int keyed_put(struct keyed *keyed, const struct keyed_by *key, void *value);

/* Does nothing if the key is not there. */
void keyed_remove(struct keyed *keyed, const struct keyed_by *key);
void keyed_finish(struct keyed *keyed);

/* An index as a value, which is not NULL, and back; SIZE_MAX: NULL. */
static inline void *keyed_index(size_t index)
{
	return (void *)(uintptr_t)(index + 1);
}

static inline size_t keyed_find(const struct keyed *keyed,
				const struct keyed_by *key)
{
	return (size_t)(uintptr_t)keyed_value(keyed, key) - 1;
}

#endif

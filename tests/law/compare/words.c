/*
 * tests/law/compare/words.c - the headers' functions of one word, for many words
 *
 * check.py builds it as a library and compares it with law.py: words_`name`()
 * writes the values of n words from `first` on.
 */
#include "tools/contract/words/words.h"

#define WORDS(name, type, value)                                  \
	void words_##name(uint32_t first, uint32_t n, type *out); \
	void words_##name(uint32_t first, uint32_t n, type *out)  \
	{                                                         \
		for (uint32_t i = 0; i < n; i++) {                \
			const uint32_t w = first + i;             \
                                                                  \
			out[i] = value;                           \
		}                                                 \
	}
WORD_FUNCTIONS(WORDS)

/*
 * tools/runner/words.h - a runner's figures in words
 */
#ifndef TOOLS_RUNNER_WORDS_H
#define TOOLS_RUNNER_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include "graph/runner/snapshot/snapshot.h"

/* words_calls() is how many calls there were; words_hits() the per cent of
 * them that were replays. */
uint64_t words_calls(const struct philox_function_counts *counts);
double words_hits(const struct philox_function_counts *counts);

/*
 * words_key() writes as many bytes of a key in hex as there is room for, which is
 * more than 8; a longer one ends with two dots, an empty one is "none".
 */
void words_key(const struct text_key *key, char *text, size_t size);

#endif

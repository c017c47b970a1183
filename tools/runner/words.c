/*
 * tools/runner/words.c - see tools/runner/words.h
 */
#include "tools/runner/words.h"

#include <stdio.h>
#include <string.h>

uint64_t words_calls(const struct philox_function_counts *counts)
{
	return counts->eager + counts->warmup + counts->record +
	       counts->replay + counts->failed;
}

double words_hits(const struct philox_function_counts *counts)
{
	uint64_t calls = words_calls(counts);

	return calls ? 100 * (double)counts->replay / (double)calls : 0;
}

void words_key(const struct text_key *key, char *text, size_t size)
{
	size_t bytes = key->size, at = 0;

	if (!bytes) {
		snprintf(text, size, "none");
		return;
	}
	if (2 * bytes + 1 > size)
		bytes = (size - 3) / 2;
	for (size_t i = 0; i < bytes; i++, at += 2)
		snprintf(text + at, size - at, "%02x", key->bytes[i]);
	if (bytes < key->size)
		strcpy(text + at, "..");
}

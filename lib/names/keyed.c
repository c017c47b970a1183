/*
 * lib/names/keyed.c - see lib/names/keyed.h
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "lib/base/base.h"
#include "lib/names/keyed.h"

/* A key with its value: behind it are its numbers, then its words. */
struct keyed_entry {
	void *value;
	uint64_t key[]; /* numbers and lengths, then bytes */
};

/* --- keys ----------------------------------------------------------------- */

struct keyed_by keyed_by(uint64_t number)
{
	return (struct keyed_by){.numbers = {number}, .n_numbers = 1};
}

void keyed_by_number(struct keyed_by *key, uint64_t number)
{
	assert(key->n_numbers < KEYED_NUMBERS);
	key->numbers[key->n_numbers++] = number;
}

void keyed_by_word(struct keyed_by *key, const char *word, size_t length)
{
	assert(key->n_words < KEYED_WORDS);
	key->words[key->n_words] = word;
	key->lengths[key->n_words++] = length;
}

static uint64_t key_hash(const struct keyed_by *key)
{
	uint64_t hash = hash_text((const char *)key->numbers,
				  key->n_numbers * sizeof(*key->numbers));

	for (unsigned i = 0; i < key->n_words; i++) {
		const uint64_t length = key->lengths[i];

		hash = hash_more(hash, (const char *)&length, sizeof(length));
		hash = hash_more(hash, key->words[i], key->lengths[i]);
	}
	return hash;
}

/* --- entries -------------------------------------------------------------- */

static size_t key_size(const struct keyed_by *key)
{
	size_t size = (key->n_numbers + key->n_words) * sizeof(uint64_t);

	for (unsigned i = 0; i < key->n_words; i++)
		size += key->lengths[i];
	return size;
}

static struct keyed_entry *entry_of(const struct keyed_by *key)
{
	struct keyed_entry *entry = malloc(sizeof(*entry) + key_size(key));
	uint64_t *number;
	char *bytes;

	if (!entry)
		return NULL;
	number = entry->key;
	for (unsigned i = 0; i < key->n_numbers; i++)
		*number++ = key->numbers[i];
	for (unsigned i = 0; i < key->n_words; i++)
		*number++ = key->lengths[i];
	bytes = (char *)number;
	for (unsigned i = 0; i < key->n_words; i++) {
		if (key->lengths[i])
			memcpy(bytes, key->words[i], key->lengths[i]);
		bytes += key->lengths[i];
	}
	return entry;
}

static int is_with(const struct keyed_entry *entry, const struct keyed_by *key)
{
	const uint64_t *lengths = entry->key + key->n_numbers;
	const char *bytes = (const char *)(lengths + key->n_words);

	for (unsigned i = 0; i < key->n_numbers; i++)
		if (entry->key[i] != key->numbers[i])
			return 0;
	for (unsigned i = 0; i < key->n_words; i++) {
		if (lengths[i] != key->lengths[i] ||
		    (lengths[i] &&
		     memcmp(bytes, key->words[i], key->lengths[i]) != 0))
			return 0;
		bytes += lengths[i];
	}
	return 1;
}

static struct keyed_entry *find_keyed(const struct keyed *keyed, uint64_t hash,
				      const struct keyed_by *key)
{
	const struct map_entry *at = map_find(&keyed->entries, hash);

	while (at && !is_with(at->value, key))
		at = map_find_next(&keyed->entries, at);
	return at ? at->value : NULL;
}

/* --- the map -------------------------------------------------------------- */

void *keyed_value(const struct keyed *keyed, const struct keyed_by *key)
{
	const struct keyed_entry *entry = find_keyed(keyed, key_hash(key), key);

	return entry ? entry->value : NULL;
}

int keyed_put(struct keyed *keyed, const struct keyed_by *key, void *value)
{
	const uint64_t hash = key_hash(key);
	struct keyed_entry *entry = find_keyed(keyed, hash, key);

	if (!entry) {
		if (!map_reserve(&keyed->entries, keyed->entries.count + 1))
			return 0;
		entry = entry_of(key);
		if (!entry)
			return 0;
		map_put(&keyed->entries, hash, entry);
	}
	entry->value = value;
	return 1;
}

void keyed_remove(struct keyed *keyed, const struct keyed_by *key)
{
	const uint64_t hash = key_hash(key);
	struct keyed_entry *entry = find_keyed(keyed, hash, key);

	if (!entry)
		return;
	map_remove(&keyed->entries, hash, entry);
	free(entry);
}

void keyed_finish(struct keyed *keyed)
{
	for (size_t i = 0; i < keyed->entries.capacity; i++)
		free(keyed->entries.entries[i].value);
	map_finish(&keyed->entries);
}

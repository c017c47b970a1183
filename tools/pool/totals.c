/*
 * tools/pool/totals.c - see tools/pool/totals.h
 */
#include "tools/pool/totals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- tags ----------------------------------------------------------------- */

static int compare_tags(const void *a, const void *b)
{
	const struct tag_total *left = a, *right = b;

	return strcmp(left->tag, right->tag);
}

static int compare_totals(const void *a, const void *b)
{
	const struct tag_total *left = a, *right = b;

	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return strcmp(left->tag, right->tag);
}

/* Joins neighbours with one tag; returns how many are left. */
static size_t join_tags(struct tag_total *tags, size_t n)
{
	size_t joined = 0;

	for (size_t i = 1; i < n; i++) {
		if (strcmp(tags[joined].tag, tags[i].tag) != 0) {
			tags[++joined] = tags[i];
			continue;
		}
		tags[joined].blocks += tags[i].blocks;
		tags[joined].bytes += tags[i].bytes;
		tags[joined].requested += tags[i].requested;
	}
	return n ? joined + 1 : 0;
}

static int total_tags(const struct snapshot *snapshot, struct totals *totals)
{
	size_t n = 0;

	totals->tags = calloc(snapshot->n_blocks + 1, sizeof(*totals->tags));
	if (!totals->tags)
		return -1;
	for (size_t i = 0; i < snapshot->n_blocks; i++) {
		const struct snapshot_block *block = &snapshot->blocks[i];

		if (block->number)
			totals->tags[n++] = (struct tag_total){
				block->tag, 1, block->bytes, block->size};
	}
	qsort(totals->tags, n, sizeof(*totals->tags), compare_tags);
	totals->n_tags = join_tags(totals->tags, n);
	qsort(totals->tags, totals->n_tags, sizeof(*totals->tags),
	      compare_totals);
	return 0;
}

size_t totals_find(const struct totals *totals, const char *tag)
{
	size_t i = 0;

	while (i < totals->n_tags && strcmp(totals->tags[i].tag, tag) != 0)
		i++;
	return i;
}

/* --- owners --------------------------------------------------------------- */

static int total_owners(const struct snapshot *snapshot, struct totals *totals)
{
	uint64_t most = 0;

	for (size_t i = 0; i < snapshot->n_blocks; i++)
		if (snapshot->blocks[i].owner > most)
			most = snapshot->blocks[i].owner;
	totals->n_owners = (size_t)most + 1;
	totals->owners = calloc(totals->n_owners, sizeof(*totals->owners));
	if (!totals->owners)
		return -1;
	for (size_t i = 0; i < snapshot->n_blocks; i++) {
		const struct snapshot_block *block = &snapshot->blocks[i];

		if (block->number)
			continue;
		totals->owners[block->owner].blocks++;
		totals->owners[block->owner].bytes += block->bytes;
		totals->free_blocks++;
		totals->free += block->bytes;
		if (block->bytes > totals->largest)
			totals->largest = block->bytes;
	}
	return 0;
}

int totals_make(const struct snapshot *snapshot, struct totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	if (total_tags(snapshot, totals) || total_owners(snapshot, totals)) {
		totals_finish(totals);
		return -1;
	}
	if (totals->free)
		totals->fragmentation =
			1 - (double)totals->largest / (double)totals->free;
	return 0;
}

void totals_finish(struct totals *totals)
{
	free(totals->tags);
	free(totals->owners);
	memset(totals, 0, sizeof(*totals));
}

/* --- words ---------------------------------------------------------------- */

static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
				    "TiB", "PiB", "EiB"};

struct short_text totals_place(uint64_t bytes)
{
	struct short_text made;
	size_t unit = 0;

	for (; bytes && bytes % 1024 == 0; bytes /= 1024)
		unit++;
	snprintf(made.text, sizeof(made.text), "%" PRIu64 " %s", bytes,
		 units[unit]);
	return made;
}

struct short_text totals_bytes(uint64_t bytes)
{
	double amount = (double)bytes;
	struct short_text made;
	size_t unit = 0;

	while (amount >= 1024 && unit < 6) {
		amount /= 1024;
		unit++;
	}
	snprintf(made.text, sizeof(made.text), "%.*f %s",
		 amount == (double)(uint64_t)amount || amount >= 100 ? 0 : 1,
		 amount, units[unit]);
	return made;
}

struct short_text owner_name(uint64_t owner)
{
	struct short_text made = {"home"};

	if (owner)
		snprintf(made.text, sizeof(made.text), "stream %" PRIu64,
			 owner);
	return made;
}

/*
 * tools/pool/summary.c - a pool summed up in words, and all of it as JSON
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/state/state.h"
#include "tools/cli/cli.h"
#include "tools/pool/pool.h"

/* --- totals ---------------------------------------------------------------- */

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

/* --- words ----------------------------------------------------------------- */

static const char *const sessions[] = {
	[SNAPSHOT_NONE] = "none",
	[SNAPSHOT_WARM_UP] = "warm-up",
	[SNAPSHOT_CAPTURE] = "capture",
};

static const struct {
	uint32_t flag;
	const char *name;
} flags[] = {
	{PHILOX_POOL_STRICT, "strict"}, {PHILOX_POOL_GUARDS, "zones"},
	{PHILOX_POOL_FILL, "fill"},     {PHILOX_POOL_UNMAP, "unmap"},
	{PHILOX_POOL_RDMA, "rdma"},     {PHILOX_POOL_EXPORT, "export"},
	{PHILOX_POOL_FABRIC, "fabric"}, {PHILOX_POOL_PEERS, "peers"},
};

#define N_FLAGS (sizeof(flags) / sizeof(flags[0]))

static const char *kind_of(const struct snapshot *snapshot)
{
	return snapshot->flags & PHILOX_POOL_EXPANDABLE ? "expandable"
							: "plain";
}

static size_t count_segments(const struct snapshot *snapshot)
{
	size_t n = 0;

	for (size_t i = 0; i < snapshot->n_extents; i++)
		n += !i || snapshot->extents[i].segment !=
				   snapshot->extents[i - 1].segment;
	return n;
}

/* --- in words ------------------------------------------------------------- */

static void print_options(FILE *out, const struct snapshot *snapshot)
{
	fprintf(out, "pool %s\n\n%s", journal_name(snapshot->name).text,
		kind_of(snapshot));
	for (size_t i = 0; i < N_FLAGS; i++)
		if (snapshot->flags & flags[i].flag)
			fprintf(out, ", %s", flags[i].name);
	if (snapshot->range)
		fprintf(out, ", range %" PRIu64, snapshot->range);
	if (snapshot->step)
		fprintf(out, ", step %" PRIu64, snapshot->step);
	if (snapshot->limit)
		fprintf(out, ", limit %" PRIu64, snapshot->limit);
	fprintf(out, "\nsession %s, graphs %" PRIu64 "\n",
		sessions[snapshot->session], snapshot->figures.graphs);
}

static void print_tags(FILE *out, const struct totals *totals)
{
	for (size_t i = 0; i < totals->n_tags; i++) {
		const struct tag_total *tag = &totals->tags[i];

		fprintf(out, "  %s: %" PRIu64 " bytes in %" PRIu64 " block%s\n",
			journal_name(tag->tag).text, tag->bytes, tag->blocks,
			plural(tag->blocks));
	}
}

static void print_owners(FILE *out, const struct totals *totals)
{
	for (size_t i = 0; i < totals->n_owners; i++) {
		const struct owner_total *owner = &totals->owners[i];

		if (owner->blocks)
			fprintf(out,
				"  %s: %" PRIu64 " bytes in %" PRIu64
				" block%s\n",
				owner_name(i).text, owner->bytes, owner->blocks,
				plural(owner->blocks));
	}
}

static void print_memory(FILE *out, const struct snapshot *snapshot,
			 const struct totals *totals)
{
	const struct philox_pool_stats *figures = &snapshot->figures;

	fprintf(out,
		"\nmapped %" PRIu64 " bytes (%s), peak %" PRIu64
		", pinned %" PRIu64 ", segments %zu, extents %zu\n",
		figures->mapped, totals_bytes(figures->mapped).text,
		figures->mapped_peak, figures->pinned, count_segments(snapshot),
		snapshot->n_extents);
	fprintf(out,
		"\nlive %" PRIu64 " bytes (%s), peak %" PRIu64
		", asked for %" PRIu64 ", blocks %" PRIu64 "\n",
		figures->live, totals_bytes(figures->live).text,
		figures->live_peak, figures->requested, figures->blocks);
	print_tags(out, totals);
	fprintf(out,
		"\nfree %" PRIu64 " bytes (%s), largest %" PRIu64
		", fragmentation %.1f %%\n",
		totals->free, totals_bytes(totals->free).text, totals->largest,
		100 * totals->fragmentation);
	print_owners(out, totals);
}

static void print_counts(FILE *out, const struct philox_pool_stats *figures)
{
	const char *before = "\n";

	for (const struct field *field = figures_counts; field->kind; field++) {
		fprintf(out, "%s%s %" PRIu64, before, field->word,
			field_number(field, figures));
		before = ", ";
	}
	fputc('\n', out);
}

int pool_print(const struct snapshot *snapshot, FILE *out)
{
	struct totals totals;

	if (totals_make(snapshot, &totals)) {
		complain("inspect", "out of memory");
		return 1;
	}
	print_options(out, snapshot);
	print_memory(out, snapshot, &totals);
	print_counts(out, &snapshot->figures);
	totals_finish(&totals);
	return 0;
}

/* --- as JSON -------------------------------------------------------------- */

static void json_options(struct json *json, const struct snapshot *snapshot)
{
	json_string(json, "kind", "pool");
	json_string(json, "name", snapshot->name);
	json_string(json, "segment_kind", kind_of(snapshot));
	for (size_t i = 0; i < N_FLAGS; i++)
		json_bool(json, flags[i].name,
			  (snapshot->flags & flags[i].flag) != 0);
	json_unsigned(json, "unit", POOL_UNIT);
	json_unsigned(json, "step", snapshot->step);
	json_unsigned(json, "limit", snapshot->limit);
	if (snapshot->flags & PHILOX_POOL_EXPANDABLE)
		json_unsigned(json, "range", snapshot->range);
	json_string(json, "session", sessions[snapshot->session]);
}

static void json_figures(struct json *json,
			 const struct philox_pool_stats *figures,
			 const struct totals *totals)
{
	json_fields(json, figures_mapped, figures);
	json_fields(json, figures_live, figures);
	json_unsigned(json, "free", totals->free);
	json_unsigned(json, "largest_free", totals->largest);
	json_unsigned(json, "largest_free_home", figures->largest_free);
	json_number(json, "fragmentation", totals->fragmentation);
	json_unsigned(json, "graphs", figures->graphs);
	json_fields(json, figures_counts, figures);
}

static void json_totals(struct json *json, const struct totals *totals)
{
	json_array(json, "tags");
	for (size_t i = 0; i < totals->n_tags; i++) {
		json_object(json, NULL);
		json_string(json, "tag", totals->tags[i].tag);
		json_unsigned(json, "blocks", totals->tags[i].blocks);
		json_unsigned(json, "bytes", totals->tags[i].bytes);
		json_unsigned(json, "requested", totals->tags[i].requested);
		json_close(json);
	}
	json_close(json);
	json_array(json, "owners");
	for (size_t i = 0; i < totals->n_owners; i++) {
		if (!totals->owners[i].blocks)
			continue;
		json_object(json, NULL);
		json_string(json, "owner", owner_name(i).text);
		json_unsigned(json, "blocks", totals->owners[i].blocks);
		json_unsigned(json, "bytes", totals->owners[i].bytes);
		json_close(json);
	}
	json_close(json);
}

static void json_block(struct json *json, const struct snapshot_block *block)
{
	json_object(json, NULL);
	json_unsigned(json, "offset", block->offset);
	json_unsigned(json, "bytes", block->bytes);
	json_bool(json, "live", block->number != 0);
	if (block->number) {
		json_fields(json, snapshot_live_fields, block);
	} else {
		json_string(json, "owner", owner_name(block->owner).text);
	}
	json_close(json);
}

static void json_extent(struct json *json, const struct snapshot_extent *extent)
{
	json_object(json, NULL);
	json_unsigned(json, "number", extent->number);
	json_unsigned(json, "offset", extent->offset);
	json_unsigned(json, "bytes", extent->bytes);
	json_bool(json, "pinned", extent->pinned);
	json_close(json);
}

static void json_segments(struct json *json, const struct snapshot *snapshot)
{
	size_t extent = 0, block = 0;

	json_array(json, "segments");
	while (extent < snapshot->n_extents) {
		uint64_t segment = snapshot->extents[extent].segment;

		json_object(json, NULL);
		json_unsigned(json, "segment", segment);
		json_array(json, "extents");
		for (; extent < snapshot->n_extents &&
		       snapshot->extents[extent].segment == segment;
		     extent++)
			json_extent(json, &snapshot->extents[extent]);
		json_close(json);
		json_array(json, "blocks");
		for (; block < snapshot->n_blocks &&
		       snapshot->blocks[block].segment == segment;
		     block++)
			json_block(json, &snapshot->blocks[block]);
		json_close(json);
		json_close(json);
	}
	json_close(json);
}

int pool_json(const struct snapshot *snapshot, struct json *json)
{
	struct totals totals;

	if (totals_make(snapshot, &totals)) {
		complain("inspect", "out of memory");
		return 1;
	}
	json_options(json, snapshot);
	json_figures(json, &snapshot->figures, &totals);
	json_totals(json, &totals);
	json_segments(json, snapshot);
	totals_finish(&totals);
	return 0;
}

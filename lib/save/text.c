/*
 * lib/save/text.c - a context as a text: see Note [Saved context], and Note
 * [Text of a rank] in lib/save/agree.h
 *
 * The text is written into a stream in memory, which remembers whether it ran
 * out of it. Called with the context's lock held.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/save/axes.h"
#include "lib/save/lists.h"
#include "lib/save/part.h"
#include "lib/save/rows.h"
#include "lib/save/text.h"
#include "lib/save/words.h"
#include "lib/state/region.h"

static int compare_names(const void *a, const void *b)
{
	const struct philox_region *const *left = a, *const *right = b;

	return strcmp((*left)->name, (*right)->name);
}

static void write_generators(FILE *out, const struct save_lists *lists)
{
	for (size_t i = 0; i < lists->n_generators; i++) {
		fprintf(out, "generator %zu state ", i);
		save_write_state(out, lists->generators[i]->state);
		fputc('\n', out);
	}
}

static void write_op(FILE *out, const struct region_op *op)
{
	fputs("op ", out);
	if (op->name)
		save_write_name(out, op->name);
	else
		fputc('-', out);
	fprintf(out, " calls %" PRIu32 " advance %" PRIu64 "\n", op->calls,
		op->advance);
}

/* Of a ticket that a saved context cannot have. */
static void write_passes(FILE *out, const struct ledger_entry *entry)
{
	if (entry->phase == LEDGER_FORWARD_OPEN)
		fputs(" open", out);
	if (entry->phase == LEDGER_DONE)
		fputs(" done", out);
	if (entry->readers)
		fprintf(out, " readers %" PRIu32, entry->readers);
	if (entry->consuming == LEDGER_CONSUME)
		fputs(" pass", out);
	if (entry->consuming == LEDGER_CLAIM)
		fputs(" launch", out);
}

static enum philox_status write_tickets(FILE *out, const struct ledger *ledger,
					enum ledger_phase phase)
{
	const struct ledger_entry **entries;
	uint32_t n;
	enum philox_status status = ledger_list(ledger, phase, &entries, &n);

	if (status != PHILOX_OK)
		return status;
	for (uint32_t i = 0; i < n; i++) {
		fprintf(out, "ticket %" PRIu64 " state ", entries[i]->serial);
		save_write_state(out, entries[i]->state);
		if (entries[i]->iterations > 1)
			fprintf(out, " iterations %" PRIu32,
				entries[i]->iterations);
		write_passes(out, entries[i]);
		fputc('\n', out);
	}
	free(entries);
	return PHILOX_OK;
}

static void write_region_line(FILE *out, const struct philox_region *region,
			      uint32_t generator)
{
	fputs("region ", out);
	save_write_name(out, region->name);
	fputs(region->alive ? " alive" : " destroyed", out);
	if (generator == SAVE_NO_GENERATOR)
		fputs(" generator none", out);
	else
		fprintf(out, " generator %" PRIu32, generator);
	if (region->alive)
		fprintf(out, " flags %" PRIu32, region->flags);
	fputs(" next ", out);
	save_write_state(out, region->state);
	fprintf(out, " serial %" PRIu64, region->serial);
	if (region->alive && region->generator->open == region)
		fputs(" open", out);
	fputc('\n', out);
}

/* LEDGER_FREE: tickets in every phase. */
static enum philox_status write_region(FILE *out,
				       const struct save_lists *lists,
				       const struct philox_region *region,
				       enum ledger_phase phase)
{
	write_region_line(out, region,
			  save_lists_number(lists, region->generator));
	if (!region->alive)
		return PHILOX_OK;
	save_write_axes(out, region);
	for (uint32_t i = 0; i < region->n_ops; i++)
		write_op(out, &region->ops[i]);
	return write_tickets(out, &region->ledger, phase);
}

/* Whether one of a region's tickets has more than one iteration. */
static int has_loops(const struct philox_region *region)
{
	const struct ledger *ledger = &region->ledger;

	if (!region->alive || !ledger->used)
		return 0;
	for (uint32_t i = 0; i < ledger->capacity; i++)
		if (ledger->entries[i].phase == LEDGER_PENDING &&
		    ledger->entries[i].iterations > 1)
			return 1;
	return 0;
}

static int has_axes(const struct save_lists *lists)
{
	for (size_t i = 0; i < lists->n_regions; i++)
		if (lists->regions[i]->axes.n)
			return 1;
	return 0;
}

static int version_of(const struct philox_context *context,
		      const struct save_lists *lists)
{
	if (context->mesh.n_axes || has_axes(lists))
		return SAVE_VERSION_MESH;
	for (size_t i = 0; i < lists->n_regions; i++)
		if (has_loops(lists->regions[i]))
			return SAVE_VERSION_LOOPS;
	return lists->n_rows ? SAVE_VERSION_ROWS : 1;
}

static enum philox_status write_context(FILE *out,
					const struct philox_context *context,
					const struct save_lists *lists)
{
	enum philox_status status = PHILOX_OK;

	fprintf(out, "philox context %d\n", version_of(context, lists));
	save_write_mesh(out, &context->mesh);
	write_generators(out, lists);
	for (size_t i = 0; status == PHILOX_OK && i < lists->n_regions; i++)
		status = write_region(out, lists, lists->regions[i],
				      LEDGER_PENDING);
	return status == PHILOX_OK ? save_write_rows(out, lists) : status;
}

static int is_in_part(const struct save_part *part,
		      const struct philox_region *region)
{
	return region->alive &&
	       save_part_has(part, save_item_key(SAVE_REGION, region->key));
}

static enum philox_status write_rank(FILE *out,
				     const struct philox_context *context,
				     const struct save_lists *lists,
				     const struct save_part *part)
{
	enum philox_status status = PHILOX_OK;

	fprintf(out, "philox ranks %d\n", SAVE_VERSION_RANKS);
	save_write_mesh(out, &context->mesh);
	write_generators(out, lists);
	for (size_t i = 0; status == PHILOX_OK && i < lists->n_regions; i++)
		if (is_in_part(part, lists->regions[i]))
			status = write_region(out, lists, lists->regions[i],
					      LEDGER_FREE);
	save_write_tables(out, lists, part);
	return status;
}

/* Of a rank if there is a part, and else of a context. */
static enum philox_status write_body(FILE *out,
				     const struct philox_context *context,
				     const struct save_part *part)
{
	struct save_lists lists;
	enum philox_status status;

	status = save_lists_init(&lists, context, compare_names);
	if (status != PHILOX_OK)
		return status;
	status = part ? write_rank(out, context, &lists, part)
		      : write_context(out, context, &lists);
	save_lists_finish(&lists);
	return status;
}

static enum philox_status write_text(const struct philox_context *context,
				     const struct save_part *part, char **text,
				     size_t *size)
{
	char *written = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&written, &length);
	enum philox_status status = PHILOX_OK;
	int whole = 0;

	if (out) {
		status = write_body(out, context, part);
		whole = status == PHILOX_OK &&
			save_write_checksum(out, &written, &length);
		fclose(out);
	}
	if (!whole) {
		free(written);
		if (status != PHILOX_OK)
			return status;
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the text of a context");
	}
	*text = written;
	*size = length;
	return PHILOX_OK;
}

enum philox_status save_write(const struct philox_context *context, char **text,
			      size_t *size)
{
	return write_text(context, NULL, text, size);
}

enum philox_status save_write_part(const struct philox_context *context,
				   const struct save_part *part, char **text,
				   size_t *size)
{
	return write_text(context, part, text, size);
}

/*
 * lib/save/text.c - the text of a context: see Note [Saved context], and Note
 * [Text of a rank] in lib/ranks/agree.h
 *
 * The text is written into a stream in memory, which remembers whether it ran
 * out of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/text/stream.h"
#include "lib/save/axes.h"
#include "lib/save/read.h"
#include "lib/save/text.h"
#include "lib/text/lines.h"
#include "lib/state/ledger.h"

static void write_generators(FILE *out, const struct saved *saved)
{
	for (size_t i = 0; i < saved->n_generators; i++) {
		fprintf(out, "generator %zu state ", i);
		save_write_state(out, saved->generators[i]);
		fputc('\n', out);
	}
}

/* --- regions -------------------------------------------------------------- */

static void write_op(FILE *out, const struct saved_op *op)
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
static void write_passes(FILE *out, const struct saved_ticket *ticket)
{
	if (ticket->phase == LEDGER_FORWARD_OPEN)
		fputs(" open", out);
	if (ticket->phase == LEDGER_DONE)
		fputs(" done", out);
	if (ticket->readers)
		fprintf(out, " readers %" PRIu32, ticket->readers);
	if (ticket->consuming == LEDGER_CONSUME)
		fputs(" pass", out);
	if (ticket->consuming == LEDGER_CLAIM)
		fputs(" launch", out);
}

static void write_ticket(FILE *out, const struct saved_ticket *ticket)
{
	fprintf(out, "ticket %" PRIu64 " state ", ticket->serial);
	save_write_state(out, ticket->state);
	if (ticket->iterations > 1)
		fprintf(out, " iterations %" PRIu32, ticket->iterations);
	write_passes(out, ticket);
	fputc('\n', out);
}

static void write_region_line(FILE *out, const struct saved_region *region)
{
	fputs("region ", out);
	save_write_name(out, region->name);
	fputs(region->alive ? " alive" : " destroyed", out);
	if (region->generator == SAVE_NO_GENERATOR)
		fputs(" generator none", out);
	else
		fprintf(out, " generator %" PRIu32, region->generator);
	if (region->alive)
		fprintf(out, " flags %" PRIu32, region->flags);
	fputs(" next ", out);
	save_write_state(out, region->state);
	fprintf(out, " serial %" PRIu64 "%s\n", region->serial,
		region->open ? " open" : "");
}

static void write_region(FILE *out, const struct saved *saved,
			 const struct saved_region *region)
{
	write_region_line(out, region);
	save_write_axes(out, saved, region);
	for (size_t i = 0; i < region->n_ops; i++)
		write_op(out, &saved->ops[region->op + i]);
	for (size_t i = 0; i < region->n_tickets; i++)
		write_ticket(out, &saved->tickets[region->ticket + i]);
}

/* --- tables of rows ------------------------------------------------------- */

static void write_table(FILE *out, const struct saved *saved,
			const struct saved_table *table)
{
	fputs("rows ", out);
	save_write_name(out, table->name);
	fprintf(out, " generator %" PRIu32 " count %" PRIu64 "\n",
		table->generator, table->count);
	for (size_t i = 0; i < table->n_rows; i++) {
		fputs("row ", out);
		save_write_state(out, saved->rows[table->row + i]);
		fputc('\n', out);
	}
}

/* --- the whole ------------------------------------------------------------ */

static int has_loops(const struct saved *saved)
{
	for (size_t i = 0; i < saved->n_tickets; i++)
		if (saved->tickets[i].iterations > 1)
			return 1;
	return 0;
}

static int version_of(const struct saved *saved)
{
	if (save_has_axes(saved))
		return SAVE_VERSION_MESH;
	if (has_loops(saved))
		return SAVE_VERSION_LOOPS;
	return saved->n_tables ? SAVE_VERSION_ROWS : 1;
}

static void write_body(FILE *out, const struct saved *saved, int rank)
{
	if (rank)
		fprintf(out, "philox ranks %d\n", SAVE_VERSION_RANKS);
	else
		fprintf(out, "philox context %d\n", version_of(saved));
	save_write_mesh(out, &saved->mesh, 1);
	write_generators(out, saved);
	for (size_t i = 0; i < saved->n_regions; i++)
		write_region(out, saved, &saved->regions[i]);
	for (size_t i = 0; i < saved->n_tables; i++)
		write_table(out, saved, &saved->tables[i]);
}

static enum philox_status write_text(const struct saved *saved, int rank,
				     char **text, size_t *size)
{
	char *written = NULL;
	size_t length = 0;
	struct memory_file file;
	FILE *out = memory_file_open(&file, &written, &length);
	int whole = 0;

	if (out) {
		write_body(out, saved, rank);
		whole = save_write_checksum(out, &written, &length);
		fclose(out);
	}
	if (!whole) {
		free(written);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the text of a context");
	}
	*text = written;
	*size = length;
	return PHILOX_OK;
}

enum philox_status save_write(const struct saved *saved, char **text,
			      size_t *size)
{
	return write_text(saved, 0, text, size);
}

enum philox_status save_write_rank(const struct saved *saved, char **text,
				   size_t *size)
{
	return write_text(saved, 1, text, size);
}

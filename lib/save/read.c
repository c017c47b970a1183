/*
 * lib/save/read.c - reading the text of a context: see Note [Saved context], and
 * Note [Text of a rank] in lib/ranks/agree.h
 *
 * The text is read once, line by line. Tables grow with the lines read, never
 * with the counts that the text announces.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/save/axes.h"
#include "lib/save/read.h"
#include "lib/save/read_rows.h"
#include "lib/save/saved.h"
#include "lib/text/lines.h"
#include "lib/state/region.h"

/* The limits of a region, as include/philox/region.h says. */
#define CALLS_MAX   (UINT64_C(1) << 20)
#define ADVANCE_MAX (UINT64_C(1) << 56)
#define SERIAL_MAX  (SERIAL_PLACEHOLDER - 1)

/* --- lines ---------------------------------------------------------------- */

/* What a text of a rank may have depends on no version of saved contexts. */
static void read_version(struct reader *reader)
{
	const int newest = reader->rank ? SAVE_VERSION_RANKS : SAVE_VERSION;

	reader_expect(reader,
		      reader->rank ? "philox ranks " : "philox context ");
	reader->version = reader_decimal(reader, 1, UINT64_MAX);
	if (reader->version > (uint64_t)newest) {
		reader->status =
			status_set(PHILOX_ERROR_UNSUPPORTED,
				   "line 1: the text has version %" PRIu64
				   ", the newest this library reads is %d",
				   reader->version, newest);
		return;
	}
	if (reader->rank)
		reader->version = SAVE_VERSION;
	reader_end_line(reader);
}

static void read_generator(struct reader *reader)
{
	struct saved *saved = reader->saved;
	uint64_t number = reader_decimal(reader, 0, SAVE_NO_GENERATOR - 1);
	struct philox_state read;

	if (number != saved->n_generators)
		reader_refuse(reader, "generator %zu has to come first",
			      saved->n_generators);
	reader_expect(reader, " state ");
	read = reader_state(reader);
	reader_end_line(reader);
	saved->generators =
		reader_grow(reader, saved->generators, saved->n_generators,
			    sizeof(*saved->generators));
	if (reader->status == PHILOX_OK)
		saved->generators[saved->n_generators++] = read;
}

static void read_region_words(struct reader *reader,
			      struct saved_region *region)
{
	region->alive = reader_accept(reader, " alive");
	if (!region->alive)
		reader_expect(reader, reader->rank ? " alive" : " destroyed");
	reader_expect(reader, " generator ");
	region->generator = SAVE_NO_GENERATOR;
	if (region->alive || !reader_accept(reader, "none"))
		region->generator = (uint32_t)reader_decimal(
			reader, 0, SAVE_NO_GENERATOR - 1);
	if (region->alive) {
		reader_expect(reader, " flags ");
		region->flags = (uint32_t)reader_decimal(reader, 0, UINT32_MAX);
	}
	reader_expect(reader, " next ");
	region->state = reader_state(reader);
	reader_expect(reader, " serial ");
	region->serial = reader_decimal(reader, 1, SERIAL_MAX);
	if (reader->rank && (region->flags & PHILOX_SHARED))
		region->open = reader_accept(reader, " open");
}

static void check_region_line(struct reader *reader,
			      const struct saved_region *region)
{
	const struct saved *saved = reader->saved;
	const struct saved_region *last = NULL;

	if (reader->status != PHILOX_OK)
		return;
	if (saved->n_regions)
		last = &saved->regions[saved->n_regions - 1];
	if (!*region->name)
		reader_refuse(reader, "%s", "a region without a name");
	if (last && strcmp(last->name, region->name) >= 0)
		reader_refuse(reader, "region '%s' comes twice or not in order",
			      region->name);
	if (region->generator != SAVE_NO_GENERATOR &&
	    region->generator >= saved->n_generators)
		reader_refuse(reader, "there is no generator %u",
			      region->generator);
}

static void read_region(struct reader *reader)
{
	struct saved *saved = reader->saved;
	struct saved_region region = {.line = reader->line,
				      .axis = saved->n_axes,
				      .op = saved->n_ops,
				      .ticket = saved->n_tickets};

	region.name = reader_name(reader);
	read_region_words(reader, &region);
	check_region_line(reader, &region);
	reader_end_line(reader);
	saved->regions = reader_grow(reader, saved->regions, saved->n_regions,
				     sizeof(*saved->regions));
	if (reader->status != PHILOX_OK) {
		free(region.name);
		return;
	}
	region.key = hash_text(region.name, strlen(region.name));
	saved->regions[saved->n_regions++] = region;
}

/* The region that an op or a ticket belongs to; NULL if something is wrong. */
static struct saved_region *current_region(struct reader *reader)
{
	struct saved *saved = reader->saved;

	if (!saved->n_regions || !saved->regions[saved->n_regions - 1].alive) {
		reader_refuse(reader, "%s", "there is no region for it above");
		return NULL;
	}
	return &saved->regions[saved->n_regions - 1];
}

static void read_op(struct reader *reader)
{
	struct saved *saved = reader->saved;
	struct saved_region *region = current_region(reader);
	struct saved_op op = {0};

	if (region && region->n_tickets)
		reader_refuse(reader, "%s", "an op after a ticket");
	if (!reader_accept(reader, "-"))
		op.name = reader_name(reader);
	reader_expect(reader, " calls ");
	op.calls = (uint32_t)reader_decimal(reader, 1, CALLS_MAX);
	if (region && op.calls > CALLS_MAX - region->calls)
		reader_refuse(reader,
			      "more than %" PRIu64 " calls in region '%s'",
			      CALLS_MAX, region->name);
	reader_expect(reader, " advance ");
	op.advance = reader_decimal(reader, 4, ADVANCE_MAX);
	if (op.advance % 4)
		reader_refuse(reader,
			      "advance %" PRIu64 " is not a multiple of 4",
			      op.advance);
	reader_end_line(reader);
	saved->ops = reader_grow(reader, saved->ops, saved->n_ops,
				 sizeof(*saved->ops));
	if (reader->status != PHILOX_OK) {
		free(op.name);
		return;
	}
	saved->ops[saved->n_ops++] = op;
	region->n_ops++;
	region->calls += op.calls;
}

static void check_serial(struct reader *reader,
			 const struct saved_region *region, uint64_t serial)
{
	const struct saved_ticket *tickets = reader->saved->tickets;

	if (serial >= region->serial)
		reader_refuse(reader,
			      "ticket %" PRIu64
			      " is not below the next serial, %" PRIu64,
			      serial, region->serial);
	if (region->n_tickets &&
	    tickets[region->ticket + region->n_tickets - 1].serial >= serial)
		reader_refuse(reader,
			      "ticket %" PRIu64 " comes twice or not in order",
			      serial);
}

static uint32_t read_iterations(struct reader *reader)
{
	if (!reader_accept(reader, " iterations "))
		return 1;
	if (reader->version < SAVE_VERSION_LOOPS)
		reader_refuse(reader, "version %" PRIu64 " has no iterations",
			      reader->version);
	reader->looped = 1;
	return (uint32_t)reader_decimal(reader, 2, UINT32_MAX);
}

static void read_readers(struct reader *reader, struct saved_ticket *ticket)
{
	ticket->readers = (uint32_t)reader_decimal(reader, 1, UINT32_MAX);
	if (reader_accept(reader, " pass"))
		ticket->consuming = LEDGER_CONSUME;
	else if (reader_accept(reader, " launch"))
		ticket->consuming = LEDGER_CLAIM;
}

/* The words that follow a ticket in the text of a rank. */
static void read_passes(struct reader *reader, struct saved_ticket *ticket)
{
	if (reader_accept(reader, " open")) {
		ticket->phase = LEDGER_FORWARD_OPEN;
		return;
	}
	if (reader_accept(reader, " done")) {
		ticket->phase = LEDGER_DONE;
		reader_expect(reader, " readers ");
		read_readers(reader, ticket);
	} else if (reader_accept(reader, " readers ")) {
		read_readers(reader, ticket);
	}
}

static void read_ticket(struct reader *reader)
{
	struct saved *saved = reader->saved;
	struct saved_region *region = current_region(reader);
	struct saved_ticket ticket = {.phase = LEDGER_PENDING};

	if (region && !region->n_ops)
		reader_refuse(reader, "%s", "a ticket of a region without ops");
	ticket.serial = reader_decimal(reader, 1, SERIAL_MAX);
	if (region)
		check_serial(reader, region, ticket.serial);
	reader_expect(reader, " state ");
	ticket.state = reader_state(reader);
	ticket.iterations = read_iterations(reader);
	if (reader->rank)
		read_passes(reader, &ticket);
	reader_end_line(reader);
	saved->tickets = reader_grow(reader, saved->tickets, saved->n_tickets,
				     sizeof(*saved->tickets));
	if (reader->status != PHILOX_OK)
		return;
	saved->tickets[saved->n_tickets++] = ticket;
	region->n_tickets++;
}

/* --- the whole ------------------------------------------------------------ */

/* An alive region has ops. Checked at the next region or at the end. */
static void check_region_complete(struct reader *reader)
{
	const struct saved *saved = reader->saved;
	const struct saved_region *last;

	if (!saved->n_generators)
		reader_refuse(reader, "%s", "generator 0 has to come first");
	if (reader->status != PHILOX_OK || !saved->n_regions)
		return;
	last = &saved->regions[saved->n_regions - 1];
	if (last->alive && !last->n_ops)
		reader_refuse(reader, "region '%s' above has no ops",
			      last->name);
}

static void read_lines(struct reader *reader)
{
	while (reader->status == PHILOX_OK) {
		const char *line = reader->at;

		if (!reader->saved->n_generators &&
		    reader_accept(reader, "axis ")) {
			reader_axis(reader, &reader->saved->mesh, 1);
		} else if (reader_accept(reader, "rows ")) {
			check_region_complete(reader);
			reader_table(reader);
		} else if (reader_accept(reader, "row ")) {
			reader_row(reader);
		} else if (reader_accept(reader, "checksum ")) {
			check_region_complete(reader);
			reader_end_tables(reader);
			reader_checksum(reader, line);
			return;
		} else if (reader->saved->n_tables) {
			reader_expected(reader, "a row or a table of rows");
		} else if (!reader->saved->n_regions &&
			   reader_accept(reader, "generator ")) {
			read_generator(reader);
		} else if (reader_accept(reader, "differs ")) {
			reader_differs(reader, current_region(reader));
		} else if (reader_accept(reader, "issued ")) {
			reader_issued(reader, current_region(reader));
		} else if (reader_accept(reader, "op ")) {
			read_op(reader);
		} else if (reader_accept(reader, "ticket ")) {
			read_ticket(reader);
		} else if (reader_accept(reader, "region ")) {
			check_region_complete(reader);
			read_region(reader);
		} else {
			reader_expected(reader, "a known kind of line");
		}
	}
}

/* No context has two names with the same hash. */
static void check_keys(struct reader *reader)
{
	const struct saved_region *twins[2];

	if (reader->status == PHILOX_OK)
		reader->status = saved_find_twins(reader->saved, twins);
	if (reader->status != PHILOX_OK || !twins[0])
		return;
	reader->line = twins[1]->line;
	reader_refuse(reader,
		      "the names of regions '%s' and '%s' have the same hash",
		      twins[0]->name, twins[1]->name);
}

static enum philox_status read_text(const char *text, size_t size, int rank,
				    struct saved *saved)
{
	struct reader reader = {.text = text,
				.at = text,
				.end = text + size,
				.start = text,
				.line = 1,
				.rank = rank,
				.saved = saved};

	memset(saved, 0, sizeof(*saved));
	saved->mesh.size = sizeof(saved->mesh);
	read_version(&reader);
	read_lines(&reader);
	check_keys(&reader);
	reader_end_axes(&reader);
	if (reader.status != PHILOX_OK)
		saved_finish(saved);
	return reader.status;
}

enum philox_status save_read(const char *text, size_t size, struct saved *saved)
{
	return read_text(text, size, 0, saved);
}

enum philox_status save_read_rank(const char *text, size_t size,
				  struct saved *saved)
{
	return read_text(text, size, 1, saved);
}

void saved_finish(struct saved *saved)
{
	for (size_t i = 0; i < saved->n_regions; i++)
		free(saved->regions[i].name);
	for (size_t i = 0; i < saved->n_ops; i++)
		free(saved->ops[i].name);
	for (size_t i = 0; i < saved->n_tables; i++)
		free(saved->tables[i].name);
	for (size_t i = 0; i < saved->n_axes; i++)
		free(saved->axes[i]);
	mesh_finish(&saved->mesh);
	free(saved->axes);
	free(saved->generators);
	free(saved->regions);
	free(saved->ops);
	free(saved->tickets);
	free(saved->tables);
	free(saved->rows);
	memset(saved, 0, sizeof(*saved));
}

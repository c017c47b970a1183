/*
 * lib/save/text.c - the text of a context: see Note [Saved context], and Note
 * [Text of a rank] in lib/ranks/ranks.h
 *
 * The text is written into a stream in memory, which remembers whether it ran
 * out of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/rows/rows.h"
#include "lib/save/save.h"
#include "lib/state/state.h"
#include "lib/text/text.h"

static void write_generators(FILE *out, const struct saved *saved)
{
	for (size_t i = 0; i < saved->n_generators; i++) {
		fprintf(out, "generator %zu state ", i);
		text_write_state(out, saved->generators[i]);
		fputc('\n', out);
	}
}

/* --- regions -------------------------------------------------------------- */

static void write_op(FILE *out, const struct saved_op *op)
{
	fputs("op ", out);
	if (op->name)
		text_write_name(out, op->name);
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
	text_write_state(out, ticket->state);
	if (ticket->iterations > 1)
		fprintf(out, " iterations %" PRIu32, ticket->iterations);
	write_passes(out, ticket);
	fputc('\n', out);
}

static void write_region_line(FILE *out, const struct saved_region *region)
{
	fputs("region ", out);
	text_write_name(out, region->name);
	fputs(region->alive ? " alive" : " destroyed", out);
	if (region->generator == SAVE_NO_GENERATOR)
		fputs(" generator none", out);
	else
		fprintf(out, " generator %" PRIu32, region->generator);
	if (region->alive)
		fprintf(out, " flags %" PRIu32, region->flags);
	fputs(" next ", out);
	text_write_state(out, region->state);
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
	text_write_name(out, table->name);
	fprintf(out, " generator %" PRIu32 " count %" PRIu64 "\n",
		table->generator, table->count);
	for (size_t i = 0; i < table->n_rows; i++) {
		fputs("row ", out);
		text_write_state(out, saved->rows[table->row + i]);
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
				     struct text *text)
{
	if (text_begin(text))
		write_body(text->out, saved, rank);
	if (text_end(text))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for the text of a context");
}

enum philox_status save_write(const struct saved *saved, struct text *text)
{
	return write_text(saved, 0, text);
}

enum philox_status save_write_rank(const struct saved *saved, struct text *text)
{
	return write_text(saved, 1, text);
}

/* --- read ----------------------------------------------------------------- */

/*
 * reading the text of a context: see Note [Saved context], and Note [Text of a
 * rank] in lib/ranks/ranks.h
 *
 * The text is read once, line by line. Tables grow with the lines read, never
 * with the counts that the text announces.
 */

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

/* --- read_rows: reading tables of rows: see Note [Saved context] ---------- */

/* The table that a row belongs to; NULL before the first. */
static struct saved_table *current_table(const struct reader *reader)
{
	struct saved *saved = reader->saved;

	return saved->n_tables ? &saved->tables[saved->n_tables - 1] : NULL;
}

static void check_table_complete(struct reader *reader)
{
	const struct saved_table *last = current_table(reader);

	if (last && !reader->rank && last->n_rows < last->count)
		reader_refuse(reader,
			      "rows '%s' above has %zu row%s, not %" PRIu64,
			      last->name, last->n_rows, status_s(last->n_rows),
			      last->count);
}

static void check_table(struct reader *reader, const struct saved_table *table)
{
	const struct saved *saved = reader->saved;
	const struct saved_table *last = current_table(reader);

	if (reader->status != PHILOX_OK)
		return;
	if (!*table->name)
		reader_refuse(reader, "%s", "rows without a name");
	if (last && strcmp(last->name, table->name) >= 0)
		reader_refuse(reader, "rows '%s' come twice or not in order",
			      table->name);
	if (table->generator >= saved->n_generators)
		reader_refuse(reader, "there is no generator %u",
			      table->generator);
}

void reader_table(struct reader *reader)
{
	struct saved *saved = reader->saved;
	struct saved_table table = {.row = saved->n_rows};

	if (reader->version < SAVE_VERSION_ROWS)
		reader_refuse(reader, "version %" PRIu64 " has no rows",
			      reader->version);
	check_table_complete(reader);
	table.name = reader_name(reader);
	reader_expect(reader, " generator ");
	table.generator =
		(uint32_t)reader_decimal(reader, 0, SAVE_NO_GENERATOR - 1);
	reader_expect(reader, " count ");
	table.count = reader_decimal(reader, 1, ROWS_COUNT_MAX);
	check_table(reader, &table);
	reader_end_line(reader);
	saved->tables = reader_grow(reader, saved->tables, saved->n_tables,
				    sizeof(*saved->tables));
	if (reader->status == PHILOX_OK)
		saved->tables[saved->n_tables++] = table;
	else
		free(table.name);
}

void reader_row(struct reader *reader)
{
	struct saved *saved = reader->saved;
	struct saved_table *table = current_table(reader);
	struct philox_state state;

	if (!table || reader->rank || table->n_rows == table->count)
		reader_refuse(reader, "%s", "a row too many");
	state = reader_state(reader);
	reader_end_line(reader);
	saved->rows = reader_grow(reader, saved->rows, saved->n_rows,
				  sizeof(*saved->rows));
	if (reader->status != PHILOX_OK)
		return;
	saved->rows[saved->n_rows++] = state;
	table->n_rows++;
}

void reader_end_tables(struct reader *reader)
{
	check_table_complete(reader);
	if (reader->version == SAVE_VERSION_LOOPS && !reader->looped)
		reader_refuse(reader,
			      "a text without iterations has version %d",
			      reader->saved->n_tables ? SAVE_VERSION_ROWS : 1);
	if (reader->version == SAVE_VERSION_ROWS && !reader->saved->n_tables)
		reader_refuse(reader, "a text without rows has version %d",
			      SAVE_VERSION_ROWS - 1);
}

/* --- axes: meshes, and axes along which regions differ, in texts ---------- */

int save_has_axes(const struct saved *saved)
{
	if (saved->mesh.n_axes || saved->n_axes)
		return 1;
	for (size_t i = 0; i < saved->n_regions; i++)
		if (saved->regions[i].issued_serial)
			return 1;
	return 0;
}

/* --- writing -------------------------------------------------------------- */

void save_write_mesh(FILE *out, const struct philox_mesh *mesh, int placed)
{
	for (uint32_t i = 0; i < mesh->n_axes; i++) {
		const struct philox_axis *axis = &mesh->axes[i];

		fputs("axis ", out);
		text_write_name(out, axis->name);
		fprintf(out, " size %" PRIu32, axis->size);
		if (placed)
			fprintf(out, " at %" PRIu32, axis->coordinate);
		fputs(axis->flags & PHILOX_AXIS_STAGES ? " stages\n" : "\n",
		      out);
	}
}

void save_write_axes(FILE *out, const struct saved *saved,
		     const struct saved_region *region)
{
	for (size_t i = 0; i < region->n_axes; i++) {
		fputs("differs ", out);
		text_write_name(out, saved->axes[region->axis + i]);
		fputc('\n', out);
	}
	if (region->issued_serial)
		fprintf(out, "issued %" PRIu64 " serial %" PRIu64 "\n",
			region->issued, region->issued_serial);
}

/* --- reading -------------------------------------------------------------- */

static void need_version(struct reader *reader, const char *what)
{
	if (reader->version < SAVE_VERSION_MESH)
		reader_refuse(reader, "version %" PRIu64 " has no %s",
			      reader->version, what);
}

/* The mesh so far is fine: an axis more may break a rule of meshes. */
static void check_mesh(struct reader *reader, const struct philox_mesh *mesh)
{
	char text[512];

	if (reader->status != PHILOX_OK || philox_mesh_check(mesh) == PHILOX_OK)
		return;
	snprintf(text, sizeof(text), "%s", status_bare());
	reader_refuse(reader, "%s", text);
}

void reader_axis(struct reader *reader, struct philox_mesh *mesh, int placed)
{
	struct philox_axis axis = {0};

	if (placed)
		need_version(reader, "axes");
	if (mesh->n_axes == PHILOX_MESH_AXES)
		reader_refuse(reader, "more than %d axes", PHILOX_MESH_AXES);
	axis.name = reader_name(reader);
	reader_expect(reader, " size ");
	axis.size = (uint32_t)reader_decimal(reader, 1, UINT32_MAX);
	if (placed) {
		reader_expect(reader, " at ");
		axis.coordinate =
			(uint32_t)reader_decimal(reader, 0, UINT32_MAX);
	}
	if (reader_accept(reader, " stages"))
		axis.flags = PHILOX_AXIS_STAGES;
	if (reader->status != PHILOX_OK) {
		free((char *)axis.name);
		return;
	}
	mesh->axes[mesh->n_axes++] = axis;
	check_mesh(reader, mesh);
	reader_end_line(reader);
}

static void check_differs(struct reader *reader,
			  const struct saved_region *region, const char *name)
{
	const struct saved *saved = reader->saved;
	const char *last = NULL;

	if (reader->status != PHILOX_OK)
		return;
	if (region->n_axes)
		last = saved->axes[saved->n_axes - 1];
	if (region->n_ops || region->issued_serial)
		reader_refuse(reader, "%s", "an axis after an op");
	if (region->n_axes == PHILOX_MESH_AXES)
		reader_refuse(reader, "more than %d axes", PHILOX_MESH_AXES);
	if (region->flags & PHILOX_SHARED)
		reader_refuse(reader, "region '%s' is shared", region->name);
	if (!*name || (last && strcmp(last, name) >= 0))
		reader_refuse(reader, "axis '%s' comes twice or not in order",
			      name);
	if (saved->mesh.n_axes && !mesh_find(&saved->mesh, name))
		reader_refuse(reader, "there is no axis '%s'", name);
}

void reader_differs(struct reader *reader, struct saved_region *region)
{
	struct saved *saved = reader->saved;
	char *name;

	need_version(reader, "axes");
	name = reader_name(reader);
	check_differs(reader, region, name);
	reader_end_line(reader);
	saved->axes = reader_grow(reader, saved->axes, saved->n_axes,
				  sizeof(*saved->axes));
	if (reader->status != PHILOX_OK) {
		free(name);
		return;
	}
	saved->axes[saved->n_axes++] = name;
	region->n_axes++;
}

void reader_issued(struct reader *reader, struct saved_region *region)
{
	uint64_t offset, serial;

	need_version(reader, "lines 'issued'");
	offset = reader_decimal(reader, 0, UINT64_MAX);
	if (offset % 4)
		reader_refuse(reader,
			      "offset %" PRIu64 " is not a multiple of 4",
			      offset);
	reader_expect(reader, " serial ");
	serial = reader_decimal(reader, 1, SERIAL_PLACEHOLDER - 1);
	if (reader->status != PHILOX_OK)
		return;
	if (region->flags & PHILOX_SHARED)
		reader_refuse(reader, "region '%s' is shared", region->name);
	if (region->n_ops || region->issued_serial)
		reader_refuse(reader, "%s",
			      "it belongs after the axes of a region");
	if (offset <= region->state.offset && serial <= region->serial)
		reader_refuse(reader, "%s",
			      "neither is above what the region issues next");
	reader_end_line(reader);
	region->issued = offset;
	region->issued_serial = serial;
}

void reader_end_axes(struct reader *reader)
{
	if (reader->status == PHILOX_OK && !reader->rank &&
	    reader->version == SAVE_VERSION_MESH &&
	    !save_has_axes(reader->saved))
		reader->status = status_set(PHILOX_ERROR_INVALID,
					    "line 1: a text without axes is "
					    "below version %d",
					    SAVE_VERSION_MESH);
}

/* --- comparing ------------------------------------------------------------ */

/* What to do about a text of another mesh. */
#define OTHER_MESH "; philox_mesh_load() loads a set of texts of another mesh"

static enum philox_status differ_axis(const struct philox_axis *in_text,
				      const struct philox_axis *in_context)
{
	if (strcmp(in_text->name, in_context->name))
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: axis '%s' of the text is '%s' in the "
				  "context" OTHER_MESH,
				  in_text->name, in_context->name);
	if (in_text->size != in_context->size)
		return status_set(
			PHILOX_ERROR_MISMATCH,
			"mesh: the size of axis '%s' is %" PRIu32
			" in the text, %" PRIu32 " in the context" OTHER_MESH,
			in_text->name, in_text->size, in_context->size);
	if (in_text->coordinate != in_context->coordinate)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: the coordinate along axis '%s' is "
				  "%" PRIu32 " in the text, %" PRIu32
				  " in the context: it is the text of another "
				  "rank",
				  in_text->name, in_text->coordinate,
				  in_context->coordinate);
	if (in_text->flags != in_context->flags)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: axis '%s' has %sstages in the text, "
				  "%sstages in the context",
				  in_text->name, in_text->flags ? "" : "no ",
				  in_context->flags ? "" : "no ");
	return PHILOX_OK;
}

enum philox_status save_compare_mesh(const struct philox_mesh *in_text,
				     const struct philox_mesh *in_context)
{
	enum philox_status status = PHILOX_OK;

	if (in_text->n_axes != in_context->n_axes)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "mesh: %" PRIu32 " ax%s in the text, %" PRIu32
				  " in the context" OTHER_MESH,
				  in_text->n_axes,
				  in_text->n_axes == 1 ? "is" : "es",
				  in_context->n_axes);
	for (uint32_t i = 0; status == PHILOX_OK && i < in_text->n_axes; i++)
		status = differ_axis(&in_text->axes[i], &in_context->axes[i]);
	return status;
}

static enum philox_status differ_along(const char *region, const char *axis,
				       int in_text)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': differs along axis '%s' in the %s, not "
			  "in the %s",
			  region, axis, in_text ? "text" : "context",
			  in_text ? "context" : "text");
}

/* Both are in order. */
enum philox_status save_compare_axes(const struct saved *saved,
				     const struct saved_region *in_text,
				     const struct philox_region *in_context)
{
	const struct region_axes *axes = &in_context->axes;

	for (size_t i = 0; i < in_text->n_axes || i < axes->n; i++) {
		const char *left = i < in_text->n_axes
					   ? saved->axes[in_text->axis + i]
					   : NULL;
		const char *right = i < axes->n ? axes->names[i] : NULL;
		int order = !left ? 1 : !right ? -1 : strcmp(left, right);

		if (order)
			return differ_along(in_text->name,
					    order < 0 ? left : right,
					    order < 0);
	}
	return PHILOX_OK;
}

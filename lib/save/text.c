/*
 * lib/save/text.c - the text of a context: see Note [Saved context], and Note
 * [Text of a rank] in lib/ranks/ranks.h
 *
 * A text is read once, line by line. Tables grow with the lines read, never
 * with the counts that the text announces.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/data/data.h"
#include "lib/mesh/mesh.h"
#include "lib/rows/rows.h"
#include "lib/save/save.h"
#include "lib/state/state.h"

/* The limits of a region, as include/philox/region.h says. */
#define CALLS_MAX   (UINT64_C(1) << 20)
#define ADVANCE_MAX (UINT64_C(1) << 56)
#define SERIAL_MAX  (SERIAL_PLACEHOLDER - 1)

/* --- lines ---------------------------------------------------------------- */

const struct field save_axis_fields[] = {
	{FIELD(NAME, struct philox_axis, name, NULL), .name = "name"},
	{FIELD(NUMBER, struct philox_axis, n_ranks, "size"), .least = 1},
	{FIELD(MARK, struct philox_axis, flags, "stages")},
	FIELDS_END};
const struct field save_placed_axis_fields[] = {
	{FIELD(NAME, struct philox_axis, name, NULL), .name = "name"},
	{FIELD(NUMBER, struct philox_axis, n_ranks, "size"), .least = 1},
	{FIELD(NUMBER, struct philox_axis, coordinate, "at"),
	 .name = "coordinate"},
	{FIELD(MARK, struct philox_axis, flags, "stages")},
	FIELDS_END};
static const struct field generator_fields[] = {
	{FIELD(STATE, struct saved_generator, state, "state")},
	{FIELD(MARK, struct saved_generator, flags, "differs")},
	FIELDS_END};
static const struct field alive_fields[] = {
	{FIELD(NUMBER, struct saved_region, generator, "generator"),
	 .most = SAVE_NO_GENERATOR - 1},
	{FIELD(NUMBER, struct saved_region, flags, "flags")},
	{FIELD(STATE, struct saved_region, state, "next")},
	{FIELD(NUMBER, struct saved_region, serial, "serial"), .least = 1,
	 .most = SERIAL_MAX},
	FIELDS_END};
static const struct field destroyed_fields[] = {
	{FIELD(NUMBER, struct saved_region, generator, "generator"),
	 .most = SAVE_NO_GENERATOR - 1, .none = "none"},
	{FIELD(STATE, struct saved_region, state, "next")},
	{FIELD(NUMBER, struct saved_region, serial, "serial"), .least = 1,
	 .most = SERIAL_MAX},
	FIELDS_END};
const struct field save_op_fields[] = {
	{FIELD(NAME, struct saved_op, name, NULL), .none = "-",
	 .spoken = "the name is"},
	{FIELD(NUMBER, struct saved_op, calls, "calls"), .least = 1,
	 .most = CALLS_MAX, .spoken = "calls is"},
	{FIELD(NUMBER, struct saved_op, advance, "advance"), .least = 4,
	 .most = ADVANCE_MAX, .spoken = "advance is"},
	FIELDS_END};
const struct field save_issued_fields[] = {
	{FIELD(NUMBER, struct saved_region, issued, NULL),
	 .name = "issued_offset"},
	{FIELD(NUMBER, struct saved_region, issued_serial, "serial"),
	 .name = "issued_serial", .least = 1, .most = SERIAL_MAX},
	FIELDS_END};
const struct field save_ticket_fields[] = {
	{FIELD(NUMBER, struct saved_ticket, serial, NULL), .name = "serial",
	 .least = 1, .most = SERIAL_MAX},
	{FIELD(STATE, struct saved_ticket, state, "state")},
	{FIELD(NUMBER, struct saved_ticket, iterations, "iterations"),
	 .least = 2, .may_lack = 1, .otherwise = 1},
	FIELDS_END};
const struct field save_state_fields[] = {
	{.kind = FIELD_STATE, .name = "state"}, FIELDS_END};
static const struct field table_fields[] = {
	{FIELD(NAME, struct saved_table, name, NULL)},
	{FIELD(NUMBER, struct saved_table, generator, "generator"),
	 .most = SAVE_NO_GENERATOR - 1},
	{FIELD(NUMBER, struct saved_table, count, "count"), .least = 1,
	 .most = ROWS_COUNT_MAX},
	FIELDS_END};

const struct field save_data_fields[] = {
	{FIELD(NAME, struct saved_data, name, NULL), .name = "name"},
	{FIELD(NUMBER, struct saved_data, generator, "generator"),
	 .most = SAVE_NO_GENERATOR - 1},
	{FIELD(NUMBER, struct saved_data, sources, "sources"), .least = 1,
	 .most = DATA_SOURCES_MAX},
	{FIELD(NUMBER, struct saved_data, block, "block"), .least = 1,
	 .most = DATA_BLOCK_MAX},
	{FIELD(HEX, struct saved_data, order, "order")},
	{FIELD(HEX, struct saved_data, seed, "seed")},
	{FIELD(NUMBER, struct saved_data, position, "position"),
	 .most = DATA_POSITION_MAX},
	FIELDS_END};

const struct field save_outputs_fields[] = {
	{FIELD(NAME, struct saved_outputs, runner, NULL), .name = "runner"},
	{FIELD(HEX, struct saved_outputs, digest, "digest")},
	FIELDS_END};

static const struct field *axis_fields(int placed)
{
	return placed ? save_placed_axis_fields : save_axis_fields;
}

/* --- writing -------------------------------------------------------------- */

void save_write_mesh(FILE *out, const struct philox_mesh *mesh, int placed)
{
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		fields_write_line(out, "axis", axis_fields(placed),
				  &mesh->axes[i]);
}

static void write_axes(FILE *out, const struct saved *saved,
		       const struct saved_region *region)
{
	for (size_t i = 0; i < region->n_axes; i++) {
		fputs("differs ", out);
		text_write_name(out, saved->axes[region->axis + i]);
		fputc('\n', out);
	}
	if (region->issued_serial)
		fields_write_line(out, "issued", save_issued_fields, region);
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
	fputs("ticket", out);
	fields_write(out, save_ticket_fields, ticket, 0);
	write_passes(out, ticket);
	fputc('\n', out);
}

static void write_region(FILE *out, const struct saved *saved,
			 const struct saved_region *region)
{
	fputs("region ", out);
	text_write_name(out, region->name);
	fputs(region->alive ? " alive" : " destroyed", out);
	fields_write(out, region->alive ? alive_fields : destroyed_fields,
		     region, 0);
	fputs(region->open ? " open\n" : "\n", out);
	write_axes(out, saved, region);
	for (size_t i = 0; i < region->n_ops; i++)
		fields_write_line(out, "op", save_op_fields,
				  &saved->ops[region->op + i]);
	for (size_t i = 0; i < region->n_tickets; i++)
		write_ticket(out, &saved->tickets[region->ticket + i]);
}

static int has_axes(const struct saved *saved)
{
	if (saved->mesh.n_axes || saved->n_axes)
		return 1;
	for (size_t i = 0; i < saved->n_regions; i++)
		if (saved->regions[i].issued_serial)
			return 1;
	return 0;
}

static int has_loops(const struct saved *saved)
{
	for (size_t i = 0; i < saved->n_tickets; i++)
		if (saved->tickets[i].iterations > 1)
			return 1;
	return 0;
}

static int has_differing(const struct saved *saved)
{
	for (size_t i = 0; i < saved->n_generators; i++)
		if (saved->generators[i].flags)
			return 1;
	return 0;
}

static int version_of(const struct saved *saved)
{
	if (saved->n_data)
		return SAVE_VERSION_DATA;
	if (has_differing(saved))
		return SAVE_VERSION_OWN;
	if (saved->n_outputs)
		return SAVE_VERSION_KEPT;
	if (has_axes(saved))
		return SAVE_VERSION_MESH;
	if (has_loops(saved))
		return SAVE_VERSION_LOOPS;
	return saved->n_tables ? SAVE_VERSION_ROWS : 1;
}

static int rank_version_of(const struct saved *saved)
{
	if (saved->n_data)
		return SAVE_RANKS_DATA;
	return has_differing(saved) ? SAVE_RANKS_OWN : 1;
}

static void write_body(FILE *out, const struct saved *saved, int rank)
{
	if (rank)
		fprintf(out, "philox ranks %d\n", rank_version_of(saved));
	else
		fprintf(out, SAVE_START "%d\n", version_of(saved));
	save_write_mesh(out, &saved->mesh, 1);
	for (size_t i = 0; i < saved->n_generators; i++) {
		fprintf(out, "generator %zu", i);
		fields_write_line(out, "", generator_fields,
				  &saved->generators[i]);
	}
	for (size_t i = 0; i < saved->n_regions; i++)
		write_region(out, saved, &saved->regions[i]);
	for (size_t i = 0; i < saved->n_tables; i++) {
		const struct saved_table *table = &saved->tables[i];

		fields_write_line(out, "rows", table_fields, table);
		for (size_t k = 0; k < table->n_rows; k++)
			fields_write_line(out, "row", save_state_fields,
					  &saved->rows[table->row + k]);
	}
	for (size_t i = 0; i < saved->n_data; i++)
		fields_write_line(out, "data", save_data_fields,
				  &saved->data[i]);
	for (size_t i = 0; i < saved->n_outputs; i++)
		fields_write_line(out, "outputs", save_outputs_fields,
				  &saved->outputs[i]);
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

/* --- reading -------------------------------------------------------------- */

/* What has been read so far, and what that is. */
struct context_reader {
	struct reader in;
	struct saved *saved;
	int rank;       /* it is the text of a rank */
	int may_differ; /* its version has generators that do */
	int may_data;   /* its version has data */
	int looped;     /* a ticket has iterations */
};

/*
 * What a text of a rank may have depends on no version of saved contexts, but
 * for generators that differ and data.
 */
static void read_version(struct context_reader *reader)
{
	struct reader *in = &reader->in;

	if (reader->rank) {
		reader_version(in, "philox ranks ", "text", SAVE_RANKS);
		reader->may_differ = in->version >= SAVE_RANKS_OWN;
		reader->may_data = in->version >= SAVE_RANKS_DATA;
		in->version = SAVE_VERSION;
	} else {
		reader_version(in, SAVE_START, "text", SAVE_VERSION);
		reader->may_differ = in->version >= SAVE_VERSION_OWN;
		reader->may_data = in->version >= SAVE_VERSION_DATA;
	}
}

static void need_version(struct reader *in, uint64_t version, const char *what)
{
	if (in->version < version)
		reader_refuse(in, "version %" PRIu64 " has no %s", in->version,
			      what);
}

/* --- the mesh ------------------------------------------------------------- */

/* The mesh so far is fine: an axis more may break a rule of meshes. */
static void check_mesh(struct reader *reader, const struct philox_mesh *mesh)
{
	char text[512];

	if (reader->status != PHILOX_OK || philox_mesh_check(mesh) == PHILOX_OK)
		return;
	snprintf(text, sizeof(text), "%s", status_bare());
	reader_refuse(reader, "%s", text);
}

void save_read_axis(struct reader *in, struct philox_mesh *mesh, int placed)
{
	struct philox_axis axis = {0};

	if (placed)
		need_version(in, SAVE_VERSION_MESH, "axes");
	if (mesh->n_axes == PHILOX_MESH_AXES)
		reader_refuse(in, "more than %d axes", PHILOX_MESH_AXES);
	fields_read(in, axis_fields(placed), &axis, 0);
	if (in->status != PHILOX_OK) {
		fields_free(save_axis_fields, &axis);
		return;
	}
	mesh->axes[mesh->n_axes++] = axis;
	check_mesh(in, mesh);
	reader_end_line(in);
}

static void read_generator(struct context_reader *reader)
{
	struct reader *in = &reader->in;
	struct saved *saved = reader->saved;
	uint64_t number = reader_decimal(in, 0, SAVE_NO_GENERATOR - 1);
	struct saved_generator read = {.flags = 0};

	if (number != saved->n_generators)
		reader_refuse(in, "generator %zu has to come first",
			      saved->n_generators);
	fields_read(in, generator_fields, &read, 0);
	if (read.flags && !reader->may_differ)
		reader_refuse(in, "%s",
			      "this version has no generators that differ");
	reader_end_line(in);
	reader_put(in, &saved->generators, &saved->n_generators, &read,
		   sizeof(read));
}

/* --- regions -------------------------------------------------------------- */

static struct saved_region *last_region(const struct context_reader *reader)
{
	const size_t n = reader->saved->n_regions;

	return n ? &reader->saved->regions[n - 1] : NULL;
}

/* An alive region has ops. Checked at the next region or at the end. */
static void check_region_complete(struct context_reader *reader)
{
	const struct saved_region *last = last_region(reader);

	if (!reader->saved->n_generators)
		reader_refuse(&reader->in, "%s",
			      "generator 0 has to come first");
	if (last && last->alive && !last->n_ops)
		reader_refuse(&reader->in, "region '%s' above has no ops",
			      last->name);
}

static void read_region_words(struct context_reader *reader,
			      struct saved_region *region)
{
	struct reader *in = &reader->in;

	region->name = reader_name(in);
	region->alive = reader_accept(in, " alive");
	if (!region->alive)
		reader_expect(in, reader->rank ? " alive" : " destroyed");
	fields_read(in, region->alive ? alive_fields : destroyed_fields, region,
		    0);
	if (reader->rank && (region->flags & PHILOX_REGION_SHARED))
		region->open = reader_accept(in, " open");
}

static void check_region_line(struct context_reader *reader,
			      const struct saved_region *region)
{
	const struct saved_region *last = last_region(reader);
	struct reader *in = &reader->in;

	if (in->status != PHILOX_OK)
		return;
	if (!*region->name)
		reader_refuse(in, "%s", "a region without a name");
	if (last && strcmp(last->name, region->name) >= 0)
		reader_refuse(in, "region '%s' comes twice or not in order",
			      region->name);
	if (region->generator != SAVE_NO_GENERATOR &&
	    region->generator >= reader->saved->n_generators)
		reader_refuse(in, "there is no generator %u",
			      region->generator);
}

static void read_region(struct context_reader *reader)
{
	struct reader *in = &reader->in;
	struct saved *saved = reader->saved;
	struct saved_region region = {.line = in->line,
				      .axis = saved->n_axes,
				      .op = saved->n_ops,
				      .ticket = saved->n_tickets};

	check_region_complete(reader);
	read_region_words(reader, &region);
	check_region_line(reader, &region);
	reader_end_line(in);
	if (in->status == PHILOX_OK)
		region.key = hash_text(region.name, strlen(region.name));
	if (!reader_put(in, &saved->regions, &saved->n_regions, &region,
			sizeof(region)))
		free(region.name);
}

/* The region that a line belongs to; NULL if something is wrong. */
static struct saved_region *current_region(struct context_reader *reader)
{
	struct saved_region *last = last_region(reader);

	if (last && last->alive)
		return last;
	reader_refuse(&reader->in, "%s", "there is no region for it above");
	return NULL;
}

static void check_differs(struct context_reader *reader,
			  const struct saved_region *region, const char *name)
{
	const struct saved *saved = reader->saved;
	struct reader *in = &reader->in;
	const char *last = NULL;

	if (in->status != PHILOX_OK)
		return;
	if (region->n_axes)
		last = saved->axes[saved->n_axes - 1];
	if (region->n_ops || region->issued_serial)
		reader_refuse(in, "%s", "an axis after an op");
	if (region->n_axes == PHILOX_MESH_AXES)
		reader_refuse(in, "more than %d axes", PHILOX_MESH_AXES);
	if (region->flags & PHILOX_REGION_SHARED)
		reader_refuse(in, "region '%s' is shared", region->name);
	if (!*name || (last && strcmp(last, name) >= 0))
		reader_refuse(in, "axis '%s' comes twice or not in order",
			      name);
	if (saved->mesh.n_axes && !mesh_find(&saved->mesh, name))
		reader_refuse(in, "there is no axis '%s'", name);
}

static void read_differs(struct context_reader *reader)
{
	struct saved_region *region = current_region(reader);
	struct reader *in = &reader->in;
	struct saved *saved = reader->saved;
	char *name;

	need_version(in, SAVE_VERSION_MESH, "axes");
	name = reader_name(in);
	check_differs(reader, region, name);
	reader_end_line(in);
	if (reader_put(in, &saved->axes, &saved->n_axes, &name, sizeof(name)))
		region->n_axes++;
	else
		free(name);
}

static void check_issued(struct reader *in, const struct saved_region *region,
			 uint64_t offset, uint64_t serial)
{
	if (offset % 4)
		reader_refuse(in, "offset %" PRIu64 " is not a multiple of 4",
			      offset);
	if (in->status != PHILOX_OK)
		return;
	if (region->flags & PHILOX_REGION_SHARED)
		reader_refuse(in, "region '%s' is shared", region->name);
	if (region->n_ops || region->issued_serial)
		reader_refuse(in, "%s",
			      "it belongs after the axes of a region");
	if (offset <= region->state.offset && serial <= region->serial)
		reader_refuse(in, "%s",
			      "neither is above what the region issues next");
}

static void read_issued(struct context_reader *reader)
{
	struct saved_region *region = current_region(reader);
	struct reader *in = &reader->in;
	struct saved_region read = {0};

	need_version(in, SAVE_VERSION_MESH, "lines 'issued'");
	fields_read(in, save_issued_fields, &read, 0);
	check_issued(in, region, read.issued, read.issued_serial);
	reader_end_line(in);
	if (in->status != PHILOX_OK)
		return;
	region->issued = read.issued;
	region->issued_serial = read.issued_serial;
}

static void read_op(struct context_reader *reader)
{
	struct saved_region *region = current_region(reader);
	struct reader *in = &reader->in;
	struct saved *saved = reader->saved;
	struct saved_op op = {0};

	if (region && region->n_tickets)
		reader_refuse(in, "%s", "an op after a ticket");
	fields_read(in, save_op_fields, &op, 0);
	if (region && op.calls > CALLS_MAX - region->calls)
		reader_refuse(in, "more than %" PRIu64 " calls in region '%s'",
			      CALLS_MAX, region->name);
	if (op.advance % 4)
		reader_refuse(in, "advance %" PRIu64 " is not a multiple of 4",
			      op.advance);
	reader_end_line(in);
	if (!reader_put(in, &saved->ops, &saved->n_ops, &op, sizeof(op))) {
		free(op.name);
		return;
	}
	region->n_ops++;
	region->calls += op.calls;
}

static void check_serial(struct context_reader *reader,
			 const struct saved_region *region, uint64_t serial)
{
	const struct saved_ticket *tickets = reader->saved->tickets;
	struct reader *in = &reader->in;

	if (serial >= region->serial)
		reader_refuse(in,
			      "ticket %" PRIu64
			      " is not below the next serial, %" PRIu64,
			      serial, region->serial);
	if (region->n_tickets &&
	    tickets[region->ticket + region->n_tickets - 1].serial >= serial)
		reader_refuse(in,
			      "ticket %" PRIu64 " comes twice or not in order",
			      serial);
}

static void read_readers(struct reader *in, struct saved_ticket *ticket)
{
	ticket->readers = (uint32_t)reader_decimal(in, 1, UINT32_MAX);
	if (reader_accept(in, " pass"))
		ticket->consuming = LEDGER_CONSUME;
	else if (reader_accept(in, " launch"))
		ticket->consuming = LEDGER_CLAIM;
}

/* The words that follow a ticket in the text of a rank. */
static void read_passes(struct reader *in, struct saved_ticket *ticket)
{
	if (reader_accept(in, " open")) {
		ticket->phase = LEDGER_FORWARD_OPEN;
		return;
	}
	if (reader_accept(in, " done")) {
		ticket->phase = LEDGER_DONE;
		reader_expect(in, " readers ");
		read_readers(in, ticket);
	} else if (reader_accept(in, " readers ")) {
		read_readers(in, ticket);
	}
}

static void read_ticket(struct context_reader *reader)
{
	struct saved_region *region = current_region(reader);
	struct reader *in = &reader->in;
	struct saved *saved = reader->saved;
	struct saved_ticket ticket = {.phase = LEDGER_PENDING};

	if (region && !region->n_ops)
		reader_refuse(in, "%s", "a ticket of a region without ops");
	fields_read(in, save_ticket_fields, &ticket, 0);
	if (region)
		check_serial(reader, region, ticket.serial);
	if (ticket.iterations > 1) {
		need_version(in, SAVE_VERSION_LOOPS, "iterations");
		reader->looped = 1;
	}
	if (reader->rank)
		read_passes(in, &ticket);
	reader_end_line(in);
	if (reader_put(in, &saved->tickets, &saved->n_tickets, &ticket,
		       sizeof(ticket)))
		region->n_tickets++;
}

/* --- tables of rows ------------------------------------------------------- */

/* The table that a row belongs to; NULL before the first. */
static struct saved_table *current_table(const struct context_reader *reader)
{
	const size_t n = reader->saved->n_tables;

	return n ? &reader->saved->tables[n - 1] : NULL;
}

static void check_table_complete(struct context_reader *reader)
{
	const struct saved_table *last = current_table(reader);

	if (last && !reader->rank && last->n_rows < last->count)
		reader_refuse(&reader->in,
			      "rows '%s' above has %zu row%s, not %" PRIu64,
			      last->name, last->n_rows, status_s(last->n_rows),
			      last->count);
}

static void check_table(struct context_reader *reader,
			const struct saved_table *table)
{
	const struct saved_table *last = current_table(reader);
	struct reader *in = &reader->in;

	if (in->status != PHILOX_OK)
		return;
	if (!*table->name)
		reader_refuse(in, "%s", "rows without a name");
	if (last && strcmp(last->name, table->name) >= 0)
		reader_refuse(in, "rows '%s' come twice or not in order",
			      table->name);
	if (table->generator >= reader->saved->n_generators)
		reader_refuse(in, "there is no generator %u", table->generator);
}

static void read_table(struct context_reader *reader)
{
	struct reader *in = &reader->in;
	struct saved *saved = reader->saved;
	struct saved_table table = {.row = saved->n_rows};

	check_region_complete(reader);
	need_version(in, SAVE_VERSION_ROWS, "rows");
	check_table_complete(reader);
	fields_read(in, table_fields, &table, 0);
	check_table(reader, &table);
	reader_end_line(in);
	if (!reader_put(in, &saved->tables, &saved->n_tables, &table,
			sizeof(table)))
		free(table.name);
}

static void read_row(struct context_reader *reader)
{
	struct saved_table *table = current_table(reader);
	struct reader *in = &reader->in;
	struct saved *saved = reader->saved;
	struct philox_state state;

	if (!table || reader->rank || table->n_rows == table->count)
		reader_refuse(in, "%s", "a row too many");
	state = reader_state(in);
	reader_end_line(in);
	if (reader_put(in, &saved->rows, &saved->n_rows, &state, sizeof(state)))
		table->n_rows++;
}

/* --- data ----------------------------------------------------------------- */

static void check_data_line(struct reader *in, const struct saved *saved,
			    const struct saved_data *data)
{
	if (in->status != PHILOX_OK)
		return;
	if (!*data->name)
		reader_refuse(in, "%s", "data without a name");
	if (saved->n_data &&
	    strcmp(saved->data[saved->n_data - 1].name, data->name) >= 0)
		reader_refuse(in, "data '%s' come twice or not in order",
			      data->name);
	if (data->generator >= saved->n_generators)
		reader_refuse(in, "there is no generator %u", data->generator);
	else if (saved->generators[data->generator].flags)
		reader_refuse(in, "generator %u differs between ranks",
			      data->generator);
}

static void read_data(struct context_reader *reader)
{
	struct reader *in = &reader->in;
	struct saved *saved = reader->saved;
	struct saved_data data = {0};

	check_region_complete(reader);
	check_table_complete(reader);
	if (!reader->may_data)
		reader_refuse(in, "%s", "this version has no data");
	fields_read(in, save_data_fields, &data, 0);
	check_data_line(in, saved, &data);
	reader_end_line(in);
	if (!reader_put(in, &saved->data, &saved->n_data, &data, sizeof(data)))
		free(data.name);
}

/* --- outputs of runners --------------------------------------------------- */

static void check_outputs_line(struct reader *in, const struct saved *saved,
			       const struct saved_outputs *outputs)
{
	if (in->status != PHILOX_OK)
		return;
	if (!*outputs->runner)
		reader_refuse(in, "%s", "outputs of a runner without a name");
	if (saved->n_outputs &&
	    strcmp(saved->outputs[saved->n_outputs - 1].runner,
		   outputs->runner) >= 0)
		reader_refuse(in,
			      "outputs of runner '%s' come twice or not in "
			      "order",
			      outputs->runner);
}

static void read_outputs(struct context_reader *reader)
{
	struct reader *in = &reader->in;
	struct saved *saved = reader->saved;
	struct saved_outputs outputs = {0};

	check_region_complete(reader);
	check_table_complete(reader);
	need_version(in, SAVE_VERSION_KEPT, "outputs");
	if (reader->rank)
		reader_refuse(in, "%s", "the text of a rank has no outputs");
	fields_read(in, save_outputs_fields, &outputs, 0);
	check_outputs_line(in, saved, &outputs);
	reader_end_line(in);
	if (!reader_put(in, &saved->outputs, &saved->n_outputs, &outputs,
			sizeof(outputs)))
		free(outputs.runner);
}

/* --- the whole ------------------------------------------------------------ */

/* A text has the lowest version that has all its lines. */
static void check_version(struct context_reader *reader)
{
	const int tables = reader->saved->n_tables != 0;
	struct reader *in = &reader->in;

	if (reader->may_data && !reader->saved->n_data)
		reader_refuse(in, "a text without data is below version %d",
			      reader->rank ? SAVE_RANKS_DATA
					   : SAVE_VERSION_DATA);
	if (reader->may_differ && !reader->may_data &&
	    !has_differing(reader->saved))
		reader_refuse(in,
			      "a text without generators that differ is below "
			      "version %d",
			      reader->rank ? SAVE_RANKS_OWN : SAVE_VERSION_OWN);
	if (in->version == SAVE_VERSION_KEPT && !reader->rank &&
	    !reader->saved->n_outputs)
		reader_refuse(in, "a text without outputs is below version %d",
			      SAVE_VERSION_KEPT);
	if (in->version == SAVE_VERSION_LOOPS && !reader->looped)
		reader_refuse(in, "a text without iterations has version %d",
			      tables ? SAVE_VERSION_ROWS : 1);
	if (in->version == SAVE_VERSION_ROWS && !tables)
		reader_refuse(in, "a text without rows has version %d",
			      SAVE_VERSION_ROWS - 1);
}

static void read_end(struct context_reader *reader, const char *line)
{
	check_region_complete(reader);
	check_table_complete(reader);
	check_version(reader);
	reader_checksum(&reader->in, line);
}

static void read_lines(struct context_reader *reader)
{
	const struct saved *saved = reader->saved;
	struct reader *in = &reader->in;

	while (in->status == PHILOX_OK) {
		const char *line = in->at;

		if (!saved->n_generators && reader_accept(in, "axis ")) {
			save_read_axis(in, &reader->saved->mesh, 1);
		} else if (reader_accept(in, "outputs ")) {
			read_outputs(reader);
		} else if (reader_accept(in, "checksum ")) {
			read_end(reader, line);
			return;
		} else if (saved->n_outputs) {
			reader_expected(in, "outputs of a runner");
		} else if (reader_accept(in, "data ")) {
			read_data(reader);
		} else if (saved->n_data) {
			reader_expected(in, "data or outputs of a runner");
		} else if (reader_accept(in, "rows ")) {
			read_table(reader);
		} else if (reader_accept(in, "row ")) {
			read_row(reader);
		} else if (saved->n_tables) {
			reader_expected(in, "a row or a table of rows");
		} else if (!saved->n_regions &&
			   reader_accept(in, "generator ")) {
			read_generator(reader);
		} else if (reader_accept(in, "differs ")) {
			read_differs(reader);
		} else if (reader_accept(in, "issued ")) {
			read_issued(reader);
		} else if (reader_accept(in, "op ")) {
			read_op(reader);
		} else if (reader_accept(in, "ticket ")) {
			read_ticket(reader);
		} else if (reader_accept(in, "region ")) {
			read_region(reader);
		} else {
			reader_expected(in, "a known kind of line");
		}
	}
}

/* No context has two names with the same hash. */
static void check_keys(struct context_reader *reader)
{
	const struct saved_region *twins[2];
	struct reader *in = &reader->in;

	if (in->status == PHILOX_OK)
		in->status = saved_find_twins(reader->saved, twins);
	if (in->status != PHILOX_OK || !twins[0])
		return;
	in->line = twins[1]->line;
	reader_refuse(in,
		      "the names of regions '%s' and '%s' have the same hash",
		      twins[0]->name, twins[1]->name);
}

static void check_axes(struct context_reader *reader)
{
	struct reader *in = &reader->in;

	if (in->status == PHILOX_OK && !reader->rank &&
	    in->version == SAVE_VERSION_MESH && !has_axes(reader->saved))
		in->status = status_set(PHILOX_ERROR_INVALID,
					"line 1: a text without axes is "
					"below version %d",
					SAVE_VERSION_MESH);
}

static enum philox_status read_text(const char *text, size_t size, int rank,
				    struct saved *saved)
{
	struct context_reader reader = {
		.in = reader_start(text, size), .rank = rank, .saved = saved};

	saved_init(saved);
	read_version(&reader);
	read_lines(&reader);
	check_keys(&reader);
	check_axes(&reader);
	if (reader.in.status != PHILOX_OK)
		saved_finish(saved);
	return reader.in.status;
}

static const char *const starts[] = {SAVE_START, NULL};

const struct file_kind save_file = {starts, FILE_TEXT_MOST};

enum philox_status save_read(const char *text, size_t size, struct saved *saved)
{
	return read_text(text, size, 0, saved);
}

enum philox_status save_read_rank(const char *text, size_t size,
				  struct saved *saved)
{
	return read_text(text, size, 1, saved);
}

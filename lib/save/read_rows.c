/*
 * lib/save/read_rows.c - reading tables of rows: see Note [Saved context]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/rows/rows.h"
#include "lib/save/read.h"
#include "lib/save/read_rows.h"
#include "lib/text/lines.h"

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

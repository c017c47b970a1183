/*
 * graph/verify/verify_rows.c - tables of rows that an eager form draws from
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include "graph/verify/internal.h"
#include "lib/rows/rows.h"

enum philox_status verify_rows_touch(struct trial *trial,
				     struct philox_rows *rows,
				     philox_stream stream)
{
	struct philox_verify *verify = (struct philox_verify *)trial;
	const struct verify_memory memory = {
		.real = rows->table.states,
		.bytes = rows->table.count * sizeof(struct philox_state),
		.rows = rows};

	/* tables come after all other memory */
	for (size_t i = verify->n_memory; i-- && verify->memory[i].rows;)
		if (verify->memory[i].rows == rows)
			return PHILOX_OK;
	return verify_keep_on(verify, stream, &memory);
}

/* What the run made of a table is kept, and the table is as it was. */
enum philox_status verify_rows_undo(struct philox_verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++) {
		struct verify_memory *memory = &verify->memory[i];

		if (!memory->rows)
			continue;
		if (!memory->copies[verify->turn])
			status = verify_take(verify, verify->stream,
					     memory->bytes, 0,
					     &memory->copies[verify->turn]);
		if (status == PHILOX_OK)
			status = verify_copy(verify, verify->stream,
					     memory->copies[verify->turn],
					     memory->real, memory->bytes);
		if (status == PHILOX_OK)
			status = verify_copy(verify, verify->stream,
					     memory->real, memory->kept,
					     memory->bytes);
	}
	return status;
}

/* All that is possible is done. */
enum philox_status verify_rows_set(struct philox_verify *verify, int played)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; i < verify->n_memory; i++) {
		const struct verify_memory *memory = &verify->memory[i];
		const void *from = played ? memory->played : memory->kept;

		if (memory->rows && from)
			status = verify_first(
				status,
				verify_copy(verify, verify->stream,
					    memory->real, from, memory->bytes));
	}
	return status;
}

/* Tables that a run has drawn from are compared, too. */
enum philox_status verify_rows_add(struct philox_verify *verify)
{
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < verify->n_memory; i++) {
		const struct verify_memory *memory = &verify->memory[i];
		struct verify_item item = {.what = "the table of rows",
					   .origin = "",
					   .elements =
						   PHILOX_ELEMENTS(PHILOX_U64),
					   .bytes = memory->bytes,
					   .real = memory->real,
					   .copies = {memory->copies[0], NULL},
					   .rows = i + 1};

		if (!memory->rows)
			continue;
		item.name = memory->rows->name;
		status = verify_add(verify, &item);
	}
	return status;
}

/* Items of tables are told where their copies are; others have theirs. */
void verify_rows_place(struct philox_verify *verify)
{
	for (size_t i = 0; i < verify->n_items; i++) {
		struct verify_item *item = &verify->items[i];

		if (item->rows)
			item->copies[1] =
				verify->memory[item->rows - 1].copies[1];
	}
}

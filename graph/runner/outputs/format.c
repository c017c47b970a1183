/*
 * graph/runner/outputs/format.c - outputs as a file, written and read: see Note
 * [Saved outputs]
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/outputs/outputs.h"
#include "lib/text/text.h"

#define MOST        (UINT64_MAX / 2)
#define NAME_MOST   63 /* of runners, functions and labels */
#define TAG_MOST    31
#define ALIGN_LEAST 512
#define ALIGN_MOST  65536
#define PATH_MOST   (UINT64_MAX / 2)

#define NUMBER(type, text, member) \
	FIELD(NUMBER, struct type, member, text), .most = MOST
#define NAME(type, text, member) FIELD(NAME, struct type, member, text)

static const struct field runner_fields[] = {
	{NAME(outputs_file, NULL, runner), .name = "runner", .most = NAME_MOST},
	FIELDS_END};

const struct field outputs_block_fields[] = {
	{NUMBER(outputs_block, "bytes", bytes), .least = 1},
	{FIELD(NUMBER, struct outputs_block, alignment, "alignment"),
	 .least = ALIGN_LEAST, .most = ALIGN_MOST},
	{NAME(outputs_block, "tag", tag), .most = TAG_MOST},
	{NUMBER(outputs_block, "from", first)},
	{NUMBER(outputs_block, "saved", saved)},
	FIELDS_END};

const struct field outputs_item_fields[] = {
	{NAME(outputs_item, NULL, function), .name = "function",
	 .most = NAME_MOST},
	{NAME(outputs_item, NULL, output), .name = "output"},
	{NAME(outputs_item, "label", label), .most = NAME_MOST,
	 .spoken = "the label is"},
	{NUMBER(outputs_item, "block", block), .none = "none"},
	{NUMBER(outputs_item, "at", at), .spoken = "its place in the block is"},
	{NUMBER(outputs_item, "bytes", bytes), .spoken = "bytes is"},
	{FIELD(NUMBER, struct outputs_item, elements, "elements"),
	 .spoken = "elements is"},
	{FIELD(NUMBER, struct outputs_item, path, "path"), .least = 1,
	 .most = PATH_MOST},
	{FIELD(HEX, struct outputs_item, digest, "digest"),
	 .spoken = "the digest of its bytes is"},
	FIELDS_END};

const struct field outputs_owed_fields[] = {
	{NAME(outputs_owed, NULL, region), .name = "region"},
	{FIELD(NUMBER, struct outputs_owed, serial, NULL), .name = "serial",
	 .least = 1, .most = MOST},
	{FIELD(NUMBER, struct outputs_owed, path, "path"), .least = 1,
	 .most = PATH_MOST},
	FIELDS_END};

enum philox_status outputs_no_room(void)
{
	return status_set(PHILOX_ERROR_MEMORY, "no memory for saved outputs");
}

void outputs_file_finish(struct outputs_file *file)
{
	for (size_t i = 0; i < file->n_blocks; i++)
		fields_free(outputs_block_fields, &file->blocks[i]);
	for (size_t i = 0; !file->borrowed && i < file->n_items; i++) {
		fields_free(outputs_item_fields, &file->items[i]);
		free(file->items[i].region);
	}
	for (size_t i = 0; !file->borrowed && i < file->n_owed; i++)
		fields_free(outputs_owed_fields, &file->owed[i]);
	if (!file->borrowed)
		free(file->runner);
	free(file->blocks);
	free(file->items);
	free(file->owed);
	*file = (struct outputs_file){0};
}

int outputs_owed_order(const struct outputs_owed *one,
		       const struct outputs_owed *other)
{
	const int order = strcmp(one->region, other->region);

	if (one->path != other->path)
		return one->path < other->path ? -1 : 1;
	if (order)
		return order;
	return (one->serial > other->serial) - (one->serial < other->serial);
}

/* --- writing -------------------------------------------------------------- */

static void write_item(FILE *out, const struct outputs_item *item)
{
	fputs("output", out);
	fields_write(out, outputs_item_fields, item, 0);
	if (item->region) {
		fputs(" tie ", out);
		text_write_name(out, item->region);
		fprintf(out, " %" PRIu64, item->serial);
	}
	fputc('\n', out);
}

static void write_file(FILE *out, const struct outputs_file *file,
		       const char *data)
{
	fprintf(out, OUTPUTS_START "%d\n", OUTPUTS_VERSION);
	fields_write_line(out, "runner", runner_fields, file);
	for (size_t i = 0; i < file->n_blocks; i++)
		fields_write_line(out, "block", outputs_block_fields,
				  &file->blocks[i]);
	for (size_t i = 0; i < file->n_items; i++)
		write_item(out, &file->items[i]);
	for (size_t i = 0; i < file->n_owed; i++)
		fields_write_line(out, "owed", outputs_owed_fields,
				  &file->owed[i]);
	fprintf(out, "data %zu\n", file->data);
	fwrite(data, 1, file->data, out);
	fputc('\n', out);
}

/* The bytes of an output, of blocks whose data is known. */
static uint64_t digest_of(const struct outputs_file *file,
			  const struct outputs_item *item)
{
	const struct outputs_block *block;

	if (item->block == OUTPUTS_NO_BLOCK)
		return HASH_OF_NOTHING;
	block = &file->blocks[item->block];
	return hash_text(block->data + (item->at - block->first), item->bytes);
}

static void place_data(struct outputs_file *file, const char *data)
{
	for (size_t i = 0; i < file->n_blocks; i++) {
		file->blocks[i].data = data;
		data += file->blocks[i].saved;
	}
}

/* The text before its last line has the checksum of that. */
enum philox_status outputs_file_write(struct outputs_file *file,
				      const char *data, struct text *text)
{
	place_data(file, data);
	for (size_t i = 0; i < file->n_items; i++)
		file->items[i].digest = digest_of(file, &file->items[i]);
	if (text_begin(text)) {
		write_file(text->out, file, data);
		fflush(text->out);
		if (!ferror(text->out))
			file->checksum = hash_text(text->bytes, text->size);
	}
	return text_end(text) ? PHILOX_OK : outputs_no_room();
}

/* --- reading -------------------------------------------------------------- */

/* What the outputs of a block take of it. */
struct span {
	uint64_t first, end;
	int there;
};

struct outputs_reader {
	struct reader in;
	struct outputs_file *file;
	struct span *spans; /* of the blocks; as many */
	size_t n_spans;
	uint64_t blocks, paths; /* named so far */
};

static void read_block(struct outputs_reader *reader)
{
	struct reader *in = &reader->in;
	struct outputs_file *file = reader->file;
	struct outputs_block block = {0};
	const struct span none = {0};

	if (file->n_items)
		reader_refuse(in, "%s", "a block after an output");
	fields_read(in, outputs_block_fields, &block, 0);
	if (in->status == PHILOX_OK &&
	    (block.alignment & (block.alignment - 1)))
		reader_refuse(in, "alignment %" PRIu64 " is no power of two",
			      block.alignment);
	if (in->status == PHILOX_OK &&
	    (block.first > block.bytes ||
	     block.saved > block.bytes - block.first))
		reader_refuse(in, "%s", "more is saved than the block has");
	reader_end_line(in);
	reader_put(in, &reader->spans, &reader->n_spans, &none, sizeof(none));
	if (!reader_put(in, &file->blocks, &file->n_blocks, &block,
			sizeof(block)))
		fields_free(outputs_block_fields, &block);
}

static void check_place(struct outputs_reader *reader,
			const struct outputs_item *item)
{
	struct reader *in = &reader->in;
	const struct outputs_block *block;

	if (in->status != PHILOX_OK)
		return;
	if (item->path > reader->paths + 1)
		reader_refuse(in, "path %" PRIu64 " has to come first",
			      reader->paths + 1);
	if (item->block == OUTPUTS_NO_BLOCK) {
		if (item->at)
			reader_refuse(in, "%s",
				      "a place in a block that it is not in");
		return;
	}
	if (item->block >= reader->file->n_blocks) {
		reader_refuse(in, "there is no block %" PRIu64, item->block);
		return;
	}
	if (item->block > reader->blocks)
		reader_refuse(in, "block %" PRIu64 " has to come first",
			      reader->blocks);
	block = &reader->file->blocks[item->block];
	if (item->at > block->bytes || item->bytes > block->bytes - item->at)
		reader_refuse(in, "it ends after its block %" PRIu64,
			      item->block);
}

static void add_to_span(struct outputs_reader *reader,
			const struct outputs_item *item)
{
	const uint64_t end = item->at + item->bytes;
	struct span *span;

	if (item->path > reader->paths)
		reader->paths = item->path;
	if (item->block == OUTPUTS_NO_BLOCK)
		return;
	if (item->block == reader->blocks)
		reader->blocks++;
	span = &reader->spans[item->block];
	if (!span->there || item->at < span->first)
		span->first = item->at;
	if (!span->there || end > span->end)
		span->end = end;
	span->there = 1;
}

static void free_item(struct outputs_item *item)
{
	fields_free(outputs_item_fields, item);
	free(item->region);
}

static void read_item(struct outputs_reader *reader)
{
	struct reader *in = &reader->in;
	struct outputs_file *file = reader->file;
	struct outputs_item item = {0};

	if (file->n_owed)
		reader_refuse(in, "%s", "an output after a ticket");
	fields_read(in, outputs_item_fields, &item, 0);
	check_place(reader, &item);
	if (reader_accept(in, " tie ")) {
		item.region = reader_name(in);
		reader_expect(in, " ");
		item.serial = reader_decimal(in, 1, MOST);
	}
	reader_end_line(in);
	if (reader_put(in, &file->items, &file->n_items, &item, sizeof(item)))
		add_to_span(reader, &item);
	else
		free_item(&item);
}

static void read_owed(struct outputs_reader *reader)
{
	struct reader *in = &reader->in;
	struct outputs_file *file = reader->file;
	struct outputs_owed owed = {0};

	fields_read(in, outputs_owed_fields, &owed, 0);
	if (in->status == PHILOX_OK && owed.path > reader->paths)
		reader_refuse(in, "no output is of path %" PRIu64, owed.path);
	if (in->status == PHILOX_OK && file->n_owed &&
	    outputs_owed_order(&file->owed[file->n_owed - 1], &owed) >= 0)
		reader_refuse(in,
			      "ticket %" PRIu64 " of region '%s' comes twice "
			      "or not in order",
			      owed.serial, owed.region);
	reader_end_line(in);
	if (!reader_put(in, &file->owed, &file->n_owed, &owed, sizeof(owed)))
		fields_free(outputs_owed_fields, &owed);
}

/* --- the data ------------------------------------------------------------- */

static void check_spans(struct outputs_reader *reader)
{
	struct reader *in = &reader->in;

	for (size_t i = 0; in->status == PHILOX_OK && i < reader->n_spans;
	     i++) {
		const struct outputs_block *block = &reader->file->blocks[i];
		const struct span *span = &reader->spans[i];

		if (!span->there)
			reader_refuse(in, "no output is in block %zu", i);
		else if (block->first != span->first ||
			 block->saved != span->end - span->first)
			reader_refuse(in,
				      "the outputs in block %zu are from "
				      "%" PRIu64 " to %" PRIu64 ", and not "
				      "what is saved of it",
				      i, span->first, span->end);
	}
}

/* Not above what is there: the sum of the blocks may be anything. */
static int data_is(const struct outputs_file *file, uint64_t bytes)
{
	for (size_t i = 0; i < file->n_blocks; i++) {
		if (file->blocks[i].saved > bytes)
			return 0;
		bytes -= file->blocks[i].saved;
	}
	return !bytes;
}

static void check_digests(struct outputs_reader *reader)
{
	const struct outputs_file *file = reader->file;
	struct reader *in = &reader->in;

	for (size_t i = 0; in->status == PHILOX_OK && i < file->n_items; i++)
		if (digest_of(file, &file->items[i]) != file->items[i].digest)
			reader_refuse(in,
				      "the digest of output '%s' of function "
				      "'%s' is of other bytes",
				      file->items[i].output,
				      file->items[i].function);
}

static void read_data(struct outputs_reader *reader)
{
	struct reader *in = &reader->in;
	struct outputs_file *file = reader->file;
	uint64_t bytes = reader_decimal(in, 0, MOST);
	size_t left;

	check_spans(reader);
	if (in->status == PHILOX_OK && !data_is(file, bytes))
		reader_refuse(in, "%s", "the blocks have another size in all");
	reader_end_line(in);
	if (in->status != PHILOX_OK)
		return;
	left = (size_t)(in->end - in->at);
	if (left < bytes) {
		reader_refuse(in, "there %s %zu byte%s of data, not %" PRIu64,
			      status_is(left), left, status_s(left), bytes);
		return;
	}
	file->data = (size_t)bytes;
	place_data(file, in->at);
	in->at += bytes;
	reader_end_line(in);
}

static void read_last(struct outputs_reader *reader)
{
	const char *line = reader->in.at;
	struct reader ahead;

	reader_expect(&reader->in, "checksum ");
	ahead = reader->in;
	if (ahead.status == PHILOX_OK)
		reader->file->checksum = reader_hex(&ahead);
	reader_checksum(&reader->in, line);
	check_digests(reader);
}

static void read_lines(struct outputs_reader *reader)
{
	struct reader *in = &reader->in;

	reader_version(in, OUTPUTS_START, "file of outputs", OUTPUTS_VERSION);
	reader_expect(in, "runner ");
	fields_read(in, runner_fields, reader->file, 0);
	reader_end_line(in);
	while (in->status == PHILOX_OK) {
		if (reader_accept(in, "block ")) {
			read_block(reader);
		} else if (reader_accept(in, "output ")) {
			read_item(reader);
		} else if (reader_accept(in, "owed ")) {
			read_owed(reader);
		} else if (reader_accept(in, "data ")) {
			read_data(reader);
			read_last(reader);
			return;
		} else {
			reader_expected(in, "a known kind of line");
		}
	}
}

enum philox_status outputs_file_read(const char *text, size_t size,
				     struct outputs_file *file)
{
	struct outputs_reader reader = {.in = reader_start(text, size),
					.file = file};

	*file = (struct outputs_file){0};
	read_lines(&reader);
	free(reader.spans);
	if (reader.in.status != PHILOX_OK)
		outputs_file_finish(file);
	return reader.in.status;
}

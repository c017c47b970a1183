/*
 * lib/ranks/set.c - see Note [Set of texts]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/mesh/mesh.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"
#include "lib/text/text.h"

/* --- writing a manifest --------------------------------------------------- */

const struct field set_end_fields[] = {
	{FIELD(HEX, struct set_end, checksum, "checksum")},
	{FIELD(NUMBER, struct set_end, bytes, "bytes")},
	FIELDS_END};
static const struct field text_fields[] = {
	{FIELD(HEX, struct set_end, checksum, "checksum")},
	{FIELD(NUMBER, struct set_end, bytes, "bytes")},
	{FIELD(HEX, struct set_end, contents, "contents")},
	FIELDS_END};

static const struct field *fields_of(const struct set *set)
{
	return set->version < SET_VERSION_CONTENTS ? set_end_fields
						   : text_fields;
}

static void write_set(FILE *out, const struct set *set)
{
	fprintf(out, SET_START "%" PRIu64 "\n", set->version);
	save_write_mesh(out, &set->mesh, 0);
	for (size_t i = 0; i < set->n; i++) {
		fprintf(out, "text %zu", i);
		fields_write_line(out, "", fields_of(set), &set->ends[i]);
	}
}

enum philox_status set_write(const struct set *set, struct text *text)
{
	if (text_begin(text))
		write_set(text->out, set);
	if (text_end(text))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "no memory for a manifest of %zu texts", set->n);
}

/* --- reading a manifest --------------------------------------------------- */

static void read_set_text(struct reader *reader, struct set *set)
{
	uint64_t number = reader_decimal(reader, 0, UINT64_MAX - 9);
	struct set_end end = {.contents = 0};

	if (number != set->n)
		reader_refuse(reader, "text %zu has to come first", set->n);
	if (set->n == mesh_world(&set->mesh))
		reader_refuse(reader,
			      "a text too many: the mesh has %zu rank%s",
			      set->n, status_s(set->n));
	fields_read(reader, fields_of(set), &end, 0);
	reader_end_line(reader);
	reader_put(reader, &set->ends, &set->n, &end, sizeof(end));
}

static void check_set_complete(struct reader *reader, const struct set *set)
{
	uint64_t world = mesh_world(&set->mesh);

	if (reader->status == PHILOX_OK && set->n < world)
		reader_refuse(reader,
			      "%zu text%s above, the mesh has %" PRIu64
			      " rank%s",
			      set->n, status_s(set->n), world, status_s(world));
}

static void read_set_lines(struct reader *reader, struct set *set)
{
	while (reader->status == PHILOX_OK) {
		const char *line = reader->at;

		if (!set->n && reader_accept(reader, "axis ")) {
			save_read_axis(reader, &set->mesh, 0);
		} else if (reader_accept(reader, "text ")) {
			read_set_text(reader, set);
		} else if (reader_accept(reader, "checksum ")) {
			check_set_complete(reader, set);
			reader_checksum(reader, line);
			return;
		} else {
			reader_expected(reader, "an axis, a text or the end");
		}
	}
}

enum philox_status set_read(const char *text, size_t size, struct set *set)
{
	struct reader reader = reader_start(text, size);

	memset(set, 0, sizeof(*set));
	set->mesh.size = sizeof(set->mesh);
	reader_version(&reader, SET_START, "set", SET_VERSION);
	set->version = reader.version;
	read_set_lines(&reader, set);
	if (reader.status != PHILOX_OK)
		set_finish(set);
	return reader.status;
}

void set_finish(struct set *set)
{
	mesh_finish(&set->mesh);
	free(set->ends);
	set->ends = NULL;
	set->n = 0;
}

/* --- the texts ------------------------------------------------------------ */

char *set_path(const char *path, uint64_t rank)
{
	size_t room = strlen(path) + 24;
	char *made = malloc(room);

	if (made)
		snprintf(made, room, "%s.%" PRIu64, path, rank);
	return made;
}

/* What the last line of a text that was read says. */
static struct set_end end_of(const char *text, size_t size)
{
	size_t above = size - 1;

	while (text[above - 1] != '\n')
		above--;
	return (struct set_end){.checksum = hash_text(text, above),
				.bytes = above};
}

/* The first line from here on that begins with a word; the end: there is none. */
static const char *line_that_begins(const char *at, const char *end,
				    const char *word)
{
	const size_t length = strlen(word);

	while (at < end) {
		const size_t left = (size_t)(end - at);
		const char *feed = memchr(at, '\n', left);

		if (left >= length && !memcmp(at, word, length))
			return at;
		at = feed ? feed + 1 : end;
	}
	return end;
}

/* Of a text that was read: it has a generator, and no name has a line feed. */
static uint64_t contents_of(const char *text, const struct set_end *its)
{
	const char *end = text + its->bytes;
	const char *first = line_that_begins(text, end, "generator ");

	end = line_that_begins(first, end, "outputs ");
	return hash_text(first, (size_t)(end - first));
}

static enum philox_status check_end(const struct set_end *end,
				    const struct set_end *expected)
{
	if (!expected || (end->checksum == expected->checksum &&
			  end->bytes == expected->bytes))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "not the text that the manifest names: it ends with "
			  "checksum %016" PRIx64 " bytes %" PRIu64
			  ", not with checksum %016" PRIx64 " bytes %" PRIu64,
			  end->checksum, end->bytes, expected->checksum,
			  expected->bytes);
}

static enum philox_status check_place(const struct saved *saved,
				      const struct philox_mesh *mesh,
				      uint64_t rank)
{
	struct difference found;

	if (differ_mesh(&saved->mesh, mesh, DIFFER_SHAPE, &found)) {
		const struct difference_words words = difference_words(&found);

		return status_set(PHILOX_ERROR_MISMATCH,
				  "%s: %s %s in the text, %s in the set",
				  words.place, words.what, words.values[0],
				  words.values[1]);
	}
	if (mesh_rank(&saved->mesh) != rank)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "the text of rank %" PRIu64
				  ", not of rank %" PRIu64,
				  mesh_rank(&saved->mesh), rank);
	return PHILOX_OK;
}

static enum philox_status read_text_of(const char *text, size_t size,
				       uint64_t rank,
				       const struct philox_mesh *mesh,
				       const struct set_end *expected,
				       struct saved *saved, struct set_end *end)
{
	enum philox_status status = save_read(text, size, saved);
	struct set_end found;

	if (status != PHILOX_OK)
		return status;
	found = end_of(text, size);
	status = check_end(&found, expected);
	if (status == PHILOX_OK)
		status = check_place(saved, mesh, rank);
	if (status != PHILOX_OK) {
		saved_finish(saved);
		return status;
	}
	if (end) {
		*end = found;
		end->contents = contents_of(text, &found);
	}
	return status;
}

static enum philox_status read_file_of(const char *path, uint64_t rank,
				       const struct philox_mesh *mesh,
				       const struct set_end *expected,
				       struct saved *saved, struct set_end *end)
{
	struct text text;
	enum philox_status status = file_read(path, &save_file, &text);

	if (status != PHILOX_OK)
		return status; /* which names the file */
	status = read_text_of(text.bytes, text.size, rank, mesh, expected,
			      saved, end);
	return text_done(&text, path, status);
}

enum philox_status set_read_text(const char *path, uint64_t rank,
				 const struct philox_mesh *mesh,
				 const struct set_end *expected,
				 struct saved *saved, struct set_end *end)
{
	char *of_rank = set_path(path, rank);
	enum philox_status status;

	if (!of_rank)
		return status_set(PHILOX_ERROR_MEMORY, "no memory for a path");
	status = read_file_of(of_rank, rank, mesh, expected, saved, end);
	free(of_rank);
	return status;
}

/* --- sealing -------------------------------------------------------------- */

/* The texts come one by one: what a mesh announces may not be there. */
static enum philox_status add_end(struct set *set, const struct set_end *end)
{
	struct set_end *added =
		array_grow(&set->ends, set->n, 1, sizeof(*added));

	if (!added)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a manifest of %zu texts",
				  set->n);
	*added = *end;
	set->n++;
	return PHILOX_OK;
}

struct draft draft_of(const struct philox_mesh *mesh, const char *path)
{
	return (struct draft){.set = {.mesh = *mesh, .version = SET_VERSION},
			      .path = path};
}

enum philox_status draft_add(struct draft *draft, const struct saved *saved,
			     const struct set_end *end)
{
	enum philox_status status =
		set_steps_add(&draft->steps, saved, draft->path);

	return status == PHILOX_OK ? add_end(&draft->set, end) : status;
}

enum philox_status draft_add_text(struct draft *draft, const char *text,
				  size_t size)
{
	struct saved saved;
	struct set_end end;
	enum philox_status status = read_text_of(
		text, size, draft->set.n, &draft->set.mesh, NULL, &saved, &end);

	if (status != PHILOX_OK)
		return status_prefix(status, "'%s.%zu': ", draft->path,
				     draft->set.n);
	status = draft_add(draft, &saved, &end);
	saved_finish(&saved);
	return status;
}

void draft_finish(struct draft *draft)
{
	set_steps_finish(&draft->steps);
	free(draft->set.ends);
}

static enum philox_status add_files(struct draft *draft)
{
	const uint64_t world = mesh_world(&draft->set.mesh);
	enum philox_status status = PHILOX_OK;

	while (status == PHILOX_OK && draft->set.n < world) {
		struct set_end end;
		struct saved saved;

		status = set_read_text(draft->path, draft->set.n,
				       &draft->set.mesh, NULL, &saved, &end);
		if (status != PHILOX_OK)
			break;
		status = draft_add(draft, &saved, &end);
		saved_finish(&saved);
	}
	return status;
}

enum philox_status set_seal(const struct philox_mesh *mesh, const char *path)
{
	struct draft draft = draft_of(mesh, path);
	struct text text;
	enum philox_status status = file_check(path);

	if (status == PHILOX_OK)
		status = add_files(&draft);
	if (status == PHILOX_OK)
		status = set_write(&draft.set, &text);
	if (status == PHILOX_OK)
		status = text_put(&text, (struct text_target){.path = path});
	draft_finish(&draft);
	return status;
}

/*
 * tools/common/runner_recordings.c - reading the lines of recordings
 */
#include <inttypes.h>
#include <string.h>
#include "tools/common/runner_lines.h"

static const char *const copies[] = {"static", "copied", NULL};
static const char *const makers[] = {"call", "prepare", NULL};

/* --- where inputs are from -------------------------------------------------- */

static void read_source(struct runner_reader *at,
			const struct text_recording *recording)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_source source = {.function = 0};

	reader_expect(reader, "from ");
	if (reader_accept(reader, "memory ")) {
		source.id = reader_decimal(reader, 0, UINT64_MAX);
	} else {
		reader_expect(reader, "function ");
		source.function = reader_decimal(reader, 1, UINT64_MAX);
		source.output = lines_count(reader, "output");
		source.recording = lines_count(reader, "recording");
	}
	if (source.recording >= recording->number)
		reader_refuse(reader,
			      "recording %" PRIu64 " is not older than %" PRIu64
			      ", which reads what it gave",
			      source.recording, recording->number);
	reader_expect(reader, " ");
	source.copied = (int)lines_choice(reader, copies);
	reader_end_line(reader);
	text->sources = reader_grow(reader, text->sources, text->n_sources,
				    sizeof(source));
	if (reader->status == PHILOX_OK)
		text->sources[text->n_sources++] = source;
}

/* --- ranges ------------------------------------------------------------------ */

static void check_range(struct runner_reader *at,
			const struct text_range *range, size_t first)
{
	const struct runner_text *text = at->text;
	const struct text_range *last =
		text->n_ranges > first ? &text->ranges[text->n_ranges - 1]
				       : NULL;

	if (range->offset % POOL_UNIT || range->bytes % POOL_UNIT ||
	    !range->bytes || range->offset > SNAPSHOT_MOST ||
	    range->bytes > SNAPSHOT_MOST - range->offset)
		reader_refuse(at->reader,
			      "offset %" PRIu64 " and bytes %" PRIu64
			      " are not whole units of %d bytes",
			      range->offset, range->bytes, POOL_UNIT);
	else if (last && (range->segment < last->segment ||
			  (range->segment == last->segment &&
			   range->offset <= last->offset + last->bytes)))
		reader_refuse(at->reader, "%s",
			      "a range that touches the one before, or is out "
			      "of order");
}

static void read_text_range(struct runner_reader *at,
			    struct text_recording *recording, uint64_t *left)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	struct text_range range;

	reader_expect(reader, "range");
	range.segment = lines_count(reader, "segment");
	range.offset = lines_count(reader, "offset");
	range.bytes = lines_count(reader, "bytes");
	check_range(at, &range, recording->ranges.first);
	if (range.bytes > *left)
		reader_refuse(reader,
			      "its ranges have more than %" PRIu64
			      " bytes, as it says",
			      recording->writes);
	*left -= range.bytes;
	reader_end_line(reader);
	text->ranges = reader_grow(reader, text->ranges, text->n_ranges,
				   sizeof(range));
	if (reader->status == PHILOX_OK)
		text->ranges[text->n_ranges++] = range;
}

/* --- recordings -------------------------------------------------------------- */

static void read_recording_line(struct runner_reader *at,
				const struct text_function *function,
				struct text_recording *recording)
{
	struct reader *reader = at->reader;
	uint64_t key;

	reader_expect(reader, "recording ");
	recording->number = reader_decimal(reader, 1, UINT64_MAX);
	if (recording->number > at->text->made)
		reader_refuse(reader,
			      "recording %" PRIu64 ", but %" PRIu64
			      " were made",
			      recording->number, at->text->made);
	key = lines_count(reader, "key");
	if (reader->status == PHILOX_OK && (!key || key > function->keys.n))
		reader_refuse(reader, "the function has no key %" PRIu64, key);
	recording->key = (size_t)(key - 1);
	recording->function = at->text->n_functions;
	recording->replays = lines_count(reader, "replays");
	reader_expect(reader, " by ");
	recording->prepared = (int)lines_choice(reader, makers);
	recording->bytes = lines_count(reader, "bytes");
	recording->passes = lines_count(reader, "passes");
	recording->writes = lines_count(reader, "writes");
	recording->ranges.n = (size_t)lines_count(reader, "ranges");
	reader_end_line(reader);
}

static void read_recording(struct runner_reader *at,
			   const struct text_function *function,
			   struct text_recording *recording)
{
	struct reader *reader = at->reader;
	uint64_t left;

	read_recording_line(at, function, recording);
	recording->sources =
		(struct text_part_of){at->text->n_sources, function->inputs.n};
	recording->ranges.first = at->text->n_ranges;
	left = recording->writes;
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < recording->sources.n; i++)
		read_source(at, recording);
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < recording->ranges.n; i++)
		read_text_range(at, recording, &left);
	if (left)
		reader_refuse(reader,
			      "its ranges have less than %" PRIu64
			      " bytes, as it says",
			      recording->writes);
}

void lines_recordings(struct runner_reader *at, struct text_function *function)
{
	struct reader *reader = at->reader;
	struct runner_text *text = at->text;
	uint64_t last = 0;

	function->recordings.first = text->n_recordings;
	for (size_t i = 0;
	     reader->status == PHILOX_OK && i < function->recordings.n; i++) {
		struct text_recording recording;

		memset(&recording, 0, sizeof(recording));
		read_recording(at, function, &recording);
		if (recording.number <= last)
			reader_refuse(reader,
				      "recording %" PRIu64
				      " comes twice or is out of order",
				      recording.number);
		last = recording.number;
		text->recordings =
			reader_grow(reader, text->recordings,
				    text->n_recordings, sizeof(recording));
		if (reader->status == PHILOX_OK)
			text->recordings[text->n_recordings++] = recording;
	}
}

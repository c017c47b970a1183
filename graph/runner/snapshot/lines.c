/*
 * graph/runner/snapshot/lines.c - writing the snapshot of a runner: see Note
 * [Runner snapshot]
 */
#include "graph/runner/snapshot/snapshot.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"

/* --- fields --------------------------------------------------------------- */

static const char *const modes[] = {"plain", "eager", "verify", NULL};
static const char *const there[] = {"there", "gone", NULL};
static const char *const copies[] = {"static", "copied", NULL};
static const char *const makers[] = {"call", "prepare", NULL};
static const char *const ties[] = {"untied", "tied", NULL};

#define NUMBER(type, text, field) FIELD(NUMBER, struct type, field, text)

const struct field text_runner_fields[] = {
	{FIELD(TEXT, struct runner_text, name, NULL), .name = "name"},
	{FIELD(CHOICE, struct runner_text, mode, "mode"), .words = modes},
	{NUMBER(runner_text, "calls", calls)},
	{NUMBER(runner_text, "made", made)},
	{NUMBER(runner_text, "functions", n_functions), .name = ""},
	{NUMBER(runner_text, "live", n_live), .name = ""},
	FIELDS_END};

#define PARTS(text, field) \
	NUMBER(text_function, text, field.n), .most = RUNNER_TEXT_PART_MAX

const struct field text_function_fields[] = {
	{FIELD(TEXT, struct text_function, name, NULL), .what = "name"},
	{FIELD(EITHER, struct text_function, destroyed, NULL), .words = there},
	{FIELD(CHOICE, struct text_function, mode, NULL),
	 .words = function_modes},
	{NUMBER(text_function, "flags", flags)},
	{PARTS("inputs", inputs)},
	{PARTS("outputs", outputs)},
	{PARTS("values", values)},
	{NUMBER(text_function, "keys", keys.n)},
	{NUMBER(text_function, "recordings", recordings.n)},
	FIELDS_END};

const struct text_line text_counts[TEXT_COUNTS] = {
	{"calls", count_calls},       {"bodies", count_bodies},
	{NULL, count_prepared},       {"misses", count_misses},
	{"verified", count_verified}, {"kept", count_kept}};

const struct field text_reason_fields[] = {
	{FIELD(TEXT, struct text_function, reason, NULL), .name = "reason"},
	FIELDS_END};

#define PART_NAME   FIELD(NAME, struct text_part, name, NULL), .name = "name"
#define PART_ORIGIN FIELD(NAME, struct text_part, origin, "origin")

static const struct field input_fields[] = {
	{PART_NAME},
	{FIELD(CHOICE, struct text_part, kind, NULL), .name = "kind",
	 .words = input_kinds},
	{FIELD(FLAGS, struct text_part, flags, "flags"), .words = input_flags},
	{NUMBER(text_part, "alignment", alignment)},
	{NUMBER(text_part, "elements", elements)},
	{PART_ORIGIN},
	FIELDS_END};

static const struct field output_fields[] = {
	{PART_NAME},
	{NUMBER(text_part, "elements", elements)},
	{PART_ORIGIN},
	FIELDS_END};

static const struct field value_fields[] = {
	{PART_NAME}, {NUMBER(text_part, "bytes", alignment)}, FIELDS_END};

const struct text_line text_parts[3] = {{"input", input_fields},
					{"output", output_fields},
					{"value", value_fields}};

const struct field text_key_fields[] = {
	{NUMBER(text_key, "calls", calls)},
	{NUMBER(text_key, "warm-ups", warmups), .name = "warmups"},
	{NUMBER(text_key, "dry", dry)},
	{FIELD(TIMES, struct text_key, wait, "wait")},
	{FIELD(TEXT, struct text_key, refused, "refused")},
	FIELDS_END};

/* Of a key that has one. */
const struct field text_label_fields[] = {
	{FIELD(TEXT, struct text_key, label, NULL), .name = "label"},
	FIELDS_END};

const struct field text_recording_fields[] = {
	{NUMBER(text_recording, NULL, number), .name = "number", .least = 1},
	{NUMBER(text_recording, "key", key)},
	{NUMBER(text_recording, "replays", replays)},
	{FIELD(EITHER, struct text_recording, prepared, "by"),
	 .name = "prepared", .words = makers},
	{NUMBER(text_recording, "bytes", bytes)},
	{NUMBER(text_recording, "passes", passes)},
	{NUMBER(text_recording, "writes", writes)},
	{NUMBER(text_recording, "ranges", ranges.n), .name = ""},
	FIELDS_END};

/* Of an input that was an output: after its function. */
const struct field text_source_fields[] = {
	{NUMBER(text_source, "output", output)},
	{NUMBER(text_source, "recording", recording)},
	FIELDS_END};

const struct field text_copied_fields[] = {
	{FIELD(EITHER, struct text_source, copied, NULL), .name = "copied",
	 .words = copies},
	FIELDS_END};

const struct field text_range_fields[] = {
	{NUMBER(text_range, "segment", segment)},
	{NUMBER(text_range, "offset", offset)},
	{NUMBER(text_range, "bytes", bytes)},
	FIELDS_END};

const struct field text_live_fields[] = {
	{NUMBER(text_output, "function", function)},
	{NUMBER(text_output, "output", output)},
	{NUMBER(text_output, "recording", recording)},
	{NUMBER(text_output, "block", block)},
	{NUMBER(text_output, "size", bytes), .name = "bytes"},
	{NUMBER(text_output, "call", call)},
	{FIELD(EITHER, struct text_output, tied, NULL), .name = "tied",
	 .words = ties},
	FIELDS_END};

/* Of an output that is tied. */
const struct field text_tie_fields[] = {
	{FIELD(NAME, struct text_output, region, NULL), .name = "region"},
	{NUMBER(text_output, "serial", serial), .least = 1},
	FIELDS_END};

const struct field text_ticket_fields[] = {
	{FIELD(NAME, struct text_ticket, region, NULL), .name = "region"},
	{NUMBER(text_ticket, "serial", serial), .least = 1},
	{NUMBER(text_ticket, "keeps", items.n), .name = "", .least = 1,
	 .most = RUNNER_TEXT_PART_MAX},
	{NUMBER(text_ticket, "bytes", bytes)},
	{NUMBER(text_ticket, "function", function), .may_lack = 1},
	{NUMBER(text_ticket, "recording", recording), .may_lack = 1},
	{NUMBER(text_ticket, "call", call), .may_lack = 1},
	FIELDS_END};

const struct field text_kept_fields[] = {
	{FIELD(TEXT, struct philox_kept_item, name, NULL), .name = "name"},
	{FIELD(TEXT, struct philox_kept_item, function, "function")},
	{NUMBER(philox_kept_item, "elements", elements)},
	{NUMBER(philox_kept_item, "bytes", bytes)},
	FIELDS_END};

/* --- lines ---------------------------------------------------------------- */

static void write_counts(FILE *out, const struct philox_function_stats *counts)
{
	for (size_t i = 0; i < TEXT_COUNTS; i++) {
		if (text_counts[i].word)
			fprintf(out, "%s%s", i ? "\n" : "",
				text_counts[i].word);
		fields_write(out, text_counts[i].fields, counts, 0);
	}
	fputc('\n', out);
}

static void write_key_line(FILE *out, size_t index, const struct text_key *key)
{
	fprintf(out, "key %zu size %zu%s", index + 1, key->size,
		key->size ? " " : "");
	text_write_bytes(out, key->bytes, key->size);
	fields_write(out, text_key_fields, key, 0);
	if (*key->label) {
		fputs(" label", out);
		fields_write(out, text_label_fields, key, 0);
	}
	fputc('\n', out);
}

static void write_source(FILE *out, const struct text_source *source)
{
	if (source->function) {
		fprintf(out, "from function %" PRIu64, source->function);
		fields_write(out, text_source_fields, source, 0);
	} else {
		fprintf(out, "from memory %" PRIu64, source->id);
	}
	fields_write_line(out, "", text_copied_fields, source);
}

static void write_recording(FILE *out, const struct runner_text *text,
			    const struct text_recording *recording)
{
	fields_write_line(out, "recording", text_recording_fields, recording);
	for (size_t i = 0; i < recording->sources.n; i++)
		write_source(out, &text->sources[recording->sources.first + i]);
	for (size_t i = 0; i < recording->ranges.n; i++)
		fields_write_line(out, "range", text_range_fields,
				  &text->ranges[recording->ranges.first + i]);
}

static void write_function(FILE *out, const struct runner_text *text,
			   size_t index)
{
	const struct text_function *function = &text->functions[index];
	const size_t parts =
		function->inputs.n + function->outputs.n + function->values.n;

	fprintf(out, "function %zu", index + 1);
	fields_write_line(out, "", text_function_fields, function);
	fields_write_line(out, "policy", policy_fields, &function->policy);
	write_counts(out, &function->counts);
	fields_write_line(out, "reason", text_reason_fields, function);
	for (size_t i = 0; i < parts; i++) {
		const struct text_part *part =
			&text->parts[function->inputs.first + i];

		fields_write_line(out, text_parts[part->is].word,
				  text_parts[part->is].fields, part);
	}
	for (size_t i = 0; i < function->keys.n; i++)
		write_key_line(out, i, &text->keys[function->keys.first + i]);
	for (size_t i = 0; i < function->recordings.n; i++)
		write_recording(
			out, text,
			&text->recordings[function->recordings.first + i]);
}

static void write_live(FILE *out, const struct text_output *live)
{
	fputs("live", out);
	fields_write(out, text_live_fields, live, 0);
	if (live->region) {
		fputs(" to", out);
		fields_write(out, text_tie_fields, live, 0);
	}
	fputc('\n', out);
}

static void write_ticket(FILE *out, const struct runner_text *text,
			 const struct text_ticket *ticket)
{
	fields_write_line(out, "ticket", text_ticket_fields, ticket);
	for (size_t i = 0; i < ticket->items.n; i++)
		fields_write_line(out, "keep", text_kept_fields,
				  &text->items[ticket->items.first + i]);
}

/* --- times ---------------------------------------------------------------- */

const struct field text_loads_fields[] = {
	{NUMBER(runner_text, "loads", load_ns)}, FIELDS_END};

#define COUNT(text, field) NUMBER(philox_function_stats, text, field)

const struct field text_spent_fields[] = {
	{COUNT("create", create_ns)},
	{COUNT("dry", dry_ns)},
	{COUNT("eager", eager_ns)},
	{COUNT("warm-up", warmup_ns)},
	{COUNT("record", record_ns)},
	{COUNT("instantiate", instantiate_ns)},
	{COUNT("checkpoint", checkpoint_ns)},
	{COUNT("restore", restore_ns)},
	{COUNT("first", first_ns)},
	{COUNT("replay", replay_ns)},
	{COUNT("verify", verify_ns)},
	{COUNT("device", device_ns), .may_lack = 1},
	{COUNT("of", device_launches), .may_lack = 1},
	FIELDS_END};

const struct field text_times_fields[] = {
	{NUMBER(text_times, NULL, recording), .least = 1},
	{NUMBER(text_times, "body", body)},
	{NUMBER(text_times, "end", end)},
	{NUMBER(text_times, "instantiate", instantiate)},
	{NUMBER(text_times, "checkpoint", checkpoint)},
	{NUMBER(text_times, "first", first)},
	{NUMBER(text_times, "replay", replay)},
	{NUMBER(text_times, "device-first", device_first), .may_lack = 1},
	{NUMBER(text_times, "device-replay", device_replay), .may_lack = 1},
	{NUMBER(text_times, "of", device_replays), .may_lack = 1},
	FIELDS_END};

static void write_times(FILE *out, const struct runner_text *text)
{
	fields_write_line(out, "times of plans", text_loads_fields, text);
	for (size_t i = 0; i < text->n_functions; i++) {
		fprintf(out, "times of function %zu", i + 1);
		fields_write_line(out, "", text_spent_fields,
				  &text->functions[i].counts);
	}
	for (size_t i = 0; i < text->n_times; i++)
		fields_write_line(out, "times of recording", text_times_fields,
				  &text->times[i]);
}

/* --- the whole ------------------------------------------------------------ */

static void write_all(FILE *out, const struct runner_text *text)
{
	fprintf(out, "philox runner %d\n", RUNNER_TEXT_VERSION);
	fields_write_line(out, "runner", text_runner_fields, text);
	for (size_t i = 0; i < text->n_functions; i++)
		write_function(out, text, i);
	for (size_t i = 0; i < text->n_live; i++)
		write_live(out, &text->live[i]);
	for (size_t i = 0; i < text->n_tickets; i++)
		write_ticket(out, text, &text->tickets[i]);
	program_write(out, &text->program);
	if (text->timed)
		write_times(out, text);
	fputs("begin pool\n", out);
	snapshot_write_lines(out, &text->pool);
	fputs("end pool\n", out);
}

enum philox_status runner_text_write(const struct runner_text *text,
				     struct text *written)
{
	if (text_begin(written))
		write_all(written->out, text);
	if (text_end(written))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY,
			  "runner '%s': no memory for its text", text->name);
}

void runner_text_finish(struct runner_text *text)
{
	for (size_t i = 0; i < text->n_parts; i++) {
		free(text->parts[i].name);
		free(text->parts[i].origin);
	}
	for (size_t i = 0; i < text->n_keys; i++)
		free(text->keys[i].bytes);
	for (size_t i = 0; i < text->n_live; i++)
		free(text->live[i].region);
	for (size_t i = 0; i < text->n_tickets; i++)
		free(text->tickets[i].region);
	free(text->functions);
	free(text->parts);
	free(text->keys);
	free(text->recordings);
	free(text->sources);
	free(text->ranges);
	free(text->live);
	free(text->tickets);
	free(text->items);
	free(text->times);
	program_finish(&text->program);
	snapshot_finish(&text->pool);
	memset(text, 0, sizeof(*text));
}

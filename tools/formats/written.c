/*
 * tools/formats/written.c - which kind of text a file is
 */
#include "graph/runner/outputs/outputs.h"
#include "graph/runner/plan/plan.h"
#include "lib/trace/events.h"
#include "tools/formats/formats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_START    "philox pool "
#define RUNNER_START  "philox runner "

/* --- files ---------------------------------------------------------------- */

static int starts_with(const struct written *written, size_t size,
		       const char *start)
{
	return size >= strlen(start) &&
	       !memcmp(written->text, start, strlen(start));
}

static int refuse(const char *command, const char *path, const char *why)
{
	fprintf(stderr, "philox %s: '%s': %s\n", command, path, why);
	return -1;
}

static int read_journal(const char *command, const char *path,
			struct written *written, size_t size)
{
	written->kind = WRITTEN_JOURNAL;
	if (journal_read(written->text, size, written) == PHILOX_OK)
		return 0;
	return refuse(command, path, philox_error_message());
}

static int read_context(const char *command, const char *path,
			struct written *written, size_t size)
{
	written->kind = WRITTEN_CONTEXT;
	if (save_read(written->text, size, &written->saved) == PHILOX_OK)
		return 0;
	memset(&written->saved, 0, sizeof(written->saved));
	return refuse(command, path, philox_error_message());
}

static int read_manifest(const char *command, const char *path,
			 struct written *written, size_t size)
{
	written->kind = WRITTEN_SET;
	if (set_read(written->text, size, &written->set) == PHILOX_OK)
		return 0;
	return refuse(command, path, philox_error_message());
}

static int read_snapshot(const char *command, const char *path,
			 struct written *written, size_t size)
{
	written->kind = WRITTEN_POOL;
	if (snapshot_read(written->text, size, &written->pool) == PHILOX_OK)
		return 0;
	return refuse(command, path, philox_error_message());
}

static int read_plan(const char *command, const char *path,
		     struct written *written, size_t size)
{
	written->kind = WRITTEN_PLAN;
	written->plan = calloc(1, sizeof(*written->plan));
	if (!written->plan)
		return refuse(command, path, "out of memory");
	if (plan_read(written->text, size, written->plan) == PHILOX_OK)
		return 0;
	return refuse(command, path, philox_error_message());
}

static int read_runner_snapshot(const char *command, const char *path,
				struct written *written, size_t size)
{
	written->kind = WRITTEN_RUNNER;
	if (runner_text_read(written->text, size, &written->runner) ==
	    PHILOX_OK)
		return 0;
	return refuse(command, path, philox_error_message());
}

static int read_saved_outputs(const char *command, const char *path,
			      struct written *written, size_t size)
{
	written->kind = WRITTEN_OUTPUTS;
	written->outputs = calloc(1, sizeof(*written->outputs));
	if (!written->outputs)
		return refuse(command, path, "out of memory");
	if (outputs_file_read(written->text, size, written->outputs) ==
	    PHILOX_OK)
		return 0;
	return refuse(command, path, philox_error_message());
}

static int read_text(const char *command, const char *path,
		     struct written *written, size_t size)
{
	if (starts_with(written, size, SAVE_START))
		return read_context(command, path, written, size);
	if (starts_with(written, size, SET_START))
		return read_manifest(command, path, written, size);
	if (starts_with(written, size, JOURNAL_START))
		return read_journal(command, path, written, size);
	if (starts_with(written, size, POOL_START))
		return read_snapshot(command, path, written, size);
	if (starts_with(written, size, PLAN_START))
		return read_plan(command, path, written, size);
	if (starts_with(written, size, RUNNER_START))
		return read_runner_snapshot(command, path, written, size);
	if (starts_with(written, size, OUTPUTS_START))
		return read_saved_outputs(command, path, written, size);
	return refuse(command, path,
		      "neither a saved context nor a journal nor the snapshot "
		      "of a pool or runner nor a plan nor outputs nor a set of "
		      "contexts of philox");
}

int written_read(const char *command, const char *path, struct written *written)
{
	static const char *const starts[] = {
		SAVE_START, SET_START,    JOURNAL_START, POOL_START,
		PLAN_START, RUNNER_START, OUTPUTS_START, NULL};
	static const struct file_kind kind = {starts, UINT64_MAX};
	struct text text;
	int result;

	memset(written, 0, sizeof(*written));
	if (file_read(path, &kind, &text) != PHILOX_OK) {
		fprintf(stderr, "philox %s: %s\n", command,
			philox_error_message());
		return -1;
	}
	written->text = text.bytes;
	result = read_text(command, path, written, text.size);
	if (result)
		written_finish(written);
	return result;
}

void written_finish(struct written *written)
{
	if (written->kind == WRITTEN_CONTEXT)
		saved_finish(&written->saved);
	if (written->kind == WRITTEN_SET)
		set_finish(&written->set);
	if (written->kind == WRITTEN_POOL)
		snapshot_finish(&written->pool);
	if (written->plan)
		plan_finish(written->plan);
	free(written->plan);
	if (written->outputs)
		outputs_file_finish(written->outputs);
	free(written->outputs);
	if (written->kind == WRITTEN_RUNNER)
		runner_text_finish(&written->runner);
	free(written->events);
	free(written->text);
	memset(written, 0, sizeof(*written));
}

static const struct {
	const char *start, *name;
} kinds[] = {
	[WRITTEN_CONTEXT] = {SAVE_START, "saved context"},
	[WRITTEN_SET] = {SET_START, "set of saved contexts"},
	[WRITTEN_JOURNAL] = {JOURNAL_START, "journal"},
	[WRITTEN_POOL] = {POOL_START, "snapshot of a pool"},
	[WRITTEN_PLAN] = {PLAN_START, "plan"},
	[WRITTEN_RUNNER] = {RUNNER_START, "snapshot of a runner"},
	[WRITTEN_OUTPUTS] = {OUTPUTS_START, "file of saved outputs"},
};

const char *written_kind_name(const struct written *written)
{
	return kinds[written->kind].name;
}

/* Of a file that begins with none of no starts, one piece is read. */
const char *written_kind_at(const char *path)
{
	static const char *const starts[] = {NULL};
	static const struct file_kind kind = {starts, UINT64_MAX};
	struct written first = {0};
	const char *name = NULL;
	struct text text;

	if (file_read(path, &kind, &text) != PHILOX_OK)
		return NULL;
	first.text = text.bytes;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].start &&
		    starts_with(&first, text.size, kinds[i].start))
			name = kinds[i].name;
	free(text.bytes);
	return name;
}

/* --- words ---------------------------------------------------------------- */

size_t written_words(const struct written_event *event,
		     struct written_word words[WRITTEN_WORDS_MAX])
{
	return written_split(event->text, event->length, words);
}

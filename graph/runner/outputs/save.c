/*
 * graph/runner/outputs/save.c - saving the outputs of a runner, and which of
 * these files the text of a context names
 */
#include <stdlib.h>
#include <string.h>
#include <philox/runner.h>
#include "graph/capture/context.h"
#include "graph/pool/pool.h"
#include "graph/runner/outputs/outputs.h"
#include "lib/device/device.h"
#include "lib/save/save.h"

/* --- bytes of the device -------------------------------------------------- */

/* Work of the runner and what the caller's stream has come first. */
static enum philox_status follow_all(struct philox_runner *runner,
				     philox_stream stream)
{
	enum philox_status status = fences_await(runner, stream);

	if (status != PHILOX_OK)
		return status;
	pool_lock(runner->pool);
	status = pool_follow(runner->pool, stream);
	pool_unlock(runner->pool);
	return status;
}

/*
 * Copies that were queued write to `to`. A wait that fails is tried again, for
 * that memory; *queued: they may do so at any time.
 */
static enum philox_status await_copies(struct philox_device *device,
				       philox_stream stream, int *queued)
{
	enum philox_status status = philox_stream_synchronize(device, stream);
	struct status_message kept;

	*queued = 0;
	if (status == PHILOX_OK)
		return PHILOX_OK;
	kept = status_kept();
	*queued = philox_stream_synchronize(device, stream) != PHILOX_OK;
	status_restore(&kept);
	return status;
}

static enum philox_status copy_out(struct philox_runner *runner,
				   const struct outputs_file *file,
				   philox_stream stream, char *to, int *queued)
{
	struct philox_device *device = runner_device(runner);
	enum philox_status status = PHILOX_OK, waited;
	struct status_message kept;

	for (size_t i = 0; status == PHILOX_OK && i < file->n_blocks; i++) {
		const struct outputs_block *block = &file->blocks[i];

		if (block->saved)
			status = philox_memory_copy(device, stream, to,
						    block->address +
							    block->first,
						    (size_t)block->saved);
		to += block->saved;
	}
	kept = status_kept();
	waited = await_copies(device, stream, queued);
	return status_first(status, &kept, waited);
}

static enum philox_status read_bytes(struct philox_runner *runner,
				     const struct outputs_file *file,
				     philox_stream of_caller, char *to,
				     int *queued)
{
	philox_stream stream;
	enum philox_status status = legacy_stream(runner, of_caller, &stream);

	if (status == PHILOX_OK)
		status = legacy_join(runner, of_caller, 0);
	if (status == PHILOX_OK)
		status = follow_all(runner, stream);
	if (status == PHILOX_OK)
		status = copy_out(runner, file, stream, to, queued);
	return status;
}

/* --- saving --------------------------------------------------------------- */

static enum philox_status write_taken(struct philox_runner *runner,
				      struct outputs_file *file,
				      philox_stream stream, struct text *text)
{
	char *data = malloc(file->data + 1);
	enum philox_status status;
	int queued = 0;

	if (!data)
		return outputs_no_room();
	status = read_bytes(runner, file, stream, data, &queued);
	if (status == PHILOX_OK)
		status = outputs_file_write(file, data, text);
	if (!queued) /* else it is left to them */
		free(data);
	return status;
}

static enum philox_status save_entered(struct philox_runner *runner,
				       philox_stream stream, struct text *text,
				       uint64_t *digest)
{
	struct outputs_file file;
	enum philox_status status =
		device_refuse_capture(runner_device(runner), stream);

	if (status == PHILOX_OK)
		status = live_settle(runner);
	if (status == PHILOX_OK)
		status = outputs_file_take(runner, &file);
	if (status != PHILOX_OK)
		return status;
	status = write_taken(runner, &file, stream, text);
	*digest = file.checksum;
	outputs_file_finish(&file);
	return status;
}

enum philox_status outputs_remember(struct philox_runner *runner,
				    uint64_t digest)
{
	struct runner_outputs now = {.digest = digest};
	enum philox_status status;

	context_lock(runner->context);
	status = inspect_digest(runner->context, &now.context);
	context_unlock(runner->context);
	now.mark = outputs_mark(runner);
	if (status != PHILOX_OK)
		return status;
	runner->saved = now;
	atomic_store(&runner->has_saved, 1);
	return PHILOX_OK;
}

/* What was saved before is the runner's file until this one is in its place. */
static enum philox_status save_and_put(struct philox_runner *runner,
				       philox_stream stream,
				       struct text_target to)
{
	const struct runner_outputs before = runner->saved;
	const int had = atomic_load(&runner->has_saved);
	struct text text;
	uint64_t digest;
	enum philox_status status =
		save_entered(runner, stream, &text, &digest);

	if (status != PHILOX_OK)
		return status;
	status = outputs_remember(runner, digest);
	if (status != PHILOX_OK) {
		free(text.bytes);
		return status;
	}
	status = text_put(&text, to);
	if (status != PHILOX_OK) {
		runner->saved = before;
		atomic_store(&runner->has_saved, had);
	}
	return status;
}

static enum philox_status save_outputs(struct philox_runner *runner,
				       philox_stream stream,
				       struct text_target to)
{
	enum philox_status status = runner_acquire(runner);

	if (status != PHILOX_OK)
		return runner_report(runner, NULL, status);
	status = save_and_put(runner, stream, to);
	if (status != PHILOX_OK)
		status_prefix(status, "runner '%s': ", runner->name);
	return runner_leave(runner, NULL, status);
}

enum philox_status philox_outputs_save_text(struct philox_runner *runner,
					    philox_stream stream, char **text,
					    size_t *bytes)
{
	if (!runner || !text)
		return context_null(runner ? runner->context : NULL,
				    runner ? "text" : "runner");
	NEED_PROCESS(runner->context);
	return save_outputs(runner, stream,
			    (struct text_target){.text = text, .size = bytes});
}

enum philox_status philox_outputs_save(struct philox_runner *runner,
				       philox_stream stream, const char *path)
{
	if (!runner || !path)
		return context_null(runner ? runner->context : NULL,
				    runner ? "path" : "runner");
	NEED_PROCESS(runner->context);
	return save_outputs(runner, stream,
			    (struct text_target){.path = path, .is_large = 1});
}

/* --- the texts of contexts ------------------------------------------------ */

static void post_changed(struct philox_runner *runner)
{
	const struct philox_log_entry subject = {.pool = runner->name};

	log_post(runner->context, PHILOX_LOG_WARNING, "outputs", &subject,
		 "runner '%s': its outputs were saved, but they or the context "
		 "have changed since: the text of the context does not name "
		 "them",
		 runner->name);
}

/* With the runner. An output whose ticket was used up waits to be released. */
static int are_as_saved(const struct philox_runner *runner, uint64_t context)
{
	return !atomic_load(&runner->untied) && !runner->later &&
	       runner->saved.context == context &&
	       runner->saved.mark == outputs_mark(runner);
}

/*
 * With the context's lock. A thread that is in the runner may change anything.
 * What has changed is said once. NOT_READY: a reader of the pool is in it, and
 * may need that lock.
 */
static enum philox_status still_saved(struct philox_runner *runner,
				      uint64_t context, int *same)
{
	enum philox_status status;

	*same = 0;
	if (!atomic_load(&runner->has_saved))
		return PHILOX_OK;
	status = runner_try(runner);
	if (status == PHILOX_NOT_READY)
		return status;
	if (status == PHILOX_OK) {
		*same = are_as_saved(runner, context);
		atomic_store(&runner->has_saved, *same);
		runner_release(runner, PHILOX_OK);
	}
	if (!*same)
		post_changed(runner);
	return PHILOX_OK;
}

static int by_runner(const void *one, const void *other)
{
	const struct saved_outputs *a = one, *b = other;

	return strcmp(a->runner, b->runner);
}

static size_t count_saved(const struct philox_context *context)
{
	size_t n = 0;

	for (struct philox_runner *runner = context->graphs->runners; runner;
	     runner = runner->next)
		n += atomic_load(&runner->has_saved) != 0;
	return n;
}

/* There may be fewer by now. */
static enum philox_status list_saved(const struct philox_context *context,
				     uint64_t digest,
				     struct saved_outputs *list, size_t room,
				     size_t *n)
{
	const struct status_message kept = status_kept();
	struct philox_runner *runner = context->graphs->runners;
	enum philox_status status = PHILOX_OK;
	int same;

	for (; status == PHILOX_OK && *n < room && runner;
	     runner = runner->next) {
		status = still_saved(runner, digest, &same);
		if (same)
			list[(*n)++] = (struct saved_outputs){
				runner->name, runner->saved.digest};
	}
	qsort(list, *n, sizeof(*list), by_runner);
	status_restore(&kept);
	return status;
}

enum philox_status outputs_list(struct philox_context *context,
				struct saved_outputs **list, size_t *n)
{
	const size_t room = count_saved(context);
	uint64_t digest = 0;
	enum philox_status status = PHILOX_OK;

	*n = 0;
	*list = calloc(room + 1, sizeof(**list));
	if (!*list)
		return outputs_no_room();
	if (room)
		status = inspect_digest(context, &digest);
	if (status == PHILOX_OK)
		status = list_saved(context, digest, *list, room, n);
	if (status != PHILOX_OK)
		free(*list);
	return status;
}

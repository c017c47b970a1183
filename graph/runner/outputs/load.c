/*
 * graph/runner/outputs/load.c - outputs of a runner, alive again
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <philox/runner.h>
#include "graph/pool/pool.h"
#include "graph/runner/outputs/outputs.h"
#include "lib/device/device.h"
#include "lib/pass/pass.h"

/* What a load needs, taken before anything is changed. */
struct loading {
	struct philox_runner *runner;
	const struct outputs_file *file;
	philox_stream of_caller, stream;
	struct outputs_target *targets; /* of the outputs */
	struct philox_region **owed;    /* of the tickets */
	struct output_slot **slots;
	size_t n_slots;                   /* that were taken */
	struct philox_pool_block *blocks; /* as the file's */
	size_t handed;                    /* outputs that are handed out */
};

/* --- before --------------------------------------------------------------- */

static size_t in_pool(const struct outputs_file *file)
{
	size_t n = 0;

	for (size_t i = 0; i < file->n_items; i++)
		n += file->items[i].block != OUTPUTS_NO_BLOCK;
	return n;
}

/* Outputs in memory of the caller get no place. */
static enum philox_status take_slots(struct loading *loading)
{
	const struct outputs_file *file = loading->file;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < file->n_items; i++) {
		const struct outputs_target *target = &loading->targets[i];

		if (file->items[i].block == OUTPUTS_NO_BLOCK)
			continue;
		status = outputs_take(target->function, target->output,
				      &loading->slots[loading->n_slots]);
		loading->n_slots += status == PHILOX_OK;
	}
	return status;
}

static enum philox_status reserve(struct loading *loading)
{
	const struct outputs_file *file = loading->file;

	loading->targets = calloc(file->n_items + 1, sizeof(*loading->targets));
	loading->owed = calloc(file->n_owed + 1, sizeof(*loading->owed));
	loading->slots = calloc(file->n_items + 1, sizeof(*loading->slots));
	loading->blocks = calloc(file->n_blocks + 1, sizeof(*loading->blocks));
	if (!loading->targets || !loading->owed || !loading->slots ||
	    !loading->blocks)
		return outputs_no_room();
	return step_reserve(loading->runner, file->n_owed);
}

static void free_loading(struct loading *loading, int give)
{
	for (size_t i = 0; give && i < loading->n_slots; i++)
		outputs_give(loading->slots[i]);
	free(loading->targets);
	free(loading->owed);
	free(loading->slots);
	free(loading->blocks);
}

/* --- memory --------------------------------------------------------------- */

static enum philox_status take_blocks(struct loading *loading)
{
	const struct outputs_file *file = loading->file;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < file->n_blocks; i++) {
		const struct outputs_block *block = &file->blocks[i];

		status = pool_take_block(loading->runner->pool, loading->stream,
					 (size_t)block->bytes,
					 (size_t)block->alignment, block->tag,
					 &loading->blocks[i]);
	}
	return status;
}

/* The text must stay until the copies are over. */
static enum philox_status copy_in(struct loading *loading)
{
	struct philox_device *device = runner_device(loading->runner);
	const struct outputs_file *file = loading->file;
	enum philox_status status = PHILOX_OK, waited;
	struct status_message kept;

	for (size_t i = 0; status == PHILOX_OK && i < file->n_blocks; i++) {
		const struct outputs_block *block = &file->blocks[i];
		char *to = loading->blocks[i].address;

		if (block->saved)
			status = philox_memory_copy(
				device, loading->stream, to + block->first,
				block->data, (size_t)block->saved);
	}
	kept = status_kept();
	waited = philox_stream_synchronize(device, loading->stream);
	return status_first(status, &kept, waited);
}

/* --- handles -------------------------------------------------------------- */

static void hand_out(struct loading *loading, const struct outputs_item *item)
{
	struct output_slot *slot = loading->slots[loading->handed++];
	struct philox_runner *runner = loading->runner;
	const struct philox_pool_block *block = &loading->blocks[item->block];
	const struct output_place place = {
		.address = (char *)block->address + item->at,
		.bytes = (size_t)item->bytes,
		.id = block->id,
		.in_pool = 1,
		.range = live_range(runner, block->address, block->bytes),
		.block_bytes = block->bytes};

	outputs_hand(slot, &place);
	slot->call = 0; /* none of this process */
	slot->path = runner->paths + item->path;
	snprintf(slot->label, sizeof(slot->label), "%s", item->label);
}

static enum philox_status hand_out_all(struct loading *loading)
{
	const struct outputs_file *file = loading->file;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < file->n_items; i++) {
		const struct outputs_item *item = &file->items[i];
		struct philox_region *region = loading->targets[i].region;

		if (item->block == OUTPUTS_NO_BLOCK)
			continue;
		hand_out(loading, item);
		if (region)
			status = ties_make(loading->slots[loading->handed - 1],
					   region,
					   (struct philox_ticket){
						   region->key, item->serial});
	}
	return status;
}

/* Those are given back by it, all others by free_loading(). */
static void take_back(struct loading *loading)
{
	for (size_t i = 0; i < loading->handed; i++)
		outputs_drop(loading->slots[i]);
	loading->n_slots -= loading->handed;
	memmove(loading->slots, loading->slots + loading->handed,
		loading->n_slots * sizeof(struct output_slot *));
	loading->handed = 0;
}

static void follow_paths(struct loading *loading)
{
	const struct outputs_file *file = loading->file;
	struct philox_runner *runner = loading->runner;
	uint64_t paths = 0;

	for (size_t i = 0; i < file->n_owed; i++)
		step_owe(runner,
			 (struct owed_ticket){.region = loading->owed[i],
					      .ticket = {loading->owed[i]->key,
							 file->owed[i].serial},
					      .path = runner->paths +
						      file->owed[i].path});
	for (size_t i = 0; i < file->n_items; i++)
		if (file->items[i].path > paths)
			paths = file->items[i].path;
	runner->paths += paths;
}

/* --- loading -------------------------------------------------------------- */

static enum philox_status fill_and_hand_out(struct loading *loading)
{
	enum philox_status status = take_blocks(loading);

	if (status == PHILOX_OK)
		status = copy_in(loading);
	if (status == PHILOX_OK)
		status = legacy_join(loading->runner, loading->of_caller, 1);
	if (status == PHILOX_OK)
		status = hand_out_all(loading);
	return status;
}

/* A session that cannot be ended is left to the next call. */
static void end_badly(struct loading *loading,
		      struct philox_pool_session *session,
		      enum philox_status status)
{
	const struct status_message kept = status_kept();

	take_back(loading);
	if (philox_pool_session_end(session, status, NULL) != PHILOX_OK)
		loading->runner->stuck = session;
	loading->runner->unsettled = 1;
	status_restore(&kept);
}

static enum philox_status load_in_session(struct loading *loading)
{
	struct philox_runner *runner = loading->runner;
	struct philox_pool_session *session;
	enum philox_status status =
		pool_begin_session(runner->pool, loading->stream, &session);

	if (status != PHILOX_OK)
		return status;
	status = fill_and_hand_out(loading);
	if (status == PHILOX_OK)
		status = philox_pool_session_end(session, PHILOX_OK, NULL);
	if (status != PHILOX_OK) {
		end_badly(loading, session, status);
		return status;
	}
	fences_passed(runner);
	follow_paths(loading);
	return PHILOX_OK;
}

static enum philox_status load_checked(struct loading *loading)
{
	struct philox_runner *runner = loading->runner;
	enum philox_status status = live_settle(runner);

	if (status == PHILOX_OK)
		status = take_slots(loading);
	if (status == PHILOX_OK)
		status = legacy_stream(runner, loading->of_caller,
				       &loading->stream);
	if (status == PHILOX_OK)
		status = fences_await(runner, loading->stream);
	if (status == PHILOX_OK)
		status = legacy_join(runner, loading->of_caller, 0);
	return status == PHILOX_OK ? load_in_session(loading) : status;
}

static void post_loaded(struct philox_runner *runner,
			const struct outputs_file *file)
{
	const struct philox_log_entry subject = {.pool = runner->name};
	const size_t n = in_pool(file), others = file->n_items - n;

	log_post(runner->context, PHILOX_LOG_INFO, "outputs", &subject,
		 "runner '%s' has %zu output%s again, of %zu byte%s",
		 runner->name, n, status_s(n), file->data,
		 status_s(file->data));
	if (others)
		log_post(runner->context, PHILOX_LOG_WARNING, "outputs",
			 &subject,
			 "runner '%s': %zu output%s in memory of the caller "
			 "%s not loaded",
			 runner->name, others, status_s(others),
			 status_is(others));
}

/* Without memory for the digest the next text of the context has no line. */
static void remember(struct philox_runner *runner, uint64_t digest)
{
	const struct status_message kept = status_kept();

	atomic_store(&runner->has_saved, 0);
	outputs_remember(runner, digest);
	status_restore(&kept);
}

static enum philox_status load_entered(struct philox_runner *runner,
				       philox_stream stream,
				       const struct outputs_file *file)
{
	struct loading loading = {
		.runner = runner, .file = file, .of_caller = stream};
	enum philox_status status =
		device_refuse_capture(runner_device(runner), stream);

	if (status == PHILOX_OK)
		status = reserve(&loading);
	if (status == PHILOX_OK)
		status = outputs_file_check(file, runner, loading.targets,
					    loading.owed);
	if (status == PHILOX_OK)
		status = load_checked(&loading);
	free_loading(&loading, status != PHILOX_OK);
	if (status != PHILOX_OK)
		return status_prefix(status, "runner '%s': ", runner->name);
	remember(runner, file->checksum);
	post_loaded(runner, file);
	return PHILOX_OK;
}

static enum philox_status load_outputs(struct philox_runner *runner,
				       philox_stream stream, const char *text,
				       size_t size)
{
	struct outputs_file file;
	enum philox_status status = outputs_file_read(text, size, &file);

	if (status != PHILOX_OK)
		return status;
	status = runner_acquire(runner);
	if (status == PHILOX_OK)
		status = runner_release(runner,
					load_entered(runner, stream, &file));
	outputs_file_finish(&file);
	return status;
}

enum philox_status philox_outputs_load_text(struct philox_runner *runner,
					    philox_stream stream,
					    const char *text, size_t bytes)
{
	struct runner_subject subject;

	if (!runner || !text)
		return context_null(runner ? runner->context : NULL,
				    runner ? "text" : "runner");
	NEED_PROCESS(runner->context);
	subject = runner_subject(runner, NULL);
	return subject_report(&subject,
			      load_outputs(runner, stream, text, bytes));
}

enum philox_status philox_outputs_load(struct philox_runner *runner,
				       philox_stream stream, const char *path)
{
	static const char *const starts[] = {OUTPUTS_START, NULL};
	static const struct file_kind kind = {starts, UINT64_MAX};
	struct runner_subject subject;
	struct text text;
	enum philox_status status;

	if (!runner || !path)
		return context_null(runner ? runner->context : NULL,
				    runner ? "path" : "runner");
	NEED_PROCESS(runner->context);
	subject = runner_subject(runner, NULL);
	status = file_read(path, &kind, &text);
	if (status == PHILOX_OK)
		status = text_done(
			&text, path,
			load_outputs(runner, stream, text.bytes, text.size));
	return subject_report(&subject, status);
}

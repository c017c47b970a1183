/*
 * lib/save/save.c - saving and loading a context, and when both are allowed
 *
 * Both need a context that is quiet: no pass open, no capture or launch in
 * progress, no unannounced launch still to be reported. This is checked twice:
 * before waiting for the device, since that would invalidate a capture of this
 * thread, and after it, since only then is every unannounced launch known; from
 * the second check on the context stays locked.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <philox/save.h>
#include "lib/device/device.h"
#include "lib/mesh/mesh.h"
#include "lib/save/save.h"
#include "lib/text/text.h"
#include "lib/state/state.h"

/* --- a quiet context ------------------------------------------------------ */

static enum philox_status check_quiet(struct philox_context *context)
{
	enum philox_status status = context->hooks->quiet(context);

	for (const struct philox_region *region = context->regions;
	     status == PHILOX_OK && region; region = region->next)
		status = region_check_quiet(region);
	return status;
}

/* A wait that a capture forbids: the device's message, and what to do. */
static enum philox_status wait_for_device(struct philox_context *context)
{
	enum philox_status status = philox_device_synchronize(context->device);

	if (status != PHILOX_ERROR_CAPTURE_UNSUPPORTED)
		return status;
	return status_set(status,
			  "%s; first end all captures on device %s and "
			  "synchronize the streams that graphs, passes and "
			  "tables of rows of this context were put on",
			  status_bare(), philox_device_name(context->device));
}

/*
 * On success the context is locked, quiet, and all its launches are over.
 * `call` is the public one.
 */
static enum philox_status lock_quiet(struct philox_context *context,
				     const char *call)
{
	const char *before;
	enum philox_status status;

	context_lock(context);
	status = check_quiet(context);
	context_unlock(context);
	before = device_within(call);
	if (status == PHILOX_OK)
		status = wait_for_device(context);
	device_within(before);
	if (status != PHILOX_OK)
		return status;
	context_lock(context);
	status = check_quiet(context);
	if (status != PHILOX_OK)
		context_unlock(context);
	return status;
}

/* --- saving and loading --------------------------------------------------- */

static enum philox_status add_outputs(struct philox_context *context,
				      struct saved *saved)
{
	struct saved_outputs *list;
	size_t n;
	enum philox_status status = context->hooks->outputs(context, &list, &n);

	if (status != PHILOX_OK)
		return status;
	for (size_t i = 0; status == PHILOX_OK && i < n; i++)
		status = saved_add_outputs(saved, &list[i]);
	free(list);
	return status;
}

/* With the context's lock held. */
static enum philox_status write_context(struct philox_context *context,
					struct text *text)
{
	struct saved saved;
	enum philox_status status = save_collect(context, &saved);

	if (status != PHILOX_OK)
		return status;
	status = add_outputs(context, &saved);
	if (status == PHILOX_OK)
		status = save_write(&saved, text);
	saved_finish(&saved);
	return status;
}

/* NOT_READY: a thread that needs the lock is in a runner, for a moment. */
static enum philox_status try_save(struct philox_context *context,
				   const char *call, struct written_text *out)
{
	enum philox_status status = lock_quiet(context, call);

	if (status != PHILOX_OK)
		return status_prefix(status, "a context cannot be saved now: ");
	status = write_context(context, &out->text);
	out->rank = mesh_rank(&context->mesh);
	out->has_digest = status == PHILOX_OK && context->trace &&
			  inspect_digest(context, &out->digest) == PHILOX_OK;
	context_unlock(context);
	return status;
}

enum philox_status save_text(struct philox_context *context, const char *call,
			     struct written_text *out)
{
	enum philox_status status = try_save(context, call, out);

	while (status == PHILOX_NOT_READY) {
		sched_yield();
		status = try_save(context, call, out);
	}
	return status;
}

/* It is in no journal: it changes nothing. */
void save_trace(struct philox_context *context,
		const struct written_text *saved)
{
	if (!saved->has_digest)
		return;
	context_lock(context);
	journal_trace(context, EVENT("context-save", DIGEST), saved->digest);
	context_unlock(context);
}

/*
 * With the context's lock held. Without memory for the digest there is no event,
 * and no message of a load that has succeeded.
 */
static void write_load_event(struct philox_context *context)
{
	const struct status_message kept = status_kept();
	uint64_t digest;

	if (context->recorded && inspect_digest(context, &digest) == PHILOX_OK)
		journal_write(context, EVENT("context-load", DIGEST), digest);
	status_restore(&kept);
}

/*
 * Outputs are loaded into a context that is as it was then. Without memory for
 * the digest they are refused.
 */
static void note_loaded(struct philox_context *context)
{
	const struct status_message kept = status_kept();

	context->loaded =
		inspect_digest(context, &context->loaded_digest) == PHILOX_OK;
	status_restore(&kept);
}

enum philox_status save_apply(struct philox_context *context, const char *call,
			      const struct saved *saved, uint32_t flags)
{
	struct save_plan plan;
	enum philox_status status = lock_quiet(context, call);

	if (status != PHILOX_OK)
		return status_prefix(status,
				     "a context cannot be loaded now: ");
	status = save_plan_init(&plan, context, saved, flags);
	if (status == PHILOX_OK) {
		save_plan_commit(&plan);
		note_loaded(context);
		write_load_event(context);
	}
	context_unlock(context);
	save_plan_finish(&plan);
	return status;
}

static enum philox_status load_text(struct philox_context *context,
				    const char *call, const char *text,
				    size_t size, uint32_t flags)
{
	struct saved saved;
	enum philox_status status = save_read(text, size, &saved);

	if (status != PHILOX_OK)
		return status;
	status = save_apply(context, call, &saved, flags);
	saved_finish(&saved);
	return status;
}

static enum philox_status check_flags(uint32_t flags)
{
	if (flags & ~(uint32_t)PHILOX_LOAD_AHEAD)
		return status_set(PHILOX_ERROR_INVALID,
				  "load: flags 0x%x is not 0 or "
				  "PHILOX_LOAD_AHEAD",
				  flags);
	return PHILOX_OK;
}

static enum philox_status load_file(struct philox_context *context,
				    const char *call, const char *path,
				    uint32_t flags)
{
	struct text text;
	enum philox_status status = file_read(path, &save_file, &text);

	if (status != PHILOX_OK)
		return status;
	return text_done(
		&text, path,
		load_text(context, call, text.bytes, text.size, flags));
}

/* --- public --------------------------------------------------------------- */

static enum philox_status save_to(struct philox_context *context,
				  const char *call, struct text_target to)
{
	struct written_text saved;
	enum philox_status status = save_text(context, call, &saved);

	if (status == PHILOX_OK)
		status = text_put(&saved.text, to);
	if (status == PHILOX_OK)
		save_trace(context, &saved);
	return context_report(context, status, NULL);
}

enum philox_status philox_context_save_text(struct philox_context *context,
					    char **text, size_t *bytes)
{
	if (!context || !text)
		return context_null(context, context ? "text" : "context");
	NEED_PROCESS(context);
	return save_to(context, __func__,
		       (struct text_target){.text = text, .size = bytes});
}

/* `call` is the public function. */
static enum philox_status take_text(struct philox_context *context,
				    const char *call, const char *text,
				    size_t bytes, uint32_t flags)
{
	enum philox_status status;

	if (!context || !text)
		return context_null(context, context ? "text" : "context");
	NEED_PROCESS(context);
	status = check_flags(flags);
	if (status == PHILOX_OK)
		status = load_text(context, call, text, bytes, flags);
	return context_report(context, status, NULL);
}

enum philox_status philox_context_load_text(struct philox_context *context,
					    const char *text, size_t bytes)
{
	return take_text(context, __func__, text, bytes, 0);
}

enum philox_status philox_context_load_text_flags(
	struct philox_context *context, const char *text, size_t bytes,
	uint32_t flags)
{
	return take_text(context, __func__, text, bytes, flags);
}

enum philox_status philox_context_save(struct philox_context *context,
				       const char *path)
{
	if (!context || !path)
		return context_null(context, context ? "path" : "context");
	NEED_PROCESS(context);
	return save_to(context, __func__, (struct text_target){.path = path});
}

/* The same. */
static enum philox_status take_file(struct philox_context *context,
				    const char *call, const char *path,
				    uint32_t flags)
{
	enum philox_status status;

	if (!context || !path)
		return context_null(context, context ? "path" : "context");
	NEED_PROCESS(context);
	status = check_flags(flags);
	if (status == PHILOX_OK)
		status = load_file(context, call, path, flags);
	return context_report(context, status, NULL);
}

enum philox_status philox_context_load(struct philox_context *context,
				       const char *path)
{
	return take_file(context, __func__, path, 0);
}

enum philox_status philox_context_load_flags(struct philox_context *context,
					     const char *path, uint32_t flags)
{
	return take_file(context, __func__, path, flags);
}

/* With the lock held. */
static enum philox_status list_unclaimed(const struct philox_context *context,
					 const char **names, size_t capacity,
					 size_t *n_names)
{
	struct save_lists lists;
	enum philox_status status =
		save_lists_init(&lists, context, save_compare_names);
	size_t n = 0;

	if (status != PHILOX_OK)
		return status;
	for (size_t i = 0; i < lists.n_regions; i++) {
		if (!lists.regions[i]->unclaimed)
			continue;
		if (n < capacity)
			names[n] = lists.regions[i]->name;
		n++;
	}
	*n_names = n;
	save_lists_finish(&lists);
	return PHILOX_OK;
}

enum philox_status philox_context_unclaimed(struct philox_context *context,
					    const char **names, size_t capacity,
					    size_t *n_names)
{
	enum philox_status status;

	if (!context || !n_names || (capacity && !names))
		return context_null(context, !context  ? "context"
					     : n_names ? "names"
						       : "n_names");
	NEED_PROCESS(context);
	context_lock(context);
	status = list_unclaimed(context, names, capacity, n_names);
	context_unlock(context);
	return context_report(context, status, NULL);
}

static enum philox_status list_tickets(const struct philox_region *region,
				       struct philox_ticket *tickets,
				       size_t capacity, size_t *n)
{
	const struct ledger_entry **entries;
	uint32_t pending;
	enum philox_status status = region_check_alive(region);

	if (status != PHILOX_OK)
		return status;
	status = ledger_list(&region->ledger, LEDGER_PENDING, &entries,
			     &pending);
	if (status != PHILOX_OK)
		return status_prefix(status, "region '%s': ", region->name);
	*n = pending;
	for (size_t i = 0; i < *n && i < capacity; i++)
		tickets[i] =
			(struct philox_ticket){region->key, entries[i]->serial};
	free(entries);
	return PHILOX_OK;
}

enum philox_status philox_region_tickets(struct philox_region *region,
					 struct philox_ticket *tickets,
					 size_t capacity, size_t *n_tickets)
{
	struct philox_log_entry subject = {0};
	enum philox_status status;

	if (!region)
		return context_null(NULL, "region");
	subject.region = region->name;
	if (!n_tickets || (capacity && !tickets)) {
		status = status_set(PHILOX_ERROR_INVALID,
				    "region '%s': %s is NULL", region->name,
				    n_tickets ? "tickets" : "n_tickets");
		return context_report(region->context, status, &subject);
	}
	NEED_PROCESS(region->context);
	context_lock(region->context);
	status = list_tickets(region, tickets, capacity, n_tickets);
	context_unlock(region->context);
	return context_report(region->context, status, &subject);
}

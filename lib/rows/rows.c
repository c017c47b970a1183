/*
 * lib/rows/rows.c - tables of rows: made, held by graphs, destroyed
 *
 * See lib/rows/rows.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/list.h"
#include "lib/rows/rows.h"

/* The size of the struct's first version. */
#define OPTIONS_SIZE_FIRST OPTIONS_FIRST(struct philox_rows_desc, generator)
OPTIONS_NO_PADDING(struct philox_rows_desc, generator);

enum philox_status rows_report(const struct philox_rows *rows,
			       enum philox_status status)
{
	if (status != PHILOX_OK)
		status_prefix(status, "rows '%s': ", rows->name);
	return context_report(rows->context, status, NULL);
}

/* --- references of graphs ------------------------------------------------- */

/* Counts what may let a dead table go: it is worth looking for one again. */
static atomic_ulong changes;

static void release_life(void *object)
{
	struct rows_life *life = object;

	if (atomic_fetch_sub(&life->references, 1) == 1)
		free(life);
	atomic_fetch_add(&changes, 1);
}

/* One reference for each capture, or for each of its turns if two alternate. */
static enum philox_status hold_for(struct philox_rows *rows,
				   const struct capture_info *info)
{
	enum philox_status status;

	if (rows->holder == info->id)
		return PHILOX_OK;
	atomic_fetch_add(&rows->life->references, 1);
	status = device_graph_retain(rows->context->device, info->graph,
				     release_life, rows->life);
	if (status == PHILOX_OK)
		rows->holder = info->id;
	else
		atomic_fetch_sub(&rows->life->references, 1);
	return status;
}

static enum philox_status hold_on(struct philox_rows *rows,
				  philox_stream stream)
{
	struct philox_context *context = rows->context;
	struct capture_info info;
	enum philox_status status;

	status = device_ask_capture(context->device, stream, &info);
	if (status != PHILOX_OK || info.status == PHILOX_CAPTURE_NONE)
		return status;
	context_lock(context);
	context->hooks->root(context, &info);
	status = hold_for(rows, &info);
	context_unlock(context);
	return status;
}

enum philox_status rows_launch_on(struct philox_rows *rows,
				  philox_stream stream,
				  const struct kernel_call *call)
{
	struct trial *trial = trial_here(rows->context);
	enum philox_status status = hold_on(rows, stream);

	if (status != PHILOX_OK || !call || !call->work)
		return status;
	if (trial)
		status = trial->touch(trial, rows, stream);
	if (status != PHILOX_OK)
		return status;
	return device_launch(rows->context->device, stream, call);
}

/* --- tables that are dead ------------------------------------------------- */

static void free_rows(struct philox_rows *rows)
{
	if (rows->life)
		release_life(rows->life);
	free(rows->marks);
	free(rows->name);
	free(rows);
}

static int is_held(const struct philox_rows *rows)
{
	return atomic_load(&rows->life->references) > 1;
}

static void list_dead(struct philox_rows *rows)
{
	LIST_ADD(&rows->context->dead_rows, rows);
	atomic_fetch_add(&changes, 1);
}

/* Takes the dead tables that no graph holds any more. */
static void take_unheld(struct philox_context *context,
			struct philox_rows **taken)
{
	struct philox_rows *next;

	for (struct philox_rows *rows = context->dead_rows; rows; rows = next) {
		next = rows->next;
		if (is_held(rows))
			continue;
		LIST_REMOVE(rows);
		LIST_ADD(taken, rows);
	}
}

/* Frees what it can of a list; the others stay in it. */
static void free_list(struct philox_rows *list)
{
	struct philox_rows *next;

	for (struct philox_rows *rows = list; rows; rows = next) {
		next = rows->next;
		if (rows_memory_free(rows) != PHILOX_OK)
			continue;
		LIST_REMOVE(rows);
		free_rows(rows);
	}
}

static void free_relaxed(struct philox_context *context,
			 struct philox_rows **list)
{
	const struct status_message kept = status_kept();
	enum philox_capture_mode mode;

	if (device_relaxed_begin(context->device, &mode) == PHILOX_OK) {
		free_list(*list);
		device_relaxed_end(context->device, mode, PHILOX_OK);
	}
	status_restore(&kept);
}

/*
 * Frees the tables that are dead and that no graph holds any more: in relaxed
 * mode, since captures may be in progress; without the lock, since a free waits
 * for work of the device, and that may wait for the lock; and silently, since
 * the caller did not ask for it. The next call tries again to free what cannot
 * be freed now. Where nothing has changed nothing is looked at: there may be
 * many that graphs hold.
 */
static void free_unheld(struct philox_context *context)
{
	const unsigned long now = atomic_load(&changes);
	struct philox_rows *rows, *taken = NULL;

	context_lock(context);
	if (context->dead_rows_seen != now)
		take_unheld(context, &taken);
	context->dead_rows_seen = now;
	context_unlock(context);
	if (!taken)
		return;
	free_relaxed(context, &taken);
	context_lock(context);
	while ((rows = taken)) {
		LIST_REMOVE(rows);
		list_dead(rows);
	}
	context_unlock(context);
}

/* --- events --------------------------------------------------------------- */

static void write_event(const struct philox_rows *rows, const char *event)
{
	journal_write(rows->context, EVENT("rows-%s", ROWS), event,
		      journal_name(rows->name).text,
		      journal_number(rows->generator), rows->table.count,
		      rows_seed(rows));
}

/* --- making --------------------------------------------------------------- */

static enum philox_status check_options(const struct philox_context *context,
					const struct philox_rows_desc *options)
{
	enum philox_status status;

	status = options_check_size("rows options", options, options->size,
				    OPTIONS_SIZE_FIRST, sizeof(*options));
	if (status != PHILOX_OK)
		return status;
	if (!options->name || !*options->name)
		return status_set(PHILOX_ERROR_INVALID,
				  "rows options: name is %s",
				  options->name ? "empty" : "NULL");
	status = name_check(options->name, "rows options: name");
	if (status != PHILOX_OK)
		return status;
	if (!options->count || options->count > ROWS_COUNT_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "rows '%s': count is %" PRIu32
				  ", not in 1 .. 2^24",
				  options->name, options->count);
	if (options->generator && options->generator->context != context)
		return status_set(PHILOX_ERROR_INVALID,
				  "rows '%s': generator is of another context",
				  options->name);
	return PHILOX_OK;
}

static struct philox_rows *allocate_rows(struct philox_context *context,
					 const struct philox_rows_desc *options)
{
	struct philox_rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return NULL;
	rows->context = context;
	rows->table.count = options->count;
	rows->name = strdup(options->name);
	rows->marks = calloc(options->count / 8 + 1, 1);
	rows->life = calloc(1, sizeof(*rows->life));
	if (!rows->name || !rows->marks || !rows->life) {
		free(rows->life);
		rows->life = NULL;
		free_rows(rows);
		return NULL;
	}
	atomic_init(&rows->life->references, 1);
	rows->key = hash_text(rows->name, strlen(rows->name));
	rows->generator =
		options->generator ? options->generator : context->generator;
	return rows;
}

/* And makes room for it. */
static enum philox_status check_name(struct philox_context *context,
				     const struct philox_rows *made)
{
	const struct philox_rows *rows = map_value(&context->tables, made->key);

	if (!rows && map_reserve(&context->tables, context->tables.count + 1))
		return PHILOX_OK;
	if (!rows)
		return status_set(PHILOX_ERROR_MEMORY, "no memory for rows '%s'",
				  made->name);
	if (!strcmp(rows->name, made->name))
		return status_set(PHILOX_ERROR_EXISTS,
				  "rows '%s': a table of this name is alive",
				  made->name);
	return status_set(PHILOX_ERROR_EXISTS,
			  "rows '%s': rows '%s' has its hash", made->name,
			  rows->name);
}

/*
 * With the context's lock held, so that no name is taken twice. A table that
 * could not be filled is dead from the beginning.
 */
static enum philox_status begin_life(struct philox_rows *rows)
{
	struct philox_context *context = rows->context;
	enum philox_status status = rows_memory_init(rows);

	if (status != PHILOX_OK) {
		list_dead(rows);
		return status_prefix(status, "rows '%s': ", rows->name);
	}
	LIST_ADD(&context->rows, rows);
	map_put(&context->tables, rows->key, rows);
	rows->generator->tables++;
	write_event(rows, "create");
	return PHILOX_OK;
}

static enum philox_status create_rows(struct philox_context *context,
				      const struct philox_rows_desc *options,
				      struct philox_rows **out)
{
	struct philox_rows *rows = allocate_rows(context, options);
	enum philox_status status;

	if (!rows)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for rows '%s'", options->name);
	free_unheld(context);
	context_lock(context);
	status = check_name(context, rows);
	if (status == PHILOX_OK)
		status = begin_life(rows);
	else
		free_rows(rows);
	context_unlock(context);
	if (status == PHILOX_OK)
		*out = rows;
	else
		free_unheld(context);
	return status;
}

enum philox_status philox_rows_create(struct philox_context *context,
				      const struct philox_rows_desc *options,
				      struct philox_rows **rows)
{
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	if (!options || !rows)
		return context_null(context, options ? "rows" : "options");
	NEED_PROCESS(context);
	status = check_options(context, options);
	if (status == PHILOX_OK)
		status = create_rows(context, options, rows);
	return context_report(context, status, NULL);
}

/* --- destroying ----------------------------------------------------------- */

static void end_life(struct philox_rows *rows)
{
	LIST_REMOVE(rows);
	map_remove(&rows->context->tables, rows->key, rows);
	list_dead(rows);
	rows->generator->tables--;
	write_event(rows, "destroy");
}

/* Its memory is freed without the lock; its name stays taken until then. */
static enum philox_status end_life_freed(struct philox_rows *rows)
{
	enum philox_status status = rows_memory_free(rows);

	context_lock(rows->context);
	rows->leaving = 0;
	if (status == PHILOX_OK)
		end_life(rows);
	context_unlock(rows->context);
	return status;
}

static enum philox_status destroy_rows(struct philox_rows *rows)
{
	int held;

	context_lock(rows->context);
	held = is_held(rows);
	if (held)
		end_life(rows);
	else
		rows->leaving = 1;
	context_unlock(rows->context);
	return held ? PHILOX_OK : end_life_freed(rows);
}

enum philox_status philox_rows_destroy(struct philox_rows *rows)
{
	struct philox_context *context;
	const char *before;
	enum philox_status status;

	if (!rows)
		return PHILOX_OK;
	context = rows->context;
	NEED_PROCESS(context);
	if (trial_here(context))
		return rows_report(rows, trial_refuse(trial_here(context),
						      "a table of rows is "
						      "destroyed"));
	before = device_within(__func__);
	status = destroy_rows(rows);
	device_within(before);
	if (status != PHILOX_OK)
		return rows_report(rows, status);
	free_unheld(context);
	return context_report(context, PHILOX_OK, NULL);
}

static void finish_list(struct philox_rows *list)
{
	struct philox_rows *rows;

	while ((rows = list)) {
		list = rows->next;
		rows_memory_free(rows);
		free_rows(rows);
	}
}

void rows_finish(struct philox_context *context)
{
	finish_list(context->rows);
	finish_list(context->dead_rows);
	context->rows = context->dead_rows = NULL;
	map_finish(&context->tables);
}

/* --- look: queries of a table of rows ------------------------------------- */

uint32_t philox_rows_count(const struct philox_rows *rows)
{
	return rows ? (uint32_t)rows->table.count : 0;
}

const char *philox_rows_name(const struct philox_rows *rows)
{
	return rows ? rows->name : "";
}

enum philox_status philox_rows_states(struct philox_rows *rows,
				      struct philox_state **states)
{
	struct trial *trial = rows ? trial_here(rows->context) : NULL;
	enum philox_status status = PHILOX_OK;

	if (!rows)
		return context_null(NULL, "rows");
	if (!states)
		return rows_report(rows, status_set(PHILOX_ERROR_INVALID,
						    "states is NULL"));
	if (trial) /* the caller's kernels may write them */
		status = trial->touch(trial, rows, trial->stream);
	if (status == PHILOX_OK)
		*states = rows->table.states;
	return status == PHILOX_OK ? status : rows_report(rows, status);
}

/* The size of the struct's first version. */
#define REPORT_SIZE_FIRST OPTIONS_FIRST(struct philox_rows_report, used_up)
OPTIONS_NO_PADDING(struct philox_rows_report, used_up);

static enum philox_status check_report(const struct philox_rows_report *report)
{
	if (!report)
		return PHILOX_OK;
	return options_check_room("report", report->size, REPORT_SIZE_FIRST,
				  sizeof(*report));
}

/* With the context's lock held. */
static void take_notice(struct philox_rows *rows, struct rows_seen *report)
{
	struct rows_seen now = rows_read_notice(rows->notice);

	report->launches = now.launches - rows->seen.launches;
	report->outside = now.outside - rows->seen.outside;
	report->used_up = now.used_up - rows->seen.used_up;
	rows->seen = now;
}

static void fill_report(struct philox_rows_report *report,
			const struct rows_seen *found)
{
	const struct philox_rows_report full = {.size = report->size,
						.launches = found->launches,
						.outside = found->outside,
						.used_up = found->used_up};

	options_write(report, &full, sizeof(full));
}

static enum philox_status check_launches(struct philox_rows *rows,
					 struct philox_rows_report *report)
{
	struct rows_seen found;

	context_lock(rows->context);
	take_notice(rows, &found);
	context_unlock(rows->context);
	if (report)
		fill_report(report, &found);
	if (!found.launches)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_OVERFLOW,
			  "entries with an index out of range: %" PRIu64
			  ", with a row that is used up: %" PRIu64
			  ", in launches: %" PRIu64,
			  found.outside, found.used_up, found.launches);
}

enum philox_status philox_rows_check(struct philox_rows *rows,
				     struct philox_rows_report *report)
{
	enum philox_status status;

	if (!rows)
		return context_null(NULL, "rows");
	NEED_PROCESS(rows->context);
	status = check_report(report);
	if (status == PHILOX_OK)
		status = check_launches(rows, report);
	return rows_report(rows, status);
}

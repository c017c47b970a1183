/*
 * graph/verify/launch.c - launches that are verified against their eager form
 *
 * See Note [Verification] in graph/verify/verify.h.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/verify/verify.h"
#include "lib/base/base.h"
#include "lib/device/device.h"

/* The size of the struct's first version. */
#define VERIFY_SIZE_FIRST OPTIONS_FIRST(struct philox_verify_desc, user)
OPTIONS_NO_PADDING(struct philox_verify_desc, user);

#define ARRAYS_MAX (1u << 20)

/* --- checks ----------------------------------------------------------------- */

static enum philox_status check_array(const struct philox_graph *graph,
				      const struct philox_array_desc *array,
				      size_t index)
{
	const char *wrong = NULL;

	if (!array->name || !*array->name)
		wrong = "name";
	else if (!array->address)
		wrong = "address";
	else if (!array->bytes ||
		 array->bytes > UINTPTR_MAX - (uintptr_t)array->address)
		wrong = "bytes";
	else if (array->elements > PHILOX_ELEMENTS(PHILOX_DTYPE_I64))
		wrong = "elements";
	else if (array->reserved)
		wrong = "reserved";
	if (!wrong)
		return name_check(array->name,
				  "'%s', verified: the name of "
				  "array %zu",
				  graph->name, index);
	return status_set(PHILOX_ERROR_INVALID,
			  "'%s', verified: %s of array %zu is a value that it "
			  "cannot have",
			  graph->name, wrong, index);
}

static int by_place_of_array(const void *one, const void *other)
{
	const struct philox_array_desc *const *a = one, *const *b = other;
	const uintptr_t x = (uintptr_t)(*a)->address;
	const uintptr_t y = (uintptr_t)(*b)->address;

	return (x > y) - (x < y);
}

static enum philox_status check_apart(const struct philox_graph *graph,
				      const struct philox_array_desc *arrays,
				      size_t n)
{
	const struct philox_array_desc **sorted =
		calloc(n + 1, sizeof(*sorted));
	enum philox_status status = PHILOX_OK;

	if (!sorted)
		return status_set(PHILOX_ERROR_MEMORY,
				  "'%s': no memory to verify it", graph->name);
	for (size_t i = 0; i < n; i++)
		sorted[i] = &arrays[i];
	qsort(sorted, n, sizeof(*sorted), by_place_of_array);
	for (size_t i = 1; status == PHILOX_OK && i < n; i++)
		if ((uintptr_t)sorted[i]->address <
		    (uintptr_t)sorted[i - 1]->address + sorted[i - 1]->bytes)
			status = status_set(PHILOX_ERROR_INVALID,
					    "'%s', verified: arrays '%s' and "
					    "'%s' overlap",
					    graph->name, sorted[i - 1]->name,
					    sorted[i]->name);
	free(sorted);
	return status;
}

static enum philox_status check_arrays_of(
	const struct philox_graph *graph,
	const struct philox_verify_desc *options)
{
	enum philox_status status = PHILOX_OK;

	if (options->n_arrays > ARRAYS_MAX)
		return status_set(PHILOX_ERROR_INVALID,
				  "'%s', verified: n_arrays is %zu, above 2^20",
				  graph->name, options->n_arrays);
	if (options->n_arrays && !options->arrays)
		return status_set(PHILOX_ERROR_INVALID,
				  "'%s', verified: arrays is NULL",
				  graph->name);
	for (size_t i = 0; status == PHILOX_OK && i < options->n_arrays; i++)
		status = check_array(graph, &options->arrays[i], i);
	return status == PHILOX_OK
		       ? check_apart(graph, options->arrays, options->n_arrays)
		       : status;
}

static enum philox_status check_pool_of(
	const struct philox_graph *graph,
	const struct philox_verify_desc *options)
{
	const struct pool_capture *of;

	if (!options->pool)
		return status_set(PHILOX_ERROR_INVALID,
				  "'%s', verified: pool is NULL", graph->name);
	if (options->pool->context != graph->context)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "'%s', verified: pool '%s' is of another "
				  "context",
				  graph->name, options->pool->name);
	for (of = graph->pools; of; of = of->sibling)
		if (of->pool == options->pool)
			return status_set(PHILOX_ERROR_BUSY,
					  "'%s', verified: it was captured "
					  "with pool '%s'",
					  graph->name, options->pool->name);
	return PHILOX_OK;
}

/* A body may run as often as the device says, in which only it knows the numbers. */
static enum philox_status check_passes_of(const struct philox_graph *graph)
{
	const struct capture *capture = graph->capture;
	int loops = capture && capture->n_nodes;

	for (uint32_t i = 0; capture && i < capture->n_passes; i++)
		loops |= capture->passes[i].iterations > 1;
	if (!loops)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_UNSUPPORTED,
			  "'%s' cannot be verified: it has %s", graph->name,
			  capture->n_nodes ? "conditional nodes"
					   : "forwards of several iterations");
}

static enum philox_status check_verify_options(
	const struct philox_graph *graph,
	const struct philox_verify_desc *given,
	struct philox_verify_desc *options)
{
	enum philox_status status =
		options_copy("verify options", given, given->size,
			     VERIFY_SIZE_FIRST, sizeof(*options), options);

	if (status == PHILOX_OK && !options->eager)
		status = status_set(PHILOX_ERROR_INVALID,
				    "'%s', verified: eager is NULL",
				    graph->name);
	if (status == PHILOX_OK)
		status = check_pool_of(graph, options);
	if (status == PHILOX_OK)
		status = check_arrays_of(graph, options);
	return status == PHILOX_OK ? check_passes_of(graph) : status;
}

/* --- what the eager form asks for --------------------------------------------- */

static uint32_t n_begun(const struct verify *verify)
{
	return (uint32_t)verify->callback.n_passes;
}

static enum philox_status check_whole(const struct verify *verify)
{
	const struct philox_graph *graph = verify->graph;
	const uint32_t n = n_begun(verify);

	for (uint32_t i = 0; i < n; i++) {
		const struct callback_pass *pass = &verify->callback.passes[i];

		if (pass->state != CALLBACK_PASS_COMMITTED)
			return status_set(
				PHILOX_ERROR_STATE,
				"'%s': its eager form has succeeded, but pass "
				"%" PRIu32 ", of region '%s', %s",
				graph->name, i, pass->pass.region->name,
				pass->state == CALLBACK_PASS_OPEN
					? "is open"
					: "was aborted");
	}
	if (n == graph->n_uses)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "'%s' has %" PRIu32 " pass%s, and its eager form "
			  "%" PRIu32,
			  graph->name, graph->n_uses, status_es(graph->n_uses),
			  n);
}

static struct verify *verify_of(const struct philox_run *run)
{
	return (struct verify *)((uintptr_t)run -
				 offsetof(struct verify, callback));
}

static enum philox_status check_form(const struct verify *verify)
{
	if (callback_is_here(&verify->callback))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "'%s': no eager form of it is running on this thread",
			  verify->graph->name);
}

static enum philox_status report_form(const struct verify *verify,
				      enum philox_status status)
{
	return graph_report(verify->graph, status, NULL);
}

philox_stream form_stream(const struct philox_run *run)
{
	return verify_of(run)->stream;
}

static enum philox_status find_array(const struct verify *verify, size_t index,
				     void **address, size_t *bytes)
{
	enum philox_status status = check_form(verify);

	if (status != PHILOX_OK)
		return status;
	if (!address)
		return status_set(PHILOX_ERROR_INVALID, "address is NULL");
	if (index >= verify->options->n_arrays)
		return status_set(
			PHILOX_ERROR_INVALID,
			"'%s', verified: there is no array %zu of %zu",
			verify->graph->name, index, verify->options->n_arrays);
	*address = verify->memory[index].copies[verify->turn];
	if (bytes)
		*bytes = verify->options->arrays[index].bytes;
	return PHILOX_OK;
}

enum philox_status form_input(struct philox_run *run, size_t index,
			      void **address, size_t *bytes)
{
	const struct verify *verify = verify_of(run);

	return report_form(verify, find_array(verify, index, address, bytes));
}

enum philox_status form_refuse(struct philox_run *run, const char *what)
{
	const struct verify *verify = verify_of(run);
	enum philox_status status = check_form(verify);

	if (status == PHILOX_OK)
		status = status_set(PHILOX_ERROR_UNSUPPORTED,
				    "'%s': its eager form has no %s: only "
				    "bodies of runners have",
				    verify->graph->name, what);
	return report_form(verify, status);
}

/* --- passes ------------------------------------------------------------------------ */

/* The pass that the callback begins next is that of the graph. */
static enum philox_status begin_next(struct verify *verify,
				     struct philox_region *region, int backward,
				     unsigned flags,
				     struct philox_ticket ticket,
				     struct philox_pass *pass)
{
	const uint32_t index = n_begun(verify);
	struct callback_pass made = {.given = 1, .dry = 1};
	struct philox_pass begun;
	enum philox_status status = verify_begin_pass(verify, region, index,
						      backward, flags, &begun);

	if (status != PHILOX_OK)
		return status;
	made.pass = begun;
	begun.ticket = ticket;
	callback_add(&verify->callback, &begun, &made, 1);
	*pass = begun;
	return PHILOX_OK;
}

static enum philox_status check_begin(const struct verify *verify,
				      const struct philox_region *region,
				      const struct philox_pass *pass)
{
	enum philox_status status = check_form(verify);

	if (status != PHILOX_OK)
		return status;
	if (!region || !pass)
		return status_set(PHILOX_ERROR_INVALID, "%s is NULL",
				  region ? "pass" : "region");
	return PHILOX_OK;
}

static enum philox_status refuse_flags(const struct verify *verify,
				       const struct captured_pass *captured,
				       unsigned flags)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': pass %" PRIu32 " of '%s' has flags "
			  "0x%" PRIx32 ", not 0x%x",
			  captured->region->name, n_begun(verify),
			  verify->graph->name, captured->flags, flags);
}

/* The next pass of the graph; NULL: there is none, or it is another region's. */
static const struct captured_pass *next_captured(const struct verify *verify)
{
	const struct capture *capture = verify->graph->capture;

	return capture && n_begun(verify) < capture->n_passes
		       ? &capture->passes[n_begun(verify)]
		       : NULL;
}

enum philox_status form_forward_begin(struct philox_run *run,
				      struct philox_region *region,
				      unsigned flags, struct philox_pass *pass)
{
	const unsigned kinds = PHILOX_PASS_INFERENCE | PHILOX_PASS_WARMUP;
	struct verify *verify = verify_of(run);
	const struct captured_pass *captured;
	struct philox_ticket ticket = {0, 0};
	enum philox_status status = check_begin(verify, region, pass);

	if (status == PHILOX_OK) {
		captured = next_captured(verify);
		if (captured && captured->region == region &&
		    !captured->backward && ((captured->flags ^ flags) & kinds))
			status = refuse_flags(verify, captured, flags);
		if (!(flags & kinds))
			ticket =
				callback_placeholder(&verify->callback, region);
	}
	if (status == PHILOX_OK)
		status = begin_next(verify, region, 0, flags, ticket, pass);
	if (status != PHILOX_OK && pass)
		*pass = (struct philox_pass){.region = NULL};
	return report_form(verify, status);
}

/* A ticket names an earlier pass of the callback, as it did in the capture. */
static enum philox_status check_ticket_of(const struct verify *verify,
					  const struct philox_region *region,
					  struct philox_ticket ticket)
{
	const struct captured_pass *captured = next_captured(verify);
	uint32_t source = CAPTURED_NO_SOURCE;

	if (ticket.serial)
		source = (uint32_t)((ticket.serial & ~SERIAL_PLACEHOLDER) - 1);
	if (!captured || captured->region != region || !captured->backward)
		return PHILOX_OK; /* which is refused in other words */
	if (captured->source == source &&
	    (!ticket.serial || ticket.region_key == region->key))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': pass %" PRIu32 " of '%s' %s, and that "
			  "of its eager form does not",
			  region->name, n_begun(verify), verify->graph->name,
			  captured->source == CAPTURED_NO_SOURCE
				  ? "is named at launch"
				  : "repeats an earlier pass");
}

enum philox_status form_backward_begin(struct philox_run *run,
				       struct philox_region *region,
				       struct philox_ticket ticket,
				       unsigned flags, struct philox_pass *pass)
{
	struct verify *verify = verify_of(run);
	enum philox_status status = check_begin(verify, region, pass);

	if (status == PHILOX_OK)
		status = check_ticket_of(verify, region, ticket);
	if (status == PHILOX_OK && !ticket.serial)
		ticket = callback_placeholder(&verify->callback, region);
	if (status == PHILOX_OK)
		status = begin_next(verify, region, 1, flags, ticket, pass);
	if (status != PHILOX_OK && pass)
		*pass = (struct philox_pass){.region = NULL};
	return report_form(verify, status);
}

/* --- the eager form ----------------------------------------------------------- */

static enum philox_status name_graph(const struct philox_graph *graph,
				     const struct status_message *before,
				     enum philox_status status)
{
	const char *why = philox_error_message();

	if (status != PHILOX_OK && !status_is_other(before))
		return status_set(status, "'%s': its eager form returned %s",
				  graph->name, philox_status_name(status));
	if (status == PHILOX_OK || strncmp(why, "'", 1) == 0)
		return status;
	return status_prefix(status, "'%s', its eager form: ", graph->name);
}

static enum philox_status run_callback(struct verify *verify)
{
	const struct philox_verify_desc *options = verify->options;
	struct philox_run *callback = &verify->callback;
	const struct status_message before = status_kept();
	enum philox_status status;

	callback->kind = CALLBACK_FORM;
	callback_begin(callback, verify->graph->context);
	callback_enter(callback);
	status = options->eager(options->user, callback);
	if (status == PHILOX_OK)
		status = check_whole(verify);
	callback_leave(callback);
	for (size_t i = 0; i < callback->n_passes; i++)
		callback_give_cells(&callback->passes[i]);
	callback_end(callback);
	if (status != PHILOX_OK)
		return name_graph(verify->graph, &before, status);
	for (size_t i = 0; verify->turn && i < options->n_arrays; i++)
		verify->items[i].copies[1] = verify->memory[i].copies[1];
	return PHILOX_OK;
}

static enum philox_status reserve_passes(struct verify *verify)
{
	const struct philox_graph *graph = verify->graph;
	struct philox_run *callback = &verify->callback;

	callback->passes = calloc(graph->n_uses + 1, sizeof(*callback->passes));
	if (callback->passes)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MEMORY, "'%s': no memory to verify it",
			  graph->name);
}

/* Tables of rows may come to the arrays. */
#define MORE_ITEMS 64

static enum philox_status reserve_arrays(struct verify *verify)
{
	const struct philox_verify_desc *options = verify->options;
	enum philox_status status =
		verify_reserve_places(verify, options->n_arrays + MORE_ITEMS);

	for (size_t i = 0; status == PHILOX_OK && i < options->n_arrays; i++) {
		const struct philox_array_desc *array = &options->arrays[i];
		const size_t aligned = (uintptr_t)array->address &
				       (~(uintptr_t)array->address + 1);

		status = verify_reserve(verify, array->address, array->bytes,
					aligned < POOL_ALIGNMENT_MAX
						? aligned
						: POOL_ALIGNMENT_MAX);
	}
	return status;
}

static enum philox_status add_arrays(struct verify *verify)
{
	const struct philox_verify_desc *options = verify->options;
	enum philox_status status = PHILOX_OK;

	for (size_t i = 0; status == PHILOX_OK && i < options->n_arrays; i++) {
		const struct philox_array_desc *array = &options->arrays[i];
		struct verify_item item = {
			.what = "array",
			.name = array->name,
			.origin = "",
			.elements = array->elements,
			.bytes = array->bytes,
			.real = array->address,
			.copies = {verify->memory[i].copies[0], NULL}};

		status = verify_keep_reserved(verify, i);
		if (status == PHILOX_OK)
			status = verify_add(verify, &item);
	}
	return status;
}

/* --- the launch ---------------------------------------------------------------- */

static enum philox_status refuse_graph(struct verify *verify,
				       const struct verify_item *item,
				       uint64_t place)
{
	const struct philox_graph *graph = verify->graph;
	enum verify_why why;
	char text[VERIFY_TEXT];
	enum philox_status status =
		verify_explain(verify, item, place, &why, text);

	if (status != PHILOX_OK)
		return status_prefix(status, "'%s', verified: ", graph->name);
	return status_set(PHILOX_ERROR_DIFFERS,
			  "'%s' differs from its eager form: %s", graph->name,
			  text);
}

static enum philox_status launch_and_compare(struct verify *verify)
{
	const struct philox_graph *graph = verify->graph;
	const struct verify_item *item;
	uint64_t place;
	struct status_message kept;
	enum philox_status status = philox_native_exec_launch(
		graph->context->device, verify->stream, graph->exec);

	if (status != PHILOX_OK)
		return status_prefix(status, "'%s': ", graph->name);
	status = verify_compare(verify, 0, &item, &place);
	if (status != PHILOX_OK)
		status_prefix(status, "'%s': ", graph->name);
	else if (item)
		status = refuse_graph(verify, item, place);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	kept = status_kept();
	return status_first(status, &kept, verify_put_back(verify));
}

/*
 * A session that could not be ended, since the device fails, keeps its pool
 * busy until the next launch that is verified with it has ended it.
 */
static void close_launch(struct verify *verify)
{
	struct philox_pool *pool = verify->options->pool;
	struct philox_pool_session *stuck = verify_close(verify);

	if (stuck) {
		pool_lock(pool);
		pool->stuck = stuck;
		pool_unlock(pool);
	}
	free(verify->callback.passes);
}

static enum philox_status end_stuck_session(struct philox_pool *pool)
{
	struct philox_pool_session *stuck;
	enum philox_status status;

	pool_lock(pool);
	stuck = pool->stuck;
	pool->stuck = NULL;
	pool_unlock(pool);
	status = session_end_stuck(&stuck);
	if (status == PHILOX_OK)
		return PHILOX_OK;
	pool_lock(pool);
	pool->stuck = stuck;
	pool_unlock(pool);
	return status;
}

/* What there is no memory for is refused before numbers are taken. */
static enum philox_status open_launch(struct verify *verify)
{
	const struct philox_graph *graph = verify->graph;
	enum philox_status status =
		device_refuse_capture(graph->context->device, verify->stream);

	if (status != PHILOX_OK)
		return status_prefix(status,
				     "'%s' cannot be launched: ", graph->name);
	status = end_stuck_session(verify->options->pool);
	if (status == PHILOX_OK)
		status = reserve_passes(verify);
	if (status == PHILOX_OK)
		status = verify_open(verify);
	return status == PHILOX_OK ? reserve_arrays(verify) : status;
}

static enum philox_status launch_verified(struct verify *verify)
{
	enum philox_status status = add_arrays(verify);

	if (status == PHILOX_OK)
		status = verify_try(verify);
	if (status == PHILOX_OK)
		status = launch_and_compare(verify);
	close_launch(verify);
	return status;
}

/* The epilogue says the same of the launch, whatever its message. */
static enum philox_status launch_in_between(
	struct philox_graph *graph, philox_stream stream,
	struct philox_launch_pass *uses, size_t n,
	const struct philox_verify_desc *options)
{
	struct verify verify = {.graph = graph,
				.pool = options->pool,
				.stream = stream,
				.run = run_callback,
				.options = options};
	struct status_message kept;
	enum philox_status status = open_launch(&verify);

	if (status != PHILOX_OK) {
		close_launch(&verify);
		return graph_report(graph, status, NULL);
	}
	status = philox_graph_prologue(graph, stream, uses, n);
	if (status != PHILOX_OK) {
		close_launch(&verify);
		return status;
	}
	status = launch_verified(&verify);
	kept = status_kept();
	philox_graph_epilogue(graph, status);
	status_restore(&kept);
	return graph_report(graph, status, NULL);
}

enum philox_status philox_graph_launch_verified(
	struct philox_graph *graph, philox_stream stream,
	struct philox_launch_pass *uses, size_t n,
	const struct philox_verify_desc *options)
{
	struct philox_verify_desc checked;
	enum philox_status status;

	if (!graph)
		return context_null(NULL, "graph");
	if (!options)
		return context_null(graph->context, "options");
	NEED_PROCESS(graph->context);
	status = check_verify_options(graph, options, &checked);
	if (status != PHILOX_OK)
		return graph_report(graph, status, NULL);
	return launch_in_between(graph, stream, uses, n, &checked);
}

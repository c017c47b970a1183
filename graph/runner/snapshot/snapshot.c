/*
 * graph/runner/snapshot/snapshot.c - a runner as a text: see Note [Runner
 * snapshot]
 *
 * What it has is copied by the thread that is in the runner, and then written.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/function/function.h"
#include "graph/runner/snapshot/snapshot.h"
#include "graph/runner/state/state.h"
#include "lib/containers/array.h"
#include "lib/pass/pass.h"
#include "lib/text/text.h"

/* Where extents of the pool are, in order of address. */
struct extent_place {
	uintptr_t begin, end;
	uint64_t segment, offset;
};

/* A key of the function that is being copied, in order of address. */
struct key_place {
	const struct key *key;
	size_t place;
};

struct text_copying {
	struct runner_text *text;
	struct philox_runner *runner;
	const struct philox_function **functions; /* in order of making */
	struct extent_place *extents;
	size_t n_extents;
	struct key_place *keys;
	size_t n_keys;
	int failed; /* no memory */
};

static void *text_row(struct text_copying *copying, void *table, size_t *n,
		      size_t size)
{
	void *row = copying->failed ? NULL : array_grow(table, *n, 1, size);

	copying->failed |= !row;
	*n += row != NULL;
	return row;
}

static char *copy_string(struct text_copying *copying, const char *from)
{
	char *copy = strdup(from);

	copying->failed |= !copy;
	return copy;
}

/* --- functions ------------------------------------------------------------ */

static uint64_t number_of(const struct text_copying *copying,
			  const struct philox_function *function)
{
	size_t i = 0;

	while (copying->functions[i] != function)
		i++;
	return i + 1;
}

static void copy_part(struct text_copying *copying, enum text_part_kind kind,
		      const char *name, const char *origin,
		      const struct text_part *like)
{
	struct runner_text *text = copying->text;
	struct text_part *part =
		text_row(copying, &text->parts, &text->n_parts, sizeof(*part));

	if (!part)
		return;
	*part = *like;
	part->is = kind;
	part->name = copy_string(copying, name);
	part->origin = copy_string(copying, origin);
}

static void copy_signature(struct text_copying *copying,
			   const struct philox_function *function,
			   struct text_function *to)
{
	const struct runner_text *text = copying->text;

	to->inputs.first = text->n_parts;
	for (size_t i = 0; i < function->n_inputs; i++) {
		const struct philox_input_desc *input = &function->inputs[i];

		copy_part(copying, TEXT_INPUT, input->name, input->origin,
			  &(struct text_part){.kind = input->kind,
					      .flags = input->flags,
					      .alignment = input->alignment,
					      .elements = input->elements});
	}
	to->outputs.first = text->n_parts;
	for (size_t i = 0; i < function->n_outputs; i++)
		copy_part(copying, TEXT_OUTPUT, function->outputs[i].name,
			  function->outputs[i].origin,
			  &(struct text_part){
				  .elements = function->outputs[i].elements});
	to->values.first = text->n_parts;
	for (size_t i = 0; i < function->n_params; i++)
		copy_part(copying, TEXT_VALUE, function->params[i].name, "",
			  &(struct text_part){
				  .alignment = function->params[i].bytes});
	to->inputs.n = function->n_inputs;
	to->outputs.n = function->n_outputs;
	to->values.n = function->n_params;
}

static void drop_times(struct philox_function_stats *counts)
{
	counts->create_ns = counts->dry_ns = counts->eager_ns = 0;
	counts->warmup_ns = counts->record_ns = counts->instantiate_ns = 0;
	counts->checkpoint_ns = counts->restore_ns = counts->first_ns = 0;
	counts->replay_ns = counts->verify_ns = 0;
	counts->device_ns = counts->device_launches = 0;
}

/* --- keys ----------------------------------------------------------------- */

static int by_key_pointer(const void *one, const void *other)
{
	const struct key_place *a = one, *b = other;

	return (a->key > b->key) - (a->key < b->key);
}

static size_t key_place(const struct text_copying *copying,
			const struct key *key)
{
	const struct key_place wanted = {.key = key};
	const struct key_place *found =
		bsearch(&wanted, copying->keys, copying->n_keys, sizeof(wanted),
			by_key_pointer);

	return found->place;
}

/* The function has them newest first. */
static size_t count_text_keys(const struct philox_function *function)
{
	size_t n = 0;

	for (const struct key *key = function->keys; key;
	     key = key->next_in_function)
		n++;
	return n;
}

static void copy_key(struct text_copying *copying, const struct key *key,
		     struct text_key *to)
{
	to->bytes = malloc(key->size + 1);
	if (!to->bytes) {
		copying->failed = 1;
		return;
	}
	memcpy(to->bytes, key->bytes, key->size);
	to->size = key->size;
	memcpy(to->label, key->label, sizeof(to->label));
	to->calls = key->calls;
	to->warmups = key->warmups;
	to->dry = key->dry;
	to->wait = key->wait;
	reason_copy(to->refused, key->refused);
}

static void copy_keys(struct text_copying *copying,
		      const struct philox_function *function,
		      struct text_function *to)
{
	struct runner_text *text = copying->text;
	const struct key *key = function->keys;

	to->keys.first = text->n_keys;
	to->keys.n = count_text_keys(function);
	for (size_t i = 0; i < to->keys.n; i++)
		text_row(copying, &text->keys, &text->n_keys,
			 sizeof(*text->keys));
	free(copying->keys);
	copying->n_keys = to->keys.n;
	copying->keys = calloc(to->keys.n + 1, sizeof(*copying->keys));
	copying->failed |= !copying->keys;
	for (size_t i = to->keys.n; !copying->failed && i--;
	     key = key->next_in_function) {
		copy_key(copying, key, &text->keys[to->keys.first + i]);
		copying->keys[i] = (struct key_place){key, i};
	}
	if (!copying->failed)
		qsort(copying->keys, to->keys.n, sizeof(*copying->keys),
		      by_key_pointer);
}

/* --- recordings ----------------------------------------------------------- */

static void copy_sources(struct text_copying *copying,
			 const struct recording *recording)
{
	struct runner_text *text = copying->text;

	for (size_t i = 0; i < recording->function->n_inputs; i++) {
		const struct recorded_source *source = &recording->sources[i];
		struct text_source *to = text_row(
			copying, &text->sources, &text->n_sources, sizeof(*to));

		if (!to)
			return;
		to->copied = recording->buffers[i] != NULL;
		to->id = source->id;
		if (!source->function)
			continue;
		to->function = number_of(copying, source->function);
		to->output = source->output + 1;
		to->recording = source->recording;
	}
}

/* The first extent that ends after an address. */
static size_t extent_after(const struct text_copying *copying,
			   uintptr_t address)
{
	size_t low = 0, high = copying->n_extents;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (copying->extents[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Memory that neighbours in addresses may be of two segments. */
static void copy_range(struct text_copying *copying, struct range range)
{
	struct runner_text *text = copying->text;

	for (size_t i = extent_after(copying, range.begin);
	     i < copying->n_extents && copying->extents[i].begin < range.end;
	     i++) {
		const struct extent_place *extent = &copying->extents[i];
		const uintptr_t begin = range.begin > extent->begin
						? range.begin
						: extent->begin;
		const uintptr_t end =
			range.end < extent->end ? range.end : extent->end;
		struct text_range *to = text_row(copying, &text->ranges,
						 &text->n_ranges, sizeof(*to));

		if (!to)
			return;
		to->segment = extent->segment;
		to->offset = extent->offset + (begin - extent->begin);
		to->bytes = end - begin;
	}
}

static int by_text_place(const void *one, const void *other)
{
	const struct text_range *a = one, *b = other;

	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* In order of place, with those joined that touch. */
static size_t order_ranges(struct text_range *ranges, size_t n)
{
	size_t joined = 0;

	if (!n)
		return 0;
	qsort(ranges, n, sizeof(*ranges), by_text_place);
	for (size_t i = 1; i < n; i++) {
		struct text_range *last = &ranges[joined];

		if (ranges[i].segment == last->segment &&
		    ranges[i].offset == last->offset + last->bytes)
			last->bytes += ranges[i].bytes;
		else
			ranges[++joined] = ranges[i];
	}
	return joined + 1;
}

static void copy_ranges(struct text_copying *copying,
			const struct recording *recording,
			struct text_recording *to)
{
	struct runner_text *text = copying->text;
	const size_t first = text->n_ranges;

	for (size_t i = 0; i < recording->n_ranges; i++)
		copy_range(copying, recording->ranges[i]);
	if (copying->failed)
		return;
	to->ranges.first = first;
	to->ranges.n = order_ranges(text->ranges ? text->ranges + first : NULL,
				    text->n_ranges - first);
	text->n_ranges = first + to->ranges.n;
	for (size_t i = 0; i < to->ranges.n; i++)
		to->writes += text->ranges[first + i].bytes;
}

static void copy_recording(struct text_copying *copying,
			   const struct recording *recording,
			   struct text_recording *to)
{
	to->number = recording->number;
	to->function = number_of(copying, recording->function) - 1;
	to->key = key_place(copying, recording->key) + 1;
	to->replays = recording->replays;
	to->prepared = recording->prepared != 0;
	to->bytes = recording->bytes + recording->alone;
	to->passes = recording->n_uses;
	to->sources.first = copying->text->n_sources;
	to->sources.n = recording->function->n_inputs;
	copy_sources(copying, recording);
	copy_ranges(copying, recording, to);
}

static int by_number(const void *one, const void *other)
{
	const struct recording *const *a = one, *const *b = other;

	return ((*a)->number > (*b)->number) - ((*a)->number < (*b)->number);
}

/* Memory of the pool that is mapped no more is nowhere. */
static void find_place(const void *user, uintptr_t address, uint64_t *segment,
		       uint64_t *offset)
{
	const struct text_copying *copying = user;
	const size_t i = extent_after(copying, address);
	const struct extent_place *extent = &copying->extents[i];

	if (i == copying->n_extents || extent->begin > address)
		return;
	*segment = extent->segment;
	*offset = extent->offset + (address - extent->begin);
}

static void copy_takes(struct text_copying *copying,
		       const struct recording *recording,
		       struct text_program *program)
{
	struct program_text *text = &copying->text->program;

	program->takes = (struct text_part_of){text->n_takes,
					       recording->function->n_inputs};
	for (size_t i = 0; i < program->takes.n; i++) {
		uint64_t *bytes = text_row(copying, &text->takes,
					   &text->n_takes, sizeof(*bytes));

		if (!bytes)
			return;
		*bytes = recording->key->inputs[i].bytes;
	}
}

static void copy_times(struct text_copying *copying,
		       const struct recording *recording)
{
	struct runner_text *text = copying->text;
	const struct recording_times *times = &recording->times;
	const struct graph_times *made = &recording->graph->times;
	struct text_times *to =
		text_row(copying, &text->times, &text->n_times, sizeof(*to));

	if (to)
		*to = (struct text_times){.recording = recording->number,
					  .body = times->body,
					  .end = made->end,
					  .instantiate = made->instantiate,
					  .checkpoint = times->checkpoint,
					  .first = times->first,
					  .replay = times->replay,
					  .device_first = times->device_first,
					  .device_replay = times->device_replay,
					  .device_replays =
						  times->device_replays};
}

static void copy_program(struct text_copying *copying,
			 const struct recording *recording)
{
	struct program_text *text = &copying->text->program;
	const struct program_places places = {find_place, copying};
	const struct philox_graph *graph = recording->graph;
	struct text_program made = {.recording = recording->number}, *to;

	copy_takes(copying, recording, &made);
	if (!copying->failed)
		copying->failed |= !program_copy(
			text, &made, graph->context, graph->capture,
			&recording->steps, graph->native, &places);
	to = text_row(copying, &text->programs, &text->n_programs, sizeof(*to));
	if (to)
		*to = made;
	if (copying->text->timed)
		copy_times(copying, recording);
}

static void copy_recordings(struct text_copying *copying,
			    const struct philox_function *function,
			    struct text_function *to)
{
	struct runner_text *text = copying->text;
	const struct recording **order;
	const struct recording *recording = function->by_use.newest;
	size_t n = 0;

	order = calloc((size_t)function->counts.recordings + 1, sizeof(*order));
	copying->failed |= !order;
	for (; order && recording;
	     recording = recording->links[USE_OF_FUNCTION].older)
		order[n++] = recording;
	if (n)
		qsort(order, n, sizeof(*order), by_number);
	to->recordings.first = text->n_recordings;
	to->recordings.n = n;
	for (size_t i = 0; i < n; i++) {
		struct text_recording made = {.number = 0}, *row;

		copy_recording(copying, order[i], &made);
		row = text_row(copying, &text->recordings, &text->n_recordings,
			       sizeof(*row));
		if (!row)
			break;
		*row = made;
		copy_program(copying, order[i]);
	}
	free(order);
}

/* --- outputs -------------------------------------------------------------- */

/* The pool has them as its live blocks, in order of their ids. */
static uint64_t block_number(const struct philox_runner *runner, uint64_t id)
{
	const struct live_block *block = live_find(runner, id);

	return block ? (uint64_t)(block - runner->live) + 1 : 0;
}

/* The ticket that an output is tied to, if it is pending still. */
static void copy_tie(struct text_copying *copying,
		     const struct output_slot *slot, struct text_output *to)
{
	struct philox_region *region;
	struct philox_ticket ticket;

	if (!ties_ticket(slot, &region, &ticket) || !region)
		return;
	to->region = copy_string(copying, region->name);
	to->serial = ticket.serial;
}

static void copy_live(struct text_copying *copying,
		      const struct output_slot *slot)
{
	struct runner_text *text = copying->text;
	struct text_output *to =
		text_row(copying, &text->live, &text->n_live, sizeof(*to));

	if (!to)
		return;
	to->function = number_of(copying, slot->function);
	to->output = slot->output + 1;
	to->recording = slot->recording;
	to->block = slot->in_pool
			    ? block_number(copying->runner, slot->handle.id)
			    : 0;
	to->bytes = slot->handle.bytes;
	to->call = slot->call;
	to->tied = slot->tie != NULL;
	copy_tie(copying, slot, to);
}

/* --- tickets, and what they keep ------------------------------------------ */

static int by_region_and_serial(const void *one, const void *other)
{
	const struct owed_ticket *a = one, *b = other;
	const int order = strcmp(a->region->name, b->region->name);

	if (order)
		return order;
	return (a->ticket.serial > b->ticket.serial) -
	       (a->ticket.serial < b->ticket.serial);
}

/* One of a ticket that says who gave it out comes first. */
static int by_ticket_and_call(const void *one, const void *other)
{
	const struct owed_ticket *a = one, *b = other;
	const int order = by_region_and_serial(a, b);

	return order ? order : (a->call < b->call) - (a->call > b->call);
}

/* With the context's lock. */
static void copy_ticket(struct text_copying *copying,
			const struct owed_ticket *owed)
{
	struct runner_text *text = copying->text;
	const size_t first = text->n_items;
	struct kept_list list = {.room = 0};
	struct text_ticket *to;

	if (ticket_list_kept(owed->region, owed->ticket, &list) != PHILOX_OK ||
	    !list.n)
		return;
	to = text_row(copying, &text->tickets, &text->n_tickets, sizeof(*to));
	for (size_t i = 0; i < list.n; i++)
		text_row(copying, &text->items, &text->n_items,
			 sizeof(*text->items));
	if (copying->failed)
		return;
	list = (struct kept_list){.items = text->items + first, .room = list.n};
	ticket_list_kept(owed->region, owed->ticket, &list);
	to->region = copy_string(copying, owed->region->name);
	to->serial = owed->ticket.serial;
	to->bytes = list.bytes;
	to->items = (struct text_part_of){first, list.n};
	to->function = owed->function ? number_of(copying, owed->function) : 0;
	to->recording = owed->recording;
	to->call = owed->call;
}

/* A ticket that was given out is there again if an output is tied to it. */
static void copy_tickets(struct text_copying *copying)
{
	const struct philox_runner *runner = copying->runner;
	const size_t n = runner->n_owed;
	const struct status_message kept = status_kept();
	struct owed_ticket *owed = calloc(n + 1, sizeof(*owed));

	copying->failed |= !owed;
	if (!owed || !n) {
		free(owed);
		return;
	}
	memcpy(owed, runner->owed, n * sizeof(*owed));
	qsort(owed, n, sizeof(*owed), by_ticket_and_call);
	context_lock(runner->context);
	for (size_t i = 0; !copying->failed && i < n; i++)
		if (!i || by_region_and_serial(&owed[i - 1], &owed[i]))
			copy_ticket(copying, &owed[i]);
	context_unlock(runner->context);
	free(owed);
	status_restore(&kept);
}

/* --- the whole ------------------------------------------------------------ */

static void copy_text_extent(void *user, const struct pool_extent *extent)
{
	struct text_copying *copying = user;
	const uintptr_t begin = (uintptr_t)extent->address;
	struct extent_place *to = text_row(copying, &copying->extents,
					   &copying->n_extents, sizeof(*to));

	if (!to)
		return;
	*to = (struct extent_place){begin, begin + extent->bytes,
				    extent->segment, extent->offset};
}

static int by_address(const void *one, const void *other)
{
	const struct extent_place *a = one, *b = other;

	return (a->begin > b->begin) - (a->begin < b->begin);
}

static void copy_places(struct text_copying *copying)
{
	struct philox_pool *pool = copying->runner->pool;

	pool_lock(pool);
	pool_walk_extents(pool->blocks, copy_text_extent, copying);
	pool_unlock(pool);
	if (copying->n_extents)
		qsort(copying->extents, copying->n_extents,
		      sizeof(*copying->extents), by_address);
}

/* The runner has them newest first. */
static void list_functions(struct text_copying *copying)
{
	struct runner_text *text = copying->text;
	const struct philox_function *function = copying->runner->functions;
	size_t n = 0;

	for (; function; function = function->next)
		n++;
	copying->functions = calloc(n + 1, sizeof(*copying->functions));
	text->functions = calloc(n + 1, sizeof(*text->functions));
	if (!copying->functions || !text->functions) {
		copying->failed = 1;
		return;
	}
	text->n_functions = n;
	for (function = copying->runner->functions; n--;
	     function = function->next)
		copying->functions[n] = function;
}

static void copy_function(struct text_copying *copying, size_t index)
{
	const struct philox_function *function = copying->functions[index];
	struct text_function *to = &copying->text->functions[index];

	memcpy(to->name, function->name, sizeof(to->name));
	to->destroyed = function->destroyed != 0;
	to->mode = function->mode;
	to->flags = function->flags;
	to->policy = function->policy;
	to->counts = function->counts;
	if (!copying->text->timed)
		drop_times(&to->counts);
	reason_copy(to->reason, function->reason);
	copy_signature(copying, function, to);
	copy_keys(copying, function, to);
	if (!copying->failed)
		copy_recordings(copying, function, to);
}

static void copy_runner(struct text_copying *copying)
{
	struct runner_text *text = copying->text;
	const struct philox_runner *runner = copying->runner;

	memcpy(text->name, runner->name, sizeof(text->name));
	text->mode = runner->eager    ? TEXT_EAGER
		     : runner->verify ? TEXT_VERIFY
				      : TEXT_PLAIN;
	text->calls = runner->calls;
	text->made = runner->recordings;
	text->load_ns = text->timed ? runner->plan.load_ns : 0;
	copy_places(copying);
	list_functions(copying);
	for (size_t i = 0; !copying->failed && i < text->n_functions; i++)
		copy_function(copying, i);
	for (size_t i = 0; !copying->failed && i < runner->n_slots; i++)
		if (runner->slots[i]->live)
			copy_live(copying, runner->slots[i]);
	if (!copying->failed)
		copy_tickets(copying);
}

/* By the thread that is in the runner. */
static enum philox_status take_runner(struct philox_runner *runner,
				      struct runner_text *text)
{
	struct text_copying copying = {.text = text, .runner = runner};
	enum philox_status status = live_settle(runner);

	if (status != PHILOX_OK)
		return status;
	for (struct philox_function *function = runner->functions;
	     text->timed && function; function = function->next)
		timers_read(function);
	copy_runner(&copying);
	free(copying.functions);
	free(copying.extents);
	free(copying.keys);
	if (copying.failed)
		return status_set(PHILOX_ERROR_MEMORY,
				  "runner '%s': no memory for its snapshot",
				  runner->name);
	return snapshot_take(runner->pool, &text->pool);
}

enum philox_status runner_text_take(struct philox_runner *runner, int timed,
				    struct runner_text *text)
{
	enum philox_status status;

	memset(text, 0, sizeof(*text));
	text->timed = timed;
	status = runner_acquire(runner);
	if (status != PHILOX_OK)
		return status;
	return runner_release(runner, take_runner(runner, text));
}

static enum philox_status make_text(struct philox_runner *runner, int timed,
				    struct text *written)
{
	struct runner_text text;
	enum philox_status status = runner_text_take(runner, timed, &text);

	if (status == PHILOX_OK)
		status = runner_text_write(&text, written);
	runner_text_finish(&text);
	return status;
}

static enum philox_status write_runner(struct philox_runner *runner,
				       unsigned flags, struct text_target to)
{
	const struct runner_subject subject = runner_subject(runner, NULL);
	struct text text;
	enum philox_status status;

	if (flags & ~(unsigned)PHILOX_SNAPSHOT_TIMES)
		status = status_set(PHILOX_ERROR_INVALID,
				    "runner '%s': flags 0x%x are none of "
				    "snapshots",
				    runner->name, flags);
	else
		status = make_text(runner, (flags & PHILOX_SNAPSHOT_TIMES) != 0,
				   &text);
	if (status == PHILOX_OK)
		status = text_put(&text, to);
	return subject_report(&subject, status);
}

enum philox_status philox_runner_snapshot_text_with(
	struct philox_runner *runner, unsigned flags, char **text,
	size_t *bytes)
{
	if (!runner)
		return context_null(NULL, "runner");
	if (!text)
		return context_null(runner->context, "text");
	NEED_PROCESS(runner->context);
	return write_runner(runner, flags,
			    (struct text_target){.text = text, .size = bytes});
}

enum philox_status philox_runner_snapshot_with(struct philox_runner *runner,
					       unsigned flags,
					       const char *path)
{
	if (!runner)
		return context_null(NULL, "runner");
	if (!path)
		return context_null(runner->context, "path");
	NEED_PROCESS(runner->context);
	return write_runner(runner, flags,
			    (struct text_target){.path = path,
						 .readers = FILE_FOR_ALL});
}

enum philox_status philox_runner_snapshot_text(struct philox_runner *runner,
					       char **text, size_t *bytes)
{
	return philox_runner_snapshot_text_with(runner, 0, text, bytes);
}

enum philox_status philox_runner_snapshot(struct philox_runner *runner,
					  const char *path)
{
	return philox_runner_snapshot_with(runner, 0, path);
}

/* --- reason: reasons in the snapshot of a runner -------------------------- */

/* How many bytes at `from` are an address: "0x" and 7 digits at least. */
static size_t address_length(const char *from)
{
	size_t length = 2;

	if (strncmp(from, "0x", 2) != 0)
		return 0;
	while (isxdigit((unsigned char)from[length]))
		length++;
	return length >= 9 ? length : 0;
}

/* ... are the id of a block, which counts those of the process. */
static size_t block_length(const char *from)
{
	return strncmp(from, "block ", 6) == 0
		       ? 6 + strspn(from + 6, "0123456789")
		       : 0;
}

/* Appends a reason's next word to `to`; returns what is after it. */
static const char *copy_word(char **to, const char *from)
{
	size_t length = block_length(from);

	if (length > 6) {
		*to = stpcpy(*to, "block #");
		return from + length;
	}
	length = address_length(from);
	if (length) {
		*to = stpcpy(*to, "0x..");
		return from + length;
	}
	*(*to)++ = *from++;
	return from;
}

_Static_assert(TEXT_REASON == REASON_SIZE, "a reason has room");

void reason_copy(char to[TEXT_REASON], const char *from)
{
	char made[2 * TEXT_REASON], *at = made;

	while (*from)
		from = copy_word(&at, from);
	*at = '\0';
	snprintf(to, TEXT_REASON, "%.*s", TEXT_REASON - 1, made);
}

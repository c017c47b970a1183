/*
 * graph/runner/outputs/take.c - the outputs of a runner, to be saved
 */
#include <stdlib.h>
#include <string.h>
#include "graph/pool/pool.h"
#include "graph/runner/outputs/outputs.h"
#include "lib/containers/array.h"

/* A path of a runner, and its number in the file. */
struct path_number {
	uint64_t path, number;
};

/* An output that is taken, in the order of handing out. */
struct taking {
	struct philox_runner *runner;
	struct outputs_file *file;
	struct output_slot **slots;
	size_t n_slots;
	uint64_t *blocks; /* numbers in the file, by place in the runner's list;
			     OUTPUTS_NO_BLOCK: not named yet */
	struct path_number *paths; /* sorted by path */
	size_t n_paths;
};

/* --- which outputs -------------------------------------------------------- */

int outputs_by_order(const void *one, const void *other)
{
	const struct output_slot *const *a = one, *const *b = other;

	return ((*a)->order > (*b)->order) - ((*a)->order < (*b)->order);
}

/* One whose ticket is used up is as good as released. */
static int is_kept(const struct output_slot *slot)
{
	struct philox_region *region;
	struct philox_ticket ticket;

	return slot->live && !slot->released &&
	       ties_ticket(slot, &region, &ticket);
}

static enum philox_status list_slots(struct taking *taking)
{
	const struct philox_runner *runner = taking->runner;

	taking->slots =
		calloc(runner->n_slots + 1, sizeof(struct output_slot *));
	if (!taking->slots)
		return outputs_no_room();
	for (size_t i = 0; i < runner->n_slots; i++)
		if (is_kept(runner->slots[i]))
			taking->slots[taking->n_slots++] = runner->slots[i];
	qsort(taking->slots, taking->n_slots, sizeof(struct output_slot *),
	      outputs_by_order);
	return PHILOX_OK;
}

/* --- paths ---------------------------------------------------------------- */

static int by_path_then_number(const void *one, const void *other)
{
	const struct path_number *a = one, *b = other;

	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

static int by_number(const void *one, const void *other)
{
	const struct path_number *a = one, *b = other;

	return (a->number > b->number) - (a->number < b->number);
}

/* Each path once, numbered from 1 by the first output of it. */
static enum philox_status number_paths(struct taking *taking)
{
	struct path_number *paths = calloc(taking->n_slots + 1, sizeof(*paths));
	size_t n = 0;

	if (!paths)
		return outputs_no_room();
	for (size_t i = 0; i < taking->n_slots; i++)
		paths[i] = (struct path_number){taking->slots[i]->path, i};
	qsort(paths, taking->n_slots, sizeof(*paths), by_path_then_number);
	for (size_t i = 0; i < taking->n_slots; i++)
		if (!n || paths[n - 1].path != paths[i].path)
			paths[n++] = paths[i];
	qsort(paths, n, sizeof(*paths), by_number);
	for (size_t i = 0; i < n; i++)
		paths[i].number = i + 1;
	qsort(paths, n, sizeof(*paths), by_path_then_number);
	taking->paths = paths;
	taking->n_paths = n;
	return PHILOX_OK;
}

/* 0: no output that is taken is of the path. */
static uint64_t number_of_path(const struct taking *taking, uint64_t path)
{
	size_t low = 0, high = taking->n_paths;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (taking->paths[middle].path < path)
			low = middle + 1;
		else
			high = middle;
	}
	return low < taking->n_paths && taking->paths[low].path == path
		       ? taking->paths[low].number
		       : 0;
}

/* --- blocks --------------------------------------------------------------- */

/* What its place is a multiple of, as far as a request could ask for that. */
static uint64_t alignment_of(const struct pool_block *block)
{
	uint64_t alignment = POOL_UNIT;

	while (alignment < POOL_ALIGNMENT_MAX &&
	       !(block->offset & (2 * alignment - 1)))
		alignment *= 2;
	return alignment;
}

static enum philox_status add_block(struct taking *taking,
				    const struct output_slot *slot)
{
	struct philox_pool *pool = taking->runner->pool;
	struct outputs_file *file = taking->file;
	struct outputs_block *made =
		array_grow(&file->blocks, file->n_blocks, 1, sizeof(*made));
	struct live_block const *live =
		live_find(taking->runner, slot->handle.id);
	struct pool_block block = {0};
	struct philox_runner *runner = taking->runner;
	const uintptr_t begin =
		live->range.begin + (runner->guards ? POOL_UNIT : 0);

	if (!made)
		return outputs_no_room();
	pool_lock(pool);
	pool_find(pool->blocks, (const void *)begin, &block);
	pool_unlock(pool);
	made->tag = strdup(block.tag);
	if (!made->tag)
		return outputs_no_room();
	made->bytes = block.size;
	made->alignment = alignment_of(&block);
	made->address = block.address;
	made->first = UINT64_MAX; /* of no output yet */
	taking->blocks[live - runner->live] = file->n_blocks++;
	return PHILOX_OK;
}

static void add_span(struct outputs_block *block, uint64_t at, uint64_t bytes)
{
	const int empty = block->first == UINT64_MAX;
	uint64_t end = empty ? 0 : block->first + block->saved;

	if (at + bytes > end)
		end = at + bytes;
	if (at < block->first)
		block->first = at;
	block->saved = end - block->first;
}

static enum philox_status place_item(struct taking *taking,
				     const struct output_slot *slot,
				     struct outputs_item *item)
{
	struct philox_runner *runner = taking->runner;
	struct outputs_block *block;
	uint64_t *number;
	enum philox_status status;

	if (!slot->in_pool)
		return PHILOX_OK;
	number = &taking->blocks[live_find(runner, slot->handle.id) -
				 runner->live];
	if (*number == OUTPUTS_NO_BLOCK) {
		status = add_block(taking, slot);
		if (status != PHILOX_OK)
			return status;
	}
	block = &taking->file->blocks[*number];
	item->block = *number;
	item->at =
		(uint64_t)((const char *)slot->handle.address - block->address);
	add_span(block, item->at, item->bytes);
	return PHILOX_OK;
}

/* --- outputs -------------------------------------------------------------- */

/* Fields of names are of char *; what is borrowed is not written to. */
static char *borrow(const char *name)
{
	return (char *)(uintptr_t)name;
}

static enum philox_status take_item(struct taking *taking,
				    const struct output_slot *slot,
				    struct outputs_item *item)
{
	const struct philox_output_desc *info =
		&slot->function->outputs[slot->output];
	struct philox_region *region;
	struct philox_ticket ticket;

	ties_ticket(slot, &region, &ticket);
	*item = (struct outputs_item){
		.function = borrow(slot->function->name),
		.output = borrow(info->name),
		.label = borrow(slot->label),
		.block = OUTPUTS_NO_BLOCK,
		.bytes = slot->handle.bytes,
		.elements = info->elements,
		.path = number_of_path(taking, slot->path),
		.region = region ? borrow(region->name) : NULL,
		.serial = ticket.serial};
	return place_item(taking, slot, item);
}

static enum philox_status take_items(struct taking *taking)
{
	struct outputs_file *file = taking->file;
	const size_t n_live = taking->runner->n_live;
	enum philox_status status = PHILOX_OK;

	taking->blocks = calloc(n_live + 1, sizeof(*taking->blocks));
	file->items = calloc(taking->n_slots + 1, sizeof(*file->items));
	if (!taking->blocks || !file->items)
		return outputs_no_room();
	for (size_t i = 0; i < n_live; i++)
		taking->blocks[i] = OUTPUTS_NO_BLOCK;
	while (status == PHILOX_OK && file->n_items < taking->n_slots) {
		status = take_item(taking, taking->slots[file->n_items],
				   &file->items[file->n_items]);
		file->n_items++;
	}
	for (size_t i = 0; i < file->n_blocks; i++)
		file->data += file->blocks[i].saved;
	return status;
}

/* --- tickets that paths wait for ------------------------------------------ */

static int by_place(const void *one, const void *other)
{
	return outputs_owed_order(one, other);
}

/* One may have been noted twice: of a call, and of a tie. */
static enum philox_status take_owed(struct taking *taking)
{
	struct philox_runner *runner = taking->runner;
	struct outputs_file *file = taking->file;
	size_t n = 0;

	step_strike_off(runner);
	file->owed = calloc(runner->n_owed + 1, sizeof(*file->owed));
	if (!file->owed)
		return outputs_no_room();
	for (size_t i = 0; i < runner->n_owed; i++) {
		const struct owed_ticket *owed = &runner->owed[i];
		const uint64_t path = number_of_path(taking, owed->path);

		if (path)
			file->owed[n++] = (struct outputs_owed){
				.region = borrow(owed->region->name),
				.serial = owed->ticket.serial,
				.path = path};
	}
	qsort(file->owed, n, sizeof(*file->owed), by_place);
	for (size_t i = 0; i < n; i++)
		if (!i ||
		    by_place(&file->owed[file->n_owed - 1], &file->owed[i]))
			file->owed[file->n_owed++] = file->owed[i];
	return PHILOX_OK;
}

/* --- all of it ------------------------------------------------------------ */

enum philox_status outputs_file_take(struct philox_runner *runner,
				     struct outputs_file *file)
{
	struct taking taking = {.runner = runner, .file = file};
	enum philox_status status;

	*file = (struct outputs_file){.borrowed = 1,
				      .runner = borrow(runner->name)};
	status = list_slots(&taking);
	if (status == PHILOX_OK)
		status = number_paths(&taking);
	if (status == PHILOX_OK)
		status = take_items(&taking);
	if (status == PHILOX_OK)
		status = take_owed(&taking);
	free(taking.slots);
	free(taking.paths);
	free(taking.blocks);
	if (status != PHILOX_OK)
		outputs_file_finish(file);
	return status;
}

static uint64_t add_word(uint64_t hash, uint64_t word)
{
	return hash_more(hash, (const char *)&word, sizeof(word));
}

/* A plan counts the calls anew. A tie ends with its output. */
uint64_t outputs_mark(const struct philox_runner *runner)
{
	uint64_t hash =
		add_word(HASH_OF_NOTHING, runner->calls - runner->plan.calls);

	for (size_t i = 0; i < runner->n_slots; i++) {
		const struct output_slot *slot = runner->slots[i];

		if (!slot->live || slot->released)
			continue;
		hash = add_word(hash, slot->order);
		hash = add_word(hash, slot->tie != NULL);
		hash = hash_more(hash, slot->label, sizeof(slot->label));
	}
	return hash;
}

/*
 * tests/support/models/pool.c - see tests/support/models/pool.h
 */
#include <stdlib.h>
#include <string.h>
#include "tests/support/models/pool.h"

static void *must_have(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

void model_init(struct model *model, enum model_kind kind)
{
	size_t bytes = (kind == MODEL_PLAIN ? MODEL_SEGMENTS : 1) *
		       sizeof(*model->cells);

	*model = (struct model){.kind = kind, .granularity = 1, .step = 1};
	model->cells = must_have(malloc(bytes));
	memset(model->cells, 0xff, bytes);
	model->n_blocks = 1;
}

void model_finish(struct model *model)
{
	free(model->cells);
	free(model->blocks);
	free(model->live);
	free(model->acts);
	free(model->dead);
}

/* --- where a request lies ------------------------------------------------- */

static int may_use(const struct model_need *need, const struct model_cell *cell)
{
	if (cell->block)
		return 0;
	for (size_t i = 0; i < need->n_owners; i++)
		if (cell->owner == need->owners[i])
			return 1;
	return 0;
}

/* The first unit of the block, margin included, in a piece from `from` on. */
static size_t begin_in(const struct model *model, const struct model_need *need,
		       size_t from)
{
	while ((from + model->margin) % need->alignment)
		from++;
	return from;
}

static size_t whole_units(const struct model *model,
			  const struct model_need *need)
{
	return need->units + 2 * model->margin;
}

struct choice {
	size_t units; /* 0: none */
	uint32_t segment;
	size_t at;
};

static void consider(const struct model *model, const struct model_need *need,
		     uint32_t segment, size_t from, size_t end,
		     struct choice *best)
{
	size_t at = begin_in(model, need, from);

	if (at + whole_units(model, need) > end)
		return;
	if (!best->units || end - from < best->units)
		*best = (struct choice){end - from, segment, at};
}

/* A run of usable cells: as one, and the pieces of one owner in it. */
static void consider_run(const struct model *model,
			 const struct model_need *need, uint32_t segment,
			 size_t from, size_t end, struct choice *piece,
			 struct choice *run)
{
	const struct model_cell *cells = model->cells[segment];
	size_t next;

	consider(model, need, segment, from, end, run);
	for (size_t i = from; i < end; i = next) {
		for (next = i;
		     next < end && cells[next].owner == cells[i].owner; next++)
			;
		consider(model, need, segment, i, next, piece);
	}
}

int model_fit(const struct model *model, const struct model_need *need,
	      uint32_t *segment, size_t *at)
{
	struct choice piece = {0}, run = {0}, tail = {0}, *best;
	size_t end;
	uint32_t last = 0;

	for (uint32_t s = 0; s < model->segments; s++)
		if (model->length[s])
			last = s;
	for (uint32_t s = 0; s < model->segments; s++)
		for (size_t i = 0; i < model->length[s]; i = end + 1) {
			end = i;
			while (end < model->length[s] &&
			       may_use(need, &model->cells[s][end]))
				end++;
			if (end == i)
				continue;
			if (s == last && end == model->length[s])
				consider(model, need, s, i, end, &tail);
			else
				consider_run(model, need, s, i, end, &piece,
					     &run);
		}
	best = piece.units ? &piece : run.units ? &run : &tail;
	*segment = best->segment;
	*at = best->at;
	return best->units != 0;
}

/* --- blocks --------------------------------------------------------------- */

static void paint(struct model *model, uint32_t segment, size_t at,
		  size_t units, struct model_cell cell)
{
	for (size_t i = at; i < at + units; i++)
		model->cells[segment][i] = cell;
}

static size_t add_block(struct model *model, struct model_block block)
{
	if (model->n_blocks >= model->blocks_capacity) {
		model->blocks_capacity = 2 * model->n_blocks + 64;
		model->blocks = must_have(
			realloc(model->blocks, model->blocks_capacity *
						       sizeof(*model->blocks)));
		model->live = must_have(
			realloc(model->live,
				model->blocks_capacity * sizeof(*model->live)));
		model->dead = must_have(
			realloc(model->dead,
				model->blocks_capacity * sizeof(*model->dead)));
	}
	model->blocks[model->n_blocks] = block;
	return model->n_blocks++;
}

void model_revive(struct model *model, size_t number)
{
	struct model_block *block = &model->blocks[number];

	paint(model, block->segment, block->at, block->units,
	      (struct model_cell){(int32_t)number, 0});
	block->is_live = 1;
	block->place_in_list = model->n_live;
	model->live[model->n_live++] = number;
}

static void free_block(struct model *model, size_t number, uint32_t owner)
{
	struct model_block *block = &model->blocks[number];
	size_t last = model->live[--model->n_live];

	model->live[block->place_in_list] = last;
	model->blocks[last].place_in_list = block->place_in_list;
	paint(model, block->segment, block->at, block->units,
	      (struct model_cell){0, owner});
	block->is_live = 0;
	block->is_written = 0;
}

void model_kill(struct model *model, size_t number)
{
	free_block(model, number, 0);
}

static void note(struct model *model, struct model_act act)
{
	if (!model->in_session)
		return;
	if (model->n_acts == model->acts_capacity) {
		model->acts_capacity = 2 * model->n_acts + 64;
		model->acts = must_have(
			realloc(model->acts,
				model->acts_capacity * sizeof(*model->acts)));
	}
	model->acts[model->n_acts++] = act;
}

size_t model_take(struct model *model, const struct model_need *need,
		  uint32_t segment, size_t at)
{
	struct model_block block = {.segment = segment,
				    .at = at,
				    .units = whole_units(model, need)};
	size_t number;

	if (model->in_session)
		block.session = model->session;
	number = add_block(model, block);
	model_revive(model, number);
	note(model, (struct model_act){.what = MODEL_TAKE, .need = *need});
	return number;
}

void model_put(struct model *model, size_t number, uint32_t owner)
{
	free_block(model, number, owner);
	if (model->in_session && number < model->session_block)
		model->dead[model->n_dead++] = number;
	else
		note(model,
		     (struct model_act){.what = MODEL_PUT,
					.block = number - model->session_block,
					.to = owner});
}

static void move_owner(struct model *model, uint32_t from, uint32_t to)
{
	for (uint32_t s = 0; s < model->segments; s++)
		for (size_t i = 0; i < model->length[s]; i++)
			if (!model->cells[s][i].block &&
			    model->cells[s][i].owner == from)
				model->cells[s][i].owner = to;
}

void model_give(struct model *model, uint32_t from, uint32_t to)
{
	move_owner(model, from, to);
	note(model,
	     (struct model_act){.what = MODEL_GIVE, .from = from, .to = to});
}

void model_sums(const struct model *model, size_t *owned, uint32_t n,
		size_t *largest)
{
	const struct model_cell *cell;
	size_t run;

	*largest = 0;
	memset(owned, 0, n * sizeof(*owned));
	for (uint32_t s = 0; s < model->segments; s++) {
		run = 0;
		for (size_t i = 0; i < model->length[s]; i++) {
			cell = &model->cells[s][i];
			if (!cell->block && cell->owner < n)
				owned[cell->owner]++;
			run = cell->block || cell->owner ? 0 : run + 1;
			*largest = run > *largest ? run : *largest;
		}
	}
}

size_t model_owns(const struct model *model, uint32_t owner)
{
	size_t owned[MODEL_OWNERS], largest;

	model_sums(model, owned, MODEL_OWNERS, &largest);
	return owned[owner];
}

size_t model_largest(const struct model *model)
{
	size_t owned[1], largest;

	model_sums(model, owned, 1, &largest);
	return largest;
}

/* --- extents -------------------------------------------------------------- */

static size_t least_extent(const struct model *model, size_t units)
{
	return (units + model->granularity - 1) / model->granularity *
	       model->granularity;
}

/* As long as the step says, if gap and limit leave as much. */
static int choose_length(const struct model *model, size_t least, size_t gap,
			 size_t *units)
{
	size_t left = model->limit - model->mapped;

	*units = model->step;
	while (*units > least && (*units > gap || *units > left))
		*units -= model->granularity;
	if (*units < least)
		*units = least;
	return *units <= left;
}

static enum model_answer plain_growth(const struct model *model,
				      const struct model_need *need,
				      struct model_extent *extent)
{
	uint32_t segment = 0;

	while (model->length[segment])
		segment++;
	*extent = (struct model_extent){model->last_extent + 1, segment, 0, 0};
	return choose_length(model,
			     begin_in(model, need, 0) +
				     whole_units(model, need),
			     SIZE_MAX, &extent->units)
		       ? MODEL_OK
		       : MODEL_LIMIT;
}

/* Whether mapping [gap, end), or its beginning, will do; writes its least. */
static int will_do(const struct model *model, const struct model_need *need,
		   size_t gap, size_t end, size_t *least)
{
	const struct model_cell *cells = model->cells[0];
	size_t from = gap, last = end, need_end;

	while (from && may_use(need, &cells[from - 1]))
		from--;
	while (last < model->length[0] && may_use(need, &cells[last]))
		last++;
	need_end = begin_in(model, need, from) + whole_units(model, need);
	if (need_end > last)
		return 0;
	*least = need_end <= gap ? 1 : need_end - gap;
	*least = least_extent(model, *least);
	if (*least > end - gap)
		*least = end - gap;
	return 1;
}

static enum model_answer gap_growth(const struct model *model,
				    const struct model_need *need,
				    struct model_extent *extent)
{
	const struct model_cell *cells = model->cells[0];
	enum model_answer answer = MODEL_NO_RANGE;
	size_t end, least;

	for (size_t gap = 0; gap < model->range; gap = end + 1) {
		for (end = gap; end < model->range && cells[end].block == -1;
		     end++)
			;
		if (end == gap || !will_do(model, need, gap, end, &least))
			continue;
		*extent = (struct model_extent){model->last_extent + 1, 0, gap,
						0};
		if (choose_length(model, least, end - gap, &extent->units))
			return MODEL_OK;
		answer = MODEL_LIMIT;
	}
	return answer;
}

enum model_answer model_growth(const struct model *model,
			       const struct model_need *need,
			       struct model_extent *extent)
{
	return model->kind == MODEL_PLAIN ? plain_growth(model, need, extent)
					  : gap_growth(model, need, extent);
}

void model_map(struct model *model, const struct model_extent *extent,
	       uint32_t owner)
{
	size_t end = extent->at + extent->units;

	if (extent->segment >= MODEL_SEGMENTS || end > MODEL_UNITS ||
	    model->n_extents == MODEL_EXTENTS)
		abort();
	paint(model, extent->segment, extent->at, extent->units,
	      (struct model_cell){0, owner});
	if (extent->segment >= model->segments)
		model->segments = extent->segment + 1;
	if (end > model->length[extent->segment])
		model->length[extent->segment] = end;
	model->extents[model->n_extents++] = *extent;
	model->last_extent = extent->number;
	model->mapped += extent->units;
}

static int overlaps(const struct model_extent *extent,
		    const struct model_block *block)
{
	return extent->segment == block->segment &&
	       extent->at < block->at + block->units &&
	       block->at < extent->at + extent->units;
}

int model_may_unmap(const struct model *model, size_t index)
{
	const struct model_extent *extent = &model->extents[index];

	for (size_t i = 0; i < extent->units; i++)
		if (model->cells[extent->segment][extent->at + i].block)
			return 0;
	for (size_t i = 0; model->in_session && i < model->n_dead; i++)
		if (overlaps(extent, &model->blocks[model->dead[i]]))
			return 0;
	return 1;
}

void model_unmap(struct model *model, size_t index)
{
	struct model_extent extent = model->extents[index];
	size_t *length = &model->length[extent.segment];

	paint(model, extent.segment, extent.at, extent.units,
	      (struct model_cell){-1, 0});
	while (*length && model->cells[extent.segment][*length - 1].block == -1)
		--*length;
	model->n_extents--;
	for (size_t i = index; i < model->n_extents; i++)
		model->extents[i] = model->extents[i + 1];
	model->mapped -= extent.units;
}

/* --- sessions ------------------------------------------------------------- */

void model_session_begin(struct model *model)
{
	model->in_session = 1;
	model->session++;
	model->session_extent = model->last_extent;
	model->session_block = model->n_blocks;
	model->n_acts = 0;
	model->n_dead = 0;
}

void model_session_end(struct model *model, const uint32_t *owners, size_t n,
		       int undo)
{
	const struct model_extent *extent;

	for (size_t i = 0; i < n; i++)
		move_owner(model, owners[i], 0);
	model->in_session = 0;
	if (!undo)
		return;
	for (size_t i = model->session_block; i < model->n_blocks; i++)
		if (model->blocks[i].is_live)
			free_block(model, i, 0);
	for (size_t i = 0; i < model->n_extents; i++) {
		extent = &model->extents[i];
		if (extent->number > model->session_extent)
			paint(model, extent->segment, extent->at, extent->units,
			      (struct model_cell){0, 0});
	}
	for (size_t i = 0; i < model->n_dead; i++)
		model_revive(model, model->dead[i]);
}

/* Memory that the request may use, or its owner's, up to where it ends. */
static void grow_endless(struct model *model, const struct model_need *need)
{
	size_t end = model->length[0], from = end, need_end;

	while (from && may_use(need, &model->cells[0][from - 1]))
		from--;
	need_end = begin_in(model, need, from) + whole_units(model, need);
	if (need_end > MODEL_UNITS)
		abort();
	paint(model, 0, end, need_end - end,
	      (struct model_cell){0, need->owners[need->n_owners - 1]});
	model->length[0] = need_end;
	model->segments = 1;
}

static void act_again(struct model *again, const struct model_act *act,
		      size_t *end)
{
	uint32_t segment;
	size_t at, number;

	switch (act->what) {
	case MODEL_TAKE:
		if (!model_fit(again, &act->need, &segment, &at))
			grow_endless(again, &act->need);
		model_fit(again, &act->need, &segment, &at);
		number = model_take(again, &act->need, segment, at);
		at += again->blocks[number].units;
		*end = at > *end ? at : *end;
		break;
	case MODEL_PUT:
		model_put(again, act->block + 1, act->to);
		break;
	case MODEL_GIVE:
		move_owner(again, act->from, act->to);
		break;
	}
}

size_t model_peak(const struct model *model)
{
	struct model again;
	size_t end = 0;

	model_init(&again, MODEL_ENDLESS);
	again.margin = model->margin;
	for (size_t i = 0; i < model->n_acts; i++)
		act_again(&again, &model->acts[i], &end);
	model_finish(&again);
	return end;
}

/*
 * tools/matrix/orders.c - how each schedule orders the passes of a stage
 */
#include <stdio.h>
#include <string.h>
#include "tools/matrix/matrix.h"

static void add(struct schedule_order *order, char what, unsigned chunk,
		unsigned microbatch)
{
	order->actions[order->n++] =
		(struct schedule_action){.what = what,
					 .chunk = (uint8_t)chunk,
					 .microbatch = (uint8_t)microbatch};
}

static void make_accumulation(const struct schedule_place *place,
			      struct schedule_order *order)
{
	for (unsigned i = 0; i < place->microbatches; i++) {
		add(order, 'F', 0, i);
		add(order, 'B', 0, i);
	}
}

static void add_all_forwards(const struct schedule_place *place,
			     struct schedule_order *order, unsigned chunk)
{
	for (unsigned i = 0; i < place->microbatches; i++)
		add(order, 'F', chunk, i);
}

static void add_reversed_backwards(const struct schedule_place *place,
				   struct schedule_order *order, unsigned chunk)
{
	for (unsigned i = place->microbatches; i--;)
		add(order, 'B', chunk, i);
}

static void make_gpipe_fifo(const struct schedule_place *place,
			    struct schedule_order *order)
{
	add_all_forwards(place, order, 0);
	for (unsigned i = 0; i < place->microbatches; i++)
		add(order, 'B', 0, i);
}

static void make_gpipe_lifo(const struct schedule_place *place,
			    struct schedule_order *order)
{
	add_all_forwards(place, order, 0);
	add_reversed_backwards(place, order, 0);
}

/* Breadth first: all microbatches through one chunk, then the next. */
static void make_looped(const struct schedule_place *place,
			struct schedule_order *order)
{
	for (unsigned chunk = 0; chunk < 2; chunk++)
		add_all_forwards(place, order, chunk);
	for (unsigned chunk = 2; chunk--;)
		add_reversed_backwards(place, order, chunk);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static void make_1f1b(const struct schedule_place *place,
		      struct schedule_order *order)
{
	unsigned total = place->microbatches;
	unsigned ahead = least(place->stages - 1 - place->stage, total);

	for (unsigned i = 0; i < ahead; i++)
		add(order, 'F', 0, i);
	for (unsigned i = 0; i < total; i++) {
		if (ahead + i < total)
			add(order, 'F', 0, ahead + i);
		add(order, 'B', 0, i);
	}
}

/* 1F1B with the weight half put off by as many microbatches as the stage. */
static void make_zb1p(const struct schedule_place *place,
		      struct schedule_order *order)
{
	unsigned total = place->microbatches, late = place->stage;
	unsigned ahead = least(place->stages - 1 - place->stage, total);

	for (unsigned i = 0; i < ahead; i++)
		add(order, 'F', 0, i);
	for (unsigned i = 0; i < total; i++) {
		if (ahead + i < total)
			add(order, 'F', 0, ahead + i);
		add(order, 'I', 0, i);
		if (i >= late)
			add(order, 'W', 0, i - late);
	}
	for (unsigned i = total - least(late, total); i < total; i++)
		add(order, 'W', 0, i);
}

/*
 * The n-th pass of the interleaved order: groups of microbatches go through the
 * chunks one after the other, the last group may be smaller.
 */
static void add_interleaved(const struct schedule_place *place,
			    struct schedule_order *order, char what, unsigned n)
{
	unsigned group = place->group ? place->group : place->stages;
	unsigned first = n / (2 * group) * group;
	unsigned size = least(group, place->microbatches - first);
	unsigned rest = n - 2 * first;
	unsigned chunk = rest / size;

	add(order, what, what == 'F' ? chunk : 1 - chunk, first + rest % size);
}

static void make_interleaved(const struct schedule_place *place,
			     struct schedule_order *order)
{
	unsigned total = 2 * place->microbatches;
	unsigned group = place->group ? place->group : place->stages;
	unsigned ahead =
		least(2 * (place->stages - 1 - place->stage) + group, total);

	for (unsigned i = 0; i < ahead; i++)
		add_interleaved(place, order, 'F', i);
	for (unsigned i = 0; i < total; i++) {
		if (ahead + i < total)
			add_interleaved(place, order, 'F', ahead + i);
		add_interleaved(place, order, 'B', i);
	}
}

/* The passes that a stage of the V has done, by chunk. */
struct v_counts {
	struct schedule_order *order;
	unsigned microbatches;
	unsigned forward[2], input[2], weight[2];
};

/*
 * Leaves out microbatches that only fill a pipeline longer than the batch.
 */
static void add_v(struct v_counts *v, char what, unsigned chunk)
{
	unsigned *count = what == 'F'   ? v->forward
			  : what == 'I' ? v->input
					: v->weight;
	unsigned microbatch = count[chunk]++;

	if (microbatch < v->microbatches)
		add(v->order, what, chunk, microbatch);
}

static void add_v_backward(struct v_counts *v, unsigned chunk)
{
	add_v(v, 'I', chunk);
	add_v(v, 'W', chunk);
}

static void add_v_steady(struct v_counts *v, unsigned total)
{
	while (v->forward[1] < v->forward[0] || v->forward[0] < total) {
		if (v->forward[0] < total)
			add_v(v, 'F', 0);
		add_v_backward(v, 0);
		add_v(v, 'F', 1);
		add_v_backward(v, 1);
	}
}

/* The second chunk of the last stage is the first's neighbour: a V. */
static void make_zbv(const struct schedule_place *place,
		     struct schedule_order *order)
{
	struct v_counts v = {.order = order,
			     .microbatches = place->microbatches};
	unsigned full = 2 * place->stages - 1;
	unsigned left = place->stages - place->stage;

	for (unsigned i = 0; i < 2 * left - 1; i++)
		add_v(&v, 'F', 0);
	for (unsigned i = 0; i < place->stage; i++) {
		add_v(&v, 'F', 1);
		add_v(&v, 'F', 0);
	}
	for (unsigned i = 0; i < left; i++) {
		add_v(&v, 'F', 1);
		add_v_backward(&v, 1);
	}
	add_v_steady(&v,
		     place->microbatches > full ? place->microbatches : full);
	for (unsigned i = 0; i < place->stage; i++) {
		add_v(&v, 'I', 0);
		add_v(&v, 'I', 1);
	}
	for (unsigned i = 0; i < left; i++) {
		add_v(&v, 'I', 0);
		add_v(&v, 'W', 0);
	}
	while (v.weight[1] < v.input[1])
		add_v(&v, 'W', 1);
	while (v.weight[0] < v.input[0])
		add_v(&v, 'W', 0);
}

/* Chunk 1 is a checkpointed block, chunk 2 a checkpointed layer inside it. */
static void make_nested(const struct schedule_place *place,
			struct schedule_order *order)
{
	static const char passes[] = "RRRBRB", chunks[] = "011100";

	for (unsigned i = 0; i < place->microbatches; i++) {
		add(order, 'F', 0, i);
		add(order, 'F', 1, i);
	}
	for (unsigned i = 0; i < place->microbatches; i++)
		for (unsigned k = 0; passes[k]; k++)
			add(order, passes[k], (unsigned)(chunks[k] - '0'), i);
}

const struct schedule schedules[] = {
	{"accumulation", "gradient accumulation", 1, make_accumulation},
	{"gpipe-fifo", "GPipe, backwards in order", 1, make_gpipe_fifo},
	{"gpipe-lifo", "GPipe, backwards reversed", 1, make_gpipe_lifo},
	{"1f1b", "one forward, one backward", 1, make_1f1b},
	{"interleaved", "1F1B over two chunks a stage", 2, make_interleaved},
	{"zb1p", "zero bubble, backwards split in two", 1, make_zb1p},
	{"zbv", "zero bubble, two chunks in a V", 2, make_zbv},
	{"looped", "breadth first over two chunks", 2, make_looped},
	{"nested-recompute", "a checkpoint inside a checkpoint", 2,
	 make_nested},
	{NULL, NULL, 0, NULL},
};

const struct schedule *schedule_find(const char *name)
{
	for (const struct schedule *s = schedules; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

const char *schedule_names(const char *wrap)
{
	static char names[512];
	size_t length = 0, column = 20;

	for (const struct schedule *s = schedules; s->name; s++) {
		int wraps = column + strlen(s->name) + 2 > 76;

		column = (wraps ? 20 : column + 1) + strlen(s->name) + 1;
		length += (size_t)snprintf(names + length,
					   sizeof(names) - length, "%s%s%s",
					   s == schedules ? ""
					   : wraps        ? wrap
							  : " ",
					   s->name, s[1].name ? "," : "");
	}
	return names;
}

void schedule_text(const struct schedule *schedule,
		   const struct schedule_order *order, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < order->n && length + 16 < size; i++) {
		const struct schedule_action *action = &order->actions[i];
		char chunk[8] = "";

		if (schedule->chunks > 1)
			snprintf(chunk, sizeof(chunk), "%u.",
				 action->chunk + 1u);
		length += (size_t)snprintf(
			text + length, size - length, "%s%c%s%u", i ? " " : "",
			action->what, chunk, action->microbatch);
	}
}

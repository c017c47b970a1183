/*
 * tests/support/beds/pools.c - see tests/support/beds/pools.h
 */
#include <stdio.h>
#include <string.h>
#include "tests/support/beds/pools.h"
#include "tests/support/left.h"

void pool_test_open(struct pool_test *t, const struct pool_settings *settings)
{
	struct pool_settings own = *settings;

	*t = (struct pool_test){.margin = own.margin};
	if (!own.step)
		own.step = UNITS(128);
	if (!own.reserve)
		own.reserve = UNITS(4096);
	left_begin();
	OK(philox_device_open("host", &t->device));
	OK(pool_create(t->device, &own, &t->pool));
}

void open_kind(struct pool_test *t, int kind)
{
	const struct pool_settings settings = {.kind = (enum pool_kind)kind};

	pool_test_open(t, &settings);
}

void pool_test_close(struct pool_test *t)
{
	whole(t);
	pool_destroy(t->pool);
	left_on(t->device, 0);
	OK(philox_device_close(t->device));
	left_end();
}

void whole(const struct pool_test *t)
{
	const char *wrong = pool_check(t->pool);

	cr_assert(!wrong, "%s", wrong);
}

static struct pool_block take_as(struct pool_test *t,
				 const struct pool_request *request)
{
	struct pool_block block;
	enum philox_status status = pool_take(t->pool, request, &block);
	size_t mapped;

	if (status == PHILOX_NOT_READY) {
		OK(pool_grow(t->pool, request, &mapped));
		status = pool_take(t->pool, request, &block);
	}
	OK(status);
	whole(t);
	return block;
}

struct pool_block take(struct pool_test *t, size_t units, uint32_t owner)
{
	const struct pool_request request = {
		.size = UNITS(units), .owner = owner, .shared = 1};

	return take_as(t, &request);
}

struct pool_block take_tagged(struct pool_test *t, size_t units,
			      const char *tag)
{
	const struct pool_request request = {
		.size = UNITS(units), .tag = tag, .shared = 1};

	return take_as(t, &request);
}

void put(struct pool_test *t, struct pool_block block, uint32_t owner)
{
	struct pool_block was;

	OK(put_at(t->pool, block.address, owner, &was));
	cr_assert(was.id == block.id && was.live && was.size == block.size);
	whole(t);
}

struct id_list {
	uint64_t *ids;
	size_t n, room;
};

static void list_id(void *user, const struct pool_block *block)
{
	struct id_list *list = user;

	if (block->live && list->n++ < list->room)
		list->ids[list->n - 1] = block->id;
}

size_t live_ids(const struct pool_test *t, uint64_t *ids, size_t n)
{
	struct id_list list = {ids, 0, n};

	pool_walk_blocks(t->pool, list_id, &list);
	return list.n;
}

struct drawing {
	char text[1024];
	size_t length;
	uint32_t segment;
	size_t end, margin;
};

static void draw_block(void *user, const struct pool_block *block)
{
	struct drawing *d = user;
	char *at = d->text + d->length;
	size_t left = sizeof(d->text) - d->length;
	size_t start = block->offset - (block->live ? d->margin : 0);
	int jumps =
		d->length && (block->segment != d->segment || start != d->end);

	if (block->live)
		d->length += (size_t)snprintf(
			at, left, "%s%sL%zu", d->length ? " " : "",
			jumps ? "| " : "", block->bytes / POOL_UNIT);
	else
		d->length += (size_t)snprintf(
			at, left, "%s%sF%zu/%u", d->length ? " " : "",
			jumps ? "| " : "", block->bytes / POOL_UNIT,
			block->session);
	d->segment = block->segment;
	d->end = start + block->bytes;
}

const char *picture(const struct pool_test *t)
{
	static struct drawing d;

	d = (struct drawing){.margin = t->margin};
	pool_walk_blocks(t->pool, draw_block, &d);
	return d.text;
}

struct pool_figures figures(const struct pool_test *t)
{
	struct pool_figures f;

	pool_figures(t->pool, &f);
	return f;
}

int same_block(const struct pool_block *a, const struct pool_block *b)
{
	return a->id == b->id && a->address == b->address &&
	       a->size == b->size && a->bytes == b->bytes &&
	       a->segment == b->segment && a->offset == b->offset &&
	       a->session == b->session && a->live == b->live &&
	       !strcmp(a->tag, b->tag);
}

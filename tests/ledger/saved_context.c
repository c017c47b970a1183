/*
 * tests/ledger/saved_context.c - a ticket's context for its backward is
 * released exactly once, with the stream of the event that ends the ticket
 */
#include <sys/mman.h>
#include "tests/support/support.h"

static struct {
	unsigned calls;
	void *saved;
	philox_stream stream;
} released;

static void on_release(void *saved, philox_stream stream)
{
	released.calls++;
	released.saved = saved;
	released.stream = stream;
}

static int activations; /* something to point to */

static struct forward forward_with_context(struct fixture *f,
					   struct philox_region *region)
{
	struct forward made = forward(f, region);

	memset(&released, 0, sizeof(released));
	OK(philox_ticket_attach(region, made.ticket, &activations, on_release));
	return made;
}

#define RELEASED_ONCE_ON(expected)                                  \
	do {                                                        \
		cr_assert(released.calls == 1, "released %u times", \
			  released.calls);                          \
		cr_assert_eq(released.saved, &activations);         \
		cr_assert_eq(released.stream, (expected));          \
	} while (0)

PROMISE(saved_context, is_released_once_when_the_ticket_is_used_up)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward_with_context(f, region);
	struct philox_pass pass;
	void *saved;

	OK(philox_ticket_context(region, made.ticket, &saved));
	cr_assert_eq(saved, &activations);
	backward(f, &made, PHILOX_PASS_RETAIN);
	OK(philox_backward_begin(region, f->stream, made.ticket,
				 PHILOX_PASS_RETAIN, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &pass));
	OK(philox_pass_abort(&pass));
	cr_assert_eq(released.calls, 0, "kept by retain, recompute and abort");
	OK(philox_backward_begin(region, f->side, made.ticket, 0, &pass));
	OK(philox_pass_commit(&pass, 0, NULL));
	RELEASED_ONCE_ON(f->side);
	FAILS(philox_ticket_context(region, made.ticket, &saved),
	      PHILOX_ERROR_RELEASED);
}

PROMISE(saved_context, waits_for_the_last_open_pass_of_its_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward_with_context(f, region);
	struct philox_pass reader, consumer;

	OK(philox_backward_begin(region, f->side, made.ticket,
				 PHILOX_PASS_RETAIN, &reader));
	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &consumer));
	OK(philox_pass_commit(&consumer, 0, NULL));
	cr_assert_eq(released.calls, 0);
	OK(philox_pass_abort(&reader));
	cr_assert_eq(released.calls, 1);
}

PROMISE(saved_context, is_released_with_its_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward_with_context(f, region);

	OK(philox_ticket_release(region, f->side, made.ticket));
	RELEASED_ONCE_ON(f->side);
	FAILS(philox_ticket_release(region, f->side, made.ticket),
	      PHILOX_ERROR_RELEASED);
	RELEASED_ONCE_ON(f->side);
}

PROMISE(saved_context, is_released_with_its_region)
{
	struct philox_region *region = make_region(f, "layer");

	forward_with_context(f, region);
	OK(philox_region_destroy(region));
	RELEASED_ONCE_ON(NULL);
	make_region(f, "layer");
	RELEASED_ONCE_ON(NULL);
}

PROMISE(saved_context, is_released_with_its_context)
{
	struct philox_context *other;
	struct philox_region *region;

	OK(philox_context_create(f->device, &other));
	region = make_region_of(other, "layer", 0, NULL);
	forward_with_context(f, region);
	philox_context_destroy(other);
	cr_assert_eq(released.calls, 1);
}

PROMISE(saved_context, is_one_per_ticket)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward bare = forward(f, region);
	struct forward made = forward_with_context(f, region);
	void *saved = &bare;

	FAILS(philox_ticket_attach(region, made.ticket, &saved, on_release),
	      PHILOX_ERROR_EXISTS);
	FAILS(philox_ticket_context(region, bare.ticket, &saved),
	      PHILOX_ERROR_NOT_FOUND);
	cr_assert_eq(saved, &bare, "outputs are written on success only");
	OK(philox_ticket_context(region, made.ticket, &saved));
	cr_assert_eq(saved, &activations);
	backward(f, &made, 0);
	RELEASED_ONCE_ON(f->stream);
	FAILS(philox_ticket_attach(region, made.ticket, &saved, on_release),
	      PHILOX_ERROR_RELEASED);
}

/*
 * Some have only a function, to count or to free memory that they know anyway.
 */
PROMISE(saved_context, may_be_a_null_pointer)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	void *saved = &made;

	memset(&released, 0, sizeof(released));
	released.saved = &made;
	OK(philox_ticket_attach(region, made.ticket, NULL, on_release));
	FAILS(philox_ticket_attach(region, made.ticket, &activations,
				   on_release),
	      PHILOX_ERROR_EXISTS);
	OK(philox_ticket_context(region, made.ticket, &saved));
	cr_assert_null(saved);
	backward(f, &made, 0);
	cr_assert_eq(released.calls, 1);
	cr_assert_null(released.saved);
}

static struct philox_region *callback_region;

static void call_philox(void *saved, philox_stream stream)
{
	size_t count;

	OK(philox_region_pending_count(callback_region, &count));
	on_release(saved, stream);
}

PROMISE(saved_context, may_be_released_by_a_function_that_calls_philox)
{
	struct forward made;

	callback_region = make_region(f, "layer");
	made = forward(f, callback_region);
	memset(&released, 0, sizeof(released));
	OK(philox_ticket_attach(callback_region, made.ticket, &activations,
				call_philox));
	backward(f, &made, 0);
	RELEASED_ONCE_ON(f->stream);
	made = forward(f, callback_region);
	memset(&released, 0, sizeof(released));
	OK(philox_ticket_attach(callback_region, made.ticket, &activations,
				call_philox));
	OK(philox_ticket_release(callback_region, f->side, made.ticket));
	RELEASED_ONCE_ON(f->side);
}

/* A backward gets its saved context from its ticket. */
PROMISE(saved_context, is_given_and_taken_while_a_backward_is_open)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass reader, consumer;
	void *saved = NULL;

	memset(&released, 0, sizeof(released));
	OK(philox_backward_begin(region, f->stream, made.ticket,
				 PHILOX_PASS_RETAIN, &reader));
	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &consumer));
	OK(philox_ticket_attach(region, made.ticket, &activations, on_release));
	OK(philox_ticket_context(region, made.ticket, &saved));
	cr_assert_eq(saved, &activations);
	OK(philox_pass_commit(&consumer, 0, NULL));
	FAILS(philox_ticket_context(region, made.ticket, &saved),
	      PHILOX_ERROR_RELEASED);
	OK(philox_pass_commit(&reader, 0, NULL));
	RELEASED_ONCE_ON(f->stream);
}

/* --- passes inside a saved context ---------------------------------------- */

enum { PAGE = 4096 };

/* A page of its own: touching it after its release crashes. */
static struct philox_pass *make_pass_page(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(page, MAP_FAILED);
	return page;
}

static void unmap(void *saved, philox_stream stream)
{
	cr_assert_eq(munmap(saved, PAGE), 0);
	on_release(NULL, stream);
}

static struct philox_pass *begin_in_context(struct fixture *f,
					    const struct forward *of,
					    unsigned flags)
{
	struct philox_pass *pass = make_pass_page();

	memset(&released, 0, sizeof(released));
	OK(philox_ticket_attach(of->region, of->ticket, pass, unmap));
	OK(philox_backward_begin(of->region, f->stream, of->ticket, flags,
				 pass));
	return pass;
}

PROMISE(saved_context, may_hold_the_pass_that_is_committed)
{
	struct forward made = forward(f, make_region(f, "layer"));

	OK(philox_pass_commit(begin_in_context(f, &made, PHILOX_PASS_ON_DEVICE),
			      0, NULL));
	cr_assert_eq(released.calls, 1);
	cr_assert_eq(released.stream, f->stream);
}

PROMISE(saved_context, may_hold_the_pass_that_is_aborted)
{
	struct forward made = forward(f, make_region(f, "layer"));
	struct philox_pass *reader =
		begin_in_context(f, &made, PHILOX_PASS_RETAIN);
	struct philox_pass consumer;

	OK(philox_backward_begin(made.region, f->side, made.ticket, 0,
				 &consumer));
	OK(philox_pass_commit(&consumer, 0, NULL));
	cr_assert_eq(released.calls, 0);
	OK(philox_pass_abort(reader));
	cr_assert_eq(released.calls, 1);
	cr_assert_eq(released.stream, f->stream);
}

/* --- what it holds -------------------------------------------------------- */

enum {
	F32 = PHILOX_ELEMENTS(PHILOX_DTYPE_F32),
	BF16 = PHILOX_ELEMENTS(PHILOX_DTYPE_BF16)
};

static const struct philox_saved_desc parts[] = {
	{.name = "x", .elements = F32, .bytes = 4096},
	{.name = "statistics", .elements = BF16, .bytes = 64},
	{.name = "workspace", .bytes = 1}};

#define IS_ITEM(item, of, named, kind, size)                     \
	do {                                                     \
		cr_assert_str_eq((item).name, named);            \
		cr_assert_str_eq((item).function, of);           \
		cr_assert_eq((item).elements, (uint32_t)(kind)); \
		cr_assert_eq((item).bytes, (uint64_t)(size));    \
		cr_assert_eq((item).reserved, 0);                \
	} while (0)

PROMISE(saved_context, that_is_described_is_listed_with_names_types_and_bytes)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward_with_context(f, region);
	struct philox_kept_item items[4];
	uint64_t bytes = 0;
	size_t n = 0;
	void *saved;

	OK(philox_ticket_describe(region, made.ticket, parts, 3));
	OK(philox_ticket_kept(region, made.ticket, items, 4, &n, &bytes));
	cr_assert(n == 3 && bytes == 4096 + 64 + 1);
	IS_ITEM(items[0], "", "x", F32, 4096);
	IS_ITEM(items[1], "", "statistics", BF16, 64);
	IS_ITEM(items[2], "", "workspace", 0, 1);
	/* another description takes the place of that one */
	OK(philox_ticket_describe(region, made.ticket, parts + 1, 1));
	OK(philox_ticket_kept(region, made.ticket, items, 4, &n, &bytes));
	cr_assert(n == 1 && bytes == 64);
	IS_ITEM(items[0], "", "statistics", BF16, 64);
	OK(philox_ticket_describe(region, made.ticket, NULL, 0));
	OK(philox_ticket_kept(region, made.ticket, NULL, 0, &n, &bytes));
	cr_assert(n == 0 && bytes == 0);
	/* it is what it was for its backward, and is released as it was */
	OK(philox_ticket_context(region, made.ticket, &saved));
	cr_assert_eq(saved, &activations);
	FAILS(philox_ticket_attach(region, made.ticket, &saved, on_release),
	      PHILOX_ERROR_EXISTS);
	backward(f, &made, PHILOX_PASS_RETAIN);
	cr_assert_eq(released.calls, 0);
	backward(f, &made, 0);
	RELEASED_ONCE_ON(f->stream);
	FAILS(philox_ticket_kept(region, made.ticket, items, 4, &n, &bytes),
	      PHILOX_ERROR_RELEASED);
}

PROMISE(saved_context, that_nobody_described_is_listed_by_that_name)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward bare = forward(f, region);
	struct forward made = forward_with_context(f, region);
	struct philox_kept_item item;
	size_t n = 9;

	OK(philox_ticket_kept(region, bare.ticket, NULL, 0, &n, NULL));
	cr_assert_eq(n, 0);
	OK(philox_ticket_kept(region, made.ticket, &item, 1, &n, NULL));
	cr_assert_eq(n, 1);
	IS_ITEM(item, "", "saved context", 0, 0);
}

/* What has no place is counted all the same. */
PROMISE(saved_context, list_is_cut_to_its_room_and_its_total_is_not)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward_with_context(f, region);
	struct philox_kept_item items[3];
	uint64_t bytes = 0;
	size_t n = 0;

	OK(philox_ticket_describe(region, made.ticket, parts, 3));
	memset(items, 0x5a, sizeof(items));
	OK(philox_ticket_kept(region, made.ticket, items, 2, &n, &bytes));
	cr_assert(n == 3 && bytes == 4161);
	IS_ITEM(items[1], "", "statistics", BF16, 64);
	cr_assert_eq(items[2].bytes, UINT64_C(0x5a5a5a5a5a5a5a5a));
}

PROMISE(saved_context, that_is_described_wrongly_keeps_its_description)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward bare = forward(f, region);
	struct forward made = forward_with_context(f, region);
	struct philox_saved_desc wrong = parts[0];
	char name[65] = "";
	uint64_t bytes = 0;
	size_t n = 0;

	OK(philox_ticket_describe(region, made.ticket, parts, 3));
#define WRONG(text)                                                           \
	do {                                                                  \
		FAILS(philox_ticket_describe(region, made.ticket, &wrong, 1), \
		      PHILOX_ERROR_INVALID);                                  \
		NAMES("region 'layer': part 0 of a saved context: " text);    \
		wrong = parts[0];                                             \
	} while (0)
	wrong.name = NULL;
	WRONG("name is empty");
	wrong.name = "";
	WRONG("name is empty");
	memset(name, 'n', 64);
	wrong.name = name;
	WRONG("name has over 63 bytes");
	wrong.elements = 99;
	WRONG("elements are not known");
	wrong.reserved32 = 1;
	WRONG("reserved is not 0");
	wrong.reserved = 1;
	WRONG("reserved is not 0");
	FAILS(philox_ticket_describe(region, made.ticket, NULL, 1),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_describe(region, made.ticket, parts, 65537),
	      PHILOX_ERROR_LIMIT);
	NAMES("region 'layer': a saved context has 65536 parts at most");
	FAILS(philox_ticket_describe(region, bare.ticket, parts, 3),
	      PHILOX_ERROR_NOT_FOUND);
	NAMES("has no saved context");
	FAILS(philox_ticket_describe(NULL, made.ticket, parts, 3),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_kept(NULL, made.ticket, NULL, 0, &n, &bytes),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_kept(region, made.ticket, NULL, 0, NULL, &bytes),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_ticket_kept(region, made.ticket, NULL, 1, &n, &bytes),
	      PHILOX_ERROR_INVALID);
	OK(philox_ticket_kept(region, made.ticket, NULL, 0, &n, &bytes));
	cr_assert(n == 3 && bytes == 4161);
}

/* It is released whatever ends its ticket, and nothing leaks. */
PROMISE(saved_context, that_is_described_is_released_with_its_region)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward_with_context(f, region);

	OK(philox_ticket_describe(region, made.ticket, parts, 3));
	OK(philox_region_destroy(region));
	cr_assert_eq(released.calls, 1);
	cr_assert_eq(released.saved, &activations);
	region = make_region(f, "layer");
	made = forward_with_context(f, region);
	OK(philox_ticket_describe(region, made.ticket, parts, 3));
	OK(philox_ticket_release(region, f->side, made.ticket));
	RELEASED_ONCE_ON(f->side);
}

/*
 * tests/ledger/spans.c - a debug build warns of spans drawn twice
 *
 * Other builds say nothing, which is tested too.
 */
#include <criterion/criterion.h>
#include <philox.h>
#include <stdlib.h>
#include <string.h>

struct bed {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *region;
	struct philox_pass pass;
	void *out;
	int warnings;
};

static void count_warning(void *user, const struct philox_log_entry *entry)
{
	struct bed *bed = user;

	if (strcmp(entry->event, "span drawn twice"))
		return;
	cr_assert_str_eq(entry->region, "layer");
	cr_assert_str_eq(entry->op, "noise");
	bed->warnings++;
}

static void set_up(struct bed *bed)
{
	struct philox_op ops[2] = {{.name = "mask"}, {.name = "noise"}};
	struct philox_region_options options = {.size = sizeof(options),
						.name = "layer",
						.ops = ops,
						.n_ops = 2};

	memset(bed, 0, sizeof(*bed));
	cr_assert_eq(philox_device_open("host:sync", &bed->device), PHILOX_OK);
	cr_assert_eq(philox_context_create(bed->device, &bed->context),
		     PHILOX_OK);
	cr_assert_eq(philox_region_create(bed->context, &options, &bed->region),
		     PHILOX_OK);
	cr_assert_eq(philox_memory_alloc(bed->device, 4096, &bed->out),
		     PHILOX_OK);
	philox_context_set_log(bed->context, count_warning, bed);
}

static void tear_down(struct bed *bed)
{
	philox_memory_free(bed->device, bed->out);
	philox_context_destroy(bed->context);
	philox_device_close(bed->device);
}

static void draw(struct bed *bed, uint32_t op, uint64_t first, uint64_t count)
{
	struct philox_span span = philox_elements(first, count);

	cr_assert_eq(philox_bits(&bed->pass, op, PHILOX_U32, span, bed->out),
		     PHILOX_OK);
}

/* The warnings a debug build gives, and the others do not. */
static int expected(int warnings)
{
#ifdef PHILOX_DEBUG
	return warnings;
#else
	return 0 * warnings;
#endif
}

Test(spans, overlapping_ones_of_an_open_forward_are_told_of)
{
	struct philox_ticket ticket;
	struct bed bed;

	set_up(&bed);
	philox_forward_begin(bed.region, NULL, 0, &bed.pass);
	draw(&bed, 1, 0, 100);
	draw(&bed, 0, 0, 100);   /* another op */
	draw(&bed, 1, 100, 100); /* the next chunk */
	draw(&bed, 1, 50, 0);    /* nothing */
	cr_assert_eq(bed.warnings, 0);
	draw(&bed, 1, 199, 1);
	cr_assert_eq(bed.warnings, expected(1));
	philox_forward_commit(&bed.pass, &ticket);
	philox_forward_begin(bed.region, NULL, 0, &bed.pass);
	draw(&bed, 1, 0, 100); /* another forward */
	cr_assert_eq(bed.warnings, expected(1));
	draw(&bed, 1, UINT64_MAX - 9, 10);
	draw(&bed, 1, UINT64_MAX, 1);
	cr_assert_eq(bed.warnings, expected(2));
	philox_pass_abort(&bed.pass);
	tear_down(&bed);
}

Test(spans, a_backward_may_draw_again_and_again)
{
	struct philox_ticket ticket;
	struct bed bed;

	set_up(&bed);
	philox_forward_begin(bed.region, NULL, 0, &bed.pass);
	philox_forward_commit(&bed.pass, &ticket);
	philox_backward_begin(bed.region, ticket, NULL, 0, &bed.pass);
	draw(&bed, 1, 0, 100);
	draw(&bed, 1, 0, 100);
	philox_backward_commit(&bed.pass, 0);
	cr_assert_eq(bed.warnings, 0);
	tear_down(&bed);
}

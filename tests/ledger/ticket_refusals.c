/*
 * tests/ledger/ticket_refusals.c - tickets that are refused, devices that fail
 *
 * After each refusal the ledger is checked: no ticket was gained or lost, and
 * the next forward draws the numbers it would have drawn.
 */
#include <stdio.h>
#include "tests/support/support.h"

/* --- tickets -------------------------------------------------------------- */

static void never_called(void *saved, philox_stream stream)
{
	cr_assert_fail("released %p on %p", saved, (void *)stream);
}

/* All functions that take a ticket refuse this one. */
static void nobody_takes(struct fixture *f, struct philox_region *region,
			 struct philox_ticket ticket, enum philox_status one,
			 enum philox_status other)
{
	struct philox_pass pass = {0};
	void *saved;

	FAILS_EITHER(philox_backward_begin(region, f->stream, ticket, 0, &pass),
		     one, other);
	FAILS_EITHER(philox_backward_begin(region, f->stream, ticket,
					   PHILOX_PASS_RETAIN, &pass),
		     one, other);
	FAILS_EITHER(philox_backward_begin(region, f->stream, ticket,
					   PHILOX_PASS_ON_DEVICE, &pass),
		     one, other);
	FAILS_EITHER(philox_backward_begin(region, f->stream, ticket,
					   PHILOX_PASS_RETAIN, &pass),
		     one, other);
	cr_assert_null(pass.region, "outputs are written on success only");
	FAILS_EITHER(philox_ticket_release(region, f->stream, ticket), one,
		     other);
	FAILS_EITHER(philox_ticket_attach(region, ticket, &saved, never_called),
		     one, other);
	FAILS_EITHER(philox_ticket_context(region, ticket, &saved), one, other);
}

PROMISE(ticket_refusals, tickets_that_are_used_up)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region), used = forward(f, region);
	struct philox_pass pass;
	struct ledger_view before;
	char serial[24];

	backward(f, &used, 0);
	before = look(f, region);
	nobody_takes(f, region, used.ticket, PHILOX_ERROR_RELEASED,
		     PHILOX_ERROR_RELEASED);
	FAILS(philox_backward_begin(region, f->stream, used.ticket, 0, &pass),
	      PHILOX_ERROR_RELEASED);
	NAMES("layer");
	snprintf(serial, sizeof(serial), "%d", (int)used.ticket.serial);
	NAMES(serial);
	unchanged(f, region, &before);
	backward(f, &kept, 0);
}

PROMISE(ticket_refusals, tickets_never_issued)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region);
	struct ledger_view before = look(f, region);
	const uint64_t serials[] = {0,      2,          3,
				    1000,   1u << 31,   UINT64_C(1) << 32,
				    65 + 0, UINT64_MAX, UINT64_MAX - 63};

	for (size_t i = 0; i < sizeof(serials) / sizeof(*serials); i++) {
		struct philox_ticket ticket = {kept.ticket.region_key,
					       serials[i]};

		/* placeholders have the largest serials */
		nobody_takes(f, region, ticket, PHILOX_ERROR_RELEASED,
			     serials[i] >> 63 ? PHILOX_ERROR_MISMATCH
					      : PHILOX_ERROR_RELEASED);
	}
	unchanged(f, region, &before);
	backward(f, &kept, 0);
}

PROMISE(ticket_refusals, tickets_of_other_regions_and_garbage)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_region *other = make_region(f, "other");
	struct forward kept = forward(f, region), strange = forward(f, other);
	struct ledger_view before = look(f, region);
	const struct philox_ticket garbage = {0xdeadbeef, 1}, zero = {0, 0};
	struct philox_pass pass;

	nobody_takes(f, region, strange.ticket, PHILOX_ERROR_MISMATCH,
		     PHILOX_ERROR_MISMATCH);
	FAILS(philox_backward_begin(region, f->stream, strange.ticket, 0,
				    &pass),
	      PHILOX_ERROR_MISMATCH);
	NAMES("layer");
	nobody_takes(f, region, garbage, PHILOX_ERROR_MISMATCH,
		     PHILOX_ERROR_MISMATCH);
	nobody_takes(f, region, zero, PHILOX_ERROR_MISMATCH,
		     PHILOX_ERROR_RELEASED);
	unchanged(f, region, &before);
	backward(f, &kept, 0);
	backward(f, &strange, 0);
}

PROMISE(ticket_refusals, tickets_whose_forward_is_open)
{
	struct philox_region *region = make_region(f, "layer");
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, f->stream, 0, &pass));
	draw(&pass, f->scratch);
	nobody_takes(f, region, pass.ticket, PHILOX_ERROR_STATE,
		     PHILOX_ERROR_STATE);
	PENDING(region, 1);
	OK(philox_pass_commit(&pass, 0, &ticket));
	SAME(read_numbers(f, f->scratch),
	     backward_numbers(f, region, ticket, 0), "undisturbed");
}

PROMISE(ticket_refusals, releasing_a_ticket_in_use)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass pass;

	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &pass));
	FAILS(philox_ticket_release(region, f->stream, made.ticket),
	      PHILOX_ERROR_BUSY);
	OK(philox_pass_abort(&pass));
	OK(philox_backward_begin(region, f->stream, made.ticket,
				 PHILOX_PASS_RETAIN, &pass));
	FAILS(philox_ticket_release(region, f->stream, made.ticket),
	      PHILOX_ERROR_BUSY);
	draw(&pass, f->scratch);
	OK(philox_pass_commit(&pass, 0, NULL));
	SAME(read_numbers(f, f->scratch), made.saw, "undisturbed");
	OK(philox_ticket_release(region, f->stream, made.ticket));
}

PROMISE(ticket_refusals, a_second_consuming_backward)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made = forward(f, region);
	struct philox_pass first, second;

	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &first));
	FAILS(philox_backward_begin(region, f->stream, made.ticket, 0, &second),
	      PHILOX_ERROR_BUSY);
	NAMES("layer");
	PENDING(region, 1);
	OK(philox_pass_abort(&first));
	OK(philox_backward_begin(region, f->stream, made.ticket, 0, &second));
	OK(philox_pass_commit(&second, 0, NULL));
}

/* --- failures of the device ----------------------------------------------- */

/* Both kinds of pass while the n-th device call fails. */
static int one_round_with_failure(struct fixture *f,
				  struct philox_region *region, unsigned flags,
				  const char *operation, uint64_t n)
{
	struct philox_ticket ticket;
	struct philox_pass pass;
	int failed = 0;

	OK(philox_device_fail(f->device, operation, n, PHILOX_ERROR_DEVICE));
	if (philox_forward_begin(region, f->stream, flags, &pass) != PHILOX_OK)
		return 1;
	if (philox_pass_commit(&pass, 0, &ticket) != PHILOX_OK) {
		OK(philox_pass_abort(&pass));
		return 1;
	}
	if (philox_backward_begin(region, f->stream, ticket, flags, &pass) !=
	    PHILOX_OK) {
		OK(philox_ticket_release(region, f->stream, ticket));
		return 1;
	}
	if (philox_pass_commit(&pass, 0, NULL) != PHILOX_OK) {
		OK(philox_pass_abort(&pass));
		OK(philox_ticket_release(region, f->stream, ticket));
		failed = 1;
	}
	OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
	return failed;
}

static void ends_well_with_any_failure(struct fixture *f, unsigned flags)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region);
	unsigned failures = 0;

	f->injected = 1;
	for (const char *const *op = device_operations; *op; op++) {
		uint64_t n = 1;

		while (one_round_with_failure(f, region, flags, *op, n)) {
			PENDING(region, 1);
			backward(f, &kept, PHILOX_PASS_RETAIN);
			cr_assert_lt(n++, 100);
			failures++;
		}
	}
	cr_assert_gt(failures, 0);
	backward(f, &kept, 0);
}

PROMISE(ticket_refusals, a_failing_device_leaves_the_ledger_whole)
{
	ends_well_with_any_failure(f, 0);
}

PROMISE(ticket_refusals, a_failing_device_leaves_the_ledger_whole_with_cells)
{
	ends_well_with_any_failure(f, PHILOX_PASS_ON_DEVICE);
}

PROMISE(ticket_refusals, a_context_whose_making_fails_leaves_nothing)
{
	struct philox_context *other = NULL;
	unsigned failures = 0;

	f->injected = 1;
	for (uint64_t n = 1; n < 50; n++) {
		enum philox_status status;

		OK(philox_device_fail(f->device, NULL, n, PHILOX_ERROR_MEMORY));
		status = philox_context_create(f->device, &other);
		OK(philox_device_fail(f->device, NULL, 0, PHILOX_OK));
		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_MEMORY);
		cr_assert_null(other);
		failures++;
	}
	cr_assert_lt(failures, 49);
	philox_context_destroy(other);
}

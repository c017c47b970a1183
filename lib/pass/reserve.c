/*
 * lib/pass/reserve.c - forwards of many regions, begun and committed in a call
 *
 * Each takes its hold as a forward alone would, in the order of the array and
 * under one lock. All of them are tried first and given back: so nothing is
 * written, journalled or kept unless all of them succeed, and no memory is
 * needed for what is to be undone.
 */
#include <inttypes.h>
#include "lib/pass/pass.h"

#define RESERVE_FIRST OPTIONS_FIRST(struct philox_reserve_desc, reserved)
OPTIONS_NO_PADDING(struct philox_reserve_desc, reserved);

/* --- checks --------------------------------------------------------------- */

static enum philox_status check_reserve_flags(uint32_t flags)
{
	if (!flags || flags == PHILOX_PASS_INFERENCE ||
	    flags == PHILOX_PASS_WARMUP)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "reserve: flags 0x%" PRIx32 " is none of 0, "
			  "PHILOX_PASS_INFERENCE and PHILOX_PASS_WARMUP",
			  flags);
}

static enum philox_status refuse_null(const char *field)
{
	return status_set(PHILOX_ERROR_INVALID, "reserve: %s is NULL", field);
}

static enum philox_status check_desc(const struct philox_reserve_desc *reserve)
{
	enum philox_status status = check_reserve_flags(reserve->flags);

	if (status == PHILOX_OK)
		status = options_check_reserved("reserve", reserve->reserved);
	if (status != PHILOX_OK || !reserve->n_regions)
		return status;
	if (!reserve->regions)
		return refuse_null("regions");
	if (!reserve->flags && !reserve->tickets)
		return refuse_null("tickets");
	if (reserve->flags && !reserve->states)
		return refuse_null("states");
	return PHILOX_OK;
}

static enum philox_status check_stream(struct philox_context *context,
				       philox_stream stream)
{
	struct capture_info info;
	enum philox_status status =
		device_ask_capture(context->device, stream, &info);

	if (status != PHILOX_OK)
		return status_prefix(status, "reserve: ");
	if (info.status == PHILOX_CAPTURE_NONE)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			  "reserve: the stream is in capture %" PRIu64
			  ", whose launches reserve for themselves: begin each "
			  "forward there",
			  info.id);
}

static uint32_t limit_of(const struct philox_reserve_desc *reserve, size_t i)
{
	return reserve->limits ? reserve->limits[i] : 1;
}

static enum philox_status check_region(
	const struct philox_context *context,
	const struct philox_reserve_desc *reserve, size_t i)
{
	const struct philox_region *region = reserve->regions[i];
	enum philox_status status;

	if (region->context != context)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s' is of another context",
				  region->name);
	status = region_check_alive(region);
	if (status == PHILOX_OK)
		status = context->hooks->admit(region);
	if (status == PHILOX_OK && !limit_of(reserve, i))
		status = status_set(PHILOX_ERROR_INVALID,
				    "region '%s': limit is 0: a forward has at "
				    "least one iteration",
				    region->name);
	return status;
}

static enum philox_status check_states(
	const struct philox_reserve_desc *reserve, size_t cells)
{
	size_t expected = reserve->states ? cells : 0;

	if (reserve->n_states == expected)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "reserve: n_states is %zu, and %zu state%s %s "
			  "written: one for each cell of each region",
			  reserve->n_states, expected, status_s(expected),
			  status_is(expected));
}

/* --- holds ---------------------------------------------------------------- */

/* They end before the lock is given back, as those of a launch do. */
static struct hold new_hold(const struct philox_reserve_desc *reserve, size_t i)
{
	struct philox_region *region = reserve->regions[i];

	return (struct hold){.region = region,
			     .life = region->life,
			     .kind = hold_kind(reserve->flags),
			     .iterations = limit_of(reserve, i),
			     .launch = 1};
}

static enum philox_status try_one(const struct philox_context *context,
				  const struct philox_reserve_desc *reserve,
				  size_t i)
{
	struct philox_state state;
	struct hold hold;
	enum philox_status status;

	if (!reserve->regions[i])
		return status_set(PHILOX_ERROR_INVALID,
				  "reserve: regions[%zu] is NULL", i);
	status = check_region(context, reserve, i);
	if (status == PHILOX_OK) {
		hold = new_hold(reserve, i);
		status = hold_forward(&hold, &state);
	}
	return status == PHILOX_OK
		       ? PHILOX_OK
		       : status_prefix(status, "reserve: regions[%zu]: ", i);
}

/* The newest hold of a region is the last that was tried. */
static void give_back(const struct philox_reserve_desc *reserve, size_t i)
{
	struct hold hold = new_hold(reserve, i);

	if (hold.kind == HOLD_FORWARD)
		hold.serial = hold.region->serial - 1;
	hold_rewind(&hold);
}

/* Changes nothing; *failed is the region at fault, if there is one. */
static enum philox_status try_all(const struct philox_context *context,
				  const struct philox_reserve_desc *reserve,
				  const struct philox_region **failed)
{
	enum philox_status status = PHILOX_OK;
	size_t n = 0, cells = 0;

	while (n < reserve->n_regions) {
		status = try_one(context, reserve, n);
		if (status != PHILOX_OK)
			break;
		cells += reserve->regions[n++]->cells;
	}
	if (status != PHILOX_OK)
		*failed = reserve->regions[n];
	else
		status = check_states(reserve, cells);
	while (n)
		give_back(reserve, --n);
	return status;
}

/* Returns the place after the last state that it writes. */
static struct philox_state *write_states(const struct philox_region *region,
					 struct philox_state forward,
					 struct philox_state *to)
{
	for (uint32_t op = 0; op < region->n_ops; op++)
		for (uint32_t call = 0; call < region->ops[op].calls; call++)
			*to++ = region_cell_state(region, forward, op, call);
	return to;
}

/* After a trial it cannot fail. */
static struct philox_pass take_one(const struct philox_reserve_desc *reserve,
				   size_t i)
{
	struct hold hold = new_hold(reserve, i);
	struct saved_context none; /* a new ticket has none */
	struct philox_pass pass = {.region = hold.region,
				   .kind = PASS_FORWARD,
				   .iterations = hold.iterations};

	hold_forward(&hold, &pass.state);
	hold_tell(&hold);
	context_settle(hold.region->context, hold.region);
	if (hold.kind == HOLD_FORWARD)
		pass.ticket =
			(struct philox_ticket){hold.region->key, hold.serial};
	journal_pass(&pass, "begin", reserve->flags);
	hold_commit(&hold, 0, &none);
	journal_pass(&pass, "commit", reserve->flags);
	return pass;
}

static void take_all(const struct philox_reserve_desc *reserve)
{
	struct philox_state *to = reserve->states;

	for (size_t i = 0; i < reserve->n_regions; i++) {
		struct philox_pass pass = take_one(reserve, i);

		if (to)
			to = write_states(pass.region, pass.state, to);
		if (reserve->tickets)
			reserve->tickets[i] = pass.ticket;
	}
}

/* --- the call ------------------------------------------------------------- */

static enum philox_status reserve_all(struct philox_context *context,
				      const struct philox_reserve_desc *reserve,
				      const struct philox_region **failed)
{
	enum philox_status status;

	context_lock(context);
	status = try_all(context, reserve, failed);
	if (status == PHILOX_OK)
		take_all(reserve);
	context_unlock(context);
	return status;
}

enum philox_status philox_context_reserve(
	struct philox_context *context, philox_stream stream,
	const struct philox_reserve_desc *reserve)
{
	struct philox_reserve_desc copy;
	const struct philox_region *failed = NULL;
	struct philox_log_entry subject = {0};
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	if (!reserve)
		return context_null(context, "reserve");
	NEED_PROCESS(context);
	status = options_copy("reserve", reserve, reserve->size, RESERVE_FIRST,
			      sizeof(copy), &copy);
	if (status == PHILOX_OK)
		status = check_desc(&copy);
	if (status == PHILOX_OK)
		status = check_stream(context, stream);
	if (status == PHILOX_OK)
		status = reserve_all(context, &copy, &failed);
	subject.region = philox_region_name(failed);
	context_broken(context, stream, status, __func__, "(none)");
	return context_report(context, status, failed ? &subject : NULL);
}

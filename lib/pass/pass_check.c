/*
 * lib/pass/pass_check.c - see lib/pass/pass_check.h
 */
#include <inttypes.h>
#include "lib/device/captures.h"
#include "lib/state/ledger.h"
#include "lib/pass/pass_check.h"
#include "lib/state/region.h"

enum philox_status pass_finish(const struct philox_pass *pass,
			       enum philox_status status)
{
	struct philox_log_entry subject;

	if (status == PHILOX_OK) /* often, so without a subject */
		return context_report(pass->region->context, PHILOX_OK, NULL);
	subject = (struct philox_log_entry){.region = pass->region->name,
					    .capture_id = pass->capture_id};
	if (!(pass->ticket.serial & SERIAL_PLACEHOLDER))
		subject.ticket = pass->ticket;
	return context_report(pass->region->context, status, &subject);
}

enum philox_status pass_query(const struct philox_region *region,
			      philox_stream stream, const char *call,
			      struct capture_info *info)
{
	enum philox_status status =
		device_ask_capture(region->context->device, stream, info);

	status = region_status(region, status);
	context_broken(region->context, stream, status, call, region->name);
	return status;
}

static enum philox_status refuse_stream(const struct philox_pass *pass,
					uint64_t id)
{
	const char *name = pass->region->name;

	if (!id)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': the pass is in capture %" PRIu64
				  ", the stream in none",
				  name, pass->capture_id);
	if (!pass->capture_id)
		return status_set(PHILOX_ERROR_MISMATCH,
				  "region '%s': the stream is in capture "
				  "%" PRIu64 ", the pass in none",
				  name, id);
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': the pass is in capture %" PRIu64
			  ", the stream in capture %" PRIu64,
			  name, pass->capture_id, id);
}

enum philox_status pass_check_stream(const struct philox_pass *pass,
				     const char *call)
{
	struct philox_region *region = pass->region;
	struct capture_info info;
	enum philox_status status =
		pass_query(region, pass->stream, call, &info);

	if (status != PHILOX_OK || info.id == pass->capture_id)
		return status;
	return refuse_stream(pass, info.id);
}

/* Whether a pass is open and of this kind (0: any, but not a view). */
enum philox_status pass_check_open(const struct philox_pass *pass,
				   uint16_t kind)
{
	if (!pass)
		return context_null(NULL, "pass");
	if (!pass->region)
		return status_set(PHILOX_ERROR_STATE,
				  "the pass is not open: its begin "
				  "failed, or it has ended already");
	NEED_PROCESS(pass->region->context);
	if (pass->kind & PASS_VIEW)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': this is a view of a pass for "
				  "another stream: end the pass itself",
				  pass->region->name);
	if (kind && pass->kind != kind)
		return status_set(
			PHILOX_ERROR_STATE, "region '%s': the pass is a %s",
			pass->region->name,
			kind == PASS_FORWARD ? "backward, not a forward"
					     : "forward, not a backward");
	return PHILOX_OK;
}

/* A view can draw as well as its pass. */
enum philox_status pass_check_drawn(const struct philox_pass *pass)
{
	if (!pass)
		return context_null(NULL, "pass");
	if (!pass->region)
		return status_set(PHILOX_ERROR_STATE,
				  "the pass is not open: its begin "
				  "failed, or it has ended already");
	NEED_PROCESS(pass->region->context);
	return PHILOX_OK;
}

/* Logs through the pass's context if there is one. */
enum philox_status pass_finish_unopened(const struct philox_pass *pass,
					enum philox_status status)
{
	return pass && pass->region ? pass_finish(pass, status) : status;
}

/* Why a flag does not fit where another function takes it. */
static const struct {
	unsigned flag;
	const char *name;
	const char *why;
} misfits[] = {
	{PHILOX_INFERENCE, "PHILOX_INFERENCE",
	 "it says of a forward that no backward will come"},
	{PHILOX_WARMUP, "PHILOX_WARMUP",
	 "only a forward can be tried without reserving numbers"},
	{PHILOX_RETAIN, "PHILOX_RETAIN",
	 "its ticket is kept anyway, until a backward uses it up"},
	{PHILOX_REVERSED, "PHILOX_REVERSED",
	 "only a backward in the body of a captured loop runs through the "
	 "iterations of its forward"},
	{PHILOX_ON_DEVICE, "PHILOX_ON_DEVICE",
	 "a pass gets its cells when it begins"},
};

enum philox_status pass_refuse_flags(const struct philox_region *region,
				     unsigned flags, const char *where)
{
	unsigned unknown = flags;

	for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++)
		unknown &= ~misfits[i].flag;
	if (unknown)
		return status_set(PHILOX_ERROR_INVALID,
				  "region '%s': passes have no flag 0x%x",
				  region->name, unknown);
	for (size_t i = 0;; i++)
		if (flags & misfits[i].flag)
			return status_set(PHILOX_ERROR_INVALID,
					  "region '%s': %s does not fit %s: %s",
					  region->name, misfits[i].name, where,
					  misfits[i].why);
}

/*
 * lib/state/pass_check.c - see lib/state/pass_check.h
 */
#include <inttypes.h>
#include "lib/device/captures.h"
#include "lib/state/ledger.h"
#include "lib/state/pass_check.h"
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

enum philox_status pass_check_stream(const struct philox_pass *pass,
				     const char *call)
{
	struct philox_region *region = pass->region;
	struct capture_info info;
	enum philox_status status =
		pass_query(region, pass->stream, call, &info);

	if (status != PHILOX_OK || info.id == pass->capture_id)
		return status;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "region '%s': the stream is in capture %" PRIu64
			  ", the pass in capture %" PRIu64 " (0: none)",
			  region->name, info.id, pass->capture_id);
}

/* Whether a pass is open and of this kind (0: any, but not a view). */
enum philox_status pass_check_open(const struct philox_pass *pass,
				   uint16_t kind)
{
	if (!pass)
		return context_null(NULL, "pass");
	if (!pass->region)
		return status_set(PHILOX_ERROR_STATE, "the pass is not open");
	if (pass->kind & PASS_VIEW)
		return status_set(PHILOX_ERROR_STATE,
				  "region '%s': this is a view of a pass for "
				  "another stream: end the pass itself",
				  pass->region->name);
	if (kind && pass->kind != kind)
		return status_set(
			PHILOX_ERROR_STATE, "region '%s': not a %s pass",
			pass->region->name,
			kind == PASS_FORWARD ? "forward" : "backward");
	return PHILOX_OK;
}

/* Logs through the pass's context if there is one. */
enum philox_status pass_finish_unopened(const struct philox_pass *pass,
					enum philox_status status)
{
	return pass && pass->region ? pass_finish(pass, status) : status;
}

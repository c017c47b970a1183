/*
 * graph/runner/function/fields.c - what texts say of functions, field by field
 */
#include <stddef.h>
#include "graph/runner/function/function.h"

const char *const function_modes[] = {"forward", "backward", "inference", NULL};
const char *const function_flags[] = {"eager", "collective", NULL};
const char *const input_kinds[] = {"automatic", "static", "copied", NULL};
const char *const input_flags[] = {"mutated", "write_back", "fixed", NULL};

/* --- policy --------------------------------------------------------------- */

static const char *const refused[] = {"eager", "error", NULL};
static const char *const differs[] = {"error", "eager", NULL};

#define POLICY(of, field) FIELD(of, struct philox_policy, field, #field)

const struct field policy_fields[] = {
	{POLICY(CHOICE, refused), .words = refused},
	{POLICY(TIMES, recordings), .otherwise = PHILOX_RECORDINGS},
	{FIELD(BOUND, struct philox_policy, warmups, "warm-ups"),
	 .name = "warmups", .otherwise = 1},
	{POLICY(BOUND, dry)},
	{POLICY(TIMES, retry), .otherwise = 16},
	{POLICY(BOUND, keys)},
	{POLICY(BOUND, verify)},
	{POLICY(CHOICE, differs), .words = differs},
	{POLICY(NUMBER, bytes), .otherwise = PHILOX_RECORDING_BYTES},
	FIELDS_END};

/* --- policy: as it was in version 1 of texts ------------------------------ */

static const char *const moved_1[] = {"limit", "record", "error", NULL};
static const char *const live_1[] = {"eager", "record", NULL};

#define POLICY_1(of, field) FIELD(of, struct policy_1, field, #field)

const struct field policy_1_fields[] = {
	{POLICY_1(CHOICE, moved), .words = moved_1,
	 .what = "what moved inputs do"},
	{POLICY_1(CHOICE, live), .words = live_1},
	{POLICY_1(CHOICE, refused), .words = refused},
	{POLICY_1(BOUND, limit), .otherwise = 5},
	{FIELD(BOUND, struct policy_1, warmups, "warm-ups"), .name = "warmups",
	 .otherwise = 1},
	{POLICY_1(BOUND, dry)},
	{POLICY_1(TIMES, after), .otherwise = 1},
	{POLICY_1(TIMES, again), .otherwise = PHILOX_NEVER},
	{POLICY_1(TIMES, retry), .otherwise = 16},
	{POLICY_1(BOUND, keys)},
	{POLICY_1(BOUND, verify)},
	{POLICY_1(CHOICE, differs), .words = differs},
	{POLICY_1(NUMBER, bytes)},
	FIELDS_END};

const char *policy_of_1(const struct policy_1 *old,
			struct philox_policy *policy, int *fixed)
{
	if (old->after != 1)
		return "after";
	if (old->again != PHILOX_NEVER)
		return "again";
	*fixed = old->moved == MOVED_ERROR_1;
	*policy = (struct philox_policy){
		.refused = old->refused,
		.recordings = old->limit == 5 ? PHILOX_RECORDINGS
			      : old->limit    ? old->limit
					      : 1,
		.warmups = old->warmups,
		.dry = old->dry,
		.retry = old->retry,
		.keys = old->keys,
		.verify = old->verify,
		.differs = old->differs,
		.bytes = old->bytes ? old->bytes : PHILOX_RECORDING_BYTES};
	return NULL;
}

/* --- policy: its values --------------------------------------------------- */

const char *policy_wrong(const struct philox_policy *policy)
{
	for (const struct field *field = policy_fields;
	     field->kind != FIELD_END; field++) {
		uint64_t choices = 0;

		while (field->words && field->words[choices])
			choices++;
		if (choices && field_number(field, policy) >= choices)
			return field_name(field);
	}
	if (policy->reserved[0] || policy->reserved[1])
		return "reserved";
	return policy->dry > DRY_MAX ? "dry" : NULL;
}

void policy_fill(struct philox_policy *policy)
{
	for (const struct field *field = policy_fields;
	     field->kind != FIELD_END; field++) {
		const uint64_t given = field_number(field, policy);

		if (field->otherwise && !given)
			field_set(field, policy, field->otherwise);
		else if (field->otherwise && field->kind == FIELD_BOUND &&
			 given == PHILOX_NEVER)
			field_set(field, policy, 0);
	}
}

/* --- counts --------------------------------------------------------------- */

#define COUNT(text, field) \
	FIELD(NUMBER, struct philox_function_stats, field, text)

const struct field count_calls[] = {
	{COUNT("eager", eager)},   {COUNT("warm-up", warmup), .name = "warmup"},
	{COUNT("record", record)}, {COUNT("replay", replay)},
	{COUNT("failed", failed)}, FIELDS_END};

const struct field count_bodies[] = {{COUNT(NULL, bodies), .name = "all"},
				     {COUNT("dry", dry)},
				     {COUNT("checking", checking)},
				     {COUNT("nested", nested), .may_lack = 1},
				     FIELDS_END};

const struct field count_prepared[] = {{COUNT("prepared", prepared)},
				       FIELDS_END};

const struct field count_misses[] = {
	{COUNT("new", missed_new)},         {COUNT("moved", missed_moved)},
	{COUNT("live", missed_live)},       {COUNT("stale", missed_stale)},
	{COUNT("evicted", missed_evicted)}, {COUNT("bound", missed_bound)},
	{COUNT("refused", missed_refused)}, {COUNT("eager", missed_eager)},
	{COUNT("agreed", missed_agreed)},   FIELDS_END};

const struct field count_verified[] = {
	{COUNT(NULL, verified), .name = "verified"},
	{COUNT("differed", differed)},
	{COUNT("unverified", unverified)},
	FIELDS_END};

const struct field count_kept[] = {
	{COUNT("dropped", keys_dropped), .name = "keys_dropped"},
	{COUNT("evicted", evicted)},
	{COUNT("unplayed", unplayed)},
	{COUNT("bytes", bytes)},
	{COUNT("pool", pool_bytes), .name = "pool_bytes"},
	{COUNT("copies", copies)},
	FIELDS_END};

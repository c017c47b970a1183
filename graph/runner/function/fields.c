/*
 * graph/runner/function/fields.c - what texts say of functions, field by field
 */
#include <stddef.h>
#include "graph/runner/function/function.h"

const char *const function_modes[] = {"forward", "backward", "inference", NULL};
const char *const function_flags[] = {"eager", "collective", NULL};
const char *const input_kinds[] = {"static", "copied", "automatic", NULL};
const char *const input_flags[] = {"mutated", "write_back", NULL};

/* --- policy --------------------------------------------------------------- */

static const char *const moved[] = {"limit", "record", "error", NULL};
static const char *const live[] = {"eager", "record", NULL};
static const char *const refused[] = {"eager", "error", NULL};
static const char *const differs[] = {"error", "eager", NULL};

#define POLICY(of, field) FIELD(of, struct philox_policy, field, #field)

const struct field policy_fields[] = {
	{POLICY(CHOICE, moved), .words = moved, .what = "what moved inputs do"},
	{POLICY(CHOICE, live), .words = live},
	{POLICY(CHOICE, refused), .words = refused},
	{POLICY(BOUND, limit), .otherwise = 5},
	{FIELD(BOUND, struct philox_policy, warmups, "warm-ups"),
	 .name = "warmups", .otherwise = 1},
	{POLICY(BOUND, dry)},
	{POLICY(TIMES, after), .otherwise = 1},
	{POLICY(TIMES, again), .otherwise = PHILOX_NEVER},
	{POLICY(TIMES, retry), .otherwise = 16},
	{POLICY(BOUND, keys)},
	{POLICY(BOUND, verify)},
	{POLICY(CHOICE, differs), .words = differs},
	{POLICY(NUMBER, bytes)},
	FIELDS_END};

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
				     FIELDS_END};

const struct field count_prepared[] = {{COUNT("prepared", prepared)},
				       FIELDS_END};

const struct field count_misses[] = {
	{COUNT("new", missed_new)},         {COUNT("moved", missed_moved)},
	{COUNT("live", missed_live)},       {COUNT("stale", missed_stale)},
	{COUNT("early", missed_early)},     {COUNT("limit", missed_limit)},
	{COUNT("refused", missed_refused)}, {COUNT("eager", missed_eager)},
	{COUNT("agreed", missed_agreed)},   FIELDS_END};

const struct field count_verified[] = {
	{COUNT(NULL, verified), .name = "verified"},
	{COUNT("differed", differed)},
	{COUNT("unverified", unverified)},
	FIELDS_END};

const struct field count_kept[] = {
	{COUNT("dropped", keys_dropped), .name = "keys_dropped"},
	{COUNT("unplayed", unplayed)},
	{COUNT("bytes", bytes)},
	{COUNT("copies", copies)},
	FIELDS_END};

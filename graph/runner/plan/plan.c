/*
 * graph/runner/plan/plan.c - what a plan is: see Note [Plan]
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "graph/runner/plan/plan.h"
#include "lib/text/text.h"

/* The bytes that a text in an array has at most. */
#define TEXT_OF(type, member) (sizeof(((type *)0)->member) - 1)

/* --- fields --------------------------------------------------------------- */

static const char *const alive[] = {"destroyed", "alive", NULL};

#define NUMBER(type, text, field) FIELD(NUMBER, struct type, field, text)
#define SIZE(type, text, field)   NUMBER(type, text, field), .most = PLAN_MOST
#define NAME(type)                FIELD(NAME, struct type, name, NULL), .name = "name"

const struct field plan_peak_fields[] = {
	{SIZE(plan, "live", live), .name = "live_peak",
	 .spoken = "live at its peak"},
	{SIZE(plan, "mapped", mapped), .name = "mapped_peak",
	 .spoken = "mapped at its peak"},
	FIELDS_END};

const struct field plan_function_fields[] = {
	{NAME(plan_function), .most = TEXT_OF(struct philox_function, name)},
	{FIELD(CHOICE, struct plan_function, mode, NULL), .name = "mode",
	 .spoken = "its mode", .words = function_modes,
	 .what = "a mode of functions"},
	{FIELD(FLAGS, struct plan_function, flags, "flags"),
	 .words = function_flags},
	FIELDS_END};

static const struct field input_fields[] = {
	{NAME(philox_input_desc)},
	{FIELD(CHOICE, struct philox_input_desc, kind, NULL), .name = "kind",
	 .spoken = "the kind", .words = input_kinds,
	 .what = "a kind of inputs"},
	{FIELD(FLAGS, struct philox_input_desc, flags, "flags"),
	 .words = input_flags},
	{SIZE(philox_input_desc, "alignment", alignment),
	 .spoken = "the alignment"},
	{NUMBER(philox_input_desc, "elements", elements)},
	FIELDS_END};

static const struct field output_fields[] = {
	{NAME(philox_output_desc)},
	{NUMBER(philox_output_desc, "elements", elements)},
	FIELDS_END};

static const struct field value_fields[] = {
	{NAME(philox_param_desc)},
	{SIZE(philox_param_desc, "bytes", bytes), .spoken = "the size"},
	FIELDS_END};

const struct plan_part plan_parts[PLAN_PARTS] = {
	{"input",
	 input_fields,
	 sizeof(struct philox_input_desc),
	 offsetof(struct plan_function, inputs),
	 {NUMBER(plan_function, "inputs", n_inputs),
	  .spoken = "how many inputs it has"}},
	{"output",
	 output_fields,
	 sizeof(struct philox_output_desc),
	 offsetof(struct plan_function, outputs),
	 {NUMBER(plan_function, "outputs", n_outputs),
	  .spoken = "how many outputs it has"}},
	{"value",
	 value_fields,
	 sizeof(struct philox_param_desc),
	 offsetof(struct plan_function, params),
	 {NUMBER(plan_function, "values", n_params),
	  .spoken = "how many values it has"}}};

#define REGION FIELD(NAME, struct step, region, NULL)

static const struct field forward_fields[] = {
	{REGION}, {NUMBER(step, "flags", flags)}, FIELDS_END};
static const struct field backward_fields[] = {
	{REGION},
	{SIZE(step, "of", a), .may_lack = 1, .otherwise = UINT64_MAX},
	{NUMBER(step, "flags", flags)},
	FIELDS_END};
static const struct field alloc_fields[] = {
	{SIZE(step, NULL, a)}, {SIZE(step, "alignment", b)}, FIELDS_END};
static const struct field number_fields[] = {{SIZE(step, NULL, a)}, FIELDS_END};
static const struct field given_fields[] = {
	{SIZE(step, NULL, a)}, {SIZE(step, "bytes", b)}, FIELDS_END};

static const struct field named_fields[] = {{REGION}, FIELDS_END};
static const struct field named_output_fields[] = {
	{REGION}, {SIZE(step, "bytes", b)}, FIELDS_END};

const struct text_line plan_steps[PLAN_STEPS] = {
	[STEP_FORWARD] = {"forward", forward_fields},
	[STEP_BACKWARD] = {"backward", backward_fields},
	[STEP_ALLOC] = {"alloc", alloc_fields},
	[STEP_FREE] = {"free", number_fields},
	[STEP_OUTPUT] = {"output", given_fields},
	[STEP_VALUE] = {"value", number_fields},
	[STEP_CALL] = {"call", named_fields},
	[STEP_INNER_OUTPUT] = {"gives", named_output_fields},
	[STEP_INNER_VALUE] = {"reads", named_fields},
	[STEP_RETURN] = {"return", named_fields}};

const struct field plan_script_fields[] = {
	{SIZE(plan_key, "script", script), .none = "none"}, FIELDS_END};

#define KEY_BEGIN                                                              \
	{SIZE(plan_key, "calls", calls)},                                      \
		{NUMBER(plan_key, "warmups", warmups), .most = UINT32_MAX - 1, \
		 .spoken = "warm-ups to come"},                                \
	{                                                                      \
		NUMBER(plan_key, "dry", dry), .most = DRY_MAX,                 \
					      .spoken = "dry warm-ups to come" \
	}
#define KEY_END                                                               \
	{NUMBER(plan_key, "recordings", expected.n), .most = UINT32_MAX / 2}, \
		{NUMBER(plan_key, "unplayed", expected.unplayed),             \
		 .spoken = "never replayed"},                                 \
		{NUMBER(plan_key, "prepared", expected.prepared)},            \
		{SIZE(plan_key, "bytes", expected.bytes)},                    \
		{FIELD(TIMES, struct plan_key, wait, "wait")}, FIELDS_END
#define WASTE(type)                                                            \
	{NUMBER(type, "wasted", waste.wasted)},                                \
	{                                                                      \
		NUMBER(type, "patience", waste.patience), .spoken = "its "     \
								    "patience" \
	}

const struct field plan_key_fields[] = {KEY_BEGIN, WASTE(plan_key), KEY_END};
const struct field plan_key_1_fields[] = {
	KEY_BEGIN, {NUMBER(plan_key, "limited", limited)}, KEY_END};

const struct field plan_waste_fields[] = {WASTE(plan_function), FIELDS_END};

const struct field plan_refused_fields[] = {
	{FIELD(NAME, struct plan_key, refused, "refused"),
	 .most = TEXT_OF(struct key, refused)},
	FIELDS_END};

/* Of a key that has one. */
const struct field plan_label_fields[] = {
	{FIELD(TEXT, struct plan_key, label, NULL), .name = "label",
	 .what = "label"},
	FIELDS_END};

const struct field plan_input_fields[] = {
	{SIZE(key_input, NULL, bytes), .name = "bytes"},
	{NUMBER(key_input, "moves", moves)},
	{FIELD(MARK, struct key_input, copied, "copied")},
	{FIELD(MARK, struct key_input, pinned, "pinned")},
	FIELDS_END};

const struct field plan_barred_fields[] = {
	{FIELD(HEX, struct plan_barred, ticket.region_key, NULL),
	 .name = "region"},
	{SIZE(plan_barred, NULL, ticket.serial), .name = "serial", .least = 1},
	{FIELD(NAME, struct plan_barred, function, "by"), .name = "function",
	 .most = TEXT_OF(struct unrecorded_ticket, name)},
	{FIELD(EITHER, struct plan_barred, alive, NULL), .name = "alive",
	 .words = alive, .what = "' destroyed'"},
	{FIELD(NAME, struct plan_barred, reason, "for"), .name = "reason",
	 .most = TEXT_OF(struct unrecorded_ticket, reason)},
	FIELDS_END};

/* --- parts of functions ---------------------------------------------------- */

const void *plan_part_at(const struct plan_part *part,
			 const struct plan_function *function, size_t index)
{
	const char *items;

	memcpy(&items, (const char *)function + part->items, sizeof(items));
	return items + index * part->size;
}

size_t plan_part_count(const struct plan_part *part,
		       const struct plan_function *function)
{
	return (size_t)field_number(&part->count, function);
}

static const struct field *fields_of_parts_differ(
	const struct plan_part *part, struct plan_difference *difference)
{
	const struct plan_function *one = difference->one;
	const struct plan_function *other = difference->other;
	const size_t n = plan_part_count(part, one);
	const size_t m = plan_part_count(part, other);

	for (size_t i = 0; i < n && i < m; i++) {
		const void *a = plan_part_at(part, one, i);
		const void *b = plan_part_at(part, other, i);
		const struct field *field = fields_differ(part->fields, a, b);

		if (!field)
			continue;
		*difference = (struct plan_difference){
			.part = part, .index = i, .one = a, .other = b};
		return field;
	}
	return n == m ? NULL : &part->count;
}

int plan_functions_differ(const struct plan_function *one,
			  const struct plan_function *other,
			  struct plan_difference *difference)
{
	*difference = (struct plan_difference){.one = one, .other = other};
	difference->field = fields_differ(plan_function_fields, one, other);
	for (size_t i = 0; !difference->field && i < PLAN_PARTS; i++)
		difference->field =
			fields_of_parts_differ(&plan_parts[i], difference);
	if (difference->field)
		return 1;
	difference->one = &one->policy;
	difference->other = &other->policy;
	difference->of_policy = 1;
	difference->field =
		fields_differ(policy_fields, &one->policy, &other->policy);
	return difference->field != NULL;
}

/* --- freed ---------------------------------------------------------------- */

static void free_scripts(struct plan_function *function)
{
	for (size_t i = 0; i < function->n_scripts; i++) {
		struct plan_script *script = &function->scripts[i];

		for (size_t k = 0; k < script->n; k++)
			free((void *)(uintptr_t)script->steps[k].region);
		free(script->steps);
	}
}

static void free_contents(struct plan_function *function)
{
	fields_free(plan_function_fields, function);
	for (size_t i = 0; i < PLAN_PARTS; i++) {
		const struct plan_part *part = &plan_parts[i];
		const size_t n = plan_part_count(part, function);

		for (size_t k = 0; k < n; k++)
			fields_free(part->fields,
				    plan_part_at(part, function, k));
	}
	free(function->inputs);
	free(function->outputs);
	free(function->params);
	free_scripts(function);
	for (size_t i = 0; i < function->n_keys; i++) {
		free(function->keys[i].bytes);
		free(function->keys[i].refused);
	}
}

enum philox_status plan_no_room(void)
{
	return status_set(PHILOX_ERROR_MEMORY, "no memory for a plan");
}

void plan_finish(struct plan *plan)
{
	for (size_t i = 0; i < plan->n_functions; i++) {
		struct plan_function *function = &plan->functions[i];

		if (!plan->borrowed)
			free_contents(function);
		free(function->scripts);
		free(function->keys);
		free(function->takes);
	}
	for (size_t i = 0; i < plan->n_barred && !plan->borrowed; i++)
		fields_free(plan_barred_fields, &plan->barred[i]);
	if (!plan->borrowed)
		free(plan->library);
	free(plan->functions);
	free(plan->barred);
	memset(plan, 0, sizeof(*plan));
}

/* --- the same ------------------------------------------------------------------ */

int plan_same_keys(const void *function, size_t one, size_t other)
{
	const struct plan_function *of = function;
	const struct plan_key *a = &of->keys[one], *b = &of->keys[other];

	return a->size == b->size &&
	       (!a->size || memcmp(a->bytes, b->bytes, a->size) == 0);
}

int plan_same_scripts(const void *function, size_t one, size_t other)
{
	const struct plan_function *of = function;
	const struct plan_script *a = &of->scripts[one];
	const struct plan_script *b = &of->scripts[other];

	if (a->n != b->n)
		return 0;
	for (size_t i = 0; i < a->n; i++)
		if (!script_same_step(&a->steps[i], &b->steps[i]))
			return 0;
	return 1;
}

static uint64_t mix_in(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

uint64_t plan_hash_script(const struct plan_script *script)
{
	uint64_t hash = script->n;

	for (size_t i = 0; i < script->n; i++) {
		const struct step *step = &script->steps[i];

		hash = mix_in(hash, (uint64_t)step->kind << 32 | step->flags);
		hash = mix_in(hash, step->a);
		hash = mix_in(hash, step->b);
		if (step->region)
			hash = mix_in(hash, hash_text(step->region,
						      strlen(step->region)));
	}
	return hash;
}

/* --- found by a hash ------------------------------------------------------- */

enum philox_status plan_index_put(struct plan_index *index, uint64_t hash,
				  size_t number, size_t *found)
{
	const struct map_entry *entry = map_find(&index->numbers, hash);

	for (; entry; entry = map_find_next(&index->numbers, entry)) {
		*found = (size_t)(uintptr_t)entry->value - 1;
		if (index->same(index->things, *found, number))
			return PHILOX_OK;
	}
	if (!map_reserve(&index->numbers, index->numbers.count + 1))
		return plan_no_room();
	map_put(&index->numbers, hash, (void *)(uintptr_t)(number + 1));
	*found = number;
	return PHILOX_OK;
}

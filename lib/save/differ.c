/*
 * lib/save/differ.c - the first difference of two texts
 *
 * Each thing that two texts can have is compared member by member, by tables of
 * what is told of a member, in the order in which it is told.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/save/save.h"
#include "lib/state/state.h"

/* A member with what is said before its value, here and by philox diff. */
#define SAID(kind, type, member, word, said)                           \
	{                                                              \
		FIELD(kind, struct type, member, word), .spoken = said \
	}
#define CHOSEN(kind, type, member, word, said, list)                    \
	{                                                               \
		FIELD(kind, struct type, member, word), .spoken = said, \
							.words = list   \
	}

/* --- what differs --------------------------------------------------------- */

static int found_numbers(struct difference *found, const struct field *field,
			 uint64_t a, uint64_t b)
{
	found->field = field;
	found->numbers[0] = a;
	found->numbers[1] = b;
	return a != b;
}

/* What is so in one only. */
static int found_alone(struct difference *found, const struct field *field,
		       const char *alone, int in_a, int in_b)
{
	found->alone = alone;
	found->in_b = in_b;
	return found_numbers(found, field, (uint64_t)in_a, (uint64_t)in_b);
}

static int differ_members(struct difference *found, const struct field *fields,
			  const void *a, const void *b)
{
	const struct field *field = fields_differ(fields, a, b);

	if (!field)
		return 0;
	if (field->kind == FIELD_NAME) {
		found->field = field;
		found->names[0] = field_text(field, a);
		found->names[1] = field_text(field, b);
		return 1;
	}
	return found_numbers(found, field, field_number(field, a),
			     field_number(field, b));
}

static void begin_part(struct difference *found, const char *part,
		       uint64_t number)
{
	found->part = part;
	found->number = number;
	found->part_name = NULL;
}

/* --- meshes and generators ------------------------------------------------ */

static const char *const stages[] = {"no stages", "stages", NULL};
static const struct field axis_name[] = {
	SAID(NAME, philox_axis, name, "axis", "the name is"), FIELDS_END};
static const struct field axis_members[] = {
	SAID(NUMBER, philox_axis, n_ranks, "size", "size is"),
	CHOSEN(EITHER, philox_axis, flags, "flags", "it has", stages),
	FIELDS_END};
static const struct field place_members[] = {
	{FIELD(NUMBER, struct philox_axis, n_ranks, "size")},
	{FIELD(NUMBER, struct philox_axis, coordinate, "coordinate")},
	{FIELD(NUMBER, struct philox_axis, flags, "flags")},
	FIELDS_END};
static const struct field axes_count = {.word = "axes",
					.spoken = "the number of axes is"};

static int differ_axis(struct difference *found, const struct philox_axis *a,
		       const struct philox_axis *b, unsigned parts)
{
	if (differ_members(found, axis_name, a, b))
		return 1;
	found->part_name = a->name;
	return differ_members(
		found, parts & DIFFER_LINES ? place_members : axis_members, a,
		b);
}

int differ_mesh(const struct philox_mesh *a, const struct philox_mesh *b,
		unsigned parts, struct difference *found)
{
	*found = (struct difference){.object = "mesh"};
	for (uint32_t i = 0; i < a->n_axes && i < b->n_axes; i++) {
		begin_part(found, "axis", i);
		if (differ_axis(found, &a->axes[i], &b->axes[i], parts))
			return 1;
	}
	begin_part(found, NULL, 0);
	return found_numbers(found, &axes_count, a->n_axes, b->n_axes);
}

static const char *const shares[] = {"is shared", "differs", NULL};
static const struct field state_members[] = {
	SAID(HEX, philox_state, seed, "seed", "seed is"),
	SAID(NUMBER, philox_state, offset, "offset", "offset is"), FIELDS_END};
static const struct field between_ranks = {
	.kind = FIELD_EITHER, .spoken = "between ranks it", .words = shares};
static const struct field generators_count = {.spoken = "their number is"};

static int differ_generator(const struct saved_generator *a,
			    const struct saved_generator *b, unsigned parts,
			    struct difference *found)
{
	const int is_own = a->flags || b->flags;

	found->alone = NULL;
	if ((parts & DIFFER_STATES) && (!is_own || parts & DIFFER_LINES) &&
	    differ_members(found, state_members, &a->state, &b->state))
		return 1;
	return (parts & DIFFER_SHAPE) &&
	       found_alone(found, &between_ranks, "differs between ranks",
			   a->flags != 0, b->flags != 0);
}

int differ_generators(const struct saved *a, const struct saved *b,
		      unsigned parts, struct difference *found)
{
	size_t i;

	*found = (struct difference){.object = "generator"};
	for (i = 0; i < a->n_generators && i < b->n_generators; i++) {
		found->number = i;
		if (differ_generator(&a->generators[i], &b->generators[i],
				     parts, found))
			return 1;
	}
	if (!(parts & DIFFER_SHAPE))
		return 0;
	found->number = i;
	found->alone = "is";
	found->in_b = i < b->n_generators;
	return found_numbers(found, &generators_count, a->n_generators,
			     b->n_generators);
}

/* --- the shape of a region ------------------------------------------------ */

/* One of two regions that are compared, with the text it is in. */
struct side {
	const struct saved *text;
	const struct saved_region *region;
};

static const char *const there[] = {"missing", "there", NULL};
static const char *const lives[] = {"destroyed", "alive", NULL};
static const struct field is_alive = {
	.kind = FIELD_EITHER, .spoken = "it is", .words = lives};
static const struct field along_axis = {.kind = FIELD_EITHER, .words = shares};
static const struct field generator_of = {
	.kind = FIELD_NUMBER, .word = "generator", .spoken = "generator is"};
static const struct field flags_of[] = {
	SAID(NUMBER, saved_region, flags, "flags", "flags is"), FIELDS_END};
static const struct field ops_count = {.kind = FIELD_NUMBER,
				       .word = "operators",
				       .spoken = "the number of ops is"};

static int differ_generator_of(uint32_t a, uint32_t b, struct difference *found)
{
	if (a == SAVE_NO_GENERATOR || b == SAVE_NO_GENERATOR) {
		found->alone = "its generator was destroyed";
		found->in_b = b == SAVE_NO_GENERATOR;
	}
	return found_numbers(found, &generator_of, a, b);
}

static const char *axis_of(const struct side *side, size_t i)
{
	if (i >= side->region->n_axes)
		return NULL;
	return side->text->axes[side->region->axis + i];
}

/* Both are in order: at the first difference the lower name is of one only. */
static int differ_axes(const struct side *a, const struct side *b,
		       struct difference *found)
{
	const char *left, *right;

	for (size_t i = 0; (left = axis_of(a, i)) || axis_of(b, i); i++) {
		int in_a, in_b;

		right = axis_of(b, i);
		in_a = !right || (left && strcmp(left, right) <= 0);
		in_b = !left || (right && strcmp(left, right) >= 0);
		found->part_name = in_a ? left : right;
		if (found_alone(found, &along_axis, "differs along axis", in_a,
				in_b))
			return 1;
	}
	found->part_name = found->alone = NULL;
	return 0;
}

static int differ_ops(const struct side *a, const struct side *b,
		      struct difference *found)
{
	const struct saved_region *left = a->region, *right = b->region;

	for (size_t i = 0; i < left->n_ops && i < right->n_ops; i++) {
		begin_part(found, "op", i);
		found->part_name = a->text->ops[left->op + i].name;
		if (differ_members(found, save_op_fields,
				   &a->text->ops[left->op + i],
				   &b->text->ops[right->op + i]))
			return 1;
	}
	begin_part(found, NULL, 0);
	return found_numbers(found, &ops_count, left->n_ops, right->n_ops);
}

/* --- the states of a region ----------------------------------------------- */

static const char *const opens[] = {"not open", "open", NULL};
static const struct field next_members[] = {
	SAID(NUMBER, saved_region, serial, NULL,
	     "the serial of its next forward is"),
	SAID(HEX, saved_region, state.seed, NULL,
	     "the seed of its next forward is"),
	SAID(NUMBER, saved_region, state.offset, NULL,
	     "the offset of its next forward is"),
	CHOSEN(EITHER, saved_region, open, NULL, "a forward of it is", opens),
	FIELDS_END};
static const struct field issued_members[] = {
	SAID(NUMBER, saved_region, issued, "issued offset",
	     "the highest offset of others is"),
	SAID(NUMBER, saved_region, issued_serial, "issued serial",
	     "the highest serial of others is"),
	FIELDS_END};
static const struct field line_members[] = {
	{FIELD(HEX, struct saved_region, state.seed, "seed")},
	{FIELD(NUMBER, struct saved_region, state.offset, "offset")},
	{FIELD(NUMBER, struct saved_region, serial, "next serial")},
	FIELDS_END};

/* What has been issued at all, by others or by the region itself. */
static struct saved_region issued_by_all(const struct saved_region *region)
{
	struct saved_region all = *region;

	if (all.issued < region->state.offset)
		all.issued = region->state.offset;
	if (all.issued_serial < region->serial)
		all.issued_serial = region->serial;
	return all;
}

/* Phase and use: by the numbers of enum ledger_phase and enum ledger_use. */
static const char *const phases[] = {[LEDGER_FREE] = "gone",
				     [LEDGER_FORWARD_OPEN] = "open",
				     [LEDGER_PENDING] = "pending",
				     [LEDGER_DONE] = "used up, but read"};
static const char *const uses[] = {[LEDGER_RETAIN] = "read",
				   [LEDGER_CONSUME] = "used up by a pass",
				   [LEDGER_CLAIM] = "used up by a launch"};
static const struct field ticket_phase = {
	.kind = FIELD_CHOICE, .spoken = "it is", .words = phases};
static const struct field ticket_members[] = {
	SAID(HEX, saved_ticket, state.seed, "seed", "seed is"),
	SAID(NUMBER, saved_ticket, state.offset, "offset", "offset is"),
	SAID(NUMBER, saved_ticket, iterations, "iterations",
	     "its number of iterations is"),
	SAID(NUMBER, saved_ticket, readers, NULL,
	     "the number of its open passes is"),
	CHOSEN(CHOICE, saved_ticket, consuming, NULL, "it is being", uses),
	FIELDS_END};

/* NULL: it has no such ticket. */
static int differ_ticket(const struct saved_ticket *a,
			 const struct saved_ticket *b, struct difference *found)
{
	begin_part(found, "ticket", (a ? a : b)->serial);
	found->alone = a && b ? NULL : "is pending";
	found->in_b = !a;
	return found_numbers(found, &ticket_phase, a ? a->phase : LEDGER_FREE,
			     b ? b->phase : LEDGER_FREE) ||
	       differ_members(found, ticket_members, a, b);
}

static const struct saved_ticket *ticket_of(const struct side *side, size_t i)
{
	if (i >= side->region->n_tickets)
		return NULL;
	return &side->text->tickets[side->region->ticket + i];
}

/* Both are in order of serial. */
static int differ_tickets(const struct side *a, const struct side *b,
			  struct difference *found)
{
	const struct saved_ticket *left, *right;

	for (size_t i = 0; (left = ticket_of(a, i)) || ticket_of(b, i); i++) {
		right = ticket_of(b, i);
		if (left && right && left->serial < right->serial)
			right = NULL;
		else if (left && right && left->serial > right->serial)
			left = NULL;
		if (differ_ticket(left, right, found))
			return 1;
	}
	return 0;
}

/* --- regions and tables --------------------------------------------------- */

int differ_missing(const char *object, const char *name, int in_a,
		   struct difference *found)
{
	static const struct field region_is = {
		.kind = FIELD_EITHER, .spoken = "it is", .words = there};
	static const struct field they_are = {
		.kind = FIELD_EITHER, .spoken = "they are", .words = there};
	const int is_many = strcmp(object, "region") != 0;

	*found = (struct difference){.object = object, .name = name};
	return found_alone(found, is_many ? &they_are : &region_is,
			   is_many ? "are" : "is", in_a, !in_a);
}

static int differ_shape(const struct side *a, const struct side *b,
			unsigned parts, struct difference *found)
{
	const struct saved_region *left = a->region, *right = b->region;

	found->alone = "was destroyed";
	found->in_b = !right->alive;
	if (found_numbers(found, &is_alive, (uint64_t)left->alive,
			  (uint64_t)right->alive))
		return 1;
	found->alone = NULL;
	if (differ_generator_of(left->generator, right->generator, found))
		return 1;
	found->alone = NULL;
	return differ_members(found, flags_of, left, right) ||
	       differ_axes(a, b, found) ||
	       ((parts & DIFFER_LINES) &&
		differ_members(found, issued_members, left, right)) ||
	       differ_ops(a, b, found);
}

static int differ_states(const struct side *a, const struct side *b,
			 unsigned parts, struct difference *found)
{
	const struct saved_region *left = a->region, *right = b->region;
	const struct saved_region by_left = issued_by_all(left);
	const struct saved_region by_right = issued_by_all(right);

	if (parts & DIFFER_LINES)
		return differ_members(found, line_members, left, right) ||
		       differ_tickets(a, b, found);
	return differ_members(found, next_members, left, right) ||
	       differ_members(found, issued_members, &by_left, &by_right) ||
	       differ_tickets(a, b, found);
}

int differ_region(const struct saved *a, const struct saved_region *in_a,
		  const struct saved *b, const struct saved_region *in_b,
		  unsigned parts, struct difference *found)
{
	const struct side left = {a, in_a}, right = {b, in_b};

	*found = (struct difference){.object = "region", .name = in_a->name};
	return ((parts & DIFFER_SHAPE) &&
		differ_shape(&left, &right, parts, found)) ||
	       ((parts & DIFFER_STATES) &&
		differ_states(&left, &right, parts, found));
}

static const struct field table_count[] = {
	SAID(NUMBER, saved_table, count, "count", "count is"), FIELDS_END};

int differ_table(const struct saved *a, const struct saved_table *in_a,
		 const struct saved *b, const struct saved_table *in_b,
		 unsigned parts, struct difference *found)
{
	*found = (struct difference){.object = "rows", .name = in_a->name};
	if ((parts & DIFFER_SHAPE) &&
	    (differ_generator_of(in_a->generator, in_b->generator, found) ||
	     differ_members(found, table_count, in_a, in_b)))
		return 1;
	if (!(parts & DIFFER_STATES))
		return 0;
	for (size_t i = 0; i < in_a->n_rows && i < in_b->n_rows; i++) {
		begin_part(found, "row", i);
		if (differ_members(found, state_members,
				   &a->rows[in_a->row + i],
				   &b->rows[in_b->row + i]))
			return 1;
	}
	return 0;
}

static const struct field data_shape[] = {
	SAID(NUMBER, saved_data, sources, "sources",
	     "the number of sources is"),
	SAID(NUMBER, saved_data, block, "block", "block is"),
	SAID(HEX, saved_data, order, "order",
	     "the hash of samples, quotas and windows is"),
	FIELDS_END};
static const struct field data_states[] = {
	SAID(HEX, saved_data, seed, "seed", "seed is"),
	SAID(NUMBER, saved_data, position, "position", "position is"),
	FIELDS_END};

int differ_data(const struct saved_data *a, const struct saved_data *b,
		unsigned parts, struct difference *found)
{
	*found = (struct difference){.object = "data", .name = a->name};
	if ((parts & DIFFER_SHAPE) &&
	    (differ_generator_of(a->generator, b->generator, found) ||
	     differ_members(found, data_shape, a, b)))
		return 1;
	return (parts & DIFFER_STATES) &&
	       differ_members(found, data_states, a, b);
}

static const char *const kinds[] = {
	[SAVE_REGION] = "region", [SAVE_TABLE] = "rows", [SAVE_DATA] = "data"};

int differ_pair(const struct saved_pair *pair, unsigned parts,
		struct difference *found)
{
	if (!pair->in_a && !pair->in_b)
		return 0;
	if (!pair->in_a || !pair->in_b)
		return differ_missing(
			kinds[pair->item],
			saved_name(pair->in_a ? pair->in_a : pair->in_b),
			pair->in_a != NULL, found);
	if (pair->item == SAVE_DATA)
		return differ_data(pair->in_a, pair->in_b, parts, found);
	return pair->item == SAVE_TABLE
		       ? differ_table(pair->a, pair->in_a, pair->b, pair->in_b,
				      parts, found)
		       : differ_region(pair->a, pair->in_a, pair->b, pair->in_b,
				       parts, found);
}

static int differ_items(const struct saved *a, const struct saved *b,
			enum save_item item, struct difference *found)
{
	const unsigned all = DIFFER_SHAPE | DIFFER_STATES | DIFFER_LINES;
	struct saved_pair pair = {.a = a, .b = b, .item = item};

	while (saved_next_pair(&pair))
		if (differ_pair(&pair, all, found))
			return 1;
	return 0;
}

static const struct field outputs_members[] = {
	SAID(HEX, saved_outputs, digest, "digest", "their digest is"),
	FIELDS_END};

/* Both are in order of name. */
static int differ_outputs(const struct saved *a, const struct saved *b,
			  struct difference *found)
{
	size_t i = 0, j = 0;

	for (; i < a->n_outputs || j < b->n_outputs; i++, j++) {
		const struct saved_outputs *left = &a->outputs[i];
		const struct saved_outputs *right = &b->outputs[j];
		const int order = i == a->n_outputs ? 1
				  : j == b->n_outputs
					  ? -1
					  : strcmp(left->runner, right->runner);

		if (order)
			return differ_missing(
				"outputs", (order < 0 ? left : right)->runner,
				order < 0, found);
		*found = (struct difference){.object = "outputs",
					     .name = left->runner};
		if (differ_members(found, outputs_members, left, right))
			return 1;
	}
	return 0;
}

int differ_lines(const struct saved *a, const struct saved *b,
		 struct difference *found)
{
	const unsigned all = DIFFER_SHAPE | DIFFER_STATES | DIFFER_LINES;

	return differ_mesh(&a->mesh, &b->mesh, DIFFER_LINES, found) ||
	       differ_generators(a, b, all, found) ||
	       differ_items(a, b, SAVE_REGION, found) ||
	       differ_items(a, b, SAVE_TABLE, found) ||
	       differ_items(a, b, SAVE_DATA, found) ||
	       differ_outputs(a, b, found);
}

/* --- in words ------------------------------------------------------------- */

static void say_place(const struct difference *found, char *to, size_t size)
{
	const char *name = found->name;
	int n;

	if (!strcmp(found->object, "generator"))
		n = found->field == &generators_count
			    ? snprintf(to, size, "generators")
			    : snprintf(to, size, "generator %" PRIu64,
				       found->number);
	else
		n = snprintf(to, size, name ? "%s '%.60s'" : "%s",
			     found->object, name);
	if (!found->part)
		return;
	to += n;
	size -= (size_t)n;
	name = found->field->kind == FIELD_NAME ? NULL : found->part_name;
	if (name && !strcmp(found->part, "axis"))
		snprintf(to, size, ", axis '%.60s'", name);
	else
		snprintf(to, size,
			 name ? ", %s %" PRIu64 " ('%.32s')" : ", %s %" PRIu64,
			 found->part, found->number, name);
}

static void say_value(const struct difference *found, int i, char *to,
		      size_t size)
{
	const struct field *field = found->field;
	const uint64_t number = found->numbers[i];

	if (field->kind == FIELD_NAME)
		snprintf(to, size, found->names[i] ? "'%.40s'" : "%s",
			 found->names[i] ? found->names[i] : "(unnamed)");
	else if (field->words)
		snprintf(to, size, "%s", field->words[number]);
	else if (field == &generator_of && number == SAVE_NO_GENERATOR)
		snprintf(to, size, "none");
	else
		snprintf(to, size,
			 field->kind == FIELD_HEX ? "0x%016" PRIx64
						  : "%" PRIu64,
			 number);
}

struct difference_words difference_words(const struct difference *found)
{
	struct difference_words words;

	say_place(found, words.place, sizeof(words.place));
	if (found->field == &along_axis)
		snprintf(words.what, sizeof(words.what),
			 "along axis '%.40s' it", found->part_name);
	else
		snprintf(words.what, sizeof(words.what), "%s",
			 found->field->spoken);
	for (int i = 0; i < 2; i++)
		say_value(found, i, words.values[i], sizeof(words.values[i]));
	return words;
}

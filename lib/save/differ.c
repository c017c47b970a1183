/*
 * lib/save/differ.c - the first difference of two texts, in words
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/save/save.h"
#include "lib/state/state.h"

/* --- saying --------------------------------------------------------------- */

static void say_place(struct difference *found, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say_place(struct difference *found, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(found->place, sizeof(found->place), format, arguments);
	va_end(arguments);
}

static int say_words(struct difference *found, const char *what, const char *a,
		     const char *b)
{
	const char *const values[2] = {a, b};

	snprintf(found->what, sizeof(found->what), "%s", what);
	for (int i = 0; i < 2; i++)
		snprintf(found->values[i], sizeof(found->values[i]), "%s",
			 values[i]);
	return 1;
}

static int say_number(struct difference *found, const char *what, uint64_t a,
		      uint64_t b)
{
	char words[2][24];

	snprintf(words[0], sizeof(words[0]), "%" PRIu64, a);
	snprintf(words[1], sizeof(words[1]), "%" PRIu64, b);
	return say_words(found, what, words[0], words[1]);
}

static int say_seed(struct difference *found, const char *what, uint64_t a,
		    uint64_t b)
{
	char words[2][24];

	snprintf(words[0], sizeof(words[0]), "0x%016" PRIx64, a);
	snprintf(words[1], sizeof(words[1]), "0x%016" PRIx64, b);
	return say_words(found, what, words[0], words[1]);
}

/* NULL is the name of nothing. */
static int say_names(struct difference *found, const char *what, const char *a,
		     const char *b)
{
	const char *const names[2] = {a, b};
	char words[2][48];

	for (int i = 0; i < 2; i++)
		snprintf(words[i], sizeof(words[i]),
			 names[i] ? "'%.40s'" : "%s",
			 names[i] ? names[i] : "(unnamed)");
	return say_words(found, what, words[0], words[1]);
}

static int is_other_name(const char *a, const char *b)
{
	return !a != !b || (a && strcmp(a, b));
}

/* --- meshes and generators ------------------------------------------------ */

static int differ_in_axis(const struct philox_axis *a,
			  const struct philox_axis *b, uint32_t i,
			  struct difference *found)
{
	say_place(found, "mesh, axis %" PRIu32, i);
	if (strcmp(a->name, b->name))
		return say_names(found, "the name is", a->name, b->name);
	say_place(found, "mesh, axis '%.60s'", a->name);
	if (a->size != b->size)
		return say_number(found, "size is", a->size, b->size);
	if (a->flags != b->flags)
		return say_words(found, "it has",
				 a->flags ? "stages" : "no stages",
				 b->flags ? "stages" : "no stages");
	return 0;
}

int save_differ_mesh(const struct saved *a, const struct saved *b,
		     struct difference *found)
{
	const struct philox_mesh *left = &a->mesh, *right = &b->mesh;

	for (uint32_t i = 0; i < left->n_axes && i < right->n_axes; i++)
		if (differ_in_axis(&left->axes[i], &right->axes[i], i, found))
			return 1;
	say_place(found, "mesh");
	return left->n_axes != right->n_axes &&
	       say_number(found, "the number of axes is", left->n_axes,
			  right->n_axes);
}

int save_differ_generators(const struct saved *a, const struct saved *b,
			   struct difference *found)
{
	for (size_t i = 0; i < a->n_generators && i < b->n_generators; i++) {
		const struct philox_state *left = &a->generators[i];
		const struct philox_state *right = &b->generators[i];

		say_place(found, "generator %zu", i);
		if (left->seed != right->seed)
			return say_seed(found, "seed is", left->seed,
					right->seed);
		if (left->offset != right->offset)
			return say_number(found, "offset is", left->offset,
					  right->offset);
	}
	say_place(found, "generators");
	return a->n_generators != b->n_generators &&
	       say_number(found, "their number is", a->n_generators,
			  b->n_generators);
}

/* --- the shape of a region ------------------------------------------------ */

/* One of two regions that are compared, with the text it is in. */
struct side {
	const struct saved *text;
	const struct saved_region *region;
};

static int differ_in_generator(uint32_t a, uint32_t b, struct difference *found)
{
	const uint32_t numbers[2] = {a, b};
	char words[2][24];

	for (int i = 0; i < 2; i++)
		if (numbers[i] == SAVE_NO_GENERATOR)
			snprintf(words[i], sizeof(words[i]), "none");
		else
			snprintf(words[i], sizeof(words[i]), "%" PRIu32,
				 numbers[i]);
	return a != b && say_words(found, "generator is", words[0], words[1]);
}

static const char *axis_of(const struct side *side, size_t i)
{
	if (i >= side->region->n_axes)
		return NULL;
	return side->text->axes[side->region->axis + i];
}

/* Both are in order: at the first difference the lower name is of one only. */
static int differ_in_axes(const struct side *a, const struct side *b,
			  struct difference *found)
{
	const char *left, *right;
	char what[64];
	int in_a;

	for (size_t i = 0; (left = axis_of(a, i)) || axis_of(b, i); i++) {
		right = axis_of(b, i);
		if (!is_other_name(left, right))
			continue;
		in_a = left && (!right || strcmp(left, right) < 0);
		snprintf(what, sizeof(what), "along axis '%.40s' it",
			 in_a ? left : right);
		return say_words(found, what, in_a ? "differs" : "is shared",
				 in_a ? "is shared" : "differs");
	}
	return 0;
}

static int differ_in_op(const char *region, size_t i, const struct saved_op *a,
			const struct saved_op *b, struct difference *found)
{
	say_place(found, "region '%.60s', op %zu", region, i);
	if (is_other_name(a->name, b->name))
		return say_names(found, "the name is", a->name, b->name);
	if (a->name)
		say_place(found, "region '%.60s', op %zu ('%.32s')", region, i,
			  a->name);
	if (a->calls != b->calls)
		return say_number(found, "calls is", a->calls, b->calls);
	return a->advance != b->advance &&
	       say_number(found, "advance is", a->advance, b->advance);
}

static int differ_in_ops(const struct side *a, const struct side *b,
			 struct difference *found)
{
	const struct saved_region *left = a->region, *right = b->region;

	for (size_t i = 0; i < left->n_ops && i < right->n_ops; i++)
		if (differ_in_op(left->name, i, &a->text->ops[left->op + i],
				 &b->text->ops[right->op + i], found))
			return 1;
	say_place(found, "region '%.60s'", left->name);
	return left->n_ops != right->n_ops &&
	       say_number(found, "the number of ops is", left->n_ops,
			  right->n_ops);
}

static int differ_in_shape(const struct side *a, const struct side *b,
			   struct difference *found)
{
	const struct saved_region *left = a->region, *right = b->region;

	if (left->alive != right->alive)
		return say_words(found, "it is",
				 left->alive ? "alive" : "destroyed",
				 right->alive ? "alive" : "destroyed");
	if (differ_in_generator(left->generator, right->generator, found))
		return 1;
	if (left->flags != right->flags)
		return say_number(found, "flags is", left->flags, right->flags);
	return differ_in_axes(a, b, found) || differ_in_ops(a, b, found);
}

/* --- the states of a region ----------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A destroyed name has its seed from its generator. */
static int differ_in_next(const struct saved_region *a,
			  const struct saved_region *b,
			  struct difference *found)
{
	const uint64_t issued[2] = {larger(a->issued, a->state.offset),
				    larger(b->issued, b->state.offset)};
	const uint64_t serials[2] = {larger(a->issued_serial, a->serial),
				     larger(b->issued_serial, b->serial)};

	if (a->serial != b->serial)
		return say_number(found, "the serial of its next forward is",
				  a->serial, b->serial);
	if (a->alive && a->state.seed != b->state.seed)
		return say_seed(found, "the seed of its next forward is",
				a->state.seed, b->state.seed);
	if (a->state.offset != b->state.offset)
		return say_number(found, "the offset of its next forward is",
				  a->state.offset, b->state.offset);
	if (a->open != b->open)
		return say_words(found, "a forward of it is",
				 a->open ? "open" : "not open",
				 b->open ? "open" : "not open");
	if (issued[0] != issued[1])
		return say_number(found, "the highest offset of others is",
				  issued[0], issued[1]);
	return serials[0] != serials[1] &&
	       say_number(found, "the highest serial of others is", serials[0],
			  serials[1]);
}

static const char *phase_word(const struct saved_ticket *ticket)
{
	if (!ticket)
		return "gone";
	return ticket->phase == LEDGER_FORWARD_OPEN ? "open"
	       : ticket->phase == LEDGER_PENDING    ? "pending"
						    : "used up, but read";
}

static const char *use_word(const struct saved_ticket *ticket)
{
	return ticket->consuming == LEDGER_RETAIN    ? "read"
	       : ticket->consuming == LEDGER_CONSUME ? "used up by a pass"
						     : "used up by a launch";
}

/* NULL: it has no such ticket. */
static int differ_in_ticket(const char *region, const struct saved_ticket *a,
			    const struct saved_ticket *b,
			    struct difference *found)
{
	say_place(found, "region '%.60s', ticket %" PRIu64, region,
		  (a ? a : b)->serial);
	if (!a || !b || a->phase != b->phase)
		return say_words(found, "it is", phase_word(a), phase_word(b));
	if (a->state.seed != b->state.seed)
		return say_seed(found, "seed is", a->state.seed, b->state.seed);
	if (a->state.offset != b->state.offset)
		return say_number(found, "offset is", a->state.offset,
				  b->state.offset);
	if (a->iterations != b->iterations)
		return say_number(found, "its number of iterations is",
				  a->iterations, b->iterations);
	if (a->readers != b->readers)
		return say_number(found, "the number of its open passes is",
				  a->readers, b->readers);
	return a->consuming != b->consuming &&
	       say_words(found, "it is being", use_word(a), use_word(b));
}

static const struct saved_ticket *ticket_of(const struct side *side, size_t i)
{
	if (i >= side->region->n_tickets)
		return NULL;
	return &side->text->tickets[side->region->ticket + i];
}

/* Both are in order of serial. */
static int differ_in_tickets(const struct side *a, const struct side *b,
			     struct difference *found)
{
	const struct saved_ticket *left, *right;

	for (size_t i = 0; (left = ticket_of(a, i)) || ticket_of(b, i); i++) {
		right = ticket_of(b, i);
		if (left && right && left->serial < right->serial)
			right = NULL;
		else if (left && right && left->serial > right->serial)
			left = NULL;
		if (differ_in_ticket(a->region->name, left, right, found))
			return 1;
	}
	return 0;
}

/* --- regions and tables --------------------------------------------------- */

int save_differ_missing(const char *kind, const char *name, int in_a,
			struct difference *found)
{
	say_place(found, "%s '%.60s'", kind, name);
	return say_words(found, strcmp(kind, "rows") ? "it is" : "they are",
			 in_a ? "there" : "missing",
			 in_a ? "missing" : "there");
}

int save_differ_region(const struct saved *a, const struct saved_region *in_a,
		       const struct saved *b, const struct saved_region *in_b,
		       unsigned parts, struct difference *found)
{
	const struct side left = {a, in_a}, right = {b, in_b};

	say_place(found, "region '%.60s'", in_a->name);
	if ((parts & DIFFER_SHAPE) && differ_in_shape(&left, &right, found))
		return 1;
	return (parts & DIFFER_STATES) &&
	       (differ_in_next(in_a, in_b, found) ||
		differ_in_tickets(&left, &right, found));
}

static int differ_in_rows(const struct saved *a, const struct saved_table *in_a,
			  const struct saved *b, const struct saved_table *in_b,
			  struct difference *found)
{
	for (size_t i = 0; i < in_a->n_rows && i < in_b->n_rows; i++) {
		const struct philox_state *left = &a->rows[in_a->row + i];
		const struct philox_state *right = &b->rows[in_b->row + i];

		say_place(found, "rows '%.60s', row %zu", in_a->name, i);
		if (left->seed != right->seed)
			return say_seed(found, "seed is", left->seed,
					right->seed);
		if (left->offset != right->offset)
			return say_number(found, "offset is", left->offset,
					  right->offset);
	}
	return 0;
}

int save_differ_table(const struct saved *a, const struct saved_table *in_a,
		      const struct saved *b, const struct saved_table *in_b,
		      unsigned parts, struct difference *found)
{
	say_place(found, "rows '%.60s'", in_a->name);
	if (parts & DIFFER_SHAPE) {
		if (differ_in_generator(in_a->generator, in_b->generator,
					found))
			return 1;
		if (in_a->count != in_b->count)
			return say_number(found, "count is", in_a->count,
					  in_b->count);
	}
	return (parts & DIFFER_STATES) &&
	       differ_in_rows(a, in_a, b, in_b, found);
}

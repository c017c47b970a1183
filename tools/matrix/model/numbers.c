/*
 * tools/matrix/model/numbers.c - the rules for the numbers of a run
 *
 * A backward sees its forward's numbers; no two forwards since a re-seed, or
 * since the state of their generator was set if they are SHARED, share a block;
 * every forward and warm-up draws at the place the headers define; and the
 * words drawn are those of the states seen. Of a forward in a body each
 * iteration is such a forward, and what ran is what had to run.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tools/matrix/model/model.h"

/* One block of four words. */
struct block {
	uint64_t seed, number;
	unsigned generator;
	int shared;
};

/* Which launches in progress began before a re-seed or the like. */
enum { PAST_SHARED = 1, PAST_ALL = 3 };

struct check {
	const struct matrix_run *run;
	const struct matrix_shape *shape;
	const struct matrix_seeds *seeds;
	struct matrix_places next;
	struct matrix_place taken[2];              /* by the current event */
	unsigned n_seen;                           /* of them */
	struct matrix_place begun[MATRIX_TICKETS]; /* by launches in progress */
	uint8_t past[MATRIX_TICKETS];              /* of these */
	const struct matrix_numbers *of[MATRIX_NONE + 1];
	struct matrix_place origin[MATRIX_TICKETS]; /* of their forwards */
	struct block *issued;
	unsigned n_issued;
	uint64_t comparisons;
	char *message;
	size_t size;
};

static int wrong(struct check *check, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int wrong(struct check *check, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(check->message, check->size, format, arguments);
	va_end(arguments);
	return -1;
}

static int are_same(const struct check *check, const struct matrix_numbers *a,
		    const struct matrix_numbers *b)
{
	const struct matrix_shape *shape = check->shape;

	return !memcmp(a->cell, b->cell, shape->cells * sizeof(a->cell[0])) &&
	       (!shape->draw ||
		!memcmp(a->word, b->word, shape->ops * sizeof(a->word[0])));
}

/* Words drawn are those of the state that was read. */
static int check_words(struct check *check, const struct matrix_numbers *saw)
{
	const struct matrix_shape *shape = check->shape;
	unsigned cell = 0;

	for (unsigned op = 0; shape->draw && op < shape->ops; op++) {
		for (unsigned i = 0; i < MATRIX_WORDS; i += 4) {
			struct philox_words four =
				philox_draw4(saw->cell[cell], i / 4);

			check->comparisons++;
			if (memcmp(four.w, &saw->word[op][i], sizeof(four.w)))
				return wrong(check,
					     "op %u drew words that are not "
					     "its state's",
					     op);
		}
		cell += shape->op[op].calls;
	}
	return 0;
}

/* Whether what ran is what had to run. */
static int check_ran(struct check *check, const struct matrix_seen *seen)
{
	static const char *const pattern[2] = {
		"pass %d (counted from 1, with its views) ran where pass %d "
		"had to",
		"run %d of its body was to be number %d"};

	for (unsigned i = 0; seen->in_bodies && i < 2; i++) {
		check->comparisons++;
		if (seen->ran[i] != seen->must[i])
			return wrong(check, pattern[i], (int)seen->ran[i],
				     (int)seen->must[i]);
	}
	return 0;
}

/* Poison in all cells, and in the words that are drawn from it. */
static int check_no_numbers(struct check *check,
			    const struct matrix_numbers *saw)
{
	const struct matrix_shape *shape = check->shape;

	check->comparisons++;
	for (unsigned i = 0; i < shape->cells; i++)
		if (!philox_is_poison(saw->cell[i]))
			return wrong(check,
				     "cell %u holds seed %016" PRIx64
				     ", offset %" PRIu64 ", not poison",
				     i, saw->cell[i].seed, saw->cell[i].offset);
	for (unsigned op = 0; shape->draw && op < shape->ops; op++)
		for (unsigned i = 0; i < MATRIX_WORDS; i++)
			if (saw->word[op][i] != UINT32_MAX)
				return wrong(check,
					     "op %u drew words from poison",
					     op);
	return 0;
}

static int check_poison(struct check *check, const struct matrix_numbers *saw)
{
	for (unsigned i = 0; i < check->shape->cells; i++)
		if (philox_is_poison(saw->cell[i]))
			return wrong(check, "cell %u holds poison", i);
	return 0;
}

static int is_issued(const struct check *check, struct block block)
{
	for (unsigned i = 0; i < check->n_issued; i++)
		if (check->issued[i].number == block.number &&
		    check->issued[i].seed == block.seed)
			return 1;
	return 0;
}

/* No block was seen before; with `keep` they count as seen from now on. */
static int check_fresh(struct check *check, unsigned region,
		       const struct matrix_numbers *saw, int keep)
{
	unsigned generator = matrix_generator(&check->run->limits, region);
	int shared = matrix_is_shared(&check->run->limits, region);
	unsigned before = check->n_issued;

	for (unsigned i = 0; i < check->shape->cells; i++) {
		unsigned op = check->shape->op_of[i];
		uint64_t blocks = check->shape->op[op].advance / 4;

		for (uint64_t k = 0; k < blocks; k++) {
			struct block block = {saw->cell[i].seed,
					      saw->cell[i].offset / 4 + k,
					      generator, shared};

			if (is_issued(check, block))
				return wrong(check,
					     "cell %u: seed %016" PRIx64
					     ", offset %" PRIu64
					     " was drawn from before",
					     i, block.seed, block.number * 4);
			check->issued[check->n_issued++] = block;
		}
	}
	if (!keep)
		check->n_issued = before;
	check->comparisons++;
	return 0;
}

static int check_place(struct check *check, struct matrix_place place,
		       unsigned region, const struct matrix_numbers *saw)
{
	struct philox_state cells[MATRIX_CELLS];

	matrix_cells(&check->run->limits, check->seeds, check->shape, region,
		     place, cells);
	check->comparisons++;
	for (unsigned i = 0; i < check->shape->cells; i++)
		if (memcmp(&cells[i], &saw->cell[i], sizeof(cells[i])))
			return wrong(check,
				     "forward %u since seeding, cell %u, saw "
				     "seed %016" PRIx64 ", offset %" PRIu64
				     ", not seed %016" PRIx64
				     ", offset %" PRIu64,
				     place.number, i, saw->cell[i].seed,
				     saw->cell[i].offset, cells[i].seed,
				     cells[i].offset);
	return 0;
}

static int check_forward(struct check *check, const struct matrix_seen *seen,
			 const struct matrix_event *event)
{
	struct matrix_place place;
	int past = 0;

	if (event->part == MATRIX_END) {
		place = check->begun[event->ticket];
		past = check->past[event->ticket] == PAST_ALL ||
		       (check->past[event->ticket] &&
			matrix_is_shared(&check->run->limits, seen->region));
	} else if (seen->forward != MATRIX_NONE) {
		place = check->taken[seen->forward];
		place.number = (uint16_t)(place.number + seen->iteration);
	} else {
		place = check->taken[check->n_seen++];
	}
	if (seen->forward == MATRIX_NONE)
		check->of[seen->ticket] = &seen->numbers;
	if (!past && check_fresh(check, seen->region, &seen->numbers, 1))
		return -1;
	return check_place(check, place, seen->region, &seen->numbers);
}

static int check_preview(struct check *check, const struct matrix_seen *seen)
{
	struct matrix_place place =
		matrix_place(&check->run->limits, &check->next, seen->region);

	if (check_fresh(check, seen->region, &seen->numbers, 0))
		return -1;
	return check_place(check, place, seen->region, &seen->numbers);
}

/* An iteration, which its forward may have drawn or not. */
static int check_iteration(struct check *check, const struct matrix_seen *seen)
{
	struct matrix_place place = seen->forward == MATRIX_NONE
					    ? check->origin[seen->ticket]
					    : check->taken[seen->forward];

	place.number = (uint16_t)(place.number + seen->iteration);
	return check_place(check, place, seen->region, &seen->numbers);
}

static int check_repeat(struct check *check, const struct matrix_seen *seen)
{
	if (seen->iteration || seen->forward != MATRIX_NONE ||
	    !check->of[seen->ticket])
		return check_iteration(check, seen);
	check->comparisons++;
	if (are_same(check, check->of[seen->ticket], &seen->numbers))
		return 0;
	return wrong(check,
		     "saw seed %016" PRIx64 ", offset %" PRIu64
		     "; its forward saw seed %016" PRIx64 ", offset %" PRIu64,
		     seen->numbers.cell[0].seed, seen->numbers.cell[0].offset,
		     check->of[seen->ticket]->cell[0].seed,
		     check->of[seen->ticket]->cell[0].offset);
}

static int check_seen(struct check *check, const struct matrix_seen *seen)
{
	const struct matrix_event *event = &check->run->events[seen->event];

	if (check_ran(check, seen))
		return -1;
	if (seen->role == MATRIX_NOTHING)
		return 0;
	if (seen->role == MATRIX_POISON)
		return check_no_numbers(check, &seen->numbers);
	if (check_poison(check, &seen->numbers) ||
	    check_words(check, &seen->numbers))
		return -1;
	switch (seen->role) {
	case MATRIX_FRESH:
		return check_forward(check, seen, event);
	case MATRIX_REPEAT:
		return check_repeat(check, seen);
	default:
		return check_preview(check, seen);
	}
}

/*
 * Blocks of a generator that was seeded again may be drawn again, and those of
 * its SHARED regions if its state was set.
 */
static void forget(struct check *check, unsigned generator, uint8_t past)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < check->n_issued; i++)
		if (check->issued[i].generator != generator ||
		    (past == PAST_SHARED && !check->issued[i].shared))
			check->issued[kept++] = check->issued[i];
	check->n_issued = kept;
	for (unsigned i = 0; i < MATRIX_TICKETS; i++)
		check->past[i] |= past;
}

/*
 * A launch takes its places when it begins; one that began before a re-seed and
 * ends after it draws the old numbers.
 */
static void note_event(struct check *check, const struct matrix_event *event)
{
	unsigned n = matrix_places_tell(&check->run->limits, &check->next,
					event, check->taken);

	check->n_seen = 0;
	for (unsigned i = 0; i < n && i < matrix_makes(event); i++)
		check->origin[event->ticket + i] = check->taken[i];
	if (matrix_is_restart(event))
		forget(check, event->region, PAST_ALL);
	if (matrix_is_move(event))
		forget(check, event->region, PAST_SHARED);
	if (n && event->part == MATRIX_BEGIN && event->how == MATRIX_IN_GRAPH) {
		check->begun[event->ticket] = check->taken[0];
		check->past[event->ticket] = 0;
	}
}

int matrix_check(const struct matrix_run *run, const struct matrix_shape *shape,
		 const struct matrix_seeds *seeds,
		 const struct matrix_seen *seen, unsigned n_seen,
		 uint64_t *comparisons, char *message, size_t size)
{
	static _Thread_local struct block
		issued[MATRIX_SEEN * MATRIX_CELLS * 2];
	struct check check = {.run = run,
			      .shape = shape,
			      .seeds = seeds,
			      .issued = issued,
			      .message = message,
			      .size = size};
	unsigned next = 0;
	int place = -1;

	for (unsigned i = 0; i < run->n && place < 0; i++) {
		note_event(&check, &run->events[i]);
		for (; next < n_seen && seen[next].event == i && place < 0;
		     next++)
			if (check_seen(&check, &seen[next]))
				place = (int)i;
	}
	*comparisons += check.comparisons;
	return place;
}

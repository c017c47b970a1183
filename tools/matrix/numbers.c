/*
 * tools/matrix/numbers.c - what must be true of the numbers of a run
 *
 * A backward sees its forward's numbers; no two forwards since a re-seed share a
 * block; a warm-up sees what the next forward will; and the same seed gives the
 * same numbers every time.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "tools/matrix/matrix.h"

void matrix_shape_init(struct matrix_shape *shape, unsigned ops, int draw)
{
	memset(shape, 0, sizeof(*shape));
	shape->ops = ops;
	shape->draw = draw;
	for (unsigned i = 0; i < ops; i++) {
		shape->op[i].calls = i % 3 == 2 ? 2 : 1;
		shape->op[i].advance = i % 2 ? 8 : 4;
		for (unsigned call = 0; call < shape->op[i].calls; call++)
			shape->op_of[shape->cells++] = (uint8_t)i;
	}
}

/* One block of four words. */
struct block {
	uint64_t seed, number;
};

/* What a region's next forward is known to draw. */
struct outlook {
	int past;    /* it began before the re-seed */
	int counted; /* its position since the re-seed is known */
	unsigned position;
	const struct matrix_numbers *preview; /* of a warm-up, or NULL */
};

struct check {
	const struct matrix_run *run;
	const struct matrix_shape *shape;
	const struct matrix_memory *memory;
	unsigned seed;
	struct outlook next[MATRIX_REGIONS];
	struct outlook begun[MATRIX_TICKETS]; /* launches that have begun */
	const struct matrix_numbers *of[MATRIX_NONE + 1];
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
static int check_fresh(struct check *check, const struct matrix_numbers *saw,
		       int keep)
{
	unsigned before = check->n_issued;

	for (unsigned i = 0; i < check->shape->cells; i++) {
		unsigned op = check->shape->op_of[i];
		uint64_t blocks = check->shape->op[op].advance / 4;

		for (uint64_t k = 0; k < blocks; k++) {
			struct block block = {saw->cell[i].seed,
					      saw->cell[i].offset / 4 + k};

			if (is_issued(check, block))
				return wrong(
					check,
					"cell %u: seed %016llx, offset %llu "
					"was drawn from before",
					i, (unsigned long long)block.seed,
					(unsigned long long)block.number * 4);
			check->issued[check->n_issued++] = block;
		}
	}
	if (!keep)
		check->n_issued = before;
	check->comparisons++;
	return 0;
}

static int check_position(struct check *check, const struct outlook *outlook,
			  unsigned region, const struct matrix_numbers *saw)
{
	const struct philox_state *first;

	if (!outlook->counted || outlook->position >= MATRIX_POSITIONS)
		return 0;
	first = check->memory->cell[check->seed][region][outlook->position];
	check->comparisons++;
	if (!memcmp(first, saw->cell,
		    check->shape->cells * sizeof(saw->cell[0])))
		return 0;
	return wrong(check,
		     "forward %u since seeding saw seed %016llx, offset %llu; "
		     "at first it saw seed %016llx, offset %llu",
		     outlook->position, (unsigned long long)saw->cell[0].seed,
		     (unsigned long long)saw->cell[0].offset,
		     (unsigned long long)first->seed,
		     (unsigned long long)first->offset);
}

static int check_outlook(struct check *check, const struct outlook *outlook,
			 unsigned region, const struct matrix_numbers *saw)
{
	if (outlook->preview) {
		check->comparisons++;
		if (!are_same(check, outlook->preview, saw))
			return wrong(check, "the warm-up before drew other "
					    "numbers");
	}
	return check_position(check, outlook, region, saw);
}

/* Moves on to the forward after the next one. */
static struct outlook take_outlook(struct check *check, unsigned region)
{
	struct outlook outlook = check->next[region];

	check->next[region].position++;
	check->next[region].preview = NULL;
	return outlook;
}

static int check_forward(struct check *check, const struct matrix_seen *seen,
			 const struct matrix_event *event)
{
	struct outlook outlook;

	if (event->part == MATRIX_END)
		outlook = check->begun[event->ticket];
	else
		outlook = take_outlook(check, seen->region);
	check->of[seen->ticket] = &seen->numbers;
	if (outlook.past)
		return 0;
	if (check_fresh(check, &seen->numbers, 1))
		return -1;
	return check_outlook(check, &outlook, seen->region, &seen->numbers);
}

static int check_repeat(struct check *check, const struct matrix_seen *seen)
{
	check->comparisons++;
	if (are_same(check, check->of[seen->ticket], &seen->numbers))
		return 0;
	return wrong(
		check,
		"saw seed %016llx, offset %llu; its forward saw seed "
		"%016llx, offset %llu",
		(unsigned long long)seen->numbers.cell[0].seed,
		(unsigned long long)seen->numbers.cell[0].offset,
		(unsigned long long)check->of[seen->ticket]->cell[0].seed,
		(unsigned long long)check->of[seen->ticket]->cell[0].offset);
}

static int check_seen(struct check *check, const struct matrix_seen *seen)
{
	const struct matrix_event *event = &check->run->events[seen->event];

	if (check_poison(check, &seen->numbers) ||
	    check_words(check, &seen->numbers))
		return -1;
	switch (seen->role) {
	case MATRIX_FRESH:
		return check_forward(check, seen, event);
	case MATRIX_REPEAT:
		return check_repeat(check, seen);
	default:
		if (check_fresh(check, &seen->numbers, 0) ||
		    check_outlook(check, &check->next[seen->region],
				  seen->region, &seen->numbers))
			return -1;
		check->next[seen->region].preview = &seen->numbers;
		return 0;
	}
}

static void restart(struct check *check)
{
	check->n_issued = 0;
	for (unsigned i = 0; i < MATRIX_REGIONS; i++)
		check->next[i] = (struct outlook){.counted = 1};
}

/*
 * What an event means for the numbers of later ones: a launch that failed may
 * have burnt numbers or not; one that has begun has its place.
 */
static void note_event(struct check *check, const struct matrix_event *event)
{
	int draws = event->kind != MATRIX_BACKWARD &&
		    event->kind != MATRIX_RECOMPUTE &&
		    event->kind != MATRIX_DOUBLE;

	if (event->kind == MATRIX_RESEED)
		check->seed ^= 1;
	if (event->kind == MATRIX_SEED || event->kind == MATRIX_RESEED)
		restart(check);
	if (event->status == PHILOX_ERROR_DEVICE && draws &&
	    event->how != MATRIX_EAGER)
		check->next[event->region] = (struct outlook){0};
	if (event->status == PHILOX_OK && event->kind == MATRIX_FORWARD &&
	    event->how == MATRIX_IN_GRAPH && event->part == MATRIX_BEGIN)
		check->begun[event->ticket] =
			take_outlook(check, event->region);
}

/*
 * A launch that began before a re-seed and ends after it draws the old numbers:
 * they have no place among the new ones.
 */
static void forget_begun(struct check *check, const struct matrix_event *event)
{
	if (event->kind != MATRIX_SEED && event->kind != MATRIX_RESEED)
		return;
	for (unsigned i = 0; i < MATRIX_TICKETS; i++)
		check->begun[i] = (struct outlook){.past = 1};
}

int matrix_check(const struct matrix_run *run, const struct matrix_shape *shape,
		 const struct matrix_memory *memory,
		 const struct matrix_seen *seen, unsigned n_seen,
		 uint64_t *comparisons, char *message, size_t size)
{
	static _Thread_local struct block
		issued[MATRIX_EVENTS * MATRIX_CELLS * 2];
	struct check check = {.run = run,
			      .shape = shape,
			      .memory = memory,
			      .issued = issued,
			      .message = message,
			      .size = size};
	unsigned next = 0;
	int place = -1;

	restart(&check);
	for (unsigned i = 0; i < run->n && place < 0; i++) {
		note_event(&check, &run->events[i]);
		forget_begun(&check, &run->events[i]);
		for (; next < n_seen && seen[next].event == i && place < 0;
		     next++)
			if (check_seen(&check, &seen[next]))
				place = (int)i;
	}
	*comparisons += check.comparisons;
	return place;
}

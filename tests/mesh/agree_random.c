/*
 * tests/mesh/agree_random.c - random programs on all ranks of random meshes:
 * no false alarm, and each single fault is found where a model has it
 *
 * An event happens on all ranks that ought to do the same, by the axes along
 * which its region differs and by stages. Then one rank does something alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/models/agree.h"
#include "tests/support/programs/sanitized.h"
#include "tests/support/support.h"

enum { PROGRAMS = SANITIZED ? 600 : 3000, EVENTS = 30, WORLD_MOST = 12 };

static uint64_t random_state;

static unsigned below(unsigned n)
{
	random_state =
		random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

/* --- a world -------------------------------------------------------------- */

struct play {
	struct ranks_bed bed;
	struct model_rank ranks[WORLD_MOST];
};

static void begin_play(struct play *play, struct philox_device *device)
{
	struct philox_axis axes[3] = {
		{.name = "data", .n_ranks = 1 + below(3)},
		{.name = "stage", .n_ranks = 1 + below(2)},
		{.name = "tensor", .n_ranks = 1 + below(2)}};

	axes[1].flags = below(3) ? PHILOX_AXIS_STAGES : 0;
	ranks_open(&play->bed, device, axes, 3);
	for (unsigned rank = 0; rank < play->bed.n; rank++)
		model_open(&play->ranks[rank], &play->bed, rank);
}

static int is_of_generators(const struct event *event)
{
	return event->kind == SEED || event->kind == ADVANCE ||
	       event->kind == GENERATOR;
}

static int is_of_tickets(const struct event *event)
{
	return event->kind >= FORWARD && event->kind <= RELEASE;
}

/* What moves a generator, all ranks do. */
static int is_in_order(const struct play *play, const struct event *event)
{
	if (event->kind == MAKE)
		return event->flags != 0;
	for (unsigned rank = 0; rank < play->bed.n; rank++)
		if (play->ranks[rank].regions[event->which].flags &&
		    event->kind >= FORWARD && event->kind <= LEAVE_OPEN)
			return 1;
	return 0;
}

/* A generator that differs, of which no rank knows a region. */
static int is_own(const struct play *play, unsigned generator)
{
	for (unsigned rank = 0; rank < play->bed.n; rank++)
		for (unsigned i = 0; i < MODEL_REGIONS; i++) {
			const struct model_region *region =
				&play->ranks[rank].regions[i];

			if (region->known && region->of == generator)
				return 0;
		}
	return play->ranks[0].own[generator] != 0;
}

/* Regions of a generator agree if all ranks have left it where it was. */
static int is_where_it_was(const struct play *play, unsigned generator)
{
	const struct model_rank *first = &play->ranks[0];

	for (unsigned rank = 1; rank < play->bed.n; rank++) {
		const struct model_rank *other = &play->ranks[rank];

		if (other->seeds[generator] != first->seeds[generator] ||
		    other->offsets[generator] != first->offsets[generator])
			return 0;
	}
	return 1;
}

/* Along which axes other ranks need not do what a rank does: bits. */
static unsigned free_axes(const struct play *play, unsigned rank,
			  const struct event *event)
{
	unsigned free = 0;

	if ((event->kind == SEED || event->kind == ADVANCE) &&
	    is_own(play, event->which))
		return (1u << play->bed.mesh.n_axes) - 1;
	if (is_of_generators(event) || is_in_order(play, event))
		return 0;
	for (uint32_t i = 0; i < play->bed.mesh.n_axes; i++)
		if (play->bed.mesh.axes[i].flags & PHILOX_AXIS_STAGES)
			free |= 1u << i;
	if (is_of_tickets(event))
		free |= play->ranks[rank].regions[event->which].differs;
	return free;
}

static struct event choose_event(const struct play *play)
{
	struct event event = {.kind = (enum event_kind)below(EVENT_KINDS),
			      .which = below(MODEL_REGIONS),
			      .of = below(3),
			      .shape = below(MODEL_SHAPES),
			      .pending = MODEL_TICKETS};

	/* passes that stay open end most of what else may happen */
	if ((event.kind == LEAVE_OPEN || event.kind == LEAVE_USED ||
	     event.kind == DESTROY || event.kind == LEAVE_READ) &&
	    below(4))
		event.kind = FORWARD;
	if (event.kind == TABLE || event.kind == NO_TABLE)
		event.which %= MODEL_TABLES;
	if (event.kind == SEED || event.kind == ADVANCE)
		event.which %= MODEL_GENERATORS;
	if (event.kind == GENERATOR)
		event.flags = below(2) ? PHILOX_GENERATOR_DIFFERS : 0;
	if (event.kind == MAKE && !below(4))
		event.flags = PHILOX_REGION_SHARED;
	else if (event.kind == MAKE && below(2))
		event.differs = below(1u << play->bed.mesh.n_axes);
	return event;
}

/* A bit that ranks have in common that differ along none of the free axes. */
static int is_to_do(const struct play *play, unsigned rank, unsigned free,
		    uint64_t salt)
{
	for (uint32_t i = 0; i < play->bed.mesh.n_axes; i++)
		if (free & 1u << i)
			salt = salt * 31 + play->ranks[rank].at[i] * 7 + i;
	return !free || (philox_fold(salt, 1, 2) & 3);
}

/* Where one of them cannot, none of those does that have to do the same. */
static int can_all(const struct play *play, unsigned rank, unsigned free,
		   const struct event *event)
{
	const unsigned flags = play->ranks[rank].regions[event->which].flags;

	if (event->kind == MAKE && !is_where_it_was(play, event->of))
		return 0;
	for (unsigned other = 0; other < play->bed.n; other++) {
		const struct model_rank *there = &play->ranks[other];
		unsigned apart = 0;

		for (uint32_t i = 0; i < play->bed.mesh.n_axes; i++)
			if (there->at[i] != play->ranks[rank].at[i])
				apart |= 1u << i;
		if (apart & free)
			continue;
		if (!model_can(there, event) ||
		    (is_of_tickets(event) &&
		     there->regions[event->which].flags != flags))
			return 0;
	}
	return 1;
}

static void do_together(struct play *play)
{
	const struct event event = choose_event(play);
	const uint64_t salt = below(1u << 30);
	int doing[WORLD_MOST];

	for (unsigned rank = 0; rank < play->bed.n; rank++) {
		const unsigned free = free_axes(play, rank, &event);

		doing[rank] = can_all(play, rank, free, &event) &&
			      is_to_do(play, rank, free, salt);
	}
	for (unsigned rank = 0; rank < play->bed.n; rank++) {
		struct event own = event;

		own.pending += rank;
		if (doing[rank])
			model_apply(&play->ranks[rank], &own);
	}
}

/* --- checks --------------------------------------------------------------- */

static int is_about(const char *message, const char *kind, unsigned first,
		    unsigned i)
{
	char words[32];

	snprintf(words, sizeof(words), ": %s '%c'", kind, (char)(first + i));
	return strstr(message, words) != NULL;
}

/* The message names something that the model has, too. */
static void names_it(const struct model_disputes *found, const char *message)
{
	int named = found->generators && strstr(message, ": generator");

	for (unsigned i = 0; i < MODEL_REGIONS; i++)
		named |= found->regions[i] &&
			 is_about(message, "region", 'a', i);
	for (unsigned i = 0; i < MODEL_TABLES; i++)
		named |= found->tables[i] && is_about(message, "rows", 'A', i);
	cr_assert(named, "nobody disputes that: %s", message);
}

/* "... on rank 3", alone */
static void names_rank(const char *message, unsigned rank)
{
	char words[32];
	const char *at;

	snprintf(words, sizeof(words), " on rank %u", rank);
	at = strstr(message, words);
	cr_assert(at && (at[strlen(words)] == '\0' || at[strlen(words)] == ','),
		  "rank %u is not named: %s", rank, message);
}

static void check_together(const struct play *play)
{
	const struct model_disputes found =
		model_disputes(&play->bed, play->ranks);

	cr_assert_not(found.any, "the program is no program of ranks");
	OK(ranks_compare(&play->bed));
	OK(ranks_explain(&play->bed));
}

/* --- some of the ranks ---------------------------------------------------- */

struct some_texts {
	char *of[WORLD_MOST];
	size_t sizes[WORLD_MOST];
	unsigned ranks[WORLD_MOST];
	unsigned n;
};

/* Of ranks that have a bit, in ascending order. */
static void describe_some(const struct play *play, unsigned chosen,
			  struct some_texts *texts)
{
	texts->n = 0;
	for (unsigned rank = 0; rank < play->bed.n; rank++)
		if (chosen & 1u << rank) {
			OK(philox_context_rank_describe(
				play->bed.contexts[rank], &texts->of[texts->n],
				&texts->sizes[texts->n]));
			texts->ranks[texts->n++] = rank;
		}
}

/* Whether two of them do not agree, and what is said of the first two, up to
 * the first value. */
static int pairs_differ(const struct some_texts *texts, char *words,
			size_t size)
{
	for (unsigned i = 1; i < texts->n; i++)
		for (unsigned j = 0; j < i; j++) {
			const char *const pair[] = {texts->of[j], texts->of[i]};
			const size_t sizes[] = {texts->sizes[j],
						texts->sizes[i]};

			if (philox_mesh_explain(pair, sizes, 2) == PHILOX_OK)
				continue;
			snprintf(words, size, "%s", philox_error_message());
			*strstr(words, " on rank ") = '\0';
			return 1;
		}
	return 0;
}

/* A part of the world is told what any two of it differ in. */
static unsigned check_some(const struct play *play, unsigned chosen)
{
	struct some_texts texts;
	char words[512];
	enum philox_status status;
	unsigned differ;

	describe_some(play, chosen, &texts);
	differ = (unsigned)pairs_differ(&texts, words, sizeof(words));
	status = philox_mesh_explain((const char *const *)texts.of, texts.sizes,
				     texts.n);
	if (differ) {
		FAILS(status, PHILOX_ERROR_MISMATCH);
		/* of a whole world, neighbours are named */
		if (texts.n < play->bed.n)
			NAMES(words);
	} else {
		OK(status);
	}
	for (unsigned i = 0; i < texts.n; i++)
		free(texts.of[i]);
	return differ;
}

/* --- one rank alone ------------------------------------------------------- */

/* 1: something differs now. */
static int check_alone(const struct play *play, unsigned odd, int all_ways)
{
	const struct model_disputes found =
		model_disputes(&play->bed, play->ranks);
	struct ranks_answer answers[RANKS_BED_MAX];

	if (!found.any) {
		check_together(play);
		return 0;
	}
	FAILS(ranks_compare(&play->bed), PHILOX_ERROR_MISMATCH);
	FAILS(ranks_explain(&play->bed), PHILOX_ERROR_MISMATCH);
	names_it(&found, philox_error_message());
	names_rank(philox_error_message(), odd);
	if (!all_ways)
		return 1;
	ranks_agree(&play->bed, NULL, answers);
	for (unsigned rank = 0; rank < play->bed.n; rank++) {
		cr_assert_eq(answers[rank].status, PHILOX_ERROR_MISMATCH);
		cr_assert_str_eq(answers[rank].message, answers[0].message);
		names_it(&found, answers[rank].message);
		names_rank(answers[rank].message, odd);
	}
	return 1;
}

/* --- programs ------------------------------------------------------------- */

static void do_alone(struct play *play, unsigned odd, struct event *event)
{
	do
		*event = choose_event(play);
	while (!model_can(&play->ranks[odd], event));
	model_apply(&play->ranks[odd], event);
}

PROMISE(mesh_random, faults_and_nothing_else_are_found)
{
	unsigned found = 0, own = 0, by_kind[EVENT_KINDS] = {0};
	static struct play play;

	for (unsigned program = 0; program < PROGRAMS; program++) {
		unsigned odd;
		struct event event;
		int differs;

		random_state = program;
		begin_play(&play, f->device);
		for (unsigned i = 0; i < EVENTS; i++) {
			do_together(&play);
			if (i % 5 == 4)
				check_together(&play);
		}
		for (unsigned i = 0; i < play.ranks[0].n_generators; i++)
			own += !is_where_it_was(&play, i);
		odd = below(play.bed.n);
		do_alone(&play, odd, &event);
		differs = check_alone(&play, odd, program % 16 == 0);
		found += (unsigned)differs;
		by_kind[event.kind] += (unsigned)differs;
		ranks_close(&play.bed);
	}
	cr_assert_gt(found, PROGRAMS / 2, "%u", found);
	cr_assert_gt(own, PROGRAMS / 20, "%u generators differed", own);
	for (unsigned kind = 0; kind < EVENT_KINDS; kind++)
		cr_assert(kind == RETAIN || by_kind[kind],
			  "no fault of kind %u was found", kind);
	cr_assert_eq(by_kind[RETAIN], 0);
}

/* All but one, and any others, with up to two faults. */
PROMISE(mesh_random, some_of_the_ranks_are_told_what_two_of_them_differ_in)
{
	unsigned differ = 0, agree = 0;
	static struct play play;

	for (unsigned program = 0; program < PROGRAMS / 5; program++) {
		struct event event;
		unsigned all;

		random_state = 1000000 + program;
		begin_play(&play, f->device);
		all = (1u << play.bed.n) - 1;
		for (unsigned i = 0; i < EVENTS; i++)
			do_together(&play);
		for (unsigned faults = 0; faults < 3 && all > 1; faults++) {
			const unsigned chosen[] = {
				all & ~(1u << below(play.bed.n)),
				all & (below(all) | 1u << below(play.bed.n))};

			for (unsigned i = 0; i < 2; i++) {
				unsigned found = check_some(&play, chosen[i]);

				differ += found;
				agree += !found;
			}
			do_alone(&play, below(play.bed.n), &event);
		}
		ranks_close(&play.bed);
	}
	cr_assert_gt(differ, PROGRAMS / 10, "%u", differ);
	cr_assert_gt(agree, PROGRAMS / 10, "%u", agree);
}

/*
 * tools/inspect/follow.c - a journal as a timeline
 */
#include <stdlib.h>
#include "tools/inspect/inspect.h"

struct followed {
	const struct follow *follow;
	uint64_t context;
	struct timeline *timeline;
};

static void hand_on(void *user, const struct timeline_item *item)
{
	const struct followed *followed = user;

	followed->follow->take(followed->follow->user, followed->context, item);
}

uint64_t follow_last(const struct written *journal)
{
	uint64_t last = 0;

	for (size_t i = 0; i < journal->n_events; i++)
		if (journal->events[i].place > last)
			last = journal->events[i].place;
	return last;
}

static int compare_places(const void *a, const void *b)
{
	const struct written_event *const *left = a, *const *right = b;

	return ((*left)->place > (*right)->place) -
	       ((*left)->place < (*right)->place);
}

/* All events as they were written, contexts mixed. */
static const struct written_event **in_order(const struct written *journal)
{
	const struct written_event **events =
		calloc(journal->n_events + 1, sizeof(*events));

	if (!events)
		return NULL;
	for (size_t i = 0; i < journal->n_events; i++)
		events[i] = &journal->events[i];
	qsort(events, journal->n_events, sizeof(*events), compare_places);
	return events;
}

static int follow_event(const struct follow *follow, struct followed *followed,
			const struct written_event *event)
{
	if (!followed->timeline) {
		followed->follow = follow;
		followed->context = event->context;
		followed->timeline = timeline_create(hand_on, followed);
		if (!followed->timeline)
			return -1;
		follow->context(follow->user, event->context);
	}
	timeline_event(followed->timeline, event->place * follow->scale,
		       event->text, event->length);
	return 0;
}

int follow_journal(const struct written *journal, const struct follow *follow,
		   uint64_t last)
{
	size_t n = journal->n_events;
	size_t contexts = n ? journal->events[n - 1].rank + 1 : 0;
	struct followed *followed = calloc(contexts + 1, sizeof(*followed));
	const struct written_event **events = in_order(journal);
	int result = events && followed ? 0 : -1;

	for (size_t i = 0; !result && i < n && events[i]->place <= last; i++)
		result = follow_event(follow, &followed[events[i]->rank],
				      events[i]);
	for (size_t i = 0; followed && i < contexts; i++)
		timeline_finish(followed[i].timeline,
				(last + 1) * follow->scale);
	free(events);
	free(followed);
	return result;
}

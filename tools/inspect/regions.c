/*
 * tools/inspect/regions.c - following the tickets of a journal
 *
 * A launch counts from the event that ends it; its uses come right after the
 * event that begins it. Several graphs may have one name, and launches under way
 * at once: a launch begins and ends with one sequence, and where that is the
 * same, too, a journal does not tell them apart, and the newest ends first.
 *
 * A ticket that was pending before the journal began, or that came with a load,
 * is unknown here and its wait has no beginning.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "tools/inspect/inspect.h"

/* A launch that has begun. */
struct begun {
	size_t event;
	size_t same; /* the next older one under way like it; SIZE_MAX: none */
};

/* The tickets of all regions that wait for their backwards. */
struct following {
	struct inspect_regions *regions;
	struct keyed by_name;   /* regions, by context and name */
	struct keyed under_way; /* the newest launch, by what both ends say */
	struct begun *begun;    /* all launches */
	size_t n_begun;
	struct index pending; /* by region and serial: since which event */
	struct slab nodes;
	size_t first; /* region of the context */
};

struct event {
	const struct written *journal;
	size_t index;
	struct written_word words[WRITTEN_WORDS_MAX];
	size_t n;
};

static void read_words(const struct written *journal, size_t index,
		       struct event *event)
{
	event->journal = journal;
	event->index = index;
	event->n = written_words(&journal->events[index], event->words);
}

static uint64_t context_of(const struct event *event)
{
	return event->journal->events[event->index].context;
}

/* What an event says in a field, as a key in its context. */
static struct keyed_by key_of(const struct event *event, const char *field)
{
	const struct written_word word =
		written_field(event->words, event->n, field);
	struct keyed_by key = keyed_by(context_of(event));

	keyed_by_word(&key, word.text, word.length);
	return key;
}

static int names_region(const struct event *event)
{
	struct written_word name =
		written_field(event->words, event->n, "region");

	return name.text && *name.text == '"';
}

/* NULL: out of memory. */
static struct inspect_region *find_region(struct following *following,
					  const struct event *event)
{
	const struct keyed_by key = key_of(event, "region");
	struct inspect_regions *regions = following->regions;
	const size_t found = keyed_find(&following->by_name, &key);
	struct inspect_region *added;

	if (found != SIZE_MAX)
		return &regions->regions[found];
	added = array_grow(&regions->regions, regions->n, 1, sizeof(*added));
	if (!added ||
	    !keyed_put(&following->by_name, &key, keyed_index(regions->n)))
		return NULL;
	regions->n++;
	added->context = context_of(event);
	added->name = written_field(event->words, event->n, "region");
	return added;
}

/* --- tickets -------------------------------------------------------------- */

static struct index_key ticket_key(const struct following *following,
				   const struct inspect_region *region,
				   uint64_t serial)
{
	return (struct index_key){
		(uint64_t)(region - following->regions->regions), serial};
}

static void note_wait(struct inspect_region *region, size_t since, size_t now)
{
	if (now - since > region->longest_for)
		region->longest_for = now - since;
}

/* The event that committed a ticket, as what is kept of it. */
static void *as_value(size_t since)
{
	return (void *)(uintptr_t)(since + 1);
}

static size_t since_of(const void *value)
{
	return (size_t)(uintptr_t)value - 1;
}

static void end_ticket(struct following *following,
		       struct inspect_region *region, uint64_t serial,
		       size_t now)
{
	const void *ended = index_remove(&following->pending, &following->nodes,
					 ticket_key(following, region, serial));

	if (!ended)
		return;
	note_wait(region, since_of(ended), now);
	region->pending--;
}

static int add_ticket(struct following *following,
		      struct inspect_region *region, uint64_t serial,
		      size_t since)
{
	const size_t n = following->pending.count + 1;

	end_ticket(following, region, serial, since);
	if (!slab_reserve(&following->nodes, index_nodes(n, 1)))
		return -1;
	index_insert(&following->pending, &following->nodes,
		     ticket_key(following, region, serial), as_value(since));
	region->pending++;
	return 0;
}

/* Of some regions that come one after the other. */
static void end_all_tickets(struct following *following, size_t first,
			    size_t end, size_t now)
{
	struct index_cursor at;

	while ((at = index_at_least(&following->pending,
				    (struct index_key){first, 0}))
		       .leaf) {
		const struct index_key key = index_key_at(at);

		if (key.high >= end)
			return;
		end_ticket(following, &following->regions->regions[key.high],
			   key.low, now);
	}
}

/* --- events --------------------------------------------------------------- */

/* A pass ended, by itself or as part of a launch. */
static int count_pass(struct following *following, const struct event *event,
		      int backward, size_t now)
{
	struct inspect_region *region = find_region(following, event);
	uint64_t serial = written_number(event->words, event->n, "ticket");

	if (!region)
		return -1;
	if (!backward) {
		region->forwards++;
		return serial ? add_ticket(following, region, serial, now) : 0;
	}
	region->backwards++;
	if (serial && !written_has_flag(event->words, event->n, "retain"))
		end_ticket(following, region, serial, now);
	return 0;
}

static struct keyed_by launch_key(const struct event *event)
{
	struct keyed_by key = key_of(event, "graph");

	keyed_by_number(&key,
			written_number(event->words, event->n, "sequence"));
	return key;
}

static int note_launch(struct following *following, const struct event *event)
{
	const struct keyed_by key = launch_key(event);
	struct begun *begun = array_grow(&following->begun, following->n_begun,
					 1, sizeof(*begun));

	if (!begun)
		return -1;
	begun->event = event->index;
	begun->same = keyed_find(&following->under_way, &key);
	return keyed_put(&following->under_way, &key,
			 keyed_index(following->n_begun++))
		       ? 0
		       : -1;
}

/* The begin of the launch that ends; SIZE_MAX: before the journal. */
static size_t take_launch(struct following *following, const struct event *end)
{
	const struct keyed_by key = launch_key(end);
	const size_t found = keyed_find(&following->under_way, &key);
	size_t same;

	if (found == SIZE_MAX)
		return SIZE_MAX;
	same = following->begun[found].same;
	if (same == SIZE_MAX)
		keyed_remove(&following->under_way, &key);
	else /* in its place, which needs no memory */
		keyed_put(&following->under_way, &key, keyed_index(same));
	return following->begun[found].event;
}

static int count_launch(struct following *following, const struct event *end)
{
	size_t begin = take_launch(following, end);
	struct event use;
	int result = 0;

	for (size_t i = begin; !result && i != SIZE_MAX && ++i < end->index;) {
		read_words(end->journal, i, &use);
		if (!written_is(use.words[0], "launch-use") ||
		    !names_region(&use))
			break;
		result = count_pass(
			following, &use,
			!written_is(written_field(use.words, use.n, "pass"),
				    "forward"),
			end->index);
	}
	return result;
}

static int count_ticket_end(struct following *following,
			    const struct event *event)
{
	struct inspect_region *region = find_region(following, event);
	size_t place;

	if (!region)
		return -1;
	place = (size_t)(region - following->regions->regions);
	if (written_is(event->words[0], "region-destroy"))
		end_all_tickets(following, place, place + 1, event->index);
	else
		end_ticket(following, region,
			   written_number(event->words, event->n, "ticket"),
			   event->index);
	return 0;
}

/* A journal does not say which tickets are pending after a load. */
static void forget_context(struct following *following,
			   const struct event *event)
{
	end_all_tickets(following, following->first, following->regions->n,
			event->index);
}

/* Events come context by context, and so do their regions. */
static void note_context(struct following *following, const struct event *event)
{
	const struct inspect_regions *regions = following->regions;

	if (regions->n &&
	    regions->regions[regions->n - 1].context != context_of(event))
		following->first = regions->n;
}

static int count_event(struct following *following, const struct event *event)
{
	struct written_word kind = event->words[0];

	note_context(following, event);
	if (written_is(kind, "launch-begin"))
		return note_launch(following, event);
	if (written_is(kind, "launch-commit"))
		return count_launch(following, event);
	if (written_is(kind, "launch-abort"))
		take_launch(following, event);
	if (written_is(kind, "context-load"))
		forget_context(following, event);
	if (!names_region(event))
		return 0;
	if (written_is(kind, "forward-commit"))
		return count_pass(following, event, 0, event->index);
	if (written_is(kind, "backward-commit"))
		return count_pass(following, event, 1, event->index);
	if (written_is(kind, "ticket-release") ||
	    written_is(kind, "region-destroy"))
		return count_ticket_end(following, event);
	if (written_is(kind, "region-create"))
		return find_region(following, event) ? 0 : -1;
	return 0;
}

/* --- all ------------------------------------------------------------------ */

/* The oldest of a region is the first of those with its number. */
static void find_oldest(const struct following *following,
			struct inspect_region *region, size_t last)
{
	const struct index_cursor at = index_at_least(
		&following->pending, ticket_key(following, region, 0));
	size_t since;

	if (!region->pending)
		return;
	since = since_of(index_value(at));
	region->oldest = index_key_at(at).low;
	region->oldest_for = last - since;
	note_wait(region, since, last);
}

/* Regions and events are context by context. */
static void find_all_oldest(const struct following *following,
			    const struct written *journal)
{
	struct inspect_regions *regions = following->regions;
	size_t last = journal->n_events;

	for (size_t i = regions->n; i--;) {
		struct inspect_region *region = &regions->regions[i];

		while (journal->events[last - 1].context != region->context)
			last--;
		find_oldest(following, region, last - 1);
	}
}

static int follow_all(struct following *following,
		      const struct written *journal)
{
	struct event event;

	for (size_t i = 0; i < journal->n_events; i++) {
		read_words(journal, i, &event);
		if (count_event(following, &event))
			return -1;
	}
	find_all_oldest(following, journal);
	return 0;
}

int inspect_regions(const struct written *journal,
		    struct inspect_regions *regions)
{
	struct following following = {.regions = regions,
				      .pending = {.wide = 1}};
	int result;

	memset(regions, 0, sizeof(*regions));
	slab_init(&following.nodes, sizeof(struct index_node));
	result = follow_all(&following, journal);
	keyed_finish(&following.by_name);
	keyed_finish(&following.under_way);
	free(following.begun);
	slab_finish(&following.nodes);
	if (result)
		inspect_regions_finish(regions);
	return result;
}

void inspect_regions_finish(struct inspect_regions *regions)
{
	free(regions->regions);
	memset(regions, 0, sizeof(*regions));
}

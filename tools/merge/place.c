/*
 * tools/merge/place.c - where everything goes: see Note [Placing]
 */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "tools/cli/cli.h"
#include "tools/merge/merge.h"

static const char *kind_of(const struct merge_item *item)
{
	return item->kind == SAVE_TABLE  ? "rows"
	       : item->kind == SAVE_DATA ? "data"
					 : "region";
}

/* --- rules that were given ------------------------------------------------ */

static int check_place(const struct merge_job *job, struct merge_rule *rule)
{
	const struct philox_axis *axis = mesh_find(&job->to, rule->axis);

	if (!axis)
		return complain_value("merge", "place", rule->given,
				      "the new mesh has no axis '%s'",
				      rule->axis);
	rule->coordinates = calloc(rule->n_words, sizeof(*rule->coordinates));
	if (!rule->coordinates)
		return complain("merge", "out of memory") - 1;
	for (size_t i = 0; i < rule->n_words; i++)
		if (take_whole("merge", "place", rule->words[i], 0,
			       axis->n_ranks - 1, &rule->coordinates[i]))
			return 2;
	return 0;
}

static int check_differs(const struct merge_job *job,
			 const struct merge_rule *rule)
{
	for (size_t i = 0; i < rule->n_words; i++) {
		if (!mesh_find(&job->to, rule->words[i]))
			return complain_value("merge", "differs", rule->given,
					      "the new mesh has no axis '%s'",
					      rule->words[i]);
		if (mesh_find(source_mesh(&job->source), rule->words[i]))
			return complain_value(
				"merge", "differs", rule->given,
				"'%s' has axis '%s', and says what differs "
				"along it",
				job->old_path, rule->words[i]);
	}
	return 0;
}

static int fits(struct merge_rule *rule, const struct merge_item *item)
{
	int is = !fnmatch(rule->pattern, item->name, 0);

	rule->used |= is;
	return is;
}

static int check_used(const char *option, const struct merge_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++)
		if (!rules->rules[i].used)
			return complain_value("merge", option,
					      rules->rules[i].given,
					      "fits no name of the set");
	return 0;
}

/* --- one axis ------------------------------------------------------------- */

static const struct merge_rule *last_rule(struct merge_job *job,
					  const struct merge_item *item,
					  const char *axis)
{
	const struct merge_rule *last = NULL;

	for (size_t i = 0; i < job->places.n; i++) {
		struct merge_rule *rule = &job->places.rules[i];

		if (fits(rule, item) && !strcmp(rule->axis, axis))
			last = rule;
	}
	return last;
}

static uint32_t count_places(const unsigned char *places, uint32_t size)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < size; i++)
		n += places[i];
	return n;
}

/* "0, 2" */
static void list_places(const unsigned char *places, uint32_t size, char *text,
			size_t room)
{
	size_t length = 0;

	*text = '\0';
	for (uint32_t i = 0; i < size && length < room; i++)
		if (places[i])
			length += (size_t)snprintf(text + length, room - length,
						   "%s%" PRIu32,
						   length ? ", " : "", i);
}

static int refuse_part(const struct merge_item *item,
		       const struct philox_axis *old,
		       const unsigned char *places, uint32_t size)
{
	char list[80];

	list_places(places, old->n_ranks, list, sizeof(list));
	complain("merge",
		 "%s '%s' is at coordinate%s %s of axis '%s', whose size is "
		 "%" PRIu32 " and becomes %" PRIu32
		 ": say where it goes, with --place '%s=%s:0' or the like",
		 kind_of(item), item->name,
		 plural(count_places(places, old->n_ranks)), list, old->name,
		 old->n_ranks, size, item->name, old->name);
	return 1;
}

static int place_along(struct merge_job *job, struct merge_item *item,
		       uint32_t i)
{
	const struct philox_mesh *from = source_mesh(&job->source);
	const struct philox_axis *axis = &job->to.axes[i];
	const struct philox_axis *old = mesh_find(from, axis->name);
	const struct merge_rule *rule = last_rule(job, item, axis->name);
	const unsigned char *places = old ? item->old[old - from->axes] : NULL;
	int whole = !old || count_places(places, old->n_ranks) == old->n_ranks;

	item->made[i] = calloc(axis->n_ranks, 1);
	if (!item->made[i])
		return complain("merge", "out of memory") - 1;
	if (rule)
		for (size_t k = 0; k < rule->n_words; k++)
			item->made[i][rule->coordinates[k]] = 1;
	else if (whole || axis->n_ranks == 1)
		memset(item->made[i], 1, axis->n_ranks);
	else if (old->n_ranks == axis->n_ranks)
		memcpy(item->made[i], places, axis->n_ranks);
	else
		return refuse_part(item, old, places, axis->n_ranks);
	return 0;
}

/* --- one item ------------------------------------------------------------- */

/* Whether its ranks are all that there are at its coordinates. */
static int is_product(const struct merge_job *job,
		      const struct merge_item *item)
{
	const struct philox_mesh *from = source_mesh(&job->source);
	uint64_t ranks = 1;

	for (uint32_t i = 0; i < from->n_axes; i++)
		ranks *= count_places(item->old[i], from->axes[i].n_ranks);
	return ranks == item->ranks;
}

static int check_product(struct merge_job *job, const struct merge_item *item)
{
	if (is_product(job, item))
		return 0;
	for (uint32_t i = 0; i < job->to.n_axes; i++) {
		const char *axis = job->to.axes[i].name;

		if (job->to.axes[i].n_ranks == 1 || last_rule(job, item, axis))
			continue;
		complain("merge",
			 "%s '%s' is on %" PRIu64
			 " ranks that are not all of some coordinates: say "
			 "where it goes along axis '%s', with --place",
			 kind_of(item), item->name, item->ranks, axis);
		return 1;
	}
	return 0;
}

static int compare_words(const void *a, const void *b)
{
	const char *const *left = a, *const *right = b;

	return strcmp(*left, *right);
}

static int add_differs(struct merge_item *item, const struct merge_rule *rule)
{
	for (size_t i = 0; i < rule->n_words; i++) {
		int has = 0;

		for (size_t k = 0; k < item->n_axes; k++)
			has |= !strcmp(item->axes[k], rule->words[i]);
		if (has || item->n_axes == PHILOX_MESH_AXES)
			continue;
		item->axes[item->n_axes] = strdup(rule->words[i]);
		if (!item->axes[item->n_axes])
			return complain("merge", "out of memory") - 1;
		item->n_axes++;
	}
	return 0;
}

/* An axis that a mesh does not have is not named in its texts. */
static int choose_axes(struct merge_job *job, struct merge_item *item)
{
	size_t kept = 0;
	int status = 0;

	for (size_t i = 0; job->to.n_axes && i < item->n_axes; i++) {
		if (mesh_find(&job->to, item->axes[i]))
			item->axes[kept++] = item->axes[i];
		else
			free(item->axes[i]);
	}
	if (job->to.n_axes)
		item->n_axes = kept;
	for (size_t i = 0; !status && i < job->differs.n; i++)
		if (fits(&job->differs.rules[i], item))
			status = add_differs(item, &job->differs.rules[i]);
	qsort(item->axes, item->n_axes, sizeof(*item->axes), compare_words);
	return status;
}

static int place_item(struct merge_job *job, struct merge_item *item)
{
	int status = 0;

	for (uint32_t i = 0; !status && i < job->to.n_axes; i++)
		status = place_along(job, item, i);
	if (!status)
		status = check_product(job, item);
	return status || item->kind != SAVE_REGION ? status
						   : choose_axes(job, item);
}

int merge_place(struct merge_job *job)
{
	int status = 0;

	for (size_t i = 0; !status && i < job->places.n; i++)
		status = check_place(job, &job->places.rules[i]);
	for (size_t i = 0; !status && i < job->differs.n; i++)
		status = check_differs(job, &job->differs.rules[i]);
	for (size_t i = 0; !status && i < job->n_items; i++)
		status = place_item(job, &job->items[i]);
	if (!status)
		status = check_used("place", &job->places);
	return status ? status : check_used("differs", &job->differs);
}

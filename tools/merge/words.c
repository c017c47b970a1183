/*
 * tools/merge/words.c - the values of the options of philox merge
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/mesh/mesh.h"
#include "tools/cli/cli.h"
#include "tools/merge/merge.h"

#define STAGES ":stages"

/* --- a mesh --------------------------------------------------------------- */

/* "NAME=SIZE" or "NAME=SIZE:stages" */
static int take_axis(struct merge_job *job, char *word)
{
	struct philox_axis *axis = &job->to.axes[job->to.n_axes];
	char *equals = strrchr(word, '=');
	char *stages = strstr(word, STAGES);
	const struct philox_axis *old;
	uint64_t size;

	if (job->to.n_axes == PHILOX_MESH_AXES)
		return complain_value("merge", "mesh", job->given_mesh,
				      "has more than %d axes",
				      PHILOX_MESH_AXES);
	if (stages && !strcmp(stages, STAGES))
		*stages = '\0';
	else
		stages = NULL;
	if (!equals)
		return complain_value("merge", "mesh", job->given_mesh,
				      "'%s' is not an axis with its size, as "
				      "in data=2",
				      word);
	*equals = '\0';
	if (take_whole("merge", "mesh", equals + 1, 1, UINT32_MAX, &size))
		return 2;
	old = mesh_find(source_mesh(&job->source), word);
	*axis = (struct philox_axis){.name = strdup(word),
				     .n_ranks = (uint32_t)size};
	if (stages || (old && old->flags))
		axis->flags = PHILOX_AXIS_STAGES;
	if (!axis->name)
		return complain("merge", "out of memory") - 1;
	job->to.n_axes++;
	return 0;
}

int merge_take_mesh(struct merge_job *job)
{
	char *copy = strdup(job->given_mesh), *rest = copy, *word;
	int status = 0;

	job->to.size = sizeof(job->to);
	if (!copy)
		return complain("merge", "out of memory") - 1;
	while (!status && *copy && (word = strsep(&rest, ",")))
		status = take_axis(job, word);
	free(copy);
	if (!status && philox_mesh_check(&job->to) != PHILOX_OK)
		status = complain_value("merge", "mesh", job->given_mesh, "%s",
					philox_error_message());
	if (!status && mesh_world(&job->to) > MERGE_RANKS_MAX)
		status = complain_value("merge", "mesh", job->given_mesh,
					"has %" PRIu64 " ranks, and a set that "
					"is made has at most %" PRIu64,
					mesh_world(&job->to), MERGE_RANKS_MAX);
	return status;
}

/* --- rules ---------------------------------------------------------------- */

static int split_words(struct merge_rule *rule, char *text)
{
	char *word;

	while ((word = strsep(&text, ","))) {
		if (!array_grow(&rule->words, rule->n_words, 1,
				sizeof(*rule->words)))
			return complain("merge", "out of memory") - 1;
		rule->words[rule->n_words++] = word;
	}
	return 0;
}

/* "PATTERN=WORDS"; of --place the words begin with "AXIS:". */
static int split_rule(struct merge_rule *rule, const char *option)
{
	const int is_place = !strcmp(option, "place");
	char *equals = strrchr(rule->pattern, '='), *colon = NULL;

	if (equals && is_place)
		colon = strrchr(equals, ':');
	if (!equals || equals == rule->pattern || !equals[1] ||
	    (is_place && (!colon || !colon[1])))
		return complain_value("merge", option, rule->given,
				      is_place ? "must be like 'block.*=pipe:0'"
					       : "must be like 'noise*=data'");
	*equals = '\0';
	if (colon) {
		*colon = '\0';
		rule->axis = equals + 1;
	}
	return split_words(rule, colon ? colon + 1 : equals + 1);
}

int merge_take_rule(struct merge_rules *rules, const char *option,
		    const char *value)
{
	struct merge_rule *rule =
		array_grow(&rules->rules, rules->n, 1, sizeof(*rule));

	if (!rule)
		return complain("merge", "out of memory") - 1;
	rule->given = value;
	rule->pattern = strdup(value);
	if (!rule->pattern)
		return complain("merge", "out of memory") - 1;
	rules->n++;
	return split_rule(rule, option);
}

void merge_free_rules(struct merge_rules *rules)
{
	for (size_t i = 0; i < rules->n; i++) {
		free(rules->rules[i].pattern);
		free(rules->rules[i].words);
		free(rules->rules[i].coordinates);
	}
	free(rules->rules);
	*rules = (struct merge_rules){0};
}

/*
 * lib/accept/host.c - accepting drafts, as plain loops
 *
 * A token is drawn in two passes. The first adds the weights up in groups of
 * columns, in their order; the second looks at the columns of one group.
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include <string.h>
#include "lib/accept/accept.h"
#include "lib/sample/host.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum { GROUPS = 128 };

/* A launch, and the position that it is at. */
struct accept_job {
	const struct accept_args *args;
	masses_open *open;
	struct accept_position of;
	struct change p_change, q_change;
	struct masses p, q;
	uint64_t keys[FILTER_ROOM]; /* of q, and then of p */
};

/* --- distributions -------------------------------------------------------- */

/* Begins the masses of a side; says whether it has any. */
static int begin_side(struct accept_job *job, const struct sample_args *args,
		      uint64_t entry, uint64_t list_entry,
		      struct sample_row *row, struct change *change,
		      struct masses *masses, struct accept_side *side)
{
	const int is_changed = change_is_asked(args);

	if (row->valid && is_changed) {
		row->valid = change_begin(args, entry, row->index, change);
		accept_change_begin(job->args, list_entry, &job->of, change);
	}
	if (!row->valid)
		return 0;
	job->open(masses, job->keys, args, entry, row,
		  is_changed ? change : NULL, 0);
	masses_keep(masses, row);
	side->row = masses->job.row;
	side->cut = masses->cut;
	side->all = masses->all;
	return side->cut != SAMPLE_NO_TOKEN;
}

static uint64_t key_of(const struct masses *masses, int32_t v)
{
	uint64_t key;

	filter_keys(&masses->job, (uint32_t)v - masses->job.args->first, 1,
		    &key);
	return key;
}

/* --- draws ---------------------------------------------------------------- */

/* Weights, and what they are for. */
struct weighing {
	struct wide sum;  /* of those so far */
	struct wide goal; /* the first sum above it is looked for */
	int32_t token;    /* whose it is; -1: none so far */
};

/* Weighs n tokens, by keys, those of q beside them, or looked up. */
ALWAYS_INLINE void weigh(const struct accept_job *job, const uint64_t *keys,
			 const uint64_t *q_keys, uint32_t n,
			 struct weighing *to)
{
	const int has_q = job->of.from == ACCEPT_LOGITS;

	for (uint32_t i = 0; i < n && to->token < 0; i++) {
		const int32_t v = (int32_t)(0xffffffffu - (uint32_t)keys[i]);
		uint64_t q_key = 0;

		if (keys[i] < job->of.p.cut)
			continue;
		if (has_q)
			q_key = q_keys ? q_keys[i] : key_of(&job->q, v);
		to->sum = wide_plus(
			to->sum, accept_weight_of(&job->of, v, keys[i], q_key));
		if (wide_is_less(to->goal, to->sum))
			to->token = v;
	}
}

/* Whether what the target keeps is listed. */
static int is_listed(const struct accept_job *job)
{
	return filter_is_listed(&job->p.job, job->p.cut, SAMPLE_NO_TOKEN);
}

/* Weighs the next tokens from *at on; 0 after the last. */
ALWAYS_INLINE int weigh_some(const struct accept_job *job, uint32_t *at,
			     struct weighing *to)
{
	const int listed = is_listed(job);
	uint64_t room[FILTER_SPAN], q_room[FILTER_SPAN];
	const uint32_t from = *at;
	const uint64_t *keys;
	const uint32_t n = filter_some(&job->p.job, job->p.cut, SAMPLE_NO_TOKEN,
				       at, &keys, room);

	if (n && !listed && job->of.from == ACCEPT_LOGITS)
		filter_keys(&job->q.job, from, n, q_room);
	weigh(job, keys, listed ? NULL : q_room, n, to);
	return n != 0;
}

/* The groups of a row. */
struct groups {
	struct wide sums[GROUPS]; /* of all weights up to the end of each */
	uint32_t columns;         /* of a group: whole spans */
	uint32_t count;
};

/* The sum of a group's weights where they are masses, but for the draft's. */
static struct wide mass_of_group(struct accept_job *job, uint32_t from,
				 uint32_t n)
{
	const struct accept_position *of = &job->of;
	const uint32_t draft = (uint32_t)of->token - job->args->target.first;
	uint64_t sums[2], mass;

	masses_sum_of(&job->p, of->p.cut, from, n, sums);
	if (of->from == ACCEPT_POINT && draft - from < n) {
		mass = accept_mass(&of->p, key_of(&job->p, of->token));
		sums[0] -= filter_upper(mass);
		sums[1] -= filter_lower(mass);
	}
	return wide_of(filter_join(sums[0], sums[1]));
}

static void mass_groups(struct accept_job *job, struct groups *groups)
{
	const uint32_t vocab = job->args->target.vocab;
	struct wide sum = {{0, 0, 0, 0}};

	for (uint32_t at = 0; at < vocab; at += groups->columns) {
		const uint32_t left = vocab - at;

		sum = wide_plus(sum, mass_of_group(job, at,
						   left < groups->columns
							   ? left
							   : groups->columns));
		groups->sums[groups->count++] = sum;
		if (left <= groups->columns)
			return;
	}
}

/* Adds all weights up. */
ALWAYS_INLINE void weigh_groups(struct accept_job *job, struct groups *groups)
{
	const uint32_t spans = (job->args->target.vocab - 1) / FILTER_SPAN + 1;
	struct weighing to = {.token = -1};
	uint32_t at = 0;

	memset(&to.goal, 0xff, sizeof(to.goal)); /* above all sums */
	groups->columns = ((spans - 1) / GROUPS + 1) * FILTER_SPAN;
	groups->count = 0;
	if (job->of.from != ACCEPT_LOGITS && !is_listed(job)) {
		mass_groups(job, groups);
		return;
	}
	while (weigh_some(job, &at, &to))
		if (at % groups->columns == 0 ||
		    at >= job->args->target.vocab || is_listed(job))
			groups->sums[groups->count++] = to.sum;
}

/* The token of a position, by the weights of its columns. */
ALWAYS_INLINE int32_t draw(struct accept_job *job)
{
	struct weighing to = {.token = -1};
	struct groups groups;
	uint32_t group = 0, at;

	weigh_groups(job, &groups);
	if (wide_is_zero(groups.sums[groups.count - 1])) {
		accept_forget_draft(&job->of);
		weigh_groups(job, &groups);
	}
	to.goal = accept_goal(groups.sums[groups.count - 1], job->of.rest);
	/* past the last only if somebody writes logits meanwhile */
	while (group < groups.count - 1 &&
	       !wide_is_less(to.goal, groups.sums[group]))
		group++;
	if (group)
		to.sum = groups.sums[group - 1];
	at = group * groups.columns;
	while (to.token < 0 && weigh_some(job, &at, &to))
		;
	return to.token;
}

/* --- positions ------------------------------------------------------------ */

/* The token of a position that is begun. */
ALWAYS_INLINE int32_t judge(struct accept_job *job, uint64_t entry)
{
	const struct accept_args *args = job->args;
	struct accept_position *of = &job->of;
	uint64_t q_key = 0;

	if (of->from == ACCEPT_LOGITS)
		begin_side(job, &args->draft, of->draft, entry, &of->q_row,
			   &job->q_change, &job->q, &of->q);
	accept_check_draft(of);
	if (!begin_side(job, &args->target, of->target, entry, &of->p_row,
			&job->p_change, &job->p, &of->p))
		return -1;
	if (of->from == ACCEPT_LOGITS)
		q_key = key_of(&job->q, of->token);
	if (of->from != ACCEPT_NO_DRAFT &&
	    accept_judge(of, key_of(&job->p, of->token), q_key))
		return of->token;
	return draw(job);
}

/* The positions of an entry, up to the first whose token is not its draft. */
ALWAYS_INLINE void accept_entry(struct accept_job *job, uint64_t entry)
{
	const struct accept_args *args = job->args;
	int32_t *tokens = args->tokens + entry * accept_positions(args);

	for (uint32_t i = 0; i < accept_positions(args); i++) {
		if (!accept_begin(args, entry, i, &job->of))
			return;
		tokens[i] = judge(job, entry);
		if (i == args->n_drafts || tokens[i] < 0 ||
		    tokens[i] != args->drafts[job->of.draft])
			break;
	}
	accept_end(args, entry);
}

#define DEFINE_ACCEPT(storage, attribute, loop, name, type)        \
	attribute storage void loop(const void *pointer)           \
	{                                                          \
		const struct accept_args *args = pointer;          \
		struct accept_job job;                             \
                                                                   \
		job.args = args;                                   \
		job.open = masses_open_##name;                     \
		for (uint64_t i = 0; i < args->target.list.n; i++) \
			accept_entry(&job, i);                     \
		rows_end(args->target.table.control);              \
	}

DEFINE_TWICE(DEFINE_ACCEPT, accept_f32, f32, float)
DEFINE_TWICE(DEFINE_ACCEPT, accept_bf16, bf16, uint16_t)
DEFINE_TWICE(DEFINE_ACCEPT, accept_f16, f16, uint16_t)

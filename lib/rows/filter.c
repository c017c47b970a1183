/*
 * lib/rows/filter.c - samples with filters as plain loops
 *
 * See Note [Kept tokens are a prefix] in lib/rows/filter.h.
 */
#define PHILOX_BUILTIN_FMA /* real.h: let a function's target decide */
#include "lib/rows/filter.h"
#include "lib/rows/host.h"
#include "lib/rows/rows.h"

/* Tokens that are few enough to be listed. */
#define FILTER_FEW 64

#define DEFINE_FILTER(storage, attribute, loop, name, logit_type)             \
	static uint64_t loop##_place(const struct sample_args *args,          \
				     uint64_t entry, uint32_t i)              \
	{                                                                     \
		const logit_type *logits = (const logit_type *)args->logits + \
					   entry * args->pitch;               \
                                                                              \
		return sample_place(args, entry,                              \
				    sample_widen_##name(logits[i]),           \
				    args->first + i);                         \
	}                                                                     \
                                                                              \
	attribute static void loop##_level(                                   \
		const struct sample_args *args, uint64_t entry,               \
		const struct filter_row *row, struct filter_search *search)   \
	{                                                                     \
		struct filter_bucket groups[FILTER_GROUPS];                   \
		struct filter_buckets buckets;                                \
                                                                              \
		filter_clear(&buckets, 0, 1);                                 \
		for (uint32_t i = 0; i < args->vocab; i++) {                  \
			uint64_t key = loop##_place(args, entry, i);          \
                                                                              \
			if (filter_is_in(search, key))                        \
				filter_count(search, row, key, &buckets);     \
		}                                                             \
		for (uint32_t i = 0; i < FILTER_GROUPS; i++)                  \
			groups[i] = filter_group(&buckets, i);                \
		filter_level_end(search, row, &buckets, groups);              \
	}                                                                     \
                                                                              \
	attribute static void loop##_list(                                    \
		const struct sample_args *args, uint64_t entry,               \
		const struct filter_row *row, struct filter_search *search)   \
	{                                                                     \
		uint64_t keys[FILTER_FEW];                                    \
		uint32_t n = 0;                                               \
                                                                              \
		for (uint32_t i = 0; i < args->vocab && n < search->left;     \
		     i++) {                                                   \
			uint64_t key = loop##_place(args, entry, i);          \
                                                                              \
			if (filter_is_in(search, key))                        \
				keys[n++] = key;                              \
		}                                                             \
		for (uint32_t i = 0; i < n && !search->done; i++)             \
			if (filter_is_last(search, row, keys, n, i)) {        \
				search->low = keys[i];                        \
				search->done = 1;                             \
			}                                                     \
	}                                                                     \
                                                                              \
	attribute static uint64_t loop##_cut(                                 \
		const struct sample_args *args, uint64_t entry,               \
		const struct filter_row *row, struct filter *filter)          \
	{                                                                     \
		struct filter_search search = {.done = 1};                    \
		enum filter_work work;                                        \
                                                                              \
		while ((work = filter_proceed(filter, row, &search,           \
					      FILTER_FEW)) != FILTER_DONE)    \
			if (work == FILTER_LIST)                              \
				loop##_list(args, entry, row, &search);       \
			else                                                  \
				loop##_level(args, entry, row, &search);      \
		return filter->cut;                                           \
	}                                                                     \
                                                                              \
	/* The greatest key: that of a NaN if there is one. */                \
	static uint64_t loop##_first(const struct sample_args *args,          \
				     uint64_t entry)                          \
	{                                                                     \
		uint64_t first = 0;                                           \
                                                                              \
		for (uint32_t i = 0; i < args->vocab; i++) {                  \
			uint64_t key = loop##_place(args, entry, i);          \
                                                                              \
			first = key > first ? key : first;                    \
		}                                                             \
		return first;                                                 \
	}                                                                     \
                                                                              \
	/* The least key that is not below a cut. */                          \
	static uint64_t loop##_last(const struct sample_args *args,           \
				    uint64_t entry, uint64_t cut)             \
	{                                                                     \
		uint64_t last = SAMPLE_NO_TOKEN;                              \
                                                                              \
		for (uint32_t i = 0; i < args->vocab; i++) {                  \
			uint64_t key = loop##_place(args, entry, i);          \
                                                                              \
			if (key >= cut && key < last)                         \
				last = key;                                   \
		}                                                             \
		return last;                                                  \
	}                                                                     \
                                                                              \
	/* The key of the token that is drawn of those that are kept. */      \
	attribute static uint64_t loop##_draw(const struct sample_args *args, \
					      const struct sample_row *row,   \
					      uint64_t entry)                 \
	{                                                                     \
		const uint32_t first = sample_first_quad(args);               \
		const uint32_t quads = sample_quads(args);                    \
		struct sample_best best = SAMPLE_NO_BEST;                     \
                                                                              \
		for (uint32_t q = 0; q < quads; q++)                          \
			sample_##name##_quad(args, row, entry, first + q,     \
					     &best);                          \
		return best.key;                                              \
	}                                                                     \
                                                                              \
	/* The key of an entry's token, and the last key that it keeps. */    \
	attribute static uint64_t loop##_entry(                               \
		const struct sample_args *args, uint64_t entry,               \
		struct sample_row *row, uint64_t *last)                       \
	{                                                                     \
		struct filter_row facts = {.inverse = row->inverse};          \
		struct filter filter;                                         \
		uint64_t best;                                                \
                                                                              \
		if (!filter_begin(&args->filters, entry, &filter))            \
			return SAMPLE_NO_TOKEN;                               \
		best = loop##_first(args, entry);                             \
		if (philox_sample_token(best) < 0 ||                          \
		    (row->inverse == 0.0f && !args->filters.cuts))            \
			return best;                                          \
		facts.most = filter_logit(best);                              \
		if (row->inverse == 0.0f)                                     \
			facts.inverse = 1.0f;                                 \
		row->cut = loop##_cut(args, entry, &facts, &filter);          \
		if (args->filters.cuts)                                       \
			*last = loop##_last(args, entry, row->cut);           \
		return row->inverse == 0.0f ? best                            \
					    : loop##_draw(args, row, entry);  \
	}                                                                     \
                                                                              \
	attribute storage void loop(const void *pointer)                      \
	{                                                                     \
		const struct sample_args *args = pointer;                     \
		const uint64_t launch = sample_launch(args);                  \
		const int others = rows_others(&args->list, args->words, 0);  \
                                                                              \
		for (uint64_t i = 0; i < args->list.n; i++) {                 \
			struct sample_row row;                                \
			uint64_t best = SAMPLE_NO_TOKEN;                      \
			uint64_t last = SAMPLE_NO_TOKEN;                      \
                                                                              \
			if (!sample_begin(args, launch, others, i, &row))     \
				continue;                                     \
			if (row.valid)                                        \
				best = loop##_entry(args, i, &row, &last);    \
			filter_end(args, i, last);                            \
			sample_end(args, launch, others, i, &row, best);      \
		}                                                             \
		if (args->table.control)                                      \
			rows_end(args->table.control);                        \
	}

DEFINE_TWICE(DEFINE_FILTER, filter_f32, f32, float)
DEFINE_TWICE(DEFINE_FILTER, filter_bf16, bf16, uint16_t)
DEFINE_TWICE(DEFINE_FILTER, filter_f16, f16, uint16_t)

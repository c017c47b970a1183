/*
 * tests/alloc/checkpoints.c - what is live again after a restore, and where
 */
#include <stdio.h>
#include "tests/support/beds/pools.h"
#include "tests/support/left.h"

#define IDS_MAX 600

/* A checkpoint, with the ids that were live by then and what there was. */
struct moment {
	struct pool_checkpoint *made;
	uint64_t ids[IDS_MAX];
	size_t n;
	char picture[1024];
};

static struct moment remember(struct pool_test *t)
{
	struct moment m;

	OK(pool_checkpoint(t->pool, &m.made));
	m.n = live_ids(t, m.ids, IDS_MAX);
	cr_assert(m.n <= IDS_MAX && pool_checkpoint_blocks(m.made) == m.n);
	snprintf(m.picture, sizeof(m.picture), "%s", picture(t));
	return m;
}

/* Everything else that is live is said to be dead. */
static enum philox_status go_back(struct pool_test *t, const struct moment *m,
				  size_t *freed, size_t *revived)
{
	uint64_t now[IDS_MAX], dead[IDS_MAX];
	size_t n = live_ids(t, now, IDS_MAX), n_dead = 0;

	for (size_t i = 0; i < n; i++) {
		size_t j = 0;

		while (j < m->n && m->ids[j] != now[i])
			j++;
		if (j == m->n)
			dead[n_dead++] = now[i];
	}
	return pool_restore(t->pool, m->made, POOL_SHARED, m->ids, m->n, dead,
			    n_dead, freed, revived);
}

/* The identity: the same blocks, free ones too. */
static void is_as_it_was(struct pool_test *t, const struct moment *m)
{
	whole(t);
	cr_assert(pool_is_live(t->pool, m->ids, m->n));
	PICTURE(t, m->picture);
}

static struct pool_block many[IDS_MAX];

static size_t holes_in(struct pool_test *t, const char *pattern)
{
	size_t n = 0;

	for (; pattern[n]; n++)
		many[n] = take_tagged(t, 3, n % 2 ? "odd" : "even");
	for (size_t i = 0; i < n; i++)
		if (pattern[i] == '-')
			put(t, many[i], 0);
	return n;
}

Test(pool_checkpoints, getting_and_setting_is_the_identity)
{
	static const char *const patterns[] = {
		"",        "x",           "-x",      "x-x",
		"xx-",     "x--x",        "x---x-x", "-x-x-x",
		"xx--xx-", "x-x--x---xx", "--------"};
	struct pool_test t;
	struct moment m;
	size_t freed, revived;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		ON_BOTH_KINDS(t)
		{
			holes_in(&t, patterns[i]);
			m = remember(&t);
			OK(go_back(&t, &m, &freed, &revived));
			cr_assert(!freed && !revived);
			is_as_it_was(&t, &m);
			pool_checkpoint_free(m.made);
		}
}

Test(pool_checkpoints, blocks_that_died_are_live_again_with_all_they_had)
{
	struct pool_block found;
	struct pool_test t;
	struct moment m;
	size_t freed, revived, n;

	ON_BOTH_KINDS(t)
	{
		n = holes_in(&t, "x-xx--xxx---xxxx");
		m = remember(&t);
		for (size_t i = 0; i < m.n; i++) {
			OK(find_id(t.pool, m.ids[i], &found) ? PHILOX_OK : 1);
			put(&t, found, 0);
		}
		OK(go_back(&t, &m, &freed, &revived));
		cr_assert(freed == 0 && revived == m.n);
		is_as_it_was(&t, &m);
		for (size_t i = 0; i < n; i++)
			if (find_id(t.pool, many[i].id, &found))
				cr_assert(same_block(&found, &many[i]));
		cr_assert(figures(&t).restores == 1);
		pool_checkpoint_free(m.made);
	}
}

Test(pool_checkpoints, restored_in_any_order)
{
	struct moment m[5];
	struct pool_test t;
	size_t freed, revived;

	ON_BOTH_KINDS(t)
	{
		for (int i = 0; i < 5; i++) {
			holes_in(&t, i % 2 ? "xx-x" : "-xx--x");
			m[i] = remember(&t);
		}
		for (int i = 0; i < 25; i++) {
			OK(go_back(&t, &m[i * 7 % 5], &freed, &revived));
			is_as_it_was(&t, &m[i * 7 % 5]);
		}
		for (int i = 0; i < 5; i++)
			pool_checkpoint_free(m[i].made);
	}
}

Test(pool_checkpoints, an_allocation_of_later_must_be_said_to_be_dead)
{
	struct pool_block later[6];
	struct pool_test t;
	struct moment m;
	size_t freed = 7, revived = 7;

	ON_BOTH_KINDS(t)
	{
		holes_in(&t, "xx-x");
		m = remember(&t);
		for (int i = 0; i < 6; i++)
			later[i] = take_tagged(&t, 2, i ? "more" : "later");
		FAILS(pool_restore(t.pool, m.made, 0, m.ids, m.n, &later[1].id,
				   1, &freed, &revived),
		      PHILOX_ERROR_STATE);
		NAMES("5 blocks are live");
		NAMES("'later', 'more', 'more', 'more', ...");
		cr_assert(freed == 7 && revived == 7);
		cr_assert(figures(&t).blocks == 9 && !figures(&t).restores);
		OK(go_back(&t, &m, &freed, &revived));
		cr_assert(freed == 6 && revived == 0);
		is_as_it_was(&t, &m);
		freed = revived = 7;
		pool_checkpoint_free(m.made);
	}
}

Test(pool_checkpoints, a_block_of_it_that_is_not_asked_for_is_freed)
{
	struct pool_block found;
	struct pool_test t;
	struct moment m;
	size_t freed, revived;

	ON_BOTH_KINDS(t)
	{
		holes_in(&t, "xxxx");
		m = remember(&t);
		put(&t, many[1], 0);
		OK(pool_restore(t.pool, m.made, 0, m.ids + 1, 2, NULL, 0,
				&freed, &revived));
		cr_assert(freed == 2 && revived == 1);
		PICTURE(&t, "F3/0 L3 L3 F119/0");
		cr_assert(!find_id(t.pool, many[0].id, &found));
		cr_assert(pool_is_live(t.pool, m.ids + 1, 2));
		whole(&t);
		pool_checkpoint_free(m.made);
	}
}

Test(pool_checkpoints, growth_since_then_is_harmless)
{
	struct pool_test t;
	struct moment m;
	size_t freed, revived;

	ON_BOTH_KINDS(t)
	{
		holes_in(&t, "x-x--x");
		m = remember(&t);
		take(&t, 500, 0);
		put(&t, many[0], 0);
		OK(go_back(&t, &m, &freed, &revived));
		cr_assert(freed == 1 && revived == 1);
		if (kind_ == POOL_PLAIN)
			PICTURE(&t, "L3 F3/0 L3 F6/0 L3 F110/0 | F500/0");
		else
			PICTURE(&t, "L3 F3/0 L3 F6/0 L3 F622/0");
		pool_checkpoint_free(m.made);
	}
}

Test(pool_checkpoints, an_address_that_another_block_has_got_goes_back)
{
	struct pool_block old, new, found;
	struct pool_test t;
	struct moment m;
	size_t freed, revived;

	ON_BOTH_KINDS(t)
	{
		old = take_tagged(&t, 8, "old");
		m = remember(&t);
		put(&t, old, 0);
		new = take_tagged(&t, 5, "new");
		cr_assert(new.address == old.address);
		OK(go_back(&t, &m, &freed, &revived));
		cr_assert(freed == 1 && revived == 1);
		cr_assert(pool_find(t.pool, new.address, &found));
		cr_assert(found.id == old.id && found.size == UNITS(8) &&
			  !strcmp(found.tag, "old"));
		cr_assert(!find_id(t.pool, new.id, &found));
		pool_checkpoint_free(m.made);
	}
}

Test(pool_checkpoints, free_memory_is_all_home_s_afterwards)
{
	struct pool_test t;
	struct moment m;
	size_t freed, revived;

	ON_BOTH_KINDS(t)
	{
		holes_in(&t, "xxxx");
		m = remember(&t);
		put(&t, many[0], 3);
		put(&t, many[2], 0);
		OK(pool_restore(t.pool, m.made, 3, m.ids + 1, 1, NULL, 0,
				&freed, &revived));
		PICTURE(&t, "F3/0 L3 F122/0");
		pool_checkpoint_free(m.made);
	}
}

/* --- refusals ------------------------------------------------------------- */

/* Refused, with nothing changed. */
static void refuses(struct pool_test *t, const struct moment *m,
		    const uint64_t *dead, size_t n_dead,
		    enum philox_status expected)
{
	struct pool_figures was = figures(t), is;
	size_t freed = 7, revived = 7;
	char before[1024];

	snprintf(before, sizeof(before), "%s", picture(t));
	FAILS(pool_restore(t->pool, m->made, POOL_SHARED, m->ids, m->n, dead,
			   n_dead, &freed, &revived),
	      expected);
	whole(t);
	is = figures(t);
	cr_assert(!memcmp(&was, &is, sizeof(was)));
	PICTURE(t, before);
	cr_assert(freed == 7 && revived == 7);
}

Test(pool_checkpoints, another_pool_s_checkpoint_is_refused)
{
	struct pool_test t, other;
	struct moment m;

	left_begin();
	open_kind(&other, POOL_PLAIN);
	m = remember(&other);
	pool_test_close(&other); /* a checkpoint may outlive its pool */
	ON_BOTH_KINDS(t)
	{
		refuses(&t, &m, NULL, 0, PHILOX_ERROR_MISMATCH);
	}
	pool_checkpoint_free(m.made);
	left_end();
}

Test(pool_checkpoints, a_checkpoint_of_before_a_trim_is_refused)
{
	struct pool_test t;
	struct moment m;
	size_t trimmed;

	ON_BOTH_KINDS(t)
	{
		holes_in(&t, "xx");
		put(&t, take(&t, 300, 0), 0);
		m = remember(&t);
		OK(pool_trim(t.pool, pool_newest(t.pool), SIZE_MAX, &trimmed));
		pool_checkpoint_free(m.made);
		m = remember(&t);
		OK(pool_trim(t.pool, 1, SIZE_MAX, &trimmed));
		cr_assert(trimmed);
		refuses(&t, &m, NULL, 0, PHILOX_ERROR_STALE);
		pool_checkpoint_free(m.made);
	}
}

Test(pool_checkpoints, a_trim_that_gave_nothing_back_makes_none_stale)
{
	struct pool_test t;
	struct moment m;
	size_t trimmed, freed, revived;

	open_kind(&t, POOL_PLAIN);
	holes_in(&t, "xx");
	m = remember(&t);
	OK(pool_trim(t.pool, 0, SIZE_MAX, &trimmed));
	cr_assert(!trimmed);
	OK(go_back(&t, &m, &freed, &revived));
	pool_checkpoint_free(m.made);
	pool_test_close(&t);
}

Test(pool_checkpoints, an_open_session_is_refused)
{
	struct pool_session_figures f;
	struct pool_test t;
	struct moment m;

	ON_BOTH_KINDS(t)
	{
		holes_in(&t, "xx");
		m = remember(&t);
		pool_session_begin(t.pool);
		refuses(&t, &m, NULL, 0, PHILOX_ERROR_STATE);
		pool_session_end(t.pool, NULL, 0, 0, &f);
		pool_checkpoint_free(m.made);
	}
}

Test(pool_checkpoints, free_memory_of_another_owner_is_refused_by_name)
{
	struct pool_test t;
	struct moment m;

	ON_BOTH_KINDS(t)
	{
		holes_in(&t, "xx");
		m = remember(&t);
		put(&t, take(&t, 2, 0), 9);
		refuses(&t, &m, NULL, 0, PHILOX_ERROR_BUSY);
		NAMES("1024 bytes");
		NAMES("owner 9");
		pool_checkpoint_free(m.made);
	}
}

Test(pool_checkpoints, wrong_ids_are_refused_by_number)
{
	struct pool_test t;
	struct moment m, wrong;
	uint64_t never = UINT64_MAX, zero = 0;

	ON_BOTH_KINDS(t)
	{
		holes_in(&t, "xxx-");
		wrong = m = remember(&t);
		wrong.ids[2] = many[3].id; /* dead by then */
		refuses(&t, &wrong, NULL, 0, PHILOX_ERROR_NOT_FOUND);
		wrong.ids[2] = 0;
		refuses(&t, &wrong, NULL, 0, PHILOX_ERROR_NOT_FOUND);
		refuses(&t, &m, &never, 1, PHILOX_ERROR_NOT_FOUND);
		NAMES("18446744073709551615");
		refuses(&t, &m, &zero, 1, PHILOX_ERROR_NOT_FOUND);
		wrong.ids[2] = m.ids[0];
		refuses(&t, &wrong, NULL, 0, PHILOX_ERROR_INVALID);
		refuses(&t, &m, &m.ids[1], 1, PHILOX_ERROR_INVALID);
		wrong.ids[0] = wrong.ids[1] = many[3].id;
		refuses(&t, &m, wrong.ids, 2, PHILOX_ERROR_INVALID);
		pool_checkpoint_free(m.made);
	}
}

Test(pool_checkpoints, whether_exactly_these_are_live)
{
	struct pool_test t;
	struct moment m;
	uint64_t ids[4];

	ON_BOTH_KINDS(t)
	{
		cr_assert(pool_is_live(t.pool, NULL, 0));
		holes_in(&t, "xxx-");
		m = remember(&t);
		cr_assert(pool_is_live(t.pool, m.ids, 3));
		ids[0] = m.ids[2];
		ids[1] = m.ids[0];
		ids[2] = m.ids[1];
		cr_assert(pool_is_live(t.pool, ids, 3));
		cr_assert(!pool_is_live(t.pool, ids, 2));
		ids[3] = many[3].id;
		cr_assert(!pool_is_live(t.pool, ids, 4));
		ids[1] = ids[0];
		cr_assert(!pool_is_live(t.pool, ids, 3));
		ids[1] = ids[3];
		cr_assert(!pool_is_live(t.pool, ids, 3));
		whole(&t);
		pool_checkpoint_free(m.made);
	}
}

/*
 * tests/pool/session.c - sessions of captures and of warm-ups
 */
#include "tests/support/beds/pool.h"

/* --- captures ------------------------------------------------------------- */

POOL_PROMISE(pool_session, a_capture_without_one_gets_no_memory)
{
	struct philox_pool_block block;
	struct philox_pool_block kept = make_block(pool, f->stream, 1000);

	record_begin(f);
	FAILS(philox_pool_alloc(pool, f->stream, 1, 0, NULL, &block),
	      PHILOX_ERROR_STATE);
	NAMES("philox_pool_session_begin()");
	NAMES("'pool'");
	FAILS(philox_pool_free(pool, f->stream, kept.address),
	      PHILOX_ERROR_STATE);
	record_end(f);
	cr_assert_eq(pool_look(pool).blocks, 1);
}

POOL_PROMISE(pool_session, forks_of_a_capture_are_in_it)
{
	struct philox_pool_session *session = pool_record(f, pool);
	struct philox_pool_block main, fork;
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, f->stream, event));
	OK(philox_event_wait(f->device, f->side, event));
	main = make_block(pool, f->stream, 600);
	fork = make_block(pool, f->side, 600);
	cr_assert_neq(main.address, fork.address);
	OK(philox_event_record(f->device, f->side, event));
	OK(philox_event_wait(f->device, f->stream, event));
	pool_recorded(f, session);
	OK(philox_event_destroy(f->device, event));
	cr_assert_eq(pool_look(pool).blocks, 2);
}

POOL_PROMISE(pool_session, another_stream_is_kept_out_of_a_capture_s)
{
	struct philox_pool_block kept = make_block(pool, f->side, 600), block;
	struct philox_pool_session *session = pool_record(f, pool), *second;

	FAILS(philox_pool_alloc(pool, f->side, 1, 0, NULL, &block),
	      PHILOX_ERROR_BUSY);
	NAMES("capture");
	FAILS(philox_pool_free(pool, f->side, kept.address), PHILOX_ERROR_BUSY);
	FAILS(philox_pool_session_begin(pool, f->side, &second),
	      PHILOX_ERROR_BUSY);
	FAILS(philox_pool_session_begin(pool, f->stream, &second),
	      PHILOX_ERROR_BUSY);
	pool_recorded(f, session);
	OK(philox_pool_free(pool, f->side, kept.address));
}

POOL_PROMISE(pool_session, a_capture_has_one)
{
	struct philox_pool_session *session = pool_record(f, pool), *second;

	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	FAILS(philox_pool_session_begin(pool, f->stream, &second),
	      PHILOX_ERROR_EXISTS);
	record_end(f);
}

POOL_PROMISE(pool_session, may_end_after_its_capture)
{
	struct philox_pool_session *session = pool_record(f, pool);
	struct philox_pool_block block = make_block(pool, f->stream, 600);
	struct philox_graph *graph = record_end(f);

	FAILS(philox_graph_launch(graph, f->stream, NULL, 0),
	      PHILOX_ERROR_BUSY);
	NAMES("session");
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	cr_assert_eq(pool_look(pool).graphs, 1);
	OK(philox_pool_free(pool, f->stream, block.address));
}

/* What several branches freed is one piece when they are joined. */
POOL_PROMISE(pool_session, what_branches_freed_is_merged)
{
	struct philox_pool_session *session = pool_record(f, pool);
	struct philox_pool_checkpoint *checkpoint;
	struct philox_pool_block blocks[8];
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, f->stream, event));
	OK(philox_event_wait(f->device, f->side, event));
	for (unsigned i = 0; i < 8; i++)
		blocks[i] = make_block(pool, i % 2 ? f->side : f->stream, 600);
	for (unsigned i = 0; i < 8; i++)
		OK(philox_pool_free(pool, i % 3 ? f->side : f->stream,
				    blocks[i].address));
	cr_assert_neq(pool_look(pool).largest_free, pool_look(pool).mapped);
	OK(philox_event_record(f->device, f->side, event));
	OK(philox_event_wait(f->device, f->stream, event));
	pool_recorded(f, session);
	OK(philox_event_destroy(f->device, event));
	cr_assert_eq(pool_look(pool).largest_free, pool_look(pool).mapped);
	OK(philox_pool_checkpoint_create(pool, &checkpoint));
	OK(philox_pool_restore(pool, checkpoint, NULL, 0, NULL, 0));
	philox_pool_checkpoint_destroy(checkpoint);
}

/* --- failures ------------------------------------------------------------- */

struct before {
	struct philox_pool_block kept, freed;
};

static struct before two_blocks(struct fixture *f, struct philox_pool *pool)
{
	return (struct before){make_block(pool, f->stream, 700),
			       make_block(pool, f->stream, 5000)};
}

static void is_as_before(struct philox_pool *pool, const struct before *before)
{
	const uint64_t ids[] = {before->kept.id, before->freed.id};
	struct philox_pool_block_info info =
		PHILOX_INIT(struct philox_pool_block_info);
	int live;

	OK(philox_pool_is_live(pool, ids, 2, &live));
	cr_assert(live);
	OK(philox_pool_find(pool, before->freed.address, &info));
	cr_assert_eq(info.id, before->freed.id);
	cr_assert_eq(info.bytes, 5000);
}

static void use_blocks(struct fixture *f, struct philox_pool *pool,
		       const struct before *before)
{
	OK(philox_pool_free(pool, f->stream, before->freed.address));
	make_block(pool, f->stream, 600);
	make_block(pool, f->stream, 3 << 20);
}

POOL_PROMISE(pool_session, one_that_failed_leaves_blocks_as_they_were)
{
	struct before before = two_blocks(f, pool);
	struct philox_pool_session *session = pool_record(f, pool);
	struct philox_graph *graph;

	use_blocks(f, pool, &before);
	OK(philox_pool_session_end(session, PHILOX_ERROR_DEVICE, NULL));
	graph = record_end(f);
	is_as_before(pool, &before);
	FAILS(philox_graph_launch(graph, f->stream, NULL, 0),
	      PHILOX_ERROR_STATE);
	NAMES("failed");
	OK(philox_pool_session_begin(pool, f->stream, &session));
	use_blocks(f, pool, &before);
	OK(philox_pool_session_end(session, PHILOX_ERROR_DEVICE, NULL));
	is_as_before(pool, &before);
	cr_assert_eq(pool_look(pool).rollbacks, 2);
}

static void invalidate(struct fixture *f)
{
	FAILS(philox_stream_synchronize(f->device, f->stream),
	      PHILOX_ERROR_CAPTURE_UNSUPPORTED);
}

POOL_PROMISE(pool_session, of_an_invalidated_capture_is_rolled_back)
{
	struct before before = two_blocks(f, pool);
	struct philox_pool_session *session = pool_record(f, pool);
	struct philox_pool_block block;

	use_blocks(f, pool, &before);
	log_events(f);
	invalidate(f);
	FAILS(philox_pool_alloc(pool, f->stream, 1, 0, NULL, &block),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	record_end_failing(f);
	is_as_before(pool, &before);
	cr_assert(strstr(logged_events(), "session rolled back"), "%s",
		  logged_events());
	OK(philox_pool_free(pool, f->stream, before.freed.address));
	FAILS(philox_pool_session_end(session, PHILOX_OK, NULL),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	NAMES("rolled back");
}

POOL_PROMISE(pool_session, that_failed_with_its_capture_ends_without_error)
{
	struct before before = two_blocks(f, pool);
	struct philox_pool_session *session = pool_record(f, pool);

	use_blocks(f, pool, &before);
	invalidate(f);
	record_end_failing(f);
	OK(philox_pool_session_end(session, PHILOX_ERROR_CAPTURE_INVALIDATED,
				   NULL));
	is_as_before(pool, &before);
}

POOL_PROMISE(pool_session, of_a_capture_whose_graph_is_gone_is_rolled_back)
{
	struct before before = two_blocks(f, pool);
	struct philox_pool_session *session, *second;
	philox_native_graph native;

	OK(philox_stream_begin_capture(f->device, f->stream,
				       PHILOX_CAPTURE_RELAXED));
	OK(philox_pool_session_begin(pool, f->stream, &session));
	use_blocks(f, pool, &before);
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	OK(philox_native_graph_destroy(f->device, native));
	is_as_before(pool, &before);
	OK(philox_pool_session_begin(pool, f->stream, &second));
	FAILS(philox_pool_session_end(session, PHILOX_OK, NULL),
	      PHILOX_ERROR_CAPTURE_INVALIDATED);
	OK(philox_pool_session_end(second, PHILOX_OK, NULL));
}

/* --- warm-ups ------------------------------------------------------------- */

POOL_PROMISE(pool_session, of_a_warm_up_has_all_plain_streams)
{
	struct philox_pool_session *session, *second;
	struct philox_pool_block one, two;

	OK(philox_pool_session_begin(pool, f->stream, &session));
	FAILS(philox_pool_session_begin(pool, f->side, &second),
	      PHILOX_ERROR_BUSY);
	NAMES("warm-up");
	one = make_block(pool, f->stream, 600);
	two = make_block(pool, f->side, 600);
	OK(philox_pool_free(pool, f->stream, one.address));
	OK(philox_pool_free(pool, f->side, two.address));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	cr_assert_eq(pool_look(pool).largest_free, pool_look(pool).mapped);
}

POOL_PROMISE(pool_session, of_a_warm_up_comes_after_the_last_launch)
{
	struct philox_graph *graph =
		record_user(f, pool, 600, 1, make_memory(f, 600));
	struct philox_pool_session *session;
	uint64_t waits;

	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	waits = calls_of(f, "event_wait");
	OK(philox_pool_session_begin(pool, f->side, &session));
	cr_assert_eq(calls_of(f, "event_wait"), waits + 1);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_graph_launch(graph, f->side, NULL, 0));
	cr_assert_eq(calls_of(f, "event_wait"), waits + 1, "%s",
		     "the warm-up was on the same stream");
}

POOL_PROMISE(pool_session, a_launch_elsewhere_waits_for_no_open_warm_up)
{
	struct philox_graph *graph =
		record_user(f, pool, 600, 1, make_memory(f, 600));
	struct philox_pool_session *session;

	OK(philox_pool_session_begin(pool, f->stream, &session));
	FAILS(philox_graph_launch(graph, f->side, NULL, 0), PHILOX_ERROR_BUSY);
	OK(philox_graph_launch(graph, f->stream, NULL, 0));
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	OK(philox_graph_launch(graph, f->side, NULL, 0));
}

/* A body: what a warm-up and a capture run alike. */
static void body(struct fixture *f, struct philox_pool *pool)
{
	struct philox_pool_block a = make_block(pool, f->stream, 3 << 20);
	struct philox_pool_block b = make_block(pool, f->stream, 100000), c;

	OK(philox_pool_free(pool, f->stream, a.address));
	c = make_block(pool, f->stream, 1 << 20);
	a = make_block(pool, f->stream, 3 << 20);
	OK(philox_pool_free(pool, f->stream, b.address));
	OK(philox_pool_free(pool, f->stream, a.address));
	OK(philox_pool_free(pool, f->stream, c.address));
}

POOL_PROMISE(pool_session, a_warm_up_s_peak_is_what_its_capture_takes)
{
	struct philox_pool_session_stats warm =
		PHILOX_INIT(struct philox_pool_session_stats);
	struct philox_pool_session_stats captured =
		PHILOX_INIT(struct philox_pool_session_stats);
	struct philox_pool *ready = make_pool(f, "ready", pool_kind());
	struct philox_pool_session *session;

	OK(philox_pool_session_begin(pool, f->stream, &session));
	body(f, pool);
	OK(philox_pool_session_end(session, PHILOX_OK, &warm));
	OK(philox_pool_reserve(ready, warm.peak));
	record_begin(f);
	OK(philox_pool_session_begin(ready, f->stream, &session));
	body(f, ready);
	OK(philox_pool_session_end(session, PHILOX_OK, &captured));
	record_end(f);
	cr_assert_eq(warm.peak, captured.peak);
	cr_assert_eq(warm.live_peak, captured.live_peak);
	cr_assert_eq(warm.allocations, 4);
	cr_assert_eq(warm.frees, 4);
	cr_assert_eq(warm.live, 0);
	cr_assert_gt(warm.mapped, 0);
	cr_assert_eq(captured.mapped, 0);
	cr_assert_eq(captured.growths, 0);
	/* b lies after a; c takes a's place, a the one after b */
	cr_assert_eq(warm.peak, (3 << 20) + 100352 + (3 << 20));
}

POOL_PROMISE(pool_session, takes_a_report_of_a_size_that_can_be)
{
	struct philox_pool_session_stats report =
		PHILOX_INIT(struct philox_pool_session_stats);
	struct philox_pool_session *session;

	OK(philox_pool_session_begin(pool, f->stream, &session));
	report.size = 8;
	FAILS(philox_pool_session_end(session, PHILOX_OK, &report),
	      PHILOX_ERROR_INVALID);
	NAMES("stats");
	report.size = sizeof(report);
	OK(philox_pool_session_end(session, PHILOX_OK, &report));
	FAILS(philox_pool_session_end(NULL, PHILOX_OK, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_session_begin(NULL, f->stream, &session),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_pool_session_begin(pool, f->stream, NULL),
	      PHILOX_ERROR_INVALID);
}

/* --- ends ----------------------------------------------------------------- */

static void has_ended(struct philox_pool *pool,
		      struct philox_pool_session *session)
{
	struct philox_pool_session_stats report =
		PHILOX_INIT(struct philox_pool_session_stats);
	struct philox_pool_stats before = pool_look(pool), after;

	report.peak = 7;
	FAILS(philox_pool_session_end(session, PHILOX_OK, &report),
	      PHILOX_ERROR_STATE);
	NAMES("pool 'pool': the session has ended already");
	FAILS(philox_pool_session_end(session, PHILOX_ERROR_DEVICE, NULL),
	      PHILOX_ERROR_STATE);
	cr_assert_eq(report.peak, 7, "nothing is written");
	after = pool_look(pool);
	cr_assert(!memcmp(&before, &after, sizeof(before)));
}

/* Of a warm-up, of one that failed, of a capture and of one that broke. */
POOL_PROMISE(pool_session, ends_once)
{
	struct philox_pool_session *session, *later;
	enum philox_status status;
	philox_native_graph graph;

	OK(philox_pool_session_begin(pool, f->stream, &session));
	make_block(pool, f->stream, 600);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	has_ended(pool, session);
	OK(philox_pool_session_begin(pool, f->stream, &session));
	make_block(pool, f->stream, 600);
	OK(philox_pool_session_end(session, PHILOX_ERROR_DEVICE, NULL));
	has_ended(pool, session);
	session = pool_record(f, pool);
	OK(philox_pool_session_end(session, PHILOX_OK, NULL));
	has_ended(pool, session);
	record_end(f);
	has_ended(pool, session);
	session = pool_record(f, pool);
	OK(philox_stream_end_capture(f->device, f->stream, &graph));
	OK(philox_native_graph_destroy(f->device, graph));
	/* when what a graph holds goes with it is the device's matter */
	status = philox_pool_session_end(session, PHILOX_OK, NULL);
	cr_assert(status == PHILOX_OK ||
		  status == PHILOX_ERROR_CAPTURE_INVALIDATED);
	has_ended(pool, session);
	/* while another is open, which stays as it is */
	OK(philox_pool_session_begin(pool, f->stream, &later));
	has_ended(pool, session);
	OK(philox_pool_session_end(later, PHILOX_OK, NULL));
	cr_assert_leq(pool_look(pool).blocks, 2);
}

/* The last 64, that is: it is not known by memory of the newest alone. */
POOL_PROMISE(pool_session, that_ended_a_while_ago_has_ended)
{
	struct philox_pool_session *sessions[64];

	for (unsigned i = 0; i < 200; i++) {
		OK(philox_pool_session_begin(pool, f->stream,
					     &sessions[i % 64]));
		OK(philox_pool_session_end(sessions[i % 64], PHILOX_OK, NULL));
	}
	for (unsigned i = 0; i < 64; i++)
		has_ended(pool, sessions[i]);
}

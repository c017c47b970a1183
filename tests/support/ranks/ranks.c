/*
 * tests/support/ranks/ranks.c - see tests/support/ranks/ranks.h
 */
#include "tests/support/ranks/ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/allocations.h"
#include "tests/support/support.h"

/* --- ranks ---------------------------------------------------------------- */

void ranks_open(struct ranks_bed *bed, struct philox_device *device,
		const struct philox_axis *axes, uint32_t n_axes)
{
	uint64_t world;

	*bed = (struct ranks_bed){
		.device = device,
		.mesh = {.size = sizeof(bed->mesh), .n_axes = n_axes}};
	for (uint32_t i = 0; i < n_axes; i++)
		bed->mesh.axes[i] = axes[i];
	OK(philox_mesh_world_size(&bed->mesh, &world));
	cr_assert_leq(world, RANKS_BED_MAX);
	bed->n = (unsigned)world;
	for (unsigned rank = 0; rank < bed->n; rank++) {
		struct philox_mesh mesh = bed->mesh;

		OK(philox_context_create(device, &bed->contexts[rank]));
		OK(philox_mesh_set_rank(&mesh, rank, world));
		OK(philox_context_set_mesh(bed->contexts[rank], &mesh));
	}
}

void ranks_close(struct ranks_bed *bed)
{
	for (unsigned rank = 0; rank < bed->n; rank++)
		philox_context_destroy(bed->contexts[rank]);
}

uint32_t ranks_at(const struct ranks_bed *bed, unsigned rank, const char *axis)
{
	struct philox_mesh mesh = bed->mesh;

	OK(philox_mesh_set_rank(&mesh, rank, bed->n));
	for (uint32_t i = 0; i < mesh.n_axes; i++)
		if (!strcmp(mesh.axes[i].name, axis))
			return mesh.axes[i].coordinate;
	cr_assert_fail("no axis %s", axis);
	return 0;
}

/* --- two ways ------------------------------------------------------------- */

enum philox_status ranks_compare(const struct ranks_bed *bed)
{
	struct philox_rank_digest digests[RANKS_BED_MAX];

	for (unsigned rank = 0; rank < bed->n; rank++) {
		digests[rank] = (struct philox_rank_digest){
			.size = sizeof(digests[rank])};
		OK(philox_context_rank_digest(bed->contexts[rank],
					      &digests[rank]));
	}
	return philox_mesh_compare(&bed->mesh, digests, bed->n);
}

enum philox_status ranks_explain(const struct ranks_bed *bed)
{
	char *texts[RANKS_BED_MAX];
	size_t sizes[RANKS_BED_MAX];
	enum philox_status status;

	for (unsigned rank = 0; rank < bed->n; rank++) {
		OK(philox_context_rank_describe(bed->contexts[rank],
						&texts[rank], &sizes[rank]));
		cr_assert_eq(strlen(texts[rank]), sizes[rank]);
	}
	status = philox_mesh_explain((const char *const *)texts, sizes, bed->n);
	for (unsigned rank = 0; rank < bed->n; rank++)
		free(texts[rank]);
	return status;
}

/* More than a test has memory for: each rank of this process has it all. */
enum { GATHER_MOST = 1 << 25 };

/* --- the third: threads --------------------------------------------------- */

struct meeting {
	const struct ranks_bed *bed;
	const struct ranks_trouble *trouble;
	pthread_barrier_t arrived, read;
	const void *parts[RANKS_BED_MAX]; /* what each has brought */
	struct philox_rank_digest lie;
	size_t sizes[RANKS_BED_MAX];
	int wrong; /* sizes differed */
};

struct attendee {
	struct meeting *meeting;
	unsigned rank;
	struct ranks_answer answer;
};

static void note_call(struct attendee *me, size_t size)
{
	const struct ranks_trouble *trouble = me->meeting->trouble;

	me->answer.calls++;
	if (me->answer.calls == 1)
		me->answer.first = size;
	if (size > me->answer.most)
		me->answer.most = size;
	if (trouble && trouble->changes_at == me->answer.calls &&
	    trouble->rank == me->rank)
		trouble->change(me->meeting->bed->contexts[me->rank]);
}

static int is_lying(const struct attendee *me)
{
	const struct ranks_trouble *trouble = me->meeting->trouble;

	return trouble && trouble->rank == me->rank &&
	       trouble->lies_at == me->answer.calls;
}

/* A digest with another number. */
static const void *lie_about(struct meeting *meeting, const void *mine)
{
	memcpy(&meeting->lie, mine, sizeof(meeting->lie));
	meeting->lie.along[0] = meeting->trouble->lie;
	return &meeting->lie;
}

static enum philox_status gather_here(void *user, const void *mine, size_t size,
				      void *all)
{
	struct attendee *me = user;
	struct meeting *meeting = me->meeting;

	note_call(me, size);
	if (size > GATHER_MOST / meeting->bed->n)
		return PHILOX_ERROR_DEVICE;
	meeting->parts[me->rank] =
		is_lying(me) ? lie_about(meeting, mine) : mine;
	meeting->sizes[me->rank] = size;
	pthread_barrier_wait(&meeting->arrived);
	for (unsigned rank = 0; rank < meeting->bed->n; rank++) {
		if (meeting->sizes[rank] != size)
			__atomic_store_n(&meeting->wrong, 1, __ATOMIC_RELAXED);
		else
			memcpy((char *)all + rank * size, meeting->parts[rank],
			       size);
	}
	pthread_barrier_wait(&meeting->read);
	return meeting->trouble &&
			       meeting->trouble->fails_at == me->answer.calls
		       ? PHILOX_ERROR_DEVICE
		       : PHILOX_OK;
}

static void *attend(void *user)
{
	struct attendee *me = user;
	const struct ranks_trouble *trouble = me->meeting->trouble;

	if (trouble && trouble->rank == me->rank && trouble->allocation)
		allocations_fail(trouble->allocation);
	me->answer.status = philox_context_agree(
		me->meeting->bed->contexts[me->rank], gather_here, me);
	allocations_fail(0);
	snprintf(me->answer.message, sizeof(me->answer.message), "%s",
		 philox_error_message());
	return NULL;
}

void ranks_agree(const struct ranks_bed *bed,
		 const struct ranks_trouble *trouble,
		 struct ranks_answer answers[])
{
	struct meeting *meeting = calloc(1, sizeof(*meeting));
	struct attendee *all = calloc(bed->n, sizeof(*all));
	pthread_t threads[RANKS_BED_MAX];

	cr_assert(meeting && all);
	meeting->bed = bed;
	meeting->trouble = trouble;
	pthread_barrier_init(&meeting->arrived, NULL, bed->n);
	pthread_barrier_init(&meeting->read, NULL, bed->n);
	for (unsigned rank = 0; rank < bed->n; rank++) {
		all[rank].meeting = meeting;
		all[rank].rank = rank;
		cr_assert_not(pthread_create(&threads[rank], NULL, attend,
					     &all[rank]));
	}
	for (unsigned rank = 0; rank < bed->n; rank++) {
		pthread_join(threads[rank], NULL);
		answers[rank] = all[rank].answer;
	}
	cr_assert_not(meeting->wrong, "ranks gather different sizes");
	pthread_barrier_destroy(&meeting->arrived);
	pthread_barrier_destroy(&meeting->read);
	free(meeting);
	free(all);
}

/* --- all three ------------------------------------------------------------ */

void ranks_do_agree(const struct ranks_bed *bed)
{
	struct ranks_answer answers[RANKS_BED_MAX];

	OK(ranks_compare(bed));
	OK(ranks_explain(bed));
	ranks_agree(bed, NULL, answers);
	for (unsigned rank = 0; rank < bed->n; rank++) {
		cr_assert_eq(answers[rank].status, PHILOX_OK, "rank %u: %s",
			     rank, answers[rank].message);
		cr_assert_eq(answers[rank].calls, bed->n > 1);
	}
}

void ranks_do_not_agree(const struct ranks_bed *bed, const char *words)
{
	struct ranks_answer answers[RANKS_BED_MAX];

	FAILS(ranks_compare(bed), PHILOX_ERROR_MISMATCH);
	SAYS(ranks_explain(bed), PHILOX_ERROR_MISMATCH, words);
	ranks_agree(bed, NULL, answers);
	for (unsigned rank = 0; rank < bed->n; rank++) {
		cr_assert_eq(answers[rank].status, PHILOX_ERROR_MISMATCH,
			     "rank %u: %s", rank, answers[rank].message);
		cr_assert_str_eq(answers[rank].message, words);
		cr_assert_leq(answers[rank].calls, 8);
		cr_assert_eq(answers[rank].first,
			     sizeof(struct philox_rank_digest));
	}
}

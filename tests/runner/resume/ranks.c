/*
 * tests/runner/resume/ranks.c - outputs that the texts of ranks name
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/beds/runner_resume.h"
#include "tests/support/left.h"

enum { RANKS = 2 };

static char folder[] = "/tmp/philox-resume-XXXXXX";
static char path[64];

static void make_folder(void)
{
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/set", folder);
}

static void remove_folder(void)
{
	char name[80];

	unlink(path);
	for (int rank = 0; rank < RANKS; rank++) {
		snprintf(name, sizeof(name), "%s.%d", path, rank);
		unlink(name);
	}
	cr_assert_eq(rmdir(folder), 0);
}

TestSuite(runner_resume_ranks, .init = make_folder, .fini = remove_folder,
	  .timeout = 120);

/* A train of a rank of so many along one axis. */
static void open_rank(struct resumed *rank, uint32_t n, uint32_t at)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	fixture_open(&rank->f, "host:sync");
	mesh.n_axes = 1;
	mesh.axes[0] = (struct philox_axis){
		.name = "data", .n_ranks = n, .coordinate = at};
	OK(philox_context_set_mesh(rank->f.context, &mesh));
	accum_make(&rank->t, &rank->f, make_runner_of(&rank->f, "runner", 0));
}

static void seal(uint32_t n)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	mesh.n_axes = 1;
	mesh.axes[0] = (struct philox_axis){.name = "data", .n_ranks = n};
	OK(philox_mesh_seal(&mesh, path));
}

/* Each rank has gradients of its own, and so another file. */
static void stop_rank(struct resumed *rank, uint32_t n, uint32_t at,
		      struct stopped *stopped)
{
	struct numbers words = all_words(100 + at);

	open_rank(rank, n, at);
	OK(philox_memory_copy(rank->f.device, rank->f.stream, rank->t.x[0],
			      &words, sizeof(words)));
	OK(philox_device_synchronize(rank->f.device));
	accum_stop(&rank->t);
	OK(philox_outputs_save_text(rank->t.r, rank->f.stream,
				    &stopped->outputs, &stopped->bytes));
	left_keep(stopped->outputs);
	OK(philox_context_save_rank(rank->f.context, path));
}

Test(runner_resume_ranks, each_rank_resumes_with_its_own_outputs)
{
	struct resumed before[RANKS], after;
	struct stopped stopped[RANKS] = {{0}};

	for (uint32_t i = 0; i < RANKS; i++)
		stop_rank(&before[i], RANKS, i, &stopped[i]);
	seal(RANKS);
	for (uint32_t i = 0; i < RANKS; i++) {
		open_rank(&after, RANKS, i);
		OK(philox_context_load_ranks(after.f.context, path));
		FAILS(try_outputs(&after.t, &stopped[1 - i]),
		      PHILOX_ERROR_MISMATCH);
		OK(try_outputs(&after.t, &stopped[i]));
		accum_find(&after.t);
		SAME(accum_go_on(&after.t), accum_go_on(&before[i].t),
		     "rank %u", i);
		resumed_close(&after);
	}
	for (uint32_t i = 0; i < RANKS; i++) {
		resumed_close(&before[i]);
		stopped_free(&stopped[i]);
	}
}

/* The tensors of another mesh are cut in another way. */
Test(runner_resume_ranks, another_mesh_takes_no_outputs)
{
	struct resumed before[RANKS], after;
	struct stopped stopped[RANKS] = {{0}};

	for (uint32_t i = 0; i < RANKS; i++)
		stop_rank(&before[i], RANKS, i, &stopped[i]);
	seal(RANKS);
	open_rank(&after, 1, 0);
	OK(philox_context_load_ranks(after.f.context, path));
	FAILS(try_outputs(&after.t, &stopped[0]), PHILOX_ERROR_MISMATCH);
	NAMES("names no outputs of this runner");
	PENDING(after.t.forth.region, 2u);
	resumed_close(&after);
	for (uint32_t i = 0; i < RANKS; i++) {
		resumed_close(&before[i]);
		stopped_free(&stopped[i]);
	}
}

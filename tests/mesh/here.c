/*
 * tests/mesh/here.c - a rank finds its place by what a launcher has put into
 * the environment
 *
 * What launchers set: "torchrun (Elastic Launch)", Environment Variables, in
 * PyTorch's manual (RANK: the rank of the worker within a worker group;
 * WORLD_SIZE: the total number of workers); "Environment variables set for MPI
 * applications" in Open MPI's (OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE);
 * PMI_Init() of MPICH, which reads PMI_RANK and PMI_SIZE; srun(1), and
 * env_array_for_step() and env_array_for_batch_job() in src/common/env.c of
 * Slurm. Each test is a process of its own, so that it may set variables.
 */
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/ranks/mesh.h"

static const struct pair {
	const char *rank, *world;
	int rank_alone; /* is set by others, too */
} pairs[] = {
	{"RANK", "WORLD_SIZE", 0},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", 0},
	{"PMI_RANK", "PMI_SIZE", 0},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", 1},
};

enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

/* Whoever runs the tests may be a launcher's process. */
static void forget_launchers(void)
{
	for (int i = 0; i < PAIRS; i++) {
		unsetenv(pairs[i].rank);
		unsetenv(pairs[i].world);
	}
	unsetenv("SLURM_NTASKS");
}

TestSuite(mesh_here, .init = forget_launchers);

static void set(const char *variable, const char *value)
{
	cr_assert_eq(setenv(variable, value, 1), 0);
}

static struct philox_mesh six(void)
{
	return mesh_of("data=0/2 tensor=0/3");
}

static void is_at(const struct philox_mesh *mesh, uint32_t data,
		  uint32_t tensor)
{
	cr_assert(mesh->axes[0].coordinate == data &&
			  mesh->axes[1].coordinate == tensor,
		  "%u, %u", mesh->axes[0].coordinate, mesh->axes[1].coordinate);
}

Test(mesh_here, each_launcher_is_understood)
{
	for (int i = 0; i < PAIRS; i++) {
		struct philox_mesh mesh = six();

		set(pairs[i].rank, "4");
		set(pairs[i].world, "6");
		OK(philox_mesh_from_environment(&mesh));
		is_at(&mesh, 1, 1);
		set(pairs[i].rank, "5");
		OK(philox_mesh_from_environment(&mesh));
		is_at(&mesh, 1, 2);
		forget_launchers();
	}
}

/* torchrun under mpirun under srun: the innermost has started this process. */
Test(mesh_here, the_first_pair_counts)
{
	for (int i = PAIRS - 1; i >= 0; i--) {
		struct philox_mesh mesh = six();
		char rank[2] = {(char)('1' + i), '\0'};

		set(pairs[i].rank, rank);
		set(pairs[i].world, "6");
		OK(philox_mesh_from_environment(&mesh));
		is_at(&mesh, (uint32_t)(1 + i) / 3, (uint32_t)(1 + i) % 3);
	}
}

Test(mesh_here, without_a_launcher_there_is_one_rank)
{
	struct philox_mesh mesh = mesh_of("data=0/1 tensor=0/1"), many = six();

	mesh.axes[0].coordinate = 9;
	OK(philox_mesh_from_environment(&mesh));
	is_at(&mesh, 0, 0);
	many.axes[1].coordinate = 2;
	SAYS(philox_mesh_from_environment(&many), PHILOX_ERROR_INVALID,
	     "mesh: the product of n_ranks is 6, the world has 1 rank");
	is_at(&many, 0, 2);
}

/* Another pair that is whole does not help: it is of some outer job. */
Test(mesh_here, half_a_pair_is_refused_by_name)
{
	for (int i = 0; i < PAIRS; i++) {
		struct philox_mesh mesh = six();

		if (i < PAIRS - 1) {
			set(pairs[PAIRS - 1].rank, "1");
			set(pairs[PAIRS - 1].world, "6");
		}
		set(pairs[i].world, "6");
		unsetenv(pairs[i].rank);
		FAILS(philox_mesh_from_environment(&mesh),
		      PHILOX_ERROR_INVALID);
		NAMES(pairs[i].rank);
		NAMES(pairs[i].world);
		NAMES(" is not");
		if (pairs[i].rank_alone)
			continue;
		set(pairs[i].rank, "1");
		unsetenv(pairs[i].world);
		FAILS(philox_mesh_from_environment(&mesh),
		      PHILOX_ERROR_INVALID);
		NAMES(pairs[i].rank);
		NAMES(pairs[i].world);
		is_at(&mesh, 0, 0);
		forget_launchers();
	}
}

/* The script of sbatch -n 6, and a shell of salloc -n 6, are one process. */
Test(mesh_here, a_batch_job_s_script_is_no_task)
{
	struct philox_mesh mesh = mesh_of("data=0/1 tensor=0/1");

	set("SLURM_PROCID", "0");
	OK(philox_mesh_from_environment(&mesh));
	set("SLURM_NTASKS", "6");
	OK(philox_mesh_from_environment(&mesh));
	unsetenv("SLURM_PROCID");
	OK(philox_mesh_from_environment(&mesh));
}

Test(mesh_here, what_is_no_number_is_refused_by_name)
{
	static const char *const texts[] = {"",
					    " 1",
					    "1 ",
					    "+1",
					    "-1",
					    "-0",
					    "0x1",
					    "1.0",
					    "one",
					    "1\n",
					    "18446744073709551616",
					    "99999999999999999999999999999"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (int k = 0; k < 2 * PAIRS; k++) {
			const struct pair *pair = &pairs[k / 2];
			const char *wrong = k % 2 ? pair->world : pair->rank;
			struct philox_mesh mesh = six();
			char says[128];

			set(pair->rank, "1");
			set(pair->world, "6");
			set(wrong, texts[i]);
			FAILS(philox_mesh_from_environment(&mesh),
			      PHILOX_ERROR_INVALID);
			snprintf(says, sizeof(says),
				 "%s is '%s', not a decimal number", wrong,
				 texts[i]);
			cr_assert_str_eq(philox_error_message(), says);
			is_at(&mesh, 0, 0);
			forget_launchers();
		}
}

Test(mesh_here, numbers_that_do_not_fit_the_mesh_are_refused)
{
	struct philox_mesh mesh = six(), bad = mesh_of("data=0/0");

	set("RANK", "1");
	set("WORLD_SIZE", "8");
	SAYS(philox_mesh_from_environment(&mesh), PHILOX_ERROR_INVALID,
	     "mesh: the product of n_ranks is 6, the world has 8 ranks");
	set("RANK", "6");
	set("WORLD_SIZE", "6");
	SAYS(philox_mesh_from_environment(&mesh), PHILOX_ERROR_INVALID,
	     "mesh: rank 6 in a world of 6");
	set("RANK", "18446744073709551615");
	SAYS(philox_mesh_from_environment(&mesh), PHILOX_ERROR_INVALID,
	     "mesh: rank 18446744073709551615 in a world of 6");
	set("RANK", "007"); /* a decimal number all the same */
	FAILS(philox_mesh_from_environment(&mesh), PHILOX_ERROR_INVALID);
	NAMES("rank 7");
	set("RANK", "0");
	FAILS(philox_mesh_from_environment(&bad), PHILOX_ERROR_INVALID);
	NAMES("n_ranks of axis 'data' is 0");
	is_at(&mesh, 0, 0);
}

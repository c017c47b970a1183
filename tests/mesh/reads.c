/*
 * tests/mesh/reads.c - how many files a seal, a load and a merge open to read
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/support/ranks/set.h"
#include "tools/tools.h"

static const struct along along_none = {{NULL}, 0};
static const struct along along_data = {{"data"}, 1};

/* --- counting ------------------------------------------------------------- */

static unsigned reads;

/* In this program, instead of that of the C library. */
int openat(int folder, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list arguments;

	if (flags & O_CREAT) {
		va_start(arguments, flags);
		mode = va_arg(arguments, mode_t);
		va_end(arguments);
	}
	reads += (flags & O_ACCMODE) == O_RDONLY && !(flags & O_DIRECTORY);
	return (int)syscall(SYS_openat, folder, path, flags, mode);
}

/* --- sets of so many ranks ------------------------------------------------ */

static struct philox_mesh mesh_at(uint32_t rank, uint32_t ranks)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	mesh.n_axes = 1;
	mesh.axes[0] = (struct philox_axis){
		.name = "data", .n_ranks = ranks, .coordinate = rank};
	return mesh;
}

/* A rank's context, with a region that is shared and one that may differ. */
static struct philox_context *open_rank(struct fixture *f, uint32_t rank,
					uint32_t ranks,
					const struct along *along)
{
	const struct philox_mesh mesh = mesh_at(rank, ranks);
	struct philox_context *context;

	OK(philox_context_create(f->device, &context));
	OK(philox_context_set_mesh(context, &mesh));
	make_along(context, "shared", &along_none);
	make_along(context, "noise", along);
	return context;
}

static void save_all(struct fixture *f, uint32_t ranks,
		     const struct along *along)
{
	for (uint32_t rank = 0; rank < ranks; rank++) {
		struct philox_context *context =
			open_rank(f, rank, ranks, along);

		OK(philox_context_save_rank(context, "set"));
		OK(philox_context_destroy(context));
	}
}

static void seal(uint32_t ranks)
{
	const struct philox_mesh mesh = mesh_at(0, ranks);

	OK(philox_mesh_seal(&mesh, "set"));
}

static void remove_set(const char *path, uint32_t ranks)
{
	char name[32];

	unlink(path);
	for (uint32_t rank = 0; rank < ranks; rank++) {
		snprintf(name, sizeof(name), "%s.%u", path, rank);
		unlink(name);
	}
}

static const uint32_t worlds[] = {8, 64};

enum { WORLDS = sizeof(worlds) / sizeof(worlds[0]) };

/* What a rank of `ranks` reads to load the set. */
static unsigned reads_of_load(struct fixture *f, uint32_t rank, uint32_t ranks,
			      const struct along *along)
{
	struct philox_context *context = open_rank(f, rank, ranks, along);

	reads = 0;
	OK(philox_context_load_ranks(context, "set"));
	OK(philox_context_destroy(context));
	return reads;
}

/* --- counts --------------------------------------------------------------- */

PROMISE(mesh_reads, a_seal_reads_each_text_once)
{
	enter_set();
	for (int i = 0; i < WORLDS; i++) {
		save_all(f, worlds[i], &along_data);
		reads = 0;
		seal(worlds[i]);
		cr_assert_eq(reads, worlds[i]);
		remove_set("set", worlds[i]);
	}
	leave_set();
}

/* The manifest, and its own text. */
PROMISE(mesh_reads, a_rank_of_the_same_mesh_reads_its_own_text)
{
	enter_set();
	for (int i = 0; i < WORLDS; i++) {
		save_all(f, worlds[i], &along_data);
		seal(worlds[i]);
		for (uint32_t rank = 0; rank < worlds[i]; rank++)
			cr_assert_eq(reads_of_load(f, rank, worlds[i],
						   &along_data),
				     2, "rank %u", rank);
		remove_set("set", worlds[i]);
	}
	leave_set();
}

/* The manifest, and one of the texts that say the same. */
PROMISE(mesh_reads, a_rank_of_another_mesh_reads_one_text_if_nothing_differs)
{
	enter_set();
	for (int i = 0; i < WORLDS; i++) {
		save_all(f, worlds[i], &along_none);
		seal(worlds[i]);
		cr_assert_eq(reads_of_load(f, 1, worlds[i] / 2, &along_none),
			     2);
		remove_set("set", worlds[i]);
	}
	leave_set();
}

/* For all the ranks of another mesh together. */
PROMISE(mesh_reads, a_merge_reads_each_text_once)
{
	char mesh[32];
	char *argv[] = {(char *)"merge", (char *)"set", (char *)"new",
			(char *)"--mesh", mesh, NULL};

	enter_set();
	for (int i = 0; i < WORLDS; i++) {
		save_all(f, worlds[i], &along_data);
		seal(worlds[i]);
		snprintf(mesh, sizeof(mesh), "data=%u", worlds[i] / 2);
		reads = 0;
		cr_assert_eq(quiet_merge(5, argv), 0);
		cr_assert_eq(reads, worlds[i] + 1);
		remove_set("set", worlds[i]);
		remove_set("new", worlds[i] / 2);
	}
	leave_set();
}

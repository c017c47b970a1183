/*
 * tests/mesh/agree_errors.c - ranks that cannot be compared, and what becomes
 * of the others when one of them fails
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/base/base.h"
#include "tests/support/allocations.h"
#include "tests/support/ranks/ranks.h"
#include "tests/support/support.h"

#define ALONG(axis) "ranks do not agree along axis '" axis "': "

static const struct philox_axis axes[] = {{.name = "data", .n_ranks = 2},
					  {.name = "tensor", .n_ranks = 3}};

/* --- ranks with regions --------------------------------------------------- */

static struct philox_region *make_layer(struct philox_context *context,
					const char *name)
{
	struct philox_region *region = make_region_of(context, name, 0, NULL);
	struct philox_pass pass;
	struct philox_ticket ticket;

	OK(philox_forward_begin(region, NULL, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	return region;
}

static void step_ahead(struct philox_region *region)
{
	struct philox_pass pass;
	struct philox_ticket ticket;

	OK(philox_forward_begin(region, NULL, 0, &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
}

/* Of all ranks; that of rank 4 is remembered. */
static struct philox_region *odd;

static void make_six(struct ranks_bed *bed, struct philox_device *device)
{
	ranks_open(bed, device, axes, 2);
	for (unsigned rank = 0; rank < 6; rank++) {
		struct philox_region *region =
			make_layer(bed->contexts[rank], "layer");

		if (rank == 4)
			odd = region;
	}
}

static void get_ahead(struct philox_context *context)
{
	(void)context;
	said_anything(); /* within a call that has failed */
	step_ahead(odd);
}

/* --- digests -------------------------------------------------------------- */

PROMISE(mesh_errors, of_a_digest)
{
	struct philox_rank_digest digest = {.size = 8};

	FAILS(philox_context_rank_digest(NULL, &digest), PHILOX_ERROR_INVALID);
	FAILS(philox_context_rank_digest(f->context, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("digest");
	FAILS(philox_context_rank_digest(f->context, &digest),
	      PHILOX_ERROR_INVALID);
	NAMES("size is 8");
	digest.size = 0;
	FAILS(philox_context_rank_digest(f->context, &digest),
	      PHILOX_ERROR_INVALID);
}

/* Digests of six ranks, of which some are changed. */
struct digests {
	struct philox_mesh mesh;
	struct philox_rank_digest of[7];
};

static void make_digests(struct digests *made, struct philox_device *device)
{
	struct ranks_bed bed;

	make_six(&bed, device);
	made->mesh = bed.mesh;
	for (unsigned rank = 0; rank < 6; rank++) {
		made->of[rank].size = sizeof(made->of[rank]);
		OK(philox_context_rank_digest(bed.contexts[rank],
					      &made->of[rank]));
	}
	ranks_close(&bed);
}

PROMISE(mesh_errors, compares_digests_in_any_order)
{
	struct digests made, turned;

	make_digests(&made, f->device);
	OK(philox_mesh_compare(&made.mesh, made.of, 6));
	for (unsigned k = 0; k < 720; k += 7) {
		unsigned order[6];

		permutation(k, 6, order);
		for (unsigned i = 0; i < 6; i++)
			turned.of[i] = made.of[order[i]];
		OK(philox_mesh_compare(&made.mesh, turned.of, 6));
		for (unsigned i = 0; i < 6; i++)
			if (turned.of[i].rank == 4)
				turned.of[i].along[1]++;
		SAYS(philox_mesh_compare(&made.mesh, turned.of, 6),
		     PHILOX_ERROR_MISMATCH,
		     "ranks 3 and 4 do not agree along axis 'tensor'");
	}
	/* any rank's mesh will do */
	OK(philox_mesh_set_rank(&made.mesh, 5, 6));
	OK(philox_mesh_compare(&made.mesh, made.of, 6));
}

PROMISE(mesh_errors, compares_each_axis_alone)
{
	struct digests made;

	for (unsigned rank = 0; rank < 6; rank++)
		for (unsigned axis = 0; axis < PHILOX_MESH_AXES; axis++) {
			make_digests(&made, f->device);
			made.of[rank].along[axis] ^= 1;
			if (axis < 2)
				FAILS(philox_mesh_compare(&made.mesh, made.of,
							  6),
				      PHILOX_ERROR_MISMATCH);
			else
				OK(philox_mesh_compare(&made.mesh, made.of, 6));
			if (axis < 2)
				NAMES(axis ? "'tensor'" : "'data'");
			/* the other rank along data, all others along tensor */
			for (unsigned other = 0; other < 6; other++)
				if (other != rank &&
				    (axis == 0 ? other % 3 == rank % 3
					       : other / 3 == rank / 3))
					made.of[other].along[axis] ^= 1;
			OK(philox_mesh_compare(&made.mesh, made.of, 6));
		}
}

PROMISE(mesh_errors, of_compared_digests)
{
	struct digests made;
	struct philox_mesh mesh;

	make_digests(&made, f->device);
	FAILS(philox_mesh_compare(NULL, made.of, 6), PHILOX_ERROR_INVALID);
	FAILS(philox_mesh_compare(&made.mesh, NULL, 6), PHILOX_ERROR_INVALID);
	NAMES("digests is NULL");
	FAILS(philox_mesh_compare(&made.mesh, made.of, 5),
	      PHILOX_ERROR_INVALID);
	NAMES("number of digests is 5, that of the mesh's ranks 6");
	FAILS(philox_mesh_compare(&made.mesh, made.of, 0),
	      PHILOX_ERROR_INVALID);
	made.of[6] = made.of[5];
	FAILS(philox_mesh_compare(&made.mesh, made.of, 7),
	      PHILOX_ERROR_INVALID);
	mesh = made.mesh;
	mesh.axes[0].n_ranks = 0;
	FAILS(philox_mesh_compare(&mesh, made.of, 6), PHILOX_ERROR_INVALID);
	NAMES("axis 'data'");
	mesh = made.mesh;
	mesh.axes[1].name = "other";
	FAILS(philox_mesh_compare(&mesh, made.of, 6), PHILOX_ERROR_MISMATCH);
	NAMES("digest 0, of rank 0, is of another mesh");
	made.of[3].rank = 2;
	FAILS(philox_mesh_compare(&made.mesh, made.of, 6),
	      PHILOX_ERROR_INVALID);
	NAMES("digests 2 and 3 are both of rank 2");
	made.of[3].rank = 6;
	FAILS(philox_mesh_compare(&made.mesh, made.of, 6),
	      PHILOX_ERROR_INVALID);
	NAMES("digest 3 is of rank 6, the mesh has 6 ranks");
	made.of[3].mesh++;
	FAILS(philox_mesh_compare(&made.mesh, made.of, 6),
	      PHILOX_ERROR_MISMATCH);
	NAMES("digests 0 and 3 are of different meshes");
	made.of[2].size = 8;
	FAILS(philox_mesh_compare(&made.mesh, made.of, 6),
	      PHILOX_ERROR_INVALID);
	NAMES("digest 2: size is 8");
}

PROMISE(mesh_errors, compare_may_lack_memory)
{
	struct digests made;
	enum philox_status status;

	make_digests(&made, f->device);
	if (!allocations_fail(1))
		return;
	status = philox_mesh_compare(&made.mesh, made.of, 6);
	allocations_fail(0);
	FAILS(status, PHILOX_ERROR_MEMORY);
}

/* --- texts ---------------------------------------------------------------- */

PROMISE(mesh_errors, describe_fails_whole)
{
	struct ranks_bed bed;
	char *const untouched = (char *)&bed;
	char *text = untouched;
	size_t size = 77;
	enum philox_status status = PHILOX_ERROR_MEMORY;

	FAILS(philox_context_rank_describe(NULL, &text, &size),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_context_rank_describe(f->context, NULL, &size),
	      PHILOX_ERROR_INVALID);
	NAMES("text");
	make_six(&bed, f->device);
	for (uint64_t n = 1; status == PHILOX_ERROR_MEMORY; n++) {
		if (!allocations_fail(n))
			break;
		status = philox_context_rank_describe(bed.contexts[0], &text,
						      &size);
		allocations_fail(0);
		if (status != PHILOX_OK) {
			FAILS(status, PHILOX_ERROR_MEMORY);
			cr_assert_eq(text, untouched);
			cr_assert_eq(size, 77);
		}
	}
	if (status == PHILOX_OK)
		free(text);
	ranks_close(&bed);
}

struct six_texts {
	char *of[6];
	size_t sizes[6];
};

static const char *const *plain(char *const *texts)
{
	return (const char *const *)texts;
}

static void describe_six(const struct ranks_bed *bed, struct six_texts *texts)
{
	for (unsigned rank = 0; rank < 6; rank++)
		OK(philox_context_rank_describe(bed->contexts[rank],
						&texts->of[rank],
						&texts->sizes[rank]));
}

static void free_six(struct six_texts *texts)
{
	for (unsigned rank = 0; rank < 6; rank++)
		free(texts->of[rank]);
}

PROMISE(mesh_errors, of_explained_texts)
{
	struct ranks_bed bed;
	struct six_texts texts;
	const char *given[3];
	size_t sizes[3];
	char *saved;
	size_t size;

	make_six(&bed, f->device);
	describe_six(&bed, &texts);
	OK(philox_mesh_explain(plain(texts.of), texts.sizes, 6));
	FAILS(philox_mesh_explain(NULL, texts.sizes, 6), PHILOX_ERROR_INVALID);
	NAMES("texts is NULL");
	FAILS(philox_mesh_explain(plain(texts.of), NULL, 6),
	      PHILOX_ERROR_INVALID);
	NAMES("bytes is NULL");
	FAILS(philox_mesh_explain(plain(texts.of), texts.sizes, 0),
	      PHILOX_ERROR_INVALID);
	for (int i = 0; i < 3; i++) {
		given[i] = texts.of[i];
		sizes[i] = texts.sizes[i];
	}
	given[1] = NULL;
	FAILS(philox_mesh_explain(given, sizes, 3), PHILOX_ERROR_INVALID);
	NAMES("text 1: it is NULL");
	given[1] = given[2];
	FAILS(philox_mesh_explain(given, sizes, 3), PHILOX_ERROR_INVALID);
	NAMES("texts 1 and 2 are both of rank 2");
	given[1] = texts.of[1];
	sizes[2]--;
	FAILS(philox_mesh_explain(given, sizes, 3), PHILOX_ERROR_INVALID);
	NAMES("text 2: line");
	OK(philox_context_save_text(bed.contexts[1], &saved, &size));
	given[0] = saved;
	sizes[0] = size;
	FAILS(philox_mesh_explain(given, sizes, 3), PHILOX_ERROR_INVALID);
	NAMES("text 0: line 1: 'philox ranks ' expected");
	FAILS(philox_context_load_text(bed.contexts[1], texts.of[1],
				       texts.sizes[1]),
	      PHILOX_ERROR_INVALID);
	free(saved);
	given[0] = "philox ranks 4\nanything\n";
	sizes[0] = strlen(given[0]);
	FAILS(philox_mesh_explain(given, sizes, 3), PHILOX_ERROR_UNSUPPORTED);
	NAMES("version 4, the newest this library reads is 3");
	free_six(&texts);
	ranks_close(&bed);
}

/* What the rank that is odd announces in the sixth round. */
static void announce(struct ranks_bed *bed, uint64_t bytes, unsigned calls,
		     const char *says)
{
	const struct ranks_trouble trouble = {
		.rank = 4, .lies_at = 6, .lie = bytes};
	struct ranks_answer answers[RANKS_BED_MAX];

	ranks_agree(bed, &trouble, answers);
	for (unsigned rank = 0; rank < 6; rank++) {
		const struct ranks_answer *answer = &answers[rank];

		cr_assert_eq(answer->status, PHILOX_ERROR_MISMATCH);
		cr_assert(strstr(answer->message, says), "%s", answer->message);
		cr_assert(
			strstr(answer->message,
			       "ranks 1 and 4 do not agree along axis 'data'"),
			"%s", answer->message);
		cr_assert_eq(answer->calls, calls, "%u", answer->calls);
		cr_assert_leq(answer->most, 1 << 24);
	}
}

/* All ranks stop at the same call, whatever one of them says it has. */
PROMISE(mesh_errors, a_size_that_no_text_has_is_not_believed)
{
	struct ranks_bed bed;

	make_six(&bed, f->device);
	get_ahead(bed.contexts[4]);
	announce(&bed, (1 << 24) + 1, 6,
		 "rank 4 announces a text of 16777217 bytes to say what "
		 "differs, more than the 16777216 that a rank of 6 may send");
	announce(&bed, UINT64_MAX, 6,
		 "rank 4 announces a text of 18446744073709551615 bytes");
	announce(&bed, UINT64_C(1) << 36, 6, "a text of 68719476736 bytes");
	announce(&bed, 0, 6, "a rank has no memory to say what differs");
	ranks_close(&bed);
}

/* A text as long as that is read, and found not to be one. */
PROMISE(mesh_errors, a_size_that_a_text_may_have_is_believed)
{
	const struct philox_axis axis = {.name = "data", .n_ranks = 2};
	const struct ranks_trouble trouble = {
		.rank = 1, .lies_at = 6, .lie = 1 << 24};
	struct ranks_answer answers[RANKS_BED_MAX];
	struct ranks_bed bed;

	ranks_open(&bed, f->device, &axis, 1);
	OK(philox_generator_seed(philox_context_generator(bed.contexts[1]), 3));
	ranks_agree(&bed, &trouble, answers);
	for (unsigned rank = 0; rank < 2; rank++) {
		cr_assert_eq(answers[rank].status, PHILOX_ERROR_MISMATCH);
		cr_assert(strstr(answers[rank].message,
				 "ranks 0 and 1 do not agree along axis "
				 "'data'; that has changed meanwhile, or there "
				 "is no memory"),
			  "%s", answers[rank].message);
		cr_assert_eq(answers[rank].calls, 8);
		cr_assert_eq(answers[rank].most, 1 << 24);
	}
	ranks_close(&bed);
}

/* Each of 150 ranks may send a part of what all may together. */
PROMISE(mesh_errors, the_sizes_of_all_texts_are_bounded_together)
{
	const struct philox_axis axis = {.name = "data", .n_ranks = 150};
	const struct ranks_trouble trouble = {
		.rank = 149, .lies_at = 6, .lie = (1 << 30) / 150 + 1};
	struct ranks_answer answers[RANKS_BED_MAX];
	struct ranks_bed bed;

	ranks_open(&bed, f->device, &axis, 1);
	for (unsigned rank = 0; rank < 150; rank++)
		make_layer(bed.contexts[rank], "layer");
	OK(philox_generator_seed(philox_context_generator(bed.contexts[149]),
				 3));
	ranks_agree(&bed, &trouble, answers);
	for (unsigned rank = 0; rank < 150; rank++) {
		cr_assert_eq(answers[rank].status, PHILOX_ERROR_MISMATCH);
		cr_assert(strstr(answers[rank].message,
				 "rank 149 announces a text of 7158279 bytes "
				 "to say what differs, more than the 7158278 "
				 "that a rank of 150 may send"),
			  "%s", answers[rank].message);
		cr_assert_eq(answers[rank].calls, 6);
	}
	ranks_close(&bed);
}

/* Every byte counts, and so does every end. */
PROMISE(mesh_errors, damaged_texts_are_refused)
{
	struct ranks_bed bed;
	struct six_texts texts;

	make_six(&bed, f->device);
	describe_six(&bed, &texts);
	for (size_t i = 0; i < texts.sizes[3]; i++) {
		size_t whole = texts.sizes[3];
		enum philox_status status;

		texts.of[3][i] ^= 1;
		status = philox_mesh_explain(plain(texts.of), texts.sizes, 6);
		cr_assert(status == PHILOX_ERROR_INVALID ||
				  status == PHILOX_ERROR_UNSUPPORTED,
			  "byte %zu: %s", i, philox_error_message());
		NAMES("text 3: line");
		texts.of[3][i] ^= 1;
		texts.sizes[3] = i;
		FAILS(philox_mesh_explain(plain(texts.of), texts.sizes, 6),
		      PHILOX_ERROR_INVALID);
		texts.sizes[3] = whole;
	}
	OK(philox_mesh_explain(plain(texts.of), texts.sizes, 6));
	free_six(&texts);
	ranks_close(&bed);
}

PROMISE(mesh_errors, explain_may_lack_memory)
{
	struct ranks_bed bed;
	struct six_texts texts;
	enum philox_status status;

	make_six(&bed, f->device);
	describe_six(&bed, &texts);
	for (unsigned n_texts = 5; n_texts <= 6; n_texts++) {
		status = PHILOX_ERROR_MEMORY;
		for (uint64_t n = 1; status == PHILOX_ERROR_MEMORY; n++) {
			if (!allocations_fail(n))
				break;
			status = philox_mesh_explain(plain(texts.of),
						     texts.sizes, n_texts);
			allocations_fail(0);
			if (status != PHILOX_OK)
				FAILS(status, PHILOX_ERROR_MEMORY);
		}
	}
	free_six(&texts);
	ranks_close(&bed);
}

/* --- lines of such texts -------------------------------------------------- */

#define HEAD                                                  \
	"philox ranks 1\ngenerator 0 state 0000000000000001 " \
	"0000000000000000\n"
#define STATE " state 0000000000000001 0000000000000004"
#define REGION(flags, end)                                     \
	"region \"a\" alive generator 0 flags " flags " next " \
	"0000000000000001 0000000000000008 serial 3" end "\n"  \
	"op \"x\" calls 1 advance 4\n"

static const struct {
	const char *lines;
	const char *words; /* NULL: it is fine */
} lines[] = {
	{HEAD REGION("0", ""), NULL},
	{HEAD REGION("1", " open"), NULL},
	{HEAD REGION("0", " open"), "line 3: the end of the line expected"},
	{HEAD "region \"a\" destroyed generator 0 next 0000000000000001 "
	      "0000000000000008 serial 3\n",
	 "line 3: ' alive' expected"},
	{HEAD REGION("0", "") "ticket 1" STATE "\n", NULL},
	{HEAD REGION("0", "") "ticket 1" STATE " iterations 2 open\n", NULL},
	{HEAD REGION("0", "") "ticket 1" STATE " open\n", NULL},
	{HEAD REGION("0", "") "ticket 1" STATE " open readers 1\n",
	 "line 5: the end of the line expected"},
	{HEAD REGION("0", "") "ticket 1" STATE " readers 2\n", NULL},
	{HEAD REGION("0", "") "ticket 1" STATE " readers 0\n",
	 "line 5: 0 is too small"},
	{HEAD REGION("0", "") "ticket 1" STATE " readers 2 pass\n", NULL},
	{HEAD REGION("0", "") "ticket 1" STATE " readers 2 launch\n", NULL},
	{HEAD REGION("0", "") "ticket 1" STATE " readers 2 pass launch\n",
	 "line 5: the end of the line expected"},
	{HEAD REGION("0", "") "ticket 1" STATE " done readers 1\n", NULL},
	{HEAD REGION("0", "") "ticket 1" STATE " done\n",
	 "line 5: ' readers ' expected"},
	{HEAD REGION("0", "") "ticket 1" STATE " pass\n",
	 "line 5: the end of the line expected"},
	{HEAD REGION("0", "") "ticket 3" STATE "\n",
	 "line 5: ticket 3 is not below the next serial, 3"},
	{HEAD "rows \"r\" generator 0 count 2\n", NULL},
	{HEAD "rows \"r\" generator 0 count 2\nrow 0000000000000001 "
	      "0000000000000004\n",
	 "line 4: a row too many"},
	{HEAD "rows \"r\" generator 1 count 2\n",
	 "line 3: there is no generator 1"},
	{"philox ranks 1\n", "line 2: generator 0 has to come first"},
	{"philox ranks 1\naxis \"d\" size 2 at 2\n", "line 2: mesh: the "},
};

PROMISE(mesh_errors, lines_have_one_spelling)
{
	(void)f;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const size_t above = strlen(lines[i].lines);
		char text[1024];
		const char *const given = text;
		size_t size;

		snprintf(text, sizeof(text),
			 "%schecksum %016" PRIx64 " bytes %zu\n",
			 lines[i].lines, hash_text(lines[i].lines, above),
			 above);
		size = strlen(text);
		if (!lines[i].words) {
			OK(philox_mesh_explain(&given, &size, 1));
			continue;
		}
		FAILS(philox_mesh_explain(&given, &size, 1),
		      PHILOX_ERROR_INVALID);
		NAMES(lines[i].words);
	}
}

/* --- what texts say ------------------------------------------------------- */

/* Whoever is there is compared, and by more than one axis. */
PROMISE(mesh_errors, a_few_ranks_are_enough)
{
	struct ranks_bed bed;
	struct six_texts texts;
	const char *given[2];
	size_t sizes[2];

	make_six(&bed, f->device);
	step_ahead(odd);
	describe_six(&bed, &texts);
	for (unsigned a = 0; a < 6; a++)
		for (unsigned b = 0; b < 6; b++) {
			given[0] = texts.of[a];
			given[1] = texts.of[b];
			sizes[0] = texts.sizes[a];
			sizes[1] = texts.sizes[b];
			if (a == b) {
				OK(philox_mesh_explain(given, sizes, 1));
				continue;
			}
			if (a != 4 && b != 4) {
				OK(philox_mesh_explain(given, sizes, 2));
				continue;
			}
			FAILS(philox_mesh_explain(given, sizes, 2),
			      PHILOX_ERROR_MISMATCH);
			NAMES(a + b == 4 + 1  ? "along axis 'data': "
			      : a + b < 4 + 3 ? "along axes 'data' and "
						"'tensor': "
					      : "along axis 'tensor': ");
			NAMES("2 on rank ");
			NAMES("3 on rank 4");
		}
	free_six(&texts);
	ranks_close(&bed);
}

PROMISE(mesh_errors, other_values_are_told_apart)
{
	struct ranks_bed bed;
	struct philox_generator *generator;

	make_six(&bed, f->device);
	for (unsigned rank = 1; rank < 6; rank++) {
		generator = philox_context_generator(bed.contexts[rank]);
		OK(philox_generator_advance(generator, 4 * rank, NULL));
	}
	SAYS(ranks_explain(&bed), PHILOX_ERROR_MISMATCH,
	     ALONG("tensor") "generator 0: offset is 0 on rank 0, 4 on rank 1; "
			     "something else on ranks 2, 3, 4 and 5");
	generator = philox_context_generator(bed.contexts[2]);
	OK(philox_generator_set_state(generator, (struct philox_state){0, 4}));
	SAYS(ranks_explain(&bed), PHILOX_ERROR_MISMATCH,
	     ALONG("tensor") "generator 0: offset is 0 on rank 0, 4 on ranks 1 "
			     "and 2; something else on ranks 3, 4 and 5");
	ranks_close(&bed);
}

static void another_mesh(struct philox_device *device, int change,
			 struct philox_context **context)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	mesh.n_axes = change == 3 ? 1 : 2;
	memcpy(mesh.axes, axes, sizeof(axes));
	if (change == 0)
		mesh.axes[1].name = "sequence";
	if (change == 1)
		mesh.axes[1].n_ranks = 6;
	if (change == 2)
		mesh.axes[0].flags = PHILOX_AXIS_STAGES;
	OK(philox_context_create(device, context));
	OK(philox_context_set_mesh(*context, &mesh));
	make_layer(*context, "layer");
}

/* Also if it has the coordinates, or the number of ranks, of another one. */
PROMISE(mesh_errors, of_another_mesh)
{
	static const char *const words[] = {
		"mesh, axis 1: the name is 'tensor' in texts 0, 1, 2 and 2 "
		"others, 'sequence' in text 4",
		"mesh, axis 'tensor': size is 3 in texts 0, 1, 2 and 2 others, "
		"6 in text 4",
		"mesh, axis 'data': it has no stages in texts 0, 1, 2 and 2 "
		"others, stages in text 4",
		"mesh: the number of axes is 2 in texts 0, 1, 2 and 2 others, "
		"1 in text 4"};

	for (int change = 0; change < 4; change++) {
		struct ranks_answer answers[RANKS_BED_MAX];
		struct ranks_bed bed;
		char all[256];

		make_six(&bed, f->device);
		philox_context_destroy(bed.contexts[4]);
		another_mesh(f->device, change, &bed.contexts[4]);
		FAILS(ranks_compare(&bed), PHILOX_ERROR_MISMATCH);
		NAMES("different meshes");
		snprintf(all, sizeof(all), "texts of different meshes: %s",
			 words[change]);
		SAYS(ranks_explain(&bed), PHILOX_ERROR_MISMATCH, all);
		if (change == 0 || change == 2) {
			ranks_agree(&bed, NULL, answers);
			for (unsigned rank = 0; rank < 6; rank++) {
				cr_assert_eq(answers[rank].status,
					     PHILOX_ERROR_MISMATCH);
				cr_assert_str_eq(answers[rank].message, all);
				cr_assert_eq(answers[rank].calls, 4);
			}
		}
		ranks_close(&bed);
	}
}

/* --- all at once ---------------------------------------------------------- */

/* All ranks give one answer, after as many calls. */
static void all_answer(const struct ranks_bed *bed,
		       const struct ranks_trouble *trouble,
		       enum philox_status status, const char *words)
{
	struct ranks_answer answers[RANKS_BED_MAX];

	ranks_agree(bed, trouble, answers);
	for (unsigned rank = 0; rank < bed->n; rank++) {
		cr_assert_eq(answers[rank].status, status, "rank %u: %s", rank,
			     answers[rank].message);
		cr_assert(!words || strstr(answers[rank].message, words),
			  "rank %u: %s", rank, answers[rank].message);
		cr_assert_eq(answers[rank].calls, answers[0].calls);
	}
}

PROMISE(mesh_errors, agree_refuses_null)
{
	struct ranks_bed bed;

	FAILS(philox_context_agree(f->context, NULL, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("gather");
	make_six(&bed, f->device);
	FAILS(philox_context_agree(bed.contexts[0], NULL, NULL),
	      PHILOX_ERROR_INVALID);
	ranks_close(&bed);
}

PROMISE(mesh_errors, gather_may_fail_in_any_call)
{
	struct ranks_trouble trouble = {.fails_at = 1};
	struct ranks_bed bed;

	make_six(&bed, f->device);
	step_ahead(odd);
	for (; trouble.fails_at <= 8; trouble.fails_at++)
		all_answer(&bed, &trouble, PHILOX_ERROR_DEVICE,
			   "the ranks cannot be compared: gather() returned "
			   "PHILOX_ERROR_DEVICE");
	all_answer(&bed, &trouble, PHILOX_ERROR_MISMATCH, "3 on rank 4");
	ranks_close(&bed);
}

PROMISE(mesh_errors, a_rank_without_memory_keeps_no_other_waiting)
{
	struct ranks_trouble trouble = {.rank = 2, .allocation = 1};
	struct ranks_answer answers[RANKS_BED_MAX];
	struct ranks_bed bed;
	unsigned failed = 0;

	make_six(&bed, f->device);
	if (!allocations_fail(1)) {
		ranks_close(&bed);
		return;
	}
	allocations_fail(0);
	/* if they agree, nothing is allocated */
	all_answer(&bed, &trouble, PHILOX_OK, NULL);
	step_ahead(odd);
	/* some are of streams, which do without */
	for (; trouble.allocation < 200; trouble.allocation++) {
		all_answer(&bed, &trouble, PHILOX_ERROR_MISMATCH, "along axis");
		ranks_agree(&bed, &trouble, answers);
		failed += !strstr(answers[2].message, "3 on rank 4");
	}
	cr_assert_gt(failed, 20);
	ranks_close(&bed);
}

/* Between the digests and the sums, between those, and before the texts. */
PROMISE(mesh_errors, a_rank_may_catch_up_meanwhile)
{
	for (unsigned call = 1; call <= 8; call++) {
		const struct ranks_trouble trouble = {
			.rank = 4, .changes_at = call, .change = get_ahead};
		struct ranks_bed bed;
		struct philox_region *caught_up;

		make_six(&bed, f->device);
		caught_up = odd;
		for (unsigned rank = 0; rank < 6; rank++) {
			odd = make_layer(bed.contexts[rank], "other");
			if (rank != 4)
				step_ahead(odd);
			else
				caught_up = odd;
		}
		odd = caught_up;
		all_answer(&bed, &trouble, PHILOX_ERROR_MISMATCH,
			   call < 6 ? "ranks 1 and 4 do not agree along axis "
				      "'data'; that has changed meanwhile"
				    : ALONG("tensor") "region 'other': the "
						      "serial of its next "
						      "forward is 3 on ranks "
						      "0, 1, 2 and 2 others, 2 "
						      "on rank 4");
		OK(ranks_compare(&bed));
		ranks_close(&bed);
	}
}

PROMISE(mesh_errors, two_ranks_may_not_be_one)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	struct ranks_bed bed;

	make_six(&bed, f->device);
	philox_context_destroy(bed.contexts[4]);
	OK(philox_context_create(f->device, &bed.contexts[4]));
	mesh.n_axes = 2;
	memcpy(mesh.axes, axes, sizeof(axes));
	OK(philox_mesh_set_rank(&mesh, 3, 6));
	OK(philox_context_set_mesh(bed.contexts[4], &mesh));
	make_layer(bed.contexts[4], "layer");
	all_answer(&bed, NULL, PHILOX_ERROR_INVALID,
		   "digests 3 and 4 are both of rank 3");
	ranks_close(&bed);
}

/* More ranks than have their digests on the stack; few bytes of many regions. */
PROMISE(mesh_errors, large_worlds_send_little)
{
	static const struct philox_axis wide = {.name = "data", .n_ranks = 150};
	struct ranks_answer answers[RANKS_BED_MAX];
	struct ranks_bed bed;

	if (!philox_device_is_host(f->device))
		return;
	ranks_open(&bed, f->device, &wide, 1);
	for (unsigned rank = 0; rank < bed.n; rank++)
		for (unsigned i = 0; i < 100; i++) {
			char name[16];

			snprintf(name, sizeof(name), "layer.%u", i);
			odd = make_layer(bed.contexts[rank], name);
		}
	ranks_do_agree(&bed);
	step_ahead(odd);
	ranks_do_not_agree(&bed,
			   ALONG("data") "region 'layer.99': the serial of its "
					 "next forward is 2 on ranks 0, 1, 2 "
					 "and 146 others, 3 on rank 149");
	ranks_agree(&bed, NULL, answers);
	for (unsigned rank = 0; rank < bed.n; rank++) {
		cr_assert_eq(answers[rank].calls, 8);
		cr_assert_lt(answers[rank].most, 1500);
	}
	ranks_close(&bed);
}

static enum philox_status count_gather(void *user, const void *mine,
				       size_t size, void *all)
{
	(void)mine;
	(void)size;
	(void)all;
	++*(unsigned *)user;
	return PHILOX_ERROR_STATE;
}

/* A rank of such a world has nowhere to put what the others send. */
PROMISE(mesh_errors, a_large_world_without_memory_is_not_asked)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
	unsigned calls = 0;

	mesh.n_axes = 1;
	mesh.axes[0] = (struct philox_axis){.name = "data", .n_ranks = 150};
	OK(philox_context_set_mesh(f->context, &mesh));
	for (uint64_t n = 1; n <= 2 && allocations_fail(n); n++) {
		enum philox_status status =
			philox_context_agree(f->context, count_gather, &calls);

		allocations_fail(0);
		FAILS(status, PHILOX_ERROR_MEMORY);
		NAMES("no memory for the digests of 150 ranks");
	}
	cr_assert_eq(calls, 0);
	FAILS(philox_context_agree(f->context, count_gather, &calls),
	      PHILOX_ERROR_STATE);
	cr_assert_eq(calls, 1);
}

/* What a comparison reads of the mesh stays while it asks. */
static enum philox_status set_another_mesh(void *user, const void *mine,
					   size_t size, void *all)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	mesh.n_axes = 1;
	mesh.axes[0] = (struct philox_axis){.name = "other", .n_ranks = 2};
	FAILS(philox_context_set_mesh(user, &mesh), PHILOX_ERROR_BUSY);
	NAMES("compared");
	for (int rank = 0; rank < 2; rank++)
		memcpy((char *)all + (size_t)rank * size, mine, size);
	return PHILOX_OK;
}

PROMISE(mesh_errors, the_mesh_stays_while_ranks_are_compared)
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	mesh.n_axes = 1;
	mesh.axes[0] = (struct philox_axis){.name = "data", .n_ranks = 2};
	OK(philox_context_set_mesh(f->context, &mesh));
	make_region(f, "layer");
	(void)philox_context_agree(f->context, set_another_mesh, f->context);
	mesh.axes[0].n_ranks = 3;
	OK(philox_context_set_mesh(f->context, &mesh));
}

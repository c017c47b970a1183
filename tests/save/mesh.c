/*
 * tests/save/mesh.c - texts of version 4: meshes, and axes along which regions
 * differ
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/allocations.h"
#include "tests/support/ranks/mesh.h"

/* --- a rank with one of everything ---------------------------------------- */

static const char names[] = "data=1/2 tensor=2/3";

static struct philox_mesh stages(void)
{
	struct philox_mesh mesh = mesh_of(names);

	mesh.axes[1].flags = PHILOX_AXIS_STAGES;
	return mesh;
}

static const struct along both = {{"tensor", "data"}, 2}, one = {{"data"}, 1},
			  none = {{0}, 0};

static void skip(struct fixture *f, struct philox_region *region, int n)
{
	while (n--)
		forward(f, region);
}

/* Replaces the fixture's context by one in a mesh, or in none. */
static void move_to(struct fixture *f, const struct philox_mesh *mesh,
		    uint64_t seed)
{
	OK(philox_device_synchronize(f->device));
	philox_context_destroy(f->context);
	OK(philox_context_create(f->device, &f->context));
	if (mesh)
		OK(philox_context_set_mesh(f->context, mesh));
	OK(philox_generator_seed(philox_context_generator(f->context), seed));
}

struct set_up {
	struct philox_region *block, *noise, *other;
};

static struct set_up set_up(struct fixture *f, const struct philox_mesh *mesh,
			    const struct along *along, uint64_t seed)
{
	struct set_up made;

	move_to(f, mesh, seed);
	made.block = make_along(f->context, "block", &none);
	made.noise = make_along(f->context, "noise", along);
	made.other = make_along(f->context, "other", &none);
	return made;
}

static char *text_of(struct fixture *f)
{
	char *text;

	OK(philox_context_save_text(f->context, &text, NULL));
	return text;
}

/* A text of such a rank; a region that differed was destroyed in it. */
static char *good_text(struct fixture *f)
{
	struct philox_mesh mesh = stages();
	struct set_up made = set_up(f, &mesh, &both, 5);
	struct philox_region *gone = make_along(f->context, "gone", &one);

	skip(f, made.block, 2);
	skip(f, made.noise, 3);
	skip(f, gone, 1);
	OK(philox_region_destroy(gone));
	return text_of(f);
}

static void load(struct fixture *f, const char *text)
{
	OK(philox_context_load_text(f->context, text, strlen(text)));
}

/* The fixture's context refuses a text and does not change. */
static void refuses(struct fixture *f, const char *text,
		    enum philox_status expected)
{
	char *before = text_of(f), *after;

	FAILS(philox_context_load_text(f->context, text, strlen(text)),
	      expected);
	after = text_of(f);
	cr_assert_str_eq(after, before, "the context changed");
	free(before);
	free(after);
}

/* The first `from` becomes `to`, under a right checksum. */
static char *edited(const char *text, const char *from, const char *to)
{
	size_t room = strlen(text) + strlen(to) + 64, size;
	const char *at = strstr(text, from);
	char *made = malloc(room), *last;

	cr_assert(made);
	cr_assert(at, "'%s' is not in %s", from, text);
	snprintf(made, room, "%.*s%s%s", (int)(at - text), text, to,
		 at + strlen(from));
	last = strstr(made, "checksum ");
	cr_assert(last);
	size = (size_t)(last - made);
	*last = '\0';
	snprintf(last, room - size, "checksum %016" PRIx64 " bytes %zu\n",
		 fnv1a(made), size);
	return made;
}

#define HAS(text, part) \
	cr_assert(strstr(text, part), "no '%s' in\n%s", part, text)

#define BEGINS(text, start) \
	cr_assert(!strncmp(text, start, strlen(start)), "%s", text)

/* --- round trips ---------------------------------------------------------- */

PROMISE(save_mesh, a_text_says_the_mesh_and_along_what_regions_differ)
{
	static const char head[] =
		"philox context 4\n"
		"axis \"data\" size 2 at 1\n"
		"axis \"tensor\" size 3 at 2 stages\n"
		"generator 0 state 0000000000000005 0000000000000000\n"
		"region \"block\" alive generator 0 flags 0 next ";
	char *text = good_text(f);

	BEGINS(text, head);
	HAS(text,
	    " serial 4\ndiffers \"data\"\ndiffers \"tensor\"\nop \"first\" "
	    "calls 1 advance 4\n");
	cr_assert_null(strstr(text, "issued"));
	free(text);
}

PROMISE(save_mesh, a_rank_goes_on_from_its_text)
{
	char *text = good_text(f), *again;
	struct philox_mesh mesh = stages();
	struct set_up made = set_up(f, &mesh, &both, 99);
	uint64_t noise = model_region(5, "noise", &mesh, &both);

	load(f, text);
	again = text_of(f);
	cr_assert_str_eq(again, text);
	SAME(forward(f, made.block).saw, predict(5, "block", 8), "shared");
	SAME(forward(f, made.noise).saw, model_numbers(noise, 12), "differs");
	SAME(forward(f, make_along(f->context, "gone", &one)).saw,
	     model_numbers(model_region(5, "gone", &mesh, &one), 4),
	     "a destroyed name");
	free(text);
	free(again);
}

/* What has gone differs no more: all ranks write the same line about it. */
PROMISE(save_mesh, a_destroyed_region_is_the_same_in_all_texts)
{
	char *text = good_text(f), line[128];

	snprintf(line, sizeof(line),
		 "region \"gone\" destroyed generator 0 next %016" PRIx64
		 " 0000000000000004 serial 2\nregion",
		 model_region(5, "gone", NULL, &one));
	HAS(text, line);
	free(text);
}

PROMISE(save_mesh, names_are_quoted)
{
	struct philox_mesh mesh = mesh_of("\"a b\\\xc3\xbc\"=1/2");
	const struct along along = {{"\"a b\\\xc3\xbc\""}, 1};
	char *text, *again;

	set_up(f, &mesh, &along, 5);
	text = text_of(f);
	HAS(text, "\naxis \"\\x22a b\\x5c\\xc3\\xbc\\x22\" size 2 at 1\n");
	HAS(text, "\ndiffers \"\\x22a b\\x5c\\xc3\\xbc\\x22\"\n");
	set_up(f, &mesh, &along, 6);
	load(f, text);
	again = text_of(f);
	cr_assert_str_eq(again, text);
	free(text);
	free(again);
}

PROMISE(save_mesh, the_largest_mesh_is_saved)
{
	struct philox_mesh mesh =
		mesh_of("h=1/2 g=1/2 f=1/2 e=1/2 d=1/2 c=1/2 b=1/2 "
			"a=33554430/33554432");
	const struct along along = {{"h", "g", "f", "e", "d", "c", "b", "a"},
				    8};
	char *text, *again;

	set_up(f, &mesh, &along, 5);
	text = text_of(f);
	HAS(text, "\naxis \"a\" size 33554432 at 33554430\n");
	HAS(text, "\ndiffers \"a\"\ndiffers \"b\"\ndiffers \"c\"\n");
	set_up(f, &mesh, &along, 6);
	load(f, text);
	again = text_of(f);
	cr_assert_str_eq(again, text);
	free(text);
	free(again);
}

/* Any names will do without a mesh, in a text as in a context. */
PROMISE(save_mesh, a_region_may_differ_without_a_mesh)
{
	struct philox_mesh mesh = mesh_of(names);
	char *text, *again;

	skip(f, set_up(f, NULL, &both, 5).noise, 1);
	text = text_of(f);
	BEGINS(text, "philox context 4\ngenerator 0");
	HAS(text, "\ndiffers \"data\"\ndiffers \"tensor\"\n");
	set_up(f, NULL, &both, 6);
	load(f, text);
	again = text_of(f);
	cr_assert_str_eq(again, text);
	set_up(f, NULL, &none, 6);
	refuses(f, text, PHILOX_ERROR_MISMATCH);
	set_up(f, &mesh, &both, 6);
	refuses(f, text, PHILOX_ERROR_MISMATCH);
	NAMES("mesh: 0 axes in the text, 2 in the context");
	free(text);
	free(again);
}

/* A mesh alone is reason enough: which rank it is decides future regions. */
PROMISE(save_mesh, a_mesh_alone_makes_it_version_4)
{
	struct philox_mesh mesh = mesh_of("data=0/1");
	char *text;

	set_up(f, &mesh, &none, 5);
	text = text_of(f);
	BEGINS(text, "philox context 4\naxis \"data\" size 1 at 0\n");
	move_to(f, NULL, 5);
	refuses(f, text, PHILOX_ERROR_MISMATCH);
	NAMES("mesh: 1 axis in the text, 0 in the context");
	free(text);
}

/* --- texts without a mesh ------------------------------------------------- */

/* As philox has written it since its first version. */
static const char version_1[] =
	"philox context 1\n"
	"generator 0 state 0000000000000005 0000000000000000\n"
	"region \"layer\" alive generator 0 flags 0 next eba94568164108df "
	"0000000000000008 serial 3\n"
	"op \"first\" calls 1 advance 4\n"
	"op \"second\" calls 2 advance 4\n"
	"op \"third\" calls 1 advance 4\n"
	"ticket 1 state eba94568164108df 0000000000000000\n"
	"ticket 2 state eba94568164108df 0000000000000004\n"
	"checksum 8400f737b96109bc bytes 344\n";

PROMISE(save_mesh, texts_without_a_mesh_stay_as_they_were)
{
	char *text;

	move_to(f, NULL, 5);
	skip(f, make_region(f, "layer"), 2);
	text = text_of(f);
	cr_assert_str_eq(text, version_1);
	free(text);
}

PROMISE(save_mesh, a_text_of_version_1_is_loaded)
{
	struct philox_mesh mesh = mesh_of(names);
	struct philox_region *region;
	char *again;

	move_to(f, NULL, 7);
	region = make_region(f, "layer");
	load(f, version_1);
	again = text_of(f);
	cr_assert_str_eq(again, version_1);
	SAME(forward(f, region).saw, predict(5, "layer", 8), "goes on");
	move_to(f, &mesh, 7);
	make_region(f, "layer");
	refuses(f, version_1, PHILOX_ERROR_MISMATCH);
	NAMES("mesh: 0 axes in the text, 2 in the context");
	NAMES("philox_context_load_ranks()");
	free(again);
}

PROMISE(save_mesh, other_versions_stay_the_lowest_that_will_do)
{
	struct philox_rows_desc options = PHILOX_INIT(struct philox_rows_desc);
	struct philox_ticket ticket;
	struct philox_rows *rows;
	struct philox_pass pass;
	char *text;

	move_to(f, NULL, 5);
	options.name = "rows";
	options.count = 1;
	OK(philox_rows_create(f->context, &options, &rows));
	text = text_of(f);
	BEGINS(text, "philox context 2\ngenerator");
	free(text);
	OK(philox_forward_begin_loop(make_region(f, "layer"), f->stream, 0, 6,
				     &pass));
	OK(philox_pass_commit(&pass, 0, &ticket));
	text = text_of(f);
	BEGINS(text, "philox context 3\ngenerator");
	free(text);
}

/* --- another mesh --------------------------------------------------------- */

static const struct {
	const char *mesh, *says;
	uint32_t flags; /* of the second axis */
} others[] = {
	{"",
	 "mesh: 2 axes in the text, 0 in the context; philox_context_load_ranks() "
	 "loads a set of texts of another mesh",
	 0},
	{"data=1/2",
	 "mesh: 2 axes in the text, 1 in the context; "
	 "philox_context_load_ranks() loads a set of texts of another mesh",
	 0},
	{"data=1/2 tensor=2/3 more=0/1",
	 "mesh: 2 axes in the text, 3 in the context; philox_context_load_ranks() loads "
	 "a set of texts of another mesh",
	 1},
	{"data=1/2 sensor=2/3",
	 "mesh: axis 'tensor' of the text is 'sensor' in the context; "
	 "philox_context_load_ranks() loads a set of texts of another mesh",
	 1},
	{"tensor=2/3 data=1/2",
	 "mesh: axis 'data' of the text is 'tensor' in the context; "
	 "philox_context_load_ranks() loads a set of texts of another mesh",
	 1},
	{"data=1/2 tensor=2/4",
	 "mesh: n_ranks of axis 'tensor' is 3 in the text, 4 in the context; "
	 "philox_context_load_ranks() loads a set of texts of another mesh",
	 1},
	{"data=0/2 tensor=2/3",
	 "mesh: the coordinate along axis 'data' is 1 in the text, 0 in the "
	 "context: it is the text of another rank",
	 1},
	{"data=1/2 tensor=2/3",
	 "mesh: axis 'tensor' has stages in the text, no stages in the context",
	 0},
};

PROMISE(save_mesh, a_text_of_another_mesh_is_refused_by_name)
{
	char *text = good_text(f);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct philox_mesh mesh = mesh_of(others[i].mesh);

		mesh.axes[1].flags = others[i].flags;
		set_up(f, &mesh, &none, 5);
		refuses(f, text, PHILOX_ERROR_MISMATCH);
		SAYS(philox_context_load_text(f->context, text, strlen(text)),
		     PHILOX_ERROR_MISMATCH, others[i].says);
	}
	free(text);
}

static const struct {
	struct along along;
	const char *says;
} differences[] = {
	{{{0}, 0},
	 "region 'noise': differs along axis 'data' in the text, not in the "
	 "context"},
	{{{"data"}, 1},
	 "region 'noise': differs along axis 'tensor' in the text, not in the "
	 "context"},
	{{{"tensor"}, 1},
	 "region 'noise': differs along axis 'data' in the text, not in the "
	 "context"},
};

PROMISE(save_mesh, a_region_that_differs_along_others_is_refused_by_name)
{
	struct philox_mesh mesh = stages();
	char *text = good_text(f), *less;

	for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]);
	     i++) {
		set_up(f, &mesh, &differences[i].along, 5);
		refuses(f, text, PHILOX_ERROR_MISMATCH);
		NAMES(differences[i].says);
	}
	less = edited(text, "differs \"data\"\n", "");
	set_up(f, &mesh, &both, 5);
	refuses(f, less, PHILOX_ERROR_MISMATCH);
	NAMES("region 'noise': differs along axis 'data' in the context, not "
	      "in the text");
	free(less);
	free(text);
}

/* --- malformed lines ------------------------------------------------------ */

#define EIGHT_AXES                                         \
	"axis \"a\" size 1 at 0\naxis \"b\" size 1 at 0\n" \
	"axis \"c\" size 1 at 0\naxis \"d\" size 1 at 0\n" \
	"axis \"e\" size 1 at 0\naxis \"f\" size 1 at 0\n"

static const struct {
	const char *from, *to;
	int line;
	const char *named;
} damages[] = {
	{"axis \"data\"", "axis data", 2, "'\"'"},
	{"axis \"data\"", "axis \"\"", 2, "the name of axis 0 is empty"},
	{"axis \"data\"", "axes \"data\"", 2, "a known kind of line"},
	{"axis \"data\"", "axis \"tensor\"", 3,
	 "axes 0 and 1 are both named 'tensor'"},
	{"size 2 at 1", "size 0 at 0", 2, "too small"},
	{"size 2 at 1", "size 02 at 1", 2, "no further digit"},
	{"size 2 at 1", "size 4294967296 at 1", 2, "no further digit"},
	{"size 2 at 1", "size -2 at 1", 2, "a number"},
	{"size 2 at 1", "size at 1", 2, "a number"},
	{"size 2 at 1", "size 2 at", 2, "' at '"},
	{"size 2 at 1", "size 2", 2, "' at '"},
	{"size 2 at 1", "size 2 at 4294967296", 2, "no further digit"},
	{"size 2 at 1", "size 2 at 2", 2,
	 "the coordinate along axis 'data' is 2, not below its n_ranks, 2"},
	{"size 2 at 1", "size 2 at 1 stages stages", 2, "end of the line"},
	{"size 2 at 1", "size 2 at 1 stage", 2, "end of the line"},
	{"size 2 at 1", "size 2 at 1  stages", 2, "end of the line"},
	{"size 2 at 1", "size 4294967295 at 1", 3, "more than 2^32 ranks"},
	{"axis \"data\"", EIGHT_AXES "axis \"g\" size 1 at 0\naxis \"data\"",
	 10, "more than 8 axes"},
	{"axis \"data\"",
	 "axis \"8yn0iYCKYHlIj4-BwPqk\" size 1 at 0\n"
	 "axis \"GReLUrM4wMqfg9yzV3KQ\" size 1 at 0\n"
	 "axis \"data\"",
	 3, "same hash"},
	{"axis \"tensor\"",
	 "generator 0 state 0000000000000005 "
	 "0000000000000000\naxis \"tensor\"",
	 4, "a known kind of line"},
	{"region \"block\"", "axis \"late\" size 1 at 0\nregion \"block\"", 5,
	 "a known kind of line"},
	{"differs \"data\"", "differs data", 13, "'\"'"},
	{"differs \"data\"", "differs \"\"", 13, "axis '' comes twice or not"},
	{"differs \"data\"", "differs \"data\" ", 13, "end of the line"},
	{"differs \"data\"", "differs \"dato\"", 13, "there is no axis 'dato'"},
	{"differs \"tensor\"", "differs \"data\"", 14,
	 "axis 'data' comes twice or not in order"},
	{"differs \"data\"\ndiffers \"tensor\"",
	 "differs \"tensor\"\ndiffers \"data\"", 14,
	 "axis 'data' comes twice or not in order"},
	{"differs \"tensor\"\nop \"first\" calls 1 advance 4",
	 "op \"first\" calls 1 advance 4\ndiffers \"tensor\"", 15,
	 "an axis after an op"},
	{"region \"block\"", "differs \"data\"\nregion \"block\"", 5,
	 "no region for it"},
	{"region \"noise\"", "differs \"data\"\nregion \"noise\"", 12,
	 "no region for it"},
	{"region \"noise\"", "issued 16 serial 9\nregion \"noise\"", 12,
	 "no region for it"},
	{"generator 0 flags 0 next", "generator 0 flags 1 next", 0, NULL},
	{"noise\" alive generator 0 flags 0",
	 "noise\" alive generator 0 flags 1", 13, "region 'noise' is shared"},
	{"differs \"data\"", "issued 16 serial 9\ndiffers \"data\"", 14,
	 "an axis after"},
	{"differs \"tensor\"", "issued 16 serial 9\ndiffers \"tensor\"", 15,
	 "an axis after"},
	{"differs \"tensor\"\n",
	 "differs \"tensor\"\nissued 16 serial 9\nissued 20 serial 9\n", 16,
	 "it belongs after the axes of a region"},
	{"differs \"tensor\"\nop \"first\" calls 1 advance 4\n",
	 "differs \"tensor\"\nop \"first\" calls 1 advance 4\n"
	 "issued 16 serial 9\n",
	 16, "it belongs after the axes of a region"},
	{"differs \"tensor\"\n", "differs \"tensor\"\nissued 12 serial 4\n", 15,
	 "neither is above what the region issues next"},
	{"differs \"tensor\"\n", "differs \"tensor\"\nissued 0 serial 1\n", 15,
	 "neither is above what the region issues next"},
	{"differs \"tensor\"\n", "differs \"tensor\"\nissued 18 serial 4\n", 15,
	 "offset 18 is not a multiple of 4"},
	{"differs \"tensor\"\n", "differs \"tensor\"\nissued 16 serial 0\n", 15,
	 "too small"},
	{"differs \"tensor\"\n",
	 "differs \"tensor\"\nissued 16 serial 9223372036854775808\n", 15,
	 "no further digit"},
	{"differs \"tensor\"\n", "differs \"tensor\"\nissued 16\n", 15,
	 "' serial '"},
	{"differs \"tensor\"\n", "differs \"tensor\"\nissued 16 serial 4 \n",
	 15, "end of the line"},
	{"differs \"tensor\"\n", "differs \"tensor\"\nissued -4 serial 4\n", 15,
	 "a number"},
	{"philox context 4", "philox context 3", 2, "version 3 has no axes"},
	{"philox context 4", "philox context 1", 2, "version 1 has no axes"},
	{"axis \"data\"", "axis \"d\xc3\xbcta\"", 2, "printable"},
	{"differs \"data\"", "differs \"d\tta\"", 13, "printable"},
};

PROMISE(save_mesh, malformed_lines_are_refused_under_a_right_checksum)
{
	char *text = good_text(f);

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char *bad = edited(text, damages[i].from, damages[i].to);
		char line[32];

		if (!damages[i].named) { /* well-formed, but another context */
			refuses(f, bad, PHILOX_ERROR_MISMATCH);
			free(bad);
			continue;
		}
		refuses(f, bad, PHILOX_ERROR_INVALID);
		snprintf(line, sizeof(line), "line %d: ", damages[i].line);
		NAMES(line);
		NAMES(damages[i].named);
		free(bad);
	}
	free(text);
}

PROMISE(save_mesh, versions_and_axes_go_together)
{
	char *text, *bad;

	set_up(f, NULL, &both, 5);
	text = text_of(f);
	bad = edited(text, "philox context 4", "philox context 3");
	refuses(f, bad, PHILOX_ERROR_INVALID);
	NAMES("version 3 has no axes");
	free(bad);
	bad = edited(text, "differs \"data\"\ndiffers \"tensor\"\n", "");
	refuses(f, bad, PHILOX_ERROR_INVALID);
	NAMES("line 1: a text without axes is below version 4");
	free(bad);
	bad = edited(version_1, "context 1", "context 4");
	refuses(f, bad, PHILOX_ERROR_INVALID);
	NAMES("a text without axes is below version 4");
	free(bad);
	free(text);
}

/* More than 8 of a region, which a text without a mesh could name. */
PROMISE(save_mesh, nine_axes_of_a_region_are_too_many)
{
	char *text, *bad;

	set_up(f, NULL, &both, 5);
	text = text_of(f);
	bad = edited(text, "differs \"data\"\n",
		     "differs \"a\"\ndiffers \"b\"\ndiffers \"c\"\n"
		     "differs \"d\"\ndiffers \"data\"\ndiffers \"e\"\n"
		     "differs \"f\"\ndiffers \"g\"\n");
	refuses(f, bad, PHILOX_ERROR_INVALID);
	NAMES("more than 8 axes");
	free(bad);
	free(text);
}

PROMISE(save_mesh, a_text_cut_or_flipped_anywhere_is_refused)
{
	char *text = good_text(f);
	struct philox_mesh mesh = stages();
	size_t size = strlen(text);

	for (size_t cut = 0; cut < size; cut += 3) {
		char *part = strndup(text, cut);

		FAILS(philox_context_load_text(f->context, part, cut),
		      PHILOX_ERROR_INVALID);
		free(part);
	}
	for (size_t bit = 0; bit < 8 * size; bit += 5) {
		text[bit / 8] ^= (char)(1 << bit % 8);
		cr_assert_neq(philox_context_load_text(f->context, text, size),
			      PHILOX_OK, "bit %zu", bit);
		text[bit / 8] ^= (char)(1 << bit % 8);
	}
	set_up(f, &mesh, &both, 1);
	load(f, text);
	free(text);
}

/* --- what coordinates that are gone have issued --------------------------- */

static char *issued_text(struct fixture *f)
{
	char *text = good_text(f), *more;

	more = edited(text, "differs \"tensor\"\n",
		      "differs \"tensor\"\nissued 20 serial 9\n");
	free(text);
	return more;
}

PROMISE(save_mesh, what_others_have_issued_stays_in_the_text)
{
	struct philox_mesh mesh = stages();
	char *text = issued_text(f), *again;
	struct set_up made = set_up(f, &mesh, &both, 1);

	load(f, text);
	again = text_of(f);
	cr_assert_str_eq(again, text);
	free(again);
	skip(f, made.noise, 2); /* to offset 20 and serial 6 */
	again = text_of(f);
	HAS(again, "\nissued 20 serial 9\n");
	free(again);
	skip(f, made.noise, 3); /* to offset 32 and serial 9 */
	again = text_of(f);
	cr_assert_null(strstr(again, "issued"), "%s", again);
	free(again);
	free(text);
}

PROMISE(save_mesh, a_new_seed_has_issued_nothing)
{
	struct philox_mesh mesh = stages();
	char *text = issued_text(f), *again;

	set_up(f, &mesh, &both, 1);
	load(f, text);
	OK(philox_generator_seed(philox_context_generator(f->context), 8));
	again = text_of(f);
	HAS(again, "\nissued 0 serial 9\n"); /* serials never come again */
	free(again);
	free(text);
}

PROMISE(save_mesh, a_name_goes_on_after_what_others_have_issued)
{
	struct philox_mesh mesh = stages();
	char *text = issued_text(f), *again;
	struct set_up made = set_up(f, &mesh, &both, 1);
	struct forward next;

	load(f, text);
	OK(philox_region_destroy(made.noise));
	again = text_of(f);
	HAS(again, " 0000000000000014 serial 9\n");
	free(again);
	next = forward(f, make_along(f->context, "noise", &both));
	SAME(next.saw,
	     model_numbers(model_region(5, "noise", &mesh, &both), 20),
	     "after the highest of all coordinates");
	cr_assert_eq(next.ticket.serial, 9);
	free(text);
}

/* --- digests -------------------------------------------------------------- */

static uint64_t digest_at(struct fixture *f, const char *place,
			  const struct along *along)
{
	struct philox_mesh mesh = mesh_of(place);
	uint64_t digest;

	set_up(f, &mesh, along, 5);
	OK(philox_context_digest(f->context, &digest));
	return digest;
}

PROMISE(save_mesh, digests_of_ranks_differ_where_regions_do)
{
	uint64_t first = digest_at(f, "data=0/2 tensor=0/3", &one);
	uint64_t shared = digest_at(f, "data=0/2 tensor=0/3", &none);

	cr_assert_eq(digest_at(f, "data=0/2 tensor=2/3", &one), first);
	cr_assert_neq(digest_at(f, "data=1/2 tensor=0/3", &one), first);
	cr_assert_eq(digest_at(f, "data=1/2 tensor=2/3", &none), shared);
	cr_assert_eq(digest_at(f, "", &none), shared, "as without a mesh");
	cr_assert_neq(first, shared, "what it differs along is known");
}

/* --- no memory ------------------------------------------------------------ */

/* Long enough for a text to be moved as it grows, which some of the allocations
 * are; each region makes one, too. */
PROMISE(save_mesh, a_text_is_whole_or_there_is_none)
{
	struct philox_mesh mesh = stages();
	char *before, *text = NULL;
	unsigned failed = 0;
	uint64_t n;

	set_up(f, &mesh, &both, 5);
	for (int i = 0; i < 60; i++) {
		char name[16];

		snprintf(name, sizeof(name), "more %d", i);
		make_along(f->context, name, &one);
	}
	before = text_of(f);
	for (n = 1; n < 2000 && allocations_fail(n); n++) {
		enum philox_status status =
			philox_context_save_text(f->context, &text, NULL);

		allocations_fail(0);
		failed += status == PHILOX_ERROR_MEMORY;
		cr_assert_eq(status == PHILOX_OK, text != NULL);
		if (text)
			cr_assert_str_eq(text, before, "allocation %d", (int)n);
		free(text);
		text = NULL;
	}
	cr_assert((failed > 60 && failed < 1500) || !allocations_fail(0), "%u",
		  failed);
	free(before);
}

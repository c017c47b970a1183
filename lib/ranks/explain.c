/*
 * lib/ranks/explain.c - what the texts of ranks differ in, in words
 *
 * See Note [Agreement]. Ranks are compared two by two until two are found that
 * do not agree; then all that ought to agree with them about this one item are
 * asked what they say. If the whole world is there, each rank is compared with
 * its neighbours along each axis, and else with the first of those it has to
 * agree with; only one that does not is compared with every rank before it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/mesh/mesh.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"
#include "lib/state/state.h"

/* A rank that has sent a text. */
struct rank_text {
	struct saved saved;
	size_t text; /* its number */
	uint64_t rank;
};

/* All of them, in ascending order of rank. */
struct world {
	struct rank_text *texts;
	size_t n;
	int whole; /* each rank is there */
};

/* The item about which two ranks do not agree. */
struct dispute {
	const struct rank_text *one, *other;
	enum save_item item;
	const char *name; /* of a region or table */
	enum differ_parts part;
	struct difference found;
};

/* --- what ranks do not agree on, as a message ----------------------------- */

enum { NAMED = 4 };

/* The numbers of ranks, or of texts; the first are named. */
struct numbers {
	uint64_t first[NAMED];
	uint64_t n;
};

/* Who has the first value of a difference, the second, and who another. */
struct sides {
	const char *of; /* "rank" or "text" */
	struct numbers values[2], others;
};

static void add_number(struct numbers *numbers, uint64_t number)
{
	if (numbers->n < NAMED)
		numbers->first[numbers->n] = number;
	numbers->n++;
}

static int is_same(const struct difference *a, const struct difference *b)
{
	const struct difference_words left = difference_words(a);
	const struct difference_words right = difference_words(b);

	return !strcmp(left.place, right.place) &&
	       !strcmp(left.what, right.what) &&
	       !strcmp(left.values[0], right.values[0]) &&
	       !strcmp(left.values[1], right.values[1]);
}

/* One whose difference from the first is `own`, NULL if there is none. */
static void count_side(struct sides *sides, uint64_t number,
		       const struct difference *own,
		       const struct difference *found)
{
	add_number(!own                  ? &sides->values[0]
		   : is_same(own, found) ? &sides->values[1]
					 : &sides->others,
		   number);
}

struct words {
	char *text;
	size_t size, length;
};

static void add_words(struct words *words, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_words(struct words *words, const char *format, ...)
{
	va_list arguments;
	int added;

	if (words->length >= words->size)
		return;
	va_start(arguments, format);
	added = vsnprintf(words->text + words->length,
			  words->size - words->length, format, arguments);
	va_end(arguments);
	if (added > 0)
		words->length += (size_t)added;
}

/* Between the i-th of n and the one before it. */
static const char *joint(uint64_t i, uint64_t n)
{
	return !i ? "" : i + 1 == n ? " and " : ", ";
}

/* "rank 2", "ranks 0, 1 and 3", "ranks 0, 1, 2 and 13 others" */
static void add_numbers(struct words *words, const char *of,
			const struct numbers *numbers)
{
	const int all = numbers->n <= NAMED;
	const uint64_t named = all ? numbers->n : NAMED - 1;

	add_words(words, "%s%s ", of, status_s(numbers->n));
	for (uint64_t i = 0; i < named; i++)
		add_words(words, "%s%" PRIu64,
			  joint(i, all ? named : UINT64_MAX),
			  numbers->first[i]);
	if (!all)
		add_words(words, " and %" PRIu64 " others", numbers->n - named);
}

/* Along which axes two ranks of a mesh do not agree: how a message begins. */
static void say_along(const struct philox_mesh *a, const struct philox_mesh *b,
		      char *text, size_t size)
{
	struct words words = {.text = text, .size = size};
	const char *names[PHILOX_MESH_AXES];
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->n_axes; i++)
		if (a->axes[i].coordinate != b->axes[i].coordinate)
			names[n++] = a->axes[i].name;
	add_words(&words, "ranks do not agree along ax%s ",
		  n == 1 ? "is" : "es");
	for (uint32_t i = 0; i < n; i++)
		add_words(&words, "%s'%.40s'", joint(i, n), names[i]);
}

static enum philox_status say_all(const char *begin,
				  const struct difference *found,
				  const struct sides *sides)
{
	const struct difference_words differs = difference_words(found);
	const char *on = strcmp(sides->of, "rank") ? "in" : "on";
	char text[512];
	struct words words = {.text = text, .size = sizeof(text)};

	add_words(&words, "%s: %s: %s", begin, differs.place, differs.what);
	for (int i = 0; i < 2; i++) {
		add_words(&words, "%s %s %s ", i ? "," : "", differs.values[i],
			  on);
		add_numbers(&words, sides->of, &sides->values[i]);
	}
	if (sides->others.n) {
		add_words(&words, "; something else %s ", on);
		add_numbers(&words, sides->of, &sides->others);
	}
	return status_set(PHILOX_ERROR_MISMATCH, "%s", text);
}

/* --- the first rank at the same coordinates ------------------------------- */

/*
 * Of some ranks of a mesh, not all of which need be there, and some of its
 * axes: the first that has a rank's coordinates along these. As agreement is
 * equality, a rank that agrees with it agrees with all of them.
 */
struct firsts {
	const struct philox_mesh *mesh; /* of any of the ranks */
	const uint64_t *ranks;          /* each once, in ascending order */
	size_t n;
	size_t *along[1 << PHILOX_MESH_AXES]; /* by axes; NULL: not made */
};

struct place {
	uint64_t at;
	size_t number; /* of the rank there */
};

/* The rank with the same coordinates along these axes and 0 along others. */
static uint64_t place_of(const struct philox_mesh *mesh, uint64_t rank,
			 unsigned axes)
{
	uint64_t stride = 1, at = 0;

	for (uint32_t i = mesh->n_axes; i--;) {
		const uint64_t size = mesh->axes[i].n_ranks;

		if (axes & 1u << i)
			at += rank % size * stride;
		rank /= size;
		stride *= size;
	}
	return at;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static void fill_firsts(const struct firsts *firsts, unsigned axes,
			struct place *places, size_t *made)
{
	size_t first = 0;

	for (size_t i = 0; i < firsts->n; i++) {
		places[i].at = place_of(firsts->mesh, firsts->ranks[i], axes);
		places[i].number = i;
	}
	qsort(places, firsts->n, sizeof(*places), compare_places);
	for (size_t i = 0; i < firsts->n; i++) {
		if (places[i].at != places[first].at)
			first = i;
		made[places[i].number] = places[first].number;
	}
}

/*
 * Makes those along axes, bit i for axis i, unless they are there;
 * along[axes][r] is then the number of the first one of ranks[r].
 */
static enum philox_status make_firsts_along(struct firsts *firsts,
					    unsigned axes)
{
	struct place *places;
	size_t *made;

	if (firsts->along[axes])
		return PHILOX_OK;
	places = calloc(firsts->n, sizeof(*places));
	made = calloc(firsts->n, sizeof(*made));
	if (!places || !made) {
		free(places);
		free(made);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to compare %zu text%s", firsts->n,
				  status_s(firsts->n));
	}
	fill_firsts(firsts, axes, places, made);
	free(places);
	firsts->along[axes] = made;
	return PHILOX_OK;
}

static void finish_firsts(struct firsts *firsts)
{
	for (unsigned i = 0; i < 1u << PHILOX_MESH_AXES; i++)
		free(firsts->along[i]);
}

/* --- reading -------------------------------------------------------------- */

static enum philox_status read_told(struct world *world,
				    const char *const *texts,
				    const size_t *sizes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct rank_text *rank_text = &world->texts[i];
		enum philox_status status =
			texts[i] ? save_read_rank(texts[i], sizes[i],
						  &rank_text->saved)
				 : status_set(PHILOX_ERROR_INVALID,
					      "it is NULL");

		if (status != PHILOX_OK)
			return status_prefix(status, "text %zu: ", i);
		world->n++;
		rank_text->text = i;
		rank_text->rank = mesh_rank(&rank_text->saved.mesh);
	}
	return PHILOX_OK;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct rank_text *left = a, *right = b;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return left->text < right->text ? -1 : left->text > right->text;
}

static enum philox_status sort_told(struct world *world)
{
	qsort(world->texts, world->n, sizeof(*world->texts), compare_ranks);
	for (size_t i = 1; i < world->n; i++)
		if (world->texts[i - 1].rank == world->texts[i].rank)
			return status_set(PHILOX_ERROR_INVALID,
					  "texts %zu and %zu are both of rank "
					  "%" PRIu64,
					  world->texts[i - 1].text,
					  world->texts[i].text,
					  world->texts[i].rank);
	world->whole = world->n == mesh_world(&world->texts[0].saved.mesh);
	return PHILOX_OK;
}

static void finish_told(struct world *world)
{
	for (size_t i = 0; i < world->n; i++)
		saved_finish(&world->texts[i].saved);
	free(world->texts);
}

/* --- meshes --------------------------------------------------------------- */

/* Ranks of different meshes have no ranks in common: texts are counted. */
static enum philox_status explain_mesh(const struct world *world,
				       const struct difference *found)
{
	const struct saved *first = &world->texts[0].saved;
	struct sides sides = {.of = "text"};
	struct difference other;

	for (size_t i = 0; i < world->n; i++) {
		const int differs =
			differ_mesh(&first->mesh, &world->texts[i].saved.mesh,
				    DIFFER_SHAPE, &other);

		count_side(&sides, i, differs ? &other : NULL, found);
	}
	return say_all("texts of different meshes", found, &sides);
}

static enum philox_status compare_meshes_told(const struct world *world)
{
	struct difference found;

	for (size_t i = 1; i < world->n; i++)
		if (differ_mesh(&world->texts[0].saved.mesh,
				&world->texts[i].saved.mesh, DIFFER_SHAPE,
				&found))
			return explain_mesh(world, &found);
	return PHILOX_OK;
}

/* --- what ought to agree -------------------------------------------------- */

static int on_other_stages(const struct rank_text *a, const struct rank_text *b)
{
	const struct philox_mesh *left = &a->saved.mesh;
	const struct philox_mesh *right = &b->saved.mesh;

	for (uint32_t i = 0; i < left->n_axes; i++)
		if ((left->axes[i].flags & PHILOX_AXIS_STAGES) &&
		    left->axes[i].coordinate != right->axes[i].coordinate)
			return 1;
	return 0;
}

/* Two ranks differ along an axis along which a region of the first does. */
static int has_own_numbers(const struct rank_text *a,
			   const struct saved_region *region,
			   const struct rank_text *b)
{
	for (size_t i = 0; i < region->n_axes; i++) {
		const char *axis = a->saved.axes[region->axis + i];

		if (mesh_coordinate(&a->saved.mesh, axis) !=
		    mesh_coordinate(&b->saved.mesh, axis))
			return 1;
	}
	return 0;
}

static int dispute_generators(const struct rank_text *a,
			      const struct rank_text *b,
			      struct difference *found)
{
	return differ_generators(&a->saved, &b->saved,
				 DIFFER_SHAPE | DIFFER_STATES, found);
}

static int dispute_pair(const struct saved_pair *pair,
			const struct rank_text *a, const struct rank_text *b,
			struct dispute *dispute)
{
	dispute->item = pair->item;
	dispute->name = saved_name(pair->in_a ? pair->in_a : pair->in_b);
	dispute->part = DIFFER_SHAPE;
	if (differ_pair(pair, DIFFER_SHAPE, &dispute->found))
		return 1;
	if (pair->item == SAVE_TABLE)
		return 0;
	dispute->part = DIFFER_STATES;
	return (pair->item == SAVE_DATA ||
		!has_own_numbers(a, pair->in_a, b)) &&
	       differ_pair(pair, DIFFER_STATES, &dispute->found);
}

static int dispute_items(const struct rank_text *a, const struct rank_text *b,
			 enum save_item item, struct dispute *dispute)
{
	struct saved_pair pair = {.a = &a->saved, .b = &b->saved, .item = item};

	while (saved_next_pair(&pair))
		if (dispute_pair(&pair, a, b, dispute))
			return 1;
	return 0;
}

/* Whether two ranks do not agree, and about what. */
static int dispute_ranks(const struct rank_text *a, const struct rank_text *b,
			 struct dispute *dispute)
{
	memset(dispute, 0, sizeof(*dispute));
	dispute->one = a;
	dispute->other = b;
	dispute->item = SAVE_GENERATORS;
	if (dispute_generators(a, b, &dispute->found))
		return 1;
	return !on_other_stages(a, b) &&
	       (dispute_items(a, b, SAVE_REGION, dispute) ||
		dispute_items(a, b, SAVE_TABLE, dispute) ||
		dispute_items(a, b, SAVE_DATA, dispute));
}

/* --- finding two ranks ---------------------------------------------------- */

static int dispute_neighbours(const struct world *world, size_t rank,
			      struct dispute *dispute)
{
	const struct rank_text *rank_text = &world->texts[rank];
	const struct philox_mesh *mesh = &rank_text->saved.mesh;
	size_t stride = 1;

	for (uint32_t i = mesh->n_axes; i--; stride *= mesh->axes[i].n_ranks)
		if (mesh->axes[i].coordinate &&
		    dispute_ranks(&world->texts[rank - stride], rank_text,
				  dispute))
			return 1;
	return 0;
}

static int find_in_whole(const struct world *world, struct dispute *dispute)
{
	for (size_t i = 1; i < world->n; i++)
		if (dispute_neighbours(world, i, dispute))
			return 1;
	return 0;
}

/* --- finding two ranks of a part of the world ----------------------------- */

static unsigned axes_with_stages(const struct rank_text *rank_text)
{
	const struct philox_mesh *mesh = &rank_text->saved.mesh;
	unsigned axes = 0;

	for (uint32_t i = 0; i < mesh->n_axes; i++)
		if (mesh->axes[i].flags & PHILOX_AXIS_STAGES)
			axes |= 1u << i;
	return axes;
}

/* Along these axes, ranks need not have the same states of a region. */
static unsigned axes_apart(const struct rank_text *rank_text,
			   const struct saved_region *region)
{
	const struct philox_mesh *mesh = &rank_text->saved.mesh;
	unsigned axes = axes_with_stages(rank_text);

	for (size_t i = 0; i < region->n_axes; i++) {
		const char *name = rank_text->saved.axes[region->axis + i];
		const struct philox_axis *axis = mesh_find(mesh, name);

		if (axis)
			axes |= 1u << (axis - mesh->axes);
	}
	return axes;
}

static enum philox_status make_firsts(const struct world *world,
				      struct firsts *firsts)
{
	enum philox_status status =
		make_firsts_along(firsts, axes_with_stages(&world->texts[0]));

	for (size_t i = 0; i < world->n; i++) {
		const struct rank_text *rank_text = &world->texts[i];

		for (size_t k = 0;
		     status == PHILOX_OK && k < rank_text->saved.n_regions; k++)
			status = make_firsts_along(
				firsts,
				axes_apart(rank_text,
					   &rank_text->saved.regions[k]));
	}
	return status;
}

/* That rank and the first have the same regions, as those before it agree. */
static int disputes_states(const struct world *world,
			   const struct firsts *firsts, size_t rank)
{
	const struct rank_text *rank_text = &world->texts[rank];
	struct difference found;

	for (size_t i = 0; i < rank_text->saved.n_regions; i++) {
		const struct saved_region *region =
			&rank_text->saved.regions[i];
		const unsigned axes = axes_apart(rank_text, region);
		const struct rank_text *first =
			&world->texts[firsts->along[axes][rank]];

		if (differ_region(&first->saved, &first->saved.regions[i],
				  &rank_text->saved, region, DIFFER_STATES,
				  &found))
			return 1;
	}
	return 0;
}

/* Whether it does not agree with all before it, which agree. */
static int disputes_lower(const struct world *world,
			  const struct firsts *firsts, size_t rank)
{
	const struct rank_text *rank_text = &world->texts[rank];
	const unsigned stages = axes_with_stages(rank_text);
	const size_t first = firsts->along[stages][rank];
	struct dispute any;

	return dispute_generators(&world->texts[0], rank_text, &any.found) ||
	       dispute_ranks(&world->texts[first], rank_text, &any) ||
	       disputes_states(world, firsts, rank);
}

/* The first of those before it that it does not agree with. */
static int dispute_lower(const struct world *world, size_t rank,
			 struct dispute *dispute)
{
	for (size_t i = 0; i < rank; i++)
		if (dispute_ranks(&world->texts[i], &world->texts[rank],
				  dispute))
			return 1;
	return 0;
}

static int find_with_firsts(const struct world *world,
			    const struct firsts *firsts,
			    struct dispute *dispute)
{
	for (size_t i = 1; i < world->n; i++)
		if (disputes_lower(world, firsts, i))
			return dispute_lower(world, i, dispute);
	return 0;
}

static enum philox_status find_in_part(const struct world *world, int *found,
				       struct dispute *dispute)
{
	struct firsts firsts = {.mesh = &world->texts[0].saved.mesh,
				.n = world->n};
	uint64_t *ranks = calloc(world->n, sizeof(*ranks));
	enum philox_status status;

	if (!ranks)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for the ranks of %zu text%s",
				  world->n, status_s(world->n));
	for (size_t i = 0; i < world->n; i++)
		ranks[i] = world->texts[i].rank;
	firsts.ranks = ranks;
	status = make_firsts(world, &firsts);
	if (status == PHILOX_OK)
		*found = find_with_firsts(world, &firsts, dispute);
	finish_firsts(&firsts);
	free(ranks);
	return status;
}

static enum philox_status find_dispute(const struct world *world, int *found,
				       struct dispute *dispute)
{
	if (!world->whole)
		return find_in_part(world, found, dispute);
	*found = find_in_whole(world, dispute);
	return PHILOX_OK;
}

/* --- asking all others ---------------------------------------------------- */

/* The item of a dispute; NULL: there is none of its name. */
static const void *find_item(const struct dispute *dispute,
			     const struct rank_text *rank_text)
{
	const void *item;

	for (size_t i = 0;
	     (item = saved_item(&rank_text->saved, dispute->item, i)); i++)
		if (!strcmp(saved_name(item), dispute->name))
			break;
	return item;
}

/* Whether a rank ought to agree with those of a dispute about its item. */
static int is_concerned(const struct dispute *dispute,
			const struct rank_text *rank_text)
{
	if (dispute->item == SAVE_GENERATORS)
		return 1;
	if (on_other_stages(dispute->one, rank_text))
		return 0;
	return dispute->part == DIFFER_SHAPE || dispute->item == SAVE_DATA ||
	       !has_own_numbers(dispute->one, find_item(dispute, dispute->one),
				rank_text);
}

/* Whether it does not agree with the first of them about the item. */
static int disputes(const struct dispute *dispute,
		    const struct rank_text *rank_text, struct difference *found)
{
	const struct rank_text *one = dispute->one;
	struct saved_pair pair = {.a = &one->saved,
				  .b = &rank_text->saved,
				  .item = dispute->item};

	if (dispute->item == SAVE_GENERATORS)
		return dispute_generators(one, rank_text, found);
	pair.in_a = find_item(dispute, one);
	pair.in_b = find_item(dispute, rank_text);
	return differ_pair(&pair,
			   pair.item == SAVE_TABLE
				   ? DIFFER_SHAPE
				   : DIFFER_SHAPE | dispute->part,
			   found);
}

static enum philox_status explain_dispute(const struct world *world,
					  const struct dispute *dispute)
{
	struct sides sides = {.of = "rank"};
	struct difference own;
	char along[128];

	for (size_t i = 0; i < world->n; i++) {
		const struct rank_text *rank_text = &world->texts[i];
		int differs;

		if (!is_concerned(dispute, rank_text))
			continue;
		differs = disputes(dispute, rank_text, &own);
		count_side(&sides, rank_text->rank, differs ? &own : NULL,
			   &dispute->found);
	}
	say_along(&dispute->one->saved.mesh, &dispute->other->saved.mesh, along,
		  sizeof(along));
	return say_all(along, &dispute->found, &sides);
}

/* --- the whole ------------------------------------------------------------ */

static enum philox_status explain_told(struct world *world,
				       const char *const *texts,
				       const size_t *sizes, size_t n)
{
	enum philox_status status = read_told(world, texts, sizes, n);
	struct dispute dispute;
	int found = 0;

	if (status == PHILOX_OK)
		status = compare_meshes_told(world);
	if (status == PHILOX_OK)
		status = sort_told(world);
	if (status == PHILOX_OK)
		status = find_dispute(world, &found, &dispute);
	return found ? explain_dispute(world, &dispute) : status;
}

enum philox_status agree_explain(const char *const *texts, const size_t *sizes,
				 size_t n)
{
	struct world world = {.texts = calloc(n, sizeof(*world.texts))};
	enum philox_status status;

	if (!world.texts)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for %zu text%s", n, status_s(n));
	status = explain_told(&world, texts, sizes, n);
	finish_told(&world);
	return status;
}

/* --- public --------------------------------------------------------------- */

enum philox_status philox_context_rank_describe(struct philox_context *context,
						char **text, size_t *bytes)
{
	const struct save_part all = {0, 0};
	enum philox_status status;
	struct text written;

	if (!context || !text)
		return context_null(context, context ? "text" : "context");
	NEED_PROCESS(context);
	context_lock(context);
	status = save_write_part(context, &all, &written);
	context_unlock(context);
	if (status == PHILOX_OK)
		status =
			text_put(&written, (struct text_target){.text = text,
								.size = bytes});
	return context_report(context, status, NULL);
}

enum philox_status philox_mesh_explain(const char *const *texts,
				       const size_t *bytes, size_t n_texts)
{
	if (!texts || !bytes)
		return status_set(PHILOX_ERROR_INVALID, "%s is NULL",
				  texts ? "bytes" : "texts");
	if (!n_texts)
		return status_set(PHILOX_ERROR_INVALID, "n_texts is 0");
	return agree_explain(texts, bytes, n_texts);
}

/*
 * tests/mesh/merge_random.c - runs that change their mesh again and again
 *
 * All ranks are contexts of this process. A model, made from the words of
 * philox/mesh.h alone, knows of each region and each place along the axes
 * along which it differs what comes next, and which tickets are pending; every
 * forward and backward must have the numbers that it says, and no number may
 * come twice that did not come from copies of one tensor.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/support/ranks/set.h"

enum {
	AXES = 4,
	PIPE = 2, /* the axis of stages */
	SIZE_MOST = 3,
	PLACES = 256, /* two bits of each coordinate */
	REGIONS = 6,
	SHARED = 0, /* draws from the generator */
	PENDING_MOST = 3
};

static const char *const axis_names[AXES] = {"data", "tensor", "pipe", "seq"};

struct mark {
	uint64_t offset, serial;
};

struct owed {
	uint64_t serial;
	struct numbers saw;
};

/* What comes next at one place, and what was issued at places that are gone. */
struct place {
	int there;
	struct mark next, issued;
	struct owed owed[PENDING_MOST];
	unsigned n_owed;
};

struct model {
	char name[16];
	unsigned along; /* a bit for each axis */
	int staged;
	uint32_t stage;
	int alive;
	struct place places[PLACES];
};

struct world {
	struct fixture *f;
	uint64_t random, seed, offset; /* of the generator */
	uint32_t size[AXES];           /* 0: no such axis */
	struct bed bed;
	struct philox_region *region[REGIONS][BED_RANKS];
	struct philox_generator *own[BED_RANKS]; /* that differs */
	uint64_t own_offset[BED_RANKS];
	struct model model[REGIONS];
	struct block_set *issued;
	unsigned fresh;
	unsigned unread; /* texts that a load has done without */
	unsigned axes;   /* along which regions may differ: bits */
	int alike;       /* ranks say the same, but for those */
};

/* --- meshes --------------------------------------------------------------- */

static uint32_t size_along(const uint32_t size[AXES], unsigned axis)
{
	return size[axis] ? size[axis] : 1;
}

static struct philox_mesh mesh_with(const uint32_t size[AXES])
{
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	for (unsigned i = 0; i < AXES; i++)
		if (size[i])
			mesh.axes[mesh.n_axes++] = (struct philox_axis){
				.name = axis_names[i],
				.n_ranks = size[i],
				.flags = i == PIPE ? PHILOX_AXIS_STAGES : 0};
	return mesh;
}

/* At most 8 ranks. */
static void choose_sizes(struct world *w, uint32_t size[AXES])
{
	uint32_t all;

	do {
		all = 1;
		for (unsigned i = 0; i < AXES; i++) {
			size[i] = bed_below(&w->random, 3)
					  ? 1 + bed_below(&w->random, SIZE_MOST)
					  : 0;
			all *= size_along(size, i);
		}
	} while (all > 8);
}

static uint32_t coordinate_at(const struct philox_mesh *mesh, unsigned axis)
{
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		if (!strcmp(mesh->axes[i].name, axis_names[axis]))
			return mesh->axes[i].coordinate;
	return 0;
}

static unsigned place_of(const struct model *m, const struct philox_mesh *mesh)
{
	unsigned place = 0;

	for (unsigned i = 0; i < AXES; i++)
		if (m->along >> i & 1)
			place |= coordinate_at(mesh, i) << 2 * i;
	return place;
}

static int is_on(const struct model *m, const struct philox_mesh *mesh)
{
	return m->alive &&
	       (!m->staged || coordinate_at(mesh, PIPE) == m->stage);
}

/* --- contexts ------------------------------------------------------------- */

/* A mesh with axes has those along which its regions differ. */
static struct along along_in(const struct model *m,
			     const struct philox_mesh *mesh)
{
	struct along along = {.n = 0};

	for (unsigned i = AXES; i--;) {
		int is_there = !mesh->n_axes;

		for (uint32_t k = 0; k < mesh->n_axes; k++)
			is_there |= !strcmp(mesh->axes[k].name, axis_names[i]);
		if (is_there && m->along >> i & 1)
			along.names[along.n++] = axis_names[i];
	}
	return along;
}

static void make_on(struct world *w, unsigned r, unsigned rank)
{
	const struct model *m = &w->model[r];
	struct along along = along_in(m, &w->bed.mesh[rank]);

	OK(try_along(w->bed.context[rank], m->name,
		     r == SHARED ? PHILOX_REGION_SHARED : 0, along.names,
		     along.n, &w->region[r][rank]));
}

static void open_contexts(struct world *w)
{
	struct philox_mesh mesh = mesh_with(w->size);

	bed_open(&w->bed, w->f, &mesh, 77);
	for (unsigned rank = 0; rank < w->bed.n; rank++)
		OK(philox_generator_create_flags(w->bed.context[rank], 5,
						 PHILOX_GENERATOR_DIFFERS,
						 &w->own[rank]));
	for (unsigned rank = 0; rank < w->bed.n; rank++)
		for (unsigned r = 0; r < REGIONS; r++)
			if (is_on(&w->model[r], &w->bed.mesh[rank]))
				make_on(w, r, rank);
}

/* --- a region at one place ------------------------------------------------ */

static struct numbers shared_numbers(const struct world *w)
{
	struct numbers numbers;

	for (uint32_t site = 0; site < SITES; site++)
		model_words(w->seed, w->offset + 4 * site, 0, COUNT,
			    &numbers.word[site * COUNT]);
	return numbers;
}

static struct numbers next_numbers(const struct world *w, unsigned r,
				   unsigned rank)
{
	const struct model *m = &w->model[r];
	const struct philox_mesh *mesh = &w->bed.mesh[rank];
	struct along along = along_in(m, mesh);

	if (r == SHARED)
		return shared_numbers(w);
	return model_numbers(model_region(w->seed, m->name,
					  mesh->n_axes ? mesh : NULL, &along),
			     m->places[place_of(m, mesh)].next.offset);
}

/* The same on all ranks of the place, and nothing else ever had it. */
static void forward_at(struct world *w, unsigned r, unsigned place)
{
	struct model *m = &w->model[r];
	struct place *p = &m->places[place];
	struct owed *owed = &p->owed[p->n_owed];
	int first = 1;

	for (unsigned rank = 0; rank < w->bed.n; rank++) {
		struct forward made;

		if (!is_on(m, &w->bed.mesh[rank]) ||
		    place_of(m, &w->bed.mesh[rank]) != place)
			continue;
		owed->saw = next_numbers(w, r, rank);
		made = forward(w->f, w->region[r][rank]);
		SAME(made.saw, owed->saw, "region %s, place %u, offset %d",
		     m->name, place, (int)p->next.offset);
		cr_assert_eq(made.ticket.serial, p->next.serial);
		cr_assert(!first || !block_set_add(w->issued, &made.saw),
			  "region %s, place %u: numbers come again", m->name,
			  place);
		first = 0;
	}
	owed->serial = p->next.serial++;
	if (r == SHARED)
		w->offset += 16;
	else
		p->next.offset += 4;
	p->n_owed++;
}

static void backward_at(struct world *w, unsigned r, unsigned place, unsigned k)
{
	struct model *m = &w->model[r];
	struct place *p = &m->places[place];

	for (unsigned rank = 0; rank < w->bed.n; rank++) {
		struct philox_ticket ticket = {fnv1a(m->name),
					       p->owed[k].serial};

		if (!is_on(m, &w->bed.mesh[rank]) ||
		    place_of(m, &w->bed.mesh[rank]) != place)
			continue;
		SAME(backward_numbers(w->f, w->region[r][rank], ticket, 0),
		     p->owed[k].saw, "region %s, place %u: ticket %d", m->name,
		     place, (int)p->owed[k].serial);
		PENDING(w->region[r][rank], p->n_owed - 1);
	}
	p->owed[k] = p->owed[--p->n_owed];
}

static void run_at(struct world *w, unsigned r, unsigned place)
{
	struct place *p = &w->model[r].places[place];

	for (uint32_t n = bed_below(&w->random, 4); n; n--) {
		if (p->n_owed < PENDING_MOST && bed_below(&w->random, 2))
			forward_at(w, r, place);
		else if (p->n_owed)
			backward_at(w, r, place,
				    bed_below(&w->random, p->n_owed));
	}
}

static void drain(struct world *w, unsigned r)
{
	for (unsigned place = 0; place < PLACES; place++)
		while (w->model[r].places[place].there &&
		       w->model[r].places[place].n_owed)
			backward_at(w, r, place, 0);
}

/* --- names that end and begin again --------------------------------------- */

static void raise_to(struct mark *mark, struct mark other)
{
	mark->offset =
		other.offset > mark->offset ? other.offset : mark->offset;
	mark->serial =
		other.serial > mark->serial ? other.serial : mark->serial;
}

/* It goes on after all that was issued by places that are gone. */
static void destroy(struct world *w, unsigned r)
{
	struct model *m = &w->model[r];

	for (unsigned rank = 0; rank < w->bed.n; rank++)
		OK(philox_region_destroy(w->region[r][rank]));
	m->alive = 0;
	for (unsigned place = 0; place < PLACES; place++) {
		struct place *p = &m->places[place];

		raise_to(&p->next, p->issued);
		p->issued = (struct mark){0};
		p->n_owed = 0;
	}
}

static void make_again(struct world *w, unsigned r)
{
	w->model[r].alive = 1;
	for (unsigned rank = 0; rank < w->bed.n; rank++)
		make_on(w, r, rank);
}

static void seed_again(struct world *w)
{
	w->seed = bed_random(&w->random);
	w->offset = 0;
	for (unsigned rank = 0; rank < w->bed.n; rank++)
		OK(philox_generator_seed(
			philox_context_generator(w->bed.context[rank]),
			w->seed));
	for (unsigned r = 0; r < REGIONS; r++)
		for (unsigned place = 0; place < PLACES; place++) {
			w->model[r].places[place].next.offset = 0;
			w->model[r].places[place].issued.offset = 0;
		}
}

static void run(struct world *w)
{
	for (unsigned r = 0; r < REGIONS; r++) {
		struct model *m = &w->model[r];

		if (r != SHARED && !m->staged && !bed_below(&w->random, 6))
			m->alive ? destroy(w, r) : make_again(w, r);
		for (unsigned place = 0; m->alive && place < PLACES; place++)
			if (m->places[place].there)
				run_at(w, r, place);
	}
	if (!bed_below(&w->random, 6))
		seed_again(w);
	for (unsigned rank = 0; !w->alike && rank < w->bed.n; rank++) {
		const uint64_t words = 4 * bed_below(&w->random, 3);

		OK(philox_generator_advance(w->own[rank], words, NULL));
		w->own_offset[rank] += words;
	}
}

/* --- another mesh --------------------------------------------------------- */

/* As high as that of any rank, on all ranks of another mesh. */
static void raise_own(struct world *w, unsigned before)
{
	uint64_t highest = 0;

	for (unsigned rank = 0; rank < before; rank++)
		if (highest < w->own_offset[rank])
			highest = w->own_offset[rank];
	for (unsigned rank = 0; rank < BED_RANKS; rank++)
		w->own_offset[rank] = highest;
}

static void check_own(const struct world *w)
{
	for (unsigned rank = 0; rank < w->bed.n; rank++) {
		struct philox_state state;

		OK(philox_generator_get_state(w->own[rank], &state));
		cr_assert_eq(state.offset, w->own_offset[rank], "rank %u",
			     rank);
	}
}

static int is_same_mesh(const uint32_t a[AXES], const uint32_t b[AXES])
{
	for (unsigned i = 0; i < AXES; i++)
		if (size_along(a, i) != size_along(b, i))
			return 0;
	return 1;
}

static int has_changed(const struct model *m, const uint32_t a[AXES],
		       const uint32_t b[AXES])
{
	for (unsigned i = 0; i < AXES; i++)
		if (m->along >> i & 1 && size_along(a, i) != size_along(b, i))
			return 1;
	return 0;
}

static int is_gone(unsigned place, const uint32_t size[AXES])
{
	for (unsigned i = 0; i < AXES; i++)
		if ((place >> 2 * i & 3) >= size_along(size, i))
			return 1;
	return 0;
}

static int has_tickets(const struct model *m)
{
	for (unsigned place = 0; place < PLACES; place++)
		if (m->places[place].there && m->places[place].n_owed)
			return 1;
	return 0;
}

/* What all places have issued, and what those that will not be. */
static void sum_up(const struct model *m, const uint32_t size[AXES],
		   struct mark *all, struct mark *gone)
{
	for (unsigned place = 0; place < PLACES; place++) {
		const struct place *p = &m->places[place];

		if (!p->there)
			continue;
		raise_to(all, p->next);
		raise_to(all, p->issued);
		raise_to(gone, p->issued);
		if (is_gone(place, size))
			raise_to(gone, p->next);
	}
}

/* Before the bed of the new mesh is open, whose ranks say which places are. */
static void reshape(struct world *w, unsigned r, const uint32_t size[AXES])
{
	struct model *m = &w->model[r];
	struct mark all = {0}, gone = {0};
	struct philox_mesh at = mesh_with(size);
	struct place places[PLACES] = {{.there = 0}};

	sum_up(m, size, &all, &gone);
	do {
		unsigned place = place_of(m, &at);
		struct place *p = &places[place];

		if (p->there || (m->alive && !is_on(m, &at)))
			continue;
		if (m->alive && m->places[place].there) {
			*p = m->places[place];
			p->issued = gone;
		} else {
			p->next = all;
			w->fresh += m->alive;
		}
		p->there = 1;
	} while (next_place(&at));
	memcpy(m->places, places, sizeof(places));
}

static void move_stages(struct world *w, const uint32_t size[AXES])
{
	for (unsigned r = 0; r < REGIONS; r++)
		if (w->model[r].staged)
			w->model[r].stage =
				bed_below(&w->random, size_along(size, PIPE));
}

/* Tickets of a region that differs along an axis that changes are refused. */
static void settle_tickets(struct world *w, const uint32_t size[AXES])
{
	int refused = 0;

	for (unsigned r = 0; r < REGIONS; r++)
		refused |= w->model[r].alive &&
			   has_changed(&w->model[r], w->size, size) &&
			   has_tickets(&w->model[r]);
	if (refused) {
		struct world other = *w;

		memcpy(other.size, size, sizeof(other.size));
		for (unsigned r = 0; r < REGIONS; r++)
			other.model[r].staged = 0;
		open_contexts(&other);
		FAILS(philox_context_load_ranks(other.bed.context[0], "set"),
		      PHILOX_ERROR_MISMATCH);
		NAMES("cannot be divided");
		bed_close(&other.bed);
		w->f->context = w->bed.own;
	}
	for (unsigned r = 0; r < REGIONS; r++)
		if (w->model[r].alive &&
		    has_changed(&w->model[r], w->size, size))
			drain(w, r);
}

static void check_digests(struct world *w, const char *path)
{
	struct world other = *w;

	open_contexts(&other);
	load_bed(&other.bed, path);
	for (unsigned rank = 0; rank < w->bed.n; rank++) {
		uint64_t direct, merged;
		char *a = context_text(w->bed.context[rank]);
		char *b = context_text(other.bed.context[rank]);

		OK(philox_context_digest(w->bed.context[rank], &direct));
		OK(philox_context_digest(other.bed.context[rank], &merged));
		cr_assert_str_eq(a, b);
		cr_assert_eq(direct, merged);
		free(a);
		free(b);
	}
	bed_close(&other.bed);
	w->f->context = w->bed.own;
}

/* Where the stages go, and along which axes that are new regions differ. */
static void merge_beside(struct world *w, const uint32_t before[AXES])
{
	char mesh[128] = "", word[REGIONS * AXES][32];
	char *argv[4 * REGIONS * AXES] = {"merge", "set", "merged", "--mesh",
					  mesh};
	int argc = 5, n = 0;
	size_t end = 0;

	for (unsigned i = 0; i < AXES; i++)
		if (w->size[i])
			end += (size_t)sprintf(mesh + end, "%s%s=%u",
					       end ? "," : "", axis_names[i],
					       w->size[i]);
	for (unsigned r = 0; r < REGIONS; r++) {
		const struct model *m = &w->model[r];

		if (m->staged && w->size[PIPE]) {
			sprintf(word[n], "%s=pipe:%u", m->name, m->stage);
			argv[argc++] = "--place";
			argv[argc++] = word[n++];
		}
		for (unsigned i = 0; m->alive && i < AXES; i++) {
			if (!(m->along >> i & 1) || before[i] || !w->size[i])
				continue;
			sprintf(word[n], "%s=%s", m->name, axis_names[i]);
			argv[argc++] = "--differs";
			argv[argc++] = word[n++];
		}
	}
	cr_assert_eq(quiet_merge(argc, argv), 0);
	check_digests(w, "merged");
}

/* The texts of all ranks, one after the other. */
static char *all_texts(struct world *w)
{
	size_t size = 1;
	char *all = calloc(1, size);

	for (unsigned rank = 0; rank < w->bed.n; rank++) {
		char *text = context_text(w->bed.context[rank]);

		size += strlen(text);
		all = realloc(all, size);
		cr_assert(all);
		strcat(all, text);
		free(text);
	}
	return all;
}

/* All texts but the first of those that say the same; how many are gone. */
static unsigned remove_copies(unsigned n)
{
	char *contents[BED_RANKS], path[16];
	unsigned gone = 0;

	for (unsigned i = 0; i < n; i++) {
		char *text;
		int known = 0;

		snprintf(path, sizeof(path), "set.%u", i);
		text = file_text(path);
		contents[i] = contents_of(text);
		free(text);
		for (unsigned k = 0; k < i; k++)
			known |= !strcmp(contents[k], contents[i]);
		gone += known && !remove(path);
	}
	for (unsigned i = 0; i < n; i++)
		free(contents[i]);
	return gone;
}

/*
 * Whoever reads all texts has the same as who reads the first of those that say
 * the same, where the others are gone; before is how many there are.
 */
static void read_all_or_some(struct world *w, unsigned before, int same)
{
	char *some = all_texts(w), *all, *manifest = file_text("set");
	struct world other = *w;

	make_older("set");
	open_contexts(&other);
	load_bed(&other.bed, "set");
	all = all_texts(&other);
	cr_assert_str_eq(all, some);
	bed_close(&other.bed);
	free(all);
	put_text("set", manifest);
	if (!same) {
		w->unread += remove_copies(before);
		open_contexts(&other);
		load_bed(&other.bed, "set");
		all = all_texts(&other);
		cr_assert_str_eq(all, some);
		bed_close(&other.bed);
		free(all);
	}
	w->f->context = w->bed.own;
	free(manifest);
	free(some);
}

static void remove_set(const char *path, unsigned n)
{
	char name[32];

	remove(path);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s.%u", path, i);
		remove(name);
	}
}

static void change_mesh(struct world *w)
{
	uint32_t size[AXES], old[AXES];
	unsigned before = w->bed.n;
	int same;

	choose_sizes(w, size);
	if (!bed_below(&w->random, 4))
		memcpy(size, w->size, sizeof(size));
	save_bed(&w->bed, "set");
	settle_tickets(w, size);
	save_bed(&w->bed, "set");
	bed_close(&w->bed);
	move_stages(w, size);
	same = is_same_mesh(w->size, size);
	for (unsigned r = 0; !same && r < REGIONS; r++)
		reshape(w, r, size);
	if (!same)
		raise_own(w, before);
	memcpy(old, w->size, sizeof(old));
	memcpy(w->size, size, sizeof(size));
	open_contexts(w);
	load_bed(&w->bed, "set");
	check_own(w);
	merge_beside(w, old);
	read_all_or_some(w, before, same);
	remove_set("set", before);
	remove_set("merged", w->bed.n);
}

/* --- a life of a few meshes ----------------------------------------------- */

static void choose_model(struct world *w, unsigned r)
{
	struct model *m = &w->model[r];

	snprintf(m->name, sizeof(m->name), "%c%u",
		 (char)('a' + bed_below(&w->random, 26)), r);
	m->alive = 1;
	m->staged = r >= REGIONS - 2;
	if (r != SHARED)
		m->along = bed_below(&w->random, 16) & w->axes;
	if (m->staged)
		m->along &= ~(1u << PIPE);
}

/* How many texts loads have done without. */
static unsigned live(struct fixture *f, uint64_t random)
{
	struct world *w = calloc(1, sizeof(*w));
	unsigned meshes, unread;

	cr_assert(w);
	w->f = f;
	w->random = random;
	w->seed = 77;
	w->alike = random % 2;
	w->axes = w->alike ? 1u << random / 2 % AXES : 15;
	w->issued = block_set_new();
	choose_sizes(w, w->size);
	for (unsigned r = 0; r < REGIONS; r++)
		choose_model(w, r);
	move_stages(w, w->size);
	for (unsigned r = 0; r < REGIONS; r++)
		reshape(w, r, w->size);
	for (unsigned r = 0; r < REGIONS; r++)
		for (unsigned place = 0; place < PLACES; place++)
			w->model[r].places[place].next.serial = 1;
	open_contexts(w);
	meshes = 3 + bed_below(&w->random, 3);
	for (unsigned i = 0; i < meshes; i++) {
		run(w);
		run(w);
		change_mesh(w);
	}
	run(w);
	bed_close(&w->bed);
	block_set_free(w->issued);
	unread = w->unread;
	free(w);
	return unread;
}

Test(merge_random, numbers_go_on_or_are_new, .timeout = 240)
{
	struct fixture f;
	unsigned unread = 0;

	fixture_open(&f, "host:sync");
	enter_set();
	for (uint64_t random = 1; random <= 60; random++)
		unread += live(&f, random);
	cr_assert_gt(unread, 100, "only %u texts were not read", unread);
	leave_set();
	fixture_close(&f);
}

/*
 * tools/matrix/model/places.c - where each forward draws, according to the
 * headers
 *
 * A region that is not SHARED counts its forwards since its generator was
 * seeded; SHARED ones count together, on the generator, whose state may also be
 * set without a new seed. All states follow from
 * the count and the seed, by the formulas of philox/region.h.
 */
#include <stdio.h>
#include <string.h>
#include "tools/matrix/model/model.h"

/* The second seed is set with an offset, which then advances. */
#define OFFSET_SECOND 408
#define OFFSET_END    (UINT64_MAX - 3)

struct matrix_place matrix_place(const struct matrix_limits *limits,
				 const struct matrix_places *places,
				 unsigned region)
{
	struct matrix_place place =
		places->own[matrix_generator(limits, region)];

	if (matrix_is_shared(limits, region))
		return place;
	place.at_end = 0;
	place.number = places->in[region];
	return place;
}

int matrix_place_exists(struct matrix_place place, unsigned iterations)
{
	return !place.at_end || place.number + iterations <= 1;
}

static unsigned draws_of_form(const struct matrix_limits *limits,
			      const struct matrix_event *event,
			      struct matrix_draw draws[2])
{
	const struct form *form = form_of(event->form);

	if (event->fate == MATRIX_UNTOLD)
		return 0;
	for (unsigned i = 0; i < form->forwards; i++) {
		const struct form_pass *pass = &form->pass[form->first[i]];

		draws[i].iterations = pass->iterations;
		draws[i].region = event->region;
		if (pass->what == 'G')
			draws[i].region = (uint8_t)matrix_next_region(
				limits, event->region);
	}
	return form->forwards;
}

unsigned matrix_draws(const struct matrix_limits *limits,
		      const struct matrix_event *event,
		      struct matrix_draw draws[2])
{
	draws[0] = (struct matrix_draw){event->region, 1};
	switch (event->kind) {
	case MATRIX_FORWARD:
	case MATRIX_INFERENCE:
	case MATRIX_WARMUP:
	case MATRIX_PAIR:
	case MATRIX_KEEP:
	case MATRIX_EXCHANGE:
		return 1;
	case MATRIX_MIXED:
		draws[1].region =
			(uint8_t)matrix_next_region(limits, event->region);
		draws[1].iterations = 1;
		return 2;
	case MATRIX_LOOP:
		draws[0].iterations = FORM_LOOP;
		return 1;
	case MATRIX_BODIES:
		return draws_of_form(limits, event, draws);
	default:
		return 0;
	}
}

int matrix_is_restart(const struct matrix_event *event)
{
	return event->kind == MATRIX_SEED || event->kind == MATRIX_RESEED ||
	       event->kind == MATRIX_FOLD;
}

int matrix_is_move(const struct matrix_event *event)
{
	return event->kind == MATRIX_AT_END || event->kind == MATRIX_BACK;
}

static void tell_generator(const struct matrix_limits *limits,
			   struct matrix_places *places,
			   const struct matrix_event *event)
{
	struct matrix_place *own;

	if (event->kind == MATRIX_ADVANCE)
		places->own[event->region].number += event->status == PHILOX_OK;
	if (!matrix_is_restart(event) && !matrix_is_move(event))
		return;
	own = &places->own[event->region];
	own->number = 0;
	own->at_end = event->kind == MATRIX_AT_END;
	if (matrix_is_move(event))
		return;
	if (event->kind == MATRIX_FOLD)
		own->seed |= MATRIX_SEED_FOLDED;
	else
		own->seed &= MATRIX_SEED_SECOND;
	own->seed ^= event->kind == MATRIX_RESEED;
	for (unsigned i = 0; i < limits->regions; i++)
		if (matrix_generator(limits, i) == event->region)
			places->in[i] = 0;
}

/*
 * Numbers are reserved when a pass or launch begins, and burnt if the device
 * fails after that; an eager pass without cells asks the device before.
 */
static int reserves(const struct matrix_event *event)
{
	if (event->part == MATRIX_END || event->kind == MATRIX_WARMUP)
		return 0;
	return event->status == PHILOX_OK ||
	       (event->status == PHILOX_ERROR_DEVICE &&
		event->how != MATRIX_EAGER);
}

struct matrix_place matrix_place_take(const struct matrix_limits *limits,
				      struct matrix_places *places,
				      unsigned region, unsigned iterations)
{
	struct matrix_place taken = matrix_place(limits, places, region);
	uint16_t *number =
		matrix_is_shared(limits, region)
			? &places->own[matrix_generator(limits, region)].number
			: &places->in[region];

	*number = (uint16_t)(*number + iterations);
	return taken;
}

unsigned matrix_places_tell(const struct matrix_limits *limits,
			    struct matrix_places *places,
			    const struct matrix_event *event,
			    struct matrix_place taken[2])
{
	struct matrix_draw draws[2];
	unsigned n;

	tell_generator(limits, places, event);
	n = matrix_draws(limits, event, draws);
	if (matrix_is_call(event) && event->status != PHILOX_OK)
		n = event->burnt;
	else if (!reserves(event))
		return 0;
	for (unsigned i = 0; i < n; i++)
		taken[i] = matrix_place_take(limits, places, draws[i].region,
					     draws[i].iterations);
	return n;
}

/* --- states --------------------------------------------------------------- */

void matrix_shape_init(struct matrix_shape *shape, unsigned ops, int draw)
{
	memset(shape, 0, sizeof(*shape));
	shape->ops = ops;
	shape->draw = draw;
	for (unsigned i = 0; i < ops; i++) {
		struct philox_op_desc *op = &shape->op[i];

		op->calls = i % 3 == 2 ? 2 : 1;
		op->advance = i % 2 ? 8 : 4;
		if (op->advance > shape->largest)
			shape->largest = op->advance;
		shape->sum += op->calls * op->advance;
		for (unsigned call = 0; call < op->calls; call++)
			shape->op_of[shape->cells++] = (uint8_t)i;
	}
}

void matrix_region_name(unsigned region, char *name)
{
	snprintf(name, 16, "region %u", region % MATRIX_REGIONS);
}

/* FNV-1a of a region's name. */
static uint64_t key_of(unsigned region)
{
	uint64_t key = 0xcbf29ce484222325ULL;
	char name[16];

	matrix_region_name(region, name);
	for (const char *c = name; *c; c++)
		key = (key ^ (unsigned char)*c) * 0x100000001b3ULL;
	return key;
}

static void init_cells(const struct matrix_shape *shape, uint64_t generator,
		       uint64_t key, uint64_t *cells)
{
	uint64_t region = philox_fold(generator, PHILOX_FOLD_REGION, key);

	for (uint32_t op = 0; op < shape->ops; op++)
		for (uint32_t call = 0; call < shape->op[op].calls; call++)
			*cells++ = philox_op_seed(region, op, call);
}

void matrix_seeds_init(struct matrix_seeds *seeds,
		       const struct matrix_limits *limits,
		       const struct matrix_shape *shape)
{
	for (unsigned g = 0; g < MATRIX_GENERATORS_MAX; g++) {
		uint64_t *of = seeds->of[g];

		of[MATRIX_SEED_FIRST] = 0x5eed + g;
		of[MATRIX_SEED_SECOND] = 0x0dd + g;
		for (unsigned i = 0; i < MATRIX_SEED_FOLDED; i++)
			of[MATRIX_SEED_FOLDED + i] = philox_fold(
				of[i], PHILOX_FOLD_RANK, MATRIX_FOLD_INDEX);
	}
	for (unsigned i = 0; i < limits->regions; i++)
		for (unsigned k = 0; k < MATRIX_SEEDS_N; k++)
			init_cells(shape,
				   seeds->of[matrix_generator(limits, i)][k],
				   key_of(i), seeds->cell[i][k]);
}

struct philox_state matrix_own_state(const struct matrix_seeds *seeds,
				     const struct matrix_shape *shape,
				     unsigned generator,
				     struct matrix_place place)
{
	struct philox_state state = {.seed = seeds->of[generator][place.seed]};

	if (place.at_end)
		state.offset = OFFSET_END - shape->sum;
	else if (place.seed == MATRIX_SEED_SECOND)
		state.offset = OFFSET_SECOND;
	state.offset += place.number * shape->sum;
	return state;
}

void matrix_cells(const struct matrix_limits *limits,
		  const struct matrix_seeds *seeds,
		  const struct matrix_shape *shape, unsigned region,
		  struct matrix_place place, struct philox_state *cells)
{
	unsigned generator = matrix_generator(limits, region);
	struct philox_state next =
		matrix_own_state(seeds, shape, generator, place);

	for (unsigned i = 0; i < shape->cells; i++) {
		if (matrix_is_shared(limits, region)) {
			cells[i] = next;
			next.offset += shape->op[shape->op_of[i]].advance;
			continue;
		}
		cells[i].seed = seeds->cell[region][place.seed][i];
		cells[i].offset = place.number * shape->largest;
	}
}

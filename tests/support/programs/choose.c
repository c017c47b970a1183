/*
 * tests/support/programs/choose.c - what a random call is given
 *
 * See tests/support/programs/call.h.
 */
#include "tests/support/programs/call.h"

/* --- inputs --------------------------------------------------------------- */

int call_misaligned(const struct playing *p, unsigned slot, const void *address)
{
	const size_t alignment = p->f->shape.inputs[slot].alignment;

	return alignment > 1 && (uintptr_t)address % alignment;
}

static int is_lost(const struct playing *p, unsigned slot)
{
	return (p->f->shape.inputs[slot].flags &
		(PHILOX_INPUT_MUTATED | PHILOX_INPUT_WRITE_BACK)) ==
	       PHILOX_INPUT_MUTATED;
}

/* Whether an input is to be alone in its memory. */
static int is_alone(const struct playing *p, unsigned slot)
{
	return recipe_writes(&p->f->shape, slot) ||
	       recipe_aliases(p->recipe, &p->f->shape, slot);
}

/* What an input writes is read and written by no other one of the call. */
static int is_fit(const struct game *game, const struct playing *p,
		  unsigned slot, unsigned storage)
{
	const struct storage *s = &game->storages[storage];

	for (unsigned i = 0; i < slot; i++)
		if (p->storages[i] == storage &&
		    (is_alone(p, i) || is_alone(p, slot)))
			return 0;
	if (is_lost(p, slot) && call_misaligned(p, slot, s->address))
		return 0;
	return s->runner < 0 || s->runner == p->f->runner ||
	       !recipe_aliases(p->recipe, &p->f->shape, slot);
}

static void put_input(struct game *game, struct playing *p, unsigned slot,
		      unsigned storage, const struct handle *handle)
{
	struct philox_call_input *input = &p->inputs[slot];

	p->storages[slot] = storage;
	input->address = game->storages[storage].address;
	input->bytes = RECIPE_BYTES;
	if (!handle) {
		input->id = game_one_in(game, 2) ? 1000 + storage : 0;
	} else if (handle->runner == p->f->runner) {
		p->handles[slot] = handle->output;
		p->from[slot] = (unsigned)(handle - game->handles);
		input->output = &p->handles[slot];
	}
}

/* One that a plan or chance proposes; returns whether it is taken. */
static int propose_handle(struct game *game, struct playing *p, unsigned slot,
			  int index)
{
	const struct handle *handle = &game->handles[index < 0 ? 0 : index];

	if (index < 0 || !handle->used || handle->word ||
	    game->storages[handle->storage].runner < 0 ||
	    !is_fit(game, p, slot, handle->storage))
		return 0;
	put_input(game, p, slot, handle->storage, handle);
	return 1;
}

/* An output that goes with the call's ticket. */
static int propose_saved(struct game *game, struct playing *p, unsigned slot)
{
	for (unsigned i = 0; i < GAME_HANDLES; i++)
		if (game->handles[i].used && game->handles[i].bound &&
		    game->handles[i].bound == p->held[0].id &&
		    propose_handle(game, p, slot, (int)i)) {
			game_count(game, GAME_INPUT_SAVED);
			return 1;
		}
	return 0;
}

static int propose_place(struct game *game, struct playing *p, unsigned slot,
			 unsigned place)
{
	if (!is_fit(game, p, slot, place))
		return 0;
	put_input(game, p, slot, place, NULL);
	return 1;
}

void call_choose_input(struct game *game, struct playing *p, unsigned slot,
		       const struct source *source, int made[][RECIPE_OUTPUTS])
{
	if (!game_rarely(game, 3) && propose_saved(game, p, slot))
		return;
	if (game_rarely(game, 24) &&
	    propose_handle(game, p, slot, (int)game_pick(game, GAME_HANDLES)))
		return;
	if (!game_rarely(game, 32)) {
		if (source->node >= 0 &&
		    propose_handle(game, p, slot,
				   made[source->node][source->index]))
			return;
		if (propose_place(game, p, slot, source->index % GAME_PLACES))
			return;
	}
	while (!propose_place(game, p, slot, game_pick(game, GAME_PLACES)))
		;
}

/* --- uses ----------------------------------------------------------------- */

static int is_chosen(const struct playing *p, unsigned entries,
		     const struct held_ticket *held)
{
	for (unsigned i = 0; i < entries; i++)
		if (recipe_entry(p->recipe, i)->backward &&
		    p->held[i].region == held->region &&
		    p->held[i].ours.serial == held->ours.serial)
			return 1;
	return 0;
}

/* The newest, or any. */
static int choose_ticket(struct game *game, struct playing *p, unsigned entry,
			 unsigned region)
{
	unsigned from = game_one_in(game, 3) ? game_pick(game, GAME_HELD) : 0;

	for (unsigned i = 0; i < game->n_held; i++) {
		const struct held_ticket *held =
			&game->held[game->n_held - 1 -
				    (from + i) % game->n_held];

		if (held->region != region || is_chosen(p, entry, held))
			continue;
		game_check_bound(game, held->id);
		p->held[entry] = *held;
		p->uses[entry].ticket = held->ours;
		p->uses[entry].flags =
			game_one_in(game, 4) ? PHILOX_PASS_RETAIN : 0;
		return 1;
	}
	return 0;
}

int call_choose_uses(struct game *game, struct playing *p)
{
	for (unsigned i = 0; i < p->recipe->n_entries; i++) {
		const struct recipe_pass *pass = recipe_entry(p->recipe, i);

		p->uses[i].ticket = CALL_UNTOUCHED;
		p->uses[i].flags =
			game_one_in(game, 8) ? PHILOX_PASS_RETAIN : 0;
		if (pass->backward &&
		    !choose_ticket(game, p, i, p->f->regions[pass->region]))
			return 0;
	}
	return 1;
}

/* --- the rest of a call --------------------------------------------------- */

static void choose_values(struct game *game, struct playing *p)
{
	for (unsigned i = 0; i < p->f->shape.n_values; i++) {
		for (unsigned k = 0; k < PHILOX_PARAM_BYTES; k++)
			p->bytes[i][k] = (unsigned char)game_pick(game, 256);
		p->values[i].data = p->bytes[i];
		p->values[i].bytes = p->f->shape.values[i].bytes;
	}
}

philox_stream call_choose_stream(struct game *game)
{
	unsigned n = game_pick(game, 16);

	return n < 11 ? game->ours.stream : n < 14 ? game->ours.side : NULL;
}

void call_choose_fault(struct game *game, struct playing *p)
{
	static const enum recipe_fault faults[] = {
		FAULT_RETURN, FAULT_BREAK, FAULT_BREAK,  FAULT_BREAK,
		FAULT_REFUSE, FAULT_AGAIN, FAULT_DIFFER, FAULT_REFUSE};
	struct recipe_run *run = &p->f->run;

	run->bodies = run->began = 0;
	run->faulted = run->asked_again = 0;
	run->fault = FAULT_NONE;
	run->fault_at = game_pick(game, RECIPE_OPS * 64);
	if (p->wrong)
		return;
	if (game_rarely(game, 12)) {
		run->fault = faults[game_pick(game, 8)];
		/* a key that was dropped is new, and whatever it does */
		if (run->fault == FAULT_DIFFER &&
		    (!p->f->known[p->key] || p->f->policy.keys ||
		     p->f->policy.bytes))
			run->fault = FAULT_NONE;
	} else if (game_one_in(game, 30)) {
		p->fails_at =
			1 + game_pick(game, game_one_in(game, 3) ? 80 : 12);
	}
}

int call_make_wrong(struct game *game, struct playing *p, enum wrong wrong)
{
	const unsigned entries = p->recipe->n_entries;

	switch (wrong) {
	case WRONG_FEW_USES:
		p->call.n_passes = entries - 1;
		return entries > 0;
	case WRONG_MANY_USES:
		p->call.n_passes = entries + 1;
		return 1;
	case WRONG_TICKET:
		if (!entries || !recipe_entry(p->recipe, 0)->backward)
			return 0;
		p->uses[0].ticket.serial = 1u << 30;
		return 1;
	case WRONG_HANDLE:
		if (game->over_runner != p->f->runner ||
		    game->over.bytes != RECIPE_BYTES)
			return 0;
		p->inputs[0] = (struct philox_call_input){
			.address = game->over.address,
			.bytes = RECIPE_BYTES,
			.output = &game->over};
		return !is_lost(p, 0) ||
		       !call_misaligned(p, 0, game->over.address);
	case WRONG_INPUTS:
		p->call.n_inputs--;
		return 1;
	case WRONG_VALUE:
		p->values[0].bytes++;
		return p->call.n_params > 0;
	default:
		return 1;
	}
}

void call_choose(struct game *game, struct playing *p, philox_stream stream)
{
	p->call = PHILOX_INIT(struct philox_call);
	p->call.stream = stream;
	p->call.key = &p->key;
	p->call.key_bytes = sizeof(p->key);
	p->call.inputs = p->inputs;
	p->call.n_inputs = p->f->shape.n_inputs;
	p->call.params = p->values;
	p->call.n_params = p->f->shape.n_values;
	p->call.passes = p->uses;
	p->call.n_passes = p->recipe->n_entries;
	if (!game_one_in(game, 20)) {
		p->call.outputs = p->outputs;
		p->call.n_outputs = p->f->shape.n_outputs;
	}
	choose_values(game, p);
}

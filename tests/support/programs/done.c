/*
 * tests/support/programs/done.c - random calls that succeeded, and what they
 * gave
 *
 * See tests/support/programs/call.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include "tests/support/programs/call.h"

static void play_plainly(struct game *game, struct playing *p)
{
	struct recipe_plain *plain = &p->plain;

	plain->f = &game->plain;
	plain->array = game->array;
	plain->shape = &p->f->shape;
	plain->recipe = p->recipe;
	plain->values = p->values;
	plain->launched = p->call.kind >= PHILOX_CALL_RECORD;
	for (unsigned i = 0; i < 2; i++)
		plain->regions[i] = game->regions[p->f->regions[i]].plain;
	for (unsigned i = 0; i < p->recipe->n_entries; i++)
		plain->uses[i] = (struct philox_launch_pass){
			p->held[i].plain, p->uses[i].flags, 0};
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++)
		plain->registers[i] = game->storages[p->storages[i]].now;
	GOES(game, recipe_plainly(plain));
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++)
		if (recipe_writes(&p->f->shape, i))
			game->storages[p->storages[i]].now =
				plain->registers[i];
}

static void drop_used(struct game *game, const struct held_ticket *used)
{
	for (unsigned i = 0; i < game->n_held; i++)
		if (game->held[i].region == used->region &&
		    game->held[i].ours.serial == used->ours.serial) {
			game_drop_ticket(game, i);
			return;
		}
	MUST(game, 0, "a ticket that is not held was used");
}

static void take_ticket(struct game *game, struct playing *p, unsigned entry)
{
	const struct recipe_pass *pass = recipe_entry(p->recipe, entry);
	const struct numbers *saw = &p->plain.drawn[pass - p->recipe->passes];
	struct philox_ticket ours = p->uses[entry].ticket;
	struct philox_ticket plain = p->plain.uses[entry].ticket;

	if (pass->backward) {
		MUST(game, !memcmp(saw, &p->held[entry].saw, sizeof(*saw)),
		     "a plain backward of '%s' drew other numbers than its "
		     "forward",
		     p->f->name);
		if (p->uses[entry].flags & PHILOX_PASS_RETAIN)
			game_count(game, GAME_RETAINED);
		else
			drop_used(game, &p->held[entry]);
	} else if (plain.serial) {
		struct held_ticket made = {.region =
						   p->f->regions[pass->region],
					   .ours = ours,
					   .plain = plain,
					   .saw = *saw,
					   .runner = p->f->runner,
					   .path = p->path};

		game_hold(game, &made);
	} else {
		MUST(game, !ours.serial && !ours.region_key,
		     "a ticket %" PRIu64 " of '%s' that there is not",
		     ours.serial, p->f->name);
	}
}

/* The storage of an output: of an input, of an output before it, or new. */
static unsigned storage_of(struct game *game, const struct playing *p,
			   unsigned index)
{
	const unsigned from = p->recipe->outputs[index].from;
	const unsigned word = p->recipe->outputs[index].word;
	uint32_t *address = p->outputs[index].address;

	if (from < RECIPE_INPUTS)
		return p->storages[from];
	for (unsigned i = 0; i < index; i++)
		if (p->recipe->outputs[i].from == from)
			return game->handles[p->made[i]].storage;
	return game_new_storage(game, p->f->runner, address - word,
				&p->plain.registers[from]);
}

static void take_output(struct game *game, struct playing *p, unsigned index)
{
	const struct philox_output *output = &p->outputs[index];
	const unsigned word = p->recipe->outputs[index].word;
	const unsigned from = p->recipe->outputs[index].from;
	const unsigned storage = storage_of(game, p, index);
	void *data = p;

	MUST(game, output->bytes == RECIPE_BYTES - 4 * word, "%zu bytes",
	     output->bytes);
	MUST(game, output->address == game->storages[storage].address + word,
	     "output %u of '%s' is elsewhere", index, p->f->name);
	if (from < RECIPE_INPUTS)
		MUST(game,
		     output->id == (p->inputs[from].output
					    ? p->handles[from].id
					    : p->inputs[from].id),
		     "an alias has another id");
	if (game->storages[storage].handles)
		game_count(game, GAME_OUTPUT_ALIAS);
	p->made[index] =
		(int)game_new_handle(game, output, p->f->runner, storage, word);
	game->handles[p->made[index]].path = p->path;
	GOES(game, philox_output_get_data(game->runners[p->f->runner], output,
					  &data));
	MUST(game, !data, "user data of another handle");
	GOES(game,
	     philox_output_set_data(game->runners[p->f->runner], output, p));
}

/* The call's ticket may have released what was an output. */
static void look_at_once(struct game *game, struct playing *p)
{
	char what[80];

	snprintf(what, sizeof(what), "what '%s', key %u, kind %u, wrote",
		 p->f->name, p->key, p->call.kind);
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++)
		if (recipe_writes(&p->f->shape, i) && game_one_in(game, 2) &&
		    game->storages[p->storages[i]].used) {
			game_check(game, p->storages[i], 0, what);
			game->loose = 1;
		}
	for (unsigned i = 0; i < p->call.n_outputs; i++)
		if (game_one_in(game, 2)) {
			game_check(game, game->handles[p->made[i]].storage,
				   p->recipe->outputs[i].word, what);
			game->loose = 1;
		}
}

static void count_inputs(struct game *game, const struct playing *p)
{
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++) {
		const struct storage *storage = &game->storages[p->storages[i]];
		const int away = call_misaligned(p, i, p->inputs[i].address);

		if (p->inputs[i].output)
			game_count(game, GAME_INPUT_HANDLE);
		if (storage->runner >= 0 && storage->runner != p->f->runner)
			game_count(game, GAME_INPUT_FOREIGN);
		if (away)
			game_count(game, GAME_INPUT_MISALIGNED);
		if (recipe_writes(&p->f->shape, i))
			game_count(game, GAME_INPUT_WRITTEN);
		if (recipe_writes(&p->f->shape, i) &&
		    (away ||
		     (p->f->shape.inputs[i].kind == PHILOX_INPUT_COPIED &&
		      p->call.kind == PHILOX_CALL_REPLAY)))
			game_count(game, GAME_INPUT_WRITTEN_BACK);
	}
}

static void count_call(struct game *game, const struct playing *p)
{
	const struct recipe_run *run = &p->f->run;

	game_count(game, GAME_EAGER + p->call.kind - PHILOX_CALL_EAGER);
	game_count(game, GAME_PATTERN + p->recipe->pattern);
	count_inputs(game, p);
	if (p->call.stream != game->ours.stream)
		game_count(game, p->call.stream ? GAME_SIDE : GAME_LEGACY);
	if (p->call.n_params)
		game_count(game, GAME_VALUES);
	if (!p->call.n_outputs)
		game_count(game, GAME_OUTPUTS_DROPPED);
	if (p->failed_device)
		game_count(game, GAME_SAVED_FROM_FAILURE);
	if (run->faulted && run->fault == FAULT_BREAK)
		game_count(game, GAME_BROKE);
	if (run->faulted && run->fault == FAULT_REFUSE)
		game_count(game, GAME_REFUSED);
	if (run->asked_again)
		game_count(game, GAME_AGAIN);
}

static void join_path(struct game *game, int runner, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < GAME_HANDLES; i++)
		if (game->handles[i].runner == runner &&
		    game->handles[i].path == from)
			game->handles[i].path = to;
	for (unsigned i = 0; i < game->n_held; i++)
		if (game->held[i].runner == runner &&
		    game->held[i].path == from)
			game->held[i].path = to;
	for (unsigned i = 0; i < game->n_held; i++)
		for (unsigned k = 0; k < game->held[i].n_tied; k++)
			if (game->held[i].tied[k].runner == runner &&
			    game->held[i].tied[k].path == from)
				game->held[i].tied[k].path = to;
}

/* Calls that read each other's outputs, by handle, are on one path. */
static void follow_path(struct game *game, struct playing *p)
{
	p->path = ++game->paths;
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++)
		if (p->inputs[i].output)
			join_path(game, p->f->runner,
				  game->handles[p->from[i]].path, p->path);
}

void call_succeeded(struct game *game, struct playing *p)
{
	MUST(game, !p->wrong, "'%s' was called in the wrong way %d", p->f->name,
	     (int)p->wrong);
	MUST(game,
	     p->call.kind >= PHILOX_CALL_EAGER &&
		     p->call.kind <= PHILOX_CALL_REPLAY,
	     "kind %u", p->call.kind);
	MUST(game,
	     (p->call.kind == PHILOX_CALL_REPLAY) ==
		     (p->f->run.bodies == p->checking),
	     "kind %u, %u bodies", p->call.kind, p->f->run.bodies);
	game->last = p->call.stream;
	game->last_runner = p->f->runner;
	play_plainly(game, p);
	follow_path(game, p);
	for (unsigned i = 0; i < p->call.n_outputs; i++)
		take_output(game, p, i);
	for (unsigned i = 0; i < p->recipe->n_entries; i++)
		if (recipe_entry(p->recipe, i)->backward)
			take_ticket(game, p, i);
	for (unsigned i = 0; i < p->recipe->n_entries; i++)
		if (!recipe_entry(p->recipe, i)->backward)
			take_ticket(game, p, i);
	/* who verifies has learned nothing */
	if (p->f->run.bodies != p->checking)
		p->f->known[p->key] = 1;
	if (p->f->run.asked_again)
		p->f->known[p->key] = 0;
	count_call(game, p);
	look_at_once(game, p);
}

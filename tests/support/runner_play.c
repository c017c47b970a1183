/*
 * tests/support/runner_play.c - calls of a random program, on both sides
 *
 * See tests/support/runner_table.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <philox/testing.h>
#include "tests/support/runner_table.h"

/* Ways to call with wrong arguments. */
enum wrong {
	WRONG_NOTHING,
	WRONG_FEW_USES,
	WRONG_MANY_USES,
	WRONG_TICKET,
	WRONG_HANDLE,
	WRONG_INPUTS,
	WRONG_VALUE,
	WRONGS
};

/* A call on its way. */
struct playing {
	struct game_function *f;
	const struct recipe *recipe;
	uint32_t key;
	struct philox_call call;
	struct philox_call_input inputs[RECIPE_INPUTS];
	struct philox_output handles[RECIPE_INPUTS]; /* that they come from */
	unsigned from[RECIPE_INPUTS]; /* of which they are copies */
	unsigned storages[RECIPE_INPUTS];
	struct philox_call_value values[RECIPE_VALUES];
	unsigned char bytes[RECIPE_VALUES][PHILOX_VALUE_SIZE + 1];
	struct philox_use uses[RECIPE_PASSES + 1];
	struct held_ticket held[RECIPE_PASSES]; /* of entries */
	struct philox_output outputs[RECIPE_OUTPUTS];
	int made[RECIPE_OUTPUTS]; /* handles; -1: none */
	enum wrong wrong;
	unsigned fails_at; /* a device call; 0: none */
	int failed_device;
	enum philox_status status;
	uint64_t path;    /* that it is on */
	int last_was_dry; /* the body that ran last */
	struct recipe_plain plain;
};

static const struct philox_ticket untouched = {6, 6};

void game_same_digest(struct game *game, const char *what)
{
	uint64_t ours, plain;

	GOES(game, philox_context_digest(game->ours.context, &ours));
	GOES(game, philox_context_digest(game->plain.context, &plain));
	MUST(game, ours == plain, "another future after %s", what);
	game_count(game, GAME_DIGESTS);
}

/* --- inputs ------------------------------------------------------------------------ */

static int misaligned(const struct playing *p, unsigned slot,
		      const void *address)
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
	if (is_lost(p, slot) && misaligned(p, slot, s->address))
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

static void choose_input(struct game *game, struct playing *p, unsigned slot,
			 const struct source *source,
			 int made[][RECIPE_OUTPUTS])
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

/* --- uses --------------------------------------------------------------------------- */

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
		p->uses[entry].flags = game_one_in(game, 4) ? PHILOX_RETAIN : 0;
		return 1;
	}
	return 0;
}

/* Returns 0 if a ticket that the recipe needs is not there. */
static int choose_uses(struct game *game, struct playing *p)
{
	for (unsigned i = 0; i < p->recipe->n_entries; i++) {
		const struct recipe_pass *pass = recipe_entry(p->recipe, i);

		p->uses[i].ticket = untouched;
		p->uses[i].flags = game_one_in(game, 8) ? PHILOX_RETAIN : 0;
		if (pass->backward &&
		    !choose_ticket(game, p, i, p->f->regions[pass->region]))
			return 0;
	}
	return 1;
}

/* --- the rest of a call --------------------------------------------------------------- */

static void choose_values(struct game *game, struct playing *p)
{
	for (unsigned i = 0; i < p->f->shape.n_values; i++) {
		for (unsigned k = 0; k < PHILOX_VALUE_SIZE; k++)
			p->bytes[i][k] = (unsigned char)game_pick(game, 256);
		p->values[i].bytes = p->bytes[i];
		p->values[i].size = p->f->shape.values[i].bytes;
	}
}

static philox_stream choose_stream(struct game *game)
{
	unsigned n = game_pick(game, 16);

	return n < 11 ? game->ours.stream : n < 14 ? game->ours.side : NULL;
}

static void choose_fault(struct game *game, struct playing *p)
{
	struct recipe_run *run = &p->f->run;

	run->bodies = run->began = 0;
	run->faulted = run->asked_again = 0;
	run->fault = FAULT_NONE;
	run->fault_at = game_pick(game, RECIPE_OPS * 64);
	if (p->wrong)
		return;
	if (game_rarely(game, 12)) {
		run->fault = (enum recipe_fault)(1 + game_pick(game, 5));
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

/* Returns whether the call can be made wrong in that way. */
static int make_wrong(struct game *game, struct playing *p, enum wrong wrong)
{
	const unsigned entries = p->recipe->n_entries;

	switch (wrong) {
	case WRONG_FEW_USES:
		p->call.n_uses = entries - 1;
		return entries > 0;
	case WRONG_MANY_USES:
		p->call.n_uses = entries + 1;
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
		return !is_lost(p, 0) || !misaligned(p, 0, game->over.address);
	case WRONG_INPUTS:
		p->call.n_inputs--;
		return 1;
	case WRONG_VALUE:
		p->values[0].size++;
		return p->call.n_values > 0;
	default:
		return 1;
	}
}

static void choose_call(struct game *game, struct playing *p,
			philox_stream stream)
{
	p->call = PHILOX_INIT(struct philox_call);
	p->call.stream = stream;
	p->call.key = &p->key;
	p->call.key_size = sizeof(p->key);
	p->call.inputs = p->inputs;
	p->call.n_inputs = p->f->shape.n_inputs;
	p->call.values = p->values;
	p->call.n_values = p->f->shape.n_values;
	p->call.uses = p->uses;
	p->call.n_uses = p->recipe->n_entries;
	if (!game_one_in(game, 20)) {
		p->call.outputs = p->outputs;
		p->call.n_outputs = p->f->shape.n_outputs;
	}
	choose_values(game, p);
}

/* --- what failed ------------------------------------------------------------------------ */

static enum game_event failure_by_arguments(const struct playing *p)
{
	static const enum philox_status expected[WRONGS] = {
		[WRONG_FEW_USES] = PHILOX_ERROR_INVALID,
		[WRONG_MANY_USES] = PHILOX_ERROR_INVALID,
		[WRONG_TICKET] = PHILOX_ERROR_RELEASED,
		[WRONG_HANDLE] = PHILOX_ERROR_STALE,
		[WRONG_INPUTS] = PHILOX_ERROR_INVALID,
		[WRONG_VALUE] = PHILOX_ERROR_INVALID};

	return p->wrong && p->status == expected[p->wrong]
		       ? GAME_FAILED_ARGUMENTS
		       : GAME_EVENTS;
}

static int is_of_capture(enum philox_status status)
{
	return status == PHILOX_ERROR_UNSUPPORTED ||
	       status == PHILOX_ERROR_CAPTURE_UNSUPPORTED ||
	       status == PHILOX_ERROR_CAPTURE_INVALIDATED;
}

/* Why it failed; GAME_EVENTS: there is no reason. */
static enum game_event explain_failure(const struct game *game,
				       const struct playing *p)
{
	const struct recipe_run *run = &p->f->run;

	if (p->failed_device)
		return GAME_FAILED_DEVICE;
	if (p->status == PHILOX_ERROR_BUSY && game->disordered[p->f->runner])
		return GAME_FAILED_DISORDERED;
	if (p->status == PHILOX_ERROR_INVALID && game->freed &&
	    strstr(philox_error_message(), "which has been freed"))
		return GAME_FAILED_FREED;
	if (run->faulted && run->fault == FAULT_RETURN &&
	    p->status == FAULT_STATUS)
		return GAME_FAILED_BODY;
	if (run->faulted && run->fault == FAULT_DIFFER &&
	    p->status == PHILOX_ERROR_MISMATCH)
		return GAME_FAILED_DIFFERENT;
	if (run->faulted &&
	    (run->fault == FAULT_REFUSE || run->fault == FAULT_BREAK) &&
	    p->f->policy.refused == PHILOX_REFUSED_ERROR &&
	    is_of_capture(p->status))
		return GAME_FAILED_REFUSED;
	if (p->f->policy.moved == PHILOX_MOVED_ERROR &&
	    p->status == PHILOX_ERROR_MISMATCH && !run->bodies)
		return GAME_FAILED_MOVED;
	return failure_by_arguments(p);
}

static void burn(struct game *game, const struct playing *p,
		 const struct recipe_pass *pass, int launched)
{
	struct philox_region *region =
		game->regions[p->f->regions[pass->region]].plain;
	struct philox_pass aborted;

	GOES(game, philox_forward_begin(
			   region, game->plain.stream,
			   recipe_flags(p->recipe,
					(unsigned)(pass - p->recipe->passes),
					launched),
			   &aborted));
	GOES(game, philox_pass_abort(&aborted));
	game_count(game, GAME_BURNT);
}

static int is_same_future(struct game *game)
{
	uint64_t ours, plain;

	GOES(game, philox_context_digest(game->ours.context, &ours));
	GOES(game, philox_context_digest(game->plain.context, &plain));
	return ours == plain;
}

/*
 * The numbers of forwards that a body began are burnt. Where the device failed a
 * launch may have burnt some, in order.
 */
static void burn_the_same(struct game *game, const struct playing *p)
{
	const struct recipe_run *run = &p->f->run;
	const int launched = !run->bodies || run->kind == PHILOX_CALL_RECORD;

	for (unsigned i = 0;
	     !p->failed_device && !p->last_was_dry && i < run->began; i++)
		burn(game, p, run->forwards[i], 0);
	for (unsigned i = 0; p->failed_device && i < p->recipe->n_passes; i++)
		if (!p->recipe->passes[i].backward && !is_same_future(game))
			burn(game, p, &p->recipe->passes[i], launched);
	game_same_digest(game, "a call that failed");
}

/*
 * Where a pool's last work was is one of our streams, or the one that stands in
 * for the legacy stream, of which we do not know.
 */
static void order_pool(struct game *game, int runner)
{
	struct fixture *f = &game->ours;
	struct philox_pool *pool = philox_runner_pool(game->runners[runner]);
	struct philox_call call = PHILOX_INIT(struct philox_call);

	game_wait(game);
	GOES(game, philox_pool_order(pool, f->side, f->stream));
	call.stream = f->stream;
	if (philox_function_call(game->islands[runner], &call) != PHILOX_OK) {
		call.stream = NULL;
		GOES(game, philox_function_call(game->islands[runner], &call));
	}
	game->disordered[runner] = 0;
}

/* What a program does that finds such failures. */
static void recover(struct game *game, const struct playing *p,
		    enum game_event why)
{
	if (why == GAME_FAILED_FREED)
		game_remake_function(game, p->f);
	if (why == GAME_FAILED_DISORDERED)
		order_pool(game, p->f->runner);
}

/* What the body did to memory of the caller stays done. */
static void after_failure(struct game *game, struct playing *p)
{
	const enum game_event why = explain_failure(game, p);

	MUST(game, why != GAME_EVENTS,
	     "function '%s', key %u, fault %d%s, wrong %d: %s: %s", p->f->name,
	     p->key, (int)p->f->run.fault, p->f->run.faulted ? " made" : "",
	     (int)p->wrong, philox_status_name(p->status),
	     philox_error_message());
	MUST(game, *philox_error_message(), "no message");
	if (p->wrong != WRONG_MANY_USES && !p->failed_device)
		well_said("philox_function_call");
	game_count(game, why);
	for (unsigned i = 0; i < p->recipe->n_entries; i++)
		MUST(game,
		     recipe_entry(p->recipe, i)->backward ||
			     p->uses[i].ticket.serial == untouched.serial,
		     "a use was written");
	burn_the_same(game, p);
	recover(game, p, why);
	game->loose = 1; /* what was put on which stream is not known */
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++)
		if (recipe_writes(&p->f->shape, i)) {
			struct storage *storage =
				&game->storages[p->storages[i]];

			game_wait(game);
			memcpy(&storage->now, storage->address, RECIPE_BYTES);
		}
}

/* --- what succeeded ----------------------------------------------------------------------- */

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
		plain->uses[i] = (struct philox_use){p->held[i].plain,
						     p->uses[i].flags, 0};
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
		if (p->uses[entry].flags & PHILOX_RETAIN)
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
	GOES(game,
	     philox_output_data(game->runners[p->f->runner], output, &data));
	MUST(game, !data, "user data of another handle");
	GOES(game,
	     philox_output_set_data(game->runners[p->f->runner], output, p));
}

static void look_at_once(struct game *game, struct playing *p)
{
	char what[80];

	snprintf(what, sizeof(what), "what '%s', key %u, kind %u, wrote",
		 p->f->name, p->key, p->call.kind);
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++)
		if (recipe_writes(&p->f->shape, i) && game_one_in(game, 2)) {
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
		const int away = misaligned(p, i, p->inputs[i].address);

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
	if (p->call.n_values)
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

static void after_success(struct game *game, struct playing *p)
{
	MUST(game, !p->wrong, "'%s' was called in the wrong way %d", p->f->name,
	     (int)p->wrong);
	MUST(game,
	     p->call.kind >= PHILOX_CALL_EAGER &&
		     p->call.kind <= PHILOX_CALL_REPLAY,
	     "kind %u", p->call.kind);
	MUST(game, (p->call.kind == PHILOX_CALL_REPLAY) == !p->f->run.bodies,
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
	if (p->f->run.bodies)
		p->f->known[p->key] = !p->f->run.asked_again;
	count_call(game, p);
	look_at_once(game, p);
}

/* --- calls ----------------------------------------------------------------------------------- */

/* For who looks for the reason of a failure. */
static void log_call(const struct game *game, const struct playing *p)
{
	fprintf(stderr,
		"step %u: '%s', key %u, pattern %d, on the %s stream, kind %u, "
		"%s: %s\n",
		game->program->step, p->f->name, p->key,
		(int)p->recipe->pattern,
		!p->call.stream                       ? "legacy"
		: p->call.stream == game->ours.stream ? "first"
						      : "side",
		p->call.kind, philox_status_name(p->status),
		p->status == PHILOX_OK ? philox_function_reason(p->f->function)
				       : philox_error_message());
	for (unsigned i = 0; i < p->f->shape.n_inputs; i++)
		fprintf(stderr, "  input %u in storage %u at %p%s\n", i,
			p->storages[i], p->inputs[i].address,
			p->inputs[i].output ? ", by handle" : "");
	for (unsigned i = 0; i < p->recipe->n_entries; i++)
		fprintf(stderr, "  use %u of region %u: ticket %" PRIu64 "%s\n",
			i, p->f->regions[recipe_entry(p->recipe, i)->region],
			p->uses[i].ticket.serial,
			p->uses[i].flags ? ", retained" : "");
}

static void set_stage(struct game *game, struct playing *p)
{
	p->f->run.recipe = p->recipe;
	for (unsigned i = 0; i < 2; i++)
		p->f->run.regions[i] = game->regions[p->f->regions[i]].ours;
}

static void make_call(struct game *game, struct playing *p)
{
	struct philox_device *device = game->ours.device;
	const uint64_t before = philox_device_calls(device, NULL);
	struct philox_function_counts earlier =
		PHILOX_INIT(struct philox_function_counts);
	struct philox_function_counts later = earlier;

	if (p->fails_at)
		GOES(game, philox_device_fail(device, NULL, p->fails_at,
					      PHILOX_ERROR_DEVICE));
	set_stage(game, p);
	GOES(game, philox_function_count(p->f->function, &earlier));
	p->status = philox_function_call(p->f->function, &p->call);
	if (getenv("PHILOX_RUNNER_LOG"))
		log_call(game, p);
	if (p->fails_at) {
		p->failed_device = philox_device_calls(device, NULL) - before >=
				   p->fails_at;
		game->disordered[p->f->runner] |= p->failed_device;
		GOES(game, philox_device_fail(device, NULL, 0, PHILOX_OK));
	}
	GOES(game, philox_function_count(p->f->function, &later));
	p->last_was_dry =
		later.dry > earlier.dry &&
		later.dry - earlier.dry == later.bodies - earlier.bodies;
	if (p->status == PHILOX_OK)
		after_success(game, p);
	else
		after_failure(game, p);
}

static void play_node(struct game *game, const struct plan *plan, unsigned node,
		      philox_stream stream, int made[][RECIPE_OUTPUTS])
{
	struct playing p = {.f = &game->functions[plan->nodes[node].function],
			    .key = plan->nodes[node].key,
			    .made = {-1, -1, -1}};

	if (game_rarely(game, 24))
		p.key = game_pick(game, GAME_KEYS);
	if (game_rarely(game, 24))
		stream = choose_stream(game);
	p.recipe = &p.f->recipes[p.key];
	if (!choose_uses(game, &p))
		return;
	for (unsigned i = 0; i < p.f->shape.n_inputs; i++)
		choose_input(game, &p, i, &plan->nodes[node].sources[i], made);
	choose_call(game, &p, stream);
	if (game_one_in(game, 40)) {
		p.wrong = (enum wrong)game_pick(game, WRONGS);
		if (!make_wrong(game, &p, p.wrong))
			return;
	}
	choose_fault(game, &p);
	game_order(game, stream, p.f->runner);
	make_call(game, &p);
	memcpy(made[node], p.made, sizeof(p.made));
}

/* --- plans ----------------------------------------------------------------------------------- */

static int is_wanted(const struct plan *plan, int node, unsigned index,
		     unsigned from)
{
	for (unsigned i = from; i < plan->n; i++)
		for (unsigned k = 0; k < RECIPE_INPUTS; k++)
			if (plan->nodes[i].sources[k].node == node &&
			    plan->nodes[i].sources[k].index == index)
				return 1;
	return 0;
}

static unsigned n_kept(const struct game *game)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GAME_HANDLES; i++)
		n += game->handles[i].used && game->handles[i].kept;
	return n;
}

static unsigned n_bound(const struct game *game)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GAME_HANDLES; i++)
		n += game->handles[i].used && game->handles[i].bound;
	return n;
}

/* Outputs that no node from `from` on reads go, or stay for a long time. */
static void clear_up(struct game *game, const struct plan *plan, unsigned nodes,
		     unsigned from, int made[][RECIPE_OUTPUTS])
{
	for (unsigned i = 0; i < nodes * RECIPE_OUTPUTS; i++) {
		/* in another order each time */
		unsigned at = game_one_in(game, 3)
				      ? i
				      : nodes * RECIPE_OUTPUTS - 1 - i;
		int *handle = &made[at / RECIPE_OUTPUTS][at % RECIPE_OUTPUTS];

		if (*handle < 0 || is_wanted(plan, (int)(at / RECIPE_OUTPUTS),
					     at % RECIPE_OUTPUTS, from))
			continue;
		if (game_rarely(game, 8) && n_bound(game) < GAME_BOUND &&
		    game_bind(game, (unsigned)*handle)) {
			*handle = -1;
			continue;
		}
		if (game_rarely(game, 30) && n_kept(game) < GAME_KEPT) {
			game->handles[*handle].kept = 1;
			game_count(game, GAME_KEPT_LONG);
		} else {
			game_release(game, (unsigned)*handle);
		}
		*handle = -1;
	}
}

/* Outputs that the step leaves are kept, if they are not too many. */
static void end_by_step(struct game *game, const struct plan *plan,
			int made[][RECIPE_OUTPUTS])
{
	for (int i = 0; i < GAME_RUNNERS; i++)
		game_begin_step(game, i);
	for (unsigned i = 0; i < plan->n * RECIPE_OUTPUTS; i++) {
		int handle = made[i / RECIPE_OUTPUTS][i % RECIPE_OUTPUTS];

		if (handle < 0 || !game->handles[handle].used)
			continue;
		if (n_kept(game) < GAME_KEPT)
			game->handles[handle].kept = 1;
		else
			game_release(game, (unsigned)handle);
	}
}

/* Calls of one key that only differ in where their inputs are. */
void game_prepare(struct game *game, const struct plan *plan)
{
	enum { MOST = 3 };
	const unsigned n = 1 + game_pick(game, MOST);
	const unsigned node = game_pick(game, plan->n);
	struct playing p[MOST] = {{.f = NULL}};
	struct philox_call calls[MOST];
	int none[GAME_NODES][RECIPE_OUTPUTS];
	struct game_function *f = &game->functions[plan->nodes[node].function];
	size_t prepared = 77, recorded = 0;

	memset(none, -1, sizeof(none));
	for (unsigned i = 0; i < n; i++) {
		p[i].f = f;
		p[i].key = plan->nodes[node].key;
		p[i].recipe = &f->recipes[p[i].key];
		for (unsigned k = 0; k < f->shape.n_inputs; k++)
			choose_input(game, &p[i], k,
				     &plan->nodes[node].sources[k], none);
		choose_call(game, &p[i], game->ours.stream);
		choose_fault(game, &p[i]);
		calls[i] = p[i].call;
		calls[i].uses = NULL;
		calls[i].outputs = NULL;
		calls[i].n_outputs = 0;
	}
	set_stage(game, &p[0]);
	f->run.fault = FAULT_NONE;
	game_order(game, game->ours.stream, f->runner);
	GOES(game, philox_function_prepare(f->function, calls, n, &prepared));
	for (unsigned i = 0; i < n; i++) {
		MUST(game,
		     calls[i].kind == PHILOX_CALL_NONE ||
			     calls[i].kind == PHILOX_CALL_RECORD,
		     "kind %u", calls[i].kind);
		recorded += calls[i].kind == PHILOX_CALL_RECORD;
	}
	MUST(game, prepared >= recorded && prepared <= n,
	     "%zu prepared, %zu recorded of %u", prepared, recorded, n);
	game->program->counts[GAME_PREPARED] += prepared;
	game->loose = 1;
	game_same_digest(game, "calls were prepared");
}

void game_play_plan(struct game *game, const struct plan *plan)
{
	int made[GAME_NODES][RECIPE_OUTPUTS];
	const philox_stream stream = choose_stream(game);
	const int tidy = game_one_in(game, 2);

	memset(made, -1, sizeof(made));
	for (unsigned i = 0; i < plan->n; i++) {
		play_node(game, plan, i, stream, made);
		if (tidy)
			clear_up(game, plan, i + 1, i + 1, made);
	}
	if (game_one_in(game, 6)) {
		end_by_step(game, plan, made);
		game_same_digest(game, "a step");
		return;
	}
	clear_up(game, plan, plan->n, plan->n, made);
	clear_up(game, plan, plan->n, plan->n, made);
	for (unsigned i = 0; i < plan->n * RECIPE_OUTPUTS; i++)
		if (made[i / RECIPE_OUTPUTS][i % RECIPE_OUTPUTS] >= 0)
			game_release(game, (unsigned)made[i / RECIPE_OUTPUTS]
							 [i % RECIPE_OUTPUTS]);
	game_same_digest(game, "a plan");
}

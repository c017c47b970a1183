/*
 * lib/state/generator.c - generators, and how seeding one affects its regions
 *
 * Locked by the context.
 */
#include <inttypes.h>
#include <stdlib.h>
#include "lib/state/state.h"

static enum philox_status check_offset(struct philox_state state)
{
	if (state.offset % 4 == 0)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "generator: offset is %" PRIu64
			  ", not a multiple of 4",
			  state.offset);
}

/* Destroyed names restart, too: made again, they belong to the new run. */
static void restart(struct philox_generator *generator,
		    struct philox_state state)
{
	generator->state = state;
	generator->high = 0;
	for (struct philox_region *region = generator->first; region;
	     region = region->next_of_generator)
		region_restart(region);
	for (struct philox_data *data = generator->context->data; data;
	     data = data->next)
		if (data->generator == generator)
			data_restart(data);
}

/* --- a generator that is set back, and the regions that do not follow it --- */

void generator_move(struct philox_generator *generator, uint64_t offset)
{
	if (offset < generator->state.offset &&
	    generator->high < generator->state.offset)
		generator->high = generator->state.offset;
	generator->state.offset = offset;
}

void generator_put_back(struct philox_generator *generator, uint64_t offset)
{
	generator->state.offset = offset;
}

void generator_load(struct philox_generator *generator,
		    struct philox_state state)
{
	generator->state = state;
	generator->high = 0;
}

void generator_tell_back(const struct philox_region *region)
{
	struct philox_generator *generator = region->generator;

	if (generator->state.offset >= generator->high || generator->told_back)
		return;
	generator->told_back = 1;
	log_post(generator->context, PHILOX_LOG_WARNING, "offset set back",
		 &(struct philox_log_entry){.region = region->name},
		 "region '%s' draws new numbers, though the offset of its "
		 "generator was set back from %" PRIu64 " to %" PRIu64
		 ": only regions made with PHILOX_REGION_SHARED follow their "
		 "generator's offset",
		 region->name, generator->high, generator->state.offset);
}

/* --- making and destroying ------------------------------------------------- */

static void unlink_generator(struct philox_generator *generator)
{
	order_remove(&generator->context->generators, generator->at);
	while (generator->first)
		region_set_generator(generator->first, NULL);
}

/* 0: no memory. */
static int list_generator(struct philox_generator *generator)
{
	struct philox_context *context = generator->context;
	int room;

	context_lock(context);
	room = order_reserve(&context->generators);
	if (room) {
		order_add(&context->generators, generator, &generator->at);
		journal_generator(generator, "create");
	}
	context_unlock(context);
	return room;
}

static enum philox_status make_generator(struct philox_context *context,
					 uint64_t seed, uint32_t flags,
					 struct philox_generator **generator)
{
	struct philox_generator *made;

	if (flags & ~(uint32_t)PHILOX_GENERATOR_DIFFERS)
		return status_set(PHILOX_ERROR_INVALID,
				  "generator: flags 0x%x is not 0 or "
				  "PHILOX_GENERATOR_DIFFERS",
				  flags);
	made = calloc(1, sizeof(*made));
	if (made) {
		made->context = context;
		made->state.seed = seed;
		made->flags = flags;
	}
	if (!made || !list_generator(made)) {
		free(made);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for a generator");
	}
	*generator = made;
	return PHILOX_OK;
}

enum philox_status philox_generator_create_flags(
	struct philox_context *context, uint64_t seed, uint32_t flags,
	struct philox_generator **generator)
{
	if (!context)
		return context_null(NULL, "context");
	if (!generator)
		return context_null(context, "generator");
	NEED_PROCESS(context);
	return context_report(context,
			      make_generator(context, seed, flags, generator),
			      NULL);
}

enum philox_status philox_generator_create(struct philox_context *context,
					   uint64_t seed,
					   struct philox_generator **generator)
{
	return philox_generator_create_flags(context, seed, 0, generator);
}

enum philox_status philox_generator_destroy(struct philox_generator *generator)
{
	struct philox_context *context;
	enum philox_status status = PHILOX_OK;

	if (!generator)
		return context_null(NULL, "generator");
	context = generator->context;
	NEED_PROCESS(context);
	context_lock(context);
	context->hooks->reap(context);
	if (generator == context->generator)
		status = status_set(PHILOX_ERROR_INVALID,
				    "the default generator lives as long as "
				    "its context");
	else if (generator->reads)
		status = status_set(PHILOX_ERROR_BUSY,
				    "captured graphs copy or set the state of "
				    "the generator in %zu place%s",
				    generator->reads,
				    status_s(generator->reads));
	else if (generator->regions)
		status = status_set(PHILOX_ERROR_BUSY,
				    "the generator still has %zu region%s",
				    generator->regions,
				    status_s(generator->regions));
	else if (generator->tables)
		status = status_set(
			PHILOX_ERROR_BUSY,
			"the generator still has %zu table%s of rows",
			generator->tables, status_s(generator->tables));
	else if (generator->data)
		status = status_set(PHILOX_ERROR_BUSY,
				    "the generator still has data: %zu",
				    generator->data);
	if (status == PHILOX_OK) {
		journal_generator(generator, "destroy");
		unlink_generator(generator);
	}
	context_unlock(context);
	if (status == PHILOX_OK)
		free(generator);
	return context_report(context, status, NULL);
}

struct philox_generator *philox_context_generator(
	struct philox_context *context)
{
	return context ? context->generator : NULL;
}

/*
 * A call without a stream acts once, also where its thread records a capture
 * whose launches were to repeat it.
 */
static enum philox_status check_here(const struct philox_generator *generator,
				     const char *why)
{
	struct philox_context *context = generator->context;
	uint64_t id;

	context_lock(context);
	id = context->hooks->here(context);
	context_unlock(context);
	return id ? status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			       "generator: this thread records capture %" PRIu64
			       ", %s",
			       id, why)
		  : PHILOX_OK;
}

/* On trial there is no restart, which regions could not be told to forget. */
static enum philox_status check_seeding(
	const struct philox_generator *generator)
{
	struct trial *trial = trial_here(generator->context);

	if (trial)
		return trial_refuse(trial, "a generator is seeded");
	return check_here(generator,
			  "whose launches would not seed again: seed between "
			  "launches");
}

/* To a seed or, with `fold`, to what the present one is with that index. */
static enum philox_status reseed(struct philox_generator *generator,
				 uint64_t seed, int fold)
{
	enum philox_status status;

	if (!generator)
		return context_null(NULL, "generator");
	NEED_PROCESS(generator->context);
	status = check_seeding(generator);
	if (status == PHILOX_OK) {
		context_lock(generator->context);
		if (fold)
			seed = philox_fold(generator->state.seed,
					   PHILOX_FOLD_RANK, seed);
		restart(generator, (struct philox_state){.seed = seed});
		journal_generator(generator, fold ? "fold" : "set");
		context_unlock(generator->context);
	}
	return context_report(generator->context, status, NULL);
}

enum philox_status philox_generator_seed(struct philox_generator *generator,
					 uint64_t seed)
{
	return reseed(generator, seed, 0);
}

enum philox_status philox_generator_fold(struct philox_generator *generator,
					 uint64_t index)
{
	return reseed(generator, index, 1);
}

enum philox_status philox_generator_get_state(
	struct philox_generator *generator, struct philox_state *state)
{
	struct philox_state *of;
	enum philox_status status;

	if (!generator)
		return context_null(NULL, "generator");
	if (!state)
		return context_null(generator->context, "state");
	NEED_PROCESS(generator->context);
	context_lock(generator->context);
	status = trial_generator(generator, &of);
	if (status == PHILOX_OK)
		*state = *of;
	context_unlock(generator->context);
	return context_report(generator->context, status, NULL);
}

/*
 * With the present seed only the generator moves. Else to put a state back,
 * after a recompute for example, would have its regions repeat their numbers.
 */
static void set_state(struct philox_generator *generator,
		      struct philox_state state)
{
	if (state.seed == generator->state.seed) {
		generator_move(generator, state.offset);
		journal_generator(generator, "move");
	} else {
		restart(generator, state);
		journal_generator(generator, "set");
	}
}

static enum philox_status set_state_on_trial(struct philox_generator *generator,
					     struct philox_state state,
					     struct trial *trial)
{
	struct philox_state *of;
	enum philox_status status = trial_generator(generator, &of);

	if (status != PHILOX_OK)
		return status;
	if (state.seed != of->seed)
		return trial_refuse(trial, "a generator is seeded");
	of->offset = state.offset;
	return PHILOX_OK;
}

static enum philox_status set_now(struct philox_generator *generator,
				  struct philox_state state)
{
	struct trial *trial = trial_here(generator->context);
	enum philox_status status = PHILOX_OK;

	context_lock(generator->context);
	if (trial)
		status = set_state_on_trial(generator, state, trial);
	else
		set_state(generator, state);
	context_unlock(generator->context);
	return status;
}

enum philox_status philox_generator_set_state(
	struct philox_generator *generator, struct philox_state state)
{
	enum philox_status status = check_offset(state);

	if (!generator)
		return context_null(NULL, "generator");
	NEED_PROCESS(generator->context);
	if (status == PHILOX_OK)
		status = check_here(generator,
				    "whose launches would not set this state "
				    "again: name the capture's stream with it");
	if (status == PHILOX_OK)
		status = set_now(generator, state);
	return context_report(generator->context, status, NULL);
}

/* --- setting a state at a place of a stream -------------------------------- */

/* A generator's next numbers are reserved here, and not in stream order. */
static enum philox_status check_host(const struct philox_context *context,
				     const struct philox_state *state)
{
	if (!device_is_memory(context->device, state))
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "generator state: state (%p) is memory of device %s: "
			  "the host reserves a generator's numbers, and cannot "
			  "wait for what the device has there; fills and "
			  "samplers take a state from device memory",
			  (const void *)state,
			  philox_device_name(context->device));
}

static enum philox_status set_on(struct philox_generator *generator,
				 philox_stream stream,
				 const struct philox_state *state)
{
	struct philox_context *context = generator->context;
	struct capture_info info;
	enum philox_status status = check_host(context, state);

	if (status == PHILOX_OK)
		status = check_offset(*state);
	if (status != PHILOX_OK)
		return status;
	status = device_ask_capture(context->device, stream, &info);
	if (status != PHILOX_OK)
		return status_prefix(status, "generator state: ");
	if (info.status == PHILOX_CAPTURE_NONE)
		return set_now(generator, *state);
	context_lock(context);
	status = context->hooks->set(generator, &info, *state);
	context_unlock(context);
	return status;
}

enum philox_status philox_generator_set_state_on(
	struct philox_generator *generator, philox_stream stream,
	const struct philox_state *state)
{
	enum philox_status status;

	if (!generator)
		return context_null(NULL, "generator");
	if (!state)
		return context_null(generator->context, "state");
	NEED_PROCESS(generator->context);
	status = set_on(generator, stream, state);
	context_broken(generator->context, stream, status, __func__, "(none)");
	return context_report(generator->context, status, NULL);
}

/* --- advancing -------------------------------------------------------------- */

static enum philox_status advance(struct philox_state *state, uint64_t words,
				  struct philox_state *before)
{
	if (words % 4)
		return status_set(PHILOX_ERROR_INVALID,
				  "words is %" PRIu64 ", not a multiple of 4",
				  words);
	if (words > UINT64_MAX - 3 - state->offset)
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "generator offset %" PRIu64
				  " cannot advance by "
				  "%" PRIu64 " words",
				  state->offset, words);
	if (before)
		*before = *state;
	state->offset += words;
	return PHILOX_OK;
}

enum philox_status philox_generator_advance(struct philox_generator *generator,
					    uint64_t words,
					    struct philox_state *before)
{
	struct philox_state *state;
	enum philox_status status;

	if (!generator)
		return context_null(NULL, "generator");
	NEED_PROCESS(generator->context);
	context_lock(generator->context);
	status = trial_generator(generator, &state);
	if (status == PHILOX_OK)
		status = advance(state, words, before);
	if (status == PHILOX_OK && state == &generator->state)
		journal_generator(generator, "advance");
	context_unlock(generator->context);
	return context_report(generator->context, status, NULL);
}

/* --- copying a state to the device ---------------------------------------- */

enum philox_status state_store(struct philox_device *device,
			       philox_stream stream, const char *name, void *to,
			       struct philox_state state)
{
	const struct store_args args = {.state = state, .to = to};
	struct kernel_arrays arrays = {.count = 0};
	const struct kernel_call call = {.kernel = KERNEL_STORE,
					 .args = &args,
					 .size = sizeof(args),
					 .work = 1,
					 .arrays = &arrays};

	kernel_writes(&arrays, name, to, sizeof(state));
	return device_launch(device, stream, &call);
}

static enum philox_status store(struct philox_generator *generator,
				philox_stream stream, struct philox_state *to)
{
	struct trial *trial = trial_here(generator->context);
	struct philox_state state;
	enum philox_status status = PHILOX_OK;

	context_lock(generator->context);
	if (trial)
		status = trial_read(trial, &state);
	else
		state = generator->state;
	context_unlock(generator->context);
	if (status != PHILOX_OK)
		return status;
	return state_store(generator->context->device, stream,
			   "generator state: to", to, state);
}

static enum philox_status copy_state(struct philox_generator *generator,
				     philox_stream stream,
				     struct philox_state *to)
{
	struct philox_context *context = generator->context;
	struct capture_info info;
	enum philox_status status;

	if (!to || (uintptr_t)to % 8)
		return to ? status_set(PHILOX_ERROR_INVALID,
				       "generator state: to (%p) is not "
				       "aligned to 8 bytes",
				       (void *)to)
			  : status_set(PHILOX_ERROR_INVALID,
				       "generator state: to is NULL");
	status = device_ask_capture(context->device, stream, &info);
	if (status != PHILOX_OK)
		return status_prefix(status, "generator state: ");
	if (info.status == PHILOX_CAPTURE_NONE)
		return store(generator, stream, to);
	context_lock(context);
	status = context->hooks->read(generator, stream, &info, to);
	context_unlock(context);
	return status;
}

enum philox_status philox_generator_copy_state(
	struct philox_generator *generator, philox_stream stream,
	struct philox_state *to)
{
	enum philox_status status;

	if (!generator)
		return context_null(NULL, "generator");
	status = copy_state(generator, stream, to);
	context_broken(generator->context, stream, status, __func__, "(none)");
	return context_report(generator->context, status, NULL);
}

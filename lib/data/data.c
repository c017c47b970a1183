/*
 * lib/data/data.c - data: made, moved, read, destroyed
 *
 * Locked by the context. What a mixture refers to stays while its data do, so
 * samples are computed without the lock.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/list.h"
#include "lib/data/data.h"

/* The size of the struct's first version. */
#define OPTIONS_SIZE_FIRST OPTIONS_FIRST(struct philox_data_desc, generator)
OPTIONS_NO_PADDING(struct philox_data_desc, generator);

/* Ends a public call on data: the message names them. */
static enum philox_status report(const struct philox_data *data,
				 enum philox_status status)
{
	if (status != PHILOX_OK)
		status_prefix(status, "data '%s': ", data->name);
	return context_report(data->context, status, NULL);
}

/* A change that no launch repeats, and no trial takes back. */
static enum philox_status check_trial(const struct philox_data *data,
				      const char *what)
{
	struct trial *trial = trial_here(data->context);

	return trial ? trial_refuse(trial, what) : PHILOX_OK;
}

/* Nor one that a launch of a capture of this thread was to repeat. */
static enum philox_status check_move(const struct philox_data *data,
				     const char *what)
{
	struct philox_context *context = data->context;
	enum philox_status status = check_trial(data, what);
	uint64_t id;

	if (status != PHILOX_OK)
		return status;
	context_lock(context);
	id = context->hooks->here(context);
	context_unlock(context);
	return id ? status_set(PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			       "this thread records capture %" PRIu64
			       ", whose launches would not move them again: "
			       "move data between launches",
			       id)
		  : PHILOX_OK;
}

/* --- events --------------------------------------------------------------- */

static void write_event(const struct philox_data *data, const char *event)
{
	journal_write(data->context, EVENT("data-%s", DATA), event,
		      journal_name(data->name).text,
		      journal_number(data->generator), data->n_sources,
		      data->block, data->order, data->seed);
}

static void write_move(const struct philox_data *data, const char *event)
{
	journal_write(data->context, EVENT("data-%s", DATA_MOVE), event,
		      journal_name(data->name).text, data->position);
}

/* --- making --------------------------------------------------------------- */

static enum philox_status check_options(const struct philox_context *context,
					const struct philox_data_desc *options)
{
	const struct philox_generator *generator = options->generator;
	enum philox_status status;

	status = options_check_size("data options", options, options->size,
				    OPTIONS_SIZE_FIRST, sizeof(*options));
	if (status != PHILOX_OK)
		return status;
	if (!options->name || !*options->name)
		return status_set(PHILOX_ERROR_INVALID,
				  "data options: name is %s",
				  options->name ? "empty" : "NULL");
	status = name_check(options->name, "data options: name");
	if (status != PHILOX_OK || !generator)
		return status;
	if (generator->context != context)
		return status_set(PHILOX_ERROR_INVALID,
				  "data '%s': generator is of another context",
				  options->name);
	if (generator->flags & PHILOX_GENERATOR_DIFFERS)
		return status_set(PHILOX_ERROR_INVALID,
				  "data '%s': generator differs between ranks, "
				  "which read parts of one sequence",
				  options->name);
	return PHILOX_OK;
}

static void free_data(struct philox_data *data)
{
	free(data->sources);
	free(data->name);
	free(data);
}

static struct philox_data *allocate(struct philox_context *context,
				    const struct philox_data_desc *options)
{
	struct philox_data *data = calloc(1, sizeof(*data));

	if (data)
		data->name = strdup(options->name);
	if (!data || !data->name) {
		free(data);
		status_set(PHILOX_ERROR_MEMORY, "no memory for data '%s'",
			   options->name);
		return NULL;
	}
	data->context = context;
	data->key = hash_text(data->name, strlen(data->name));
	data->generator =
		options->generator ? options->generator : context->generator;
	return data;
}

static struct philox_mixture mixture_of(const struct philox_data *data)
{
	return philox_mixture_of((struct philox_state){.seed = data->seed},
				 data->sources, data->n_sources);
}

static enum philox_status fill(struct philox_data *data,
			       const struct philox_data_desc *options)
{
	enum philox_status status = data_quotas(options, &data->sources);
	struct philox_mixture mixture;

	if (status != PHILOX_OK)
		return status_prefix(status, "data '%s': ", options->name);
	data->n_sources = (uint32_t)options->n_sources;
	mixture = mixture_of(data);
	data->block = mixture.block;
	data->order = philox_mixture_hash(&mixture);
	return PHILOX_OK;
}

/* And makes room for it. */
static enum philox_status check_name(struct philox_context *context,
				     const struct philox_data *made)
{
	const struct philox_data *data =
		map_value(&context->data_names, made->key);

	if (!data &&
	    map_reserve(&context->data_names, context->data_names.count + 1))
		return PHILOX_OK;
	if (!data)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for data '%s'", made->name);
	if (!strcmp(data->name, made->name))
		return status_set(PHILOX_ERROR_EXISTS,
				  "data '%s': data of this name are alive",
				  made->name);
	return status_set(PHILOX_ERROR_EXISTS,
			  "data '%s': data '%s' have its hash", made->name,
			  data->name);
}

static enum philox_status list_data(struct philox_data *data)
{
	struct philox_context *context = data->context;
	enum philox_status status;

	context_lock(context);
	status = check_name(context, data);
	if (status == PHILOX_OK) {
		LIST_ADD(&context->data, data);
		map_put(&context->data_names, data->key, data);
		data->generator->data++;
		data_restart(data);
		write_event(data, "create");
	}
	context_unlock(context);
	return status;
}

static enum philox_status create(struct philox_context *context,
				 const struct philox_data_desc *options,
				 struct philox_data **out)
{
	struct philox_data *data = allocate(context, options);
	enum philox_status status;

	if (!data)
		return PHILOX_ERROR_MEMORY;
	status = fill(data, options);
	if (status == PHILOX_OK)
		status = list_data(data);
	if (status == PHILOX_OK)
		*out = data;
	else
		free_data(data);
	return status;
}

enum philox_status philox_data_create(struct philox_context *context,
				      const struct philox_data_desc *options,
				      struct philox_data **data)
{
	enum philox_status status;

	if (!context)
		return context_null(NULL, "context");
	if (!options || !data)
		return context_null(context, options ? "data" : "options");
	NEED_PROCESS(context);
	status = check_options(context, options);
	if (status == PHILOX_OK)
		status = create(context, options, data);
	return context_report(context, status, NULL);
}

enum philox_status philox_data_quotas(const struct philox_data_desc *options,
				      struct philox_mixture_source *sources)
{
	struct philox_mixture_source *made;
	enum philox_status status;

	if (!options || !sources)
		return context_null(NULL, options ? "sources" : "options");
	status = options_check_size("data options", options, options->size,
				    OPTIONS_SIZE_FIRST, sizeof(*options));
	if (status == PHILOX_OK) {
		status = data_quotas(options, &made);
		if (status != PHILOX_OK)
			return status_prefix(status, "data options: ");
		memcpy(sources, made, options->n_sources * sizeof(*sources));
		free(made);
	}
	return status;
}

/* --- destroying ----------------------------------------------------------- */

enum philox_status philox_data_destroy(struct philox_data *data)
{
	struct philox_context *context;
	enum philox_status status;

	if (!data)
		return PHILOX_OK;
	context = data->context;
	NEED_PROCESS(context);
	status = check_trial(data, "data are destroyed");
	if (status != PHILOX_OK)
		return report(data, status);
	context_lock(context);
	LIST_REMOVE(data);
	map_remove(&context->data_names, data->key, data);
	data->generator->data--;
	write_event(data, "destroy");
	context_unlock(context);
	free_data(data);
	return context_report(context, PHILOX_OK, NULL);
}

void data_finish(struct philox_context *context)
{
	struct philox_data *data;

	while ((data = context->data)) {
		context->data = data->next;
		free_data(data);
	}
	map_finish(&context->data_names);
}

/* --- queries -------------------------------------------------------------- */

const char *philox_data_name(const struct philox_data *data)
{
	return data ? data->name : "";
}

enum philox_status philox_data_mixture(struct philox_data *data,
				       struct philox_mixture *mixture)
{
	if (!data || !mixture)
		return context_null(data ? data->context : NULL,
				    data ? "mixture" : "data");
	NEED_PROCESS(data->context);
	context_lock(data->context);
	*mixture = mixture_of(data);
	context_unlock(data->context);
	return PHILOX_OK;
}

enum philox_status philox_data_position(struct philox_data *data,
					uint64_t *position)
{
	if (!data || !position)
		return context_null(data ? data->context : NULL,
				    data ? "position" : "data");
	NEED_PROCESS(data->context);
	context_lock(data->context);
	*position = data->position;
	context_unlock(data->context);
	return PHILOX_OK;
}

/* --- moving --------------------------------------------------------------- */

enum philox_status philox_data_seek(struct philox_data *data, uint64_t position)
{
	enum philox_status status;

	if (!data)
		return context_null(NULL, "data");
	NEED_PROCESS(data->context);
	status = check_move(data, "the position of data is set");
	if (status == PHILOX_OK && position > DATA_POSITION_MAX)
		status = status_set(PHILOX_ERROR_OVERFLOW,
				    "position %" PRIu64 " is above 2^63",
				    position);
	if (status != PHILOX_OK)
		return report(data, status);
	context_lock(data->context);
	data->position = position;
	write_move(data, "seek");
	context_unlock(data->context);
	return PHILOX_OK;
}

/* With the lock held. */
static enum philox_status advance(struct philox_data *data, uint64_t count,
				  uint64_t *before)
{
	if (count > DATA_POSITION_MAX - data->position)
		return status_set(PHILOX_ERROR_OVERFLOW,
				  "position %" PRIu64 " cannot advance by "
				  "%" PRIu64 ", beyond 2^63",
				  data->position, count);
	if (before)
		*before = data->position;
	data->position += count;
	write_move(data, "advance");
	return PHILOX_OK;
}

enum philox_status philox_data_advance(struct philox_data *data, uint64_t count,
				       uint64_t *before)
{
	enum philox_status status;

	if (!data)
		return context_null(NULL, "data");
	NEED_PROCESS(data->context);
	status = check_move(data, "data are advanced");
	if (status == PHILOX_OK) {
		context_lock(data->context);
		status = advance(data, count, before);
		context_unlock(data->context);
	}
	return report(data, status);
}

/* --- reading -------------------------------------------------------------- */

/* The order of a block is made once for all its positions. */
static void read_block(const struct philox_mixture *mixture, uint64_t position,
		       uint64_t count, struct philox_mixture_sample *samples)
{
	const struct philox_permutation order =
		philox_mixture_block(mixture, position / mixture->block);

	for (uint64_t i = 0; i < count; i++)
		samples[i] =
			philox_mixture_in_block(mixture, &order, position + i);
}

static void read_all(const struct philox_mixture *mixture, uint64_t position,
		     uint64_t count, struct philox_mixture_sample *samples)
{
	while (count) {
		const uint64_t left =
			mixture->block - position % mixture->block;
		const uint64_t now = count < left ? count : left;

		read_block(mixture, position, now, samples);
		position += now;
		samples += now;
		count -= now;
	}
}

enum philox_status philox_data_read(struct philox_data *data, uint64_t position,
				    uint64_t count,
				    struct philox_mixture_sample *samples)
{
	struct philox_mixture mixture;
	enum philox_status status;

	if (!data || (count && !samples))
		return context_null(data ? data->context : NULL,
				    data ? "samples" : "data");
	if (position > DATA_POSITION_MAX ||
	    count > DATA_POSITION_MAX - position)
		return report(data, status_set(PHILOX_ERROR_OVERFLOW,
					       "position %" PRIu64 " + count "
					       "%" PRIu64 " is above 2^63",
					       position, count));
	status = philox_data_mixture(data, &mixture);
	if (status == PHILOX_OK)
		read_all(&mixture, position, count, samples);
	return status;
}

static enum philox_status check_sample(
	const struct philox_data *data,
	const struct philox_mixture_sample *sample)
{
	if (sample->source >= data->n_sources)
		return status_set(PHILOX_ERROR_INVALID,
				  "source %" PRIu32 " is not one of %" PRIu32,
				  sample->source, data->n_sources);
	if (sample->sample >= data->sources[sample->source].samples)
		return status_set(PHILOX_ERROR_INVALID,
				  "sample %" PRIu64 " of source %" PRIu32
				  " is not one of %" PRIu64,
				  sample->sample, sample->source,
				  data->sources[sample->source].samples);
	return PHILOX_OK;
}

static enum philox_status find(struct philox_data *data,
			       const struct philox_mixture_sample *sample,
			       uint64_t *position)
{
	struct philox_mixture mixture;
	enum philox_status status = check_sample(data, sample);
	uint64_t found;

	if (status == PHILOX_OK)
		status = philox_data_mixture(data, &mixture);
	if (status != PHILOX_OK)
		return status;
	found = philox_mixture_find(&mixture, sample);
	if (found == PHILOX_MIXTURE_NONE)
		return status_set(
			PHILOX_ERROR_OVERFLOW,
			"epoch %" PRIu64 " of source %" PRIu32
			" reads sample %" PRIu64 " at no position below 2^63",
			sample->epoch, sample->source, sample->sample);
	*position = found;
	return PHILOX_OK;
}

enum philox_status philox_data_find(struct philox_data *data,
				    const struct philox_mixture_sample *sample,
				    uint64_t *position)
{
	if (!data)
		return context_null(NULL, "data");
	if (!sample || !position)
		return context_null(data->context,
				    sample ? "position" : "sample");
	return report(data, find(data, sample, position));
}

/*
 * lib/ranks/agree.c - all ranks find out together whether they agree
 *
 * See Note [Agreement]. What is sent in each round has the form of a digest:
 *
 *  1          the digest;
 *  2 .. 5     if they do not agree: the sums of eight parts of the items, of
 *             the part of the round before that differs;
 *  6          the size of the text of what is left, or 0: there is none; of
 *             one that is too long nobody takes the memory, and the question
 *             ends;
 *  7          whether there is memory for the texts of all;
 *  8          the texts.
 *
 * So all the memory that it takes before it knows of a difference is for what
 * arrives in the first round, and ranks of smaller worlds have that on the
 * stack.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "lib/mesh/mesh.h"
#include "lib/ranks/ranks.h"
#include "lib/save/save.h"
#include "lib/state/state.h"

enum { SPLITS = 4, SMALL_WORLD = 128 };

/*
 * A text is of one item or of a few, so it is small. What a rank announces is
 * believed up to here: of one text, and of those of all ranks together.
 */
#define TEXT_MOST  (UINT64_C(1) << 24)
#define TEXTS_MOST (UINT64_C(1) << 30)

struct asking {
	struct philox_context *context;
	struct philox_mesh mesh;
	uint64_t world;
	enum philox_status (*gather)(void *user, const void *mine, size_t size,
				     void *all);
	void *user;
	struct philox_rank_digest *digests; /* of the last round */
	struct agree_digests all;           /* the same, and their order */
	struct agree_found found;
	struct save_part part;
	struct status_message verdict; /* that the ranks do not agree */
	struct philox_rank_digest small_digests[SMALL_WORLD];
	size_t small_order[SMALL_WORLD];
};

/* --- rounds --------------------------------------------------------------- */

/* The message is the callback's own if it has written one. */
static enum philox_status call_gather(const struct asking *asking,
				      const void *mine, size_t size, void *all)
{
	const struct status_message before = status_kept();
	enum philox_status status =
		asking->gather(asking->user, mine, size, all);

	if (status == PHILOX_OK)
		return status;
	if (status_is_other(&before))
		return status_prefix(status, "the ranks cannot be compared: ");
	return status_set(status,
			  "the ranks cannot be compared: gather() returned %s",
			  philox_status_name(status));
}

static enum philox_status send_digest(const struct asking *asking,
				      const struct philox_rank_digest *mine)
{
	return call_gather(asking, mine, sizeof(*mine), asking->digests);
}

/* What ranks tell beside digests: one number each. */
static enum philox_status send_number(const struct asking *asking,
				      uint64_t number)
{
	const struct philox_rank_digest mine = {
		.size = sizeof(mine),
		.rank = mesh_rank(&asking->mesh),
		.along = {number}};

	return send_digest(asking, &mine);
}

/* The verdict is that of the first round, with why there is no more. */
static enum philox_status no_more(const struct asking *asking, const char *why)
{
	return status_set(PHILOX_ERROR_MISMATCH, "%s%s", asking->verdict.text,
			  why);
}

/* --- looking for an item -------------------------------------------------- */

static void make_split(const struct asking *asking,
		       struct philox_rank_digest *split)
{
	context_lock(asking->context);
	agree_split(asking->context, asking->found.axis, &asking->part, split);
	context_unlock(asking->context);
}

/* The first of eight parts that differs is what is left; 0: none does. */
static int narrow(struct asking *asking)
{
	const uint32_t axis = asking->found.axis;

	for (unsigned word = 0; word < 1u << AGREE_SPLIT_BITS; word++) {
		if (!agree_compare_part(&asking->all, axis, word,
					&asking->found))
			continue;
		asking->part.value |= (uint64_t)word << asking->part.bits;
		asking->part.bits += AGREE_SPLIT_BITS;
		return 1;
	}
	return 0;
}

/* Of meshes that differ nothing else is said: a part that no item is in. */
static enum philox_status find_part(struct asking *asking, int *found)
{
	struct philox_rank_digest split;
	enum philox_status status = PHILOX_OK;

	*found = 1;
	if (asking->found.axis == PHILOX_MESH_AXES) {
		asking->part.bits = 63;
		return status;
	}
	for (int i = 0; status == PHILOX_OK && *found && i < SPLITS; i++) {
		make_split(asking, &split);
		status = send_digest(asking, &split);
		if (status == PHILOX_OK)
			*found = narrow(asking);
	}
	return status;
}

/* --- texts ---------------------------------------------------------------- */

struct texts {
	struct text mine;
	size_t most;   /* of all: there is room for that much in `mine` */
	char *all;     /* each with `most` bytes */
	size_t *sizes; /* of all */
	const char **each;
};

/* None, if there is no memory for it. */
static void make_text(const struct asking *asking, struct texts *texts)
{
	context_lock(asking->context);
	save_write_part(asking->context, &asking->part, &texts->mine);
	context_unlock(asking->context);
}

static enum philox_status no_memory_to_say(const struct asking *asking)
{
	return no_more(asking, "; a rank has no memory to say what differs");
}

static enum philox_status too_long(const struct asking *asking,
				   const struct philox_rank_digest *told,
				   uint64_t most)
{
	return status_set(PHILOX_ERROR_MISMATCH,
			  "%s; rank %" PRIu64 " announces a text of %" PRIu64
			  " bytes to say what differs, more than the %" PRIu64
			  " that a rank of %" PRIu64 " may send",
			  asking->verdict.text, told->rank, told->along[0],
			  most, asking->world);
}

/* All ranks have been sent the same, so they all find the same. */
static enum philox_status take_sizes(const struct asking *asking,
				     struct texts *texts)
{
	const uint64_t part = TEXTS_MOST / asking->world;
	const uint64_t most = part < TEXT_MOST ? part : TEXT_MOST;

	for (uint64_t i = 0; i < asking->world; i++) {
		const uint64_t size = asking->digests[i].along[0];

		if (!size)
			return no_memory_to_say(asking);
		if (size > most)
			return too_long(asking, &asking->digests[i], most);
		if (size > texts->most)
			texts->most = (size_t)size;
	}
	return PHILOX_OK;
}

/* The memory for all texts, and for what explaining them needs at once. */
static int make_text_room(const struct asking *asking, struct texts *texts)
{
	const size_t n = asking->world;

	if (!array_grow(&texts->mine.bytes, texts->mine.size,
			texts->most - texts->mine.size, 1))
		return 0;
	texts->all = malloc(n * texts->most);
	texts->sizes = calloc(n, sizeof(*texts->sizes));
	texts->each = calloc(n, sizeof(*texts->each));
	if (!texts->all || !texts->sizes || !texts->each)
		return 0;
	for (size_t i = 0; i < n; i++) {
		texts->sizes[i] = (size_t)asking->digests[i].along[0];
		texts->each[i] = texts->all + i * texts->most;
	}
	return 1;
}

static int all_are_ready(const struct asking *asking)
{
	for (uint64_t i = 0; i < asking->world; i++)
		if (!asking->digests[i].along[0])
			return 0;
	return 1;
}

/* Texts in which nothing differs were made after a change. */
static enum philox_status explain(const struct asking *asking,
				  const struct texts *texts)
{
	enum philox_status status =
		agree_explain(texts->each, texts->sizes, asking->world);

	if (status == PHILOX_ERROR_MISMATCH)
		return status;
	return no_more(asking, "; that has changed meanwhile, or there is no "
			       "memory to say what differs");
}

static enum philox_status exchange_texts(const struct asking *asking,
					 struct texts *texts)
{
	enum philox_status status;

	make_text(asking, texts);
	status = send_number(asking, texts->mine.size);
	if (status == PHILOX_OK)
		status = take_sizes(asking, texts);
	if (status != PHILOX_OK)
		return status;
	status = send_number(asking, (uint64_t)make_text_room(asking, texts));
	if (status != PHILOX_OK)
		return status;
	if (!all_are_ready(asking))
		return no_memory_to_say(asking);
	status =
		call_gather(asking, texts->mine.bytes, texts->most, texts->all);
	return status == PHILOX_OK ? explain(asking, texts) : status;
}

static enum philox_status say_what(struct asking *asking)
{
	struct texts texts = {.most = 0};
	enum philox_status status;
	int found;

	asking->verdict = status_kept();
	status = find_part(asking, &found);
	if (status != PHILOX_OK)
		return status;
	if (!found)
		return no_more(asking, "; that has changed meanwhile");
	status = exchange_texts(asking, &texts);
	free(texts.mine.bytes);
	free(texts.all);
	free(texts.sizes);
	free(texts.each);
	return status;
}

/* --- the question --------------------------------------------------------- */

static enum philox_status ask_ranks(struct asking *asking)
{
	struct philox_rank_digest mine;
	enum philox_status status;

	context_lock(asking->context);
	agree_digest(asking->context, &mine);
	context_unlock(asking->context);
	status = send_digest(asking, &mine);
	if (status != PHILOX_OK)
		return status;
	status = agree_compare(&asking->all, &asking->found);
	return status == PHILOX_ERROR_MISMATCH ? say_what(asking) : status;
}

/* Without memory a rank cannot call gather(), so smaller worlds need none. */
static enum philox_status ask_with_memory(struct asking *asking)
{
	const size_t n = asking->world;
	struct philox_rank_digest *digests = NULL;
	size_t *order = NULL;
	enum philox_status status;

	asking->digests = asking->small_digests;
	asking->all.order = asking->small_order;
	if (n > SMALL_WORLD) {
		asking->digests = digests = calloc(n, sizeof(*digests));
		asking->all.order = order = calloc(n, sizeof(*order));
	}
	asking->all.digests = asking->digests;
	asking->all.mesh = &asking->mesh;
	asking->all.n = n;
	status = asking->digests && asking->all.order
			 ? ask_ranks(asking)
			 : status_set(PHILOX_ERROR_MEMORY,
				      "no memory for the digests of %zu ranks",
				      n);
	free(digests);
	free(order);
	return status;
}

enum philox_status philox_context_agree(
	struct philox_context *context,
	enum philox_status (*gather)(void *, const void *, size_t, void *),
	void *user)
{
	struct asking asking;
	enum philox_status status;

	if (!context || !gather)
		return context_null(context, context ? "gather" : "context");
	NEED_PROCESS(context);
	memset(&asking, 0, sizeof(asking));
	asking.context = context;
	asking.gather = gather;
	asking.user = user;
	context_lock(context);
	asking.mesh = context->mesh;
	asking.world = mesh_world(&asking.mesh);
	context->comparing += asking.world > 1;
	context_unlock(context);
	if (asking.world == 1)
		return PHILOX_OK;
	status = ask_with_memory(&asking);
	context_lock(context);
	context->comparing--;
	context_unlock(context);
	return context_report(context, status, NULL);
}

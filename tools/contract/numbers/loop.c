/*
 * tools/contract/numbers/loop.c - scripts whose calls are in the bodies of a
 * graph
 *
 * Words say whether the loop runs again, and picks what its branch does; copies
 * in the body move both down by one place, by way of `spare`.
 */
#include <stdio.h>
#include "tools/contract/numbers/numbers.h"

enum { RUNS = 3, WORDS = RUNS + 1, LAUNCHES = 4 };

/* What the launches do: as many runs as there are words, some of them picked. */
static const uint32_t words_of[LAUNCHES][WORDS] = {
	{1, 1, 1, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 0, 0}};
static const uint32_t picks_of[LAUNCHES][WORDS] = {
	{1, 0, 1, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}};

/* A loop that is recorded, or put on the stream run by run. */
struct looping {
	const struct site_loop *loop;
	uint32_t *words, *picks, *spare;
	struct philox_graph *graph;
};

/* Puts work on a stream that may be that of a body. */
static enum philox_status put_on(const struct site *site, philox_stream stream,
				 site_put *put, const void *work)
{
	struct site at = *site;

	at.stream = stream;
	return put(&at, work);
}

static void move_down(struct contract *c, struct site *site,
		      const struct looping *at, uint32_t *words,
		      philox_stream stream)
{
	const size_t size = RUNS * sizeof(*words);

	EXPECT_OK(philox_memory_copy(site->device, stream, at->spare, words + 1,
				     size));
	EXPECT_OK(philox_memory_copy(site->device, stream, words, at->spare,
				     size));
}

/* Skips a check of what CUDA or its driver is too old for. */
static void begin_node(struct contract *c, struct site *site,
		       philox_stream stream, enum philox_conditional_kind kind,
		       const uint32_t *word, struct philox_conditional *node)
{
	const struct philox_conditional_desc options = {
		.size = sizeof(options),
		.kind = kind,
		.bodies = 1,
		.limit = kind == PHILOX_CONDITIONAL_WHILE ? RUNS : 0,
		.word = word};
	enum philox_status status =
		philox_conditional_begin(site->context, stream, &options, node);
	char why[sizeof(c->skipped)];
	struct philox_graph *graph;

	if (status == PHILOX_ERROR_UNSUPPORTED) { /* the capture goes on */
		snprintf(why, sizeof(why), "%s", philox_error_message());
		EXPECT_OK(philox_capture_end(site->context, site->stream,
					     &graph));
		contract_skip(c, "%s", why);
		return;
	}
	EXPECT_OK(status);
}

static void record_branch(struct contract *c, struct site *site,
			  const struct looping *at, philox_stream stream)
{
	struct philox_conditional branch;
	philox_stream inner;

	EXPECT_OK(contract_stream(c, 0, &inner));
	EXPECT_PART(begin_node(c, site, stream, PHILOX_CONDITIONAL_IF,
			       at->picks, &branch));
	EXPECT_OK(philox_conditional_body(&branch, 0, inner));
	EXPECT_OK(put_on(site, inner, at->loop->some, at->loop->work));
	EXPECT_OK(philox_conditional_end(&branch));
}

static void record_loop(struct contract *c, struct site *site,
			struct looping *at)
{
	struct philox_conditional loop;
	philox_stream inner;

	EXPECT_OK(contract_stream(c, 0, &inner));
	EXPECT_OK(philox_capture_begin(site->context, site->stream));
	EXPECT_PART(begin_node(c, site, site->stream, PHILOX_CONDITIONAL_WHILE,
			       at->words, &loop));
	EXPECT_OK(philox_conditional_body(&loop, 0, inner));
	EXPECT_OK(put_on(site, inner, at->loop->each, at->loop->work));
	EXPECT_PART(record_branch(c, site, at, inner));
	EXPECT_PART(move_down(c, site, at, at->picks, inner));
	EXPECT_PART(move_down(c, site, at, at->words, inner));
	EXPECT_OK(philox_conditional_set(&loop, inner, at->words));
	EXPECT_OK(philox_conditional_end(&loop));
	EXPECT_OK(philox_capture_end(site->context, site->stream, &at->graph));
}

static void launch_loop(struct contract *c, struct site *site,
			const struct looping *at, uint32_t launch)
{
	EXPECT_OK(philox_memory_copy(site->device, site->stream, at->words,
				     words_of[launch],
				     sizeof(words_of[launch])));
	EXPECT_OK(philox_memory_copy(site->device, site->stream, at->picks,
				     picks_of[launch],
				     sizeof(picks_of[launch])));
	EXPECT_OK(philox_graph_launch(at->graph, site->stream, NULL, 0));
	EXPECT_OK(philox_stream_synchronize(site->device, site->stream));
}

static void run_eagerly(struct contract *c, struct site *site,
			const struct site_loop *loop, uint32_t launch)
{
	for (int i = 0; words_of[launch][i]; i++) {
		EXPECT_OK(loop->each(site, loop->work));
		if (picks_of[launch][i])
			EXPECT_OK(loop->some(site, loop->work));
	}
}

static void prepare_loop(struct contract *c, struct site *site,
			 struct looping *at)
{
	void *memory[3];

	for (int i = 0; i < 3; i++)
		EXPECT_PART(site_allocate(c, site, sizeof(words_of[0]),
					  &memory[i]));
	at->words = memory[0];
	at->picks = memory[1];
	at->spare = memory[2];
	if (site->device == c->device)
		EXPECT_PART(record_loop(c, site, at));
}

void site_run_loop(struct contract *c, struct site *site,
		   const struct site_loop *loop)
{
	struct looping at = {.loop = loop};

	EXPECT_PART(prepare_loop(c, site, &at));
	for (uint32_t launch = 0; launch < LAUNCHES; launch++) {
		if (loop->change)
			EXPECT_PART(loop->change(c, site, loop->work, launch));
		if (at.graph)
			EXPECT_PART(launch_loop(c, site, &at, launch));
		else
			EXPECT_PART(run_eagerly(c, site, loop, launch));
		EXPECT_PART(loop->note(c, site, loop->work));
	}
}

/*
 * tools/contract/numbers/site.c - scripts of calls that run on two devices
 */
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "tools/contract/numbers/numbers.h"

/* --- sites ---------------------------------------------------------------- */

void site_allocate(struct contract *c, struct site *site, size_t size,
		   void **memory)
{
	EXPECT(site->n_memory < SITE_MEMORY_MAX);
	EXPECT_OK(philox_memory_alloc(site->device, size, memory));
	site->memory[site->n_memory++] = *memory;
	EXPECT_OK(philox_memory_set(site->device, site->stream, *memory, 0xee,
				    size));
}

/* An array of `size` bytes on the device, filled from the host. */
void site_upload(struct contract *c, struct site *site, const void *from,
		 size_t size, void **memory)
{
	EXPECT_PART(site_allocate(c, site, size, memory));
	EXPECT_OK(philox_memory_copy(site->device, site->stream, *memory, from,
				     size));
	EXPECT_OK(philox_stream_synchronize(site->device, site->stream));
}

static void note(struct contract *c, struct site *site, const void *bytes,
		 size_t size)
{
	unsigned char *added = array_grow(&site->log, site->size, size, 1);

	EXPECT(added);
	memcpy(added, bytes, size);
	site->size += size;
}

void site_note_memory(struct contract *c, struct site *site, const void *memory,
		      size_t size)
{
	void *bytes = malloc(size);
	enum philox_status status;

	EXPECT(bytes);
	status = philox_memory_copy(site->device, site->stream, bytes, memory,
				    size);
	if (status == PHILOX_OK)
		status = philox_stream_synchronize(site->device, site->stream);
	if (status == PHILOX_OK)
		note(c, site, bytes, size);
	free(bytes);
	EXPECT_OK(status);
}

void site_note_states(struct contract *c, struct site *site)
{
	struct philox_rows_report report = {.size = sizeof(report)};
	struct philox_state *states;

	EXPECT_OK(philox_rows_states(site->rows, &states));
	EXPECT_PART(
		site_note_memory(c, site, states, SITE_ROWS * sizeof(*states)));
	philox_rows_check(site->rows, &report);
	EXPECT_PART(note(c, site, &report, sizeof(report)));
}

static void run_script(struct contract *c, struct site *site, site_script run)
{
	const struct philox_rows_desc options = {.size = sizeof(options),
						 .name = "contract",
						 .count = SITE_ROWS};
	/* one row that is used up, one that soon will be */
	const struct philox_state last[2] = {{1, UINT64_MAX - 3},
					     {2, UINT64_MAX - 11}};

	EXPECT_OK(philox_rows_create(site->context, &options, &site->rows));
	EXPECT_OK(philox_rows_set(site->rows, site->stream, (uint32_t[]){5, 11},
				  last, 2));
	EXPECT_PART(run(c, site));
}

static void run_on(struct contract *c, struct site *site, site_script run)
{
	EXPECT_OK(philox_stream_create(site->device, 0, &site->stream));
	if (contract_status_is(
		    c, __FILE__, __LINE__, "philox_context_create", PHILOX_OK,
		    philox_context_create(site->device, &site->context)))
		run_script(c, site, run);
	philox_device_synchronize(site->device);
	philox_context_destroy(site->context);
	for (size_t i = 0; i < site->n_memory; i++)
		philox_memory_free(site->device, site->memory[i]);
	philox_stream_destroy(site->device, site->stream);
}

static void run_both(struct contract *c, struct site *reference,
		     struct site *site, site_script run)
{
	EXPECT_OK(philox_device_open("host:sync", &reference->device));
	run_on(c, reference, run);
	EXPECT_OK(philox_device_close(reference->device));
	if (!c->failure[0])
		run_on(c, site, run);
}

void site_compare(struct contract *c, site_script run)
{
	struct site reference = {0}, site = {.device = c->device};
	size_t i = 0;

	run_both(c, &reference, &site, run);
	while (!c->failure[0] && i < site.size &&
	       site.log[i] == reference.log[i])
		i++;
	if (!c->failure[0] && !c->skipped[0] &&
	    (site.size != reference.size || i < site.size || !i))
		contract_fail(c, __FILE__, __LINE__,
			      "byte %zu of %zu that were read back differs", i,
			      site.size);
	free(reference.log);
	free(site.log);
}

/* --- arrays --------------------------------------------------------------- */

uint32_t site_word(uint64_t seed, uint64_t i)
{
	return philox_block(seed, i / 4, 0).w[i % 4];
}

uint32_t site_below(uint64_t seed, uint64_t i, uint32_t n)
{
	return site_word(seed, i) % n;
}

enum { FARTHEST = 7 }; /* no other step or count is above this */

void site_make_steps(struct contract *c, struct site *site, uint32_t n,
		     uint32_t **steps, uint32_t **counts)
{
	uint32_t *values = malloc((size_t)2 * n * sizeof(*values));
	void *memory[2];

	EXPECT(values);
	for (uint32_t i = 0; i < 2 * n; i++)
		values[i] = site_word(7, i) % 1000
				    ? site_word(8, i) % (FARTHEST + 1)
				    : UINT32_MAX;
	site_upload(c, site, values, (size_t)n * 4, &memory[0]);
	if (!c->failure[0])
		site_upload(c, site, values + n, (size_t)n * 4, &memory[1]);
	free(values);
	if (c->failure[0])
		return;
	*steps = memory[0];
	*counts = memory[1];
}

/* --- replays -------------------------------------------------------------- */

static void record(struct contract *c, struct site *site, site_put *put,
		   const void *work, size_t calls, philox_native_exec *exec)
{
	philox_native_graph graph;
	size_t nodes;

	EXPECT_OK(philox_stream_begin_capture(site->device, site->stream,
					      PHILOX_CAPTURE_THREAD_LOCAL));
	EXPECT_OK(put(site, work));
	EXPECT_OK(
		philox_stream_end_capture(site->device, site->stream, &graph));
	EXPECT_OK(philox_native_graph_node_count(site->device, graph, &nodes));
	EXPECT(nodes == calls);
	EXPECT_OK(philox_native_graph_instantiate(site->device, graph, exec));
	EXPECT_OK(philox_native_graph_destroy(site->device, graph));
}

void site_replay(struct contract *c, struct site *site, site_put *put,
		 const void *work, size_t calls)
{
	philox_native_exec exec = NULL;

	if (site->device == c->device)
		EXPECT_PART(record(c, site, put, work, calls, &exec));
	for (int k = 0; k < 25 && !c->failure[0]; k++)
		if (!exec)
			contract_status_is(c, __FILE__, __LINE__, "put",
					   PHILOX_OK, put(site, work));
		else
			contract_status_is(
				c, __FILE__, __LINE__,
				"philox_native_exec_launch", PHILOX_OK,
				philox_native_exec_launch(site->device,
							  site->stream, exec));
	philox_device_synchronize(site->device);
	philox_native_exec_destroy(site->device, exec);
}

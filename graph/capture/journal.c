/*
 * graph/capture/journal.c - the events that graph/ writes into a context's journal
 *
 * With the context's lock held. Captures are named by their number in the
 * context, since the device's ids may differ from run to run.
 */
#include <inttypes.h>
#include <stdio.h>
#include "graph/capture/journal.h"

static struct philox_context *context_of(const struct capture *capture)
{
	return capture->graphs->context;
}

void journal_captured(const struct capture *capture)
{
	uint32_t index = capture->n_passes - 1;
	const struct captured_pass *captured = &capture->passes[index];
	char forward[40] = "", body[40] = "";

	if (captured->body != CAPTURED_NO_BODY)
		snprintf(body, sizeof(body), " body %u", captured->body);
	if (capture_is_named(captured))
		snprintf(forward, sizeof(forward), " forward launch");
	else if (captured->backward)
		snprintf(forward, sizeof(forward), " forward %u",
			 captured->source);
	journal_write(context_of(capture),
		      "capture-%s capture %u pass %u region %s%s flags %s%s%s",
		      captured->backward ? "backward" : "forward",
		      capture->serial, index,
		      journal_name(captured->region->name).text, forward,
		      journal_flags(captured->flags).text, body,
		      journal_iterations(captured->iterations).text);
}

void journal_conditional(const struct capture *capture)
{
	static const char *const kinds[] = {"if", "while", "switch"};
	uint32_t index = capture->n_nodes - 1;
	const struct conditional_node *node = &capture->nodes[index];
	char around[40] = "";

	if (node->around != CAPTURED_NO_BODY)
		snprintf(around, sizeof(around), " around %u", node->around);
	journal_write(context_of(capture),
		      "capture-node capture %u node %u kind %s body %u bodies "
		      "%u limit %u%s",
		      capture->serial, index, kinds[node->kind], node->body,
		      node->bodies, node->limit, around);
}

void journal_ended(const struct capture *capture,
		   const struct captured_pass *captured)
{
	unsigned index = (unsigned)(captured - capture->passes);

	if (captured->phase == CAPTURED_ABORTED)
		journal_write(context_of(capture),
			      "capture-abort capture %u pass %u",
			      capture->serial, index);
	else
		journal_write(context_of(capture),
			      "capture-commit capture %u pass %u flags %s",
			      capture->serial, index,
			      journal_flags(captured->flags).text);
}

void journal_capture(const struct capture *capture, const char *event)
{
	if (capture->graph)
		journal_write(context_of(capture),
			      "capture-%s capture %u graph %s passes %u", event,
			      capture->serial,
			      journal_name(capture->graph->name).text,
			      capture->n_passes);
	else
		journal_write(context_of(capture),
			      "capture-%s capture %u passes %u", event,
			      capture->serial, capture->n_passes);
}

static void write_use(const struct philox_graph *graph,
		      const struct launch *launch, uint32_t index)
{
	const struct captured_pass *captured = &graph->capture->passes[index];
	struct philox_state state = graph->message.args->states[captured->slot];
	const struct claim *claim = &launch->claims[index];
	unsigned flags = captured->flags;

	if (capture_is_linked(captured)) {
		journal_write(graph->context,
			      "launch-use use %u pass repeat region %s forward "
			      "%u",
			      index, journal_name(captured->region->name).text,
			      captured->source);
		return;
	}
	if (captured->backward && claim->hold.use == LEDGER_RETAIN)
		flags |= PHILOX_RETAIN;
	else if (captured->backward) /* used up by a pass linked to it */
		flags &= ~(unsigned)PHILOX_RETAIN;
	journal_write(graph->context,
		      "launch-use use %u pass %s region %s ticket %" PRIu64
		      " seed %016" PRIx64 " offset %" PRIu64 " flags %s%s",
		      index, captured->backward ? "backward" : "forward",
		      journal_name(captured->region->name).text,
		      claim->hold.serial, state.seed, state.offset,
		      journal_flags(flags).text,
		      journal_iterations(claim->hold.iterations).text);
}

void journal_claimed(const struct philox_graph *graph,
		     const struct launch *launch)
{
	if (!graph->context->recorded)
		return;
	journal_write(graph->context,
		      "launch-begin graph %s sequence %" PRIu64 " uses %u",
		      journal_name(graph->name).text, graph->sequence + 1,
		      graph->n_uses);
	for (uint32_t i = 0; i < graph->n_uses; i++)
		write_use(graph, launch, i);
}

void journal_refused(const struct philox_graph *graph, uint32_t use,
		     enum philox_status status)
{
	journal_write(graph->context, "launch-refuse graph %s use %u status %s",
		      journal_name(graph->name).text, use,
		      philox_status_name(status));
}

void journal_launched(const struct philox_graph *graph,
		      enum philox_status status)
{
	if (status == PHILOX_OK)
		journal_write(graph->context,
			      "launch-commit graph %s sequence %" PRIu64,
			      journal_name(graph->name).text, graph->sequence);
	else
		journal_write(graph->context,
			      "launch-abort graph %s sequence %" PRIu64
			      " status %s",
			      journal_name(graph->name).text, graph->sequence,
			      philox_status_name(status));
}

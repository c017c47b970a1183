/*
 * graph/launch/journal.c - the events of launches in a context's journal
 */
#include "graph/launch/launch.h"

static void write_use(const struct philox_graph *graph,
		      const struct launch *launch, uint32_t index)
{
	const struct captured_pass *captured = &graph->capture->passes[index];
	struct philox_state state = graph->message.args->states[captured->slot];
	const struct claim *claim = &launch->claims[index];
	unsigned flags = captured->flags;

	if (capture_is_linked(captured)) {
		journal_write(graph->context,
			      EVENT("launch-use", LAUNCH_REPEAT), index,
			      "repeat",
			      journal_name(captured->region->name).text,
			      captured->source);
		return;
	}
	if (captured->backward && claim->hold.use == LEDGER_RETAIN)
		flags |= PHILOX_PASS_RETAIN;
	else if (captured->backward) /* used up by a pass linked to it */
		flags &= ~(unsigned)PHILOX_PASS_RETAIN;
	journal_write(graph->context, EVENT("launch-use", LAUNCH_USE), index,
		      captured->backward ? "backward" : "forward",
		      journal_name(captured->region->name).text,
		      claim->hold.serial, state.seed, state.offset,
		      journal_flags(flags).text,
		      journal_iterations(claim->hold.iterations).text);
}

void journal_claimed(const struct philox_graph *graph,
		     const struct launch *launch)
{
	const struct capture *capture = graph->capture;

	if (!graph->context->recorded)
		return;
	for (uint32_t i = 0; i < capture->n_sets; i++)
		journal_generator_at(capture->sets[i].generator, "move",
				     capture->sets[i].state);
	journal_write(graph->context, EVENT("launch-begin", LAUNCH_BEGIN),
		      journal_name(graph->name).text, graph->sequence + 1,
		      graph->n_uses);
	for (uint32_t i = 0; i < graph->n_uses; i++)
		write_use(graph, launch, i);
}

void journal_refused(const struct philox_graph *graph, uint32_t use,
		     enum philox_status status)
{
	journal_write(graph->context, EVENT("launch-refuse", LAUNCH_REFUSE),
		      journal_name(graph->name).text, use,
		      philox_status_name(status));
}

void journal_launched(const struct philox_graph *graph,
		      enum philox_status status)
{
	if (status == PHILOX_OK)
		journal_write(graph->context,
			      EVENT("launch-commit", LAUNCH_COMMIT),
			      journal_name(graph->name).text, graph->sequence);
	else
		journal_write(graph->context,
			      EVENT("launch-abort", LAUNCH_ABORT),
			      journal_name(graph->name).text, graph->sequence,
			      philox_status_name(status));
}

/*
 * graph/journal.c - what graph/ writes into a context's journal
 *
 * With the context's lock held. Captures go by their number in the context,
 * since the device's ids need not be the same in every run.
 */
#include <inttypes.h>
#include <stdio.h>
#include "graph/journal.h"

static struct philox_context *context_of(const struct capture *capture)
{
	return capture->graphs->context;
}

void journal_template(const struct capture *capture)
{
	uint32_t index = capture->n_templates - 1;
	const struct template *template = &capture->templates[index];
	char forward[40] = "";

	if (capture_is_named(template))
		snprintf(forward, sizeof(forward), " forward launch");
	else if (template->backward)
		snprintf(forward, sizeof(forward), " forward %u",
			 template->forward);
	journal_write(context_of(capture),
		      "capture-%s capture %u pass %u region %s%s flags %s",
		      template->backward ? "backward" : "forward",
		      capture->serial, index,
		      journal_name(template->region->name).text, forward,
		      journal_flags(template->flags).text);
}

void journal_ended(const struct capture *capture,
		   const struct template *template)
{
	unsigned index = (unsigned)(template - capture->templates);

	if (template->phase == TEMPLATE_ABORTED)
		journal_write(context_of(capture),
			      "capture-abort capture %u pass %u",
			      capture->serial, index);
	else
		journal_write(context_of(capture),
			      "capture-commit capture %u pass %u flags %s",
			      capture->serial, index,
			      journal_flags(template->flags).text);
}

void journal_capture(const struct capture *capture, const char *event)
{
	if (capture->graph)
		journal_write(context_of(capture),
			      "capture-%s capture %u graph %s passes %u", event,
			      capture->serial,
			      journal_name(capture->graph->name).text,
			      capture->n_templates);
	else
		journal_write(context_of(capture),
			      "capture-%s capture %u passes %u", event,
			      capture->serial, capture->n_templates);
}

static void write_use(const struct philox_graph *graph,
		      const struct launch *launch, uint32_t index)
{
	const struct template *template = &graph->capture->templates[index];
	struct philox_state state = graph->message.args->states[template->slot];
	const struct claim *claim = &launch->claims[index];
	unsigned flags = template->flags;

	if (template->backward && !capture_is_named(template)) {
		journal_write(graph->context,
			      "launch-use use %u pass repeat region %s forward "
			      "%u",
			      index, journal_name(template->region->name).text,
			      template->forward);
		return;
	}
	if (template->backward)
		flags |= launch->uses[index].flags;
	journal_write(graph->context,
		      "launch-use use %u pass %s region %s ticket %" PRIu64
		      " seed %016" PRIx64 " offset %" PRIu64 " flags %s",
		      index, template->backward ? "backward" : "forward",
		      journal_name(template->region->name).text, claim->serial,
		      state.seed, state.offset, journal_flags(flags).text);
}

void journal_claimed(const struct philox_graph *graph,
		     const struct launch *launch)
{
	if (!graph->context->journal)
		return;
	journal_write(graph->context,
		      "launch-begin graph %s sequence %" PRIu64 " uses %u",
		      journal_name(graph->name).text, graph->sequence + 1,
		      graph->n_uses);
	for (uint32_t i = 0; i < graph->n_uses; i++)
		write_use(graph, launch, i);
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

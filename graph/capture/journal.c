/*
 * graph/capture/journal.c - the events that graph/ writes into a context's
 * journal
 *
 * With the context's lock held. Captures are named by their number in the
 * context, since the device's ids may differ from run to run.
 */
#include <stdio.h>
#include "graph/capture/capture.h"

static struct philox_context *context_of(const struct capture *capture)
{
	return capture->graphs->context;
}

void journal_captured(const struct capture *capture)
{
	uint32_t index = capture->n_passes - 1;
	const struct captured_pass *captured = &capture->passes[index];
	char forward[40] = "launch", body[40] = "";

	if (captured->body != CAPTURED_NO_BODY)
		snprintf(body, sizeof(body), " body %u", captured->body);
	if (captured->backward && !capture_is_named(captured))
		snprintf(forward, sizeof(forward), "%u", captured->source);
	if (captured->backward)
		journal_write(context_of(capture),
			      EVENT("capture-backward", CAPTURE_BACKWARD),
			      capture->serial, index,
			      journal_name(captured->region->name).text,
			      forward, journal_flags(captured->flags).text,
			      body,
			      journal_iterations(captured->iterations).text);
	else
		journal_write(context_of(capture),
			      EVENT("capture-forward", CAPTURE_FORWARD),
			      capture->serial, index,
			      journal_name(captured->region->name).text,
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
	journal_write(context_of(capture), EVENT("capture-node", CAPTURE_NODE),
		      capture->serial, index, kinds[node->kind], node->body,
		      node->bodies, node->limit, around);
}

void journal_ended(const struct capture *capture,
		   const struct captured_pass *captured)
{
	unsigned index = (unsigned)(captured - capture->passes);

	if (captured->phase == CAPTURED_ABORTED)
		journal_write(context_of(capture),
			      EVENT("capture-abort", CAPTURE_ABORT),
			      capture->serial, index);
	else
		journal_write(context_of(capture),
			      EVENT("capture-commit", CAPTURE_COMMIT),
			      capture->serial, index,
			      journal_flags(captured->flags).text);
}

void journal_capture(const struct capture *capture)
{
	if (capture->graph)
		journal_write(
			context_of(capture),
			EVENT("capture-adopt", CAPTURE_ADOPT), capture->serial,
			journal_name(capture->graph).text, capture->n_passes);
	else
		journal_write(context_of(capture),
			      EVENT("capture-drop", CAPTURE_DROP),
			      capture->serial, capture->n_passes);
}

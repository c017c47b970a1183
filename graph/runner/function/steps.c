/*
 * graph/runner/function/steps.c - what a body does while it is recorded
 *
 * Passes and draws are noted by the capture, struct program of
 * graph/capture/capture.h; here is what it does to memory, and where in the
 * order of the capture's steps.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/runner/function/function.h"
#include "graph/runner/state/state.h"

/* A capture begins with its first pass or parameter. */
static uint32_t count_captured(const struct run *run)
{
	struct philox_context *context = run->runner->context;
	const struct capture *capture;
	uint32_t n;

	context_lock(context);
	capture = capture_find(context->graphs, run->capture);
	n = capture ? capture->program.n : 0;
	context_unlock(context);
	return n;
}

static int reserve(struct body_steps *steps)
{
	const struct status_message kept = status_kept();

	if (steps->lost || steps->n >= PROGRAM_MOST ||
	    runner_room(&steps->items, &steps->room, steps->n + 1,
			sizeof(*steps->items)) != PHILOX_OK) {
		status_restore(&kept);
		steps->lost++;
		return 0;
	}
	return 1;
}

void steps_note(struct run *run, const struct body_step *step, const char *tag)
{
	struct body_step *made;

	if (run->kind != PHILOX_CALL_RECORD || !reserve(&run->steps))
		return;
	made = &run->steps.items[run->steps.n++];
	*made = *step;
	made->after = count_captured(run);
	snprintf(made->tag, sizeof(made->tag), "%s", tag ? tag : "");
}

enum philox_status steps_keep(struct recording *recording,
			      const struct run *run)
{
	const struct body_steps *steps = &run->steps;
	struct body_step *items =
		malloc((steps->n + 1) * sizeof(*steps->items));

	if (!items)
		return status_set(PHILOX_ERROR_MEMORY,
				  "function '%s': no memory for a recording",
				  recording->function->name);
	if (steps->n)
		memcpy(items, steps->items, steps->n * sizeof(*items));
	recording->steps = (struct body_steps){
		.items = items, .n = steps->n, .lost = steps->lost};
	return PHILOX_OK;
}

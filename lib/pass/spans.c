/*
 * lib/pass/spans.c - a check for spans that are drawn twice in a forward
 *
 * A list of what open forwards have drawn, guarded by the context's lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/pass/pass.h"

struct drawn_span {
	struct drawn_span *next;
	struct philox_pass pass; /* whose it is; a copy */
	uint32_t op;
	uint32_t call;
	struct philox_span span;
	int reported; /* the operator's overlap is logged */
};

/* That of iteration 0; captured passes have no offset. */
static uint64_t first_offset(const struct philox_pass *pass)
{
	if (pass->capture_id)
		return 0;
	return pass->state.offset -
	       (uint64_t)pass->iteration * pass->region->advance;
}

/* Views are the same pass. A re-seed makes an offset begin again. */
static int same_pass(const struct philox_pass *a, const struct philox_pass *b)
{
	return a->region == b->region && a->life == b->life &&
	       a->capture_id == b->capture_id &&
	       (!a->capture_id || a->index == b->index) &&
	       a->ticket.serial == b->ticket.serial &&
	       a->state.seed == b->state.seed &&
	       first_offset(a) == first_offset(b);
}

/* Whether a row of `row.count` elements meets one of the rows of `of`. */
static int row_meets(struct philox_span row, struct philox_span of)
{
	uint64_t last = row.first + (row.count - 1), distance, r;

	if (last < of.first)
		return 0;
	/* the last row that begins at or before the end of this one */
	distance = last - of.first;
	r = of.rows > 1 ? distance / of.row_stride : 0;
	if (of.rows > 1 && r >= of.rows)
		r = of.rows - 1;
	return row.first <= of.first + r * of.row_stride + (of.count - 1);
}

/* Neither is empty, so the last elements exist. */
static int spans_overlap(struct philox_span a, struct philox_span b)
{
	struct philox_span row = a;

	for (uint64_t r = 0; r < (a.rows ? a.rows : 1); r++) {
		row.first = a.first + r * a.row_stride;
		if (row_meets(row, b))
			return 1;
	}
	return 0;
}

static void warn_of_overlap(const struct philox_pass *pass,
			    const struct drawn_span *old,
			    struct philox_span span)
{
	const struct philox_region *region = pass->region;
	struct philox_log_entry subject = {
		.region = region->name,
		.op = region_op_name(region, old->op),
		.capture_id = pass->capture_id};
	char where[64] = "";

	if (pass->capture_id) {
		snprintf(where, sizeof(where),
			 ", pass %" PRIu32 " of capture %" PRIu64, pass->index,
			 pass->capture_id);
	} else if (pass->ticket.serial) {
		subject.ticket = pass->ticket;
		snprintf(where, sizeof(where), ", ticket %" PRIu64,
			 pass->ticket.serial);
	}
	log_post(region->context, PHILOX_LOG_WARNING, "span drawn twice",
		 &subject,
		 "region '%s', op %" PRIu32 " '%s', call %" PRIu32
		 "%s: elements %" PRIu64 " + %" PRIu64 " overlap %" PRIu64
		 " + %" PRIu64 ", drawn before in the same forward, and have "
		 "the same numbers",
		 region->name, old->op, subject.op, old->call, where,
		 span.first, span.count, old->span.first, old->span.count);
}

/* The span that a new one overlaps, unless its operator was told of one. */
static const struct drawn_span *find_overlap(const struct drawn_span *drawn,
					     const struct drawn_span *old)
{
	const struct drawn_span *found = NULL;

	for (; old; old = old->next) {
		if (old->op != drawn->op ||
		    !same_pass(&old->pass, &drawn->pass))
			continue;
		if (old->reported)
			return NULL;
		if (!found && old->call == drawn->call &&
		    old->pass.iteration == drawn->pass.iteration &&
		    spans_overlap(old->span, drawn->span))
			found = old;
	}
	return found;
}

void spans_draw(const struct philox_pass *pass, uint32_t op, uint32_t call,
		struct philox_span span)
{
	struct philox_context *context = pass->region->context;
	const struct drawn_span *old;
	struct drawn_span *drawn;

	if (!spans_watched(context) || !(pass->kind & PASS_FORWARD) ||
	    (pass->flags & PHILOX_PASS_WARMUP) || !span.count ||
	    pass->iteration == UINT32_MAX) /* what it is, the device knows */
		return;
	drawn = calloc(1, sizeof(*drawn));
	if (!drawn)
		return; /* a help, not a guarantee */
	*drawn = (struct drawn_span){
		.pass = *pass, .op = op, .call = call, .span = span};
	context_lock(context);
	old = find_overlap(drawn, context->spans);
	if (old)
		warn_of_overlap(pass, old, span);
	drawn->reported = old != NULL;
	drawn->next = context->spans;
	context->spans = drawn;
	context_unlock(context);
	context_report(context, PHILOX_OK, NULL);
}

void spans_forget(const struct philox_pass *pass)
{
	struct drawn_span **link = &pass->region->context->spans, *drawn;

	while ((drawn = *link)) {
		if (!same_pass(&drawn->pass, pass)) {
			link = &drawn->next;
			continue;
		}
		*link = drawn->next;
		free(drawn);
	}
}

void spans_finish(struct philox_context *context)
{
	struct drawn_span *drawn;

	while ((drawn = context->spans)) {
		context->spans = drawn->next;
		free(drawn);
	}
}

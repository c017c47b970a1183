/*
 * tests/support/models/agree.c - see tests/support/models/agree.h
 */
#include "tests/support/models/agree.h"

#include "tests/support/support.h"

static const struct philox_op_desc ops[][2] = {{{"x", 1, 4}, {"y", 1, 4}},
					       {{"x", 2, 4}, {"y", 1, 4}},
					       {{"x", 1, 4}, {"y", 1, 8}},
					       {{"x", 1, 4}, {"z", 1, 4}}};

/* Words of a forward: of the largest op, and of all calls. */
static const unsigned largest[] = {4, 4, 8, 4};
static const unsigned sums[] = {8, 12, 12, 8};

void model_open(struct model_rank *rank, const struct ranks_bed *bed,
		unsigned number)
{
	*rank = (struct model_rank){.context = bed->contexts[number],
				    .n_generators = 1};
	rank->generators[0] = philox_context_generator(rank->context);
	for (uint32_t i = 0; i < bed->mesh.n_axes; i++)
		rank->at[i] = ranks_at(bed, number, bed->mesh.axes[i].name);
}

/* --- events --------------------------------------------------------------- */

static struct model_ticket *ticket_at(struct model_region *region, unsigned i)
{
	return &region->tickets[i % region->n];
}

/* One that a pass may begin on. */
static int is_pending(const struct model_ticket *ticket)
{
	return !ticket->open && !ticket->used;
}

static int can_read(const struct model_rank *rank, const struct event *event)
{
	const struct model_region *region = &rank->regions[event->which];

	return region->alive && region->n &&
	       is_pending(&region->tickets[event->of % region->n]);
}

static int can_draw(const struct model_rank *rank, const struct event *event)
{
	const struct model_region *region = &rank->regions[event->which];

	return region->alive && region->n < MODEL_TICKETS &&
	       !((region->flags & PHILOX_REGION_SHARED) &&
		 rank->open_in_order[region->of]);
}

static int can_make(const struct model_rank *rank, const struct event *event)
{
	const struct model_region *region = &rank->regions[event->which];

	return !region->alive && event->of < rank->n_generators &&
	       (!region->known || region->of == event->of);
}

int model_can(const struct model_rank *rank, const struct event *event)
{
	const struct model_region *region = &rank->regions[event->which];

	switch (event->kind) {
	case MAKE:
		return can_make(rank, event);
	case DESTROY:
		for (unsigned i = 0; i < region->n; i++)
			if (region->tickets[i].open ||
			    region->tickets[i].readers)
				return 0;
		return region->alive;
	case FORWARD:
	case INFER:
	case ABORT:
	case LEAVE_OPEN:
		return can_draw(rank, event);
	case BACKWARD:
	case RETAIN:
	case LEAVE_READ:
	case LEAVE_USED:
		return can_read(rank, event);
	case RELEASE:
		return can_read(rank, event) &&
		       !region->tickets[event->of % region->n].readers;
	case SEED:
	case ADVANCE:
		return event->which < rank->n_generators;
	case GENERATOR:
		return rank->n_generators < MODEL_GENERATORS;
	case TABLE:
		return event->which < MODEL_TABLES &&
		       !rank->tables[event->which].alive &&
		       event->of < rank->n_generators;
	case NO_TABLE:
		return event->which < MODEL_TABLES &&
		       rank->tables[event->which].alive;
	default:
		return 0;
	}
}

/* --- in the model --------------------------------------------------------- */

static void model_draw(struct model_rank *rank, struct model_region *region,
		       const struct event *event)
{
	const int in_order = (region->flags & PHILOX_REGION_SHARED) != 0;
	uint64_t *offset =
		in_order ? &rank->offsets[region->of] : &region->offset;

	if (event->kind == FORWARD || event->kind == LEAVE_OPEN)
		region->tickets[region->n++] = (struct model_ticket){
			.serial = region->serial,
			.seed = in_order ? rank->seeds[region->of]
					 : region->seed,
			.offset = *offset,
			.open = event->kind == LEAVE_OPEN};
	if (event->kind != INFER)
		region->serial++;
	if (event->kind == LEAVE_OPEN && in_order)
		rank->open_in_order[region->of] = 1;
	*offset += (in_order ? sums : largest)[region->shape];
}

static void model_seed(struct model_rank *rank, const struct event *event)
{
	rank->seeds[event->which] = event->shape;
	rank->offsets[event->which] = 0;
	for (unsigned i = 0; i < MODEL_REGIONS; i++) {
		struct model_region *region = &rank->regions[i];

		if (!region->known || region->of != event->which)
			continue;
		region->seed = event->shape;
		region->offset = 0;
	}
}

static void model_make(struct model_rank *rank, struct model_region *region,
		       const struct event *event)
{
	if (!region->known)
		region->serial = 1;
	region->known = region->alive = 1;
	region->of = event->of;
	region->shape = event->shape;
	region->flags = event->flags;
	region->differs = event->differs;
	region->seed = rank->seeds[event->of];
	region->n = 0;
}

static void model_read(struct model_region *region, const struct event *event)
{
	struct model_ticket *ticket = ticket_at(region, event->of);

	if (event->kind == LEAVE_READ || event->kind == LEAVE_USED)
		ticket->readers++;
	if (event->kind == LEAVE_USED || event->kind == BACKWARD)
		ticket->used = 1 + (event->kind == BACKWARD);
	if (event->kind == RELEASE ||
	    (event->kind == BACKWARD && !ticket->readers))
		*ticket = region->tickets[--region->n];
}

static void follow(struct model_rank *rank, const struct event *event)
{
	struct model_region *region = &rank->regions[event->which];

	switch (event->kind) {
	case MAKE:
		model_make(rank, region, event);
		break;
	case DESTROY:
		region->alive = 0;
		region->n = 0;
		break;
	case FORWARD:
	case INFER:
	case ABORT:
	case LEAVE_OPEN:
		model_draw(rank, region, event);
		break;
	case SEED:
		model_seed(rank, event);
		break;
	case ADVANCE:
		rank->offsets[event->which] += 4 * event->shape;
		break;
	case GENERATOR:
		rank->seeds[rank->n_generators] = event->shape;
		rank->own[rank->n_generators] = event->flags;
		rank->offsets[rank->n_generators++] = 0;
		break;
	case TABLE:
		rank->tables[event->which].alive = 1;
		rank->tables[event->which].of = event->of;
		rank->tables[event->which].count = event->shape + 1;
		break;
	case NO_TABLE:
		rank->tables[event->which].alive = 0;
		break;
	default:
		model_read(region, event);
	}
}

/* --- in the library ------------------------------------------------------- */

static void make_for_real(struct model_rank *rank, const struct event *event)
{
	static const char *const names[] = {"a", "b", "c", "d", "e"};
	const char *differs[PHILOX_MESH_AXES];
	struct philox_region_desc options = {
		.size = sizeof(options),
		.name = names[event->which],
		.ops = ops[event->shape],
		.n_ops = 2,
		.pending = event->pending,
		.generator = rank->generators[event->of],
		.flags = event->flags,
		.differs = differs};
	struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);

	OK(philox_context_get_mesh(rank->context, &mesh));
	for (uint32_t i = mesh.n_axes; i--;)
		if (event->differs & 1u << i)
			differs[options.n_differs++] = mesh.axes[i].name;
	OK(philox_region_create(rank->context, &options,
				&rank->made[event->which]));
}

static void table_for_real(struct model_rank *rank, const struct event *event)
{
	static const char *const names[] = {"A", "B"};
	struct philox_rows_desc options = {.size = sizeof(options),
					   .name = names[event->which],
					   .count = event->shape + 1,
					   .generator =
						   rank->generators[event->of]};

	OK(philox_rows_create(rank->context, &options,
			      &rank->rows[event->which]));
}

static void draw_for_real(struct model_rank *rank, const struct event *event)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(
		rank->made[event->which], NULL,
		event->kind == INFER ? PHILOX_PASS_INFERENCE : 0, &pass));
	if (event->kind == ABORT)
		OK(philox_pass_abort(&pass));
	else if (event->kind != LEAVE_OPEN)
		OK(philox_pass_commit(&pass, 0, &ticket));
}

static void read_for_real(struct model_rank *rank, const struct event *event)
{
	struct philox_region *region = rank->made[event->which];
	const struct philox_ticket ticket = {
		fnv1a(philox_region_name(region)),
		ticket_at(&rank->regions[event->which], event->of)->serial};
	struct philox_pass pass;

	if (event->kind == RELEASE) {
		OK(philox_ticket_release(region, NULL, ticket));
		return;
	}
	if (event->kind == LEAVE_READ) {
		OK(philox_backward_begin(region, NULL, ticket,
					 PHILOX_PASS_RETAIN, &pass));
		return;
	}
	OK(philox_backward_begin(region, NULL, ticket,
				 event->kind == RETAIN ? PHILOX_PASS_RETAIN : 0,
				 &pass));
	if (event->kind != LEAVE_USED)
		OK(philox_pass_commit(&pass, 0, NULL));
}

static void do_for_real(struct model_rank *rank, const struct event *event)
{
	switch (event->kind) {
	case MAKE:
		make_for_real(rank, event);
		break;
	case DESTROY:
		OK(philox_region_destroy(rank->made[event->which]));
		break;
	case FORWARD:
	case INFER:
	case ABORT:
	case LEAVE_OPEN:
		draw_for_real(rank, event);
		break;
	case SEED:
		OK(philox_generator_seed(rank->generators[event->which],
					 event->shape));
		break;
	case ADVANCE:
		OK(philox_generator_advance(rank->generators[event->which],
					    4 * event->shape, NULL));
		break;
	case GENERATOR:
		OK(philox_generator_create_flags(
			rank->context, event->shape, event->flags,
			&rank->generators[rank->n_generators]));
		break;
	case TABLE:
		table_for_real(rank, event);
		break;
	case NO_TABLE:
		OK(philox_rows_destroy(rank->rows[event->which]));
		break;
	default:
		read_for_real(rank, event);
	}
}

void model_apply(struct model_rank *rank, const struct event *event)
{
	do_for_real(rank, event);
	follow(rank, event);
}

/* --- comparing ------------------------------------------------------------ */

static int same_ticket(const struct model_ticket *a,
		       const struct model_ticket *b)
{
	return a->serial == b->serial && a->seed == b->seed &&
	       a->offset == b->offset && a->open == b->open &&
	       a->readers == b->readers && a->used == b->used;
}

/* In whatever order they are held. */
static int same_tickets(const struct model_region *a,
			const struct model_region *b)
{
	unsigned found = 0;

	for (unsigned i = 0; i < a->n; i++)
		for (unsigned j = 0; j < b->n; j++)
			found += same_ticket(&a->tickets[i], &b->tickets[j]);
	return a->n == b->n && found == a->n;
}

static int same_region(const struct model_region *a,
		       const struct model_region *b, unsigned apart)
{
	if (!a->alive || !b->alive)
		return a->alive == b->alive;
	if (a->of != b->of || a->shape != b->shape || a->flags != b->flags ||
	    a->differs != b->differs)
		return 0;
	return (a->differs & apart) ||
	       (a->serial == b->serial && a->offset == b->offset &&
		a->seed == b->seed && same_tickets(a, b));
}

static int same_generators(const struct model_rank *a,
			   const struct model_rank *b)
{
	for (unsigned i = 0; i < a->n_generators && i < b->n_generators; i++)
		if (a->own[i] != b->own[i] ||
		    (!a->own[i] && (a->seeds[i] != b->seeds[i] ||
				    a->offsets[i] != b->offsets[i])))
			return 0;
	return a->n_generators == b->n_generators;
}

static int same_table(const struct model_rank *a, const struct model_rank *b,
		      unsigned i)
{
	if (!a->tables[i].alive || !b->tables[i].alive)
		return a->tables[i].alive == b->tables[i].alive;
	return a->tables[i].of == b->tables[i].of &&
	       a->tables[i].count == b->tables[i].count;
}

static void compare_two(const struct ranks_bed *bed, const struct model_rank *a,
			const struct model_rank *b,
			struct model_disputes *found)
{
	unsigned apart = 0, staged = 0;

	for (uint32_t i = 0; i < bed->mesh.n_axes; i++)
		if (a->at[i] != b->at[i]) {
			apart |= 1u << i;
			staged |= bed->mesh.axes[i].flags;
		}
	found->generators |= !same_generators(a, b);
	found->any |= found->generators;
	for (unsigned i = 0; !staged && i < MODEL_REGIONS; i++) {
		found->regions[i] |=
			!same_region(&a->regions[i], &b->regions[i], apart);
		found->any |= found->regions[i];
	}
	for (unsigned i = 0; !staged && i < MODEL_TABLES; i++) {
		found->tables[i] |= !same_table(a, b, i);
		found->any |= found->tables[i];
	}
}

struct model_disputes model_disputes(const struct ranks_bed *bed,
				     const struct model_rank *ranks)
{
	struct model_disputes found = {0};

	for (unsigned i = 0; i < bed->n; i++)
		for (unsigned j = i + 1; j < bed->n; j++)
			compare_two(bed, &ranks[i], &ranks[j], &found);
	return found;
}

/*
 * tools/train/model/pass.c - one layer's pass over one micro-batch, and its
 * draws
 *
 * A pass is philox's, or "baked": then its states are read on the host while
 * the stream captures, and go into the kernels by value, frozen. Graphs with
 * philox are measured against baked work, and --naive launches it.
 */
#include "tools/train/model/model.h"

/*
 * baked_pass() returns the eager pass whose states go into kernels by value:
 * one per layer and slot, forward and backward alike.
 */
static const struct philox_pass *baked_pass(struct train_model *model,
					    unsigned slot,
					    enum train_layer layer)
{
	struct philox_pass *pass = &model->baked_passes[slot][layer];

	if (!pass->region)
		train_check(model, philox_forward_begin(
					   model->regions[layer], model->idle,
					   model->baked_flags, pass));
	return pass;
}

static const struct philox_pass *baked_update(struct train_model *model,
					      int set)
{
	struct philox_pass *pass = &model->baked_updates[set];

	if (!pass->region)
		train_check(model, philox_forward_begin(
					   model->updates[set], model->idle,
					   model->baked_flags, pass));
	return pass;
}

static void end_baked(struct train_model *model, struct philox_pass *pass)
{
	if (pass->region)
		train_check(model, philox_pass_abort(pass));
	pass->region = NULL;
}

void train_bake_begin(struct train_model *model, unsigned flags)
{
	model->baked = 1;
	model->baked_flags = flags;
}

void train_bake_end(struct train_model *model)
{
	model->baked = 0;
	for (int slot = 0; slot < TRAIN_SLOTS; slot++)
		for (int layer = 0; layer < TRAIN_REGIONS; layer++)
			end_baked(model, &model->baked_passes[slot][layer]);
	for (int set = 0; set < TRAIN_SETS; set++)
		end_baked(model, &model->baked_updates[set]);
}

static enum philox_status begin_native_pass(struct train_pass *pass)
{
	struct train_model *model = pass->model;
	struct philox_region *region = model->regions[pass->layer];
	const struct philox_ticket of_the_call = {0};

	if (model->run && pass->kind == TRAIN_FORWARD)
		return philox_run_forward_begin(model->run, region, 0,
						&pass->pass);
	if (model->run)
		return philox_run_backward_begin(model->run, region,
						 of_the_call, 0, &pass->pass);
	switch (pass->kind) {
	case TRAIN_FORWARD:
		return philox_forward_begin(region, model->stream, 0,
					    &pass->pass);
	case TRAIN_RECOMPUTE:
		return philox_backward_begin(region, model->stream,
					     *pass->ticket, PHILOX_PASS_RETAIN,
					     &pass->pass);
	default:
		return philox_backward_begin(region, model->stream,
					     *pass->ticket, 0, &pass->pass);
	}
}

struct train_pass train_begin_pass(struct train_model *model, unsigned slot,
				   enum train_layer layer, enum train_kind kind)
{
	struct train_pass pass = {
		.model = model,
		.layer = layer,
		.kind = kind,
		.ticket = model->run ? &model->run_ticket
				     : &model->tickets[slot][layer]};

	if (model->status)
		return pass;
	if (model->baked) {
		pass.baked = baked_pass(model, slot, layer);
		return pass;
	}
	train_check(model, begin_native_pass(&pass));
	if (!model->status)
		train_note(model, kind, pass.ticket);
	return pass;
}

struct train_pass train_begin_update(struct train_model *model, int set)
{
	struct train_pass pass = {.model = model,
				  .kind = TRAIN_UPDATE,
				  .ticket = &model->no_ticket};
	struct philox_region *region = model->updates[set];
	const unsigned flags = PHILOX_PASS_INFERENCE;

	if (model->status)
		return pass;
	if (model->baked) {
		pass.baked = baked_update(model, set);
		return pass;
	}
	train_check(model,
		    model->run ? philox_run_forward_begin(model->run, region,
							  flags, &pass.pass)
			       : philox_forward_begin(region, model->stream,
						      flags, &pass.pass));
	if (!model->status)
		train_note(model, TRAIN_UPDATE, pass.ticket);
	return pass;
}

/* No pass stays open, even after a failure. */
void train_end_pass(struct train_pass *pass)
{
	struct train_model *model = pass->model;

	if (pass->baked || !pass->pass.region)
		return;
	if (model->status)
		philox_pass_abort(&pass->pass);
	else if (pass->kind == TRAIN_FORWARD)
		train_check(model,
			    philox_pass_commit(&pass->pass, 0, pass->ticket));
	else
		train_check(model, philox_pass_commit(&pass->pass, 0, NULL));
}

void train_pass_rng(struct train_pass *pass, uint32_t op,
		    struct philox_rng *rng)
{
	struct train_model *model = pass->model;

	if (!model->status)
		train_check(model, philox_pass_rng(pass->baked ? pass->baked
							       : &pass->pass,
						   op, 0, rng));
}

/* fill() draws for an operator of a pass, on either stream. */
static void fill(struct train_pass *pass, philox_stream stream, uint32_t op,
		 const struct philox_fill_desc *fill)
{
	struct train_model *model = pass->model;
	struct philox_pass view;
	struct philox_rng rng;

	if (model->status)
		return;
	if (pass->baked) {
		train_check(model, philox_pass_rng(pass->baked, op, 0, &rng));
		if (!model->status)
			train_check(model, philox_rng_fill(model->device,
							   stream, rng, fill));
		return;
	}
	train_check(model, philox_pass_on(&pass->pass, stream, &view));
	if (!model->status)
		train_check(model, philox_pass_fill(&view, op, 0, fill));
}

void train_draw_bits(struct train_pass *pass, uint32_t op, size_t count,
		     uint32_t *out)
{
	struct philox_fill_desc bits = {.size = sizeof(bits),
					.dist = PHILOX_DIST_BITS,
					.dtype = PHILOX_DTYPE_U32,
					.span = {.count = count},
					.out = out};

	fill(pass, pass->model->stream, op, &bits);
}

void train_drop(struct train_pass *pass, philox_stream stream, const float *in,
		float *out)
{
	struct philox_fill_desc dropout = {
		.size = sizeof(dropout),
		.dist = PHILOX_DIST_DROPOUT,
		.dtype = PHILOX_DTYPE_F32,
		.span = {.count = TRAIN_BATCH * TRAIN_WIDTH},
		.p = pass->model->options->dropout,
		.in = in,
		.out = out};

	fill(pass, stream, TRAIN_DROP, &dropout);
}

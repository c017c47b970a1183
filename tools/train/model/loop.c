/*
 * tools/train/model/loop.c - one step whose micro-batches are a loop of the
 * graph
 *
 * All of them are one WHILE node. Its body is a forward and a backward with the
 * buffers of the first slot; then a kernel puts gradient and loss where those
 * of the iteration belong, and says whether another follows. Each forward of a
 * region draws one iteration further on, which is what slot after slot draws
 * eagerly: the bits are the same. The extra operators, of which each step has
 * one pass, stay outside.
 */
#include "tools/train/model/model.h"

/* --- the body ------------------------------------------------------------- */

static void place_result(struct train_model *model, const uint32_t *iteration)
{
	train_launch(model, model->stream, place, model->n_parameters,
		     .iteration = iteration, .gradient = model->spare_gradient,
		     .micro = model->micro,
		     .gradients = model->arrays.gradients,
		     .stride = model->n_parameters, .losses = model->losses);
}

static void micro_batch(struct train_model *model,
			const struct philox_conditional *loop)
{
	const uint32_t *iteration = NULL;

	if (!model->status)
		train_check(model,
			    philox_conditional_iteration(loop, 0, &iteration));
	train_forward_to(model, 0, &model->micro->loss);
	train_backward_to(model, 0, model->spare_gradient);
	place_result(model, iteration);
	if (!model->status)
		train_check(model, philox_conditional_set(loop, model->stream,
							  &model->micro->more));
}

/* --- the node ------------------------------------------------------------- */

/* The model's stream is the body's in between. */
static void capture_body(struct train_model *model,
			 struct philox_conditional *loop)
{
	philox_stream outer = model->stream;

	train_check(model, philox_conditional_body(loop, 0, model->inner));
	model->stream = model->inner;
	micro_batch(model, loop);
	model->stream = outer;
}

/* A node is always ended, as its body's stream must run again. */
static void capture_node(struct train_model *model)
{
	struct philox_conditional_desc options =
		PHILOX_INIT(struct philox_conditional_desc);
	struct philox_conditional loop;

	if (model->status)
		return;
	options.kind = PHILOX_CONDITIONAL_WHILE;
	options.limit = TRAIN_SLOTS;
	train_check(model,
		    philox_conditional_begin(model->context, model->stream,
					     &options, &loop));
	if (model->status)
		return;
	capture_body(model, &loop);
	train_check(model, philox_conditional_end(&loop));
}

/*
 * Work that is counted without philox, and never launched, has one kernel in
 * place of the node.
 */
void train_loop(struct train_model *model)
{
	train_extra(model, TRAIN_FORWARD);
	train_take_gradients(model);
	train_hold(model, 0);
	if (model->baked)
		place_result(model, &model->micro->more);
	else
		capture_node(model);
	train_release(model, 0);
	train_extra(model, TRAIN_BACKWARD);
}

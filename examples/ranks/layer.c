/*
 * examples/ranks/layer.c - a layer, forward and backward, of one micro-batch:
 * its arrays, and its segments with the communication between them
 */
#include "layer.h"
#include "layer_segments.h"

/* --- arrays --------------------------------------------------------------- */

void activations_make(struct model *model, struct activations *a)
{
	const struct shape *shape = model->shape;
	const size_t rows = model->rows, wide = rows * shape->width;
	const size_t heads = model->heads.count;
	const size_t scores = rows * heads * shape->places;
	const size_t hidden = rows * heads * shape->hidden;

	a->norm1 = model_floats(model, wide);
	a->inverse1 = model_floats(model, rows);
	a->qkv = model_floats(model, rows * heads * 3 * shape->head_width);
	a->weights = model_floats(model, scores);
	a->dropped = model_floats(model, scores);
	a->heads = model_floats(model, rows * heads * shape->head_width);
	a->x1 = model_floats(model, wide);
	a->norm2 = model_floats(model, wide);
	a->inverse2 = model_floats(model, rows);
	a->up = model_floats(model, hidden);
	a->silu = model_floats(model, hidden);
	a->hidden = model_floats(model, hidden);
}

void scratch_make(struct model *model, struct scratch *scratch)
{
	const struct shape *shape = model->shape;
	const size_t rows = model->rows, wide = rows * shape->width;
	const size_t heads = model->heads.count;

	scratch->parts = model_floats(model, shape->heads * wide);
	scratch->sum = model_floats(model, wide);
	scratch->drop = model_floats(model, wide);
	scratch->of_norm = model_floats(model, wide);
	scratch->of_x1 = model_floats(model, wide);
	scratch->of_hidden = model_floats(model, rows * heads * shape->hidden);
	scratch->of_heads =
		model_floats(model, rows * heads * shape->head_width);
	scratch->of_weights = model_floats(model, rows * heads * shape->places);
	scratch->of_qkv =
		model_floats(model, rows * heads * 3 * shape->head_width);
}

/* --- both, with the communication between their segments ------------------ */

static void gather_parts(struct model *model, struct layer_run *run)
{
	comm_gather(model->comm, TENSOR, run->scratch->parts,
		    model->part_counts);
}

static void run_segment(struct model *model, struct layer_run *run,
			enum layer_segment segment)
{
	static segment_body *const bodies[LAYER_SEGMENTS] = {
		[ATTENTION] = do_attention,
		[MLP] = do_mlp,
		[RESIDUAL] = do_residual,
		[ATTENTION_AGAIN] = do_attention_again,
		[MLP_BACK] = do_mlp_back,
		[ATTENTION_BACK] = do_attention_back,
		[INPUT_BACK] = do_input_back,
	};

	segment_run(model, &run->graphs[segment], bodies[segment], run,
		    &run->ticket);
}

void layer_forward(struct model *model, struct layer_run *run)
{
	run_segment(model, run, ATTENTION);
	gather_parts(model, run);
	run_segment(model, run, MLP);
	gather_parts(model, run);
	run_segment(model, run, RESIDUAL);
}

void layer_backward(struct model *model, struct layer_run *run)
{
	if (!model->options->keep) {
		run_segment(model, run, ATTENTION_AGAIN);
		gather_parts(model, run);
	}
	run_segment(model, run, MLP_BACK);
	gather_parts(model, run);
	run_segment(model, run, ATTENTION_BACK);
	gather_parts(model, run);
	run_segment(model, run, INPUT_BACK);
}

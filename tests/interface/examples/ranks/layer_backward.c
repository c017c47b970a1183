/*
 * examples/ranks/layer_backward.c - the segments of a layer's backward
 */
#include "layer_segments.h"
#include "matrices.h"
#include "world.h"

/* of_x = above + the gradient below a norm, of the parts that were gathered */
static void norm_rows_back(struct model *model, struct layer_run *run,
			   enum layer_tensor gain, const float *x,
			   const float *inverse, const float *above,
			   float *of_x)
{
	const size_t width = model->shape->width;
	const size_t count = model->rows * width;
	struct scratch *s = run->scratch;

	LAUNCH(model, sum_blocks, count, .parts = s->parts, .out = s->of_norm,
	       .blocks = model->shape->heads, .count = count);
	LAUNCH(model, norm_gain, model->samples.count * width, .x = x,
	       .inverse = inverse, .gradient = s->of_norm,
	       .out = run->layer->gradients[gain], .width = width,
	       .places = model->shape->places, .stride = model->tensors.mine);
	LAUNCH(model, norm_back, model->rows, .x = x,
	       .gain = run->layer->weights[gain], .inverse = inverse,
	       .gradient = s->of_norm, .above = above, .out = of_x,
	       .width = width);
}

static void compute_mlp_back(struct model *model, struct layer_run *run,
			     const struct philox_pass *pass)
{
	const struct shape *shape = model->shape;
	const size_t places = shape->places, width = shape->width;
	const size_t hidden = shape->hidden;
	const struct layer *layer = run->layer;
	struct activations *a = run->a;
	struct scratch *s = run->scratch;
	struct matrix of_sum = rows_of(model, s->drop);
	struct matrix of_hidden = hidden_of(model, s->of_hidden);

	model_drop(model, pass, OP_BEHIND_MLP, &model->of_rows, run->of_out,
		   s->drop);
	multiply(model,
		 gradients_of(model, layer->gradients[DOWN], hidden, width),
		 hidden, width, places, turned(hidden_of(model, a->hidden)),
		 of_sum);
	multiply(model, of_hidden, places, hidden, width, of_sum,
		 turned(weights_of(layer->weights[DOWN], hidden, width)));
	model_drop(model, pass, OP_WITHIN, &model->of_hidden, s->of_hidden,
		   s->of_hidden);
	LAUNCH(model, silu_back, model->rows * model->heads.count * hidden,
	       .x = a->up, .gradient = s->of_hidden);
	multiply(model,
		 gradients_of(model, layer->gradients[UP], width, hidden),
		 width, hidden, places, turned(rows_of(model, a->norm2)),
		 of_hidden);
	multiply(model, parts_of(model, s->parts), places, width, hidden,
		 of_hidden,
		 turned(weights_of(layer->weights[UP], width, hidden)));
}

/* Unless it was kept, what the MLP has computed is computed again. */
void do_mlp_back(struct model *model, void *work, struct philox_ticket *ticket)
{
	struct layer_run *run = work;
	struct philox_ticket linked = *ticket;
	struct philox_pass pass;

	if (!model->options->keep) {
		TRY(philox_recompute_begin(run->layer->region, *ticket,
					   model->stream, 0, &pass));
		TRY(philox_pass_ticket(&pass, &linked));
		compute_hidden(model, run, &pass);
		TRY(philox_backward_commit(&pass, 0));
	}
	TRY(philox_backward_begin(run->layer->region, linked, model->stream,
				  PHILOX_RETAIN, &pass));
	compute_mlp_back(model, run, &pass);
	TRY(philox_backward_commit(&pass, 0));
}

/* From the gradient of the heads to that of q, k and v */
static void compute_scores_back(struct model *model, struct layer_run *run,
				const struct philox_pass *pass)
{
	const size_t places = model->shape->places;
	const size_t head = model->shape->head_width;
	struct activations *a = run->a;
	struct scratch *s = run->scratch;
	struct matrix of_heads = heads_of(model, s->of_heads, head);
	struct matrix of_scores = scores_of(model, s->of_weights);

	multiply(model, third_of(model, s->of_qkv, V), places, head, places,
		 turned(scores_of(model, a->dropped)), of_heads);
	multiply(model, of_scores, places, places, head, of_heads,
		 turned(third_of(model, a->qkv, V)));
	model_drop(model, pass, OP_WEIGHTS, &model->of_weights, s->of_weights,
		   s->of_weights);
	LAUNCH(model, attend_back, model->rows * model->heads.count,
	       .weights = a->weights, .gradient = s->of_weights,
	       .places = places, .scale = 1 / philox_root((float)head));
	multiply(model, third_of(model, s->of_qkv, Q), places, head, places,
		 of_scores, third_of(model, a->qkv, K));
	multiply(model, third_of(model, s->of_qkv, K), places, head, places,
		 turned(of_scores), third_of(model, a->qkv, Q));
}

static void compute_attention_back(struct model *model, struct layer_run *run,
				   const struct philox_pass *pass)
{
	const struct shape *shape = model->shape;
	const size_t places = shape->places, width = shape->width;
	const size_t head = shape->head_width;
	const struct layer *layer = run->layer;
	struct activations *a = run->a;
	struct scratch *s = run->scratch;
	struct matrix of_sum = rows_of(model, s->drop);
	struct matrix of_qkv = heads_of(model, s->of_qkv, 3 * head);

	model_drop(model, pass, OP_BEHIND_ATTENTION, &model->of_rows, s->of_x1,
		   s->drop);
	multiply(model, gradients_of(model, layer->gradients[OUT], head, width),
		 head, width, places, turned(heads_of(model, a->heads, head)),
		 of_sum);
	multiply(model, heads_of(model, s->of_heads, head), places, head, width,
		 of_sum, turned(weights_of(layer->weights[OUT], head, width)));
	compute_scores_back(model, run, pass);
	multiply(model,
		 gradients_of(model, layer->gradients[QKV], width, 3 * head),
		 width, 3 * head, places, turned(rows_of(model, a->norm1)),
		 of_qkv);
	multiply(model, parts_of(model, s->parts), places, width, 3 * head,
		 of_qkv,
		 turned(weights_of(layer->weights[QKV], width, 3 * head)));
}

/* The last pass of the ticket, which uses it up. */
void do_attention_back(struct model *model, void *work,
		       struct philox_ticket *ticket)
{
	struct layer_run *run = work;
	struct philox_pass pass;

	TRY(philox_backward_begin(run->layer->region, *ticket, model->stream, 0,
				  &pass));
	norm_rows_back(model, run, NORM2, run->a->x1, run->a->inverse2,
		       run->of_out, run->scratch->of_x1);
	compute_attention_back(model, run, &pass);
	TRY(philox_backward_commit(&pass, 0));
}

void do_input_back(struct model *model, void *work,
		   struct philox_ticket *ticket)
{
	struct layer_run *run = work;

	(void)ticket; /* nothing is random here */
	norm_rows_back(model, run, NORM1, run->x, run->a->inverse1,
		       run->scratch->of_x1, run->of_x);
}

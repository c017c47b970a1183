/*
 * examples/ranks/layer_forward.c - the segments of a layer's forward
 */
#include "layer_segments.h"
#include "matrices.h"
#include "world.h"

static void norm_rows(struct model *model, const float *x, const float *gain,
		      float *out, float *inverse)
{
	LAUNCH(model, norm, model->rows, .x = x, .gain = gain, .out = out,
	       .inverse = inverse, .width = model->shape->width);
}

/* out = x + dropout(sum of the parts that were gathered) */
static void add_parts(struct model *model, struct layer_run *run,
		      const struct philox_pass *pass, uint32_t op,
		      const float *x, float *out)
{
	struct scratch *s = run->scratch;
	const size_t count = model->rows * model->shape->width;

	LAUNCH(model, sum_blocks, count, .parts = s->parts, .out = s->sum,
	       .blocks = model->shape->heads, .count = count);
	model_drop(model, pass, op, &model->of_rows, s->sum, s->drop);
	LAUNCH(model, add, count, .x = x, .y = s->drop, .out = out);
}

/* From x to the heads' parts */
void compute_attention(struct model *model, struct layer_run *run,
		       const struct philox_pass *pass)
{
	const struct shape *shape = model->shape;
	const size_t places = shape->places, width = shape->width;
	const size_t head = shape->head_width;
	float *const *weights = run->layer->weights;
	struct activations *a = run->a;

	norm_rows(model, run->x, weights[NORM1], a->norm1, a->inverse1);
	multiply(model, heads_of(model, a->qkv, 3 * head), places, 3 * head,
		 width, rows_of(model, a->norm1),
		 weights_of(weights[QKV], width, 3 * head));
	multiply(model, scores_of(model, a->weights), places, places, head,
		 third_of(model, a->qkv, Q),
		 turned(third_of(model, a->qkv, K)));
	LAUNCH(model, attend, model->rows * model->heads.count,
	       .scores = a->weights, .places = places,
	       .scale = 1 / philox_root((float)head));
	model_drop(model, pass, OP_WEIGHTS, &model->of_weights, a->weights,
		   a->dropped);
	multiply(model, heads_of(model, a->heads, head), places, head, places,
		 scores_of(model, a->dropped), third_of(model, a->qkv, V));
	multiply(model, parts_of(model, run->scratch->parts), places, width,
		 head, heads_of(model, a->heads, head),
		 weights_of(weights[OUT], head, width));
}

/* From the heads' parts to what the blocks of the MLP multiply last */
void compute_hidden(struct model *model, struct layer_run *run,
		    const struct philox_pass *pass)
{
	const struct shape *shape = model->shape;
	const size_t hidden = shape->hidden;
	const size_t count = model->rows * model->heads.count * hidden;
	float *const *weights = run->layer->weights;
	struct activations *a = run->a;

	add_parts(model, run, pass, OP_BEHIND_ATTENTION, run->x, a->x1);
	norm_rows(model, a->x1, weights[NORM2], a->norm2, a->inverse2);
	multiply(model, hidden_of(model, a->up), shape->places, hidden,
		 shape->width, rows_of(model, a->norm2),
		 weights_of(weights[UP], shape->width, hidden));
	LAUNCH(model, silu, count, .x = a->up, .out = a->silu);
	model_drop(model, pass, OP_WITHIN, &model->of_hidden, a->silu,
		   a->hidden);
}

void do_attention(struct model *model, void *work, struct philox_ticket *ticket)
{
	struct layer_run *run = work;
	struct philox_pass pass;

	TRY(philox_forward_begin(run->layer->region, model->stream, 0, &pass));
	compute_attention(model, run, &pass);
	TRY(philox_pass_commit(&pass, 0, ticket));
}

void do_mlp(struct model *model, void *work, struct philox_ticket *ticket)
{
	const struct shape *shape = model->shape;
	struct layer_run *run = work;
	struct philox_pass pass;

	TRY(philox_backward_begin(run->layer->region, model->stream, *ticket,
				  PHILOX_PASS_RETAIN, &pass));
	compute_hidden(model, run, &pass);
	multiply(model, parts_of(model, run->scratch->parts), shape->places,
		 shape->width, shape->hidden, hidden_of(model, run->a->hidden),
		 weights_of(run->layer->weights[DOWN], shape->hidden,
			    shape->width));
	TRY(philox_pass_commit(&pass, 0, NULL));
}

void do_residual(struct model *model, void *work, struct philox_ticket *ticket)
{
	struct layer_run *run = work;
	struct philox_pass pass;

	TRY(philox_backward_begin(run->layer->region, model->stream, *ticket,
				  PHILOX_PASS_RETAIN, &pass));
	add_parts(model, run, &pass, OP_BEHIND_MLP, run->a->x1, run->out);
	TRY(philox_pass_commit(&pass, 0, NULL));
}

void do_attention_again(struct model *model, void *work,
			struct philox_ticket *ticket)
{
	struct layer_run *run = work;
	struct philox_pass pass;

	TRY(philox_backward_begin(run->layer->region, model->stream, *ticket,
				  PHILOX_PASS_RETAIN, &pass));
	compute_attention(model, run, &pass);
	TRY(philox_pass_commit(&pass, 0, NULL));
}

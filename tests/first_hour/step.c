/*
 * tests/first_hour/step.c - a training step captured by hand, for two sizes
 *
 * Two layers with dropout are trained with batches of two sizes. The step of
 * each size is one captured graph; both graphs share a pool, and the learning
 * rate is a parameter. The same steps without a capture, in a context of their
 * own, must give the same weights, bit for bit.
 */
#include <string.h>
#include "try.h"

enum { WIDTH = 32, STEPS = 20, LAYERS = 2 };

static const int batches[2] = {8, 4};

struct model {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer[LAYERS];
	philox_stream stream;
	void *weights[LAYERS]; /* WIDTH */
	void *x;               /* the largest batch */
};

/* What a kernel gets; on the host device it is a callback. */
struct work {
	const float *in, *rate;
	float *out, *weights;
	int rows;
};

static void forth(const void *args)
{
	const struct work *w = args;

	for (int i = 0; i < w->rows * WIDTH; i++)
		w->out[i] = w->weights[i % WIDTH] * w->in[i];
}

/* The loss is half of the squares' sum, and its gradient is h itself. */
static void compare(const void *args)
{
	const struct work *w = args;

	*w->out = 0;
	for (int i = 0; i < w->rows * WIDTH; i++)
		*w->out += w->in[i] * w->in[i] / 2;
}

/* From the gradient of a layer's output to that of its input. */
static void back(const void *args)
{
	const struct work *w = args;

	for (int j = 0; j < WIDTH; j++) {
		float slope = 0, weight = w->weights[j];

		for (int i = j; i < w->rows * WIDTH; i += WIDTH) {
			slope += w->out[i] * w->in[i];
			w->out[i] *= weight;
		}
		w->weights[j] = weight - *w->rate * slope;
	}
}

static void launch(struct model *m, void (*kernel)(const void *),
		   struct work work)
{
	TRY(philox_stream_launch_host(m->device, m->stream, kernel, &work,
				      sizeof(work)));
}

static void drop(const struct philox_pass *pass, void *h, int rows)
{
	TRY(philox_pass_dropout(pass, 0, PHILOX_DTYPE_F32,
				philox_span_elements(0, (uint64_t)rows * WIDTH),
				0.25, h, h));
}

/* One step: its passes, and the kernels between them. */
static void step(struct model *m, int rows, void *h[LAYERS], void *loss,
		 const void *rate)
{
	struct philox_ticket ticket[LAYERS];
	struct philox_pass pass;

	for (int i = 0; i < LAYERS; i++) {
		launch(m, forth,
		       (struct work){.in = i ? h[0] : m->x,
				     .weights = m->weights[i],
				     .out = h[i],
				     .rows = rows});
		TRY(philox_forward_begin(m->layer[i], m->stream, 0, &pass));
		drop(&pass, h[i], rows);
		TRY(philox_pass_commit(&pass, 0, &ticket[i]));
	}
	launch(m, compare,
	       (struct work){.in = h[1], .out = loss, .rows = rows});
	for (int i = LAYERS; i-- > 0;) {
		TRY(philox_backward_begin(m->layer[i], m->stream, ticket[i], 0,
					  &pass));
		drop(&pass, h[1], rows);
		TRY(philox_pass_commit(&pass, 0, NULL));
		launch(m, back,
		       (struct work){.in = i ? h[0] : m->x,
				     .weights = m->weights[i],
				     .out = h[1],
				     .rate = rate,
				     .rows = rows});
	}
}

static void *array(struct model *m, size_t n, float first)
{
	float values[WIDTH * 8];
	void *memory;

	for (size_t i = 0; i < n; i++)
		values[i] = first + (float)(i % 7) / 16;
	TRY(philox_memory_alloc(m->device, n * sizeof(float), &memory));
	TRY(philox_memory_copy(m->device, m->stream, memory, values,
			       n * sizeof(float)));
	TRY(philox_stream_synchronize(m->device, m->stream));
	return memory;
}

static void begin(struct model *m)
{
	static const char *const names[LAYERS] = {"layer 0", "layer 1"};
	const char *op = "dropout";

	TRY(philox_device_open("host", &m->device));
	TRY(philox_context_create(m->device, &m->context));
	TRY(philox_generator_seed(philox_context_generator(m->context), 1234));
	for (int i = 0; i < LAYERS; i++)
		TRY(philox_region_create_named(m->context, names[i], &op, 1,
					       &m->layer[i]));
	TRY(philox_stream_create(m->device, 0, &m->stream));
	m->x = array(m, WIDTH * 8, 0.5f);
	for (int i = 0; i < LAYERS; i++)
		m->weights[i] = array(m, WIDTH, 1);
}

static void end(struct model *m, float weights[LAYERS][WIDTH])
{
	for (int i = 0; i < LAYERS; i++)
		TRY(philox_memory_copy(m->device, m->stream, weights[i],
				       m->weights[i], sizeof(weights[i])));
	TRY(philox_stream_synchronize(m->device, m->stream));
	TRY(philox_context_destroy(m->context));
	for (int i = 0; i < LAYERS; i++)
		TRY(philox_memory_free(m->device, m->weights[i]));
	TRY(philox_memory_free(m->device, m->x));
	TRY(philox_stream_destroy(m->device, m->stream));
	TRY(philox_device_close(m->device));
}

static float rate_of(int i)
{
	return 0.01f / (float)(1 + i);
}

/* --- captured ------------------------------------------------------------- */

/* As doc/runners.md does it, under "A step, by hand and by a runner". */
static void captured(float weights[LAYERS][WIDTH])
{
	struct philox_pool_desc options = PHILOX_INIT(struct philox_pool_desc);
	struct philox_launch_pass passes[2 * LAYERS];
	struct philox_pool_checkpoint *empty;
	struct philox_graph *graph[2];
	uint64_t dead[LAYERS + 1];
	size_t n_dead = 0;
	struct philox_pool *pool;
	struct model m;
	float rate = 0;

	begin(&m);
	options.name = "activations";
	TRY(philox_pool_create(m.context, &options, &pool));
	TRY(philox_pool_checkpoint_create(pool, &empty));
	for (int size = 0; size < 2; size++) {
		const size_t bytes =
			(size_t)batches[size] * WIDTH * sizeof(float);
		struct philox_pool_session *session;
		struct philox_pool_block h[LAYERS], loss;
		void *at[LAYERS];
		void *at_rate;

		TRY(philox_pool_restore(pool, empty, NULL, 0, dead, n_dead));
		TRY(philox_capture_begin(m.context, m.stream));
		TRY(philox_pool_session_begin(pool, m.stream, &session));
		TRY(philox_capture_param(m.context, m.stream, "rate", &rate,
					 sizeof(rate), &at_rate));
		for (int i = 0; i < LAYERS; i++) {
			TRY(philox_pool_alloc(pool, m.stream, bytes, 0, "h",
					      &h[i]));
			at[i] = h[i].address;
		}
		TRY(philox_pool_alloc(pool, m.stream, sizeof(float), 0, "loss",
				      &loss));
		step(&m, batches[size], at, loss.address, at_rate);
		TRY(philox_pool_session_end(session, PHILOX_OK, NULL));
		TRY(philox_capture_end(m.context, m.stream, &graph[size]));
		n_dead = 0;
		dead[n_dead++] = h[0].id;
		dead[n_dead++] = h[1].id;
		dead[n_dead++] = loss.id;
	}
	for (int i = 0; i < STEPS; i++) {
		rate = rate_of(i);
		memset(passes, 0, sizeof(passes));
		TRY(philox_graph_set_param(graph[i % 2], 0, &rate,
					   sizeof(rate)));
		TRY(philox_graph_launch(graph[i % 2], m.stream, passes,
					2 * LAYERS));
	}
	end(&m, weights);
}

/* --- eager ---------------------------------------------------------------- */

static void eager(float weights[LAYERS][WIDTH])
{
	struct model m;
	void *h[LAYERS], *loss, *rate;
	float value;

	begin(&m);
	for (int i = 0; i < LAYERS; i++)
		h[i] = array(&m, WIDTH * 8, 0);
	loss = array(&m, 1, 0);
	rate = array(&m, 1, 0);
	for (int i = 0; i < STEPS; i++) {
		value = rate_of(i);
		TRY(philox_memory_copy(m.device, m.stream, rate, &value,
				       sizeof(value)));
		step(&m, batches[i % 2], h, loss, rate);
		TRY(philox_stream_synchronize(m.device, m.stream));
	}
	TRY(philox_memory_free(m.device, rate));
	TRY(philox_memory_free(m.device, loss));
	for (int i = 0; i < LAYERS; i++)
		TRY(philox_memory_free(m.device, h[i]));
	end(&m, weights);
}

int main(void)
{
	float one[LAYERS][WIDTH], other[LAYERS][WIDTH];

	captured(one);
	eager(other);
	if (memcmp(one, other, sizeof(one)) || one[0][0] == 1) {
		puts("the captured steps gave other weights");
		return 1;
	}
	printf("%d captured steps of two sizes gave the weights of eager ones\n",
	       STEPS);
	return 0;
}

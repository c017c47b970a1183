/*
 * examples/sizes.c - graphs for several batch sizes that share memory
 *
 * A server captures its work for each batch size. Only one of these graphs runs
 * at a time, so all of them can use the same memory: each is captured into one
 * pool, the largest first, and the pool is put back as it was in between. A
 * warm-up tells beforehand how much that takes.
 */
#include <string.h>
#include "try.h"

enum { SIZES = 4, WIDTH = 1 << 18 };

static const int sizes[SIZES] = {8, 4, 2, 1};

struct server {
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_pool *pool;
	philox_stream stream;
	float *out; /* of the largest batch; outside the pool, for all graphs */
};

/* Two arrays of a batch: the second one's memory is free again at the end. */
static void work(struct server *s, int batch)
{
	const struct philox_span span =
		philox_elements(0, (uint64_t)batch * WIDTH);
	const size_t bytes = (size_t)batch * WIDTH * sizeof(float);
	struct philox_pool_block noise, kept;
	struct philox_pass pass;

	TRY(philox_pool_alloc(s->pool, s->stream, bytes, 0, "noise", &noise));
	TRY(philox_pool_alloc(s->pool, s->stream, bytes, 0, "kept", &kept));
	TRY(philox_forward_begin(s->layer, s->stream, PHILOX_INFERENCE, &pass));
	TRY(philox_normal(&pass, 0, PHILOX_F32, span, 0, 1, noise.address));
	TRY(philox_dropout(&pass, 1, PHILOX_F32, span, 0.5, noise.address,
			   kept.address));
	TRY(philox_forward_commit(&pass, NULL));
	TRY(philox_memory_copy(s->device, s->out, kept.address, bytes,
			       s->stream));
	TRY(philox_pool_free(s->pool, s->stream, kept.address));
	TRY(philox_pool_free(s->pool, s->stream, noise.address));
}

static uint64_t warm_up(struct server *s, int batch)
{
	struct philox_pool_report report =
		PHILOX_INIT(struct philox_pool_report);
	struct philox_pool_session *session;

	TRY(philox_pool_begin(s->pool, s->stream, &session));
	work(s, batch);
	TRY(philox_pool_end(session, PHILOX_OK, &report));
	return report.peak;
}

static struct philox_graph *capture(struct server *s, int batch)
{
	struct philox_pool_session *session;
	struct philox_graph *graph;

	TRY(philox_capture_begin(s->context, s->stream));
	TRY(philox_pool_begin(s->pool, s->stream, &session));
	work(s, batch);
	TRY(philox_pool_end(session, PHILOX_OK, NULL));
	TRY(philox_capture_end(s->context, s->stream, &graph));
	return graph;
}

static void begin(struct server *s)
{
	static const char *const ops[] = {"noise", "dropout"};
	struct philox_pool_options options =
		PHILOX_INIT(struct philox_pool_options);
	void *out;

	options.name = "activations";
	TRY(philox_device_open("host", &s->device));
	TRY(philox_context_create(s->device, &s->context));
	TRY(philox_region_create_named(s->context, "layer", ops, 2, &s->layer));
	TRY(philox_pool_create(s->context, &options, &s->pool));
	TRY(philox_stream_create(s->device, 0, &s->stream));
	TRY(philox_memory_alloc(s->device, sizes[0] * WIDTH * sizeof(float),
				&out));
	s->out = out;
}

int main(void)
{
	struct philox_pool_figures figures =
		PHILOX_INIT(struct philox_pool_figures);
	struct philox_pool_checkpoint *empty;
	struct philox_graph *graphs[SIZES];
	struct philox_use use = {{0, 0}, 0, 0};
	struct server server;
	uint64_t peak;

	begin(&server);
	peak = warm_up(&server, sizes[0]);
	TRY(philox_pool_checkpoint_create(server.pool, &empty));
	for (int i = 0; i < SIZES; i++) {
		TRY(philox_pool_restore(server.pool, empty, NULL, 0, NULL, 0));
		graphs[i] = capture(&server, sizes[i]);
	}
	for (int i = 0; i < 100; i++)
		TRY(philox_graph_launch(graphs[i % SIZES], server.stream, &use,
					1));
	TRY(philox_pool_statistics(server.pool, &figures));
	printf("%d graphs in %.0f MiB: the largest alone takes %.0f MiB\n",
	       SIZES, figures.mapped / 1048576.0, peak / 1048576.0);

	TRY(philox_stream_synchronize(server.device, server.stream));
	philox_pool_checkpoint_destroy(empty);
	philox_context_destroy(server.context); /* and graphs and pool */
	TRY(philox_memory_free(server.device, server.out));
	TRY(philox_stream_destroy(server.device, server.stream));
	TRY(philox_device_close(server.device));
	return figures.mapped > peak * 105 / 100;
}

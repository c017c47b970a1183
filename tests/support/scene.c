/*
 * tests/support/scene.c - a region with a pending forward, for captures to go wrong in
 */
#include "tests/support/scene.h"

struct scene make_scene(struct fixture *f)
{
	struct scene scene;

	scene.region = make_region(f, "layer");
	scene.array = make_array(f);
	scene.kept = forward(f, scene.region);
	scene.before = look(f, scene.region);
	OK(philox_event_create(f->device, &scene.outside));
	OK(philox_event_record(f->device, scene.outside, f->side));
	OK(philox_memory_alloc(f->device, 64, &scene.memory));
	return scene;
}

void scene_is_whole(struct fixture *f, struct scene *scene)
{
	enum philox_capture_status capture;
	struct philox_graph *graph;

	OK(philox_stream_capture_info(f->device, f->stream, &capture, NULL));
	cr_assert_eq(capture, PHILOX_CAPTURE_NONE);
	unchanged(f, scene->region, &scene->before);
	backward(f, &scene->kept, PHILOX_RETAIN);
	SAME(forward(f, scene->region).saw, scene->before.next, "eager");
	graph = record_forward(f, scene->region, 0, scene->array);
	launch_forward(f, graph, scene->region, scene->array);
	graph = record_backward(f, scene->region, scene->array);
	launch_backward(f, graph, &scene->kept, PHILOX_RETAIN, scene->array);
	OK(philox_check(f->context, NULL));
	scene->before = look(f, scene->region);
}

void end_scene(struct fixture *f, struct scene *scene)
{
	scene_is_whole(f, scene);
	OK(philox_event_destroy(f->device, scene->outside));
	OK(philox_memory_free(f->device, scene->memory));
}

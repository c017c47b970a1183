/*
 * tests/support/scene.c - see tests/support/scene.h
 */
#include "tests/support/scene.h"

/*
 * --- captures --------------------------------------------------------------
 */

struct scene make_scene(struct fixture *f)
{
	struct scene scene;

	scene.region = make_region(f, "layer");
	scene.array = make_array(f);
	scene.kept = forward(f, scene.region);
	scene.before = look(f, scene.region);
	OK(philox_event_create(f->device, &scene.outside));
	OK(philox_event_record(f->device, f->side, scene.outside));
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
	backward(f, &scene->kept, PHILOX_PASS_RETAIN);
	SAME(forward(f, scene->region).saw, scene->before.next, "eager");
	graph = record_forward(f, scene->region, 0, scene->array);
	launch_forward(f, graph, scene->region, scene->array);
	graph = record_backward(f, scene->region, scene->array);
	launch_backward(f, graph, &scene->kept, PHILOX_PASS_RETAIN,
			scene->array);
	OK(philox_context_check(f->context, NULL));
	scene->before = look(f, scene->region);
}

void end_scene(struct fixture *f, struct scene *scene)
{
	scene_is_whole(f, scene);
	OK(philox_event_destroy(f->device, scene->outside));
	OK(philox_memory_free(f->device, scene->memory));
}

/*
 * --- launches --------------------------------------------------------------
 */

struct rig make_rig(struct fixture *f)
{
	struct rig rig;

	rig.region = make_region_of(f->context, "layer", 4, NULL);
	rig.y = make_array(f);
	rig.dx = make_array(f);
	rig.forth = record_forward(f, rig.region, 0, rig.y);
	rig.back = record_backward(f, rig.region, rig.dx);
	rig.pair = record_pair(f, rig.region, rig.y, rig.dx);
	rig.one = launch_forward(f, rig.forth, rig.region, rig.y);
	rig.two = forward(f, rig.region);
	rig.before = look(f, rig.region);
	return rig;
}

void rig_is_whole(struct fixture *f, struct rig *rig)
{
	struct forward made;

	unchanged(f, rig->region, &rig->before);
	backward(f, &rig->one, PHILOX_PASS_RETAIN);
	launch_backward(f, rig->back, &rig->two, PHILOX_PASS_RETAIN, rig->dx);
	made = launch_forward(f, rig->forth, rig->region, rig->y);
	SAME(made.saw, rig->before.next, "the next launch");
	launch_backward(f, rig->back, &made, 0, rig->dx);
	OK(philox_context_check(f->context, NULL));
	rig->before = look(f, rig->region);
}

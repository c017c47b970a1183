/*
 * tests/support/rig.c - a region with graphs and pending forwards, for launches to fail
 */
#include "tests/support/rig.h"

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
	backward(f, &rig->one, PHILOX_RETAIN);
	launch_backward(f, rig->back, &rig->two, PHILOX_RETAIN, rig->dx);
	made = launch_forward(f, rig->forth, rig->region, rig->y);
	SAME(made.saw, rig->before.next, "the next launch");
	launch_backward(f, rig->back, &made, 0, rig->dx);
	OK(philox_check(f->context, NULL));
	rig->before = look(f, rig->region);
}

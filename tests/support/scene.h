/*
 * tests/support/scene.h - what must be whole after a capture that ended badly
 */
#ifndef TESTS_SUPPORT_SCENE_H
#define TESTS_SUPPORT_SCENE_H

#include "tests/support/support.h"

struct scene {
	struct philox_region *region;
	struct forward kept;
	struct ledger_view before;
	uint32_t *array;
	philox_event outside; /* recorded before the capture */
	void *memory;
};

struct scene make_scene(struct fixture *f);

/*
 * scene_is_whole() checks that nothing is left of what went wrong: the stream
 * runs, the ledger is as it was, eager passes and new captures work.
 * end_scene() does so for the last time.
 */
void scene_is_whole(struct fixture *f, struct scene *scene);
void end_scene(struct fixture *f, struct scene *scene);

#endif

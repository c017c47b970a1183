/*
 * tests/support/scene.h - scenes that must be whole after a failure
 *
 * There are two, each a region with pending forwards: struct scene for captures
 * that end with errors, struct rig for launches that are refused or fail. Each
 * is made in a fixture. scene_is_whole() and rig_is_whole() check that the
 * failure since the last look at the ledger has left nothing: the ledger is as
 * it was and everything still works. They then look again.
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
void scene_is_whole(struct fixture *f, struct scene *scene);
void end_scene(struct fixture *f, struct scene *scene); /* whole once more */

/* Graphs of a region's forward, backward and both, and two pending forwards. */
struct rig {
	struct philox_region *region;
	uint32_t *y, *dx;
	struct philox_graph *forth, *back, *pair;
	struct forward one, two;
	struct ledger_view before;
};

struct rig make_rig(struct fixture *f);
void rig_is_whole(struct fixture *f, struct rig *rig);

#endif

/*
 * graph/runner/snapshot/runner_reason.h - reasons in the snapshot of a runner
 */
#ifndef GRAPH_RUNNER_SNAPSHOT_RUNNER_REASON_H
#define GRAPH_RUNNER_SNAPSHOT_RUNNER_REASON_H

/*
 * reason_copy() copies a reason of less than 256 bytes without what is another
 * in the next run, or on another device: addresses, and ids of blocks.
 */
void reason_copy(char to[256], const char *from);

#endif

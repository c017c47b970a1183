/*
 * philox/journal.h - one line for each event, to compare two runs
 *
 * A journal records in which order events happened in a context and which
 * states they drew from. Two runs of one program write the same bytes on any
 * device: it has no times, addresses or thread ids. `philox diff A B` names the
 * first difference of two journals, `philox inspect A` summarises one.
 *
 *   PHILOX_JOURNAL=run.journal ./train
 *
 * gives every context of a process a journal from its creation on, in one file;
 * "%p" in the name becomes the process id, which ranks need, and a program that
 * makes contexts in children of fork(), too: a file that another process writes
 * is refused. The lines look like
 *
 *   philox journal 1
 *   0 1 context digest b7dc7e81a37ae0f5
 *   0 2 generator-set generator 0 seed 000000000000002a offset 0
 *   0 3 region-create region "layer" generator 0 flags none cells 4 ...
 *   0 4 forward-begin region "layer" ticket 1 seed 9f86d081884c7d65 ...
 *   0 5 forward-commit region "layer" ticket 1
 *
 * The first number is the context's, counted from 0 in order of creation in the
 * process; the second counts the events of that context that were written. The
 * events of a context are in the order in which they took effect; those of
 * several contexts are mixed. All events and their fields are listed in Note
 * [Journal] in lib/state/state.h.
 *
 * If PHILOX_JOURNAL is set and not empty, and the file cannot be begun,
 * creating a context fails with PHILOX_ERROR_FILE and a message that names the
 * variable, the path and the reason. A journal that has begun never makes a
 * call fail: if it cannot be written any more it ends, with a warning through
 * the log. Each line is written at once, so a program that crashes leaves a
 * journal that is complete up to the crash.
 *
 *   philox inspect --trace run.json run.journal
 *   philox inspect --svg run.journal >run.svg
 *
 * show a journal as a picture. With times, and without a journal:
 *
 *   PHILOX_TRACE=run.json ./train
 *
 * writes what happens in the contexts of a process as a trace that
 * ui.perfetto.dev and chrome://tracing load, in the JSON of the Trace Event
 * Format: passes from begin to commit or abort, arrows from forwards to the
 * backwards of their tickets, captures, launches, and all other events of a
 * journal, and saves too, as marks. Times are the host's, of CLOCK_MONOTONIC: a
 * launch ends when the device has it, and the passes within one are shown in
 * turn, since only the device knows when they run. The rules of PHILOX_JOURNAL
 * hold for "%p", for a file that cannot be begun and for one that ends. A
 * program that crashes leaves a trace that can be loaded. Each event costs a
 * write to the file, or two; nothing is spent if there is no trace.
 *
 * Under a profiler that takes NVTX ranges, eager and captured passes, captures
 * and launches are ranges of the domain "philox" ("layer forward", "step
 * launch"; the number of ticket or launch is the payload), in a library built
 * with the CUDA toolkit.
 *
 * Thread rule: every function here may be called from any thread, at the same
 * time as any other, unless its comment says otherwise.
 */
#ifndef PHILOX_JOURNAL_H
#define PHILOX_JOURNAL_H

#include <philox/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * philox_context_set_journal() begins a journal of a context at `path`, in
 * place of the one it has, or ends it (NULL). An existing file is replaced,
 * unless a context of this process is writing to that path: then the journal
 * continues and the contexts share it. The first line has the context's digest
 * (philox/inspect.h), which tells whether two journals begin at the same point.
 * Errors: PHILOX_ERROR_FILE, which names the path and the reason,
 * PHILOX_ERROR_INVALID, PHILOX_ERROR_MEMORY. Legal during capture.
 */
PHILOX_API enum philox_status philox_context_set_journal(
	struct philox_context *context, const char *path);

#ifdef __cplusplus
}
#endif
#endif

/*
 * lib/state/ledger.h - the ledger of forwards whose backward is owed
 *
 * Note [Ledger]
 * ~~~~~~~~~~~~~
 * A region's ledger records, for each forward whose backward is owed, the state
 * from which that forward drew. It is the only place where a backward finds its
 * numbers: nothing is ever inferred from the order of calls, so any order, any
 * repetition and any failure leave every other ticket alone. An entry goes
 * through these phases, for eager and captured passes and any mix of them:
 *
 *           open                 commit                commit (not retained)
 *   (none) ------> FORWARD_OPEN --------> PENDING ------------------> (none)
 *                      |                   |   ^  \                     ^
 *                abort |           release |   |   \ commit while       | the
 *                      v                   v   |    \ others read       | last
 *                    (none)              (none)|     `----> DONE -------' ends
 *                                              |
 *                       begin, retained commit, abort: nothing changes
 *
 *  - A forward reserves its state when it begins. Whether it commits or aborts,
 *    its numbers are never issued again (promise: freshness).
 *  - A backward begins on a PENDING entry and reads its state; beginning
 *    changes only the count of readers. At most one reader at a time may be
 *    consuming. An abort or a failed launch only takes the reader back
 *    (promise: transactions).
 *  - A consuming commit makes the entry DONE: no new reader may begin. The
 *    entry is removed with its last reader, and then its saved context is
 *    released, once.
 *  - A launch of a graph claims the entries it will consume before it updates
 *    anything, so that two launches, or two uses of one launch, cannot both
 *    have a ticket; the claim is taken back if the launch fails.
 *  - Serials count a region's forwards from 1 and never repeat, even when a
 *    region is destroyed and made again, so a stale ticket is always detected.
 *
 * Entries are in a table made once, and are found through a hash of the serial
 * in constant time, however many are pending. The ledger uses only host memory;
 * its owner locks it. An entry and its share of the index cost at most 128
 * bytes.
 */
#ifndef LIB_STATE_LEDGER_H
#define LIB_STATE_LEDGER_H

#include <stdint.h>
#include <philox/context.h>
#include <philox/kernel.h>
#include "lib/base/status.h"

#define LEDGER_CAPACITY_MAX (1u << 28)

/* Set in the serial of a placeholder, which never enters a ledger. */
#define SERIAL_PLACEHOLDER (1ULL << 63)

enum ledger_phase {
	LEDGER_FREE = 0,
	LEDGER_FORWARD_OPEN,
	LEDGER_PENDING,
	LEDGER_DONE
};

enum ledger_use {
	LEDGER_RETAIN = 0, /* reads, any number at once */
	LEDGER_CONSUME,    /* an open consuming pass */
	LEDGER_CLAIM       /* a launch that will consume */
};

/*
 * What goes with a ticket, taken out of the ledger to be released without
 * locks: what the caller has attached, and what the library has tied.
 */
struct saved_context {
	void *saved;
	void (*release)(void *saved, philox_stream stream); /* NULL: none */
	void *tied;
	void (*untie)(void *tied, philox_stream stream); /* NULL: nothing */
};

struct ledger_entry {
	uint64_t serial;
	struct philox_state state;
	struct saved_context context;
	uint32_t readers;    /* open backward passes and running launches */
	uint8_t phase;       /* enum ledger_phase */
	uint8_t consuming;   /* enum ledger_use of the consuming reader, or 0 */
	uint32_t next;       /* free list */
	uint32_t iterations; /* that the forward has reserved, at least 1 */
};

/* A place of the index: the low word alone decides most comparisons. */
struct ledger_place {
	uint32_t entry;  /* its number + 1; 0: empty */
	uint32_t serial; /* the low word */
};

struct ledger {
	struct ledger_entry *entries;
	struct ledger_place *index; /* finds an entry by its serial */
	uint32_t index_bits;
	uint32_t capacity;
	uint32_t used;
	uint32_t free; /* first free entry, or capacity */
};

enum philox_status ledger_init(struct ledger *ledger, uint32_t capacity);
void ledger_finish(struct ledger *ledger);

/*
 * ledger_open() begins a forward with the state of its first iteration;
 * ERROR_LIMIT when the table is full.
 */
enum philox_status ledger_open(struct ledger *ledger, uint64_t serial,
			       struct philox_state state, uint32_t iterations);

/* ledger_commit() makes an open forward pending; ERROR_STATE if not open. */
enum philox_status ledger_commit(struct ledger *ledger, uint64_t serial);

/* ledger_abort() removes an open forward; ERROR_STATE if it is not open. */
enum philox_status ledger_abort(struct ledger *ledger, uint64_t serial);

/*
 * ledger_begin() begins a backward of a pending forward that may take
 * *iterations of it, and writes how many it has and the state to draw from.
 * ERROR_RELEASED, ERROR_STATE (forward still open), ERROR_BUSY, ERROR_MISMATCH
 * (it has fewer).
 */
enum philox_status ledger_begin(struct ledger *ledger, uint64_t serial,
				enum ledger_use use, uint32_t *iterations,
				struct philox_state *state);

/*
 * ledger_end() ends a backward that was begun with `use`; with `consume` the
 * forward is used up. Writes the saved context to release, if any.
 * ERROR_STATE if no such backward is open.
 */
enum philox_status ledger_end(struct ledger *ledger, uint64_t serial,
			      enum ledger_use use, int consume,
			      struct saved_context *released);

/* ledger_retain() makes an open consuming backward one that retains. */
void ledger_retain(struct ledger *ledger, uint64_t serial);

/* ledger_drop() removes a pending forward that has no readers. */
enum philox_status ledger_drop(struct ledger *ledger, uint64_t serial,
			       struct saved_context *released);

/* ledger_pending() finds a pending forward for its saved context. */
enum philox_status ledger_pending(struct ledger *ledger, uint64_t serial,
				  struct ledger_entry **entry);

/*
 * ledger_list() lists the entries that are in a phase (LEDGER_FREE: in any
 * other) in order of serial, in memory that the caller frees: ERROR_MEMORY.
 */
enum philox_status ledger_list(const struct ledger *ledger,
			       enum ledger_phase phase,
			       const struct ledger_entry ***entries,
			       uint32_t *n);

/*
 * ledger_check() verifies the invariants of the table; see PHILOX_DEBUG. A
 * large table is walked only occasionally, so that a check costs little on
 * average.
 */
void ledger_check(const struct ledger *ledger);

static inline void saved_context_release(struct saved_context released,
					 philox_stream stream)
{
	if (released.untie)
		released.untie(released.tied, stream);
	if (released.release)
		released.release(released.saved, stream);
}

#endif

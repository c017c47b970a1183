/*
 * lib/state/ledger.c - see Note [Ledger] in lib/state/state.h
 *
 * The index is an open-addressed hash table, at most half full, of entry
 * numbers by serial; deletion shifts the following places back, so there are no
 * tombstones and a probe ends at the first empty place. Serials count up. They
 * are hashed in blocks of eight, one cache line of the index: neighbours, which
 * mostly come and go together, stay together, while blocks are spread, so that
 * old retained tickets do not form runs that probes for new serials would have
 * to walk through.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/state/state.h"

#define BLOCK_BITS 3 /* 2^3 places of 8 bytes: a line of 64 bytes */

/* The index has fewer than four places for each entry: see ledger_init(). */
_Static_assert(sizeof(struct ledger_entry) + 4 * sizeof(struct ledger_place) <=
		       128,
	       "a pending forward costs at most 128 bytes");

/* Fibonacci hashing, 2^32 / golden ratio: Knuth, TAOCP vol. 3, section 6.4. */
static uint32_t index_home(const struct ledger *ledger, uint32_t serial)
{
	uint32_t block = (serial >> BLOCK_BITS) * 0x9E3779B9u, home;

	if (ledger->index_bits <= BLOCK_BITS)
		return serial & ((1u << ledger->index_bits) - 1);
	home = block >> (32 - (ledger->index_bits - BLOCK_BITS));

	return home << BLOCK_BITS | (serial & ((1u << BLOCK_BITS) - 1));
}

static uint32_t index_mask(const struct ledger *ledger)
{
	return (uint32_t)((1ULL << ledger->index_bits) - 1);
}

static int is_at(const struct ledger *ledger, struct ledger_place place,
		 uint64_t serial)
{
	return place.serial == (uint32_t)serial &&
	       ledger->entries[place.entry - 1].serial == serial;
}

/* The place of a serial in the index, or the empty place where it would go. */
static uint32_t index_find(const struct ledger *ledger, uint64_t serial)
{
	uint32_t mask = index_mask(ledger);
	uint32_t place = index_home(ledger, (uint32_t)serial);

	while (ledger->index[place].entry &&
	       !is_at(ledger, ledger->index[place], serial))
		place = (place + 1) & mask;
	return place;
}

/* Removes a place and moves back those whose probe went past it. */
static void index_remove(struct ledger *ledger, uint32_t hole)
{
	uint32_t mask = index_mask(ledger), place = hole;

	for (;;) {
		uint32_t home;

		place = (place + 1) & mask;
		if (!ledger->index[place].entry)
			break;
		home = index_home(ledger, ledger->index[place].serial);
		if (((place - home) & mask) < ((place - hole) & mask))
			continue; /* it would move ahead of its home */
		ledger->index[hole] = ledger->index[place];
		hole = place;
	}
	ledger->index[hole].entry = 0;
}

static struct ledger_entry *find(const struct ledger *ledger, uint64_t serial)
{
	uint32_t number = ledger->index[index_find(ledger, serial)].entry;

	return number ? &ledger->entries[number - 1] : NULL;
}

static void remove_entry(struct ledger *ledger, struct ledger_entry *entry)
{
	index_remove(ledger, index_find(ledger, entry->serial));
	memset(entry, 0, sizeof(*entry));
	entry->next = ledger->free;
	ledger->free = (uint32_t)(entry - ledger->entries);
	ledger->used--;
}

static void check_entry(const struct ledger *ledger,
			const struct ledger_entry *entry)
{
	(void)ledger; /* without NDEBUG it is used */
	assert(find(ledger, entry->serial) == entry);
	assert(entry->phase != LEDGER_FORWARD_OPEN || !entry->readers);
	assert(entry->phase != LEDGER_DONE || entry->readers);
	assert(!entry->consuming || entry->readers);
}

void ledger_check(const struct ledger *ledger)
{
	static _Thread_local uint64_t calls;
	uint32_t used = 0;

	if (calls++ % (1 + ledger->capacity / 16))
		return;
	for (uint32_t i = 0; i < ledger->capacity; i++) {
		if (ledger->entries[i].phase == LEDGER_FREE)
			continue;
		used++;
		check_entry(ledger, &ledger->entries[i]);
	}
	assert(used == ledger->used);
	(void)used;
}

enum philox_status ledger_init(struct ledger *ledger, uint32_t capacity)
{
	uint32_t bits = 1;

	while ((1ULL << bits) < 2ULL * capacity)
		bits++;
	memset(ledger, 0, sizeof(*ledger));
	ledger->entries = calloc(capacity, sizeof(*ledger->entries));
	ledger->index = calloc((size_t)1 << bits, sizeof(*ledger->index));
	if (!ledger->entries || !ledger->index) {
		ledger_finish(ledger);
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory for %" PRIu32 " pending ticket%s",
				  capacity, status_s(capacity));
	}
	for (uint32_t i = 0; i < capacity; i++)
		ledger->entries[i].next = i + 1;
	ledger->capacity = capacity;
	ledger->index_bits = bits;
	return PHILOX_OK;
}

void ledger_finish(struct ledger *ledger)
{
	free(ledger->index);
	free(ledger->entries);
	memset(ledger, 0, sizeof(*ledger));
}

/*
 * The free list of the smaller one ends with the number of its entries, which
 * is that of the first entry more: so it goes on through all that are new.
 */
void ledger_move(struct ledger *from, struct ledger *to)
{
	memcpy(to->entries, from->entries,
	       from->capacity * sizeof(*from->entries));
	to->free = from->free;
	to->used = from->used;
	for (uint32_t i = 0; i < from->capacity; i++) {
		const struct ledger_entry *entry = &to->entries[i];

		if (entry->phase == LEDGER_FREE)
			continue;
		to->index[index_find(to, entry->serial)] =
			(struct ledger_place){i + 1, (uint32_t)entry->serial};
	}
	ledger_finish(from);
}

enum philox_status ledger_grow(struct ledger *ledger, uint32_t capacity)
{
	struct ledger larger;
	enum philox_status status = ledger_init(&larger, capacity);

	if (status != PHILOX_OK)
		return status;
	ledger_move(ledger, &larger);
	*ledger = larger;
	return PHILOX_OK;
}

enum philox_status ledger_open(struct ledger *ledger, uint64_t serial,
			       struct philox_state state, uint32_t iterations)
{
	struct ledger_entry *entry;

	if (ledger->used == ledger->capacity)
		return status_set(
			PHILOX_ERROR_LIMIT,
			"pending is %" PRIu32 ", and %" PRIu32
			" forward%s %s owed a backward: run or "
			"release one, raise pending, or begin with "
			"PHILOX_PASS_INFERENCE if no backward will come",
			ledger->capacity, ledger->used, status_s(ledger->used),
			status_is(ledger->used));
	entry = &ledger->entries[ledger->free];
	ledger->free = entry->next;
	ledger->used++;
	entry->serial = serial;
	entry->state = state;
	entry->iterations = iterations;
	entry->phase = LEDGER_FORWARD_OPEN;
	ledger->index[index_find(ledger, serial)] = (struct ledger_place){
		(uint32_t)(entry - ledger->entries) + 1, (uint32_t)serial};
	return PHILOX_OK;
}

static enum philox_status find_open(struct ledger *ledger, uint64_t serial,
				    struct ledger_entry **entry)
{
	*entry = find(ledger, serial);
	if (*entry && (*entry)->phase == LEDGER_FORWARD_OPEN)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_STATE,
			  "forward %" PRIu64
			  " is not open: it has already ended",
			  serial);
}

enum philox_status ledger_commit(struct ledger *ledger, uint64_t serial)
{
	struct ledger_entry *entry;
	enum philox_status status = find_open(ledger, serial, &entry);

	if (status == PHILOX_OK)
		entry->phase = LEDGER_PENDING;
	return status;
}

enum philox_status ledger_abort(struct ledger *ledger, uint64_t serial)
{
	struct ledger_entry *entry;
	enum philox_status status = find_open(ledger, serial, &entry);

	if (status == PHILOX_OK)
		remove_entry(ledger, entry);
	return status;
}

enum philox_status ledger_pending(struct ledger *ledger, uint64_t serial,
				  struct ledger_entry **entry)
{
	struct ledger_entry *found = find(ledger, serial);

	if (!found)
		return status_set(PHILOX_ERROR_RELEASED,
				  "ticket %" PRIu64
				  " was used up, released or never issued",
				  serial);
	if (found->phase == LEDGER_FORWARD_OPEN)
		return status_set(PHILOX_ERROR_STATE,
				  "the forward of ticket %" PRIu64
				  " is still open",
				  serial);
	if (found->phase == LEDGER_DONE)
		return status_set(PHILOX_ERROR_RELEASED,
				  "ticket %" PRIu64
				  " is used up; passes of it are still open",
				  serial);
	*entry = found;
	return PHILOX_OK;
}

static enum philox_status refuse_claimed(uint64_t serial)
{
	return status_set(PHILOX_ERROR_BUSY,
			  "a launch is using up ticket %" PRIu64, serial);
}

static enum philox_status check_iterations(const struct ledger_entry *entry,
					   uint32_t needed)
{
	if (needed <= entry->iterations)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_MISMATCH,
			  "ticket %" PRIu64 " has %" PRIu32
			  " iteration%s, and the backward may take %" PRIu32,
			  entry->serial, entry->iterations,
			  status_s(entry->iterations), needed);
}

enum philox_status ledger_begin(struct ledger *ledger, uint64_t serial,
				enum ledger_use use, uint32_t *iterations,
				struct philox_state *state)
{
	struct ledger_entry *entry;
	enum philox_status status = ledger_pending(ledger, serial, &entry);

	if (status != PHILOX_OK)
		return status;
	if (entry->consuming == LEDGER_CLAIM)
		return refuse_claimed(serial);
	if (use != LEDGER_RETAIN && entry->consuming)
		return status_set(PHILOX_ERROR_BUSY,
				  "a consuming backward of ticket %" PRIu64
				  " is open",
				  serial);
	status = check_iterations(entry, *iterations);
	if (status != PHILOX_OK)
		return status;
	entry->readers++;
	if (use != LEDGER_RETAIN)
		entry->consuming = (uint8_t)use;
	*iterations = entry->iterations;
	*state = entry->state;
	return PHILOX_OK;
}

enum philox_status ledger_end(struct ledger *ledger, uint64_t serial,
			      enum ledger_use use, int consume,
			      struct saved_context *released)
{
	struct ledger_entry *entry = find(ledger, serial);

	if (!entry || !entry->readers ||
	    (use != LEDGER_RETAIN && entry->consuming != use))
		return status_set(PHILOX_ERROR_STATE,
				  "no such backward of ticket %" PRIu64
				  " is open: it "
				  "has ended before",
				  serial);
	entry->readers--;
	if (use != LEDGER_RETAIN)
		entry->consuming = 0;
	if (consume)
		entry->phase = LEDGER_DONE;
	if (entry->phase != LEDGER_DONE || entry->readers)
		return PHILOX_OK;
	*released = entry->context;
	remove_entry(ledger, entry);
	return PHILOX_OK;
}

void ledger_retain(struct ledger *ledger, uint64_t serial)
{
	struct ledger_entry *entry = find(ledger, serial);

	if (entry)
		entry->consuming = 0;
}

enum philox_status ledger_drop(struct ledger *ledger, uint64_t serial,
			       struct saved_context *released)
{
	struct ledger_entry *entry;
	enum philox_status status = ledger_pending(ledger, serial, &entry);

	if (status != PHILOX_OK)
		return status;
	if (entry->consuming == LEDGER_CLAIM)
		return refuse_claimed(serial);
	if (entry->readers)
		return status_set(PHILOX_ERROR_BUSY,
				  "%" PRIu32 " pass%s of ticket %" PRIu64
				  " %s open",
				  entry->readers, status_es(entry->readers),
				  serial, status_is(entry->readers));
	*released = entry->context;
	remove_entry(ledger, entry);
	return PHILOX_OK;
}

/* --- in order ------------------------------------------------------------- */

static int compare_serials(const void *a, const void *b)
{
	const struct ledger_entry *const *left = a, *const *right = b;

	return ((*left)->serial > (*right)->serial) -
	       ((*left)->serial < (*right)->serial);
}

enum philox_status ledger_list(const struct ledger *ledger,
			       enum ledger_phase phase,
			       const struct ledger_entry ***entries,
			       uint32_t *n)
{
	const struct ledger_entry **list =
		calloc((size_t)ledger->used + 1, sizeof(*list));
	uint32_t found = 0;

	if (!list)
		return status_set(PHILOX_ERROR_MEMORY,
				  "no memory to list %" PRIu32 " ticket%s",
				  ledger->used, status_s(ledger->used));
	for (uint32_t i = 0; i < ledger->capacity; i++) {
		const struct ledger_entry *entry = &ledger->entries[i];

		if (entry->phase != LEDGER_FREE &&
		    (phase == LEDGER_FREE || entry->phase == phase))
			list[found++] = entry;
	}
	qsort(list, found, sizeof(*list), compare_serials);
	*entries = list;
	*n = found;
	return PHILOX_OK;
}

/*
 * alloc/pool/room.c - see alloc/pool/room.h
 */
#include "alloc/pool/order.h"
#include "alloc/pool/room.h"

static size_t smaller(uint64_t a, uint64_t b)
{
	return (size_t)(a < b ? a : b);
}

/* Chunks lie in mapped memory, and large free blocks cover it. */
size_t room_nodes(const struct blocks *blocks, size_t more, size_t more_extents)
{
	uint64_t units = blocks->live_units + blocks->free_units;
	uint64_t entries = blocks->n_free + blocks->live.count + more;
	size_t extents = blocks->n_extents + more_extents;
	uint64_t chunks = (units >> CHUNK_BITS) + 2 * extents + 2 + more;
	size_t starts = smaller(entries, chunks);
	size_t large = smaller(entries, units / BINS_EXACT + more);

	/* Of each owner, one more, of chunks, and the two of extents */
	return index_nodes(starts + large + 2 * extents, blocks->n_owners + 4);
}

size_t room_pages(const struct blocks *blocks, size_t more)
{
	uint64_t entries = blocks->n_free + blocks->live.count + more;

	return heap_pages((size_t)entries,
			  smaller(entries, (blocks->n_owners + 2) *
						   (uint64_t)BINS_EXACT));
}

static int make_room(struct blocks *blocks, size_t more, size_t more_live,
		     size_t more_extents)
{
	size_t live = blocks->live.count + more_live;

	if (!slab_reserve(&blocks->records, blocks->records.used + more) ||
	    !slab_reserve(&blocks->nodes,
			  room_nodes(blocks, more, more_extents)) ||
	    !slab_reserve(&blocks->pages, room_pages(blocks, more)) ||
	    !slab_reserve(&blocks->bins, blocks->n_owners + 2) ||
	    !places_reserve(&blocks->live, live))
		return 0;
	blocks->room = (struct room){blocks->n_free + blocks->live.count + more,
				     blocks->live_units + blocks->free_units,
				     blocks->n_owners,
				     blocks->n_extents + more_extents};
	return 1;
}

/* All that is needed grows with what is compared here. */
int room_reserve(struct blocks *blocks, size_t more_free, size_t more_live,
		 size_t more_extents)
{
	const struct room *room = &blocks->room;
	size_t live = more_live + blocks->undo_live;
	size_t more = more_free + blocks->undo_free + live;

	if (blocks->n_free + blocks->live.count + more <= room->entries &&
	    blocks->live_units + blocks->free_units <= room->units &&
	    blocks->n_owners <= room->owners &&
	    blocks->n_extents + more_extents <= room->extents &&
	    blocks->records.used + more <= blocks->records.total &&
	    blocks->live.count + live <= blocks->live.capacity / 3 * 2)
		return 1;
	return make_room(blocks, more, live, more_extents);
}

/*
 * alloc/pool/ids.h - ids count the blocks of the process
 */
#ifndef ALLOC_POOL_IDS_H
#define ALLOC_POOL_IDS_H

#include <stdint.h>

/*
 * ids_issue() returns a new one, from 1 on, and ids_last() the last one, 0 if
 * there was none. Any thread.
 */
uint64_t ids_issue(void);
uint64_t ids_last(void);

#endif

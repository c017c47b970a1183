/*
 * lib/save/text.h - the text of a saved context, and writing it
 *
 * Note [Saved context]
 * ~~~~~~~~~~~~~~~~~~~~
 *   philox context 1
 *   generator 0 state 000000000000002a 0000000000000000
 *   region "block.0" alive generator 0 flags 0 next 9f86... 0000... serial 4
 *   op "dropout" calls 1 advance 4
 *   op - calls 2 advance 4
 *   ticket 2 state 9f86d081884c7d65 0000000000000004
 *   region "old" destroyed generator none next 6030... 0000... serial 9
 *   rows "requests" generator 0 count 2
 *   row 52ab3b1e4ffec8d5 0000000000000008
 *   row 4f1a7af0b34dd6ac 0000000000000000
 *   checksum 0123456789abcdef bytes 397
 *
 * Lines end with a line feed, words are separated by one space; there are no
 * blank lines and no comments. The same contents have only one spelling, so
 * that two texts differ where their contexts do. All lines:
 *
 *  philox context V   The version: the lowest that has all lines of the text, 4
 *                     if there is a mesh, a region that differs or a line
 *                     "issued", else 3 if a ticket has iterations, else 2 if
 *                     there are tables of rows, else 1. A reader refuses a
 *                     newer one, after which anything may follow.
 *  axis NAME size N at C [stages]
 *                     The axes of the context's mesh, in its order, and where
 *                     the context is (version 4).
 *  generator N state STATE
 *                     Numbered from 0 in order of creation.
 *  region NAME alive|destroyed generator N|none [flags F] next STATE serial S
 *                     In ascending order of their bytes. The state is what the
 *                     region itself holds for its next forward (a SHARED one
 *                     draws from its generator instead), the serial is that of
 *                     its next forward. Only a destroyed region may have lost
 *                     its generator, and only one that is alive has flags.
 *  differs NAME       An axis along which the region above differs, in
 *                     ascending order of their bytes (version 4). Only a region
 *                     that is alive has such lines.
 *  issued O serial S  After these lines: the highest offset and serial that
 *                     coordinates that are gone had for their next forward, of
 *                     the region above, which is alive and not shared, where
 *                     one of them is above its own (version 4). It may have
 *                     lost the axes along which it differed.
 *  op NAME|- calls C advance A
 *                     The operators of the region above, at least one if it is
 *                     alive; "-" has no name.
 *  ticket S state STATE [iterations I]
 *                     The tickets pending or retained in the region above, in
 *                     ascending order of serial; how many iterations it has, if
 *                     more than one (version 3).
 *  rows NAME generator N count C
 *                     A table of rows (version 2). Tables come last, in
 *                     ascending order of their bytes.
 *  row STATE          The C rows of the table above, in order.
 *  checksum H bytes B FNV-1a, 64 bits, of everything above this line, and how
 *                     many bytes that is. Nothing follows.
 *
 * Numbers are decimal, without leading zeros. A state is two numbers of 16 hex
 * digits, seed and offset; a serial is in 1 .. 2^63 - 1, that of a ticket below
 * its region's. Names are in quotation marks; in them a quotation mark, a
 * backslash and every byte that is not printable ASCII is written \xHH.
 *
 * A single changed byte always changes FNV-1a: its step is a bijection of the
 * hash for every byte, and of the byte for every hash.
 */
#ifndef LIB_SAVE_TEXT_H
#define LIB_SAVE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include "lib/base/status.h"

struct saved;

#define SAVE_VERSION       4
#define SAVE_VERSION_ROWS  2 /* the first with tables of rows */
#define SAVE_VERSION_LOOPS 3 /* the first with tickets of loops */
#define SAVE_VERSION_MESH  4 /* the first with meshes */
#define SAVE_VERSION_RANKS 1 /* of the texts of ranks */
#define SAVE_NO_GENERATOR  UINT32_MAX

/*
 * save_write() writes what a context has as a text: ERROR_MEMORY.
 * save_write_rank() writes it as the text of a rank, see Note [Text of a rank]
 * in lib/ranks/agree.h.
 */
enum philox_status save_write(const struct saved *saved, char **text,
			      size_t *size);
enum philox_status save_write_rank(const struct saved *saved, char **text,
				   size_t *size);

#endif

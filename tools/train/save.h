/*
 * tools/train/save.h - written by save.c and read by resume.c
 *
 * Note [Saved training]
 * ~~~~~~~~~~~~~~~~~~~~~
 * A run is saved in the middle of a step: every slot's forward is pending, one
 * slot has had a backward with PHILOX_RETAIN, no parameter has moved yet.
 *
 *   philox train save 1, philox 0.1.0, little-endian
 *   text 9f86d081884c7d65 bytes 4242
 *   device host
 *   options seed 1 dropout 0x1.999999999999ap-4 ops 0 steps 600
 *   step 300 context 1321 payload 812345
 *   (the context, as philox_context_save_text() wrote it)
 *   (the payload)
 *   checksum 0123456789abcdef
 *
 * `text` is the hash of the text's bytes. `step` counts from 1; the sizes of
 * the two parts in bytes follow it. The payload is the tickets, slot by slot
 * and layer by layer, two 64-bit words each, then the device memory that
 * train_save_parts() lists, in the byte order of the first line and with
 * nothing in between. The checksum is FNV-1a, 64 bits, of everything above its
 * line.
 *
 * Activations are not saved: the tickets give every number back, so a recompute
 * of each pending forward makes them again, bit for bit. Only a file with this
 * very first line is read: another version may compute otherwise.
 */
#ifndef TOOLS_TRAIN_SAVE_H
#define TOOLS_TRAIN_SAVE_H

#include "tools/train/train.h"

#define TRAIN_SAVE_MAGIC     "philox train save "
#define TRAIN_SAVE_HEAD_MAX  512
#define TRAIN_SAVE_FOOT_SIZE (sizeof("checksum 0123456789abcdef\n") - 1)
#define TRAIN_SAVE_PARTS     10

/* The lines before the context, except the first. */
struct train_save_head {
	uint64_t text_hash;
	size_t text_size;
	char device[8];
	uint64_t seed, ops, steps, step;
	double dropout;
	size_t context_size, payload_size;
};

struct train_save_part {
	void *memory; /* of the device */
	size_t size;
};

/* train_save_parts() lists the parts of device memory in a payload. */
void train_save_parts(const struct train_model *model, uint64_t step,
		      struct train_save_part parts[TRAIN_SAVE_PARTS]);
size_t train_save_payload(const struct train_model *model, uint64_t step);

/*
 * train_save_first_line(), train_save_head() and train_save_foot() write the
 * lines of a file, the first one alone, up to the context, and the last, and a
 * NUL; the first two return how many bytes that is, without the NUL.
 */
size_t train_save_first_line(char line[TRAIN_SAVE_HEAD_MAX]);
size_t train_save_head(char text[TRAIN_SAVE_HEAD_MAX],
		       const struct train_save_head *head);
void train_save_foot(char foot[TRAIN_SAVE_FOOT_SIZE + 1], const char *bytes,
		     size_t size);

/* train_save_refuse() writes what is wrong, and returns 1. */
int train_save_refuse(char *message, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif

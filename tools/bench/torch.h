/*
 * tools/bench/torch.h - a Python process with PyTorch in it, as a peer
 */
#ifndef TOOLS_BENCH_TORCH_H
#define TOOLS_BENCH_TORCH_H

#include <philox.h>
#include "tools/bench/race.h"

struct torch;

/*
 * torch_open() starts PHILOX_PYTHON, or python3, with the script pytorch.py of
 * peer_path() on `threads` threads of the CPU or on the device's GPU. It
 * returns the process with a note of its version, or NULL with a note of what
 * is missing. torch_close() ends it; NULL is allowed.
 */
struct torch *torch_open(struct philox_device *device, unsigned threads,
			 char note[RACE_NOTE_MAX]);
void torch_close(struct torch *torch);

/*
 * torch_ask() sends one line, without its end, and reads the times in the
 * answer. 0, or -1 with a note.
 */
int torch_ask(struct torch *torch, const char *line, struct race_time *time,
	      char note[RACE_NOTE_MAX]);

#endif

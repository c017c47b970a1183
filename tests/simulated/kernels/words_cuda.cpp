/*
 * tests/simulated/kernels/words_cuda.cpp - tools/contract/words/words.cu for
 * the CPU
 */
#include "tests/simulated/kernels/device_code.h"
#include "tools/contract/words/words.cu"

#define WORD_KNOWN(name, type, value) SIMULATED_KERNEL(words_##name)

WORD_FUNCTIONS(WORD_KNOWN)

/*
 * tools/train/model/cublas.h - where the library cuBLAS may be
 */
#ifndef TOOLS_TRAIN_MODEL_CUBLAS_H
#define TOOLS_TRAIN_MODEL_CUBLAS_H

#ifdef __cplusplus
extern "C" {
#endif

/*
 * train_cublas_search() calls try(data, name) for one library after the other,
 * as dlopen() takes it, until one returns 0: for those of CUDA 13, then 12, by
 * the bare name, which the system's linker looks up; in CUDA toolkits
 * (CUDA_HOME, CUDA_PATH, /usr/local); and in the folders that pip and conda
 * make (VIRTUAL_ENV, CONDA_PREFIX, HOME, /usr/local, /usr, /opt/conda). If
 * PHILOX_CUBLAS is in the environment it is the only one; "none" is none at
 * all. Returns 0 if one was accepted.
 */
int train_cublas_search(int (*try_it)(void *data, const char *name),
			void *data);

/* train_cublas_named() returns what PHILOX_CUBLAS names, or NULL. */
const char *train_cublas_named(void);

#ifdef __cplusplus
}
#endif
#endif

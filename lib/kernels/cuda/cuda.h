/*
 * lib/kernels/cuda/cuda.h - the table of CUDA kernels
 */
#ifndef LIB_KERNELS_CUDA_CUDA_H
#define LIB_KERNELS_CUDA_CUDA_H

#ifdef __cplusplus
extern "C" {
#endif

/* As device_cuda opens with it: lib/device/cuda/cuda.h. */
extern const struct kernels_cuda kernels_cuda;

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_error.cu - see cuda_error.cuh. */
#include "cuda_error.cuh"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

fm_status cuda_fail(fm_error *error, fm_status status, const char *format, ...)
{
    if (!error) return status;
    memset(error, 0, sizeof *error);
    error->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    return status;
}

fm_status cuda_fail_call(fm_error *error, cudaError_t code, const char *doing)
{
    (void)cudaGetLastError(); /* it was heard */
    switch (code) {
    case cudaErrorMemoryAllocation:
        return cuda_fail(error, FM_E_NOMEM, "the graphics card's memory is too small: %s", doing);
    case cudaErrorInsufficientDriver:
        return cuda_fail(error, FM_E_UNSUPPORTED,
                         "no usable NVIDIA driver: it is absent, or older than CUDA %d.%d needs",
                         CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    case cudaErrorNoDevice:
        return cuda_fail(error, FM_E_UNSUPPORTED, "there is no NVIDIA graphics card that CUDA can use");
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
        return cuda_fail(error, FM_E_UNSUPPORTED, "the CUDA module was not built for this graphics card");
    default:
        return cuda_fail(error, FM_E_IO, "CUDA: %s: %s", doing, cudaGetErrorString(code));
    }
}

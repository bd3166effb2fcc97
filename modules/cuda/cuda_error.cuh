/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_error.cuh - CUDA's errors as fm_error. The module calls nothing of the library, so it fills them in
 * itself. */
#ifndef FATHOM_CUDA_ERROR_CUH
#define FATHOM_CUDA_ERROR_CUH

#include <cuda_runtime.h>
#include <fathom/status.h>

/* Fills *error (where not NULL) and returns status. */
fm_status cuda_fail(fm_error *error, fm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* What a CUDA call that failed means; `doing` says what it was for: "copying to the card". */
fm_status cuda_fail_call(fm_error *error, cudaError_t code, const char *doing);

/* In a function that returns fm_status and has an fm_error *error. */
#define CUDA_TRY(call, doing)                                                                                \
    do {                                                                                                     \
        const cudaError_t cuda_try_code = (call);                                                            \
        if (cuda_try_code != cudaSuccess) return cuda_fail_call(error, cuda_try_code, doing);                \
    } while (0)
#define FM_TRY(call)                                                                                         \
    do {                                                                                                     \
        const fm_status fm_try_status = (call);                                                              \
        if (fm_try_status != FM_OK) return fm_try_status;                                                    \
    } while (0)

#endif

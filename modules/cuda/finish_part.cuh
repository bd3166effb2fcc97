/* SPDX-License-Identifier: Apache-2.0 */
/* finish_part.cuh - how large the parts are that splitting leaves to finish.cu. */
#ifndef FATHOM_CUDA_FINISH_PART_CUH
#define FATHOM_CUDA_FINISH_PART_CUH

namespace fathom
{
constexpr int FINISH_BITS = 13;
}

#endif

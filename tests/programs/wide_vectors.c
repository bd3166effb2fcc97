/* SPDX-License-Identifier: Apache-2.0 */
/* AVX-512 without asking the processor first, as -march=native makes programs */
#include "touch.h"
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(void)
{
    touch(data, 100, 3);
    __asm__ volatile("vmovdqu64 (%0), %%zmm17" : : "r"(data) : "memory");
    touch(data, 100, 1);
    return 0;
}

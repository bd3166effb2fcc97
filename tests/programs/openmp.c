/* SPDX-License-Identifier: Apache-2.0 */
/* four OpenMP threads share 400 blocks, each 100 of them, 20 times; the pool's threads never end by
 * themselves */
#include "touch.h"
static char data[400 * BLOCK] __attribute__((aligned(BLOCK)));
int main(void)
{
#pragma omp parallel for num_threads(4) schedule(static)
    for (int i = 0; i < 4; i++) touch(data + i * 100 * BLOCK, 100, 20);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cc_openmp.c - OpenMP: 4 threads of a pool that never ends store 4000 numbers of 4 bytes together, 10 times.
 */
#include <fathom/markers.h>
#include <stdio.h>

static volatile int numbers[4000];

int main(void)
{
    long sum = 0;
    for (int times = 0; times < 10; times++) {
#pragma omp parallel num_threads(4)
        {
            FATHOM_BEGIN("fill");
#pragma omp for nowait
            for (int i = 0; i < 4000; i++) numbers[i] = i;
            FATHOM_END;
        }
    }
#pragma omp parallel for reduction(+ : sum) num_threads(4)
    for (int i = 0; i < 4000; i++) sum += numbers[i];
    printf("%ld\n", sum);
    return 0;
}

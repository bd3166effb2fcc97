/* SPDX-License-Identifier: Apache-2.0 */
/* 64 threads at once, each 128 blocks of its own, 50 times */
#include "touch.h"
#include <pthread.h>
enum { THREADS = 64 };
static char data[THREADS][128 * BLOCK] __attribute__((aligned(BLOCK)));
static pthread_barrier_t together;
static void *work(void *mine)
{
    pthread_barrier_wait(&together);
    touch(mine, 128, 50);
    return NULL;
}
int main(void)
{
    pthread_t threads[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, data[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    return 0;
}

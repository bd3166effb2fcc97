/* SPDX-License-Identifier: Apache-2.0 */
/* argv[1] threads that are all there at the same time; before that 100 blocks three times */
#include "touch.h"
#include <pthread.h>
#include <stdlib.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
static pthread_barrier_t all_there;
static void *wait_for_all(void *unused)
{
    pthread_barrier_wait(&all_there);
    return unused;
}
int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 2;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
    touch(data, 100, 3);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], &small, wait_for_all, NULL) != 0) return 2;
    pthread_barrier_wait(&all_there);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    free(threads);
    return 0;
}

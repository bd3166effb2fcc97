/* SPDX-License-Identifier: Apache-2.0 */
/* a thread that outlives main, which leaves through pthread_exit: 200 blocks twice in the thread, 100 three
 * times in main */
#include "touch.h"
#include <pthread.h>
#include <unistd.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK))),
    others[200 * BLOCK] __attribute__((aligned(BLOCK)));
static void *late(void *unused)
{
    (void)unused;
    usleep(100000);
    touch(others, 200, 2);
    return NULL;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, late, NULL);
    pthread_detach(thread);
    touch(data, 100, 3);
    pthread_exit(NULL);
}

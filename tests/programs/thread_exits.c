/* SPDX-License-Identifier: Apache-2.0 */
/* eight threads, one after the other, each ended by pthread_exit: 100 blocks, once each */
#include "touch.h"
#include <pthread.h>
static char data[8][100 * BLOCK] __attribute__((aligned(BLOCK)));
static void *work(void *mine)
{
    touch(mine, 100, 1);
    pthread_exit(NULL);
}
int main(void)
{
    for (int i = 0; i < 8; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, data[i]);
        pthread_join(thread, NULL);
    }
    return 0;
}

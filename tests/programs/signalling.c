/* SPDX-License-Identifier: Apache-2.0 */
/* a handler that touches 30 blocks, ten times; then one that leaves by siglongjmp in the middle, five times
 */
#include "touch.h"
#include <setjmp.h>
#include <signal.h>
#include <string.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
static sigjmp_buf back;
static void count(int number)
{
    (void)number;
    touch(data, 30, 1);
}
static void leave(int number)
{
    (void)number;
    touch(data, 20, 1);
    siglongjmp(back, 1);
}
int main(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = leave;
    sigaction(SIGUSR2, &action, NULL);
    for (volatile int i = 0; i < 10; i++) raise(SIGUSR1);
    for (volatile int i = 0; i < 5; i++)
        if (!sigsetjmp(back, 1)) raise(SIGUSR2);
    touch(data, 100, 1);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* stopping_parent.c - stops the process that started it, and goes on. */
#include "touch.h"

#include <signal.h>
#include <unistd.h>

static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));

int main(void)
{
    if (kill(getppid(), SIGSTOP)) return 1;
    touch(data, 100, 3);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* the child of a fork touches 50 blocks twice and leaves with 7, the parent 100 blocks three times */
#include "touch.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(void)
{
    pid_t child = fork();
    if (child == 0) {
        touch(data, 50, 2);
        _exit(7);
    }
    touch(data, 100, 3);
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 7 ? 0 : 1;
}

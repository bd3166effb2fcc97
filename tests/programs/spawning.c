/* SPDX-License-Identifier: Apache-2.0 */
/* posix_spawn of argv[1]; itself 100 blocks, before and after */
#include "touch.h"
#include <spawn.h>
#include <sys/wait.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
extern char **environ;
int main(int argc, char **argv)
{
    pid_t child;
    touch(data, 100, 2);
    if (argc < 2 || posix_spawn(&child, argv[1], NULL, NULL, argv + 1, environ) != 0) return 2;
    int status = 0;
    waitpid(child, &status, 0);
    touch(data, 100, 1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

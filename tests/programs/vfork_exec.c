/* SPDX-License-Identifier: Apache-2.0 */
/* vfork and exec of argv[1]; itself 100 blocks three times, before and after */
#include "touch.h"
#include <sys/wait.h>
#include <unistd.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(int argc, char **argv)
{
    touch(data, 100, 2);
    if (argc < 2) return 2;
    pid_t child = vfork();
    if (child == 0) {
        execv(argv[1], argv + 1);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    touch(data, 100, 1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* 100 blocks three times; then each of its arguments is a program, run in a child of fork */
#include "touch.h"
#include <sys/wait.h>
#include <unistd.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(int argc, char **argv)
{
    touch(data, 100, 3);
    for (int i = 1; i < argc; i++) {
        if (fork() == 0) {
            execlp(argv[i], argv[i], (char *)NULL);
            _exit(127);
        }
        wait(NULL);
    }
    return 0;
}

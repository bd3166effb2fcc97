/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gives up its rights, and goes on. argv[1]:
 *     stay       this process: 100 blocks three times before, 50 blocks twice afterwards
 *     fork       a child gives them up, and touches 50 blocks twice
 *     exec       this process executes argv[2]... afterwards
 *     spawn      a child does
 *     close      as exec, with all descriptors but the first three closed
 *     root       its root directory is argv[2] from then on, and it executes argv[3]...
 * 77: it has no rights to give up.
 */
#define _GNU_SOURCE
#include "touch.h"
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
enum { NOBODY = 65534 };

static int give_up(const char *root)
{
    if (root && (chroot(root) != 0 || chdir("/") != 0)) return 77;
    return setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0 ? 77 : 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int to_root = strcmp(how, "root") == 0, status = 0;
    touch(data, 100, 3);
    if ((strcmp(how, "fork") == 0 || strcmp(how, "spawn") == 0) && fork() != 0) {
        wait(&status);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
    }
    if (give_up(to_root ? argv[2] : NULL) != 0) return 77;
    if (strcmp(how, "close") == 0) closefrom(3);
    char **rest = argv + 2 + to_root;
    if (argc > 2 + to_root) execv(rest[0], rest);
    touch(data, 50, 2);
    return 5;
}

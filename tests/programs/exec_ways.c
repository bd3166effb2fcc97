/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 100 blocks three times; then what the arguments say, one after the other, the last one in the end:
 *     exec      this program again, with the arguments that follow
 *     thread    the same, from another thread
 *     fork      a child goes on with the arguments that follow, this one waits for it and exits with 5
 *     nowhere   exec of a program that is not there; goes on, and touches the blocks once more
 *     a number  exits with it at once
 */
#include "touch.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
static char **rest;
static const char *self;
static void *again(void *unused)
{
    char *before = rest[-1];
    rest[-1] = (char *)"again";
    execv(self, rest - 1);
    rest[-1] = before;
    _exit(99);
    return unused;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    char *nothing[] = {(char *)"/nowhere/program", NULL};
    self = getenv("SELF");
    touch(data, 100, 3);
    for (int i = 1; i < argc; i++) {
        rest = argv + i + 1;
        if (strcmp(argv[i], "exec") == 0) again(NULL);
        if (strcmp(argv[i], "thread") == 0) {
            if (pthread_create(&thread, NULL, again, NULL) != 0) return 98;
            pthread_join(thread, NULL);
        }
        if (strcmp(argv[i], "fork") == 0 && fork() != 0) {
            wait(NULL);
            return 5;
        }
        if (strcmp(argv[i], "nowhere") == 0) {
            execv(nothing[0], nothing);
            touch(data, 100, 1);
        }
        if (argv[i][0] <= '9') _exit(atoi(argv[i]));
    }
    return 97;
}

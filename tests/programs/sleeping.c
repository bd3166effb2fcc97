/* SPDX-License-Identifier: Apache-2.0 */
/* 100 blocks three times, says "ready" on standard output, then sleeps for a minute: to be killed. With an
 * argument it ignores SIGINT and SIGTERM */
#include "touch.h"
#include <signal.h>
#include <unistd.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
    }
    touch(data, 100, 3);
    if (write(1, "ready\n", 6) != 6) return 1;
    for (int i = 0; i < 60; i++) sleep(1);
    return 0;
}

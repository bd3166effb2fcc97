/* SPDX-License-Identifier: Apache-2.0 */
/* the process becomes argv[1] by exec; before that 100 blocks three times. An exec that fails first changes
 * nothing */
#include "touch.h"
#include <unistd.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(int argc, char **argv)
{
    char *nothing[] = {(char *)"/nowhere/program", NULL};
    touch(data, 100, 2);
    execv(nothing[0], nothing);
    touch(data, 100, 1);
    if (argc > 1) execv(argv[1], argv + 1);
    return 126;
}

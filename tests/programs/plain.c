/* SPDX-License-Identifier: Apache-2.0 */
/* touches a global array, 100 blocks, 3 times; leaves with the exit code given */
#include "touch.h"
#include <stdlib.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(int argc, char **argv)
{
    touch(data, 100, 3);
    return argc > 1 ? atoi(argv[1]) : 0;
}

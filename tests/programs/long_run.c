/* SPDX-License-Identifier: Apache-2.0 */
/* 1000 blocks 20000 times (or as often as told), then says "done" and leaves with 3: for limits */
#include "touch.h"
#include <stdlib.h>
#include <unistd.h>
static char data[1000 * BLOCK] __attribute__((aligned(BLOCK)));
int main(int argc, char **argv)
{
    touch(data, 1000, argc > 1 ? (size_t)atol(argv[1]) : 20000);
    return write(1, "done\n", 5) == 5 ? 3 : 1;
}

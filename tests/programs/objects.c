/* SPDX-License-Identifier: Apache-2.0 */
/* late re-use of a global, of heap blocks from two places, and of the stack: 4096 blocks each (256 KiB),
 * twice */
#include "touch.h"
#include <stdlib.h>
enum { MANY = 4096 };
char global_table[MANY * BLOCK] __attribute__((aligned(BLOCK)));
__attribute__((noinline)) static char *make_first(void)
{
    return aligned_alloc(BLOCK, MANY * BLOCK);
}
__attribute__((noinline)) static char *make_second(void)
{
    return calloc(MANY, BLOCK);
}
__attribute__((noinline)) static void on_stack(void)
{
    volatile char local[MANY * BLOCK];
    touch(local, MANY - 1, 2);
}
int main(void)
{
    char *first = make_first(), *second = make_second();
    if (!first || !second) return 1;
    touch(global_table, MANY, 2);
    touch(first, MANY, 3);
    touch(second, MANY, 4);
    on_stack();
    free(first);
    free(second);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* the same function called on two paths: through left (60 blocks, twice) and through right (90 blocks, three
 * times) */
#include "touch.h"
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
__attribute__((noinline)) static void middle(size_t blocks)
{
    touch(data, blocks, 1);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void left(void)
{
    middle(60);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void right(void)
{
    middle(90);
    __asm__ volatile("" ::: "memory");
}
int main(void)
{
    left();
    left();
    right();
    right();
    right();
    return 0;
}

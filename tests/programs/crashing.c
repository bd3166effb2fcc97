/* SPDX-License-Identifier: Apache-2.0 */
/* 100 blocks three times, then a null pointer */
#include "touch.h"
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(void)
{
    touch(data, 100, 3);
    *(volatile int *)0 = 1;
    return 0;
}

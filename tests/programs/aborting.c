/* SPDX-License-Identifier: Apache-2.0 */
/* 100 blocks three times, then abort() */
#include "touch.h"
#include <stdlib.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(void)
{
    touch(data, 100, 3);
    abort();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* a plug-in of thread_locals.c: reads its thread-local variable twice */
#include "touch.h"
enum { BLOCKS = 8192 };
static __thread char third[BLOCKS * BLOCK] __attribute__((aligned(BLOCK)));
void use(void);
void use(void)
{
    touch(third, BLOCKS, 2);
}

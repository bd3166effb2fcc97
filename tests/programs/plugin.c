/* SPDX-License-Identifier: Apache-2.0 */
/* the shared library that loading.c loads */
#include "touch.h"
static char data[40 * BLOCK] __attribute__((aligned(BLOCK)));
void plugin_work(void);
void plugin_work(void)
{
    touch(data, 40, 1);
}

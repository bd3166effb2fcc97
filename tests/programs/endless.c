/* SPDX-License-Identifier: Apache-2.0 */
/* says "ready", then touches 1000 blocks over and over, for ever: to be killed */
#include "touch.h"
#include <unistd.h>
static char data[1000 * BLOCK] __attribute__((aligned(BLOCK)));
int main(void)
{
    if (write(1, "ready\n", 6) != 6) return 1;
    for (;;) touch(data, 1000, 1000);
}

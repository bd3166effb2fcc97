/* SPDX-License-Identifier: Apache-2.0 */
/* cc_library.c - a shared library for cc_odd and cc_host: stores 100 numbers of 4 bytes, `times` times, in a
 * region. */
#include <fathom/markers.h>

void touch_library(int times);
static int numbers[100];

void touch_library(int times)
{
    for (int i = 0; i < times; i++) {
        FATHOM_BEGIN("library");
        for (int j = 0; j < 100; j++) *(volatile int *)&numbers[j] = j;
        FATHOM_END;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* markers: "first" holds 100 blocks twice, "second" 50 three times, nested in it "inner" 10 once */
#include "touch.h"
#include <fathom/markers.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(void)
{
    touch(data, 100, 1);
    FATHOM_BEGIN("first");
    touch(data, 100, 2);
    FATHOM_END;
    touch(data, 70, 1);
    FATHOM_BEGIN("second");
    touch(data, 50, 3);
    FATHOM_BEGIN("inner");
    touch(data, 10, 1);
    FATHOM_END;
    FATHOM_END;
    return 0;
}

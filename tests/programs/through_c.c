/* SPDX-License-Identifier: Apache-2.0 */
/* a part of throwing.cc: a function that exceptions pass without a stop, as C has nothing to clean up */
#include "touch.h"
extern volatile char data[];
void through_c(void (*call)(void));
__attribute__((noinline)) void through_c(void (*call)(void))
{
    (void)data[0];
    call();
    (void)data[0];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touch.h - the one function that the odd programs of this directory are watched in: with --function touch
 * --no-stack, exactly passes * blocks references, one to each 64-byte block in turn. So the profile is known:
 * `blocks` first touches, and every other reference has the distance blocks - 1.
 */
#ifndef TOUCH_H
#define TOUCH_H

#include <stddef.h>

enum { BLOCK = 64 };

__attribute__((noinline, unused)) static void touch(volatile char *base, size_t blocks, size_t passes)
{
    for (size_t p = 0; p < passes; p++)
        for (size_t b = 0; b < blocks; b++) (void)base[b * BLOCK];
}

#endif

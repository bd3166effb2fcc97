/* SPDX-License-Identifier: Apache-2.0 */
// exceptions through functions of C (through_c.c), which read one block; then 1000 blocks without a call,
// after the exception was caught, and 10 each time in code that cleans up
extern "C" {
#include "touch.h"
void through_c(void (*call)(void));
extern volatile char data[];
}
volatile char data[1000 * BLOCK] __attribute__((aligned(BLOCK)));
struct guard {
    __attribute__((always_inline)) ~guard()
    {
        for (int i = 0; i < 10; i++) (void)data[i * BLOCK];
    }
};
__attribute__((noinline)) static void throws()
{
    throw 1;
}
__attribute__((noinline)) static void twice()
{
    guard g;
    through_c(throws);
}
int main()
{
    int caught = 0;
    for (int i = 0; i < 3; i++) {
        try {
            through_c(twice);
        } catch (int number) {
            caught += number;
        }
        for (int b = 0; b < 1000; b++) (void)data[b * BLOCK];
    }
    return caught != 3;
}

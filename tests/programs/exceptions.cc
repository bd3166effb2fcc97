/* SPDX-License-Identifier: Apache-2.0 */
// 50 blocks, then an exception through three frames, caught; ten times
extern "C" {
#include "touch.h"
}
#include <stdexcept>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
struct guard {
    ~guard()
    {
        touch(data, 5, 1);
    }
};
__attribute__((noinline)) static void inner(int i)
{
    guard g;
    touch(data, 50, 1);
    if (i >= 0) throw std::runtime_error("as planned");
}
__attribute__((noinline)) static void outer(int i)
{
    guard g;
    inner(i);
}
int main()
{
    int caught = 0;
    for (int i = 0; i < 10; i++) {
        try {
            outer(i);
        } catch (const std::exception &) {
            caught++;
        }
    }
    touch(data, 100, 1);
    return caught == 10 ? 0 : 1;
}

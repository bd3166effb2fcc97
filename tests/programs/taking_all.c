/* SPDX-License-Identifier: Apache-2.0 */
/* 100 blocks three times; then takes all memory that there is, and runs new code until the collector, which
 * has to translate it, finds none */
#include "touch.h"
#include <string.h>
#include <sys/mman.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
int main(void)
{
    enum { BYTES = 1 << 20, FUNCTION = 16 };
    touch(data, 100, 3);
    unsigned char *code =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) return 2;
    memset(code, 0xC3, BYTES); /* ret */
    for (size_t piece = (size_t)64 << 20; piece >= 4096; piece /= 2)
        while (mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
            continue;
    for (size_t at = 0; at < BYTES; at += FUNCTION) ((void (*)(void))(void *)(code + at))();
    return 0;
}

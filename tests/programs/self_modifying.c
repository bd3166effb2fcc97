/* SPDX-License-Identifier: Apache-2.0 */
/* code written at run time, changed between two calls: reads one byte of 60 blocks, then of 80 */
#include "touch.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));
/* for (rsi times) { al = *rdi; rdi += 64; } ret */
static const uint8_t code[] = {0x8A, 0x07, 0x48, 0x83, 0xC7, 0x40, 0x48, 0xFF, 0xCE, 0x75, 0xF5, 0xC3};
__attribute__((noinline)) static void call_made_code(void *made, size_t count)
{
    ((void (*)(char *, size_t))made)(data, count);
}
int main(void)
{
    uint8_t *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return 77;
    memcpy(made, code, sizeof code);
    call_made_code(made, 60);
    made[5] = 0x20; /* steps of 32 bytes from here on: 80 references to 40 blocks */
    call_made_code(made, 80);
    return 0;
}

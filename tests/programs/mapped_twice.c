/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code in memory of a file that is changed after it was run. argv[1]:
 *     shared     a memfd, mapped to be written and to be executed (as .NET does)
 *     private    the same, executed from a private mapping of which nothing was written
 *     file       as shared, with a file on a disk, argv[2]
 *     late       as shared, but mapped to be written after it was run for the first time
 *     both       one private mapping of a file that may be written and executed
 *     patched    private, made writable for each change, and left executable meanwhile
 * The code touches i blocks in turn (i = 1 ... 100), returns i + 1000: prints how many answers were wrong.
 */
#define _GNU_SOURCE
#include "touch.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLS = 100, PAGE = 4096 };
static char data[CALLS * BLOCK] __attribute__((aligned(BLOCK)));

/* mov ecx, N; again: mov al, [rdi]; add rdi, 64; dec ecx; jnz again; mov eax, N + 1000; ret */
static const uint8_t code[] = {0xB9, 0,    0,    0,    0,    0x8A, 0x07, 0x48, 0x83, 0xC7, 0x40,
                               0xFF, 0xC9, 0x75, 0xF6, 0xB8, 0,    0,    0,    0,    0xC3};

__attribute__((noinline)) static uint32_t call_made_code(const void *made)
{
    return ((uint32_t(*)(char *))(uintptr_t)made)(data);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int file =
        strcmp(how, "file") == 0 ? open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0700) : memfd_create("code", 0);
    if (file < 0 || ftruncate(file, PAGE) != 0) return 90;
    int both = strcmp(how, "both") == 0, patched = strcmp(how, "patched") == 0,
        late = strcmp(how, "late") == 0;
    int private = strcmp(how, "private") == 0 || both || patched;
    if (pwrite(file, "\xB8\0\0\0\0\xC3", 6, 0) != 6) return 91;
    uint8_t *run = mmap(NULL, PAGE, PROT_READ | PROT_EXEC | (both ? PROT_WRITE : 0),
                        private ? MAP_PRIVATE : MAP_SHARED, file, 0);
    if (late && call_made_code(run) != 0) return 92;
    uint8_t *made = both || patched ? run : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (run == MAP_FAILED || made == MAP_FAILED) return 93;
    int wrong = 0;
    for (uint32_t i = 1; i <= CALLS; i++) {
        if (patched && mprotect(made, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 94;
        uint32_t answer = i + 1000;
        uint8_t next[sizeof code];
        memcpy(next, code, sizeof code);
        memcpy(next + 1, &i, sizeof i);
        memcpy(next + 16, &answer, sizeof answer);
        memcpy(made, next, sizeof code);
        if (patched && mprotect(made, PAGE, PROT_READ | PROT_EXEC) != 0) return 95;
        wrong += call_made_code(run) != answer;
    }
    printf("%d wrong\n", wrong);
    return wrong > 0;
}

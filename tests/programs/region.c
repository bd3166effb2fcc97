/* SPDX-License-Identifier: Apache-2.0 */
/* Two kinds of work in turn, each in a region of its own: "small" sweeps over 512 words, "large" over 65,536.
 * With a number: so many times; without: until standard input ends. */
#include <fathom/markers.h>

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t table[65536];

__attribute__((noinline)) static void sweep(unsigned words, unsigned times)
{
    for (unsigned t = 0; t < times; t++)
        for (unsigned i = 0; i < words; i++) *(volatile uint64_t *)&table[i] += i;
}

__attribute__((noinline)) void small_work(void)
{
    sweep(512, 400);
}

__attribute__((noinline)) void large_work(void)
{
    sweep(65536, 8);
}

int main(int argc, char **argv)
{
    char byte;
    unsigned long left = argc > 1 ? strtoul(argv[1], NULL, 10) : ~0ul;
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    printf("ready\n");
    fflush(stdout);
    for (; left > 0; left--) {
        if (argc < 2 && read(STDIN_FILENO, &byte, 1) >= 0) break;
        FATHOM_BEGIN("small");
        small_work();
        FATHOM_END;
        FATHOM_BEGIN("large");
        large_work();
        FATHOM_END;
    }
    printf("right\n");
    return 0;
}

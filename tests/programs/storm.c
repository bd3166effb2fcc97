/* SPDX-License-Identifier: Apache-2.0 */
/*
 * a storm: argv[1] short threads, one after the other (0: without end), argv[2] blocks allocated and freed
 * meanwhile by each of both, of sizes and in an order that are drawn, from calls of changing depth; each
 * thread touches 8 KiB of its stack. Says how many there were, every argv[3] of them
 */
#include "touch.h"
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 500, DEEPEST = 12 };
static char *slots[SLOTS];
static int blocks;

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

__attribute__((noinline)) static char *allocate(uint32_t depth, size_t bytes)
{
    char *made = depth > 0 ? allocate(depth - 1, bytes) : malloc(bytes);
    if (made) made[0] = (char)depth;
    return made;
}

static void *brief(void *seed)
{
    char stack[8192];
    uint32_t state = (uint32_t)(uintptr_t)seed;
    touch(stack, sizeof stack / BLOCK, 1);
    for (int i = 0; i < blocks; i++) {
        char *made = allocate(draw(&state) % DEEPEST, 16 + draw(&state) % 2000);
        free(made);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    uint32_t state = 1;
    const int threads = argc > 1 ? atoi(argv[1]) : 100;
    const int every = argc > 3 ? atoi(argv[3]) : 0;
    blocks = argc > 2 ? atoi(argv[2]) : 4;
    for (int t = 1; t <= threads || threads == 0; t++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, brief, (void *)(uintptr_t)t) != 0) return 1;
        for (int i = 0; i < blocks; i++) {
            char **slot = &slots[draw(&state) % SLOTS];
            free(*slot);
            *slot = allocate(draw(&state) % DEEPEST, 16 + draw(&state) % 3000);
        }
        pthread_join(thread, NULL);
        if (every && t % every == 0 && printf("%d\n", t) > 0) fflush(stdout);
    }
    return 0;
}

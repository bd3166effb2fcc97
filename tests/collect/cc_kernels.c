/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cc_kernels.c - small kernels whose accesses are known to the last byte; each runs in a region of its own.
 * The expected numbers are in cc_counts_test.sh.
 *
 *     cc_kernels KERNEL N
 */
#include <fathom/markers.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL __attribute__((noinline))

/* 2 n^3 loads, n^2 stores of 8 bytes */
static KERNEL void product(const double *a, const double *b, double *c, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* n loads, n stores of 4 bytes; a compiler may make one copy of it */
static KERNEL void copy(uint32_t *restrict to, const uint32_t *restrict from, int n)
{
    for (int i = 0; i < n; i++) to[i] = from[i] + 1;
}

/* n loads and n stores of 1 byte, 64 apart */
static KERNEL void strided(volatile uint8_t *bytes, int n)
{
    for (int i = 0; i < n; i++) bytes[(size_t)i * 64] = (uint8_t)(bytes[(size_t)i * 64] + 1);
}

typedef struct __attribute__((packed)) packed {
    uint8_t one;
    uint64_t eight;
    uint32_t four;
    uint16_t two;
} packed;

/* n loads of 8, 4 and 2 bytes that are not aligned */
static KERNEL uint64_t unaligned(const volatile packed *items, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) sum += items[i].eight + items[i].four + items[i].two;
    return sum;
}

typedef struct big {
    char bytes[200];
} big;

/* n loads and n stores of 200 bytes */
static KERNEL void structures(big *to, const big *from, int n)
{
    for (int i = 0; i < n; i++) to[i] = from[i];
}

/* memcpy, memmove and memset of n, of 48 and of 5 bytes: loads 2 n + 48 + 5, stores 3 n + 48 + 48 + 5 */
static KERNEL void library(char *to, char *from, int n)
{
#define KEPT __asm__ volatile("" : : : "memory") /* no store is taken for dead */
    memcpy(to, from, (size_t)n);
    KEPT;
    memmove(to, from + 3, (size_t)n);
    KEPT;
    memset(to, 1, (size_t)n);
    KEPT;
    memcpy(to + 1, from, 48);
    KEPT;
    memset(to + 2, 2, 48);
    KEPT;
    memcpy(to + 3, from, 5);
    KEPT;
}

/* loads 6 + (4 + 4) + 6 + (3 + 3) + 3 + 2 + 6, stores 6 */
static KERNEL size_t strings(char *to, char *hello, char *help)
{
    size_t result = strlen(hello);
    result += strcmp(hello, help) < 0;
    strcpy(to, hello);
    result += memcmp(hello, help, 3) == 0;
    result += memchr(hello, 'l', 5) != NULL; /* hel */
    result += strchr(help, 'e') != NULL;     /* he */
    result += strrchr(to, 'z') == NULL;      /* 6 */
    return result;
}

/* n loads and n stores of 2000 bytes, and n stores of as many: assignments that end in memcpy and memset */
typedef struct huge {
    int numbers[500];
} huge;
static KERNEL void assignments(huge *to, const huge *from, int n)
{
    for (int i = 0; i < n; i++) {
        to[1] = from[1];
        huge zeroes = {{0}};
        __asm__ volatile("" : : "r"(&zeroes) : "memory");
    }
}

/* An array whose address goes nowhere: 256 stores of 4 bytes; n times a load of 1, a load and a store of 4;
 * 256 loads of 4. */
static KERNEL uint32_t histogram(const uint8_t *text, int n)
{
    uint32_t table[256], sum = 0;
    for (int i = 0; i < 256; i++) table[i] = 0;
    for (int i = 0; i < n; i++) table[text[i]]++;
    for (uint32_t i = 0; i < 256; i++) sum += table[i] * i;
    return sum;
}

/* n loads and n stores of 32 bytes */
typedef float wide __attribute__((vector_size(32), aligned(4)));
static KERNEL __attribute__((target("avx"))) void vectors(wide *numbers, int n)
{
    for (int i = 0; i < n; i++) numbers[i] = numbers[i] * 2;
}

/* n loads and stores of long double: 16 bytes each with gcc, 10 with clang */
static KERNEL void extended(long double *numbers, int n)
{
    for (int i = 0; i < n; i++) numbers[i] = numbers[i] * 2;
}

/* each of n elements of an index leads to one of another array: n loads of 4, n of 8 bytes */
static KERNEL double gather(const double *values, const int32_t *index, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += values[index[i]];
    return sum;
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const char *kernel = argv[1];
    int n = atoi(argv[2]);
    size_t bytes = (size_t)n * (size_t)n * 8 + (size_t)n * 256 + 4096;
    char *a = aligned_alloc(64, (bytes + 63) / 64 * 64), *b = aligned_alloc(64, (bytes + 63) / 64 * 64);
    char *c = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!a || !b || !c) return 1;
    memset(a, 0, bytes);
    memset(b, 0, bytes);
    memset(c, 0, bytes);
    double result = 0;
    if (strcmp(kernel, "product") == 0) {
        FATHOM_BEGIN("product");
        product((double *)a, (double *)b, (double *)c, n);
        FATHOM_END;
    } else if (strcmp(kernel, "copy") == 0) {
        FATHOM_BEGIN("copy");
        copy((uint32_t *)a, (uint32_t *)b, n);
        FATHOM_END;
    } else if (strcmp(kernel, "strided") == 0) {
        FATHOM_BEGIN("strided");
        strided((uint8_t *)a, n);
        FATHOM_END;
    } else if (strcmp(kernel, "unaligned") == 0) {
        FATHOM_BEGIN("unaligned");
        result = (double)unaligned((packed *)a, n);
        FATHOM_END;
    } else if (strcmp(kernel, "structures") == 0) {
        FATHOM_BEGIN("structures");
        structures((big *)a, (big *)b, n);
        FATHOM_END;
    } else if (strcmp(kernel, "library") == 0) {
        FATHOM_BEGIN("library");
        library(a, b, n);
        FATHOM_END;
    } else if (strcmp(kernel, "strings") == 0) {
        char hello[] = "hello", help[] = "help!";
        FATHOM_BEGIN("strings");
        result = (double)strings(a, hello, help);
        FATHOM_END;
    } else if (strcmp(kernel, "assignments") == 0) {
        FATHOM_BEGIN("assignments");
        assignments((huge *)a, (huge *)b, n);
        FATHOM_END;
    } else if (strcmp(kernel, "histogram") == 0) {
        FATHOM_BEGIN("histogram");
        result = (double)histogram((uint8_t *)a, n);
        FATHOM_END;
    } else if (strcmp(kernel, "vectors") == 0) {
        FATHOM_BEGIN("vectors");
        vectors((wide *)(a + 4), n);
        FATHOM_END;
    } else if (strcmp(kernel, "extended") == 0) {
        FATHOM_BEGIN("extended");
        extended((long double *)a, n);
        FATHOM_END;
    } else if (strcmp(kernel, "gather") == 0) {
        for (int i = 0; i < n; i++) ((int32_t *)b)[i] = (i * 7) % n;
        FATHOM_BEGIN("gather");
        result = gather((double *)a, (int32_t *)b, n);
        FATHOM_END;
    } else {
        return 2;
    }
    printf("%g\n", result + a[1] + c[1]);
    free(a);
    free(b);
    free(c);
    return 0;
}

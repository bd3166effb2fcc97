/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills of many bytes, which overlap, are right to the last one and counted; then, if asked for,
 * one whose length is below zero. argv[1]: s memset, c memcpy, m memmove, n strncpy. */
#include "touch.h"
#include <stdlib.h>
#include <string.h>
enum { LONG = 300000, SHIFT = 1000 };
static unsigned char a[LONG + 2 * SHIFT] __attribute__((aligned(BLOCK))), b[LONG + 2 * SHIFT];
static volatile size_t many = LONG; /* nothing is known when it is compiled */
static unsigned char mixed(size_t i)
{
    return (unsigned char)(i * 2654435761U >> 7);
}
static int differs(const unsigned char *bytes, size_t from)
{
    for (size_t i = 0; i < LONG; i++)
        if (bytes[i] != mixed(from + i)) return 1;
    return 0;
}
static void negative(char which)
{
    size_t length = (size_t)-8;
    if (many == 0) length = 8;
    if (which == 's') memset(a, 0, length);
    if (which == 'c') memcpy(a, b, length);
    if (which == 'm') memmove(a, b, length);
    if (which == 'n') strncpy((char *)a, "text", length);
}
int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof a; i++) a[i] = mixed(i);
    memmove(a + SHIFT, a, many); /* upwards, within itself */
    if (differs(a + SHIFT, 0)) return 1;
    memmove(a, a + SHIFT, many); /* and back */
    if (differs(a, 0)) return 2;
    if (memcpy(b + 1, a, many) != b + 1 || differs(b + 1, 0)) return 3;
    if (memset(b, 7, many) != b || b[0] != 7 || b[LONG - 1] != 7 || b[LONG] != mixed(LONG - 1)) return 4;
    if (strncpy((char *)b, "text", many) != (char *)b || b[3] != 't' || b[4] != 0 || b[LONG - 1] != 0 ||
        b[LONG] != mixed(LONG - 1))
        return 5;
    touch((char *)a, 100, 3);
    if (argc > 1) negative(argv[1][0]);
    return 0;
}

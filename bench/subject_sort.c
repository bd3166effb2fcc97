/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subject_sort.c - a subject of bench_collect.py: sorts the lines of a file, as sort(1) does, by merging,
 * with comparisons and moves in code of its own (the C library's qsort would not be seen by compiler
 * instrumentation).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct line {
    const unsigned char *text;
    size_t length;
} line;

static int compare(const line *a, const line *b)
{
    size_t shared = a->length < b->length ? a->length : b->length;
    for (size_t i = 0; i < shared; i++)
        if (a->text[i] != b->text[i]) return a->text[i] < b->text[i] ? -1 : 1;
    return a->length < b->length ? -1 : a->length > b->length;
}

static void merge_sort(line *lines, line *spare, size_t count)
{
    if (count < 2) return;
    size_t half = count / 2, i = 0, j = half, k = 0;
    merge_sort(lines, spare, half);
    merge_sort(lines + half, spare, count - half);
    while (i < half && j < count) spare[k++] = compare(&lines[j], &lines[i]) < 0 ? lines[j++] : lines[i++];
    while (i < half) spare[k++] = lines[i++];
    while (j < count) spare[k++] = lines[j++];
    for (k = 0; k < count; k++) lines[k] = spare[k];
}

int main(int argc, char **argv)
{
    FILE *in = argc > 1 ? fopen(argv[1], "rb") : stdin;
    if (!in) return 1;
    size_t room = 1 << 24, used = 0, count = 0;
    unsigned char *text = malloc(room);
    if (!text) return 1;
    for (size_t got; (got = fread(text + used, 1, room - used, in)) > 0;) {
        used += got;
        if (used == room && !(text = realloc(text, room *= 2))) return 1;
    }
    for (size_t i = 0; i < used; i++) count += text[i] == '\n';
    line *lines = malloc((count + 1) * sizeof *lines), *spare = malloc((count + 1) * sizeof *spare);
    if (!lines || !spare) return 1;
    size_t n = 0;
    for (size_t i = 0, start = 0; i < used; i++)
        if (text[i] == '\n') {
            lines[n].text = text + start;
            lines[n++].length = i - start;
            start = i + 1;
        }
    merge_sort(lines, spare, n);
    for (size_t i = 0; i < n; i++) {
        fwrite(lines[i].text, 1, lines[i].length, stdout);
        putchar('\n');
    }
    free(lines);
    free(spare);
    free(text);
    return 0;
}

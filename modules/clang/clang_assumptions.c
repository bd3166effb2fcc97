/* SPDX-License-Identifier: Apache-2.0 */
/* clang_assumptions.c - what the user states about the program: the forms are in static/front/front_clang.h.
 */
#include "clang_maker.h"

#include <stdlib.h>
#include <string.h>

/* A number or a name. */
static const form *read_number(front *f, const char *text, size_t size, const char *whole)
{
    const char *piece = text_piece(f, text, size);
    char *end;
    while (*piece == ' ') piece++;
    long long number = strtoll(piece, &end, 10);
    while (*end == ' ') end++;
    if (end != piece && *end == '\0') return form_number(f, number);
    size_t name = strspn(piece, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    if (name == 0 || piece[name + strspn(piece + name, " ")] != '\0')
        give_up(f, FM_E_ARGUMENT, "the assumption '%s' needs a number or a name where '%s' is", whole, piece);
    return parameter(f, text_piece(f, piece, name));
}

static bool read_matrix(front *f, const char *text, assumption *a)
{
    const char *is = strstr(text, " is matrix[");
    if (!is) return false;
    const char *rows = is + strlen(" is matrix["), *between = strstr(rows, "]["), *end = strrchr(text, ']');
    if (!between || !end || end <= between + 1) return false;
    a->kind = ASSUME_MATRIX;
    a->name = text_piece(f, text, (size_t)(is - text));
    a->numbers[0] = read_number(f, rows, (size_t)(between - rows), text);
    a->numbers[1] = read_number(f, between + 2, (size_t)(end - between - 2), text);
    return true;
}

static bool read_line(front *f, const char *text, assumption *a)
{
    char word[16], end[16];
    unsigned line;
    int used = 0;
    if (sscanf(text, "if at %u %15s%n", &line, word, &used) == 2 && text[used] == '\0') {
        static const char *const words[] = {"holds", "fails", "both"};
        a->kind = ASSUME_IF;
        a->line = line;
        for (int i = 0; i < 3; i++)
            if (strcmp(word, words[i]) == 0) {
                a->branch = i;
                return true;
            }
        return false;
    }
    const char *runs = strstr(text, " runs "), *times = strstr(text, " times");
    const bool only = strncmp(text, "while runs ", 11) == 0; /* wherever it is */
    if ((only || (sscanf(text, "loop at %u %15s", &line, end) == 2 && strcmp(end, "runs") == 0)) && runs &&
        times && times > runs && times[6] == '\0') {
        a->kind = ASSUME_LOOP;
        a->line = only ? 0 : line;
        a->numbers[0] = read_number(f, runs + 6, (size_t)(times - runs - 6), text);
        return true;
    }
    return false;
}

/* "NAME is identity", "NAME is permutation of 0..n-1" */
static bool read_order(front *f, const char *text, assumption *a)
{
    static const char *const forms[] = {" is identity", " is permutation of 0.."};
    for (int i = 0; i < 2; i++) {
        const char *is = strstr(text, forms[i]);
        const size_t tail = is ? strlen(is + strlen(forms[i])) : 0;
        if (!is || is == text || (i == 0) != (tail == 0)) continue;
        a->kind = ASSUME_IDENTITY;
        a->permutation = i == 1;
        a->name = text_piece(f, text, (size_t)(is - text));
        return true;
    }
    return false;
}

void read_assumptions(front *f)
{
    assumption **end = &f->assumptions;
    for (size_t i = 0; f->request->assumptions && f->request->assumptions[i]; i++) {
        const char *text = f->request->assumptions[i];
        assumption *a = allocate(f, 1, sizeof *a);
        a->text = text;
        if (!read_order(f, text, a) && !read_line(f, text, a) && !read_matrix(f, text, a))
            give_up(f, FM_E_ARGUMENT,
                    "the assumption '%s' is not understood: 'if at LINE holds' (fails, both), 'loop at LINE "
                    "runs N times', 'while runs N times', 'NAME is matrix[ROWS][COLUMNS]', 'NAME is "
                    "identity', 'NAME is permutation of 0..LAST'",
                    text);
        *end = a;
        end = &a->next;
    }
}

const assumption *assumed(front *f, int kind, unsigned line, const char *name)
{
    for (assumption *a = f->assumptions; a; a = a->next) {
        const bool anywhere = kind == ASSUME_LOOP && a->line == 0;
        if ((int)a->kind != kind || !(name ? strcmp(a->name, name) == 0 : anywhere || a->line == line))
            continue;
        if (anywhere && a->used && a->used_at != line)
            give_up(f, FM_E_ARGUMENT,
                    "the assumption '%s' is about several loops, in lines %u and %u: 'loop at LINE runs …' "
                    "tells them apart",
                    a->text, a->used_at, line);
        a->used = true;
        a->used_at = line;
        return a;
    }
    return NULL;
}

void check_assumptions(front *f)
{
    for (const assumption *a = f->assumptions; a; a = a->next)
        if (!a->used)
            give_up(f, FM_E_ARGUMENT, "the assumption '%s' is about nothing in the region", a->text);
}

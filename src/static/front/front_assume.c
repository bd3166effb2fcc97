/* SPDX-License-Identifier: Apache-2.0 */
/* front_assume.c - what the user states about the program (--assume): the forms are in front_middle.h. */
#include "static/front/front_middle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *assumed_name(fm_front *f, const char *begin, size_t size)
{
    const char *name = fm_front_piece(f, begin, size);
    for (char *c = (char *)(uintptr_t)name; f->any_case && c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return name;
}

/* A number or a name. */
static bool read_amount(fm_front *f, const char *text, size_t size, const char *whole, fm_amount *amount)
{
    const char *piece = fm_front_piece(f, text, size);
    char *end;
    if (!piece) return false;
    while (*piece == ' ') piece++;
    amount->number = strtoll(piece, &end, 10);
    while (*end == ' ') end++;
    if (end != piece && *end == '\0') return true;
    const size_t name = strspn(piece, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    if (name > 0 && piece[name + strspn(piece + name, " ")] == '\0')
        return (amount->name = assumed_name(f, piece, name)) != NULL;
    fm_front_fail(f, FM_E_ARGUMENT, NULL,
                  "the assumption '%.200s' needs a number or a name where '%.100s' is", whole, piece);
    return false;
}

/* Each: was it one of this form? */

static bool read_matrix(fm_front *f, const char *text, fm_assumption *a)
{
    const char *is = strstr(text, " is matrix[");
    if (!is) return false;
    const char *rows = is + strlen(" is matrix["), *between = strstr(rows, "]["), *end = strrchr(text, ']');
    if (!between || !end || end <= between + 1) return false;
    a->kind = FM_ASSUME_MATRIX;
    a->name = assumed_name(f, text, (size_t)(is - text));
    return read_amount(f, rows, (size_t)(between - rows), text, &a->amounts[0]) &&
           read_amount(f, between + 2, (size_t)(end - between - 2), text, &a->amounts[1]);
}

static bool read_outcome(const char *text, fm_assumption *a)
{
    static const char *const words[] = {"holds", "fails", "both"};
    char word[16];
    int used = 0;
    if (sscanf(text, "if at %u %15s%n", &a->line, word, &used) != 2 || text[used]) return false;
    a->kind = FM_ASSUME_IF;
    for (int i = 0; i < 3; i++)
        if (strcmp(word, words[i]) == 0) {
            a->outcome = (fm_outcome)i;
            return true;
        }
    return false;
}

static bool read_loop(fm_front *f, const char *text, fm_assumption *a)
{
    char end[16];
    const char *runs = strstr(text, " runs "), *times = strstr(text, " times");
    const bool only = strncmp(text, "while runs ", 11) == 0; /* wherever it is */
    if (!only && (sscanf(text, "loop at %u %15s", &a->line, end) != 2 || strcmp(end, "runs") != 0))
        return false;
    if (!runs || !times || times <= runs + 5 || times[6] != '\0') return false;
    a->kind = FM_ASSUME_LOOP;
    if (only) a->line = 0;
    return read_amount(f, runs + 6, (size_t)(times - runs - 6), text, &a->amounts[0]);
}

/* "NAME is identity", "NAME is permutation of 0..n-1" */
static bool read_order(fm_front *f, const char *text, fm_assumption *a)
{
    static const char *const forms[] = {" is identity", " is permutation of 0..", " is permutation of 1.."};
    for (int i = 0; i < 3; i++) {
        const char *is = strstr(text, forms[i]);
        const size_t tail = is ? strlen(is + strlen(forms[i])) : 0;
        if (!is || is == text || (i == 0) != (tail == 0)) continue;
        a->kind = FM_ASSUME_IDENTITY;
        a->permutation = i > 0;
        a->name = assumed_name(f, text, (size_t)(is - text));
        return true;
    }
    return false;
}

bool fm_assumptions_read(fm_front *f, const char *const *texts)
{
    fm_assumption **end = &f->assumptions;
    for (; texts && *texts; texts++) {
        fm_assumption *a = fm_front_allocate(f, 1, sizeof *a);
        if (!a) return false;
        *end = a;
        a->text = fm_front_text(f, "%s", *texts);
        if (!a->text) return false;
        if (read_order(f, a->text, a) || read_outcome(a->text, a) || read_loop(f, a->text, a) ||
            read_matrix(f, a->text, a)) {
            end = &a->next;
            continue;
        }
        fm_front_fail(
            f, FM_E_ARGUMENT, NULL,
            "the assumption '%.200s' is not understood: 'if at LINE holds' (fails, both), 'loop at LINE "
            "runs N times', 'while runs N times', 'NAME is matrix[ROWS][COLUMNS]', 'NAME is "
            "identity', 'NAME is permutation of 0..LAST'",
            a->text);
        return false;
    }
    return true;
}

fm_assumption *fm_assumptions_find(fm_front *f, fm_assumption_kind kind, unsigned line, const char *name)
{
    for (fm_assumption *a = f->assumptions; a; a = a->next) {
        const bool anywhere = kind == FM_ASSUME_LOOP && a->line == 0;
        if (a->kind != kind || !(name ? strcmp(a->name, name) == 0 : anywhere || a->line == line)) continue;
        if (anywhere && a->used && a->used_at != line) {
            fm_front_fail(
                f, FM_E_ARGUMENT, NULL,
                "the assumption '%.200s' is about several loops, in lines %u and %u: 'loop at LINE runs …' "
                "tells them apart",
                a->text, a->used_at, line);
            return NULL;
        }
        a->used = true;
        a->used_at = line;
        return a;
    }
    return NULL;
}

bool fm_assumptions_check(fm_front *f)
{
    for (const fm_assumption *a = f->assumptions; a; a = a->next)
        if (!a->used) {
            fm_front_fail(f, FM_E_ARGUMENT, NULL, "the assumption '%.200s' is about nothing in the region",
                          a->text);
            return false;
        }
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* function_name.c - see function_name.h. By counting brackets, not by a grammar of C++. */
#include "view/function_name.h"

#include <stdbool.h>
#include <string.h>

/* Whether the bracket at `at` belongs to the name of an operator: operator<, operator(), operator->, … */
static bool in_operator(const char *name, size_t at)
{
    static const char word[] = "operator";
    static const char *const longest_first[] = {
        "<=>", "->*", "<<=", ">>=", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"};
    for (size_t back = 0; back < 3 && at >= back + sizeof word - 1; back++) {
        const char *sign = name + at - back;
        if (memcmp(sign - (sizeof word - 1), word, sizeof word - 1) != 0) continue;
        for (size_t i = 0; i < sizeof longest_first / sizeof *longest_first; i++)
            if (strncmp(sign, longest_first[i], strlen(longest_first[i])) == 0)
                return back < strlen(longest_first[i]);
    }
    return false;
}

/* The bracket that closes the one at `at`; 0: none does. Operators' names are no brackets. */
static size_t closing(const char *name, size_t length, size_t at)
{
    size_t depth = 0;
    for (; at < length; at++) {
        if (!strchr("<>()[]{}", name[at]) || in_operator(name, at)) continue;
        if (name[at] == '>' && at > 0 && name[at - 1] == '-') continue;
        if (strchr("<([{", name[at]))
            depth++;
        else if (--depth == 0)
            return at;
    }
    return 0;
}

/* Where the parameters begin: the last round bracket outside of others with nothing but qualifiers behind it.
 */
static size_t parameters(const char *name, size_t length)
{
    size_t found = length;
    for (size_t at = 0; at < length; at++) {
        if (!strchr("<([{", name[at]) || in_operator(name, at)) continue;
        size_t end = closing(name, length, at);
        if (end == 0) return length;
        size_t rest = end + 1;
        while (rest < length && (strchr(" &", name[rest]) || (name[rest] >= 'a' && name[rest] <= 'z')))
            rest++;
        if (name[at] == '(' && at > 0 && (rest == length || name[rest] == '[')) found = at;
        at = end;
    }
    return found;
}

/* Where the name begins, behind the type that a template's function returns: only those have one. */
static size_t behind_type(const char *name, size_t end)
{
    size_t begin = 0;
    for (size_t at = 0; at < end; at++) {
        if (strncmp(name + at, "operator", 8) == 0) return begin;
        if (strchr("<([{", name[at])) {
            size_t close = closing(name, end, at);
            if (close == 0) return 0;
            at = close;
        } else if (name[at] == ' ') {
            begin = at + 1;
        }
    }
    return begin;
}

char *fm_function_name_shorten(const char *name, char *to, size_t size)
{
    if (size == 0) return to;
    size_t length = strnlen(name, size - 1), made = 0;
    size_t end = parameters(name, length);
    for (size_t at = end < length ? behind_type(name, end) : 0; at < end;) {
        size_t close = name[at] == '<' && !in_operator(name, at) ? closing(name, end, at) : 0;
        if (close > at + 1) {
            to[made++] = '<';
            at = close;
        }
        to[made++] = name[at++];
    }
    to[made] = '\0';
    return to;
}

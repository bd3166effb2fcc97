/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - see symbol_file.h. Does not know D's and Ada's manglings: those names stay as they are. */
#define _GNU_SOURCE
#include "symbols/symbol_file.h"

#include "base/memory.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void fm_demangler_clear(fm_demangler *demangler)
{
    free(demangler->buffer);
    if (demangler->library) dlclose(demangler->library);
    *demangler = (fm_demangler){0};
}

/* A C program has no C++ library of its own; that of the system is used while it is needed. */
static void find_library(fm_demangler *demangler)
{
    static const char *const names[] = {"libstdc++.so.6", "libc++abi.so.1"};
    demangler->sought = true;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
        if (!library) continue;
        *(void **)&demangler->function = dlsym(library, "__cxa_demangle");
        if (demangler->function) {
            demangler->library = library;
            return;
        }
        dlclose(library);
    }
}

static bool room_left(fm_demangler *demangler, size_t needed)
{
    return fm_array_reserve((void **)&demangler->buffer, &demangler->size, needed, 1) == 0;
}

/* __solver_MOD_step, __solver_details_SMOD_step: module (and submodule), then the name. */
static const char *demangle_fortran(fm_demangler *demangler, const char *name)
{
    const char *module = name + 2;
    const char *mark = strstr(module, "_MOD_");
    size_t mark_length = strlen("_MOD_");
    if (!mark) {
        mark = strstr(module, "_SMOD_");
        mark_length = strlen("_SMOD_");
    }
    if (!mark || mark == module || !mark[mark_length]) return NULL;
    size_t length = (size_t)(mark - module);
    const char *rest = mark + mark_length;
    if (!room_left(demangler, length + strlen(rest) + 3)) return NULL;
    memcpy(demangler->buffer, module, length);
    memcpy(demangler->buffer + length, "::", 2);
    memcpy(demangler->buffer + length + 2, rest, strlen(rest) + 1);
    return demangler->buffer;
}

static const char *demangle_rust(fm_demangler *demangler, const char *name)
{
    enum { LONGEST = 1 << 14 }; /* names are as long as those of types that are made of types */
    for (size_t size = 256; size <= LONGEST; size *= 4)
        if (!room_left(demangler, size))
            return NULL;
        else if (fm_demangle_rust(name, demangler->buffer, size))
            return demangler->buffer;
    return NULL;
}

const char *fm_demangle(fm_demangler *demangler, const char *name)
{
    if (name[0] != '_') return NULL;
    if (name[1] == '_') return demangle_fortran(demangler, name);
    if (name[1] == 'R') return demangle_rust(demangler, name);
    if (name[1] != 'Z') return NULL;
    if (!demangler->sought) find_library(demangler);
    if (!demangler->function || !room_left(demangler, 256)) return NULL;
    /* It may put another, larger buffer into the place of this one, and says so in size. */
    char *made = demangler->function(name, demangler->buffer, &demangler->size, &demangler->status);
    if (!made || demangler->status != 0) return NULL;
    demangler->buffer = made;
    fm_demangle_rust_tidy(made);
    return made;
}

size_t fm_name_stem(const char *name)
{
    /* A dot in front belongs to the name (".L3", "._foo"). */
    size_t lead = strspn(name, ".");
    return lead + strcspn(name + lead, ".@");
}

/* ---- names that people type ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Behind the bracket that closes the one at `at`; `end` where none does. Brackets in operators' names do not
 * count. */
static const char *behind_bracket(const char *at, const char *end)
{
    int depth = 0;
    for (const char *p = at; p < end; p++) {
        if (*p == '-' && p + 1 < end && p[1] == '>') {
            p++;
            continue;
        }
        if (strchr("(<[{", *p) && *p) depth++;
        if (strchr(")>]}", *p) && *p && --depth == 0) return p + 1;
    }
    return end;
}

/* Length of "operator" and its sign at p: "operator()", "operator<<", "operator new[]"; 0: it is none. */
static size_t operator_length(const char *start, const char *p)
{
    static const char *const signs[] = {"()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">="};
    size_t word = strlen("operator");
    if (strncmp(p, "operator", word) != 0 || (p > start && is_word(p[-1])) || is_word(p[word])) return 0;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strncmp(p + word, signs[i], strlen(signs[i])) == 0) return word + strlen(signs[i]);
    if (p[word] == '<' || p[word] == '>') return word + 1;
    /* Conversions and new, delete: "operator unsigned int", up to the arguments. */
    if (p[word] == ' ') return word + strcspn(p + word, "(<");
    return word + strcspn(p + word, " (<");
}

/*
 * Cuts "ret ns::Box<int>::add<3>(int) const" down to "ns::Box<int>::add<3>" (copied to `full`) and to
 * "ns::Box::add" (to `plain`). Both have room for the whole text.
 */
static void cut_text(const char *text, char *full, char *plain)
{
    const char *end = text + strlen(text);
    size_t f = 0, p = 0;
    for (const char *at = text; at < end;) {
        size_t sign = operator_length(text, at);
        if (sign > 0) {
            memcpy(full + f, at, sign);
            memcpy(plain + p, at, sign);
            f += sign;
            p += sign;
            at += sign;
            if (at[0] == ' ' && at[1] == '<') at++; /* "operator< <int>" */
        } else if (*at == ' ') {                    /* all before was the return type */
            f = p = 0;
            at++;
        } else if (*at == '(' && strncmp(at, "(anonymous namespace)", 21) != 0) {
            /* The arguments, unless a scope follows: that of a lambda or of something local to a function. */
            const char *behind = behind_bracket(at, end);
            const char *scope = strncmp(behind, " const::", 8) == 0 ? behind + 6 : behind;
            if (strncmp(scope, "::", 2) != 0) break;
            at = scope;
        } else if (*at == '<' || *at == '{' || *at == '(' || *at == '[') {
            const char *behind = behind_bracket(at, end);
            size_t length = (size_t)(behind - at);
            memcpy(full + f, at, length);
            f += length;
            if (*at != '<') {
                memcpy(plain + p, at, length);
                p += length;
            }
            at = behind;
        } else {
            full[f++] = plain[p++] = *at++;
        }
    }
    full[f] = plain[p] = '\0';
}

/* The whole, or its end after "::". */
static bool ends_with(const char *name, const char *wanted)
{
    size_t length = strlen(name), tail = strlen(wanted);
    if (tail == 0 || tail > length || strcmp(name + length - tail, wanted) != 0) return false;
    size_t before = length - tail;
    return before == 0 || (before >= 2 && name[before - 1] == ':' && name[before - 2] == ':');
}

int fm_name_fits(const char *wanted, const char *readable)
{
    if (strcmp(wanted, readable) == 0) return 1;
    /* Arguments were typed: "Box::add(int)" fits "ns::Box::add(int)" and "int Box::add(int)". */
    size_t length = strlen(readable), tail = strlen(wanted);
    if (strchr(wanted, '(') && tail < length && strcmp(readable + length - tail, wanted) == 0) {
        char before = readable[length - tail - 1];
        if (before == ' ' || (before == ':' && length - tail >= 2 && readable[length - tail - 2] == ':'))
            return 1;
    }
    char small[512], *full = small, *plain = small + sizeof small / 2, *large = NULL;
    if (length >= sizeof small / 2) {
        large = fm_calloc(2, length + 1);
        if (!large) return -1;
        full = large;
        plain = large + length + 1;
    }
    cut_text(readable, full, plain);
    bool fits = ends_with(full, wanted) || ends_with(plain, wanted);
    free(large);
    return fits;
}

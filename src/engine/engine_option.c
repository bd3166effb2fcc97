/* SPDX-License-Identifier: Apache-2.0 */
/* engine_option.c - options of single engines (engine.h). Every message names the engine and the option. */
#define _GNU_SOURCE
#include "engine/engine.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

/* 0 for none, the power of two for K, M, G, T; -1 for anything else. */
static int suffix_shift(const char *suffix)
{
    static const char letters[] = "kKmMgGtT";
    if (suffix[0] == '\0') return 0;
    const char *found = strchr(letters, suffix[0]);
    return found && suffix[1] == '\0' ? 10 * (int)((found - letters) / 2 + 1) : -1;
}

bool fm_parse_count(const char *text, uint64_t *value)
{
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hexadecimal ? text + 2 : text;
    /* strtoull would take signs and blanks; a count has neither. */
    const char *allowed = hexadecimal ? "0123456789abcdefABCDEF" : "0123456789";
    size_t length = strspn(digits, allowed);
    if (length == 0) return false;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(digits, &end, hexadecimal ? 16 : 10);
    if (errno == ERANGE || end != digits + length) return false;
    int shift = suffix_shift(end);
    if (shift < 0 || number > (UINT64_MAX >> shift)) return false;
    *value = (uint64_t)number << shift;
    return true;
}

/* With a decimal point in every locale. */
static bool parse_real(const char *text, double *value)
{
    if (!strchr("0123456789.", text[0]) || text[0] == '\0') return false;
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) return false;
    char *end;
    *value = strtod_l(text, &end, plain);
    freelocale(plain);
    return end != text && *end == '\0';
}

/* ---- values ---- */

/* As people write it: 1G. */
static void print_count(uint64_t count, char *text, size_t size)
{
    static const char suffixes[] = "TGMK";
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t unit = UINT64_C(1) << (40 - 10 * i);
        if (count < unit || count % unit != 0) continue;
        snprintf(text, size, "%" PRIu64 "%c", count / unit, suffixes[i]);
        return;
    }
    snprintf(text, size, "%" PRIu64, count);
}

const char *fm_engine_option_range(const fm_engine_option *option, char *text, size_t size)
{
    char least[32], most[32];
    print_count(option->least, least, sizeof least);
    print_count(option->most, most, sizeof most);
    switch (option->type) {
    case FM_OPTION_COUNT:
        if (option->most < UINT64_MAX)
            snprintf(text, size, "a whole number from %s to %s", least, most);
        else if (option->least > 0)
            snprintf(text, size, "a whole number, at least %s", least);
        else
            snprintf(text, size, "a whole number");
        break;
    case FM_OPTION_SHARE:
        snprintf(text, size, "a number over 0 and up to 1");
        break;
    case FM_OPTION_OPEN_SHARE:
        snprintf(text, size, "a number between 0 and 1, both excluded");
        break;
    case FM_OPTION_FLAG:
        snprintf(text, size, "yes or no");
        break;
    }
    return text;
}

static bool parse_value(const fm_engine_option *option, const char *text, fm_option_value *value)
{
    value->given = true;
    switch (option->type) {
    case FM_OPTION_COUNT:
        return fm_parse_count(text, &value->count) && value->count >= option->least &&
               value->count <= option->most;
    case FM_OPTION_SHARE:
        return parse_real(text, &value->real) && value->real > 0 && value->real <= 1;
    case FM_OPTION_OPEN_SHARE:
        return parse_real(text, &value->real) && value->real > 0 && value->real < 1;
    case FM_OPTION_FLAG:
        value->count = strcmp(text, "yes") == 0;
        return value->count || strcmp(text, "no") == 0;
    }
    return false;
}

static fm_option_value value_of(const fm_option_value *values, const fm_engine_option *table, size_t index)
{
    fm_option_value value = values[index];
    if (!value.given && table[index].usual) parse_value(&table[index], table[index].usual, &value);
    return value;
}

uint64_t fm_own_count(const fm_option_value *values, const fm_engine_option *table, size_t index)
{
    return value_of(values, table, index).count;
}

double fm_own_real(const fm_option_value *values, const fm_engine_option *table, size_t index)
{
    return value_of(values, table, index).real;
}

/* ---- the text ---- */

static size_t option_find(const fm_engine_option *table, const char *name)
{
    size_t index = 0;
    while (table && table[index].name && strcmp(table[index].name, name) != 0) index++;
    return table && table[index].name ? index : SIZE_MAX;
}

static void add_name(char *names, size_t size, const char *name)
{
    const size_t length = strlen(names);
    snprintf(names + length, size - length, "%s%s", length ? ", " : "", name);
}

static bool has_option(const char *engine, const char *name)
{
    const fm_engine_option *option;
    for (size_t i = 0; (option = fm_engine_option_at(engine, i)); i++)
        if (strcmp(option->name, name) == 0) return true;
    return false;
}

/* Somebody else's option, or nobody's. */
static fm_status fail_unknown(const char *engine, const fm_engine_option *table, const char *name,
                              fm_error *error)
{
    char names[256] = "";
    const fm_engine_info *info;
    for (size_t i = 0; (info = fm_engine_at(i)); i++)
        if (has_option(info->name, name)) add_name(names, sizeof names, info->name);
    if (names[0])
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the engine %s has no option '%s': that one is for %s",
                       engine, name, names);
    for (const fm_engine_option *option = table; option && option->name; option++)
        add_name(names, sizeof names, option->name);
    return fm_fail(error, FM_E_ARGUMENT, NULL, "the engine %s has no option '%s'; it has %s", engine, name,
                   names[0] ? names : "none");
}

static fm_status fail_value(const char *engine, const fm_engine_option *option, const char *found,
                            fm_error *error)
{
    char range[100];
    fm_engine_option_range(option, range, sizeof range);
    if (!found)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "engine %s: %s needs a value: %s", engine, option->name,
                       range);
    return fm_fail(error, FM_E_ARGUMENT, NULL, "engine %s: %s: expected %s, found '%s'", engine, option->name,
                   range, found);
}

/* One NAME=VALUE. */
static fm_status parse_item(const char *engine, const fm_engine_option *table, char *item,
                            fm_option_value *values, fm_error *error)
{
    char *value = item;
    const char *name = strsep(&value, "=");
    const size_t index = option_find(table, name);
    if (index == SIZE_MAX) return fail_unknown(engine, table, name, error);
    const fm_engine_option *option = &table[index];
    const char *text = !value && option->type == FM_OPTION_FLAG ? "yes" : value;
    return text && parse_value(option, text, &values[index]) ? FM_OK
                                                             : fail_value(engine, option, text, error);
}

/* What must, and what must not, be given together. */
static fm_status check_together(const char *engine, const fm_engine_option *table,
                                const fm_option_value *values, fm_error *error)
{
    for (size_t i = 0; table && table[i].name; i++) {
        if (!values[i].given) continue;
        if (table[i].excludes && values[option_find(table, table[i].excludes)].given)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "engine %s: %s and %s: one of them, not both", engine,
                           table[i].excludes, table[i].name);
        if (table[i].needs && !values[option_find(table, table[i].needs)].given)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "engine %s: %s goes with %s only", engine,
                           table[i].name, table[i].needs);
    }
    return FM_OK;
}

fm_status fm_own_options_parse(const char *engine, const fm_engine_option *table, const char *text,
                               fm_option_value *values, fm_error *error)
{
    memset(values, 0, FM_MOST_OWN_OPTIONS * sizeof *values);
    fm_status status = FM_OK;
    for (const char *rest = text && *text ? text : NULL; rest && status == FM_OK;) {
        char item[128];
        const size_t length = strcspn(rest, ",");
        if (length == 0 || length >= sizeof item)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "engine %s: expected NAME=VALUE,… of options, found '%s'", engine, text);
        memcpy(item, rest, length);
        item[length] = '\0';
        status = parse_item(engine, table, item, values, error);
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    return status == FM_OK ? check_together(engine, table, values, error) : status;
}

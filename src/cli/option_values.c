/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_values.c - what people write for numbers, sizes, caches and threads: "48K", as sizes are printed
 * "48 KiB", of caches of keys "30Mkeys", of caches with sets "32K:8:64".
 *
 * A key has no bytes. So of a profile of keys a size with a suffix is refused unless it says that it counts
 * keys; a plain number is one of keys.
 */
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

bool cli_is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* As the library's of engine options: "64", "0x40", "4K". Neither signs nor blanks, which strtoull takes. */
bool cli_parse_count(const char *text, uint64_t *value)
{
    static const char letters[] = "kKmMgGtT";
    const bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hexadecimal ? text + 2 : text;
    const size_t length = strspn(digits, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789");
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(digits, &end, hexadecimal ? 16 : 10);
    if (length == 0 || errno == ERANGE || end != digits + length) return false;
    const char *letter = *end ? strchr(letters, *end) : NULL;
    const unsigned shift = letter ? 10 * (unsigned)((letter - letters) / 2 + 1) : 0;
    if (end[letter ? 1 : 0] != '\0' || number > (UINT64_MAX >> shift)) return false;
    *value = (uint64_t)number << shift;
    return true;
}

/* No option's number is below 0: many have a value there that stands for "not given". */
bool cli_parse_real(const char *text, double *value)
{
    if (text[0] == '\0' || strchr("- \t\n\v\f\r", text[0])) return false;
    char *end;
    double number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number)) return false;
    *value = number;
    return true;
}

/* ---- sizes ---- */

typedef enum size_unit { PLAIN, BYTES, KEYS, ELEMENTS } size_unit;

enum { SIZE_TEXT = 40 };

/* Takes an ending off, with the blanks before it. */
static bool cut_ending(char *text, const char *ending)
{
    const size_t length = strlen(text), cut = strlen(ending);
    if (length <= cut || strcmp(text + length - cut, ending) != 0) return false;
    text[length - cut] = '\0';
    for (size_t last = length - cut; last > 0 && text[last - 1] == ' ';) text[--last] = '\0';
    return true;
}

static bool ends_in_letter(const char *text)
{
    const size_t length = strlen(text);
    return length > 1 && strchr("kKmMgGtT", text[length - 1]);
}

/* 48, 48K, 48KiB, 48 KiB, 48KB, 48Kb, 48B, 48keys */
static bool parse_size(const char *text, uint64_t *value, size_unit *unit)
{
    char copy[SIZE_TEXT];
    if ((size_t)snprintf(copy, sizeof copy, "%s", text) >= sizeof copy) return false;
    *unit = PLAIN;
    const bool hexadecimal = strncmp(copy, "0x", 2) == 0 || strncmp(copy, "0X", 2) == 0;
    if (cut_ending(copy, "keys"))
        *unit = KEYS;
    else if (cut_ending(copy, "elements"))
        *unit = ELEMENTS;
    else if (!hexadecimal && (cut_ending(copy, "iB") || cut_ending(copy, "ib"))) {
        if (!ends_in_letter(copy)) return false;
        *unit = BYTES;
    } else if (!hexadecimal && (cut_ending(copy, "B") || cut_ending(copy, "b")))
        *unit = BYTES;
    char *blank = strchr(copy, ' ');
    if (blank && blank > copy && *unit != PLAIN && ends_in_letter(blank))
        memmove(blank, blank + 1, strlen(blank));
    if (*unit == PLAIN && ends_in_letter(copy)) *unit = BYTES;
    return cli_parse_count(copy, value);
}

bool cli_parse_bytes(const char *text, uint64_t *value)
{
    size_unit unit;
    return parse_size(text, value, &unit) && unit != KEYS && unit != ELEMENTS;
}

bool cli_parse_size(const char *text, uint64_t *value)
{
    size_unit unit;
    return parse_size(text, value, &unit);
}

const char *cli_block_noun(const fm_profile *profile)
{
    if (profile->elements) return "elements";
    /* What comes from a program is memory, cut into single bytes. */
    const bool memory = profile->granularity != 1 || profile->run || profile->attribution || profile->kernel;
    return memory ? NULL : "keys";
}

int cli_check_size(const char *option, const char *text, uint64_t granularity, const char *noun)
{
    uint64_t value;
    size_unit unit;
    if (!parse_size(text, &value, &unit)) return -1; /* whoever uses it says so */
    if (noun && unit == BYTES) {
        const size_t digits = strspn(text, "0123456789"), letter = digits + strspn(text + digits, " ");
        const char suffix[2] = {strchr("kKmMgGtT", text[letter]) ? text[letter] : '\0'};
        return cli_misuse("--%s %s: the blocks are %s, which have no bytes; for a cache of %" PRIu64
                          " say --%s %.*s%s%s or --%s %" PRIu64,
                          option, text, noun, value, option, (int)digits, text, suffix, noun, option, value);
    }
    if (noun ? unit == (strcmp(noun, "keys") == 0 ? ELEMENTS : KEYS) : unit == KEYS || unit == ELEMENTS)
        return cli_misuse("--%s %s: the blocks are %s: give these", option, text,
                          noun ? noun : "bytes of memory");
    if (!noun && value < granularity)
        return cli_misuse("--%s %s: is below one block of %" PRIu64 " bytes", option, text, granularity);
    return -1;
}

int cli_check_sizes(const char *list, uint64_t granularity, const char *noun)
{
    if (!list) return -1;
    char *copy = strdup(list), *rest = copy;
    if (!copy) return cli_out_of_memory();
    int code = -1;
    bool plain = false;
    while (code < 0 && rest) {
        const char *part = strsep(&rest, ",");
        uint64_t value;
        size_unit unit;
        code = cli_check_size("size", part, granularity, noun);
        plain |= noun && parse_size(part, &value, &unit) && unit == PLAIN;
    }
    free(copy);
    if (code < 0 && plain && strcmp(noun, "elements") == 0)
        cli_note("--size %s: numbers of elements, not bytes", list);
    else if (code < 0 && plain)
        cli_note("--size %s: numbers of keys, not bytes: the granularity is 1, so that each block is one key",
                 list);
    return code;
}

int cli_check_profile_sizes(const char *list, const fm_profile *const *profiles, size_t count)
{
    const fm_profile *least = NULL;
    for (size_t i = 0; i < count; i++)
        if (!least || profiles[i]->granularity < least->granularity) least = profiles[i];
    return least ? cli_check_sizes(list, least->granularity, cli_block_noun(least)) : -1;
}

/* ---- caches, threads ---- */

int cli_parse_cache(const char *text, uint64_t granularity, fm_cache *cache)
{
    char copy[100];
    *cache = (fm_cache){.line = granularity};
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy;
    const char *size = strsep(&rest, ":"), *ways = strsep(&rest, ":"), *line = strsep(&rest, ":");
    if (rest || !ways || !cli_parse_size(size, &cache->bytes) || !cli_parse_count(ways, &cache->ways) ||
        (line && !cli_parse_bytes(line, &cache->line)))
        return cli_misuse("--cache: expected SIZE:WAYS or SIZE:WAYS:LINE such as 32K:8:64, found '%s'", text);
    if (cache->ways == 0 || cache->line == 0)
        return cli_misuse("--cache: '%s': ways and line must not be 0", text);
    uint64_t set;
    if (__builtin_mul_overflow(cache->ways, cache->line, &set) || cache->bytes == 0 ||
        cache->bytes % set != 0)
        return cli_misuse("--cache: '%s': the size is not a multiple of one set, ways times line bytes",
                          text);
    snprintf(cache->name, sizeof cache->name, "%s", text);
    return -1;
}

int cli_check_threads(uint64_t given, unsigned most)
{
    if (given == UINT64_MAX || (given >= 1 && given <= most)) return -1;
    return cli_misuse("--threads: expected 1 to %u, found %" PRIu64, most, given);
}

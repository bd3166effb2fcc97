/* SPDX-License-Identifier: Apache-2.0 */
/* function_ranges.c - fm_symbols_function_ranges: from a name that a person typed to code addresses. */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/memory.h"
#include "symbols/symbol_file.h"
#include "symbols/symbols.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

typedef struct search {
    fm_symbols *symbols;
    const char *name;
    bool inlined;
    fm_code_range *ranges;
    size_t count, capacity;
    char *stem; /* the last linker's name, without suffixes */
    size_t stem_capacity;
    fm_units units;
    fm_scopes scopes;
    unsigned char *fits; /* of each scope */
    size_t fits_capacity;
} search;

static fm_status add_range(search *s, uint64_t low, uint64_t high, bool inlined)
{
    if (low >= high) return FM_OK;
    if (fm_array_reserve((void **)&s->ranges, &s->capacity, s->count + 1, sizeof *s->ranges) != 0)
        return FM_E_NOMEM;
    s->ranges[s->count++] = (fm_code_range){low, high, inlined};
    return FM_OK;
}

/* Whether the name typed means the function with these names. */
static fm_status function_fits(search *s, const char *linker_name, const char *name, bool *answer)
{
    *answer = true;
    if (name && strcmp(name, s->name) == 0) return FM_OK;
    if (linker_name) {
        if (strcmp(linker_name, s->name) == 0) return FM_OK;
        size_t length = fm_name_stem(linker_name);
        if (fm_array_reserve((void **)&s->stem, &s->stem_capacity, length + 1, 1) != 0) return FM_E_NOMEM;
        memcpy(s->stem, linker_name, length);
        s->stem[length] = '\0';
        if (strcmp(s->stem, s->name) == 0) return FM_OK;
        const char *readable = fm_demangle(&s->symbols->demangler, s->stem);
        int fit = readable ? fm_name_fits(s->name, readable) : 0;
        if (fit < 0) return FM_E_NOMEM;
        if (fit > 0) return FM_OK;
    }
    *answer = false;
    return FM_OK;
}

static fm_status search_table(search *s)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < s->symbols->code.count && status == FM_OK; i++) {
        const fm_elf_symbol *symbol = &s->symbols->code.list[i];
        bool fit;
        status = function_fits(s, symbol->name, NULL, &fit);
        if (status != FM_OK || !fit) continue;
        status = add_range(s, symbol->address, fm_symbols_code_end(s->symbols, symbol), false);
    }
    return status;
}

static fm_status search_unit(search *s, Dwarf_Die *unit)
{
    const uint64_t offset = s->symbols->offset;
    const fm_scopes *scopes = &s->scopes;
    fm_status status = fm_scopes_read(s->symbols, unit, &s->scopes);
    if (status == FM_E_NOMEM) return status;
    if (fm_array_reserve((void **)&s->fits, &s->fits_capacity, scopes->count + 1, 1) != 0) return FM_E_NOMEM;
    for (size_t i = 0; i < scopes->count; i++) {
        const char *linker_name, *name;
        bool fit = false;
        if (s->inlined || !scopes->list[i].inlined) {
            fm_scope_names(&scopes->list[i].die, &linker_name, &name);
            status = function_fits(s, linker_name, name, &fit);
            if (status != FM_OK) return status;
        }
        s->fits[i] = fit;
    }
    for (size_t i = 0; i < scopes->range_count; i++) {
        const fm_scope_range *range = &scopes->ranges[i];
        if (!s->fits[range->scope]) continue;
        status = add_range(s, range->low + offset, range->high + offset, scopes->list[range->scope].inlined);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static fm_status search_debug_information(void *context)
{
    search *s = context;
    if (!fm_symbols_may_name(s->symbols, s->name)) return FM_OK;
    Dwarf *dwarf = fm_symbols_dwarf(s->symbols);
    if (!dwarf) return FM_OK;
    fm_status status = fm_units_read(dwarf, &s->units);
    if (status == FM_E_NOMEM) return status;
    for (size_t i = 0; i < s->units.count; i++) {
        status = search_unit(s, &s->units.list[i]);
        if (status != FM_OK) return status;
    }
    return FM_OK;
}

static int compare_ranges(const void *a, const void *b)
{
    const fm_code_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return x->high > y->high ? -1 : x->high < y->high; /* the larger first */
}

/* Joins what overlaps or touches; what is inlined stays apart from what is not, unless it lies within it. */
static void tidy_ranges(search *s)
{
    size_t kept = 0;
    if (s->count > 0) qsort(s->ranges, s->count, sizeof *s->ranges, compare_ranges);
    for (size_t i = 0; i < s->count; i++) {
        fm_code_range range = s->ranges[i];
        fm_code_range *last = kept > 0 ? &s->ranges[kept - 1] : NULL;
        if (last && range.low < last->high) {
            if (range.high <= last->high) continue;
            if (range.inlined == last->inlined) {
                last->high = range.high;
                continue;
            }
            range.low = last->high;
        } else if (last && range.low == last->high && range.inlined == last->inlined) {
            last->high = range.high;
            continue;
        }
        s->ranges[kept++] = range;
    }
    s->count = kept;
}

fm_status fm_symbols_function_ranges(fm_symbols *symbols, const char *name, bool inlined,
                                     fm_code_range **ranges, size_t *count, fm_error *error)
{
    search s = {.symbols = symbols, .name = name, .inlined = inlined};
    *ranges = NULL;
    *count = 0;
    fm_status status = fm_symbols_read_table(symbols, error);
    if (status == FM_OK) status = fm_symbols_read_frames(symbols, error);
    if (status == FM_OK) status = search_table(&s);
    if (status == FM_OK) status = fm_symbols_guard(search_debug_information, &s, error);
    free(s.stem);
    free(s.fits);
    fm_units_clear(&s.units);
    fm_scopes_clear(&s.scopes);
    if (status != FM_OK) {
        free(s.ranges);
        return fm_fail(error, status, symbols->path, "out of memory while looking for the function %s", name);
    }
    tidy_ranges(&s);
    *ranges = s.ranges;
    *count = s.count;
    return FM_OK;
}

/* ---- name search ---- */

/*
 * Whether the debug information of a file can name a function at all: a look through its
 * strings, which costs a small part of reading all units. libc's is read for every program, and has hardly
 * ever the function that is looked for.
 *
 * All doubts are answered by yes: a name that is not made of plain words, strings that are in yet other files
 * (dwz, split units), sections that are compressed in another way or damaged.
 */

enum {
    WORD_MOST = 255,
    PIECE = 8 << 10,
    SIDE = 4 /* bytes before a word that tell its length, and one behind it */
};

typedef struct wanted_word {
    char text[WORD_MOST + 1];
    size_t length;
    char digits[SIDE]; /* the length as mangled names have it */
    size_t digit_count;
} wanted_word;

/* ---- the word ---- */

/* Mangled names have letters for these. */
static bool has_abbreviation(const char *word)
{
    static const char *const words[] = {"std",           "allocator",     "string",       "istream",
                                        "ostream",       "iostream",      "basic_string", "basic_istream",
                                        "basic_ostream", "basic_iostream"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(word, words[i]) == 0) return true;
    return false;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* The last word of "add", "Box::add", "ns::Box::add", which every name that fits has in it. False: the name
 * is another. */
static bool last_word(const char *name, wanted_word *word)
{
    const char *start = name;
    for (const char *at = name; *at; at++) {
        if (is_word(*at)) continue;
        if (at == start || at[0] != ':' || at[1] != ':') return false;
        start = ++at + 1;
    }
    word->length = strlen(start);
    if (word->length == 0 || word->length > WORD_MOST || has_abbreviation(start)) return false;
    memcpy(word->text, start, word->length + 1);
    word->digit_count = (size_t)snprintf(word->digits, sizeof word->digits, "%zu", word->length);
    return true;
}

/*
 * Whether the word stands at `at` as a name or a part of one: at the end of a string, before a suffix of the
 * compiler (".cold", "@@GLIBC"), or behind its length, as in mangled names. Strings are joined where one is
 * the end of another, so what is before it tells nothing.
 */
static bool stands_as_name(const wanted_word *word, const char *begin, const char *at, const char *end)
{
    const char *behind = at + word->length;
    if (behind < end && (*behind == '\0' || *behind == '.' || *behind == '@')) return true;
    return (size_t)(at - begin) >= word->digit_count &&
           memcmp(at - word->digit_count, word->digits, word->digit_count) == 0;
}

static bool is_in(const wanted_word *word, const char *begin, const char *end)
{
    for (const char *at = begin;; at++) {
        at = memmem(at, (size_t)(end - at), word->text, word->length);
        if (!at) return false;
        if (stands_as_name(word, begin, at, end)) return true;
    }
}

/* ---- sections ---- */

/* Bytes behind the head of a compressed section: a zlib stream (its checksum is left alone). Piece by piece,
 * with what a word may need of the piece before. */
static bool is_in_compressed(const wanted_word *word, const unsigned char *data, size_t size, uint64_t length)
{
    char buffer[WORD_MOST + SIDE + PIECE];
    z_stream stream = {0};
    const size_t overlap = word->length + SIDE;
    size_t kept = 0;
    bool found = false;
    enum { HEAD = 2, METHOD = 0x0F, DEFLATED = 8, DICTIONARY = 0x20 };
    if (size < HEAD || size > UINT32_MAX || (data[0] & METHOD) != DEFLATED || (data[1] & DICTIONARY) ||
        inflateInit2(&stream, -MAX_WBITS) != Z_OK)
        return true;
    stream.next_in = (Bytef *)(uintptr_t)(data + HEAD);
    stream.avail_in = (uInt)(size - HEAD);
    int status = Z_OK;
    while (status == Z_OK && !found) {
        stream.next_out = (Bytef *)buffer + kept;
        stream.avail_out = PIECE;
        status = inflate(&stream, Z_NO_FLUSH);
        const size_t filled = kept + PIECE - stream.avail_out;
        if (status != Z_OK && status != Z_STREAM_END) break;
        found = is_in(word, buffer, buffer + filled);
        kept = filled < overlap ? filled : overlap;
        memmove(buffer, buffer + filled - kept, kept);
    }
    const bool whole = status == Z_STREAM_END && stream.total_out == length;
    inflateEnd(&stream);
    return found || !whole;
}

static bool is_in_section(const wanted_word *word, Elf_Scn *section, const GElf_Shdr *header)
{
    const Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || (!data->d_buf && data->d_size)) return true;
    if (data->d_size == 0) return false;
    if (!(header->sh_flags & SHF_COMPRESSED))
        return is_in(word, data->d_buf, (const char *)data->d_buf + data->d_size);
    GElf_Chdr compressed;
    const size_t head = sizeof(Elf64_Chdr);
    if (!gelf_getchdr(section, &compressed) || compressed.ch_type != ELFCOMPRESS_ZLIB || data->d_size < head)
        return true;
    return is_in_compressed(word, (const unsigned char *)data->d_buf + head, data->d_size - head,
                            compressed.ch_size);
}

typedef enum verdict { NO_DEBUG_INFORMATION, NOT_NAMED, MAY_BE_NAMED } verdict;

/* The section with a name that begins so, behind another; NULL: none. */
static Elf_Scn *section_named(Elf *elf, size_t names, Elf_Scn *section, const char *wanted, GElf_Shdr *header)
{
    while ((section = elf_nextscn(elf, section))) {
        const char *name = gelf_getshdr(section, header) ? elf_strptr(elf, names, header->sh_name) : NULL;
        if (name && header->sh_type != SHT_NOBITS && strncmp(name, wanted, strlen(wanted)) == 0)
            return section;
    }
    return NULL;
}

static verdict look_through(Elf *elf, const wanted_word *word)
{
    /* Split units, dwz, sections that are compressed as they once were. */
    static const char *const elsewhere[] = {".debug_addr", ".gnu_debugaltlink", ".zdebug_"};
    static const char *const with_strings[] = {".debug_str", ".debug_line_str", ".debug_types",
                                               ".debug_info"};
    GElf_Shdr header;
    size_t names;
    if (gelf_getclass(elf) != ELFCLASS64 || elf_getshdrstrndx(elf, &names) != 0) return MAY_BE_NAMED;
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        if (section_named(elf, names, NULL, elsewhere[i], &header)) return MAY_BE_NAMED;
    if (!section_named(elf, names, NULL, ".debug_info", &header)) return NO_DEBUG_INFORMATION;
    for (size_t i = 0; i < sizeof with_strings / sizeof with_strings[0]; i++)
        for (Elf_Scn *section = NULL;
             (section = section_named(elf, names, section, with_strings[i], &header));)
            if (is_in_section(word, section, &header)) return MAY_BE_NAMED;
    return NOT_NAMED;
}

/* ---- the file ---- */

static verdict look_through_file(const char *path, const wanted_word *word)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return MAY_BE_NAMED;
    Elf *elf = elf_begin(descriptor, ELF_C_READ_MMAP, NULL);
    verdict found = elf && elf_kind(elf) == ELF_K_ELF ? look_through(elf, word) : MAY_BE_NAMED;
    if (elf) elf_end(elf);
    close(descriptor);
    return found;
}

bool fm_symbols_may_name(fm_symbols *symbols, const char *name)
{
    wanted_word word;
    GElf_Addr bias;
    const char *debug_file = NULL;
    if (symbols->dwarf_sought || !last_word(name, &word)) return true;
    /* The same choice that libdwfl makes: the file's own debug information, else that of the separate file,
     * which it has found by now where it took the symbols from there. */
    Elf *elf = dwfl_module_getelf(symbols->module, &bias);
    verdict found = elf ? look_through(elf, &word) : MAY_BE_NAMED;
    if (found != NO_DEBUG_INFORMATION) return found == MAY_BE_NAMED;
    dwfl_module_info(symbols->module, NULL, NULL, NULL, NULL, NULL, NULL, &debug_file);
    return !debug_file || look_through_file(debug_file, &word) != NOT_NAMED;
}

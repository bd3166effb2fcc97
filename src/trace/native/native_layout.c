/* SPDX-License-Identifier: Apache-2.0 */
/* native_layout.c - see native_layout.h. */
#include "trace/native/native_layout.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

/* ======== headers ======== */

/* And docs/FORMAT.md. */

size_t fm_native_column_count(unsigned columns)
{
    return 1 + (size_t)__builtin_popcount(columns);
}

size_t fm_native_block_header_size(unsigned columns)
{
    return FM_NATIVE_BLOCK_FIXED + fm_native_column_count(columns) * FM_NATIVE_COLUMN_SIZE + 8;
}

uint32_t fm_native_raw_bytes(uint32_t references, const fm_native_part *part)
{
    /* At most 65536 * (8 + 10 + 8): no overflow. */
    uint32_t per_reference = part->planes + (part->encoding == FM_NATIVE_LOOKBACK ? 1U : 0U);
    return references * per_reference + part->exceptions * 10 + part->entries * 8;
}

unsigned fm_native_width(unsigned column)
{
    static const unsigned char widths[FM_NATIVE_COLUMNS_MAX] = {8, 4, 1, 4, 8};
    return widths[column];
}

/* The magics are bytes, not strings: their terminating zeros are not stored. */

/*
 * File header: magic 8 | version u16 | header size u16 | incompatible features u32 | compatible features
 * u32 | columns u32 | flags u32 | references per block at most u32 | zeros 24 | checksum u64.
 */
void fm_native_header_store(uint8_t to[FM_NATIVE_HEADER_SIZE], const fm_native_header *header)
{
    memset(to, 0, FM_NATIVE_HEADER_SIZE);
    memcpy(to, FM_NATIVE_MAGIC, FM_NATIVE_MAGIC_SIZE); /* NOLINT(bugprone-not-null-terminated-result) */
    fm_store16(to + 8, FM_NATIVE_VERSION);
    fm_store16(to + 10, FM_NATIVE_HEADER_SIZE);
    fm_store32(to + 20, header->columns);
    fm_store32(to + 24, header->memory_addresses ? FM_NATIVE_FLAG_MEMORY : 0);
    fm_store32(to + 28, FM_NATIVE_BLOCK_MAX);
    fm_store64(to + 56, XXH3_64bits(to, 56));
}

static fm_status wrong_magic(const uint8_t *bytes, size_t count, const char *name, fm_error *error)
{
    char found[64] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && i < FM_NATIVE_MAGIC_SIZE; i++)
        used += (size_t)snprintf(found + used, sizeof found - used, " %02x", bytes[i]);
    return fm_fail_at(error, FM_E_FORMAT, name, FM_PLACE_BYTE, 0,
                      "not a fathom trace: expected 89 46 41 54 48 4f 4d 0a, found%s", found);
}

fm_status fm_native_header_load(const uint8_t *bytes, size_t count, const char *name,
                                fm_native_header *header, fm_error *error)
{
    if (count == 0)
        return fm_fail_at(error, FM_E_TRUNCATED, name, FM_PLACE_BYTE, 0,
                          "the file is empty; expected the header of a fathom trace");
    size_t magic = count < FM_NATIVE_MAGIC_SIZE ? count : FM_NATIVE_MAGIC_SIZE;
    if (memcmp(bytes, FM_NATIVE_MAGIC, magic) != 0) return wrong_magic(bytes, count, name, error);
    if (count < FM_NATIVE_HEADER_SIZE)
        return fm_fail_at(error, FM_E_TRUNCATED, name, FM_PLACE_BYTE, count,
                          "the file ends within its header: expected %d bytes, found %zu",
                          FM_NATIVE_HEADER_SIZE, count);
    /* The checksum's place and kind are promised for every version, so that damage is not mistaken for a
     * newer version. */
    if (XXH3_64bits(bytes, 56) != fm_load64(bytes + 56))
        return fm_fail_at(error, FM_E_CORRUPT, name, FM_PLACE_BYTE, 0,
                          "the file's header is damaged: expected checksum %016" PRIx64 ", found %016" PRIx64,
                          fm_load64(bytes + 56), (uint64_t)XXH3_64bits(bytes, 56));
    unsigned version = fm_load16(bytes + 8);
    if (version != FM_NATIVE_VERSION)
        return fm_fail_at(error, FM_E_UNSUPPORTED, name, FM_PLACE_BYTE, 8,
                          "the trace is of format version %u; this program reads version %d", version,
                          FM_NATIVE_VERSION);
    unsigned size = fm_load16(bytes + 10);
    if (size != FM_NATIVE_HEADER_SIZE)
        return fm_fail_at(error, FM_E_UNSUPPORTED, name, FM_PLACE_BYTE, 10,
                          "the file's header has %u bytes; expected %d", size, FM_NATIVE_HEADER_SIZE);
    uint32_t features = fm_load32(bytes + 12);
    if (features != 0)
        return fm_fail_at(error, FM_E_UNSUPPORTED, name, FM_PLACE_BYTE, 12,
                          "the trace uses features 0x%" PRIx32 " that this program does not know", features);
    header->columns = fm_load32(bytes + 20);
    uint32_t most = fm_load32(bytes + 28);
    if (header->columns & ~15U || most == 0 || most > FM_NATIVE_BLOCK_MAX)
        return fm_fail_at(error, FM_E_UNSUPPORTED, name, FM_PLACE_BYTE, 20,
                          "the trace has columns 0x%x and blocks of up to %" PRIu32
                          " references; expected columns within 0xf and 1 to %d references",
                          header->columns, most, FM_NATIVE_BLOCK_MAX);
    header->memory_addresses = fm_load32(bytes + 24) & FM_NATIVE_FLAG_MEMORY;
    return FM_OK;
}

/*
 * Block header: magic 4 | columns u16 | zero u16 | references u32 | payload bytes u32 | first reference u64
 * | payload checksum u64 | per column: number u8, encoding u8, codec u8, planes u8, exceptions (TABLE:
 * entries) u32, stored bytes u32 | checksum u64 of all before.
 */
size_t fm_native_block_store(uint8_t *to, const fm_native_block *block)
{
    memcpy(to, FM_NATIVE_BLOCK_MAGIC, 4); /* NOLINT(bugprone-not-null-terminated-result) */
    fm_store16(to + 4, (uint16_t)block->part_count);
    fm_store16(to + 6, 0);
    fm_store32(to + 8, block->references);
    fm_store32(to + 12, block->payload_bytes);
    fm_store64(to + 16, block->first_reference);
    fm_store64(to + 24, block->payload_checksum);
    uint8_t *at = to + FM_NATIVE_BLOCK_FIXED;
    for (size_t i = 0; i < block->part_count; i++, at += FM_NATIVE_COLUMN_SIZE) {
        const fm_native_part *part = &block->parts[i];
        at[0] = part->column;
        at[1] = part->encoding;
        at[2] = part->codec;
        at[3] = part->planes;
        fm_store32(at + 4, part->encoding == FM_NATIVE_TABLE ? part->entries : part->exceptions);
        fm_store32(at + 8, part->stored_bytes);
    }
    fm_store64(at, XXH3_64bits(to, (size_t)(at - to)));
    return (size_t)(at - to) + 8;
}

/* What an encoding demands of its column, beside the limits that all have. site_entries: of the site column,
 * where that is a TABLE, else 0. */
static bool encoding_is_sound(fm_native_part *part, uint32_t references, uint32_t site_entries)
{
    switch (part->encoding) {
    case FM_NATIVE_DIRECT:
    case FM_NATIVE_LOOKBACK:
        return true;
    case FM_NATIVE_TABLE:
        return part->planes <= 2 && part->entries > 0 && part->entries <= references;
    case FM_NATIVE_AS_SITE:
        part->entries = site_entries;
        return site_entries > 0 && part->planes == 0 && part->exceptions == 0 &&
               part->column != FM_NATIVE_ADDRESS && part->column != FM_NATIVE_SITE;
    case FM_NATIVE_BY_SITE:
        part->entries = site_entries;
        return site_entries > 0 && part->column == FM_NATIVE_ADDRESS;
    default:
        return false;
    }
}

/* One column's entry against every limit. */
static bool part_is_sound(fm_native_part *part, uint32_t references, uint32_t site_entries)
{
    if (part->codec > FM_NATIVE_ZSTD || part->exceptions > references || part->planes > 8 ||
        !encoding_is_sound(part, references, site_entries))
        return false;
    part->raw_bytes = fm_native_raw_bytes(references, part);
    return part->codec == FM_NATIVE_STORED ? part->stored_bytes == part->raw_bytes
                                           : part->stored_bytes <= part->raw_bytes;
}

static fm_native_part load_part(const uint8_t *at)
{
    fm_native_part part = {.column = at[0],
                           .encoding = at[1],
                           .codec = at[2],
                           .planes = at[3],
                           .stored_bytes = fm_load32(at + 8)};
    if (part.encoding == FM_NATIVE_TABLE)
        part.entries = fm_load32(at + 4);
    else
        part.exceptions = fm_load32(at + 4);
    return part;
}

bool fm_native_block_load(const uint8_t *bytes, unsigned columns, fm_native_block *block)
{
    size_t size = fm_native_block_header_size(columns);
    block->header_bytes = size;
    block->part_count = fm_native_column_count(columns);
    if (memcmp(bytes, FM_NATIVE_BLOCK_MAGIC, 4) != 0 || fm_load16(bytes + 4) != block->part_count)
        return false;
    if (XXH3_64bits(bytes, size - 8) != fm_load64(bytes + size - 8)) return false;
    block->references = fm_load32(bytes + 8);
    block->payload_bytes = fm_load32(bytes + 12);
    block->first_reference = fm_load64(bytes + 16);
    block->payload_checksum = fm_load64(bytes + 24);
    if (block->references == 0 || block->references > FM_NATIVE_BLOCK_MAX) return false;
    const uint8_t *at = bytes + FM_NATIVE_BLOCK_FIXED;
    for (size_t i = 0; i < block->part_count; i++)
        block->parts[i] = load_part(at + i * FM_NATIVE_COLUMN_SIZE);
    /* The site is the last column where there is one. */
    const fm_native_part *last = &block->parts[block->part_count - 1];
    uint32_t site_entries = columns & FM_COLUMN_SITE && last->encoding == FM_NATIVE_TABLE ? last->entries : 0;
    uint64_t total = 0;
    unsigned next = 0;
    for (size_t i = 0; i < block->part_count; i++) {
        fm_native_part *part = &block->parts[i];
        /* Column numbers ascend and are those the file's header promises. */
        while (next > 0 && next < FM_NATIVE_COLUMNS_MAX && !(columns & 1U << (next - 1))) next++;
        if (part->column != next || !part_is_sound(part, block->references, site_entries)) return false;
        total += part->stored_bytes;
        next++;
    }
    return total == block->payload_bytes;
}

/*
 * Header of the module table: magic 4 | zero u32 | modules u32 | payload bytes u32 | references before it u64
 * | payload checksum u64 | checksum u64 of all before.
 */
void fm_native_modules_header_store(uint8_t to[FM_NATIVE_MODULES_FIXED],
                                    const fm_native_modules_header *header)
{
    memcpy(to, FM_NATIVE_MODULES_MAGIC, 4); /* NOLINT(bugprone-not-null-terminated-result) */
    fm_store32(to + 4, 0);
    fm_store32(to + 8, header->modules);
    fm_store32(to + 12, header->payload_bytes);
    fm_store64(to + 16, header->references);
    fm_store64(to + 24, header->payload_checksum);
    fm_store64(to + 32, XXH3_64bits(to, 32));
}

bool fm_native_modules_header_load(const uint8_t bytes[FM_NATIVE_MODULES_FIXED],
                                   fm_native_modules_header *header)
{
    if (memcmp(bytes, FM_NATIVE_MODULES_MAGIC, 4) != 0 || XXH3_64bits(bytes, 32) != fm_load64(bytes + 32) ||
        fm_load32(bytes + 4) != 0)
        return false;
    header->modules = fm_load32(bytes + 8);
    header->payload_bytes = fm_load32(bytes + 12);
    header->references = fm_load64(bytes + 16);
    header->payload_checksum = fm_load64(bytes + 24);
    return header->payload_bytes <= FM_NATIVE_MODULES_PAYLOAD_MAX;
}

/* Footer: index offset u64 | references u64 | checksum u64 of the two | end magic 8. */
void fm_native_footer_store(uint8_t to[FM_NATIVE_FOOTER_SIZE], const fm_native_footer *footer)
{
    fm_store64(to, footer->index_offset);
    fm_store64(to + 8, footer->references);
    fm_store64(to + 16, XXH3_64bits(to, 16));
    memcpy(to + 24, FM_NATIVE_END_MAGIC, 8); /* NOLINT(bugprone-not-null-terminated-result) */
}

bool fm_native_footer_load(const uint8_t bytes[FM_NATIVE_FOOTER_SIZE], fm_native_footer *footer)
{
    if (memcmp(bytes + 24, FM_NATIVE_END_MAGIC, 8) != 0 || XXH3_64bits(bytes, 16) != fm_load64(bytes + 16))
        return false;
    footer->index_offset = fm_load64(bytes);
    footer->references = fm_load64(bytes + 8);
    return true;
}

/* ======== modules ======== */

/* An entry: from u64 | to u64 | bias u64 | bytes of the path u32 | of the build ID u32 | path | build ID. */
enum { ENTRY_FIXED = 32 };

static bool is_hexadecimal(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return false;
    }
    return true;
}

fm_status fm_native_modules_store(const fm_trace_module *modules, size_t count, uint8_t **bytes, size_t *size,
                                  fm_error *error)
{
    *bytes = NULL;
    *size = 0;
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        const fm_trace_module *module = &modules[i];
        if (!module->path || module->path[0] == '\0' || module->from > module->to)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "module %zu has no path, or ends before it begins; expected both", i);
        if (module->build_id && !is_hexadecimal(module->build_id, strlen(module->build_id)))
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "module %zu has the build ID '%s'; expected hexadecimal digits", i,
                           module->build_id);
        total += ENTRY_FIXED + strlen(module->path) + (module->build_id ? strlen(module->build_id) : 0);
        if (total > FM_NATIVE_MODULES_PAYLOAD_MAX)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "the names of %zu modules exceed the %d bytes that a trace has for them", count,
                           FM_NATIVE_MODULES_PAYLOAD_MAX);
    }
    if (count == 0) return FM_OK;
    uint8_t *at = *bytes = malloc(total);
    if (!at) return fm_fail_memory(error, total, "the module table of the trace");
    for (size_t i = 0; i < count; i++) {
        const fm_trace_module *module = &modules[i];
        size_t path = strlen(module->path), build_id = module->build_id ? strlen(module->build_id) : 0;
        fm_store64(at, module->from);
        fm_store64(at + 8, module->to);
        fm_store64(at + 16, module->bias);
        fm_store32(at + 24, (uint32_t)path);
        fm_store32(at + 28, (uint32_t)build_id);
        memcpy(at + ENTRY_FIXED, module->path, path);
        if (build_id > 0) memcpy(at + ENTRY_FIXED + path, module->build_id, build_id);
        at += ENTRY_FIXED + path + build_id;
    }
    *size = total;
    return FM_OK;
}

/* Copies a string of the payload behind *strings, and moves that on. */
static const char *copy_string(const uint8_t *from, size_t length, char **strings)
{
    char *text = *strings;
    memcpy(text, from, length);
    text[length] = '\0';
    *strings += length + 1;
    return text;
}

bool fm_native_modules_load(const uint8_t *bytes, size_t size, uint32_t count, fm_trace_module **modules,
                            const char **reason)
{
    *modules = NULL;
    *reason = "the module table counts other modules than it has";
    if (count > size / ENTRY_FIXED || (count == 0 && size > 0)) return false;
    /* A string is as long as it is stored, and ends with a zero: the entries' fixed parts are room for those.
     */
    fm_trace_module *found = fm_calloc(1, count * sizeof *found + size + 1);
    if (!found) {
        *reason = NULL;
        return false;
    }
    char *strings = (char *)(found + count);
    const uint8_t *at = bytes, *end = bytes + size;
    for (uint32_t i = 0; i < count; i++) {
        if ((size_t)(end - at) < ENTRY_FIXED) goto wrong;
        uint64_t path = fm_load32(at + 24), build_id = fm_load32(at + 28);
        const uint8_t *text = at + ENTRY_FIXED;
        if (path + build_id > (size_t)(end - text)) goto wrong;
        found[i] =
            (fm_trace_module){.from = fm_load64(at), .to = fm_load64(at + 8), .bias = fm_load64(at + 16)};
        if (path == 0 || memchr(text, '\0', path) || found[i].from > found[i].to ||
            !is_hexadecimal((const char *)text + path, build_id)) {
            *reason = "a module's path, build ID or range of addresses makes no sense";
            goto wrong;
        }
        found[i].path = copy_string(text, path, &strings);
        if (build_id > 0) found[i].build_id = copy_string(text + path, build_id, &strings);
        at = text + path + build_id;
    }
    if (at != end) goto wrong;
    *modules = found;
    *reason = NULL;
    return true;
wrong:
    free(found);
    return false;
}

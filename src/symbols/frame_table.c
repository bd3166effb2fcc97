/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_table.c - see symbol_file.h. Entries of .eh_frame (Linux Standard Base, "Exception Frames"): a common
 * one (CIE) says how addresses are stored, one for each function (FDE) has its beginning and its length.
 * Reads no instructions: unwind.c does.
 */
#include "symbols/symbol_file.h"

#include "base/bytes.h"
#include "base/memory.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

typedef struct common_entry {
    Dwarf_Off offset;
    uint8_t encoding;
} common_entry;

typedef struct frame_reader {
    const GElf_Shdr *header;
    const Elf_Data *data;
    const unsigned char *ident;
    fm_frame_table *table;
    common_entry *common; /* by offset */
    size_t count, capacity;
} frame_reader;

/* ---- how addresses are stored ---- */

/* Bytes of a number; 0: of no fixed size, or unknown. */
static size_t size_of_number(uint8_t encoding)
{
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        return 8;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
        return 4;
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
        return 2;
    default:
        return 0;
    }
}

static uint64_t number_at(const uint8_t *bytes, uint8_t encoding)
{
    const bool is_signed = encoding & DW_EH_PE_signed;
    switch (size_of_number(encoding)) {
    case 8:
        return fm_load64(bytes);
    case 4: {
        const uint32_t value = fm_load32(bytes);
        return is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
    }
    default: {
        const uint16_t value = fm_load16(bytes);
        return is_signed ? (uint64_t)(int64_t)(int16_t)value : value;
    }
    }
}

/* What the letters of a CIE ("zPLR") say of the addresses of code. */
static uint8_t encoding_of(const Dwarf_CIE *entry)
{
    if (entry->augmentation[0] != 'z') return entry->augmentation[0] ? DW_EH_PE_omit : DW_EH_PE_absptr;
    const uint8_t *at = entry->augmentation_data, *end = at + entry->augmentation_data_size;
    for (const char *letter = entry->augmentation + 1; *letter; letter++) {
        if (*letter == 'S' || *letter == 'B') continue; /* no data */
        if (at >= end) return DW_EH_PE_omit;
        const uint8_t byte = *at++;
        if (*letter == 'R') return byte;
        if (*letter == 'L') continue;
        const size_t size = size_of_number(byte);
        if (*letter != 'P' || size == 0 || (size_t)(end - at) < size) return DW_EH_PE_omit;
        at += size;
    }
    return DW_EH_PE_absptr;
}

/* ---- entries ---- */

static fm_status add_common(frame_reader *reader, Dwarf_Off offset, const Dwarf_CIE *entry)
{
    if (fm_array_reserve((void **)&reader->common, &reader->capacity, reader->count + 1,
                         sizeof *reader->common) != 0)
        return FM_E_NOMEM;
    reader->common[reader->count++] = (common_entry){offset, encoding_of(entry)};
    return FM_OK;
}

static uint8_t encoding_at(const frame_reader *reader, Dwarf_Off offset)
{
    size_t low = 0, high = reader->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (reader->common[middle].offset == offset) return reader->common[middle].encoding;
        if (reader->common[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return DW_EH_PE_omit;
}

static fm_status add_function(frame_reader *reader, const Dwarf_FDE *entry)
{
    const uint8_t encoding = encoding_at(reader, entry->CIE_pointer);
    const uint8_t *bytes = entry->start, *first = reader->data->d_buf;
    const size_t size = size_of_number(encoding);
    const unsigned relative = encoding & 0x70;
    if (encoding == DW_EH_PE_omit || encoding & DW_EH_PE_indirect || size == 0 ||
        (relative != 0 && relative != DW_EH_PE_pcrel) || entry->end < bytes ||
        (size_t)(entry->end - bytes) < 2 * size)
        return FM_OK;
    uint64_t low = number_at(bytes, encoding);
    if (relative) low += reader->header->sh_addr + (uint64_t)(bytes - first);
    const uint64_t length = number_at(bytes + size, encoding & 0x0f & ~DW_EH_PE_signed);
    if (low == 0 || length == 0 || low + length < low) return FM_OK; /* dropped by the linker; damaged */
    fm_frame_table *table = reader->table;
    if (fm_array_reserve((void **)&table->list, &table->capacity, table->count + 1, sizeof *table->list) != 0)
        return FM_E_NOMEM;
    table->list[table->count++] = (fm_frame_range){low, low + length};
    return FM_OK;
}

static fm_status read_section(frame_reader *reader)
{
    fm_status status = FM_OK;
    for (Dwarf_Off offset = 0; status == FM_OK;) {
        Dwarf_Off next = offset;
        Dwarf_CFI_Entry entry;
        const int end = dwarf_next_cfi(reader->ident, (Elf_Data *)reader->data, true, offset, &next, &entry);
        if (end > 0 || next <= offset || next == (Dwarf_Off)-1) break;
        if (end == 0 && dwarf_cfi_cie_p(&entry))
            status = add_common(reader, offset, &entry.cie);
        else if (end == 0)
            status = add_function(reader, &entry.fde);
        offset = next;
    }
    return status;
}

static int compare_ranges(const void *a, const void *b)
{
    const fm_frame_range *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return x->high < y->high ? -1 : x->high > y->high;
}

fm_status fm_frame_table_read(fm_frame_table *table, Elf *elf)
{
    size_t names;
    const char *ident = elf_getident(elf, NULL);
    if (!ident || ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB ||
        elf_getshdrstrndx(elf, &names) != 0)
        return FM_OK;
    fm_status status = FM_OK;
    for (Elf_Scn *section = NULL; status == FM_OK && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS || !(header.sh_flags & SHF_ALLOC))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);
        if (!name || strcmp(name, ".eh_frame") != 0) continue;
        const Elf_Data *data = elf_getdata(section, NULL);
        if (!data || !data->d_buf) continue;
        frame_reader reader = {
            .header = &header, .data = data, .ident = (const unsigned char *)ident, .table = table};
        status = read_section(&reader);
        free(reader.common);
    }
    if (table->count > 0) qsort(table->list, table->count, sizeof *table->list, compare_ranges);
    return status;
}

void fm_frame_table_clear(fm_frame_table *table)
{
    free(table->list);
    *table = (fm_frame_table){0};
}

/* ---- looking up ---- */

/* How many begin at or before the address. */
static size_t count_before(const fm_frame_table *table, uint64_t address)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (table->list[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const fm_frame_range *fm_frame_table_find(const fm_frame_table *table, uint64_t address)
{
    const size_t before = count_before(table, address);
    return before > 0 && address < table->list[before - 1].high ? &table->list[before - 1] : NULL;
}

uint64_t fm_frame_table_next(const fm_frame_table *table, uint64_t address)
{
    const size_t before = count_before(table, address);
    return before < table->count ? table->list[before].low : UINT64_MAX;
}

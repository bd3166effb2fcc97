/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - see decoder.h. */
#include "collect/decoder.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Numbers are given in order; one far ahead is damage. */
enum { FIRST_ROOM = 4096, MOST_AHEAD = 1 << 20 };

static fm_status no_block_memory(fm_error *error)
{
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the program's blocks of code");
}

static bool grow_pages(void **pages, size_t had, size_t wanted, size_t size)
{
    void *grown =
        *pages ? fm_pages_resize(*pages, had * size, wanted * size) : fm_pages_allocate(wanted * size);
    if (grown) *pages = grown;
    return grown != NULL;
}

/* Each array is grown by itself, and may be larger than what is counted when another could not be. */
static bool reserve_numbers(fm_blocks *blocks, size_t needed)
{
    size_t wanted = blocks->room ? blocks->room : FIRST_ROOM;
    while (wanted < needed) wanted *= 2;
    if (wanted == blocks->room) return true;
    fm_blocks had = *blocks;
    if (!grow_pages((void **)&blocks->blocks, had.room, wanted, sizeof *blocks->blocks)) return false;
    if (!grow_pages((void **)&blocks->details, had.room, wanted, sizeof *blocks->details)) {
        void *back = had.room ? fm_pages_resize(blocks->blocks, wanted * sizeof *blocks->blocks,
                                                had.room * sizeof *blocks->blocks)
                              : NULL;
        if (!had.room) fm_pages_free(blocks->blocks, wanted * sizeof *blocks->blocks);
        blocks->blocks = back; /* shrinking in place does not fail */
        return false;
    }
    blocks->room = wanted;
    return true;
}

static bool reserve_groups(fm_blocks *blocks, size_t needed)
{
    if (needed <= blocks->group_room) return true;
    size_t wanted = blocks->group_room ? blocks->group_room : FIRST_ROOM;
    while (wanted < needed) wanted *= 2;
    /* One mapping for all three would not grow in place: the last two are small and may be copied. */
    void *marks = realloc(blocks->marks, wanted * sizeof *blocks->marks);
    if (marks) blocks->marks = marks;
    void *sites = realloc(blocks->sites, wanted * FM_GROUP * sizeof *blocks->sites);
    if (sites) blocks->sites = sites;
    if (!marks || !sites ||
        !grow_pages((void **)&blocks->groups, blocks->group_room, wanted, sizeof *blocks->groups))
        return false;
    blocks->group_room = wanted;
    return true;
}

static void define_access(fm_blocks *blocks, fm_code *code, const fm_code_map *map, size_t group, size_t in,
                          uint64_t word, const fm_collect_filter *filter, bool *plain)
{
    uint64_t address = word & UINT64_C(0xFFFFFFFFFFFF);
    unsigned kind = (unsigned)(word >> 60) & 3;
    if (kind > FM_KIND_STORE) kind = FM_KIND_STORE;
    fm_block_group *fields = &blocks->groups[group];
    fm_block_marks *marks = &blocks->marks[group];
    marks->size[in] = (uint16_t)(word >> 48) & 0xFFF;
    fields->size[in] = (uint8_t)marks->size[in];
    if (marks->size[in] > UINT8_MAX) *plain = false;
    marks->kind[in] = (uint8_t)kind;
    blocks->sites[group * FM_GROUP + in] = address;
    if (filter->tags)
        fields->tag[in] = fm_program_site(&code->program, map, address); /* with paths: see fm_blocks_tags */
    bool wanted = kind == FM_KIND_LOAD ? filter->loads : filter->stores;
    if (wanted)
        marks->wanted |= (uint8_t)(1U << in);
    else
        *plain = false;
    if (code->program.function && fm_program_watched(&code->program, map, address) != FM_WATCHED_NOT)
        marks->inlined |= (uint8_t)(1U << in);
}

/* Which words tell of which accesses. shared: the words of those that have none of their own, `left` of them.
 * Returns how many words a block has; 0 where that is impossible, and where it has no accesses. */
static uint32_t define_words(fm_block_group *groups, const uint64_t *told, size_t accesses,
                             const uint64_t *shared, size_t left)
{
    uint32_t words = 0;
    uint64_t in_group = 0, from = 0, reach = 0;
    for (size_t i = 0; i < accesses; i++) {
        fm_block_group *group = &groups[i / FM_GROUP];
        const size_t in = i % FM_GROUP;
        if (in == 0) in_group = from = reach = 0;
        uint64_t which = in_group;
        if (fm_word(&told[i]) & FM_DEFINE_SHARED) {
            if (left == 0) return 0;
            const uint64_t word = fm_word(shared++);
            left--;
            which = word >> 16;
            if (which >= in_group) return 0;
            group->delta[in] = (int16_t)(uint16_t)word;
        } else {
            in_group++;
            words++;
        }
        from |= which << (3 * in);
        reach = (reach & ~(UINT64_C(15) << (4 * in_group))) | (uint64_t)(in + 1) << (4 * in_group);
        /* Accesses that are not there have words of their own, which nobody sees. */
        const uint64_t rest = FM_FROM_OWN & FM_FROM_BITS & ~((UINT64_C(1) << (3 * (in + 1))) - 1);
        group->words = from | rest | reach << FM_REACH_SHIFT | in_group << FM_GROUP_WORDS_SHIFT;
    }
    return words;
}

static unsigned block_flags(const fm_code *code, const fm_code_map *map, unsigned stated, uint64_t begin,
                            uint64_t behind)
{
    unsigned flags = stated | FM_BLOCK_KNOWN;
    if (!code->program.function) return flags;
    if (fm_program_watched(&code->program, map, begin) == FM_WATCHED_IN) flags |= FM_BLOCK_WATCHED;
    if ((stated & FM_BLOCK_CALLS) && behind &&
        fm_program_watched(&code->program, fm_code_map_at(&code->maps, behind - 1), behind - 1) !=
            FM_WATCHED_NOT)
        flags |= FM_BLOCK_CALL_INSIDE;
    return flags;
}

fm_status fm_blocks_define(fm_blocks *blocks, fm_code *code, const uint64_t *words, size_t count,
                           const fm_collect_filter *filter, fm_error *error)
{
    uint64_t head = count >= 4 ? fm_word(&words[0]) : 0;
    uint32_t number = (uint32_t)head, accesses = (uint32_t)(head >> 32) & 0xFFFF;
    unsigned stated = (unsigned)(head >> 48) & 0xFF;
    if (count < 4 || count - 4 < accesses)
        return fm_fail(error, FM_E_CORRUPT, NULL, "a block's definition is cut short");
    if (accesses > FM_BLOCK_ACCESSES)
        return fm_fail(error, FM_E_CORRUPT, NULL, "a block has %" PRIu32 " accesses", accesses);
    if (number >= blocks->group_count + MOST_AHEAD) /* at least one group for each that was defined */
        return fm_fail(error, FM_E_CORRUPT, NULL, "a block has the number %" PRIu32, number);
    size_t groups = accesses / FM_GROUP + 1; /* at least one, which kernels may read */
    if (!reserve_numbers(blocks, (size_t)number + 1) || !reserve_groups(blocks, blocks->group_count + groups))
        return no_block_memory(error);
    uint32_t group = (uint32_t)blocks->group_count;
    memset(&blocks->groups[group], 0, groups * sizeof *blocks->groups);
    memset(&blocks->marks[group], 0, groups * sizeof *blocks->marks);
    memset(&blocks->sites[(size_t)group * FM_GROUP], 0, groups * FM_GROUP * sizeof *blocks->sites);
    const uint32_t told =
        define_words(&blocks->groups[group], words + 4, accesses, words + 4 + accesses, count - 4 - accesses);
    if (accesses > 0 && told == 0)
        return fm_fail(error, FM_E_CORRUPT, NULL, "accesses of a block share what they cannot");
    uint64_t begin = fm_word(&words[2]), behind = fm_word(&words[3]);
    /* The map is copied: it lies in an array that may grow. */
    const fm_code_map *found = fm_code_map_numbered(&code->maps, (uint32_t)fm_word(&words[1]));
    fm_code_map map = found ? *found : (fm_code_map){0};
    bool plain = !(stated & FM_BLOCK_HAS_SP);
    for (size_t i = 0; i < accesses; i++)
        define_access(blocks, code, found ? &map : NULL, group + i / FM_GROUP, i % FM_GROUP,
                      fm_word(&words[4 + i]), filter, &plain);
    blocks->group_count += groups;
    blocks->details[number] = (fm_block_detail){
        .call_behind = behind,
        .count = (uint16_t)accesses,
        .flags = (uint16_t)block_flags(code, found ? &map : NULL, stated, begin, behind),
        .path_node = FM_NONE,
        .words = told,
    };
    const bool one_group = plain && accesses <= FM_GROUP;
    blocks->blocks[number] = (fm_block){.group = group,
                                        .limit = (uint16_t)(plain ? told + 1 : 0),
                                        .whole = (uint8_t)(one_group ? told + 1 : 0),
                                        .accesses = (uint8_t)(one_group ? accesses : 0)};
    if (number >= blocks->count) blocks->count = (size_t)number + 1;
    return FM_OK;
}

const uint32_t *fm_blocks_find_tags(fm_blocks *blocks, fm_code *code, uint32_t number, uint32_t node)
{
    fm_block_detail *detail = &blocks->details[number];
    bool fresh;
    /* A block that is defined again has another group: its old tags are not found under it. */
    fm_intern_entry *entry = fm_intern_table_put(&blocks->paths, blocks->blocks[number].group, node, &fresh);
    if (!entry) return NULL;
    if (fresh) {
        size_t rounded = ((size_t)detail->count / FM_GROUP + 1) * FM_GROUP; /* vectors read that far */
        if (blocks->tag_count + rounded > UINT32_MAX ||
            fm_array_reserve((void **)&blocks->tags, &blocks->tag_capacity, blocks->tag_count + rounded,
                             sizeof *blocks->tags) != 0)
            return NULL;
        entry->value = (uint32_t)blocks->tag_count;
        for (size_t i = 0; i < rounded; i++) {
            size_t group = blocks->blocks[number].group + i / FM_GROUP;
            uint32_t site = i < detail->count ? blocks->groups[group].tag[i % FM_GROUP] : 0;
            blocks->tags[blocks->tag_count++] = fm_program_place(&code->program, site, node);
        }
    }
    detail->path_node = node;
    detail->path_tags = entry->value;
    return blocks->tags + detail->path_tags;
}

void fm_blocks_free(fm_blocks *blocks)
{
    fm_pages_free(blocks->blocks, blocks->room * sizeof *blocks->blocks);
    fm_pages_free(blocks->details, blocks->room * sizeof *blocks->details);
    fm_pages_free(blocks->groups, blocks->group_room * sizeof *blocks->groups);
    free(blocks->marks);
    free(blocks->sites);
    fm_intern_table_free(&blocks->paths);
    free(blocks->tags);
    *blocks = (fm_blocks){0};
}

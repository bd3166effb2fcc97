/* SPDX-License-Identifier: Apache-2.0 */
/* code_lines.c - see code_lines.h. Frames make a tree, the outermost function at its root: a line is a node
 * in it. */
#include "view/code_lines.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/table.h"
#include "view/place_chain.h"

#include <stdlib.h>

typedef struct line_maker {
    fm_arena *texts; /* equal texts, equal pointers */
    fm_table nodes, lines;
} line_maker;

/* *failed is set where memory is short, and stays set. */
static uint64_t word_of(line_maker *by, const char *text, bool *failed)
{
    const char *kept = text ? fm_arena_intern(by->texts, text) : NULL;
    *failed |= text && !kept;
    return (uint64_t)(uintptr_t)kept;
}

/* Whether a reader is shown the frame: the one that is theirs, what it went through, and theirs around it
 * (place_chain.c). */
static bool is_shown(const fm_site *site, size_t own, size_t frame)
{
    const char *file = site->frames[frame].file;
    return frame == own || frame + 1 == own || (frame > own && file && !fm_place_is_system(file));
}

const char *fm_code_system_function(const fm_attribution *of, const fm_site *site, const char **module)
{
    *module = site->module < of->module_count ? of->modules[site->module].path : NULL;
    if (!*module || !fm_module_is_system(*module)) return NULL;
    const fm_frame *last = site->frame_count ? &site->frames[site->frame_count - 1] : NULL;
    return last && last->function ? last->function : site->symbol;
}

static fm_key key_of_site(line_maker *by, const fm_attribution *of, const fm_site *site, bool *failed)
{
    const char *module, *function = fm_code_system_function(of, site, &module);
    if (function) return (fm_key){site->module, UINT64_MAX, word_of(by, function, failed)};
    if (site->frame_count == 0 || site->frames[0].line == 0)
        return (fm_key){site->module, site->address,
                        word_of(by, site->module == FM_NONE ? site->symbol : NULL, failed)};
    uint32_t node = FM_NONE;
    const size_t own = fm_place_own_frame(site);
    for (size_t i = site->frame_count; i-- > 0 && !*failed;) {
        const fm_frame *frame = &site->frames[i];
        if (!is_shown(site, own, i)) continue;
        fm_key key = {word_of(by, frame->function, failed), word_of(by, frame->file, failed),
                      (uint64_t)frame->line << 32 | node};
        node = fm_table_add(&by->nodes, &key);
        *failed |= node == FM_KEY_NONE;
    }
    return (fm_key){UINT64_MAX, node, 0}; /* no module has that number */
}

fm_status fm_code_lines_make(fm_code_lines *lines, const fm_attribution *of, fm_error *error)
{
    line_maker by = {.texts = fm_arena_create(), .nodes = FM_TABLE_OF(fm_key), .lines = FM_TABLE_OF(fm_key)};
    *lines = (fm_code_lines){0, fm_calloc(of->site_count, sizeof(uint32_t)),
                             fm_calloc(of->site_count, sizeof(uint32_t))};
    bool failed = !by.texts || !lines->of_site || !lines->site;
    for (size_t i = 0; i < of->site_count && !failed; i++) {
        fm_key key = key_of_site(&by, of, &of->sites[i], &failed);
        uint32_t line = failed ? FM_KEY_NONE : fm_table_add(&by.lines, &key);
        failed |= line == FM_KEY_NONE;
        if (failed) break;
        if (line == lines->count) lines->site[lines->count++] = (uint32_t)i;
        lines->of_site[i] = line;
    }
    fm_arena_destroy(by.texts);
    fm_table_clear(&by.nodes);
    fm_table_clear(&by.lines);
    if (!failed) return FM_OK;
    fm_code_lines_clear(lines);
    return fm_fail_memory(error, (uint64_t)of->site_count * 64, "lines of code");
}

void fm_code_lines_clear(fm_code_lines *lines)
{
    free(lines->of_site);
    free(lines->site);
    *lines = (fm_code_lines){0};
}

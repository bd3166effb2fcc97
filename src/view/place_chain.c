/* SPDX-License-Identifier: Apache-2.0 */
/* place_chain.c - see place_chain.h. */
#include "view/place_chain.h"

#include "view/text.h"

#include <string.h>

enum { CHAIN_LINES = 3 };

size_t fm_place_own_frame(const fm_site *site)
{
    for (size_t i = 0; i < site->frame_count; i++)
        if (site->frames[i].file && site->frames[i].line && !fm_place_is_system(site->frames[i].file))
            return i;
    return 0;
}

/*
 * Places one behind the other, " < " between them, broken into lines where they do not fit. What the reader
 * did not write (the system's headers and libraries) is passed over with "..." where something else follows.
 */
typedef struct chain {
    const fm_chain_page *page;
    unsigned used, lines;
    size_t left_out; /* no room */
    bool begun, gap;
} chain;

static chain chain_begin(const fm_chain_page *page, const char *word)
{
    fprintf(page->out, "%*s", (int)page->indent, "");
    fm_text_ink(page->out, page->options, FM_INK_DIM);
    fprintf(page->out, "%s ", word);
    fm_text_ink(page->out, page->options, FM_INK_NONE);
    return (chain){.page = page, .used = page->indent + (unsigned)strlen(word) + 1};
}

static void chain_add(chain *to, const fm_frame *frame, uint32_t site)
{
    enum { MORE = 12 }; /* columns for "... 12 more" at the end of the last line */
    if (to->left_out) {
        to->left_out++;
        return;
    }
    const fm_chain_page *page = to->page;
    fm_place_style style = *page->style;
    style.base_names = true;
    bool unicode = page->options->unicode;
    const char *before = unicode ? (to->gap     ? (to->begun ? " ← … ← " : "… ← ")
                                    : to->begun ? " ← "
                                                : "")
                                 : (to->gap     ? (to->begun ? " < ... < " : "... < ")
                                    : to->begun ? " < "
                                                : "");
    unsigned between = fm_text_columns(before, unicode);
    unsigned columns =
        between + (frame ? fm_place_frame_columns(&style, frame) : fm_place_site_columns(&style, site));
    bool last = to->lines == CHAIN_LINES - 1;
    if (last && to->begun && to->used + columns + MORE > page->width) {
        to->left_out++;
        return;
    }
    if (to->begun && to->used + columns > page->width) {
        fprintf(page->out, "\n%*s", (int)(page->indent - 1), "");
        to->used = page->indent - 1;
        last = ++to->lines == CHAIN_LINES - 1;
    }
    fputs(before, page->out);
    to->used += between + (last ? MORE : 0);
    unsigned left = page->width > to->used + 12 ? page->width - to->used : 12;
    to->used += frame ? fm_place_write_frame(page->out, &style, frame, left)
                      : fm_place_write_site(page->out, &style, site, left);
    to->used -= last ? MORE : 0;
    to->begun = true;
    to->gap = false;
}

static void chain_end(const chain *of)
{
    if (of->left_out)
        fprintf(of->page->out, "%s %zu more", of->page->options->unicode ? " …" : " ...", of->left_out);
    putc('\n', of->page->out);
}

static bool is_own_frame(const fm_frame *frame)
{
    return frame->file && !fm_place_is_system(frame->file);
}

void fm_chain_write_inlined(const fm_chain_page *page, const fm_site *site)
{
    size_t shown = fm_place_own_frame(site), own = 0;
    if (shown > 0) { /* the functions of a library have many more inside: the one that was called is enough */
        chain through = chain_begin(page, "through");
        chain_add(&through, &site->frames[shown - 1], FM_NONE);
        chain_end(&through);
    }
    for (size_t i = shown + 1; i < site->frame_count; i++) own += is_own_frame(&site->frames[i]);
    if (own == 0 || site->frames[0].line == 0) return;
    chain into = chain_begin(page, "inlined in");
    for (size_t i = shown + 1; i < site->frame_count; i++)
        if (is_own_frame(&site->frames[i]))
            chain_add(&into, &site->frames[i], FM_NONE);
        else
            into.gap = true;
    chain_end(&into);
}

/* Whether a call was made in code of the reader's own; that may have no debug information. */
static bool is_own_call(const fm_attribution *of, const fm_site *call)
{
    const char *module = call->module == FM_NONE ? NULL : of->modules[call->module].path;
    if (module && fm_module_is_system(module)) return false;
    for (size_t i = 0; i < call->frame_count; i++)
        if (is_own_frame(&call->frames[i])) return true;
    return call->frame_count == 0 && !(call->symbol && strcmp(call->symbol, "_start") == 0);
}

bool fm_chain_write_path(const fm_chain_page *page, uint32_t path)
{
    const fm_attribution *of = page->style->of;
    bool own = false;
    for (uint32_t at = path; at != FM_NONE && !own; at = of->paths[at].parent)
        own = is_own_call(of, &of->sites[of->paths[at].call]);
    if (!own) return false;
    chain calls = chain_begin(page, "called from");
    for (; path != FM_NONE; path = of->paths[path].parent) {
        const fm_site *call = &of->sites[of->paths[path].call];
        if (!is_own_call(of, call))
            calls.gap = true;
        else if (call->frame_count == 0 || call->frames[0].line == 0)
            chain_add(&calls, NULL, of->paths[path].call);
        else
            for (size_t i = 0; i < call->frame_count; i++)
                if (is_own_frame(&call->frames[i]))
                    chain_add(&calls, &call->frames[i], FM_NONE);
                else
                    calls.gap = true;
    }
    chain_end(&calls);
    return true;
}

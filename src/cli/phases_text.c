/* SPDX-License-Identifier: Apache-2.0 */
/* phases_text.c - see phases_text.h. */
#include "phases_text.h"

#include <inttypes.h>

/* Letters for the first kinds, numbers for all. */
static const char *kind_name(uint32_t kind, char *text, size_t size)
{
    if (kind < 26)
        snprintf(text, size, "%c", (char)('A' + kind));
    else
        snprintf(text, size, "%" PRIu32, kind + 1);
    return text;
}

static void show_kinds(const cli_phase_view *shown)
{
    printf("\nkind   phases   references of each   distinct blocks of each   which\n");
    for (uint32_t kind = 0;; kind++) {
        char name[16];
        uint64_t count = 0, references = 0, distinct = 0;
        for (size_t i = 0; i < shown->count; i++)
            if (shown->each[i].kind == kind) {
                count++;
                references += shown->each[i].end - shown->each[i].begin;
                distinct += shown->each[i].distinct;
            }
        if (count == 0) return;
        printf("%-4s %8" PRIu64 " %20" PRIu64 " %25" PRIu64 "  ", kind_name(kind, name, sizeof name), count,
               references / count, distinct / count);
        size_t listed = 0;
        for (size_t i = 0; i < shown->count && listed < 12; i++)
            if (shown->each[i].kind == kind && ++listed <= 12) printf(" %zu", i + 1);
        printf("%s\n", count > listed ? " ..." : "");
    }
}

static void show_phases(const cli_phase_view *shown, uint64_t top)
{
    const bool inner = shown->level > 1;
    uint64_t outside = shown->phases->phases[shown->phases->count - 1].end;
    printf("\nphase         begins at      references   distinct blocks     first touches   kind%s\n",
           inner ? "   inside" : "");
    for (size_t i = 0; i < shown->count && i < top; i++) {
        const fm_trace_phase *phase = &shown->each[i];
        char name[16];
        printf("%5zu %17" PRIu64 " %15" PRIu64 " %17" PRIu64 " %17" PRIu64 "   ", i + 1, phase->begin,
               phase->end - phase->begin, phase->distinct, phase->cold);
        if (inner)
            printf("%-4s %8zu\n", kind_name(phase->kind, name, sizeof name), phase->parent + 1);
        else
            printf("%s\n", kind_name(phase->kind, name, sizeof name));
    }
    if (shown->count > top)
        printf("and %zu more (--top shows more, --json has all)\n", shown->count - (size_t)top);
    for (size_t i = 0; i < shown->count; i++) outside -= shown->each[i].end - shown->each[i].begin;
    if (outside > 0)
        printf("%" PRIu64 " references are in phases of the levels above that have none inside\n", outside);
}

/* The kinds in order: a line for each level, those inside one phase together. */
static void show_outline(const cli_phase_view *shown)
{
    enum { WIDTH = 64 };
    const fm_phases *phases = shown->phases;
    printf("\nlevel   phases   their kinds, in order\n");
    for (size_t level = 1; level <= shown->levels; level++) {
        const size_t count = level > 1 ? phases->inner[level - 2].count : phases->count;
        const fm_trace_phase *each = level > 1 ? phases->inner[level - 2].phases : phases->phases;
        printf("%5zu %8zu   ", level, count);
        size_t i = 0;
        for (int used = 0; i < count && used < WIDTH; i++) {
            char name[16];
            const bool apart =
                i > 0 && (level == 1 || each[i].parent != each[i - 1].parent || each[i].kind > 25);
            used += printf("%s%s", apart ? " " : "", kind_name(each[i].kind, name, sizeof name));
        }
        printf("%s%s\n", i < count ? " ..." : "", level == shown->level ? "   <- shown below" : "");
    }
}

void cli_show_phases(const fm_profile *whole, const cli_phase_view *shown, uint64_t top)
{
    const fm_phases *phases = shown->phases;
    size_t samples = 0;
    for (size_t i = 0; i < phases->sample_count; i++) samples += phases->samples[i].count;
    const fm_view_options view = cli_view_options();
    printf("phases of   ");
    fm_view_text(stdout, whole->name, &view);
    printf("\nreferences  %" PRIu64 "\nthreshold   %" PRIu64
           " blocks: %zu blocks were watched, which came back from further away %zu times\nphases      "
           "%zu%s\n",
           whole->references, phases->threshold, phases->sample_count, samples, phases->count,
           shown->levels > 1 ? " on level 1" : "");
    if (phases->cut == FM_CUT_AT_CHANGES && shown->levels + phases->count > 2)
        printf("cut at      changes of the distances, or of the data in use\n");
    else if (phases->cut == FM_CUT_AT_PEAKS && phases->sample_count > 0)
        printf("cut at      the peaks of block %" PRIu64 "\n", phases->samples[0].block);
    if (shown->levels > 1) {
        printf("levels      %zu: the phases have phases inside. Shown is level %zu (--depth shows another)\n",
               shown->levels, shown->level);
        show_outline(shown);
    } else {
        printf("levels      1: none has phases inside\n");
    }
    show_kinds(shown);
    show_phases(shown, top);
}

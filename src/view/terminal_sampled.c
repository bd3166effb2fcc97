/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_sampled.c - the first screen of a sampled run: what was seen and how sure it is, then the misses
 * at each cache with their band and where most of them are.
 */
#include <fathom/view.h>

#include "base/error.h"
#include "base/sized.h"
#include "profile/attribution_check.h"
#include "view/cache_fit.h"
#include "view/late_pairs.h"
#include "view/place_chain.h"
#include "view/place_text.h"
#include "view/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- words, broken between them where they are wider than the terminal ---- */

typedef struct paragraph {
    FILE *out;
    unsigned width, used;
} paragraph;

static void put_word(paragraph *text, const char *word, size_t length)
{
    if (text->used > 0 && text->used + 1 + length > text->width) {
        putc('\n', text->out);
        text->used = 0;
    }
    if (text->used > 0) putc(' ', text->out);
    fwrite(word, 1, length, text->out);
    text->used += (unsigned)length + (text->used > 0);
}

__attribute__((format(printf, 2, 3))) static void put_words(paragraph *text, const char *format, ...)
{
    char buffer[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    for (const char *at = buffer; *at;) {
        const size_t length = strcspn(at, " ");
        if (length > 0) put_word(text, at, length);
        at += length + (at[length] == ' ');
    }
}

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static void write_summary(FILE *out, const fm_profile *profile, const fm_sampled_facts *facts,
                          const fm_view_options *options)
{
    paragraph text = {.out = out, .width = options->width ? options->width : 80};
    const fm_sampling *sampling = profile->sampling;
    char name[300];
    fm_visible_text(base_name(profile->name), false, name, sizeof name);
    put_words(&text, "%s, %.1f s, %s thread%s, slowed by %s: sampled, %s,", name, facts->seconds,
              fm_text_count(facts->threads).text, facts->threads == 1 ? "" : "s",
              fm_text_percent(facts->share).text, facts->clock);
    const uint64_t bursts = sampling ? sampling->bursts : 0;
    const uint64_t watches = sampling ? sampling->used + sampling->replaced + sampling->never : 0;
    put_words(&text, "%s burst%s,", fm_text_count(bursts).text, bursts == 1 ? "" : "s");
    put_words(&text, "%s watch%s;", watches ? fm_text_count(watches).text : "no", watches == 1 ? "" : "es");
    if (sampling && sampling->burst_time > 0)
        put_words(&text, "exact in bursts of up to %s accesses, estimated beyond",
                  fm_text_count(sampling->burst_time).text);
    putc('\n', out);
    if (profile->complete || !profile->what_missing) return;
    fm_text_ink(out, options, FM_INK_WARNING);
    fputs("INCOMPLETE  ", out);
    fm_text_ink(out, options, FM_INK_NONE);
    fm_text_write_name(out, profile->what_missing, options->unicode);
    putc('\n', out);
}

/* ---- where most of the misses are ---- */

static fm_status worst_line(const fm_profile *profile, uint64_t blocks, uint32_t *site, fm_error *error)
{
    fm_late_pairs late;
    *site = FM_NONE;
    fm_status status = fm_late_pairs_make(&late, profile->attribution, blocks, 1, error);
    if (status != FM_OK) return status;
    double *misses = calloc(late.lines.count + 1, sizeof *misses), most = 0;
    if (!misses) status = fm_fail_memory(error, late.lines.count * sizeof *misses, "the lines");
    for (size_t i = 0; i < late.count && misses; i++) {
        const uint32_t line = late.pairs[i].reuse;
        if (line == FM_NONE) continue;
        misses[line] += late.pairs[i].late;
        if (misses[line] <= most) continue;
        most = misses[line];
        *site = late.lines.site[line];
    }
    free(misses);
    fm_late_pairs_clear(&late);
    return status;
}

static void write_place(FILE *out, const fm_profile *profile, uint32_t number, unsigned columns,
                        const fm_view_options *options)
{
    fm_place_style style;
    fm_place_style_set(&style, profile->attribution, options->unicode);
    style.base_names = true;
    const fm_site *site = &profile->attribution->sites[number];
    const size_t own = fm_place_own_frame(site);
    if (own > 0)
        fm_place_write_frame(out, &style, &site->frames[own], columns);
    else
        fm_place_write_site(out, &style, number, columns);
}

static fm_status write_row(FILE *out, const fm_profile *profile, const fm_cache *cache,
                           const fm_view_options *options, fm_error *error)
{
    enum { LEFT = 48 };
    const unsigned width = options->width ? options->width : 80;
    const fm_cache_fit fit = fm_cache_fit_make(profile, cache);
    char name[sizeof cache->name + 1] = {0}, band[64] = "";
    memcpy(name, cache->name, strnlen(cache->name, sizeof cache->name));
    if (fit.has_band) snprintf(band, sizeof band, "(%.1f to %.1f)", 100 * fit.least, 100 * fit.most);
    fprintf(out, "%-8.8s %11s %9s  %-16s", name, fm_text_bytes(cache->bytes, 1).text,
            fm_text_percent(fit.ratio).text, band);
    uint32_t site = FM_NONE;
    fm_status status = FM_OK;
    const double late = fit.misses.expected - (double)profile->cold;
    if (profile->attribution && profile->attribution->site_count > 0)
        status = worst_line(profile, fit.blocks, &site, error);
    if (late <= (double)profile->cold && profile->cold > 0) {
        fputs("  data that is used once", out);
    } else if (site != FM_NONE) {
        fputs("  ", out);
        write_place(out, profile, site, width > LEFT + 20 ? width - LEFT : 20, options);
    }
    putc('\n', out);
    return status;
}

fm_status fm_view_sampled_sized(FILE *out, const fm_profile *profile, const fm_cache *caches, size_t count,
                                const fm_sampled_facts *given_facts, size_t facts_size,
                                const fm_view_options *given, size_t given_size, fm_error *error)
{
    const fm_view_options options = fm_text_options(given, given_size);
    fm_sampled_facts facts = {0};
    fm_sized_copy(&facts, sizeof facts, given_facts, facts_size);
    if (!facts.clock) facts.clock = "no clock";
    char why[200];
    fm_status status = FM_OK;
    if (profile->attribution && !fm_attribution_sound(profile, why, sizeof why))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "the profile's attribution contradicts itself: %s", why);
    write_summary(out, profile, &facts, &options);
    if (count == 0) return FM_OK;
    const bool band = profile->accuracy && profile->accuracy->band_count > 0;
    fm_text_ink(out, &options, FM_INK_DIM);
    fprintf(out, "\n%-8s %11s %9s  %-16s  %s\n", "cache", "size", "misses", band ? "(95 % band)" : "",
            profile->attribution ? "most of them at" : "");
    fm_text_ink(out, &options, FM_INK_NONE);
    for (size_t i = 0; i < count && status == FM_OK; i++)
        status = write_row(out, profile, &caches[i], &options, error);
    fprintf(out, "misses: of some %s references to blocks of %s bytes; fully associative LRU\n",
            fm_text_count(profile->references).text, fm_text_count(profile->granularity).text);
    return status;
}

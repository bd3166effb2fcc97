/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_caches.c - miss ratios at given caches.
 *
 * The set-associative column is an estimate and called one. It needs to know the ways, and blocks
 * that are as large as the cache's lines; else it stays empty and a note says why.
 */
#include "view/cache_fit.h"
#include "view/text.h"

fm_cache_fit fm_cache_fit_make(const fm_profile *profile, const fm_cache *cache)
{
    fm_cache_fit fit = {0};
    fit.blocks = profile->granularity ? cache->bytes / profile->granularity : 0;
    fit.misses = fm_profile_misses(profile, fit.blocks);
    fit.ratio = profile->references ? fit.misses.expected / (double)profile->references : 0;
    fit.has_band = fm_profile_band(profile, fit.blocks, &fit.least, &fit.most);
    if (cache->ways == 0) return fit;
    if (cache->line && cache->line != profile->granularity) {
        fit.other_line = true;
        return fit;
    }
    fit.sets = fit.blocks / cache->ways;
    if (fit.sets == 0 || !fit.misses.known) return fit;
    fit.estimated = true;
    fit.estimate = profile->references ? fm_profile_misses_associative(profile, fit.sets, cache->ways) /
                                             (double)profile->references
                                       : 0;
    return fit;
}

void fm_view_caches_sized(size_t given_size, FILE *out, const fm_profile *profile, const fm_cache *caches,
                          size_t count, const fm_view_options *given)
{
    const fm_view_options known = fm_text_options(given, given_size), *options = &known;
    if (count == 0) return;
    bool other_line = false, unknown = false;
    const bool band = profile->accuracy && profile->accuracy->band_count > 0;
    /* What comes from a program is memory, cut into single bytes. */
    const bool keys =
        profile->elements || (profile->granularity == 1 && !profile->run && !profile->attribution);
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "%-12s %10s %13s %5s %12s %20s%s\n", "cache", "size", "blocks", "ways", "miss ratio",
            "with sets (estimate)", band ? "   between" : "");
    fm_text_ink(out, options, FM_INK_NONE);
    for (size_t i = 0; i < count; i++) {
        const fm_cache *cache = &caches[i];
        fm_cache_fit fit = fm_cache_fit_make(profile, cache);
        fm_text_write_name(out, cache->name, options->unicode);
        size_t length = 0;
        while (length < sizeof cache->name && cache->name[length]) length++;
        fprintf(out, "%*s", length < 12 ? (int)(12 - length) : 0, "");
        fprintf(out, " %10s %13s ",
                (keys ? fm_text_scaled(cache->bytes) : fm_text_bytes(cache->bytes, 1)).text,
                fm_text_count(fit.blocks).text);
        if (cache->ways)
            fprintf(out, "%5llu", (unsigned long long)cache->ways);
        else
            fprintf(out, "%5s", "-");
        fprintf(out, " %12s", fit.misses.known ? fm_text_percent(fit.ratio).text : "unknown");
        fprintf(out, " %20s", fit.estimated ? fm_text_percent(fit.estimate).text : "-");
        if (fit.has_band)
            fprintf(out, "   %s and %s", fm_text_percent(fit.least).text, fm_text_percent(fit.most).text);
        putc('\n', out);
        other_line |= fit.other_line;
        unknown |= !fit.misses.known;
    }
    fprintf(out, "miss ratio: fully associative LRU, of all %s references\n",
            fm_text_count(profile->references).text);
    if (profile->elements)
        fputs("size: in elements, not bytes: an access is one reference to its address, whatever its size\n",
              out);
    else if (keys)
        fputs("size: in keys, not bytes: with granularity 1 a block is one key (in a trace of memory, a "
              "byte)\n",
              out);
    if (band)
        fprintf(out, "between: where the miss ratio lies with %.0f %% confidence, at each size by itself\n",
                profile->accuracy->confidence * 100);
    fputs("with sets: an estimate, by Hill & Smith's binomial model (sets chosen at random)\n", out);
    if (other_line)
        fprintf(out,
                "no estimate where the cache's line is not the profile's block of %s byte%s:\n"
                "analyze with the line's size as the granularity\n",
                fm_text_count(profile->granularity).text, profile->granularity == 1 ? "" : "s");
    if (unknown)
        fprintf(out, "unknown: larger than the profile's bound of %s blocks\n",
                fm_text_count(profile->bound).text);
}

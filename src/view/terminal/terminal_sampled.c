/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_sampled.c - what was seen of a sampled run, and what it cost: a paragraph above the verdict.
 */
#include <fathom/view.h>

#include "base/sized.h"
#include "view/text.h"

#include <stdarg.h>
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
    char beside[80] = "";
    if (facts->received > 0)
        snprintf(beside, sizeof beside, " (and %s beside it)", fm_text_short_percent(facts->received).text);
    put_words(&text, "%s, %.1f s, %s thread%s, slowed by %s%s: sampled, %s,", name, facts->seconds,
              fm_text_count(facts->threads).text, facts->threads == 1 ? "" : "s",
              fm_text_short_percent(facts->share).text, beside, facts->clock);
    const uint64_t bursts = sampling ? sampling->bursts : 0;
    const uint64_t watches = sampling ? sampling->used + sampling->replaced + sampling->never : 0;
    if (sampling && bursts == 0 && strcmp(sampling->method, "pmu") == 0) {
        const uint64_t accesses = watches + sampling->not_armed;
        put_words(&text, "%s access%s,", fm_text_count(accesses).text, accesses == 1 ? "" : "es");
    } else {
        put_words(&text, "%s burst%s,", fm_text_count(bursts).text, bursts == 1 ? "" : "s");
    }
    const bool exact = sampling && sampling->burst_time > 0;
    put_words(&text, "%s watch%s%s", watches ? fm_text_count(watches).text : "no", watches == 1 ? "" : "es",
              exact || bursts > 0 ? ";" : "");
    if (exact)
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

void fm_view_sampled_sized(size_t facts_size, size_t given_size, FILE *out, const fm_profile *profile,
                           const fm_sampled_facts *given_facts, const fm_view_options *given)
{
    const fm_view_options options = fm_text_options(given, given_size);
    fm_sampled_facts facts = {0};
    fm_sized_copy(&facts, sizeof facts, given_facts, facts_size);
    if (!facts.clock) facts.clock = "no clock";
    write_summary(out, profile, &facts, &options);
}

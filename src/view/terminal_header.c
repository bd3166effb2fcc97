/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_header.c - what a profile covers, in a few lines: no number is printed without it. What is
 * missing is said in capitals.
 */
#include "view/text.h"

#include <inttypes.h>

static void label(FILE *out, const fm_view_options *options, const char *text)
{
    fm_text_ink(out, options, FM_INK_DIM);
    fprintf(out, "%-12s", text);
    fm_text_ink(out, options, FM_INK_NONE);
}

static void warning(FILE *out, const fm_view_options *options, const char *text)
{
    fm_text_ink(out, options, FM_INK_WARNING);
    fprintf(out, "%-12s", text);
    fm_text_ink(out, options, FM_INK_NONE);
}

void fm_view_header(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    label(out, options, "profile of");
    fm_text_ink(out, options, FM_INK_BOLD);
    fm_text_write_name(out, profile->name, options->unicode);
    fm_text_ink(out, options, FM_INK_NONE);
    putc('\n', out);

    label(out, options, "references");
    fprintf(out, "%s\n", fm_text_count(profile->references).text);

    label(out, options, "distinct");
    const char *least = profile->cold_known ? "" : "at least ";
    fprintf(out, "%s%s blocks", least, fm_text_count(profile->distinct).text);
    if (profile->granularity > 1)
        fprintf(out, " of %s bytes: a footprint of %s%s", fm_text_count(profile->granularity).text, least,
                fm_text_bytes(profile->distinct, profile->granularity).text);
    putc('\n', out);

    label(out, options, "cold");
    fprintf(out, "%s%s first touches", least, fm_text_count(profile->cold).text);
    if (profile->references)
        fprintf(out, ", %s of the references",
                fm_text_percent((double)profile->cold / (double)profile->references).text);
    putc('\n', out);

    if (profile->bound) {
        label(out, options, "bound");
        fprintf(out, "distances from %s blocks on are counted as one: %s beyond\n",
                fm_text_count(profile->bound).text, fm_text_count(profile->beyond).text);
        if (!profile->cold_known) {
            warning(out, options, "UNKNOWN");
            fputs("first touches among the references beyond the bound: memory to tell them ran out\n", out);
        }
    }
    label(out, options, "engine");
    fm_text_write_name(out, profile->engine, options->unicode);
    fprintf(out, ", %s; %s bins\n", profile->exact ? "every distance exact" : "distances estimated",
            fm_bins_name(profile->bins));
    if (!profile->complete) {
        warning(out, options, "INCOMPLETE");
        if (profile->lost)
            fprintf(out, "%s references are known to be missing", fm_text_count(profile->lost).text);
        else
            fputs("an unknown number of references is missing", out);
        if (profile->what_missing) {
            fputs(": ", out);
            fm_text_write_name(out, profile->what_missing, options->unicode);
        }
        putc('\n', out);
    }
}

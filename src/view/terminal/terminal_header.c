/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal_header.c - what a profile covers, in a few lines: no number is printed without it. What is
 * missing is said in capitals.
 */
#include "view/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void text_line(FILE *out, const fm_view_options *options, const char *name, const char *text)
{
    if (!text || !text[0]) return;
    label(out, options, name);
    fm_text_write_name(out, text, options->unicode);
    putc('\n', out);
}

/* Which part of which run, and how that went. */
static void write_run(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    const fm_run *run = profile->run;
    if (!profile->name || !run->command || strcmp(profile->name, run->command) != 0)
        text_line(out, options, "command", run->command);
    if (run->process || run->thread) {
        label(out, options, run->thread ? "thread" : "process");
        if (run->thread) fprintf(out, "%" PRIu32 "%s", run->thread, run->process ? " of process " : "");
        if (run->process) fprintf(out, "%" PRIu32, run->process);
        if (run->parent && !run->thread) fprintf(out, ", started by %" PRIu32, run->parent);
        if (run->by_exec && !run->thread) fputs(", by exec", out);
        putc('\n', out);
    }
    if (run->what || run->collector) {
        label(out, options, "watched");
        fm_text_write_name(out, run->what ? run->what : "", options->unicode);
        if (run->collector) {
            fputs(run->what ? ", by " : "by ", out);
            fm_text_write_name(out, run->collector, options->unicode);
        }
        putc('\n', out);
    }
    if (run->ending || run->seconds > 0) {
        label(out, options, "ended");
        fm_text_write_name(out, run->ending ? run->ending : "", options->unicode);
        if (run->seconds > 0) fprintf(out, "%safter %.2f s", run->ending ? ", " : "", run->seconds);
        putc('\n', out);
    }
}

/* One line of the notes, behind its label. */
static void write_note(FILE *out, const char *note, size_t length, const fm_view_options *options)
{
    fm_text_write_wrapped(out, note, length, 12, options);
    putc('\n', out);
}

/* A number as numbers are shown, or a formula. */
static void write_count(FILE *out, const char *count, const char *what, const fm_view_options *options)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(count, &end, 10);
    if (*end || end == count || errno)
        fm_text_write_name(out, count, options->unicode);
    else
        fputs(fm_text_count(number).text, out);
    fputs(what, out);
}

/* Which source code it was computed from, and how sure that is. */
static void write_kernel(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    const fm_kernel *kernel = profile->kernel;
    if (kernel->file) {
        label(out, options, "source");
        fm_text_write_name(out, kernel->file, options->unicode);
        if (kernel->first_line) fprintf(out, ":%" PRIu32 "-%" PRIu32, kernel->first_line, kernel->last_line);
        putc('\n', out);
    }
    text_line(out, options, "parameters", kernel->parameters);
    if (kernel->loads && kernel->stores) {
        label(out, options, "does");
        write_count(out, kernel->loads, " loads, ", options);
        write_count(out, kernel->stores, " stores", options);
        if (kernel->flops && strcmp(kernel->flops, "0") != 0) {
            fputs(", ", out);
            write_count(out, kernel->flops, " flops", options);
        }
        putc('\n', out);
    }
    if (kernel->certainty) {
        char text[600];
        const char *method =
            profile->exact && kernel->method ? kernel->method : NULL; /* else with the accuracy */
        snprintf(text, sizeof text, "%s%s%s; %s rows; %.2f s", kernel->certainty, method ? ": " : "",
                 method ? method : "", kernel->layout ? kernel->layout : "contiguous", kernel->seconds);
        label(out, options, "certainty");
        write_note(out, text, strlen(text), options);
    }
}

static void write_notes(FILE *out, const char *notes, const fm_view_options *options)
{
    while (notes && *notes) {
        size_t length = strcspn(notes, "\n");
        if (strspn(notes, " ") < length) {
            label(out, options, "note");
            write_note(out, notes, length, options);
        }
        notes += length + (notes[length] == '\n');
    }
}

void fm_view_header(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    label(out, options, "profile of");
    fm_text_ink(out, options, FM_INK_BOLD);
    fm_text_write_name(out, profile->name, options->unicode);
    fm_text_ink(out, options, FM_INK_NONE);
    putc('\n', out);
    if (profile->run) write_run(out, profile, options);
    if (profile->kernel) write_kernel(out, profile, options);

    label(out, options, "references");
    fprintf(out, "%s\n", fm_text_count(profile->references).text);

    label(out, options, "distinct");
    const char *least = profile->cold_known ? "" : "at least ";
    fprintf(out, "%s%s %s", least, fm_text_count(profile->distinct).text,
            profile->elements ? "elements: addresses, whatever the accesses' sizes" : "blocks");
    if (profile->granularity > 1)
        fprintf(out, " of %s bytes: a footprint of %s%s", fm_text_count(profile->granularity).text, least,
                fm_text_bytes(profile->distinct, profile->granularity).text);
    putc('\n', out);

    label(out, options, "cold");
    fprintf(out, "%s%s %s", least, fm_text_count(profile->cold).text, fm_text_cold(profile));
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
    if (!profile->exact) {
        const char *statement = profile->accuracy ? profile->accuracy->statement : "nothing is promised";
        warning(out, options, "APPROXIMATE");
        write_note(out, statement, strlen(statement), options);
    }
    if (profile->stage_count) {
        label(out, options, "time");
        for (size_t i = 0; i < profile->stage_count; i++)
            fprintf(out, "%s%s %.3f s", i ? ", " : "", profile->stages[i].name, profile->stages[i].seconds);
        putc('\n', out);
    }
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
    if (profile->run) write_notes(out, profile->run->notes, options);
    if (profile->kernel) write_notes(out, profile->kernel->notes, options);
}

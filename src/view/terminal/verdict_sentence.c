/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_sentence.c - see verdict_sentence.h. */
#define _GNU_SOURCE
#include "view/terminal/verdict_sentence.h"
#include "base/base_name.h"

#include "view/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- a text that grows; what does not fit is left out ---- */

typedef struct sentence {
    char text[2000];
} sentence;

__attribute__((format(printf, 2, 3))) static void say(sentence *to, const char *format, ...)
{
    size_t used = strlen(to->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(to->text + used, sizeof to->text - used, format, arguments);
    va_end(arguments);
}

static void write(FILE *out, const char *text, unsigned indent, const fm_view_options *options)
{
    fm_text_write_wrapped(out, text, strlen(text), indent, options);
    putc('\n', out);
}

/* ---- which program, trace or source ---- */

static void say_exactness(sentence *to, const fm_profile *profile)
{
    say(to, "%s", profile->exact ? "exact" : "estimated");
    if (profile->bound) say(to, " below %s blocks", fm_text_count(profile->bound).text);
}

static void say_run(sentence *to, const fm_profile *profile)
{
    const fm_run *run = profile->run;
    const char *name = profile->name ? profile->name : run->command ? run->command : "the program";
    say(to, "%s", fm_base_name(name));
    if (run->thread) say(to, ", thread %" PRIu32, run->thread);
    if (run->ending) say(to, " %s", run->ending);
}

static void say_counts(sentence *to, const fm_profile *profile)
{
    say(to, ": %s reference%s", fm_text_short((double)profile->references).text,
        profile->references == 1 ? "" : "s");
    const uint64_t samples = fm_text_samples_of_footprint(profile);
    if (samples < FM_FEWEST_SAMPLES)
        say(to, " to an unknown number of blocks (%" PRIu64 " sample%s of it)", samples,
            samples == 1 ? "" : "s");
    else if (profile->granularity > 1)
        say(to, " to %s", fm_text_bytes(profile->distinct, profile->granularity).text);
    else
        say(to, " to %s %s", fm_text_short((double)profile->distinct).text,
            profile->elements ? "elements" : "blocks");
    const bool all =
        !profile->run || !profile->run->what || strcmp(profile->run->what, "all references") == 0;
    if (!all)
        say(to, ", %s", profile->run->what);
    else if (profile->run && profile->complete)
        say(to, ", every one seen");
    say(to, ", ");
    say_exactness(to, profile);
}

/* A number as numbers are shown, or a formula; nothing of what is not done. */
static void say_count(sentence *to, const char **before, const char *count, const char *what)
{
    char *end;
    if (!count || strcmp(count, "0") == 0) return;
    errno = 0;
    unsigned long long number = strtoull(count, &end, 10);
    const bool formula = *end || end == count || errno;
    say(to, "%s%s%s", *before, formula ? count : fm_text_short((double)number).text, what);
    *before = ", ";
}

static void say_kernel(sentence *to, const fm_profile *profile)
{
    const fm_kernel *kernel = profile->kernel;
    if (kernel->function) say(to, "%s", kernel->function);
    if (kernel->file) {
        say(to, "%s%s", kernel->function ? " (" : "", fm_base_name(kernel->file));
        if (kernel->first_line) say(to, ":%" PRIu32 "-%" PRIu32, kernel->first_line, kernel->last_line);
        if (kernel->function) say(to, ")");
    }
    if (kernel->parameters && kernel->parameters[0]) say(to, ", %s", kernel->parameters);
    if (kernel->loads) {
        const char *before = ": ";
        say_count(to, &before, kernel->loads, " loads");
        say_count(to, &before, kernel->stores, " stores");
        say_count(to, &before, kernel->flops, " flops");
        if (before[0] == ':') say(to, ": it touches nothing");
    } else {
        say(to, ": %s references", fm_text_short((double)profile->references).text);
    }
}

/* How sure a profile of source code is. */
static void write_certainty(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    const fm_kernel *kernel = profile->kernel;
    sentence how = {""};
    const char *method = profile->exact ? kernel->method : NULL; /* else it is in the accuracy */
    say(&how, "%s%s%s; %s rows; %.2f s", kernel->certainty ? kernel->certainty : "exact", method ? ": " : "",
        method ? method : "", kernel->layout ? kernel->layout : "contiguous", kernel->seconds);
    write(out, how.text, 0, options);
}

/* ---- what limits it ---- */

static void write_warning(FILE *out, const char *word, const char *text, const fm_view_options *options)
{
    fm_text_ink(out, options, FM_INK_WARNING);
    fputs(word, out);
    fm_text_ink(out, options, FM_INK_NONE);
    putc(' ', out);
    write(out, text, (unsigned)strlen(word) + 1, options);
}

static void write_notes(FILE *out, const char *notes, const fm_view_options *options)
{
    while (notes && *notes) {
        size_t length = strcspn(notes, "\n");
        if (strspn(notes, " ") < length) {
            fm_text_ink(out, options, FM_INK_DIM);
            fputs("note ", out);
            fm_text_ink(out, options, FM_INK_NONE);
            fm_text_write_wrapped(out, notes, length, 5, options);
            putc('\n', out);
        }
        notes += length + (notes[length] == '\n');
    }
}

void fm_verdict_sentence(FILE *out, const fm_profile *profile, const fm_view_options *options)
{
    sentence first = {""};
    if (profile->kernel) {
        say_kernel(&first, profile);
    } else if (profile->run) {
        say_run(&first, profile);
        say_counts(&first, profile);
    } else {
        say(&first, "%s", profile->name ? fm_base_name(profile->name) : "(unnamed)");
        say_counts(&first, profile);
    }
    fm_text_ink(out, options, FM_INK_BOLD);
    fm_text_write_wrapped(out, first.text, strlen(first.text), 0, options);
    fm_text_ink(out, options, FM_INK_NONE);
    putc('\n', out);
    if (profile->kernel) write_certainty(out, profile, options);
    if (!profile->exact)
        write_warning(out, "APPROXIMATE",
                      profile->accuracy ? profile->accuracy->statement : "nothing is promised", options);
    if (!profile->complete) {
        sentence missing = {""};
        if (profile->lost)
            say(&missing, "%s references are known to be missing", fm_text_count(profile->lost).text);
        else
            say(&missing, "an unknown number of references is missing");
        if (profile->what_missing) say(&missing, ": %s", profile->what_missing);
        write_warning(out, "INCOMPLETE", missing.text, options);
    }
    if (!profile->cold_known)
        write_warning(out, "UNKNOWN",
                      "first touches among the references beyond the bound: memory to tell them ran out",
                      options);
    if (profile->run && !options->notes_shown) write_notes(out, profile->run->notes, options);
    if (profile->kernel) write_notes(out, profile->kernel->notes, options);
}

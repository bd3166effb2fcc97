/* SPDX-License-Identifier: Apache-2.0 */
/* static_region.c - the region that fathom static is asked about: the source is read, parameters get values.
 */
#include "static/static_run.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int split_parameters(cli_static_run *run, const char *all)
{
    if (!all[0]) return -1;
    char *rest = run->texts[0] = strdup(all);
    if (!rest) return cli_out_of_memory();
    while (rest) {
        char *name = strsep(&rest, ","), *value = strchr(name, '='), *end;
        if (run->parameter_count == CLI_MOST_PARAMETERS)
            return cli_misuse("--param: at most %d parameters", CLI_MOST_PARAMETERS);
        if (!value || value == name) return cli_misuse("--param: expected NAME=VALUE, found '%s'", name);
        *value++ = '\0';
        errno = 0;
        long long number = strtoll(value, &end, 0);
        if (end == value || *end || errno || isspace((unsigned char)value[0]))
            return cli_misuse("--param %s: expected a whole number, found '%s'", name, value);
        for (size_t i = 0; i < run->parameter_count; i++)
            if (strcmp(run->parameters[i].name, name) == 0 && run->parameters[i].value != number)
                return cli_misuse("--param %s: given twice, with different values", name);
        run->parameters[run->parameter_count++] = (cli_given){.name = name, .value = number};
    }
    return -1;
}

static int split_assumptions(cli_static_run *run, const char *all)
{
    if (!all[0]) return -1;
    char *rest = run->texts[1] = strdup(all);
    if (!rest) return cli_out_of_memory();
    for (size_t count = 0; rest; count++) {
        if (count == CLI_MOST_ASSUMPTIONS) return cli_misuse("--assume: at most %d", CLI_MOST_ASSUMPTIONS);
        run->assumptions[count] = strsep(&rest, ",");
    }
    return -1;
}
int cli_static_split(cli_static_run *run)
{
    int code = split_parameters(run, run->options->parameters.text);
    return code < 0 ? split_assumptions(run, run->options->assumptions.text) : code;
}

static fm_status open_as(cli_static_run *run, bool scalars, fm_region **region, fm_error *error)
{
    enum { READING_LEAST = 5 }; /* seconds: a small --limit-time is about the analysis */
    const double limit = run->options->limit;
    const fm_region_options options = {
        .language = run->options->language,
        .function = run->options->function,
        .flags = run->flags,
        .scalars = scalars,
        .assumptions = run->assumptions,
        .most_seconds = limit > READING_LEAST ? limit : READING_LEAST,
    };
    return fm_region_open(region, run->path, &options, error);
}

static fm_status open_region(cli_static_run *run, fm_error *error)
{
    return open_as(run, run->options->scalars, &run->region, error);
}

static bool has_parameter(const fm_region *region, const char *name)
{
    for (size_t i = 0; i < fm_region_parameter_count(region); i++)
        if (strcmp(fm_region_parameter_name(region, i), name) == 0) return true;
    return false;
}

/* Names that the region does not have may be macros of the source: it is read once more with them. */
static bool define_the_others(cli_static_run *run)
{
    bool any = false;
    for (size_t i = 0; i < run->parameter_count; i++) {
        cli_given *parameter = &run->parameters[i];
        if (run->region && has_parameter(run->region, parameter->name)) continue;
        int length = snprintf(run->defines[i], sizeof run->defines[i], "-D%s=%" PRId64, parameter->name,
                              parameter->value);
        if (length < 0 || (size_t)length >= sizeof run->defines[i]) continue;
        run->flags[run->flag_count++] = run->defines[i];
        parameter->used = true;
        any = true;
    }
    return any;
}

bool cli_static_is_text_form(const cli_static_run *run)
{
    const char *dot = strrchr(run->path, '.');
    return run->options->language ? strcmp(run->options->language, "fir") == 0
                                  : dot && strcmp(dot, ".fir") == 0;
}

static int give_values(const cli_static_run *run, fm_region *region)
{
    fm_error error;
    for (size_t i = 0; i < run->parameter_count; i++) {
        const cli_given *parameter = &run->parameters[i];
        if (parameter->used && !has_parameter(region, parameter->name)) continue;
        if (has_parameter(region, parameter->name) && cli_static_stays_open(run, parameter->name)) continue;
        if (fm_region_set_parameter(region, parameter->name, parameter->value, &error))
            return cli_fail(&error);
    }
    return -1;
}

static char *text_of(const fm_region *region)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    fm_status status = stream ? fm_region_write(region, stream, NULL) : FM_E_NOMEM;
    if (stream && fclose(stream) == 0 && status == FM_OK) return text;
    free(text);
    return NULL;
}

static bool same_text(const fm_region *left, const fm_region *right)
{
    char *one = text_of(left), *other = text_of(right);
    const bool same = one && other && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

/* Misspelt, perhaps. */
static void note_without_effect(const cli_static_run *run)
{
    for (size_t i = 0; i < run->parameter_count; i++)
        if (run->parameters[i].used && !has_parameter(run->region, run->parameters[i].name))
            cli_note("--param %s: the region has no such parameter, and as a macro of the source it changes "
                     "nothing",
                     run->parameters[i].name);
}

int cli_static_read(cli_static_run *run)
{
    fm_error error;
    const size_t flags = run->flag_count;
    fm_status status = open_region(run, &error);
    /* A source may not compile without its macros. */
    if ((status == FM_OK || status == FM_E_FORMAT || status == FM_E_UNSUPPORTED) &&
        !cli_static_is_text_form(run) && define_the_others(run)) {
        fm_region *before = run->region;
        fm_error again;
        run->region = NULL;
        fm_status second = open_region(run, &again);
        if (second != FM_OK) { /* the names were no macros: the first message is the better one */
            run->region = before;
            while (run->flag_count > flags) run->flags[--run->flag_count] = NULL;
            if (status == FM_OK)
                for (size_t i = 0; i < run->parameter_count; i++) run->parameters[i].used = false;
        } else {
            if (before && same_text(before, run->region)) note_without_effect(run);
            fm_region_destroy(before);
            status = FM_OK;
        }
    }
    if (status != FM_OK) return cli_fail(&error);
    return give_values(run, run->region);
}

int cli_static_read_scalars(cli_static_run *run, fm_region **region)
{
    fm_error error;
    if (open_as(run, true, region, &error)) return cli_fail(&error);
    return give_values(run, *region);
}

const char *cli_static_open_parameters(const fm_region *region, char *text, size_t size)
{
    int64_t value;
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < fm_region_parameter_count(region) && used < size; i++)
        if (!fm_region_parameter_value(region, i, &value))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
                                     fm_region_parameter_name(region, i));
    return text;
}

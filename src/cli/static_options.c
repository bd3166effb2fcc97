/* SPDX-License-Identifier: Apache-2.0 */
/* static_options.c - what the options of fathom static name: values, assumptions, caches with sets, machines;
 * and its counts. */
#define _GNU_SOURCE /* strsep */
#include "static_run.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters and assumptions ---- */

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
        run->parameters[run->parameter_count++] = (fm_job_value){.name = name, .value = number};
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

/* ---- caches with sets ---- */

static int add_cache(cli_static_run *run, const char *text)
{
    fm_cache cache;
    if (run->set_count == CLI_MOST_SET_CACHES)
        return cli_misuse("--cache: at most %d caches", CLI_MOST_SET_CACHES);
    int code = cli_parse_cache(text, run->options->granularity, &cache);
    if (code >= 0) return code;
    if (cache.line != run->options->granularity)
        return cli_misuse("--cache: '%s': lines must be blocks of --granularity bytes, %" PRIu64, text,
                          run->options->granularity);
    fm_set_misses *one = &run->sets[run->set_count++];
    *one = (fm_set_misses){
        .sets = cache.bytes / cache.line / cache.ways, .ways = cache.ways, .line = cache.line};
    snprintf(one->name, sizeof one->name, "%s", cache.name);
    return -1;
}

int cli_static_check_caches(cli_static_run *run)
{
    if (!run->options->caches) return -1;
    char *copy = strdup(run->options->caches), *rest = copy;
    if (!copy) return cli_out_of_memory();
    int code = -1;
    while (code < 0 && rest) code = add_cache(run, strsep(&rest, ","));
    free(copy);
    return code;
}

/* ---- machines ---- */

int cli_static_read_machine(cli_static_run *run)
{
    const char *path = run->options->machine;
    fm_error error;
    if (!path) return -1;
    if (run->options->attribution.sizes)
        return cli_misuse("--size and --machine-file: only one of them can say which caches there are");
    if (fm_machine_read(&run->machine, path, &error)) return cli_fail(&error);
    const fm_machine *machine = run->machine;
    for (size_t i = 0; i < machine->level_count; i++)
        if (machine->levels[i].line && machine->levels[i].line != run->options->granularity) {
            cli_complain("%s: lines of %s are %" PRIu64 " bytes, and blocks of %" PRIu64
                         " bytes are analysed: give --granularity %" PRIu64,
                         path, machine->levels[i].name, machine->levels[i].line, run->options->granularity,
                         machine->levels[i].line);
            return CLI_USAGE;
        }
    return -1;
}

int cli_static_write_machine(const cli_static_run *run)
{
    fm_machine *machine;
    fm_output *output;
    fm_error error;
    if (fm_machine_this(&machine, &error)) return cli_fail(&error);
    fm_status status = fm_output_open(&output, run->options->emit_machine, &error);
    if (status == FM_OK) {
        fm_machine_write(machine, fm_output_stream(output));
        status = fm_output_commit(output, &error);
    }
    fm_machine_destroy(machine);
    return status == FM_OK ? -1 : cli_fail(&error);
}

/* ---- counts ---- */

static const char *last_part(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "";
}

static void show_sum(FILE *out, const char *name, const char *sum)
{
    fprintf(out, "%-20s %s\n", name, sum);
}

void cli_counts_show(FILE *out, const fm_region *region, const fm_region_counts *counts)
{
    const char *file;
    uint32_t first, last;
    fprintf(out, "%s", fm_region_name(region) ? fm_region_name(region) : "region");
    if (fm_region_lines(region, &file, &first, &last))
        fprintf(out, " (%s:%" PRIu32 "-%" PRIu32 ")", last_part(file), first, last);
    fputs("\n\n", out);
    show_sum(out, "loads", counts->loads);
    show_sum(out, "stores", counts->stores);
    show_sum(out, "flops", counts->flops);
    show_sum(out, "integer operations", counts->integer_operations);
    if (counts->condition) show_sum(out, "where", counts->condition);
    fputs("\nstatement             loads stores flops integers  times\n", out);
    for (size_t i = 0; i < counts->statement_count; i++) {
        const fm_region_statement *one = &counts->statements[i];
        char place[40];
        snprintf(place, sizeof place, "%.24s:%" PRIu32, last_part(one->file), one->line);
        fprintf(out, "%-20s %6" PRIu64 " %6" PRIu64 " %5" PRIu64 " %8" PRIu64 "  %s\n", place, one->loads,
                one->stores, one->flops, one->integer_operations, one->executions);
    }
}

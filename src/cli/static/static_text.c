/* SPDX-License-Identifier: Apache-2.0 */
/* static_text.c - see static_text.h. */
#define _GNU_SOURCE
#include "static/static_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static char *list_parameters(const fm_region *region)
{
    char *text = NULL;
    size_t size, count = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return NULL;
    for (size_t i = 0; i < fm_region_parameter_count(region); i++) {
        int64_t value;
        if (fm_region_parameter_value(region, i, &value))
            fprintf(stream, "%s%s = %" PRId64, count++ ? ", " : "", fm_region_parameter_name(region, i),
                    value);
    }
    if (fclose(stream) == 0) return text;
    free(text);
    return NULL;
}

static char *list_notes(const fm_region *region)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) return NULL;
    for (size_t i = 0; fm_region_note(region, i); i++)
        fprintf(stream, "%s%s", i ? "\n" : "", fm_region_note(region, i));
    if (fclose(stream) == 0) return text;
    free(text);
    return NULL;
}

fm_kernel *cli_kernel_create(const fm_region *region, const fm_region_counts *counts)
{
    fm_kernel *kernel = calloc(1, sizeof *kernel);
    const char *file = NULL;
    bool whole = kernel;
    if (!kernel) return NULL;
    if (fm_region_name(region)) whole &= (kernel->function = strdup(fm_region_name(region))) != NULL;
    if (fm_region_lines(region, &file, &kernel->first_line, &kernel->last_line))
        whole &= (kernel->file = strdup(file)) != NULL;
    whole &= (kernel->parameters = list_parameters(region)) != NULL;
    whole &= (kernel->notes = list_notes(region)) != NULL;
    if (counts) {
        whole &= (kernel->loads = strdup(counts->loads)) != NULL;
        whole &= (kernel->stores = strdup(counts->stores)) != NULL;
        whole &= (kernel->flops = strdup(counts->flops)) != NULL;
        whole &= (kernel->integer_operations = strdup(counts->integer_operations)) != NULL;
    }
    if (whole) return kernel;
    fm_kernel_destroy(kernel);
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * static_symbolic.c - formulas of a region (--symbolic, --emit-c): found, shown, written; and their values,
 * for parameters that are given.
 */
#define _GNU_SOURCE
#include "static_run.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const fm_job_value *given_value(const cli_static_run *run, const char *name)
{
    for (size_t i = 0; i < run->parameter_count; i++)
        if (strcmp(run->parameters[i].name, name) == 0) return &run->parameters[i];
    return NULL;
}

/* ---- for people ---- */

/* "n = 8, 16, …", "m >= 1" */
static void show_domain(FILE *out, const fm_symbolic *symbolic)
{
    for (size_t i = 0; i < fm_symbolic_parameter_count(symbolic); i++) {
        const fm_symbolic_parameter one = fm_symbolic_parameter_at(symbolic, i);
        fputs(i ? ", " : "", out);
        if (one.modulus == 1)
            fprintf(out, "%s >= %" PRId64, one.name, one.least);
        else
            fprintf(out, "%s = %" PRId64 ", %" PRId64 ", %" PRId64 " …", one.name, one.least,
                    one.least + one.modulus, one.least + 2 * one.modulus);
    }
}

static void show_formulas(FILE *out, const fm_symbolic *symbolic)
{
    fm_symbolic_text one;
    fputs("for                      ", out);
    if (fm_symbolic_parameter_count(symbolic))
        show_domain(out, symbolic);
    else
        fputs("no open parameters", out);
    fputs("\n", out);
    for (size_t i = 0; fm_symbolic_text_at(symbolic, i, &one); i++) {
        fprintf(out, "%-24s ", one.name);
        if (one.text)
            fprintf(out, "%s", one.text);
        else
            fprintf(out, "%zu pieces; no single formula for large parameters", one.pieces);
        if (one.text && one.from[0]) fprintf(out, "  (%s)", one.from);
        fputs("\n", out);
    }
}

static void show_number(FILE *out, const char *name, uint64_t number)
{
    fprintf(out, "%-24s %" PRIu64 "\n", name, number);
}

static void show_values(FILE *out, const fm_symbolic *symbolic, const int64_t *values,
                        const fm_symbolic_values *result)
{
    fputs("for                      ", out);
    for (size_t i = 0; i < fm_symbolic_parameter_count(symbolic); i++)
        fprintf(out, "%s%s = %" PRId64, i ? ", " : "", fm_symbolic_parameter_at(symbolic, i).name, values[i]);
    fputs("\n", out);
    show_number(out, "loads", result->loads);
    show_number(out, "stores", result->stores);
    show_number(out, "flops", result->flops);
    show_number(out, "integer operations", result->integer_operations);
    show_number(out, "references", result->references);
    show_number(out, "first touches", result->cold);
    for (size_t i = 0; i < result->size_count; i++) {
        char name[48];
        snprintf(name, sizeof name, "misses of %" PRIu64 " bytes", result->sizes[i]);
        show_number(out, name, result->misses[i]);
    }
}

/* ---- values ---- */

/* The values that are given for the open parameters; false: not for all of them. *missing: the first one. */
static bool take_values(cli_static_run *run, const fm_symbolic *symbolic, int64_t *values,
                        const char **missing)
{
    *missing = NULL;
    for (size_t i = 0; i < fm_symbolic_parameter_count(symbolic); i++) {
        const char *name = fm_symbolic_parameter_at(symbolic, i).name;
        const fm_job_value *given = given_value(run, name);
        if (given)
            values[i] = given->value;
        else if (!*missing)
            *missing = name;
    }
    return !*missing;
}

static int show_evaluated(cli_static_run *run, const fm_symbolic *symbolic)
{
    int64_t values[64] = {0};
    const char *missing;
    fm_symbolic_values result;
    fm_error error;
    if (!take_values(run, symbolic, values, &missing))
        return cli_misuse("%s: no value: give it by --param NAME=VALUE", missing);
    if (fm_symbolic_evaluate(symbolic, values, &result, &error)) return cli_fail(&error);
    show_values(stdout, symbolic, values, &result);
    return -1;
}

int cli_static_evaluate(cli_static_run *run)
{
    const cli_static_options *options = run->options;
    fm_symbolic *symbolic;
    fm_error error;
    if (options->symbolic || options->json)
        return cli_misuse(
            "%s: these are formulas already; --param gives values, --emit-c writes a C function", run->path);
    if (fm_symbolic_read(&symbolic, run->path, &error)) return cli_fail(&error);
    int code = -1;
    if (options->c && fm_symbolic_write_c(symbolic, options->c, "kernel", &error)) code = cli_fail(&error);
    for (size_t i = 0; i < run->parameter_count && code < 0; i++) {
        bool known = false;
        for (size_t k = 0; k < fm_symbolic_parameter_count(symbolic); k++)
            known |= strcmp(fm_symbolic_parameter_at(symbolic, k).name, run->parameters[i].name) == 0;
        if (!known)
            code = cli_misuse("--param %s: the formulas have no such parameter", run->parameters[i].name);
    }
    if (code < 0 && !cli_is_stdout(options->c)) {
        if (run->parameter_count || !fm_symbolic_parameter_count(symbolic))
            code = show_evaluated(run, symbolic);
        else
            show_formulas(stdout, symbolic);
    }
    fm_symbolic_destroy(symbolic);
    return code < 0 ? CLI_COMPLETE : code;
}

/* ---- finding ---- */

static fm_status find_formulas(cli_static_run *run, fm_symbolic **symbolic, fm_error *error)
{
    uint64_t sizes[FM_SYMBOLIC_MOST_SIZES];
    const size_t count = fm_region_parameter_count(run->region);
    int64_t *remainders = calloc(count + 1, sizeof *remainders);
    if (!remainders) {
        *error = (fm_error){.status = FM_E_NOMEM, .reason = "out of memory"};
        return FM_E_NOMEM;
    }
    fm_symbolic_options options = {.granularity = run->options->granularity,
                                   .layout = run->layout,
                                   .sizes = sizes,
                                   .remainders = remainders,
                                   .limit_seconds = run->options->limit};
    const fm_cache *caches;
    const size_t cache_count = fm_job_caches(run->job.job, &caches);
    for (size_t i = 0; i < cache_count && options.size_count < FM_SYMBOLIC_MOST_SIZES; i++)
        sizes[options.size_count++] = caches[i].bytes;
    for (size_t i = 0; i < count; i++) {
        const fm_job_value *given = given_value(run, fm_region_parameter_name(run->region, i));
        if (given) remainders[i] = given->value;
    }
    fm_status status = fm_region_symbolic(run->region, &options, symbolic, error);
    free(remainders);
    return status;
}

/* "kernel_gemm" as the name of a C function. */
static void function_name(const fm_region *region, char *name, size_t size)
{
    const char *function = fm_region_name(region);
    snprintf(name, size, "%s%s", function ? function : "region", "_formulas");
    for (char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at)) *at = '_';
    if (isdigit((unsigned char)name[0])) name[0] = '_';
}

static int deliver_formulas(cli_static_run *run, const fm_symbolic *symbolic)
{
    const cli_static_options *options = run->options;
    char name[128];
    const char *file, *missing;
    uint32_t first, last;
    int64_t values[64];
    fm_error error;
    function_name(run->region, name, sizeof name);
    if (options->json && fm_symbolic_write(symbolic, options->json, &error)) return cli_fail(&error);
    if (options->c && fm_symbolic_write_c(symbolic, options->c, name, &error)) return cli_fail(&error);
    if (cli_is_stdout(options->json) || cli_is_stdout(options->c)) return -1;
    printf("%s", fm_region_name(run->region) ? fm_region_name(run->region) : "region");
    if (fm_region_lines(run->region, &file, &first, &last))
        printf(" (lines %" PRIu32 "-%" PRIu32 ")", first, last);
    printf(": exact, blocks of %" PRIu64 " bytes, rows %s\n\n", options->granularity,
           run->layout == FM_LAYOUT_ALIGNED ? "aligned" : "contiguous");
    show_formulas(stdout, symbolic);
    if (!fm_symbolic_parameter_count(symbolic) || !take_values(run, symbolic, values, &missing)) return -1;
    printf("\n");
    return show_evaluated(run, symbolic);
}

/* Without formulas: values for all parameters, or it is over. */
static int give_values(cli_static_run *run)
{
    char open[256];
    fm_error error;
    for (size_t i = 0; i < fm_region_parameter_count(run->region); i++) {
        const char *name = fm_region_parameter_name(run->region, i);
        const fm_job_value *given = given_value(run, name);
        if (given && fm_region_set_parameter(run->region, name, given->value, &error))
            return cli_fail(&error);
    }
    if (cli_static_open_parameters(run->region, open, sizeof open)[0]) {
        cli_complain("%s: no value, and no formula either", open);
        return CLI_FAILED;
    }
    return -1;
}

int cli_static_symbolic(cli_static_run *run, bool *found)
{
    fm_symbolic *symbolic;
    fm_error error;
    fm_status status = find_formulas(run, &symbolic, &error);
    *found = status == FM_OK;
    if (status == FM_OK) {
        int code = deliver_formulas(run, symbolic);
        fm_symbolic_destroy(symbolic);
        return code;
    }
    if (status != FM_E_LIMIT && status != FM_E_UNSUPPORTED) return cli_fail(&error);
    if (run->options->c || !run->parameter_count) return cli_fail(&error);
    char message[sizeof error.reason + 512];
    cli_note("no formulas: %s", fm_error_message(&error, message, sizeof message));
    return give_values(run);
}

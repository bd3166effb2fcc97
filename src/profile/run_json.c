/* SPDX-License-Identifier: Apache-2.0 */
/* run_json.c - the field "run" of a profile: the run of a program that it describes (docs/PROFILE.md). */
#include "profile/attribution/attribution_json.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void fm_run_destroy(fm_run *run)
{
    if (!run) return;
    free(run->command);
    free(run->collector);
    free(run->what);
    free(run->ending);
    free(run->notes);
    free(run);
}

/* ---- writing ---- */

void fm_run_write(FILE *out, const fm_run *run, const char *indent)
{
    fm_json_fields of = {out, indent, false};
    putc('{', out);
    fm_json_text_field(&of, "command", run->command);
    fm_json_text_field(&of, "collector", run->collector);
    fm_json_text_field(&of, "what", run->what);
    fm_json_text_field(&of, "ending", run->ending);
    if (run->exit_code >= 0) fm_json_number_field(&of, "exit_code", (uint64_t)run->exit_code);
    if (run->signal > 0) fm_json_number_field(&of, "signal", (uint64_t)run->signal);
    if (run->process) fm_json_number_field(&of, "process", run->process);
    if (run->parent) fm_json_number_field(&of, "parent", run->parent);
    if (run->by_exec) {
        fm_json_begin_field(&of, "by_exec");
        fputs("true", out);
    }
    if (run->thread) fm_json_number_field(&of, "thread", run->thread);
    fm_json_begin_field(&of, "seconds");
    fm_json_write_real(out, isfinite(run->seconds) && run->seconds > 0 ? run->seconds : 0);
    fm_json_text_field(&of, "notes", run->notes && run->notes[0] ? run->notes : NULL);
    fprintf(out, "\n%s}", indent);
}

/* ---- reading ---- */

static fm_status read_number(fm_json_scan *scan, const char *what, uint64_t most, uint64_t *value)
{
    fm_status status = fm_json_whole(scan, what, value);
    if (!status && *value > most)
        return fm_json_refuse(scan, "%s: expected a number up to %" PRIu64 ", found %" PRIu64, what, most,
                              *value);
    return status;
}

static fm_status read_small(fm_json_scan *scan, const char *what, uint32_t *value)
{
    uint64_t wide = 0;
    fm_status status = read_number(scan, what, UINT32_MAX, &wide);
    *value = (uint32_t)wide;
    return status;
}

static fm_status read_int(fm_json_scan *scan, const char *what, int *value)
{
    uint64_t wide = 0;
    fm_status status = read_number(scan, what, INT_MAX, &wide);
    *value = (int)wide;
    return status;
}

static fm_status read_seconds(fm_json_scan *scan, const char *what, double *value)
{
    fm_status status = fm_json_real(scan, what, value);
    if (!status && !(*value >= 0 && isfinite(*value)))
        return fm_json_refuse(scan, "%s: expected a time from 0 on, found another", what);
    return status;
}

static fm_status read_run_field(fm_json_scan *scan, const char *what, const char *key, void *context)
{
    fm_run *run = context;
    struct {
        const char *name;
        char **text;
    } const texts[] = {{"command", &run->command},
                       {"collector", &run->collector},
                       {"what", &run->what},
                       {"ending", &run->ending},
                       {"notes", &run->notes}};
    struct {
        const char *name;
        uint32_t *number;
    } const numbers[] = {{"process", &run->process}, {"parent", &run->parent}, {"thread", &run->thread}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].name) == 0) return fm_json_optional_text(scan, what, texts[i].text);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].name) == 0) return read_small(scan, what, numbers[i].number);
    if (strcmp(key, "exit_code") == 0) return read_int(scan, what, &run->exit_code);
    if (strcmp(key, "signal") == 0) return read_int(scan, what, &run->signal);
    if (strcmp(key, "by_exec") == 0) return fm_json_truth(scan, what, &run->by_exec);
    if (strcmp(key, "seconds") == 0) return read_seconds(scan, what, &run->seconds);
    return fm_json_skip(scan);
}

fm_status fm_run_read(fm_json_scan *scan, const char *where, fm_run **run)
{
    fm_run *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(scan->error, sizeof *made, "a profile's run");
    made->exit_code = -1;
    fm_status status = fm_json_read_object(scan, where, "run", read_run_field, made);
    if (status) {
        fm_run_destroy(made);
        return status;
    }
    fm_run_destroy(*run);
    *run = made;
    return FM_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* phases_json.c - the field "phases" of a profile: the time samples, and the phases they cut
 * (docs/PROFILE.md). */
#include "profile/phases_json.h"

#include <fathom/phases.h>

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <string.h>

/* ---- writing ---- */

void fm_phases_write(FILE *out, const fm_phases *phases, const char *indent)
{
    fprintf(out, "{\n%s  \"threshold\": %" PRIu64 ",\n%s  \"samples\": [", indent, phases->threshold, indent);
    for (size_t i = 0; i < phases->sample_count && !ferror(out); i++) {
        const fm_data_sample *sample = &phases->samples[i];
        fprintf(out, "%s\n%s    {\"block\": %" PRIu64 ", \"times\": [", i ? "," : "", indent, sample->block);
        for (size_t j = 0; j < sample->count; j++)
            fprintf(out, "%s[%" PRIu64 ", %" PRIu64 "]", j ? ", " : "", sample->times[j].time,
                    sample->times[j].distance);
        fputs("]}", out);
    }
    fprintf(out, "\n%s  ],\n%s  \"phase_columns\": [\"begin\", \"end\", \"distinct\", \"cold\", \"kind\"],\n",
            indent, indent);
    fprintf(out, "%s  \"phases\": [", indent);
    for (size_t i = 0; i < phases->count; i++) {
        const fm_trace_phase *phase = &phases->phases[i];
        fprintf(out, "%s\n%s    [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu32 "]",
                i ? "," : "", indent, phase->begin, phase->end, phase->distinct, phase->cold, phase->kind);
    }
    fprintf(out, "\n%s  ]\n%s}", indent, indent);
}

/* ---- reading ---- */

/* A row of exactly so many whole numbers. */
static fm_status read_row(fm_json_scan *scan, const char *what, uint64_t *numbers, size_t count)
{
    fm_json_list list;
    fm_status status = fm_json_enter_array(scan, what, &list);
    for (size_t i = 0; i <= count && !status; i++) {
        bool more;
        status = fm_json_more(scan, &list, &more);
        if (status) break;
        if (more != (i < count)) return fm_json_refuse(scan, "%s: expected rows of %zu numbers", what, count);
        if (more) status = fm_json_whole(scan, what, &numbers[i]);
    }
    return status;
}

/* Before each element: whether there is one, and room for it in the array. */
static fm_status next_element(fm_json_scan *scan, fm_json_list *list, bool *more, void **array,
                              size_t *capacity, size_t count, size_t size)
{
    fm_status status = fm_json_more(scan, list, more);
    if (status || !*more) return status;
    if (fm_array_reserve(array, capacity, count + 1, size))
        return fm_fail_memory(scan->error, (count + 1) * size, "a profile's phases");
    return FM_OK;
}

static fm_status read_times(fm_json_scan *scan, const char *what, fm_data_sample *sample)
{
    fm_json_list list;
    if (sample->times) return fm_json_refuse(scan, "%s: \"times\" is given twice", what);
    fm_status status = fm_json_enter_array(scan, what, &list);
    while (!status) {
        bool more;
        uint64_t row[2] = {0};
        void *times = sample->times;
        status =
            next_element(scan, &list, &more, &times, &sample->capacity, sample->count, sizeof *sample->times);
        sample->times = times;
        if (status || !more) break;
        status = read_row(scan, what, row, 2);
        if (!status) sample->times[sample->count++] = (fm_time_sample){row[0], row[1]};
    }
    return status;
}

static fm_status read_sample(fm_json_scan *scan, const char *what, fm_data_sample *sample)
{
    fm_json_list list;
    fm_status status = fm_json_enter_object(scan, what, &list);
    while (!status) {
        bool more;
        char key[16];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        if (strcmp(key, "block") == 0)
            status = fm_json_whole(scan, what, &sample->block);
        else if (strcmp(key, "times") == 0)
            status = read_times(scan, what, sample);
        else
            status = fm_json_skip(scan);
    }
    return status;
}

static fm_status read_samples(fm_json_scan *scan, const char *what, fm_phases *phases)
{
    fm_json_list list;
    size_t capacity = 0;
    if (phases->samples) return fm_json_refuse(scan, "%s is given twice", what);
    fm_status status = fm_json_enter_array(scan, what, &list);
    while (!status) {
        bool more;
        void *samples = phases->samples;
        status = next_element(scan, &list, &more, &samples, &capacity, phases->sample_count,
                              sizeof *phases->samples);
        phases->samples = samples;
        if (status || !more) break;
        fm_data_sample *sample = &phases->samples[phases->sample_count++];
        memset(sample, 0, sizeof *sample);
        status = read_sample(scan, what, sample);
    }
    return status;
}

static fm_status read_phases(fm_json_scan *scan, const char *what, fm_phases *phases)
{
    fm_json_list list;
    size_t capacity = 0;
    if (phases->phases) return fm_json_refuse(scan, "%s is given twice", what);
    fm_status status = fm_json_enter_array(scan, what, &list);
    while (!status) {
        bool more;
        uint64_t row[5] = {0};
        void *grown = phases->phases;
        status = next_element(scan, &list, &more, &grown, &capacity, phases->count, sizeof *phases->phases);
        phases->phases = grown;
        if (status || !more) break;
        status = read_row(scan, what, row, 5);
        if (status) break;
        const uint64_t expected = phases->count ? phases->phases[phases->count - 1].end : 0;
        if (row[0] != expected || row[1] < row[0])
            return fm_json_refuse(
                scan, "%s: expected a phase that begins at %" PRIu64 ", found %" PRIu64 " to %" PRIu64, what,
                expected, row[0], row[1]);
        if (row[4] > phases->count || phases->count == FM_MOST_PHASES)
            return fm_json_refuse(scan, "%s: expected at most %d phases, kinds numbered as they appear", what,
                                  (int)FM_MOST_PHASES);
        phases->phases[phases->count++] = (fm_trace_phase){row[0], row[1], row[2], row[3], (uint32_t)row[4]};
    }
    return status;
}

fm_status fm_phases_read(fm_json_scan *scan, const char *where, fm_phases **phases)
{
    char what[128];
    fm_json_list list;
    snprintf(what, sizeof what, "\"%sphases\"", where);
    fm_status status = fm_json_enter_object(scan, what, &list);
    if (status) return status;
    fm_phases *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(scan->error, sizeof *made, "a profile's phases");
    while (!status) {
        bool more;
        char key[24];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        snprintf(what, sizeof what, "\"%sphases.%s\"", where, key);
        if (strcmp(key, "threshold") == 0)
            status = fm_json_whole(scan, what, &made->threshold);
        else if (strcmp(key, "samples") == 0)
            status = read_samples(scan, what, made);
        else if (strcmp(key, "phases") == 0)
            status = read_phases(scan, what, made);
        else
            status = fm_json_skip(scan);
    }
    if (status) {
        fm_phases_destroy(made);
        return status;
    }
    fm_phases_destroy(*phases);
    *phases = made;
    return FM_OK;
}

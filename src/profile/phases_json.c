/* SPDX-License-Identifier: Apache-2.0 */
/* phases_json.c - the field "phases" of a profile: the time samples, and the phases, level by level
 * (docs/PROFILE.md). */
#include "profile/phases_json.h"

#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static const char *const cut_names[] = {[FM_CUT_AT_PEAKS] = "peaks", [FM_CUT_AT_CHANGES] = "changes"};

static void write_inner(FILE *out, const fm_phases *phases, const char *indent)
{
    fprintf(out,
            ",\n%s  \"inner_columns\": [\"begin\", \"end\", \"distinct\", \"cold\", \"kind\", "
            "\"parent\"],\n%s  \"inner\": [",
            indent, indent);
    for (size_t i = 0; i < phases->inner_count && !ferror(out); i++) {
        fprintf(out, "%s\n%s    {\"level\": %zu, \"phases\": [", i ? "," : "", indent, i + 2);
        for (size_t j = 0; j < phases->inner[i].count; j++) {
            const fm_trace_phase *phase = &phases->inner[i].phases[j];
            fprintf(out, "%s\n%s      [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu32 ", %zu]",
                    j ? "," : "", indent, phase->begin, phase->end, phase->distinct, phase->cold, phase->kind,
                    phase->parent);
        }
        fprintf(out, "\n%s    ]}", indent);
    }
    fprintf(out, "\n%s  ]", indent);
}

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
    fprintf(out, "\n%s  ],\n%s  \"cut\": \"%s\",\n", indent, indent, cut_names[phases->cut]);
    fprintf(out, "%s  \"phase_columns\": [\"begin\", \"end\", \"distinct\", \"cold\", \"kind\"],\n", indent);
    fprintf(out, "%s  \"phases\": [", indent);
    for (size_t i = 0; i < phases->count; i++) {
        const fm_trace_phase *phase = &phases->phases[i];
        fprintf(out, "%s\n%s    [%" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu32 "]",
                i ? "," : "", indent, phase->begin, phase->end, phase->distinct, phase->cold, phase->kind);
    }
    fprintf(out, "\n%s  ]", indent);
    if (phases->inner_count > 0) write_inner(out, phases, indent);
    fprintf(out, "\n%s}", indent);
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
        phases->phases[phases->count++] = (fm_trace_phase){
            .begin = row[0], .end = row[1], .distinct = row[2], .cold = row[3], .kind = (uint32_t)row[4]};
    }
    return status;
}

static fm_status read_cut(fm_json_scan *scan, const char *what, fm_phases *phases)
{
    char *name = NULL;
    fm_status status = fm_json_text(scan, what, &name);
    if (status) return status;
    const size_t names = sizeof cut_names / sizeof *cut_names;
    size_t found = 0;
    while (found < names && strcmp(name, cut_names[found]) != 0) found++;
    if (found < names)
        phases->cut = (fm_phase_cut)found;
    else
        status = fm_json_refuse(scan, "%s: expected \"peaks\" or \"changes\"", what);
    free(name);
    return status;
}

/* Rows of an inner level. Whether they are inside the level above is checked at the end. */
static fm_status read_inner_phases(fm_json_scan *scan, const char *what, fm_phase_level *level)
{
    fm_json_list list;
    size_t capacity = 0;
    if (level->phases) return fm_json_refuse(scan, "%s: \"phases\" is given twice", what);
    fm_status status = fm_json_enter_array(scan, what, &list);
    while (!status) {
        bool more;
        uint64_t row[6] = {0};
        void *grown = level->phases;
        status = next_element(scan, &list, &more, &grown, &capacity, level->count, sizeof *level->phases);
        level->phases = grown;
        if (status || !more) break;
        status = read_row(scan, what, row, 6);
        if (status) break;
        if (row[4] > level->count || level->count == FM_MOST_PHASES)
            return fm_json_refuse(scan, "%s: expected at most %d phases, kinds numbered as they appear", what,
                                  (int)FM_MOST_PHASES);
        level->phases[level->count++] = (fm_trace_phase){.begin = row[0],
                                                         .end = row[1],
                                                         .distinct = row[2],
                                                         .cold = row[3],
                                                         .kind = (uint32_t)row[4],
                                                         .parent = row[5]};
    }
    return status;
}

static fm_status read_level(fm_json_scan *scan, const char *what, size_t number, fm_phase_level *level)
{
    fm_json_list list;
    fm_status status = fm_json_enter_object(scan, what, &list);
    while (!status) {
        bool more;
        char key[16];
        uint64_t found;
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        if (strcmp(key, "phases") == 0)
            status = read_inner_phases(scan, what, level);
        else if (strcmp(key, "level") != 0)
            status = fm_json_skip(scan);
        else if (!(status = fm_json_whole(scan, what, &found)) && found != number)
            return fm_json_refuse(scan, "%s: expected level %zu, found %" PRIu64, what, number, found);
    }
    return status;
}

static fm_status read_inner(fm_json_scan *scan, const char *what, fm_phases *phases)
{
    fm_json_list list;
    if (phases->inner) return fm_json_refuse(scan, "%s is given twice", what);
    fm_status status = fm_json_enter_array(scan, what, &list);
    if (status) return status;
    phases->inner = fm_calloc(FM_MOST_PHASE_LEVELS - 1, sizeof *phases->inner);
    if (!phases->inner)
        return fm_fail_memory(scan->error, FM_MOST_PHASE_LEVELS * sizeof *phases->inner,
                              "a profile's phases");
    while (!status) {
        bool more;
        status = fm_json_more(scan, &list, &more);
        if (status || !more) break;
        if (phases->inner_count == FM_MOST_PHASE_LEVELS - 1)
            return fm_json_refuse(scan, "%s: expected at most %d levels", what,
                                  (int)FM_MOST_PHASE_LEVELS - 1);
        const size_t number = 2 + phases->inner_count++;
        status = read_level(scan, what, number, &phases->inner[number - 2]);
    }
    return status;
}

/* Inner phases ascend, and each is inside the one that it names. */
static fm_status check_inner(fm_json_scan *scan, const char *where, const fm_phases *phases)
{
    fm_phase_level above = {phases->count, phases->phases};
    for (size_t i = 0; i < phases->inner_count; i++) {
        uint64_t end = 0;
        for (size_t j = 0; j < phases->inner[i].count; j++) {
            const fm_trace_phase *one = &phases->inner[i].phases[j];
            const fm_trace_phase *parent = one->parent < above.count ? &above.phases[one->parent] : NULL;
            if (!parent || one->begin < end || one->end < one->begin || one->begin < parent->begin ||
                one->end > parent->end)
                return fm_json_refuse(scan,
                                      "\"%sphases.inner\": phase %zu of level %zu, %" PRIu64 " to %" PRIu64
                                      ", is not behind the one before it and inside phase %zu (from 0) of "
                                      "the level above",
                                      where, j, i + 2, one->begin, one->end, one->parent);
            end = one->end;
        }
        above = phases->inner[i];
    }
    return FM_OK;
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
        else if (strcmp(key, "cut") == 0)
            status = read_cut(scan, what, made);
        else if (strcmp(key, "inner") == 0)
            status = read_inner(scan, what, made);
        else
            status = fm_json_skip(scan);
    }
    if (!status) status = check_inner(scan, where, made);
    if (status) {
        fm_phases_destroy(made);
        return status;
    }
    fm_phases_destroy(*phases);
    *phases = made;
    return FM_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* phases_json.c - the field "phases" of a profile: the time samples, and the phases, level by level
 * (docs/PROFILE.md). */
#include "profile/profile_parts.h"

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

void fm_phases_write(fm_json_fields *of, const char *name, const void *at)
{
    const fm_phases *phases = *(fm_phases *const *)at;
    FILE *out = of->out;
    char indent[48];
    snprintf(indent, sizeof indent, "%s  ", of->indent);
    fm_json_begin_field(of, name);
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

/* The array, with room for one more element; NULL: there is no memory. */
static void *room_for_one(fm_json_scan *scan, void *array, size_t *capacity, size_t count, size_t size)
{
    if (!fm_array_reserve(&array, capacity, count + 1, size)) return array;
    fm_fail_memory(scan->error, (count + 1) * size, "a profile's phases");
    return NULL;
}

static fm_status read_time(fm_json_scan *scan, const char *what, void *context)
{
    fm_data_sample *sample = context;
    uint64_t row[2] = {0};
    fm_status status = read_row(scan, what, row, 2);
    if (status) return status;
    fm_time_sample *times =
        room_for_one(scan, sample->times, &sample->capacity, sample->count, sizeof *times);
    if (!times) return FM_E_NOMEM;
    sample->times = times;
    times[sample->count++] = (fm_time_sample){row[0], row[1]};
    return FM_OK;
}

static fm_status read_times(fm_json_scan *scan, const char *what, void *at)
{
    fm_data_sample *sample = at;
    if (sample->times) return fm_json_refuse(scan, "%s: \"times\" is given twice", what);
    return fm_json_read_elements(scan, what, read_time, sample);
}

static const fm_json_member sample_members[] = {
    FM_JSON_FIELD(fm_data_sample, block, WHOLE),
    {"times", FM_JSON_OTHER, 0, .read = read_times},
};
static const fm_json_table sample_table = {.plain = true, FM_JSON_LIST(sample_members)};

typedef struct sample_list {
    fm_phases *phases;
    size_t capacity;
} sample_list;

static fm_status read_sample(fm_json_scan *scan, const char *what, void *context)
{
    sample_list *to = context;
    fm_phases *phases = to->phases;
    fm_data_sample *samples =
        room_for_one(scan, phases->samples, &to->capacity, phases->sample_count, sizeof *samples);
    if (!samples) return FM_E_NOMEM;
    phases->samples = samples;
    fm_data_sample *sample = &samples[phases->sample_count++];
    memset(sample, 0, sizeof *sample);
    return fm_json_read_fields(scan, what, &sample_table, sample);
}

static fm_status read_samples(fm_json_scan *scan, const char *what, void *at)
{
    fm_phases *phases = at;
    if (phases->samples) return fm_json_refuse(scan, "%s is given twice", what);
    return fm_json_read_elements(scan, what, read_sample, &(sample_list){.phases = phases});
}

/* Rows of the outermost level, which follow each other without a gap, or of an inner one: whether those are
 * inside the level above is checked at the end. */
typedef struct phase_rows {
    fm_trace_phase **phases;
    size_t *count, capacity;
    bool inner;
} phase_rows;

static fm_status read_phase(fm_json_scan *scan, const char *what, void *context)
{
    phase_rows *to = context;
    const size_t count = *to->count;
    uint64_t row[6] = {0};
    fm_status status = read_row(scan, what, row, to->inner ? 6 : 5);
    if (status) return status;
    const uint64_t expected = count ? (*to->phases)[count - 1].end : 0;
    if (!to->inner && (row[0] != expected || row[1] < row[0]))
        return fm_json_refuse(
            scan, "%s: expected a phase that begins at %" PRIu64 ", found %" PRIu64 " to %" PRIu64, what,
            expected, row[0], row[1]);
    if (row[4] > count || count == FM_MOST_PHASES)
        return fm_json_refuse(scan, "%s: expected at most %d phases, kinds numbered as they appear", what,
                              (int)FM_MOST_PHASES);
    fm_trace_phase *phases = room_for_one(scan, *to->phases, &to->capacity, count, sizeof *phases);
    if (!phases) return FM_E_NOMEM;
    *to->phases = phases;
    phases[(*to->count)++] = (fm_trace_phase){.begin = row[0],
                                              .end = row[1],
                                              .distinct = row[2],
                                              .cold = row[3],
                                              .kind = (uint32_t)row[4],
                                              .parent = row[5]};
    return FM_OK;
}

static fm_status read_phases(fm_json_scan *scan, const char *what, void *at)
{
    fm_phases *phases = at;
    if (phases->phases) return fm_json_refuse(scan, "%s is given twice", what);
    return fm_json_read_elements(scan, what, read_phase,
                                 &(phase_rows){&phases->phases, &phases->count, 0, false});
}

static fm_status read_cut(fm_json_scan *scan, const char *what, void *at)
{
    fm_phases *phases = at;
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

static fm_status read_level_phases(fm_json_scan *scan, const char *what, void *at)
{
    const fm_phases *phases = at;
    fm_phase_level *level = &phases->inner[phases->inner_count - 1];
    if (level->phases) return fm_json_refuse(scan, "%s: \"phases\" is given twice", what);
    return fm_json_read_elements(scan, what, read_phase,
                                 &(phase_rows){&level->phases, &level->count, 0, true});
}

static fm_status read_level_number(fm_json_scan *scan, const char *what, void *at)
{
    const fm_phases *phases = at;
    uint64_t found;
    fm_status status = fm_json_whole(scan, what, &found);
    if (!status && found != phases->inner_count + 1)
        return fm_json_refuse(scan, "%s: expected level %zu, found %" PRIu64, what, phases->inner_count + 1,
                              found);
    return status;
}

/* Of the last level so far. */
static const fm_json_member level_members[] = {
    {"level", FM_JSON_OTHER, 0, .read = read_level_number},
    {"phases", FM_JSON_OTHER, 0, .read = read_level_phases},
};
static const fm_json_table level_table = {.plain = true, FM_JSON_LIST(level_members)};

static fm_status read_level(fm_json_scan *scan, const char *what, void *context)
{
    fm_phases *phases = context;
    if (phases->inner_count == FM_MOST_PHASE_LEVELS - 1)
        return fm_json_refuse(scan, "%s: expected at most %d levels", what, (int)FM_MOST_PHASE_LEVELS - 1);
    phases->inner_count++;
    return fm_json_read_fields(scan, what, &level_table, phases);
}

static fm_status read_inner(fm_json_scan *scan, const char *what, void *at)
{
    fm_phases *phases = at;
    if (phases->inner) return fm_json_refuse(scan, "%s is given twice", what);
    phases->inner = fm_calloc(FM_MOST_PHASE_LEVELS - 1, sizeof *phases->inner);
    if (!phases->inner)
        return fm_fail_memory(scan->error, FM_MOST_PHASE_LEVELS * sizeof *phases->inner,
                              "a profile's phases");
    return fm_json_read_elements(scan, what, read_level, phases);
}

/* Inner phases ascend, and each is inside the one that it names. */
static fm_status check_inner(fm_json_scan *scan, const char *what, void *object)
{
    const fm_phases *phases = object;
    fm_phase_level above = {phases->count, phases->phases};
    for (size_t i = 0; i < phases->inner_count; i++) {
        uint64_t end = 0;
        for (size_t j = 0; j < phases->inner[i].count; j++) {
            const fm_trace_phase *one = &phases->inner[i].phases[j];
            const fm_trace_phase *parent = one->parent < above.count ? &above.phases[one->parent] : NULL;
            if (!parent || one->begin < end || one->end < one->begin || one->begin < parent->begin ||
                one->end > parent->end)
                return fm_json_refuse(scan,
                                      "%.*s.inner\": phase %zu of level %zu, %" PRIu64 " to %" PRIu64
                                      ", is not behind the one before it and inside phase %zu (from 0) of "
                                      "the level above",
                                      (int)strlen(what) - 1, what, j, i + 2, one->begin, one->end,
                                      one->parent);
            end = one->end;
        }
        above = phases->inner[i];
    }
    return FM_OK;
}

static const fm_json_member phases_members[] = {
    FM_JSON_FIELD(fm_phases, threshold, WHOLE),      {"samples", FM_JSON_OTHER, 0, .read = read_samples},
    {"cut", FM_JSON_OTHER, 0, .read = read_cut},     {"phases", FM_JSON_OTHER, 0, .read = read_phases},
    {"inner", FM_JSON_OTHER, 0, .read = read_inner},
};
const fm_json_table fm_phases_json = {"a profile's phases", sizeof(fm_phases), FM_JSON_LIST(phases_members),
                                      .check = check_inner};

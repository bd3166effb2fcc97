/* SPDX-License-Identifier: Apache-2.0 */
/* model_json.c - models to JSON and back, schema fathom-model-1 (docs/PREDICT.md). */
#include <fathom/output.h>
#include <fathom/predict.h>

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/model_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] = "fathom-model-1";
enum { MOST_SHARES = 100000, MOST_RUNS = 1000 };

/* ---- writing ---- */

static void write_number(FILE *out, const char *key, double value)
{
    fprintf(out, "  \"%s\": ", key);
    fm_json_write_real(out, value);
    fputs(",\n", out);
}

static void write_runs(FILE *out, const fm_model *model)
{
    fputs("  \"runs\": [", out);
    for (size_t i = 0; i < model->run_count; i++) {
        const fm_training_run *run = &model->runs[i];
        fprintf(out, "%s\n    {\"name\": ", i ? "," : "");
        fm_json_write_string(out, run->name, FM_JSON_PLAIN);
        fputs(", \"size\": ", out);
        fm_json_write_real(out, run->size);
        fprintf(out,
                ", \"references\": %" PRIu64 ", \"distinct\": %" PRIu64
                ", \"complete\": %s,\n     \"distances\": [",
                run->references, run->distinct, run->incomplete ? "false" : "true");
        for (size_t j = 0; j < model->share_count && !ferror(out); j++) {
            if (j) fputs(", ", out);
            fm_json_write_real(out, run->distances[j]);
        }
        fputs("]}", out);
    }
    fputs("\n  ],\n", out);
}

/* Which part of the reuses has which pattern: for people who open the file. */
static void write_patterns(FILE *out, const fm_model *model)
{
    bool begun = false;
    fputs("  \"patterns\": {", out);
    for (int g = 0; g < FM_GROWTHS; g++) {
        size_t count = 0;
        for (size_t i = 0; i < model->share_count; i++) count += model->shares[i].growth == (fm_growth)g;
        if (count == 0) continue;
        fprintf(out, "%s\"%s\": ", begun ? ", " : "", fm_growth_name((fm_growth)g));
        fm_json_write_real(out, (double)count / (double)model->share_count);
        begun = true;
    }
    fputs("},\n", out);
}

static void write_shares(FILE *out, const fm_model *model)
{
    fputs("  \"share_columns\": [\"pattern\", \"c\", \"e\", \"mismatch\"],\n  \"shares\": [", out);
    for (size_t i = 0; i < model->share_count && !ferror(out); i++) {
        const fm_model_share *share = &model->shares[i];
        fprintf(out, "%s\n    [\"%s\", ", i ? "," : "", fm_growth_name(share->growth));
        fm_json_write_real(out, share->c);
        fputs(", ", out);
        fm_json_write_real(out, share->e);
        fputs(", ", out);
        fm_json_write_real(out, share->mismatch);
        putc(']', out);
    }
    fputs("\n  ]\n", out);
}

fm_status fm_model_write(const char *path, const fm_model *model, fm_error *error)
{
    FM_REQUIRE(model, error);
    fm_output *output;
    fm_status status = fm_output_open(&output, path, error);
    if (status) return status;
    FILE *out = fm_output_stream(output);
    fprintf(out, "{\n  \"schema\": \"%s\",\n  \"granularity\": %" PRIu64 ",\n", schema, model->granularity);
    if (model->elements) fputs("  \"elements\": true,\n", out);
    write_number(out, "percent", model->percent);
    fprintf(out, "  \"dimensions\": %u,\n", model->dimensions);
    write_runs(out, model);
    write_number(out, "references_factor", model->references_factor);
    write_number(out, "references_exponent", model->references_exponent);
    write_number(out, "distinct_c", model->distinct_c);
    write_number(out, "distinct_e", model->distinct_e);
    write_patterns(out, model);
    write_shares(out, model);
    fputs("}\n", out);
    return fm_output_commit(output, error);
}

/* ---- reading ---- */

static fm_status read_schema(fm_json_scan *scan, const char *what)
{
    char *name = NULL;
    fm_status status = fm_json_text(scan, what, &name);
    const bool known = name && strcmp(name, schema) == 0;
    free(name);
    if (status || known) return status;
    return fm_json_refuse(scan, "%s: expected %s, found another", what, schema);
}

static fm_status read_distances(fm_json_scan *scan, fm_training_run *run)
{
    const char *what = "\"runs.distances\"";
    fm_json_list list;
    size_t capacity = 0;
    if (run->distances) return fm_json_refuse(scan, "%s is given twice", what);
    fm_status status = fm_json_enter_array(scan, what, &list);
    while (!status) {
        bool more;
        status = fm_json_more(scan, &list, &more);
        if (status || !more) break;
        if (run->distance_count == MOST_SHARES)
            return fm_json_refuse(scan, "%s: expected at most %d", what, MOST_SHARES);
        void *grown = run->distances;
        if (fm_array_reserve(&grown, &capacity, run->distance_count + 1, sizeof(double)))
            return fm_fail_memory(scan->error, (run->distance_count + 1) * sizeof(double), "a model");
        run->distances = grown;
        double *distance = &run->distances[run->distance_count++];
        *distance = 0;
        status = fm_json_real(scan, what, distance);
        if (!status && !(*distance >= 0 && *distance < 0x1p62))
            return fm_json_refuse(scan, "%s: expected distances from 0 to 2^62, found another", what);
    }
    return status;
}

static fm_status read_run(fm_json_scan *scan, fm_training_run *run)
{
    fm_json_list list;
    fm_status status = fm_json_enter_object(scan, "\"runs\"", &list);
    while (!status) {
        bool more;
        char key[16];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        if (strcmp(key, "name") == 0)
            status = fm_json_optional_text(scan, "\"runs.name\"", &run->name);
        else if (strcmp(key, "size") == 0)
            status = fm_json_real(scan, "\"runs.size\"", &run->size);
        else if (strcmp(key, "references") == 0)
            status = fm_json_whole(scan, "\"runs.references\"", &run->references);
        else if (strcmp(key, "distinct") == 0)
            status = fm_json_whole(scan, "\"runs.distinct\"", &run->distinct);
        else if (strcmp(key, "complete") == 0) {
            bool complete = true;
            status = fm_json_truth(scan, "\"runs.complete\"", &complete);
            run->incomplete = !complete;
        } else if (strcmp(key, "distances") == 0)
            status = read_distances(scan, run);
        else
            status = fm_json_skip(scan);
    }
    return status;
}

static fm_status read_share(fm_json_scan *scan, fm_model_share *share)
{
    const char *what = "\"shares\"";
    fm_json_list list;
    char *name = NULL;
    double *const numbers[] = {&share->c, &share->e, &share->mismatch};
    fm_status status = fm_json_enter_array(scan, what, &list);
    for (int i = 0; i < 5 && !status; i++) {
        bool more;
        status = fm_json_more(scan, &list, &more);
        if (status) break;
        if (more != (i < 4)) status = fm_json_refuse(scan, "%s: expected [pattern, c, e, mismatch]", what);
        if (status || i == 4) break;
        status = i == 0 ? fm_json_text(scan, what, &name) : fm_json_real(scan, what, numbers[i - 1]);
    }
    if (!status) {
        int g = 0;
        while (g < FM_GROWTHS && strcmp(name, fm_growth_name((fm_growth)g)) != 0) g++;
        if (g == FM_GROWTHS)
            status = fm_json_refuse(scan, "%s: expected constant, x^1/3, x^1/2, x^2/3 or linear", what);
        else
            share->growth = (fm_growth)g;
    }
    free(name);
    return status;
}

/* An array of objects of one kind, at most `most` of them. */
#define READ_ARRAY(scan, what, most, count, array, read_one)                                                 \
    do {                                                                                                     \
        fm_json_list list;                                                                                   \
        size_t capacity = 0;                                                                                 \
        if (array) return fm_json_refuse(scan, "%s is given twice", what);                                   \
        fm_status status = fm_json_enter_array(scan, what, &list);                                           \
        while (!status) {                                                                                    \
            bool more;                                                                                       \
            status = fm_json_more(scan, &list, &more);                                                       \
            if (status || !more) break;                                                                      \
            if ((count) == (most))                                                                           \
                return fm_json_refuse(scan, "%s: expected at most %d", what, (int)(most));                   \
            void *grown = array;                                                                             \
            if (fm_array_reserve(&grown, &capacity, (count) + 1, sizeof *(array)))                           \
                return fm_fail_memory((scan)->error, ((count) + 1) * sizeof *(array), "a model");            \
            (array) = grown;                                                                                 \
            memset(&(array)[count], 0, sizeof *(array));                                                     \
            status = read_one(scan, &(array)[(count)++]);                                                    \
        }                                                                                                    \
        return status;                                                                                       \
    } while (0)

static fm_status read_runs(fm_json_scan *scan, fm_model *model)
{
    READ_ARRAY(scan, "\"runs\"", MOST_RUNS, model->run_count, model->runs, read_run);
}

static fm_status read_shares(fm_json_scan *scan, fm_model *model)
{
    READ_ARRAY(scan, "\"shares\"", MOST_SHARES, model->share_count, model->shares, read_share);
}

static fm_status read_field(fm_json_scan *scan, const char *key, fm_model *model)
{
    const struct {
        const char *name;
        double *number;
    } numbers[] = {{"percent", &model->percent},
                   {"references_factor", &model->references_factor},
                   {"references_exponent", &model->references_exponent},
                   {"distinct_c", &model->distinct_c},
                   {"distinct_e", &model->distinct_e}};
    char what[64];
    snprintf(what, sizeof what, "\"%s\"", key);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].name) == 0) return fm_json_real(scan, what, numbers[i].number);
    if (strcmp(key, "schema") == 0) return read_schema(scan, what);
    if (strcmp(key, "granularity") == 0) return fm_json_whole(scan, what, &model->granularity);
    if (strcmp(key, "elements") == 0) return fm_json_truth(scan, what, &model->elements);
    if (strcmp(key, "runs") == 0) return read_runs(scan, model);
    if (strcmp(key, "shares") == 0) return read_shares(scan, model);
    if (strcmp(key, "dimensions") == 0) {
        uint64_t dimensions = 0;
        fm_status status = fm_json_whole(scan, what, &dimensions);
        if (!status && (dimensions < 1 || dimensions > 3))
            return fm_json_refuse(scan, "%s: expected 1 to 3, found %" PRIu64, what, dimensions);
        model->dimensions = (unsigned)dimensions;
        return status;
    }
    return fm_json_skip(scan);
}

static fm_status model_check(const fm_json_scan *scan, const fm_model *model)
{
    const char *wrong = NULL;
    if (model->run_count < 2) wrong = "expected at least two \"runs\"";
    if (model->share_count < 2) wrong = "expected at least two \"shares\"";
    if (model->granularity == 0 || (model->granularity & (model->granularity - 1)))
        wrong = "expected a \"granularity\" that is a power of two";
    if (model->elements && model->granularity != 1) wrong = "expected the \"granularity\" 1 of \"elements\"";
    if (model->dimensions == 0) wrong = "expected the field \"dimensions\", found none";
    for (size_t i = 0; i < model->run_count && !wrong; i++) {
        const fm_training_run *run = &model->runs[i];
        if (!(run->size >= 1 && run->size < 0x1p62) || (i && run->size < run[-1].size))
            wrong = "expected \"runs\" of ascending sizes from 1 on";
        else if (run->distinct < 1 || run->references < run->distinct)
            wrong = "expected \"runs\" with references, and no more distinct blocks than these";
        else if (run->distance_count != model->share_count)
            wrong = "expected as many \"distances\" of each run as there are \"shares\"";
    }
    if (!wrong && fm_runs_sizes(model->runs, model->run_count) < 2)
        wrong = "expected \"runs\" of different sizes";
    for (size_t i = 0; i < model->share_count && !wrong; i++)
        if (!(model->shares[i].mismatch >= 0)) wrong = "expected \"shares\" with a mismatch from 0 on";
    if (!(model->references_factor > 0)) wrong = "expected a \"references_factor\" over 0";
    return wrong ? fm_fail(scan->error, FM_E_FORMAT, scan->path, "%s", wrong) : FM_OK;
}

static fm_status read_model(fm_json_scan *scan, fm_model *model)
{
    fm_json_list list;
    bool known = false;
    fm_status status = fm_json_enter_object(scan, "a model", &list);
    while (!status) {
        bool more;
        char key[32];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        known |= strcmp(key, "schema") == 0;
        status = read_field(scan, key, model);
    }
    if (!status) status = fm_json_end(scan);
    if (!status && !known)
        return fm_fail(scan->error, FM_E_FORMAT, scan->path, "expected the field \"schema\", found none");
    return status ? status : model_check(scan, model);
}

fm_status fm_model_read(const char *path, fm_model **model, fm_error *error)
{
    *model = NULL;
    fm_json_scan *scan = malloc(sizeof *scan);
    fm_model *made = fm_calloc(1, sizeof *made);
    if (!scan || !made) {
        free(scan);
        free(made);
        return fm_fail_memory(error, sizeof *scan, "reading a model");
    }
    fm_status status = fm_json_scan_open(scan, path, error);
    if (!status) {
        status = read_model(scan, made);
        fm_json_scan_close(scan);
    }
    free(scan);
    if (status) {
        fm_model_destroy(made);
        return status;
    }
    *model = made;
    return FM_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_files.c - jobs about stored traces that make no profile: one format to another, and whether a trace is
 * sound.
 *
 * What a new format cannot hold is left out and said; what is damaged in the old trace is left out. A native
 * trace is checked block by block, its index included; any other is read from beginning to end.
 */
#include "job/job_internal.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static double read_fraction(const fm_trace_info *info)
{
    return info->bytes_total ? (double)info->bytes_read / (double)info->bytes_total : -1;
}

/* ---- converting ---- */

static const struct {
    unsigned column;
    const char *name;
} column_words[] = {{FM_COLUMN_SIZE, "sizes"},
                    {FM_COLUMN_KIND, "kinds of access"},
                    {FM_COLUMN_THREAD, "threads"},
                    {FM_COLUMN_SITE, "code sites"}};

static void note_losses(fm_job *job, unsigned have, const fm_format_info *target)
{
    for (size_t i = 0; i < sizeof column_words / sizeof column_words[0]; i++)
        if (have & ~target->columns & column_words[i].column)
            fm_job_note(job, "%s of the references are left out: format %s cannot hold them",
                        column_words[i].name, target->name);
}

/* Copies all there is. */
static fm_status copy_references(fm_job *job, fm_reader *reader, fm_writer *writer, fm_error *error)
{
    for (;;) {
        fm_batch batch;
        fm_trace_info info;
        fm_status status = fm_reader_next(reader, &batch, error);
        if (fm_status_is_damage(status)) {
            fm_job_hear_damage(job, error);
            continue;
        }
        if (status != FM_OK || batch.count == 0) return status;
        status = fm_writer_append(writer, &batch, error);
        if (status != FM_OK) return status;
        fm_reader_info(reader, &info);
        fm_job_progress_at(job, info.references, read_fraction(&info));
    }
}

/* Which files the code sites belong to goes along, where the new format has a place for it. */
static fm_status copy_modules(fm_job *job, const fm_reader *reader, fm_writer *writer,
                              const fm_format_info *target, fm_error *error)
{
    const fm_trace_module *modules;
    size_t count;
    fm_reader_modules(reader, &modules, &count);
    if (count == 0) return FM_OK;
    fm_status status = fm_writer_set_modules(writer, modules, count, error);
    if (status != FM_E_UNSUPPORTED) return status;
    fm_job_note(job, "the table of %zu modules is left out: format %s cannot hold it", count, target->name);
    return FM_OK;
}

/* The format that will be written, or NULL where the writer will complain. */
static const fm_format_info *target_format(const char *path, const char *name)
{
    if (!name) return fm_format_of_name(path);
    const fm_format_info *format;
    for (size_t i = 0; (format = fm_format_at(i)); i++)
        if (strcmp(format->name, name) == 0) return format;
    return NULL;
}

static fm_status convert_trace(fm_job *job, const char *from, fm_reader *reader, const char *to,
                               fm_writer_options *writing, fm_error *error)
{
    fm_trace_info info;
    fm_writer *writer = NULL;
    const fm_format_info *target = target_format(to, writing->format);
    fm_reader_opened_notes(reader, 0, job->options.note, job->options.context);
    fm_reader_info(reader, &info);
    writing->columns = target ? info.columns & target->columns : 0;
    writing->memory_addresses = info.memory_addresses;
    writing->threads = fm_job_threads(job);
    fm_status status = fm_writer_open(&writer, to, writing, error);
    if (status == FM_OK && target) {
        note_losses(job, info.columns, target);
        fm_job_progress_begin(job, "references", false);
        status = copy_references(job, reader, writer, error);
        fm_job_progress_end(job);
        if (status == FM_OK) status = copy_modules(job, reader, writer, target, error);
    }
    if (status == FM_OK) status = fm_writer_finish(writer, error);
    fm_writer_close(writer);
    if (status != FM_OK || !target) return status;
    fm_reader_ended_notes(reader, true, job->options.note, job->options.warn, job->options.context);
    fm_reader_info(reader, &info);
    fm_job_note(job, "%" PRIu64 " references of format %s were written as %s", info.references, info.format,
                target->name);
    if (job->damage.places > 0)
        fm_job_warn(job,
                    "%s: the input is damaged: %" PRIu64 " references were converted, %" PRIu64
                    " are known to be missing",
                    from, info.references, job->damage.lost);
    return FM_OK;
}

fm_status fm_job_convert_sized(size_t reading_size, size_t writing_size, fm_job *job, const char *from,
                               const fm_reader_options *reading, const char *to,
                               const fm_writer_options *writing, fm_error *error)
{
    fm_reader_options own;
    fm_writer_options written;
    fm_reader *reader;
    FM_REQUIRE(job, error);
    FM_REQUIRE(from, error);
    FM_REQUIRE(to, error);
    fm_status status =
        fm_sized_read(&own, sizeof own, reading, reading ? reading_size : 0, "fm_reader_options", error);
    if (status == FM_OK)
        status = fm_sized_read(&written, sizeof written, writing, writing ? writing_size : 0,
                               "fm_writer_options", error);
    if (status == FM_OK) status = fm_job_begin(job, FM_JOB_RECORDING, error);
    if (status != FM_OK) return status;
    own.read_ahead = true;
    own.threads = fm_job_threads(job);
    status = fm_reader_open(&reader, from, &own, error);
    if (status != FM_OK) return status;
    status = convert_trace(job, from, reader, to, &written, error);
    fm_reader_close(reader);
    return status;
}

/* ---- checking ---- */

typedef struct trace_problem {
    fm_place place;
    uint64_t offset, lost;
    char reason[512];
} trace_problem;

/* What a check found, whatever the format. */
struct fm_job_check {
    char *path;
    fm_trace_info info;
    bool native; /* checked by blocks: result is filled in */
    fm_check_result result;
    uint64_t references, lost;
    trace_problem *problems; /* the first MOST_PROBLEMS */
    size_t problem_count;
    uint64_t problems_found;
    FILE *blocks; /* NULL, or where a line for each block goes */
    bool table_begun;
};

enum { MOST_PROBLEMS = 1000 };

void fm_job_check_destroy(struct fm_job_check *check)
{
    if (!check) return;
    free(check->problems);
    free(check->path);
    free(check);
}

static void add_problem(struct fm_job_check *found, fm_place place, uint64_t offset, uint64_t lost,
                        const char *reason)
{
    found->problems_found++;
    if (found->problem_count == MOST_PROBLEMS) return;
    trace_problem *grown = realloc(found->problems, (found->problem_count + 1) * sizeof *grown);
    if (!grown) return; /* it is still counted */
    found->problems = grown;
    trace_problem *added = &grown[found->problem_count++];
    *added = (trace_problem){.place = place, .offset = offset, .lost = lost};
    snprintf(added->reason, sizeof added->reason, "%s", reason);
}

static void visit_block(void *context, const fm_block_report *report)
{
    struct fm_job_check *found = context;
    if (report->status != FM_OK)
        add_problem(found, FM_PLACE_BYTE, report->offset, report->references, report->reason);
    FILE *out = found->blocks;
    if (!out) return;
    if (!found->table_begun)
        fprintf(out, "%10s %16s %12s %12s  %s\n", "block", "offset", "bytes", "references", "state");
    found->table_begun = true;
    fprintf(out, "%10" PRIu64 " %16" PRIu64 " %12" PRIu64 " %12" PRIu64 "  %s\n", report->index,
            report->offset, report->stored_bytes, report->references,
            report->reason ? report->reason : "sound");
}

/* Reads all of a trace. FM_OK also when damage was met. */
static fm_status read_through(fm_job *job, fm_reader *reader, fm_error *error)
{
    struct fm_job_check *found = job->check;
    fm_status status;
    fm_error met;
    fm_job_progress_begin(job, "references", false);
    for (;;) {
        fm_batch batch;
        status = fm_reader_next(reader, &batch, &met);
        if (fm_status_is_damage(status)) {
            add_problem(found, met.place, met.offset, met.lost, met.reason);
            found->lost += met.lost;
            continue;
        }
        if (status != FM_OK || batch.count == 0) break;
        fm_reader_info(reader, &found->info);
        fm_job_progress_at(job, found->info.references, read_fraction(&found->info));
    }
    fm_job_progress_end(job);
    fm_reader_info(reader, &found->info);
    found->references = found->info.references;
    if (status != FM_OK && error) *error = met;
    return status;
}

static fm_status inspect_trace(fm_job *job, const fm_reader_options *reading, fm_error *error)
{
    struct fm_job_check *found = job->check;
    fm_reader *reader;
    fm_status status = fm_reader_open(&reader, found->path, reading, error);
    if (status != FM_OK) return status;
    fm_reader_opened_notes(reader, 0, job->options.note, job->options.context);
    fm_reader_info(reader, &found->info);
    /* Blocks can be shown of what can be opened again: not of a pipe. */
    found->native = strcmp(found->info.format, "fathom") == 0 && found->info.bytes_total > 0;
    if (!found->native) status = read_through(job, reader, error);
    fm_reader_close(reader);
    if (!found->native) return status;
    status = fm_trace_check(found->path, visit_block, found, &found->result, error);
    found->references = found->result.references;
    found->lost = found->result.lost;
    found->info.bytes_read = found->result.stored_bytes;
    return fm_status_is_damage(status) ? FM_OK : status;
}

static void tell_problems(fm_job *job)
{
    enum { TOLD_MOST = 10 };
    const struct fm_job_check *found = job->check;
    for (size_t i = 0; i < found->problem_count && i < TOLD_MOST; i++) {
        const trace_problem *one = &found->problems[i];
        fm_job_warn(job, "%s: %s %" PRIu64 ": %s", found->path, one->place == FM_PLACE_LINE ? "line" : "byte",
                    one->offset, one->reason);
    }
    if (found->problems_found > TOLD_MOST)
        fm_job_warn(job, "%s: and %" PRIu64 " more problems; --verbose and --json show them", found->path,
                    found->problems_found - TOLD_MOST);
}

fm_status fm_job_check_sized(size_t reading_size, fm_job *job, const char *path,
                             const fm_reader_options *reading, FILE *blocks, fm_error *error)
{
    fm_reader_options own;
    FM_REQUIRE(job, error);
    FM_REQUIRE(path, error);
    fm_status status =
        fm_sized_read(&own, sizeof own, reading, reading ? reading_size : 0, "fm_reader_options", error);
    if (status == FM_OK) status = fm_job_begin(job, FM_JOB_RECORDING, error);
    if (status != FM_OK) return status;
    job->check = fm_calloc(1, sizeof *job->check);
    if (job->check) job->check->path = strdup(path);
    if (!job->check || !job->check->path) return fm_fail_memory(error, sizeof *job->check, "a check");
    job->check->blocks = blocks;
    status = inspect_trace(job, &own, error);
    if (status != FM_OK) return status;
    tell_problems(job);
    job->incomplete = job->check->problems_found > 0;
    return FM_OK;
}

static const char *const column_names[] = {"address", "size", "kind", "thread", "site"};

void fm_job_show_check(const fm_job *job, FILE *out, const fm_view_options *view)
{
    const struct fm_job_check *found = job->check;
    const fm_trace_info *info = &found->info;
    fm_view_text(out, found->path, view);
    fprintf(out, ": %s, %" PRIu64 " references", found->problems_found ? "damaged" : "sound",
            found->references);
    if (found->problems_found) fprintf(out, " can be read, %" PRIu64 " are known to be missing", found->lost);
    fprintf(out, "\n");
    fprintf(out, "  format        %s", info->format);
    if (strcmp(info->compression, "none") != 0) fprintf(out, ", %s-compressed", info->compression);
    fprintf(out, ", %s\n", info->memory_addresses ? "memory addresses" : "keys");
    fprintf(out, "  columns       address");
    for (int i = 1; i < 5; i++)
        if (info->columns & 1U << (i - 1)) fprintf(out, ", %s", column_names[i]);
    if (info->fetches_skipped)
        fprintf(out, "\n  passed over   %" PRIu64 " instruction fetches", info->fetches_skipped);
    fprintf(out, "\n  stored bytes  %" PRIu64, info->bytes_read);
    if (found->references)
        fprintf(out, " (%.2f a reference)", (double)info->bytes_read / (double)found->references);
    fprintf(out, "\n");
    if (found->native) {
        const fm_check_result *result = &found->result;
        fprintf(out, "  blocks        %" PRIu64, result->blocks);
        if (result->bad_blocks) fprintf(out, ", %" PRIu64 " damaged places", result->bad_blocks);
        if (result->modules_present && result->modules_sound)
            fprintf(out, "\n  modules       %" PRIu64, result->modules);
        if (result->modules_present && !result->modules_sound) fprintf(out, "\n  modules       damaged");
        fprintf(out, "\n  index         %s\n",
                !result->index_present ? "absent"
                : result->index_sound  ? "sound"
                                       : "damaged");
    }
    if (found->problems_found) fprintf(out, "  problems      %" PRIu64 "\n", found->problems_found);
}

void fm_job_write_check(const fm_job *job, FILE *out)
{
    const struct fm_job_check *found = job->check;
    const fm_trace_info *info = &found->info;
    fprintf(out, "{ \"schema\": \"fathom-check-1\",\n  \"name\": ");
    fm_json_write_string(out, found->path, FM_JSON_PLAIN);
    fprintf(out,
            ",\n  \"format\": \"%s\", \"compression\": \"%s\", \"memory_addresses\": %s,\n  \"columns\": "
            "[\"address\"",
            info->format, info->compression, info->memory_addresses ? "true" : "false");
    for (int i = 1; i < 5; i++)
        if (info->columns & 1U << (i - 1)) fprintf(out, ", \"%s\"", column_names[i]);
    fprintf(out,
            "],\n  \"complete\": %s, \"references\": %" PRIu64 ", \"lost\": %" PRIu64
            ", \"stored_bytes\": %" PRIu64 ",\n",
            found->problems_found ? "false" : "true", found->references, found->lost, info->bytes_read);
    if (found->native)
        fprintf(out,
                "  \"blocks\": %" PRIu64 ", \"bad_blocks\": %" PRIu64
                ", \"index_present\": %s, \"index_sound\": %s,\n"
                "  \"modules_present\": %s, \"modules_sound\": %s, \"modules\": %" PRIu64 ",\n",
                found->result.blocks, found->result.bad_blocks,
                found->result.index_present ? "true" : "false", found->result.index_sound ? "true" : "false",
                found->result.modules_present ? "true" : "false",
                found->result.modules_sound ? "true" : "false", found->result.modules);
    fprintf(out, "  \"problems_found\": %" PRIu64 ",\n  \"problems\": [", found->problems_found);
    for (size_t i = 0; i < found->problem_count; i++) {
        const trace_problem *one = &found->problems[i];
        fprintf(out, "%s\n    { \"%s\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"reason\": ", i ? "," : "",
                one->place == FM_PLACE_LINE ? "line" : "byte", one->offset, one->lost);
        fm_json_write_string(out, one->reason, FM_JSON_PLAIN);
        fputs(" }", out);
    }
    fputs(found->problem_count ? "\n  ] }\n" : "] }\n", out);
}

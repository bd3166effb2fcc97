/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_check.c - verifies a stored trace. A native trace is checked block by block, its index included; any
 * other is read from beginning to end. Exit code 0: sound; 3: damaged, but some of it can be read; 1: cannot
 * be read as a trace.
 */
#include "cli.h"
#include "results.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    fm_place place;
    uint64_t offset, lost;
    char reason[512];
} problem;

/* What a check found, whatever the format. */
typedef struct findings {
    const char *path;
    fm_trace_info info;
    bool native; /* checked by blocks: result is filled in */
    fm_check_result result;
    uint64_t references, lost;
    problem *problems; /* the first PROBLEMS_MOST */
    size_t problem_count;
    uint64_t problems_found;
    bool verbose, table_begun;
} findings;

enum { PROBLEMS_MOST = 1000 };

static void add_problem(findings *found, fm_place place, uint64_t offset, uint64_t lost, const char *reason)
{
    found->problems_found++;
    if (found->problem_count == PROBLEMS_MOST) return;
    problem *grown = realloc(found->problems, (found->problem_count + 1) * sizeof *grown);
    if (!grown) return; /* it is still counted */
    found->problems = grown;
    problem *added = &grown[found->problem_count++];
    *added = (problem){.place = place, .offset = offset, .lost = lost};
    snprintf(added->reason, sizeof added->reason, "%s", reason);
}

static void visit(void *context, const fm_block_report *report)
{
    findings *found = context;
    if (report->status != FM_OK)
        add_problem(found, FM_PLACE_BYTE, report->offset, report->references, report->reason);
    if (!found->verbose) return;
    if (!found->table_begun)
        printf("%10s %16s %12s %12s  %s\n", "block", "offset", "bytes", "references", "state");
    found->table_begun = true;
    printf("%10" PRIu64 " %16" PRIu64 " %12" PRIu64 " %12" PRIu64 "  %s\n", report->index, report->offset,
           report->stored_bytes, report->references, report->reason ? report->reason : "sound");
}

/* Reads all of a trace. FM_OK also when damage was met. */
static fm_status read_through(findings *found, fm_reader *reader, bool progress_always, fm_error *error)
{
    cli_progress progress;
    fm_status status;
    cli_progress_start(&progress, "references", progress_always);
    for (;;) {
        fm_batch batch;
        status = fm_reader_next(reader, &batch, error);
        if (fm_status_is_damage(status)) {
            add_problem(found, error->place, error->offset, error->lost, error->reason);
            found->lost += error->lost;
            continue;
        }
        if (status != FM_OK || batch.count == 0) break;
        fm_reader_info(reader, &found->info);
        cli_progress_update_read(&progress, &found->info);
    }
    cli_progress_end(&progress);
    fm_reader_info(reader, &found->info);
    found->references = found->info.references;
    return status;
}

static fm_status inspect(findings *found, const fm_reader_options *options, bool progress, fm_error *error)
{
    fm_reader *reader;
    fm_status status = fm_reader_open(&reader, found->path, options, error);
    if (status != FM_OK) return status;
    fm_reader_opened_notes(reader, 0, cli_hear_note, NULL);
    fm_reader_info(reader, &found->info);
    /* Blocks can be shown of what can be opened again: not of a pipe. */
    found->native = strcmp(found->info.format, "fathom") == 0 && found->info.bytes_total > 0;
    if (!found->native) {
        status = read_through(found, reader, progress, error);
        fm_reader_close(reader);
        return status;
    }
    fm_reader_close(reader);
    status = fm_trace_check(found->path, visit, found, &found->result, error);
    found->references = found->result.references;
    found->lost = found->result.lost;
    found->info.bytes_read = found->result.stored_bytes;
    return fm_status_is_damage(status) ? FM_OK : status;
}

static const char *const column_names[] = {"address", "size", "kind", "thread", "site"};

static void print_summary(const findings *found)
{
    const fm_trace_info *info = &found->info;
    const fm_view_options view = cli_view_options();
    fm_view_text(stdout, found->path, &view);
    printf(": %s, %" PRIu64 " references", found->problems_found ? "damaged" : "sound", found->references);
    if (found->problems_found) printf(" can be read, %" PRIu64 " are known to be missing", found->lost);
    printf("\n");
    printf("  format        %s", info->format);
    if (strcmp(info->compression, "none") != 0) printf(", %s-compressed", info->compression);
    printf(", %s\n", info->memory_addresses ? "memory addresses" : "keys");
    printf("  columns       address");
    for (int i = 1; i < 5; i++)
        if (info->columns & 1U << (i - 1)) printf(", %s", column_names[i]);
    if (info->fetches_skipped)
        printf("\n  passed over   %" PRIu64 " instruction fetches", info->fetches_skipped);
    printf("\n  stored bytes  %" PRIu64, info->bytes_read);
    if (found->references)
        printf(" (%.2f a reference)", (double)info->bytes_read / (double)found->references);
    printf("\n");
    if (found->native) {
        const fm_check_result *result = &found->result;
        printf("  blocks        %" PRIu64, result->blocks);
        if (result->bad_blocks) printf(", %" PRIu64 " damaged places", result->bad_blocks);
        if (result->modules_present && result->modules_sound)
            printf("\n  modules       %" PRIu64, result->modules);
        if (result->modules_present && !result->modules_sound) printf("\n  modules       damaged");
        printf("\n  index         %s\n", !result->index_present ? "absent"
                                         : result->index_sound  ? "sound"
                                                                : "damaged");
    }
    if (found->problems_found) printf("  problems      %" PRIu64 "\n", found->problems_found);
}

/* A JSON string; bytes that are not part of valid UTF-8 become U+FFFD. */
static void write_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        size_t length = *c < 0x80                 ? 1
                        : *c >= 0xc2 && *c < 0xe0 ? 2
                        : (*c & 0xf0) == 0xe0     ? 3
                        : *c >= 0xf0 && *c < 0xf5 ? 4
                                                  : 0;
        size_t good = length > 0 ? 1 : 0;
        while (good > 0 && good < length && (c[good] & 0xc0) == 0x80) good++;
        /* Overlong forms, surrogates and what lies beyond Unicode. */
        bool wrong = good < length || length == 0 || (c[0] == 0xe0 && c[1] < 0xa0) ||
                     (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
                     (c[0] == 0xf4 && c[1] > 0x8f);
        if (wrong) {
            fputs("\\ufffd", out);
            c++;
            continue;
        }
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(out, "\\u%04x", *c);
        else
            fwrite(c, 1, length, out);
        c += length;
    }
    fputc('"', out);
}

static void write_json(FILE *out, const findings *found)
{
    const fm_trace_info *info = &found->info;
    fprintf(out, "{ \"schema\": \"fathom-check-1\",\n  \"name\": ");
    write_json_string(out, found->path);
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
        const problem *one = &found->problems[i];
        fprintf(out, "%s\n    { \"%s\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"reason\": ", i ? "," : "",
                one->place == FM_PLACE_LINE ? "line" : "byte", one->offset, one->lost);
        write_json_string(out, one->reason);
        fputs(" }", out);
    }
    fputs(found->problem_count ? "\n  ] }\n" : "] }\n", out);
}

static int report(const findings *found, const char *json)
{
    enum { TOLD_MOST = 10 };
    for (size_t i = 0; i < found->problem_count && i < TOLD_MOST; i++) {
        const problem *one = &found->problems[i];
        cli_complain("%s: %s %" PRIu64 ": %s", found->path, one->place == FM_PLACE_LINE ? "line" : "byte",
                     one->offset, one->reason);
    }
    if (found->problems_found > TOLD_MOST)
        cli_complain("%s: and %" PRIu64 " more problems; --verbose and --json show them", found->path,
                     found->problems_found - TOLD_MOST);
    int code = found->problems_found == 0 ? CLI_COMPLETE : CLI_INCOMPLETE;
    if (!json || strcmp(json, "-") != 0) print_summary(found);
    if (json) {
        fm_output *output;
        fm_error error;
        if (fm_output_open(&output, json, &error)) return cli_fail(&error);
        write_json(fm_output_stream(output), found);
        if (fm_output_commit(output, &error)) return cli_fail(&error);
    }
    return code;
}

int cli_verb_check(int argc, char **argv)
{
    findings found = {0};
    const char *json = NULL;
    bool progress = false;
    cli_trace_options trace = {0};
    const cli_option table[] = {
        {"verbose", CLI_TO(&found.verbose)}, {"json", CLI_TO(&json), .help = "write the result as JSON"},
        {"quiet", CLI_TO(&cli_quiet)},       {"progress", CLI_TO(&progress)},
        CLI_TRACE_OPTIONS(&trace),           {0},
    };
    const cli_command command = {
        .usage = "fathom check [options] TRACE",
        .about = "Verifies a stored trace: the native format block by block with checksums and\n"
                 "index, any other by reading it to its end.",
        .options = table,
        .exits = "0 sound, 1 not readable as a trace, 2 bad usage, 3 damaged in part",
        .notes = "Example:\n"
                 "  fathom check --verbose trace.fathom\n",
        .least = 1,
        .reads = CLI_READS_TRACE,
        .most = 1,
    };
    size_t count;
    int code = cli_parse(&command, argc, argv, &count);
    if (code >= 0) return code;
    if (found.verbose && json && strcmp(json, "-") == 0)
        return cli_misuse("--verbose and --json - cannot both go to standard output");
    fm_reader_options options;
    code = cli_reader_options(&trace, &options);
    if (code >= 0) return code;
    found.path = argv[1];
    fm_error error;
    fm_status status = inspect(&found, &options, progress, &error);
    code = status == FM_OK ? report(&found, json) : cli_fail(&error);
    free(found.problems);
    return cli_finish(code);
}

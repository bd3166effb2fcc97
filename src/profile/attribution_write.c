/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attribution_write.c - an attribution to JSON (docs/PROFILE.md): tables of rows, one row per line, that
 * refer to each other and to one table of strings by number. Streamed; memory is that of the strings'
 * numbers.
 */
#include "profile/attribution_parts.h"

#include "base/error.h"
#include "base/json.h"
#include "base/table.h"

#include <inttypes.h>
#include <string.h>

/* Numbers by the million: put together here and given to the stream in pieces. */
typedef struct row_writer {
    FILE *out;
    const char *indent;
    bool begun; /* a row of this table was written */
    size_t used;
    char bytes[4096];
} row_writer;

static void rows_flush(row_writer *rows)
{
    fwrite(rows->bytes, 1, rows->used, rows->out);
    rows->used = 0;
}

static void put_text(row_writer *rows, const char *text)
{
    size_t length = strlen(text); /* always short */
    if (sizeof rows->bytes - rows->used < length) rows_flush(rows);
    memcpy(rows->bytes + rows->used, text, length);
    rows->used += length;
}

static void put_number(row_writer *rows, uint64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    put_text(rows, digits + at);
}

static void put_index(row_writer *rows, uint32_t index)
{
    if (index == FM_NONE)
        put_text(rows, "null");
    else
        put_number(rows, index);
}

static void begin_table(row_writer *rows, const char *name)
{
    rows_flush(rows);
    fprintf(rows->out, ",\n%s\"%s\": [", rows->indent, name);
    rows->begun = false;
}

static void begin_row(row_writer *rows)
{
    put_text(rows, rows->begun ? ",\n" : "\n");
    rows->begun = true;
}

static void end_table(row_writer *rows)
{
    if (rows->begun) {
        put_text(rows, "\n");
        put_text(rows, rows->indent);
    }
    put_text(rows, "]");
    rows_flush(rows);
}

/* ---- strings ---- */

/* Gives a text its number, and writes it where it is new. Texts that lie at two places are written twice. */
static bool write_string(row_writer *rows, fm_table *strings, const char *text)
{
    if (!text) return true;
    bool fresh;
    if (!fm_table_put(strings, &text, &fresh)) return false;
    if (!fresh) return true;
    begin_row(rows);
    rows_flush(rows);
    fm_json_write_string(rows->out, text, FM_JSON_PLAIN);
    return true;
}

static bool write_strings(row_writer *rows, fm_table *strings, const fm_attribution *of)
{
    bool made = true;
    begin_table(rows, "strings");
    for (size_t i = 0; i < of->site_count && made; i++) {
        const fm_site *site = &of->sites[i];
        made = write_string(rows, strings, site->symbol);
        for (size_t j = 0; j < site->frame_count && made; j++)
            made = write_string(rows, strings, site->frames[j].function) &&
                   write_string(rows, strings, site->frames[j].file);
    }
    end_table(rows);
    return made;
}

static void put_string(row_writer *rows, const fm_table *strings, const char *text)
{
    put_index(rows, text ? fm_table_look_up(strings, &text) : FM_NONE);
}

/* ---- tables ---- */

static void write_edges(row_writer *rows, const fm_attribution *of)
{
    fprintf(rows->out, "{\n%s\"late_from\": %" PRIu64 ",\n%s\"edges\": [", rows->indent, of->late_from,
            rows->indent);
    for (size_t i = 0; i < of->edge_count; i++) {
        if (i) put_text(rows, ", ");
        put_number(rows, of->edges[i]);
    }
    put_text(rows, "]");
}

static void write_modules(row_writer *rows, const fm_attribution *of)
{
    begin_table(rows, "modules");
    for (size_t i = 0; i < of->module_count; i++) {
        const fm_module *module = &of->modules[i];
        begin_row(rows);
        rows_flush(rows);
        fputs("{\"path\": ", rows->out);
        fm_json_write_string(rows->out, module->path, FM_JSON_PLAIN);
        if (module->build_id) {
            fputs(", \"build_id\": ", rows->out);
            fm_json_write_string(rows->out, module->build_id, FM_JSON_PLAIN);
        }
        fprintf(rows->out, ", \"bias\": %" PRIu64 "%s}", module->bias,
                module->unseen ? ", \"unseen\": true" : "");
    }
    end_table(rows);
}

static void write_sites(row_writer *rows, const fm_table *strings, const fm_attribution *of)
{
    begin_table(rows, "sites");
    for (size_t i = 0; i < of->site_count; i++) {
        const fm_site *site = &of->sites[i];
        begin_row(rows);
        put_text(rows, "[");
        put_index(rows, site->module);
        put_text(rows, ",");
        put_number(rows, site->address);
        put_text(rows, ",");
        put_index(rows, site->path);
        put_text(rows, ",");
        put_string(rows, strings, site->symbol);
        put_text(rows, ",");
        put_number(rows, site->symbol_offset);
        put_text(rows, ",[");
        for (size_t j = 0; j < site->frame_count; j++) {
            const fm_frame *frame = &site->frames[j];
            if (j) put_text(rows, ",");
            put_string(rows, strings, frame->function);
            put_text(rows, ",");
            put_string(rows, strings, frame->file);
            put_text(rows, ",");
            put_number(rows, frame->line);
            put_text(rows, ",");
            put_number(rows, frame->column);
        }
        put_text(rows, "]]");
    }
    end_table(rows);
}

static void write_paths(row_writer *rows, const fm_attribution *of)
{
    begin_table(rows, "paths");
    for (size_t i = 0; i < of->path_count; i++) {
        begin_row(rows);
        put_text(rows, "[");
        put_index(rows, of->paths[i].parent);
        put_text(rows, ",");
        put_index(rows, of->paths[i].call);
        put_text(rows, "]");
    }
    end_table(rows);
}

/* A row of pairs or of object uses. The ranges are given by the numbers of their edges. */
static void write_counts(row_writer *rows, const fm_attribution *of, uint32_t a, uint32_t b,
                         const uint64_t counts[3], const fm_bin *bins, size_t bin_count)
{
    begin_row(rows);
    put_text(rows, "[");
    put_index(rows, a);
    put_text(rows, ",");
    put_index(rows, b);
    for (size_t i = 0; i < 3; i++) {
        put_text(rows, ",");
        put_number(rows, counts[i]);
    }
    put_text(rows, ",[");
    size_t edge = 0;
    for (size_t i = 0; i < bin_count; i++) {
        while (of->edges[edge] < bins[i].lo) edge++; /* it is one of them: fm_attribution_sound */
        if (i) put_text(rows, ",");
        put_number(rows, edge);
        put_text(rows, ",");
        put_number(rows, bins[i].count);
    }
    put_text(rows, "]]");
}

static void write_pairs(row_writer *rows, const fm_attribution *of)
{
    begin_table(rows, "pairs");
    for (size_t i = 0; i < of->pair_count && !ferror(rows->out); i++) {
        const fm_pair *pair = &of->pairs[i];
        const uint64_t counts[] = {pair->count, pair->cold, pair->beyond};
        write_counts(rows, of, pair->use, pair->reuse, counts, pair->bins, pair->bin_count);
    }
    end_table(rows);
}

static void write_objects(row_writer *rows, const fm_attribution *of)
{
    static const char *const kinds[] = {"global", "heap",         "stack", "module",
                                        "other",  "thread-local", "array"};
    begin_table(rows, "objects");
    for (size_t i = 0; i < of->object_count; i++) {
        const fm_object *object = &of->objects[i];
        begin_row(rows);
        rows_flush(rows);
        fprintf(rows->out, "{\"kind\": \"%s\"", kinds[object->kind]);
        if (object->name) {
            fputs(", \"name\": ", rows->out);
            fm_json_write_string(rows->out, object->name, FM_JSON_PLAIN);
        }
        if (object->module != FM_NONE) fprintf(rows->out, ", \"module\": %" PRIu32, object->module);
        if (object->address) fprintf(rows->out, ", \"address\": %" PRIu64, object->address);
        if (object->size) fprintf(rows->out, ", \"size\": %" PRIu64, object->size);
        if (object->blocks) fprintf(rows->out, ", \"blocks\": %" PRIu64, object->blocks);
        if (object->allocation != FM_NONE)
            fprintf(rows->out, ", \"allocation\": %" PRIu32, object->allocation);
        if (object->thread) fprintf(rows->out, ", \"thread\": %" PRIu32, object->thread);
        if (object->error) fprintf(rows->out, ", \"error\": %" PRIu64, object->error);
        if (object->samples) fprintf(rows->out, ", \"samples\": %" PRIu64, object->samples);
        putc('}', rows->out);
    }
    end_table(rows);
    begin_table(rows, "object_uses");
    for (size_t i = 0; i < of->object_use_count && !ferror(rows->out); i++) {
        const fm_object_use *use = &of->object_uses[i];
        const uint64_t counts[] = {use->count, use->cold, use->beyond};
        write_counts(rows, of, use->object, use->site, counts, use->bins, use->bin_count);
    }
    end_table(rows);
}

static void write_latencies(row_writer *rows, const fm_attribution *of)
{
    if (of->latency_count == 0) return;
    begin_table(rows, "latencies");
    for (size_t i = 0; i < of->latency_count && !ferror(rows->out); i++) {
        const fm_site_latency *each = &of->latencies[i];
        const uint64_t counts[] = {each->samples, each->timed, each->cycles};
        begin_row(rows);
        put_text(rows, "[");
        put_index(rows, each->site);
        for (size_t k = 0; k < 3; k++) {
            put_text(rows, ",");
            put_number(rows, counts[k]);
        }
        for (size_t k = 0; k < FM_MEMORY_LEVELS; k++) {
            put_text(rows, k == 0 ? ",[" : ",");
            put_number(rows, each->levels[k]);
        }
        put_text(rows, "]]");
    }
    end_table(rows);
}

static void write_pair_errors(row_writer *rows, const fm_attribution *of)
{
    if (of->pair_error_count == 0) return;
    begin_table(rows, "pair_errors");
    for (size_t i = 0; i < of->pair_error_count && !ferror(rows->out); i++) {
        const fm_pair_error *each = &of->pair_errors[i];
        begin_row(rows);
        put_text(rows, "[");
        put_index(rows, each->use);
        put_text(rows, ",");
        put_index(rows, each->reuse);
        put_text(rows, ",");
        put_number(rows, each->error);
        put_text(rows, ",");
        put_number(rows, each->samples);
        put_text(rows, "]");
    }
    end_table(rows);
}

static void write_sources(row_writer *rows, const fm_attribution *of)
{
    if (!of->sources) return;
    begin_table(rows, "sources");
    for (size_t i = 0; i < of->source_count && !ferror(rows->out); i++) {
        const fm_source *source = &of->sources[i];
        begin_row(rows);
        rows_flush(rows);
        fputs("{\"path\": ", rows->out);
        fm_json_write_string(rows->out, source->path, FM_JSON_PLAIN);
        if (source->sha256)
            fprintf(rows->out, ", \"sha256\": \"%s\", \"size\": %" PRIu64, source->sha256, source->size);
        if (source->newer) fputs(", \"newer\": true", rows->out);
        const char *sums = source->sha256 ? fm_line_sums_of(of, source->path) : NULL;
        if (sums) fprintf(rows->out, ", \"lines\": \"%s\"", sums);
        if (source->text) {
            fputs(", \"text\": ", rows->out);
            fm_json_write_string(rows->out, source->text, FM_JSON_PLAIN);
        }
        putc('}', rows->out);
    }
    end_table(rows);
}

fm_status fm_attribution_write(FILE *out, const fm_attribution *attribution, const char *indent,
                               fm_error *error)
{
    char inner[32];
    snprintf(inner, sizeof inner, "%s  ", indent);
    row_writer rows = {.out = out, .indent = inner};
    fm_table strings = FM_TABLE_OF(char *); /* where they lie */
    write_edges(&rows, attribution);
    bool made = write_strings(&rows, &strings, attribution);
    if (made) {
        write_modules(&rows, attribution);
        write_sites(&rows, &strings, attribution);
        write_paths(&rows, attribution);
        write_pairs(&rows, attribution);
        write_objects(&rows, attribution);
        write_latencies(&rows, attribution);
        write_pair_errors(&rows, attribution);
        write_sources(&rows, attribution);
        fprintf(out, "\n%s}", indent);
    }
    fm_table_clear(&strings);
    return made ? FM_OK
                : fm_fail_memory(error, (uint64_t)attribution->site_count * 64, "the strings of a profile");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolic_write.c - formulas as JSON, schema fathom-symbolic-1 (docs/PROFILE.md). Pieces are rows of
 * numbers, as they are evaluated; the texts beside them are for people.
 */
#include "static/symbolic/symbolic.h"

#include "base/error.h"
#include "base/json_fields.h"

#include <fathom/output.h>
#include <inttypes.h>

static void write_numbers(FILE *out, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) fprintf(out, "%s%" PRId64, i ? " " : "", numbers[i]);
}

/* "parameters variables columns; derived …; numbers …; terms …": symbolic_read.c has the other side. */
static void write_piece(FILE *out, const fm_formula_piece *piece)
{
    fprintf(out, "%u %u %u %zu %zu %zu %zu %zu", piece->parameters, piece->variables, piece->columns,
            piece->derived_count, piece->equality_count, piece->inequality_count, piece->number_count,
            piece->term_count);
    for (unsigned i = 0; i < piece->variables; i++)
        fprintf(out, " %zu %zu %zu", piece->shadow_counts[i], piece->alone_counts[i], piece->plain_counts[i]);
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        fprintf(out, " %u %" PRId64 " %u", one->column, one->by, one->count);
        for (unsigned k = 0; k < one->count; k++) fprintf(out, " %u", one->factors[k]);
    }
    fputc(' ', out);
    write_numbers(out, piece->numbers, piece->number_count);
    fprintf(out, " %" PRId64, piece->denominator);
    for (size_t i = 0; i < piece->term_count; i++) {
        fprintf(out, " %" PRId64 " %u", piece->terms[i].factor, piece->terms[i].count);
        for (unsigned k = 0; k < piece->terms[i].count; k++) fprintf(out, " %u", piece->terms[i].columns[k]);
    }
}

static void write_formula(FILE *out, const fm_symbolic *symbolic, size_t index)
{
    const fm_formula *formula = &symbolic->formulas[index];
    fm_json_fields of = {out, "    ", false};
    fputs("    {", out);
    fm_json_text_field(&of, "name", symbolic->names[index]);
    fm_json_text_field(&of, "large", symbolic->texts[index]);
    fm_json_text_field(&of, "where", symbolic->from[index]);
    fm_json_begin_field(&of, "pieces");
    fputc('[', out);
    for (size_t i = 0; i < formula->count; i++) {
        fputs(i ? ",\n        \"" : "\n        \"", out);
        write_piece(out, &formula->pieces[i]);
        fputc('"', out);
    }
    fputs("]\n    }", out);
}

static void write_all(FILE *out, const fm_symbolic *symbolic)
{
    fm_json_fields of = {out, "", false};
    fputs("{", out);
    fm_json_text_field(&of, "schema", "fathom-symbolic-1");
    fm_json_text_field(&of, "function", symbolic->function);
    fm_json_text_field(&of, "file", symbolic->file);
    if (symbolic->first_line) fm_json_number_field(&of, "first_line", symbolic->first_line);
    if (symbolic->last_line) fm_json_number_field(&of, "last_line", symbolic->last_line);
    fm_json_text_field(&of, "given", symbolic->given);
    fm_json_text_field(&of, "notes", symbolic->notes);
    fm_json_text_field(&of, "certainty", "exact");
    fm_json_begin_field(&of, "seconds");
    fm_json_write_real(out, symbolic->seconds);
    fm_json_number_field(&of, "granularity", symbolic->granularity);
    fm_json_text_field(&of, "layout", symbolic->layout == FM_LAYOUT_ALIGNED ? "aligned" : "contiguous");
    fm_json_begin_field(&of, "parameters");
    fputs("[", out);
    for (unsigned i = 0; i < symbolic->parameter_count; i++) {
        fputs(i ? ",\n    {\"name\": " : "\n    {\"name\": ", out);
        fm_json_write_string(out, symbolic->parameters[i].name, FM_JSON_PLAIN);
        fprintf(out, ", \"least\": %" PRId64 ", \"modulus\": %" PRId64 ", \"remainder\": %" PRId64 "}",
                symbolic->parameters[i].least, symbolic->parameters[i].modulus,
                symbolic->parameters[i].remainder);
    }
    fputs("]", out);
    fm_json_begin_field(&of, "sizes");
    fputs("[", out);
    for (size_t i = 0; i < symbolic->size_count; i++)
        fprintf(out, "%s%" PRIu64, i ? ", " : "", symbolic->sizes[i]);
    fputs("]", out);
    fm_json_begin_field(&of, "formulas");
    fputs("[\n", out);
    for (size_t i = 0; i < fm_symbolic_formula_count(symbolic); i++) {
        if (i) fputs(",\n", out);
        write_formula(out, symbolic, i);
    }
    fputs("]\n}\n", out);
}

fm_status fm_symbolic_write(const fm_symbolic *symbolic, const char *path, fm_error *error)
{
    FM_REQUIRE(symbolic, error);
    fm_output *output;
    fm_status status = fm_output_open(&output, path, error);
    if (status != FM_OK) return status;
    write_all(fm_output_stream(output), symbolic);
    return fm_output_commit(output, error);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* symbolic_json.c - formulas as JSON and back, schema fathom-symbolic-1 (docs/PROFILE.md). */
#include "static/symbolic/symbolic.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <fathom/output.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

/*
 * Formulas as JSON, schema fathom-symbolic-1 (docs/PROFILE.md). Pieces are rows of numbers, as they are
 * evaluated; the texts beside them are for people.
 */

static void write_numbers(FILE *out, const int64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) fprintf(out, "%s%" PRId64, i ? " " : "", numbers[i]);
}

/* "parameters variables columns; derived …; numbers …; terms …": read_pieces is the other side. */
static void write_piece(FILE *out, const fm_formula_piece *piece)
{
    fprintf(out, "%u %u %u %zu %zu %zu %zu %zu", piece->parameters, piece->variables, piece->columns,
            piece->derived_count, piece->equality_count, piece->inequality_count, piece->number_count,
            piece->value.count);
    for (unsigned i = 0; i < piece->variables; i++)
        fprintf(out, " %zu %zu %zu", piece->shadow_counts[i], piece->alone_counts[i], piece->plain_counts[i]);
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        fprintf(out, " %u %" PRId64 " %u", one->column, one->by, one->count);
        for (unsigned k = 0; k < one->count; k++) fprintf(out, " %u", one->factors[k]);
    }
    fputc(' ', out);
    write_numbers(out, piece->numbers, piece->number_count);
    fprintf(out, " %" PRId64, (int64_t)piece->value.denominator);
    for (size_t i = 0; i < piece->value.count; i++) {
        const fm_quick_term *term = &piece->value.terms[i];
        fprintf(out, " %" PRId64 " %u", (int64_t)term->factor, term->count);
        for (unsigned k = 0; k < term->count; k++) fprintf(out, " %u", term->variables[k]);
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

/* ---- reading ---- */

/*
 * Everything that evaluation relies on is checked: places of columns,
 * what is derived from what, and that all numbers are there. What the numbers mean is not.
 */

/* The numbers of a piece, one after the other. */
typedef struct row {
    const char *at;
    bool failed;
} row;

static int64_t take_number(row *this, int64_t least, int64_t most)
{
    char *end;
    errno = 0;
    const long long number = strtoll(this->at, &end, 10);
    if (end == this->at || errno || number < least || number > most) this->failed = true;
    this->at = end;
    return this->failed ? least : number;
}

enum { MOST_LINES = 1 << 20, MOST_TERMS = 1 << 16 };

static bool take_derived(row *from, fm_formula_piece *piece)
{
    const int64_t last = piece->columns - 1;
    bool known[FM_COLUMNS] = {false};
    size_t quotients = 0;
    for (unsigned i = 0; i < (unsigned)piece->parameters + piece->variables; i++) known[i] = true;
    for (size_t i = 0; i < piece->derived_count && !from->failed; i++) {
        fm_derived *one = &piece->derived[i];
        one->column = (uint8_t)take_number(from, piece->parameters + piece->variables, last);
        one->by = take_number(from, 0, INT64_MAX);
        one->count = (uint8_t)take_number(from, 0, FM_FORMULA_MOST_FACTORS);
        for (unsigned k = 0; k < one->count; k++) {
            one->factors[k] = (uint8_t)take_number(from, 0, last);
            if (!known[one->factors[k]]) from->failed = true;
        }
        if (known[one->column] || (one->by ? one->count != 0 : one->count < 1)) from->failed = true;
        known[one->column] = true;
        if (one->by) one->line = quotients++ * (piece->columns + 1u);
    }
    return !from->failed;
}

/* Quotients are made of what comes before them only. */
static bool quotients_in_order(const fm_formula_piece *piece)
{
    bool known[FM_COLUMNS] = {false};
    for (unsigned i = 0; i < (unsigned)piece->parameters + piece->variables; i++) known[i] = true;
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        for (unsigned k = 0; one->by && k < piece->columns; k++)
            if (piece->numbers[one->line + k] && !known[k]) return false;
        known[one->column] = true;
    }
    return true;
}

static bool take_terms(row *from, fm_formula_piece *piece)
{
    piece->value.denominator = take_number(from, 1, INT64_MAX);
    for (size_t i = 0; i < piece->value.count && !from->failed; i++) {
        fm_quick_term *term = &piece->value.terms[i];
        term->factor = take_number(from, -INT64_MAX, INT64_MAX);
        term->count = (unsigned)take_number(from, 0, FM_MOST_DEGREE);
        for (unsigned k = 0; k < term->count; k++)
            term->variables[k] = (uint8_t)take_number(from, 0, piece->columns - 1);
    }
    return !from->failed;
}

/* False: it makes no sense, or there is no memory for it. */
static bool take_piece(const char *text, unsigned parameters, fm_formula_piece *piece, bool *no_memory)
{
    row from = {.at = text};
    size_t lines = 0;
    piece->parameters = (uint8_t)take_number(&from, parameters, parameters);
    piece->variables = (uint8_t)take_number(&from, 0, FM_FORMULA_MOST_VARIABLES);
    piece->columns = (uint8_t)take_number(&from, piece->parameters + piece->variables, FM_CONSTANT - 1);
    piece->derived_count =
        (size_t)take_number(&from, 0, piece->columns - piece->parameters - piece->variables);
    piece->equality_count = (size_t)take_number(&from, 0, MOST_LINES);
    piece->inequality_count = (size_t)take_number(&from, 0, MOST_LINES);
    piece->number_count = (size_t)take_number(&from, 0, (int64_t)MOST_LINES * FM_COLUMNS);
    piece->value.count = (size_t)take_number(&from, 0, MOST_TERMS);
    for (unsigned i = 0; i < piece->variables; i++) {
        piece->shadow_counts[i] = (size_t)take_number(&from, 0, MOST_LINES);
        piece->alone_counts[i] = (size_t)take_number(&from, 0, MOST_LINES);
        piece->plain_counts[i] = (size_t)take_number(&from, 0, MOST_LINES);
        lines += piece->shadow_counts[i] + piece->alone_counts[i] + piece->plain_counts[i];
    }
    /* a number takes two characters at least */
    if (from.failed || piece->number_count > strlen(text) || piece->value.count > strlen(text)) return false;
    piece->derived = fm_calloc(piece->derived_count + 1, sizeof *piece->derived);
    piece->numbers = fm_calloc(piece->number_count + 1, sizeof *piece->numbers);
    piece->value.terms = fm_calloc(piece->value.count + 1, sizeof *piece->value.terms);
    *no_memory = !piece->derived || !piece->numbers || !piece->value.terms;
    if (*no_memory || !take_derived(&from, piece)) return false;
    if (piece->derived_count != (size_t)(piece->columns - piece->parameters - piece->variables)) return false;
    lines += fm_formula_quotients(piece) + piece->equality_count + piece->inequality_count;
    if (piece->number_count != lines * (piece->columns + 1u)) return false;
    for (size_t i = 0; i < piece->number_count && !from.failed; i++)
        piece->numbers[i] = take_number(&from, -FM_FORMULA_LARGEST, FM_FORMULA_LARGEST);
    return !from.failed && take_terms(&from, piece) && quotients_in_order(piece) &&
           from.at[strspn(from.at, " ")] == '\0';
}

typedef struct reading {
    fm_json_scan scan;
    fm_symbolic *symbolic;
    size_t formula_count;
    char *schema, *layout;
} reading;

static fm_status read_pieces(reading *this, fm_formula *formula)
{
    fm_json_list list;
    bool more;
    fm_json_scan *scan = &this->scan;
    fm_status status = fm_json_enter_array(scan, "pieces", &list);
    while (status == FM_OK && (status = fm_json_more(scan, &list, &more)) == FM_OK && more) {
        char *text = NULL;
        bool no_memory = false;
        status = fm_json_text(scan, "a piece", &text);
        if (status == FM_OK && fm_array_reserve((void **)&formula->pieces, &formula->capacity,
                                                formula->count + 1, sizeof *formula->pieces))
            status = fm_fail(scan->error, FM_E_NOMEM, scan->path, "out of memory: no room for formulas");
        if (status == FM_OK) {
            fm_formula_piece *piece = &formula->pieces[formula->count++];
            *piece = (fm_formula_piece){0};
            if (!take_piece(text, this->symbolic->parameter_count, piece, &no_memory))
                status = no_memory ? fm_fail(scan->error, FM_E_NOMEM, scan->path,
                                             "out of memory: no room for formulas")
                                   : fm_json_refuse(scan, "a piece of a formula that makes no sense");
        }
        free(text);
    }
    return status;
}

static fm_status read_formula(reading *this)
{
    fm_json_list list;
    char key[32];
    bool more;
    fm_json_scan *scan = &this->scan;
    fm_symbolic *symbolic = this->symbolic;
    const size_t index = this->formula_count;
    if (index >= fm_symbolic_formula_count(symbolic))
        return fm_json_refuse(scan, "more formulas than sizes of caches");
    fm_status status = fm_json_enter_object(scan, "a formula", &list);
    while (status == FM_OK && (status = fm_json_field(scan, &list, key, sizeof key, &more)) == FM_OK &&
           more) {
        if (strcmp(key, "name") == 0)
            status = fm_json_text(scan, key, &symbolic->names[index]);
        else if (strcmp(key, "large") == 0)
            status = fm_json_text(scan, key, &symbolic->texts[index]);
        else if (strcmp(key, "where") == 0)
            status = fm_json_text(scan, key, &symbolic->from[index]);
        else if (strcmp(key, "pieces") == 0 && symbolic->formulas[index].count == 0)
            status = read_pieces(this, &symbolic->formulas[index]);
        else
            status = fm_json_skip(scan);
    }
    if (status == FM_OK && !symbolic->names[index]) return fm_json_refuse(scan, "a formula without a name");
    this->formula_count++;
    return status;
}

static fm_status read_whole(fm_json_scan *scan, const char *what, int64_t most, int64_t *value)
{
    uint64_t number;
    fm_status status = fm_json_whole(scan, what, &number);
    if (status == FM_OK && number > (uint64_t)most) return fm_json_refuse(scan, "%s: too large", what);
    if (status == FM_OK) *value = (int64_t)number;
    return status;
}

static fm_status read_parameter(reading *this)
{
    fm_json_list list;
    char key[32];
    bool more;
    fm_json_scan *scan = &this->scan;
    fm_symbolic *symbolic = this->symbolic;
    if (symbolic->parameter_count == FM_OPEN_MOST || this->formula_count)
        return fm_json_refuse(scan, "more than %d parameters, or parameters behind formulas", FM_OPEN_MOST);
    const unsigned index = symbolic->parameter_count++;
    symbolic->parameters[index].modulus = 1;
    fm_status status = fm_json_enter_object(scan, "a parameter", &list);
    while (status == FM_OK && (status = fm_json_field(scan, &list, key, sizeof key, &more)) == FM_OK &&
           more) {
        if (strcmp(key, "name") == 0)
            status = fm_json_text(scan, key, &symbolic->parameters[index].name);
        else if (strcmp(key, "least") == 0)
            status = read_whole(scan, key, FM_OPEN_LARGEST, &symbolic->parameters[index].least);
        else if (strcmp(key, "modulus") == 0)
            status = read_whole(scan, key, 1 << 20, &symbolic->parameters[index].modulus);
        else if (strcmp(key, "remainder") == 0)
            status = read_whole(scan, key, 1 << 20, &symbolic->parameters[index].remainder);
        else
            status = fm_json_skip(scan);
    }
    if (status == FM_OK && (!symbolic->parameters[index].name || symbolic->parameters[index].modulus < 1 ||
                            symbolic->parameters[index].remainder >= symbolic->parameters[index].modulus ||
                            symbolic->parameters[index].least % symbolic->parameters[index].modulus !=
                                symbolic->parameters[index].remainder))
        return fm_json_refuse(scan, "a parameter that makes no sense");
    return status;
}

static fm_status read_size(reading *this)
{
    int64_t size = 0;
    fm_symbolic *symbolic = this->symbolic;
    if (symbolic->size_count == FM_SYMBOLIC_MOST_SIZES || this->formula_count)
        return fm_json_refuse(&this->scan, "more than %d sizes, or sizes behind formulas",
                              FM_SYMBOLIC_MOST_SIZES);
    fm_status status = read_whole(&this->scan, "a size", INT64_MAX, &size);
    if (status == FM_OK) symbolic->sizes[symbolic->size_count++] = (uint64_t)size;
    return status;
}

static fm_status read_list(reading *this, const char *what, fm_status (*read_one)(reading *))
{
    fm_json_list list;
    bool more;
    fm_status status = fm_json_enter_array(&this->scan, what, &list);
    while (status == FM_OK && (status = fm_json_more(&this->scan, &list, &more)) == FM_OK && more)
        status = read_one(this);
    return status;
}

static fm_status read_line(fm_json_scan *scan, const char *what, uint32_t *line)
{
    int64_t number = 0;
    fm_status status = read_whole(scan, what, UINT32_MAX, &number);
    *line = (uint32_t)number;
    return status;
}

static fm_status read_field(reading *this, const char *key)
{
    fm_json_scan *scan = &this->scan;
    fm_symbolic *symbolic = this->symbolic;
    int64_t number = 0;
    fm_status status;
    if (strcmp(key, "schema") == 0) {
        status = fm_json_text(scan, key, &this->schema);
        if (status == FM_OK && strcmp(this->schema, "fathom-symbolic-1") != 0)
            return fm_json_refuse(scan, "schema '%.40s': expected fathom-symbolic-1", this->schema);
        return status;
    }
    if (strcmp(key, "function") == 0) return fm_json_text(scan, key, &symbolic->function);
    if (strcmp(key, "file") == 0) return fm_json_text(scan, key, &symbolic->file);
    if (strcmp(key, "first_line") == 0) return read_line(scan, key, &symbolic->first_line);
    if (strcmp(key, "last_line") == 0) return read_line(scan, key, &symbolic->last_line);
    if (strcmp(key, "given") == 0) return fm_json_text(scan, key, &symbolic->given);
    if (strcmp(key, "notes") == 0) return fm_json_text(scan, key, &symbolic->notes);
    if (strcmp(key, "seconds") == 0) return fm_json_real(scan, key, &symbolic->seconds);
    if (strcmp(key, "layout") == 0) {
        status = fm_json_text(scan, key, &this->layout);
        if (status == FM_OK && strcmp(this->layout, "aligned") == 0) symbolic->layout = FM_LAYOUT_ALIGNED;
        return status;
    }
    if (strcmp(key, "granularity") == 0) {
        status = read_whole(scan, key, INT32_MAX, &number);
        symbolic->granularity = (uint64_t)number;
        return status;
    }
    if (strcmp(key, "parameters") == 0) return read_list(this, key, read_parameter);
    if (strcmp(key, "sizes") == 0) return read_list(this, key, read_size);
    if (strcmp(key, "formulas") == 0) return read_list(this, key, read_formula);
    return fm_json_skip(scan);
}

static fm_status read_all(reading *this)
{
    fm_json_list list;
    char key[32];
    bool more;
    fm_json_scan *scan = &this->scan;
    fm_status status = fm_json_enter_object(scan, "formulas", &list);
    while (status == FM_OK && (status = fm_json_field(scan, &list, key, sizeof key, &more)) == FM_OK && more)
        status = read_field(this, key);
    if (status == FM_OK) status = fm_json_end(scan);
    if (status != FM_OK) return status;
    if (!this->schema) return fm_json_refuse(scan, "no schema: these are no formulas of fathom static");
    if (this->formula_count != fm_symbolic_formula_count(this->symbolic))
        return fm_json_refuse(scan, "%zu formulas for %zu sizes of caches", this->formula_count,
                              this->symbolic->size_count);
    return FM_OK;
}

fm_status fm_symbolic_read(fm_symbolic **symbolic, const char *path, fm_error *error)
{
    reading *this = fm_calloc(1, sizeof *this);
    fm_symbolic *made = fm_calloc(1, sizeof *made);
    *symbolic = NULL;
    if (!this || !made) {
        free(this);
        free(made);
        return fm_fail_memory(error, sizeof *this + sizeof *made, "formulas");
    }
    this->symbolic = made;
    fm_status status = fm_json_scan_open(&this->scan, path, error);
    if (status == FM_OK) {
        status = read_all(this);
        fm_json_scan_close(&this->scan);
    }
    free(this->schema);
    free(this->layout);
    free(this);
    if (status == FM_OK)
        *symbolic = made;
    else
        fm_symbolic_destroy(made);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolic_c.c - formulas as a C function (C99, no library): every piece becomes an if, or loops around one.
 *
 * Its arithmetic is plain: parameters may be so large only that no intermediate number goes beyond 2^62,
 * which is worked out here, and larger ones are refused by the function. Sums of pieces are checked when it
 * runs.
 */
#include "static/symbolic/symbolic.h"

#include "base/error.h"

#include <fathom/output.h>

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- how large parameters may be ---- */

typedef struct interval {
    long double low, high;
} interval;

static const long double MOST = 0x1p62L;

static long double magnitude_of(interval one)
{
    return fabsl(one.low) > fabsl(one.high) ? fabsl(one.low) : fabsl(one.high);
}

/* *size: the largest partial sum, in whatever order. */
static interval line_interval(const fm_formula_piece *piece, const int64_t *line, const interval *columns,
                              long double *size)
{
    interval sum = {(long double)line[piece->columns], (long double)line[piece->columns]};
    long double all = fabsl(sum.low);
    for (unsigned i = 0; i < piece->columns; i++) {
        const long double factor = (long double)line[i];
        if (!line[i]) continue;
        sum.low += factor * (factor > 0 ? columns[i].low : columns[i].high);
        sum.high += factor * (factor > 0 ? columns[i].high : columns[i].low);
        all += fabsl(factor) * magnitude_of(columns[i]);
    }
    if (all > *size) *size = all;
    return sum;
}

static const int64_t *plain_lines(const fm_formula_piece *piece, unsigned variable)
{
    size_t lines = fm_formula_quotients(piece) + piece->equality_count + piece->inequality_count;
    for (unsigned i = 0; i <= variable; i++) {
        if (i) lines += piece->plain_counts[i - 1];
        lines += piece->shadow_counts[i] + piece->alone_counts[i];
    }
    return &piece->numbers[lines * (piece->columns + 1u)];
}

/* A variable between its bounds; false: it has none. */
static bool variable_interval(const fm_formula_piece *piece, unsigned number, interval *columns,
                              long double *size)
{
    const unsigned column = piece->parameters + number;
    const int64_t *line = plain_lines(piece, number);
    interval result = {-INFINITY, INFINITY};
    columns[column] = (interval){0, 0};
    for (size_t i = 0; i < piece->plain_counts[number]; i++, line += piece->columns + 1u) {
        const long double factor = (long double)line[column];
        const interval rest = line_interval(piece, line, columns, size);
        /* with factor 0 from here: the variable itself is 0 */
        if (factor > 0 && -rest.high / factor - 1 > result.low) result.low = -rest.high / factor - 1;
        if (factor < 0 && rest.high / -factor + 1 < result.high) result.high = rest.high / -factor + 1;
    }
    columns[column] = result;
    return isfinite(result.low) && isfinite(result.high);
}

static bool piece_fits(const fm_symbolic *symbolic, const fm_formula_piece *piece, int64_t limit)
{
    interval columns[FM_COLUMNS] = {{0, 0}};
    long double size = 0;
    for (unsigned i = 0; i < piece->parameters; i++)
        columns[i] = (interval){0, (long double)(limit / symbolic->parameters[i].modulus) + 1};
    for (unsigned i = 0; i < piece->variables; i++)
        if (!variable_interval(piece, i, columns, &size)) return false;
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        interval value = {1, 1};
        if (one->by) {
            value = line_interval(piece, &piece->numbers[one->line], columns, &size);
            value.low = floorl(value.low / (long double)one->by) - 1;
            value.high = floorl(value.high / (long double)one->by) + 1;
        }
        for (unsigned k = 0; k < one->count; k++) {
            const long double much = magnitude_of(value) * magnitude_of(columns[one->factors[k]]);
            value = (interval){-much, much};
        }
        if (magnitude_of(value) > size) size = magnitude_of(value);
        columns[one->column] = value;
    }
    const int64_t *line = &piece->numbers[fm_formula_quotients(piece) * (piece->columns + 1u)];
    for (size_t i = 0; i < piece->equality_count + piece->inequality_count; i++, line += piece->columns + 1u)
        line_interval(piece, line, columns, &size);
    long double all = 0;
    for (size_t i = 0; i < piece->value.count; i++) {
        long double product = fabsl((long double)piece->value.terms[i].factor);
        for (unsigned k = 0; k < piece->value.terms[i].count; k++)
            product *= magnitude_of(columns[piece->value.terms[i].variables[k]]) + 1;
        all += product;
    }
    return all < MOST && size < MOST;
}

/* The largest power of two that all pieces allow; 0: none that is of use. */
static int64_t find_limit(const fm_symbolic *symbolic)
{
    int64_t limit = FM_OPEN_LARGEST / 2;
    for (size_t i = 0; i < fm_symbolic_formula_count(symbolic); i++)
        for (size_t k = 0; k < symbolic->formulas[i].count; k++)
            while (limit >= 64 && !piece_fits(symbolic, &symbolic->formulas[i].pieces[k], limit)) limit /= 2;
    return limit >= 64 ? limit : 0;
}

/* ---- text ---- */

static void put_column(FILE *out, const fm_formula_piece *piece, unsigned column)
{
    if (column < piece->parameters)
        fprintf(out, "x[%u]", column);
    else
        fprintf(out, "%c%u", column < (unsigned)piece->parameters + piece->variables ? 'v' : 'd', column);
}

static void put_number(FILE *out, int64_t number)
{
    if (number > INT32_MAX || number < -INT32_MAX)
        fprintf(out, "INT64_C(%" PRId64 ")", number);
    else
        fprintf(out, "%" PRId64, number);
}

/* Without the column `but`. */
static void put_line(FILE *out, const fm_formula_piece *piece, const int64_t *line, unsigned but)
{
    bool begun = false;
    for (unsigned i = 0; i < piece->columns; i++) {
        if (!line[i] || i == but) continue;
        fputs(begun ? line[i] < 0 ? " - " : " + " : line[i] < 0 ? "-" : "", out);
        if (line[i] != 1 && line[i] != -1) {
            put_number(out, line[i] < 0 ? -line[i] : line[i]);
            fputs(" * ", out);
        }
        put_column(out, piece, i);
        begun = true;
    }
    const int64_t constant = line[piece->columns];
    if (begun && constant) fputs(constant < 0 ? " - " : " + ", out);
    if (constant || !begun) put_number(out, begun && constant < 0 ? -constant : constant);
}

static void put_value(FILE *out, const fm_formula_piece *piece)
{
    if (piece->value.denominator != 1) fputc('(', out);
    for (size_t i = 0; i < piece->value.count; i++) {
        const fm_quick_term *term = &piece->value.terms[i];
        const int64_t factor = (int64_t)(term->factor < 0 ? -term->factor : term->factor);
        fputs(i ? term->factor < 0 ? " - " : " + " : term->factor < 0 ? "-" : "", out);
        if (factor != 1 || term->count == 0) put_number(out, factor);
        for (unsigned k = 0; k < term->count; k++) {
            if (k || factor != 1) fputs(" * ", out);
            put_column(out, piece, term->variables[k]);
        }
    }
    if (piece->value.denominator != 1) {
        fputs(") / ", out);
        put_number(out, (int64_t)piece->value.denominator);
    }
}

static void indent_line(FILE *out, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++) fputs("    ", out);
}

/* Columns that something is made of, or decided by. */
static void find_used(const fm_formula_piece *piece, bool *used)
{
    const size_t width = piece->columns + 1u;
    const int64_t *line = &piece->numbers[fm_formula_quotients(piece) * width];
    for (size_t i = 0; i < piece->equality_count + piece->inequality_count; i++, line += width)
        for (unsigned k = 0; k < piece->columns; k++) used[k] |= line[k] != 0;
    for (size_t i = 0; i < piece->value.count; i++)
        for (unsigned k = 0; k < piece->value.terms[i].count; k++)
            used[piece->value.terms[i].variables[k]] = true;
    for (size_t i = piece->derived_count; i-- > 0;) {
        const fm_derived *one = &piece->derived[i];
        if (!used[one->column]) continue;
        for (unsigned k = 0; one->by && k < piece->columns; k++)
            used[k] |= piece->numbers[one->line + k] != 0;
        for (unsigned k = 0; k < one->count; k++) used[one->factors[k]] = true;
    }
}

/* The loop of a variable, between its bounds. */
static void put_loop(FILE *out, const fm_formula_piece *piece, unsigned number, unsigned depth)
{
    const unsigned column = piece->parameters + number;
    const int64_t *line = plain_lines(piece, number);
    indent_line(out, depth);
    fprintf(out, "int64_t first%u = -LARGEST, last%u = LARGEST;\n", column, column);
    for (size_t i = 0; i < piece->plain_counts[number]; i++, line += piece->columns + 1u) {
        if (!line[column]) continue;
        indent_line(out, depth);
        fprintf(out,
                line[column] > 0 ? "first%u = larger(first%u, -divide(" : "last%u = smaller(last%u, divide(",
                column, column);
        put_line(out, piece, line, column);
        fputs(", ", out);
        put_number(out, line[column] > 0 ? line[column] : -line[column]);
        fputs("));\n", out);
    }
    indent_line(out, depth);
    fprintf(out, "for (int64_t v%u = first%u; v%u <= last%u; v%u++) {\n", column, column, column, column,
            column);
}

static void put_piece(FILE *out, const fm_formula_piece *piece)
{
    const size_t width = piece->columns + 1u, conditions = piece->equality_count + piece->inequality_count;
    const int64_t *line = &piece->numbers[fm_formula_quotients(piece) * width];
    bool used[FM_COLUMNS] = {false};
    unsigned depth = 2;
    find_used(piece, used);
    fputs("    {\n", out);
    for (unsigned i = 0; i < piece->variables; i++) put_loop(out, piece, i, depth++);
    for (size_t i = 0; i < piece->derived_count; i++) {
        const fm_derived *one = &piece->derived[i];
        if (!used[one->column]) continue;
        indent_line(out, depth);
        fprintf(out, "const int64_t d%u = %s", one->column, one->by ? "divide(" : "");
        if (one->by) {
            put_line(out, piece, &piece->numbers[one->line], FM_COLUMNS);
            fputs(", ", out);
            put_number(out, one->by);
            fputc(')', out);
        }
        for (unsigned k = 0; k < one->count; k++) {
            if (k) fputs(" * ", out);
            put_column(out, piece, one->factors[k]);
        }
        fputs(";\n", out);
    }
    indent_line(out, depth);
    if (conditions) {
        fputs("if (", out);
        for (size_t i = 0; i < conditions; i++, line += width) {
            if (i) {
                fputs(" &&\n", out);
                indent_line(out, depth + 1);
            }
            put_line(out, piece, line, FM_COLUMNS);
            fputs(i < piece->equality_count ? " == 0" : " >= 0", out);
        }
        fputs(") ", out);
    }
    fputs("sum_add(&sum, ", out);
    put_value(out, piece);
    fputs(");\n", out);
    for (unsigned i = 0; i < piece->variables; i++) {
        indent_line(out, --depth);
        fputs("}\n", out);
    }
    fputs("    }\n", out);
}

static void put_formula(FILE *out, const fm_symbolic *symbolic, size_t index)
{
    const fm_formula *formula = &symbolic->formulas[index];
    fprintf(
        out,
        "/* %s%s */\nstatic int formula%zu(const int64_t *x, int64_t *value)\n{\n    sum_of sum = {0, 0};\n",
        index >= FM_SYMBOLIC_HITS ? "references less " : "", symbolic->names[index], index);
    fputs("    (void)x;\n", out);
    for (size_t i = 0; i < formula->count; i++) put_piece(out, &formula->pieces[i]);
    fputs("    *value = sum.value;\n    return sum.failed;\n}\n\n", out);
}

static void put_helpers(FILE *out, const fm_symbolic *symbolic)
{
    bool divides = false, loops = false;
    for (size_t i = 0; i < fm_symbolic_formula_count(symbolic); i++)
        for (size_t k = 0; k < symbolic->formulas[i].count; k++) {
            loops |= symbolic->formulas[i].pieces[k].variables > 0;
            divides |= loops || fm_formula_quotients(&symbolic->formulas[i].pieces[k]) > 0;
        }
    fputs("typedef struct sum_of {\n    int64_t value;\n    int failed;\n} sum_of;\n\n"
          "static void sum_add(sum_of *sum, int64_t more)\n{\n"
          "    if (more > 0 ? sum->value > INT64_MAX - more : sum->value < INT64_MIN - more)\n"
          "        sum->failed = ERANGE;\n    else\n        sum->value += more;\n}\n\n",
          out);
    if (divides)
        fputs("/* rounded down */\nstatic int64_t divide(int64_t a, int64_t b)\n{\n"
              "    return a / b - (a % b < 0);\n}\n\n",
              out);
    if (loops)
        fputs("#define LARGEST (INT64_MAX / 4)\n\n"
              "static int64_t larger(int64_t a, int64_t b)\n{\n    return a > b ? a : b;\n}\n\n"
              "static int64_t smaller(int64_t a, int64_t b)\n{\n    return a < b ? a : b;\n}\n\n",
              out);
}

static void put_head(FILE *out, const fm_symbolic *symbolic, const char *name, int64_t limit)
{
    fprintf(out,
            "/*\n * %s: how often it does what, and its misses, by its parameters.\n * Made by fathom static "
            "--symbolic --emit-c; blocks of %" PRIu64 " bytes, %s rows, caches with the\n * least recently "
            "used block replaced.\n *\n",
            name, symbolic->granularity, symbolic->layout == FM_LAYOUT_ALIGNED ? "aligned" : "contiguous");
    for (unsigned i = 0; i < symbolic->parameter_count; i++) {
        fprintf(out, " * %s: from %" PRId64 " to %" PRId64, symbolic->parameters[i].name,
                symbolic->parameters[i].least, limit);
        if (symbolic->parameters[i].modulus > 1)
            fprintf(out, ", with a remainder of %" PRId64 " when divided by %" PRId64,
                    symbolic->parameters[i].remainder, symbolic->parameters[i].modulus);
        fputc('\n', out);
    }
    if (symbolic->given && symbolic->given[0]) fprintf(out, " * with %s\n", symbolic->given);
    fputs(" * Returns 0; EDOM for other values of parameters; ERANGE where a number does not fit 64 bits.\n "
          "*/\n"
          "#include <errno.h>\n#include <stdint.h>\n\n",
          out);
    fprintf(out,
            "struct %s_counts {\n    int64_t loads, stores, flops, integer_operations;\n"
            "    int64_t references, first_touches; /* of blocks */\n",
            name);
    for (size_t i = 0; i < symbolic->size_count; i++)
        fprintf(out,
                "    int64_t misses_%" PRIu64 "; /* of a cache of so many bytes, first touches included */\n",
                symbolic->sizes[i]);
    fprintf(out, "};\n\nint %s(", name);
    for (unsigned i = 0; i < symbolic->parameter_count; i++)
        fprintf(out, "int64_t %s, ", symbolic->parameters[i].name);
    fprintf(out, "struct %s_counts *counts);\n\n", name);
}

static void put_function(FILE *out, const fm_symbolic *symbolic, const char *name, int64_t limit)
{
    const size_t count = fm_symbolic_formula_count(symbolic);
    fprintf(out, "int %s(", name);
    for (unsigned i = 0; i < symbolic->parameter_count; i++)
        fprintf(out, "int64_t %s, ", symbolic->parameters[i].name);
    fprintf(out, "struct %s_counts *counts)\n{\n    int64_t x[%u] = {0}, values[%zu];\n    int failed = 0;\n",
            name, symbolic->parameter_count + 1, count);
    for (unsigned i = 0; i < symbolic->parameter_count; i++) {
        const char *parameter = symbolic->parameters[i].name;
        fprintf(out,
                "    if (%s < %" PRId64 " || %s > %" PRId64 " || %s %% %" PRId64 " != %" PRId64
                ") return EDOM;\n",
                parameter, symbolic->parameters[i].least, parameter, limit, parameter,
                symbolic->parameters[i].modulus, symbolic->parameters[i].remainder);
    }
    for (unsigned i = 0; i < symbolic->parameter_count; i++)
        fprintf(out, "    x[%u] = (%s - %" PRId64 ") / %" PRId64 ";\n", i, symbolic->parameters[i].name,
                symbolic->parameters[i].remainder, symbolic->parameters[i].modulus);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "    %s = formula%zu(x, &values[%zu]);\n    if (failed) return failed;\n", "failed", i,
                i);
    fprintf(out, "    if (values[%d] != 1) return EDOM;\n", FM_SYMBOLIC_DOMAIN);
    static const char *const fields[] = {"loads",      "stores",       "flops", "integer_operations",
                                         "references", "first_touches"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        fprintf(out, "    counts->%s = values[%zu];\n", fields[i], i + FM_SYMBOLIC_LOADS);
    for (size_t i = 0; i < symbolic->size_count; i++)
        fprintf(out, "    counts->misses_%" PRIu64 " = values[%d] - values[%zu];\n", symbolic->sizes[i],
                FM_SYMBOLIC_REFERENCES, FM_SYMBOLIC_HITS + i);
    fputs("    return 0;\n}\n", out);
}

static bool is_name(const char *name)
{
    if (!name[0] || isdigit((unsigned char)name[0])) return false;
    for (size_t i = 0; name[i]; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_') return false;
    return true;
}

fm_status fm_symbolic_write_c(const fm_symbolic *symbolic, const char *path, const char *name,
                              fm_error *error)
{
    FM_REQUIRE(symbolic, error);
    static const char *const taken[] = {"x", "values", "failed", "counts", "divide", "larger", "smaller"};
    fm_output *output;
    if (!is_name(name))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "'%.60s' is no name of a C function", name);
    for (unsigned i = 0; i < symbolic->parameter_count; i++) {
        bool free_name =
            is_name(symbolic->parameters[i].name) && strcmp(symbolic->parameters[i].name, name) != 0;
        for (size_t k = 0; k < sizeof taken / sizeof taken[0]; k++)
            free_name &= strcmp(symbolic->parameters[i].name, taken[k]) != 0;
        if (!free_name)
            return fm_fail(error, FM_E_UNSUPPORTED, NULL, "a parameter cannot be called '%.60s' in C",
                           symbolic->parameters[i].name);
    }
    const int64_t limit = find_limit(symbolic);
    if (!limit)
        return fm_fail(error, FM_E_LIMIT, NULL,
                       "the formulas need numbers beyond 64 bits: no C function can be made");
    fm_status status = fm_output_open(&output, path, error);
    if (status != FM_OK) return status;
    FILE *out = fm_output_stream(output);
    put_head(out, symbolic, name, limit);
    put_helpers(out, symbolic);
    for (size_t i = 0; i < fm_symbolic_formula_count(symbolic); i++) put_formula(out, symbolic, i);
    put_function(out, symbolic, name, limit);
    return fm_output_commit(output, error);
}

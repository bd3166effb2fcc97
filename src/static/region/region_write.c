/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_write.c - the text form of a region (docs/STATIC-IR.md). What is written reads as the same region.
 */
#include "static/region/region.h"

#include "base/error.h"

#include <inttypes.h>
#include <string.h>

typedef struct writer {
    const fm_region *region;
    FILE *stream;
} writer;

static void write_quoted(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', stream);
        if (*text == '\n')
            fputs("\\n", stream);
        else
            fputc(*text, stream);
    }
    fputc('"', stream);
}

static void write_place(const writer *self, const fm_region_place *place)
{
    if (place->file == 0) return;
    fprintf(self->stream, " @%u", place->file);
    if (place->line) fprintf(self->stream, ":%u", place->line);
    if (place->line && place->column) fprintf(self->stream, ":%u", place->column);
    if (place->last_line) fprintf(self->stream, "-%u", place->last_line);
}

/* Numbers below 0 stand in parentheses where something is in front of them. */
static void write_number(const writer *self, int64_t number, bool alone)
{
    if (number == INT64_MIN)
        fprintf(self->stream, "(-%" PRId64 " - 1)", INT64_MAX);
    else
        fprintf(self->stream, number < 0 && !alone ? "(%" PRId64 ")" : "%" PRId64, number);
}

/* loose: nothing binds to it from outside, so that sums need no parentheses. */
static void write_expression(const writer *self, const fm_expr *expression, bool loose)
{
    FILE *stream = self->stream;
    const fm_expr *left = expression->left, *right = expression->right;
    const char *call = NULL;
    switch (expression->kind) {
    case FM_EXPR_NUMBER:
        write_number(self, expression->number, loose);
        return;
    case FM_EXPR_PARAMETER:
        fputs(self->region->parameters[expression->index].name, stream);
        return;
    case FM_EXPR_VARIABLE:
        fputs(self->region->variables[expression->index], stream);
        return;
    case FM_EXPR_FLOOR:
        call = "floor";
        break;
    case FM_EXPR_MODULO:
        call = "mod";
        break;
    case FM_EXPR_MIN:
        call = "min";
        break;
    case FM_EXPR_MAX:
        call = "max";
        break;
    case FM_EXPR_ADD:
        if (!loose) fputc('(', stream);
        write_expression(self, left, true);
        if (right->kind == FM_EXPR_NUMBER && right->number < 0 && right->number > INT64_MIN) {
            fprintf(stream, " - %" PRId64, -right->number);
        } else if (right->kind == FM_EXPR_MULTIPLY && right->left->kind == FM_EXPR_NUMBER &&
                   right->left->number == -1) {
            fputs(" - ", stream);
            write_expression(self, right->right, false);
        } else {
            fputs(" + ", stream);
            /* A sum on the right keeps its parentheses: the tree that is read is then the same. */
            write_expression(self, right, false);
        }
        if (!loose) fputc(')', stream);
        return;
    case FM_EXPR_MULTIPLY:
    case FM_EXPR_QUOTIENT:
    case FM_EXPR_REMAINDER:
        if (!loose) fputc('(', stream);
        if (expression->kind == FM_EXPR_MULTIPLY && left->kind == FM_EXPR_NUMBER && left->number == -1) {
            fputc('-', stream);
            write_expression(self, right, false);
        } else {
            write_expression(self, left, false);
            fprintf(stream, " %c ",
                    expression->kind == FM_EXPR_MULTIPLY   ? '*'
                    : expression->kind == FM_EXPR_QUOTIENT ? '/'
                                                           : '%');
            write_expression(self, right, false);
        }
        if (!loose) fputc(')', stream);
        return;
    }
    fprintf(stream, "%s(", call);
    write_expression(self, left, true);
    fputs(", ", stream);
    write_expression(self, right, true);
    fputc(')', stream);
}

static void write_condition(const writer *self, const fm_condition *condition, bool loose)
{
    FILE *stream = self->stream;
    switch (condition->kind) {
    case FM_CONDITION_TRUE:
        fputs("true", stream);
        return;
    case FM_CONDITION_FALSE:
        fputs("false", stream);
        return;
    case FM_CONDITION_NOT_NEGATIVE:
    case FM_CONDITION_ZERO:
        write_expression(self, condition->expression, true);
        fputs(condition->kind == FM_CONDITION_ZERO ? " == 0" : " >= 0", stream);
        return;
    case FM_CONDITION_NOT:
        fputs("not (", stream);
        write_condition(self, condition->left, true);
        fputc(')', stream);
        return;
    case FM_CONDITION_AND:
    case FM_CONDITION_OR:
        break;
    }
    if (!loose) fputc('(', stream);
    write_condition(self, condition->left, false);
    fputs(condition->kind == FM_CONDITION_AND ? " and " : " or ", stream);
    write_condition(self, condition->right, false);
    if (!loose) fputc(')', stream);
}

static void write_access(const writer *self, const fm_region_access *access)
{
    const fm_region_array *array = &self->region->arrays[access->array];
    fprintf(self->stream, "%s %s", access->store ? "store" : "load", array->name);
    for (unsigned i = 0; i < array->dimensions; i++) {
        fputc('[', self->stream);
        write_expression(self, access->subscripts[i], true);
        fputc(']', self->stream);
    }
    if (access->member_offset > 0 || access->member_bytes != array->element)
        fprintf(self->stream, " member %" PRIu64 " %" PRIu64, access->member_offset, access->member_bytes);
    write_place(self, &access->place);
    if (!access->text) return;
    fputc(' ', self->stream);
    write_quoted(self->stream, access->text);
}

static void write_statement(const writer *self, const fm_region_node *node, unsigned indent)
{
    const fm_region_operations *count = &node->operations;
    const struct {
        const char *word;
        uint64_t count;
    } kinds[] = {{"adds", count->adds},
                 {"multiplies", count->multiplies},
                 {"divides", count->divides},
                 {"specials", count->specials},
                 {"integers", count->integers}};
    fputs("do", self->stream);
    for (int i = 0; i < 5; i++)
        if (kinds[i].count > 0) fprintf(self->stream, " %s %" PRIu64, kinds[i].word, kinds[i].count);
    write_place(self, &node->place);
    fputs(" {\n", self->stream);
    for (size_t i = 0; i < node->access_count; i++) {
        fprintf(self->stream, "%*s", (int)indent + 2, "");
        write_access(self, &node->accesses[i]);
        fputc('\n', self->stream);
    }
    fprintf(self->stream, "%*s}\n", (int)indent, "");
}

static void write_nodes(const writer *self, const fm_region_node *node, unsigned indent)
{
    FILE *stream = self->stream;
    for (; node; node = node->next) {
        fprintf(stream, "%*s", (int)indent, "");
        if (node->kind == FM_NODE_STATEMENT) {
            write_statement(self, node, indent);
            continue;
        }
        if (node->kind == FM_NODE_LOOP) {
            fprintf(stream, "for %s = ", self->region->variables[node->variable]);
            write_expression(self, node->first, true);
            fputs(node->step < 0 ? " downto " : " to ", stream);
            write_expression(self, node->last, true);
            int64_t step = node->step < 0 ? -node->step : node->step;
            if (step != 1) fprintf(stream, " step %" PRId64, step);
        } else {
            fputs("if ", stream);
            write_condition(self, node->condition, true);
        }
        write_place(self, &node->place);
        fputs(" {\n", stream);
        write_nodes(self, node->body, indent + 2);
        fprintf(stream, "%*s}", (int)indent, "");
        if (node->otherwise) {
            fputs(" else {\n", stream);
            write_nodes(self, node->otherwise, indent + 2);
            fprintf(stream, "%*s}", (int)indent, "");
        }
        fputc('\n', stream);
    }
}

static void write_array(const writer *self, const fm_region_array *array)
{
    FILE *stream = self->stream;
    fprintf(stream, "array %s", array->name);
    for (unsigned i = 0; i < array->dimensions; i++) {
        fputc('[', stream);
        if (array->extents[i]) write_expression(self, array->extents[i], true);
        fputc(']', stream);
    }
    fprintf(stream, " of %" PRIu64, array->element);
    if (array->column_major) fputs(" column-major", stream);
    if (array->align) fprintf(stream, " align %" PRIu64, array->align);
    if (array->offset) fprintf(stream, " offset %" PRIu64, array->offset);
    if (array->lows) fputs(" low", stream);
    for (unsigned i = 0; array->lows && i < array->dimensions; i++)
        fprintf(stream, " %" PRId64, array->lows[i]);
    write_place(self, &array->place);
    fputc('\n', stream);
}

fm_status fm_region_write(const fm_region *region, FILE *stream, fm_error *error)
{
    FM_REQUIRE(region, error);
    const writer self = {.region = region, .stream = stream};
    fputs("fathom-region 1\n", stream);
    for (size_t i = 0; i < region->file_count; i++) {
        fprintf(stream, "file %zu ", i + 1);
        write_quoted(stream, region->files[i]);
        fputc('\n', stream);
    }
    if (region->function) {
        fputs("function ", stream);
        write_quoted(stream, region->function);
        write_place(&self, &region->place);
        fputc('\n', stream);
    }
    for (size_t i = 0; i < region->parameter_count; i++) {
        fprintf(stream, "param %s", region->parameters[i].name);
        if (region->parameters[i].has_value) fprintf(stream, " = %" PRId64, region->parameters[i].value);
        fputc('\n', stream);
    }
    for (size_t i = 0; i < region->assumption_count; i++) {
        fputs("assume ", stream);
        write_condition(&self, region->assumptions[i], true);
        fputc('\n', stream);
    }
    for (size_t i = 0; i < region->note_count; i++) {
        fputs("note ", stream);
        write_quoted(stream, region->notes[i]);
        fputc('\n', stream);
    }
    for (size_t i = 0; i < region->array_count; i++) write_array(&self, &region->arrays[i]);
    fputc('\n', stream);
    write_nodes(&self, region->body, 0);
    return ferror(stream) ? fm_fail(error, FM_E_IO, NULL, "cannot write the region") : FM_OK;
}

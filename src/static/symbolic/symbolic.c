/* SPDX-License-Identifier: Apache-2.0 */
/* symbolic.c - finds all formulas of a region and evaluates them (fathom/static.h). */
#include "static/symbolic/symbolic.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <isl/set.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MOST_MEMORY = (uint64_t)6 << 30;

void fm_symbolic_destroy(fm_symbolic *symbolic)
{
    if (!symbolic) return;
    for (unsigned i = 0; i < symbolic->parameter_count; i++) free(symbolic->parameters[i].name);
    for (size_t i = 0; i < FM_SYMBOLIC_MOST; i++) {
        fm_formula_clear(&symbolic->formulas[i]);
        free(symbolic->names[i]);
        free(symbolic->texts[i]);
        free(symbolic->from[i]);
    }
    free(symbolic->function);
    free(symbolic->file);
    free(symbolic->given);
    free(symbolic->notes);
    free(symbolic);
}

/* ---- finding ---- */

/* How often each statement is executed, times what it does. */
static bool count_statement(fm_isl_work *work, fm_symbolic *symbolic, const fm_region_node *node,
                            const fm_pieces *executions)
{
    uint64_t times[FM_SYMBOLIC_HITS] = {0};
    for (size_t i = 0; i < node->access_count; i++)
        times[node->accesses[i].store ? FM_SYMBOLIC_STORES : FM_SYMBOLIC_LOADS]++;
    const fm_region_operations *done = &node->operations;
    times[FM_SYMBOLIC_FLOPS] = done->adds + done->multiplies + done->divides + done->specials;
    times[FM_SYMBOLIC_INTEGERS] = done->integers;
    for (size_t i = FM_SYMBOLIC_LOADS; i <= FM_SYMBOLIC_INTEGERS; i++)
        if (times[i] && !fm_formula_add_pieces(work, &symbolic->formulas[i], executions, (int64_t)times[i]))
            return false;
    return true;
}

static const fm_region_node *find_statement(const fm_region_node *node, uint32_t statement)
{
    const fm_region_node *found = NULL;
    for (; node && !found; node = node->next) {
        if (node->kind == FM_NODE_STATEMENT && node->statement == statement) return node;
        found = find_statement(node->body, statement);
        if (!found) found = find_statement(node->otherwise, statement);
    }
    return found;
}

static bool count_executions(fm_isl_work *work, fm_symbolic *symbolic, const fm_region *region,
                             const fm_reference_list *list)
{
    bool done = true;
    for (size_t i = 0; i < list->count && done; i++) {
        const fm_reference *reference = &list->references[i];
        fm_system system = {.kept = symbolic->parameter_count,
                            .counted = reference->depth - symbolic->parameter_count};
        fm_pieces pieces = {0};
        for (size_t k = 0; k < reference->row_count && done; k++) {
            fm_line *line = fm_lines_add(work, &system.inequalities);
            done = line != NULL;
            if (!done) break;
            memcpy(line->at, reference->rows[k].factors, reference->depth * sizeof line->at[0]);
            line->at[FM_CONSTANT] = reference->rows[k].constant;
        }
        if (done)
            done = fm_count_system(work, &system, &pieces);
        else
            fm_system_clear(&system);
        if (done && reference->access == region->statement_count)
            done = fm_formula_add_pieces(work, &symbolic->formulas[FM_SYMBOLIC_DOMAIN], &pieces, 1);
        else if (done)
            done = count_statement(work, symbolic, find_statement(region->body, reference->access), &pieces);
        fm_pieces_clear(&pieces);
    }
    return done;
}

static bool count_distances(fm_isl_work *work, fm_symbolic *symbolic, const fm_open_references *open)
{
    fm_open_pieces pieces;
    fm_formula *formulas = symbolic->formulas;
    if (!fm_open_pieces_create(work, &pieces, open)) return false;
    bool done = fm_formula_add_pieces(work, &formulas[FM_SYMBOLIC_REFERENCES], &pieces.points, 1) &&
                fm_formula_add_pieces(work, &formulas[FM_SYMBOLIC_COLD], &pieces.cold, 1);
    for (size_t i = 0; i < symbolic->size_count && done; i++)
        done = fm_hits_create(work, &formulas[FM_SYMBOLIC_HITS + i], &pieces,
                              symbolic->sizes[i] / symbolic->granularity);
    fm_open_pieces_clear(&pieces);
    return done;
}

/* All formulas for parameters from `least` on. */
static fm_status find_from(fm_symbolic *symbolic, const fm_region *region, fm_open_class *class,
                           int64_t least, double deadline, fm_error *error)
{
    fm_open_references open;
    fm_reference_list executions;
    for (unsigned i = 0; i < class->count; i++) {
        fm_open_parameter *one = &class->parameters[i];
        one->least = one->remainder + one->modulus * -fm_floor_divide(one->remainder - least, one->modulus);
        symbolic->parameters[i].modulus = one->modulus;
        symbolic->parameters[i].remainder = one->remainder;
        symbolic->parameters[i].least = one->least;
    }
    for (size_t i = 0; i < FM_SYMBOLIC_MOST; i++) fm_formula_clear(&symbolic->formulas[i]);
    fm_status status =
        fm_open_references_create(&open, region, class, symbolic->granularity, symbolic->layout, error);
    if (status != FM_OK) return status;
    status = fm_open_executions_create(&executions, region, class, error);
    const fm_isl_limits limits = {.seconds = deadline - fm_now(), .memory = MOST_MEMORY};
    fm_isl_work work;
    if (status == FM_OK && limits.seconds <= 0)
        status = fm_fail(error, FM_E_LIMIT, NULL, "no formula was found: the time allowed is over");
    if (status == FM_OK) status = fm_isl_work_begin(&work, &limits, error);
    if (status == FM_OK) {
        bool done =
            count_executions(&work, symbolic, region, &executions) && count_distances(&work, symbolic, &open);
        if (!done && work.status == FM_OK) fm_isl_gave_up(&work);
        status = fm_isl_work_end(&work, error);
    }
    int64_t first[FM_OPEN_MOST] = {0}, values[FM_OPEN_MOST] = {0};
    for (unsigned i = 0; i < class->count; i++) values[i] = class->parameters[i].least;
    fm_symbolic_quotients(symbolic, values, first);
    for (size_t i = 0; i < FM_SYMBOLIC_MOST; i++) fm_formula_tidy(&symbolic->formulas[i], first);
    fm_references_clear(&executions);
    fm_open_references_clear(&open);
    return status;
}

/* symbolic->names; false: no memory. */
static bool symbolic_name(fm_symbolic *symbolic)
{
    static const char *const first[FM_SYMBOLIC_HITS] = {
        "domain", "loads", "stores", "flops", "integer operations", "references", "first touches"};
    bool whole = true;
    for (size_t i = 0; i < fm_symbolic_formula_count(symbolic) && whole; i++) {
        char text[64];
        if (i < FM_SYMBOLIC_HITS)
            snprintf(text, sizeof text, "%s", first[i]);
        else
            snprintf(text, sizeof text, "misses of %" PRIu64 " bytes", symbolic->sizes[i - FM_SYMBOLIC_HITS]);
        whole = (symbolic->names[i] = strdup(text)) != NULL;
    }
    return whole;
}

static fm_status label_symbolic(fm_symbolic *symbolic, const fm_region *region, const fm_open_class *class,
                                fm_error *error)
{
    const char *file;
    bool whole = true;
    symbolic->parameter_count = class->count;
    for (unsigned i = 0; i < class->count; i++) {
        symbolic->parameters[i].name = strdup(region->parameters[class->parameters[i].parameter].name);
        whole &= symbolic->parameters[i].name != NULL;
    }
    if (region->function) whole &= (symbolic->function = strdup(region->function)) != NULL;
    if (fm_region_lines(region, &file, &symbolic->first_line, &symbolic->last_line))
        whole &= (symbolic->file = strdup(file)) != NULL;
    whole &= (symbolic->given = fm_region_list_values(region)) != NULL;
    whole &= (symbolic->notes = fm_region_list_notes(region)) != NULL;
    return whole && symbolic_name(symbolic)
               ? FM_OK
               : fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for formulas");
}

static fm_status take_options(fm_symbolic *symbolic, const fm_symbolic_options *options, fm_error *error)
{
    symbolic->granularity = options->granularity ? options->granularity : 64;
    symbolic->layout = options->layout;
    if (symbolic->granularity & (symbolic->granularity - 1) || symbolic->granularity > INT32_MAX)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "blocks of %" PRIu64 " bytes: expected a power of two",
                       symbolic->granularity);
    if (options->size_count > FM_SYMBOLIC_MOST_SIZES)
        return fm_fail(error, FM_E_ARGUMENT, NULL, "at most %d sizes of caches", FM_SYMBOLIC_MOST_SIZES);
    symbolic->size_count = options->size_count;
    for (size_t i = 0; i < options->size_count; i++) {
        symbolic->sizes[i] = options->sizes[i];
        if (options->sizes[i] < symbolic->granularity)
            return fm_fail(error, FM_E_ARGUMENT, NULL, "a cache of %" PRIu64 " bytes holds no block",
                           options->sizes[i]);
    }
    return FM_OK;
}

fm_status fm_region_symbolic_sized(size_t given_size, const fm_region *region,
                                   const fm_symbolic_options *given, fm_symbolic **symbolic, fm_error *error)
{
    *symbolic = NULL;
    FM_REQUIRE(region, error);
    fm_symbolic_options options = {0};
    fm_open_class class;
    const double began = fm_now();
    fm_status status =
        fm_sized_read(&options, sizeof options, given, given ? given_size : 0, "fm_symbolic_options", error);
    if (status == FM_OK)
        status = fm_check_choice(options.layout, FM_LAYOUT_ALIGNED, "fm_symbolic_options.layout", error);
    if (status != FM_OK) return status;
    fm_symbolic *made = fm_calloc(1, sizeof *made);
    if (!made) return fm_fail_memory(error, sizeof *made, "formulas");
    const double limit = options.limit_seconds > 0 ? options.limit_seconds : 60;
    status = take_options(made, &options, error);
    if (status == FM_OK) status = fm_open_class_find(&class, region, made->granularity, made->layout, error);
    if (status == FM_OK) status = label_symbolic(made, region, &class, error);
    for (unsigned i = 0; status == FM_OK && options.remainders && i < class.count; i++) {
        fm_open_parameter *one = &class.parameters[i];
        const int64_t given_one = options.remainders[one->parameter];
        one->remainder = given_one - one->modulus * fm_floor_divide(given_one, one->modulus);
    }
    if (status == FM_OK) {
        status = find_from(made, region, &class, 1, began + limit, error);
        /* small parameters can leave the bounds of arrays */
        if (status == FM_E_UNSUPPORTED) status = find_from(made, region, &class, 16, began + limit, error);
    }
    if (status == FM_OK) {
        const double now = fm_now(), more = began + limit < now + 10 ? began + limit : now + 10;
        fm_symbolic_describe(made, more);
        made->seconds = fm_now() - began;
        *symbolic = made;
    } else {
        fm_symbolic_destroy(made);
    }
    return status;
}

/* ---- what was found ---- */

size_t fm_symbolic_parameter_count(const fm_symbolic *symbolic)
{
    return symbolic->parameter_count;
}

fm_symbolic_parameter fm_symbolic_parameter_at(const fm_symbolic *symbolic, size_t index)
{
    if (index >= symbolic->parameter_count) return (fm_symbolic_parameter){0};
    const int64_t modulus = symbolic->parameters[index].modulus,
                  remainder = symbolic->parameters[index].remainder;
    return (fm_symbolic_parameter){
        .name = symbolic->parameters[index].name,
        .least = symbolic->parameters[index].least,
        .most = (FM_OPEN_LARGEST / modulus - 1) * modulus + remainder,
        .modulus = modulus,
    };
}

bool fm_symbolic_text_at(const fm_symbolic *symbolic, size_t index, fm_symbolic_text *text)
{
    const size_t at = index + FM_SYMBOLIC_LOADS;
    if (at >= fm_symbolic_formula_count(symbolic)) return false;
    *text = (fm_symbolic_text){
        .name = symbolic->names[at],
        .text = symbolic->texts[at],
        .from = symbolic->from[at],
        .pieces = symbolic->formulas[at].count,
    };
    return true;
}

double fm_symbolic_seconds(const fm_symbolic *symbolic)
{
    return symbolic->seconds;
}

/* ---- values ---- */

void fm_symbolic_quotients(const fm_symbolic *symbolic, const int64_t *values, int64_t *x)
{
    for (unsigned i = 0; i < symbolic->parameter_count; i++)
        x[i] =
            fm_floor_divide(values[i] - symbolic->parameters[i].remainder, symbolic->parameters[i].modulus);
}

fm_formula_status fm_symbolic_number(const fm_symbolic *symbolic, size_t index, const int64_t *x,
                                     int64_t *number)
{
    fm_formula_status status = fm_formula_value(&symbolic->formulas[index], x, number);
    if (status != FM_FORMULA_OK || index < FM_SYMBOLIC_HITS) return status;
    int64_t all;
    status = fm_formula_value(&symbolic->formulas[FM_SYMBOLIC_REFERENCES], x, &all);
    *number = all - *number;
    return status;
}

static fm_status check_values(const fm_symbolic *symbolic, const int64_t *values, fm_error *error)
{
    for (unsigned i = 0; i < symbolic->parameter_count; i++) {
        const fm_symbolic_parameter one = fm_symbolic_parameter_at(symbolic, i);
        if (values[i] < one.least || values[i] > one.most)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "%s = %" PRId64 ": the formulas are right from %" PRId64 " to %" PRId64, one.name,
                           values[i], one.least, one.most);
        const int64_t remainder = values[i] % one.modulus;
        if (remainder != symbolic->parameters[i].remainder)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "%s = %" PRId64 " leaves a remainder of %" PRId64 " when divided by %" PRId64
                           ": these formulas are for a remainder of %" PRId64,
                           one.name, values[i], remainder, one.modulus, symbolic->parameters[i].remainder);
    }
    return FM_OK;
}

fm_status fm_symbolic_evaluate_sized(size_t result_size, const fm_symbolic *symbolic, const int64_t *values,
                                     fm_symbolic_values *result, fm_error *error)
{
    FM_REQUIRE(symbolic, error);
    fm_symbolic_values found = {.size_count = symbolic->size_count};
    int64_t x[FM_OPEN_MOST] = {0}, numbers[FM_SYMBOLIC_MOST] = {0};
    fm_status status = check_values(symbolic, values, error);
    if (status != FM_OK) return status;
    fm_symbolic_quotients(symbolic, values, x);
    for (size_t i = 0; i < fm_symbolic_formula_count(symbolic); i++) {
        fm_formula_status done = fm_formula_value(&symbolic->formulas[i], x, &numbers[i]);
        if (done == FM_FORMULA_OVERFLOW)
            return fm_fail(error, FM_E_LIMIT, NULL, "%s: a number beyond 64 bits", symbolic->names[i]);
        if (done == FM_FORMULA_TOO_LONG)
            return fm_fail(
                error, FM_E_LIMIT, NULL,
                "%s: the formula takes too long for these values; without formulas they are worked "
                "out by themselves",
                symbolic->names[i]);
        if (i == FM_SYMBOLIC_DOMAIN && numbers[i] != 1)
            return fm_fail(error, FM_E_ARGUMENT, NULL,
                           "an assumption of the region does not hold for these values");
    }
    found.loads = (uint64_t)numbers[FM_SYMBOLIC_LOADS];
    found.stores = (uint64_t)numbers[FM_SYMBOLIC_STORES];
    found.flops = (uint64_t)numbers[FM_SYMBOLIC_FLOPS];
    found.integer_operations = (uint64_t)numbers[FM_SYMBOLIC_INTEGERS];
    found.references = (uint64_t)numbers[FM_SYMBOLIC_REFERENCES];
    found.cold = (uint64_t)numbers[FM_SYMBOLIC_COLD];
    for (size_t i = 0; i < symbolic->size_count; i++) {
        const int64_t hits = numbers[FM_SYMBOLIC_HITS + i], all = numbers[FM_SYMBOLIC_REFERENCES];
        if (hits < 0 || hits > all - numbers[FM_SYMBOLIC_COLD])
            return fm_fail(error, FM_E_CORRUPT, NULL,
                           "the formulas contradict each other: %" PRId64 " hits of %" PRId64 " references",
                           hits, all);
        found.sizes[i] = symbolic->sizes[i];
        found.misses[i] = (uint64_t)(all - hits);
    }
    fm_sized_copy(result, result_size, &found, sizeof found);
    return FM_OK;
}

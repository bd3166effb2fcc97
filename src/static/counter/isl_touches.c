/* SPDX-License-Identifier: Apache-2.0 */
/* isl_touches.c - references as sets of isl, and the blocks that they touch (counter_touches.h). */
#include "static/counter/counter_touches.h"

#include "base/memory.h"

#include <isl/aff.h>
#include <isl/ilp.h>
#include <isl/local_space.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_AXES = 4 }; /* coordinates of a block */

/* A reference on the way: what is left of its address, after the rows that were found. */
typedef struct form {
    const fm_reference *reference;
    size_t index;
    fm_system system;
    fm_line rest; /* bytes */
    fm_line trial, row;
    int64_t least, most; /* of trial, with all bytes that are touched */
} form;

void fm_touches_clear(fm_touches *touches)
{
    for (size_t i = 0; i < touches->count; i++) fm_system_clear(&touches->touches[i].system);
    free(touches->touches);
    free(touches->axes);
    memset(touches, 0, sizeof *touches);
}

static int64_t modulo_of(int64_t number, int64_t by)
{
    return number - by * fm_floor_divide(number, by);
}

static int64_t nearest_remainder(int64_t number, int64_t by)
{
    return fm_floor_divide(number + by / 2, by);
}

static bool take_bound(fm_isl_work *work, isl_val *value, int64_t *bound)
{
    if (!value) return fm_isl_gave_up(work);
    bool fits =
        isl_val_is_int(value) == isl_bool_true && isl_val_n_abs_num_chunks(value, sizeof(int64_t)) <= 1;
    uint64_t chunk = 0;
    if (fits) isl_val_get_abs_num_chunks(value, sizeof chunk, &chunk);
    fits = fits && chunk < (uint64_t)1 << 62;
    *bound = isl_val_is_neg(value) == isl_bool_true ? -(int64_t)chunk : (int64_t)chunk;
    isl_val_free(value);
    return fits || fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: addresses beyond 2^62");
}

/* Between which numbers a line is in a system that is not empty. */
static bool line_range(fm_isl_work *work, const fm_system *system, const fm_line *line, int64_t *least,
                       int64_t *most)
{
    unsigned columns = fm_system_columns(system);
    isl_basic_set *set = fm_system_to_isl(work, system, NULL);
    isl_aff *aff =
        isl_aff_zero_on_domain(isl_local_space_from_space(isl_space_set_alloc(work->ctx, 0, columns)));
    for (unsigned i = 0; i < columns; i++)
        if (line->at[i])
            aff = isl_aff_set_coefficient_val(aff, isl_dim_in, (int)i,
                                              isl_val_int_from_si(work->ctx, line->at[i]));
    aff = isl_aff_set_constant_val(aff, isl_val_int_from_si(work->ctx, line->at[FM_CONSTANT]));
    bool done = take_bound(work, isl_basic_set_max_val(set, aff), most);
    aff = isl_aff_neg(aff);
    done = done && take_bound(work, isl_basic_set_max_val(set, aff), least);
    *least = -*least;
    isl_aff_free(aff);
    isl_basic_set_free(set);
    return done;
}

/* The domain of a reference; *empty: it has no points. */
static bool begin_form(fm_isl_work *work, form *this, const fm_reference_list *list, size_t index,
                       bool *empty)
{
    const fm_reference *reference = &list->references[index];
    *this = (form){.reference = reference, .index = index, .system = {.kept = reference->depth}};
    for (size_t i = 0; i < reference->row_count; i++) {
        fm_line *line = fm_lines_add(work, &this->system.inequalities);
        if (!line) return false;
        memcpy(line->at, reference->rows[i].factors, reference->depth * sizeof line->at[0]);
        line->at[FM_CONSTANT] = reference->rows[i].constant;
    }
    fm_emptiness emptiness = fm_system_emptiness(work, &this->system, NULL);
    *empty = emptiness == FM_EMPTY;
    memcpy(this->rest.at, reference->address.factors, reference->depth * sizeof this->rest.at[0]);
    this->rest.at[FM_CONSTANT] = reference->address.constant;
    return emptiness != FM_EMPTINESS_FAILED;
}

/*
 * Divides what is left of the address by the length of a row, so that trial is what is left then, with the
 * same sum of row * length + trial. False in *fits: no rows of this length that begin with blocks hold all of
 * them.
 */
static bool try_length(fm_isl_work *work, form *forms, size_t count, int64_t length, int64_t granularity,
                       bool *fits, int64_t *rows_together)
{
    int64_t middle = 0, width = -1, least = INT64_MAX, most = INT64_MIN;
    *fits = false;
    for (size_t i = 0; i < count; i++) {
        form *this = &forms[i];
        this->trial = this->rest;
        memset(&this->row, 0, sizeof this->row);
        for (unsigned j = 0; j < fm_system_columns(&this->system); j++) {
            this->row.at[j] = nearest_remainder(this->rest.at[j], length);
            this->trial.at[j] -= this->row.at[j] * length;
        }
        if (!line_range(work, &this->system, &this->trial, &this->least, &this->most)) return false;
        this->most += (int64_t)this->reference->bytes - 1;
        if (this->most - this->least >= length) return true;
        if (this->most - this->least <= width) continue;
        width = this->most - this->least;
        middle = this->least + width / 2;
    }
    for (size_t i = 0; i < count; i++) { /* the rows of all references begin at the same place */
        form *this = &forms[i];
        int64_t row = nearest_remainder(this->least + (this->most - this->least) / 2 - middle, length);
        this->row.at[FM_CONSTANT] += row;
        this->trial.at[FM_CONSTANT] -= row * length;
        this->least -= row * length;
        this->most -= row * length;
        if (this->least < least) least = this->least;
        if (this->most > most) most = this->most;
    }
    int64_t common = fm_greatest_divisor(granularity, length), begin = least - modulo_of(least, common),
            first = 0;
    if (most - begin >= length) return true;
    while (modulo_of(begin + first * length, granularity)) first++;
    *rows_together = granularity / common;
    *fits = true;
    for (size_t i = 0; i < count; i++) {
        forms[i].row.at[FM_CONSTANT] -= first;
        forms[i].trial.at[FM_CONSTANT] -= begin;
    }
    return true;
}

static fm_line *add_inequality(fm_isl_work *work, form *this, const fm_line *line)
{
    fm_line *added = fm_lines_add(work, &this->system.inequalities);
    if (added) *added = *line;
    return added;
}

/* A new coordinate: line = by * coordinate + something from 0 to by - 1. */
static bool add_coordinate(fm_isl_work *work, form *this, const fm_line *line, int64_t by)
{
    unsigned column = this->system.kept;
    if (!fm_system_insert_column(work, &this->system, column)) return false;
    this->system.kept++;
    fm_line low = *line, high = {{0}};
    low.at[column] = -by;
    for (unsigned i = 0; i < FM_COLUMNS; i++) high.at[i] = -low.at[i];
    high.at[FM_CONSTANT] += by - 1;
    if (by > 1) return add_inequality(work, this, &low) && add_inequality(work, this, &high);
    fm_line *equality = fm_lines_add(work, &this->system.equalities);
    if (equality) *equality = low;
    return equality != NULL;
}

/* Rows of that length that begin with blocks: the row is a coordinate. */
static bool use_length(fm_isl_work *work, form *forms, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!add_coordinate(work, &forms[i], &forms[i].row, 1)) return false;
        forms[i].rest = forms[i].trial;
    }
    return true;
}

/*
 * Rows of which only `together` are whole blocks: every reference becomes so many, one for each remainder of
 * the row. Left to isl, the remainder would be one more unknown, with a factor of a row's length.
 */
static bool split_rows(fm_isl_work *work, form **forms, size_t *count, int64_t length, int64_t together)
{
    form *parts = fm_calloc(*count * (size_t)together, sizeof *parts);
    size_t made = 0;
    if (!parts) return fm_isl_no_memory(work);
    bool done = true;
    for (size_t i = 0; i < *count && done; i++)
        for (int64_t remainder = 0; remainder < together && done; remainder++) {
            form *part = &parts[made];
            *part = (*forms)[i];
            memset(&part->system, 0, sizeof part->system);
            done = fm_system_copy(work, &part->system, &(*forms)[i].system);
            made++;
            fm_line line = part->row;
            unsigned column = part->system.kept;
            line.at[FM_CONSTANT] -= remainder;
            done = done && add_coordinate(work, part, &line, 1);
            if (!done) break;
            part->system.equalities.lines[part->system.equalities.count - 1].at[column] = -together;
            part->rest = part->trial;
            part->rest.at[FM_CONSTANT] += length * remainder;
            fm_emptiness emptiness = fm_system_emptiness(work, &part->system, NULL);
            done = emptiness != FM_EMPTINESS_FAILED;
            if (emptiness == FM_EMPTY) fm_system_clear(&parts[--made].system);
        }
    for (size_t i = 0; i < *count; i++) fm_system_clear(&(*forms)[i].system);
    free(*forms);
    *forms = parts;
    *count = made;
    return done;
}

/* The lengths to try, best ones first: few rows together, long ones. */
static size_t lengths_to_try(const form *forms, size_t count, int64_t granularity, int64_t *lengths,
                             size_t most)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (unsigned j = 0; j < fm_system_columns(&forms[i].system); j++) {
            int64_t factor = forms[i].rest.at[j], length = factor < 0 ? -factor : factor;
            size_t at = 0;
            if (length <= granularity) continue;
            while (at < found && lengths[at] != length) at++;
            if (at < found || found == most) continue;
            for (; at > 0; at--) {
                int64_t before = fm_greatest_divisor(granularity, lengths[at - 1]),
                        now = fm_greatest_divisor(granularity, length);
                if (before > now || (before == now && lengths[at - 1] > length)) break;
                lengths[at] = lengths[at - 1];
            }
            lengths[at] = length;
            found++;
        }
    return found;
}

static bool find_rows(fm_isl_work *work, form **forms, size_t *count, int64_t granularity)
{
    int64_t last = INT64_MAX;
    for (unsigned axes = 1; axes < MOST_AXES; axes++) {
        int64_t lengths[64], together = 0;
        bool fits = false;
        size_t found = lengths_to_try(*forms, *count, granularity, lengths, 64);
        for (size_t i = 0; i < found && !fits; i++) {
            if (lengths[i] >= last) continue;
            if (!try_length(work, *forms, *count, lengths[i], granularity, &fits, &together)) return false;
            if (fits) last = lengths[i];
        }
        if (!fits) return true;
        bool done =
            together == 1 ? use_length(work, *forms, *count) : split_rows(work, forms, count, last, together);
        if (!done) return false;
    }
    return true;
}

/* Does an access stay in a block, by what its address can be in it? */
static bool in_one_block(const form *this, int64_t granularity)
{
    int64_t common = granularity;
    for (unsigned i = 0; i < this->system.kept; i++) common = fm_greatest_divisor(common, this->rest.at[i]);
    int64_t last = modulo_of(this->rest.at[FM_CONSTANT], common) + granularity - common;
    return this->reference->bytes <= (uint64_t)(granularity - last);
}

/* The block in the row is the last coordinate. */
static bool add_touch(fm_isl_work *work, fm_touches *touches, form *this, int64_t granularity)
{
    if (!in_one_block(this, granularity))
        return fm_isl_fail(work, FM_E_ARGUMENT, "reference %zu touches more than one block at a time",
                           this->index);
    if (!add_coordinate(work, this, &this->rest, granularity)) return false;
    if (fm_array_reserve((void **)&touches->touches, &touches->capacity, touches->count + 1,
                         sizeof *touches->touches))
        return fm_isl_no_memory(work);
    touches->touches[touches->count++] = (fm_touch){
        .reference = this->reference,
        .index = this->index,
        .system = this->system,
    };
    memset(&this->system, 0, sizeof this->system);
    return true;
}

static bool touches_of_array(fm_isl_work *work, fm_touches *touches, const fm_reference_list *list,
                             uint32_t array)
{
    size_t count = 0;
    form *forms = fm_calloc(list->count + 1, sizeof *forms);
    bool done = forms || fm_isl_no_memory(work);
    for (size_t i = 0; i < list->count && done; i++) {
        bool empty = false;
        if (list->references[i].array != array) continue;
        done = begin_form(work, &forms[count], list, i, &empty);
        if (empty || !done)
            fm_system_clear(&forms[count].system);
        else
            count++;
    }
    done = done && find_rows(work, &forms, &count, (int64_t)list->granularity);
    if (done && count) touches->axes[array] = forms[0].system.kept - forms[0].reference->depth + 1;
    for (size_t i = 0; i < count; i++) {
        done = done && add_touch(work, touches, &forms[i], (int64_t)list->granularity);
        fm_system_clear(&forms[i].system);
    }
    free(forms);
    return done;
}

bool fm_touches_create(fm_isl_work *work, fm_touches *touches, const fm_reference_list *list)
{
    memset(touches, 0, sizeof *touches);
    if (list->granularity == 0 || list->granularity > INT32_MAX)
        return fm_isl_fail(work, FM_E_ARGUMENT, "blocks of %llu bytes",
                           (unsigned long long)list->granularity);
    for (size_t i = 0; i < list->count; i++)
        if (list->references[i].array >= touches->array_count)
            touches->array_count = (size_t)list->references[i].array + 1;
    touches->axes = fm_calloc(touches->array_count + 1, sizeof *touches->axes);
    bool done = touches->axes || fm_isl_no_memory(work);
    for (size_t i = 0; i < touches->array_count && done; i++)
        done = touches_of_array(work, touches, list, (uint32_t)i);
    if (!done) fm_touches_clear(touches);
    return done;
}

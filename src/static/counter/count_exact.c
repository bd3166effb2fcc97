/* SPDX-License-Identifier: Apache-2.0 */
/* count_exact.c - the steps of the exact count (counter.h), one after the other. */

#include "static/counter/counter_touches.h"
#include "static/counter/counter_values.h"

#include "base/error.h"
#include "base/memory.h"

#include <isl/set.h>
#include <isl/space.h>
#include <stdlib.h>
#include <string.h>

/* Pieces of one touch: [first, last) of all pieces have this use. */
typedef struct use_pieces {
    size_t touch;
    uint32_t use;
    size_t first, last;
    fm_narrowing variables; /* of the pieces */
} use_pieces;

struct fm_distance_pieces {
    fm_isl_work work;
    fm_touches touches;
    uint64_t *cold;   /* first touches of each touch */
    uint64_t *points; /* of each touch */
    fm_pieces pieces;
    use_pieces *uses;
    size_t use_count, use_capacity;
};

static const uint64_t MOST_MEMORY = (uint64_t)6 << 30;

/* How many points a touch has. */
static bool count_domain(fm_isl_work *work, const fm_touch *touch, uint64_t *points)
{
    unsigned depth = touch->reference->depth, axes = touch->system.kept - depth;
    isl_basic_set *set = fm_system_to_isl(work, &touch->system, NULL);
    return fm_count_points(
        work, isl_set_from_basic_set(isl_basic_set_project_out(set, isl_dim_set, depth, axes)), points);
}

typedef struct taking {
    fm_distance_pieces *formulas;
    const fm_isl_reuse *reuse;
} taking;

static bool take_pieces(void *context, fm_narrowing *variables, size_t first)
{
    const taking *this = context;
    fm_distance_pieces *formulas = this->formulas;
    if (fm_array_reserve((void **)&formulas->uses, &formulas->use_capacity, formulas->use_count + 1,
                         sizeof *formulas->uses)) {
        fm_narrowing_clear(variables);
        return fm_isl_no_memory(&formulas->work);
    }
    formulas->uses[formulas->use_count++] = (use_pieces){
        .touch = this->reuse->reuse,
        .use = formulas->touches.touches[this->reuse->use].reference->access,
        .first = first,
        .last = formulas->pieces.count,
        .variables = *variables,
    };
    return true;
}

/* The reuse is changed. */
static bool pieces_of_reuse(fm_distance_pieces *formulas, fm_isl_reuse *reuse)
{
    fm_isl_work *work = &formulas->work;
    fm_pieces counts = {0};
    fm_narrowing narrowing = {0};
    taking this = {formulas, reuse};
    bool empty;
    bool done = fm_reuse_narrow(work, reuse, &narrowing, &empty);
    if (done && !empty) done = fm_between_count(work, &formulas->touches, reuse, &counts);
    if (done && !empty)
        done = fm_overlay_classes(work, &reuse->domain, &counts, &narrowing, &formulas->pieces, take_pieces,
                                  &this);
    fm_pieces_clear(&counts);
    fm_narrowing_clear(&narrowing);
    return done;
}

static bool pieces_of_touch(fm_distance_pieces *formulas, size_t touch)
{
    fm_isl_work *work = &formulas->work;
    fm_isl_reuses reuses;
    if (!fm_isl_reuses_find(work, &reuses, &formulas->touches, touch)) return false;
    bool done = fm_count_points(work, isl_set_copy(reuses.cold), &formulas->cold[touch]) &&
                count_domain(work, &formulas->touches.touches[touch], &formulas->points[touch]);
    for (size_t i = 0; i < reuses.count && done; i++) done = pieces_of_reuse(formulas, &reuses.reuses[i]);
    fm_isl_reuses_clear(&reuses);
    return done;
}

/* First touches are the blocks that are touched at all: counted in another way. */
static bool check_cold(fm_distance_pieces *formulas)
{
    fm_isl_work *work = &formulas->work;
    const fm_touches *touches = &formulas->touches;
    uint64_t cold = 0, blocks = 0;
    for (size_t i = 0; i < touches->count; i++) cold += formulas->cold[i];
    for (size_t array = 0; array < touches->array_count; array++) {
        uint64_t count;
        isl_set *set = isl_set_empty(isl_space_set_alloc(work->ctx, 0, touches->axes[array]));
        for (size_t i = 0; i < touches->count; i++) {
            const fm_touch *touch = &touches->touches[i];
            if (touch->reference->array != array) continue;
            isl_basic_set *part = fm_system_to_isl(work, &touch->system, NULL);
            part = isl_basic_set_project_out(part, isl_dim_set, 0, touch->reference->depth);
            set = isl_set_union(set, isl_set_from_basic_set(part));
        }
        if (!fm_count_points(work, set, &count)) return false;
        blocks += count;
    }
    return cold == blocks ||
           fm_isl_fail(work, FM_E_CORRUPT,
                       "the exact count contradicts itself: %llu first touches of %llu blocks",
                       (unsigned long long)cold, (unsigned long long)blocks);
}

fm_status fm_distance_pieces_create(fm_distance_pieces **formulas, const fm_reference_list *list,
                                    const fm_isl_limits *limits, fm_error *error)
{
    fm_distance_pieces *this = fm_calloc(1, sizeof *this);
    *formulas = NULL;
    if (!this) return fm_fail_memory(error, sizeof *this, "the exact count");
    fm_status status = fm_isl_work_begin(&this->work, limits, error);
    if (status != FM_OK) {
        free(this);
        return status;
    }
    bool done = fm_touches_create(&this->work, &this->touches, list);
    this->cold = fm_calloc(this->touches.count + 1, sizeof *this->cold);
    this->points = fm_calloc(this->touches.count + 1, sizeof *this->points);
    if (!this->cold || !this->points) done = fm_isl_no_memory(&this->work);
    for (size_t i = 0; i < this->touches.count && done; i++) done = pieces_of_touch(this, i);
    done = done && check_cold(this);
    if (!done) {
        if (this->work.status == FM_OK) fm_isl_gave_up(&this->work);
        status = this->work.status;
        if (error) *error = this->work.error;
        fm_distance_pieces_destroy(this);
        return status;
    }
    *formulas = this;
    return FM_OK;
}

void fm_distance_pieces_destroy(fm_distance_pieces *formulas)
{
    if (!formulas) return;
    fm_pieces_clear(&formulas->pieces);
    fm_touches_clear(&formulas->touches);
    fm_isl_work_end(&formulas->work, NULL);
    free(formulas->cold);
    free(formulas->points);
    for (size_t i = 0; i < formulas->use_count; i++) fm_narrowing_clear(&formulas->uses[i].variables);
    free(formulas->uses);
    free(formulas);
}

typedef struct adding {
    fm_isl_work *work;
    fm_static_counted *result;
    uint32_t use, reuse;
} adding;

static bool add_value(void *context, int64_t value, uint64_t count)
{
    adding *this = context;
    fm_error error;
    fm_status status =
        fm_static_counted_add(this->result, this->use, this->reuse, (uint64_t)value, count, &error);
    return status == FM_OK || fm_isl_fail(this->work, status, "%s", error.reason);
}

/* The values of all pieces of a touch; next: the first of its uses. */
static bool count_touch(fm_distance_pieces *formulas, size_t touch, size_t *next, fm_runs *runs,
                        fm_static_counted *result)
{
    fm_isl_work *work = &formulas->work;
    const fm_reference *reference = formulas->touches.touches[touch].reference;
    adding this = {.work = work, .result = result, .reuse = reference->access};
    uint64_t points = formulas->cold[touch];
    bool done = true;
    while (*next < formulas->use_count && formulas->uses[*next].touch == touch && done) {
        const use_pieces *uses = &formulas->uses[*next];
        this.use = uses->use;
        for (size_t i = uses->first; i < uses->last && done; i++)
            done = fm_isl_alive(work) && fm_piece_values(work, &formulas->pieces.pieces[i], runs, &points);
        ++*next;
        bool last = *next == formulas->use_count || formulas->uses[*next].touch != touch ||
                    formulas->uses[*next].use != this.use;
        if (last && done) done = fm_runs_flush(runs, add_value, &this);
    }
    if (done && points != formulas->points[touch])
        return fm_isl_fail(
            work, FM_E_CORRUPT,
            "the exact count contradicts itself: access %u has %llu points, of which %llu were "
            "counted",
            reference->access, (unsigned long long)formulas->points[touch], (unsigned long long)points);
    this.use = FM_FIRST_TOUCH;
    return done && add_value(&this, 0, formulas->cold[touch]);
}

/* Every distance is less than the number of blocks. */
static fm_status count_all(fm_distance_pieces *formulas, uint64_t blocks, const fm_value_cells *cells,
                           fm_static_counted *result, fm_error *error)
{
    size_t next = 0;
    fm_runs runs;
    if (!fm_runs_create(&runs, blocks, cells))
        return fm_fail(error, FM_E_LIMIT, NULL, "the exact count was given up: %llu blocks",
                       (unsigned long long)blocks);
    bool done = fm_isl_alive(&formulas->work);
    for (size_t i = 0; i < formulas->touches.count && done; i++)
        done = count_touch(formulas, i, &next, &runs, result);
    fm_runs_destroy(&runs);
    if (!done && error) *error = formulas->work.error;
    return done ? fm_static_counted_finish(result, error) : formulas->work.status;
}

fm_status fm_distance_pieces_count(fm_distance_pieces *formulas, const fm_grouping *grouping,
                                   fm_static_counted *result, fm_error *error)
{
    uint64_t blocks = 0;
    fm_value_cells cells = {0};
    const bool grouped = grouping && grouping->bins != FM_BINS_EXACT;
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < formulas->touches.count; i++) blocks += formulas->cold[i];
    if (grouped && !fm_cells_create(&cells, grouping, blocks))
        return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for the exact count");
    fm_status status = count_all(formulas, blocks, grouped ? &cells : NULL, result, error);
    fm_cells_destroy(&cells);
    if (status != FM_OK) {
        fm_static_counted_clear(result);
        return status;
    }
    result->method = "isl";
    result->pieces = formulas->pieces.count;
    return FM_OK;
}

fm_status fm_count_exactly(const fm_reference_list *list, const fm_grouping *grouping, double seconds,
                           fm_static_counted *result, fm_error *error)
{
    fm_distance_pieces *formulas;
    fm_isl_limits limits = {.seconds = seconds, .memory = MOST_MEMORY};
    memset(result, 0, sizeof *result);
    fm_status status = fm_distance_pieces_create(&formulas, list, &limits, error);
    if (status != FM_OK) return status;
    status = fm_distance_pieces_count(formulas, grouping, result, error);
    fm_distance_pieces_destroy(formulas);
    return status;
}

static bool in_domain(const fm_touch *touch, const int64_t *x)
{
    for (size_t i = 0; i < touch->reference->row_count; i++) {
        const fm_row *row = &touch->reference->rows[i];
        __int128 sum = row->constant;
        for (unsigned j = 0; j < touch->reference->depth; j++) sum += (__int128)row->factors[j] * x[j];
        if (sum < 0) return false;
    }
    return true;
}

fm_status fm_distance_pieces_at(const fm_distance_pieces *formulas, size_t reference, const int64_t *x,
                                uint32_t *use, uint64_t *distance, fm_error *error)
{
    size_t touch = 0, found = 0;
    while (touch < formulas->touches.count && formulas->touches.touches[touch].index != reference) touch++;
    if (touch == formulas->touches.count || !in_domain(&formulas->touches.touches[touch], x))
        return fm_fail(error, FM_E_ARGUMENT, NULL, "reference %zu has no such point", reference);
    *use = FM_FIRST_TOUCH;
    *distance = 0;
    for (size_t i = 0; i < formulas->use_count; i++) {
        if (formulas->touches.touches[formulas->uses[i].touch].index != reference) continue;
        for (size_t j = formulas->uses[i].first; j < formulas->uses[i].last; j++) {
            const fm_counter_piece *piece = &formulas->pieces.pieces[j];
            int64_t values[FM_COLUMNS] = {0}, value;
            fm_quick_poly quick;
            if (!fm_narrowing_at(&formulas->uses[i].variables, x, values)) continue;
            if (!fm_system_extend_point(&piece->domain, values) || !fm_system_holds(&piece->domain, values))
                continue;
            bool fits =
                fm_quick_poly_create(&quick, &piece->value) && fm_quick_poly_value(&quick, values, &value);
            fm_quick_poly_clear(&quick);
            if (!fits || value < 0 || found++)
                return fm_fail(error, FM_E_CORRUPT, NULL, "the pieces of reference %zu contradict each other",
                               reference);
            *use = formulas->uses[i].use;
            *distance = (uint64_t)value;
        }
    }
    return FM_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isl_between.c - see isl_between.h. What a reference touches between two points of time is a union of parts:
 * the same iteration as the use of some outer loops and a later one of the next, an iteration between the
 * two, the same iteration as the reuse of some outer loops and an earlier one of the next.
 */
#include "static/counter/isl_between.h"

#include "static/counter/counter_quick.h"

#include <isl/set.h>
#include <isl/space.h>
#include <stdlib.h>
#include <string.h>

typedef struct window {
    fm_isl_work *work;
    const fm_isl_reuse *reuse;
    const fm_touch *from, *to; /* the touches of use and reuse */
    const fm_touch *touch;     /* in between */
    unsigned known; /* columns of the reuse's domain; then come the block's, then the touch's variables */
    unsigned axes;
    fm_system system; /* of the part; every loop that is the same adds an equality */
    isl_set *blocks;
} window;

static bool add_range(fm_isl_work *work, fm_counter_lines *target, const fm_counter_lines *lines,
                      unsigned depth, unsigned known, unsigned axes)
{
    for (size_t i = 0; i < lines->count; i++) {
        fm_line *line = fm_lines_add(work, target);
        if (!line) return false;
        memcpy(&line->at[known], &lines->lines[i].at[depth], axes * sizeof line->at[0]);
        memcpy(&line->at[known + axes], lines->lines[i].at, depth * sizeof line->at[0]);
        line->at[FM_CONSTANT] = lines->lines[i].at[FM_CONSTANT];
    }
    return true;
}

/* The reuse's domain and the touch, not yet related to each other. */
static bool begin_system(window *this)
{
    fm_isl_work *work = this->work;
    const fm_system *domain = &this->reuse->domain;
    unsigned depth = this->touch->reference->depth;
    if (!fm_system_copy(work, &this->system, domain)) return false;
    this->system.counted = this->axes + depth;
    if (fm_system_columns(&this->system) >= FM_CONSTANT)
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: loops too deep");
    return add_range(work, &this->system.equalities, &this->touch->system.equalities, depth, this->known,
                     this->axes) &&
           add_range(work, &this->system.inequalities, &this->touch->system.inequalities, depth, this->known,
                     this->axes);
}

/* The variable of the touch at a level, less the one of the use, or of the reuse, less `more`. */
static fm_line difference(const window *this, unsigned level, bool to_use, int64_t more)
{
    const fm_line *point = to_use ? &this->reuse->from[level] : &this->reuse->to[level];
    fm_line line;
    for (unsigned i = 0; i < FM_COLUMNS; i++) line.at[i] = -point->at[i];
    line.at[this->known + this->axes + level] = 1;
    line.at[FM_CONSTANT] -= more;
    return line;
}

/* The part as it is now, with up to two conditions more: its blocks. */
static bool emit(window *this, const fm_line *above, const fm_line *below)
{
    fm_isl_work *work = this->work;
    size_t count = this->system.inequalities.count;
    const fm_line *more[2] = {above, below};
    for (int i = 0; i < 2; i++) {
        if (!more[i]) continue;
        fm_line *line = fm_lines_add(work, &this->system.inequalities);
        if (!line) return false;
        *line = *more[i];
    }
    fm_quick quick = fm_system_quick(&this->system, NULL, false, NULL);
    isl_basic_set *set = quick == FM_QUICK_EMPTY ? NULL : fm_system_to_isl(work, &this->system, NULL);
    this->system.inequalities.count = count;
    if (quick == FM_QUICK_EMPTY) return true;
    isl_bool empty = quick == FM_QUICK_UNKNOWN ? isl_basic_set_is_empty(set) : isl_bool_false;
    if (empty != isl_bool_false) {
        isl_basic_set_free(set);
        return empty == isl_bool_true || fm_isl_gave_up(work);
    }
    set =
        isl_basic_set_project_out(set, isl_dim_set, this->known + this->axes, this->touch->reference->depth);
    this->blocks = isl_set_union(this->blocks, isl_set_from_basic_set(set));
    return this->blocks != NULL || fm_isl_gave_up(work);
}

static bool parts(window *this, unsigned level, bool after_use, bool before_reuse);

/* Parts in which the variable of the level is the use's (or the reuse's). */
static bool parts_equal(window *this, unsigned level, bool to_use, bool after_use, bool before_reuse)
{
    size_t count = this->system.equalities.count;
    fm_line *line = fm_lines_add(this->work, &this->system.equalities);
    if (!line) return false;
    *line = difference(this, level, to_use, 0);
    bool done = parts(this, level + 1, after_use, before_reuse);
    this->system.equalities.count = count;
    return done;
}

/* Everything of the touch from this level on. after_use: so far it is at the use's time, and has to come
 * after it; before_reuse: the same with the reuse. */
static bool parts(window *this, unsigned level, bool after_use, bool before_reuse)
{
    const fm_reference *reference = this->touch->reference;
    uint32_t position = reference->position[level];
    if (after_use) {
        if (position < this->from->reference->position[level]) return true;
        if (position > this->from->reference->position[level]) after_use = false;
    }
    if (before_reuse) {
        if (position > this->to->reference->position[level]) return true;
        if (position < this->to->reference->position[level]) before_reuse = false;
    }
    if (level == reference->depth) {
        if (after_use && this->touch->reference->order <= this->from->reference->order) return true;
        if (before_reuse && this->touch->reference->order >= this->to->reference->order) return true;
        return emit(this, NULL, NULL);
    }
    if (!after_use && !before_reuse) return emit(this, NULL, NULL);
    fm_line above = {{0}}, below = {{0}};
    if (after_use) above = difference(this, level, true, 1);
    if (before_reuse) {
        below = difference(this, level, false, 0);
        for (unsigned i = 0; i < FM_COLUMNS; i++) below.at[i] = -below.at[i];
        below.at[FM_CONSTANT] -= 1;
    }
    if (after_use && before_reuse) {
        if (this->reuse->apart != FM_APART_LOOP || level != this->reuse->level)
            return parts_equal(this, level, false, true, true);
        return emit(this, &above, &below) && parts_equal(this, level, true, true, false) &&
               parts_equal(this, level, false, false, true);
    }
    if (after_use) return emit(this, &above, NULL) && parts_equal(this, level, true, true, false);
    return emit(this, NULL, &below) && parts_equal(this, level, false, false, true);
}

/* The quotients of the reuse's domain were kept variables while counting: now they are quotients again. */
static bool restore_floors(fm_isl_work *work, const fm_system *domain, fm_counter_piece *piece)
{
    fm_system *system = &piece->domain, joined;
    if (!domain->extra) return true;
    if (!fm_system_copy(work, &joined, domain)) return false;
    fm_floor *floors = realloc(joined.floors, (domain->extra + system->extra) * sizeof *floors);
    if (!floors) {
        fm_system_clear(&joined);
        return fm_isl_no_memory(work);
    }
    if (system->extra) memcpy(floors + domain->extra, system->floors, system->extra * sizeof *floors);
    joined.floors = NULL;
    fm_system_clear(&joined);
    free(system->floors);
    system->floors = floors;
    system->floor_capacity = domain->extra + system->extra;
    system->kept = domain->kept;
    system->extra += domain->extra;
    return true;
}

bool fm_between_count(fm_isl_work *work, const fm_touches *touches, const fm_isl_reuse *reuse,
                      fm_pieces *pieces)
{
    window this = {
        .work = work,
        .reuse = reuse,
        .from = &touches->touches[reuse->use],
        .to = &touches->touches[reuse->reuse],
        .known = fm_system_columns(&reuse->domain),
    };
    bool done = true;
    size_t before = pieces->count;
    for (size_t array = 0; array < touches->array_count && done; array++) {
        if (!touches->axes[array]) continue;
        this.axes = touches->axes[array];
        this.blocks = isl_set_empty(isl_space_set_alloc(work->ctx, 0, this.known + this.axes));
        for (size_t i = 0; i < touches->count && done; i++) {
            this.touch = &touches->touches[i];
            if (this.touch->reference->array != array) continue;
            done = fm_isl_alive(work) && begin_system(&this) && parts(&this, 0, true, true);
            fm_system_clear(&this.system);
        }
        if (done)
            done = fm_count_set(work, this.blocks, this.known, pieces);
        else
            isl_set_free(this.blocks);
    }
    for (size_t i = before; i < pieces->count && done; i++)
        done = restore_floors(work, &reuse->domain, &pieces->pieces[i]);
    return done;
}

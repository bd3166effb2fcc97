/* SPDX-License-Identifier: Apache-2.0 */
/*
 * isl_reuses.c - the access that used a block before, and the blocks that are touched in between
 * (counter_touches.h).
 */
#include "static/counter/counter_touches.h"

#include "base/memory.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>
#include <stdlib.h>
#include <string.h>

/* ---- the access before ---- */

/*
 * Looked for from the inside out: first in the same statement, then in what comes before it in the same
 * iteration, then in earlier iterations of the innermost loop, and so on. What is found in one step (isl's
 * lexicographic maximum over the time of all candidates) is not looked for in the next.
 */

typedef struct search {
    fm_isl_work *work;
    const fm_touches *touches;
    size_t reuse;
    const fm_touch *touch;
    fm_apart apart;
    unsigned level;
    bool just_before;  /* FM_APART_LOOP: in the iteration before this one; false: in earlier ones */
    uint32_t position; /* of the candidates, before the loop or, just_before, in it */
    unsigned deepest;  /* of all candidates */
    fm_isl_reuses *reuses;
} search;

void fm_isl_reuses_clear(fm_isl_reuses *reuses)
{
    for (size_t i = 0; i < reuses->count; i++) fm_system_clear(&reuses->reuses[i].domain);
    free(reuses->reuses);
    isl_set_free(reuses->cold);
    memset(reuses, 0, sizeof *reuses);
}

static bool is_candidate(const search *this, const fm_touch *other)
{
    const fm_reference *a = this->touch->reference, *b = other->reference;
    if (a->array != b->array || b->depth < this->level) return false;
    for (unsigned i = 0; i < this->level; i++)
        if (a->position[i] != b->position[i]) return false;
    switch (this->apart) {
    case FM_APART_ORDER:
        return b->depth == a->depth && a->position[a->depth] == b->position[a->depth] &&
               other->reference->order < this->touch->reference->order;
    case FM_APART_POSITION:
        return b->position[this->level] == this->position;
    case FM_APART_LOOP:
        break;
    }
    return b->depth > this->level && a->position[this->level] == b->position[this->level] &&
           (!this->just_before || b->position[this->level + 1] == this->position);
}

/* The first loop whose variable the candidates have for themselves; outer ones are the same as ours. */
static unsigned first_own(const search *this)
{
    return this->level;
}

/*
 * Columns of the time of a candidate: its own variables and the positions between them, then its order.
 * Variable i is column 2 * (i - first), the position behind it the next one.
 */
static unsigned time_columns(const search *this)
{
    return 2 * (this->deepest - first_own(this)) + 1;
}

static bool add_equality(fm_isl_work *work, fm_system *system, unsigned column, int64_t number)
{
    fm_line *line = fm_lines_add(work, &system->equalities);
    if (!line) return false;
    line->at[column] = 1;
    line->at[FM_CONSTANT] = -number;
    return true;
}

/* The lines of a touch with its columns moved: variable i to columns[i], then the coordinates to `block`. */
static bool add_lines(fm_isl_work *work, fm_counter_lines *target, const fm_counter_lines *lines,
                      const fm_touch *touch, const unsigned *columns, unsigned block)
{
    unsigned depth = touch->reference->depth;
    for (size_t i = 0; i < lines->count; i++) {
        fm_line *line = fm_lines_add(work, target);
        if (!line) return false;
        for (unsigned j = 0; j < touch->system.kept; j++)
            line->at[j < depth ? columns[j] : block + j - depth] += lines->lines[i].at[j];
        line->at[FM_CONSTANT] = lines->lines[i].at[FM_CONSTANT];
    }
    return true;
}

static bool add_touch(fm_isl_work *work, fm_system *system, const fm_touch *touch, const unsigned *columns,
                      unsigned block)
{
    return add_lines(work, &system->equalities, &touch->system.equalities, touch, columns, block) &&
           add_lines(work, &system->inequalities, &touch->system.inequalities, touch, columns, block);
}

/* Points of ours and times of a candidate that touches the same block earlier. */
static isl_map *candidate_times(const search *this, const fm_touch *other)
{
    fm_isl_work *work = this->work;
    unsigned depth = this->touch->reference->depth, first = first_own(this), times = time_columns(this);
    unsigned axes = this->touches->axes[this->touch->reference->array], mine[FM_REFERENCE_DEPTH];
    unsigned theirs[FM_REFERENCE_DEPTH];
    fm_system system = {.kept = depth + times + axes};
    if (system.kept >= FM_CONSTANT) {
        fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: loops too deep");
        return NULL;
    }
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++) {
        mine[i] = i;
        theirs[i] = i < first ? i : depth + 2 * (i - first);
    }
    bool done = add_touch(work, &system, this->touch, mine, depth + times) &&
                add_touch(work, &system, other, theirs, depth + times);
    const fm_reference *reference = other->reference;
    for (unsigned i = first; i < this->deepest && done; i++) {
        unsigned column = depth + 2 * (i - first);
        if (i >= reference->depth) done = add_equality(work, &system, column, 0);
        done = done && add_equality(work, &system, column + 1,
                                    i + 1 <= reference->depth ? reference->position[i + 1] : 0);
    }
    done = done && add_equality(work, &system, depth + times - 1, (int64_t)other->reference->order);
    if (done && this->apart == FM_APART_LOOP) {
        fm_line *line = fm_lines_add(work, this->just_before ? &system.equalities : &system.inequalities);
        done = line != NULL;
        if (done) {
            line->at[this->level] = 1;
            line->at[depth] = -1;
            line->at[FM_CONSTANT] = this->just_before ? -1 : -2;
        }
    }
    isl_basic_map *map = done ? fm_system_to_isl_map(work, &system, depth) : NULL;
    fm_system_clear(&system);
    map = isl_basic_map_project_out(map, isl_dim_out, times, axes);
    return isl_map_from_basic_map(map);
}

/* Is a part of the time this number? */
static bool is_number(isl_multi_aff *times, unsigned index, int64_t number)
{
    isl_aff *aff = isl_multi_aff_get_at(times, (int)index);
    isl_val *value = isl_aff_is_cst(aff) == isl_bool_true ? isl_aff_get_constant_val(aff) : NULL;
    bool same = value && isl_val_cmp_si(value, number) == 0;
    isl_val_free(value);
    isl_aff_free(aff);
    return same;
}

/* Where a part of the time is this number. */
static isl_set *where_number(isl_set *domain, isl_multi_aff *times, unsigned index, int64_t number)
{
    isl_aff *aff = isl_multi_aff_get_at(times, (int)index);
    aff = isl_aff_add_constant_val(aff, isl_val_int_from_si(isl_set_get_ctx(domain), -number));
    return isl_set_intersect(domain, isl_set_from_basic_set(isl_aff_zero_basic_set(aff)));
}

/* The points at which the last time is this candidate's: by its positions and order. */
static isl_set *where_use(const search *this, isl_set *domain, isl_multi_aff *last, const fm_reference *use)
{
    unsigned first = first_own(this), times = time_columns(this);
    for (unsigned i = first; i <= this->deepest; i++) {
        unsigned index = i < this->deepest ? 2 * (i - first) + 1 : times - 1;
        int64_t number = i == this->deepest ? use->order : i + 1 <= use->depth ? use->position[i + 1] : 0;
        if (!is_number(last, index, number)) domain = where_number(domain, last, index, number);
    }
    return domain;
}

/* Have two candidates the same positions and order? */
static bool same_time(const search *this, const fm_reference *a, const fm_reference *b)
{
    if (a->order != b->order || a->depth != b->depth) return false;
    for (unsigned i = this->level; i <= a->depth; i++)
        if (a->position[i] != b->position[i]) return false;
    return true;
}

typedef struct found_last {
    struct search *search;
    isl_multi_aff *last;
    size_t use;
} found_last;

static isl_stat take_domain(isl_basic_set *set, void *context)
{
    const found_last *this = context;
    const struct search *job = this->search;
    fm_isl_work *work = job->work;
    fm_isl_reuses *reuses = job->reuses;
    unsigned first = first_own(job);
    if (fm_array_reserve((void **)&reuses->reuses, &reuses->capacity, reuses->count + 1,
                         sizeof *reuses->reuses)) {
        fm_isl_no_memory(work);
        isl_basic_set_free(set);
        return isl_stat_error;
    }
    fm_isl_reuse *reuse = &reuses->reuses[reuses->count];
    memset(reuse, 0, sizeof *reuse);
    reuse->use = this->use;
    reuse->reuse = job->reuse;
    reuse->apart = job->apart;
    reuse->level = job->level;
    if (!fm_system_from_isl(work, &reuse->domain, set, job->touch->reference->depth)) return isl_stat_error;
    reuses->count++;
    bool done = true;
    for (unsigned i = 0; i < job->touch->reference->depth; i++) reuse->to[i].at[i] = 1;
    for (unsigned i = 0; i < job->touches->touches[this->use].reference->depth && done; i++) {
        if (i < first)
            reuse->from[i].at[i] = 1;
        else
            done =
                fm_system_value_of(work, &reuse->domain,
                                   isl_multi_aff_get_at(this->last, (int)(2 * (i - first))), &reuse->from[i]);
    }
    return done ? isl_stat_ok : isl_stat_error;
}

static isl_stat take_piece(isl_set *domain, isl_multi_aff *last, void *context)
{
    found_last this = {.search = context, .last = last};
    const fm_touches *touches = this.search->touches;
    isl_stat stat = isl_stat_ok;
    for (this.use = 0; this.use < touches->count && stat == isl_stat_ok; this.use++) {
        const fm_touch *other = &touches->touches[this.use];
        bool first = is_candidate(this.search, other);
        for (size_t i = 0; i < this.use && first;
             i++) /* others that have the same time are the same access */
            first = !is_candidate(this.search, &touches->touches[i]) ||
                    !same_time(this.search, touches->touches[i].reference, other->reference);
        if (!first) continue;
        isl_set *part = where_use(this.search, isl_set_copy(domain), last, other->reference);
        if (isl_set_plain_is_empty(part) == isl_bool_false) {
            part = isl_set_compute_divs(isl_set_make_disjoint(isl_set_compute_divs(part)));
            stat = isl_set_foreach_basic_set(part, take_domain, &this);
        }
        if (!part) stat = isl_stat_error;
        isl_set_free(part);
    }
    isl_set_free(domain);
    isl_multi_aff_free(last);
    return stat;
}

/* One step: candidates that are apart in one way. */
static bool look_for_previous(search *this)
{
    fm_isl_work *work = this->work;
    const fm_touches *touches = this->touches;
    isl_map *times = NULL;
    if (isl_set_plain_is_empty(this->reuses->cold) == isl_bool_true) return true; /* all are found */
    this->deepest = this->level;
    for (size_t i = 0; i < touches->count; i++) {
        const fm_touch *other = &touches->touches[i];
        if (is_candidate(this, other) && other->reference->depth > this->deepest)
            this->deepest = other->reference->depth;
    }
    for (size_t i = 0; i < touches->count; i++) {
        const fm_touch *other = &touches->touches[i];
        if (!is_candidate(this, other)) continue;
        isl_map *map = candidate_times(this, other);
        times = times ? isl_map_union(times, map) : map;
        if (!times) return fm_isl_gave_up(work);
    }
    if (!times) return true;
    isl_set *rest = NULL;
    isl_map *last = isl_map_partial_lexmax(times, this->reuses->cold, &rest);
    this->reuses->cold = rest = isl_set_coalesce(rest);
    isl_pw_multi_aff *pieces = isl_pw_multi_aff_from_map(last);
    isl_stat stat = isl_pw_multi_aff_foreach_piece(pieces, take_piece, this);
    isl_pw_multi_aff_free(pieces);
    return (stat == isl_stat_ok && rest) || fm_isl_gave_up(work);
}

/* The largest position below *position that a candidate has. */
static bool next_position(search *this, uint32_t below, uint32_t *position)
{
    const unsigned level = this->level + (this->apart == FM_APART_LOOP);
    bool any = false;
    for (size_t i = 0; i < this->touches->count; i++) {
        const fm_touch *other = &this->touches->touches[i];
        if (other->reference->depth < level) continue;
        this->position = other->reference->position[level];
        if (this->position >= below || !is_candidate(this, other)) continue;
        if (any && this->position <= *position) continue;
        *position = this->position;
        any = true;
    }
    this->position = *position;
    return any;
}

/* Everything at this level, the last positions first: what they touch, earlier ones need not be asked for. */
static bool look_by_position(search *this, uint32_t below)
{
    bool done = true;
    while (done && next_position(this, below, &below))
        done = fm_isl_alive(this->work) && look_for_previous(this);
    return done;
}

static isl_set *domain_of(fm_isl_work *work, const fm_touch *touch)
{
    unsigned depth = touch->reference->depth, axes = touch->system.kept - depth;
    isl_basic_set *set = fm_system_to_isl(work, &touch->system, NULL);
    set = isl_basic_set_project_out(set, isl_dim_set, depth, axes);
    return isl_basic_set_compute_divs(set);
}

bool fm_isl_reuses_find(fm_isl_work *work, fm_isl_reuses *reuses, const fm_touches *touches, size_t reuse)
{
    const fm_touch *touch = &touches->touches[reuse];
    const fm_reference *reference = touch->reference;
    memset(reuses, 0, sizeof *reuses);
    reuses->cold = domain_of(work, touch);
    search this = {.work = work, .touches = touches, .reuse = reuse, .touch = touch, .reuses = reuses};
    bool done = reuses->cold != NULL || fm_isl_gave_up(work);
    this.apart = FM_APART_ORDER;
    this.level = reference->depth;
    done = done && look_for_previous(&this);
    for (unsigned level = reference->depth + 1; level-- > 0 && done;) {
        this.level = level;
        this.apart = FM_APART_POSITION;
        this.just_before = false;
        done = look_by_position(&this, reference->position[level]);
        if (level == 0 || !done) break;
        this.level = level - 1;
        this.apart = FM_APART_LOOP;
        this.just_before = true;
        done = look_by_position(&this, UINT32_MAX);
        this.just_before = false;
        done = done && fm_isl_alive(work) && look_for_previous(&this);
    }
    if (!done) fm_isl_reuses_clear(reuses);
    return done;
}

/* ---- the blocks between ---- */

/*
 * What a reference touches between two points of time is a union of parts: the same iteration as the use of
 * some outer loops and a later one of the next, an iteration between the two, the same iteration as the
 * reuse of some outer loops and an earlier one of the next.
 */

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
static fm_line window_difference(const window *this, unsigned level, bool to_use, int64_t more)
{
    const fm_line *point = to_use ? &this->reuse->from[level] : &this->reuse->to[level];
    fm_line line;
    for (unsigned i = 0; i < FM_COLUMNS; i++) line.at[i] = -point->at[i];
    line.at[this->known + this->axes + level] = 1;
    line.at[FM_CONSTANT] -= more;
    return line;
}

/* The part as it is now, with up to two conditions more: its blocks. */
static bool emit_part(window *this, const fm_line *above, const fm_line *below)
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

static bool find_parts(window *this, unsigned level, bool after_use, bool before_reuse);

/* Parts in which the variable of the level is the use's (or the reuse's). */
static bool parts_equal(window *this, unsigned level, bool to_use, bool after_use, bool before_reuse)
{
    size_t count = this->system.equalities.count;
    fm_line *line = fm_lines_add(this->work, &this->system.equalities);
    if (!line) return false;
    *line = window_difference(this, level, to_use, 0);
    bool done = find_parts(this, level + 1, after_use, before_reuse);
    this->system.equalities.count = count;
    return done;
}

/* Everything of the touch from this level on. after_use: so far it is at the use's time, and has to come
 * after it; before_reuse: the same with the reuse. */
static bool find_parts(window *this, unsigned level, bool after_use, bool before_reuse)
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
        return emit_part(this, NULL, NULL);
    }
    if (!after_use && !before_reuse) return emit_part(this, NULL, NULL);
    fm_line above = {{0}}, below = {{0}};
    if (after_use) above = window_difference(this, level, true, 1);
    if (before_reuse) {
        below = window_difference(this, level, false, 0);
        for (unsigned i = 0; i < FM_COLUMNS; i++) below.at[i] = -below.at[i];
        below.at[FM_CONSTANT] -= 1;
    }
    if (after_use && before_reuse) {
        if (this->reuse->apart != FM_APART_LOOP || level != this->reuse->level)
            return parts_equal(this, level, false, true, true);
        return emit_part(this, &above, &below) && parts_equal(this, level, true, true, false) &&
               parts_equal(this, level, false, false, true);
    }
    if (after_use) return emit_part(this, &above, NULL) && parts_equal(this, level, true, true, false);
    return emit_part(this, NULL, &below) && parts_equal(this, level, false, false, true);
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
            done = fm_isl_alive(work) && begin_system(&this) && find_parts(&this, 0, true, true);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* open_touches.c - see open_touches.h. */
#include "static/symbolic/open_touches.h"

#include "base/memory.h"
#include "static/polyhedra/affine.h"

#include <stdlib.h>
#include <string.h>

typedef struct laying {
    fm_isl_work *work;
    fm_touches *touches;
    const fm_open_references *open;
    const fm_reference *reference;
    size_t index;
    const fm_region_array *array;
    int64_t elements;                   /* of a block */
    fm_row extents[FM_MOST_DIMENSIONS]; /* by place, from the outermost dimension */
    bool bounded[FM_MOST_DIMENSIONS];   /* is there an extent? */
    fm_row subscripts[FM_MOST_DIMENSIONS];
    int64_t together[FM_MOST_DIMENSIONS]; /* rows at this place that are whole blocks */
} laying;

static fm_line to_line(const fm_row *row, unsigned depth)
{
    fm_line line = {{0}};
    memcpy(line.at, row->factors, depth * sizeof line.at[0]);
    line.at[FM_CONSTANT] = row->constant;
    return line;
}

static bool add_line(fm_isl_work *work, fm_counter_lines *lines, const fm_line *line)
{
    fm_line *added = fm_lines_add(work, lines);
    if (added) *added = *line;
    return added != NULL;
}

/* A new coordinate: by * coordinate = line - remainder; or, where it is rounded, line / by rounded down. */
static bool add_coordinate(fm_isl_work *work, fm_system *system, const fm_line *line, int64_t by,
                           bool rounded)
{
    const unsigned column = system->kept;
    if (!fm_system_insert_column(work, system, column)) return false;
    system->kept++;
    fm_line low = *line, high = {{0}};
    low.at[column] = -by;
    if (!rounded) return add_line(work, &system->equalities, &low);
    for (unsigned i = 0; i < FM_COLUMNS; i++) high.at[i] = -low.at[i];
    high.at[FM_CONSTANT] += by - 1;
    return add_line(work, &system->inequalities, &low) && add_line(work, &system->inequalities, &high);
}

static bool unsupported(const laying *this, const char *why)
{
    return fm_isl_fail(this->work, FM_E_UNSUPPORTED, "%.60s: %s: there is no formula", this->array->name,
                       why);
}

/* Subscripts, extents, and how many rows are whole blocks. */
static bool describe_array(laying *this)
{
    const fm_open_references *open = this->open;
    const unsigned count = this->array->dimensions;
    int64_t size = 1; /* of what one step at the place skips, modulo a block */
    for (unsigned place = count; place-- > 0;) {
        const unsigned d = this->array->column_major ? count - 1 - place : place;
        this->subscripts[place] = open->subscripts[this->index * FM_MOST_DIMENSIONS + d];
        if (this->array->lows && !fm_affine_add_constant(&this->subscripts[place], -this->array->lows[d]))
            return unsupported(this, "numbers beyond 2^62");
        this->together[place] = this->elements / fm_greatest_divisor(this->elements, size);
        if (place == count - 1 || open->layout == FM_LAYOUT_ALIGNED) this->together[place] = 1;
        this->bounded[place] =
            this->array->extents[d] && fm_open_form(open, this->array->extents[d], &this->extents[place]);
        if (place == 0) break;
        if (!this->bounded[place]) return unsupported(this, "the length of its rows is no sum of parameters");
        for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++)
            if (open->layout != FM_LAYOUT_ALIGNED && this->extents[place].factors[i] % this->elements)
                return unsupported(this, "the remainder of its rows is not known");
        size = size * (this->extents[place].constant % this->elements) % this->elements;
    }
    return true;
}

/* Are there points with a subscript below 0 (side 0), or at least as large as the extent (side 1)? */
static fm_emptiness outside(const laying *this, const fm_system *domain, unsigned place, int side)
{
    fm_row row = {0};
    bool fits = fm_affine_add(&row, &this->subscripts[place], side ? 1 : -1) &&
                (side ? fm_affine_add(&row, &this->extents[place], -1) : fm_affine_add_constant(&row, -1));
    if (!fits) {
        unsupported(this, "numbers beyond 2^62");
        return FM_EMPTINESS_FAILED;
    }
    const fm_line line = to_line(&row, this->reference->depth);
    return fm_system_emptiness(this->work, domain, &line);
}

/* Front ends may write A[m - 1][m - 1] as A[m][-1], which is the same place: a row is moved over. */
static bool move_row(laying *this, unsigned place, int64_t rows)
{
    return place > 0 && fm_affine_add(&this->subscripts[place], &this->extents[place], -rows) &&
           fm_affine_add_constant(&this->subscripts[place - 1], rows);
}

/* Nothing leaves its row: otherwise one block would have several coordinates. */
static bool check_rows(laying *this, const fm_system *domain)
{
    for (unsigned place = this->array->dimensions; place-- > 0;) {
        if (!this->bounded[place]) continue;
        for (int side = 0; side < 2; side++) {
            fm_emptiness emptiness = outside(this, domain, place, side);
            if (emptiness == FM_NOT_EMPTY && move_row(this, place, side ? 1 : -1)) {
                emptiness = outside(this, domain, place, 0);
                if (emptiness == FM_EMPTY) emptiness = outside(this, domain, place, 1);
            }
            if (emptiness == FM_EMPTINESS_FAILED) return false;
            if (emptiness == FM_NOT_EMPTY) return unsupported(this, "a subscript leaves its range");
        }
    }
    return true;
}

/* The coordinates from this place on; before: the remainder of the rows of the place before. Takes system. */
static bool lay(laying *this, fm_system *system, unsigned place, int64_t before)
{
    fm_isl_work *work = this->work;
    const unsigned depth = this->reference->depth, count = this->array->dimensions;
    fm_row index = this->subscripts[place];
    bool done = place == 0 || fm_affine_add(&index, &this->extents[place], before);
    if (!done) unsupported(this, "numbers beyond 2^62");
    fm_line line = to_line(&index, depth);
    if (done && place == count - 1) {
        fm_touches *touches = this->touches;
        done = add_coordinate(work, system, &line, this->elements, true);
        fm_emptiness emptiness = done ? fm_system_emptiness(work, system, NULL) : FM_EMPTINESS_FAILED;
        done = emptiness != FM_EMPTINESS_FAILED;
        if (done && emptiness == FM_NOT_EMPTY) {
            if (fm_array_reserve((void **)&touches->touches, &touches->capacity, touches->count + 1,
                                 sizeof *touches->touches))
                done = fm_isl_no_memory(work);
            else {
                touches->touches[touches->count++] =
                    (fm_touch){.reference = this->reference, .index = this->index, .system = *system};
                memset(system, 0, sizeof *system);
            }
        }
        fm_system_clear(system);
        return done;
    }
    for (int64_t remainder = 0; remainder < this->together[place] && done; remainder++) {
        fm_system part;
        fm_line rest = line;
        rest.at[FM_CONSTANT] -= remainder;
        done = fm_system_copy(work, &part, system);
        if (!done) break;
        if (add_coordinate(work, &part, &rest, this->together[place], false))
            done = lay(this, &part, place + 1, remainder);
        else
            done = false;
        fm_system_clear(&part);
    }
    fm_system_clear(system);
    return done;
}

static bool touches_of(laying *this)
{
    fm_isl_work *work = this->work;
    const fm_reference *reference = this->reference;
    fm_system system = {.kept = reference->depth};
    bool done = true;
    for (size_t i = 0; i < reference->row_count && done; i++) {
        const fm_line line = to_line(&reference->rows[i], reference->depth);
        done = add_line(work, &system.inequalities, &line);
    }
    fm_emptiness emptiness = done ? fm_system_emptiness(work, &system, NULL) : FM_EMPTINESS_FAILED;
    if (emptiness == FM_NOT_EMPTY && describe_array(this) && check_rows(this, &system)) {
        const unsigned parameters = this->open->class->count;
        for (unsigned i = 0; i < parameters && done; i++) {
            fm_line line = {{0}};
            line.at[i] = 1;
            done = add_coordinate(work, &system, &line, 1, false);
        }
        this->touches->axes[reference->array] =
            parameters + (this->array->dimensions ? this->array->dimensions : 1);
        if (done && this->array->dimensions == 0) { /* one element */
            this->array = &(fm_region_array){.name = this->array->name, .dimensions = 1};
            this->subscripts[0] = (fm_row){0};
        }
        return done && lay(this, &system, 0, 0);
    }
    fm_system_clear(&system);
    return emptiness == FM_EMPTY;
}

bool fm_open_touches_create(fm_isl_work *work, fm_touches *touches, const fm_open_references *open)
{
    memset(touches, 0, sizeof *touches);
    touches->array_count = open->region->array_count;
    touches->axes = fm_calloc(touches->array_count + 1, sizeof *touches->axes);
    bool done = touches->axes || fm_isl_no_memory(work);
    for (size_t i = 0; i < open->list.count && done; i++) {
        const fm_reference *reference = &open->list.references[i];
        const fm_region_array *array = &open->region->arrays[reference->array];
        laying this = {
            .work = work,
            .touches = touches,
            .open = open,
            .reference = reference,
            .index = i,
            .array = array,
            .elements = (int64_t)(open->granularity / array->element),
        };
        done = touches_of(&this);
    }
    if (!done) fm_touches_clear(touches);
    return done;
}

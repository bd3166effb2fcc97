/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_region.c - the references of a region with open parameters, and the blocks that they touch
 * (symbolic.h).
 */
#include "static/symbolic/symbolic.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- references ---- */

/*
 * A copy of the region gets a loop for every open parameter, and is then lowered (lower.c) once for each
 * dimension, in memory in which only this dimension counts.
 */

static const int64_t FAR = (int64_t)1 << 61;

/* ---- which parameters ---- */

static bool uses_parameter(const fm_expr *expression, uint32_t parameter)
{
    if (!expression) return false;
    if (expression->kind == FM_EXPR_PARAMETER) return expression->index == parameter;
    return uses_parameter(expression->left, parameter) || uses_parameter(expression->right, parameter);
}

/* The dimension that is so many-th from the outermost one in memory. */
static unsigned from_outside(const fm_region_array *array, unsigned place)
{
    return array->column_major ? array->dimensions - 1 - place : place;
}

static fm_status check_array(const fm_region *region, const fm_region_array *array, uint64_t granularity,
                             fm_error *error)
{
    if (array->offset % granularity)
        return fm_region_fail(error, FM_E_UNSUPPORTED, region, &array->place,
                              "'%.60s' does not begin with a block: there is no formula", array->name);
    if (array->element && granularity % array->element == 0) return FM_OK;
    return fm_region_fail(error, FM_E_UNSUPPORTED, region, &array->place,
                          "elements of '%.60s' (%llu bytes) can cross borders of blocks: there is no formula",
                          array->name, (unsigned long long)array->element);
}

/* Accesses that reach over the elements behind theirs may cross a border. */
static fm_status check_members(const fm_region *region, const fm_region_node *node, fm_error *error)
{
    fm_status status = FM_OK;
    for (; node && status == FM_OK; node = node->next) {
        for (size_t i = 0; i < node->access_count && status == FM_OK; i++) {
            const fm_region_access *access = &node->accesses[i];
            const fm_region_array *array = &region->arrays[access->array];
            if (fm_access_reach(array, access) > array->element)
                status = fm_region_fail(
                    error, FM_E_UNSUPPORTED, region, &access->place,
                    "%s is part of a struct whose parts have several sizes: there is no formula",
                    access->text ? access->text : array->name);
        }
        if (status == FM_OK) status = check_members(region, node->body, error);
        if (status == FM_OK) status = check_members(region, node->otherwise, error);
    }
    return status;
}

fm_status fm_open_class_find(fm_open_class *class, const fm_region *region, uint64_t granularity,
                             fm_layout layout, fm_error *error)
{
    *class = (fm_open_class){0};
    fm_status status = check_members(region, region->body, error);
    if (status != FM_OK) return status;
    for (uint32_t i = 0; i < region->parameter_count; i++) {
        if (region->parameters[i].has_value) continue;
        if (class->count == FM_OPEN_MOST)
            return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                           "more than %d parameters without a value: there are no formulas", FM_OPEN_MOST);
        class->parameters[class->count++] = (fm_open_parameter){.parameter = i, .modulus = 1};
    }
    for (size_t i = 0; i < region->array_count; i++) {
        const fm_region_array *array = &region->arrays[i];
        status = check_array(region, array, granularity, error);
        if (status != FM_OK) return status;
        int64_t elements = (int64_t)(granularity / array->element);
        for (unsigned place = 1; place < array->dimensions && layout == FM_LAYOUT_CONTIGUOUS; place++)
            for (unsigned k = 0; k < class->count; k++) {
                fm_open_parameter *one = &class->parameters[k];
                if (uses_parameter(array->extents[from_outside(array, place)], one->parameter) &&
                    one->modulus < elements)
                    one->modulus = elements;
            }
    }
    return FM_OK;
}

/* ---- the copy ---- */

typedef struct opening {
    fm_region *copy;
    const fm_open_class *class;
    uint32_t first_variable;
    bool failed;
} opening;

/* modulus * variable + remainder, in place of the parameter. */
static void open_expression(opening *this, const fm_expr *expression)
{
    if (!expression) return;
    fm_arena *arena = this->copy->arena;
    for (unsigned i = 0; expression->kind == FM_EXPR_PARAMETER && i < this->class->count; i++) {
        const fm_open_parameter *one = &this->class->parameters[i];
        if (expression->index != one->parameter) continue;
        const fm_expr *made = fm_expr_add(
            arena, fm_expr_scale(arena, one->modulus, fm_expr_variable(arena, this->first_variable + i)),
            fm_expr_number(arena, one->remainder));
        if (made)
            *(fm_expr *)(uintptr_t)expression = *made; /* the copy's own */
        else
            this->failed = true;
        return;
    }
    open_expression(this, expression->left);
    open_expression(this, expression->right);
}

static void open_condition(opening *this, const fm_condition *condition)
{
    if (!condition) return;
    open_expression(this, condition->expression);
    open_condition(this, condition->left);
    open_condition(this, condition->right);
}

/* Every access touches the one byte of its element. */
static void open_nodes(opening *this, fm_region_node *node)
{
    for (; node; node = node->next) {
        open_expression(this, node->first);
        open_expression(this, node->last);
        open_condition(this, node->condition);
        for (size_t i = 0; i < node->access_count; i++) {
            fm_region_access *access = &node->accesses[i];
            access->member_offset = 0;
            access->member_bytes = 1;
            for (unsigned d = 0; d < this->copy->arrays[access->array].dimensions; d++)
                open_expression(this, access->subscripts[d]);
        }
        open_nodes(this, node->body);
        open_nodes(this, node->otherwise);
    }
}

/* A loop around everything for each parameter. */
static bool wrap_loops(opening *this)
{
    fm_region *copy = this->copy;
    const size_t count = copy->variable_count + this->class->count;
    const char **names = fm_arena_allocate(copy->arena, count + 1, sizeof *names);
    if (!names) return false;
    memcpy(names, copy->variables, copy->variable_count * sizeof *names);
    for (unsigned i = this->class->count; i-- > 0;) {
        const fm_open_parameter *one = &this->class->parameters[i];
        fm_region_node *loop = fm_arena_allocate(copy->arena, 1, sizeof *loop);
        if (!loop) return false;
        names[this->first_variable + i] = copy->parameters[one->parameter].name;
        loop->kind = FM_NODE_LOOP;
        loop->variable = this->first_variable + i;
        loop->first =
            fm_expr_number(copy->arena, -fm_floor_divide(one->remainder - one->least, one->modulus));
        loop->last = fm_expr_number(copy->arena, FM_OPEN_LARGEST / one->modulus);
        loop->step = 1;
        loop->body = copy->body;
        copy->body = loop;
        if (!loop->first || !loop->last) return false;
    }
    copy->variables = names;
    copy->variable_count = count;
    return true;
}

/* One access to the last array for every statement. */
static bool replace_accesses(fm_region *copy, fm_region_node *node)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_STATEMENT) {
            node->accesses = fm_arena_allocate(copy->arena, 1, sizeof *node->accesses);
            if (!node->accesses) return false;
            node->accesses[0] =
                (fm_region_access){.array = (uint32_t)copy->array_count - 1, .member_bytes = 1};
            node->access_count = 1;
            node->first_access = node->statement;
        }
        if (!replace_accesses(copy, node->body) || !replace_accesses(copy, node->otherwise)) return false;
    }
    return true;
}

static bool add_scalar(fm_region *copy)
{
    fm_region_array *arrays = fm_arena_allocate(copy->arena, copy->array_count + 1, sizeof *arrays);
    if (!arrays) return false;
    memcpy(arrays, copy->arrays, copy->array_count * sizeof *arrays);
    arrays[copy->array_count++] = (fm_region_array){.name = "statement", .element = 1};
    copy->arrays = arrays;
    return true;
}

/* A statement more, the last in number, that is executed where all assumptions of the region hold. */
static bool add_assumptions(opening *this, fm_region *copy)
{
    fm_region_node *node = fm_arena_allocate(copy->arena, 1, sizeof *node);
    if (!node) return false;
    *node = (fm_region_node){.kind = FM_NODE_STATEMENT, .statement = copy->statement_count};
    for (size_t i = 0; i < copy->assumption_count; i++) {
        fm_region_node *guard = fm_arena_allocate(copy->arena, 1, sizeof *guard);
        if (!guard) return false;
        open_condition(this, copy->assumptions[i]);
        *guard = (fm_region_node){.kind = FM_NODE_IF, .condition = copy->assumptions[i], .body = node};
        node = guard;
    }
    node->next = copy->body;
    copy->body = node;
    return !this->failed;
}

/* A copy of the region with loops for its parameters; executions: only these are of interest. */
static fm_status open_copy(fm_region **copy, const fm_region *region, const fm_open_class *class,
                           bool executions, fm_error *error)
{
    fm_status status = fm_region_copy(copy, region, error);
    if (status != FM_OK) return status;
    opening this = {.copy = *copy, .class = class, .first_variable = (uint32_t)region->variable_count};
    open_nodes(&this, (*copy)->body);
    for (size_t i = 0; i < (*copy)->array_count; i++) (*copy)->arrays[i].element = 1;
    if (!executions ||
        (add_assumptions(&this, *copy) && add_scalar(*copy) && replace_accesses(*copy, (*copy)->body)))
        if (!this.failed && wrap_loops(&this)) return FM_OK;
    fm_region_destroy(*copy);
    *copy = NULL;
    return fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for a region");
}

/* ---- references ---- */

/* Memory in which an address is the subscript of one dimension. */
static fm_status lower_dimension(fm_reference_list *list, const fm_region *copy, unsigned dimension,
                                 fm_error *error)
{
    fm_placement placement = {.granularity = 1, .array_count = copy->array_count};
    placement.parameters = fm_calloc(copy->parameter_count + 1, sizeof *placement.parameters);
    placement.arrays = fm_calloc(copy->array_count + 1, sizeof *placement.arrays);
    fm_status status = FM_OK;
    if (!placement.parameters || !placement.arrays)
        status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for references");
    for (size_t i = 0; i < copy->parameter_count && status == FM_OK; i++)
        placement.parameters[i] = copy->parameters[i].value;
    for (size_t i = 0; i < copy->array_count && status == FM_OK; i++) {
        fm_placed_array *array = &placement.arrays[i];
        array->base = -FAR;
        array->end = FAR;
        if (dimension < copy->arrays[i].dimensions) array->strides[dimension] = 1;
    }
    if (status == FM_OK) status = fm_references_create(list, copy, &placement, error);
    free(placement.parameters);
    free(placement.arrays);
    return status;
}

static bool same_points(const fm_reference *a, const fm_reference *b)
{
    bool same = a->access == b->access && a->depth == b->depth && a->row_count == b->row_count;
    for (size_t i = 0; same && i < a->row_count; i++) same = fm_affine_equal(&a->rows[i], &b->rows[i]);
    return same;
}

static fm_status take_dimension(fm_open_references *open, const fm_region *copy, unsigned dimension,
                                fm_error *error)
{
    fm_reference_list list;
    fm_status status = lower_dimension(&list, copy, dimension, error);
    if (status != FM_OK) return status;
    bool same = list.count == open->list.count;
    for (size_t i = 0; same && i < list.count; i++) {
        same = same_points(&list.references[i], &open->list.references[i]);
        open->subscripts[i * FM_MOST_DIMENSIONS + dimension] = list.references[i].address;
    }
    fm_references_clear(&list);
    return same ? FM_OK
                : fm_fail(error, FM_E_UNSUPPORTED, NULL,
                          "subscripts with minima, maxima or quotients: there are no formulas");
}

/* The end of a parameter's loop is not needed by anybody. */
static void drop_ends(fm_reference *reference, const fm_open_class *class)
{
    for (unsigned k = 0; k < class->count; k++)
        for (size_t i = reference->row_count; i-- > 0;) {
            fm_row end = {.constant = FM_OPEN_LARGEST / class->parameters[k].modulus};
            end.factors[k] = -1;
            if (fm_affine_equal(&reference->rows[i], &end))
                reference->rows[i] = reference->rows[--reference->row_count];
        }
}

fm_status fm_open_references_create(fm_open_references *open, const fm_region *region,
                                    const fm_open_class *class, uint64_t granularity, fm_layout layout,
                                    fm_error *error)
{
    fm_region *copy;
    unsigned dimensions = 0;
    *open =
        (fm_open_references){.region = region, .class = class, .granularity = granularity, .layout = layout};
    fm_status status = open_copy(&copy, region, class, false, error);
    if (status != FM_OK) return status;
    for (size_t i = 0; i < region->array_count; i++)
        if (region->arrays[i].dimensions > dimensions) dimensions = region->arrays[i].dimensions;
    status = lower_dimension(&open->list, copy, 0, error);
    if (status == FM_OK) {
        open->subscripts = fm_calloc((open->list.count + 1) * FM_MOST_DIMENSIONS, sizeof *open->subscripts);
        if (!open->subscripts)
            status = fm_fail(error, FM_E_NOMEM, NULL, "out of memory: no room for subscripts");
    }
    for (unsigned d = 0; d < dimensions && status == FM_OK; d++)
        status = take_dimension(open, copy, d, error);
    for (size_t i = 0; i < open->list.count && status == FM_OK; i++)
        drop_ends(&open->list.references[i], class);
    fm_region_destroy(copy);
    if (status != FM_OK) fm_open_references_clear(open);
    return status;
}

fm_status fm_open_executions_create(fm_reference_list *list, const fm_region *region,
                                    const fm_open_class *class, fm_error *error)
{
    fm_region *copy;
    *list = (fm_reference_list){0};
    fm_status status = open_copy(&copy, region, class, true, error);
    if (status != FM_OK) return status;
    status = lower_dimension(list, copy, 0, error);
    for (size_t i = 0; i < list->count && status == FM_OK; i++) drop_ends(&list->references[i], class);
    fm_region_destroy(copy);
    return status;
}

void fm_open_references_clear(fm_open_references *open)
{
    fm_references_clear(&open->list);
    free(open->subscripts);
    *open = (fm_open_references){0};
}

/* The expression of parameters as a row of x; false: it is not affine, or it has a variable. */
static bool open_form(const fm_open_references *open, const fm_expr *expression, fm_row *form)
{
    const fm_region *region = open->region;
    fm_row left, right;
    *form = (fm_row){0};
    switch (expression->kind) {
    case FM_EXPR_NUMBER:
        return fm_affine_add_constant(form, expression->number);
    case FM_EXPR_PARAMETER:
        if (region->parameters[expression->index].has_value)
            return fm_affine_add_constant(form, region->parameters[expression->index].value);
        for (unsigned i = 0; i < open->class->count; i++)
            if (open->class->parameters[i].parameter == expression->index) {
                form->factors[i] = open->class->parameters[i].modulus;
                form->constant = open->class->parameters[i].remainder;
                return true;
            }
        return false;
    case FM_EXPR_ADD:
        return open_form(open, expression->left, &left) && open_form(open, expression->right, &right) &&
               fm_affine_add(form, &left, 1) && fm_affine_add(form, &right, 1);
    case FM_EXPR_MULTIPLY: {
        if (!open_form(open, expression->left, &left) || !open_form(open, expression->right, &right))
            return false;
        const fm_row zero = {.constant = left.constant}, other = {.constant = right.constant};
        if (fm_affine_equal(&left, &zero)) return fm_affine_add(form, &right, left.constant);
        return fm_affine_equal(&right, &other) && fm_affine_add(form, &left, right.constant);
    }
    default:
        return false;
    }
}

/* ---- blocks ---- */

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

static bool not_supported(const laying *this, const char *why)
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
            return not_supported(this, "numbers beyond 2^62");
        this->together[place] = this->elements / fm_greatest_divisor(this->elements, size);
        if (place == count - 1 || open->layout == FM_LAYOUT_ALIGNED) this->together[place] = 1;
        this->bounded[place] =
            this->array->extents[d] && open_form(open, this->array->extents[d], &this->extents[place]);
        if (place == 0) break;
        if (!this->bounded[place])
            return not_supported(this, "the length of its rows is no sum of parameters");
        for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++)
            if (open->layout != FM_LAYOUT_ALIGNED && this->extents[place].factors[i] % this->elements)
                return not_supported(this, "the remainder of its rows is not known");
        size = size * (this->extents[place].constant % this->elements) % this->elements;
    }
    return true;
}

/* Are there points with a subscript below 0 (side 0), or at least as large as the extent (side 1)? */
static fm_emptiness is_outside(const laying *this, const fm_system *domain, unsigned place, int side)
{
    fm_row row = {0};
    bool fits = fm_affine_add(&row, &this->subscripts[place], side ? 1 : -1) &&
                (side ? fm_affine_add(&row, &this->extents[place], -1) : fm_affine_add_constant(&row, -1));
    if (!fits) {
        not_supported(this, "numbers beyond 2^62");
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
            fm_emptiness emptiness = is_outside(this, domain, place, side);
            if (emptiness == FM_NOT_EMPTY && move_row(this, place, side ? 1 : -1)) {
                emptiness = is_outside(this, domain, place, 0);
                if (emptiness == FM_EMPTY) emptiness = is_outside(this, domain, place, 1);
            }
            if (emptiness == FM_EMPTINESS_FAILED) return false;
            if (emptiness == FM_NOT_EMPTY) return not_supported(this, "a subscript leaves its range");
        }
    }
    return true;
}

/* The coordinates from this place on; before: the remainder of the rows of the place before. Takes system. */
static bool lay_blocks(laying *this, fm_system *system, unsigned place, int64_t before)
{
    fm_isl_work *work = this->work;
    const unsigned depth = this->reference->depth, count = this->array->dimensions;
    fm_row index = this->subscripts[place];
    bool done = place == 0 || fm_affine_add(&index, &this->extents[place], before);
    if (!done) not_supported(this, "numbers beyond 2^62");
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
            done = lay_blocks(this, &part, place + 1, remainder);
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
        return done && lay_blocks(this, &system, 0, 0);
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

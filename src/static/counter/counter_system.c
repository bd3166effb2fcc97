/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counter_system.c - whole numbers under linear conditions (counter_system.h): in our own form, and as sets
 * of isl, which knows what is empty, equal or superfluous.
 */
#include "static/counter/counter_system.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "static/counter/counter.h"
#include "static/region/region.h"

#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/map.h>
#include <isl/mat.h>
#include <isl/options.h>
#include <isl/space.h>
#include <isl/val.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- isl ---- */

enum { LOOKS_PER_SECOND = 20 };

typedef struct fm_isl_watch {
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool ended;
    isl_ctx *ctx;
    double end;      /* of the time allowed; 0: none */
    uint64_t memory; /* bytes of the process that are too many; 0: no limit */
    atomic_bool late, large;
} fm_isl_watch;

/* Bytes of the process that are in memory; 0: not known. */
static uint64_t resident_memory(void)
{
    unsigned long long size, pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &size, &pages) != 2) pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void look_at_limits(fm_isl_watch *watch)
{
    if (watch->end > 0 && fm_now() >= watch->end) atomic_store(&watch->late, true);
    if (watch->memory && resident_memory() > watch->memory) atomic_store(&watch->large, true);
    /* It is made to be called from signal handlers: isl's loops look at a flag. */
    if (atomic_load(&watch->late) || atomic_load(&watch->large)) isl_ctx_abort(watch->ctx);
}

static void *watch_limits(void *argument)
{
    fm_isl_watch *watch = argument;
    pthread_mutex_lock(&watch->lock);
    while (!watch->ended) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000000000 / LOOKS_PER_SECOND;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&watch->over, &watch->lock, &until);
        if (!watch->ended) look_at_limits(watch);
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

fm_status fm_isl_work_begin(fm_isl_work *work, const fm_isl_limits *limits, fm_error *error)
{
    *work = (fm_isl_work){.status = FM_OK};
    fm_isl_watch *watch = fm_calloc(1, sizeof *watch);
    isl_ctx *ctx = watch ? isl_ctx_alloc() : NULL;
    if (!ctx) {
        free(watch);
        return fm_fail_memory(error, sizeof *watch, "isl");
    }
    isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(ctx, limits->operations);
    watch->ctx = ctx;
    watch->end = limits->seconds > 0 ? fm_now() + limits->seconds : 0;
    watch->memory = limits->memory ? resident_memory() + limits->memory : 0;
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->over, NULL);
    work->ctx = ctx;
    work->watch = watch;
    if (watch->end > 0 || watch->memory) {
        int failure = pthread_create(&watch->thread, NULL, watch_limits, watch);
        if (failure) {
            fm_isl_work_end(work, NULL);
            return fm_fail_io(error, NULL, "start a thread", failure);
        }
        watch->started = true;
    }
    return FM_OK;
}

fm_status fm_isl_work_end(fm_isl_work *work, fm_error *error)
{
    fm_isl_watch *watch = work->watch;
    if (!watch) return work->status;
    if (watch->started) {
        pthread_mutex_lock(&watch->lock);
        watch->ended = true;
        pthread_cond_signal(&watch->over);
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
    }
    isl_ctx_free(watch->ctx);
    pthread_cond_destroy(&watch->over);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
    if (work->status != FM_OK && error) *error = work->error;
    work->watch = NULL;
    work->ctx = NULL;
    return work->status;
}

bool fm_isl_fail(fm_isl_work *work, fm_status status, const char *format, ...)
{
    if (work->status != FM_OK) return false;
    va_list arguments;
    char text[sizeof work->error.reason];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    work->status = fm_fail(&work->error, status, NULL, "%s", text);
    return false;
}

bool fm_isl_no_memory(fm_isl_work *work)
{
    return fm_isl_fail(work, FM_E_NOMEM, "no memory for the pieces of the exact count");
}

bool fm_isl_alive(fm_isl_work *work)
{
    if (work->status != FM_OK) return false;
    fm_isl_watch *watch = work->watch;
    if (atomic_load(&watch->large))
        return fm_isl_fail(work, FM_E_LIMIT,
                           "the exact count was given up: it needs more memory than allowed");
    if (atomic_load(&watch->late) || (watch->end > 0 && fm_now() >= watch->end))
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: the time allowed is over");
    return true;
}

bool fm_isl_gave_up(fm_isl_work *work)
{
    if (!fm_isl_alive(work)) return false;
    switch (isl_ctx_last_error(work->ctx)) {
    case isl_error_quota:
        return fm_isl_fail(work, FM_E_LIMIT,
                           "the exact count was given up: it needs more operations than allowed");
    case isl_error_alloc:
        return fm_isl_no_memory(work);
    default:
        break;
    }
    const char *message = isl_ctx_last_error_msg(work->ctx);
    return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: isl says: %s",
                       message ? message : "it cannot do it");
}

/* ---- systems ---- */

void fm_system_clear(fm_system *system)
{
    free(system->equalities.lines);
    free(system->inequalities.lines);
    free(system->floors);
    memset(system, 0, sizeof *system);
}

static bool lines_copy(fm_isl_work *work, fm_counter_lines *copy, const fm_counter_lines *lines)
{
    if (!lines->count) return true;
    if (fm_array_reserve((void **)&copy->lines, &copy->capacity, lines->count + 4, sizeof *lines->lines))
        return fm_isl_no_memory(work);
    memcpy(copy->lines, lines->lines, lines->count * sizeof *lines->lines);
    copy->count = lines->count;
    return true;
}

bool fm_system_copy(fm_isl_work *work, fm_system *copy, const fm_system *system)
{
    *copy = (fm_system){.kept = system->kept, .extra = system->extra, .counted = system->counted};
    bool done = lines_copy(work, &copy->equalities, &system->equalities) &&
                lines_copy(work, &copy->inequalities, &system->inequalities);
    if (done && system->extra) {
        if (fm_array_reserve((void **)&copy->floors, &copy->floor_capacity, system->extra,
                             sizeof *copy->floors))
            done = fm_isl_no_memory(work);
        else
            memcpy(copy->floors, system->floors, system->extra * sizeof *copy->floors);
    }
    if (!done) fm_system_clear(copy);
    return done;
}

fm_line *fm_lines_add(fm_isl_work *work, fm_counter_lines *lines)
{
    if (fm_array_reserve((void **)&lines->lines, &lines->capacity, lines->count + 1, sizeof *lines->lines)) {
        fm_isl_no_memory(work);
        return NULL;
    }
    fm_line *line = &lines->lines[lines->count++];
    memset(line, 0, sizeof *line);
    return line;
}

void fm_lines_remove(fm_counter_lines *lines, size_t index)
{
    FM_ASSERT(index < lines->count);
    lines->lines[index] = lines->lines[--lines->count];
}

static void insert_at(fm_line *line, unsigned column)
{
    memmove(&line->at[column + 1], &line->at[column], (FM_CONSTANT - 1 - column) * sizeof line->at[0]);
    line->at[column] = 0;
}

void fm_line_remove_column(fm_line *line, unsigned column)
{
    memmove(&line->at[column], &line->at[column + 1], (FM_CONSTANT - 1 - column) * sizeof line->at[0]);
    line->at[FM_CONSTANT - 1] = 0;
}

bool fm_system_insert_column(fm_isl_work *work, fm_system *system, unsigned column)
{
    if (fm_system_columns(system) + 1 >= FM_CONSTANT)
        return fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_CONSTANT - 1);
    FM_ASSERT(column <= fm_system_columns(system));
    for (size_t i = 0; i < system->equalities.count; i++) insert_at(&system->equalities.lines[i], column);
    for (size_t i = 0; i < system->inequalities.count; i++) insert_at(&system->inequalities.lines[i], column);
    for (unsigned i = 0; i < system->extra; i++) insert_at(&system->floors[i].of, column);
    return true;
}

void fm_system_remove_column(fm_system *system, unsigned column)
{
    FM_ASSERT(column <= fm_system_columns(system)); /* whose counts the caller may have lowered before */
    for (size_t i = 0; i < system->equalities.count; i++)
        fm_line_remove_column(&system->equalities.lines[i], column);
    for (size_t i = 0; i < system->inequalities.count; i++)
        fm_line_remove_column(&system->inequalities.lines[i], column);
    for (unsigned i = 0; i < system->extra; i++) fm_line_remove_column(&system->floors[i].of, column);
}

bool fm_line_subtract(fm_isl_work *work, fm_line *target, int64_t factor, const fm_line *line)
{
    bool overflow = false;
    for (unsigned i = 0; i < FM_COLUMNS; i++) {
        int64_t product;
        if (!line->at[i]) continue;
        overflow |= __builtin_mul_overflow(factor, line->at[i], &product);
        overflow |= __builtin_sub_overflow(target->at[i], product, &target->at[i]);
    }
    if (overflow) fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
    return !overflow;
}

bool fm_system_floor(fm_isl_work *work, fm_system *system, fm_poly *poly, const fm_line *of, int64_t by,
                     unsigned *column, bool *inserted)
{
    *inserted = false;
    for (unsigned i = 0; i < system->extra; i++)
        if (system->floors[i].by == by && !memcmp(&system->floors[i].of, of, sizeof *of)) {
            *column = system->kept + i;
            return true;
        }
    *column = system->kept + system->extra;
    if (fm_array_reserve((void **)&system->floors, &system->floor_capacity, system->extra + 1,
                         sizeof *system->floors))
        return fm_isl_no_memory(work);
    if (!fm_system_insert_column(work, system, *column)) return false;
    if (poly) fm_poly_insert_variable(poly, *column);
    FM_ASSERT(by > 0 && system->extra < system->floor_capacity);
    system->floors[system->extra++] = (fm_floor){*of, by};
    *inserted = true;
    return true;
}

bool fm_system_quotient(fm_isl_work *work, fm_system *system, fm_poly *poly, const fm_line *of, int64_t by,
                        fm_line *quotient, bool *inserted)
{
    unsigned known = system->kept + system->extra, column;
    bool whole = true;
    int64_t common = by;
    fm_line rest = {{0}};
    *inserted = false;
    memset(quotient, 0, sizeof *quotient);
    for (unsigned i = 0; i < known; i++) common = fm_greatest_divisor(common, of->at[i]);
    by /= common;
    for (unsigned i = 0; i < known; i++) {
        int64_t factor = of->at[i] / common;
        quotient->at[i] = fm_floor_divide(factor, by);
        rest.at[i] = factor - quotient->at[i] * by;
        if (rest.at[i]) whole = false;
    }
    int64_t constant = fm_floor_divide(of->at[FM_CONSTANT], common);
    quotient->at[FM_CONSTANT] = fm_floor_divide(constant, by);
    rest.at[FM_CONSTANT] = constant - quotient->at[FM_CONSTANT] * by;
    if (whole) return true;
    /* Of a quotient and its opposite only one is used: -floor((by - 1 - rest) / by) is the same. */
    unsigned first = 0;
    while (!rest.at[first]) first++;
    int64_t sign = 1;
    if (rest.at[first] > by - rest.at[first]) {
        sign = -1;
        for (unsigned i = 0; i < known; i++) {
            if (!rest.at[i]) continue;
            quotient->at[i] += 1; /* by - rest instead of -rest */
            rest.at[i] = by - rest.at[i];
        }
        rest.at[FM_CONSTANT] = by - 1 - rest.at[FM_CONSTANT];
    }
    if (!fm_system_floor(work, system, poly, &rest, by, &column, inserted)) return false;
    quotient->at[column] += sign;
    return true;
}

/* 62 products of 64 bits each fit 128 bits but for a few numbers next to 2^63, which never come here: factors
 * from isl are below 2^62. */
bool fm_line_composed(fm_isl_work *work, const fm_line *lines, const fm_line *line, unsigned columns,
                      fm_line *result)
{
    memset(result, 0, sizeof *result);
    result->at[FM_CONSTANT] = line->at[FM_CONSTANT];
    for (unsigned i = 0; i < columns; i++)
        if (line->at[i] && !fm_line_subtract(work, result, -line->at[i], &lines[i])) return false;
    return true;
}

fm_line fm_line_moved(const fm_line *line, unsigned count, const unsigned *columns)
{
    fm_line result = {{0}};
    for (unsigned i = 0; i < count; i++)
        if (line->at[i]) result.at[columns[i]] += line->at[i];
    result.at[FM_CONSTANT] = line->at[FM_CONSTANT];
    return result;
}

bool fm_system_growth(const fm_system *system, unsigned variable, int64_t most, const bool *dependent,
                      int64_t *growth, int64_t *steps)
{
    *steps = 1;
    memset(growth, 0, FM_COLUMNS * sizeof growth[0]);
    growth[variable] = 1;
    for (unsigned i = 0; i < system->extra; i++) {
        __int128 sum = 0;
        const int64_t by = system->floors[i].by;
        if (dependent && !dependent[system->kept + i]) continue;
        for (unsigned j = 0; j < system->kept + i; j++)
            sum += (__int128)system->floors[i].of.at[j] * growth[j];
        const int64_t times = by / fm_greatest_divisor(by, (int64_t)(sum % by));
        if (times > most / *steps) return false;
        *steps *= times;
        for (unsigned j = 0; j < system->kept + i; j++) growth[j] *= times;
        sum = sum * times / by;
        if (sum > INT32_MAX || sum < INT32_MIN) return false;
        growth[system->kept + i] = (int64_t)sum;
    }
    return true;
}

bool fm_line_value(const fm_line *line, const int64_t *values, unsigned columns, int64_t *value)
{
    __int128 sum = line->at[FM_CONSTANT];
    for (unsigned i = 0; i < columns; i++) sum += (__int128)line->at[i] * values[i];
    *value = (int64_t)sum;
    return sum == *value;
}

bool fm_system_extend_point(const fm_system *system, int64_t *values)
{
    for (unsigned i = 0; i < system->extra; i++) {
        int64_t sum;
        if (!fm_line_value(&system->floors[i].of, values, system->kept + i, &sum)) return false;
        values[system->kept + i] = fm_floor_divide(sum, system->floors[i].by);
    }
    return true;
}

bool fm_system_holds(const fm_system *system, const int64_t *values)
{
    unsigned columns = system->kept + system->extra;
    int64_t sum;
    for (size_t i = 0; i < system->equalities.count; i++)
        if (!fm_line_value(&system->equalities.lines[i], values, columns, &sum) || sum != 0) return false;
    for (size_t i = 0; i < system->inequalities.count; i++)
        if (!fm_line_value(&system->inequalities.lines[i], values, columns, &sum) || sum < 0) return false;
    return true;
}

/* ---- to isl and back ---- */

static isl_mat *put_number(isl_mat *matrix, unsigned row, unsigned column, int64_t number)
{
    if (number >= INT32_MIN && number <= INT32_MAX)
        return isl_mat_set_element_si(matrix, (int)row, (int)column, (int)number);
    return isl_mat_set_element_val(matrix, (int)row, (int)column,
                                   isl_val_int_from_si(isl_mat_get_ctx(matrix), number));
}

static isl_mat *put_line(isl_mat *matrix, unsigned row, const fm_line *line, unsigned columns)
{
    for (unsigned i = 0; i < columns; i++) matrix = put_number(matrix, row, i, line->at[i]);
    return put_number(matrix, row, columns, line->at[FM_CONSTANT]);
}

/* 0 <= of - by * quotient <= by - 1, as two lines. */
static void floor_lines(const fm_system *system, unsigned index, fm_line lines[2])
{
    const fm_floor *quotient = &system->floors[index];
    lines[0] = quotient->of;
    lines[0].at[system->kept + index] = -quotient->by;
    for (unsigned i = 0; i < FM_COLUMNS; i++) lines[1].at[i] = -lines[0].at[i];
    lines[1].at[FM_CONSTANT] += quotient->by - 1;
}

isl_basic_set *fm_system_to_isl(fm_isl_work *work, const fm_system *system, const fm_line *condition)
{
    unsigned columns = fm_system_columns(system), row = 0;
    size_t inequalities = system->inequalities.count + 2u * system->extra + (condition != NULL);
    isl_mat *equal = isl_mat_alloc(work->ctx, (unsigned)system->equalities.count, columns + 1);
    isl_mat *rest = isl_mat_alloc(work->ctx, (unsigned)inequalities, columns + 1);
    for (size_t i = 0; i < system->equalities.count; i++)
        equal = put_line(equal, (unsigned)i, &system->equalities.lines[i], columns);
    for (size_t i = 0; i < system->inequalities.count; i++)
        rest = put_line(rest, row++, &system->inequalities.lines[i], columns);
    for (unsigned i = 0; i < system->extra; i++) {
        fm_line lines[2];
        floor_lines(system, i, lines);
        rest = put_line(rest, row++, &lines[0], columns);
        rest = put_line(rest, row++, &lines[1], columns);
    }
    if (condition) rest = put_line(rest, row++, condition, columns);
    return isl_basic_set_from_constraint_matrices(isl_space_set_alloc(work->ctx, 0, columns), equal, rest,
                                                  isl_dim_set, isl_dim_param, isl_dim_div, isl_dim_cst);
}

isl_basic_map *fm_system_to_isl_map(fm_isl_work *work, const fm_system *system, unsigned inputs)
{
    isl_basic_set *set = fm_system_to_isl(work, system, NULL);
    isl_basic_map *map = isl_basic_map_from_range(set);
    return isl_basic_map_move_dims(map, isl_dim_in, 0, isl_dim_out, 0, inputs);
}

fm_emptiness fm_system_emptiness(fm_isl_work *work, const fm_system *system, const fm_line *condition)
{
    fm_quick quick = fm_system_quick(system, condition, false, NULL);
    if (quick != FM_QUICK_UNKNOWN) return quick == FM_QUICK_EMPTY ? FM_EMPTY : FM_NOT_EMPTY;
    isl_basic_set *set = fm_system_to_isl(work, system, condition);
    isl_bool empty = isl_basic_set_is_empty(set);
    isl_basic_set_free(set);
    if (empty < 0) fm_isl_gave_up(work);
    return empty < 0 ? FM_EMPTINESS_FAILED : empty ? FM_EMPTY : FM_NOT_EMPTY;
}

/* A number of isl; false: it does not fit. */
static bool number_of(fm_isl_work *work, isl_val *value, int64_t *number)
{
    if (!value) return fm_isl_gave_up(work);
    bool fits =
        isl_val_is_int(value) == isl_bool_true && isl_val_n_abs_num_chunks(value, sizeof(int64_t)) <= 1;
    if (fits) {
        uint64_t chunk = 0;
        isl_val_get_abs_num_chunks(value, sizeof chunk, &chunk);
        fits = chunk <= INT64_MAX / 2;
        *number = isl_val_is_neg(value) == isl_bool_true ? -(int64_t)chunk : (int64_t)chunk;
    }
    isl_val_free(value);
    return fits || fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: numbers beyond 64 bits");
}

/* The rows of a matrix; column i of it is our column order[i], the last one the constant. Frees the matrix.
 */
static bool take_lines(fm_isl_work *work, fm_counter_lines *lines, isl_mat *matrix, unsigned columns,
                       const unsigned *order)
{
    bool done = matrix != NULL || fm_isl_gave_up(work);
    isl_size rows = isl_mat_rows(matrix);
    for (int i = 0; i < rows && done; i++) {
        fm_line *line = fm_lines_add(work, lines);
        if (!line) done = false;
        for (unsigned j = 0; j <= columns && done; j++) {
            unsigned column = j == columns ? (unsigned)FM_CONSTANT : order ? order[j] : j;
            done = number_of(work, isl_mat_get_element_val(matrix, i, (int)j), &line->at[column]);
        }
    }
    isl_mat_free(matrix);
    return done;
}

/* Is the line implied by the definition of a quotient? */
static bool says_floor(const fm_system *system, const fm_line *line)
{
    for (unsigned i = 0; i < system->extra; i++) {
        fm_line lines[2];
        if (!line->at[system->kept + i]) continue;
        floor_lines(system, i, lines);
        for (int side = 0; side < 2; side++)
            if (!memcmp(line->at, lines[side].at, FM_CONSTANT * sizeof line->at[0]) &&
                line->at[FM_CONSTANT] >= lines[side].at[FM_CONSTANT])
                return true;
    }
    return false;
}

bool fm_system_uses_floor(const fm_system *system, unsigned index)
{
    unsigned column = system->kept + index;
    for (unsigned i = index + 1; i < system->extra; i++)
        if (system->floors[i].of.at[column]) return true;
    for (size_t i = 0; i < system->equalities.count; i++)
        if (system->equalities.lines[i].at[column]) return true;
    for (size_t i = 0; i < system->inequalities.count; i++)
        if (system->inequalities.lines[i].at[column]) return true;
    return false;
}

void fm_system_drop_floor(fm_system *system, unsigned index)
{
    memmove(&system->floors[index], &system->floors[index + 1],
            (system->extra - index - 1) * sizeof *system->floors);
    system->extra--;
    fm_system_remove_column(system, system->kept + index);
}

void fm_system_drop_floors(fm_system *system, fm_poly *poly)
{
    for (unsigned i = system->extra; i-- > 0;) {
        if ((poly && fm_poly_uses(poly, system->kept + i)) || fm_system_uses_floor(system, i)) continue;
        fm_system_drop_floor(system, i);
        if (poly) fm_poly_drop_variable(poly, system->kept + i);
    }
}

fm_emptiness fm_system_tidy(fm_isl_work *work, fm_system *system)
{
    unsigned columns = fm_system_columns(system);
    fm_quick quick = fm_system_quick(system, NULL, true, NULL);
    if (quick == FM_QUICK_EMPTY) return FM_EMPTY;
    isl_basic_set *set = fm_system_to_isl(work, system, NULL);
    if (quick != FM_QUICK_FULL) set = isl_basic_set_detect_equalities(set);
    isl_bool empty = quick == FM_QUICK_UNKNOWN ? isl_basic_set_is_empty(set) : isl_bool_false;
    if (empty != isl_bool_false) {
        isl_basic_set_free(set);
        if (empty < 0) fm_isl_gave_up(work);
        return empty < 0 ? FM_EMPTINESS_FAILED : FM_EMPTY;
    }
    set = isl_basic_set_remove_redundancies(set);
    isl_size divs = isl_basic_set_dim(set, isl_dim_div);
    if (divs != 0) {
        isl_basic_set_free(set);
        if (divs < 0)
            fm_isl_gave_up(work);
        else
            fm_isl_fail(work, FM_E_LIMIT,
                        "the exact count was given up: isl found a quotient where none can be");
        return FM_EMPTINESS_FAILED;
    }
    isl_mat *equal =
        isl_basic_set_equalities_matrix(set, isl_dim_set, isl_dim_param, isl_dim_div, isl_dim_cst);
    isl_mat *rest =
        isl_basic_set_inequalities_matrix(set, isl_dim_set, isl_dim_param, isl_dim_div, isl_dim_cst);
    isl_basic_set_free(set);
    system->equalities.count = system->inequalities.count = 0;
    bool done = take_lines(work, &system->equalities, equal, columns, NULL);
    done = take_lines(work, &system->inequalities, rest, columns, NULL) && done;
    if (!done) return FM_EMPTINESS_FAILED;
    for (size_t i = system->inequalities.count; i-- > 0;)
        if (says_floor(system, &system->inequalities.lines[i])) fm_lines_remove(&system->inequalities, i);
    return FM_NOT_EMPTY;
}

bool fm_system_shadow(fm_isl_work *work, const fm_system *system, const bool *dropped,
                      fm_counter_lines *lines)
{
    const unsigned columns = fm_system_columns(system);
    isl_basic_set *set = fm_system_to_isl(work, system, NULL);
    fm_system shadow;
    for (unsigned i = columns; i-- > 0;)
        if (dropped[i]) set = isl_basic_set_eliminate(set, isl_dim_set, i, 1);
    set = isl_basic_set_remove_divs(set);
    if (!fm_system_from_isl(work, &shadow, set, columns)) return false;
    bool done = true;
    lines->count = 0;
    for (size_t i = 0; i < shadow.inequalities.count + 2 * shadow.equalities.count && done; i++) {
        fm_line *line = fm_lines_add(work, lines);
        done = line != NULL;
        if (!done) break;
        size_t equality = i - shadow.inequalities.count;
        *line = i < shadow.inequalities.count ? shadow.inequalities.lines[i]
                                              : shadow.equalities.lines[equality / 2];
        for (unsigned j = 0; i >= shadow.inequalities.count && equality % 2 && j < FM_COLUMNS; j++)
            line->at[j] = -line->at[j];
    }
    fm_system_clear(&shadow);
    return done;
}

fm_emptiness fm_system_simplify(fm_isl_work *work, fm_system *system, fm_poly *poly)
{
    fm_emptiness emptiness = fm_system_tidy(work, system);
    if (emptiness == FM_NOT_EMPTY) fm_system_drop_floors(system, poly);
    return emptiness;
}

/* A quotient of isl as floor(line / by), in isl's order of columns: dimensions, quotients. */
static bool take_floor(fm_isl_work *work, isl_local_space *space, unsigned index, unsigned dimensions,
                       fm_floor *quotient)
{
    isl_aff *aff = isl_local_space_get_div(space, (int)index);
    isl_val *by = isl_aff_get_denominator_val(aff);
    memset(quotient, 0, sizeof *quotient);
    bool done = aff && isl_aff_is_nan(aff) == isl_bool_false;
    if (!done) fm_isl_gave_up(work);
    for (unsigned i = 0; i < dimensions + index && done; i++) {
        isl_val *value = i < dimensions
                             ? isl_aff_get_coefficient_val(aff, isl_dim_in, (int)i)
                             : isl_aff_get_coefficient_val(aff, isl_dim_div, (int)(i - dimensions));
        done = number_of(work, isl_val_mul(value, isl_val_copy(by)), &quotient->of.at[i]);
    }
    if (done)
        done = number_of(work, isl_val_mul(isl_aff_get_constant_val(aff), isl_val_copy(by)),
                         &quotient->of.at[FM_CONSTANT]);
    isl_aff_free(aff);
    if (!done) {
        isl_val_free(by);
        return false;
    }
    return number_of(work, by, &quotient->by);
}

/* Which of our columns each of isl's columns gets: quotients of kept variables come first, the others are
 * counted like the other dimensions. */
static void arrange_floors(fm_system *system, const fm_floor *floors, unsigned dimensions, unsigned divs,
                           unsigned kept, unsigned *order)
{
    bool counted[FM_COLUMNS] = {false};
    unsigned extra = 0, next;
    for (unsigned i = 0; i < dimensions; i++) counted[i] = i >= kept;
    for (unsigned i = 0; i < divs; i++) {
        for (unsigned j = 0; j < dimensions + i; j++)
            if (floors[i].of.at[j] && counted[j]) counted[dimensions + i] = true;
        if (!counted[dimensions + i]) order[dimensions + i] = kept + extra++;
    }
    next = kept + extra;
    for (unsigned i = 0; i < dimensions + divs; i++)
        if (counted[i])
            order[i] = next++;
        else if (i < dimensions)
            order[i] = i;
    system->kept = kept;
    system->extra = extra;
    system->counted = next - kept - extra;
}

static bool take_floors(fm_isl_work *work, fm_system *system, const fm_floor *floors, unsigned dimensions,
                        unsigned divs, const unsigned *order)
{
    if (system->extra && fm_array_reserve((void **)&system->floors, &system->floor_capacity, system->extra,
                                          sizeof *system->floors)) {
        system->extra = 0;
        return fm_isl_no_memory(work);
    }
    for (unsigned i = 0; i < divs; i++) {
        fm_line of = {{0}};
        unsigned column = order[dimensions + i];
        for (unsigned j = 0; j < dimensions + i; j++) of.at[order[j]] = floors[i].of.at[j];
        of.at[FM_CONSTANT] = floors[i].of.at[FM_CONSTANT];
        if (column < system->kept + system->extra) {
            system->floors[column - system->kept] = (fm_floor){of, floors[i].by};
            continue;
        }
        for (int side = 0; side < 2; side++) {
            fm_line *line = fm_lines_add(work, &system->inequalities);
            if (!line) return false;
            *line = of;
            line->at[column] = -floors[i].by;
            if (side == 0) continue;
            for (unsigned j = 0; j < FM_COLUMNS; j++) line->at[j] = -line->at[j];
            line->at[FM_CONSTANT] += floors[i].by - 1;
        }
    }
    return true;
}

bool fm_system_from_isl(fm_isl_work *work, fm_system *system, isl_basic_set *set, unsigned kept)
{
    unsigned order[FM_COLUMNS];
    memset(system, 0, sizeof *system);
    isl_size dimensions = isl_basic_set_dim(set, isl_dim_set), divs = isl_basic_set_dim(set, isl_dim_div);
    bool done = dimensions >= 0 && divs >= 0;
    if (!done) fm_isl_gave_up(work);
    if (done && dimensions + divs >= FM_CONSTANT)
        done = fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_CONSTANT - 1);
    fm_floor *floors = done ? fm_calloc((size_t)divs + 1, sizeof *floors) : NULL;
    if (done && !floors) done = fm_isl_no_memory(work);
    isl_local_space *space = done ? isl_basic_set_get_local_space(set) : NULL;
    for (int i = 0; i < divs && done; i++)
        done = take_floor(work, space, (unsigned)i, (unsigned)dimensions, &floors[i]);
    isl_local_space_free(space);
    if (done) {
        arrange_floors(system, floors, (unsigned)dimensions, (unsigned)divs, kept, order);
        isl_mat *equal =
            isl_basic_set_equalities_matrix(set, isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst);
        isl_mat *rest =
            isl_basic_set_inequalities_matrix(set, isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst);
        unsigned columns = (unsigned)dimensions + (unsigned)divs;
        done = take_lines(work, &system->equalities, equal, columns, order);
        done = take_lines(work, &system->inequalities, rest, columns, order) && done;
        done = done && take_floors(work, system, floors, (unsigned)dimensions, (unsigned)divs, order);
    }
    free(floors);
    isl_basic_set_free(set);
    if (!done) fm_system_clear(system);
    return done;
}

bool fm_system_value_of(fm_isl_work *work, fm_system *system, isl_aff *aff, fm_line *value)
{
    unsigned columns[FM_COLUMNS], dimensions = system->kept;
    isl_local_space *space = isl_aff_get_domain_local_space(aff);
    isl_size divs = isl_aff_dim(aff, isl_dim_div);
    isl_val *by_value = isl_aff_get_denominator_val(aff);
    bool inserted, done = divs >= 0 || fm_isl_gave_up(work);
    int64_t by = 1;
    fm_line of = {{0}};
    if (done && dimensions + (unsigned)divs >= FM_CONSTANT)
        done = fm_isl_fail(work, FM_E_LIMIT, "the exact count was given up: more than %d unknowns at a time",
                           FM_CONSTANT - 1);
    for (unsigned i = 0; i < dimensions; i++) columns[i] = i;
    for (unsigned i = 0; i < (unsigned)divs && done; i++) {
        fm_floor quotient;
        done = take_floor(work, space, i, dimensions, &quotient);
        if (!done) break;
        fm_line line = fm_line_moved(&quotient.of, dimensions + i, columns);
        done = fm_system_floor(work, system, NULL, &line, quotient.by, &columns[dimensions + i], &inserted);
    }
    for (unsigned i = 0; i < dimensions + (unsigned)divs && done; i++) {
        isl_val *factor = i < dimensions
                              ? isl_aff_get_coefficient_val(aff, isl_dim_in, (int)i)
                              : isl_aff_get_coefficient_val(aff, isl_dim_div, (int)(i - dimensions));
        done = number_of(work, isl_val_mul(factor, isl_val_copy(by_value)), &of.at[i]);
    }
    if (done)
        done = number_of(work, isl_val_mul(isl_aff_get_constant_val(aff), isl_val_copy(by_value)),
                         &of.at[FM_CONSTANT]);
    isl_local_space_free(space);
    isl_aff_free(aff);
    if (!done) {
        isl_val_free(by_value);
        return false;
    }
    if (!number_of(work, by_value, &by)) return false;
    fm_line line = fm_line_moved(&of, dimensions + (unsigned)divs, columns);
    return fm_system_quotient(work, system, NULL, &line, by, value, &inserted);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transform.h - what the files share that change the loops of a region: interchange, tile, fuse, distribute,
 * pad (fm_region_transform of fathom/static.h).
 *
 * A change never adds, drops or copies an execution of a statement; it only says when each is. Whether it
 * may be at another time is not looked at here: dependence.c.
 */
#ifndef FATHOM_STATIC_TRANSFORM_H
#define FATHOM_STATIC_TRANSFORM_H

#include "static/region/region.h"

enum { FM_MOST_STEPS = 32, FM_MOST_TILED = 8, FM_LOOP_NAME = 256 };

typedef enum fm_step_kind {
    FM_STEP_INTERCHANGE,
    FM_STEP_TILE,
    FM_STEP_FUSE,
    FM_STEP_DISTRIBUTE,
    FM_STEP_PAD,
} fm_step_kind;

/* "i", "i@12", "i#2", "i@12#2": of the loops over i (in line 12) the second in the text */
typedef struct fm_loop_name {
    char name[FM_LOOP_NAME];
    uint32_t line;   /* 0: any */
    uint32_t number; /* from 1; 0: any */
} fm_loop_name;
/* What names this loop and no other. */
void fm_loop_label(const fm_region *region, const fm_region_node *loop, char *label, size_t size);

typedef struct fm_change_step {
    fm_step_kind kind;
    unsigned count;
    fm_loop_name names[FM_MOST_TILED]; /* of loops; of PAD the array */
    int64_t numbers[FM_MOST_TILED];    /* TILE: how long a tile is; PAD: elements that are added */
} fm_change_step;

/* "interchange:i,j; tile:i,j=32,8": FM_E_ARGUMENT where it is not. At most FM_MOST_STEPS. */
fm_status fm_change_parse(const char *text, fm_change_step *steps, size_t *count, fm_error *error);
const char *fm_step_word(fm_step_kind kind);

/*
 * Where the statements of a changed region come from. An execution of one is known by the values that the
 * variables of the original's loops have in it.
 */
typedef struct fm_region_origin {
    const uint32_t *statements; /* number in the original, by the number here */
    /* values[statement of the original][variable of the original], in variables of the changed region; NULL:
     * no loop around the statement has it */
    const fm_expr ***values;
} fm_region_origin;

/* A region that is being changed: its statements still have the numbers of the original. */
typedef struct fm_changer {
    fm_region *region;
    size_t variable_count; /* of the original */
    const fm_expr ***values;
    fm_error *error;
} fm_changer;

fm_status fm_change_fail(fm_changer *self, const fm_region_node *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
fm_status fm_change_no_memory(fm_changer *self);
/* A new variable, called after `name`. False: no memory. */
bool fm_change_variable(fm_changer *self, const char *name, uint32_t *variable);
/* Everywhere in these nodes, and in what is known of their statements. False: no memory. */
bool fm_change_replace(fm_changer *self, fm_region_node *nodes, uint32_t variable, const fm_expr *by);
const char *fm_change_name(const fm_changer *self, const fm_region_node *loop);

/* transform_nest.c: loops are those of change_find. */
fm_status fm_change_interchange(fm_changer *self, fm_region_node **loops, unsigned count);
fm_status fm_change_tile(fm_changer *self, fm_region_node **loops, unsigned count, const int64_t *sizes);
fm_status fm_change_fuse(fm_changer *self, fm_region_node *loop);
fm_status fm_change_distribute(fm_changer *self, fm_region_node *loop);
fm_status fm_change_pad(fm_changer *self, const char *array, int64_t elements);

/* ---- bounds ---- */

/*
 * Bounds of loops when loops change places: between which values a bound is, what it says of another
 * variable, and loops within narrower bounds. NULL: no memory, unless another reason is named.
 */

/* The smallest and the largest value that a loop's variable may have. */
static inline const fm_expr *fm_loop_low(const fm_region_node *loop)
{
    return loop->step > 0 ? loop->first : loop->last;
}
static inline const fm_expr *fm_loop_high(const fm_region_node *loop)
{
    return loop->step > 0 ? loop->last : loop->first;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* affine.c - see affine.h. */
#include "static/polyhedra/affine.h"

#include "static/polyhedra/rounding.h"

enum { MOST_ROUNDS = 24 }; /* of tightening: rows that shave off one point at a time are left alone */

static bool add_product(int64_t *to, int64_t a, int64_t b)
{
    __int128 sum = *to + (__int128)a * b;
    if (sum > FM_AFFINE_MOST || sum < -FM_AFFINE_MOST) return false;
    *to = (int64_t)sum;
    return true;
}

bool fm_affine_add(fm_row *to, const fm_row *form, int64_t factor)
{
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++)
        if (form->factors[i] && !add_product(&to->factors[i], form->factors[i], factor)) return false;
    return add_product(&to->constant, form->constant, factor);
}

bool fm_affine_add_constant(fm_row *to, int64_t number)
{
    return add_product(&to->constant, number, 1);
}

bool fm_affine_equal(const fm_row *left, const fm_row *right)
{
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++)
        if (left->factors[i] != right->factors[i]) return false;
    return left->constant == right->constant;
}

fm_row_kind fm_row_normalise(fm_row *row)
{
    int64_t divisor = 0;
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++) {
        if (row->factors[i]) divisor = fm_greatest_divisor(divisor, row->factors[i]);
        if (divisor == 1) return FM_ROW_PLAIN;
    }
    if (!divisor) return row->constant >= 0 ? FM_ROW_ALWAYS : FM_ROW_NEVER;
    for (unsigned i = 0; i < FM_REFERENCE_DEPTH; i++) row->factors[i] /= divisor;
    row->constant = fm_floor_divide(row->constant, divisor);
    return FM_ROW_PLAIN;
}

void fm_affine_range(const fm_row *form, unsigned depth, const int64_t *least, const int64_t *most,
                     __int128 *low, __int128 *high)
{
    *low = *high = form->constant;
    for (unsigned i = 0; i < depth; i++) {
        __int128 factor = form->factors[i];
        if (!factor) continue;
        *low += factor * (factor > 0 ? least[i] : most[i]);
        *high += factor * (factor > 0 ? most[i] : least[i]);
    }
}

/* One row; -1: no point, else whether the box changed. */
static int tighten_by(const fm_row *row, unsigned depth, int64_t *least, int64_t *most)
{
    __int128 low, high;
    fm_affine_range(row, depth, least, most, &low, &high);
    if (high < 0) return -1;
    if (low >= 0) return 0;
    int changed = 0;
    for (unsigned i = 0; i < depth; i++) {
        __int128 factor = row->factors[i];
        if (factor > 0) { /* factor * x >= -rest */
            __int128 rest = high - factor * most[i];
            __int128 bound = -fm_floor_divide_wide(rest, factor);
            if (bound > least[i]) {
                if (bound > most[i]) return -1;
                least[i] = (int64_t)bound;
                changed = 1;
            }
        } else if (factor < 0) {
            __int128 rest = high - factor * least[i];
            __int128 bound = fm_floor_divide_wide(rest, -factor);
            if (bound < most[i]) {
                if (bound < least[i]) return -1;
                most[i] = (int64_t)bound;
                changed = 1;
            }
        }
    }
    return changed;
}

bool fm_box_tighten(const fm_row *rows, size_t count, unsigned depth, int64_t *least, int64_t *most)
{
    for (unsigned i = 0; i < depth; i++)
        if (least[i] > most[i]) return false;
    int changed = 1;
    for (int round = 0; changed && round < MOST_ROUNDS; round++) {
        changed = 0;
        for (size_t i = 0; i < count; i++) {
            int now = tighten_by(&rows[i], depth, least, most);
            if (now < 0) return false;
            changed |= now;
        }
    }
    return true;
}

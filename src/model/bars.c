/* SPDX-License-Identifier: Apache-2.0 */
/* bars.c - see bars.h. */
#include "model/bars.h"

#include "model/growth_fit.h"

#include <math.h>

/* The distance, in the bounds that the number of blocks sets. */
static void add(fm_bars *bars, double distance, double distinct, double part)
{
    const uint64_t whole = (uint64_t)llround(fmax(0, fmin(distance, distinct - 1)));
    bars->part[whole ? 64 - __builtin_clzll(whole) : 0] += part;
}

static double begin(fm_bars *bars, double distinct, double references, size_t shares)
{
    *bars = (fm_bars){{0}};
    bars->part[FM_BARS_COLD] = distinct / references;
    return (1 - bars->part[FM_BARS_COLD]) / (double)shares;
}

void fm_bars_of_model(fm_bars *bars, const fm_model *model, double size, double scale)
{
    const double distinct = fm_model_distinct(model, size);
    const double part = begin(bars, distinct, fm_model_references(model, size), model->share_count);
    double powers[FM_GROWTHS];
    for (int g = 0; g < FM_GROWTHS; g++) powers[g] = pow(size, fm_growth_exponent((fm_growth)g));
    for (size_t i = 0; i < model->share_count; i++) {
        const fm_model_share *share = &model->shares[i];
        add(bars, (share->c + share->e * powers[share->growth]) * scale, distinct, part);
    }
}

void fm_bars_of_run(fm_bars *bars, const fm_training_run *run, size_t shares)
{
    const double part = begin(bars, (double)run->distinct, (double)run->references, shares);
    for (size_t i = 0; i < shares; i++) add(bars, run->distances[i], (double)run->distinct, part);
}

double fm_power_through(double size, double size1, double value1, double size2, double value2)
{
    return value1 * pow(value2 / value1, log(size / size1) / log(size2 / size1));
}

void fm_bars_between(fm_bars *bars, const fm_training_run *one, const fm_training_run *other, size_t shares,
                     double size)
{
    const double where = log(size / one->size) / log(other->size / one->size);
    const double distinct = fmin(
        fmax(1, (double)one->distinct * pow((double)other->distinct / (double)one->distinct, where)), 0x1p61);
    const double references =
        (double)one->references * pow((double)other->references / (double)one->references, where);
    const double part = begin(bars, distinct, fmax(references, distinct), shares);
    /* Distances start at 0: one is added. */
    for (size_t i = 0; i < shares; i++)
        add(bars,
            (one->distances[i] + 1) * pow((other->distances[i] + 1) / (one->distances[i] + 1), where) - 1,
            distinct, part);
}

double fm_bars_difference(const fm_bars *a, const fm_bars *b)
{
    double sum = 0;
    for (int i = 0; i < FM_BARS; i++) sum += fabs(a->part[i] - b->part[i]);
    return sum / 2;
}

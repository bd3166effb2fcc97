/* SPDX-License-Identifier: Apache-2.0 */
/* open_pieces.c - see open_pieces.h. */
#include "static/symbolic/open_pieces.h"

#include "base/memory.h"
#include "static/counter/counter_overlay.h"
#include "static/counter/isl_between.h"
#include "static/counter/isl_previous.h"
#include "static/symbolic/open_touches.h"

#include <isl/set.h>
#include <stdlib.h>
#include <string.h>

void fm_open_pieces_clear(fm_open_pieces *pieces)
{
    fm_pieces_clear(&pieces->reuses);
    fm_pieces_clear(&pieces->cold);
    fm_pieces_clear(&pieces->points);
    *pieces = (fm_open_pieces){0};
}

/* ---- all touches ---- */

static bool pieces_of_reuse(fm_isl_work *work, fm_open_pieces *pieces, const fm_touches *touches,
                            const fm_isl_reuse *reuse)
{
    fm_pieces counts = {0};
    bool done = fm_between_count(work, touches, reuse, &counts) &&
                fm_overlay(work, &reuse->domain, &counts, &pieces->reuses);
    fm_pieces_clear(&counts);
    return done;
}

static bool pieces_of_touch(fm_isl_work *work, fm_open_pieces *pieces, const fm_touches *touches,
                            size_t touch)
{
    fm_isl_reuses reuses;
    const fm_touch *one = &touches->touches[touch];
    const unsigned depth = one->reference->depth;
    if (!fm_isl_reuses_find(work, &reuses, touches, touch)) return false;
    isl_basic_set *all = fm_system_to_isl(work, &one->system, NULL);
    all = isl_basic_set_project_out(all, isl_dim_set, depth, one->system.kept - depth);
    bool done = fm_count_set(work, isl_set_from_basic_set(all), pieces->parameters, &pieces->points) &&
                fm_count_set(work, isl_set_copy(reuses.cold), pieces->parameters, &pieces->cold);
    for (size_t i = 0; i < reuses.count && done; i++)
        done = pieces_of_reuse(work, pieces, touches, &reuses.reuses[i]);
    fm_isl_reuses_clear(&reuses);
    return done;
}

bool fm_open_pieces_create(fm_isl_work *work, fm_open_pieces *pieces, const fm_open_references *open)
{
    fm_touches touches;
    *pieces = (fm_open_pieces){.parameters = open->class->count};
    if (!fm_open_touches_create(work, &touches, open)) return false;
    bool done = true;
    for (size_t i = 0; i < touches.count && done; i++) done = pieces_of_touch(work, pieces, &touches, i);
    fm_touches_clear(&touches);
    if (!done) fm_open_pieces_clear(pieces);
    return done;
}

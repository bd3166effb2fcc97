/* SPDX-License-Identifier: Apache-2.0 */
/* laws.c - see laws.h. Linear in the profile; memory for a number a site and an object. */
#include "profile/profile_parts.h"

#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"

#include <fathom/experimental/checks.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static bool tell_why(char *why, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, size, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- counts ---- */

static bool sums_hold(const fm_profile *of, char *why, size_t size)
{
    uint64_t counted, sum;
    if (!fm_histogram_total(&of->distances, &counted) || __builtin_add_overflow(counted, of->cold, &sum) ||
        __builtin_add_overflow(sum, of->beyond, &sum))
        return tell_why(why, size, "the counts exceed 64 bits together");
    if (sum == of->references) return true;
    return tell_why(why, size,
                    "references are %" PRIu64 ", but cold %" PRIu64 " + beyond %" PRIu64
                    " + histogram %" PRIu64 " = %" PRIu64,
                    of->references, of->cold, of->beyond, counted, sum);
}

static bool ranges_hold(const fm_profile *of, char *why, size_t size)
{
    const fm_histogram *const both[] = {&of->distances, &of->times};
    for (size_t h = 0; h < 2; h++)
        for (size_t i = 0; i < both[h]->count; i++) {
            const fm_bin *bin = &both[h]->bins[i];
            if (bin->lo > bin->hi || bin->count == 0 || (i && bin->lo <= bin[-1].hi))
                return tell_why(why, size,
                                "range %zu, %" PRIu64 " to %" PRIu64 " with %" PRIu64 " references", i,
                                bin->lo, bin->hi, bin->count);
        }
    return true;
}

static bool blocks_hold(const fm_profile *of, char *why, size_t size)
{
    if (!of->exact || !of->cold_known || (of->cold <= of->distinct && of->distinct <= of->references))
        return true;
    return tell_why(why, size,
                    "%" PRIu64 " references touch %" PRIu64 " distinct blocks, %" PRIu64 " of them first",
                    of->references, of->distinct, of->cold);
}

static bool first_touches_hold(const fm_profile *of, char *why, size_t size)
{
    if (!of->exact || !of->cold_known || of->cold == of->distinct) return true;
    return tell_why(why, size, "%" PRIu64 " first touches of %" PRIu64 " distinct blocks", of->cold,
                    of->distinct);
}

/* A phase, some of whose blocks were touched before it, has distances to what lies before it too. */
static bool is_of_phase(const fm_profile *of)
{
    return of->exact && of->cold != of->distinct;
}

static bool distances_hold(const fm_profile *of, char *why, size_t size)
{
    if (!of->cold_known || of->distances.count == 0 || !(of->exact || of->sampling) || is_of_phase(of))
        return true;
    const uint64_t largest = of->distances.bins[of->distances.count - 1].lo;
    if (largest < of->distinct) return true;
    return tell_why(why, size, "a distance of %" PRIu64 " or more, but only %" PRIu64 " distinct blocks",
                    largest, of->distinct);
}

static bool times_hold(const fm_profile *of, char *why, size_t size)
{
    uint64_t counted;
    if (!of->has_times) return true;
    if (!fm_histogram_total(&of->times, &counted) || counted > of->references)
        return tell_why(why, size, "more time distances than the %" PRIu64 " references", of->references);
    if (of->times.count && of->times.bins[0].hi == 0)
        return tell_why(why, size, "%" PRIu64 " references after none", of->times.bins[0].count);
    return true;
}

/* ---- where they come from ---- */

static bool attribution_holds(const fm_profile *of, char *why, size_t size)
{
    return !of->attribution || fm_attribution_sound(of, why, size);
}

/* Late references of a pair: at a distance of late_from and over, and first touches. */
static uint64_t late_of_pair(const fm_pair *pair, uint64_t late_from)
{
    uint64_t late = pair->cold + pair->beyond;
    for (size_t i = 0; i < pair->bin_count; i++)
        if (pair->bins[i].lo >= late_from) late += pair->bins[i].count;
    return late;
}

/* No more late references of a site to objects than it has. Estimates of the two are made apart. */
static bool sites_hold(const fm_profile *of, char *why, size_t size)
{
    const fm_attribution *at = of->attribution;
    if (!at || !of->exact || at->object_use_count == 0) return true;
    uint64_t *late = fm_calloc(at->site_count + 1, sizeof *late);
    bool holds = true;
    if (!late) return true; /* it cannot be told */
    for (size_t i = 0; i < at->pair_count; i++)
        late[at->pairs[i].reuse] += late_of_pair(&at->pairs[i], at->late_from);
    for (size_t i = 0; i < at->object_use_count && holds; i++) {
        const fm_object_use *use = &at->object_uses[i];
        if (use->count > late[use->site])
            holds = tell_why(why, size,
                             "site %" PRIu32 " has %" PRIu64 " late references to object %" PRIu32
                             ", which is %" PRIu64 " more than are left of it",
                             use->site, use->count, use->object, use->count - late[use->site]);
        else
            late[use->site] -= use->count;
    }
    free(late);
    return holds;
}

/* The most blocks that an object can have touched first. Allocators round sizes up, none to more than twice.
 * Of variables nobody knows how many there were: each process of a sum has its own, and a library that is
 * loaded again, too. */
static uint64_t room_of_object(const fm_object *object, uint64_t granularity)
{
    uint64_t room;
    if (object->kind != FM_OBJECT_HEAP || object->blocks == 0) return UINT64_MAX;
    if (__builtin_add_overflow(object->size / granularity, object->blocks, &room) || room > UINT64_MAX / 2)
        return UINT64_MAX;
    return 2 * room;
}

static bool objects_hold(const fm_profile *of, char *why, size_t size)
{
    const fm_attribution *at = of->attribution;
    if (!at || !of->exact || at->object_use_count == 0) return true;
    uint64_t *cold = fm_calloc(at->object_count + 1, sizeof *cold);
    bool holds = true;
    if (!cold) return true;
    for (size_t i = 0; i < at->object_use_count; i++)
        cold[at->object_uses[i].object] += at->object_uses[i].cold;
    for (size_t i = 0; i < at->object_count && holds; i++) {
        const uint64_t room = room_of_object(&at->objects[i], of->granularity);
        if (cold[i] > room)
            holds = tell_why(why, size,
                             "%" PRIu64 " blocks of object %zu, whose %" PRIu64
                             " bytes have room for %" PRIu64 " at most",
                             cold[i], i, at->objects[i].size, room);
    }
    free(cold);
    return holds;
}

/* ---- what is said of it ---- */

static bool completeness_holds(const fm_profile *of, char *why, size_t size)
{
    static const char ended_by_us[] = "not by itself"; /* fm_run.ending */
    if (of->complete && of->run && of->run->ending && strstr(of->run->ending, ended_by_us))
        return tell_why(why, size, "complete, but the program was %s", of->run->ending);
    if (!of->complete || (of->lost == 0 && !of->what_missing)) return true;
    return tell_why(why, size, "complete, but %" PRIu64 " references are lost%s%s", of->lost,
                    of->what_missing ? ": " : "", of->what_missing ? of->what_missing : "");
}

static bool accuracy_holds(const fm_profile *of, char *why, size_t size)
{
    const fm_accuracy *accuracy = of->accuracy;
    if (!accuracy) return true;
    if (accuracy->references_most > 0 &&
        (of->references < accuracy->references_least || of->references > accuracy->references_most))
        return tell_why(why, size, "%" PRIu64 " references, expected between %" PRIu64 " and %" PRIu64,
                        of->references, accuracy->references_least, accuracy->references_most);
    for (size_t i = 0; i < accuracy->band_count; i++)
        if (!(accuracy->band[i].least >= 0 && accuracy->band[i].least <= accuracy->band[i].most &&
              accuracy->band[i].most <= 1))
            return tell_why(why, size, "a band from %g to %g", accuracy->band[i].least,
                            accuracy->band[i].most);
    return true;
}

static bool phases_hold(const fm_profile *of, char *why, size_t size)
{
    const fm_phases *phases = of->phases;
    if (!phases) return true;
    uint64_t cold = 0, next = 0;
    for (size_t i = 0; i < phases->count; i++) {
        const fm_trace_phase *phase = &phases->phases[i];
        if (phase->begin != next || phase->end < phase->begin || phase->cold > phase->distinct ||
            phase->distinct > phase->end - phase->begin)
            return tell_why(why, size,
                            "phase %zu, from %" PRIu64 " to %" PRIu64 ", has %" PRIu64
                            " distinct blocks and %" PRIu64 " first touches",
                            i + 1, phase->begin, phase->end, phase->distinct, phase->cold);
        next = phase->end;
        cold += phase->cold;
    }
    if (phases->count && of->exact && next == of->references && cold != of->cold)
        return tell_why(why, size, "%" PRIu64 " first touches in phases, %" PRIu64 " in the trace", cold,
                        of->cold);
    return true;
}

/* ---- the table ---- */

static const fm_law laws[] = {
    {"sums", "references == cold + beyond + sum of the histogram", FM_LAWS_ANY, sums_hold},
    {"ranges", "ranges of histograms ascend, and none is empty", FM_LAWS_ANY, ranges_hold},
    {"blocks", "exact: cold <= distinct <= references", FM_LAWS_ANY, blocks_hold},
    {"first touches", "exact: cold == distinct", FM_LAWS_WHOLE, first_touches_hold},
    {"distances", "exact, of a whole trace, or sampled: every distance is below distinct", FM_LAWS_ANY,
     distances_hold},
    {"times", "time distances are from 1 on, and no more than references", FM_LAWS_ANY, times_hold},
    {"attribution",
     "counts of pairs and objects are the sums of their parts, those of all pairs the profile's", FM_LAWS_ANY,
     attribution_holds},
    {"sites", "exact: no site has more late references to objects than late references", FM_LAWS_ANY,
     sites_hold},
    {"objects", "exact: no heap blocks touch more blocks than their sizes have room for", FM_LAWS_ANY,
     objects_hold},
    {"completeness", "nothing is missing of what is complete, and it ended by itself", FM_LAWS_ANY,
     completeness_holds},
    {"accuracy", "bands are miss ratios, and references are between their bounds", FM_LAWS_ANY,
     accuracy_holds},
    {"phases", "phases follow each other, and their first touches are the trace's", FM_LAWS_ANY, phases_hold},
};

const fm_law *fm_law_at(size_t index)
{
    return index < sizeof laws / sizeof *laws ? &laws[index] : NULL;
}

const fm_law *fm_law_broken(const fm_profile *profile, fm_law_scope scope, char *why, size_t size)
{
    if (size) why[0] = '\0';
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        if (laws[i].scope <= scope && !laws[i].holds(profile, why, size)) return &laws[i];
    return NULL;
}

/* ---- several granularities ---- */

const fm_law fm_law_nested = {
    "nesting", "a block is in one that is larger, and has at most as many in it as fit", FM_LAWS_ANY, NULL};

/* Not elements: an access is one of these, whatever bytes it touches. */
static bool can_nest(const fm_profile *of)
{
    return of->cold_known && (of->exact || of->sampling) && of->granularity > 0 && !of->elements;
}

bool fm_footprints_nest(const fm_profile *small, const fm_profile *large, char *why, size_t size)
{
    if (small->granularity > large->granularity) return fm_footprints_nest(large, small, why, size);
    if (!can_nest(small) || !can_nest(large)) return true;
    uint64_t most;
    if (__builtin_mul_overflow(large->distinct, large->granularity / small->granularity, &most))
        most = UINT64_MAX;
    if (large->distinct <= small->distinct && small->distinct <= most &&
        large->references <= small->references)
        return true;
    return tell_why(why, size,
                    "%" PRIu64 " references to %" PRIu64 " blocks of %" PRIu64 " bytes, %" PRIu64
                    " to %" PRIu64 " of %" PRIu64,
                    small->references, small->distinct, small->granularity, large->references,
                    large->distinct, large->granularity);
}

static fm_status fail_by(const fm_law *law, const char *why, const char *path, fm_error *error)
{
    return fm_fail(
        error, FM_E_INTERNAL, path,
        "the result is wrong and is not shown: it breaks the law \"%s\" (%s): %s. This is a fault of "
        "fathom: please report it, with the command line",
        law->name, law->says, why);
}

static fm_status check_parts(const fm_profile *profile, fm_law_scope scope, const char *path, unsigned depth,
                             fm_error *error)
{
    char why[300];
    const fm_law *law = fm_law_broken(profile, scope, why, sizeof why);
    if (law) return fail_by(law, why, path, error);
    for (size_t i = 0; i < profile->part_count && depth < FM_DEEPEST_PART; i++) {
        fm_status status = check_parts(profile->parts[i], scope, path, depth + 1, error);
        if (status) return status;
    }
    return FM_OK;
}

fm_status fm_profile_made(const fm_profile *profile, fm_law_scope scope, const char *path, fm_error *error)
{
    return check_parts(profile, scope, path, 0, error);
}

fm_status fm_profile_check(const fm_profile *const *profiles, size_t count, fm_error *error)
{
    fm_status status = FM_OK;
    char why[300];
    for (size_t i = 0; i < count && status == FM_OK; i++) {
        status = fm_profile_made(profiles[i], FM_LAWS_ANY, NULL, error);
        for (size_t j = 0; j < i && status == FM_OK; j++)
            if (!fm_footprints_nest(profiles[j], profiles[i], why, sizeof why))
                status = fail_by(&fm_law_nested, why, NULL, error);
    }
    return status;
}

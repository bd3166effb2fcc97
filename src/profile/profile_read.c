/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_read.c - profiles from JSON, schema fathom-profile-1 (docs/PROFILE.md).
 *
 * Strict about what it knows: types, ranges, order, and that the numbers add up. A profile that does
 * not is refused as a whole, with a message that names the numbers. Fields it does not know are
 * skipped, so that later versions may add some. Streaming: memory is that of the bins.
 */
#include <fathom/profile.h>

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"
#include "profile/profile_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char schema_family[] = "fathom-profile-";
static const char schema_known[] = "fathom-profile-1";

/* The fields we know, in the order of `fields` below. */
typedef enum field {
    SCHEMA,
    NAME,
    ENGINE,
    EXACT,
    ACCURACY,
    GRANULARITY,
    REFERENCES,
    DISTINCT,
    COLD,
    BOUND,
    BEYOND,
    COLD_KNOWN,
    COMPLETE,
    LOST,
    WHAT_MISSING,
    HISTOGRAM,
    TIMES,
    BINS,
    PHASES,
    RUN,
    KERNEL,
    COUNTS,
    SAMPLING,
    ATTRIBUTION,
    PARTS,
    PROFILES,
    CACHES,
    ELEMENTS,
    FIELDS,
} field;

static const struct {
    const char *name;
    bool required;
} fields[FIELDS] = {
    [SCHEMA] = {"schema", true},
    [NAME] = {"name", false},
    [ENGINE] = {"engine", true},
    [EXACT] = {"exact", true},
    [ACCURACY] = {"accuracy", false},
    [GRANULARITY] = {"granularity", true},
    [REFERENCES] = {"references", true},
    [DISTINCT] = {"distinct", true},
    [COLD] = {"cold", true},
    [BOUND] = {"bound", false},
    [BEYOND] = {"beyond", false},
    [COLD_KNOWN] = {"cold_known", false},
    [COMPLETE] = {"complete", true},
    [LOST] = {"lost", true},
    [WHAT_MISSING] = {"what_missing", false},
    [HISTOGRAM] = {"histogram", true},
    [TIMES] = {"times", false},
    [BINS] = {"bins", false},
    [PHASES] = {"phases", false},
    [RUN] = {"run", false},
    [KERNEL] = {"kernel", false},
    [COUNTS] = {"counts", false},
    [SAMPLING] = {"sampling", false},
    [ATTRIBUTION] = {"attribution", false},
    [PARTS] = {"parts", false},
    [PROFILES] = {"profiles", false},
    [CACHES] = {"caches", false},
    [ELEMENTS] = {"elements", false},
};

/* One object on its way to a profile: `where` says which, for messages ("" or "profiles[2]."). */
typedef struct source {
    fm_json_scan *scan;
    const char *where;
    fm_profile *profile;
    fm_profile_list *list; /* takes "profiles"; NULL inside of that */
    unsigned depth;        /* how many profiles it is a part of */
    unsigned seen;         /* bits of the fields so far */
} source;

/* Something about the whole profile, not about one place in the file. */
#define REFUSE(from, ...) fm_fail((from)->scan->error, FM_E_FORMAT, (from)->scan->path, __VA_ARGS__)

/* ---- fields ---- */

/* Text out of the file, short and fit for a terminal. */
typedef struct excerpt {
    char text[41];
} excerpt;

static excerpt reader_quote(const char *text)
{
    excerpt quoted;
    size_t length = strnlen(text, sizeof quoted.text - 1);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        quoted.text[i] = byte < 0x20 || byte > 0x7E ? '?' : text[i];
    }
    quoted.text[length] = '\0';
    return quoted;
}

static fm_status read_schema(source *from, const char *what)
{
    char *name = NULL;
    fm_status status = fm_json_text(from->scan, what, &name);
    if (status) return status;
    excerpt shown = reader_quote(name);
    bool known = strcmp(name, schema_known) == 0;
    bool family = strncmp(name, schema_family, sizeof schema_family - 1) == 0;
    free(name);
    if (known) return FM_OK;
    if (family)
        return fm_fail(from->scan->error, FM_E_UNSUPPORTED, from->scan->path,
                       "%s: this version reads %s, found '%s': written by a later version?", what,
                       schema_known, shown.text);
    return fm_json_refuse(from->scan, "%s: expected %s, found '%s'", what, schema_known, shown.text);
}

static fm_status read_bin(source *from, const char *what, fm_bin *bin)
{
    fm_json_scan *scan = from->scan;
    fm_json_kind kind;
    fm_json_list list;
    fm_status status = fm_json_peek(scan, &kind);
    if (status) return status;
    if (kind != FM_JSON_ARRAY)
        return fm_json_refuse(scan, "%s: expected [lo, hi, count], found %s", what, fm_json_kind_name(kind));
    status = fm_json_enter(scan, &list);
    uint64_t *const numbers[] = {&bin->lo, &bin->hi, &bin->count};
    size_t count = 0;
    while (!status) {
        bool more;
        status = fm_json_more(scan, &list, &more);
        if (status || !more) break;
        if (count == 3) return fm_json_refuse(scan, "%s: expected [lo, hi, count], found more numbers", what);
        status = fm_json_whole(scan, what, numbers[count++]);
    }
    if (status) return status;
    if (count < 3)
        return fm_json_refuse(scan, "%s: expected [lo, hi, count], found %zu numbers", what, count);
    if (bin->lo > bin->hi)
        return fm_json_refuse(scan, "%s: expected lo <= hi, found %" PRIu64 " and %" PRIu64, what, bin->lo,
                              bin->hi);
    if (bin->count == 0) return fm_json_refuse(scan, "%s: expected a count from 1 on, found 0", what);
    return FM_OK;
}

static fm_status read_histogram(source *from, const char *what, fm_histogram *histogram)
{
    fm_json_kind kind;
    fm_json_list list;
    fm_status status = fm_json_peek(from->scan, &kind);
    if (status) return status;
    if (kind != FM_JSON_ARRAY)
        return fm_json_refuse(from->scan, "%s: expected an array, found %s", what, fm_json_kind_name(kind));
    status = fm_json_enter(from->scan, &list);
    size_t capacity = 0;
    while (!status) {
        bool more;
        status = fm_json_more(from->scan, &list, &more);
        if (status || !more) break;
        void *grown = histogram->bins;
        if (fm_array_reserve(&grown, &capacity, histogram->count + 1, sizeof(fm_bin)))
            return fm_fail_memory(from->scan->error, (uint64_t)(histogram->count + 1) * sizeof(fm_bin),
                                  "a histogram");
        histogram->bins = grown;
        fm_bin *bin = &histogram->bins[histogram->count];
        char which[160];
        snprintf(which, sizeof which, "%s[%zu]", what, histogram->count);
        status = read_bin(from, which, bin);
        if (!status && histogram->count && bin->lo <= bin[-1].hi)
            status = fm_json_refuse(
                from->scan, "%s: expected ascending, separate ranges, found %" PRIu64 " after %" PRIu64,
                which, bin->lo, bin[-1].hi);
        if (!status) histogram->count++;
    }
    return status;
}

static fm_status read_resolution(source *from, const char *what, fm_bins *bins)
{
    char *name = NULL;
    fm_status status = fm_json_text(from->scan, what, &name);
    if (status) return status;
    bool known = fm_bins_from_name(name, bins);
    excerpt shown = reader_quote(name);
    free(name);
    if (known) return FM_OK;
    return fm_json_refuse(from->scan, "%s: expected exact, loglinear or log2, found '%s'", what, shown.text);
}

static fm_status read_profiles(source *from, const char *what);
static fm_status read_parts(source *from, const char *what);

static fm_status read_field(source *from, field which)
{
    fm_profile *profile = from->profile;
    fm_json_scan *scan = from->scan;
    char what[128];
    snprintf(what, sizeof what, "\"%s%s\"", from->where, fields[which].name);
    if (from->seen & 1u << which) return fm_json_refuse(scan, "%s is given twice", what);
    from->seen |= 1u << which;
    switch (which) {
    case SCHEMA:
        return read_schema(from, what);
    case NAME:
        return fm_json_optional_text(scan, what, &profile->name);
    case ENGINE:
        return fm_json_text(scan, what, &profile->engine);
    case EXACT:
        return fm_json_truth(scan, what, &profile->exact);
    case ACCURACY:
        return fm_accuracy_read(scan, from->where, &profile->accuracy);
    case GRANULARITY:
        return fm_json_whole(scan, what, &profile->granularity);
    case ELEMENTS:
        return fm_json_truth(scan, what, &profile->elements);
    case REFERENCES:
        return fm_json_whole(scan, what, &profile->references);
    case DISTINCT:
        return fm_json_whole(scan, what, &profile->distinct);
    case COLD:
        return fm_json_whole(scan, what, &profile->cold);
    case BOUND:
        return fm_json_whole(scan, what, &profile->bound);
    case BEYOND:
        return fm_json_whole(scan, what, &profile->beyond);
    case COLD_KNOWN:
        return fm_json_truth(scan, what, &profile->cold_known);
    case COMPLETE:
        return fm_json_truth(scan, what, &profile->complete);
    case LOST:
        return fm_json_whole(scan, what, &profile->lost);
    case WHAT_MISSING:
        return fm_json_optional_text(scan, what, &profile->what_missing);
    case HISTOGRAM:
        return read_histogram(from, what, &profile->distances);
    case TIMES:
        profile->has_times = true;
        return read_histogram(from, what, &profile->times);
    case BINS:
        return read_resolution(from, what, &profile->bins);
    case PHASES:
        return fm_phases_read(scan, from->where, &profile->phases);
    case RUN:
        return fm_run_read(scan, from->where, &profile->run);
    case KERNEL:
    case COUNTS:
        return fm_kernel_read(scan, from->where, which == COUNTS, &profile->kernel);
    case SAMPLING:
        return fm_sampling_read(scan, from->where, &profile->sampling);
    case ATTRIBUTION:
        return fm_attribution_read(scan, from->where, &profile->attribution);
    case PARTS:
        return read_parts(from, what);
    case PROFILES:
        return read_profiles(from, what);
    case CACHES:
        return fm_caches_read(scan, from->where, profile);
    case FIELDS:
        break;
    }
    return FM_OK;
}

/* ---- what must hold for the whole ---- */

/* Whether every range is a bin of this resolution; under a bound, also one cut short by it. */
static bool reader_fits(const fm_histogram *histogram, fm_bins bins, uint64_t bound, const fm_bin **misfit)
{
    for (size_t i = 0; i < histogram->count; i++) {
        const fm_bin *bin = &histogram->bins[i];
        uint64_t lo, hi;
        fm_bins_range(bins, fm_bins_index(bins, bin->lo), &lo, &hi);
        if (bin->lo != lo || (bin->hi != hi && !(bound && bound <= hi && bin->hi == bound - 1))) {
            *misfit = bin;
            return false;
        }
    }
    return true;
}

static fm_status check_resolution(const source *from)
{
    fm_profile *profile = from->profile;
    const fm_bin *misfit = NULL;
    if (!(from->seen & 1u << BINS)) {
        /* A file written by others may leave it out: take the finest that fits. */
        static const fm_bins finest_first[] = {FM_BINS_EXACT, FM_BINS_LOGLINEAR, FM_BINS_LOG2};
        for (size_t i = 0; i < 3; i++) {
            profile->bins = finest_first[i];
            if (reader_fits(&profile->distances, profile->bins, profile->bound, &misfit) &&
                reader_fits(&profile->times, profile->bins, 0, &misfit))
                return FM_OK;
        }
    }
    bool distances_fit = reader_fits(&profile->distances, profile->bins, profile->bound, &misfit);
    if (distances_fit && reader_fits(&profile->times, profile->bins, 0, &misfit)) return FM_OK;
    return REFUSE(from, "\"%s%s\": %" PRIu64 " to %" PRIu64 " is not a bin of the resolution '%s'",
                  from->where, distances_fit ? "times" : "histogram", misfit->lo, misfit->hi,
                  fm_bins_name(profile->bins));
}

static fm_status check_profile(const source *from)
{
    const fm_profile *profile = from->profile;
    for (size_t i = 0; i < FIELDS; i++)
        if (fields[i].required && !(from->seen & 1u << i))
            return REFUSE(from, "expected the field \"%s%s\", found none", from->where, fields[i].name);
    if (profile->granularity == 0 || (profile->granularity & (profile->granularity - 1)))
        return REFUSE(from, "\"%sgranularity\": expected a power of two, found %" PRIu64, from->where,
                      profile->granularity);
    if (profile->elements && profile->granularity != 1)
        return REFUSE(from, "\"%selements\" is true, but \"granularity\" is %" PRIu64 ", not 1", from->where,
                      profile->granularity);
    if (profile->beyond && !profile->bound)
        return REFUSE(from, "\"%sbeyond\" is %" PRIu64 ", but there is no \"bound\"", from->where,
                      profile->beyond);
    uint64_t counted, sum;
    if (!fm_histogram_total(&profile->distances, &counted) ||
        __builtin_add_overflow(counted, profile->cold, &sum) ||
        __builtin_add_overflow(sum, profile->beyond, &sum))
        return REFUSE(from, "the counts of \"%shistogram\", \"cold\" and \"beyond\" exceed 64 bits together",
                      from->where);
    if (sum != profile->references)
        return REFUSE(from,
                      "the numbers do not add up: \"%sreferences\" is %" PRIu64 ", but cold %" PRIu64
                      " + beyond %" PRIu64 " + histogram %" PRIu64 " = %" PRIu64,
                      from->where, profile->references, profile->cold, profile->beyond, counted, sum);
    const fm_histogram *distances = &profile->distances;
    if (profile->bound && distances->count && distances->bins[distances->count - 1].lo >= profile->bound)
        return REFUSE(from, "\"%shistogram\": distance %" PRIu64 " is not below the bound %" PRIu64,
                      from->where, distances->bins[distances->count - 1].lo, profile->bound);
    if (!fm_histogram_total(&profile->times, &counted) || counted > profile->references)
        return REFUSE(from, "\"%stimes\" counts more than the %" PRIu64 " references", from->where,
                      profile->references);
    fm_status status = check_resolution(from);
    char why[300];
    if (!status && profile->attribution && !fm_attribution_sound(profile, why, sizeof why))
        return REFUSE(from, "\"%sattribution\": %s", from->where, why);
    const fm_law *law = status ? NULL : fm_law_broken(profile, FM_LAWS_ANY, why, sizeof why);
    if (law)
        return REFUSE(from, "%s%sthe profile breaks the law \"%s\" (%s): %s", from->where,
                      *from->where ? " " : "", law->name, law->says, why);
    return status;
}

/* ---- objects ---- */

static fm_status read_object(source *from)
{
    fm_json_scan *scan = from->scan;
    fm_json_kind kind;
    fm_json_list list;
    fm_status status = fm_json_peek(scan, &kind);
    if (status) return status;
    if (kind != FM_JSON_OBJECT)
        return fm_json_refuse(scan, "expected a profile, which is an object, found %s",
                              fm_json_kind_name(kind));
    status = fm_json_enter(scan, &list);
    while (!status) {
        bool more;
        char key[32];
        status = fm_json_field(scan, &list, key, sizeof key, &more);
        if (status || !more) break;
        size_t which = 0;
        while (which < FIELDS && strcmp(fields[which].name, key) != 0) which++;
        bool known = which < FIELDS && !(which == PROFILES && !from->list);
        status = known ? read_field(from, (field)which) : fm_json_skip(scan);
    }
    return status ? status : check_profile(from);
}

static fm_status read_profile(source *from)
{
    fm_status status = fm_profile_create(&from->profile, from->scan->error);
    if (status) return status;
    status = read_object(from);
    if (status) {
        fm_profile_destroy(from->profile);
        from->profile = NULL;
    }
    return status;
}

/* Takes the profile over, also when it fails. */
static fm_status reader_append(fm_json_scan *scan, fm_profile ***profiles, size_t *count, fm_profile *profile)
{
    fm_profile **grown = NULL;
    if (*count < SIZE_MAX / sizeof *grown - 1) grown = realloc(*profiles, (*count + 1) * sizeof *grown);
    if (!grown) {
        fm_profile_destroy(profile);
        return fm_fail_memory(scan->error, (uint64_t)(*count + 1) * sizeof *grown, "the list of profiles");
    }
    *profiles = grown;
    grown[(*count)++] = profile;
    return FM_OK;
}

/* An array of profiles, called `name` in messages. */
static fm_status read_array(source *from, const char *what, const char *name, unsigned depth,
                            fm_profile ***profiles, size_t *count)
{
    fm_json_list brackets;
    fm_status status = fm_json_enter_array(from->scan, what, &brackets);
    while (!status) {
        bool more;
        status = fm_json_more(from->scan, &brackets, &more);
        if (status || !more) break;
        char where[96];
        snprintf(where, sizeof where, "%s%s[%zu].", from->where, name, *count);
        source element = {.scan = from->scan, .where = where, .depth = depth};
        status = read_profile(&element);
        if (!status) status = reader_append(from->scan, profiles, count, element.profile);
    }
    return status;
}

static fm_status read_profiles(source *from, const char *what)
{
    fm_status status = read_array(from, what, "profiles", 0, &from->list->profiles, &from->list->count);
    if (!status && from->list->count == 0)
        return fm_json_refuse(from->scan, "%s: expected at least one profile, found none", what);
    return status;
}

static fm_status read_parts(source *from, const char *what)
{
    if (from->depth == FM_DEEPEST_PART)
        return fm_json_refuse(from->scan, "%s: expected parts of parts to a depth of %d, found deeper ones",
                              what, (int)FM_DEEPEST_PART);
    return read_array(from, what, "parts", from->depth + 1, &from->profile->parts,
                      &from->profile->part_count);
}

/* What does not even begin as JSON is another kind of file: said so, not as a mistake in a profile. */
static fm_status say_other_kind(fm_status status, fm_error *error)
{
    static const char value[] = "expected a JSON value, ";
    if (status != FM_E_FORMAT || !error || error->offset != 0) return status;
    if (strncmp(error->reason, value, sizeof value - 1) != 0) return status;
    char found[sizeof error->reason];
    memcpy(found, error->reason + sizeof value - 1, sizeof found - (sizeof value - 1));
    snprintf(error->reason, sizeof error->reason, "expected a profile in JSON, %.400s", found);
    return status;
}

fm_status fm_profile_read(const char *path, fm_profile_list *list, fm_error *error)
{
    list->count = 0;
    list->profiles = NULL;
    fm_json_scan *scan = malloc(sizeof *scan);
    if (!scan) return fm_fail_memory(error, sizeof *scan, "reading a profile");
    fm_status status = fm_json_scan_open(scan, path, error);
    if (!status) {
        source top = {.scan = scan, .where = "", .list = list};
        status = read_profile(&top);
        if (!status) status = fm_json_end(scan);
        if (!status && list->count == 0)
            status = reader_append(scan, &list->profiles, &list->count, top.profile);
        else
            fm_profile_destroy(top.profile); /* "profiles" has it again */
        fm_json_scan_close(scan);
    }
    free(scan);
    if (status) fm_profile_list_clear(list);
    return say_other_kind(status, error);
}

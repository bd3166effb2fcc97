/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_json.c - profiles from and to JSON, schema fathom-profile-1 (docs/PROFILE.md).
 *
 * Reading is strict about what it knows: types, ranges, order, and that the numbers add up. A profile that
 * does not is refused as a whole, with a message that names the numbers. Fields it does not know are skipped,
 * so that later versions may add some. Both stream: memory is that of the bins, there is no tree of the text.
 */
#include <fathom/output.h>
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

/* ======== fields ======== */

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

static fm_status read_schema(fm_json_scan *scan, const char *what, void *profile)
{
    (void)profile;
    char *name = NULL;
    fm_status status = fm_json_text(scan, what, &name);
    if (status) return status;
    excerpt shown = reader_quote(name);
    bool known = strcmp(name, schema_known) == 0;
    bool family = strncmp(name, schema_family, sizeof schema_family - 1) == 0;
    free(name);
    if (known) return FM_OK;
    if (family)
        return fm_fail(scan->error, FM_E_UNSUPPORTED, scan->path,
                       "%s: this version reads %s, found '%s': written by a later version?", what,
                       schema_known, shown.text);
    return fm_json_refuse(scan, "%s: expected %s, found '%s'", what, schema_known, shown.text);
}

static fm_status read_bin(fm_json_scan *scan, const char *what, fm_bin *bin)
{
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

static fm_status read_histogram(fm_json_scan *scan, const char *what, void *at)
{
    fm_histogram *histogram = at;
    fm_json_kind kind;
    fm_json_list list;
    fm_status status = fm_json_peek(scan, &kind);
    if (status) return status;
    if (kind != FM_JSON_ARRAY)
        return fm_json_refuse(scan, "%s: expected an array, found %s", what, fm_json_kind_name(kind));
    status = fm_json_enter(scan, &list);
    size_t capacity = 0;
    while (!status) {
        bool more;
        status = fm_json_more(scan, &list, &more);
        if (status || !more) break;
        void *grown = histogram->bins;
        if (fm_array_reserve(&grown, &capacity, histogram->count + 1, sizeof(fm_bin)))
            return fm_fail_memory(scan->error, (uint64_t)(histogram->count + 1) * sizeof(fm_bin),
                                  "a histogram");
        histogram->bins = grown;
        fm_bin *bin = &histogram->bins[histogram->count];
        char which[160];
        snprintf(which, sizeof which, "%s[%zu]", what, histogram->count);
        status = read_bin(scan, which, bin);
        if (!status && histogram->count && bin->lo <= bin[-1].hi)
            status = fm_json_refuse(
                scan, "%s: expected ascending, separate ranges, found %" PRIu64 " after %" PRIu64, which,
                bin->lo, bin[-1].hi);
        if (!status) histogram->count++;
    }
    return status;
}

static fm_status read_times(fm_json_scan *scan, const char *what, void *at)
{
    fm_profile *profile = at;
    profile->has_times = true;
    return read_histogram(scan, what, &profile->times);
}

static fm_status read_resolution(fm_json_scan *scan, const char *what, void *at)
{
    fm_bins *bins = at;
    char *name = NULL;
    fm_status status = fm_json_text(scan, what, &name);
    if (status) return status;
    bool known = fm_bins_from_name(name, bins);
    excerpt shown = reader_quote(name);
    free(name);
    if (known) return FM_OK;
    return fm_json_refuse(scan, "%s: expected exact, loglinear or log2, found '%s'", what, shown.text);
}

static void write_schema(fm_json_fields *of, const char *name, const void *profile)
{
    (void)profile;
    fm_json_text_field(of, name, schema_known);
}

static void write_histogram(fm_json_fields *of, const char *name, const void *at)
{
    const fm_histogram *histogram = at;
    fm_json_begin_field(of, name);
    putc('[', of->out);
    for (size_t i = 0; i < histogram->count && !ferror(of->out); i++) {
        const fm_bin *bin = &histogram->bins[i];
        fprintf(of->out, "%s\n%s    [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", i ? "," : "", of->indent,
                bin->lo, bin->hi, bin->count);
    }
    if (histogram->count) fprintf(of->out, "\n%s  ", of->indent);
    putc(']', of->out);
}

static void write_times(fm_json_fields *of, const char *name, const void *profile)
{
    write_histogram(of, name, &((const fm_profile *)profile)->times);
}

static void write_stages(fm_json_fields *of, const char *name, const void *at)
{
    const fm_profile *profile = at;
    fm_json_begin_field(of, name);
    putc('[', of->out);
    for (size_t i = 0; i < profile->stage_count; i++)
        fprintf(of->out, "%s{\"name\": \"%s\", \"seconds\": %.6f}", i ? ", " : "", profile->stages[i].name,
                profile->stages[i].seconds);
    putc(']', of->out);
}

static void write_resolution(fm_json_fields *of, const char *name, const void *at)
{
    fm_json_text_field(of, name, fm_bins_name(*(const fm_bins *)at));
}

/* Whether a field is written that is not there by its own value alone. */
#define GIVEN(name, condition)                                                                               \
    static bool name(const void *object)                                                                     \
    {                                                                                                        \
        const fm_profile *profile = object;                                                                  \
        return condition;                                                                                    \
    }
GIVEN(bound_given, profile->bound)
GIVEN(times_given, profile->has_times)
GIVEN(stages_given, profile->stage_count)
GIVEN(phases_given, profile->phases)
GIVEN(counts_given, profile->kernel && (profile->kernel->loads || profile->kernel->stores ||
                                        profile->kernel->flops || profile->kernel->integer_operations))
GIVEN(caches_given, profile->cache_count)
GIVEN(bounds_given, profile->bounds)
GIVEN(sets_given, profile->set_count)

/* What is `always` there must be there when a profile is read, too. attribution, parts and profiles, which
 * may be large and hold profiles, are read and written below. */
#define AT(field) offsetof(fm_profile, field)
static const fm_json_member profile_members[] = {
    {"schema", FM_JSON_OTHER, 0, true, .read = read_schema, .write = write_schema},
    FM_JSON_FIELD(fm_profile, name, OPTIONAL_TEXT),
    FM_JSON_ALWAYS(fm_profile, engine, TEXT),
    FM_JSON_ALWAYS(fm_profile, exact, BOOL),
    {"accuracy", FM_JSON_STRUCT, AT(accuracy), .table = &fm_accuracy_json},
    {"sampling", FM_JSON_STRUCT, AT(sampling), .table = &fm_sampling_json},
    FM_JSON_ALWAYS(fm_profile, granularity, WHOLE),
    FM_JSON_FIELD(fm_profile, elements, BOOL),
    FM_JSON_ALWAYS(fm_profile, references, WHOLE),
    FM_JSON_ALWAYS(fm_profile, distinct, WHOLE),
    FM_JSON_ALWAYS(fm_profile, cold, WHOLE),
    FM_JSON_FIELD(fm_profile, bound, WHOLE),
    {"beyond", FM_JSON_WHOLE, AT(beyond), .given = bound_given},
    {"cold_known", FM_JSON_BOOL, AT(cold_known), .given = bound_given},
    FM_JSON_ALWAYS(fm_profile, complete, BOOL),
    FM_JSON_ALWAYS(fm_profile, lost, WHOLE),
    FM_JSON_FIELD(fm_profile, what_missing, OPTIONAL_TEXT),
    {"histogram", FM_JSON_OTHER, AT(distances), true, .read = read_histogram, .write = write_histogram},
    {"times", FM_JSON_OTHER, 0, .read = read_times, .write = write_times, .given = times_given},
    {"stages", FM_JSON_OTHER, 0, .only_written = true, .write = write_stages, .given = stages_given},
    {"bins", FM_JSON_OTHER, AT(bins), .read = read_resolution, .write = write_resolution},
    {"phases", FM_JSON_STRUCT, AT(phases), .table = &fm_phases_json, .write = fm_phases_write,
     .given = phases_given},
    {"run", FM_JSON_STRUCT, AT(run), .table = &fm_run_json},
    {"kernel", FM_JSON_STRUCT, AT(kernel), .table = &fm_kernel_json},
    {"counts", FM_JSON_STRUCT, AT(kernel), .table = &fm_counts_json, .given = counts_given},
    {"caches", FM_JSON_OTHER, 0, .read = fm_caches_read, .write = fm_caches_write, .given = caches_given},
    {"bounds", FM_JSON_OTHER, AT(bounds), .only_written = true, .write = fm_bounds_write,
     .given = bounds_given},
    {"set_associative", FM_JSON_OTHER, 0, .only_written = true, .write = fm_set_misses_write,
     .given = sets_given},
    {"addresses", FM_JSON_OPTIONAL_TEXT, AT(addresses), .only_written = true, .given = sets_given},
    {.name = "attribution"},
    {.name = "parts"},
    {.name = "profiles"},
};
#undef AT
const fm_json_table fm_profile_json = {"a profile", sizeof(fm_profile), FM_JSON_LIST(profile_members)};

/* The bit of a member in source.seen. */
static uint64_t member_bit(const char *name)
{
    return UINT64_C(1) << (fm_json_find_member(&fm_profile_json, name) - profile_members);
}

/* ======== reading ======== */

/* One object on its way to a profile: `where` says which, for messages ("" or "profiles[2]."). */
typedef struct source {
    fm_json_scan *scan;
    const char *where;
    fm_profile *profile;
    fm_profile_list *list; /* takes "profiles"; NULL inside of that */
    unsigned depth;        /* how many profiles it is a part of */
    uint64_t seen;         /* bits of the members so far */
} source;

/* Something about the whole profile, not about one place in the file. */
#define REFUSE(from, ...) fm_fail((from)->scan->error, FM_E_FORMAT, (from)->scan->path, __VA_ARGS__)

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
    if (!(from->seen & member_bit("bins"))) {
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
    for (size_t i = 0; i < fm_profile_json.count; i++)
        if (profile_members[i].always && !(from->seen & UINT64_C(1) << i))
            return REFUSE(from, "expected the field \"%s%s\", found none", from->where,
                          profile_members[i].name);
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

static fm_status read_profiles(source *from, const char *what);
static fm_status read_parts(source *from, const char *what);

static fm_status read_field(source *from, const char *key)
{
    fm_json_scan *scan = from->scan;
    const fm_json_member *member = fm_json_find_member(&fm_profile_json, key);
    const bool profiles = strcmp(key, "profiles") == 0;
    char what[128];
    if (!member || (profiles && !from->list)) return fm_json_skip(scan);
    snprintf(what, sizeof what, "\"%s%s\"", from->where, key);
    if (from->seen & member_bit(key)) return fm_json_refuse(scan, "%s is given twice", what);
    from->seen |= member_bit(key);
    if (profiles) return read_profiles(from, what);
    if (strcmp(key, "parts") == 0) return read_parts(from, what);
    if (strcmp(key, "attribution") == 0)
        return fm_attribution_read(scan, from->where, &from->profile->attribution);
    return fm_json_read_member(scan, what, member, from->profile);
}

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
        status = read_field(from, key);
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

/* ======== writing ======== */

/* A profile that breaks its invariant would be refused by every reader: say so where it is made. */
static fm_status check_before_writing(const char *path, const fm_profile *profile, unsigned depth,
                                      fm_error *error)
{
    uint64_t total, sum;
    if (!fm_histogram_total(&profile->distances, &total) ||
        __builtin_add_overflow(total, profile->cold, &sum) ||
        __builtin_add_overflow(sum, profile->beyond, &sum) || sum != profile->references)
        return fm_fail(error, FM_E_ARGUMENT, path,
                       "the profile does not add up: %" PRIu64 " references, but %" PRIu64 " cold, %" PRIu64
                       " beyond, and the histogram holds the rest wrongly",
                       profile->references, profile->cold, profile->beyond);
    char why[300];
    if (profile->attribution && !fm_attribution_sound(profile, why, sizeof why))
        return fm_fail(error, FM_E_ARGUMENT, path, "the profile's attribution is unsound: %s", why);
    const fm_law *law = fm_law_broken(profile, FM_LAWS_ANY, why, sizeof why);
    if (law)
        return fm_fail(error, FM_E_ARGUMENT, path, "the profile breaks the law \"%s\" (%s): %s", law->name,
                       law->says, why);
    if (profile->part_count && depth == FM_DEEPEST_PART)
        return fm_fail(error, FM_E_ARGUMENT, path, "the profile has parts of parts deeper than %d",
                       (int)FM_DEEPEST_PART);
    for (size_t i = 0; i < profile->part_count; i++) {
        fm_status status = check_before_writing(path, profile->parts[i], depth + 1, error);
        if (status) return status;
    }
    return FM_OK;
}

static fm_status write_profile(FILE *out, const fm_profile *profile, const char *indent, fm_error *error);

/* An array of profiles, each with all its fields. */
static fm_status write_profiles(fm_json_fields *of, const char *key, const fm_profile *const *profiles,
                                size_t count, fm_error *error)
{
    char inner[40]; /* as deep as anyone can read; deeper ones are not indented further */
    snprintf(inner, sizeof inner, "%s    ", of->indent);
    fm_status status = FM_OK;
    fm_json_begin_field(of, key);
    putc('[', of->out);
    for (size_t i = 0; i < count && !status && !ferror(of->out); i++) {
        fprintf(of->out, "%s\n%s", i ? "," : "", inner);
        status = write_profile(of->out, profiles[i], inner, error);
    }
    fprintf(of->out, "\n%s  ]", of->indent);
    return status;
}

static fm_status write_profile(FILE *out, const fm_profile *profile, const char *indent, fm_error *error)
{
    fm_json_fields of = {out, indent, false};
    fm_status status = FM_OK;
    char inner[48];
    putc('{', out);
    fm_json_write_members(&of, &fm_profile_json, profile);
    if (profile->attribution) {
        snprintf(inner, sizeof inner, "%s  ", indent);
        fm_json_begin_field(&of, "attribution");
        status = fm_attribution_write(out, profile->attribution, inner, error);
    }
    if (!status && profile->part_count)
        status = write_profiles(&of, "parts", (const fm_profile *const *)profile->parts, profile->part_count,
                                error);
    fprintf(out, "\n%s}", indent);
    return status;
}

fm_status fm_profile_write(const char *path, const fm_profile *const *profiles, size_t count, fm_error *error)
{
    if (count == 0) return fm_fail(error, FM_E_ARGUMENT, path, "no profile to write");
    for (size_t i = 0; i < count; i++) {
        fm_status status = check_before_writing(path, profiles[i], 0, error);
        if (status) return status;
    }
    fm_output *output;
    fm_status status = fm_output_open(&output, path, error);
    if (status) return status;
    FILE *out = fm_output_stream(output);
    if (count == 1) {
        status = write_profile(out, profiles[0], "", error);
    } else {
        /* Attribution and parts, which may be large, only where all fields are. */
        fm_json_fields of = {out, "", false};
        putc('{', out);
        fm_json_write_members(&of, &fm_profile_json, profiles[0]);
        status = write_profiles(&of, "profiles", profiles, count, error);
        fputs("\n}", out);
    }
    putc('\n', out);
    if (status) {
        fm_output_abandon(output);
        return status;
    }
    return fm_output_commit(output, error);
}

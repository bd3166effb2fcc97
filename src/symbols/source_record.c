/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_record.c - fm_attribution_record_sources: what the source files of an attribution are at this
 * moment, as checksums and, if asked, as text. The names are those of the debug information.
 */
#include <fathom/attribution.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/plain_text.h"
#include "base/table.h"
#include "profile/attribution_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Texts of more than this together are left out, the sums are not: a profile is for reading again. */
enum { TEXT_OF_ALL = 128 << 20 };

typedef struct recorder {
    fm_attribution *attribution;
    bool with_text;
    size_t text_left;
    fm_table numbers;        /* by interned path */
    fm_source *sources;      /* while they are gathered, from malloc */
    struct timespec *built;  /* by source: the latest of the files with its code; 0: not known */
    struct timespec *module; /* by module: when it was built; 0: not known */
    size_t count, source_room, built_room;
    size_t line_sum_room;
    size_t newer;
    const char *first_newer;
} recorder;

static fm_status no_memory(fm_error *error)
{
    return fm_fail_memory(error, 1 << 16, "the checksums of source files");
}

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* A profile has names as UTF-8: others would not be found again. */
static bool is_utf8(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        uint32_t character;
        size_t length = fm_utf8_decode((const unsigned char *)text, left, &character);
        if (length == 0) return false;
        text += length;
        left -= length;
    }
    return true;
}

/* ---- which files ---- */

static bool look_at_modules(recorder *r)
{
    const fm_attribution *of = r->attribution;
    r->module = fm_calloc(of->module_count, sizeof *r->module);
    if (!r->module) return false;
    for (size_t i = 0; i < of->module_count; i++) {
        struct stat about;
        const char *path = of->modules[i].path;
        if (path && path[0] == '/' && stat(path, &about) == 0 && S_ISREG(about.st_mode))
            r->module[i] = about.st_mtim;
    }
    return true;
}

static bool add_file(recorder *r, const char *file, uint32_t module)
{
    const char *path = fm_attribution_intern(r->attribution, file);
    if (!path || fm_array_reserve((void **)&r->sources, &r->source_room, r->count + 1, sizeof *r->sources) ||
        fm_array_reserve((void **)&r->built, &r->built_room, r->count + 1, sizeof *r->built))
        return false;
    uint32_t number = fm_table_add(&r->numbers, &path);
    if (number == FM_KEY_NONE) return false;
    if (number == r->count) {
        r->sources[r->count] = (fm_source){.path = path};
        r->built[r->count++] = (struct timespec){0};
    }
    if (module < r->attribution->module_count && is_later(r->module[module], r->built[number]))
        r->built[number] = r->module[module];
    return true;
}

/* Relative names of debug information are relative to a folder that nobody knows any more: a file of that
 * name in this one would be another. Places in a source that was read (FM_NONE) were found from here. */
static bool may_be_found(const fm_site *site, const char *file)
{
    return file && (file[0] == '/' || site->module == FM_NONE);
}

static bool find_files(recorder *r)
{
    const fm_attribution *of = r->attribution;
    const fm_frame *before = NULL; /* sites share frames */
    for (size_t i = 0; i < of->site_count; i++) {
        const fm_site *site = &of->sites[i];
        if (site->frame_count == 0 || site->frames == before) continue;
        before = site->frames;
        for (size_t j = 0; j < site->frame_count; j++)
            if (may_be_found(site, site->frames[j].file) && !add_file(r, site->frames[j].file, site->module))
                return false;
    }
    return true;
}

/* ---- what they are ---- */

/* Leaves source->sha256 NULL where the file cannot be read. */
static fm_status read_file(recorder *r, size_t number, fm_error *error)
{
    fm_source *source = &r->sources[number];
    fm_text_file file;
    char sum[FM_SHA256_TEXT];
    if (!is_utf8(source->path)) return FM_OK;
    fm_status status = fm_text_file_read(&file, source->path, UINT64_MAX, error);
    if (status == FM_OK && !*file.why) {
        fm_sha256_text(file.bytes, file.size, sum);
        source->size = file.size;
        source->sha256 = fm_attribution_intern(r->attribution, sum);
        if (!source->sha256 ||
            !fm_line_sums_record(r->attribution, &r->line_sum_room, source->path, file.bytes, file.size))
            status = no_memory(error);
        source->newer = r->built[number].tv_sec != 0 && is_later(file.modified, r->built[number]);
        if (source->newer && r->newer++ == 0) r->first_newer = source->path;
    }
    if (status == FM_OK && source->sha256 && r->with_text && file.size <= r->text_left) {
        char *text = fm_attribution_allocate(r->attribution, file.size + 1, 1);
        if (text) memcpy(text, file.bytes, file.size);
        source->text = text;
        r->text_left -= file.size;
        if (!text) status = no_memory(error);
    }
    fm_text_file_clear(&file);
    return status;
}

static void note_newer(const recorder *r, FILE *notes)
{
    if (!notes || r->newer == 0) return;
    fputs(fm_base_name(r->first_newer), notes);
    if (r->newer > 1) fprintf(notes, " and %zu other source file%s", r->newer - 1, r->newer > 2 ? "s" : "");
    fputs(": changed after the program was built: lines may have moved; build it again\n", notes);
}

static fm_status store_sources(recorder *r, fm_error *error)
{
    fm_attribution *of = r->attribution;
    size_t known = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->sources[i].sha256) r->sources[known++] = r->sources[i];
    fm_source *kept = fm_attribution_allocate(of, known, sizeof *kept);
    if (!kept) return no_memory(error);
    if (known) memcpy(kept, r->sources, known * sizeof *kept);
    fm_sources_sort(kept, known);
    of->sources = kept;
    of->source_count = known;
    fm_line_sums_sort(of);
    return FM_OK;
}

fm_status fm_attribution_record_sources(fm_attribution *attribution, bool with_text, FILE *notes,
                                        fm_error *error)
{
    FM_REQUIRE(attribution, error);
    recorder r = {.attribution = attribution,
                  .with_text = with_text,
                  .text_left = TEXT_OF_ALL,
                  .numbers = FM_TABLE_OF(char *)};
    attribution->line_sum_count = 0; /* recorded anew */
    attribution->line_sums = NULL;
    fm_status status = look_at_modules(&r) && find_files(&r) ? FM_OK : no_memory(error);
    for (size_t i = 0; i < r.count && status == FM_OK; i++) status = read_file(&r, i, error);
    if (status == FM_OK) status = store_sources(&r, error);
    if (status == FM_OK) note_newer(&r, notes);
    fm_table_clear(&r.numbers);
    free(r.sources);
    free(r.built);
    free(r.module);
    return status;
}

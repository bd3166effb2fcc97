/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.c - one self-contained HTML page: the template web/report.html with its parts put in.
 *
 * A part stands in the template as @@name@@. Everything that comes from a profile goes into the page
 * as JSON (report_data.c) and is shown as text by the page's script; only the title is also written
 * as HTML here, escaped.
 */
#include <fathom/view.h>

#include "base/base_name.h"
#include "base/error.h"

bool fm_report_available(void)
{
#ifdef FATHOM_HAS_REPORT
    return true;
#else
    return false;
#endif
}

#ifdef FATHOM_HAS_REPORT
#include "base/sized.h"
#include "view/report/html_text.h"
#include "view/report/report_assets.h"
#include "view/report/report_data.h"

#include <string.h>

enum {
    FM_TITLE_MOST = 300,
    MOST_TITLE_NAMES = 3, /* of programs or traces, before "and N more" */
};

typedef struct page {
    const fm_report_options *options;
    const fm_profile *const *profiles;
    size_t count;
    const fm_cache *caches;
    size_t cache_count;
} page;

/* Whether a profile before this one has the same name: the same run at another granularity, say. */
static bool named_before(const fm_profile *const *profiles, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (profiles[i]->name &&
            strcmp(fm_base_name(profiles[i]->name), fm_base_name(profiles[at]->name)) == 0)
            return true;
    return false;
}

/* "blur: data locality": by programs or traces, so that tabs of a browser are told apart. */
static const char *title_of(const fm_profile *const *profiles, size_t count, char title[FM_TITLE_MOST])
{
    size_t names = 0, length = 0;
    for (size_t i = 0; i < count; i++) {
        if (!profiles[i]->name || named_before(profiles, i)) continue;
        if (names++ < MOST_TITLE_NAMES)
            length += (size_t)snprintf(title + length, FM_TITLE_MOST - length, "%s%.80s",
                                       names > 1 ? ", " : "", fm_base_name(profiles[i]->name));
    }
    if (names == 0) return "Data locality report";
    if (names > MOST_TITLE_NAMES)
        length += (size_t)snprintf(title + length, FM_TITLE_MOST - length, " and %zu more",
                                   names - MOST_TITLE_NAMES);
    snprintf(title + length, FM_TITLE_MOST - length, ": data locality");
    return title;
}

static fm_status write_part(FILE *out, const char *name, size_t length, const page *of, fm_error *error)
{
    const struct {
        const char *name;
        const unsigned char *bytes;
        size_t size;
    } assets[] = {
        {"style", fm_asset_style, fm_asset_style_size},
        {"style-late", fm_asset_style_late, fm_asset_style_late_size},
        {"script-numbers", fm_asset_numbers, fm_asset_numbers_size},
        {"script-sampled", fm_asset_sampled, fm_asset_sampled_size},
        {"script-plot", fm_asset_plot, fm_asset_plot_size},
        {"script-charts", fm_asset_charts, fm_asset_charts_size},
        {"script-late", fm_asset_late, fm_asset_late_size},
        {"script-choice", fm_asset_choice, fm_asset_choice_size},
        {"script-pieces", fm_asset_pieces, fm_asset_pieces_size},
        {"script-pairs", fm_asset_pairs, fm_asset_pairs_size},
        {"script-source-lines", fm_asset_source_lines, fm_asset_source_lines_size},
        {"script-source", fm_asset_source, fm_asset_source_size},
        {"script-objects", fm_asset_objects, fm_asset_objects_size},
        {"script-latencies", fm_asset_latencies, fm_asset_latencies_size},
        {"script-parts", fm_asset_parts, fm_asset_parts_size},
        {"script-phases", fm_asset_phases, fm_asset_phases_size},
        {"script-verdict", fm_asset_verdict, fm_asset_verdict_size},
        {"script-report", fm_asset_report, fm_asset_report_size},
    };
    for (size_t i = 0; i < sizeof assets / sizeof *assets; i++)
        if (strlen(assets[i].name) == length && memcmp(assets[i].name, name, length) == 0) {
            fwrite(assets[i].bytes, 1, assets[i].size, out);
            return FM_OK;
        }
    if (length == 5 && memcmp(name, "title", 5) == 0) {
        fm_html_write_text(out, of->options->title);
        return FM_OK;
    }
    if (length == 4 && memcmp(name, "data", 4) == 0)
        return fm_report_write_data(out, of->options, of->profiles, of->count, of->caches, of->cache_count,
                                    error);
    return fm_fail(error, FM_E_FORMAT, NULL, "the report's template asks for an unknown part '%.*s'",
                   (int)length, name);
}

static fm_status write_page(FILE *out, const page *of, fm_error *error)
{
    const char *at = (const char *)fm_asset_page; /* ends with a 0 byte, see embed.cmake */
    for (;;) {
        const char *mark = strstr(at, "@@");
        const char *end = mark ? strstr(mark + 2, "@@") : NULL;
        if (!end) {
            fputs(at, out);
            return FM_OK;
        }
        fwrite(at, 1, (size_t)(mark - at), out);
        fm_status status = write_part(out, mark + 2, (size_t)(end - mark - 2), of, error);
        if (status) return status;
        at = end + 2;
    }
}
#endif

fm_status fm_report_write_page_sized(size_t options_size, FILE *out, const fm_report_options *options,
                                     const fm_profile *const *profiles, size_t count, const fm_cache *caches,
                                     size_t cache_count, fm_error *error)
{
#ifdef FATHOM_HAS_REPORT
    if (count == 0) return fm_fail(error, FM_E_ARGUMENT, NULL, "a report needs at least one profile");
    fm_report_options with_title;
    fm_status status =
        fm_sized_read(&with_title, sizeof with_title, options, options_size, "fm_report_options", error);
    if (status != FM_OK) return status;
    char title[FM_TITLE_MOST];
    if (!with_title.title) with_title.title = title_of(profiles, count, title);
    page of = {&with_title, profiles, count, caches, cache_count};
    return write_page(out, &of, error);
#else
    (void)out, (void)options, (void)options_size, (void)profiles, (void)count, (void)caches,
        (void)cache_count;
    return fm_fail(error, FM_E_UNSUPPORTED, NULL,
                   "this build has no report page: it was built with FATHOM_REPORT=OFF");
#endif
}

fm_status fm_report_write(FILE *out, const char *title, const fm_profile *const *profiles, size_t count,
                          const fm_cache *caches, size_t cache_count, fm_error *error)
{
    fm_report_options options = {.title = title};
    return fm_report_write_page(out, &options, profiles, count, caches, cache_count, error);
}

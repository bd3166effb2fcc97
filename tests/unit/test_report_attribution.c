/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_report_attribution.c - what the report page is given about code: every sum against a naive one over
 * the attribution itself, what is left out of a large one, and the text of source files. Read back by
 * jansson.
 */

#include "case.h"

#include "unit/temporary_folder.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/attribution_parts.h"
#include "view/report/report_parts.h"

enum { EDGES = 12 };
static const uint64_t edges[EDGES] = {0, 1, 2, 4, 8, 16, 24, 32, 64, 128, 256, 512};
static json_t *page_of(const fm_profile *profile, const fm_report_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fm_error error;
    assert_int_equal(fm_report_write_data(out, options, &profile, 1, NULL, 0, NULL, &error), FM_OK);
    fclose(out);
    assert_null(strchr(text, '<')); /* it stands inside a script element */
    json_error_t why;
    json_t *tree = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!tree) print_error("%s at %d\n", why.text, why.position);
    assert_non_null(tree);
    free(text);
    return tree;
}

/* ---- a random attribution ---- */

static uint64_t seed = 88172645463325252u;
static uint32_t below(uint32_t limit)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % limit;
}

typedef struct program {
    fm_attribution attribution;
    fm_profile profile;
    fm_bin *bins;
    fm_frame *frames;
} program;

/* Sites with 0 to 2 frames, on a few lines of a few files; some with call paths. */
static void make_sites(program *made, uint32_t count)
{
    static char names[16][24], files[4][160];
    fm_attribution *to = &made->attribution;
    to->sites = calloc(count, sizeof *to->sites);
    to->paths = calloc(count / 4 + 1, sizeof *to->paths);
    made->frames = calloc((size_t)count * 2, sizeof *made->frames);
    assert_true(to->sites && to->paths && made->frames);
    for (int i = 0; i < 16; i++) snprintf(names[i], sizeof names[i], "function_%d", i);
    for (int i = 0; i < 4; i++) snprintf(files[i], sizeof files[i], "%s/file_%d.c", folder, i);
    to->site_count = count;
    to->path_count = count / 4 + 1;
    for (uint32_t i = 0; i < to->path_count; i++)
        to->paths[i] = (fm_call_path){i && below(3) ? below(i) : FM_NONE, below(count)};
    for (uint32_t i = 0; i < count; i++) {
        fm_site *site = &to->sites[i];
        *site = (fm_site){.module = below(8) ? 0 : FM_NONE,
                          .address = 0x1000 + i,
                          .path = below(2) ? below((uint32_t)to->path_count) : FM_NONE,
                          .frame_count = below(3),
                          .frames = &made->frames[i * 2]};
        for (size_t j = 0; j < site->frame_count; j++)
            made->frames[i * 2 + j] =
                (fm_frame){names[below(16)], files[below(4)], 1 + below(j ? 20 : 40), 1 + below(60)};
        if (site->frame_count == 0 && below(2))
            site->symbol = names[below(16)], site->symbol_offset = below(99);
    }
}

static void random_counts(program *made, size_t *used, uint64_t *count, uint64_t *cold, size_t *bin_count,
                          const fm_bin **bins, size_t from)
{
    *cold = below(4) ? 0 : below(1000);
    *count = *cold;
    *bins = &made->bins[*used];
    *bin_count = 0;
    for (size_t i = from; i < EDGES; i++) {
        if (below(5)) continue;
        uint64_t number = 1 + below(8) * below(8) * below(1000);
        made->bins[(*used)++] = (fm_bin){edges[i], i + 1 < EDGES ? edges[i + 1] - 1 : UINT64_MAX, number};
        *count += number;
        (*bin_count)++;
    }
}

static program make_program(uint32_t sites, uint32_t pairs, uint32_t objects, uint32_t uses)
{
    static fm_module module = {.path = "/no/such/program"};
    program made = {.attribution = {.edge_count = EDGES, .edges = edges, .late_from = 24, .module_count = 1}};
    fm_attribution *to = &made.attribution;
    size_t used = 0;
    to->modules = &module;
    make_sites(&made, sites);
    made.bins = calloc((size_t)(pairs + uses) * EDGES + 1, sizeof *made.bins);
    to->pairs = calloc(pairs + 1, sizeof *to->pairs);
    to->objects = calloc(objects + 1, sizeof *to->objects);
    to->object_uses = calloc(uses + 1, sizeof *to->object_uses);
    assert_true(made.bins && to->pairs && to->objects && to->object_uses);
    to->pair_count = pairs, to->object_count = objects, to->object_use_count = uses;
    for (uint32_t i = 0; i < pairs; i++) {
        fm_pair *pair = &to->pairs[i];
        pair->use = below(10) ? below(sites) : FM_NONE;
        pair->reuse = below(sites);
        random_counts(&made, &used, &pair->count, &pair->cold, &pair->bin_count, &pair->bins, 0);
    }
    for (uint32_t i = 0; i < objects; i++)
        to->objects[i] = (fm_object){.kind = FM_OBJECT_HEAP,
                                     .size = 100,
                                     .blocks = 1,
                                     .module = FM_NONE,
                                     .allocation = below((uint32_t)to->path_count)};
    for (uint32_t i = 0; i < uses; i++) {
        fm_object_use *use = &to->object_uses[i];
        use->object = below(objects);
        use->site = below(sites);
        random_counts(&made, &used, &use->count, &use->cold, &use->bin_count, &use->bins, 6);
    }
    made.profile =
        (fm_profile){.name = (char *)"p", .engine = (char *)"exact", .granularity = 64, .complete = true};
    return made;
}

static void program_clear(program *made)
{
    free(made->attribution.sites);
    free(made->attribution.paths);
    free(made->attribution.pairs);
    free(made->attribution.objects);
    free(made->attribution.object_uses);
    free(made->bins);
    free(made->frames);
}

/* ---- histograms ---- */

typedef struct sums {
    uint64_t of[EDGES + 2]; /* cold, beyond, ranges */
} sums;

static void sums_add(sums *to, uint64_t cold, uint64_t beyond, const fm_bin *bins, size_t count)
{
    to->of[0] += cold;
    to->of[1] += beyond;
    for (size_t i = 0; i < count; i++)
        for (size_t edge = 0; edge < EDGES; edge++)
            if (bins[i].lo == edges[edge]) to->of[2 + edge] += bins[i].count;
}

/* [cold, beyond, range, count, …] from an element on. */
static sums sums_read(const json_t *flat, size_t from)
{
    sums read = {{0}};
    read.of[0] = (uint64_t)json_integer_value(json_array_get(flat, from));
    read.of[1] = (uint64_t)json_integer_value(json_array_get(flat, from + 1));
    for (size_t i = from + 2; i < json_array_size(flat); i += 2) {
        size_t range = (size_t)json_integer_value(json_array_get(flat, i));
        assert_true(range < EDGES);
        read.of[2 + range] = (uint64_t)json_integer_value(json_array_get(flat, i + 1));
        assert_true(read.of[2 + range] > 0);
    }
    return read;
}

static double misses_at(const sums *of, size_t edge)
{
    double all = (double)of->of[0] + (double)of->of[1];
    for (size_t i = edge; i < EDGES; i++) all += (double)of->of[2 + i];
    return all;
}

static void assert_sums(const sums *found, const sums *wanted)
{
    assert_memory_equal(found->of, wanted->of, sizeof wanted->of);
}

/* ---- the tests ---- */

static json_t *attribution_of(json_t *page)
{
    return json_object_get(json_array_get(json_object_get(page, "profiles"), 0), "attribution");
}

static const json_t *at(const json_t *array, json_int_t index)
{
    assert_true(index >= 0 && (size_t)index < json_array_size(array));
    return json_array_get(array, (size_t)index);
}

static json_int_t number(const json_t *row, size_t column)
{
    return json_integer_value(json_array_get(row, column));
}

/* Whether a place on the page is that of a site. */
static bool is_place(const json_t *page, const json_t *tree, const json_t *place, const fm_site *site)
{
    const json_t *names = json_object_get(tree, "names"), *files = json_object_get(page, "files");
    if (site->frame_count == 0) {
        char address[32];
        snprintf(address, sizeof address, "%llx", (unsigned long long)site->address);
        const char *written = json_string_value(json_object_get(place, "address"));
        return written && strcmp(written, address) == 0;
    }
    if (!json_is_array(place) || json_array_size(place) != site->frame_count * 3) return false;
    for (size_t i = 0; i < site->frame_count; i++) {
        const char *path = NULL;
        for (size_t j = 0; j < json_array_size(files); j++)
            if (json_integer_value(json_object_get(json_array_get(files, j), "number")) ==
                number(place, i * 3 + 1))
                path = json_string_value(json_object_get(json_array_get(files, j), "path"));
        if (!path || strcmp(path, site->frames[i].file) != 0) return false;
        if (strcmp(json_string_value(at(names, number(place, i * 3))), site->frames[i].function) != 0)
            return false;
        if (number(place, i * 3 + 2) != site->frames[i].line) return false;
    }
    return true;
}

CASE(everything_adds_up)
{
    program made = make_program(200, 900, 7, 300);
    const fm_attribution *from = &made.attribution;
    made.profile.attribution = &made.attribution;
    fm_report_options options = {.title = "t"};
    json_t *page = page_of(&made.profile, &options), *tree = attribution_of(page);
    const json_t *places = json_object_get(tree, "places"), *sites = json_object_get(tree, "sites"),
                 *pairs = json_object_get(tree, "pairs"), *paths = json_object_get(tree, "paths");
    /* All of it fits: every pair is there, in order, with its sites. */
    assert_int_equal(json_array_size(pairs), from->pair_count);
    sums all = {{0}};
    for (size_t i = 0; i < from->pair_count; i++) {
        const fm_pair *pair = &from->pairs[i];
        const json_t *row = json_array_get(pairs, i);
        sums wanted = {{0}}, found = sums_read(row, 2);
        sums_add(&wanted, pair->cold, pair->beyond, pair->bins, pair->bin_count);
        sums_add(&all, pair->cold, pair->beyond, pair->bins, pair->bin_count);
        assert_sums(&found, &wanted);
        assert_int_equal(number(row, 0) < 0, pair->use == FM_NONE);
        for (int end = 0; end < 2; end++) {
            uint32_t site = end ? pair->reuse : pair->use;
            if (site == FM_NONE) continue;
            const json_t *written = at(sites, number(row, (size_t)end));
            assert_true(is_place(page, tree, at(places, number(written, 0)), &from->sites[site]));
            size_t depth = 0;
            json_int_t path = number(written, 3);
            for (uint32_t old = from->sites[site].path; old != FM_NONE;
                 old = from->paths[old].parent, depth++) {
                const json_t *call = at(sites, number(at(paths, path), 1));
                assert_true(
                    is_place(page, tree, at(places, number(call, 0)), &from->sites[from->paths[old].call]));
                path = number(at(paths, path), 0);
            }
            assert_int_equal(path, -1);
        }
    }
    sums written = sums_read(json_object_get(tree, "all"), 0);
    assert_sums(&written, &all);
    /* Every place has the sums of all pairs of its sites, as re-user and as user. */
    for (size_t i = 0; i < json_array_size(places); i++) {
        sums wanted[2] = {{{0}}};
        for (size_t j = 0; j < from->pair_count; j++) {
            const fm_pair *pair = &from->pairs[j];
            for (int end = 0; end < 2; end++) {
                uint32_t site = end ? pair->use : pair->reuse;
                if (site != FM_NONE && is_place(page, tree, json_array_get(places, i), &from->sites[site]))
                    sums_add(&wanted[end], pair->cold, pair->beyond, pair->bins, pair->bin_count);
            }
        }
        sums reuse = sums_read(json_array_get(json_object_get(tree, "reuse"), i), 0),
             use = sums_read(json_array_get(json_object_get(tree, "use"), i), 0);
        assert_sums(&reuse, &wanted[0]);
        assert_sums(&use, &wanted[1]);
    }
    /* And every object. */
    const json_t *objects = json_object_get(tree, "objects");
    assert_int_equal(json_array_size(objects), from->object_count);
    assert_int_equal(json_array_size(json_object_get(tree, "uses")), from->object_use_count);
    for (size_t i = 0; i < from->object_count; i++) {
        sums wanted = {{0}}, found = sums_read(json_object_get(json_array_get(objects, i), "all"), 0);
        for (size_t j = 0; j < from->object_use_count; j++) {
            const fm_object_use *use = &from->object_uses[j];
            if (use->object == i) sums_add(&wanted, use->cold, use->beyond, use->bins, use->bin_count);
        }
        assert_sums(&found, &wanted);
    }
    const json_t *left = json_object_get(tree, "left");
    assert_int_equal(json_integer_value(json_object_get(left, "pairs")), 0);
    assert_true(json_number_value(json_object_get(left, "covered")) == 1);
    json_decref(page);
    program_clear(&made);
}

CASE(what_is_left_out_is_said)
{
    program made = make_program(3000, 60000, 3, 10);
    const fm_attribution *from = &made.attribution;
    /* A few weigh much: those are enough. */
    for (size_t i = 0; i < 500; i++) {
        fm_pair *pair = &made.attribution.pairs[i * 100];
        pair->cold += 10000000000;
        pair->count += 10000000000;
    }
    made.profile.attribution = &made.attribution;
    fm_report_options options = {.title = "t", .no_source = true};
    json_t *page = page_of(&made.profile, &options), *tree = attribution_of(page);
    const json_t *pairs = json_object_get(tree, "pairs"), *left = json_object_get(tree, "left");
    size_t kept = json_array_size(pairs);
    assert_true(kept >= 490 && kept < 5000);
    assert_int_equal(json_integer_value(json_object_get(left, "pairs")), from->pair_count - kept);
    sums all = {{0}}, shown = {{0}};
    for (size_t i = 0; i < from->pair_count; i++)
        sums_add(&all, from->pairs[i].cold, from->pairs[i].beyond, from->pairs[i].bins,
                 from->pairs[i].bin_count);
    for (size_t i = 0; i < kept; i++) {
        sums one = sums_read(json_array_get(pairs, i), 2);
        for (size_t j = 0; j < EDGES + 2; j++) shown.of[j] += one.of[j];
    }
    double least = 1;
    for (size_t edge = 6; edge < EDGES; edge++) { /* from late_from on */
        double share = misses_at(&shown, edge) / misses_at(&all, edge);
        assert_true(share >= 0.999);
        if (share < least) least = share;
    }
    assert_true(fabs(json_number_value(json_object_get(left, "covered")) - least) < 1e-9);
    /* What is shown and the rest are everything. */
    sums rest = sums_read(json_object_get(left, "rest"), 0);
    for (size_t j = 0; j < EDGES + 2; j++) assert_int_equal(shown.of[j] + rest.of[j], all.of[j]);
    json_decref(page);
    program_clear(&made);
}

/* All alike: nothing can be told to matter less, so the page is full and says how little it covers. */
CASE(a_full_page_says_how_much_it_covers)
{
    enum { COUNT = 1000, MOST = 250 };
    static fm_bin bin = {64, 127, 10};
    fm_counts counts[COUNT];
    for (size_t i = 0; i < COUNT; i++) counts[i] = (fm_counts){.bin_count = 1, .bins = &bin};
    fm_choice choice;
    assert_int_equal(fm_choice_make(&choice, counts, COUNT, (fm_edges){EDGES, edges}, 1, 1, MOST, NULL),
                     FM_OK);
    assert_int_equal(choice.count, MOST);
    assert_true(fabs(choice.covered - 0.25) < 1e-12);
    free(choice.indices);
    for (uint64_t distance = 0; distance < 1000; distance++) {
        size_t naive = 0;
        while (naive + 1 < EDGES && edges[naive + 1] <= distance) naive++;
        assert_int_equal(fm_edges_index((fm_edges){EDGES, edges}, distance), naive);
    }
}

/* ---- source text ---- */

/* A page of a profile that refers to lines, one site each. */
typedef struct lines_page {
    const char *const *files;
    const uint32_t *lines;
    size_t count;
    const char *const *as; /* whose checksums the profile recorded; NULL: their own */
    bool with_text, unrecorded;
    const char *edit; /* a file that is changed between the run and the page, ... */
    const char *to;   /* ... to this */
} lines_page;

static json_t *write_lines_page(const lines_page *of, const fm_report_options *options)
{
    fm_frame frames[32];
    fm_site sites[32];
    fm_pair pairs[32];
    size_t count = of->count;
    assert_true(count <= 32);
    fm_attribution *attribution;
    assert_int_equal(fm_attribution_create(&attribution, NULL), FM_OK);
    for (size_t i = 0; i < count; i++) {
        frames[i] = (fm_frame){"f", of->as ? of->as[i] : of->files[i], of->lines[i], 0};
        sites[i] = (fm_site){.module = FM_NONE, .path = FM_NONE, .frame_count = 1, .frames = &frames[i]};
        uint64_t late = 1000000000 >> i; /* the files come in this order */
        pairs[i] = (fm_pair){.use = FM_NONE, .reuse = (uint32_t)i, .count = late, .cold = late};
    }
    attribution->edge_count = EDGES, attribution->edges = edges;
    attribution->site_count = count, attribution->sites = sites;
    attribution->pair_count = count, attribution->pairs = pairs;
    fm_error error;
    if (!of->unrecorded)
        assert_int_equal(fm_attribution_record_sources(attribution, of->with_text, NULL, &error), FM_OK);
    if (of->as) { /* the same sums, under the names on the page */
        for (size_t i = 0; i < attribution->source_count; i++)
            for (size_t j = 0; j < count; j++)
                if (strcmp(attribution->sources[i].path, of->as[j]) == 0) {
                    attribution->sources[i].path = of->files[j];
                    break;
                }
        fm_sources_sort(attribution->sources, attribution->source_count);
        for (size_t i = 0; i < count; i++) frames[i].file = of->files[i];
    }
    if (of->edit) write_file(of->edit, of->to);
    fm_profile profile = {
        .engine = (char *)"exact", .granularity = 64, .complete = true, .attribution = attribution};
    json_t *page = page_of(&profile, options);
    fm_attribution_destroy(attribution);
    return page;
}

static json_t *page_of_lines(const char *const *files, const uint32_t *lines, size_t count,
                             const fm_report_options *options)
{
    return write_lines_page(&(lines_page){.files = files, .lines = lines, .count = count}, options);
}

static const json_t *file_named(const json_t *page, const char *path)
{
    const json_t *files = json_object_get(page, "files");
    for (size_t i = 0; i < json_array_size(files); i++)
        if (strcmp(json_string_value(json_object_get(json_array_get(files, i), "path")), path) == 0)
            return json_array_get(files, i);
    fail();
    return NULL;
}

static const char *line_of(const json_t *file, json_int_t line)
{
    const json_t *text = json_object_get(file, "text");
    for (size_t i = 0; i < json_array_size(text); i++) {
        const json_t *piece = json_array_get(text, i);
        json_int_t first = number(piece, 0);
        const json_t *lines = json_array_get(piece, 1);
        if (line >= first && line < first + (json_int_t)json_array_size(lines))
            return json_string_value(json_array_get(lines, (size_t)(line - first)));
    }
    return NULL;
}

static const char *why_of(const json_t *file)
{
    const char *why = json_string_value(json_object_get(file, "why"));
    return why ? why : "(there is text)";
}

CASE(source_text_is_put_in)
{
    char longest[1200] = "";
    memset(longest, 'x', 1100);
    memcpy(longest + 498, "\xe2\x82\xac", 3); /* a character across the place where it is cut */
    write_file(in_folder("a.c"), "one </script>\r\n\ttwo\xff \xe2\x80\xa8\n\nlast, without an end");
    write_file(in_folder("empty.c"), "");
    FILE *wide = fopen(in_folder("wide.c"), "w");
    fprintf(wide, "%s\nnext\n", longest);
    fclose(wide);
    const char *files[] = {in_folder("a.c"), in_folder("empty.c"), in_folder("wide.c")};
    const uint32_t lines[] = {2, 1, 1};
    fm_report_options options = {.title = "t"};
    json_t *page = page_of_lines(files, lines, 3, &options);
    const json_t *a = file_named(page, files[0]);
    assert_int_equal(json_integer_value(json_object_get(a, "lines")), 4);
    assert_string_equal(line_of(a, 1), "one </script>");
    assert_string_equal(line_of(a, 2), "\ttwo\xef\xbf\xbd <U+2028>");
    assert_string_equal(line_of(a, 3), "");
    assert_string_equal(line_of(a, 4), "last, without an end");
    assert_null(line_of(a, 5));
    assert_int_equal(json_array_size(json_object_get(file_named(page, files[1]), "text")), 0);
    const char *cut = line_of(file_named(page, files[2]), 1);
    assert_int_equal(strlen(cut), 498 + strlen(" …"));
    assert_string_equal(cut + 498, " …");
    assert_string_equal(line_of(file_named(page, files[2]), 2), "next");
    json_decref(page);

    options.no_source = true;
    page = page_of_lines(files, lines, 3, &options);
    assert_null(json_object_get(file_named(page, files[0]), "text"));
    assert_non_null(json_object_get(file_named(page, files[0]), "why"));
    json_decref(page);
}

CASE(of_a_long_file_pieces)
{
    FILE *out = fopen(in_folder("long.c"), "w");
    for (int i = 1; i <= 10000; i++) fprintf(out, "line %d\n", i);
    fclose(out);
    const char *path = in_folder("long.c");
    const char *files[] = {path, path, path, path, path};
    const uint32_t lines[] = {5, 5000, 5030, 9999, 20000}; /* the last is not there */
    fm_report_options options = {.title = "t"};
    json_t *page = page_of_lines(files, lines, 5, &options);
    const json_t *file = file_named(page, path);
    assert_int_equal(json_integer_value(json_object_get(file, "lines")), 10000);
    char wanted[32];
    for (int i = 1; i <= 10000; i++) {
        bool near = i <= 25 || (i >= 4980 && i <= 5050) || i >= 9979;
        snprintf(wanted, sizeof wanted, "line %d", i);
        const char *found = line_of(file, i);
        assert_int_equal(found != NULL, near);
        if (found) assert_string_equal(found, wanted);
    }
    assert_int_equal(json_array_size(json_object_get(file, "text")), 3);
    json_decref(page);
}

CASE(what_cannot_be_shown_is_said)
{
    FILE *out = fopen(in_folder("binary.c"), "w");
    fwrite("a\0b\n", 1, 4, out);
    fclose(out);
    assert_int_equal(mkfifo(in_folder("pipe.c"), 0600), 0);
    out = fopen(in_folder("vast.c"), "w");
    assert_int_equal(fseek(out, 40 << 20, SEEK_SET), 0);
    fputc('\n', out);
    fclose(out);
    const char *files[] = {in_folder("binary.c"), in_folder("pipe.c"), in_folder("vast.c"), folder,
                           in_folder("none.c"),   "/dev/zero"};
    const uint32_t lines[] = {1, 1, 1, 1, 1, 1};
    fm_report_options options = {.title = "t"};
    json_t *page = page_of_lines(files, lines, 6, &options);
    for (size_t i = 0; i < 6; i++) {
        const json_t *file = file_named(page, files[i]);
        assert_null(json_object_get(file, "text"));
        assert_string_equal(why_of(file), "it could not be read when the profile was made");
    }
    json_decref(page);

    /* A profile that gives them checksums all the same: nothing but a regular file is opened, none is waited
     * for. */
    char twins[6][128];
    const char *as[6];
    for (int i = 0; i < 6; i++) {
        snprintf(twins[i], sizeof twins[i], "%s/twin-%d.c", folder, i);
        as[i] = twins[i];
        write_file(as[i], "text"); /* 4 bytes, as binary.c has */
    }
    const char *const why[] = {"no text",         "no regular file",           "changed since the run",
                               "no regular file", "No such file or directory", "no regular file"};
    page = write_lines_page(&(lines_page){.files = files, .lines = lines, .count = 6, .as = as}, &options);
    for (size_t i = 0; i < 6; i++) {
        const json_t *file = file_named(page, files[i]);
        assert_null(json_object_get(file, "text"));
        if (!strstr(why_of(file), why[i])) print_error("%s: %s\n", files[i], why_of(file));
        assert_non_null(strstr(why_of(file), why[i]));
    }
    json_decref(page);
}

/* Text is shown of the file that the program was made of, and of no other. */
CASE(only_the_file_of_the_run_is_shown)
{
    const char *path = in_folder("run.c");
    const char *files[] = {path};
    const uint32_t lines[] = {1};
    char *said = NULL;
    size_t said_size = 0;
    fm_report_options options = {.title = "t", .notes = open_memstream(&said, &said_size)};
    lines_page one = {.files = files, .lines = lines, .count = 1};
    write_file(path, "original");
    json_t *page = write_lines_page(&one, &options);
    assert_string_equal(line_of(file_named(page, path), 1), "original");
    json_decref(page);
    fflush(options.notes);
    assert_string_equal(said, "");

    /* Edited since: to something of the same length, and to something else. */
    static const char *const edits[] = {"0riginal", "longer than that"};
    for (int i = 0; i < 2; i++) {
        write_file(path, "original");
        one.edit = path, one.to = edits[i];
        page = write_lines_page(&one, &options);
        assert_string_equal(why_of(file_named(page, path)), "it has changed since the run");
        assert_null(json_object_get(file_named(page, path), "text"));
        json_decref(page);
    }
    fflush(options.notes);
    assert_non_null(strstr(said, "run.c has changed since the run: its text is not on the page\n"));

    /* Its text in the profile: that of the run, whatever there is now. */
    write_file(path, "original");
    one.with_text = true;
    page = write_lines_page(&one, &options);
    assert_string_equal(line_of(file_named(page, path), 1), "original");
    assert_true(json_is_true(json_object_get(file_named(page, path), "embedded")));
    json_decref(page);
    options.no_source = true;
    write_file(path, "original");
    page = write_lines_page(&one, &options);
    assert_null(json_object_get(file_named(page, path), "text"));
    json_decref(page);

    /* A profile without checksums shows nothing, though the file is there. */
    options.no_source = false;
    one = (lines_page){.files = files, .lines = lines, .count = 1, .unrecorded = true};
    page = write_lines_page(&one, &options);
    assert_string_equal(why_of(file_named(page, path)), "the profile has no checksums of source files");
    json_decref(page);
    fclose(options.notes);
    assert_non_null(strstr(said, "the profile has no checksums of source files"));
    free(said);
}

/* Two profiles on one page, of the program before and after an edit: each has its own file. */
CASE(two_states_of_a_file_are_two)
{
    const char *path = in_folder("twice.c");
    fm_attribution *of[2];
    fm_profile profiles[2];
    fm_frame frame = {"f", path, 1, 0};
    fm_site site = {.module = FM_NONE, .path = FM_NONE, .frame_count = 1, .frames = &frame};
    fm_pair pair = {.use = FM_NONE, .reuse = 0, .count = 5, .cold = 5};
    for (int i = 0; i < 2; i++) {
        write_file(path, i ? "after" : "before");
        assert_int_equal(fm_attribution_create(&of[i], NULL), FM_OK);
        of[i]->edge_count = EDGES, of[i]->edges = edges;
        of[i]->site_count = of[i]->pair_count = 1;
        of[i]->sites = &site, of[i]->pairs = &pair;
        assert_int_equal(fm_attribution_record_sources(of[i], false, NULL, NULL), FM_OK);
        profiles[i] = (fm_profile){
            .engine = (char *)"exact", .granularity = 64, .complete = true, .attribution = of[i]};
    }
    /* A part knows its files by its whole. */
    fm_attribution part = *of[1];
    part.source_count = 0, part.sources = NULL;
    fm_profile thread = {
        .engine = (char *)"exact", .granularity = 64, .complete = true, .attribution = &part};
    fm_profile *parts[] = {&thread};
    profiles[1].parts = parts, profiles[1].part_count = 1;
    const fm_profile *both[] = {&profiles[0], &profiles[1]};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    fm_report_options options = {.title = "t"};
    assert_int_equal(fm_report_write_data(out, &options, both, 2, NULL, 0, NULL, NULL), FM_OK);
    fclose(out);
    json_t *page = json_loads(text, 0, NULL);
    const json_t *files = json_object_get(page, "files");
    assert_int_equal(json_array_size(files), 2);
    size_t shown = 0, changed = 0;
    for (size_t i = 0; i < 2; i++) {
        const json_t *file = json_array_get(files, i);
        assert_string_equal(json_string_value(json_object_get(file, "path")), path);
        shown += line_of(file, 1) && strcmp(line_of(file, 1), "after") == 0;
        changed += !line_of(file, 1) && strcmp(why_of(file), "it has changed since the run") == 0;
    }
    assert_int_equal(shown, 1);
    assert_int_equal(changed, 1);
    json_decref(page);
    free(text);
    for (int i = 0; i < 2; i++) fm_attribution_destroy(of[i]);
}

CASE(other_folders_are_looked_into_first)
{
    assert_int_equal(mkdir(in_folder("tree"), 0700), 0);
    assert_int_equal(mkdir(in_folder("tree/src"), 0700), 0);
    write_file(in_folder("tree/src/deep.c"), "from the folder\n");
    write_file(in_folder("tree/flat.c"), "flat\n");
    write_file(in_folder("own.c"), "its own\n");
    write_file(in_folder("tree/own.c"), "the folder's\n");
    const char *folders[] = {in_folder("nowhere"), in_folder("tree")};
    const char *files[] = {"/build/machine/src/deep.c", "flat.c", in_folder("own.c")};
    const char *as[] = {in_folder("tree/src/deep.c"), in_folder("tree/flat.c"), in_folder("tree/own.c")};
    const uint32_t lines[] = {1, 1, 1};
    fm_report_options options = {.title = "t", .source_folders = folders, .source_folder_count = 2};
    lines_page three = {.files = files, .lines = lines, .count = 3, .as = as};
    json_t *page = write_lines_page(&three, &options);
    assert_string_equal(line_of(file_named(page, files[0]), 1), "from the folder");
    assert_string_equal(json_string_value(json_object_get(file_named(page, files[0]), "found")), as[0]);
    assert_string_equal(line_of(file_named(page, files[1]), 1), "flat");
    assert_string_equal(line_of(file_named(page, files[2]), 1), "the folder's");
    json_decref(page);
    /* A file in the folder that is not the one of the run is passed over. */
    three = (lines_page){.files = files + 2, .lines = lines, .count = 1};
    page = write_lines_page(&three, &options);
    assert_string_equal(line_of(file_named(page, files[2]), 1), "its own");
    assert_null(json_object_get(file_named(page, files[2]), "found"));
    json_decref(page);
}

/* The page has room for 6 MiB of text: files with more late re-use come first, the others are said to be cut
 * or left out. */
CASE(room_goes_to_the_files_that_matter)
{
    char names[6][128];
    const char *files[26];
    uint32_t lines[26];
    for (int i = 0; i < 6; i++) {
        char name[24];
        snprintf(name, sizeof name, "big_%d.c", i);
        snprintf(names[i], sizeof names[i], "%s", in_folder(name));
        FILE *out = fopen(names[i], "w");
        for (int j = 0; j < 3000; j++) fprintf(out, "%0*d\n", 499, j + 1);
        fclose(out);
    }
    for (uint32_t i = 0; i < 4; i++) files[i] = names[i], lines[i] = 1;
    for (uint32_t i = 4; i < 25; i++) files[i] = names[4], lines[i] = 100 * (i - 3); /* 21 pieces of 20 KB */
    files[25] = names[5], lines[25] = 1;
    fm_report_options options = {.title = "t"};
    json_t *page = page_of_lines(files, lines, 26, &options);
    size_t size = 0;
    for (int i = 0; i < 5; i++)
        for (json_int_t line = 1; line <= 3000; line++) {
            const char *text = line_of(file_named(page, names[i]), line);
            if (text) size += strlen(text) + 1;
        }
    /* The last line may go over. */
    assert_true(size >= 6 << 20 && size < (6 << 20) + 500);
    size_t whole = 0, cut = 0, none = 0;
    for (int i = 0; i < 6; i++) {
        const json_t *file = file_named(page, names[i]);
        whole += line_of(file, 1) && line_of(file, 3000);
        cut += json_is_true(json_object_get(file, "cut"));
        const char *why = json_string_value(json_object_get(file, "why"));
        none += why && strstr(why, "room");
    }
    assert_int_equal(whole, 4);
    assert_int_equal(cut, 1);
    assert_int_equal(none, 1);
    json_decref(page);
}

CASES_WITH(make_folder, remove_folder);

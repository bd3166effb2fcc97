/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_attribution_json.c - attribution, run and parts survive the way through a file, also one that
 * another program wrote anew; wrong files are refused by name. */
#include "case.h"

#include <inttypes.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

#include "attribution_samples.h"

static char folder[] = "/tmp/fathom-attribution-XXXXXX";
static char path[128];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/p.json", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static const char nasty[] =
    "a \"name\"\\, with\nlines\t\x01\x7f</script> \xc3\xa9 \xf0\x9f\x8c\x8a ;=(1) \xe2\x80\xae";

/* Something of everything. */
static fm_profile *sample(void)
{
    static char longest[20001];
    memset(longest, 'x', sizeof longest - 1);
    fm_attribution *made = sample_attribution(3, 6, 2, 5);
    made->modules[0] = (fm_module){"/bin/prog", "00ff", false, UINT64_C(0x555555554000)};
    made->modules[1] = (fm_module){fm_attribution_intern(made, nasty), NULL, true, 0};
    made->modules[2] = (fm_module){NULL, NULL, false, UINT64_MAX};
    sample_site(made, 0, 0x1000, "main", "/home/u/a.c", 1, NULL, NULL, 0);
    sample_site(made, 1, 0x1010, nasty, nasty, UINT32_MAX, longest, "/home/u/a.c", 7);
    made->sites[2] = (fm_site){1, UINT64_MAX, FM_NONE, 0, NULL, "memcpy", 0x1f};
    made->sites[3] = (fm_site){FM_NONE, 0x7f00, FM_NONE, 0, NULL, NULL, 0};
    made->sites[4].path = 1;
    sample_site(made, 4, 0x1020, "f", "/home/u/a.c", 0, NULL, NULL, 0);
    made->sites[5].path = FM_NONE;
    fm_frame *unknown = fm_attribution_allocate(made, 1, sizeof *unknown); /* neither function nor file */
    assert_non_null(unknown);
    made->sites[5] = (fm_site){.module = 2, .path = 0, .frame_count = 1, .frames = unknown};
    made->paths[0] = (fm_call_path){FM_NONE, 0};
    made->paths[1] = (fm_call_path){0, 1};
    made->objects[0] = (fm_object){
        FM_OBJECT_GLOBAL, fm_attribution_intern(made, nasty), 0, 0x4000, 100, 0, FM_NONE, 0, 7, 1000};
    made->objects[1] = (fm_object){FM_OBJECT_HEAP, NULL, FM_NONE, 0, 4096, 3, 1, 0, 0, 0};
    made->objects[2] = (fm_object){FM_OBJECT_STACK, NULL, FM_NONE, 0, 0, 0, FM_NONE, UINT32_MAX, 0, 0};
    made->objects[3] = (fm_object){FM_OBJECT_MODULE, NULL, 1, 0, 0, 0, FM_NONE, 0, 0, 0};
    sample_pair(made, FM_NONE, 0, FM_RANGE_COLD, 17);
    sample_pair(made, 0, 1, 0, 500);
    sample_pair(made, 0, 1, sample_range(1024), UINT64_C(1) << 60);
    sample_pair(made, 0, 1, FM_RANGE_BEYOND, 3);
    sample_pair(made, FM_NONE, 2, FM_RANGE_BEYOND, 9);
    sample_pair(made, 4, 3, sample_range(1 << 20), 1);
    sample_pair(made, 5, 5, sample_range(20480), 20);
    const fm_bin bins[] = {{1024, 2047, 99}, {1 << 20, UINT64_MAX, 1}};
    const fm_object_use uses[] = {{0, 1, 110, 4, 6, 2, bins}, {4, 5, 7, 7, 0, 0, NULL}};
    sample_uses(made, uses, 2);
    fm_profile *profile = sample_attributed(made);
    profile->bound = UINT64_C(1) << 30;
    profile->run = calloc(1, sizeof *profile->run);
    assert_non_null(profile->run);
    *profile->run = (fm_run){strdup(nasty),
                             strdup("valgrind"),
                             strdup("all references"),
                             strdup("killed by SIGSEGV (11)"),
                             -1,
                             11,
                             4711,
                             1,
                             true,
                             3,
                             12.345678901234567,
                             strdup("a\nb\n")};
    return profile;
}

/* ---- are two the same? ---- */

static void same_text(const char *a, const char *b)
{
    if (a && b)
        assert_string_equal(a, b);
    else
        assert_ptr_equal(a, b);
}

static void same_bins(const fm_bin *a, size_t a_count, const fm_bin *b, size_t b_count)
{
    assert_int_equal(a_count, b_count);
    for (size_t i = 0; i < a_count; i++)
        assert_true(a[i].lo == b[i].lo && a[i].hi == b[i].hi && a[i].count == b[i].count);
}

static void same_site(const fm_site *a, const fm_site *b)
{
    assert_int_equal(a->module, b->module);
    assert_true(a->address == b->address);
    assert_int_equal(a->path, b->path);
    same_text(a->symbol, b->symbol);
    assert_true(a->symbol_offset == b->symbol_offset);
    assert_int_equal(a->frame_count, b->frame_count);
    for (size_t i = 0; i < a->frame_count; i++) {
        same_text(a->frames[i].function, b->frames[i].function);
        same_text(a->frames[i].file, b->frames[i].file);
        assert_int_equal(a->frames[i].line, b->frames[i].line);
        assert_int_equal(a->frames[i].column, b->frames[i].column);
    }
}

static void same_object(const fm_object *a, const fm_object *b)
{
    assert_int_equal(a->kind, b->kind);
    same_text(a->name, b->name);
    assert_int_equal(a->module, b->module);
    assert_true(a->address == b->address && a->size == b->size && a->blocks == b->blocks);
    assert_int_equal(a->allocation, b->allocation);
    assert_int_equal(a->thread, b->thread);
    assert_int_equal(a->error, b->error);
    assert_int_equal(a->samples, b->samples);
}

static void same_attribution(const fm_attribution *a, const fm_attribution *b)
{
    assert_true(a->late_from == b->late_from);
    assert_int_equal(a->edge_count, b->edge_count);
    assert_memory_equal(a->edges, b->edges, a->edge_count * sizeof *a->edges);
    assert_int_equal(a->module_count, b->module_count);
    for (size_t i = 0; i < a->module_count; i++) {
        same_text(a->modules[i].path, b->modules[i].path);
        same_text(a->modules[i].build_id, b->modules[i].build_id);
        assert_int_equal(a->modules[i].unseen, b->modules[i].unseen);
        assert_true(a->modules[i].bias == b->modules[i].bias);
    }
    assert_int_equal(a->site_count, b->site_count);
    for (size_t i = 0; i < a->site_count; i++) same_site(&a->sites[i], &b->sites[i]);
    assert_int_equal(a->path_count, b->path_count);
    for (size_t i = 0; i < a->path_count; i++)
        assert_true(a->paths[i].parent == b->paths[i].parent && a->paths[i].call == b->paths[i].call);
    assert_int_equal(a->pair_count, b->pair_count);
    for (size_t i = 0; i < a->pair_count; i++) {
        const fm_pair *x = &a->pairs[i], *y = &b->pairs[i];
        assert_true(x->use == y->use && x->reuse == y->reuse && x->count == y->count && x->cold == y->cold &&
                    x->beyond == y->beyond);
        same_bins(x->bins, x->bin_count, y->bins, y->bin_count);
    }
    assert_int_equal(a->object_count, b->object_count);
    for (size_t i = 0; i < a->object_count; i++) same_object(&a->objects[i], &b->objects[i]);
    assert_int_equal(a->object_use_count, b->object_use_count);
    for (size_t i = 0; i < a->object_use_count; i++) {
        const fm_object_use *x = &a->object_uses[i], *y = &b->object_uses[i];
        assert_true(x->object == y->object && x->site == y->site && x->count == y->count &&
                    x->cold == y->cold && x->beyond == y->beyond);
        same_bins(x->bins, x->bin_count, y->bins, y->bin_count);
    }
}

static void same_run(const fm_run *a, const fm_run *b)
{
    same_text(a->command, b->command);
    same_text(a->collector, b->collector);
    same_text(a->what, b->what);
    same_text(a->ending, b->ending);
    same_text(a->notes, b->notes);
    assert_int_equal(a->exit_code, b->exit_code);
    assert_int_equal(a->signal, b->signal);
    assert_int_equal(a->process, b->process);
    assert_int_equal(a->parent, b->parent);
    assert_int_equal(a->by_exec, b->by_exec);
    assert_int_equal(a->thread, b->thread);
    assert_true(a->seconds == b->seconds);
}

static void same_profile(const fm_profile *a, const fm_profile *b)
{
    assert_true(a->references == b->references);
    assert_int_equal(!a->attribution, !b->attribution);
    if (a->attribution) same_attribution(a->attribution, b->attribution);
    assert_int_equal(!a->run, !b->run);
    if (a->run) same_run(a->run, b->run);
    assert_int_equal(a->part_count, b->part_count);
    for (size_t i = 0; i < a->part_count; i++) same_profile(a->parts[i], b->parts[i]);
}

static void add_part(fm_profile *to, fm_profile *part)
{
    to->parts = realloc(to->parts, (to->part_count + 1) * sizeof *to->parts);
    assert_non_null(to->parts);
    to->parts[to->part_count++] = part;
}

/* ---- tests ---- */

CASE(everything_survives_a_file)
{
    fm_profile *profile = sample(), *process = sample(), *thread, *empty;
    fm_error error;
    assert_int_equal(fm_profile_create(&thread, NULL), FM_OK);
    assert_int_equal(fm_profile_create(&empty, NULL), FM_OK);
    assert_int_equal(fm_attribution_create(&empty->attribution, NULL), FM_OK);
    uint64_t zero = 0;
    assert_int_equal(fm_attribution_set_edges(empty->attribution, &zero, 1, 0, NULL), FM_OK);
    thread->run = calloc(1, sizeof *thread->run); /* exit code 0, all texts missing */
    add_part(process, thread);
    add_part(profile, process);
    add_part(profile, empty);
    const fm_profile *const both[] = {profile, process};
    fm_profile_list list;
    for (size_t count = 1; count <= 2; count++) {
        assert_int_equal(fm_profile_write(path, both, count, &error), FM_OK);
        if (fm_profile_read(path, &list, &error)) fail_msg("%s", error.reason);
        assert_int_equal(list.count, count);
        for (size_t i = 0; i < count; i++) same_profile(both[i], list.profiles[i]);
        fm_profile_list_clear(&list);
    }
    fm_profile_destroy(profile); /* and all its parts */
}

CASE(a_file_that_others_wrote_anew_is_the_same)
{
    fm_profile *profile = sample();
    /* jansson holds whole numbers below 2^63 only. */
    profile->attribution->modules[2].bias = profile->attribution->sites[2].address = INT64_MAX;
    add_part(profile, sample());
    profile->parts[0]->attribution->modules[2].bias = 1;
    profile->parts[0]->attribution->sites[2].address = 2;
    const fm_profile *const one[] = {profile};
    assert_int_equal(fm_profile_write(path, one, 1, NULL), FM_OK);
    json_error_t why;
    json_t *tree = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (!tree) fail_msg("%s", why.text);
    json_t *attribution = json_object_get(tree, "attribution");
    json_array_append_new(json_object_get(attribution, "modules"),
                          json_pack("{s:s,s:s}", "path", "x", "later", "y"));
    json_object_set_new(attribution, "a later field", json_pack("[[i]]", 1));
    json_object_set_new(json_object_get(tree, "run"), "a later field", json_pack("[[i]]", 1));
    /* Pairs in another order. */
    json_t *pairs = json_object_get(attribution, "pairs"),
           *last = json_array_get(pairs, json_array_size(pairs) - 1);
    json_array_insert(pairs, 0, last);
    json_array_remove(pairs, json_array_size(pairs) - 1);
    static const size_t ways[] = {JSON_SORT_KEYS, JSON_COMPACT, JSON_ENSURE_ASCII | JSON_INDENT(3)};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(json_dump_file(tree, path, ways[i]), 0);
        fm_profile_list list;
        fm_error error;
        if (fm_profile_read(path, &list, &error)) fail_msg("%zu: %s", i, error.reason);
        fm_attribution *read = list.profiles[0]->attribution;
        assert_int_equal(read->module_count, 4);
        assert_string_equal(read->modules[3].path, "x");
        read->module_count = 3;
        same_profile(profile, list.profiles[0]);
        fm_profile_list_clear(&list);
    }
    json_decref(tree);
    fm_profile_destroy(profile);
}

static json_int_t number_at(json_t *array, size_t index)
{
    json_t *value = json_array_get(array, index);
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

/* docs/PROFILE.md, followed by another reader. */
CASE(the_file_is_what_the_documentation_says)
{
    fm_profile *profile = sample();
    profile->attribution->modules[2].bias = profile->attribution->sites[2].address = 5;
    const fm_profile *const one[] = {profile}, *const two[] = {profile, profile};
    assert_int_equal(fm_profile_write(path, one, 1, NULL), FM_OK);
    json_t *tree = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(tree);
    json_t *run = json_object_get(tree, "run"), *in = json_object_get(tree, "attribution");
    assert_string_equal(json_string_value(json_object_get(run, "command")), nasty);
    assert_string_equal(json_string_value(json_object_get(run, "collector")), "valgrind");
    assert_null(json_object_get(run, "exit_code"));
    assert_int_equal(json_integer_value(json_object_get(run, "signal")), 11);
    assert_int_equal(json_integer_value(json_object_get(run, "process")), 4711);
    assert_true(json_real_value(json_object_get(run, "seconds")) == 12.345678901234567);
    assert_int_equal(json_integer_value(json_object_get(in, "late_from")), 512);
    json_t *edges = json_object_get(in, "edges"), *strings = json_object_get(in, "strings");
    assert_int_equal(json_array_size(edges), SAMPLE_EDGES);

    /* module, address, path, symbol, offset, frames of four */
    json_t *site = json_array_get(json_object_get(in, "sites"), 1), *frames = json_array_get(site, 5);
    assert_int_equal(json_array_size(site), 6);
    assert_int_equal(number_at(site, 0), 0);
    assert_int_equal(number_at(site, 1), 0x1010);
    assert_true(json_is_null(json_array_get(site, 2)) && json_is_null(json_array_get(site, 3)));
    assert_int_equal(json_array_size(frames), 8);
    assert_string_equal(json_string_value(json_array_get(strings, (size_t)number_at(frames, 0))), nasty);
    assert_string_equal(json_string_value(json_array_get(strings, (size_t)number_at(frames, 5))),
                        "/home/u/a.c");
    assert_int_equal(number_at(frames, 6), 7);

    /* use, reuse, count, cold, beyond, ranges */
    uint64_t references = 0, cold = 0, beyond = 0;
    size_t index;
    json_t *pair;
    json_array_foreach(json_object_get(in, "pairs"), index, pair)
    {
        assert_int_equal(json_array_size(pair), 6);
        json_t *ranges = json_array_get(pair, 5);
        uint64_t sum = (uint64_t)(number_at(pair, 3) + number_at(pair, 4));
        for (size_t i = 0; i < json_array_size(ranges); i += 2) {
            assert_true((size_t)number_at(ranges, i) < SAMPLE_EDGES);
            sum += (uint64_t)number_at(ranges, i + 1);
        }
        assert_true(sum == (uint64_t)number_at(pair, 2));
        references += sum;
        cold += (uint64_t)number_at(pair, 3);
        beyond += (uint64_t)number_at(pair, 4);
    }
    assert_true(references == profile->references && cold == profile->cold && beyond == profile->beyond);
    pair = json_array_get(json_object_get(in, "pairs"), 0); /* the largest: 0 -> 1 */
    assert_int_equal(number_at(pair, 0), 0);
    assert_int_equal(number_at(pair, 1), 1);
    assert_int_equal(number_at(edges, (size_t)number_at(json_array_get(pair, 5), 2)), 1024);
    json_t *object = json_array_get(json_object_get(in, "objects"), 1);
    assert_string_equal(json_string_value(json_object_get(object, "kind")), "heap");
    assert_int_equal(json_integer_value(json_object_get(object, "allocation")), 1);
    assert_int_equal(json_integer_value(json_object_get(object, "blocks")), 3);
    json_decref(tree);

    /* With several profiles the large fields are in "profiles" only. */
    assert_int_equal(fm_profile_write(path, two, 2, NULL), FM_OK);
    tree = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_null(json_object_get(tree, "attribution"));
    assert_non_null(json_object_get(json_array_get(json_object_get(tree, "profiles"), 0), "attribution"));
    json_decref(tree);
    fm_profile_destroy(profile);
}

static const char good[] =
    "{\"schema\":\"fathom-profile-1\",\"engine\":\"exact\",\"exact\":true,\"granularity\":64,"
    "\"references\":10,\"distinct\":8,\"cold\":2,\"histogram\":[[0,0,3],[5,5,5]],"
    "\"complete\":true,\"lost\":0,\"run\":{\"command\":\"./x\",\"exit_code\":0,\"seconds\":1.5e0},"
    "\"attribution\":{\"late_from\":4,\"edges\":[0,1,4],\"strings\":[\"f\",\"a.c\"],"
    "\"modules\":[{\"path\":\"p\"}],\"sites\":[[0,16,null,null,0,[0,1,7,0]],[0,32,0,0,4,[]]],\"paths\":[["
    "null,0]],"
    "\"pairs\":[[0,1,8,0,0,[0,3,2,5]],[null,0,2,2,0,[]]],\"objects\":[{\"kind\":\"heap\",\"allocation\":0}],"
    "\"object_uses\":[[0,1,5,0,0,[2,5]]]},\"parts\":[]}";

static void write_text(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

CASE(wrong_files_are_refused)
{
    static const struct {
        const char *from, *to, *said;
    } cases[] = {
        {"\"lost\":0", "\"lost\":0", NULL}, /* it is good as it is */
        {"[0,16,null", "[1,16,null", "\"attribution\": \"sites\"[0]: expected a module below 1, found 1"},
        {"[0,32,0,0", "[0,32,1,0", "\"sites\"[1]: expected a path below 1, found 1"},
        {"[0,32,0,0", "[0,32,0,2", "\"attribution.sites\"[1]: expected strings below 2"},
        {"[0,1,7,0]", "[0,2,7,0]", "\"attribution.sites\"[0]: expected strings below 2"},
        {"[0,1,7,0]", "[0,1,7]", "\"attribution.sites\"[0]: expected function, file, line and column"},
        {"[0,1,7,0]", "[0,1,4294967296,0]", "below 2^32, found 4294967296"},
        {"[0,16,null,null,0,", "[0,16,null,null,",
         "\"attribution.sites\"[0]: expected a whole number, found an array"},
        {"[0,1,7,0]]", "[0,1,7,0],1]", "\"attribution.sites\"[0]: expected [module, address, path, symbol"},
        {"[0,16,null", "[4294967295,16,null", "below 2^32 - 1 or null, found 4294967295"},
        {"[[null,0]]", "[[0,0]]", "\"paths\"[0]: expected a parent below 0, found 0"},
        {"[[null,0]]", "[[null,2]]", "\"paths\"[0]: expected a site below 2, found 2"},
        {"[[null,0]]", "[[null,null]]", "\"paths\"[0]: expected a site, found none"},
        {"[[null,0]]", "[[null]]", "\"attribution.paths\"[0]: expected [parent, call], found less"},
        {"[[null,0]]", "[null]", "\"attribution.paths\"[0]: expected an array, found null"},
        {"[[0,1,8", "[[0,2,8", "\"pairs\"[0]: expected a site below 2, found 2"},
        {"[[0,1,8", "[[2,1,8", "\"pairs\"[0]: expected a site below 2, found 2"},
        {"[[0,1,8", "[[0,null,8", "\"pairs\"[0]: expected a site, found none"},
        {"[[0,1,8", "[[0,1,9", "\"pairs\"[0]: the numbers do not add up: count is 9, but its parts are 8"},
        {"[[0,1,8", "[[0,1,-8", "\"attribution.pairs\"[0]: expected a number from 0 on, found -8"},
        {"[0,3,2,5]", "[0,3,3,5]", "\"attribution.pairs\"[0]: expected ranges below 3"},
        {"[0,3,2,5]", "[2,3,0,5]", "\"attribution.pairs\"[0]: expected ascending ranges"},
        {"[0,3,2,5]", "[0,3,2]", "\"attribution.pairs\"[0]: expected a count behind every range"},
        {"[0,3,2,5]", "[0,8,2,0]", "\"pairs\"[0]: expected counts from 1 on, found 0"},
        {"[0,3,2,5]", "[0,18446744073709551615,2,9]", "exceed 64 bits"},
        {"[0,3,2,5]", "[250,8]", "expected ascending ranges below 250, found 250"},
        {"[null,0,2,2,0", "[null,0,2,1,1", "\"cold\" is 2, but that of all \"pairs\" is 1"},
        {",[null,0,2,2,0,[]]", "", "\"references\" is 10, but that of all \"pairs\" is 8"},
        {"[0,1,4]", "[1,2,4]", "\"edges\"[0]: expected 0, found 1"},
        {"[0,1,4]", "[0,4,4]", "\"edges\"[2]: expected ascending edges"},
        {"[0,1,4]", "[]", "expected ranges below 0"},
        {"[\"f\",\"a.c\"]", "[\"f\",null]", "\"attribution.strings\"[1]: expected a string, found null"},
        {"[\"f\",\"a.c\"]", "[\"f\",7]", "\"attribution.strings\"[1]: expected a string, found a number"},
        {"[{\"path\":\"p\"}]", "[[]]", "\"attribution.modules\"[0]: expected an object, found an array"},
        {"[{\"path\":\"p\"}]", "[{\"path\":\"p\",\"bias\":-1}]",
         "\"attribution.modules\"[0]: expected a number"},
        {"\"allocation\":0", "\"allocation\":1", "\"objects\"[0]: expected a path below 1, found 1"},
        {"\"allocation\":0", "\"module\":9", "\"objects\"[0]: expected a module below 1, found 9"},
        {"\"kind\":\"heap\"", "\"kind\":3", "\"attribution.objects\"[0]: expected a string"},
        {"\"kind\":\"heap\"", "\"thread\":4294967296",
         "\"attribution.objects\"[0]: expected a number below 2^32"},
        {"[[0,1,5,0,0", "[[1,1,5,0,0", "\"object_uses\"[0]: expected an object below 1, found 1"},
        {"[[0,1,5,0,0", "[[0,null,5,0,0", "\"object_uses\"[0]: expected a site, found none"},
        {"[[0,1,5,0,0,[2,5]]]", "[[0,1,5,0,0,[2,5]],[0,1,18446744073709551615,18446744073709551615,0,[]]]",
         "\"object_uses\"[1]: the counts up to here exceed 64 bits"},
        {"\"late_from\":4", "\"late_from\":4,\"late_from\":4", "\"attribution.late_from\" is given twice"},
        {"\"late_from\":4", "\"pairs\":[]", "\"attribution.pairs\" is given twice"},
        {"\"late_from\":4", "\"late_from\":null", "\"attribution.late_from\": expected a whole number"},
        {"\"run\":{", "\"run\":[", "\"run\": expected an object"},
        {"\"exit_code\":0", "\"exit_code\":2147483648",
         "\"run.exit_code\": expected a number up to 2147483647"},
        {"\"exit_code\":0", "\"thread\":4294967296", "\"run.thread\": expected a number up to 4294967295"},
        {"1.5e0", "-1.5", "\"run.seconds\": expected a time from 0 on"},
        {"1.5e0", "1e999", "\"run.seconds\": expected a time from 0 on"},
        {"1.5e0", "\"1\"", "\"run.seconds\": expected a number"},
        {"1.5e0", "1.00000000000000000000000000000001", "\"run.seconds\": expected at most"},
        {"\"./x\"", "7", "\"run.command\": expected a string"},
        {"\"parts\":[]", "\"parts\":[5]", "which is an object, found a number"},
        {"\"parts\":[]", "\"parts\":{}", "\"parts\": expected an array"},
        {"\"parts\":[]", "\"parts\":[{}]", "\"parts[0].schema\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        const char *at = strstr(good, cases[i].from);
        assert_non_null(at);
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, cases[i].to,
                 at + strlen(cases[i].from));
        write_text(text);
        fm_error error = {0};
        fm_profile_list list;
        fm_status status = fm_profile_read(path, &list, &error);
        if (status != (cases[i].said ? FM_E_FORMAT : FM_OK) ||
            (cases[i].said && !strstr(error.reason, cases[i].said)))
            fail_msg("case %zu: status %d, said '%s', expected '%s'", i, status, error.reason, cases[i].said);
        fm_profile_list_clear(&list);
    }
}

CASE(a_file_cut_anywhere_is_refused)
{
    char text[sizeof good];
    for (size_t length = 0; length + 1 < sizeof good; length++) {
        memcpy(text, good, length);
        text[length] = '\0';
        write_text(text);
        fm_profile_list list;
        fm_error error;
        assert_int_equal(fm_profile_read(path, &list, &error), FM_E_FORMAT);
        assert_int_equal(error.place, FM_PLACE_BYTE);
        assert_int_equal(error.offset, length);
    }
}

CASE(parts_have_a_depth)
{
    /* Eight levels of parts below the first profile are read, nine are not. */
    for (size_t depth = 8; depth <= 9; depth++) {
        fm_profile *top = NULL;
        for (size_t i = 0; i <= depth; i++) {
            fm_profile *outer;
            assert_int_equal(fm_profile_create(&outer, NULL), FM_OK);
            if (top) add_part(outer, top);
            top = outer;
        }
        const fm_profile *const one[] = {top};
        fm_error error;
        fm_profile_list list;
        fm_status status = fm_profile_write(path, one, 1, &error);
        assert_int_equal(status, depth == 8 ? FM_OK : FM_E_ARGUMENT);
        if (depth == 8) {
            assert_int_equal(fm_profile_read(path, &list, &error), FM_OK);
            same_profile(top, list.profiles[0]);
            fm_profile_list_clear(&list);
        }
        fm_profile_destroy(top);
    }
    /* A file that someone prepared: nothing but openings. */
    FILE *file = fopen(path, "w");
    for (int i = 0; i < 10000; i++) fputs("{\"parts\":[", file);
    fclose(file);
    fm_profile_list list;
    fm_error error;
    assert_int_equal(fm_profile_read(path, &list, &error), FM_E_FORMAT);
    assert_non_null(strstr(error.reason, "to a depth of 8"));
    assert_int_equal(error.offset, 9 * 10 - 1);
}

CASE(what_is_unsound_is_not_written)
{
    fm_profile *profile = sample();
    const fm_profile *const one[] = {profile};
    fm_error error;
    unlink(path);
    profile->attribution->sites[0].module = 3;
    assert_int_equal(fm_profile_write(path, one, 1, &error), FM_E_ARGUMENT);
    assert_non_null(strstr(error.reason, "\"sites\"[0]: expected a module below 3, found 3"));
    profile->attribution->sites[0].module = 0;
    profile->attribution->pairs[0].count--;
    assert_int_equal(fm_profile_write(path, one, 1, &error), FM_E_ARGUMENT);
    profile->attribution->pairs[0].count++;
    profile->attribution->objects[0].kind = (fm_object_kind)9;
    assert_int_equal(fm_profile_write(path, one, 1, &error), FM_E_ARGUMENT);
    assert_int_not_equal(access(path, F_OK), 0);
    fm_profile_destroy(profile);
}

CASE(seconds_survive_every_locale)
{
    static const double times[] = {0, 1e-9, 0.1, 1.0 / 3, 12345.678901234567, 1e300, 5e-324, 3600};
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"};
    for (size_t l = 0; l < 4; l++) {
        if (!setlocale(LC_ALL, locales[l])) continue; /* not installed here */
        for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
            fm_profile *profile = sample();
            profile->run->seconds = times[i];
            const fm_profile *const one[] = {profile};
            fm_profile_list list;
            fm_error error;
            assert_int_equal(fm_profile_write(path, one, 1, &error), FM_OK);
            assert_int_equal(fm_profile_read(path, &list, &error), FM_OK);
            assert_true(list.profiles[0]->run->seconds == times[i]);
            fm_profile_list_clear(&list);
            fm_profile_destroy(profile);
        }
    }
    setlocale(LC_ALL, "C");
}

CASES_WITH(make_folder, remove_folder);

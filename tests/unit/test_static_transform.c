/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_transform.c - changed loops against brute force: both regions are worked off here, statement by
 * statement; each execution is labelled with its statement and the original's iteration. The changed region
 * has the same executions, and it is legal if and only if all accesses that depend on each other keep their
 * order (of scalars: every load gets its value from the same store).
 */
#include "case.h"

#include "static/change/transform.h"
#include "static/region/region.h"
#include "static_samples.h"

/* ---- the judge ---- */

typedef struct event {
    uint32_t statement; /* of the original */
    int64_t iteration[FM_MOST_LOOPS];
    size_t time; /* when it happens in its region */
} event;

typedef struct events {
    const fm_region *region, *original;
    int64_t parameters[8], variables[64];
    size_t count, capacity;
    event *all;
} events;

static void put_event(events *self, const fm_region_node *node)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? 2 * self->capacity : 256;
        self->all = realloc(self->all, self->capacity * sizeof *self->all);
        assert_non_null(self->all);
    }
    event *at = &self->all[self->count];
    *at = (event){.statement = node->statement, .time = self->count};
    const fm_region_origin *origin = self->region->origin;
    if (origin) at->statement = origin->statements[node->statement];
    for (uint32_t v = 0; v < self->original->variable_count; v++) {
        assert_true(v < FM_MOST_LOOPS);
        if (!origin)
            at->iteration[v] = self->variables[v];
        else if (origin->values[at->statement][v])
            assert_true(fm_expr_value(origin->values[at->statement][v], self->parameters, self->variables,
                                      &at->iteration[v]));
    }
    self->count++;
}

static void work_off(events *self, const fm_region_node *node)
{
    for (; node; node = node->next) {
        bool holds;
        int64_t first, last;
        if (node->kind == FM_NODE_STATEMENT) {
            put_event(self, node);
        } else if (node->kind == FM_NODE_IF) {
            assert_true(fm_condition_value(node->condition, self->parameters, self->variables, &holds));
            work_off(self, holds ? node->body : node->otherwise);
        } else {
            assert_true(fm_expr_value(node->first, self->parameters, self->variables, &first));
            assert_true(fm_expr_value(node->last, self->parameters, self->variables, &last));
            for (int64_t i = first; node->step > 0 ? i <= last : i >= last; i += node->step) {
                self->variables[node->variable] = i;
                work_off(self, node->body);
            }
            self->variables[node->variable] = 0;
        }
    }
}

static events *list_events(const fm_region *region, const fm_region *original)
{
    events *self = calloc(1, sizeof *self);
    assert_non_null(self);
    self->region = region;
    self->original = original;
    for (size_t i = 0; i < region->parameter_count; i++) self->parameters[i] = region->parameters[i].value;
    assert_true(region->variable_count < 64);
    work_off(self, region->body);
    return self;
}

static int compare_events(const void *left, const void *right)
{
    const event *a = left, *b = right;
    if (a->statement != b->statement) return a->statement < b->statement ? -1 : 1;
    return memcmp(a->iteration, b->iteration, sizeof a->iteration);
}

/* Same executions, sorted in the same way; false otherwise. */
static bool same_executions(events *before, events *after)
{
    if (before->count != after->count) return false;
    if (before->count == 0) return true;
    qsort(before->all, before->count, sizeof *before->all, compare_events);
    qsort(after->all, after->count, sizeof *after->all, compare_events);
    for (size_t i = 0; i < before->count; i++)
        if (compare_events(&before->all[i], &after->all[i]) != 0) return false;
    return true;
}

/* One access of one execution. */
typedef struct touch {
    uint32_t array;
    bool store;
    int64_t from, to;     /* bytes */
    size_t before, after; /* times; accesses of one execution follow each other */
} touch;

static const fm_region_node *statement_at(const fm_region_node *node, uint32_t number)
{
    for (; node; node = node->next) {
        if (node->kind == FM_NODE_STATEMENT && node->statement == number) return node;
        const fm_region_node *found = statement_at(node->body, number);
        if (!found) found = statement_at(node->otherwise, number);
        if (found) return found;
    }
    return NULL;
}

static size_t list_touches(const fm_region *region, const events *before, const events *after, touch **all)
{
    fm_placement *placement;
    fm_error error;
    size_t count = 0;
    assert_int_equal(fm_placement_create(&placement, region, 64, FM_LAYOUT_CONTIGUOUS, &error), FM_OK);
    *all = calloc(before->count * 8 + 1, sizeof **all);
    assert_non_null(*all);
    for (size_t i = 0; i < before->count; i++) {
        const fm_region_node *node = statement_at(region->body, before->all[i].statement);
        assert_true(node->access_count <= 8);
        for (size_t k = 0; k < node->access_count; k++) {
            const fm_region_access *access = &node->accesses[k];
            const fm_placed_array *placed = &placement->arrays[access->array];
            int64_t address = placed->origin + (int64_t)access->member_offset, value;
            for (unsigned d = 0; d < region->arrays[access->array].dimensions; d++) {
                assert_true(fm_expr_value(access->subscripts[d], placement->parameters,
                                          before->all[i].iteration, &value));
                address += value * placed->strides[d];
            }
            (*all)[count++] = (touch){.array = access->array,
                                      .store = access->store,
                                      .from = address,
                                      .to = address + (int64_t)access->member_bytes,
                                      .before = before->all[i].time * 8 + k,
                                      .after = after->all[i].time * 8 + k};
        }
    }
    fm_placement_destroy(placement);
    return count;
}

/* The store that was there last before a time; NULL: none. */
static const touch *last_store(const touch *all, size_t count, uint32_t array, size_t time, bool after)
{
    const touch *last = NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t at = after ? all[i].after : all[i].before;
        if (all[i].array == array && all[i].store && at < time &&
            (!last || at > (after ? last->after : last->before)))
            last = &all[i];
    }
    return last;
}

static bool same_values(const touch *all, size_t count, uint32_t array)
{
    for (size_t i = 0; i < count; i++)
        if (all[i].array == array && !all[i].store &&
            last_store(all, count, array, all[i].before, false) !=
                last_store(all, count, array, all[i].after, true))
            return false;
    return last_store(all, count, array, SIZE_MAX, false) == last_store(all, count, array, SIZE_MAX, true);
}

static bool is_whole_scalar(const fm_region *region, const touch *all, size_t count, uint32_t array)
{
    int64_t bytes = -1;
    if (region->arrays[array].dimensions > 0) return false;
    for (size_t i = 0; i < count; i++) {
        if (all[i].array != array) continue;
        if (bytes >= 0 && bytes != all[i].to - all[i].from) return false;
        bytes = all[i].to - all[i].from;
    }
    return true;
}

static bool is_legal(const fm_region *region, const touch *all, size_t count)
{
    for (uint32_t array = 0; array < region->array_count; array++)
        if (is_whole_scalar(region, all, count, array) && !same_values(all, count, array)) return false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < count; k++) {
            const touch *a = &all[i], *b = &all[k];
            if (a->array == b->array && (a->store || b->store) && a->from < b->to && b->from < a->to &&
                a->before < b->before && a->after > b->after &&
                !is_whole_scalar(region, all, count, a->array))
                return false;
        }
    return true;
}

typedef enum outcome { NOT_DONE, ILLEGAL, LEGAL } outcome;

static fm_region *parse(const char *text)
{
    fm_region *region;
    fm_error error;
    if (fm_region_parse(&region, text, strlen(text), "sample.fir", &error) != FM_OK)
        fail_msg("line %llu: %s\n%s", (unsigned long long)error.offset, error.reason, text);
    return region;
}

static char *text_of(const fm_region *region)
{
    char *text;
    size_t size;
    fm_error error;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(fm_region_write(region, stream, &error), FM_OK);
    fclose(stream);
    return text;
}

/* The change is made and judged; what the library says of it must be right. */
static outcome judge(const fm_region *region, const char *text, const char *change)
{
    fm_region *changed;
    fm_error error;
    fm_status status = fm_region_transform(region, change, &changed, &error);
    if (status != FM_OK) {
        assert_true(status == FM_E_UNSUPPORTED || status == FM_E_ARGUMENT);
        return NOT_DONE;
    }
    char *other = text_of(changed);
    events *before = list_events(region, region), *after = list_events(changed, region);
    if (!same_executions(before, after)) fail_msg("%s: other executions\n%s\n%s", change, text, other);
    touch *all;
    const size_t count = list_touches(region, before, after, &all);
    const bool legal = is_legal(region, all, count);
    status = fm_region_change_check(region, changed, 60, &error);
    if ((status == FM_OK) != legal)
        fail_msg("%s: legal is %d, but: %s\n%s\n%s", change, legal, status ? error.reason : "legal", text,
                 other);
    if (status != FM_OK && strncmp(error.reason, "illegal: ", 9) != 0) fail_msg("%s\n%s", error.reason, text);
    /* What is written reads as the same region. */
    fm_region *again = parse(other);
    again->origin = changed->origin;
    char *twice = text_of(again);
    assert_string_equal(other, twice);
    fm_region_destroy(again);
    free(twice);
    free(all);
    free(before->all);
    free(after->all);
    free(before);
    free(after);
    free(other);
    fm_region_destroy(changed);
    return legal ? LEGAL : ILLEGAL;
}

/* ---- random regions ---- */

static void put_statement(sample_text *self, unsigned scope)
{
    const int count = sample_between(self, 1, 3);
    sample_put(self, "do {");
    for (int i = 0; i < count; i++) {
        const unsigned array = (unsigned)sample_between(self, 0, (int)self->arrays - 1);
        sample_put(self, " %s A%u", sample_between(self, 0, 2) ? "load" : "store", array);
        for (unsigned d = 0; d < self->dimensions[array]; d++) {
            sample_put(self, "[");
            if (sample_between(self, 0, 12) == 0)
                sample_expression(self, scope, 1, 0);
            else if (scope)
                sample_put(self, "%d + v%d", sample_between(self, 0, 3) ? 2 : sample_between(self, 1, 3),
                           sample_between(self, 0, (int)scope - 1));
            else
                sample_put(self, "3");
            sample_put(self, "]");
        }
        if (sample_between(self, 0, 19) == 0)
            sample_put(self, " member 1 2");
        else if (sample_between(self, 0, 19) == 0)
            sample_put(self, " member 2 %d", sample_between(self, 3, 14));
    }
    sample_put(self, " }\n");
}

static void put_nest(sample_text *self, unsigned scope, unsigned depth)
{
    const int down = sample_between(self, 0, 5) == 0, step = sample_between(self, 0, 5);
    sample_put(self, "for v%u = ", scope);
    if (sample_between(self, 0, 2))
        sample_put(self, "%s", down ? "n" : "0");
    else
        sample_bound(self, scope, down);
    sample_put(self, down ? " downto " : " to ");
    if (sample_between(self, 0, 1))
        sample_put(self, "%s", down ? "0" : "n");
    else
        sample_bound(self, scope, !down);
    if (step == 2 || step == 3) sample_put(self, " step %d", step);
    sample_put(self, " {\n");
    if (scope + 1 < depth) {
        if (sample_between(self, 0, 4) == 0) put_statement(self, scope + 1);
        put_nest(self, scope + 1, depth);
        if (sample_between(self, 0, 4) == 0) put_nest(self, scope + 1, depth);
    } else {
        put_statement(self, scope + 1);
        if (sample_between(self, 0, 2) == 0) put_statement(self, scope + 1);
        if (sample_between(self, 0, 5) == 0) {
            sample_put(self, "if ");
            sample_condition(self, scope + 1, 1);
            sample_put(self, " {\n");
            put_statement(self, scope + 1);
            sample_put(self, "}\n");
        }
    }
    sample_put(self, "}\n");
}

static void nest_region(sample_text *self, uint64_t seed)
{
    *self = (sample_text){.random = (seed + 77) * UINT64_C(0x9E3779B97F4A7C15)};
    for (int i = 0; i < 8; i++) sample_random(self);
    const unsigned depth = (unsigned)sample_between(self, 1, 3);
    self->arrays = (unsigned)sample_between(self, 1, 3);
    sample_put(self, "fathom-region 1\nparam n = %d\n", sample_between(self, 2, depth > 2 ? 4 : 6));
    for (unsigned a = 0; a < self->arrays; a++) {
        self->dimensions[a] = (unsigned)sample_between(self, 0, 5) ? (unsigned)sample_between(self, 1, 2) : 0;
        sample_put(self, "array A%u", a);
        if (self->dimensions[a]) sample_put(self, "[]");
        if (self->dimensions[a] == 2) sample_put(self, "[%d]", sample_between(self, 0, 1) ? 5 : 40);
        sample_put(self, " of 8\n");
    }
    put_nest(self, 0, depth);
    if (sample_between(self, 0, 2) == 0) put_nest(self, 0, depth);
}

static void try_changes(const char *text, unsigned counts[3], uint64_t seed)
{
    static const char *const more[] = {
        "tile:v0=3",
        "tile:v0,v1=2,3",
        "tile:v0,v1,v2=2,1,3",
        "interchange:v0,v2",
        "interchange:v0,v1; interchange:v0,v2",
        "tile:v1=2; interchange:v0,v1_tile",
        "fuse:v0; fuse:v1",
        "distribute:v1; distribute:v0",
        "fuse:v0; distribute:v0",
        "distribute:v1; interchange:v0,v1",
        "tile:v0,v1=3,2; tile:v0,v1=2,2",
    };
    fm_region *region = parse(text);
    fm_error error;
    char *changes;
    assert_int_equal(fm_region_suggest(region, &changes, &error), FM_OK);
    for (const char *change = changes; *change; change += strlen(change) + 1) {
        if (strstr(change, "=32") || strstr(change, "=64")) continue;
        counts[judge(region, text, change)]++;
    }
    for (size_t i = 0; i < 3; i++)
        counts[judge(region, text, more[(seed + 4 * i) % (sizeof more / sizeof more[0])])]++;
    free(changes);
    fm_region_destroy(region);
}

CASE(test_random_nests)
{
    unsigned counts[3] = {0};
    sample_text sample;
    const char *more = getenv("FATHOM_TEST_NESTS"); /* these are few, for every day */
    const uint64_t nests = more ? strtoull(more, NULL, 10) : getenv("FATHOM_TEST_STRIDE") ? 12 : 30;
    for (uint64_t seed = 0; seed < nests; seed++) {
        if (seed % 4 == 3)
            sample_region(&sample, seed);
        else
            nest_region(&sample, seed);
        try_changes(sample.text, counts, seed);
    }
    print_message("%u not done, %u illegal, %u legal\n", counts[NOT_DONE], counts[ILLEGAL], counts[LEGAL]);
    assert_true(4 * counts[ILLEGAL] > nests && counts[LEGAL] > nests);
}

/* ---- by hand ---- */

static void expect(const char *text, const char *change, fm_status wanted, const char *message)
{
    fm_region *region = parse(text), *changed = NULL;
    fm_error error = {0};
    fm_status status = fm_region_transform(region, change, &changed, &error);
    if (status == FM_OK) status = fm_region_change_check(region, changed, 10, &error);
    if (status != wanted || (message && strcmp(error.reason, message) != 0))
        fail_msg("%s: %d, '%s', not %d, '%s'", change, status, error.reason, wanted, message);
    if (status == FM_OK) assert_int_equal(judge(region, text, change), LEGAL);
    fm_region_destroy(changed);
    fm_region_destroy(region);
}

static const char column_sum[] = "fathom-region 1 file 1 \"c.c\" array A[20][30] of 8 array B[30] of 8\n"
                                 "for j = 0 to 29 @1:1 { for i = 0 to 19 @1:2 { do @1:3 {\n"
                                 "  load B[j] \"B[j]\" load A[i][j] \"A[i][j]\" store B[j] \"B[j]\" } } }";
static const char recurrence[] = "fathom-region 1 file 1 \"r.c\" array A[20][30] of 8\n"
                                 "for i = 1 to 19 @1:1 { for j = 0 to 28 @1:2 { do @1:3 {\n"
                                 "  load A[i - 1][j + 1] \"A[i-1][j+1]\" store A[i][j] \"A[i][j]\" } } }";
static const char backwards[] = "fathom-region 1 file 1 \"b.c\" array A[20] of 8 array B[20] of 8\n"
                                "for i = 0 to 18 @1:1 { do @1:2 { store A[i] \"A[i]\" } }\n"
                                "for i = 0 to 18 @1:4 { do @1:5 { load A[i + 1] \"A[i+1]\" store B[i] } }";

CASE(test_by_hand)
{
    expect(column_sum, "interchange:j,i", FM_OK, NULL);
    expect(
        recurrence, "interchange:i,j", FM_E_UNSUPPORTED,
        "illegal: line 3 writes A[i][j] in iteration i=1, j=1 before line 3 reads it in iteration i=2, j=0; "
        "the changed loops have the reverse order");
    expect(recurrence, "tile:i=4", FM_OK, NULL);
    expect(
        backwards, "fuse:i", FM_E_UNSUPPORTED,
        "illegal: line 2 writes A[i] in iteration i=1 before line 5 reads it in iteration i=0; the changed "
        "loops have the reverse order");
    /* A temporary is no obstacle; a sum in a scalar is one. */
    expect("fathom-region 1 array A[9][9] of 8 array t of 8 array B[9][9] of 8\n"
           "for i = 0 to 8 { for j = 0 to 8 { do { load A[i][j] store t } do { load t store B[j][i] } } }",
           "interchange:i,j", FM_OK, NULL);
    expect("fathom-region 1 array A[9][9] of 8 array t of 8\n"
           "for i = 0 to 8 { for j = 0 to 8 { do { load t load A[i][j] store t } } }",
           "interchange:i,j", FM_E_UNSUPPORTED, NULL);
    /* Rows that run into each other: the element is the same, the subscripts are not. */
    expect(
        "fathom-region 1 array A[8][4] of 8\n"
        "for i = 0 to 5 { for j = 0 to 3 { do { load A[i][j + 3] store A[i][j] } } }",
        "interchange:i,j", FM_E_UNSUPPORTED,
        "illegal: statement 1 reads A in iteration i=0, j=1 before statement 1 writes it in iteration i=1, "
        "j=0; the changed loops have the reverse order");
    expect(
        "fathom-region 1 array A[8][4] of 8\n"
        "for i = 0 to 5 { for j = 0 to 3 { do { load A[i][j + 4] store A[i][j] } } }",
        "pad:A=8", FM_E_UNSUPPORTED,
        "illegal: statement 1 touches A in iteration i=0, j=0, beyond the end of a row: in longer rows that "
        "is another element");
    expect(column_sum, "pad:A=+3", FM_OK, NULL);
    expect(column_sum, "pad:B=+3", FM_E_UNSUPPORTED, "pad: 'B' has no rows: it has one dimension");
    expect(column_sum, "pad:C=1", FM_E_ARGUMENT, "pad: the region has no array 'C'");
    expect(column_sum, "interchange:i,j", FM_E_UNSUPPORTED,
           "interchange: the loop over 'j' is not the only thing in the loop over 'i'");
    expect(column_sum, "interchange:k,j", FM_E_ARGUMENT,
           "interchange: there is no loop over 'k': there are j@1, i@2");
    expect(column_sum, "tile:j@7=2", FM_E_ARGUMENT,
           "tile: there is no loop over 'j' in line 7: there are j@1, i@2");
    expect(backwards, "tile:i=4", FM_E_ARGUMENT,
           "tile: there are several loops over 'i': say which: i@1, i@4");
    expect(backwards, "tile:i@4=4", FM_OK, NULL);
    expect(backwards, "distribute:i@4", FM_E_UNSUPPORTED,
           "distribute: there is nothing to separate: the loop over 'i' has one thing in it");
    expect(column_sum, "fuse:j", FM_E_UNSUPPORTED, "fuse: what follows the loop over 'j' is nothing");
    /* Loops without lines, and in one line. */
    static const char *const lines[] = {"", " @1:5"};
    for (int i = 0; i < 2; i++) {
        char text[400], message[100];
        snprintf(
            text, sizeof text,
            "fathom-region 1 file 1 \"a.c\" array A[8] of 8 array B[8] of 8\n"
            "for i = 0 to 7%s { do { store A[i] } } for i = 0 to 7%s { do { store B[i] } do { store A[i] } }",
            lines[i], lines[i]);
        snprintf(message, sizeof message, "tile: there are several loops over 'i': say which: i%s#1, i%s#2",
                 i ? "@5" : "", i ? "@5" : "");
        expect(text, "tile:i=4", FM_E_ARGUMENT, message);
        expect(text, "tile:i#2=4", FM_OK, NULL);
        expect(text, i ? "distribute:i@5#2" : "distribute:i#2", FM_OK, NULL);
        snprintf(message, sizeof message, "tile: there is no loop number 3 over 'i': there are i%s#1, i%s#2",
                 i ? "@5" : "", i ? "@5" : "");
        expect(text, "tile:i#3=4", FM_E_ARGUMENT, message);
    }
}

CASE(test_wrong_texts)
{
    static const char *const wrong[] = {
        "",
        "swap:i,j",
        "interchange",
        "interchange:i",
        "tile:i#=4",
        "tile:i#0=4",
        "tile:i#1@2=4",
        "interchange:i,j,k",
        "tile:i,j=32",
        "tile:i=0",
        "tile:i=-3",
        "tile:i",
        "tile:i=8,8",
        "fuse:i,j",
        "fuse:",
        "pad:A",
        "pad:A,B=1",
        "pad:A=-1",
        "fuse:i@",
        "fuse:i@x",
        "fuse:i;;fuse:j",
        "fuse:1",
        "tile:i=8x",
        "fuse:i fuse:j",
        "interchange:i,j,",
        "tile:a,b,c,d,e,f,g,h,i=1,1,1,1,1,1,1,1,1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect(column_sum, wrong[i], FM_E_ARGUMENT, NULL);
    fm_change_step steps[FM_MOST_STEPS];
    size_t count;
    fm_error error;
    /* Several --what-if are joined by commas. */
    assert_int_equal(
        fm_change_parse(" interchange: i , j,tile:k@12,l=4,8 ; pad:A = +8;", steps, &count, &error), FM_OK);
    assert_int_equal(count, 3);
    assert_int_equal(steps[1].kind, FM_STEP_TILE);
    assert_int_equal(steps[1].names[0].line, 12);
    assert_int_equal(steps[1].numbers[1], 8);
    assert_string_equal(steps[2].names[0].name, "A");
}

/* What takes too long is not allowed. */
CASE(test_no_time)
{
    static const char text[] = "fathom-region 1 param n = 4 array A of 8\n"
                               "for i = 0 to n { do { load A } for j = i to min(n, 3 + max(floor(ceil(1 - i, "
                               "3), 2), i - 1)) step 3 {\n"
                               "for k = 0 to n { do { load A load A store A } if not (0 - i - j - k == 0) { "
                               "do { store A store A } } } }\n"
                               "for j = 0 to n { for k = 0 to n step 3 { do { load A } } for k = 0 to n step "
                               "3 { do { load A } do { load A } "
                               "} } }";
    fm_region *region = parse(text), *changed;
    fm_error error;
    assert_int_equal(fm_region_transform(region, "tile:j,k=16,16", &changed, &error), FM_OK);
    assert_int_equal(fm_region_change_check(region, changed, 1e-9, &error), FM_E_UNSUPPORTED);
    assert_string_equal(error.reason,
                        "not known whether the change is legal: working it out takes longer than 1e-09 s");
    fm_region_destroy(changed);
    fm_region_destroy(region);
}

CASE(test_triangles)
{
    static const char *const bounds[] = {"0 to i",
                                         "i to 8",
                                         "8 - i to 8",
                                         "0 to 8 - i",
                                         "max(0, i - 2) to min(8, i + 2)",
                                         "i downto 0",
                                         "8 downto i step 2",
                                         "0 to 2 * i",
                                         "0 to i step 3",
                                         "3 * i - 4 to 2 * i + 1"};
    static const char *const outer[] = {"0 to 8", "8 downto 0", "0 to 8 step 2", "7 downto 1 step 3"};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++)
        for (size_t k = 0; k < 4; k++) {
            char text[512];
            snprintf(text, sizeof text,
                     "fathom-region 1 array A[90][90] of 8\nfor i = %s { for j = %s { do { store A[i + 9][j "
                     "+ 9] } } }",
                     outer[k], bounds[i]);
            fm_region *region = parse(text);
            assert_int_equal(judge(region, text, "interchange:i,j"), LEGAL);
            assert_int_equal(judge(region, text, "tile:i,j=3,2"), LEGAL);
            fm_region_destroy(region);
        }
    /* Which values the inner loop has depends on the outer one. */
    expect(
        "fathom-region 1 array A[9][90] of 8 for i = 0 to 8 { for j = i to 20 step 2 { do { store A[i][j] } "
        "} }",
        "interchange:i,j", FM_E_UNSUPPORTED,
        "interchange: which values 'j' has depends on 'i': its step is not 1 and it begins at another value "
        "each time");
    expect("fathom-region 1 array A[9][90] of 8 for i = 0 to 8 { for j = min(i, 3) to 20 { do { store "
           "A[i][j] } } }",
           "interchange:i,j", FM_E_UNSUPPORTED,
           "interchange: the least value of 'j' depends on 'i' in a way that cannot be turned around");
}

/* ---- tiles by hand ---- */

typedef struct trace {
    size_t count;
    uint64_t addresses[200000];
} trace;

static fm_status take(void *context, const uint64_t *addresses, const uint32_t *sizes, const uint32_t *tags,
                      size_t count, fm_error *error)
{
    trace *all = context;
    (void)sizes, (void)tags, (void)error;
    assert_true(all->count + count <= 200000);
    memcpy(all->addresses + all->count, addresses, count * sizeof *addresses);
    all->count += count;
    return FM_OK;
}

static const char gemm_head[] = "fathom-region 1 param ni = 20 param nj = 25 param nk = 30\n"
                                "array C[ni][nj] of 8 array A[ni][nk] of 8 array B[nk][nj] of 8\n";
static const char gemm_body[] = "do { load C[i][j] load A[i][k] load B[k][j] store C[i][j] }";

CASE(test_gemm)
{
    char text[1024], tiled[2048];
    snprintf(text, sizeof text,
             "%s for i = 0 to ni - 1 { for k = 0 to nk - 1 { for j = 0 to nj - 1 { %s } } }", gemm_head,
             gemm_body);
    snprintf(tiled, sizeof tiled,
             "%s for a = 0 to ni - 1 step 8 { for b = 0 to nk - 1 step 16 { for c = 0 to nj - 1 step 4 {\n"
             "for i = a to min(a + 7, ni - 1) { for k = b to min(b + 15, nk - 1) { for j = c to min(c + 3, "
             "nj - 1) {"
             "%s } } } } } }",
             gemm_head, gemm_body);
    fm_region *region = parse(text), *by_hand = parse(tiled), *changed;
    fm_error error;
    assert_int_equal(fm_region_transform(region, "tile:i,k,j=8,16,4", &changed, &error), FM_OK);
    assert_int_equal(fm_region_change_check(region, changed, 10, &error), FM_OK);
    trace *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
    assert_true(a && b);
    assert_int_equal(fm_region_walk(changed, 64, FM_LAYOUT_CONTIGUOUS, take, a, &error), FM_OK);
    assert_int_equal(fm_region_walk(by_hand, 64, FM_LAYOUT_CONTIGUOUS, take, b, &error), FM_OK);
    assert_int_equal(a->count, 4 * 20 * 25 * 30);
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->addresses, b->addresses, a->count * sizeof *a->addresses);
    free(a);
    free(b);
    fm_region_destroy(changed);
    fm_region_destroy(by_hand);
    fm_region_destroy(region);
}

CASE(test_pad)
{
    fm_region *region = parse(column_sum), *changed;
    fm_region *fortran = parse("fathom-region 1 array A[20][30] of 8 column-major low 1 1\n"
                               "for i = 1 to 20 { do { store A[i][2] } }");
    fm_error error;
    fm_placement *placement;
    assert_int_equal(fm_region_transform(region, "pad:A=+8", &changed, &error), FM_OK);
    assert_int_equal(fm_placement_create(&placement, changed, 64, FM_LAYOUT_CONTIGUOUS, &error), FM_OK);
    assert_int_equal(placement->arrays[0].strides[0], 38 * 8);
    fm_placement_destroy(placement);
    fm_region_destroy(changed);
    assert_int_equal(fm_region_transform(fortran, "pad:A=+8", &changed, &error), FM_OK);
    assert_int_equal(fm_placement_create(&placement, changed, 64, FM_LAYOUT_CONTIGUOUS, &error), FM_OK);
    assert_int_equal(placement->arrays[0].strides[1], 28 * 8);
    fm_placement_destroy(placement);
    fm_region_destroy(changed);
    fm_region_destroy(fortran);
    fm_region_destroy(region);
}

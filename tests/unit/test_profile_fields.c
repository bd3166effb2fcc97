/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile_fields.c - docs/PROFILE.md names the fields that a profile's tables have, and no others. Run
 * in the root of the tree. */
#include "case.h"

#include "profile/profile_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *document;

static int read_document(void **state)
{
    (void)state;
    FILE *file = fopen("docs/PROFILE.md", "r");
    if (!file || !(document = calloc(1, 1 << 20))) return -1;
    const size_t length = fread(document, 1, (1 << 20) - 1, file);
    fclose(file);
    return length == 0;
}

static int release_document(void **state)
{
    (void)state;
    free(document);
    return 0;
}

/* The text under a heading; new memory. */
static char *section_of(const char *heading)
{
    char line[64];
    snprintf(line, sizeof line, "\n## %s\n", heading);
    const char *from = strstr(document, line);
    assert_non_null(from);
    from += strlen(line);
    const char *to = strstr(from, "\n## ");
    return strndup(from, to ? (size_t)(to - from) : strlen(from));
}

static void assert_documented(const char *heading, const fm_json_table *table)
{
    char *section = section_of(heading);
    for (size_t i = 0; i < table->count; i++) {
        char name[64];
        snprintf(name, sizeof name, "`%s`", table->members[i].name);
        if (!strstr(section, name)) fail_msg("docs/PROFILE.md, \"%s\": no %s", heading, name);
    }
    free(section);
}

static bool is_member(const fm_json_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->members[i].name, name) == 0) return true;
    return false;
}

/* What a list's items begin with are fields: "- `a`, `b` (strings), `c`: …"; not what is in parentheses.
 * others: names of what is written and has no place in a struct. */
static size_t assert_item(const char *heading, const char *item, const fm_json_table *table,
                          const char *others)
{
    size_t found = 0;
    bool aside = false;
    for (const char *at = item; *at && (aside || *at != ':') && strncmp(at, "\n- ", 3) != 0; at++) {
        if (*at == '(' || *at == ')') aside = *at == '(';
        if (*at != '`' || aside) continue;
        char name[64] = "";
        const size_t length = strcspn(at + 1, "`");
        assert_true(length < sizeof name);
        memcpy(name, at + 1, length);
        at += length + 1;
        found++;
        if (!is_member(table, name) && !strstr(others, name))
            fail_msg("docs/PROFILE.md, \"%s\": `%s` is no field", heading, name);
    }
    return found;
}

static void assert_no_others(const char *heading, const fm_json_table *table, const char *others)
{
    char *section = section_of(heading);
    size_t found = 0;
    for (const char *item = section; (item = strstr(item, "\n- `")); item += 3)
        found += assert_item(heading, item + 3, table, others);
    assert_true(found > 0);
    free(section);
}

CASE(every_field_is_documented_and_no_other)
{
    static const struct {
        const char *heading;
        const fm_json_table *table;
        const char *others;
    } all[] = {
        {"Fields", &fm_profile_json, ""},    {"Accuracy", &fm_accuracy_json, ""},
        {"Sampling", &fm_sampling_json, ""}, {"Phases", &fm_phases_json, "phase_columns inner_columns"},
        {"The run", &fm_run_json, ""},       {"The kernel", &fm_kernel_json, ""}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_documented(all[i].heading, all[i].table);
        assert_no_others(all[i].heading, all[i].table, all[i].others);
    }
}

CASE(fields_of_small_objects_are_documented)
{
    assert_documented("Fields", &fm_counts_json);
    assert_documented("Fields", &fm_cache_json);
    assert_documented("Fields", &fm_set_misses_json);
    assert_documented("Bounds", &fm_nest_json);
}

CASES_WITH(read_document, release_document);

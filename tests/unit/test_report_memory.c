/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_report_memory.c - the report of a program's profile with the n-th request for memory refused, for all
 * n: FM_OK or FM_E_NOMEM, no crash, nothing left allocated. (test_allocation_failure.c does this for the rest
 * of the library, where it is explained.)
 */
#include "case.h"

#include <stdint.h>

#include <fathom/view.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#endif

#ifdef UNDER_SANITIZER

CASE(refuse_every_allocation)
{
    print_message(
        "SKIP: the sanitizer brings its own malloc, which cannot be replaced; the release build runs this\n");
    skip();
}

#else

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sha256.h"

static long live, requests, refuse_from; /* refuse_from 0: none */
static bool refuse_on;

static bool refused(void)
{
    long number = ++requests;
    if (refuse_from == 0 || number < refuse_from || (number > refuse_from && !refuse_on)) return false;
    errno = ENOMEM;
    return true;
}

static void *counted(void *block)
{
    if (block) live++;
    return block;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

#pragma GCC visibility push(default)
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
void *malloc(size_t size)
{
    return refused() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return refused() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (refused()) return NULL;
    return block ? __libc_realloc(block, size) : counted(__libc_malloc(size));
}

void free(void *block)
{
    if (block) live--;
    __libc_free(block);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
#pragma GCC visibility pop

static FILE *nowhere;
static char source[64], sum[FM_SHA256_TEXT];
static size_t source_size;

static fm_status write_report(fm_error *error)
{
    static const uint64_t edges[] = {0, 1, 16, 256};
    static fm_bin late[] = {{256, UINT64_MAX, 7}};
    static fm_module modules[] = {{.path = "/no/such/program", .build_id = "aa"}};
    fm_frame frames[40];
    fm_site sites[80];
    fm_pair pairs[80];
    for (uint32_t i = 0; i < 40; i++) frames[i] = (fm_frame){"function", source, 1 + i, 1};
    for (uint32_t i = 0; i < 80; i++) {
        sites[i] = (fm_site){.module = 0, .address = i, .path = i % 3, .frame_count = i % 2, .symbol = "s"};
        if (i % 2) sites[i].frames = &frames[i / 2];
        pairs[i] = (fm_pair){.use = i, .reuse = 79 - i, .count = 8, .cold = 1, .bin_count = 1, .bins = late};
    }
    fm_call_path paths[] = {{FM_NONE, 1}, {0, 2}, {1, 3}};
    fm_object objects[] = {{.kind = FM_OBJECT_HEAP, .module = FM_NONE, .allocation = 2}};
    fm_object_use uses[] = {{.object = 0, .site = 1, .count = 7, .bin_count = 1, .bins = late}};
    fm_attribution attribution = {.edge_count = 4,
                                  .edges = edges,
                                  .late_from = 16,
                                  .module_count = 1,
                                  .site_count = 80,
                                  .path_count = 3,
                                  .pair_count = 80,
                                  .object_count = 1,
                                  .object_use_count = 1,
                                  .modules = modules,
                                  .sites = sites,
                                  .paths = paths,
                                  .pairs = pairs,
                                  .objects = objects,
                                  .object_uses = uses,
                                  .source_count = 1,
                                  .sources =
                                      &(fm_source){.path = source, .sha256 = sum, .size = source_size}};
    fm_run run = {.command = (char *)"program"};
    fm_profile part = {.engine = (char *)"exact", .granularity = 64, .complete = true, .run = &run};
    fm_profile *parts[] = {&part};
    fm_profile profile = {.engine = (char *)"exact",
                          .granularity = 64,
                          .complete = true,
                          .attribution = &attribution,
                          .run = &run,
                          .part_count = 1,
                          .parts = parts};
    const fm_profile *all[] = {&profile};
    fm_report_options options = {.title = "title"};
    return fm_report_write_page(nowhere, &options, all, 1, NULL, 0, error);
}

CASE(every_request_is_refused)
{
    if (!fm_report_available()) {
        print_message("SKIP: this build has no report page (made with FATHOM_REPORT=OFF)\n");
        skip();
    }
    fm_error error;
    requests = 0;
    assert_int_equal(write_report(&error), FM_OK);
    long needed = requests, before = live, failures = 0;
    assert_true(needed > 20);
    for (int on = 0; on < 2; on++)
        for (long n = 1; n <= needed; n++) {
            requests = 0;
            refuse_on = on != 0;
            refuse_from = n;
            fm_status status = write_report(&error);
            refuse_from = 0;
            assert_true(status == FM_OK || status == FM_E_NOMEM);
            if (live != before) print_error("request %ld: %ld blocks are left\n", n, live - before);
            assert_int_equal(live, before);
            failures += status == FM_E_NOMEM;
        }
    assert_true(failures > needed);
}

static int open_nowhere(void **state)
{
    (void)state;
    snprintf(source, sizeof source, "/tmp/fathom-source-XXXXXX");
    int file = mkstemp(source);
    if (file < 0) return -1;
    FILE *out = fdopen(file, "w");
    if (!out) return -1;
    char text[1000] = "";
    for (int i = 0; i < 50; i++) snprintf(text + strlen(text), sizeof text - strlen(text), "line %d\n", i);
    fputs(text, out);
    fclose(out);
    source_size = strlen(text);
    fm_sha256_text(text, source_size, sum);
    nowhere = fopen("/dev/null", "w");
    if (!nowhere) return -1;
    setvbuf(nowhere, NULL, _IONBF, 0);
    return 0;
}

static int close_nowhere(void **state)
{
    (void)state;
    unlink(source);
    return fclose(nowhere);
}

CASES_WITH(open_nowhere, close_nowhere);

#endif

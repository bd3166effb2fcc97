/* SPDX-License-Identifier: Apache-2.0 */
/* The front end for C and C++ as the library sees it: a module that is not there, broken, or of another time;
 * and a region that comes from it (tests/static has the sources that it must understand). */
#include "case.h"

#include "base/crew.h"
#include "static/front/front.h"
#include "static/region/region.h"
#include "unit/build_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/fathom-front-XXXXXX", module[64], source[64];

static fm_status read_source(fm_error *error, char **text, size_t *size)
{
    memset(error, 0, sizeof *error);
    return fm_front_clang(source, NULL, text, size, error);
}

static void write_file(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static int begin(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    snprintf(module, sizeof module, "%s/" FM_CLANG_FILE, folder);
    snprintf(source, sizeof source, "%s/a.c", folder);
    write_file(source, "void f(int n, float *a)\n{\n    for (int i = 0; i < n; i++) a[i] = 2 * a[i];\n}\n");
    return 0;
}

static int finish(void **state)
{
    (void)state;
    unlink(module);
    unlink(source);
    return rmdir(folder);
}

CASE(test_missing)
{
    fm_error error;
    char *text;
    size_t size;
    setenv("FATHOM_PARTS", folder, 1);
    assert_int_equal(read_source(&error, &text, &size), FM_E_UNSUPPORTED);
    assert_null(text);
    assert_string_equal(error.path, module);
    assert_string_equal(error.reason, "there is no module for C and C++ here");
}

CASE(test_broken)
{
    fm_error error;
    char *text;
    size_t size;
    write_file(module, "nothing");
    setenv("FATHOM_PARTS", folder, 1);
    assert_int_equal(read_source(&error, &text, &size), FM_E_UNSUPPORTED);
    assert_null(text);
    assert_non_null(strstr(error.reason, "cannot be loaded"));
    unlink(module);
}

CASE(test_region)
{
    fm_error error;
    char *text;
    size_t size;
    fm_region *region;
    if (!use_build_parts(FM_CLANG_FILE)) {
        printf("SKIP: this build has no front end for C and C++ (libclang)\n");
        skip();
    }
    assert_int_equal(read_source(&error, &text, &size), FM_OK);
    assert_int_equal(strlen(text), size);
    assert_int_equal(fm_region_parse(&region, text, size, "a.fir", &error), FM_OK);
    free(text);
    assert_string_equal(fm_region_name(region), "f");
    assert_int_equal(fm_region_parameter_count(region), 1);
    assert_string_equal(fm_region_parameter_name(region, 0), "n");
    assert_int_equal(region->access_count, 2);
    assert_int_equal(fm_region_access_at(region, 1)->place.line, 3);
    assert_int_equal(region->arrays[0].element, 4);
    fm_region_destroy(region);
}

/* ---- front ends that do not come back ---- */

static fm_status dies(const fm_clang_request *request, char **text, size_t *size, fm_error *error)
{
    (void)request, (void)text, (void)size, (void)error;
    raise(SIGKILL);
    return FM_OK;
}

static fm_status leaves(const fm_clang_request *request, char **text, size_t *size, fm_error *error)
{
    (void)request, (void)text, (void)size, (void)error;
    _exit(0);
}

static fm_status refuses(const fm_clang_request *request, char **text, size_t *size, fm_error *error)
{
    *text = NULL;
    *size = 0;
    *error = (fm_error){.status = FM_E_FORMAT, .place = FM_PLACE_LINE, .offset = 7, .reason = "no"};
    snprintf(error->path, sizeof error->path, "%s", request->path);
    return FM_E_FORMAT;
}

/* Longer than a pipe holds. */
static fm_status talks(const fm_clang_request *request, char **text, size_t *size, fm_error *error)
{
    (void)request, (void)error;
    *size = 1 << 20;
    *text = malloc(*size);
    memset(*text, 'x', *size);
    return FM_OK;
}

/* As an #include of a pipe that nobody writes to. */
static fm_status waits(const fm_clang_request *request, char **text, size_t *size, fm_error *error)
{
    (void)request, (void)text, (void)size, (void)error;
    for (;;) pause();
    return FM_OK;
}

/* As an #include of /dev/zero. */
static fm_status grows(const fm_clang_request *request, char **text, size_t *size, fm_error *error)
{
    (void)request, (void)text, (void)size, (void)error;
    enum { PIECE = 1 << 20 };
    for (char *piece; (piece = malloc(PIECE)) != NULL;) {
        memset(piece, 1, PIECE);
        usleep(1000);
    }
    return FM_E_NOMEM;
}

/* It has answered by half, and does not go on. */
static fm_status lies(const fm_clang_request *request, char **text, size_t *size, fm_error *error)
{
    (void)error;
    *size = (size_t)1 << 40;
    *text = strdup(request->path);
    return FM_OK;
}

static void nothing_is_left(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child, dead or alive */
    assert_int_equal(errno, ECHILD);
}

CASE(test_limits)
{
    const fm_clang_request request = {.path = "a.c"};
    const fm_front_limits short_time = {0.2, UINT64_C(1) << 40}, little = {60, 64 << 20};
    fm_clang_module front = {FM_CLANG_INTERFACE, waits};
    fm_error error;
    char *text;
    size_t size;
    const double began = fm_now();
    assert_int_equal(fm_front_in_child(&front, &request, &short_time, &text, &size, &error), FM_E_LIMIT);
    assert_non_null(strstr(error.reason, "0.2 s"));
    assert_string_equal(error.path, "a.c");
    assert_null(text);
    nothing_is_left();
    front.region = grows;
    assert_int_equal(fm_front_in_child(&front, &request, &little, &text, &size, &error), FM_E_LIMIT);
    assert_non_null(strstr(error.reason, "more than 64 MiB"));
    assert_null(text);
    nothing_is_left();
    assert_true(fm_now() - began < 50);
    front.region = lies;
    assert_int_not_equal(fm_front_in_child(&front, &request, &little, &text, &size, &error), FM_OK);
    assert_null(text);
    nothing_is_left();
}

CASE(test_limits_chosen)
{
    const fm_front_limits usual = fm_front_limits_choose(0, 0), given = fm_front_limits_choose(7, 9);
    assert_true(usual.seconds == 60);
    assert_true(usual.bytes > 0 && usual.bytes <= UINT64_C(4) << 30);
    assert_true(given.seconds == 7);
    assert_int_equal(given.bytes, 9);
}

CASE(test_child)
{
    const fm_front_limits usual = fm_front_limits_choose(0, 0);
    const fm_clang_request request = {.path = "a.c"};
    fm_clang_module front = {FM_CLANG_INTERFACE, dies};
    fm_error error;
    char *text;
    size_t size;
    assert_int_equal(fm_front_in_child(&front, &request, &usual, &text, &size, &error), FM_E_UNSUPPORTED);
    assert_non_null(strstr(error.reason, "libclang ended by signal 9"));
    assert_string_equal(error.path, "a.c");
    assert_null(text);
    front.region = leaves;
    assert_int_equal(fm_front_in_child(&front, &request, &usual, &text, &size, &error), FM_E_UNSUPPORTED);
    assert_non_null(strstr(error.reason, "before it had read"));
    front.region = refuses;
    assert_int_equal(fm_front_in_child(&front, &request, &usual, &text, &size, &error), FM_E_FORMAT);
    assert_int_equal(error.offset, 7);
    assert_string_equal(error.reason, "no");
    assert_int_equal(fm_front_in_child(&front, &request, &usual, &text, &size, NULL), FM_E_FORMAT);
    front.region = talks;
    assert_int_equal(fm_front_in_child(&front, &request, &usual, &text, &size, &error), FM_OK);
    assert_int_equal(size, 1 << 20);
    assert_int_equal(strspn(text, "x"), 1 << 20);
    free(text);
}

CASES_WITH(begin, finish);

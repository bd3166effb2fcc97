/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_symbols_memory.c - memory refused at the n-th request while symbols are read and objects are counted,
 * as in test_allocation_failure.c: no crash, no exit, a status of FM_OK or FM_E_NOMEM, nothing of ours left.
 *
 * libdw and libelf do not survive every refusal (libdw 0.188 writes into a hash table that it did not get)
 * and leak on others. Only blocks of this executable, into which the library is linked, are counted; and
 * whose requests are refused is one of three:
 *   - ours: those of code of this executable;
 *   - libdw's blocks: where it asks for a block to put its results into, it would end the process:
 * FM_E_NOMEM;
 *   - anybody's, also those of libdw, libelf, zlib and libc: where sites are resolved, which happens in a
 * process of its own. It may die of that, the caller may not: what is missing then is noted.
 */
#define _GNU_SOURCE
#include "case.h"

#include <stdint.h>

#include <fathom/experimental.h>

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

#include "program/object_map.h"
#include "symbols/symbols.h"
#include "unit/symbol_programs.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static long live, refuse_from; /* one thread */
static long *requests;         /* shared with processes that are forked */
static bool refuse_on;         /* also all requests after it */
static enum { OF_OURS, OF_BLOCKS, OF_ANYBODY } refuse;

extern char __executable_start, etext;

static bool is_ours(const void *caller)
{
    return (const char *)caller >= &__executable_start && (const char *)caller < &etext;
}

static bool refused(bool is_block, const void *caller)
{
    const bool mine = is_ours(caller);
    if (refuse == OF_OURS ? !mine : refuse == OF_BLOCKS && (mine || !is_block)) return false;
    if (!requests) return false;
    long number = ++*requests;
    if (refuse_from == 0 || number < refuse_from || (number > refuse_from && !refuse_on)) return false;
    errno = ENOMEM;
    return true;
}

/* Blocks that code of this executable (the library is linked into it) asked for: a hash set. */
enum { OURS = 1 << 16 };
static void *ours[OURS];

static size_t place_of(const void *block)
{
    size_t at = (uintptr_t)block / 16 * 40503 % OURS;
    while (ours[at] && ours[at] != block) at = (at + 1) % OURS;
    return at;
}

static void *counted(void *block, const void *caller)
{
    if (!block || !is_ours(caller)) return block;
    ours[place_of(block)] = block;
    live++;
    return block;
}

static void forget(const void *block)
{
    size_t hole = place_of(block);
    if (!block || !ours[hole]) return;
    live--;
    ours[hole] = NULL;
    for (size_t at = (hole + 1) % OURS; ours[at]; at = (at + 1) % OURS) { /* close the gap */
        void *moved = ours[at];
        ours[at] = NULL;
        ours[place_of(moved)] = moved;
    }
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void __libc_free(void *block);

#pragma GCC visibility push(default)
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
void *malloc(size_t size)
{
    /* libdw takes memory for what it returns in blocks of this size and more. */
    if (refused(size >= 4064, __builtin_return_address(0))) return NULL;
    return counted(__libc_malloc(size), __builtin_return_address(0));
}

void *calloc(size_t count, size_t size)
{
    if (refused(false, __builtin_return_address(0))) return NULL;
    return counted(__libc_calloc(count, size), __builtin_return_address(0));
}

void *realloc(void *block, size_t size)
{
    if (refused(false, __builtin_return_address(0))) return NULL;
    void *made = __libc_realloc(block, size);
    if (made) forget(block);
    return counted(made, __builtin_return_address(0));
}

void free(void *block)
{
    forget(block);
    __libc_free(block);
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
{
    if (refused(false, __builtin_return_address(0))) return MAP_FAILED;
    void *made = (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
    return made == MAP_FAILED ? made : counted(made, __builtin_return_address(0));
}

void *mremap(void *address, size_t old_length, size_t new_length, int flags, ...)
{
    if (refused(false, __builtin_return_address(0))) return MAP_FAILED;
    void *made = (void *)syscall(SYS_mremap, address, old_length, new_length, flags, NULL);
    if (made == MAP_FAILED) return made;
    forget(address);
    return counted(made, __builtin_return_address(0));
}

int munmap(void *address, size_t length)
{
    forget(address);
    return (int)syscall(SYS_munmap, address, length);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
#pragma GCC visibility pop

/* ---- the driver ---- */

typedef fm_status (*scenario)(fm_error *error);

static size_t named, named_at_best; /* sites, by the last run */
static bool noted;                  /* and whether it wrote a note */

static void one_refusal(scenario run, long n, bool on)
{
    fm_error error = {0};
    long before = live;
    *requests = 0;
    refuse_on = on;
    refuse_from = n;
    fm_status status = run(&error);
    refuse_from = 0;
    if (status != FM_OK && status != FM_E_NOMEM)
        fail_msg("request %ld%s refused: status '%s' (%s: %s)", n, on ? " and on" : "",
                 fm_status_name(status), error.path, error.reason);
    if (status != FM_OK) {
        assert_int_equal(error.status, status);
        assert_true(error.reason[0] != '\0');
    }
    if (refuse == OF_BLOCKS && status == FM_OK)
        fail_msg("request %ld of libdw refused, and nobody noticed", n);
    if (refuse == OF_ANYBODY && status == FM_OK && named < named_at_best && !noted)
        fail_msg("request %ld%s refused: %zu of %zu sites have names, and no note says why", n,
                 on ? " and on" : "", named, named_at_best);
    if (live != before)
        fail_msg("request %ld%s refused: %ld blocks leaked", n, on ? " and on" : "", live - before);
}

static void refuse_each_request(scenario run, int whose)
{
    fm_error error = {0};
    refuse = whose;
    /* Twice: what libraries allocate once and keep is then there. */
    for (int i = 0; i < 2; i++)
        if (run(&error) != FM_OK) fail_msg("with enough memory: %s: %s", error.path, error.reason);
    *requests = 0;
    long before = live;
    assert_int_equal(run(&error), FM_OK);
    assert_int_equal(live, before);
    long total = *requests;
    named_at_best = named;
    assert_in_range(total, whose == OF_BLOCKS ? 1 : 5, 5000);
    for (long n = 1; n <= total; n++) {
        one_refusal(run, n, false);
        one_refusal(run, n, true);
    }
    refuse = OF_OURS;
}

/* ---- scenarios ---- */

static char program[256], build_id[FM_BUILD_ID_TEXT];
enum { SITES = 120 };

static fm_status resolve_sites(fm_error *error)
{
    static char buffer[4096];
    fm_attribution *attribution;
    fm_status status = fm_attribution_create(&attribution, error);
    if (status != FM_OK) return status;
    attribution->modules = fm_attribution_allocate(attribution, 1, sizeof(fm_module));
    attribution->sites = fm_attribution_allocate(attribution, SITES, sizeof(fm_site));
    attribution->objects = fm_attribution_allocate(attribution, 1, sizeof(fm_object));
    if (!attribution->modules || !attribution->sites || !attribution->objects) {
        fm_attribution_destroy(attribution);
        snprintf(error->reason, sizeof error->reason, "no memory");
        return error->status = FM_E_NOMEM;
    }
    attribution->modules[0].path = program;
    attribution->modules[0].build_id = build_id;
    attribution->module_count = 1;
    attribution->site_count = SITES;
    attribution->objects[0] = (fm_object){.kind = FM_OBJECT_GLOBAL, .address = 0x4040};
    attribution->object_count = 1;
    for (uint64_t i = 0; i < SITES; i++)
        attribution->sites[i] = (fm_site){.address = 0x1000 + i * 8, .path = FM_NONE};
    FILE *notes = fmemopen(buffer, sizeof buffer, "w");
    buffer[0] = '\0';
    status = fm_symbols_resolve(attribution, notes, error);
    if (notes) fclose(notes);
    noted = !notes || buffer[0];
    named = 0;
    for (size_t i = 0; i < SITES; i++)
        named += attribution->sites[i].frame_count > 0 || attribution->sites[i].symbol;
    fm_attribution_destroy(attribution);
    return status;
}

static fm_status find_functions(fm_error *error)
{
    fm_symbols *symbols;
    fm_code_range *ranges;
    size_t count;
    const char *name;
    uint64_t start, size;
    fm_status status = fm_symbols_open(&symbols, program, error);
    if (status != FM_OK) return status;
    (void)fm_symbols_variable(symbols, 0x4040, &name, &start, &size);
    status = fm_symbols_function_ranges(symbols, "square", true, &ranges, &count, error);
    if (status == FM_OK) free(ranges);
    fm_symbols_close(symbols);
    return status;
}

static fm_status count_objects(fm_error *error)
{
    enum { LATE = 200 };
    static const uint64_t edges[] = {0, 8};
    static const uint32_t sites[] = {0, 0, 0}, paths[] = {FM_NONE};
    uint64_t addresses[LATE];
    fm_late late[LATE];
    fm_object_map *map = NULL, *child = NULL;
    fm_attribution *attribution = NULL;
    fm_status status = fm_object_map_create(&map, error);
    for (uint64_t i = 0; i < LATE && status == FM_OK; i++) {
        addresses[i] = 0x5000 + i * 64;
        late[LATE - 1 - i] = (fm_late){(uint32_t)i, (uint32_t)(i % 3), i % 2 ? 1 : FM_RANGE_COLD};
        status = fm_object_map_alloc(map, i / 2, 0x5000 + i * 64, 40, (uint32_t)(i % 50), error);
    }
    if (status == FM_OK) status = fm_object_map_stack(map, 60, 1, 0x5800, 0x5900, error);
    if (status == FM_OK) status = fm_object_map_alloc(map, 70, 0x5840, 32, 3, error);
    if (status == FM_OK) status = fm_object_map_module(map, 80, 0, "/nonexistent", 0, 0x6000, 0x7000, error);
    if (status == FM_OK) status = fm_object_map_free(map, 90, 0x6000, error);
    if (status == FM_OK) status = fm_object_map_count(map, 10, addresses, late, LATE, error);
    if (status == FM_OK) status = fm_object_map_clone(&child, map, error);
    if (status == FM_OK) status = fm_object_map_count(child, 0, addresses, late, LATE, error);
    if (status == FM_OK) status = fm_attribution_create(&attribution, error);
    if (status == FM_OK) status = fm_attribution_set_edges(attribution, edges, 2, 8, error);
    if (status == FM_OK) status = fm_object_map_describe(child, attribution, sites, 3, paths, 1, error);
    if (status == FM_OK) status = fm_object_map_describe(map, attribution, sites, 3, paths, 1, error);
    fm_attribution_destroy(attribution);
    fm_object_map_destroy(child);
    fm_object_map_destroy(map);
    return status;
}

static bool compiled(const char *command)
{
    if (shell("%s", command)) return true;
    print_message("SKIP: cannot compile: %s\n", command);
    return false;
}

CASE(sites_are_resolved)
{
    snprintf(program, sizeof program, "%s/t", symbol_directory);
    if (!compiled("gcc -O2 -g -Wl,--build-id c.c -o t")) skip();
    assert_true(fm_symbols_build_id(program, build_id));
    refuse_each_request(resolve_sites, OF_OURS);
    refuse_each_request(resolve_sites, OF_ANYBODY);
    assert_true(named_at_best > 50);
    if (compiled("strip -s t")) refuse_each_request(resolve_sites, OF_OURS);
}

/* Much debug information, compressed, of several units, with names that need a library to be read. */
CASE(large_programs_are_resolved)
{
    snprintf(program, sizeof program, "%s/t", symbol_directory);
    if (!compiled("g++ -O1 -g -Wl,--build-id x.cc -c -o cxx.o && gcc -O1 -g -gdwarf-4 -gz -Dmain=other -c "
                  "c.c -o c.o && "
                  "g++ -gz -Wl,--build-id cxx.o c.o -o t"))
        skip();
    assert_true(fm_symbols_build_id(program, build_id));
    refuse_each_request(resolve_sites, OF_ANYBODY);
}

CASE(functions_are_found)
{
    snprintf(program, sizeof program, "%s/t", symbol_directory);
    if (!compiled("gcc -O2 -g c.c -o t")) skip();
    refuse_each_request(find_functions, OF_OURS);
    refuse_each_request(find_functions, OF_BLOCKS);
}

CASE(objects_are_counted)
{
    refuse_each_request(count_objects, OF_OURS);
}

static int begin(void **state)
{
    requests = mmap(NULL, sizeof *requests, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return requests == MAP_FAILED ? -1 : make_symbol_directory(state);
}

CASES_WITH(begin, remove_symbol_directory);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_file.c - opens an ELF file, finds its debug information (in it, or in a separate file that a build
 * id or a .gnu_debuglink names), and keeps libdw from ending the process. Reads no symbols and no DWARF
 * itself.
 */
#define _GNU_SOURCE
#include "symbols/symbol_file.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* ---- memory ---- */

/* Where libdw's handler, which gets no argument, jumps to: the innermost guard of this thread. */
static _Thread_local jmp_buf *innermost;

static void out_of_memory(void) __attribute__((noreturn));
static void out_of_memory(void)
{
    longjmp(*innermost, 1); /* libdw is called in guards only */
}

void fm_symbols_protect(Dwarf *dwarf)
{
    if (dwarf) (void)dwarf_new_oom_handler(dwarf, out_of_memory);
}

typedef struct guarded {
    fm_status (*work)(void *context);
    void *context;
    fm_error *error;
    fm_status status;
    int reason; /* errno, before and after */
} guarded;

static void *call_guarded(void *context)
{
    guarded *call = context;
    jmp_buf here;
    jmp_buf *const outer = innermost;
    errno = call->reason;
    if (setjmp(here) == 0) {
        innermost = &here;
        call->status = call->work(call->context);
    } else {
        call->status = fm_fail(call->error, FM_E_NOMEM, NULL, "out of memory for debug information");
    }
    innermost = outer;
    call->reason = errno;
    return NULL;
}

fm_status fm_symbols_guard(fm_status (*work)(void *context), void *context, fm_error *error)
{
    enum { STACK_NEEDED = 1 << 20 }; /* libdw has the lines of a unit there: 200 KiB */
    guarded call = {work, context, error, .reason = errno};
    if (fm_thread_with_stack(STACK_NEEDED, call_guarded, &call) != 0)
        return fm_fail(error, FM_E_NOMEM, NULL, "out of memory for debug information");
    errno = call.reason;
    return call.status;
}

/* ---- separate debug files ---- */

/* As .gnu_debuglink has it: CRC-32 of the whole file. */
static bool crc_is(int descriptor, uint32_t expected)
{
    unsigned char buffer[1 << 13];
    uLong crc = crc32(0, NULL, 0);
    off_t offset = 0;
    for (;;) {
        ssize_t got = pread(descriptor, buffer, sizeof buffer, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) return (uint32_t)crc == expected;
        crc = crc32(crc, buffer, (uInt)got);
        offset += got;
    }
}

/* A regular ELF file, open for reading; -1 otherwise. Never waits (pipes) and never unpacks (archives, gzip).
 */
static int open_elf_file(const char *path)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return -1;
    struct stat about;
    char magic[SELFMAG];
    if (fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) &&
        pread(descriptor, magic, sizeof magic, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0)
        return descriptor;
    close(descriptor);
    errno = ENOEXEC;
    return -1;
}

static ssize_t build_id_of(int descriptor, unsigned char *id, size_t size)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(descriptor, ELF_C_READ, NULL);
    if (!elf) return 0;
    const void *found;
    ssize_t length = dwelf_elf_gnu_build_id(elf, &found);
    if (length > 0 && (size_t)length <= size)
        memcpy(id, found, (size_t)length);
    else
        length = 0;
    elf_end(elf);
    return length;
}

bool fm_symbols_build_id(const char *path, char text[FM_BUILD_ID_TEXT])
{
    text[0] = '\0';
    int descriptor = open_elf_file(path);
    if (descriptor < 0) return false;
    unsigned char id[(FM_BUILD_ID_TEXT - 1) / 2];
    ssize_t length = build_id_of(descriptor, id, sizeof id);
    close(descriptor);
    for (ssize_t i = 0; i < length; i++) snprintf(text + 2 * i, 3, "%02x", id[i]);
    return length > 0;
}

/* The file that belongs to the module: the same build id, or the checksum that it asks for. */
static int open_if_it_belongs(Dwfl_Module *module, const char *path, uint32_t crc)
{
    int descriptor = open_elf_file(path);
    if (descriptor < 0) return -1;
    const unsigned char *wanted;
    GElf_Addr unused;
    int length = dwfl_module_build_id(module, &wanted, &unused);
    unsigned char id[(FM_BUILD_ID_TEXT - 1) / 2];
    bool fits;
    if (length > 0)
        fits = build_id_of(descriptor, id, sizeof id) == length && memcmp(id, wanted, (size_t)length) == 0;
    else
        fits = crc_is(descriptor, crc);
    if (fits) return descriptor;
    close(descriptor);
    return -1;
}

/* Where gdb looks for a .gnu_debuglink: beside the file, in .debug beside it, in /usr/lib/debug under its
 * path. */
static int follow_link(Dwfl_Module *module, const char *file, const char *link, uint32_t crc, char **found)
{
    static const char *const before[] = {"", "", "/usr/lib/debug"};
    static const char *const between[] = {"/", "/.debug/", "/"};
    const char *slash = strrchr(file, '/');
    const char *base = strrchr(link, '/') ? strrchr(link, '/') + 1 : link;
    int directory = slash ? (int)(slash - file) : 1;
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        char *path = NULL;
        if (asprintf(&path, "%s%.*s%s%s", before[i], directory, slash ? file : ".", between[i], base) < 0)
            return -1;
        int descriptor = strcmp(path, file) != 0 ? open_if_it_belongs(module, path, crc) : -1;
        if (descriptor >= 0) {
            *found = path;
            return descriptor;
        }
        free(path);
    }
    return -1;
}

/* A file that dwz shares between several: its name is absolute, or relative to the file that names it.
 * Whether it is the right one is checked later, by its build id. */
static int follow_shared(const char *file, const char *link)
{
    if (link[0] == '/') return open_elf_file(link);
    const char *slash = file ? strrchr(file, '/') : NULL;
    char *path = NULL;
    if (asprintf(&path, "%.*s/%s", slash ? (int)(slash - file) : 1, slash ? file : ".", link) < 0) return -1;
    int descriptor = open_elf_file(path);
    free(path);
    return descriptor;
}

/* libdwfl asks for a separate debug file. (Its own dwfl_standard_find_debuginfo may use the network.) */
static int find_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                           const char *file, const char *link, GElf_Word crc, char **found)
{
    errno = 0;
    int descriptor = dwfl_build_id_find_debuginfo(module, user, name, base, file, link, crc, found);
    if (descriptor >= 0 || !link) return descriptor;
    if (crc == 0) return follow_shared(file, link);
    if (!file) return -1;
    descriptor = follow_link(module, file, link, crc, found);
    if (descriptor >= 0) return descriptor;
    char *canonical = realpath(file, NULL);
    if (canonical && strcmp(canonical, file) != 0)
        descriptor = follow_link(module, canonical, link, crc, found);
    free(canonical);
    return descriptor;
}

/* ---- open and close ---- */

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf, /* never asked: the file is given */
    .find_debuginfo = find_debug_file,
    .section_address = dwfl_offline_section_address,
};

static fm_status open_module(void *context)
{
    fm_symbols *symbols = context;
    int descriptor = open_elf_file(symbols->path);
    if (descriptor < 0) return FM_E_IO;
    symbols->dwfl = dwfl_begin(&callbacks);
    if (!symbols->dwfl) {
        close(descriptor);
        return FM_E_NOMEM;
    }
    dwfl_report_begin(symbols->dwfl);
    /* At 0: addresses are then those of the file. */
    symbols->module = dwfl_report_elf(symbols->dwfl, "", symbols->path, descriptor, 0, true);
    if (!symbols->module) close(descriptor);
    int reason = errno;
    if (dwfl_report_end(symbols->dwfl, NULL, NULL) != 0 || !symbols->module) {
        symbols->module = NULL;
        return reason == ENOMEM ? FM_E_NOMEM : FM_E_FORMAT;
    }
    return FM_OK;
}

fm_status fm_symbols_open(fm_symbols **symbols, const char *path, fm_error *error)
{
    fm_symbols *made = fm_calloc(1, sizeof *made);
    *symbols = NULL;
    if (made) made->path = strdup(path);
    if (!made || !made->path) {
        free(made);
        return fm_fail_memory(error, sizeof *made + strlen(path), "an ELF file's symbols");
    }
    errno = 0;
    fm_status status = fm_symbols_guard(open_module, made, error);
    int reason = errno;
    if (status == FM_OK) {
        *symbols = made;
        return FM_OK;
    }
    fm_symbols_close(made);
    if (status == FM_E_IO && reason != ENOEXEC) return fm_fail_io(error, path, "open", reason);
    if (status == FM_E_NOMEM) return fm_fail(error, FM_E_NOMEM, path, "out of memory for its symbols");
    return fm_fail(error, FM_E_FORMAT, path, "is no ELF file that can be read");
}

void fm_symbols_close(fm_symbols *symbols)
{
    if (!symbols) return;
    for (size_t i = 0; i < symbols->code.count; i++) free(symbols->code.list[i].shown);
    for (size_t i = 0; i < symbols->data.count; i++) free(symbols->data.list[i].shown);
    for (size_t i = 0; i < symbols->locals.count; i++) free(symbols->locals.list[i].shown);
    free(symbols->code.list);
    free(symbols->locals.list);
    free(symbols->data.list);
    fm_frame_table_clear(&symbols->frames);
    fm_demangler_clear(&symbols->demangler);
    if (symbols->dwfl) dwfl_end(symbols->dwfl);
    free(symbols->path);
    free(symbols);
}

/* ---- DWARF ---- */

/* False: it refers to a file, shared with others by dwz, of which another build is installed. Its names would
 * be wrong. */
static bool check_shared_file(Dwarf *dwarf)
{
    Dwarf *shared = dwarf_getalt(dwarf);
    if (!shared) return true;
    fm_symbols_protect(shared);
    const char *name;
    const void *wanted, *has;
    ssize_t wanted_length = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &wanted);
    ssize_t has_length = dwelf_elf_gnu_build_id(dwarf_getelf(shared), &has);
    return wanted_length > 0 && wanted_length == has_length && memcmp(wanted, has, (size_t)has_length) == 0;
}

Dwarf *fm_symbols_dwarf(fm_symbols *symbols)
{
    if (symbols->dwarf_sought) return symbols->dwarf;
    symbols->dwarf_sought = true;
    errno = 0;
    Dwarf *dwarf = dwfl_module_getdwarf(symbols->module, &symbols->offset);
    if (!dwarf && errno == ENOMEM) out_of_memory(); /* it does not distinguish that from having none */
    if (!dwarf) return NULL;
    fm_symbols_protect(dwarf);
    if (check_shared_file(dwarf)) symbols->dwarf = dwarf;
    return symbols->dwarf;
}

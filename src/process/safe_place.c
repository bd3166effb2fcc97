/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safe_place.c - see tracee.h.
 *
 * First every word of the stack's last part that may be an address to return to is looked at, which takes
 * little time. Where one of them is unsafe, it may be left from earlier calls (those of the loader, in the
 * first thread): then the stack is unwound, and believed where that comes to its end.
 */
#define _GNU_SOURCE
#include "process/tracee.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

enum {
    STACK_MOST = 64 << 10,       /* bytes that are looked at */
    ALLOCATOR_BEFORE = 24 << 10, /* of the C library's allocator lie before malloc, and have no names */
    CALL_MOST = 7,
};

/* Of the C library: who is in one of these may hold a lock that loading needs. */
static const char *const allocator[] = {"malloc",         "calloc",  "realloc",     "free",
                                        "memalign",       "valloc",  "pvalloc",     "malloc_trim",
                                        "posix_memalign", "mallopt", "malloc_info", NULL};
static const char *const others[] = {"dlopen",
                                     "dlclose",
                                     "dlsym",
                                     "dlvsym",
                                     "dladdr",
                                     "dladdr1",
                                     "dlinfo",
                                     "dlerror",
                                     "dlmopen",
                                     "dl_iterate_phdr",
                                     "_dl_find_object",
                                     "fork",
                                     "_Fork",
                                     "vfork",
                                     "posix_spawn",
                                     "posix_spawnp",
                                     "exit",
                                     "__cxa_atexit",
                                     "__cxa_finalize",
                                     "pthread_create",
                                     "pthread_exit",
                                     "abort",
                                     "_dl_catch_error",
                                     "_dl_catch_exception",
                                     "__libc_dlopen_mode",
                                     "pthread_key_create",
                                     "__register_atfork",
                                     NULL};

static void add_unsafe(fm_unsafe_places *places, uint64_t first, uint64_t behind)
{
    if (places->count >= FM_UNSAFE_RANGES || first >= behind) return;
    places->ranges[places->count].first = first;
    places->ranges[places->count++].behind = behind;
}

static void add_libc(fm_unsafe_places *places, const fm_tracee *tracee, const fm_remote_module *libc)
{
    uint64_t bytes = 0, first = UINT64_MAX, behind = 0;
    for (size_t i = 0; allocator[i]; i++) {
        const uint64_t at = fm_remote_symbol(tracee, libc, allocator[i], &bytes);
        if (!at) continue;
        if (at < first) first = at;
        if (at + bytes > behind) behind = at + bytes;
    }
    if (behind) add_unsafe(places, first - ALLOCATOR_BEFORE, behind);
    for (size_t i = 0; others[i]; i++) {
        const uint64_t at = fm_remote_symbol(tracee, libc, others[i], &bytes);
        if (at) add_unsafe(places, at, at + bytes);
    }
    /* mov $15, %rax; syscall */
    static const unsigned char restore[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    places->handler_end = fm_remote_bytes(tracee, libc, restore, sizeof restore);
}

void fm_unsafe_places_find(fm_unsafe_places *places, const fm_tracee *tracee,
                           const fm_remote_modules *modules)
{
    *places = (fm_unsafe_places){0};
    const fm_remote_module *loader = fm_remote_module_named(modules, "ld-linux");
    const fm_remote_module *libc = fm_remote_module_named(modules, "libc.so");
    if (!libc) libc = fm_remote_module_named(modules, "libc-");
    if (loader) add_unsafe(places, loader->code, loader->code_behind);
    if (libc) add_libc(places, tracee, libc);
    /* An allocator of the program's own: in a library, all of that; in the program, what has names. */
    for (size_t i = 0; i < modules->count; i++) {
        const fm_remote_module *module = &modules->modules[i];
        uint64_t bytes;
        if (module == libc || module == loader || !fm_remote_symbol(tracee, module, "malloc", &bytes))
            continue;
        if (i > 0)
            add_unsafe(places, module->code, module->code_behind);
        else
            for (size_t k = 0; allocator[k]; k++) {
                const uint64_t at = fm_remote_symbol(tracee, module, allocator[k], &bytes);
                if (at) add_unsafe(places, at, at + bytes);
            }
    }
}

static bool is_unsafe(const fm_unsafe_places *places, uint64_t address)
{
    for (size_t i = 0; i < places->count; i++)
        if (address >= places->ranges[i].first && address < places->ranges[i].behind) return true;
    return false;
}

/* Is there a call before it? */
static bool follows_call(const fm_tracee *tracee, uint64_t address)
{
    unsigned char code[CALL_MOST];
    if (fm_tracee_read(tracee, address - CALL_MOST, code, CALL_MOST) != CALL_MOST) return true;
    if (code[2] == 0xe8) return true;
    for (int bytes = 2; bytes <= CALL_MOST; bytes++) {
        const unsigned char *at = code + CALL_MOST - bytes;
        if (at[0] == 0xff && (at[1] >> 3 & 7) == 2) return true;
    }
    return false;
}

/* In a sequence that the kernel would have begun anew (restartable sequences)? */
static bool in_sequence(const fm_tracee *tracee, const fm_tracee_thread *thread)
{
    struct {
        uint64_t pointer;
        uint32_t bytes, signature, flags, padding;
    } sequence = {0};
    uint64_t descriptor = 0;
    if (ptrace(0x420f /* PTRACE_GET_RSEQ_CONFIGURATION */, thread->tid, (void *)sizeof sequence, &sequence) <=
            0 ||
        !sequence.pointer)
        return false;
    return fm_tracee_read(tracee, sequence.pointer + 8, &descriptor, 8) == 8 && descriptor != 0;
}

/* ---- calls ---- */

typedef struct chain {
    const fm_unsafe_places *places;
    bool safe;
    int depth;
} chain;

static int look_at_frame(Dwfl_Frame *frame, void *context)
{
    enum { DEEPEST = 4096 };
    chain *calls = context;
    Dwarf_Addr address = 0;
    bool activation = false;
    if (!dwfl_frame_pc(frame, &address, &activation)) return DWARF_CB_ABORT;
    if (address == calls->places->handler_end || is_unsafe(calls->places, address)) calls->safe = false;
    if (++calls->depth > DEEPEST) calls->safe = false;
    return calls->safe ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* What is on the disk is enough; nobody is asked for debug information. */
static int find_nothing(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file,
                        const char *link, GElf_Word sum, char **debug)
{
    (void)module, (void)user, (void)name, (void)base, (void)file, (void)link, (void)sum, (void)debug;
    return -1;
}

/* Is every call that the thread is in a safe one? False also where it cannot be told. */
static bool calls_are_safe(const fm_unsafe_places *places, const fm_tracee *tracee,
                           const fm_tracee_thread *thread)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                             .find_debuginfo = find_nothing};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    chain calls = {.places = places, .safe = true};
    const bool known = dwfl && dwfl_linux_proc_report(dwfl, tracee->pid) == 0 &&
                       dwfl_report_end(dwfl, NULL, NULL) == 0 &&
                       dwfl_linux_proc_attach(dwfl, tracee->pid, true) == 0 &&
                       dwfl_getthread_frames(dwfl, thread->tid, look_at_frame, &calls) == 0;
    if (dwfl) dwfl_end(dwfl);
    return known && calls.safe;
}

bool fm_is_safe_place(const fm_unsafe_places *places, const fm_tracee *tracee, const fm_tracee_thread *thread)
{
    struct user_regs_struct registers;
    if (thread->signal || ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) != 0) return false;
    if (is_unsafe(places, registers.rip) || in_sequence(tracee, thread)) return false;
    uint64_t *stack = malloc(STACK_MOST);
    if (!stack) return false;
    const size_t words = fm_tracee_read(tracee, registers.rsp & ~UINT64_C(7), stack, STACK_MOST) / 8;
    bool safe = words > 0;
    for (size_t i = 0; i < words && safe; i++)
        safe = (!places->handler_end || stack[i] != places->handler_end) &&
               !(is_unsafe(places, stack[i]) && follows_call(tracee, stack[i]));
    free(stack);
    return words > 0 && (safe || calls_are_safe(places, tracee, thread));
}

bool fm_may_be_in_handler(const fm_unsafe_places *places, const fm_tracee *tracee,
                          const fm_tracee_thread *thread)
{
    struct user_regs_struct registers;
    uint64_t *stack = malloc(STACK_MOST);
    bool inside = true;
    if (stack && places->handler_end && ptrace(PTRACE_GETREGS, thread->tid, NULL, &registers) == 0) {
        const size_t words = fm_tracee_read(tracee, registers.rsp & ~UINT64_C(7), stack, STACK_MOST) / 8;
        inside = registers.rip == places->handler_end;
        for (size_t i = 0; i < words && !inside; i++) inside = stack[i] == places->handler_end;
    }
    free(stack);
    return inside;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * module.c - the program and its libraries: reports to the receiver where each lies, and finds other copies
 * of the runtime.
 *
 * Every module that the runtime is linked into has a note (README.md), in which, after the version, is the
 * distance from the note to that copy's fm_cc_process. Usually all hooks of a process lead to the program's
 * copy, because it comes first for the dynamic linker. But a library that hides its symbols, or was loaded
 * where others cannot see it, has hooks of its own; by the note it finds the copy that started first, and
 * adds to the same channels.
 */
#define _GNU_SOURCE
#include "runtime.h"
#include "system.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

enum { NOTE_TYPE = 1, DESCRIPTOR_BYTES = 8 };

__asm__(".pushsection .note.fathom, \"a\", @note\n"
        ".p2align 2\n"
        ".long 7, 8, 1\n"
        ".asciz \"fathom\"\n"
        ".byte 0\n"
        ".long 3\n" /* FM_STREAM_VERSION */
        ".long fm_process_own - .\n"
        ".popsection\n");
_Static_assert(FM_STREAM_VERSION == 3, "the note above says 3");

/* ---- notes ---- */

static bool is_our_owner(const char *name)
{
    static const char ours[] = "fathom";
    for (size_t i = 0; i < sizeof ours; i++)
        if (name[i] != ours[i]) return false;
    return true;
}

/* The runtime's state of a module that has one, by its note. */
static fm_cc_process *state_in_notes(uintptr_t at, uintptr_t end, size_t align)
{
    if (align != 8) align = 4;
    while (end - at >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
        uintptr_t name = at + sizeof *note;
        uintptr_t descriptor = (name + note->n_namesz + align - 1) & ~(align - 1);
        uintptr_t next = (descriptor + note->n_descsz + align - 1) & ~(align - 1);
        if (descriptor < at || descriptor + note->n_descsz > end) return NULL;
        if (note->n_type == NOTE_TYPE && note->n_namesz == 7 && note->n_descsz == DESCRIPTOR_BYTES &&
            is_our_owner((const char *)name)) {
            const int32_t *field = (const int32_t *)descriptor;
            if (field[0] != FM_STREAM_VERSION) return NULL;
            return (fm_cc_process *)((uintptr_t)&field[1] + (uintptr_t)(intptr_t)field[1]);
        }
        if (next <= at || next > end) return NULL;
        at = next;
    }
    return NULL;
}

static fm_cc_process *state_of(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_NOTE) continue;
        uintptr_t at = info->dlpi_addr + segment->p_vaddr;
        fm_cc_process *state = state_in_notes(at, at + segment->p_memsz, segment->p_align);
        if (state) return state;
    }
    return NULL;
}

static int look_for_other(struct dl_phdr_info *info, size_t size, void *result)
{
    (void)size;
    fm_cc_process *state = state_of(info);
    if (!state || state == &fm_process_own) return 0;
    uint32_t at = __atomic_load_n(&state->state, __ATOMIC_ACQUIRE);
    if (at != FM_STATE_ACTIVE && at != FM_STATE_STOPPED) return 0;
    *(fm_cc_process **)result = state;
    return 1;
}

fm_cc_process *fm_process_find_other(void)
{
    fm_cc_process *other = NULL;
    dl_iterate_phdr(look_for_other, &other);
    return other;
}

/* ---- modules ---- */

/* Where the parts of a module lie. */
typedef struct extent {
    uintptr_t text_from, text_to, data_from, data_to, bss_from, bss_to;
} extent;

/* data: what lies between the code and the zeroes, constants included. */
static extent extent_of(const struct dl_phdr_info *info)
{
    extent e = {0, 0, 0, 0, 0, 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || segment->p_memsz == 0) continue;
        uintptr_t from = info->dlpi_addr + segment->p_vaddr;
        uintptr_t file_end = from + segment->p_filesz, end = from + segment->p_memsz;
        if (segment->p_flags & PF_X) {
            if (e.text_to == 0) e.text_from = from;
            e.text_to = end;
        } else if (segment->p_flags & PF_W || e.text_to != 0) {
            if (e.data_to == 0) e.data_from = from;
            e.data_to = file_end;
            if (end > file_end) {
                if (e.bss_to == 0) e.bss_from = file_end;
                e.bss_to = end;
            }
        }
    }
    return e;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 1;
    for (; *text; text++) hash = fm_hash(hash, (unsigned char)*text);
    return hash;
}

typedef struct module_report {
    fm_cc_process *process;
    fm_thread *thread;
    bool first; /* the program itself comes first */
} module_report;

static void module_tell(const module_report *t, uint32_t number, const struct dl_phdr_info *info,
                        const extent *e, bool instrumented, bool program)
{
    uint64_t *words = t->thread->scratch;
    uint64_t flags = (instrumented ? FM_MODULE_INSTRUMENTED : 0U) | (program ? FM_MODULE_PROGRAM : 0U);
    words[1] = number | flags << 32;
    words[2] = info->dlpi_addr;
    words[3] = e->text_from;
    words[4] = e->text_to;
    words[5] = e->data_from;
    words[6] = e->data_to;
    words[7] = e->bss_from;
    words[8] = e->bss_to;
    char *own_path = (char *)&words[512];
    const char *path = info->dlpi_name;
    if (program) {
        long length = fm_readlink("/proc/self/exe", own_path, 4000);
        own_path[length > 0 ? length : 0] = 0;
        path = own_path;
    }
    size_t count = 8 + fm_text_words(&words[9], 500, path);
    words[0] = FM_RECORD(FM_RECORD_MODULE, 0, count);
    fm_append_many(words, count + 1);
}

static int tell_if_new(struct dl_phdr_info *info, size_t size, void *context)
{
    module_report *t = context;
    fm_cc_process *process = t->process;
    bool program = t->first;
    t->first = false;
    if (program && size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        uint64_t changes = info->dlpi_adds + info->dlpi_subs;
        if (changes == process->module_changes) return 1; /* nothing has come or gone */
        process->module_changes = changes;
        for (uint32_t i = 0; i < process->module_count; i++) process->modules[i].loaded = false;
    }
    extent e = extent_of(info);
    if (e.text_to == 0) return 0;
    if (info->dlpi_addr != 0 && info->dlpi_addr == getauxval(AT_BASE)) {
        process->linker_from = e.text_from;
        process->linker_to = e.text_to;
    }
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    bool vdso = !program && path[0] != '/' && path[0] != '.'; /* linux-vdso.so.1: no file */
    if (vdso) return 0;
    bool instrumented = state_of(info) != NULL;
    uint64_t hash = hash_text(path);
    for (uint32_t i = 0; i < process->module_count; i++) {
        fm_cc_module *known = &process->modules[i];
        if (known->base != info->dlpi_addr || known->path_hash != hash || known->text_from != e.text_from)
            continue;
        known->loaded = true;
        return 0;
    }
    if (process->module_count == FM_MODULES) return 0;
    fm_cc_module *added = &process->modules[process->module_count];
    *added = (fm_cc_module){info->dlpi_addr, e.text_from, e.text_to, hash, true, instrumented};
    __atomic_store_n(&process->module_count, process->module_count + 1, __ATOMIC_RELEASE);
    module_tell(t, process->module_count, info, &e, instrumented, program);
    return 0;
}

void fm_modules_report(fm_cc_process *process)
{
    fm_thread *thread = fm_my.thread;
    if (!thread || thread == &fm_unclaimed_thread) return;
    uint64_t signals = fm_signals_block();
    while (__atomic_exchange_n(&process->module_lock, 1, __ATOMIC_ACQUIRE))
        fm_syscall(__NR_sched_yield, 0, 0, 0, 0, 0, 0);
    module_report t = {process, thread, true};
    dl_iterate_phdr(tell_if_new, &t);
    /* What was unloaded and comes back is reported anew: another may have lain there meanwhile. */
    for (uint32_t i = 0; i < process->module_count; i++)
        if (!process->modules[i].loaded) process->modules[i].base = UINTPTR_MAX;
    __atomic_store_n(&process->module_lock, 0, __ATOMIC_RELEASE);
    if (thread->local_modules != process->module_count) fm_locals_report(process, thread);
    fm_signals_restore(signals);
}

/* ---- thread-local storage ---- */

/*
 * glibc puts that of the modules which the program began with between a thread's stack and its descriptor,
 * and allocates that of others when it is first used: __tls_get_addr, in the dynamic linker, calls malloc.
 * The access itself, and its hook, come after that. So what the linker allocates makes the next hook take its
 * slow way, where fm_locals_report looks for new storage (get_ready in access.c).
 */

static const ElfW(Phdr) * local_segment(const struct dl_phdr_info *info, size_t size)
{
    if (size < offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data ||
        !info->dlpi_tls_data)
        return NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS && info->dlpi_phdr[i].p_memsz > 0) return &info->dlpi_phdr[i];
    return NULL;
}

typedef struct extremes {
    uintptr_t low, high;
} extremes;

static int find_lowest(struct dl_phdr_info *info, size_t size, void *context)
{
    extremes *within = context;
    uintptr_t at = local_segment(info, size) ? (uintptr_t)info->dlpi_tls_data : 0;
    if (at > within->low && at < within->high) within->high = at;
    return 0;
}

uintptr_t fm_locals_lowest(uintptr_t low, uintptr_t high)
{
    extremes within = {low, high};
    dl_iterate_phdr(find_lowest, &within);
    return within.high;
}

static int tell_locals(struct dl_phdr_info *info, size_t size, void *context)
{
    const module_report *t = context;
    const ElfW(Phdr) *segment = local_segment(info, size);
    if (!segment) return 0;
    uintptr_t at = (uintptr_t)info->dlpi_tls_data;
    extent e = extent_of(info);
    uint32_t count = __atomic_load_n(&t->process->module_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = count; i-- > 0;) {
        const fm_cc_module *module = &t->process->modules[i];
        if (module->base != info->dlpi_addr || module->text_from != e.text_from) continue;
        if (t->thread->locals[i] == at) break;
        t->thread->locals[i] = at;
        const uint64_t words[5] = {FM_RECORD(FM_RECORD_THREAD_LOCAL, 0, 4), t->thread->number, i + 1, at,
                                   segment->p_memsz};
        fm_append_many(words, 5);
        break;
    }
    return 0;
}

void fm_locals_report(fm_cc_process *process, fm_thread *thread)
{
    uint64_t signals = fm_signals_block();
    thread->local_pending = false;
    thread->local_modules = __atomic_load_n(&process->module_count, __ATOMIC_ACQUIRE);
    module_report t = {process, thread, false};
    dl_iterate_phdr(tell_locals, &t);
    fm_signals_restore(signals);
}

void fm_locals_await(fm_cc_process *process, fm_thread *thread, uintptr_t allocator_caller)
{
    if (allocator_caller < process->linker_from || allocator_caller >= process->linker_to) return;
    thread->local_pending = true;
    fm_channel_ask(thread);
}

const fm_cc_module *fm_module_instrumented(const fm_cc_process *process, uintptr_t code)
{
    uint32_t count = __atomic_load_n(&process->module_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const fm_cc_module *module = &process->modules[i];
        if (module->instrumented && module->base != UINTPTR_MAX && code >= module->text_from &&
            code < module->text_to)
            return module;
    }
    return NULL;
}

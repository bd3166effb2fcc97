/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_apart.c - see symbol_file.h. The process sends, for each work: its status, the error, its notes,
 * the sites (number, symbol, offset, frames; as many as before: the same frames), the variables. Numbers have
 * 8 bytes; a text is its length + 1 and its bytes, or 0. Nothing that comes is believed: bounds are checked.
 */
#define _GNU_SOURCE
#include "symbols/symbol_file.h"

#include "base/crew.h"
#include "base/error.h"
#include "base/memory.h"
#include "profile/attribution_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Under a sanitizer everything is to be seen, and happens in one process. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IN_ONE_PROCESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IN_ONE_PROCESS 1
#endif
#endif
#ifndef IN_ONE_PROCESS
#define IN_ONE_PROCESS 0
#endif

enum { MOST_FRAMES_SENT = 1024, LONGEST_TEXT = 1 << 24, SAME_FRAMES = UINT32_MAX };
#define LAST UINT64_MAX /* number of a site or a variable: there are no more */

/* ---- sending ---- */

static void send_number(FILE *to, uint64_t number)
{
    (void)fwrite(&number, sizeof number, 1, to);
}

static void send_text(FILE *to, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    send_number(to, text ? length + 1 : 0);
    if (length > 0) (void)fwrite(text, 1, length, to);
}

static void send_frames(FILE *to, const fm_site *site)
{
    for (size_t i = 0; i < site->frame_count; i++) {
        const fm_frame *frame = &site->frames[i];
        send_text(to, frame->function);
        send_text(to, frame->file);
        send_number(to, (uint64_t)frame->line << 32 | frame->column);
    }
}

static void send_sites(FILE *to, const fm_module_work *work)
{
    const fm_frame *before = NULL;
    for (size_t i = 0; i < work->count; i++) {
        const fm_site *site = &work->attribution->sites[work->wanted[i].site];
        if (site->frame_count == 0 && !site->symbol) continue;
        const bool same = site->frame_count > 0 && site->frames == before;
        send_number(to, work->wanted[i].site);
        send_text(to, site->symbol);
        send_number(to, site->symbol_offset);
        send_number(to, same ? SAME_FRAMES : site->frame_count);
        if (!same) send_frames(to, site);
        if (site->frame_count > 0) before = site->frames;
    }
    send_number(to, LAST);
}

static void send_variables(FILE *to, const fm_module_work *work)
{
    for (size_t i = 0; i < work->attribution->object_count; i++) {
        const fm_object *object = &work->attribution->objects[i];
        if (object->kind != FM_OBJECT_GLOBAL || !object->name || object->module != work->index) continue;
        send_number(to, i);
        send_text(to, object->name);
        send_number(to, object->size);
    }
    send_number(to, LAST);
}

/* The notes come after what they say of: libraries write none of their own. */
static bool do_work(FILE *to, fm_module_work *work, fm_module_resolver resolve)
{
    fm_error error = {0};
    char *notes = NULL;
    size_t size = 0;
    work->notes = work->notes ? open_memstream(&notes, &size) : NULL;
    const fm_status status = resolve(work, &error);
    if (work->notes && fclose(work->notes) != 0) return false;
    send_number(to, status);
    (void)fwrite(&error, sizeof error, 1, to);
    send_text(to, notes);
    free(notes);
    if (status == FM_OK) send_sites(to, work);
    if (status == FM_OK) send_variables(to, work);
    return fflush(to) == 0 && !ferror(to) && status == FM_OK;
}

static _Noreturn void be_the_process(int out, fm_module_work *works, size_t count, fm_module_resolver resolve)
{
    static const int fatal[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGPIPE};
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        signal(fatal[i], SIG_DFL); /* not the caller's */
    /* What libraries say before they end the process is not for the caller's terminal. */
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    FILE *to = fdopen(out, "w");
    bool going = to != NULL;
    for (size_t i = 0; i < count && going; i++) going = do_work(to, &works[i], resolve);
    _exit(0);
}

/* ---- receiving ---- */

typedef struct receiver {
    int from;
    bool broken; /* it ended, or sent what cannot be */
    bool no_memory;
    char *text;
    size_t room;
    size_t at, end;
    char bytes[8192];
} receiver;

static void receive_bytes(receiver *self, void *to, size_t size)
{
    char *into = to;
    while (size > 0 && !self->broken) {
        if (self->at == self->end) {
            const ssize_t got = read(self->from, self->bytes, sizeof self->bytes);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) {
                self->broken = true;
                break;
            }
            self->at = 0;
            self->end = (size_t)got;
        }
        const size_t left = self->end - self->at, some = size < left ? size : left;
        memcpy(into, self->bytes + self->at, some);
        self->at += some;
        into += some;
        size -= some;
    }
    if (size > 0) memset(into, 0, size);
}

static uint64_t receive_number(receiver *self)
{
    uint64_t number;
    receive_bytes(self, &number, sizeof number);
    return number;
}

/* Until the next text; NULL: there was none, or it is broken or out of memory. */
static const char *receive_text(receiver *self)
{
    const uint64_t size = receive_number(self);
    if (size > LONGEST_TEXT) self->broken = true;
    if (size == 0 || self->broken || self->no_memory) return NULL;
    if (fm_array_reserve((void **)&self->text, &self->room, (size_t)size, 1) != 0) {
        self->no_memory = true;
        return NULL;
    }
    receive_bytes(self, self->text, (size_t)size - 1);
    self->text[size - 1] = '\0';
    return self->broken ? NULL : self->text;
}

static const char *receive_name(receiver *self, fm_attribution *attribution)
{
    const char *text = receive_text(self);
    const char *kept = text ? fm_attribution_intern(attribution, text) : NULL;
    if (text && !kept) self->no_memory = true;
    return kept;
}

static bool goes_on(const receiver *self)
{
    return !self->broken && !self->no_memory;
}

static void receive_frames(receiver *self, fm_attribution *attribution, fm_site *site, size_t count)
{
    fm_frame *frames = fm_attribution_allocate(attribution, count, sizeof *frames);
    if (!frames) self->no_memory = true;
    for (size_t i = 0; frames && i < count && goes_on(self); i++) {
        frames[i].function = receive_name(self, attribution);
        frames[i].file = receive_name(self, attribution);
        const uint64_t place = receive_number(self);
        frames[i].line = (uint32_t)(place >> 32);
        frames[i].column = (uint32_t)place;
    }
    if (!goes_on(self)) return;
    site->frames = frames;
    site->frame_count = count;
}

static void receive_sites(receiver *self, const fm_module_work *work)
{
    fm_attribution *attribution = work->attribution;
    const fm_site *before = NULL;
    for (uint64_t number; goes_on(self) && (number = receive_number(self)) != LAST;) {
        if (number >= attribution->site_count || attribution->sites[number].module != work->index)
            self->broken = true;
        if (!goes_on(self)) break;
        fm_site *site = &attribution->sites[number];
        const char *symbol = receive_name(self, attribution);
        const uint64_t offset = receive_number(self), frames = receive_number(self);
        if (frames > MOST_FRAMES_SENT && frames != SAME_FRAMES) self->broken = true;
        if (!goes_on(self)) break;
        site->symbol = symbol;
        site->symbol_offset = offset;
        if (frames == SAME_FRAMES && before) {
            site->frames = before->frames;
            site->frame_count = before->frame_count;
        } else if (frames > 0 && frames != SAME_FRAMES) {
            receive_frames(self, attribution, site, (size_t)frames);
        }
        if (site->frame_count > 0) before = site;
    }
}

static void receive_variables(receiver *self, const fm_module_work *work)
{
    fm_attribution *attribution = work->attribution;
    for (uint64_t number; goes_on(self) && (number = receive_number(self)) != LAST;) {
        const char *name = receive_name(self, attribution);
        const uint64_t size = receive_number(self);
        if (number >= attribution->object_count || attribution->objects[number].kind != FM_OBJECT_GLOBAL)
            self->broken = true;
        if (!goes_on(self)) break;
        attribution->objects[number].name = name;
        attribution->objects[number].size = size;
    }
}

static fm_status receive_work(receiver *self, const fm_module_work *work, fm_error *error)
{
    fm_error why;
    const uint64_t status = receive_number(self);
    receive_bytes(self, &why, sizeof why);
    const char *notes = receive_text(self);
    if (self->broken || self->no_memory) return FM_OK;
    if (work->notes && notes) fputs(notes, work->notes);
    if (status != FM_OK) {
        why.path[sizeof why.path - 1] = why.reason[sizeof why.reason - 1] = '\0';
        if (error) *error = why;
        return (fm_status)status;
    }
    receive_sites(self, work);
    if (goes_on(self)) receive_variables(self, work);
    return FM_OK;
}

/* ---- */

static fm_status resolve_here(fm_module_work *works, size_t count, fm_module_resolver resolve,
                              fm_error *error)
{
    fm_status status = FM_OK;
    for (size_t i = 0; i < count && status == FM_OK; i++) status = resolve(&works[i], error);
    return status;
}

/* *done: how many are, the one in which the process ended included. */
static fm_status resolve_some(fm_module_work *works, size_t count, fm_module_resolver resolve, size_t *done,
                              fm_error *error)
{
    int ends[2];
    *done = count;
    if (pipe2(ends, O_CLOEXEC) != 0) return resolve_here(works, count, resolve, error);
    const pid_t process = fork();
    const int cause = errno;
    if (process == 0) {
        close(ends[0]);
        be_the_process(ends[1], works, count, resolve);
    }
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        if (cause == ENOMEM) return fm_fail_memory(error, sizeof *works, "a process that resolves addresses");
        return resolve_here(works, count, resolve, error);
    }
    receiver receiving = {.from = ends[0]};
    fm_status status = FM_OK;
    size_t i = 0;
    for (; i < count && status == FM_OK && goes_on(&receiving); i++) {
        status = receive_work(&receiving, &works[i], error);
        if (receiving.broken && works[i].notes)
            fprintf(
                works[i].notes,
                "%s: reading its debug information failed, for lack of memory or because it is damaged: some "
                "functions and lines are missing\n",
                fm_base_name(works[i].module->path));
    }
    if (receiving.no_memory) status = fm_fail_memory(error, receiving.room, "names of functions");
    close(ends[0]); /* it ends now, whatever it does */
    free(receiving.text);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) continue;
    *done = i;
    return status;
}

typedef struct whole_work {
    fm_module_work *works;
    size_t count;
    fm_module_resolver resolve;
    fm_error *error;
    fm_status status;
} whole_work;

static void *resolve_all(void *context)
{
    whole_work *all = context;
    for (size_t done = 0, more; done < all->count && all->status == FM_OK; done += more)
        all->status = resolve_some(all->works + done, all->count - done, all->resolve, &more, all->error);
    return NULL;
}

fm_status fm_resolve_apart(fm_module_work *works, size_t count, fm_module_resolver resolve, fm_error *error)
{
    enum { STACK_NEEDED = 1 << 21 }; /* a forked process has no more than the thread that forked it */
    whole_work all = {works, count, resolve, error, FM_OK};
    if (IN_ONE_PROCESS) return resolve_here(works, count, resolve, error);
    if (fm_thread_with_stack(STACK_NEEDED, resolve_all, &all) != 0)
        return fm_fail_memory(error, STACK_NEEDED, "resolving addresses");
    return all.status;
}

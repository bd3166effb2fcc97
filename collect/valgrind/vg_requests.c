/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_requests.c - what the program tells by client requests: regions (include/fathom/markers.h) and heap
 * blocks (vg_preload.c), with the calls that led to each allocation.
 *
 * Allocators call each other (operator new calls malloc, realloc(NULL) calls malloc): the same event told
 * twice in a row by a thread is one.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_debuginfo.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_stacktrace.h"
#include "pub_tool_vki.h"

#include "vg_requests.h"

enum {
    DEPTH = 8,              /* frames of a context */
    INNER = 6,              /* most frames of wrapper and allocator that are left out */
    NAME_MOST = 1024,       /* bytes of a region's name */
    FRAMES = DEPTH + INNER, /* asked of Valgrind */
};

/* A list of return addresses. Raw ones (as Valgrind found them) know the number of what is left of them. */
typedef struct context {
    struct context *next; /* as VgHashNode */
    UWord key;
    UInt number; /* of the context, from 1 */
    UInt told;   /* the process generation it was told in */
    UInt count;
    Addr frames[FRAMES];
} context;

static VgHashTable *raw_contexts, *contexts;
static UInt last_context, generation = 1;
static Bool preloaded;
static struct {
    ThreadId thread;
    Addr freed, allocated;
    UWord bytes;
} last;

static UWord hash_of(const Addr *frames, UInt count)
{
    UWord hash = 14695981039346656037UL;
    for (UInt i = 0; i < count; i++) hash = (hash ^ frames[i]) * 1099511628211UL;
    return hash ^ hash >> 29;
}

static Word compare(const void *left, const void *right)
{
    const context *a = left, *b = right;
    if (a->count != b->count) return 1;
    return VG_(memcmp)(a->frames, b->frames, a->count * sizeof *a->frames);
}

/* Finds or adds a list of frames. */
static context *intern(VgHashTable *table, const Addr *frames, UInt count)
{
    context wanted = {.key = hash_of(frames, count), .count = count};
    VG_(memcpy)(wanted.frames, frames, count * sizeof *frames);
    context *found = VG_(HT_gen_lookup)(table, &wanted, compare);
    if (found) return found;
    found = VG_(malloc)("fathom.context", sizeof *found);
    *found = wanted;
    VG_(HT_add_node)(table, found);
    return found;
}

static Bool is_allocator(Addr code)
{
    static const HChar *const names[] = {"malloc",         "calloc",        "realloc",
                                         "reallocarray",   "aligned_alloc", "memalign",
                                         "posix_memalign", "valloc",        "pvalloc"};
    const fm_vg_module *module = fm_module_find(code);
    if (module && module->own) return True;
    const HChar *name;
    if (!VG_(get_fnname_raw)(VG_(current_DiEpoch)(), code, &name)) return False;
    if (VG_(strncmp)(name, "__libc_", 7) == 0) name += 7;
    if (VG_(strncmp)(name, "__GI_", 5) == 0) name += 5;
    if (VG_(strncmp)(name, "_Znw", 4) == 0 || VG_(strncmp)(name, "_Zna", 4) == 0) return True;
    for (UInt i = 0; i < sizeof names / sizeof *names; i++)
        if (VG_(strcmp)(name, names[i]) == 0) return True;
    return False;
}

static Bool is_code(Addr address)
{
    const NSegment *segment = VG_(am_find_nsegment)(address);
    return segment && segment->hasX;
}

/* The number of the context that the thread is in, told if it is new. */
static UInt context_of(ThreadId thread)
{
    Addr frames[FRAMES];
    UInt count = VG_(get_StackTrace)(thread, frames, FRAMES, NULL, NULL, 0);
    context *raw = intern(raw_contexts, frames, count);
    context *known = NULL;
    if (raw->number == 0 || raw->told != generation) {
        UInt inner = 0;
        while (inner < count && is_allocator(frames[inner])) inner++;
        UInt kept = 0; /* beyond _start there is no code, but Valgrind may guess on */
        while (kept < DEPTH && inner + kept < count && is_code(frames[inner + kept])) kept++;
        /* Valgrind gives the last byte of the calls. */
        for (UInt i = inner; i < inner + kept; i++)
            if (i > 0) frames[i]++;
        known = intern(contexts, frames + inner, kept);
        if (known->number == 0) known->number = ++last_context;
        raw->number = known->number;
        raw->told = generation;
        if (known->told != generation) {
            known->told = generation;
            ULong words[1 + DEPTH] = {known->number};
            for (UInt i = 0; i < kept; i++) words[1 + i] = known->frames[i];
            fm_record_put(FM_RECORD_CONTEXT, 0, words, 1 + kept, NULL);
        }
    }
    return raw->number;
}

static void allocated(ThreadId thread, Addr address, UWord bytes)
{
    if (address == 0) return;
    fm_threads_look(thread);
    if (last.thread == thread && last.allocated == address && last.bytes == bytes) return;
    last.thread = thread;
    last.allocated = address;
    last.bytes = bytes;
    last.freed = 0;
    ULong words[3] = {address, bytes, context_of(thread)};
    fm_record_put(FM_RECORD_HEAP_ALLOC, 0, words, 3, NULL);
}

static void freed(ThreadId thread, Addr address)
{
    if (address == 0) return;
    if (last.thread == thread && last.freed == address) return;
    last.thread = thread;
    last.freed = address;
    last.allocated = 0;
    ULong words[1] = {address};
    fm_record_put(FM_RECORD_HEAP_FREE, 0, words, 1, NULL);
}

static void reallocated(ThreadId thread, Addr old, Addr address, UWord bytes)
{
    if (address == 0 && bytes != 0) return; /* refused: the old block stays */
    if (old != 0 && !(last.thread == thread && last.allocated == address && last.bytes == bytes))
        freed(thread, old);
    allocated(thread, address, bytes);
}

static void region_begins(Addr name)
{
    HChar text[NAME_MOST];
    UInt length = 0;
    while (length < NAME_MOST - 1 && VG_(am_is_valid_for_client)(name + length, 1, VKI_PROT_READ) &&
           ((const HChar *)name)[length]) {
        text[length] = ((const HChar *)name)[length];
        length++;
    }
    text[length] = 0;
    fm_record_put(FM_RECORD_REGION_BEGIN, 0, NULL, 0, text);
}

static Bool request(ThreadId thread, UWord *arguments, UWord *result)
{
    if (arguments[0] >> 16 != (UWord)FM_REQUEST_BASE >> 16) return False;
    *result = 0;
    if (!fm_tracing()) return True;
    switch (arguments[0]) {
    case FM_REQUEST_REGION_BEGIN:
        region_begins(arguments[1]);
        break;
    case FM_REQUEST_REGION_END:
        fm_record_put(FM_RECORD_REGION_END, 0, NULL, 0, NULL);
        break;
    case FM_REQUEST_ALLOCATED:
        allocated(thread, arguments[1], arguments[2]);
        break;
    case FM_REQUEST_FREED:
        freed(thread, arguments[1]);
        break;
    case FM_REQUEST_REALLOCATED:
        reallocated(thread, arguments[1], arguments[2], arguments[3]);
        break;
    case FM_REQUEST_PRELOADED:
        preloaded = True;
        break;
    default:
        return False;
    }
    return True;
}

void fm_contexts_restart(void)
{
    generation++;
}

void fm_heap_end(void)
{
    if ((fm_vg.session->wants & FM_WANT_HEAP) && !preloaded)
        fm_record_put(
            FM_RECORD_NOTE, FM_NOTE_TEXT, NULL, 0,
            "heap blocks are not known: the program is linked statically, or loads no other libraries");
}

void fm_requests_track(void)
{
    raw_contexts = VG_(HT_construct)("fathom.contexts.raw");
    contexts = VG_(HT_construct)("fathom.contexts");
    VG_(needs_client_requests)(request);
}

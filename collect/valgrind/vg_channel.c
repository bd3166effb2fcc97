/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_channel.c - the producer's end of ../protocol.h: opens the session, claims a channel, seals chunks,
 * waits for room, and stops in order when the receiver wants no more or is gone. It does not know what
 * records mean.
 *
 * Instrumented code (vg_instrument.c) writes words and the cursor by itself; it calls fm_channel_seal when
 * the cursor is above the limit. Everything else is written by fm_record_put.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "vg_core.h"

enum {
    FUTEX_WAIT_SHARED = 0,
    FUTEX_WAKE_SHARED = 1,
    LOCK_SHARED = 1,
    LOCK_NO_WAIT = 4,
    UNLOCK = 8,
    TIMED_OUT = 110
};

fm_vg_channel fm_vg;

static Int session_file = -1;
static Addr chunk; /* where the chunk in use begins; 0: none */
/* What instrumented code writes to between the order to stop and the scheduler's next stop. */
static ULong thrown_away[2 * FM_RECORD_MOST_BYTES / sizeof(ULong)];

/* NULL: it is one, and mapped; else what is wrong. */
static const HChar *session_map(Int file)
{
    struct vg_stat status;
    if (file < 0 || VG_(fstat)(file, &status) != 0 ||
        status.size < (Long)FM_STREAM_RINGS_OFFSET + FM_RING_BYTES)
        return "is too small to be one";
    SysRes mapped = VG_(am_shared_mmap_file_float_valgrind)(FM_STREAM_RINGS_OFFSET,
                                                            VKI_PROT_READ | VKI_PROT_WRITE, file, 0);
    if (sr_isError(mapped)) return "cannot be mapped";
    fm_session *session = (fm_session *)sr_Res(mapped);
    if (session->magic != FM_STREAM_MAGIC || session->version != FM_STREAM_VERSION)
        return "is not one of this version of fathom";
    fm_vg.session = session;
    session_file = file;
    return NULL;
}

Bool fm_session_open(const HChar *path, Int inherited)
{
    if (inherited >= 0) return session_map(VG_(safe_fd)(inherited)) == NULL;
    SysRes opened = VG_(open)(path, VKI_O_RDWR, 0);
    const HChar *wrong = sr_isError(opened) ? "cannot be opened (is the receiver still there?)"
                                            : session_map(VG_(safe_fd)((Int)sr_Res(opened)));
    if (!wrong) return True;
    VG_(fmsg)("the session %s %s\n", path, wrong);
    VG_(exit)(1);
}

Int fm_session_file(void)
{
    return session_file;
}

Bool fm_channel_order_is_detach(void)
{
    return __atomic_load_n(&fm_vg.session->order, __ATOMIC_RELAXED) == FM_ORDER_DETACH;
}

/*
 * The receiver holds an exclusive lock on its own open file as long as it lives. Asking for a shared one, not
 * an exclusive one, makes no difference to that, and producers that ask at the same time are not taken for
 * it.
 */
Bool fm_channel_receiver_is_gone(void)
{
    if (fm_syscall(__NR_flock, session_file, LOCK_SHARED | LOCK_NO_WAIT, 0, 0) != 0) return False;
    fm_syscall(__NR_flock, session_file, UNLOCK, 0, 0);
    return True;
}

static void chunk_begin(void)
{
    fm_channel *mine = fm_vg.mine;
    chunk = (Addr)mine->ring_address + (mine->sealed % FM_RING_CHUNKS) * (Addr)FM_CHUNK_BYTES;
    __atomic_store_n(&mine->cursor, chunk, __ATOMIC_RELEASE);
    mine->limit = chunk + FM_CHUNK_BYTES - FM_RECORD_MOST_BYTES;
}

Bool fm_channel_open(void)
{
    fm_session *session = fm_vg.session;
    if (fm_channel_order_is_detach() || fm_channel_receiver_is_gone()) return False;
    UInt at = 0;
    for (; at < FM_STREAM_CHANNELS; at++) {
        UInt expected = FM_CHANNEL_FREE;
        if (__atomic_load_n(&session->channels[at].state, __ATOMIC_RELAXED) == FM_CHANNEL_FREE &&
            __atomic_compare_exchange_n(&session->channels[at].state, &expected, FM_CHANNEL_CLAIMED, False,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            break;
    }
    if (at == FM_STREAM_CHANNELS) {
        __atomic_add_fetch(&session->refused, 1, __ATOMIC_RELAXED);
        return False;
    }
    fm_channel *mine = &session->channels[at];
    SysRes mapped =
        VG_(am_shared_mmap_file_float_valgrind)(FM_RING_BYTES, VKI_PROT_READ | VKI_PROT_WRITE, session_file,
                                                (Off64T)FM_STREAM_RINGS_OFFSET + (Off64T)at * FM_RING_BYTES);
    if (sr_isError(mapped)) {
        __atomic_store_n(&mine->state, FM_CHANNEL_FREE, __ATOMIC_RELEASE);
        __atomic_add_fetch(&session->refused, 1, __ATOMIC_RELAXED);
        return False;
    }
    mine->ring_address = sr_Res(mapped);
    mine->sealed = mine->taken;
    mine->producer_waits = 0;
    mine->producer = FM_PRODUCER_VALGRIND;
    mine->pid = (UInt)VG_(getpid)();
    mine->tid = (UInt)VG_(gettid)();
    mine->process = __atomic_fetch_add(&session->processes, 1, __ATOMIC_RELAXED);
    mine->thread = 1;
    mine->born = __atomic_load_n(&session->sequence, __ATOMIC_RELAXED);
    fm_vg.mine = mine;
    fm_vg.stopping = False;
    chunk_begin();
    __atomic_store_n(&mine->state, FM_CHANNEL_OPEN, __ATOMIC_RELEASE);
    return True;
}

void fm_channel_forget(void)
{
    if (fm_vg.mine) VG_(am_munmap_valgrind)((Addr)fm_vg.mine->ring_address, FM_RING_BYTES);
    fm_vg.mine = NULL;
    fm_vg.stopping = False;
    chunk = 0;
}

static void receiver_wake(void)
{
    fm_session *session = fm_vg.session;
    __atomic_add_fetch(&session->wake, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&session->receiver_waits, __ATOMIC_SEQ_CST))
        fm_syscall(__NR_futex, (Long)&session->wake, FUTEX_WAKE_SHARED, 1, 0);
}

/* Hands the chunk in use to the receiver; afterwards none is in use. */
static void chunk_publish(void)
{
    fm_channel *mine = fm_vg.mine;
    UInt slot = mine->sealed % FM_RING_CHUNKS;
    mine->chunk_words[slot] = (UInt)((mine->cursor - chunk) / sizeof(ULong));
    mine->chunk_sequence[slot] = __atomic_fetch_add(&fm_vg.session->sequence, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&mine->sealed, mine->sealed + 1, __ATOMIC_SEQ_CST);
    chunk = 0;
    receiver_wake();
}

/* Waits until a chunk is free; False when that will never be. */
static Bool chunk_wait(void)
{
    fm_channel *mine = fm_vg.mine;
    for (;;) {
        UInt taken = __atomic_load_n(&mine->taken, __ATOMIC_ACQUIRE);
        if (mine->sealed - taken < FM_RING_CHUNKS) return True;
        if (fm_channel_order_is_detach()) return False;
        __atomic_store_n(&mine->producer_waits, 1, __ATOMIC_SEQ_CST);
        Long waited = 0;
        if (__atomic_load_n(&mine->taken, __ATOMIC_SEQ_CST) == taken) {
            struct vki_timespec most = {0, 100 * 1000 * 1000};
            waited = fm_syscall(__NR_futex, (Long)&mine->taken, FUTEX_WAIT_SHARED, (Long)taken, (Long)&most);
        }
        __atomic_store_n(&mine->producer_waits, 0, __ATOMIC_RELAXED);
        if (waited == -TIMED_OUT && fm_channel_receiver_is_gone()) return False;
    }
}

static void cursor_throw_away(void)
{
    fm_vg.mine->limit = (Addr)thrown_away + FM_RECORD_MOST_BYTES;
    fm_vg.mine->cursor = (Addr)thrown_away;
}

/* Stops tracing: from now on words are thrown away. The scheduler's next stop throws the code away. */
static void channel_stop(void)
{
    if (!fm_tracing()) return;
    if (chunk && fm_vg.mine->cursor > chunk) chunk_publish();
    fm_vg.stopping = True;
    cursor_throw_away();
}

void fm_channel_seal(void)
{
    if (fm_vg.stopping) {
        cursor_throw_away();
        return;
    }
    if (fm_vg.mine->cursor == chunk) return;
    chunk_publish();
    if (chunk_wait() && !fm_channel_order_is_detach())
        chunk_begin();
    else
        channel_stop();
}

void fm_channel_close(void)
{
    fm_channel *mine = fm_vg.mine;
    if (!mine) return;
    channel_stop();
    VG_(am_munmap_valgrind)((Addr)mine->ring_address, FM_RING_BYTES);
    fm_vg.mine = NULL;
    __atomic_store_n(&mine->state, FM_CHANNEL_CLOSED, __ATOMIC_SEQ_CST);
    receiver_wake();
}

void fm_record_put(UInt kind, ULong argument, const ULong *words, UInt count, const HChar *text)
{
    fm_record_put_bytes(kind, argument, words, count, text, text ? VG_(strlen)(text) : 0);
}

void fm_record_put_bytes(UInt kind, ULong argument, const ULong *words, UInt count, const HChar *text,
                         SizeT bytes)
{
    if (!fm_tracing()) return;
    SizeT most = FM_RECORD_MOST_BYTES - (count + 2) * sizeof(ULong);
    if (bytes > most) bytes = most;
    UInt follow = count + (text ? (UInt)(bytes / sizeof(ULong)) + 1 : 0);
    tl_assert((follow + 1) * sizeof(ULong) <= FM_RECORD_MOST_BYTES);
    /* Strictly below the chunk's end, so that the cursor always says which chunk it is in. */
    if (fm_vg.mine->cursor + (follow + 1) * sizeof(ULong) >= chunk + FM_CHUNK_BYTES) {
        fm_channel_seal();
        if (!fm_tracing()) return;
    }
    ULong *at = (ULong *)(Addr)fm_vg.mine->cursor;
    *at++ = FM_RECORD(kind, argument, follow);
    for (UInt i = 0; i < count; i++) *at++ = words[i];
    if (text) {
        ULong *end = at + bytes / sizeof(ULong);
        *end = 0;
        VG_(memcpy)(at, text, bytes);
        at = end + 1;
    }
    __atomic_store_n(&fm_vg.mine->cursor, (Addr)at, __ATOMIC_RELEASE);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_filters.c - filters of system calls (seccomp). The kernel would apply them to Valgrind's own calls and
 * end it, and seccomp(2) is unknown to Valgrind. So they are not installed: the tool keeps them, asks them
 * for each call of the program, and does what the kernel would do. What the program executes without Valgrind
 * gets them from the kernel.
 *
 * All threads have the filters that one has. A listener (SECCOMP_FILTER_FLAG_NEW_LISTENER) is refused.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"

#include "libvex_guest_amd64.h"
#include "vg_core.h"

#include "../seccomp_filter.h"

extern void VG_(poll_signals)(ThreadId thread); /* pub_core_signals.h */

enum {
    SET_SECCOMP = 22,
    GET_SECCOMP = 21,
    GET_NO_NEW_PRIVILEGES = 39,
    NR_SECCOMP = 317,
    STEPS_MOST = 4096,
    FILTERS_MOST = 64
};

typedef struct filter {
    UInt count;
    struct sock_filter *steps;
} filter;

static filter filters[FILTERS_MOST];
static UInt filter_count;
static Bool strict;

#define REGISTER(name) offsetof(VexGuestAMD64State, guest_##name)

static UWord get_register(ThreadId thread, SizeT offset)
{
    UWord value;
    VG_(get_shadow_regs_area)(thread, (UChar *)&value, 0, (PtrdiffT)offset, sizeof value);
    return value;
}

static Bool answer_call(ThreadId thread, Long result)
{
    VG_(set_shadow_regs_area)(thread, 0, (PtrdiffT)REGISTER(RAX), sizeof result, (const UChar *)&result);
    return True;
}

/* ---- installing ---- */

static Long install_filter(Addr program)
{
    const struct sock_fprog *given = (const struct sock_fprog *)program;
    if (!VG_(am_is_valid_for_client)(program, sizeof *given, VKI_PROT_READ)) return -VKI_EFAULT;
    const SizeT bytes = given->len * sizeof *given->filter;
    if (given->len == 0 || given->len > STEPS_MOST) return -VKI_EINVAL;
    if (!VG_(am_is_valid_for_client)((Addr)given->filter, bytes, VKI_PROT_READ)) return -VKI_EFAULT;
    if (VG_(geteuid)() != 0 && fm_syscall(__NR_prctl, GET_NO_NEW_PRIVILEGES, 0, 0, 0) != 1)
        return -VKI_EACCES;
    if (filter_count == FILTERS_MOST) return -VKI_ENOMEM;
    filter *made = &filters[filter_count++];
    made->count = given->len;
    made->steps = VG_(malloc)("fathom.filters", bytes);
    VG_(memcpy)(made->steps, given->filter, bytes);
    return 0;
}

Bool fm_filters_any(void)
{
    return filter_count > 0 || strict;
}

void fm_filters_to_kernel(void)
{
    for (UInt i = 0; i < filter_count; i++) {
        struct sock_fprog program = {(unsigned short)filters[i].count, filters[i].steps};
        fm_syscall(NR_SECCOMP, SECCOMP_SET_MODE_FILTER, 0, (Long)&program, 0);
    }
}

/* The program asks for one. False: for something else. */
static Bool answer_filter_call(ThreadId thread, UWord number)
{
    const UWord first = get_register(thread, REGISTER(RDI)), second = get_register(thread, REGISTER(RSI)),
                third = get_register(thread, REGISTER(RDX));
    if (number == __NR_prctl && first == GET_SECCOMP)
        return filter_count > 0 ? answer_call(thread, SECCOMP_MODE_FILTER) : False;
    if (number == __NR_prctl && first == SET_SECCOMP) {
        if (second == SECCOMP_MODE_FILTER) return answer_call(thread, install_filter(third));
        strict |= second == SECCOMP_MODE_STRICT;
        return answer_call(thread, second == SECCOMP_MODE_STRICT ? 0 : -VKI_EINVAL);
    }
    if (number != NR_SECCOMP) return False;
    if (first == SECCOMP_SET_MODE_STRICT && second == 0 && third == 0) {
        strict = True;
        return answer_call(thread, 0);
    }
    if (first == SECCOMP_SET_MODE_FILTER)
        return answer_call(thread,
                           second & SECCOMP_FILTER_FLAG_NEW_LISTENER ? -VKI_EINVAL : install_filter(third));
    return answer_call(thread, fm_syscall(NR_SECCOMP, (Long)first, (Long)second, (Long)third, 0));
}

/* ---- asking ---- */

/* The strictest of them decides; of equals, the one that was installed last. */
static UInt decide_call(ThreadId thread, UWord number)
{
    struct seccomp_data call = {
        .nr = (Int)number,
        .arch = AUDIT_ARCH_X86_64,
        .instruction_pointer = get_register(thread, REGISTER(RIP)),
        .args = {get_register(thread, REGISTER(RDI)), get_register(thread, REGISTER(RSI)),
                 get_register(thread, REGISTER(RDX)), get_register(thread, REGISTER(R10)),
                 get_register(thread, REGISTER(R8)), get_register(thread, REGISTER(R9))}};
    UInt strictest = SECCOMP_RET_ALLOW;
    for (UInt i = filter_count; i-- > 0;) {
        const UInt found = fm_filter_answer(filters[i].steps, filters[i].count, &call);
        if ((Int)(found & SECCOMP_RET_ACTION_FULL) < (Int)(strictest & SECCOMP_RET_ACTION_FULL))
            strictest = found;
    }
    return strictest;
}

/* SIGSYS, as the kernel sends it; the call was not made. */
static Bool trap_call(ThreadId thread, UWord number, UInt data)
{
    struct {
        Int signal, error, code, unused;
        Addr address;
        Int number;
        UInt arch;
        UChar rest[96];
    } information = {.signal = VKI_SIGSYS,
                     .error = (Int)data,
                     .code = 1 /* SYS_SECCOMP */,
                     .address = get_register(thread, REGISTER(RIP)),
                     .number = (Int)number,
                     .arch = AUDIT_ARCH_X86_64};
    /* It must not come by itself, but where signals are asked for. */
    ULong mask = 1UL << (VKI_SIGSYS - 1), before = 0;
    fm_syscall(__NR_rt_sigprocmask, VKI_SIG_BLOCK, (Long)&mask, (Long)&before, sizeof mask);
    fm_syscall(__NR_rt_tgsigqueueinfo, VG_(getpid)(), VG_(gettid)(), VKI_SIGSYS, (Long)&information);
    VG_(poll_signals)(thread);
    fm_syscall(__NR_rt_sigprocmask, VKI_SIG_SETMASK, (Long)&before, 0, sizeof before);
    return True;
}

Bool fm_filters_take(ThreadId thread)
{
    const UWord number = get_register(thread, REGISTER(RAX));
    if (strict && number != __NR_read && number != __NR_write && number != __NR_exit &&
        number != __NR_rt_sigreturn)
        fm_process_die(VKI_SIGKILL);
    if (filter_count > 0) {
        const UInt decided = decide_call(thread, number), data = decided & SECCOMP_RET_DATA;
        switch (decided & SECCOMP_RET_ACTION_FULL) {
        case SECCOMP_RET_ALLOW:
        case SECCOMP_RET_LOG:
            break;
        case SECCOMP_RET_ERRNO:
            return answer_call(thread, -(Long)(data < 4095 ? data : 4095));
        case SECCOMP_RET_TRAP:
            return trap_call(thread, number, data);
        case SECCOMP_RET_TRACE:
        case SECCOMP_RET_USER_NOTIF:
            return answer_call(thread, -VKI_ENOSYS);
        default:
            fm_process_die(VKI_SIGSYS);
        }
    }
    return answer_filter_call(thread, number);
}

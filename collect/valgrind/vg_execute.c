/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vg_execute.c - the program executes another one: which file that is, whether it is traced, and what it is
 * given so that it runs exactly as it would without Valgrind.
 *
 *   - /proc/self/exe is Valgrind, for the kernel. Where the program means itself, it gets its own file (also
 *     from other calls that follow the link).
 *   - A name that only this process can resolve (/proc/self/fd/3, an execveat of a descriptor) is replaced by
 *     one that the new Valgrind can open, too.
 *   - The 0th argument, which Valgrind would replace by the path, travels in an option (--argv0).
 *   - The memory shared with fathom is inherited as a descriptor (--session-file): /proc/<receiver>/fd needs
 *     rights that the program may have given up.
 *   - Where Valgrind cannot be started for the new program, that is executed as it is, and not traced.
 *
 * The core's functions that are named __wrap_… here are redirected by the linker (cmake/valgrind.cmake).
 * It does not know what is reported of an execve, which is for vg_process.c.
 */
#include "vg_tool.h"

#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_xarray.h"

#include "vg_core.h"

#include "libvex_guest_amd64.h"
#include "libvex_trc_values.h"

#include <elf.h>
#include <stddef.h>

void __real_vgPlain_client_syscall(ThreadId thread, UInt reason);
void __wrap_vgPlain_client_syscall(ThreadId thread, UInt reason);
Int __real_vgPlain_check_executable(Bool *is_setuid, const HChar *path, Bool allow_setuid);
Int __wrap_vgPlain_check_executable(Bool *is_setuid, const HChar *path, Bool allow_setuid);
Int __real_vgPlain_do_exec(const HChar *path, fm_vg_executable *information);
Int __wrap_vgPlain_do_exec(const HChar *path, fm_vg_executable *information);
SysRes __real_vgPlain_do_syscall(UWord number, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f, UWord g,
                                 UWord h);
SysRes __wrap_vgPlain_do_syscall(UWord number, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f, UWord g,
                                 UWord h);

static const HChar argv0_option[] = "--argv0=", session_file_option[] = "--session-file=";

enum {
    PATH_MOST = 4096,
    /* Of fcntl.h, which Valgrind's headers do not have. */
    AT_NO_FOLLOW = 0x100,       /* AT_SYMLINK_NOFOLLOW */
    AT_EMPTY = 0x1000,          /* AT_EMPTY_PATH */
    ONLY_ITS_PLACE = 010000000, /* O_PATH */
    SET_DESCRIPTOR_FLAGS = 2,   /* F_SETFD */
    CLOSE_ON_EXEC = 1,          /* FD_CLOEXEC */
};

/* ---- registers of the program ---- */

#define REGISTER(name) offsetof(VexGuestAMD64State, guest_##name)

static UWord register_get(ThreadId thread, SizeT offset)
{
    UWord value;
    VG_(get_shadow_regs_area)(thread, (UChar *)&value, 0, (PtrdiffT)offset, sizeof value);
    return value;
}

static void register_set(ThreadId thread, SizeT offset, UWord value)
{
    VG_(set_shadow_regs_area)(thread, 0, (PtrdiffT)offset, sizeof value, (const UChar *)&value);
}

/* A string of the program's, if it is one that can be read up to its end; else NULL. */
static const HChar *string_at(UWord address)
{
    enum { PAGE = 4096 };
    const HChar *text = (const HChar *)address;
    for (SizeT i = 0; i < PATH_MOST; i++) {
        Bool begins = i == 0 || (address + i) % PAGE == 0;
        if (begins && !VG_(am_is_valid_for_client)(address + i, 1, VKI_PROT_READ)) return NULL;
        if (!text[i]) return text;
    }
    return NULL;
}

/* ---- names ---- */

static const HChar *skip_prefix(const HChar *text, const HChar *prefix)
{
    SizeT length = VG_(strlen)(prefix);
    return text && VG_(strncmp)(text, prefix, length) == 0 ? text + length : NULL;
}

static const HChar *skip_number(const HChar *text, Int *number)
{
    Long value = 0;
    const HChar *at = text;
    for (; *at >= '0' && *at <= '9' && value < 0x7FFFFFFF; at++) value = value * 10 + (*at - '0');
    *number = (Int)value;
    return at > text && value < 0x7FFFFFFF ? at : NULL;
}

/* What follows "/proc/self", or another name of this process there; NULL: it is none. */
static const HChar *skip_own_process(const HChar *path)
{
    const HChar *rest = skip_prefix(path, "/proc/"), *after;
    Int number;
    if (!rest) return NULL;
    if (!(after = skip_prefix(rest, "self")) && !(after = skip_prefix(rest, "thread-self"))) {
        after = skip_number(rest, &number);
        if (!after || number != VG_(getpid)()) return NULL;
    }
    const HChar *task = skip_prefix(after, "/task/");
    const HChar *behind = task ? skip_number(task, &number) : NULL;
    return behind ? behind : after;
}

/* Does the program name itself? */
static Bool is_own_program(const HChar *path)
{
    const HChar *rest = skip_own_process(path);
    return rest && VG_(strcmp)(rest, "/exe") == 0 && VG_(cl_exec_fd) >= 0;
}

/* A name that has a meaning in this process alone: one of its descriptors. */
static Bool is_own_descriptor(const HChar *path)
{
    return skip_prefix(path, "/dev/fd/") || skip_prefix(skip_own_process(path), "/fd/");
}

static Bool same_file(const HChar *a, const HChar *b)
{
    struct vg_stat of_a, of_b;
    return !sr_isError(VG_(stat)(a, &of_a)) && !sr_isError(VG_(stat)(b, &of_b)) && of_a.dev == of_b.dev &&
           of_a.ino == of_b.ino;
}

/* In place of a name that begins in /proc: that of the file, where it has one by which anybody finds it. */
static void use_real_name(HChar *path)
{
    static HChar name[PATH_MOST];
    HChar link[32];
    SysRes opened = VG_(open)(path, ONLY_ITS_PLACE, 0);
    if (sr_isError(opened)) return;
    VG_(sprintf)(link, "/proc/self/fd/%lu", sr_Res(opened));
    SSizeT length = VG_(readlink)(link, name, sizeof name - 1);
    if (length > 0) {
        name[length] = 0;
        if (name[0] == '/' && same_file(link, name)) VG_(strcpy)(path, name);
    }
    VG_(close)((Int)sr_Res(opened));
}

/*
 * The file that an execve or execveat means, as a path; False: as it stands, or nothing that there is to say
 * about it here.
 */
static Bool find_meant(ThreadId thread, UWord number, HChar *path)
{
    Bool at = number == __NR_execveat;
    const HChar *given = string_at(register_get(thread, at ? REGISTER(RSI) : REGISTER(RDI)));
    if (!given || VG_(strlen)(given) > PATH_MOST - 64) return False;
    UWord flags = at ? register_get(thread, REGISTER(R8)) : 0;
    Int directory = at ? (Int)register_get(thread, REGISTER(RDI)) : VKI_AT_FDCWD;
    if (flags & AT_NO_FOLLOW) return False;
    Bool relative = given[0] != '/' && directory != VKI_AT_FDCWD;
    if (relative && (directory < 0 || directory >= VG_(fd_hard_limit))) return False;
    if (!given[0] && !(at && (flags & AT_EMPTY))) return False;
    if (is_own_program(given))
        VG_(sprintf)(path, "/proc/self/fd/%d", VG_(cl_exec_fd));
    else if (relative)
        VG_(sprintf)(path, "/proc/self/fd/%d%s%s", directory, given[0] ? "/" : "", given);
    else if (given[0] == '/' || VG_(strchr)(given, '/'))
        VG_(strcpy)(path, given);
    else /* in this directory, where Valgrind would look in PATH, or see an option */
        VG_(sprintf)(path, "./%s", given);
    Bool own = is_own_descriptor(path);
    if (own) use_real_name(path);
    return own || at || VG_(strcmp)(path, given) != 0;
}

/* Other calls that take a path and follow links: what they find must be the program. In which register? (The
 * core knows of open, and gives a copy of its own descriptor, with its place in the file and without flags.)
 */
static SizeT path_register(ThreadId thread, UWord number)
{
    switch (number) {
    case __NR_stat:
    case __NR_access:
    case __NR_open:
        return REGISTER(RDI);
    case __NR_openat:
        return REGISTER(RSI);
    case __NR_newfstatat:
        return register_get(thread, REGISTER(R10)) & AT_NO_FOLLOW ? 0 : REGISTER(RSI);
    case __NR_statx:
        return register_get(thread, REGISTER(RDX)) & AT_NO_FOLLOW ? 0 : REGISTER(RSI);
    case __NR_faccessat:
        return REGISTER(RSI);
    default:
        return 0;
    }
}

/* ---- what the new program gets ---- */

/* An execve that was begun. */
static struct {
    const HChar *path;
    HChar **arguments;
    Int session, file; /* inherited descriptors, or -1 */
} begun = {NULL, NULL, -1, -1};

static void option_set(const HChar *option, const HChar *value)
{
    XArray *options = VG_(args_for_valgrind);
    for (Word i = VG_(sizeXA)(options); i-- > 0;)
        if (skip_prefix(*(const HChar **)VG_(indexXA)(options, i), option)) VG_(removeIndexXA)(options, i);
    if (!value) return;
    HChar *text = VG_(malloc)("fathom.execute.option", VG_(strlen)(option) + VG_(strlen)(value) + 1);
    VG_(sprintf)(text, "%s%s", option, value);
    VG_(addToXA)(options, (const void *)&text);
}

static const HChar *option_value(const HChar *option)
{
    XArray *options = VG_(args_for_valgrind);
    for (Word i = 0; i < VG_(sizeXA)(options); i++) {
        const HChar *value = skip_prefix(*(const HChar **)VG_(indexXA)(options, i), option);
        if (value) return value;
    }
    return NULL;
}

/* A copy of a descriptor that stays open for the new program, where programs' descriptors do not lie. */
static Int descriptor_hand_on(Int file)
{
    SysRes copy = VG_(dup)(file);
    if (sr_isError(copy)) return -1;
    Int high = VG_(safe_fd)((Int)sr_Res(copy));
    VG_(fcntl)(high, SET_DESCRIPTOR_FLAGS, 0);
    return high;
}

static void descriptor_close(Int *file)
{
    if (*file >= 0) VG_(close)(*file);
    *file = -1;
}

static HChar *own_page; /* in memory of the program: where the core wants names to be */

/* The file of a name that this process alone can resolve is handed on, under a new name. */
static Bool file_hand_on(const HChar *path)
{
    Int file;
    const HChar *digits = VG_(strrchr)(path, '/') + 1, *end = skip_number(digits, &file);
    if (path != own_page || !end || *end) return False;
    begun.file = descriptor_hand_on(file);
    if (begun.file >= 0) VG_(sprintf)(own_page, "/proc/self/fd/%d", begun.file);
    return begun.file >= 0;
}

Bool fm_execute_prepare(ThreadId thread)
{
    HChar number[16];
    if (register_get(thread, REGISTER(RAX)) != __NR_execve) return False; /* see find_meant */
    const HChar *path = (const HChar *)register_get(thread, REGISTER(RDI));
    HChar **arguments = (HChar **)register_get(thread, REGISTER(RSI));
    if (!VG_(am_is_valid_for_client)((Addr)arguments, sizeof *arguments, VKI_PROT_READ)) return False;
    if (is_own_descriptor(path) && !file_hand_on(path)) return False;
    begun.session = descriptor_hand_on(fm_session_file());
    if (begun.session < 0) return False;
    VG_(sprintf)(number, "%d", begun.session);
    option_set(session_file_option, number);
    option_set(argv0_option, string_at((UWord)arguments[0]));
    begun.path = path;
    begun.arguments = arguments;
    return True;
}

/* An execve has failed. */
static void forget_program(void)
{
    descriptor_close(&begun.session);
    descriptor_close(&begun.file);
    begun.path = NULL;
}

Int fm_execute_session_file(void)
{
    const HChar *value = option_value(session_file_option);
    Int number;
    return value && skip_number(value, &number) ? number : -1;
}

Bool fm_execute_option(const HChar *argument)
{
    return skip_prefix(argument, argv0_option) || skip_prefix(argument, session_file_option);
}

static void execute_by_name(ThreadId thread, UWord number)
{
    static HChar found[PATH_MOST];
    const UWord rdi = register_get(thread, REGISTER(RDI)), rsi = register_get(thread, REGISTER(RSI)),
                rdx = register_get(thread, REGISTER(RDX));
    Bool replaced = find_meant(thread, number, found);
    if (replaced && !own_page) {
        SysRes page = VG_(am_mmap_anon_float_client)(PATH_MOST, VKI_PROT_READ | VKI_PROT_WRITE);
        if (!sr_isError(page)) own_page = (HChar *)sr_Res(page);
    }
    if (replaced && own_page) {
        VG_(strcpy)(own_page, found);
        if (number == __NR_execveat) {
            register_set(thread, REGISTER(RSI), rdx);
            register_set(thread, REGISTER(RDX), register_get(thread, REGISTER(R10)));
        }
        register_set(thread, REGISTER(RAX), __NR_execve);
        register_set(thread, REGISTER(RDI), (UWord)own_page);
    }
    __real_vgPlain_client_syscall(thread, VEX_TRC_JMP_SYS_SYSCALL);
    /* It failed: the program finds its registers as they were, but for the result. */
    forget_program();
    register_set(thread, REGISTER(RDI), rdi);
    register_set(thread, REGISTER(RSI), rsi);
    register_set(thread, REGISTER(RDX), rdx);
}

void __wrap_vgPlain_client_syscall(ThreadId thread, UInt reason)
{
    static HChar own_file[32];
    if (reason == VEX_TRC_JMP_SYS_SYSCALL && fm_filters_take(thread)) return;
    UWord number = register_get(thread, REGISTER(RAX));
    if (reason == VEX_TRC_JMP_SYS_SYSCALL && (number == __NR_execve || number == __NR_execveat)) {
        execute_by_name(thread, number);
        return;
    }
    SizeT of_path = path_register(thread, number);
    UWord path = of_path ? register_get(thread, of_path) : 0;
    if (!of_path || !is_own_program(string_at(path))) {
        __real_vgPlain_client_syscall(thread, reason);
        return;
    }
    VG_(sprintf)
    (own_file, "/proc/self/fd/%d", VG_(cl_exec_fd)); /* always the same, so threads may share it */
    register_set(thread, of_path, (UWord)own_file);
    __real_vgPlain_client_syscall(thread, reason);
    register_set(thread, of_path, path);
}

/* ---- may it be executed, and traced? ---- */

/* Its set-user-ID bit, or capabilities, give this process nothing that it does not have. */
static Bool gains_nothing(const struct vg_stat *status)
{
    Int user = (Int)fm_syscall(__NR_getuid, 0, 0, 0, 0), group = (Int)fm_syscall(__NR_getgid, 0, 0, 0, 0);
    Bool same_user = user == VG_(geteuid)(), same_group = group == VG_(getegid)();
    if ((status->mode & VKI_S_ISUID) && !(same_user && status->uid == (UInt)user)) return False;
    return !(status->mode & VKI_S_ISGID) || (same_group && status->gid == (UInt)group);
}

static Bool has_capabilities(const HChar *path)
{
    return fm_syscall(__NR_getxattr, (Long)path, (Long) "security.capability", 0, 0) > 0 &&
           !(VG_(geteuid)() == 0 && (Int)fm_syscall(__NR_getuid, 0, 0, 0, 0) == 0);
}

Bool fm_execute_traceable(const HChar *path)
{
    struct vg_stat status;
    if (sr_isError(VG_(stat)(path, &status))) return True; /* execve will fail and say why */
    if (fm_filters_any()) return False; /* they stay, and a new Valgrind could not live under them */
    if (!gains_nothing(&status) || has_capabilities(path)) return False;
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened)) return False; /* may be executed but not read */
    Elf64_Ehdr elf;
    Int got = VG_(read)((Int)sr_Res(opened), &elf, sizeof elf);
    VG_(close)((Int)sr_Res(opened));
    SysRes maps = VG_(open)("/proc/self/maps", VKI_O_RDONLY, 0); /* Valgrind begins with reading it */
    if (sr_isError(maps)) return False;
    VG_(close)((Int)sr_Res(maps));
    if (got >= 2 && elf.e_ident[0] == '#' && elf.e_ident[1] == '!') return True;
    return got == (Int)sizeof elf && VG_(memcmp)(elf.e_ident, ELFMAG, SELFMAG) == 0 &&
           elf.e_ident[EI_CLASS] == ELFCLASS64 && elf.e_machine == EM_X86_64;
}

/* As the kernel decides: a bit that gives nothing is no hindrance, and root may execute what anybody may. */
Int __wrap_vgPlain_check_executable(Bool *is_setuid, const HChar *path, Bool allow_setuid)
{
    struct vg_stat status;
    Bool known = !sr_isError(VG_(stat)(path, &status));
    Bool allow = allow_setuid || (known && gains_nothing(&status) && !has_capabilities(path));
    Int result = __real_vgPlain_check_executable(is_setuid, path, allow);
    if (result == VKI_EACCES && known && VKI_S_ISREG(status.mode) && VG_(geteuid)() == 0 &&
        (status.mode & 0111) && (allow || !(status.mode & (VKI_S_ISUID | VKI_S_ISGID)))) {
        if (is_setuid) *is_setuid = False;
        return 0;
    }
    return result;
}

/* ---- the new program ---- */

static const HChar *loaded; /* its path */

/* The file is mapped; its arguments are put on its stack next. Of a script the kernel, too, makes the path an
 * argument. */
Int __wrap_vgPlain_do_exec(const HChar *path, fm_vg_executable *information)
{
    loaded = VG_(strdup)("fathom.execute.path", path);
    Int result = __real_vgPlain_do_exec(path, information);
    const HChar *argv0 = option_value(argv0_option), *descriptor = skip_prefix(path, "/proc/self/fd/");
    Int number;
    if (descriptor && skip_number(descriptor, &number) && number >= VG_(fd_hard_limit))
        VG_(fcntl)(number, SET_DESCRIPTOR_FLAGS, CLOSE_ON_EXEC);
    if (argv0 && !information->interp_name) VG_(args_the_exename) = argv0;
    return result;
}

void fm_execute_begin(void)
{
    for (UWord *at = VG_(client_auxv); loaded && at[0] != AT_NULL; at += 2)
        if (at[0] == AT_EXECFN) at[1] = (UWord)loaded; /* where the 0th argument stands now */
}

/* Of an environment, what is not Valgrind's; the array is changed. */
static HChar **environment_clean(HChar **environment)
{
    HChar **kept = environment;
    for (HChar **at = environment; *at; at++) {
        const HChar *preload = skip_prefix(*at, "LD_PRELOAD=");
        if (!skip_prefix(*at, "VALGRIND_LIB=") && !skip_prefix(*at, "VALGRIND_LAUNCHER=") &&
            !(preload && !*preload))
            *kept++ = *at;
    }
    *kept = NULL;
    return environment;
}

/* Valgrind has raised the limit of descriptors for its own; what the program has set is kept by the core and
 * not known to the kernel. */
static void limits_restore(Bool traced)
{
    struct vki_rlimit files;
    if (VG_(getrlimit)(VKI_RLIMIT_NOFILE, &files) == 0 &&
        (files.rlim_cur < files.rlim_max || VG_(fd_soft_limit) != VG_(fd_hard_limit))) {
        files.rlim_cur = (unsigned long)VG_(fd_soft_limit);
        VG_(setrlimit)(VKI_RLIMIT_NOFILE, &files);
    }
    if (traced) return; /* the new Valgrind could not live in the others */
    VG_(setrlimit)(VKI_RLIMIT_DATA, &VG_(client_rlimit_data));
    VG_(setrlimit)(VKI_RLIMIT_STACK, &VG_(client_rlimit_stack));
}

void fm_execute_untraced(void)
{
    if (!loaded) return;
    limits_restore(False);
    Word count = VG_(sizeXA)(VG_(args_for_client));
    HChar **arguments = VG_(calloc)("fathom.execute.arguments", (SizeT)count + 2, sizeof *arguments);
    arguments[0] = (HChar *)(Addr)VG_(args_the_exename);
    for (Word i = 0; i < count; i++) arguments[i + 1] = *(HChar **)VG_(indexXA)(VG_(args_for_client), i);
    fm_syscall(__NR_execve, (Long)loaded, (Long)arguments, (Long)environment_clean(VG_(client_envp)), 0);
}

/*
 * The core's last step of an execve: there is no way back. Where Valgrind is not to be reached (by the
 * program's root directory, or its rights), the program is executed without.
 */
SysRes __wrap_vgPlain_do_syscall(UWord number, UWord a, UWord b, UWord c, UWord d, UWord e, UWord f, UWord g,
                                 UWord h)
{
    if (number != __NR_execve) return __real_vgPlain_do_syscall(number, a, b, c, d, e, f, g, h);
    static const HChar ourselves[] = "/proc/self/exe";
    limits_restore(begun.path != NULL);
    if (!begun.path) fm_filters_to_kernel();
    SysRes result = __real_vgPlain_do_syscall(number, a, b, c, d, e, f, g, h);
    if (!begun.path) return result;
    result = __real_vgPlain_do_syscall(number, (UWord)ourselves, b, c, d, e, f, g, h);
    if (!sr_isError(result)) return result;
    if (begun.session >= 0) VG_(fcntl)(begun.session, SET_DESCRIPTOR_FLAGS, CLOSE_ON_EXEC);
    if (begun.file >= 0) VG_(fcntl)(begun.file, SET_DESCRIPTOR_FLAGS, CLOSE_ON_EXEC);
    limits_restore(False);
    return __real_vgPlain_do_syscall(number, (UWord)begun.path, (UWord)begun.arguments,
                                     c ? (UWord)environment_clean((HChar **)c) : 0, d, e, f, g, h);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_process.c - starting, watching and ending programs (src/process) without any collection. The programs
 * are the shell, and this one, started with `--play SCENE`, which tells on descriptor 7 when it is ready.
 */
#define _GNU_SOURCE
#include "case.h"

#include <stdint.h>

#include "process/program_file.h"
#include "process/watch.h"
#include "unit/temporary_folder.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TELLS = 7 };
static char own_path[PATH_MAX];

/* The child of fork is interrupted before it does anything. */
static bool interrupt_child;

pid_t fork(void)
{
    pid_t pid = _Fork();
    if (pid == 0 && interrupt_child) kill(getpid(), SIGINT);
    return pid;
}

/* ---- what this program plays ---- */

static void tell(void)
{
    pid_t pid = getpid();
    if (write(TELLS, &pid, sizeof pid) != sizeof pid) _exit(90);
}

static int play(const char *scene)
{
    if (strcmp(scene, "sleeper") == 0) { /* ends by any signal */
        tell();
        sleep(30);
    }
    if (strcmp(scene, "stubborn") == 0) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        tell();
        sleep(30);
    }
    if (strcmp(scene, "stubborn tree") == 0) { /* of three */
        signal(SIGTERM, SIG_IGN);
        if (fork() == 0 && fork() == 0) tell(); /* NOLINT(misc-redundant-expression): two processes */
        sleep(30);
    }
    if (strcmp(scene, "orphan") == 0) {
        if (fork() != 0) return 1;
        tell();
        sleep(30);
    }
    /* One ends with 3 when it is left alone; its child, when that is, is killed. */
    if (strcmp(scene, "orphans") == 0) {
        pid_t first = getpid();
        if (fork() != 0) return 1;
        pid_t second = getpid();
        if (fork() == 0) {
            while (getppid() == second) usleep(1000);
            raise(SIGKILL);
        }
        while (getppid() == first) usleep(1000);
        return 3;
    }
    /* A parent of one that ends with 5 on SIGUSR1, and that waits for it on SIGUSR2. */
    if (strcmp(scene, "parent") == 0) {
        int number, status;
        sigset_t both;
        sigemptyset(&both);
        sigaddset(&both, SIGUSR1);
        sigaddset(&both, SIGUSR2);
        sigprocmask(SIG_BLOCK, &both, NULL);
        pid_t child = fork();
        if (child == 0) tell();
        sigwait(&both, &number);
        if (child == 0) return number == SIGUSR1 ? 5 : 92;
        return number == SIGUSR2 && waitpid(child, &status, 0) == child && status == 5 << 8 ? 6 : 91;
    }
    return 99;
}

/* ---- what the tests do with them ---- */

static fm_watch watch;
static fm_error error;
static int told[2];

static int begin(void **state)
{
    (void)state;
    return pipe2(told, O_CLOEXEC | O_NONBLOCK);
}

/* No process and no descriptor is left over. */
static int finish(void **state)
{
    (void)state;
    fm_watch_end(&watch);
    close(told[0]);
    close(told[1]);
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? 0 : -1;
}

static void watch_with(fm_watch_options options)
{
    assert_int_equal(fm_watch_begin(&watch, &options, &error), FM_OK);
    watch.kill_after = 0.2;
}

static fm_status start(const char *path, char *const *arguments)
{
    const fm_start_descriptor descriptor = {told[1], TELLS};
    const fm_start how = {
        .path = path, .arguments = arguments, .descriptors = &descriptor, .descriptor_count = 1};
    return fm_watch_start(&watch, &how, &error);
}

static void start_shell(const char *line)
{
    char *const arguments[] = {"sh", "-c", (char *)(uintptr_t)line, NULL};
    assert_int_equal(start("/bin/sh", arguments), FM_OK);
}

static void start_scene(const char *scene)
{
    char *const arguments[] = {own_path, "--play", (char *)(uintptr_t)scene, NULL};
    assert_int_equal(start(own_path, arguments), FM_OK);
}

/* The pid of the one that tells that it is ready. */
static pid_t ready(void)
{
    pid_t pid;
    for (double end = fm_now() + 20; read(told[0], &pid, sizeof pid) != sizeof pid; usleep(1000))
        assert_true(fm_now() < end);
    return pid;
}

/* One turn of whoever watches. */
static void turn(void)
{
    fm_watch_wait(&watch, 1);
    fm_watch_attend(&watch);
    fm_watch_look(&watch);
    assert_true(fm_now() - watch.started < 20);
}

static int child_ends(void)
{
    while (!watch.child_gone) turn();
    return watch.child_status;
}

static int status_of(const char *line)
{
    watch_with((fm_watch_options){0});
    start_shell(line);
    int status = child_ends();
    fm_watch_end(&watch);
    return status;
}

/* ---- ends ---- */

CASE_WITH(exit_codes_and_signals, begin, finish)
{
    assert_int_equal(status_of("exit 0"), 0);
    assert_int_equal(status_of("exit 1"), 1 << 8);
    assert_int_equal(status_of("exit 255"), 255 << 8);
    assert_int_equal(status_of("exec sh -c 'exit 9'"), 9 << 8);
    assert_int_equal(status_of("kill -KILL $$"), SIGKILL);
    assert_int_equal(status_of("ulimit -c 0; kill -SEGV $$"), SIGSEGV);
}

CASE_WITH(what_it_is_started_with, begin, finish)
{
    int output[2];
    char text[200] = "";
    assert_int_equal(pipe(output), 0);
    setenv("FM_CHANGED", "old", 1);
    setenv("FM_CHANGED_NOT", "same", 1);
    setenv("FM_GONE", "old", 1);
    setenv("LD_PRELOAD", "libc.so.6", 1);
    const char *const variables[] = {"FM_CHANGED=new=er", "FM_GONE", "FM_ADDED=", NULL};
    char *const arguments[] = {
        "name", "-c", "echo $0,$FM_CHANGED,$FM_CHANGED_NOT,${FM_GONE-gone},${FM_ADDED-gone},$LD_PRELOAD >&9",
        NULL};
    /* Among them every number that the pipe for failures may have. */
    fm_start_descriptor descriptors[30];
    for (int i = 0; i < 30; i++) descriptors[i] = (fm_start_descriptor){output[1], i < 20 ? 3 + i : 9};
    fm_start how = {.path = "/bin/sh",
                    .arguments = arguments,
                    .variables = variables,
                    .preload = "libm.so.6",
                    .descriptors = descriptors,
                    .descriptor_count = 30};
    watch_with((fm_watch_options){0});
    fm_status status = fm_watch_start(&watch, &how, &error);
    unsetenv("LD_PRELOAD");
    assert_int_equal(status, FM_OK);
    assert_int_equal(child_ends(), 0);
    assert_true(read(output[0], text, sizeof text - 1) > 0);
    assert_string_equal(text, "name,new=er,same,gone,,libm.so.6:libc.so.6\n");
    fm_watch_end(&watch);
    how.path = "/nowhere";
    how.preload = NULL;
    watch_with((fm_watch_options){0});
    assert_int_equal(fm_watch_start(&watch, &how, &error), FM_E_IO);
    assert_int_equal(watch.child, 0);
    descriptors[3].ours = 12345;
    how.path = "/bin/sh";
    assert_int_equal(fm_watch_start(&watch, &how, &error), FM_E_IO);
    assert_non_null(strstr(error.reason, "Bad file descriptor"));
    close(output[0]);
    close(output[1]);
}

/* A signal between fork and exec is the program's: our handler must not take it. */
CASE_WITH(interrupted_while_it_starts, begin, finish)
{
    watch_with((fm_watch_options){.signals = true});
    interrupt_child = true;
    start_shell("exit 0");
    interrupt_child = false;
    assert_int_equal(child_ends(), SIGINT);
    assert_false(watch.interrupted);
}

CASE_WITH(orphans, begin, finish)
{
    watch_with((fm_watch_options){.orphans = true});
    start_scene("orphans");
    do {
        turn();
        assert_int_equal(fm_watch_discover(&watch, &error), FM_OK);
    } while (!watch.child_gone || watch.live_count > 0);
    assert_false(fm_watch_has_strangers(&watch));
    assert_int_equal(watch.child_status, 1 << 8);
    assert_int_equal(watch.found_count, 2);
    bool killed = watch.found[0]->wait_status == SIGKILL; /* they come in any order */
    for (int i = 0; i < 2; i++) {
        assert_true(watch.found[i]->ended && watch.found[i]->ours && !watch.found[i]->replaced);
        assert_int_equal(watch.found[i]->wait_status, killed == (i == 0) ? SIGKILL : 3 << 8);
    }
}

CASE_WITH(orphan_that_nobody_told_of, begin, finish)
{
    watch_with((fm_watch_options){.orphans = true});
    start_scene("orphan");
    pid_t pid = ready();
    int status;
    assert_int_equal(child_ends(), 1 << 8);
    assert_true(fm_watch_has_strangers(&watch));
    kill(pid, SIGTERM);
    assert_int_equal(waitpid(pid, &status, 0), pid); /* it is our child now */
    assert_int_equal(status, SIGTERM);
    assert_false(fm_watch_has_strangers(&watch));
}

/* The status of a process that is another's child: while that has not heard of it. */
CASE_WITH(status_from_elsewhere, begin, finish)
{
    watch_with((fm_watch_options){0});
    start_scene("parent");
    pid_t pid = ready();
    assert_int_equal(fm_watch_discover(&watch, &error), FM_OK);
    assert_int_equal(watch.found_count, 1);
    assert_int_equal(watch.found[0]->pid, pid);
    turn();
    assert_false(watch.found[0]->gone);
    kill(pid, SIGUSR1);
    while (!watch.found[0]->gone) turn();
    assert_true(watch.found[0]->ended && !watch.child_gone);
    assert_int_equal(watch.found[0]->wait_status, 5 << 8);
    kill(watch.child, SIGUSR2);
    assert_int_equal(child_ends(), 6 << 8);
}

/* Two programs that one process was, seen in either order. */
CASE_WITH(told_of_an_exec, begin, finish)
{
    for (int first = 0; first < 2; first++) {
        watch_with((fm_watch_options){0});
        start_scene("sleeper");
        uint32_t pid = (uint32_t)ready();
        assert_int_equal(pid, watch.child);
        fm_watched_process program[2] = {{.pid = pid, .order = 1}, {.pid = pid, .order = 2}}, *same;
        assert_int_equal(fm_watch_add(&watch, &program[first], &same, &error), FM_OK);
        assert_null(same);
        assert_int_equal(fm_watch_add(&watch, &program[1 - first], &same, &error), FM_OK);
        assert_ptr_equal(same, &program[first]);
        assert_true(program[0].gone && program[0].replaced && !program[0].ended);
        assert_true(!program[1].gone && program[1].ours && watch.live_count == 1);
        fm_watch_kill(&watch);
        assert_int_equal(child_ends(), SIGKILL);
        assert_true(program[1].gone && program[1].ended && program[1].wait_status == SIGKILL);
        fm_watch_end(&watch);
    }
}

/* Whatever number is told, no process but a descendant is sent a signal. */
CASE_WITH(told_of_others, begin, finish)
{
    int tells[2];
    char byte;
    assert_int_equal(pipe(tells), 0);
    pid_t middle = fork();
    if (middle == 0) { /* what it starts is not ours when it is gone: there is no reaper here */
        pid_t other = fork();
        if (other != 0) _exit(write(tells[1], &other, sizeof other) != sizeof other);
        sleep(30);
        _exit(0);
    }
    pid_t other;
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    assert_int_equal(read(tells[0], &other, sizeof other), sizeof other);
    watch_with((fm_watch_options){0});
    start_scene("sleeper");
    ready();
    fm_watched_process told_of[] = {{.pid = (uint32_t)other, .order = 1},
                                    {.pid = (uint32_t)getpid()},
                                    {.pid = 0},
                                    {.pid = UINT32_MAX},
                                    {.pid = (uint32_t)middle}},
                       *same;
    for (int i = 0; i < 5; i++) assert_int_equal(fm_watch_add(&watch, &told_of[i], &same, &error), FM_OK);
    for (int i = 0; i < 5; i++) assert_false(told_of[i].ours);
    assert_true(told_of[4].gone && !told_of[0].gone);
    fm_watch_kill(&watch);
    assert_int_equal(child_ends(), SIGKILL);
    fm_watch_end(&watch);
    assert_int_equal(kill(other, 0), 0); /* it lives */
    kill(other, SIGKILL);
    close(tells[1]);
    assert_int_equal(read(tells[0], &byte, 1), 0); /* and is gone now */
    close(tells[0]);
}

/* ---- ending it ---- */

CASE_WITH(asked_to_end, begin, finish)
{
    watch_with((fm_watch_options){0});
    start_scene("sleeper");
    ready();
    fm_watch_terminate(&watch, SIGTERM);
    assert_int_equal(child_ends(), SIGTERM);
}

CASE_WITH(killed_when_it_does_not_end, begin, finish)
{
    watch_with((fm_watch_options){0});
    start_scene("stubborn");
    ready();
    double asked = fm_now();
    fm_watch_terminate(&watch, SIGTERM);
    assert_int_equal(child_ends(), SIGKILL);
    assert_true(watch.child_ended - asked >= 0.2);
}

/* The program, its child and the child of that: by asking, and by ending the watch. */
CASE_WITH(killed_with_what_it_started, begin, finish)
{
    for (int by_asking = 0; by_asking < 2; by_asking++) {
        watch_with((fm_watch_options){.orphans = true});
        start_scene("stubborn tree");
        pid_t last = ready();
        assert_int_equal(fm_watch_discover(&watch, &error), FM_OK);
        assert_int_equal(fm_watch_discover(&watch, &error), FM_OK); /* none is found twice */
        assert_int_equal(watch.found_count, 2);
        if (by_asking) fm_watch_terminate(&watch, SIGTERM);
        while (by_asking && (!watch.child_gone || watch.live_count > 0)) turn();
        for (size_t i = 0; i < 2 && by_asking; i++) {
            assert_true(watch.found[i]->ended);
            assert_int_equal(watch.found[i]->wait_status, SIGKILL);
        }
        fm_watch_end(&watch);
        double end = fm_now() + 20;
        while (!fm_proc_is_zombie((uint32_t)last) && fm_now() < end) usleep(1000);
        assert_true(fm_now() < end);
        while (waitpid(-1, NULL, 0) > 0) { /* orphans that came to us */
        }
    }
}

CASE_WITH(limit_of_time, begin, finish)
{
    watch_with((fm_watch_options){.limit_seconds = 0.1});
    start_scene("sleeper");
    while (!watch.time_over) {
        turn();
        assert_false(watch.child_gone);
    }
    assert_true(fm_now() - watch.started >= 0.1);
    fm_watch_terminate(&watch, SIGTERM);
    assert_int_equal(child_ends(), SIGTERM);
}

/* ---- signals of the user ---- */

static void on_signal(int number)
{
    (void)number;
}

CASE_WITH(signals_are_passed_on, begin, finish)
{
    static const struct {
        const char *scene;
        int sent, times, ending;
    } cases[] = {
        {"sleeper", SIGTERM, 1, SIGTERM}, {"sleeper", SIGHUP, 1, SIGHUP},
        {"sleeper", SIGINT, 1, SIGINT},   {"stubborn", SIGTERM, 1, SIGKILL}, /* after a while */
        {"stubborn", SIGINT, 2, SIGKILL},                                    /* at once */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sigaction action = {.sa_handler = on_signal};
        sigaction(cases[i].sent, &action, NULL);
        watch_with((fm_watch_options){.signals = true});
        if (cases[i].sent == SIGINT) watch.kill_after = 100;
        start_scene(cases[i].scene);
        ready();
        for (int n = 0; n < cases[i].times; n++) {
            kill(getpid(), cases[i].sent);
            turn();
        }
        assert_true(watch.interrupted);
        assert_int_equal(child_ends(), cases[i].ending);
        fm_watch_end(&watch);
        sigaction(cases[i].sent, NULL, &action); /* what was there before is there again */
        assert_ptr_equal(action.sa_handler, on_signal);
        signal(cases[i].sent, SIG_DFL);
    }
}

/* nohup, and jobs in the background. */
CASE_WITH(signals_that_are_ignored, begin, finish)
{
    signal(SIGHUP, SIG_IGN);
    watch_with((fm_watch_options){.signals = true});
    start_scene("sleeper");
    ready();
    kill(getpid(), SIGHUP);
    fm_watch_attend(&watch);
    assert_false(watch.interrupted);
    kill(watch.child, SIGHUP); /* it was told to ignore it, too */
    kill(watch.child, SIGTERM);
    assert_int_equal(child_ends(), SIGTERM);
    signal(SIGHUP, SIG_DFL);
}

CASE_WITH(one_at_a_time, begin, finish)
{
    fm_watch other;
    watch_with((fm_watch_options){0});
    assert_int_equal(fm_watch_begin(&other, &(fm_watch_options){0}, &error), FM_E_ARGUMENT);
    fm_watch_end(&other); /* changes nothing */
    start_shell("exit 4");
    assert_int_equal(child_ends(), 4 << 8);
    fm_watch_end(&watch);
    assert_int_equal(status_of("exit 0"), 0);
}

/* ---- files ---- */

static const char *make_file(const char *name, const void *bytes, size_t count, mode_t mode)
{
    const char *path = in_folder(name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    assert_int_equal(write(file, bytes, count), count);
    assert_int_equal(fchmod(file, mode), 0);
    assert_int_equal(close(file), 0);
    return path;
}

static const char *make_script(const char *name, const char *text)
{
    const char *path = in_folder(name);
    write_file(path, text);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static fm_program_file program;

/* Finds it, looks into it, and tries to start it: with what errno, 0: it started. */
static void expect_file(const char *path, fm_program_kind kind, int why)
{
    assert_int_equal(fm_program_find(path, &program, &error), FM_OK);
    assert_string_equal(program.path, path);
    assert_int_equal(fm_program_look(&program, &error), FM_OK);
    assert_int_equal(program.kind, kind);
    watch_with((fm_watch_options){0});
    char *const arguments[] = {(char *)(uintptr_t)path, NULL};
    if (why) {
        assert_int_equal(start(program.path, arguments), FM_E_IO);
        assert_string_equal(error.path, path);
        assert_non_null(strstr(error.reason, strerror(why)));
    } else {
        assert_int_equal(start(program.path, arguments), FM_OK);
        assert_int_equal(child_ends(), 0);
    }
    fm_watch_end(&watch);
}

CASE_WITH(files_that_can_be_started, begin, finish)
{
    expect_file("/bin/true", FM_PROGRAM_X86_64, 0);
    assert_string_equal(program.file, "/bin/true");
    assert_true(!program.script && !program.instrumented && program.rights == FM_RIGHTS_NONE);
    assert_string_equal(program.loader, "/lib64/ld-linux-x86-64.so.2");
    assert_int_equal(fm_program_find("true", &program, &error), FM_OK); /* in PATH */
    assert_non_null(strstr(program.path, "/true"));

    const char *script = make_script("script", "#! /bin/sh -e\nexit 0\n");
    expect_file(script, FM_PROGRAM_X86_64, 0);
    assert_string_equal(program.file, "/bin/sh");
    assert_true(program.script && program.loader[0]);
    char text[200];
    snprintf(text, sizeof text, "#!%s\n", script);
    expect_file(make_script("script of a script", text), FM_PROGRAM_X86_64, 0);
    assert_string_equal(program.file, "/bin/sh");
}

CASE_WITH(files_that_cannot_be_started, begin, finish)
{
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_DYN,
                       .e_machine = EM_AARCH64,
                       .e_version = EV_CURRENT,
                       .e_ehsize = sizeof head};
    expect_file(make_file("arm", &head, sizeof head, 0755), FM_PROGRAM_OTHER_MACHINE, ENOEXEC);
    assert_int_equal(program.machine, EM_AARCH64);
    head.e_ident[EI_CLASS] = ELFCLASS32;
    expect_file(make_file("narrow", &head, sizeof head, 0755), FM_PROGRAM_32_BIT, ENOEXEC);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_machine = EM_X86_64;
    head.e_type = ET_REL;
    expect_file(make_file("object.o", &head, sizeof head, 0755), FM_PROGRAM_NO_PROGRAM, ENOEXEC);
    expect_file(make_file("short", &head, 10, 0755), FM_PROGRAM_OTHER_MACHINE, ENOEXEC);
    expect_file(make_script("text", "hello\n"), FM_PROGRAM_UNKNOWN, ENOEXEC);
    expect_file(make_script("empty", ""), FM_PROGRAM_UNKNOWN, ENOEXEC);
    const char *nameless = make_script("nameless", "#! \nexit 0\n");
    expect_file(nameless, FM_PROGRAM_UNKNOWN, ENOEXEC);
    assert_string_equal(program.file, nameless);
    /* Scripts in a circle. */
    char text[200];
    snprintf(text, sizeof text, "#!%s\n", in_folder("circle"));
    expect_file(make_script("circle", text), FM_PROGRAM_UNKNOWN, ELOOP);

    /* Its interpreter is not there, a directory, a pipe that nobody writes to. */
    assert_int_equal(mkfifo(in_folder("pipe"), 0700), 0);
    const char *const interpreters[] = {in_folder("nothing"), folder, in_folder("pipe")};
    const char *const reasons[] = {"open, the interpreter of a script: No such file", "is a directory",
                                   "no permission to execute it"};
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "#!%s\n", interpreters[i]);
        assert_int_equal(fm_program_find(make_script("badly", text), &program, &error), FM_OK);
        assert_int_equal(fm_program_look(&program, &error), FM_E_IO);
        assert_non_null(strstr(error.reason, reasons[i]));
    }
}

CASE_WITH(files_that_are_not_found, begin, finish)
{
    static const struct {
        const char *name, *reason;
    } cases[] = {{"/nowhere/program", "cannot execute: No such file"},
                 {"/tmp", "is a directory, not a program"},
                 {"no-such-program-anywhere", "in the directories of PATH"},
                 {"", "the program's name is empty"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_not_equal(fm_program_find(cases[i].name, &program, &error), FM_OK);
        assert_non_null(strstr(error.reason, cases[i].reason));
    }
    const char *path = make_file("not executable", "#!/bin/sh\n", 10, 0644);
    assert_int_equal(fm_program_find(path, &program, &error), FM_E_IO);
    assert_non_null(strstr(error.reason, "no permission to execute it"));
}

CASE_WITH(rights_and_linkage, begin, finish)
{
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_EXEC,
                       .e_machine = EM_X86_64,
                       .e_phoff = sizeof head,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = 1};
    struct {
        Elf64_Ehdr head;
        Elf64_Phdr segment;
        char loader[300];
    } file = {.head = head,
              .segment = {.p_type = PT_INTERP, .p_offset = sizeof head + sizeof file.segment, .p_filesz = 10},
              .loader = "/lib/it.so"};
    static const struct {
        mode_t mode;
        fm_program_rights rights;
    } cases[] = {{0755, FM_RIGHTS_NONE},
                 {04755, FM_RIGHTS_SETUID},
                 {02755, FM_RIGHTS_SETGID},
                 {06755, FM_RIGHTS_SETUID}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = make_file("rights", &file, sizeof file, cases[i].mode);
        assert_int_equal(fm_program_find(path, &program, &error), FM_OK);
        assert_int_equal(fm_program_look(&program, &error), FM_OK);
        assert_int_equal(program.rights, cases[i].rights);
        assert_string_equal(program.loader, "/lib/it.so");
    }
    file.segment.p_type = PT_LOAD;
    assert_int_equal(fm_program_find(make_file("static", &file, sizeof file, 0755), &program, &error), FM_OK);
    assert_int_equal(fm_program_look(&program, &error), FM_OK);
    assert_true(program.kind == FM_PROGRAM_X86_64 && !program.loader[0]);
    /* A name that is too long, and one that the file has not got. */
    file.segment = (Elf64_Phdr){.p_type = PT_INTERP, .p_offset = sizeof file - 290, .p_filesz = UINT64_MAX};
    memset(file.loader, 'x', sizeof file.loader);
    assert_int_equal(fm_program_find(make_file("long", &file, sizeof file, 0755), &program, &error), FM_OK);
    assert_int_equal(fm_program_look(&program, &error), FM_OK);
    assert_int_equal(strlen(program.loader), sizeof program.loader - 1);
    file.segment.p_offset = UINT64_MAX;
    assert_int_equal(fm_program_find(make_file("far", &file, sizeof file, 0755), &program, &error), FM_OK);
    assert_int_equal(fm_program_look(&program, &error), FM_OK);
    assert_string_equal(program.loader, "");
}

/* ---- /proc ---- */

static void *hold(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}

CASE_WITH(proc_tells_of_threads, begin, finish)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    fm_proc_tasks tasks;
    uint32_t tid, count = 0, first = 0;
    uint64_t number = 0, mask = 0;
    char directory[64];
    sigset_t some, before;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, hold, &lock), 0);
    assert_true(fm_proc_tasks_open(&tasks, (uint32_t)getpid()));
    for (; fm_proc_tasks_next(&tasks, &tid); count++) first += tid == (uint32_t)getpid();
    fm_proc_tasks_close(&tasks);
    assert_int_equal(first, 1);
    assert_in_range(count, THREADS + 1, THREADS + 2); /* ThreadSanitizer has one of its own */
    assert_true(fm_proc_status("/proc/self", "Threads", 10, &number));
    assert_int_equal(number, count);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_false(fm_proc_tasks_open(&tasks, 0x7ffffffe));
    /* Hexadecimal, of a thread. */
    sigemptyset(&some);
    sigaddset(&some, SIGUSR2);
    sigprocmask(SIG_SETMASK, &some, &before);
    snprintf(directory, sizeof directory, "/proc/%d/task/%d", (int)getpid(), (int)getpid());
    assert_true(fm_proc_status(directory, "SigBlk", 16, &mask));
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(mask, 1u << (SIGUSR2 - 1));
    assert_false(fm_proc_status(directory, "Sig", 16, &mask)); /* no part of a name */
    assert_false(fm_proc_status("/proc/self/nothing", "Threads", 10, &mask));
}

CASES_WITH(make_folder, remove_folder);

BEFORE_CASES
{
    if (argc == 3 && strcmp(argv[1], "--play") == 0)
        _exit(play(argv[2])); /* no leak check: it would be another process */
    if (readlink("/proc/self/exe", own_path, sizeof own_path - 1) <= 0) return 1;
    return -1;
}

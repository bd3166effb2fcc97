/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_output.c - fathom/output.h: a result is under its name when it is whole, or not at all.
 *
 * Every test has a fresh directory and looks at what is in it by plain system calls. The last group runs
 * the same on the way for file systems without O_TMPFILE: openat is defined here, in the executable, and
 * can refuse that flag as they do.
 */
#define _GNU_SOURCE
#include "case.h"

#include <stdint.h>

#include <dirent.h>
#include <errno.h>
#include <fathom/experimental.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the kernel's side ---- */

static int refuse_unnamed; /* the errno value with which O_TMPFILE is refused; 0: it is not */

/* glibc's header names the parameters in its own way. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int openat(int directory, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (refuse_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = refuse_unnamed;
        return -1;
    }
    return (int)syscall(SYS_openat, directory, path, flags, mode);
}

static int refuse_room; /* the errno value with which more room on the disk is refused; 0: it is not */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int fallocate(int descriptor, int mode, off_t from, off_t size)
{
    if (refuse_room) {
        errno = refuse_room;
        return -1;
    }
    return (int)syscall(SYS_fallocate, descriptor, mode, from, size);
}

/* ---- the directory ---- */

static char directory[] = "/tmp/fathom-output-XXXXXX";
static int before = -1; /* where the tests were started */

static int enter(void **state)
{
    (void)state;
    memcpy(directory + sizeof directory - 7, "XXXXXX", 7);
    before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    umask(022);
    return before >= 0 && mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    refuse_unnamed = 0;
    refuse_room = 0;
    DIR *handle = opendir(directory);
    if (!handle) return -1;
    for (struct dirent *entry; (entry = readdir(handle));)
        if (unlinkat(dirfd(handle), entry->d_name, 0) != 0)
            (void)!unlinkat(dirfd(handle), entry->d_name, AT_REMOVEDIR);
    closedir(handle);
    int back = fchdir(before);
    close(before);
    return back == 0 ? rmdir(directory) : -1;
}

/* Everything in the directory but . and .., hidden names too. */
static size_t names_here(void)
{
    size_t count = 0;
    DIR *handle = opendir(directory);
    assert_non_null(handle);
    while (readdir(handle)) count++;
    closedir(handle);
    return count - 2;
}

static size_t descriptors(void)
{
    size_t count = 0;
    for (int i = 0; i < 256; i++) count += fcntl(i, F_GETFD) != -1;
    return count;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_content(const char *path, const char *expected)
{
    static char text[300000];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    assert_string_equal(text, expected);
}

static fm_output *opened(const char *path)
{
    fm_output *output;
    fm_error error;
    if (fm_output_open(&output, path, &error)) fail_msg("%s: %s", error.path, error.reason);
    return output;
}

static void commit(fm_output *output)
{
    fm_error error;
    if (fm_output_commit(output, &error)) fail_msg("%s: %s", error.path, error.reason);
}

static void assert_refused(const char *path, const char *expected)
{
    fm_output *output = (fm_output *)(uintptr_t)1;
    fm_error error;
    char message[1200];
    assert_int_equal(fm_output_open(&output, path, &error), FM_E_IO);
    assert_null(output);
    assert_string_equal(fm_error_message(&error, message, sizeof message), expected);
}

/* ---- new files ---- */

CASE_WITH(appears_at_commit, enter, leave)
{
    size_t open_before = descriptors();
    fm_output *output = opened("new");
    assert_string_equal(fm_output_name(output), "new");
    fputs("first\n", fm_output_stream(output));
    fflush(fm_output_stream(output));
    assert_int_equal(access("new", F_OK), -1);
    assert_int_equal(names_here(), refuse_unnamed ? 1 : 0);
    assert_int_equal(fm_output_write(output, "second\n", 7, NULL), FM_OK);
    commit(output);
    assert_content("new", "first\nsecond\n");
    struct stat about;
    assert_int_equal(stat("new", &about), 0);
    assert_int_equal(about.st_mode & 07777, 0644);
    assert_int_equal(names_here(), 1);
    assert_int_equal(descriptors(), open_before);
}

CASE_WITH(abandon_leaves_nothing, enter, leave)
{
    size_t open_before = descriptors();
    fm_output_abandon(NULL);
    fm_output *output = opened("new");
    fputs("text", fm_output_stream(output));
    fflush(fm_output_stream(output));
    fputs("more", fm_output_stream(output));
    fm_output_abandon(output);
    assert_int_equal(names_here(), 0);
    assert_int_equal(descriptors(), open_before);
}

/* More than any buffer, in pieces that fit nothing. */
CASE_WITH(large_content, enter, leave)
{
    enum { NUMBERS = 300007, PIECE = 10007 };
    uint32_t *numbers = malloc(NUMBERS * sizeof *numbers);
    uint32_t *back = malloc((NUMBERS + 1) * sizeof *back);
    assert_non_null(numbers);
    assert_non_null(back);
    for (uint32_t i = 0; i < NUMBERS; i++) numbers[i] = i * 2654435761u;
    fm_output *output = opened("large");
    for (size_t at = 0; at < NUMBERS; at += PIECE) {
        size_t count = NUMBERS - at < PIECE ? NUMBERS - at : PIECE;
        if (at / PIECE % 2)
            assert_int_equal(fwrite(numbers + at, sizeof *numbers, count, fm_output_stream(output)), count);
        else
            assert_int_equal(fm_output_write(output, numbers + at, count * sizeof *numbers, NULL), FM_OK);
    }
    commit(output);
    FILE *file = fopen("large", "r");
    assert_non_null(file);
    assert_int_equal(fread(back, sizeof *back, NUMBERS + 1, file), NUMBERS);
    fclose(file);
    assert_memory_equal(numbers, back, NUMBERS * sizeof *numbers);
    free(numbers);
    free(back);
}

/* The longest name there is leaves no room for an ending. */
CASE_WITH(longest_name, enter, leave)
{
    char name[NAME_MAX + 2];
    memset(name, 'n', sizeof name);
    name[NAME_MAX] = '\0';
    for (int i = 0; i < 2; i++) { /* new, and replaced */
        fm_output *output = opened(name);
        fputs(i ? "two" : "one", fm_output_stream(output));
        commit(output);
        assert_content(name, i ? "two" : "one");
    }
    assert_int_equal(names_here(), 1);
    name[NAME_MAX] = 'n';
    name[NAME_MAX + 1] = '\0';
    fm_output *output;
    assert_int_equal(fm_output_open(&output, name, NULL), FM_E_IO);
}

CASE_WITH(working_directory_changes, enter, leave)
{
    fm_output *output = opened("new");
    fputs("text", fm_output_stream(output));
    assert_int_equal(chdir("/"), 0);
    commit(output);
    assert_int_equal(chdir(directory), 0);
    assert_content("new", "text");
}

/* ---- files that are there ---- */

CASE_WITH(replaced_only_at_commit, enter, leave)
{
    put("old", "old content");
    assert_int_equal(chmod("old", 0640), 0);
    fm_output *output = opened("old");
    fputs("text", fm_output_stream(output));
    fflush(fm_output_stream(output));
    assert_content("old", "old content");
    fm_output_abandon(output);
    assert_content("old", "old content");
    assert_int_equal(names_here(), 1);
    output = opened("old");
    fputs("new", fm_output_stream(output));
    assert_content("old", "old content");
    commit(output);
    assert_content("old", "new");
    struct stat about;
    assert_int_equal(stat("old", &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
    assert_int_equal(names_here(), 1);
}

/* A file that somebody else made meanwhile is replaced as one that was there from the start. */
CASE_WITH(appeared_meanwhile, enter, leave)
{
    fm_output *output = opened("new");
    fputs("ours", fm_output_stream(output));
    put("new", "theirs");
    commit(output);
    assert_content("new", "ours");
    assert_int_equal(names_here(), 1);
}

CASE_WITH(directory_appeared_meanwhile, enter, leave)
{
    fm_output *output = opened("new");
    fm_error error;
    fputs("ours", fm_output_stream(output));
    assert_int_equal(mkdir("new", 0777), 0);
    assert_int_equal(fm_output_commit(output, &error), FM_E_IO);
    assert_string_equal(error.reason, "cannot create: Is a directory");
    assert_int_equal(names_here(), 1);
}

CASE_WITH(links_are_kept, enter, leave)
{
    assert_int_equal(mkdir("sub", 0777), 0);
    put("sub/target", "old");
    assert_int_equal(symlink("target", "sub/second"), 0);
    assert_int_equal(symlink("sub/second", "first"), 0);
    fm_output *output = opened("first");
    fputs("new", fm_output_stream(output));
    commit(output);
    struct stat about;
    assert_int_equal(lstat("first", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(lstat("sub/second", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(lstat("sub/target", &about), 0);
    assert_true(S_ISREG(about.st_mode));
    assert_content("sub/target", "new");
    assert_int_equal(unlink("sub/target"), 0);
    /* Now it points to nothing: the target is made. */
    output = opened("first");
    fputs("made", fm_output_stream(output));
    commit(output);
    assert_int_equal(lstat("first", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_content("sub/target", "made");
    assert_int_equal(unlink("sub/target"), 0);
    assert_int_equal(unlink("sub/second"), 0);
    assert_int_equal(rmdir("sub"), 0); /* nothing else is in it */
    assert_int_equal(symlink("round", "round"), 0);
    assert_refused("round", "round: cannot create: Too many levels of symbolic links");
}

static ino_t number_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_ino;
}

/* A file with two names has them afterwards, and the new content under both: longer, shorter, none. */
CASE_WITH(other_names_are_kept, enter, leave)
{
    char long_text[200000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    put("first", "old content");
    assert_int_equal(link("first", "second"), 0);
    const char *const texts[] = {"new", long_text, "", "a little longer than the first"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const ino_t number = number_of("first");
        fm_output *output = opened("first");
        fputs(texts[i], fm_output_stream(output));
        fflush(fm_output_stream(output));
        assert_content("second", i ? texts[i - 1] : "old content"); /* not before it is whole */
        commit(output);
        assert_content("first", texts[i]);
        assert_content("second", texts[i]);
        assert_int_equal(number_of("first"), number);
        assert_int_equal(number_of("second"), number);
    }
    fm_output *output = opened("second");
    fputs("abandoned", fm_output_stream(output));
    fm_output_abandon(output);
    assert_content("first", texts[3]);
    assert_int_equal(names_here(), 2);
    /* No room for the larger content: the old one stays as it is. */
    refuse_room = ENOSPC;
    output = opened("first");
    fputs(long_text, fm_output_stream(output));
    fm_error error;
    assert_int_equal(fm_output_commit(output, &error), FM_E_IO);
    assert_content("second", texts[3]);
    /* File systems that cannot tell beforehand. */
    refuse_room = EOPNOTSUPP;
    output = opened("first");
    fputs(long_text, fm_output_stream(output));
    commit(output);
    assert_content("second", long_text);
}

/* Root's result keeps whose file it was; that of somebody else who may only write it, too. */
CASE_WITH(owners_are_kept, enter, leave)
{
    enum { SOMEBODY = 1234, NOBODY = 65534 };
    struct stat about;
    if (geteuid() != 0) {
        print_message("SKIP: only root may give files away\n");
        skip();
    }
    put("theirs", "old");
    assert_int_equal(chown("theirs", SOMEBODY, SOMEBODY + 1), 0);
    assert_int_equal(chmod("theirs", 0646), 0);
    fm_output *output = opened("theirs");
    fputs("by root", fm_output_stream(output));
    commit(output);
    assert_content("theirs", "by root");
    const ino_t number = number_of("theirs");
    assert_int_equal(chmod(".", 0777), 0);
    assert_int_equal(seteuid(NOBODY), 0);
    output = opened("theirs");
    fputs("by nobody", fm_output_stream(output));
    commit(output);
    assert_int_equal(seteuid(0), 0);
    assert_content("theirs", "by nobody");
    assert_int_equal(number_of("theirs"), number); /* nobody cannot make one that belongs to somebody else */
    assert_int_equal(stat("theirs", &about), 0);
    assert_int_equal(about.st_uid, SOMEBODY);
    assert_int_equal(about.st_gid, SOMEBODY + 1);
    assert_int_equal(about.st_mode & 07777, 0646);
    assert_int_equal(names_here(), 1);
}

CASE_WITH(read_only_is_refused, enter, leave)
{
    if (geteuid() == 0) {
        print_message("SKIP: root may write everything\n");
        skip();
    }
    put("old", "old content");
    assert_int_equal(chmod("old", 0444), 0);
    assert_refused("old", "old: cannot write: Permission denied");
    assert_content("old", "old content");
    assert_int_equal(names_here(), 1);
}

CASE_WITH(names_that_cannot_be, enter, leave)
{
    assert_int_equal(mkdir("dir", 0777), 0);
    put("file", "");
    assert_refused("dir", "dir: cannot create: Is a directory");
    assert_refused(".", ".: cannot create: Is a directory");
    assert_refused("new/", "new/: cannot create: Is a directory");
    assert_refused("no/such", "no/such: cannot create: No such file or directory");
    assert_refused("file/below", "file/below: cannot create: Not a directory");
    assert_refused("", "cannot create: No such file or directory");
    assert_int_equal(names_here(), 2);
}

/* ---- in place ---- */

CASE_WITH(full_device, enter, leave)
{
    fm_error error;
    fm_output *output = opened("/dev/full");
    fputs("text", fm_output_stream(output));
    assert_int_equal(fm_output_commit(output, &error), FM_E_IO);
    assert_string_equal(error.path, "/dev/full");
    assert_string_equal(error.reason, "cannot write: No space left on device");
    /* The reason of a write that failed long ago is still known. */
    output = opened("/dev/full");
    fputs("text", fm_output_stream(output));
    assert_int_not_equal(fflush(fm_output_stream(output)), 0);
    errno = 0;
    assert_int_equal(fm_output_commit(output, &error), FM_E_IO);
    assert_string_equal(error.reason, "cannot write: No space left on device");
    static const char zeros[1 << 20];
    output = opened("/dev/full");
    assert_int_equal(fm_output_write(output, zeros, sizeof zeros, &error), FM_E_IO);
    assert_string_equal(error.reason, "cannot write: No space left on device");
    fm_output_abandon(output);
    assert_refused("/dev/no-such-device", "/dev/no-such-device: cannot open: No such file or directory");
}

CASE_WITH(pipe_keeps_its_name, enter, leave)
{
    assert_int_equal(mkfifo("fifo", 0666), 0);
    int end = open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(end >= 0);
    fm_output *output = opened("fifo");
    fputs("whole", fm_output_stream(output));
    commit(output);
    char text[20] = "";
    assert_int_equal(read(end, text, sizeof text), 5);
    assert_string_equal(text, "whole");
    output = opened("fifo");
    fputs("in the buffer", fm_output_stream(output));
    fm_output_abandon(output);
    assert_int_equal(read(end, text, sizeof text), 0);
    close(end);
    assert_int_equal(names_here(), 1);
}

/* Runs act with standard output in the file "caught". */
static void with_caught_output(void (*act)(void))
{
    fflush(stdout);
    int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    int caught = open("caught", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(kept >= 0 && caught >= 0);
    assert_true(dup2(caught, STDOUT_FILENO) >= 0);
    close(caught);
    act();
    fflush(stdout);
    assert_true(dup2(kept, STDOUT_FILENO) >= 0);
    close(kept);
}

static const char *caught_name;
static fm_status caught_status;

static void say_hello(void)
{
    fm_output *output;
    caught_status = fm_output_open(&output, caught_name, NULL);
    if (caught_status) return;
    fputs("hello", fm_output_stream(output));
    caught_status = fm_output_commit(output, NULL);
}

CASE_WITH(standard_output, enter, leave)
{
    /* A link to a door is a door as well: the file behind it is written, not replaced. */
    assert_int_equal(symlink("/dev/stdout", "link"), 0);
    const char *const names[] = {"-", "/dev/stdout", "/proc/self/fd/1", "link"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct stat first, second;
        put("caught", "");
        assert_int_equal(stat("caught", &first), 0);
        caught_name = names[i];
        with_caught_output(say_hello);
        assert_int_equal(caught_status, FM_OK);
        assert_content("caught", "hello");
        assert_int_equal(stat("caught", &second), 0);
        assert_int_equal(first.st_ino, second.st_ino);
    }
    fm_output *output = opened("-");
    assert_ptr_equal(fm_output_stream(output), stdout);
    assert_string_equal(fm_output_name(output), "standard output");
    fm_output_abandon(output);
    assert_true(fcntl(STDOUT_FILENO, F_GETFD) != -1);
    assert_int_equal(names_here(), 2);
}

/* ---- killed ---- */

static void kill_in_the_middle(const char *path)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fm_output *output;
        if (fm_output_open(&output, path, NULL)) _exit(1);
        static const char zeros[100000];
        if (fm_output_write(output, zeros, sizeof zeros, NULL)) _exit(1);
        if (write(ready[1], "!", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    char sign;
    assert_int_equal(read(ready[0], &sign, 1), 1);
    close(ready[0]);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

CASE_WITH(killed_leaves_nothing, enter, leave)
{
    int probe = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (probe < 0) {
        print_message("SKIP: no O_TMPFILE in /tmp: %s\n", strerror(errno));
        skip();
    }
    close(probe);
    kill_in_the_middle("new");
    assert_int_equal(names_here(), 0);
    put("old", "old content");
    kill_in_the_middle("old");
    assert_content("old", "old content");
    assert_int_equal(names_here(), 1);
}

/* ---- without O_TMPFILE ---- */

static int enter_old_file_system(void **state)
{
    refuse_unnamed = EOPNOTSUPP;
    return enter(state);
}

CASE_WITH(every_way_to_refuse, enter_old_file_system, leave)
{
    const int ways[] = {EOPNOTSUPP, EISDIR, ENOENT, EINVAL};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        refuse_unnamed = ways[i];
        appears_at_commit(state);
        assert_int_equal(unlink("new"), 0);
    }
    refuse_unnamed = ENOSPC;
    assert_refused("new", "new: cannot create: No space left on device");
}

CASE_AGAIN("named: appears_at_commit", appears_at_commit, enter_old_file_system, leave);
CASE_AGAIN("named: abandon_leaves_nothing", abandon_leaves_nothing, enter_old_file_system, leave);
CASE_AGAIN("named: longest_name", longest_name, enter_old_file_system, leave);
CASE_AGAIN("named: working_directory_changes", working_directory_changes, enter_old_file_system, leave);
CASE_AGAIN("named: replaced_only_at_commit", replaced_only_at_commit, enter_old_file_system, leave);
CASE_AGAIN("named: appeared_meanwhile", appeared_meanwhile, enter_old_file_system, leave);
CASE_AGAIN("named: directory_appeared_meanwhile", directory_appeared_meanwhile, enter_old_file_system, leave);
CASE_AGAIN("named: links_are_kept", links_are_kept, enter_old_file_system, leave);
CASE_AGAIN("named: other_names_are_kept", other_names_are_kept, enter_old_file_system, leave);
CASE_AGAIN("named: owners_are_kept", owners_are_kept, enter_old_file_system, leave);
CASE_AGAIN("named: names_that_cannot_be", names_that_cannot_be, enter_old_file_system, leave);

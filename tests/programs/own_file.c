/* SPDX-License-Identifier: Apache-2.0 */
/*
 * a program that executes its own file, by a name that only it has. argv[1] says which; SELF is its path.
 * Touches 100 blocks three times, then as the new program 50 blocks twice. That one prints what it finds.
 *     self, pid, thread, task    /proc/self/exe and other names of the same
 *     open, place                fexecve of /proc/self/exe, opened to be read, or with O_PATH
 *     descriptor                 /proc/self/fd/N, closed by exec
 *     memory                     fexecve of a copy in a memfd, closed by exec
 *     beside                     its name in its directory, without a slash
 */
#define _GNU_SOURCE
#include "touch.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char data[100 * BLOCK] __attribute__((aligned(BLOCK)));

static int copy_in_memory(void)
{
    static char bytes[1 << 16];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = memfd_create("copy", MFD_CLOEXEC);
    for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0;)
        if (write(to, bytes, (size_t)got) != got) return -1;
    return to;
}

static int child(char **argv)
{
    char file[4096] = "";
    struct stat exe = {0}, self = {0};
    if (readlink("/proc/self/exe", file, sizeof file - 1) < 0) return 90;
    if (stat("/proc/self/exe", &exe) != 0) return 91;
    (void)stat(getenv("SELF"), &self);
    int open_files = 0;
    for (int i = 3; i < 900; i++) open_files += fcntl(i, F_GETFD) >= 0;
    printf("%s %s %s: %s, size %s, %s, %d files\n", argv[0], argv[1], argv[2],
           strcmp(file, getenv("SELF")) == 0 ? "SELF"
           : strstr(file, "memfd:copy")      ? "memfd"
                                             : file,
           exe.st_size == self.st_size ? "right" : "wrong",
           access("/proc/self/exe", X_OK) == 0 ? "executable" : "not executable", open_files);
    touch(data, 50, 2);
    return 7;
}

int main(int argc, char **argv)
{
    char *arguments[] = {(char *)"another name", (char *)"child", argc > 1 ? argv[1] : NULL, NULL};
    const char *how = arguments[2];
    char path[64];
    if (!how) return 96;
    if (strcmp(how, "child") == 0) return child(argv);
    touch(data, 100, 3);
    if (strcmp(how, "self") == 0) execv("/proc/self/exe", arguments);
    if (strcmp(how, "thread") == 0) execv("/proc/thread-self/exe", arguments);
    snprintf(path, sizeof path, "/proc/%d/exe", getpid());
    if (strcmp(how, "pid") == 0) execv(path, arguments);
    snprintf(path, sizeof path, "/proc/self/task/%d/exe", getpid());
    if (strcmp(how, "task") == 0) execv(path, arguments);
    if (strcmp(how, "open") == 0) fexecve(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), arguments, environ);
    if (strcmp(how, "place") == 0) fexecve(open("/proc/self/exe", O_PATH | O_CLOEXEC), arguments, environ);
    snprintf(path, sizeof path, "/proc/self/fd/%d", open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    if (strcmp(how, "descriptor") == 0) execv(path, arguments);
    if (strcmp(how, "memory") == 0) fexecve(copy_in_memory(), arguments, environ);
    char *slash = strrchr(getenv("SELF"), '/');
    *slash = 0;
    if (strcmp(how, "beside") == 0 && chdir(getenv("SELF")) == 0) {
        *slash = '/';
        execv(slash + 1, arguments);
    }
    perror(how);
    return 97;
}

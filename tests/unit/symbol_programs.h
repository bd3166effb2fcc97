/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_programs.h - small programs in C, C++ and Fortran that tests of symbols compile, and a temporary
 * directory to do it in. For cmocka programs; each includes it once.
 */
#ifndef FATHOM_TESTS_SYMBOL_PROGRAMS_H
#define FATHOM_TESTS_SYMBOL_PROGRAMS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char symbol_directory[] = "/tmp/fathom-symbols-XXXXXX";

static const char c_program[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "int table[100];\n"
    "static double weights[50] = {1};\n"
    "static inline int square(int x) { return x * x + table[x & 7]; }\n"
    "static inline int cube(int x)\n"
    "{\n"
    "    return square(x) * x\n"
    "           + (int)weights[x % 50];\n"
    "}\n"
    "__attribute__((noinline, cold)) void complain(const char *what) { fprintf(stderr, \"%s\\n\", what); }\n"
    "__attribute__((noinline)) int count(int n)\n"
    "{\n"
    "    static int calls[9];\n"
    "    if (n > 1000) {\n"
    "        complain(\"large\");\n"
    "        exit(1);\n"
    "    }\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        calls[i % 9]++;\n"
    "        table[i % 100] += cube(i);\n"
    "        weights[i % 50] += square(i);\n"
    "    }\n"
    "    return calls[n % 9];\n"
    "}\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    (void)argv;\n"
    "    printf(\"%d %d\\n\", count(argc * 30), cube(argc));\n"
    "    return 0;\n"
    "}\n";

static const char cxx_program[] =
    "#include <cstdio>\n"
    "#include <map>\n"
    "#include <vector>\n"
    "namespace geo {\n"
    "template <typename T> struct Box {\n"
    "    std::vector<T> held;\n"
    "    static int made[4];\n"
    "    Box() { made[1]++; }\n"
    "    void add(T x) { held.push_back(x); }\n"
    "    __attribute__((noinline)) T sum(int from) const\n"
    "    {\n"
    "        T s = 0;\n"
    "        for (std::size_t i = from; i < held.size(); i++) s += held[i];\n"
    "        return s;\n"
    "    }\n"
    "};\n"
    "template <typename T> int Box<T>::made[4];\n"
    "int &operator<<(int &to, const Box<int> &box) { return to += box.sum(1); }\n"
    "}\n"
    "namespace {\n"
    "int hidden_table[60];\n"
    "__attribute__((noinline)) int hidden(int x)\n"
    "{\n"
    "    static int seen[12];\n"
    "    return seen[x % 12]++ + hidden_table[x % 60]++;\n"
    "}\n"
    "}\n"
    "struct Shape {\n"
    "    virtual ~Shape() {}\n"
    "    virtual int area(int) = 0;\n"
    "};\n"
    "struct Square : Shape {\n"
    "    std::map<int, int> known;\n"
    "    int area(int x) override { return known[x] += x * x; }\n"
    "};\n"
    "__attribute__((noinline)) int work(int n)\n"
    "{\n"
    "    geo::Box<double> real;\n"
    "    geo::Box<int> whole;\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        real.add(i * 0.5);\n"
    "        whole.add(i);\n"
    "    }\n"
    "    Square square;\n"
    "    Shape *shape = &square;\n"
    "    int result = 0;\n"
    "    for (int i = 0; i < n; i++) result += shape->area(i) + hidden(i);\n"
    "    result << whole;\n"
    "    return result + (int)real.sum(0);\n"
    "}\n"
    "int main(int argc, char **) { std::printf(\"%d\\n\", work(argc * 10)); }\n";

static const char fortran_program[] =
    "module solver\n"
    "  implicit none\n"
    "  real(8) :: grid(100,100)\n"
    "  real(8), save :: total = 0\n"
    "contains\n"
    "  subroutine step(n)\n"
    "    integer, intent(in) :: n\n"
    "    integer :: i, j\n"
    "    do j = 2, n-1\n"
    "      do i = 2, n-1\n"
    "        grid(i,j) = 0.25d0*(grid(i-1,j)+grid(i+1,j)+grid(i,j-1)+grid(i,j+1)) + part(i)\n"
    "      end do\n"
    "    end do\n"
    "    total = total + sum(grid)\n"
    "  end subroutine step\n"
    "  pure real(8) function part(i)\n"
    "    integer, intent(in) :: i\n"
    "    part = 1.0d0 / i\n"
    "  end function part\n"
    "end module solver\n"
    "subroutine weigh(x, n, s)\n"
    "  integer :: n, i\n"
    "  real(8) :: x(n), s\n"
    "  common /shared/ w(10)\n"
    "  real(8) :: w\n"
    "  s = 0\n"
    "  do i = 1, n\n"
    "    s = s + x(i) * w(mod(i,10)+1)\n"
    "  end do\n"
    "end subroutine\n"
    "program heat\n"
    "  use solver\n"
    "  real(8) :: s\n"
    "  common /shared/ w(10)\n"
    "  real(8) :: w\n"
    "  w = 2\n"
    "  grid = 1\n"
    "  call step(100)\n"
    "  call weigh(grid, 10000, s)\n"
    "  print *, total, s\n"
    "end program heat\n";

/* Runs a shell command in the directory; true: it succeeded. */
static bool shell(const char *format, ...) __attribute__((format(printf, 1, 2), unused));
static bool shell(const char *format, ...)
{
    char command[2048];
    int length = snprintf(command, sizeof command, "cd %s && exec 2>/dev/null && ", symbol_directory);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command + length, sizeof command - (size_t)length, format, arguments);
    va_end(arguments);
    return system(command) == 0; /* NOLINT(bugprone-command-processor): fixed words */
}

static const char *in_symbol_directory(const char *name) __attribute__((unused));
static const char *in_symbol_directory(const char *name)
{
    static char paths[8][256];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", symbol_directory, name);
    return path;
}

static int write_program(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", symbol_directory, name);
    FILE *file = fopen(path, "w");
    if (!file) return -1;
    bool failed = fputs(text, file) < 0;
    return fclose(file) != 0 || failed ? -1 : 0;
}

static int make_symbol_directory(void **state)
{
    (void)state;
    if (!mkdtemp(symbol_directory)) return -1;
    return write_program("c.c", c_program) || write_program("x.cc", cxx_program) ||
                   write_program("f.f90", fortran_program)
               ? -1
               : 0;
}

static int remove_symbol_directory(void **state)
{
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", symbol_directory);
    return system(command); /* NOLINT(bugprone-command-processor): fixed words */
}

#endif

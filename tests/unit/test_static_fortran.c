/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_static_fortran.c - what the reader of Fortran refuses, with its line, and what it makes of small
 * programs: counts of operations, parameters, notes. Kernels are compared in tests/static.
 */
#define _GNU_SOURCE
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "static/front/front.h"
#include "static/region/region.h"
#include "unit/temporary_folder.h"

/* The region's text of a source in free or fixed form, or NULL and the error. */
static char *read_source(const char *source, bool fixed, const fm_region_options *given, fm_error *error)
{
    char path[64], *text;
    size_t size;
    const char *flags[] = {fixed ? "-ffixed-form" : "-ffree-form", NULL};
    fm_region_options options = given ? *given : (fm_region_options){0};
    int file = memfd_create("source", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(write(file, source, strlen(source)), (ssize_t)strlen(source));
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (!options.flags) options.flags = flags;
    memset(error, 0, sizeof *error);
    fm_status status = fm_front_fortran(path, &options, &text, &size, error);
    close(file);
    assert_int_equal(status, error->status);
    if (status != FM_OK) {
        assert_null(text);
        return NULL;
    }
    assert_int_equal(strlen(text), size);
    /* Whatever comes out must be a region. */
    fm_region *region;
    fm_error wrong;
    if (fm_region_parse(&region, text, size, "text", &wrong) != FM_OK) fail_msg("%s\n%s", wrong.reason, text);
    fm_region_destroy(region);
    return text;
}

typedef struct refusal {
    const char *source;
    unsigned line; /* 0: none */
    const char *reason;
} refusal;

static void refused(const refusal *table, size_t count, bool fixed)
{
    for (size_t i = 0; i < count; i++) {
        fm_error error;
        char *text = read_source(table[i].source, fixed, NULL, &error);
        if (text) fail_msg("accepted:\n%s\n%s", table[i].source, text);
        if (!strstr(error.reason, table[i].reason) || error.offset != table[i].line ||
            (error.place == FM_PLACE_LINE) != (table[i].line > 0))
            fail_msg("line %u: %s\nwanted: line %u: %s", (unsigned)error.offset, error.reason, table[i].line,
                     table[i].reason);
    }
}

#define SUB                                                                                                  \
    "subroutine s(n, m, a, b, x, idx)\ninteger :: n, m, idx(n)\nreal(8) :: a(n, n), b(n, m), x(n)\ninteger " \
    ":: i, j, k\nreal(8) :: t\n"
#define GRID "module g\ntype grid\ninteger :: nx\nend type\ntype(grid) :: w\ncontains\n"
#define LOOP SUB "do i = 1, n\n"
#define END "end do\nend subroutine\n"

CASE(what_is_not_affine_is_refused_with_its_line)
{
    static const refusal table[] = {
        {LOOP "x(idx(i)) = 0\n" END, 7, "'idx(i)' is not affine: its value comes out of an array"},
        {LOOP "do j = 1, n\nx(i * j) = 0\nend do\n" END, 8, "not affine: the product of 'i' and 'j'"},
        {LOOP "x(n / i) = 0\n" END, 7, "a division by something that changes in a loop"},
        {LOOP "x(int(t)) = 0\n" END, 7, "'t' is not affine: it is not a whole number"},
        {LOOP "if (x(i) > 0) x(i) = 0\n" END, 7, "the condition 'x(i) > 0' depends on data"},
        {LOOP "if (t > x(i) .and. i > 2) x(i) = 0\n" END, 7, "depends on data"},
        {LOOP "k = k + i\nx(k) = 0\n" END, 8, "'k' is not affine: what it gets in line 7"},
        {LOOP "if (x(1) == 2) then\n x(i) = 1\nend if\n" END, 7, "depends on data"},
        {SUB "k = int(x(1))\ndo i = 1, k\nx(i) = 0\n" END, 7, "what it gets in line 6"},
        {SUB "do i = 1, n\nk = i\nend do\nx(k) = 0\nend\n", 9,
         "it is assigned in the loop or branch of line 6"},
        {SUB "do i = 1, n\nx(i) = 0\nend do\nx(i) = 0\nend\n", 9,
         "the variable of the loop in line 6, which is over"},
        {SUB "do i = 1, n, m\nx(i) = 0\n" END, 6, "the step of a loop must be a number"},
        {SUB "do i = 1, n, 0\nx(i) = 0\n" END, 6, "the step of a loop is 0"},
        {SUB "do t = 1, 10\nx(1) = 0\n" END, 6, "a loop over 't', which is no whole number"},
        {LOOP "i = 3\n" END, 7, "'i' is the variable of a loop around this statement"},
        {LOOP "do i = 1, 3\nx(i) = 0\nend do\n" END, 7, "'i' is the variable of a loop around this one"},
        {LOOP "x(idx) = 0\n" END, 7, "a subscript that is a vector is not affine"},
        {LOOP "x(2 ** i) = 0\n" END, 7, "a power whose exponent"},
        {LOOP "x(9223372036854775807 * i + i) = 0\n" END, 7, "does not fit 64 bits"},
        {LOOP "x(i, 1) = 0\n" END, 7, "'x' has 1 dimensions, but 2 subscripts here"},
    };
    refused(table, sizeof table / sizeof *table, false);
}

CASE(constructs_that_are_not_followed_are_refused)
{
    static const refusal table[] = {
        {LOOP "goto 10\n10 continue\n" END, 7, "go to is not followed"},
        {LOOP "if (i - 3) 10, 20, 10\n10 continue\n20 continue\n" END, 7, "an arithmetic if"},
        {LOOP "print *, i\n" END, 7, "input and output"},
        {LOOP "write (*, *) x(i)\n" END, 7, "input and output"},
        {LOOP "call other(x)\n" END, 7, "a call of 'other', which is not in this file"},
        {LOOP "x(i) = other(x(i))\n" END, 7, "a call of 'other', which is not in this file"},
        {SUB "do while (t > 0)\nx(1) = t\n" END, 6, "do while: how often it runs depends on data"},
        {SUB "do\nx(1) = t\n" END, 6, "do without bounds"},
        {LOOP "return\n" END, 7, "return inside a loop"},
        {"subroutine s(x, n)\nreal :: x(n)\nl: do i = 1, n\ndo j = 1, n\nif (j > i) cycle l\nx(j) = 0\nend "
         "do\nend do l\nend\n",
         5, "cycle of a loop that is not the innermost one"},
        {LOOP "if (i == 5) exit\nx(i) = 0\n" END, 7, "exit: its condition"},
        {LOOP "if (i < 5) exit\nx(i) = 0\n" END, 7, "exit: its condition"},
        {LOOP "if (x(i) < 5) exit\nx(i) = 0\n" END, 7, "depends on data"},
        {LOOP "if (i > 3) then\nx(i) = 1\nexit\nend if\n" END, 9, "exit is followed only as"},
        {LOOP "where (x > 0) x = 1\n" END, 7, "where: which elements"},
        {LOOP "where (x > 0)\nx = 1\nelsewhere\nx = 2\nend where\n" END, 7, "where: which elements"},
        {LOOP "select case (i)\ncase (1)\nx(i) = 0\ncase default\nx(i) = 1\nend select\n" END, 7,
         "select is not followed"},
        {LOOP "associate (y => x)\ny(i) = 0\nend associate\n" END, 7, "associate is not followed"},
        {LOOP "x(1:3) = (/ 1, 2, 3 /)\n" END, 7, "an array constructor"},
        {LOOP "x(2:n) = x(1:n-1)\n" END, 7, "'x(1:n-1)' may overlap what is assigned"},
        {LOOP "a = transpose(a)\n" END, 7, "may overlap"},
        {LOOP "x = x * sum(x)\n" END, 7, "'sum' inside an assignment of arrays"},
        {LOOP "x = matmul(a, x)\n" END, 7, "matmul of what is assigned"},
        {LOOP "a = a + matmul(a, a)\n" END, 7, "matmul is followed only where it is the whole right side"},
        {LOOP "t = x\n" END, 7, "a whole array where one element is needed"},
        {LOOP "x = b\n" END, 7, "arrays of 1 and 2 dimensions in one statement"},
        {LOOP "x(1:3) = x(1:4) + 1\n" END, 7, "different extents in dimension 1"},
        {LOOP "a(1:3, 1) = b(1:4, 1)\n" END, 7, "different extents in dimension 1"},
        {"subroutine s(x, n)\nreal, pointer :: x(:)\ndo i = 1, n\nx(i) = 0\n" END, 4, "'x' is a pointer"},
        {"subroutine s(x, n)\nreal :: x(n), y(5), z(5)\nequivalence (y, z)\ndo i = 1, n\nx(i) = y(1)\n" END,
         5, "in an equivalence"},
        {"subroutine s(x, n)\nreal :: x(n)\nf(y) = y * y\ndo i = 1, n\nx(i) = f(x(i))\n" END, 5,
         "'f' is a statement function (line 3)"},
        {"subroutine s(x, n)\nuse other\nreal(wp) :: x(n)\ndo i = 1, n\nx(i) = 0\n" END, 3,
         "module 'other' is not in this file"},
        {"subroutine s(x, n)\nimplicit none\nreal :: x(10)\ninteger :: n\ndo i = 1, n\nx(i) = 0\n" END, 5,
         "'i' is not declared in this file"},
        {"subroutine s(x, n)\ncharacter(4) :: x(n)\ndo i = 1, n\nx(i)(1:2) = 'a'\n" END, 4, "a substring"},
        {"recursive subroutine s(x, n)\nreal :: x(n)\ndo i = 1, n\ncall s(x, n)\n" END, 4, "recursion"},
        {"subroutine s(x, n)\nreal :: x(n)\ndo i = 1, n\ncall t(x)\nend do\ncontains\nsubroutine t(y)\nreal "
         ":: y(3, *)\ny(1, 2) = 0\nend subroutine\nend\n",
         4, "it has more dimensions there"},
        {"subroutine s(x, n)\nreal :: x(n, n)\ndo i = 1, n\ncall t(x)\nend do\ncontains\nsubroutine "
         "t(y)\nreal :: y(3, *)\ny(1, 2) = 0\nend subroutine\nend\n",
         4, "dimension 1 has extent '3' there and 'n' here"},
        {"subroutine s(x, n)\nreal :: x(n)\ndo i = 1, n\ncall t(x)\nend do\ncontains\nsubroutine "
         "t(y)\nreal(8) :: y(*)\ny(1) = 0\nend subroutine\nend\n",
         4, "the elements of 'y' have another size"},
        {"subroutine s(x, n)\nreal :: x(n)\ndo i = 1, n\ncall t(x(1:n:2))\nend do\ncontains\nsubroutine "
         "t(y)\nreal :: y(*)\ny(1) = 0\nend subroutine\nend\n",
         4, "not contiguous"},
        {"subroutine s(x, n)\nclass(*) :: x(n)\ndo i = 1, n\nx(i) = 0\n" END, 4, "polymorphic"},
        {"subroutine s(x, n)\nenum, bind(c)\nenumerator :: red = 1\nend enum\nreal :: x(n)\ndo i = 1, "
         "n\nx(i) = 0\n" END,
         2, "an enumeration"},
    };
    refused(table, sizeof table / sizeof *table, false);
}

CASE(faults_of_the_source_are_named)
{
    static const refusal table[] = {
        {"", 0, "there is no statement in it"},
        {"! only a comment\n", 0, "there is no statement in it"},
        {LOOP "x(i) = 0\nend subroutine\n", 8, "expected 'end do' for the one that begins in line 6"},
        {LOOP "x(i) = 0\n", 6, "expected 'end do'"},
        {SUB "if (n > 1) then\nx(1) = 0\nend do\nend\n", 8,
         "expected 'end if' for the one that begins in line 6"},
        {SUB "x(1) = 0\nend do\nend\n", 7, "ends something that was not begun"},
        {LOOP "x(i) = = 3\n" END, 7, "expected an operand, found '='"},
        {LOOP "x(i = 3\n" END, 7, "expected a statement, found 'x'"},
        {LOOP "x(i) = 'abc\n" END, 7, "expected an operand"},
        {LOOP "x(i) = 3 +\n" END, 7, "expected an operand, found the end of the statement"},
        {LOOP "nonsense here\n" END, 7, "expected a statement, found 'nonsense'"},
        {"#ifdef X\nsubroutine s\nend\n#endif\n", 1, "a directive of the preprocessor"},
        {"include 'not-there.inc'\nend\n", 1, "include"},
        {"subroutine s(x, n)\nreal :: x(n)\ncall t\nend\nsubroutine t\ncall u\nend\nsubroutine u\nend "
         "subroutine v\n",
         0, "no procedure with a loop"},
        {"subroutine s(x, n)\nreal :: x(n)\ndo i = 1, n\nx(i) = 0\nend do\nend\nsubroutine t(x, n)\nreal :: "
         "x(n)\ndo i = 1, n\nx(i) = 0\nend do\nend\n",
         0, "several procedures with loops: s (line 1), t (line 7); name one"},
        {SUB "!$fathom begin\nx(1) = 0\nend\n", 6, "does not end in the same block"},
        {SUB "!$scop\ndo i = 1, n\n!$endscop\nx(1) = 0\nend do\nend\n", 8,
         "does not begin in the same block"},
        {SUB "!$scop\nx(1) = 0\n!$endscop\n!$scop\nx(1) = 0\n!$endscop\nend\n", 0,
         "several regions: s (line 6), s (line 9)"},
        {"subroutine s(x, n)\ninteger, parameter :: n2 = n2 + 1\nreal :: x(n2)\ndo i = 1, n\nx(i) = 0\n" END,
         2, "'n2' depends on itself"},
        {"subroutine s(x, n)\nreal :: x(*, n)\ndo i = 1, n\nx(i, 1) = 0\n" END, 2,
         "only the last dimension may be '*'"},
        {"subroutine s(x, n)\nreal(3) :: x(n)\ndo i = 1, n\nx(i) = 0\n" END, 4, "there is no kind 3"},
        {"subroutine s(x, n)\nreal, dimnsion(4) :: x\ndo i = 1, n\nx(i) = 0\n" END, 2,
         "expected an attribute, found 'dimnsion'"},
    };
    refused(table, sizeof table / sizeof *table, false);
    static const refusal fixed[] = {
        {"     & x = 3\n", 1, "a line of continuation, but no statement before it"},
        {"subroutine s\n", 1, "column 1: 's' is no digit of a label"},
        {"      SUBROUTINE S(X, N)\n      REAL X(N)\n      DO 10 I = 1, N\n      X(I) = 0\n      END\n", 3,
         "the loop's end, label 10, is not there"},
        {"      SUBROUTINE S(X, N)\n      REAL X(N)\n      DO 10 I = 1, N\n      GO TO 10\n   10 X(I) = 0\n  "
         "    END\n",
         4, "go to is not followed"},
    };
    refused(fixed, sizeof fixed / sizeof *fixed, true);
}

/* ---- what is understood ---- */

static void has(const char *source, bool fixed, const fm_region_options *options, const char *const *pieces)
{
    fm_error error;
    char *text = read_source(source, fixed, options, &error);
    if (!text) fail_msg("line %u: %s\n%s", (unsigned)error.offset, error.reason, source);
    for (; *pieces; pieces++)
        if (**pieces == '!' ? strstr(text, *pieces + 1) != NULL : !strstr(text, *pieces))
            fail_msg("%s\n%s", *pieces, text);
    free(text);
}
#define HAS(source, fixed, ...) has(source, fixed, NULL, (const char *const[]){__VA_ARGS__, NULL})

CASE(operations_are_counted_by_kind)
{
    HAS(LOOP "x(i) = x(i) ** 2 + 3 * t / x(1) - 4\n" END, false, "do adds 2 multiplies 2 divides 1 @");
    HAS(LOOP "x(i) = sqrt(t) * exp(-x(i)) + 2.0 * 3.0\n" END, false, "do adds 2 multiplies 1 specials 2 @");
    HAS(LOOP "x(i) = merge(1.0d0, x(i), x(i) < t)\n" END, false, "do adds 1 @");
    HAS(LOOP "idx(i) = idx(i) * 2 + mod(idx(i), 3)\n" END, false, "do integers 3 @");
    HAS(LOOP "x(i) = max(x(i), t, 1.0d0) + abs(t)\n" END, false, "do adds 4 @");
    HAS(LOOP "x(2 * i + 1) = dble(i)\n" END, false, "do @", "store x[2 * i + 1]");
    HAS("subroutine s(z, n)\ncomplex :: z(n), w\ndo i = 1, n\nz(i) = z(i) * w + 2.0 * z(i)\n" END, false,
        "do adds 4 multiplies 6 @", "array z[n] of 8");
    HAS(LOOP "x(i) = x(i) ** 1.5d0 + x(i) ** n\n" END, false, "do adds 1 specials 2 @");
}

CASE(values_of_scalars_are_followed)
{
    HAS(SUB "k = n - 1\nj = 2 * k\ndo i = 1, k\nx(i) = j\n" END, false, "for i = 1 to n - 1 ", "!param k");
    HAS(SUB "if (m > 3) then\nk = 1\nelse\nx(k) = 0\nend if\nend\n", false, "param k", "store x[k]");
    HAS(SUB "k = 5\nif (m > 3) then\nx(k) = 0\nk = 1\nelse\nx(k) = 0\nend if\nend\n", false, "!store x[1]",
        "store x[5]");
    HAS("subroutine s(x)\ninteger, parameter :: n = 10, m = 2 * n\nreal :: x(m)\ndo i = 1, m, 2\nx(i) = "
        "0\n" END,
        false, "param n = 10", "array x[2 * n] of 4", "for i = 1 to 2 * n step 2");
    HAS("subroutine s(x)\ninteger, parameter :: n = 10\nreal :: x(100)\ndo i = 1, 100, n\nx(i) = 0\n" END,
        false, "step 10", "!param n");
    HAS("subroutine s(x)\ninteger, parameter :: n = 10\nreal :: x(n)\ndo i = 1, n, n\nx(i) = 0\n" END, false,
        "step 10", "param n = 10", "assume n == 10");
    /* A loop's variable inside a call is not the caller's. */
    has("subroutine s(x, n)\nreal :: x(n, n)\ndo i = 1, n\ncall t(x(1, i), i)\nend do\ncontains\nsubroutine "
        "t(y, k)\nreal :: y(*)\nlogical :: l\ninteger :: i, k\n"
        "do i = 1, k\ny(i) = 0\nend do\nend subroutine\nend\n",
        false, &(fm_region_options){.function = "s"},
        (const char *const[]){"for i.2 = 1 to i ", "store x[i.2][i]", NULL});
    /* Words of the text form can be names. */
    HAS("subroutine s(load, to)\ninteger :: to\nreal :: load(to)\ndo if = 1, to\nload(if) = 0\n" END, false,
        "param to$", "array load$[to$]", "for if$ = 1");
}

/* Components of a variable that a called procedure changes are not what they were in the next iteration. */
CASE(components_are_forgotten)
{
    static const refusal table[] = {
        {GRID "subroutine s(x, n)\nreal :: x(n)\ndo i = 1, n\nx(w%nx) = 0\ncall grow\nend "
              "do\nend\nsubroutine grow\nw%nx = w%nx + 1\nend\nend\n",
         10, "'w%nx' is not affine: it is assigned in the loop or branch of line 9"},
        {GRID "subroutine s(x, n)\nreal :: x(n)\ndo i = 1, n\nx(w%nx) = 0\ncall grow(w)\nend "
              "do\nend\nsubroutine grow(v)\ntype(grid) :: v\nv%nx = v%nx + 1\nend\nend\n",
         10, "'w%nx' is not affine: it is assigned in the loop or branch of line 9"},
        {GRID "subroutine s(x, n)\nreal :: x(n)\ntype(grid) :: v\ndo i = 1, n\nx(v%nx) = 0\nv = w\nend "
              "do\nend\nend\n",
         11, "'v%nx' is not affine: it is assigned in the loop or branch of line 10"},
    };
    refused(table, sizeof table / sizeof *table, false);
    static const refusal whole = {
        GRID
        "subroutine s(x, n)\nreal :: x(n)\ntype(grid) :: v\nv = w\ndo i = 1, n\nx(i) = 0\nend do\nend\nend\n",
        10, "a whole derived type"};
    refused(&whole, 1, false);
    HAS(GRID
        "subroutine s(x, n)\nreal :: x(n)\nw%nx = 3\ndo i = 1, w%nx\nx(i + w%nx) = 0\nend do\nend\nend\n",
        false, "for i = 1 to 3", "store x[i + 3]");
    /* An array of a procedure is the same at every call. */
    has("subroutine s(x, n)\nreal :: x(n)\ncall t(x, n)\ncall t(x, n)\nend\nsubroutine t(x, k)\nreal :: "
        "x(*), y(k)\ndo i = 1, k\ny(i) = x(i)\nend do\nend\n",
        false, &(fm_region_options){.function = "s"}, (const char *const[]){"array y[n]", "!y.2", NULL});
}

CASE(shapes_are_understood)
{
    HAS("subroutine s(x, n)\nreal :: x(:, :)\ndo i = 1, n\nx(i, 2) = 0\n" END, false, "param x.size1",
        "!param x.size2", "array x[x.size1][] of 4",
        "note \"the array 'x' of unknown shape is taken as contiguous");
    HAS("subroutine s(x)\nreal :: x(:, 0:)\nx = 1\nend\n", false, "param x.size1", "param x.size2",
        "low 1 0");
    HAS("subroutine s(x, lda, n)\nreal*8 x(lda, *)\ndo i = 1, n\nx(1, i) = 0\n" END, false,
        "array x[lda][] of 8 column-major low 1 1");
    HAS("subroutine s(g, n)\ntype grid\ninteger :: nx\nreal, allocatable :: u(:, :)\nend type\ntype(grid) :: "
        "g\ndo i = 1, g%nx\ng%u(i, n) = 0\n" END,
        false, "for i = 1 to g.nx", "store g.u[i][n]", "array g.u[g.u.size1][] of 4");
    HAS("module c\nreal :: x(5)\nend module\nsubroutine s(n)\nuse c, y => x\ndo i = 1, n\ny(i) = 0\n" END,
        false, "store x[i]", "array x[5] of 4");
    HAS("subroutine s(n)\ncommon /blk/ x(10), y(10)\ndo i = 1, n\nx(i) = y(i)\ncall t\nend "
        "do\nend\nsubroutine t\ncommon /blk/ x(10), y(10)\nx(1) = 0\nend\n",
        false, "array x[10]", "!x.2", "store x[1]");
    HAS("      SUBROUTINE S(X,N)\n      IMPLICIT REAL*8(A-H,O-Z)\n      DIMENSION X(N)\n      DO10I=1,N\n    "
        "  X(I)=X(I)*2.\n     X     D0\n10    CONTINUE\n      END\n",
        true, "for i = 1 to n", "array x[n] of 8", "do multiplies 1 @1:5:7");
    HAS("      SUBROUTINE S(X,N)\n      REAL*8 D0,X(N)\n      DO I=1,N ! all\n      X(I)=D0 ; X(1)=0\n      "
        "END DO\n      END\n",
        true, "array x[n] of 8", "@1:4:17");
}

CASE(options_are_kept)
{
    fm_error error;
    const char *const assumptions[] = {"if at 7 holds", NULL}, *const unused[] = {"if at 70 holds", NULL},
                      *const wrong[] = {"it rains", NULL};
    const char *const runs[] = {"loop at 6 runs steps times", NULL}, *const both[] = {"if at 7 both", NULL};
    const char *const flags[] = {"-fdefault-real-8", "-fdefault-integer-8", "-O2", NULL}, *const strange[] = {
                                                                                              "-fstrange",
                                                                                              NULL};
    fm_region_options options = {.assumptions = assumptions};
    const char *if_source = LOOP "if (x(i) > t) x(1) = 0\n" END,
               *while_source = SUB "do while (x(1) > t)\nx(1) = 0\n" END;
    has(if_source, false, &options,
        (const char *const[]){"do adds 1 @1:7", "load x[i]", "store x[1]", "note \"assumed: if at 7 holds\"",
                              NULL});
    options.assumptions = both;
    has(LOOP "if (x(i) > t) then\nx(1) = 0\nelse\nx(2) = 0\nend if\n" END, false, &options,
        (const char *const[]){"store x[1]", "store x[2]", NULL});
    options.assumptions = runs;
    has(while_source, false, &options, (const char *const[]){"for run = 1 to steps", "param steps", NULL});
    options.assumptions = (const char *const[]){"while runs steps times", NULL};
    has(while_source, false, &options, (const char *const[]){"for run = 1 to steps", "param steps", NULL});
    options.assumptions = (const char *const[]){"idx is permutation of 1..n", NULL};
    has(LOOP "x(idx(i)) = 0\n" END, false, &options,
        (const char *const[]){"load idx[i]", "store x[i]",
                              "permutation of 1..n, in an order that is not known", NULL});
    options.assumptions = (const char *const[]){"IDX is permutation of 0..n", NULL};
    has(LOOP "x(idx(i)) = 0\n" END, false, &options,
        (const char *const[]){"load idx[i]", "store x[i]", NULL});
    options.assumptions = (const char *const[]){"x is matrix[n][n]", NULL};
    assert_null(read_source(LOOP "x(i) = 0\n" END, false, &options, &error));
    assert_string_equal(error.reason, "the assumption 'x is matrix[n][n]' is about nothing in the region");
    options.assumptions = (const char *const[]){"idx is identity", NULL};
    has(LOOP "x(idx(i) + 1) = a(idx(idx(1)), 2)\n" END, false, &options,
        (const char *const[]){"load idx[1] @1:7:23", "load idx[1] @1:7:19", "load a[1][2]",
                              "load idx[i] @1:7:3 ", "store x[i + 1]", NULL});
    options.assumptions = unused;
    assert_null(read_source(if_source, false, &options, &error));
    assert_string_equal(error.reason,
                        "the condition 'x(i) > t' depends on data: which way it goes is not known");
    assert_null(read_source(LOOP "x(i) = 0\n" END, false, &options, &error));
    assert_string_equal(error.reason, "the assumption 'if at 70 holds' is about nothing in the region");
    options.assumptions = wrong;
    assert_null(read_source(if_source, false, &options, &error));
    assert_int_equal(error.status, FM_E_ARGUMENT);
    has("subroutine s(x, k, n)\nreal :: x(n)\ninteger :: k(n)\ndo i = 1, n\nx(i) = k(i)\n" END, false,
        &(fm_region_options){.flags = flags},
        (const char *const[]){"array x[n] of 8", "array k[n] of 8", NULL});
    assert_null(read_source("end\n", false, &(fm_region_options){.flags = strange}, &error));
    assert_string_equal(error.reason, "flag '-fstrange' is not understood for Fortran");
    options = (fm_region_options){.scalars = true};
    has(LOOP "t = t + x(i)\n" END, false, &options,
        (const char *const[]){"load t ", "store t ", "array t of 8", "!array i", NULL});
    options = (fm_region_options){.function = "T"};
    has("subroutine s(x, n)\nreal :: x(n)\ndo i = 1, n\nx(i) = 0\nend do\nend\nsubroutine t(x, n)\nreal :: "
        "x(n)\ndo j = 1, n\nx(j) = 0\nend do\nend\n",
        false, &options, (const char *const[]){"function \"t\" @1:7-12", "for j = 1", "!for i", NULL});
    options.function = "none";
    assert_null(read_source(if_source, false, &options, &error));
    assert_string_equal(error.reason, "there is no procedure 'none' in it");
    HAS(SUB "print *, n\n!$fathom begin\ndo i = 1, n\nx(i) = 0\nend do\n!$fathom end\nprint *, x\nend\n",
        false, "function \"s\" @1:7-11", "store x[i]");
}

/* Statements and declarations out of other files, which may include others; a file that includes itself. */
CASE(includes_are_followed)
{
    char *text;
    size_t size;
    fm_error error;
    write_file(
        in_folder("main.f90"),
        "subroutine s(x, n)\ninclude 'names.inc'\ndo i = 1, n\n  include \"body.inc\" ! here\nend do\nend\n");
    write_file(in_folder("names.inc"), "integer :: n\nreal(8) :: x(n)\n");
    write_file(in_folder("body.inc"), "x(i) = x(i) &\n  * 2\n");
    assert_int_equal(fm_front_fortran(in_folder("main.f90"), NULL, &text, &size, &error), FM_OK);
    assert_non_null(strstr(text, "array x[n] of 8 low 1 @2:2:12"));
    assert_non_null(strstr(text, "do multiplies 1 @3:1:1"));
    free(text);
    write_file(in_folder("self.f90"), "include 'self.f90'\nend\n");
    assert_int_equal(fm_front_fortran(in_folder("self.f90"), NULL, &text, &size, &error), FM_E_LIMIT);
    assert_int_equal(error.offset, 1);
    /* What a preprocessor left: lines of other files. */
    HAS("# 10 \"kernel.F90\"\nsubroutine s(x, n)\nreal :: x(n)\n# 20 \"loops.h\"\ndo i = 1, n\nx(i) = 0\nend "
        "do\nend\n",
        false, "file 2 \"kernel.F90\"", "array x[n] of 4 low 1 @2:11:9", "for i = 1 to n @3:20:1", "@3:21:1");
}

CASES_WITH(make_folder, remove_folder);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_fortran.c - the reader of Fortran, in free and fixed form. What it accepts must be a region; whatever
 * the source is, the text is not out of proportion to it.
 */
#include "fuzz/fuzz_target.h"

#include "static/front/front.h"
#include "static/region/region.h"

static void read_form(const char *path, size_t size, const char *form)
{
    const char *flags[] = {form, NULL};
    fm_region_options options = {.flags = flags, .scalars = size % 2 == 1};
    fm_error error;
    char *text;
    size_t length;
    memset(&error, 0, sizeof error);
    fm_status status = fm_front_fortran(path, &options, &text, &length, &error);
    if (status != FM_OK) {
        FUZZ_REQUIRE(error.status == status && error.reason[0] && !text);
        return;
    }
    FUZZ_REQUIRE(length > 0 && strlen(text) == length && length < ((size_t)16 << 20) + 200 * size);
    fm_region *region;
    status = fm_region_parse(&region, text, length, "fuzz", &error);
    if (status != FM_OK && status != FM_E_LIMIT) fprintf(stderr, "%s\n%s", error.reason, text);
    FUZZ_REQUIRE(status == FM_OK || status == FM_E_LIMIT);
    fm_region_destroy(region);
    free(text);
    fuzz_understood++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int descriptor = fuzz_file(data, size, path);
    read_form(path, size, "-ffree-form");
    read_form(path, size, "-ffixed-form");
    close(descriptor);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *to, size_t room)
{
    static const char *const texts[] = {
        "module m\n  integer, parameter :: dp = kind(1d0), w = 3\n  type t\n    real(dp) :: a(w), b\n  end "
        "type\n"
        "contains\n"
        "subroutine s(n, x, y, p)\n  integer :: n, i, j, k\n  real(dp) :: x(n, 0:*), y(:)\n  type(t) :: "
        "p(n)\n"
        "  k = (n + 1) / 2\n  do i = 1, min(n, 2 * k), w\n    if (mod(i, 2) == 0 .or. i > k) cycle\n"
        "    x(:, i) = y(1:n) * 2.0_dp + max(x(:, i + 1), y)\n    p(i)%a(2) = sum(x(:, 1)) ** 2\n"
        "    call u(x(1, i), n)\n  end do\n  do concurrent (i = 1:n, j = n:1:-1, i /= j)\n    y(i) = -y(j)\n "
        " end do\n"
        "end subroutine\nsubroutine u(v, k)\n  integer :: k\n  real(dp) :: v(k)\n  if (k < 1) return\n  v = "
        "v / f(k)\n"
        "end subroutine\nend module\n",
        "subroutine s(n, a)\nreal a(n, n)\ndo i = n, 1, -2\nif (i <= 3) exit\ndo j = i, n; a(j, i) = &\n  & "
        "a(i, j) + f(a(i, i)); "
        "end do\nend do\ncontains\nreal function f(x)\nreal :: x\nf = sqrt(x) * 2\nend function\nend\n",
        "      SUBROUTINE S(X,N)\n      IMPLICIT REAL*8(A-H,O-Z)\n      DIMENSION X(N,N)\n      COMMON /B/ "
        "Y(100)\n      DO 10 I=1,N\n"
        "      DO10J=1,I-1\n      IF (J.GT.3 .AND. I.NE.J) THEN\n        X(J,I)=X(I,J)*2.\n     1  D0+Y(J)\n "
        "     ELSEIF(I.EQ.5)THEN\n"
        "      X(1,1)=0\n      ENDIF\n10    CONTINUE\n      END\n",
        "program main\ninteger, parameter :: n = 100\nreal, allocatable :: a(:, :)\nreal b(n)\nallocate(a(n, "
        "0:n))\n"
        "!$fathom begin\na = 1.0\nb = matmul(a(:, 1:n), b)\nforall (i = 1:n) b(i) = a(i, i)\nselect case "
        "(n)\ncase (1)\nb = 2\n"
        "end select\n!$fathom end\nprint *, a\nend program\n",
        "subroutine s(x)\nreal x(10)\ninteger, parameter :: a = 10\ncall t\ncontains\nsubroutine t\ncall "
        "u\ncall u\nend subroutine\n"
        "subroutine u\ncall v\ncall v\nend subroutine\nsubroutine v\nx = x + a\nend subroutine\nend\n",
    };
    return fuzz_text_seed(texts, sizeof texts / sizeof texts[0], number, to, room);
}

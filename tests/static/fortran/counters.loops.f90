! SPDX-License-Identifier: Apache-2.0
! The loops of counters.f90, each with a variable and subscripts of its own.
subroutine counters(n, m, incx, incy, x, y, a)
  implicit none
  integer, intent(in) :: n, m, incx, incy
  real(8) :: x(n * incx + 1), y(n * (incx + incy) + 1), a(n * (m + 4) + 12)
  integer :: i, j
  do i = 1, n
    y(1 + (i - 1) * incy) = x(1 + (i - 1) * incx)
  end do
  y(1 + n * incx) = 0
  do j = 1, n
    do i = 1, m
      a((j - 1) * (m + 2) + i) = 1
    end do
    a(j * (m + 2)) = 3
  end do
  a(n * (m + 2)) = 4
  do i = n, 1, -3
    a(i) = 2
  end do
  do i = 1, n
    a(i) = a(i) + 1
  end do
  do i = 1, n
    a(i) = 5
  end do
  do i = 1, n - 1
    a(i) = 6
  end do
  a(n) = 7
  do i = 1, min(n, 4)
    a(i + 4) = 8
  end do
  do i = 0, (n + 1) / 3 - 1
    a(3 + 2 * i) = 9
  end do
  a(3 + 2 * ((n + 1) / 3)) = 10
  do j = 1, m
    do i = j + 1, n + 1
      if (mod(i, 2) /= 0) then
        a(i) = 11
      end if
    end do
  end do
  do i = 2, n - 1, 2
    a(i) = a(i + 1)
  end do
end subroutine counters

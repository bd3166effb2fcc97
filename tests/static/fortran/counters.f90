! SPDX-License-Identifier: Apache-2.0
! Loops in disguise, and numbers that grow with them.
subroutine counters(n, m, incx, incy, x, y, a)
  implicit none
  integer, intent(in) :: n, m, incx, incy
  real(8) :: x(n * incx + 1), y(n * (incx + incy) + 1), a(n * (m + 4) + 12)
  integer :: i, j, k, ix, iy, ip
  ix = 1
  iy = 1
  do i = 1, n
    y(iy) = x(ix)
    ix = ix + incx
    iy = incy + iy
  end do
  y(ix) = 0
  k = 0
  do j = 1, n
    do i = 1, m
      k = k + 1
      a(k) = 1
    end do
    k = k + 2
    a(k) = 3
  end do
  a(k) = 4
  ip = n
  do while (ip > 0)
    a(ip) = 2
    ip = ip - 3
  end do
  i = 0
  do
    i = i + 1
    if (i > n) exit
    a(i) = a(i) + 1
  end do
  i = 1
  do
    a(i) = 5
    if (i == n) exit
    i = i + 1
  end do
  i = 1
  do while (i /= n)
    a(i) = 6
    i = i + 1
  end do
  a(i) = 7
  k = 5
  do i = n, 1, -1
    a(k) = 8
    k = k + 1
    if (k > 8) exit
  end do
  k = 3
  do i = 2, n, 3 ! another number of iterations than n
    a(k) = 9
    k = k + 2
  end do
  a(k) = 10
  outer: do j = 1, m
    k = j
    do while (k <= n)
      k = k + 1
      if (mod(k, 2) == 0) cycle
      a(k) = 11
    end do
  end do outer
  do concurrent (integer(8) :: l = 2:n - 1:2)
    a(l) = a(l + 1)
  end do
end subroutine counters

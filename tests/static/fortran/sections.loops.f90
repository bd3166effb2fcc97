! SPDX-License-Identifier: Apache-2.0
! What sections.f90 does, as plain loops.
subroutine sections(n, m, a, b, c, x, y, s)
  implicit none
  integer, intent(in) :: n, m
  double precision, intent(inout) :: a(n, m), b(n, m), c(m, n), x(n), y(-2:n)
  double precision, intent(out) :: s
  integer :: i, j, k
  do k = 1, m
    do i = 1, n
      a(i, k) = 0.0d0
    end do
  end do
  do i = 1, n
    b(i, 1) = x(i)
  end do
  do k = 1, m
    do i = 2, n
      a(i, k) = b(i - 1, k) + 2.0d0 * a(i, k)
    end do
  end do
  do j = 1, m
    do i = 1, n
      a(i, j) = a(i, j) - x(i) * b(i, j)
    end do
    k = 0
    do i = 1, n, 2
      x(i) = y(n - (i - 1))
    end do
  end do
  do k = 1, n
    do i = 1, m
      c(i, k) = a(k, i)
    end do
  end do
  do i = 1, n - 1
    a(i, 2) = a(i + 1, 2)
  end do
  do i = 1, n
    a(i, 3) = a(i, 4) + max(x(i), y(i))
  end do
  do i = 1, n
    s = a(i, 2)
  end do
  do i = 1, n
    s = x(i) * a(i, 1)
  end do
  do i = -2, 0
    y(i) = s
  end do
  do k = 1, m
    do i = 1, n
      s = b(i, k)
    end do
  end do
end subroutine sections

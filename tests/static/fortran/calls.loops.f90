! SPDX-License-Identifier: Apache-2.0
! What calls.f90 does, as plain loops.
subroutine calls(n, m, a, x)
  implicit none
  integer, intent(in) :: n, m
  double precision, intent(inout) :: a(n, m), x(n)
  double precision :: s
  integer :: i, j, k
  do i = 1, m
    if (n > 0) then
      do k = 1, n
        a(k, i) = a(k, i) + 2.0d0 * x(k)
      end do
    end if
    if (n - 2 > 0) then
      do k = 1, n - 2
        x(k) = x(k) + 2.0d0 * a(k + 1, i)
      end do
    end if
  end do
  do j = 1, min(n, m) - 1
    do i = j, min(n, m) - 1
      a(i, j) = a(i, j) / a(j, j)
    end do
  end do
  do j = 2, 4
    do i = j, 4
      a(i, j) = a(i, j) / a(j, j)
    end do
  end do
  do i = 1, n
    x(i) = 2.0d0 * x(i)
  end do
  do i = 1, m
    a(1, i) = 2.0d0 * a(1, i)
  end do
  do i = n, 1, -2
    x(i) = 2.0d0 * x(i)
  end do
  do j = 1, m
    s = a(1, j)
    do i = 1, n
      s = s + a(i, j) * a(i, j)
    end do
    x(j) = s
    s = x(j) * 2.0d0
    a(j, 1) = a(j, 1) + s
    x(1) = x(1) + a(2, j)
  end do
end subroutine calls

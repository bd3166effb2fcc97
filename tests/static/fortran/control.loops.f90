! SPDX-License-Identifier: Apache-2.0
! What control.f90 does, as plain loops and conditions.
subroutine control(n, m, a, x, k)
  implicit none
  integer, intent(in) :: n, m, k
  double precision, intent(inout) :: a(0:n, 0:m), x(n)
  integer :: i, j, ii
  do j = 0, m
    if (mod(j, 2) == 0) then
      do i = 0, n
        if (i > j .or. i == 2) then
          x(1) = a(i, j)
          if (j < 4) then
            x(2) = a(i, j)
            a(i, j) = a(i, j) + 1.0d0
          end if
        else if (i >= (n + 1) / 2) then
          a(i, j) = 0.0d0
          a(i, j) = a(i, j) + 1.0d0
        end if
      end do
    end if
  end do
  do i = (n + 1) / 2 - 1, n
    if (i <= (n + 1) / 2 + 2) then
      x(i) = 0.0d0
      if (i < (n + 1) / 2 + 2) then
        x(i) = x(i) + a(i, 0)
      end if
    end if
  end do
  do i = n, 1, -3
    if (i >= (n + 1) / 2) then
      a(i, modulo(-i, 4)) = x(max(i - 3, 1))
    end if
  end do
  do ii = 1, n, 3
    do i = ii, ii + 2
      if (i <= n) then
        x(i) = -x(n - i + 1)
      end if
    end do
  end do
  do j = 0, m, 2
    do i = 1, n
      if (i /= j) then
        a(i, j) = 1.0d0
      end if
    end do
  end do
  do i = 1, n
    x(i) = a(i, 0)
  end do
  if (k <= 2 .or. k >= 5) then
    x(1) = 1.0d0
    x(3) = 1.0d0
  else
    x(2) = 1.0d0
  end if
end subroutine control

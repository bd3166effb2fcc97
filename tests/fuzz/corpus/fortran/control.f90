! SPDX-License-Identifier: Apache-2.0
! cycle, exit, else if, mod, min, max, steps, do concurrent, forall, scalars that hold bounds, names of constructs.
subroutine control(n, m, a, x, k)
  implicit none
  integer, intent(in) :: n, m, k
  integer, parameter :: width = 3
  double precision, intent(inout) :: a(0:n, 0:m), x(n)
  integer :: i, j, half, from, ii
  half = (n + 1) / 2; from = half - 1
  outer: do j = 0, m
    if (mod(j, 2) == 1) cycle outer
    do i = 0, n
      if (i > j .or. i == 2) then
        x(1) = a(i, j)
        if (j >= 4) cycle
        x(2) = a(i, j)
      else if (i < half) then
        cycle
      else
        a(i, j) = 0.0d0
      end if
      a(i, j) = a(i, j) + 1.0d0
    end do
  end do outer
  do i = from, n
    x(i) = 0.0d0
    if (i >= half + 2) exit
    x(i) = x(i) + a(i, 0)
  end do
  do i = n, 1, -width
    if (i < half) exit
    a(i, modulo(-i, 4)) = x(max(i - 3, 1))
  end do
  do ii = 1, n, width
    do i = ii, min(ii + width - 1, n)
      x(i) = -x(abs(i - n) + 1 - min(abs(i - n) / n, 1))
    end do
  end do
  do concurrent (i = 1:n, j = 0:m:2, i /= j)
    a(i, j) = 1.0d0
  end do
  forall (i = 1:n) x(i) = a(i, 0)
  if (.not. (k > 2 .and. k < 5)) then
    x(1) = 1.0d0
  else
    x(2) = 1.0d0
    return
  end if
  x(3) = 1.0d0
end subroutine control

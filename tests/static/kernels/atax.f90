! SPDX-License-Identifier: Apache-2.0
! atax: y := transpose(A) (A x). Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_atax(m, n, a, x, y, tmp)
  implicit none
  integer, intent(in) :: m, n
  double precision, intent(in) :: a(n, m), x(n)
  double precision, intent(out) :: y(n), tmp(m)
  integer :: i, j

  do i = 1, n
    y(i) = 0.0d0
  end do
  do i = 1, m
    tmp(i) = 0.0d0
    do j = 1, n
      tmp(i) = tmp(i) + a(j, i) * x(j)
    end do
    do j = 1, n
      y(j) = y(j) + a(j, i) * tmp(i)
    end do
  end do
end subroutine kernel_atax

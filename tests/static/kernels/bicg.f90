! SPDX-License-Identifier: Apache-2.0
! bicg: s := transpose(A) r, q := A p. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_bicg(m, n, a, s, q, p, r)
  implicit none
  integer, intent(in) :: m, n
  double precision, intent(in) :: a(m, n), p(m), r(n)
  double precision, intent(out) :: s(m), q(n)
  integer :: i, j

  do i = 1, m
    s(i) = 0.0d0
  end do
  do i = 1, n
    q(i) = 0.0d0
    do j = 1, m
      s(j) = s(j) + r(i) * a(j, i)
      q(i) = q(i) + a(j, i) * p(j)
    end do
  end do
end subroutine kernel_bicg

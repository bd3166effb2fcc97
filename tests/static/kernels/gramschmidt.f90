! SPDX-License-Identifier: Apache-2.0
! gramschmidt: A = Q R, by Gram and Schmidt. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_gramschmidt(m, n, a, r, q)
  implicit none
  integer, intent(in) :: m, n
  double precision, intent(inout) :: a(n, m), r(n, n), q(n, m)
  double precision :: nrm
  integer :: i, j, k

  do k = 1, n
    nrm = 0.0d0
    do i = 1, m
      nrm = nrm + a(k, i) * a(k, i)
    end do
    r(k, k) = sqrt(nrm)
    do i = 1, m
      q(k, i) = a(k, i) / r(k, k)
    end do
    do j = k + 1, n
      r(j, k) = 0.0d0
      do i = 1, m
        r(j, k) = r(j, k) + q(k, i) * a(j, i)
      end do
      do i = 1, m
        a(j, i) = a(j, i) - q(k, i) * r(j, k)
      end do
    end do
  end do
end subroutine kernel_gramschmidt

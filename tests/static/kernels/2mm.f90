! SPDX-License-Identifier: Apache-2.0
! 2mm: D := alpha A B C + beta D. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_2mm(ni, nj, nk, nl, alpha, beta, tmp, a, b, c, d)
  implicit none
  integer, intent(in) :: ni, nj, nk, nl
  double precision, intent(in) :: alpha, beta
  double precision, intent(inout) :: tmp(nj, ni), d(nl, ni)
  double precision, intent(in) :: a(nk, ni), b(nj, nk), c(nl, nj)
  integer :: i, j, k

  do i = 1, ni
    do j = 1, nj
      tmp(j, i) = 0.0d0
      do k = 1, nk
        tmp(j, i) = tmp(j, i) + alpha * a(k, i) * b(j, k)
      end do
    end do
  end do
  do i = 1, ni
    do j = 1, nl
      d(j, i) = d(j, i) * beta
      do k = 1, nj
        d(j, i) = d(j, i) + tmp(k, i) * c(j, k)
      end do
    end do
  end do
end subroutine kernel_2mm

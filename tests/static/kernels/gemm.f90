! SPDX-License-Identifier: Apache-2.0
! gemm: C := alpha A B + beta C. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_gemm(ni, nj, nk, alpha, beta, c, a, b)
  implicit none
  integer, intent(in) :: ni, nj, nk
  double precision, intent(in) :: alpha, beta
  double precision, intent(inout) :: c(nj, ni)
  double precision, intent(in) :: a(nk, ni), b(nj, nk)
  integer :: i, j, k

  do i = 1, ni
    do j = 1, nj
      c(j, i) = c(j, i) * beta
    end do
    do k = 1, nk
      do j = 1, nj
        c(j, i) = c(j, i) + alpha * a(k, i) * b(j, k)
      end do
    end do
  end do
end subroutine kernel_gemm

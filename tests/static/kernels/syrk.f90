! SPDX-License-Identifier: Apache-2.0
! syrk: C := alpha A transpose(A) + beta C. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_syrk(n, m, alpha, beta, c, a)
  implicit none
  integer, intent(in) :: n, m
  double precision, intent(in) :: alpha, beta
  double precision, intent(inout) :: c(n, n)
  double precision, intent(in) :: a(m, n)
  integer :: i, j, k

  do i = 1, n
    do j = 1, i
      c(j, i) = c(j, i) * beta
    end do
    do k = 1, m
      do j = 1, i
        c(j, i) = c(j, i) + alpha * a(k, i) * a(k, j)
      end do
    end do
  end do
end subroutine kernel_syrk

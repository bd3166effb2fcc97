! SPDX-License-Identifier: Apache-2.0
! symm: C := alpha A B + beta C, A symmetric. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_symm(m, n, alpha, beta, c, a, b)
  implicit none
  integer, intent(in) :: m, n
  double precision, intent(in) :: alpha, beta
  double precision, intent(inout) :: c(n, m)
  double precision, intent(in) :: a(m, m), b(n, m)
  double precision :: temp2
  integer :: i, j, k

  do i = 1, m
    do j = 1, n
      temp2 = 0.0d0
      do k = 1, i - 1
        c(j, k) = c(j, k) + alpha * b(j, i) * a(k, i)
        temp2 = temp2 + b(j, k) * a(k, i)
      end do
      c(j, i) = beta * c(j, i) + alpha * b(j, i) * a(i, i) + alpha * temp2
    end do
  end do
end subroutine kernel_symm

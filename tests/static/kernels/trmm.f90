! SPDX-License-Identifier: Apache-2.0
! trmm: B := alpha transpose(A) B, A triangular. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_trmm(m, n, alpha, a, b)
  implicit none
  integer, intent(in) :: m, n
  double precision, intent(in) :: alpha
  double precision, intent(in) :: a(m, m)
  double precision, intent(inout) :: b(n, m)
  integer :: i, j, k

  do i = 1, m
    do j = 1, n
      do k = i + 1, m
        b(j, i) = b(j, i) + a(i, k) * b(j, k)
      end do
      b(j, i) = alpha * b(j, i)
    end do
  end do
end subroutine kernel_trmm

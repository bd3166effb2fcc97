! SPDX-License-Identifier: Apache-2.0
! cholesky: A = L transpose(L), in place. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_cholesky(n, a)
  implicit none
  integer, intent(in) :: n
  double precision, intent(inout) :: a(n, n)
  integer :: i, j, k

  do i = 1, n
    do j = 1, i - 1
      do k = 1, j - 1
        a(j, i) = a(j, i) - a(k, i) * a(k, j)
      end do
      a(j, i) = a(j, i) / a(j, j)
    end do
    do k = 1, i - 1
      a(i, i) = a(i, i) - a(k, i) * a(k, i)
    end do
    a(i, i) = sqrt(a(i, i))
  end do
end subroutine kernel_cholesky

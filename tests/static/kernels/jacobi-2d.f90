! SPDX-License-Identifier: Apache-2.0
! jacobi-2d: means of neighbours, two dimensions. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_jacobi_2d(tsteps, n, a, b)
  implicit none
  integer, intent(in) :: tsteps, n
  double precision, intent(inout) :: a(n, n), b(n, n)
  integer :: t, i, j

  do t = 1, tsteps
    do i = 2, n - 1
      do j = 2, n - 1
        b(j, i) = 0.2d0 * (a(j, i) + a(j - 1, i) + a(1 + j, i) + a(j, 1 + i) + a(j, i - 1))
      end do
    end do
    do i = 2, n - 1
      do j = 2, n - 1
        a(j, i) = 0.2d0 * (b(j, i) + b(j - 1, i) + b(1 + j, i) + b(j, 1 + i) + b(j, i - 1))
      end do
    end do
  end do
end subroutine kernel_jacobi_2d

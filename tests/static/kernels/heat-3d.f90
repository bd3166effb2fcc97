! SPDX-License-Identifier: Apache-2.0
! heat-3d: heat in three dimensions. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_heat_3d(tsteps, n, a, b)
  implicit none
  integer, intent(in) :: tsteps, n
  double precision, intent(inout) :: a(n, n, n), b(n, n, n)
  integer :: t, i, j, k

  do t = 1, tsteps
    do i = 2, n - 1
      do j = 2, n - 1
        do k = 2, n - 1
          b(k, j, i) = 0.125d0 * (a(k, j, i + 1) - 2.0d0 * a(k, j, i) + a(k, j, i - 1)) &
                     + 0.125d0 * (a(k, j + 1, i) - 2.0d0 * a(k, j, i) + a(k, j - 1, i)) &
                     + 0.125d0 * (a(k + 1, j, i) - 2.0d0 * a(k, j, i) + a(k - 1, j, i)) &
                     + a(k, j, i)
        end do
      end do
    end do
    do i = 2, n - 1
      do j = 2, n - 1
        do k = 2, n - 1
          a(k, j, i) = 0.125d0 * (b(k, j, i + 1) - 2.0d0 * b(k, j, i) + b(k, j, i - 1)) &
                     + 0.125d0 * (b(k, j + 1, i) - 2.0d0 * b(k, j, i) + b(k, j - 1, i)) &
                     + 0.125d0 * (b(k + 1, j, i) - 2.0d0 * b(k, j, i) + b(k - 1, j, i)) &
                     + b(k, j, i)
        end do
      end do
    end do
  end do
end subroutine kernel_heat_3d

! SPDX-License-Identifier: Apache-2.0
! fdtd-2d: finite differences in time, two dimensions. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_fdtd_2d(tmax, nx, ny, ex, ey, hz, fict)
  implicit none
  integer, intent(in) :: tmax, nx, ny
  double precision, intent(inout) :: ex(ny, nx), ey(ny, nx), hz(ny, nx)
  double precision, intent(in) :: fict(tmax)
  integer :: t, i, j

  do t = 1, tmax
    do j = 1, ny
      ey(j, 1) = fict(t)
    end do
    do i = 2, nx
      do j = 1, ny
        ey(j, i) = ey(j, i) - 0.5d0 * (hz(j, i) - hz(j, i - 1))
      end do
    end do
    do i = 1, nx
      do j = 2, ny
        ex(j, i) = ex(j, i) - 0.5d0 * (hz(j, i) - hz(j - 1, i))
      end do
    end do
    do i = 1, nx - 1
      do j = 1, ny - 1
        hz(j, i) = hz(j, i) - 0.7d0 * (ex(j + 1, i) - ex(j, i) + ey(j, i + 1) - ey(j, i))
      end do
    end do
  end do
end subroutine kernel_fdtd_2d

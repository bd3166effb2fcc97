! SPDX-License-Identifier: Apache-2.0
! floyd-warshall: all shortest paths. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_floyd_warshall(n, path)
  implicit none
  integer, intent(in) :: n
  integer, intent(inout) :: path(n, n)
  integer :: i, j, k

  do k = 1, n
    do i = 1, n
      do j = 1, n
        path(j, i) = merge(path(j, i), path(k, i) + path(j, k), path(j, i) < path(k, i) + path(j, k))
      end do
    end do
  end do
end subroutine kernel_floyd_warshall

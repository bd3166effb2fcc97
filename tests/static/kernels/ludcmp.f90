! SPDX-License-Identifier: Apache-2.0
! ludcmp: A x = b by A = L U. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_ludcmp(n, a, b, x, y)
  implicit none
  integer, intent(in) :: n
  double precision, intent(inout) :: a(n, n)
  double precision, intent(in) :: b(n)
  double precision, intent(out) :: x(n), y(n)
  double precision :: w
  integer :: i, j, k

  do i = 1, n
    do j = 1, i - 1
      w = a(j, i)
      do k = 1, j - 1
        w = w - a(k, i) * a(j, k)
      end do
      a(j, i) = w / a(j, j)
    end do
    do j = i, n
      w = a(j, i)
      do k = 1, i - 1
        w = w - a(k, i) * a(j, k)
      end do
      a(j, i) = w
    end do
  end do
  do i = 1, n
    w = b(i)
    do j = 1, i - 1
      w = w - a(j, i) * y(j)
    end do
    y(i) = w
  end do
  do i = n, 1, -1
    w = y(i)
    do j = i + 1, n
      w = w - a(j, i) * x(j)
    end do
    x(i) = w / a(i, i)
  end do
end subroutine kernel_ludcmp

! SPDX-License-Identifier: Apache-2.0
subroutine matmuls(n, m, l, a, b, c, x, y, z)
  implicit none
  integer, intent(in) :: n, m, l
  double precision :: a(n, m), b(m, l), c(n, l), x(m), y(n), z(l)
  integer :: i, j, k
  do j = 1, l
    do i = 1, n
      c(i, j) = 0.0d0
    end do
  end do
  do j = 1, l
    do k = 1, m
      do i = 1, n
        c(i, j) = c(i, j) + a(i, k) * b(k, j)
      end do
    end do
  end do
  do i = 1, n
    y(i) = 0.0d0
  end do
  do k = 1, m
    do i = 1, n
      y(i) = y(i) + a(i, k) * x(k)
    end do
  end do
  do j = 1, l
    z(j) = 0.0d0
  end do
  do j = 1, l
    do k = 1, m
      z(j) = z(j) + x(k) * b(k, j)
    end do
  end do
end subroutine matmuls

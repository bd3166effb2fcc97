! SPDX-License-Identifier: Apache-2.0
! Assignments of arrays and sections: loops in the order of array elements.
subroutine sections(n, m, a, b, c, x, y, s)
  implicit none
  integer, intent(in) :: n, m
  double precision, intent(inout) :: a(n, m), b(n, m), c(m, n), x(n), y(-2:n)
  double precision, intent(out) :: s
  integer :: j
  a = 0.0d0
  b(:, 1) = x
  a(2:n, :) = b(1:n-1, :) + 2.0d0 * a(2:n, :)
  do j = 1, m
    a(:, j) = a(:, j) - x * b(:, j)
    x(1:n:2) = y(n:1:-2)
  end do
  c = transpose(a)
  a(1:n-1, 2) = a(2:n, 2)
  a(:, 3) = a(:, 4) + max(x, y(1:n))
  s = sum(a(:, 2)) + dot_product(x, a(:, 1))
  y(-2:0) = s
  s = maxval(b)
end subroutine sections

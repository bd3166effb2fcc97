! SPDX-License-Identifier: Apache-2.0
! Calls of procedures of the same file: arrays, parts of arrays, elements, values, functions.
module helpers
  implicit none
  integer, parameter :: dp = kind(1.0d0)
  integer, parameter :: block = 4
contains
  subroutine axpy(k, alpha, x, y)
    integer, intent(in) :: k
    real(dp), intent(in) :: alpha
    real(dp), intent(in) :: x(*)
    real(dp), intent(inout) :: y(*)
    integer :: i
    if (k <= 0) return
    do i = 1, k
      y(i) = y(i) + alpha * x(i)
    end do
  end subroutine axpy

  subroutine update(a, lda, k)
    integer, intent(in) :: lda, k
    real(dp), intent(inout) :: a(lda, *)
    integer :: i, j, last
    last = k - 1
    do j = 1, last
      do i = j, last
        a(i, j) = a(i, j) / a(j, j)
      end do
    end do
  end subroutine update

  subroutine scale(v)
    real(dp), intent(inout) :: v(0:)
    integer :: i
    do i = 0, size(v) - 1
      v(i) = 2.0_dp * v(i)
    end do
  end subroutine scale

  real(dp) function norm(v, k)
    integer, intent(in) :: k
    real(dp), intent(in) :: v(k)
    integer :: i
    norm = 0.0_dp
    do i = 1, k
      norm = norm + v(i) * v(i)
    end do
  end function norm

  subroutine next(element, by)
    real(dp), intent(inout) :: element
    real(dp), intent(in) :: by
    element = element + by
  end subroutine next
end module helpers

subroutine calls(n, m, a, x)
  use helpers
  implicit none
  integer, intent(in) :: n, m
  real(dp), intent(inout) :: a(n, m), x(n)
  integer :: i, j
  do i = 1, m
    call axpy(n, 2.0_dp, x, a(1, i))
    call axpy(n - 2, 2.0_dp, a(2, i), x)
  end do
  call update(a, n, min(n, m))
  call update(a(2, 2), lda=n, k=block)
  call scale(x)
  call scale(a(1, :))
  call scale(x(n:1:-2))
  do j = 1, m
    x(j) = a(1, j) + norm(a(:, j), n)
    call next(a(j, 1), x(j) * 2.0_dp)
    call next(x(1), a(2, j))
  end do
end subroutine calls

! SPDX-License-Identifier: Apache-2.0
! cc_fortran.f90 - a matrix product, in a subroutine whose references are known: 2 n^3 loads and n^2 stores of 8 bytes.
module kernels
contains
  subroutine product_of(a, b, c, n)
    integer, intent(in) :: n
    real(8), intent(in) :: a(n, n), b(n, n)
    real(8), intent(out) :: c(n, n)
    real(8) :: total
    integer :: i, j, k
    do j = 1, n
      do i = 1, n
        total = 0
        do k = 1, n
          total = total + a(i, k) * b(k, j)
        end do
        c(i, j) = total
      end do
    end do
  end subroutine
end module

program main
  use kernels
  interface
    subroutine region_begin(name) bind(c, name="fathom_region_begin")
      use iso_c_binding
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine region_end() bind(c, name="fathom_region_end")
    end subroutine
  end interface
  real(8), allocatable :: a(:, :), b(:, :), c(:, :)
  allocate (a(20, 20), b(20, 20), c(20, 20))
  a = 1
  b = 2
  call region_begin("product" // char(0))
  call product_of(a, b, c, 20)
  call region_end()
  print *, c(20, 20)
end program

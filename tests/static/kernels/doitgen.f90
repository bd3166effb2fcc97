! SPDX-License-Identifier: Apache-2.0
! doitgen: A(r, q, :) := A(r, q, :) C4. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_doitgen(nr, nq, np, a, c4, sum)
  implicit none
  integer, intent(in) :: nr, nq, np
  double precision, intent(inout) :: a(np, nq, nr)
  double precision, intent(in) :: c4(np, np)
  double precision, intent(inout) :: sum(np)
  integer :: r, q, p, s

  do r = 1, nr
    do q = 1, nq
      do p = 1, np
        sum(p) = 0.0d0
        do s = 1, np
          sum(p) = sum(p) + a(s, q, r) * c4(p, s)
        end do
      end do
      do p = 1, np
        a(p, q, r) = sum(p)
      end do
    end do
  end do
end subroutine kernel_doitgen

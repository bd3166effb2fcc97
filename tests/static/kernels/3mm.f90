! SPDX-License-Identifier: Apache-2.0
! 3mm: G := (A B) (C D). Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_3mm(ni, nj, nk, nl, nm, e, a, b, f, c, d, g)
  implicit none
  integer, intent(in) :: ni, nj, nk, nl, nm
  double precision, intent(out) :: e(nj, ni), f(nl, nj), g(nl, ni)
  double precision, intent(in) :: a(nk, ni), b(nj, nk), c(nm, nj), d(nl, nm)
  integer :: i, j, k

  do i = 1, ni
    do j = 1, nj
      e(j, i) = 0.0d0
      do k = 1, nk
        e(j, i) = e(j, i) + a(k, i) * b(j, k)
      end do
    end do
  end do
  do i = 1, nj
    do j = 1, nl
      f(j, i) = 0.0d0
      do k = 1, nm
        f(j, i) = f(j, i) + c(k, i) * d(j, k)
      end do
    end do
  end do
  do i = 1, ni
    do j = 1, nl
      g(j, i) = 0.0d0
      do k = 1, nj
        g(j, i) = g(j, i) + e(k, i) * f(j, k)
      end do
    end do
  end do
end subroutine kernel_3mm

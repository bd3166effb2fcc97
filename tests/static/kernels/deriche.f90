! SPDX-License-Identifier: Apache-2.0
! deriche: a recursive filter that finds edges. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_deriche(w, h, alpha, img_in, img_out, y1, y2)
  implicit none
  integer, intent(in) :: w, h
  real, intent(in) :: alpha
  real, intent(in) :: img_in(h, w)
  real, intent(out) :: img_out(h, w), y1(h, w), y2(h, w)
  integer :: i, j
  real :: xm1, tm1, ym1, ym2, xp1, xp2, tp1, tp2, yp1, yp2
  real :: k, a1, a2, a3, a4, a5, a6, a7, a8, b1, b2, c1, c2

  k = (1.0 - exp(-alpha)) * (1.0 - exp(-alpha)) / (1.0 + 2.0 * alpha * exp(-alpha) - exp(2.0 * alpha))
  a1 = k
  a5 = k
  a2 = k * exp(-alpha) * (alpha - 1.0)
  a6 = a2
  a3 = k * exp(-alpha) * (alpha + 1.0)
  a7 = a3
  a4 = -k * exp(-2.0 * alpha)
  a8 = a4
  b1 = 2.0 ** (-alpha)
  b2 = -exp(-2.0 * alpha)
  c1 = 1.0
  c2 = 1.0
  do i = 1, w
    ym1 = 0.0
    ym2 = 0.0
    xm1 = 0.0
    do j = 1, h
      y1(j, i) = a1 * img_in(j, i) + a2 * xm1 + b1 * ym1 + b2 * ym2
      xm1 = img_in(j, i)
      ym2 = ym1
      ym1 = y1(j, i)
    end do
  end do
  do i = 1, w
    yp1 = 0.0
    yp2 = 0.0
    xp1 = 0.0
    xp2 = 0.0
    do j = h, 1, -1
      y2(j, i) = a3 * xp1 + a4 * xp2 + b1 * yp1 + b2 * yp2
      xp2 = xp1
      xp1 = img_in(j, i)
      yp2 = yp1
      yp1 = y2(j, i)
    end do
  end do
  do i = 1, w
    do j = 1, h
      img_out(j, i) = c1 * (y1(j, i) + y2(j, i))
    end do
  end do
  do j = 1, h
    tm1 = 0.0
    ym1 = 0.0
    ym2 = 0.0
    do i = 1, w
      y1(j, i) = a5 * img_out(j, i) + a6 * tm1 + b1 * ym1 + b2 * ym2
      tm1 = img_out(j, i)
      ym2 = ym1
      ym1 = y1(j, i)
    end do
  end do
  do j = 1, h
    tp1 = 0.0
    tp2 = 0.0
    yp1 = 0.0
    yp2 = 0.0
    do i = w, 1, -1
      y2(j, i) = a7 * tp1 + a8 * tp2 + b1 * yp1 + b2 * yp2
      tp2 = tp1
      tp1 = img_out(j, i)
      yp2 = yp1
      yp1 = y2(j, i)
    end do
  end do
  do i = 1, w
    do j = 1, h
      img_out(j, i) = c2 * (y1(j, i) + y2(j, i))
    end do
  end do
end subroutine kernel_deriche

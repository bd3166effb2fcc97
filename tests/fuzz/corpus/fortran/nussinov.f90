! SPDX-License-Identifier: Apache-2.0
! nussinov: how a molecule folds: dynamic programming. Arrays are the transposes of the C version's: the same elements follow each other in memory.
subroutine kernel_nussinov(n, seq, table)
  implicit none
  integer, intent(in) :: n
  integer(1), intent(in) :: seq(n)
  integer, intent(inout) :: table(n, n)
  integer :: i, j, k

  do i = n, 1, -1
    do j = i + 1, n
      if (j - 1 >= 1) then
        table(j, i) = merge(table(j, i), table(j - 1, i), table(j, i) >= table(j - 1, i))
      end if
      if (i + 1 <= n) then
        table(j, i) = merge(table(j, i), table(j, i + 1), table(j, i) >= table(j, i + 1))
      end if
      if (j - 1 >= 1 .and. i + 1 <= n) then
        if (i < j - 1) then
          table(j, i) = merge(table(j, i), table(j - 1, i + 1) + merge(1, 0, seq(i) + seq(j) == 3), &
                              table(j, i) >= table(j - 1, i + 1) + merge(1, 0, seq(i) + seq(j) == 3))
        else
          table(j, i) = merge(table(j, i), table(j - 1, i + 1), table(j, i) >= table(j - 1, i + 1))
        end if
      end if
      do k = i + 1, j - 1
        table(j, i) = merge(table(j, i), table(k, i) + table(j, k + 1), table(j, i) >= table(k, i) + table(j, k + 1))
      end do
    end do
  end do
end subroutine kernel_nussinov

# SPDX-License-Identifier: Apache-2.0
# What this build has not, for want of something on this machine: one line each in build/left-out, which `make` shows as
# a table at its end (scripts/left-out.sh).
set_property(GLOBAL PROPERTY FATHOM_LEFT_OUT_ROWS "")

# fathom_left_out(PART PACKAGE WHY): PACKAGE is Debian's.
function(fathom_left_out part package why)
  set_property(GLOBAL APPEND_STRING PROPERTY FATHOM_LEFT_OUT_ROWS "${part}|${package}|${why}\n")
endfunction()

function(fathom_write_left_out)
  get_property(rows GLOBAL PROPERTY FATHOM_LEFT_OUT_ROWS)
  file(WRITE ${CMAKE_BINARY_DIR}/left-out "${rows}")
endfunction()

/* SPDX-License-Identifier: Apache-2.0 */
/* function_name.h - names of C++ functions without what makes them long. */
#ifndef FATHOM_VIEW_FUNCTION_NAME_H
#define FATHOM_VIEW_FUNCTION_NAME_H

#include <stddef.h>

/*
 * Without the list of parameters and the type that it returns, and with "<>" for template arguments:
 *
 *     std::vector<int, std::allocator<int> >::push_back(int const&)   std::vector<>::push_back
 *     (anonymous namespace)::parse(char*) const                       (anonymous namespace)::parse
 *     void std::sort<int*>(int*, int*)                                std::sort<>
 *
 * What it does not understand stays as it is. to gets at most size - 1 bytes, and is to be a copy where the
 * name is longer than that: then it ends early. Returns to.
 */
char *fm_function_name_shorten(const char *name, char *to, size_t size);

#endif

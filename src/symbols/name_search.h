/* SPDX-License-Identifier: Apache-2.0 */
/* name_search.h - can debug information name a function? A cheap question before an expensive one. */
#ifndef FATHOM_SYMBOLS_NAME_SEARCH_H
#define FATHOM_SYMBOLS_NAME_SEARCH_H

#include "symbols/symbol_file.h"

/*
 * False: no function in the file's debug information fits the name (fm_symbols_function_ranges), so that it
 * need not be read. True: perhaps. After fm_symbols_read_table, within a guard.
 */
bool fm_symbols_may_name(fm_symbols *symbols, const char *name);

#endif

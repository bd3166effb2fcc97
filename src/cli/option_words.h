/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_words.h - the library speaks of members of its structs (csv_key, fm_reader_options.format), people
 * gave options of the command line: --key, --format.
 */
#ifndef FATHOM_CLI_OPTION_WORDS_H
#define FATHOM_CLI_OPTION_WORDS_H

#include <stddef.h>

/* Writes the text with each member's name as that of the option, shortened to `size`. Returns to. Text in
 * quotes is somebody else's and stays as it is. */
char *cli_option_words(const char *text, char *to, size_t size);

#endif

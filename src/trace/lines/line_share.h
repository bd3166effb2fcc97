/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_share.h - a plain file of lines for several threads, each of which claims ranges of it and reads
 * them for itself (fm_supply in trace/supply.h). It knows sound lines only, and numbers: where there is
 * anything else, a fetch fails, and all is to be read in order.
 */
#ifndef FATHOM_TRACE_LINE_SHARE_H
#define FATHOM_TRACE_LINE_SHARE_H

#include "trace/lines/line_piece.h"
#include "trace/lines/lines.h"

typedef struct fm_line_share fm_line_share;

/* FM_E_UNSUPPORTED: it is not a plain file, or has strings or quotes at its beginning. lines: opened, some of
 * them may be in its buffer. Its stream and the parser outlive it. */
fm_status fm_line_share_start(fm_line_share **made, const fm_lines *lines, const fm_line_parser *parser,
                              unsigned columns, unsigned workers, fm_fetches fetches, fm_supply *supply,
                              fm_error *error);
void fm_line_share_stop(fm_line_share *share); /* NULL is fine */
/* When nobody fetches any more: puts lines to where the next line begins that was not fetched. */
fm_status fm_line_share_rest(const fm_line_share *share, fm_lines *lines, fm_error *error);
/* Instruction fetches that were passed over, and references that were fetched. */
void fm_line_share_counts(const fm_line_share *share, uint64_t *skipped, uint64_t *fetched);

#endif

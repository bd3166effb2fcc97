/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feeder.h - threads that feed analyzers, so that a program's stream is decoded on one core and analysed on
 * others. Batches are copied, queued, prepared by workers where there are any, and fed in order.
 */
#ifndef FATHOM_CLI_FEEDER_H
#define FATHOM_CLI_FEEDER_H

#include "cli.h"

enum {
    CLI_MOST_FED = 17, /* analyzers that a batch may go to */
    CLI_MOST_WORKERS = 15,
};

typedef struct cli_feeder cli_feeder;

/* Where a batch goes. */
typedef struct cli_feeding {
    fm_analyzer *analyzer[CLI_MOST_FED];
    size_t count;
    bool prepared; /* all can take what the first one prepares (fathom/analyzer.h) */
} cli_feeding;

/* workers: threads beside the one that feeds. late_to: whose objects late references are counted for, those
 * of the analyzers that cli_feeder_tell_late was called for; NULL: no one's. All of these return -1, or an
 * exit code after a message. */
int cli_feeder_create(cli_feeder **feeder, fm_collection *late_to, unsigned workers);
/* Its late references, from this range on, are to be counted. */
void cli_feeder_tell_late(cli_feeder *feeder, fm_analyzer *analyzer, uint32_t from);
int cli_feeder_feed(cli_feeder *feeder, const fm_collected *collected, const cli_feeding *to);
/* Waits until everything was fed. */
int cli_feeder_drain(cli_feeder *feeder);
/* Ends the threads; what is queued is dropped. NULL is fine. */
void cli_feeder_destroy(cli_feeder *feeder);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_transport.h - ranks that are threads of this process: for the engine `parda`, and for testing what
 * runs on clusters. Messages are copied once, from the sender's memory into the receiver's: a sender waits
 * until its message was taken.
 */
#ifndef FATHOM_CLUSTER_LOCAL_TRANSPORT_H
#define FATHOM_CLUSTER_LOCAL_TRANSPORT_H

#include "cluster/transport.h"

typedef struct fm_local_cluster fm_local_cluster;

fm_status fm_local_cluster_create(fm_local_cluster **cluster, uint32_t size, fm_error *error);
void fm_local_cluster_destroy(fm_local_cluster *cluster); /* when no rank uses it any more; NULL is fine */
/* Of one rank; lives as long as the cluster. Each is used by one thread at a time. */
fm_transport *fm_local_cluster_rank(fm_local_cluster *cluster, uint32_t rank);
/* Everything failed, is over, and the cluster may be used anew. */
void fm_local_cluster_reset(fm_local_cluster *cluster);

#endif

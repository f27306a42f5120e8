/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isorec cluster net: the links of a cluster that runs, changed by hand; or a network for one of your own. */
#ifndef COMMANDS_CLUSTER_NET_H
#define COMMANDS_CLUSTER_NET_H

#include <signal.h>

#include "base/err.h"

/* net open N */
enum exit_status cluster_net_serve(const char *nodes, uint64_t seed, const volatile sig_atomic_t *stop);
/* net [VERB LINKS [VALUE...]]; pid: of the process whose network it is, 0: the only one. */
enum exit_status cluster_net_ask(uint64_t pid, char **words, int count);

#endif

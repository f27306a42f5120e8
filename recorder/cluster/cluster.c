/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cluster/cluster.h"

#include "base/bug.h"

void cluster_add_node(struct cluster *cluster, struct capture_node *node,
	const struct db_address *address, uint64_t interval_ns)
{
	CHECK(cluster->poller_count < CLUSTER_NODES_MAX);
	cluster->pollers[cluster->poller_count++] = (struct poller){
		.login = &cluster->login,
		.node = node,
		.address = *address,
		.interval_ns = interval_ns,
	};
}

bool cluster_start(struct cluster *cluster, const char *control_path, struct trace_writer *writer,
	struct err *err)
{
	if (control_path && !control_start(&cluster->control, control_path, writer, err))
		goto failed;
	if (cluster->logs.count && !logs_start(&cluster->logs, writer, err))
		goto failed;
	for (; cluster->poller_running < cluster->poller_count; cluster->poller_running++) {
		struct poller *poller = &cluster->pollers[cluster->poller_running];

		poller->writer = writer;
		if (!poller_start(poller, err))
			goto failed;
	}
	return true;
failed:
	cluster_stop(cluster);
	return false;
}

void cluster_stop(struct cluster *cluster)
{
	while (cluster->poller_running)
		poller_stop(&cluster->pollers[--cluster->poller_running]);
	logs_stop(&cluster->logs);
	control_stop(&cluster->control);
}

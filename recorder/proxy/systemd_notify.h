/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells systemd how a service is (sd_notify(3)): a datagram to the socket in NOTIFY_SOCKET.  These
 * twenty lines are the whole protocol; libsystemd would be one more library for them.
 */
#ifndef PROXY_SYSTEMD_NOTIFY_H
#define PROXY_SYSTEMD_NOTIFY_H

/* "READY=1", "STOPPING=1", "STATUS=..."; does nothing without a listener. */
void notify_service(const char *state);

#endif

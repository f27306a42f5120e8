# SPDX-License-Identifier: GPL-2.0-or-later
"""sysbench's oltp_read_write.  Each transaction leaves as many rows as there were."""
from harness import Anomaly, command


class Sysbench:
    name = database = "sysbench"
    tables, rows, threads = 4, 5000, 8
    code_is_right = False  # it reads rows and then changes them, whatever it read

    def __init__(self, seconds):
        self.seconds = seconds

    def sysbench(self, port, what, *more):
        command(["sysbench", "oltp_read_write", "--mysql-host=127.0.0.1", "--mysql-port=%d" % port, "--mysql-user=root",
                 "--mysql-db=" + self.database, "--mysql-ssl=off", "--tables=%d" % self.tables,
                 "--table-size=%d" % self.rows, "--threads=%d" % self.threads, "--time=%d" % self.seconds,
                 "--mysql-ignore-errors=1213,1020,1205", *more, what], self.seconds + 300)

    def fill(self, server):
        self.sysbench(server.port, "prepare")

    def run(self, _server, port):
        self.sysbench(port, "run")

    def truth(self, server):
        count = server.number(" + ".join(["select (select count(*) from sbtest1)"] +
                                         ["(select count(*) from sbtest%d)" % i for i in range(2, self.tables + 1)]),
                              self.database)
        return [Anomaly("rows too few or too many", abs(count - self.tables * self.rows), ())]


ALL = (Sysbench,)

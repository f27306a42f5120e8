# SPDX-License-Identifier: GPL-2.0-or-later
"""Shops written with Django and with Sequelize, with right and with wrong code."""
import importlib.util
import json
import os
import shutil
import subprocess

from harness import HERE, LOST, SKEW, Anomaly, SkipTest, command


class Shop:
    """`program` makes the tables with the word `fills`, and else works as its words say."""

    name = database = program = fills = product = guard = code = None

    def __init__(self, seconds):
        self.seconds, self.count = seconds, {}

    def start(self):
        raise NotImplementedError

    def fill(self, server):
        command([*self.start(), str(server.port), self.database, self.fills])

    def run(self, _server, port):
        self.count = json.loads(command([*self.start(), str(port), self.database, self.code, str(self.seconds)],
                                        self.seconds + 120))

    def truth(self, server):
        sold = server.number("select sum(sold) from %s" % self.product, self.database)
        empty = server.number("select count(*) from (select shift from %s group by shift having sum(%s) = 0) e" % self.guard,
                              self.database)
        # Reading, then locking, is a documented G-single also where it is harmless.
        return [Anomaly("lost updates", self.count.get("sold", 0) - sold, LOST, at_most=1, code=("lost-update", self.product)),
                Anomaly("shifts without a guard", empty, SKEW, at_most=1, code=("write-skew", self.guard[0]))]


class Django(Shop):
    fills, product, guard = "migrate", "shop_product", ("shop_guard", "on_call")

    def start(self):
        if not importlib.util.find_spec("django") or not importlib.util.find_spec("MySQLdb"):
            raise SkipTest("python3-django and python3-mysqldb are not installed")
        return ["/usr/bin/python3", os.path.join(HERE, "shop_django.py")]


class DjangoRight(Django):
    name = database = "django"
    code = "right"


class DjangoWrong(Django):
    name = database = "django_wrong"
    code = "wrong"


class Sequelize(Shop):
    fills, product, guard = "sync", "Products", ("Guards", "onCall")

    def start(self):
        folder = os.environ["WORKLOADS_NODE"]
        if not shutil.which("npm"):
            raise SkipTest("npm is not installed")
        if not os.path.isdir(os.path.join(folder, "node_modules", "sequelize")):
            os.makedirs(folder, exist_ok=True)
            done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--fetch-retries=1",
                                   "sequelize@6", "mysql2@3"], cwd=folder, capture_output=True, text=True, timeout=300,
                                  check=False)
            if done.returncode:
                raise SkipTest("npm cannot install sequelize and mysql2 here")
        script = os.path.join(folder, "shop_sequelize.js")
        shutil.copyfile(os.path.join(HERE, "shop_sequelize.js"), script)
        return ["node", script]


class SequelizeRight(Sequelize):
    name = database = "sequelize"
    code = "right"


class SequelizeWrong(Sequelize):
    name = database = "sequelize_wrong"
    code = "wrong"


ALL = (DjangoRight, DjangoWrong, SequelizeRight, SequelizeWrong)

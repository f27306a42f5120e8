# SPDX-License-Identifier: GPL-2.0-or-later
"""Known bugs in other clothes: other tables, values, statements and sessions than the corpus has, and
look-alikes that are none.  Each with the report that findings must name, and at which levels; at
all other levels, and on releases that are said not to have the bug, no report may be named.
"""
import json
import os

# (name, report, levels, text)
VARIANTS = [
    ("ghost-compound-key", "MDEV-32898", "RR", """
[setup]
create table stock(shop int, item int, name varchar(20), n int, primary key (shop, item));
insert into stock values (1,1,'nail',5),(1,2,'bolt',7),(2,1,'screw',9);
[schedule]
reader> start transaction;
noise> begin;
reader> select shop, item, n from stock order by shop, item;
noise> insert into stock values (9,9,'pin',1);
mover> update stock set item = item + 40 where shop = 1 and name = 'bolt';
noise> rollback;
reader> update stock set n = n * 10 where shop = 1;
reader> select shop, item, n from stock where shop = 1;
reader> commit;
"""),
    ("ghost-many-moved", "MDEV-32898", "RR", """
[setup]
create table acct(id bigint unsigned not null primary key, owner char(8), amount decimal(8,2), key(owner));
insert into acct values (1,'ann',1.5),(2,'bob',2.5),(3,'cid',3.5);
[schedule]
A> begin;
B> begin;
C> begin;
A> select count(*) from acct;
C> select * from acct;
B> update acct set id = id + 1000 where amount > 2;
B> commit;
A> update acct set amount = 0;
A> select id, amount from acct;
A> rollback;
C> commit;
"""),
    ("moved-and-left-alone", None, "", """
[setup]
create table t(a int primary key, b int);
insert into t values (1,1),(2,2);
[schedule]
T1> begin;
T2> begin;
T2> select * from t;
T1> update t set a=3 where b=2;
T1> commit;
T2> update t set b=7 where a=1;
T2> select * from t;
T2> commit;
"""),
    ("deleted-and-left-alone", None, "", """
[setup]
create table t(a int primary key, b int);
insert into t values (1,1),(2,2),(3,3);
[schedule]
T2> begin;
T2> select * from t;
T1> delete from t where a=2;
T1> update t set b=30 where a=3;
T2> update t set b=b+1 where a=3;
T2> select * from t;
T2> commit;
"""),
    ("deleted-and-meant", "MYSQL-105670", "RR", """
[setup]
create table job(no int primary key, state varchar(10));
insert into job values (10,'new'),(20,'new'),(30,'new');
[schedule]
w1> begin;
w1> select * from job;
w2> begin;
w2> delete from job where no = 20;
w2> commit;
w1> delete from job where state = 'new';
w1> select * from job;
w1> commit;
"""),
    ("noop-consistent-snapshot", "MDEV-26642", "RR", """
[setup]
create table person(id int primary key, name varchar(20), city varchar(20));
insert into person values (1,'ann','ulm'),(2,'bob','bonn'),(3,'cid','kiel');
[schedule]
X> start transaction with consistent snapshot;
Y> update person set city = 'rom' where name = 'bob';
X> update person set city = 'rom' where id between 2 and 3;
X> select * from person;
X> commit;
"""),
    ("noop-that-waited", "MYSQL-100328", "RR", """
[setup]
create table test_mvcc(id int primary key, at datetime, state varchar(20));
insert into test_mvcc values (1,'2020-01-01','NORMAL');
[schedule]
S2> begin;
S2> select * from test_mvcc where id=1;
S1> begin;
S1> update test_mvcc set at='2025-06-01', state='CEASE' where id=1;
S2> update test_mvcc set at='2025-06-01', state='CEASE' where id=1;
S1> commit;
S2> select * from test_mvcc where id=1;
S2> commit;
"""),
    ("a-change-is-none", None, "", """
[setup]
create table t(a int, b int);
insert into t values (0,0),(1,1),(2,2);
[schedule]
T0> begin;
T0> select * from t;
T1> update t set a=10 where b=1;
T0> update t set a=11 where true;
T0> select * from t;
T0> commit;
"""),
    ("noop-of-a-new-row", "MDEV-26671", "RR", """
[setup]
create table seat(row_no int, taken int);
insert into seat values (1,0),(2,0);
[schedule]
p> begin;
p> select * from seat;
q> insert into seat values (3,1);
p> update seat set taken = 1;
p> select * from seat;
p> commit;
"""),
    ("skipped-first-row", "MDEV-26643", "RU RC", """
[setup]
create table mail(id int primary key, box varchar(10), seen int);
insert into mail values (1,null,0),(2,'in',0),(3,null,0),(4,'in',0);
[schedule]
one> begin;
three> begin;
one> update mail set box = 'in';
two> begin;
two> update mail set seen = 1 where box = 'in';
three> select 1;
one> commit;
two> commit;
three> commit;
"""),
    ("changed-while-waiting", "MDEV-34108", "RU RC", """
[setup]
create table price(item int, net int, gross int);
insert into price values (null,10,0),(7,20,0);
[schedule]
T1> begin;
T1> update price set gross=1;
T2> begin;
T2> update price set gross=9 where item is not null;
T1> update price set item=8;
T1> commit;
T2> commit;
"""),
    ("moved-behind-the-scan", "MDEV-27992", "RU RC", """
[setup]
create table queue(pos int primary key, what varchar(10));
insert into queue values (50,'a');
[schedule]
prod> begin;
prod> update queue set pos = 40;
cons> begin;
cons> delete from queue where pos > 0;
prod> update queue set pos = pos - 30;
prod> commit;
cons> select * from queue;
cons> commit;
"""),
    ("inserted-behind-the-scan", None, "", """
[setup]
create table queue(pos int primary key, what varchar(10));
insert into queue values (50,'a');
[schedule]
prod> begin;
prod> update queue set what = 'b';
cons> begin;
cons> delete from queue;
prod> insert into queue values (10,'c');
prod> commit;
cons> select * from queue;
cons> commit;
"""),
    ("subquery-in-list", "MDEV-29565", "RR", """
[setup]
create table grp(id int primary key, open int);
create table member(id int primary key, grp int, fee int);
insert into grp values (1,1),(2,0);
insert into member values (1,1,5),(2,2,5),(3,2,5);
[schedule]
a> begin;
a> select * from member where grp in (select id from grp where open = 1);
b> begin;
b> update grp set open = 1 where id = 2;
b> commit;
a> update member set fee = 6 where grp in (select id from grp where open = 1);
a> select * from member where fee = 6;
a> commit;
"""),
    ("subquery-of-nothing-new", None, "", """
[setup]
create table grp(id int primary key, open int);
create table member(id int primary key, grp int, fee int);
insert into grp values (1,1),(2,0);
insert into member values (1,1,5),(2,2,5),(3,2,5);
[schedule]
a> begin;
a> select * from member;
b> update grp set open = 2 where id = 2;
a> update member set fee = 6 where grp in (select id from grp where open = 1);
a> commit;
"""),
    ("deadlock-of-two-tables", "MDEV-27922", "RU RC RR SER", """
[setup]
create table l(id int primary key, v int);
create table r(id int primary key, v int);
insert into l values (1,1);
insert into r values (1,1),(2,2),(3,3);
[schedule]
big> begin;
small> begin;
big> update r set v=v+1;
small> update l set v=2 where id=1;
big> update l set v=3 where id=1;
small> update r set v=9 where id=1;
small> insert into l values (7,7);
big> commit;
small> rollback;
"""),
    ("key-of-another-row", "MYSQL-113751", "RR SER", """
[setup]
create table ip(host int primary key, addr int, unique key (addr));
insert into ip values (1,10),(2,20),(3,30);
[schedule]
dhcp> begin;
dhcp> update ip set addr = addr where addr = 20;
dhcp> select * from ip where addr = 20 for update;
dns> begin;
dns> select host from ip where addr = 20 for update;
dhcp> delete from ip where addr = 20;
dhcp> insert into ip values (0,20);
dhcp> commit;
dns> commit;
"""),
    ("row-twice", "MDEV-33802", "RU RC RR SER", """
[setup]
create table tag(id int primary key, word varchar(10), unique key w (word));
insert into tag values (5,null),(6,'x');
[schedule]
w> begin;
v> begin;
w> insert into tag(id) values (9);
v> select id, word from tag force index (w) for update;
w> rollback;
v> commit;
"""),
    ("deleted-found-by-index", "MDEV-40092", "RR", """
[setup]
create table item(id int primary key, shelf int, n int, key(shelf));
insert into item values (1,10,1),(2,20,2),(3,30,3);
[schedule]
keeper> start transaction with consistent snapshot;
keeper> select id, n from item;
thief> delete from item where id = 2;
keeper> select id from item force index (shelf) where shelf = 20 for update;
keeper> commit;
"""),
    ("deleted-updated-by-index", "MDEV-40092", "RR", """
[setup]
create table item(id int primary key, shelf int, n int, key(shelf));
insert into item values (1,10,1),(2,20,2),(3,30,3);
[schedule]
keeper> start transaction with consistent snapshot;
keeper> select id, n from item;
thief> delete from item where id = 2;
keeper> update item force index (shelf) set n = 5 where shelf = 20;
keeper> commit;
"""),
    ("deleted-by-index-too", "MDEV-40092", "RR", """
[setup]
create table item(id int primary key, shelf int, n int, key(shelf));
insert into item values (1,10,1),(2,20,2),(3,30,3);
[schedule]
keeper> start transaction with consistent snapshot;
keeper> select id, n from item;
thief> delete from item where id = 2;
keeper> delete from item where shelf = 20;
keeper> commit;
"""),
    ("deleted-found-by-key", None, "", """
[setup]
create table item(id int primary key, shelf int, n int, key(shelf));
insert into item values (1,10,1),(2,20,2),(3,30,3);
[schedule]
keeper> start transaction with consistent snapshot;
keeper> select id, n from item;
thief> delete from item where id = 2;
keeper> update item set n = 5 where id = 2;
keeper> commit;
"""),
]


def shows(report, level, version, si):
    """Whether a release has the bug at one of the variant's levels."""
    mariadb = "MariaDB" in version
    if report == "MDEV-27922":
        return version.startswith(("5.6.", "10.5."))
    if report == "MDEV-33802":
        return version.startswith("10.5.23")
    if report == "MDEV-40092":
        return si
    if report == "MYSQL-113751":
        return not mariadb and not version.startswith("5.6.")
    if report == "MDEV-34108" and si:
        return level == "RU"
    return report == "MDEV-27992" or not si


def check(live, folder, *where):
    """Runs all of them; what is not as it should be, as a list."""
    wrong = []
    os.mkdir(folder)
    for name, _, _, text in VARIANTS:
        with open(os.path.join(folder, name + ".scn"), "w", encoding="utf-8") as file:
            file.write("# id: %s\n%s" % (name, text.lstrip()))
    live.isorec("run", *where, "-q", "--isolation", "RU,RC,RR,SER", "-o", folder,
                *(os.path.join(folder, name + ".scn") for name, *_ in VARIANTS))
    for name, report, levels, _ in VARIANTS:
        for level in ("RU", "RC", "RR", "SER"):
            path = os.path.join(folder, "%s-%s.itr" % (name, level))
            document = json.loads(live.isotrace("check", "-f", "json", path, status=None).stdout)
            known = [x for finding in document["findings"] for x in finding["known"]]
            told = {x["id"] for finding in document["findings"]
                    for x in finding.get("known_bugs", []) if x["status"] and x["link"]}
            there = report and level in levels.split() and shows(
                report, level, document["input"]["server"], document["contract"] == "innodb-si")
            if told != set(known):
                wrong.append((name, level, known, told))
            # Where something was not understood, silence is right.
            if there and document["coverage"]["unsupported"] and not known:
                continue
            # Any deadlock shows this one where it is.
            others = [x for x in known if x != "MDEV-27922" or not shows(
                x, level, document["input"]["server"], False)]
            if report not in known if there else others:
                wrong.append((name, level, known))
    return wrong

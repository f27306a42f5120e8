#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A small shop written with Django: shop_django.py PORT DATABASE migrate | right SECONDS | wrong SECONDS

`right` locks (select_for_update) or lets the server compute (F()); `wrong` reads, computes and saves, and decides by
what it read.  Prints what it did as JSON.
"""
import json
import random
import sys
import threading
import time

import django
from django.conf import settings

PORT, DATABASE, WHAT = sys.argv[1:4]
THREADS = 5
sys.dont_write_bytecode = True
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.mysql", "NAME": DATABASE, "USER": "root",
                           "HOST": "127.0.0.1", "PORT": PORT,
                           "OPTIONS": {"isolation_level": "repeatable read", "charset": "utf8mb4"}}},
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "shop"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", USE_TZ=True, TIME_ZONE="UTC", SECRET_KEY="workload",
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"])
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, OperationalError, connection, transaction  # noqa: E402
from django.db.models import Avg, Count, Exists, F, Max, OuterRef, Q, Sum  # noqa: E402
from django.db.models.functions import Coalesce, TruncDay  # noqa: E402
from shop.models import Guard, Line, Order, Product  # noqa: E402


PRODUCTS, USERS, SHIFTS = 20, 8, 120


def migrate():
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:  # the shop has no migrations
        for model in (Product, Order, Line, Guard):
            editor.create_model(model)
    for i in range(USERS):
        User.objects.create_user("user%d" % i, "u%d@example.org" % i, "secret")
    Group.objects.create(name="staff")
    Product.objects.bulk_create([Product(name="product %d" % i, price=i + 1, stock=100000, tags={"n": i})
                                 for i in range(PRODUCTS)])
    Guard.objects.bulk_create([Guard(shift=i // 2) for i in range(2 * SHIFTS)])


class Shop:
    def __init__(self, right):
        self.right, self.lock, self.count, self.failed = right, threading.Lock(), {}, []

    def add(self, what, amount):
        with self.lock:
            self.count[what] = self.count.get(what, 0) + amount

    def sell(self, rng):
        """Stock goes down, sold goes up by one."""
        key = rng.randint(1, 4)
        with transaction.atomic():
            product = Product.objects.filter(pk__gte=key).order_by("pk")
            if self.right and rng.random() < 0.5:
                Product.objects.filter(pk=product.first().pk).update(stock=F("stock") - 1, sold=F("sold") + 1)
            else:
                found = (product.select_for_update() if self.right else product).first()
                found.stock -= 1
                found.sold += 1
                found.save()
        return {"sold": 1}

    def leave(self, rng):
        """A guard leaves if another one stays."""
        shift = rng.randint(0, 5) + 6 * min(self.count.get("asked", 0) // 24, SHIFTS // 6 - 1)
        with transaction.atomic():
            there = Guard.objects.filter(shift=shift, on_call=True)
            if self.right:
                there = there.select_for_update()
            there = list(there)
            if len(there) > 1:
                guard = rng.choice(there)
                guard.on_call = False
                guard.save(update_fields=["on_call"])
        return {"asked": 1}

    def order(self, rng):
        with transaction.atomic():
            owner = User.objects.get(username="user%d" % rng.randint(0, USERS - 1))
            order = Order.objects.create(owner=owner, note="note \u00e9 %d" % rng.randint(0, 99))
            chosen = Product.objects.filter(Q(price__gte=rng.randint(1, 5)) | Q(name__startswith="product 1")).order_by("name")[:3]
            Line.objects.bulk_create([Line(order=order, product=p, count=rng.randint(1, 4)) for p in chosen])
            try:
                with transaction.atomic():  # a savepoint
                    Line.objects.create(order=order, product=chosen[0], count=1)
            except IntegrityError:
                pass
        return {}

    def pay(self, rng):
        with transaction.atomic():
            order = Order.objects.select_for_update().filter(paid=False).first()
            if order:
                order.paid = True
                order.save(update_fields=["paid"])
        return {}

    def remove(self, rng):
        old = Order.objects.filter(paid=True).order_by("id").first()
        if old:
            old.delete()  # collects and deletes the lines
        return {}

    def look(self, rng):
        with transaction.atomic():
            list(Order.objects.select_related("owner").prefetch_related("lines__product").filter(paid=False)[:5])
            Order.objects.aggregate(Count("id"), last=Max("created"))
            list(User.objects.annotate(n=Count("order"), m=Sum("order__lines__count")).filter(n__gt=0).order_by("-n", "id")
                 .values_list("username", "n", "m"))
            list(Product.objects.annotate(total=Coalesce(Sum("line__count"), 0)).order_by("id").values_list("id", "total")[:10])
        return {}

    def report(self, rng):
        Order.objects.filter(owner__username__contains="user%d" % rng.randint(0, 9)).exists()
        list(Order.objects.order_by().annotate(day=TruncDay("created")).values("day").annotate(n=Count("id")).order_by("day"))
        list(Product.objects.filter(Exists(Line.objects.filter(product=OuterRef("pk"), count__gt=3))).values_list("name", flat=True).distinct())
        Product.objects.aggregate(Avg("price"), Sum("stock"))
        list(Order.objects.values("owner_id").distinct().order_by("owner_id"))
        Order.objects.filter(lines__count__gte=2).distinct().count()
        return {}

    def session(self, rng):
        store = SessionStore()
        store["cart"] = [rng.randint(1, 9)]
        store.save()
        again = SessionStore(store.session_key)
        again["cart"] = again["cart"] + [2]
        again.save()
        if rng.random() < 0.5:
            again.delete()
        return {}

    def account(self, rng):
        group, _ = Group.objects.get_or_create(name="group %d" % rng.randint(0, 3))
        user, _ = User.objects.update_or_create(username="extra%d" % rng.randint(0, 3), defaults={"email": "e%d@example.org" % rng.randint(0, 99)})
        user.groups.add(group)
        if rng.random() < 0.3:
            user.groups.clear()
        return {}

    def work(self, seed, until):
        rng = random.Random(seed)
        jobs = ([self.sell] * 6 + [self.leave] * 3 + [self.order] * 3 + [self.pay, self.remove, self.look, self.look, self.report,
                                                                  self.session, self.account])
        try:
            while time.monotonic() < until:
                try:
                    done = rng.choice(jobs)(rng)
                except OperationalError as e:
                    if e.args[0] not in (1213, 1205, 1020):
                        raise
                    continue
                except IntegrityError:
                    continue  # two made the same group at once
                for what, amount in done.items():
                    self.add(what, amount)
        except Exception as e:  # pylint: disable=broad-except
            self.failed.append("%s: %s" % (type(e).__name__, e))
        finally:
            connection.close()

    def run(self, seconds):
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self.work, args=(n, until)) for n in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failed:
            sys.exit("\n".join(self.failed[:3]))
        print(json.dumps(self.count))


if WHAT == "migrate":
    migrate()
else:
    Shop(WHAT == "right").run(float(sys.argv[4]))

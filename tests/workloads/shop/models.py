# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of the shop that shop_django.py runs."""
from django.contrib.auth.models import User
from django.db import models
from django.utils import timezone


class Product(models.Model):
    name = models.CharField(max_length=60, unique=True)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    stock = models.IntegerField(default=0)
    sold = models.IntegerField(default=0)
    tags = models.JSONField(null=True)


class Order(models.Model):
    owner = models.ForeignKey(User, on_delete=models.CASCADE)
    created = models.DateTimeField(default=timezone.now)
    paid = models.BooleanField(default=False)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["-created", "-id"]


class Line(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, on_delete=models.PROTECT)
    count = models.PositiveIntegerField()

    class Meta:
        unique_together = [("order", "product")]


class Guard(models.Model):
    shift = models.IntegerField(db_index=True)
    on_call = models.BooleanField(default=True)

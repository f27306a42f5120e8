// SPDX-License-Identifier: GPL-2.0-or-later
// A small shop written with Sequelize: shop_sequelize.js PORT DATABASE sync | right SECONDS | wrong SECONDS
// `right` locks or lets the server compute; `wrong` reads, computes and saves, and decides by what it read.
// Prints what it did as JSON.
'use strict';
const { Sequelize, DataTypes, Transaction, Op, fn, col, literal } = require('sequelize');
const [port, database, what, seconds] = process.argv.slice(2);
const WORKERS = 6, PRODUCTS = 12, SHIFTS = 120;
const right = what === 'right';
const db = new Sequelize(database, 'root', '', { host: '127.0.0.1', port: +port, dialect: 'mysql', logging: false,
  pool: { max: WORKERS, min: 0 }, isolationLevel: Transaction.ISOLATION_LEVELS.REPEATABLE_READ });

const Product = db.define('Product', { name: { type: DataTypes.STRING(60), unique: true }, price: DataTypes.DECIMAL(8, 2),
  stock: { type: DataTypes.INTEGER, defaultValue: 0 }, sold: { type: DataTypes.INTEGER, defaultValue: 0 } });
const Customer = db.define('Customer', { name: { type: DataTypes.STRING(40), unique: true }, mail: DataTypes.STRING(60) });
const Order = db.define('Order', { paid: { type: DataTypes.BOOLEAN, defaultValue: false }, note: DataTypes.TEXT });
const Line = db.define('Line', { count: DataTypes.INTEGER });
const Guard = db.define('Guard', { shift: DataTypes.INTEGER, onCall: { type: DataTypes.BOOLEAN, defaultValue: true } },
  { timestamps: false, indexes: [{ fields: ['shift'] }] });
Customer.hasMany(Order, { onDelete: 'CASCADE', onUpdate: 'CASCADE' });
Order.belongsTo(Customer);
Order.hasMany(Line, { onDelete: 'CASCADE' });
Line.belongsTo(Order);
Product.hasMany(Line, { onDelete: 'SET NULL' });
Line.belongsTo(Product);

const count = {};
const add = (name) => { count[name] = (count[name] || 0) + 1; };

// Numbers of a worker's own, so that a run can be repeated.
function numbers(seed) {
  let state = seed * 2654435761 % 4294967296;
  return (n) => { state = (state * 1664525 + 1013904223) % 4294967296; return Math.floor(state / 4294967296 * n); };
}

const jobs = {
  async sell(any) {
    const id = 1 + any(4);
    await db.transaction(async (transaction) => {
      if (right && any(2)) {
        const product = await Product.findByPk(id, { transaction });
        await product.increment('sold', { by: 1, transaction });
        await product.decrement('stock', { by: 1, transaction });
        return;
      }
      const product = await Product.findByPk(id, right ? { transaction, lock: transaction.LOCK.UPDATE } : { transaction });
      product.sold += 1;
      product.stock -= 1;
      await product.save({ transaction });
    });
    add('sold');
  },
  async leave(any) {
    const shift = any(6) + 6 * Math.min(Math.floor((count.asked || 0) / 24), SHIFTS / 6 - 1);
    await db.transaction(async (transaction) => {
      const there = await Guard.findAll({ where: { shift, onCall: true }, transaction,
        ...(right ? { lock: transaction.LOCK.UPDATE } : {}) });
      if (there.length > 1)
        await there[any(there.length)].update({ onCall: false }, { transaction });
    });
    add('asked');
  },
  async order(any) {
    await db.transaction(async (transaction) => {
      const customer = await Customer.findOne({ where: { name: 'customer ' + any(6) }, transaction });
      if (!customer)
        return;
      const order = await Order.create({ CustomerId: customer.id, note: 'note \u00e9 ' + any(99) }, { transaction });
      const chosen = await Product.findAll({ where: { [Op.or]: [{ price: { [Op.gte]: any(5) } }, { name: { [Op.like]: 'product 1%' } }] },
        order: ['name'], limit: 3, transaction });
      await Line.bulkCreate(chosen.map((p) => ({ OrderId: order.id, ProductId: p.id, count: 1 + any(4) })), { transaction });
    });
  },
  async pay(any) {
    await db.transaction(async (transaction) => {
      const order = await Order.findOne({ where: { paid: false }, order: [['id', 'ASC']], lock: true, transaction });
      if (order)
        await order.update({ paid: true }, { transaction });
    });
  },
  async remove() {
    const old = await Order.findOne({ where: { paid: true }, order: [['id', 'ASC']] });
    if (old)
      await old.destroy();
  },
  async upsert(any) {
    const id = 50 + any(4);
    await Product.upsert({ id, name: 'extra ' + id, price: 1 + any(9), stock: 5 });
    if (any(3) === 0)
      await Product.destroy({ where: { id } });
  },
  async customer(any) {
    const name = 'temporary ' + any(3);
    await Customer.findOrCreate({ where: { name }, defaults: { mail: name + '@example.org' } });
    if (any(2))
      await Customer.destroy({ where: { name } });
  },
  async look(any) {
    await db.transaction(async (transaction) => {
      await Order.findAll({ include: [{ model: Line, include: [Product] }, Customer], where: { paid: false },
        order: [['id', 'DESC']], limit: 5, transaction });
      await Product.findAndCountAll({ where: { stock: { [Op.gt]: 10 } }, order: ['id'], limit: 4, offset: 2, transaction });
      await Order.count({ where: { CustomerId: { [Op.in]: [1, 2, 3] } }, transaction });
      await Line.findAll({ attributes: ['ProductId', [fn('SUM', col('count')), 'total']], group: ['ProductId'],
        order: ['ProductId'], raw: true, transaction });
    });
  },
  async report() {
    await Product.sum('sold');
    await Product.max('price');
    await Order.findAll({ attributes: [[fn('DISTINCT', col('CustomerId')), 'who']], order: [[literal('who'), 'ASC']], raw: true });
  },
};

async function worker(seed, until) {
  const any = numbers(seed + 1);
  const names = ['sell', 'sell', 'sell', 'sell', 'leave', 'leave', 'order', 'order', 'pay', 'remove', 'upsert', 'customer', 'look', 'report'];
  while (Date.now() < until) {
    try {
      await jobs[names[any(names.length)]](any);
    } catch (e) {
      const code = e.parent && e.parent.errno;
      if (![1213, 1205, 1020, 1062, 1452].includes(code))
        throw e;
    }
  }
}

(async () => {
  if (what === 'sync') {
    await db.sync();
    await Product.bulkCreate([...Array(PRODUCTS).keys()].map((i) => ({ name: 'product ' + i, price: i + 1, stock: 100000 })));
    await Customer.bulkCreate([...Array(6).keys()].map((i) => ({ name: 'customer ' + i, mail: 'c' + i + '@example.org' })));
    await Guard.bulkCreate([...Array(2 * SHIFTS).keys()].map((i) => ({ shift: Math.floor(i / 2) })));
  } else {
    const until = Date.now() + 1000 * seconds;
    await Promise.all([...Array(WORKERS).keys()].map((n) => worker(n, until)));
    console.log(JSON.stringify(count));
  }
  await db.close();
})().catch((e) => { console.error(e); process.exit(1); });

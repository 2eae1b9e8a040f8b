// An application with a pool of node-postgres: for each connection somebody
// who holds it while it is well, and writes again and again.
//
//	node client.js DSN CONNECTIONS PAUSE_MS
//
// It says each outcome in a line: the connection's number, "=SERVER" or the
// SQLSTATE or "connection", with "!" before it when there was no connection at all, and the time in milliseconds since 1970.
'use strict'
const { Pool } = require('pg')

const [dsn, connections, pause] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const url = new URL(dsn)
const pool = new Pool({
  host: url.hostname, port: Number(url.port), database: url.pathname.slice(1),
  user: decodeURIComponent(url.username), password: decodeURIComponent(url.password),
  max: connections, connectionTimeoutMillis: 2000, idleTimeoutMillis: 0,
})
pool.on('error', () => {}) // of a connection that nobody holds

let lines = ''
function say(i, outcome) {
  if (lines === '') setTimeout(flush, 10)
  lines += `${i} ${outcome} ${(performance.timeOrigin + performance.now()).toFixed(3)}\n`
}
function flush() {
  process.stdout.write(lines)
  lines = ''
}

const codeOf = (err) => (err.severity ? err.code : 'connection') // only a server's error has a severity
const wait = () => new Promise((done) => setTimeout(done, pause))

// ended are the connections that the server has ended.
const ended = new WeakSet()
pool.on('connect', (client) => {
  client.on('end', () => ended.add(client))
  client.on('error', () => ended.add(client)) // and without a listener it would end this process
})

// hold writes on one connection until an error, and gives it back or away.
async function hold(i) {
  let client
  try {
    client = await pool.connect()
    for (;;) {
      const { rows } = await client.query("INSERT INTO written VALUES ($1::int, clock_timestamp()) RETURNING current_setting('cluster_name') AS server", [i])
      say(i, '=' + rows[0].server)
      await wait()
    }
  } catch (err) {
    say(i, (client ? '' : '!') + codeOf(err))
    if (client) client.release(ended.has(client) || err.severity === 'FATAL') // one that is well goes back to the pool
  }
  await wait()
}

for (let i = 0; i < connections; i++) {
  (async () => { for (;;) await hold(i) })()
}

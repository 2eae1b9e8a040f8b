// An application with a pool of node-postgres: for each connection somebody
// who holds it while it is well, and writes again and again.
//
//	node client.js DSN CONNECTIONS PAUSE_MS
//
// It says each outcome in a line: the connection's number, "=SERVER" or the
// SQLSTATE or "connection", and the time in milliseconds since 1970.
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

// hold writes on one connection until an error, and gives it back or away.
async function hold(i) {
  let client
  let ended = false
  const end = () => { ended = true }
  try {
    client = await pool.connect()
    client.on('end', end)
    client.on('error', end)
    for (;;) {
      const { rows } = await client.query("INSERT INTO written VALUES ($1::int, clock_timestamp()) RETURNING current_setting('cluster_name') AS server", [i])
      say(i, '=' + rows[0].server)
      await wait()
    }
  } catch (err) {
    say(i, codeOf(err))
    ended = ended || err.severity === 'FATAL'
  }
  if (client) {
    client.release(ended) // one that is well goes back to the pool, which hears its errors from then on
    client.off('end', end)
    client.off('error', end)
  }
  await wait()
}

for (let i = 0; i < connections; i++) {
  (async () => { for (;;) await hold(i) })()
}
